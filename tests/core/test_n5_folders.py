"""N5 hierarchies with folders that have no attributes.json: the root, and groups beneath it."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import servers
import zarrscope
from contracts import http_server
from contracts.places import COMMAND, NEAR
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.errors import NotFound
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import Counting, PrefixStore

VALUES = np.arange(24, dtype="uint16").reshape(4, 6)
NODES = {
    "/setup0": "group",
    "/setup0/timepoint0": "group",
    "/setup0/timepoint0/s0": "array",
    "/setup1": "group",
    "/setup1/timepoint0": "group",
    "/setup1/timepoint0/s0": "array",
}


def made(folder: Path) -> Path:
    """A hierarchy of N5 in which only the arrays have a document, as BigDataViewer's older exports."""
    with zarrscope.open(folder, "w-", dialect="n5") as h:
        for path, kind in NODES.items():
            if kind == "array":
                h.create_array(path, shape=VALUES.shape, dtype="uint16", chunks=(2, 3))[...] = VALUES
    for path in ("", *(path[1:] for path, kind in NODES.items() if kind == "group")):
        (folder / path / "attributes.json").unlink(missing_ok=True)
    return folder


def _far(folder: Path) -> Store:
    """A store with prefixes instead of folders, behind a network, as S3."""
    values = {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    store = MemoryStore(values)
    store.remote = True
    store.url = f"s3://bucket/{folder.name}"
    return store


def _zipped(folder: Path) -> Path:
    place = folder.parent / "packed.zip"
    with zipfile.ZipFile(place, "w") as archive:
        for each in sorted(folder.rglob("*")):
            archive.write(each, each.relative_to(folder).as_posix())
    return place


@pytest.fixture(
    params=["local", "far", "prefix", "zip", "web", "ssh", pytest.param("sftp", marks=pytest.mark.needs("sshd"))]
)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Path], zarrscope.Hierarchy]]:
    """Opens the hierarchy in a folder over each kind of store."""
    if request.param == "sftp":
        pytest.importorskip("paramiko")
        with servers.sshd(tmp_path_factory.mktemp("sshd")) as arguments:
            url, options = f"sftp://127.0.0.1:{servers.port_of(arguments)}", servers.sftp_options(arguments)
            yield lambda folder: zarrscope.open(f"{url}{folder}", storage_options=options)
        return
    if request.param == "web":
        pytest.importorskip("aiohttp")
        with http_server.serving(http_server.folder_server(tmp_path)) as url:
            yield lambda folder: zarrscope.open(f"{url}/{folder.relative_to(tmp_path).as_posix()}")
        return
    ways: dict[str, Callable[[Path], Store | Path]] = {
        "local": LocalStore,
        "far": _far,
        "prefix": lambda folder: PrefixStore(LocalStore(folder.parent), folder.name + "/"),
        "zip": _zipped,
        "ssh": _by_ssh,
    }
    hierarchies: list[zarrscope.Hierarchy] = []

    def act(folder: Path) -> zarrscope.Hierarchy:
        hierarchies.append(zarrscope.open(ways[request.param](folder)))
        return hierarchies[-1]

    yield act
    for each in hierarchies:
        each.store.close()


def _by_ssh(folder: Path) -> Store:
    from zarrscope.stores.ssh.client import SSHStore

    return SSHStore(f"ssh://host{folder}", "r", ssh=NEAR, command=COMMAND)


@pytest.mark.parametrize("name", ["export.n5", "export"])
def test_a_root_without_a_document_opens_and_lists(
    tmp_path: Path, opened: Callable[[Path], zarrscope.Hierarchy], name: str
) -> None:
    h = opened(made(tmp_path / name))
    assert h.dialect.name == "n5"
    (warning,) = h.warnings
    assert warning == "The root has no document; it is shown as N5: nodes of it lie beneath the root"
    assert {path: child.kind for path, child in h.walk()} == NODES
    np.testing.assert_array_equal(as_array(h["/setup1/timepoint0/s0"])[...], VALUES)


def test_a_nested_group_opens_before_anything_is_listed(
    tmp_path: Path, opened: Callable[[Path], zarrscope.Hierarchy]
) -> None:
    h = opened(made(tmp_path / "export"))
    assert "/setup0/nothing" not in h
    group = h["/setup0/timepoint0"]
    assert isinstance(group, zarrscope.Group)
    assert [(child.name, child.kind) for child in group.children()] == [("s0", "array")]
    assert h["/setup1"].kind == "group"


def test_a_folder_within_the_hierarchy_opens_as_a_root(
    tmp_path: Path, opened: Callable[[Path], zarrscope.Hierarchy]
) -> None:
    h = opened(made(tmp_path / "export") / "setup1")
    assert {path: child.kind for path, child in h.walk()} == {"/timepoint0": "group", "/timepoint0/s0": "array"}


