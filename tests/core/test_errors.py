"""zarrscope's errors are also Python's own (OSError, KeyError), so that code which does not know zarrscope handles
them.
"""

from __future__ import annotations

import copy
import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import (
    BadChunk,
    BadMetadata,
    Conflict,
    Denied,
    NotFound,
    ReadOnly,
    Refused,
    TooLarge,
    Unreadable,
    Unsupported,
    ZarrscopeError,
)
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.zip.ranges import Ranges
from zarrscope.stores.zip.store import ZipStore

MADE: list[ZarrscopeError] = [
    NotFound("There is no node /x", store="file:///data/x.zarr", key="x/zarr.json", advice="Look above."),
    Unreadable("The request failed", store="https://example.org/x", key="k"),
    TooLarge("Too large", size=7, limit=3, key="k"),
    Denied("No", untold=True, store="memory://x"),
    BadMetadata("Broken", pointer="/codecs/0"),
    Unsupported("None such", feature="codec x"),
    BadChunk("Chunk (0,): damaged", codec="zstd", index=(0,)),
    Conflict("Changed", theirs=b"{}"),
    ReadOnly("Not for writing", key="k"),
    Refused("No"),
]
ALSO: dict[type[ZarrscopeError], set[type[Exception]]] = {
    NotFound: {KeyError, FileNotFoundError, OSError, LookupError},
    Unreadable: {OSError},
    TooLarge: {OSError},
    Denied: {OSError, PermissionError},
    BadChunk: {OSError},
    ReadOnly: {OSError, PermissionError},
}
NUMBERS = {
    NotFound: errno.ENOENT,
    Unreadable: errno.EIO,
    TooLarge: errno.EFBIG,
    Denied: errno.EACCES,
    BadChunk: errno.EIO,
    ReadOnly: errno.EACCES,
}


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_each_error_is_the_built_in_ones_that_it_stands_for(error: ZarrscopeError) -> None:
    every = {KeyError, LookupError, OSError, FileNotFoundError, PermissionError, ValueError, RuntimeError, TypeError}
    assert {kind for kind in every if isinstance(error, kind)} == ALSO.get(type(error), set())
    assert getattr(error, "errno", None) == NUMBERS.get(type(error))


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_each_error_says_the_same_and_survives_copies_and_pickles(error: ZarrscopeError) -> None:
    text = str(error)
    assert text.startswith(error.message)
    assert error.args == (error.message,)
    assert "\n" not in text
    assert "[Errno" not in text
    again: Any
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert (type(again), str(again), repr(again)) == (type(error), text, repr(error))
        assert vars(again) == vars(error)
        assert getattr(again, "errno", None) == getattr(error, "errno", None)


def test_an_error_of_the_system_has_its_number_text_and_place() -> None:
    error = MADE[0]
    assert isinstance(error, OSError)
    assert error.strerror == "There is no node /x"
    assert error.filename == "file:///data/x.zarr/x/zarr.json"
    assert isinstance(MADE[3], OSError)
    assert MADE[3].filename == "memory://x"


def test_another_process_raises_the_same_error(tmp_path: Path) -> None:
    code = (
        "import pickle, sys, zarrscope\n"
        "try: zarrscope.open(sys.argv[1])\n"
        "except FileNotFoundError as error: sys.stdout.buffer.write(pickle.dumps(error))"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path / "none.zarr")], capture_output=True, check=True)
    error = pickle.loads(ran.stdout)
    assert isinstance(error, zarrscope.NotFound)
    assert error.errno == errno.ENOENT
    assert "none.zarr" in str(error)


def test_what_a_script_does_with_a_store_raises_what_it_expects(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        zarrscope.open(tmp_path / "none.zarr")
    made = zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(4,), dtype="i4", codecs=["zstd"])
    made[...] = 1
    h = zarrscope.open(tmp_path / "x.zarr")
    with pytest.raises(KeyError):
        h["/none"]
    with pytest.raises(PermissionError):
        h.create_group("/g")
    (tmp_path / "x.zarr/a/c/0").write_bytes(b"no frame")
    with pytest.raises(OSError, match="Chunk") as raised:
        zarrscope.open_array(tmp_path / "x.zarr", "a")[...]
    assert isinstance(raised.value, zarrscope.BadChunk)


def test_a_full_disk_is_told_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(4,), dtype="i4")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(zarrscope.Unreadable, match="disk is full") as raised:
        array[...] = 1
    monkeypatch.undo()
    assert raised.value.errno == errno.ENOSPC
    assert pickle.loads(pickle.dumps(raised.value)).errno == errno.ENOSPC


def test_an_archive_that_does_not_answer_is_not_called_damaged() -> None:
    class Silent(Ranges):
        """A file on a server that stopped answering."""

        size = 1000

        def read_at(self, offset: int, length: int) -> bytes:
            raise Unreadable("The server does not answer", store="https://example.org/x.zip")

        def close(self) -> None:
            pass

    with pytest.raises(Unreadable, match="does not answer"):
        ZipStore(Silent(), url="https://example.org/x.zip").get("zarr.json")


def test_a_mapping_of_ours_gives_its_default_for_what_is_not_there() -> None:
    group = zarrscope.open(MemoryStore(), "w-").root
    assert group.attrs.get("none", 7) == 7
    assert group.attrs.pop("none", 8) == 8
