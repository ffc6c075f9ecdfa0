"""Python objects as stores: of zarr-python 3, fsspec, upath, obstore, zipfile, xarray and dask."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import obstore
import pytest
import zarr
from fsspec.implementations.dirfs import DirFileSystem

import zarrscope
from contracts.store import Reading, Writing, machine
from narrowing import as_array
from temporary import new_folder
from zarrscope.errors import NotFound, ReadOnly, Refused, Unreadable, Unsupported
from zarrscope.stores.address import open_store
from zarrscope.stores.file_system import FileSystemStore
from zarrscope.stores.objects import locate_object
from zarrscope.stores.store import Store
from zarrscope.stores.zarr_python import ZarrPythonStore

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def store_of(value: Any, mode: Any = "a") -> Store:
    store = locate_object(value, mode).store
    assert store is not None
    return store


def async_files() -> Any:
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    return AsyncFileSystemWrapper(fsspec.filesystem("memory"), asynchronous=True)


class TestZarrMemory(Writing):
    def empty(self) -> Store:
        store = store_of(zarr.storage.MemoryStore())
        assert isinstance(store, ZarrPythonStore)
        return store


class TestZarrWrapped(Writing):
    """An object that is recognised as a zarr-python store by its methods alone."""

    def empty(self) -> Store:
        store = store_of(zarr.storage.WrapperStore(zarr.storage.MemoryStore()))
        assert isinstance(store, ZarrPythonStore)
        return store


class TestZarrFsspecByMethods(Writing):
    def empty(self) -> Store:
        store: Any = zarr.storage.FsspecStore(async_files(), path=f"/{os.urandom(6).hex()}/x")
        return ZarrPythonStore(store)


class TestZarrFsspec(Writing):
    def empty(self) -> Store:
        store = store_of(zarr.storage.FsspecStore(async_files(), path=f"/{os.urandom(6).hex()}/x"))
        assert isinstance(store, FileSystemStore)
        return store


class TestZarrZip(Reading):
    """An archive that is still being written is read by its own methods, which cannot erase."""

    def filled(self, values: Mapping[str, bytes]) -> Store:
        archive = zarr.storage.ZipStore(os.path.join(new_folder(), "x.zip"), mode="w")
        buffer = zarr.core.buffer.default_buffer_prototype().buffer
        for key, value in values.items():
            zarr.core.sync.sync(archive.set(key, buffer.from_bytes(value)))
        return store_of(archive)


class TestMapper(Writing):
    def empty(self) -> Store:
        return store_of(fsspec.get_mapper(f"memory://{os.urandom(6).hex()}/x"))


class TestObstoreMemory(Writing):
    def empty(self) -> Store:
        return store_of(obstore.store.MemoryStore())


class TestZipFile(Reading):
    def filled(self, values: Mapping[str, bytes]) -> Store:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for key, value in values.items():
                archive.writestr(key, value)
        return store_of(zipfile.ZipFile(data))


TestZarrMachine = machine(lambda: store_of(zarr.storage.MemoryStore()))
TestFileSystemMachine = machine(lambda: store_of(fsspec.get_mapper(f"memory://{os.urandom(6).hex()}/x")))
TestObstoreMachine = machine(lambda: store_of(obstore.store.MemoryStore()))


# ------------------------------------------------------------------ nodes
@pytest.fixture
def array() -> Any:
    """An array of zarr-python 3 in a group of a store in memory."""
    made = zarr.create_group(zarr.storage.MemoryStore()).create_array("g/a", shape=(4, 4), chunks=(2, 2), dtype="i4")
    made[...] = np.arange(16).reshape(4, 4)
    return made


def test_nodes_of_zarr_python_open_where_they_are(array: Any) -> None:
    import dask.array

    root = zarr.open_group(array.store)
    cases: list[tuple[Any, str]] = [
        (array.store, "/"),
        (root, "/"),
        (root["g"], "/g"),
        (array, "/g/a"),
        (array.store_path, "/g/a"),
        (array._async_array, "/g/a"),
        (dask.array.from_zarr(array), "/g/a"),
        (dask.array.from_zarr(array)[1:] + 1, "/g/a"),
    ]
    for value, path in cases:
        h = zarrscope.open(value)
        assert h.initial_path == path
        assert not h.store.writable
        assert as_array(h["/g/a"])[...].tolist() == np.asarray(array[...]).tolist()
    assert zarrscope.open_array(array)[0, 1] == 1
    assert zarrscope.open_group(root["g"]).path == "/g"
    assert zarrscope.open_array(root["g"], "a").path == "/g/a"


def test_what_is_written_through_a_node_is_there_for_zarr_python(array: Any) -> None:
    ours = zarrscope.open_array(array, mode="r+")
    ours[0] = 9
    ours.attrs["by"] = "us"
    assert np.asarray(array[0]).tolist() == [9, 9, 9, 9]
    assert zarr.open_array(array.store, path="g/a", mode="r").attrs["by"] == "us"
    reading = zarr.open_array(array.store.with_read_only(True), path="g/a", mode="r")
    assert not zarrscope.open(reading, "r+").store.writable


def test_a_node_without_a_hierarchy_above_it_is_its_own() -> None:
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(store, name="deep/a", shape=(2,), dtype="u1")
    for key in [key for key in store._store_dict if key in ("zarr.json", "deep/zarr.json")]:
        del store._store_dict[key]
    assert as_array(zarrscope.open(array).open_node(zarrscope.open(array).initial_path)).shape == (2,)


def test_folders_are_opened_by_our_own_store(tmp_path: Path) -> None:
    zarr.create_array(str(tmp_path / "x.zarr"), shape=(2,), dtype="u1")[...] = 7
    files = fsspec.filesystem("file")
    place = str(tmp_path / "x.zarr")
    for value in (
        zarr.storage.LocalStore(place),
        zarr.storage.FsspecStore.from_url(f"file://{place}"),
        obstore.store.LocalStore(place),
        zarr.storage.ObjectStore(obstore.store.LocalStore(place)),
        files.get_mapper(place),
        DirFileSystem(place, files),
    ):
        h = zarrscope.open(value)
        assert h.url == open_store(place).url
        assert as_array(h["/"])[...].tolist() == [7, 7]
    assert zarrscope.open(zarr.storage.LocalStore(place), "r+").store.writable
    assert not store_of(zarr.storage.LocalStore(place, read_only=True)).writable
    for value in (files, obstore.store.LocalStore()):
        with pytest.raises(Refused, match="names no folder"):
            zarrscope.open(value)


@pytest.mark.skipif(find_spec("upath") is None, reason="universal_pathlib is not installed")
def test_a_path_of_upath(tmp_path: Path) -> None:
    from upath import UPath

    place = UPath(f"memory://{os.urandom(6).hex()}/x.zarr")
    with zarrscope.open(place, "w-") as h:
        h.create_array("/a", shape=(3,), dtype="u1")[...] = 7
    assert (place / "a" / "zarr.json").exists()
    assert zarrscope.open_array(place, "/a")[...].tolist() == [7, 7, 7]
    zarr.create_array(str(tmp_path / "x.zarr"), shape=(2,), dtype="u1")
    assert zarrscope.open(UPath(tmp_path / "x.zarr")).url == open_store(str(tmp_path / "x.zarr")).url


@pytest.mark.skipif(find_spec("xarray") is None, reason="xarray is not installed")
@pytest.mark.parametrize("chunks", [{}, None])
def test_datasets_of_xarray_lead_to_their_group(chunks: Any, tmp_path: Path) -> None:
    import xarray

    made = xarray.Dataset({"v": (("y", "x"), np.arange(12).reshape(3, 4))}, {"x": [1, 2, 3, 4]})
    made["w"] = made["v"] * 2
    made.to_zarr(tmp_path / "x.zarr", group="g")
    with pytest.raises(Refused, match="not opened from Zarr"):
        zarrscope.open(made)
    opened = xarray.open_zarr(tmp_path / "x.zarr", group="g", chunks=chunks)
    for value, path in ((opened, "/g"), (opened.v, "/g/v"), (opened.v.variable, "/g/v"), (opened[["v"]], "/g")):
        h = zarrscope.open(value)
        assert (h.url, h.initial_path) == (open_store(str(tmp_path / "x.zarr")).url, path)
    assert zarrscope.open_array(opened.v)[1].tolist() == [4, 5, 6, 7]
    if chunks is not None:
        assert zarrscope.open_array(opened.v.data)[1].tolist() == [4, 5, 6, 7]
        with pytest.raises(Refused, match="2 Zarr arrays"):
            zarrscope.open(opened.v.data + opened.w.data)


@pytest.mark.skipif(find_spec("xarray") is None, reason="xarray is not installed")
@pytest.mark.parametrize("chunks", [{}, None])
def test_trees_of_xarray_lead_to_their_group(chunks: Any, tmp_path: Path) -> None:
    import xarray

    made = xarray.Dataset({"v": (("y", "x"), np.arange(12).reshape(3, 4))})
    tree = xarray.DataTree.from_dict({"/": made, "/a": made, "/a/b": made, "/empty/c": made})
    with pytest.raises(Refused, match="not opened from Zarr"):
        zarrscope.open(tree)
    tree.to_zarr(tmp_path / "x.zarr")
    opened = xarray.open_datatree(tmp_path / "x.zarr", engine="zarr", chunks=chunks)
    inner = xarray.open_datatree(tmp_path / "x.zarr", engine="zarr", chunks=chunks, group="a")
    places = [(opened, "/"), (opened["a"], "/a"), (opened["a/b"], "/a/b"), (opened["empty"], "/empty"), (inner, "/a"),
              (opened["a"].dataset, "/a"), (opened["a"].to_dataset(), "/a"), (opened["a/v"], "/a/v")]  # fmt: skip
    if chunks is not None:  # numpy's values are in memory after that
        more = opened.map_over_datasets(lambda one: one + 1)
        places += [(more, "/"), (more["a"], "/a"), (inner.map_over_datasets(lambda one: one * 2), "/a")]
        with pytest.raises(Refused, match="several groups"):
            zarrscope.open(
                xarray.DataTree.from_dict({"/": opened["a"].to_dataset(), "/c": more["empty/c"].to_dataset()})
            )
    for value, path in places:
        h = zarrscope.open(value)
        assert (h.url, h.initial_path) == (open_store(str(tmp_path / "x.zarr")).url, path)
    assert as_array(zarrscope.open(opened)["/a/b/v"])[1].tolist() == [4, 5, 6, 7]


# ------------------------------------------------------------------ the sentences of failed openings
def test_an_object_that_cannot_be_written_says_so() -> None:
    made = zarr.storage.MemoryStore()
    zarr.open_group(made, mode="w")
    h = zarrscope.open(made.with_read_only(True), "a")
    with pytest.raises(ReadOnly, match="This place can only be read"):
        h.create_group("/g")


def test_what_leads_nowhere_is_told(tmp_path: Path) -> None:
    import dask.array

    with pytest.raises(Refused, match="ndarray cannot be opened by zarrscope"):
        zarrscope.open(np.zeros(3))
    with pytest.raises(Refused, match="Array was not opened from Zarr"):
        zarrscope.open(dask.array.zeros(3))
    with pytest.raises(Unsupported, match="open for writing"):
        zarrscope.open(zipfile.ZipFile(tmp_path / "x.zip", "w"))
    with pytest.raises(NotFound):
        zarrscope.open(zarr.storage.MemoryStore())
    with pytest.raises(NotFound, match="no such object in this process"):
        zarrscope.open("object://9999999")


def test_a_closed_zip_file_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("zarr.json", '{"zarr_format":3,"node_type":"group"}')
    archive = zipfile.ZipFile(tmp_path / "x.zip")
    h = zarrscope.open(archive)
    assert h.root.kind == "group"
    archive.close()
    with pytest.raises(Unreadable, match="The ZipFile is closed"):
        h.store.get("zarr.json")
    with pytest.raises(Refused, match="The ZipFile is closed"):
        zarrscope.open(archive)


def test_what_a_store_raises_is_told() -> None:
    class Broken(zarr.storage.MemoryStore):
        async def get(self, *arguments: Any, **named: Any) -> Any:
            raise ConnectionError("the cellar is under water")

    with pytest.raises(Unreadable, match="Broken failed: ConnectionError: the cellar is under water"):
        zarrscope.open(Broken())


def test_an_object_opens_again_by_its_address_while_it_is_used(array: Any) -> None:
    h = zarrscope.open(array)
    assert as_array(zarrscope.open(h.url, "r+")["/g/a"]).shape == (4, 4)