def test_tensorstore_reads_the_same_array(tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    folder = made(tmp_path / "export")
    place = f"{folder / 'setup0' / 'timepoint0' / 's0'}/"
    theirs = tensorstore.open({"driver": "n5", "kvstore": {"driver": "file", "path": place}}).result().read().result()
    np.testing.assert_array_equal(zarrscope.open_array(folder, "/setup0/timepoint0/s0")[...], theirs.T)


def test_empty_folders_and_documents_of_other_programs_are_no_hierarchy(tmp_path: Path) -> None:
    (tmp_path / "a.n5" / "b" / "c").mkdir(parents=True)
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "other" / "deep" / "attributes.json").write_text(json.dumps({"title": "of another program"}))
    for place in ("a.n5", "other"):
        with pytest.raises(NotFound):
            zarrscope.open(tmp_path / place)


def test_a_chosen_format_needs_no_more_than_folders(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    h = zarrscope.open(f"n5://{tmp_path / 'a'}")
    assert h.warnings == ("The root has no document; it is shown as N5: it was opened as such",)
    assert [child.name for child in as_group(h.root).children()] == ["b"]
    assert "/b/c" not in h  # an empty folder is no node, wherever it lies
    with pytest.raises(NotFound):
        zarrscope.open(f"n5://{tmp_path / 'a' / 'b' / 'c'}")
    with pytest.raises(NotFound):
        zarrscope.open(f"n5://{tmp_path / 'absent'}")
    zarrscope.open(tmp_path / "v3", "w-").create_group("/g")
    with pytest.raises(NotFound, match="The address says N5, but the hierarchy is Zarr v3"):
        zarrscope.open(f"n5://{tmp_path / 'v3'}")
    with pytest.raises(NotFound):
        zarrscope.open(tmp_path / "a", dialect="v2")


def test_an_empty_folder_beneath_stays_a_left_over(tmp_path: Path) -> None:
    folder = made(tmp_path / "export")
    (folder / "setup2" / "timepoint0").mkdir(parents=True)
    findings = check(zarrscope.open(folder))
    assert [each.path for each in findings if each.code == "left-over"] == ["/setup2/timepoint0"]
    with pytest.raises(NotFound) as found:
        zarrscope.open(folder)["/setup2/timepoint0"]
    assert found.value.advice == "/setup2/timepoint0 is an empty folder: nothing is stored in it."


def test_several_containers_in_one_folder_are_shown(tmp_path: Path) -> None:
    for name in ("one.n5", "two.n5"):
        with zarrscope.open(tmp_path / "all" / name, "w-", dialect="n5") as h:
            h.create_array("/x", shape=VALUES.shape, dtype="uint16")[...] = VALUES
    h = zarrscope.open(tmp_path / "all")
    assert {child.name for child in as_group(h.root).children()} == {"one.n5", "two.n5"}
    np.testing.assert_array_equal(as_array(h["/two.n5/x"])[...], VALUES)


def test_saved_attributes_make_the_documents(tmp_path: Path) -> None:
    folder = made(tmp_path / "export")
    with zarrscope.open(folder, "r+") as h:
        h.root.attrs["title"] = "mine"
        h["/setup0"].attrs["note"] = "here"
    assert json.loads((folder / "attributes.json").read_text())["title"] == "mine"
    assert json.loads((folder / "setup0" / "attributes.json").read_text()) == {"note": "here"}
    assert not zarrscope.open(folder).warnings


def test_an_array_beneath_such_a_root_is_pickled(tmp_path: Path) -> None:
    array = zarrscope.open_array(made(tmp_path / "export"), "/setup0/timepoint0/s0")
    again = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(again[...], VALUES)
    assert dict(again.attrs) == {}


def test_the_search_is_limited(tmp_path: Path) -> None:
    """Forty groups lie beside each other, and the arrays two levels deeper: the search goes down at once."""
    values = {f"setup{i}/timepoint0/s0/attributes.json": b"{}" for i in range(40)}
    made(tmp_path / "export")
    document = (tmp_path / "export" / "setup0" / "timepoint0" / "s0" / "attributes.json").read_bytes()
    far = Counting(MemoryStore(dict.fromkeys(values, document)))
    far.remote = True
    assert zarrscope.open(far).dialect.name == "n5"
    other = Counting(MemoryStore({f"a{i}/b{j}/text": b"" for i in range(40) for j in range(5)}))
    other.remote = True
    with pytest.raises(NotFound):
        zarrscope.open(other)
    assert (
        other.requests["list_dir"] <= 2 * 10 + 2
    )  # as many for several hierarchies as for N5, and two for the message
