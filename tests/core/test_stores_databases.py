"""Mappings run the store contract; zarr-python 2.18 reads the databases in one file that zarrscope writes, and the
reverse.
"""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import zarrscope
from contracts.store import Reading, Writing
from machine import zarr2
from narrowing import as_array, as_group, not_none
from zarrscope.check.hierarchy import check
from zarrscope.errors import NotFound, Refused, Unreadable, Unsupported
from zarrscope.stores.address import open_store, split_address
from zarrscope.stores.dbm import _SqliteTable
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.sqlite import SQLiteStore
from zarrscope.stores.store import Store


class TestMapping(Writing):
    def empty(self) -> Store:
        return MappingStore({})


class TestMappingOfViews(Writing):
    """A mapping whose values are not bytes."""

    def empty(self) -> Store:
        class Views(dict[str, Any]):
            def __setitem__(self, key: str, value: bytes) -> None:
                super().__setitem__(key, memoryview(np.frombuffer(value, np.uint8)))  # type: ignore[arg-type]  # views in place of bytes are the point

        return MappingStore(Views())


class TestMappingOfFiles(Writing):
    """An fsspec mapper. In its file system a key with a value cannot also be a folder of other values."""

    def empty(self) -> Store:
        import fsspec

        return MappingStore(fsspec.get_mapper(f"memory://{os.urandom(6).hex()}/x"))


class TestFrozenMapping(Reading):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        from types import MappingProxyType

        return MappingStore(MappingProxyType(dict(values)))


def test_a_mapping_opens_by_itself() -> None:
    values: dict[str, bytes] = {}
    with zarrscope.open(values, "w-") as h:
        h.create_array("/a", shape=(3,), dtype="u2")[...] = [1, 2, 3]
    assert sorted(values) == ["a/c/0", "a/zarr.json", "zarr.json"]
    again = zarrscope.open_array(values, "/a")
    assert again[...].tolist() == [1, 2, 3]
    assert not again.store.writable
    with pytest.raises(NotFound):
        zarrscope.open({})


def test_what_a_mapping_raises_is_told() -> None:
    class Broken(dict[str, bytes]):
        def __getitem__(self, key: str) -> bytes:
            raise ConnectionError("the cellar is under water")

    with pytest.raises(Unreadable, match="under water"):
        zarrscope.open(Broken())
    with pytest.raises(Unreadable, match="type int instead of bytes"):
        zarrscope.open({"zarr.json": 3})


FORMS = [
    "sqlite",
    "dbm",
    pytest.param("lmdb", marks=pytest.mark.skipif(find_spec("lmdb") is None, reason="lmdb is not installed")),
]


@pytest.mark.parametrize("scheme", FORMS)
def test_addresses_name_a_file_and_a_node_in_it(scheme: str, tmp_path: Path) -> None:
    url = f"{scheme}://{tmp_path.as_posix()}/x.db"
    with pytest.raises(NotFound, match="There is no"):
        zarrscope.open(url)
    with zarrscope.open(url, "w-") as h:
        h.create_array("/g/a", shape=(2,), dtype="u1")[...] = 7
    assert split_address(f"{url}/g/a").node_path == "g/a"
    assert zarrscope.open_array(f"{url}/g/a")[...].tolist() == [7, 7]
    assert not zarrscope.open(url).store.writable
    assert [child.name for child in as_group(zarrscope.open(url)["/g"]).children()] == ["a"]
    with pytest.raises(Refused, match="not empty"):
        open_store(url, "w-")
    with pytest.raises(Refused, match="names no file"):
        zarrscope.open(f"{scheme}://")


@pytest.mark.parametrize("scheme", FORMS)
def test_a_file_of_something_else_is_told(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"something else" * 1000)
    for mode in ("r", "r+", "a"):
        with pytest.raises((Unreadable, Unsupported)):
            zarrscope.open(f"{scheme}://{tmp_path}/x.db", mode)
    assert (tmp_path / "x.db").read_bytes() == b"something else" * 1000


OWN_FILES = {"x.zarr.bak", "x.zarr-shm", "x.zarr-wal"}
"""The files that dbm.dumb and dbm.sqlite3 make beside a database that is open."""


