"""Icechunk repositories (https://icechunk.io/en/latest/spec/), read through the package icechunk.

The keys in a repository are not those of Zarr: a snapshot states where each chunk is stored. The package icechunk
provides a snapshot as a store of zarr-python: the newest of a branch, that of a tag, or any other. This module reads
from that store; it never writes. A repository is recognised by the names of its folders.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from zarrscope.errors import NotFound, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause, public
from zarrscope.errors.installing import how_to_install_packages
from zarrscope.errors.visible import visible
from zarrscope.model.storage import ByteRange
from zarrscope.stores.icechunk_storage import storage_of
from zarrscope.stores.icechunk_version import MAIN, IcechunkVersion
from zarrscope.stores.local.paths import path_of
from zarrscope.stores.recognition import Recognition, RepositoryVersion
from zarrscope.stores.registry import Mode
from zarrscope.stores.store import Store
from zarrscope.stores.zarr_python import ZarrPythonStore, guarded, in_one_line

if TYPE_CHECKING:
    from types import ModuleType

    from icechunk import Repository

_DOCUMENT = "zarr.json"
_RESTORE = (
    "A file of the repository may be missing, damaged or denied: restore it from a copy, or open an older snapshot: "
    "…|icechunk:@SNAPSHOT"
)
_NODES_ONLY = "Only prefixes pointing to a group or array"
_MOST_LISTED = 20
"""The largest number of branches, and of tags, that an error lists."""
_MOST_NAMES = 32
"""A folder with more names is no repository, which has about ten."""


class IcechunkSession(ZarrPythonStore):
    """The values of a store that icechunk made: a branch, a tag or a snapshot, as its session states."""

    def _is_absent(self, error: Exception, key: str) -> bool:
        """Also for a key that Zarr v3 does not use, for which icechunk raises an error of its own."""
        return super()._is_absent(error, key) or "invalid zarr key" in str(error)

    async def _asked(self, key: str, part: ByteRange | None) -> bytes | None:
        """Also asks whether a document exists if it seems to be absent, because icechunk 1.1 says so if it cannot read
        the snapshot."""
        value = await super()._asked(key, part)
        if value is None and key.rpartition("/")[2] == _DOCUMENT:
            await guarded(self._theirs.exists(key))
        return value

    async def _part(self, key: str, part: ByteRange | None) -> bytes | None:
        """Requests only ranges within the value, because icechunk 1.1 panics at ranges beyond its end."""
        if part is None or key.rpartition("/")[2] == _DOCUMENT:
            value = await self._asked(key, None)
            return value if value is None or part is None else part.of(value)
        size = await self._size(key)
        if size is None:
            return None
        start, stop = part.span(size)
        return await self._asked(key, ByteRange(start, stop - start)) if stop > start else b""

    async def _size(self, key: str) -> int | None:
        """Also asks whether an empty value exists: icechunk 1.1 says of an absent chunk that its size is 0."""
        size = await super()._size(key)
        return None if size == 0 and not await self._exists(key) else size

    async def _exists(self, key: str) -> bool:
        try:
            return bool(await guarded(self._theirs.exists(key)))
        except ZarrscopeError:
            raise
        except Exception as error:
            if self._is_absent(error, key):
                return False
            raise self._failed(error, key) from cause(error)

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        """Lists the node above if the prefix lies among its chunks, where icechunk 1.1 refuses to list."""
        asked = prefix
        while True:
            keys = super()._list_prefix(asked)
            try:
                first = next(keys, None)
            except Unreadable as error:
                if not asked or _NODES_ONLY not in str(error):
                    raise
                above = asked.rstrip("/").rpartition("/")[0]
                asked = f"{above}/" if above else ""
                continue
            if first is not None:
                yield from (key for key in chain((first,), keys) if key.startswith(prefix))
            return

    def _failed(self, error: Exception, key: str) -> Unreadable:
        return Unreadable(
            f"The Icechunk repository cannot be read: {_in_short(error)}",
            store=self.url,
            key=key or None,
            advice=_RESTORE,
        )


class IcechunkStore(IcechunkSession):
    """A version of the repository whose files are the values of the store `beneath`; None: the branch main, without a
    version in the address."""

    def __init__(self, beneath: Store, version: IcechunkVersion | None = None) -> None:
        shown = version or MAIN
        repository, session = _session(beneath, shown)
        super().__init__(session.store)
        self._beneath, self._version = beneath, version
        self.writable = False
        self.url = f"icechunk://{version.text}::{beneath.url}" if version else beneath.url
        snapshot = "" if shown.kind == "snapshot" else f" (snapshot {session.snapshot_id})"
        told = f"This is the {shown.kind} {visible(shown.name)}{snapshot} of an Icechunk repository, read-only"
        self._recognition = Recognition("icechunk", told, _branches_and_tags(repository, beneath, shown))

    def __reduce__(self) -> tuple[Any, ...]:
        return IcechunkStore, (self._beneath, self._version)


def open_repository(beneath: Store, version: IcechunkVersion | None, mode: Mode) -> Store:
    """The store of a repository whose files are the values of the store `beneath`. Raises NotFound if there is no
    repository or no such version, Unsupported for writing."""
    if not is_repository(beneath):
        raise NotFound(
            "There is no Icechunk repository here",
            store=beneath.url,
            advice="A repository is a folder that contains snapshots and manifests.",
        )
    if mode != "r":
        raise Unsupported(
            "This is an Icechunk repository, into which zarrscope does not write",
            feature="icechunk",
            store=beneath.url,
            advice="Open it with mode='r', or write to it with icechunk.",
        )
    return IcechunkStore(beneath, version)


def session_of(value: Any, mode: Mode) -> IcechunkSession:
    """The store of an icechunk.Session, or of the newest snapshot of the branch main of an icechunk.Repository. Raises
    Unsupported for writing to a repository, which needs a session."""
    if hasattr(value, "store"):
        return IcechunkSession(value.store)
    if mode != "r":
        raise Unsupported(
            "A repository of Icechunk is written through a session",
            feature="icechunk",
            advice="Pass repository.writable_session('main'), and commit it afterwards.",
        )
    try:
        return IcechunkSession(value.readonly_session(MAIN.name).store)
    except Exception as error:
        raise Unreadable(
            f"The Icechunk repository cannot be opened: {_in_short(error)}",
            advice=f"It needs a branch {MAIN.name}, or pass a session of another one: repository.readonly_session(…).",
        ) from cause(error)


def _in_short(error: BaseException) -> str:
    """The first line of an error of icechunk; the others name places in its source text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return in_one_line(lines[0].removeprefix("x ").removeprefix("× ").strip()) if lines else type(error).__name__


