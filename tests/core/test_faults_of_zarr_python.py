"""Faults of stores of zarr-python that zarrscope is given, and of stores of zarrscope that zarr-python is given.

Each is one error that names store and key, and neither a caller nor the end of the program waits for it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import zarr
from zarr.storage import WrapperStore

import zarrscope
from contracts.hostile_http import hostile
from contracts.places import PLACES, Services
from contracts.service_answers import ANSWERS, bucket, settings_for, well
from contracts.wire import eventually
from zarrscope.errors import Denied, ReadOnly, Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address import open_store
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.zarr_python import ZarrPythonStore

VALUES = {"zarr.json": b'{"zarr_format":3,"node_type":"group"}', "a/b": b"0123456789"}


class Panic(BaseException):
    """As errors of extensions in Rust: no Exception."""


ERRORS: dict[str, BaseException] = {
    "error": RuntimeError("boom"),
    "time-out": TimeoutError(),
    "disk": OSError(5, "Input/output error"),
    "denied": PermissionError("not yours"),
    "mistake": KeyError("credentials"),
    "not there yet": NotImplementedError(),
    "long": Exception("first\nsecond\x1b[31m" + "x" * 5000),
    "memory": MemoryError(),
    "depth": RecursionError("maximum recursion depth exceeded"),
    "stop": StopAsyncIteration(),
    "cancelled": asyncio.CancelledError(),
    "panic": Panic("index out of bounds"),
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
}
ACTS: dict[str, tuple[str | None, Callable[[Store], object]]] = {
    "get": ("a/b", lambda store: store.get("a/b")),
    "part": ("a/b", lambda store: store.get("a/b", ByteRange(0, 4))),
    "end": ("a/b", lambda store: store.get("a/b", ByteRange.last(4))),
    "many": ("a/b", lambda store: _first_error(dict(store.get_many([("a/b", None)] * 300)))),
    "list_dir": ("a/", lambda store: list(store.list_dir("a/"))),
    "list_prefix": ("a/", lambda store: list(store.list_prefix("a/"))),
    "set": ("a/n", lambda store: store.set("a/n", b"new")),
    "erase": ("a/b", lambda store: store.erase("a/b")),
}
"""Operations on a store, each with the key that its error names."""


def _first_error(answers: dict[int, Any]) -> object:
    assert len(answers) == 300
    raise next(iter(answers.values()))


class Odd(WrapperStore[Any]):
    """A store of zarr-python whose methods raise `error`, unless it is None."""

    error: BaseException | None = None

    def _raise(self) -> None:
        if self.error is not None:
            raise self.error

    async def get(self, *given: Any, **named: Any) -> Any:
        self._raise()
        return await super().get(*given, **named)

    async def getsize(self, key: str) -> int:
        self._raise()
        return await super().getsize(key)

    async def set(self, key: str, value: Any) -> None:
        self._raise()
        await super().set(key, value)

    async def delete(self, key: str) -> None:
        self._raise()
        await super().delete(key)

    async def _listed(self, names: AsyncIterator[str]) -> AsyncIterator[str]:
        self._raise()
        async for name in names:
            yield name

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        return self._listed(super().list_dir(prefix))

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        return self._listed(super().list_prefix(prefix))


def filled(kind: type[Odd] = Odd) -> tuple[Any, ZarrPythonStore]:
    theirs = kind(zarr.storage.MemoryStore())
    store = ZarrPythonStore(theirs)
    for key, value in VALUES.items():
        store.set(key, value)
    return theirs, store


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("error", ERRORS)
def test_an_error_of_their_store_is_one_of_ours(error: str, act: str) -> None:
    theirs, store = filled()
    theirs.error = ERRORS[error]
    key, work = ACTS[act]
    with pytest.raises(Denied if error == "denied" else Unreadable) as caught:
        work(store)
    assert (caught.value.store, caught.value.key) == (store.url, key)
    assert caught.value.message.startswith("The Odd failed: ")
    assert len(caught.value.message) < 400
    assert caught.value.message.isprintable()
    assert caught.value.advice
    theirs.error = None
    assert store.get("a/b") == VALUES["a/b"], "the same store goes on"


def test_a_name_that_is_none_and_a_listing_that_fails_at_once() -> None:
    theirs, store = filled()

    async def numbers() -> AsyncIterator[Any]:
        yield 7

    theirs.list_dir = lambda prefix: numbers()
    with pytest.raises(Unreadable, match="a listing holds int in place of names"):
        list(store.list_dir("a/"))

    def refused(prefix: str) -> AsyncIterator[str]:
        raise NotImplementedError("no listing")

    theirs.list_dir = refused
    with pytest.raises(Unreadable, match="no listing"):
        list(store.list_dir("a/"))


def test_an_archive_is_opened_if_it_was_not_and_again_if_it_was_closed(tmp_path: Path) -> None:
    place = tmp_path / "x.zip"
    with zarr.storage.ZipStore(str(place), mode="w") as made:
        zarr.create_array(made, shape=(2,), dtype="u1", fill_value=9)[...] = 7
    theirs = zarr.storage.ZipStore(str(place), mode="r")
    array = zarrscope.open_array(ZarrPythonStore(theirs))
    assert array[...].tolist() == [7, 7]
    theirs.close()
    assert array[...].tolist() == [7, 7]
    theirs.close()
    place.unlink()
    with pytest.raises(Unreadable, match="The ZipStore failed"):
        array[...]


def test_an_archive_that_was_removed_is_no_absent_value(tmp_path: Path) -> None:
    store = ZarrPythonStore(zarr.storage.ZipStore(str(tmp_path / "x.zip"), mode="r"))
    with pytest.raises(Unreadable, match="The ZipStore failed: FileNotFoundError"):
        store.get("c/0")


def test_a_store_that_is_read_only_says_so() -> None:
    memory = zarr.storage.MemoryStore()
    zarr.create_group(memory)
    h = zarrscope.open(memory.with_read_only(True), "r+")
    with pytest.raises(ReadOnly):
        h.root.attrs["a"] = 1


class Slow(Odd):
    """A store whose reads never end while `silent`."""

    silent = False

    async def get(self, *given: Any, **named: Any) -> Any:
        if self.silent:
            await asyncio.Event().wait()
        return await super().get(*given, **named)


def test_a_store_that_never_answers_can_be_left() -> None:
    theirs, store = filled(Slow)
    theirs.silent = True
    stop = threading.Event()
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    assert list(store.get_many([("a/b", None)] * 20, stop.is_set)) == []
    timer.join()
    theirs.silent = False
    assert store.get("a/b") == VALUES["a/b"]


SILENT = """
import asyncio, sys, threading, zarr, zarrscope
from zarr.storage import MemoryStore, WrapperStore

