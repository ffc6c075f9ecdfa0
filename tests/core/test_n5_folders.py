"""N5 folders without attributes.json, which N5 allows for groups and for the root, and empty ones, which are groups."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servers
import zarrscope
from contracts.places import COMMAND, NEAR
from zarrscope.check.hierarchy import check
from zarrscope.errors import NotFound
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, PrefixStore

VALUES = np.arange(24, dtype="uint16").reshape(4, 6)


def made(folder: Path, *, root: bool) -> Path:
    """A hierarchy of N5 with an array, and with a group that has no document and nothing beneath it."""
    with zarrscope.open(folder, "w-", dialect="n5") as h:
        h.create_array("/x/y", shape=VALUES.shape, dtype="uint16", chunks=(2, 3))[...] = VALUES
    (folder / "x" / "attributes.json").unlink(missing_ok=True)
    (folder / "a" / "b").mkdir(parents=True)
    if not root:
        (folder / "attributes.json").unlink()
    return folder


@pytest.fixture(params=["local", "prefix", "counted", "ssh", pytest.param("sftp", marks=pytest.mark.needs("sshd"))])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Store]]:
    """Opens a store over a folder, in each way that shows empty folders."""
    stores: list[Store] = []

    def ssh(folder: Path) -> Store:
        from zarrscope.stores.ssh.client import SSHStore

        return SSHStore(f"ssh://host{folder}", "r", ssh=NEAR, command=COMMAND)

    def sftp(folder: Path) -> Store:
        pytest.importorskip("paramiko")
        from zarrscope.stores.sftp.store import SFTPStore

        return SFTPStore(f"sftp://127.0.0.1:{servers.port_of(sshd)}{folder}", **servers.sftp_options(sshd, None))

    ways: dict[str, Callable[[Path], Store]] = {
        "local": LocalStore,
        "prefix": lambda folder: PrefixStore(LocalStore(folder.parent), folder.name + "/"),
        "counted": lambda folder: Counting(LocalStore(folder)),
        "ssh": ssh,
        "sftp": sftp,
    }

    def act(folder: Path) -> Store:
        stores.append(ways[request.param](folder))
        return stores[-1]

    if request.param == "sftp":
        with servers.sshd(tmp_path_factory.mktemp("sshd")) as sshd:
            yield act
            for store in stores:
                store.close()
    else:
        yield act
        for store in stores:
            store.close()


@pytest.mark.parametrize("root", [True, False])
def test_each_group_that_is_listed_opens(tmp_path: Path, opened: Callable[..., Store], root: bool) -> None:
    h = zarrscope.open(opened(made(tmp_path / "c.n5", root=root)))
    assert h.dialect.name == "n5"
    assert bool(h.warnings) is not root
    found = {path: child.kind for path, child in h.walk()}
    assert found == {"/a": "group", "/a/b": "group", "/x": "group", "/x/y": "array"}
    for path, kind in found.items():
        assert h[path].kind == kind
        assert path in h
    assert [*h["/a/b"].children()] == []
    assert "/a/c" not in h
    with pytest.raises(NotFound):
        h["/a/b/c"]
    assert not [each for each in check(h) if each.code == "left-over"]


def test_the_arrays_are_those_that_tensorstore_reads(tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    folder = made(tmp_path / "c.n5", root=False)
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": f"{folder / 'x' / 'y'}/"}}
    theirs: Any = tensorstore.open(spec).result().read().result()
    np.testing.assert_array_equal(zarrscope.open_array(folder, "/x/y")[...], theirs.T)


@pytest.mark.parametrize("named", [True, False])
def test_an_empty_folder_is_n5_if_it_is_named_so(tmp_path: Path, named: bool) -> None:
    place = tmp_path / ("e.n5" if named else "e")
    place.mkdir()
    if named:
        assert [*zarrscope.open(place).root.children()] == []
    else:
        with pytest.raises(NotFound):
            zarrscope.open(place)
    h = zarrscope.open(f"n5://{place}")
    assert (h.dialect.name, [*h.root.children()]) == ("n5", [])
    with pytest.raises(NotFound):
        zarrscope.open(tmp_path / "absent.n5")


def test_arrays_show_that_a_folder_is_n5_and_other_files_do_not(tmp_path: Path) -> None:
    h = zarrscope.open(made(tmp_path / "c", root=False))
    assert h.dialect.name == "n5"
    assert "arrays of N5" in h.warnings[0]
    other = tmp_path / "other"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "attributes.json").write_text(json.dumps({"title": "of another program"}))
    with pytest.raises(NotFound):
        zarrscope.open(other)


def test_several_containers_in_one_folder_are_shown(tmp_path: Path) -> None:
    for name in ("one.n5", "two.n5"):
        made(tmp_path / "all" / name, root=True)
    h = zarrscope.open(tmp_path / "all")
    assert {child.name for child in h.root.children()} == {"one.n5", "two.n5"}
    np.testing.assert_array_equal(h["/two.n5/x/y"][...], VALUES)


def test_a_root_without_a_document_gets_one_when_attributes_are_saved(tmp_path: Path) -> None:
    folder = made(tmp_path / "c.n5", root=False)
    with zarrscope.open(folder, "r+") as h:
        h.root.attrs["title"] = "mine"
        h["/a/b"].attrs["note"] = "here"
    assert json.loads((folder / "attributes.json").read_text())["title"] == "mine"
    assert json.loads((folder / "a" / "b" / "attributes.json").read_text()) == {"note": "here"}
    assert not zarrscope.open(folder).warnings


def test_an_array_beneath_such_a_root_is_pickled(tmp_path: Path) -> None:
    array = zarrscope.open_array(made(tmp_path / "c.n5", root=False), "/x/y")
    again = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(again[...], VALUES)
    assert dict(again.attrs) == {}


def test_a_bucket_without_a_value_is_no_hierarchy() -> None:
    for store in (MemoryStore(), MemoryStore({"readme.txt": b"text"})):
        store.url = "memory://somewhere.n5x"
        with pytest.raises(NotFound):
            zarrscope.open(store)
    store = MemoryStore()
    store.url = "s3://bucket/absent.n5"
    store.remote = True
    with pytest.raises(NotFound):
        zarrscope.open(store)


def test_an_archive_of_such_folders_is_opened(tmp_path: Path) -> None:
    folder = made(tmp_path / "c.n5", root=False)
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        for each in sorted(folder.rglob("*")):
            archive.write(each, each.relative_to(folder).as_posix())
    h = zarrscope.open(tmp_path / "c.zip")
    found = {path: child.kind for path, child in h.walk()}
    assert found["/x/y"] == "array"
    for path in found:
        assert h[path].kind == found[path]


def test_what_is_not_there_is_asked_for_with_one_listing() -> None:
    memory = MemoryStore()
    zarrscope.open(memory, "w-", dialect="n5")
    store = Counting(memory)
    h = zarrscope.open(store)
    store.reset()
    assert "/nowhere" not in h
    assert {name: count for name, count in store.requests.items() if name != "is_folder"} == {"get": 1, "list_dir": 1}