def is_repository(store: Store) -> bool:
    """Whether the values of a store are the files of an Icechunk repository."""
    if not store.listable:
        return False
    names: set[str] = set()
    for entry in store.list_dir(""):
        names.add(entry.name)
        if len(names) > _MOST_NAMES:
            return False
    return "snapshots" in names and not names.isdisjoint(("refs", "repo")) and "zarr.json" not in names


def _session(beneath: Store, version: IcechunkVersion) -> tuple[Any, Any]:
    """The repository, and its session of the version. Raises NotFound if there is no such version, Unsupported if
    icechunk is missing, or cannot open repositories at such an address."""
    if find_spec("icechunk") is None or find_spec("zarr") is None:
        raise Unsupported(
            "This is an Icechunk repository, which is read through a package that is not installed: icechunk",
            feature="icechunk",
            store=beneath.url,
            advice=how_to_install_packages("icechunk"),
        )
    icechunk = _icechunk()
    storage, repository = storage_of(icechunk, beneath), None
    try:
        repository = icechunk.Repository.open(storage)
        if version.kind == "snapshot":
            repository.lookup_snapshot(version.name)  # readonly_session of icechunk 1.1 takes an absent one for empty
            return repository, repository.readonly_session(snapshot_id=version.name)
        if version.kind == "tag":
            return repository, repository.readonly_session(tag=version.name)
        return repository, repository.readonly_session(version.name)
    except Exception as error:
        if repository is not None and (others := _others(repository, beneath, version)) is not None:
            raise NotFound(
                f"The Icechunk repository has no {version.kind} {visible(version.name)!r}; it has {others}",
                store=beneath.url,
                advice="Write …|icechunk:@branch.NAME, …|icechunk:@tag.NAME or …|icechunk:@SNAPSHOT",
            ) from cause(error)
        raise Unreadable(
            f"The Icechunk repository cannot be opened: {_in_short(error)}",
            store=beneath.url,
            advice=f"It needs a branch {MAIN.name}, and a version of icechunk that knows its format (installed: "
            f"{icechunk.__version__}). Restore missing or damaged files from a copy"
            + ("." if repository is None else ", or open another branch or tag: …|icechunk:@tag.NAME"),
        ) from cause(error)


def _icechunk() -> ModuleType:
    """The package. Imported here for the first time, it reports only errors, because it writes to the standard output,
    where a command's own output goes."""
    quiet = "icechunk" not in sys.modules and "ICECHUNK_LOG" not in os.environ
    import icechunk

    if quiet and hasattr(icechunk, "set_logs_filter"):
        icechunk.set_logs_filter("error")
    return icechunk


def _others(repository: Repository, beneath: Store, version: IcechunkVersion) -> str | None:
    """A clause that lists the branches and tags of the repository; None if the version exists, or if the repository
    does not say."""
    try:
        branches, tags = sorted(repository.list_branches()), sorted(repository.list_tags())
        if version.kind == "snapshot":
            exists = bool(version.name) and beneath.get(f"snapshots/{version.name}", ByteRange(0, 1)) is not None
        else:
            exists = not {version.name, quote(version.name)}.isdisjoint(branches if version.kind == "branch" else tags)
    except Exception:  # the repository is damaged: the error that was met first is reported
        return None
    return None if exists else f"{_listed('branch', 'es', branches)} and {_listed('tag', 's', tags)}"


def _branches_and_tags(repository: Repository, beneath: Store, shown: IcechunkVersion) -> tuple[RepositoryVersion, ...]:
    """The branches, then the tags of the repository; () if it does not list them."""
    try:
        found = {"branch": repository.list_branches(), "tag": repository.list_tags()}
    except Exception:  # a version can be read although the list of all is damaged or denied
        return ()
    url = public(beneath.url)
    path = path_of(url) if url.startswith("file:") else url
    place = url if "|" in path or "::" in path else path
    # icechunk lists names as they are escaped in the names of files, and opens them only without escapes.
    versions = [IcechunkVersion(kind, name) for kind, names in found.items() for name in sorted(map(unquote, names))]
    return tuple(
        RepositoryVersion(each.kind, each.name, f"{place}|icechunk:{each.text}", each == shown) for each in versions
    )


def _listed(kind: str, plural: str, names: list[str]) -> str:
    """ "the branches dev, main"; the first of many."""
    shown = [in_one_line(name) for name in names[:_MOST_LISTED]]
    more = f" and {len(names) - len(shown)} others" if len(names) > len(shown) else ""
    return f"the {kind}{plural if len(names) > 1 else ''} {', '.join(shown)}{more}" if names else f"no {kind}{plural}"