class Silent(WrapperStore):
    async def get(self, *given, **named):
        began.set()
        await asyncio.Event().wait()

began = threading.Event()
theirs = Silent(MemoryStore())
if sys.argv[1] == "given":
    from zarrscope.stores.zarr_python import ZarrPythonStore
    read = lambda: ZarrPythonStore(theirs).get("a/b")
else:
    from zarrscope.stores.address import open_store
    store = open_store(sys.argv[2], "r", eval(sys.argv[3]))
    assert store.get("a/b")
    print("held", flush=True)
    sys.stdin.readline()
    def read():
        began.set()
        zarr.core.sync.sync(zarrscope.as_zarr_store(store).get("a/b", zarr.core.buffer.default_buffer_prototype()))
threading.Thread(target=read, daemon=True).start()
assert began.wait(60)
"""


def test_a_program_ends_though_a_store_of_zarr_python_is_silent() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT, "given"], timeout=100, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]


# ------------------------------------------------------------------------------------------- ours, given to zarr-python
@pytest.fixture
def array() -> dict[str, bytes]:
    """The values of an array in a bucket."""
    memory = MemoryStore()
    made = zarrscope.as_zarr_store(memory)
    zarr.create_array(made, name="a", shape=(4,), chunks=(4,), dtype="u1", fill_value=9)[:] = 7
    return {f"bucket/x/{key}": memory.get(key) or b"" for key in memory.list()}


@pytest.mark.parametrize("answer", ["403", "500", "silent"])
@pytest.mark.parametrize("kind", ["http", "s3", "gs", "abfs"])
def test_what_our_store_cannot_read_is_no_fill_value_for_zarr_python(
    kind: str, answer: str, array: dict[str, bytes]
) -> None:
    with hostile(well, array, lambda key: key.endswith(("c/0", "zarr.json"))) as server:
        address, options = bucket(kind, server.url)
        store = open_store(address, "r", {**options, **settings_for(answer)})
        theirs: Any = zarr.open_array(zarrscope.as_zarr_store(store), path="a", mode="r")
        assert theirs[:].tolist() == [7] * 4
        server.act = ANSWERS[answer][0]
        with pytest.raises(ZarrscopeError) as caught:
            theirs[:]
        assert isinstance(caught.value, Denied | Unreadable)
        assert (caught.value.store, caught.value.key) == (store.url, "a/c/0")
        assert caught.value.advice
        server.act = well
        assert eventually(lambda: theirs[:].tolist()) == [7] * 4


def test_a_program_ends_though_our_store_is_silent(services: Services, tmp_path: Path) -> None:
    with PLACES["http"](tmp_path, services, VALUES) as place:
        command = [sys.executable, "-c", SILENT, "ours", place.address, repr(place.options)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "held\n"
            assert place.wire is not None
            place.wire.hold()
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.wait(60) == 0
