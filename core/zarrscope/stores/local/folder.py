"""The interface of LocalStore (store.py) for the modules that read and write its files."""

from __future__ import annotations

from typing import Protocol

from zarrscope.errors import ZarrscopeError
from zarrscope.model.storage import ByteRange, Version
from zarrscope.stores.value_reader import Readable


class Folder(Readable, Protocol):
    """A store whose values are the files beneath a folder."""

    root: str
    sync: bool
    _base: str
    """`root` in the form that the system accepts at any length."""
    allow_outside: bool
    _positional: bool
    _by_handle: bool
    _windows: bool
    _nameless: bool
    _renames_open: bool
    _lock_on_folder: bool
    _exchanges: bool
    _lost: dict[str, tuple[str, ...]]
    """Key → the rights that its file lost when it was replaced; see FileOperations.lost_rights."""

    def _path(self, key: str) -> str:
        """The path of the file of a key. Raises Refused if a folder in the path is a link out of the root."""

    def _folder(self, prefix: str) -> str:
        """The folder of a prefix, with the same checks as for a key."""

    def _check_inside(self, path: str, key: str) -> None:
        """Raises Refused if a link leads out of the folder."""

    def _opened(self, key: str) -> tuple[int, int] | None:
        """A handle on the file of a key, and its size; None if there is no file."""

    def _read(self, file: int, start: int, length: int) -> bytes: ...

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None: ...

    def _expect(self, key: str, expect: Version | None, found: tuple[bytes, Version] | None) -> None:
        """Raises Conflict unless the version that was found is the expected one."""

    def _failure(self, error: OSError, key: str, act: str) -> ZarrscopeError: ...