@pytest.fixture(params=FORMS)
def found(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The scheme and the plain path of a database that holds the array /g/a."""
    with zarrscope.open(f"{request.param}://{tmp_path.as_posix()}/x.zarr", "w-") as h:
        h.create_array("/g/a", shape=(2,), dtype="u1")[...] = 7
    return request.param, tmp_path / "x.zarr"


def test_a_database_opens_by_its_plain_path(found: tuple[str, Path]) -> None:
    scheme, path = found
    with zarrscope.open(str(path)) as h:
        assert h.store.url.startswith(f"{scheme}://")
        assert not h.store.writable
        assert f"opened as {scheme}://" in not_none(h.recognition).sentence
        assert not h.warnings
        assert [child.name for child in as_group(h["/g"]).children()] == ["a"]
        found_out = [each for each in check(h) if each.code == "hierarchy"]
        assert [each.severity for each in found_out] == ["information"]
    for text in (f"{path}/g/a", f"{path}::g/a", f"{path}/g/a/zarr.json"):
        assert zarrscope.open_array(text)[...].tolist() == [7, 7], text
    assert zarrscope.open_array(path, "/g/a")[...].tolist() == [7, 7]


@pytest.mark.parametrize("mode", ["r+", "a"])
def test_a_database_is_written_by_its_plain_path(found: tuple[str, Path], mode: Any) -> None:
    scheme, path = found
    before = {each.name for each in path.parent.rglob("*")}
    hierarchy = zarrscope.open_array(f"{path}/g/a", mode=mode).hierarchy
    assert isinstance(hierarchy, zarrscope.Hierarchy)
    with hierarchy as h:
        h.create_group("/new")
        as_array(h["/g/a"])[0] = 9
    assert zarrscope.open_array(f"{scheme}://{path.as_posix()}/g/a")[...].tolist() == [9, 7]
    assert "new" in zarrscope.open(path)
    assert {each.name for each in path.parent.rglob("*")} - before <= OWN_FILES, "no folder was made"


@pytest.mark.parametrize("scheme", FORMS)
def test_a_database_of_another_program_is_not_written(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    if scheme == "sqlite":
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE bookmarks(id)")
        other.close()
    else:
        with closing(open_store(f"{scheme}://{path.as_posix()}", "w-")) as store:
            store.set("bookmark", b"1")
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file() and each.name != "lock.mdb"}
    for mode in ("r", "r+"):
        with pytest.raises((NotFound, Unsupported)):
            zarrscope.open(path, mode)
    if path.is_file():  # SQLite, and dbm where it is made of SQLite: from Python 3.13 on
        with pytest.raises(Unsupported, match="nor a metadata file"):
            zarrscope.open(path, "a")
    else:
        zarrscope.open(path, "a").close()
    assert {each: each.read_bytes() for each in before} == before


def test_the_files_of_dbm_lead_to_their_database(tmp_path: Path) -> None:
    import dbm.dumb

    with dbm.dumb.open(str(tmp_path / "x"), "c") as file:
        file[".zgroup"] = b'{"zarr_format": 2}'
        file[".zattrs"] = b'{"by": "dbm"}'
    for name in ("x", "x.dat", "x.dir"):
        assert zarrscope.open(tmp_path / name)["/"].attributes == {"by": "dbm"}, name
    (tmp_path / "x").mkdir()
    with pytest.raises(NotFound):
        zarrscope.open(tmp_path / "x")


@pytest.mark.skipif(find_spec("lmdb") is None, reason="lmdb is not installed")
def test_a_file_of_lmdb_opens_by_its_plain_path(tmp_path: Path) -> None:
    import lmdb

    with lmdb.open(str(tmp_path / "x.lmdb"), subdir=False) as made, made.begin(write=True) as transaction:
        transaction.put(b".zgroup", b'{"zarr_format": 2}')
    assert zarrscope.open(tmp_path / "x.lmdb").dialect.name == "v2"
    with zarrscope.open(f"lmdb://{tmp_path.as_posix()}/y", "w-"):
        pass
    assert zarrscope.open(tmp_path / "y" / "data.mdb").store.url == f"lmdb://{tmp_path.as_posix()}/y"


def test_a_database_whose_package_is_missing_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope.errors.installing import how_to_install
    from zarrscope.stores import registry

    (tmp_path / "data.mdb").write_bytes(b"x")
    monkeypatch.setattr(registry, "_missing", list)
    with pytest.raises(Unsupported, match="lmdb, which is not installed") as raised:
        zarrscope.open(tmp_path)
    assert raised.value.advice == how_to_install("lmdb")


def test_a_plain_folder_is_not_looked_at_for_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope.stores.local import databases

    zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(1,), dtype="u1")
    monkeypatch.setattr(databases, "database_at", lambda path: pytest.fail(f"looked at {path}"))
    assert zarrscope.open_array(tmp_path / "x.zarr", "/a").shape == (1,)


OF_ZARR2 = {"sqlite": "SQLiteStore", "dbm": "DBMStore", "lmdb": "LMDBStore"}
THEIRS = """
import sys, numpy, zarr
kind, path, act = sys.argv[1:]
store = getattr(zarr, kind)(path)
if act == "write":
    group = zarr.group(store)
    group.attrs["by"] = "zarr-python 2"
    group.array("g/a", numpy.arange(12).reshape(3, 4), chunks=(2, 2), dtype="i4")
else:
    group = zarr.open_group(store, mode="r")
    print(dict(group.attrs), group["g/a"][...].tolist(), group["g/a"].dtype)
store.close()
"""


def theirs(scheme: str, path: Path, act: str) -> str:
    done = subprocess.run(
        [str(zarr2() or ""), "-W", "ignore", "-c", THEIRS, OF_ZARR2[scheme], str(path), act],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.needs("zarr2")
@pytest.mark.parametrize("scheme", FORMS)
def test_zarr_python_2_and_we_read_each_other(scheme: str, tmp_path: Path) -> None:
    values = np.arange(12, dtype="i4").reshape(3, 4)
    theirs(scheme, tmp_path / "theirs.db", "write")
    with zarrscope.open(f"{scheme}://{tmp_path}/theirs.db", "r+") as h:
        assert h.dialect.name == "v2"
        assert h["/"].attributes["by"] == "zarr-python 2"
        array = h["/g/a"]
        assert isinstance(array, zarrscope.Array)
        np.testing.assert_array_equal(array[...], values)
        array[0] = 9
    assert "[[9, 9, 9, 9], [4, 5, 6, 7]" in theirs(scheme, tmp_path / "theirs.db", "read")
    if scheme == "dbm":  # from Python 3.13 on dbm makes files that an older one, with zarr-python 2, cannot read
        make = "import dbm, sys; dbm.open(sys.argv[1], 'c').close()"
        subprocess.run([str(zarr2()), "-c", make, str(tmp_path / "ours.db")], check=True, timeout=60)
    with zarrscope.open(f"{scheme}://{tmp_path}/ours.db", "a", dialect="v2") as h:
        made = h.create_array("/g/a", shape=(3, 4), chunks=(2, 2), dtype="i4")
        made[...] = values
    assert theirs(scheme, tmp_path / "ours.db", "read") == f"{{}} {values.tolist()} int32"


def test_a_store_that_is_dropped_closes_its_connection(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "x.db"))
    store.set("a", b"1")
    sqlite3.connect(tmp_path / "y.db").execute("CREATE TABLE Dict(key BLOB PRIMARY KEY, value BLOB)").connection.close()
    table = _SqliteTable(str(tmp_path / "y.db"), writable=True)
    connections = [*store._unused, table._connection]
    assert len(connections) == 2
    del store, table
    gc.collect()
    for connection in connections:
        assert connection is not None
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


COUNT = """
import sys
from zarrscope.check.hierarchy import check
from zarrscope.errors import Conflict
from zarrscope.stores.address import open_store
store = open_store(sys.argv[1], "r+")
for _ in range(25):
    while True:
        found = store.get_versioned("n")
        try:
            store.set("n", b"%d" % (int(found[0]) + 1), found[1])
            break
        except Conflict:
            pass
"""


@pytest.mark.parametrize("scheme", FORMS)
def test_no_update_of_several_processes_is_lost(scheme: str, tmp_path: Path) -> None:
    if scheme == "dbm":
        pytest.skip("only one process at a time may write such a file")
    url = f"{scheme}://{tmp_path}/x.db"
    open_store(url, "a").set("n", b"0")
    writers = [subprocess.Popen([sys.executable, "-c", COUNT, url]) for _ in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert open_store(url).get("n") == b"75"


def test_a_file_that_holds_no_empty_value_refuses_it(tmp_path: Path) -> None:
    ndbm = pytest.importorskip("dbm.ndbm", reason="this Python has no dbm.ndbm")
    with ndbm.open(str(tmp_path / "x.dbm"), "c") as file:
        file[b"a"] = b"1"
    store = open_store(f"dbm://{tmp_path}/x.dbm", "a")
    store.set("b", b"2")
    with pytest.raises(Refused, match="empty value"):
        store.set("a", b"")
    assert {key: store.get(key) for key in store.list()} == {"a": b"1", "b": b"2"}
    store.close()


def test_a_new_file_of_dbm_holds_empty_values(tmp_path: Path) -> None:
    store = open_store(f"dbm://{tmp_path}/x.dbm", "a")
    store.set("a", b"")
    assert store.get("a") == b""
    store.erase("a")
    assert list(store.list()) == []
    store.close()


@pytest.mark.parametrize("mode", ["r", "a"])
def test_changes_of_another_process_are_seen_while_a_file_of_dbm_is_open(
    mode: Literal["r", "a"], tmp_path: Path
) -> None:
    import dbm.dumb

    path = str(tmp_path / "x.dbm")
    with dbm.dumb.open(path, "c") as file:
        file["a"] = b"old"
        file["gone"] = b"1"
    store = open_store(f"dbm://{path}", mode)
    assert store.get("a") == b"old"
    with dbm.dumb.open(path, "w") as file:
        file["a"] = b"new, and longer than a block of this kind of file" * 40
        file["more"] = b"2"
        del file["gone"]
    assert store.get("a") == b"new, and longer than a block of this kind of file" * 40
    assert (store.get("more"), store.get("gone")) == (b"2", None)
    assert sorted(store.list()) == ["a", "more"]
    if mode == "a":  # values of others are not lost when this store saves its index
        with dbm.dumb.open(path, "w") as file:
            file["later"] = b"3"
        store.set("own", b"4")
        with dbm.dumb.open(path, "r") as file:
            assert sorted(file.keys()) == [b"a", b"later", b"more", b"own"]
    (tmp_path / "x.dbm.dir").write_text("'a', (0")  # another process is writing it
    assert store.get("more") == b"2"
    store.close()
