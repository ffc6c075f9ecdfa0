"""Symbolic links that lead out of a store (git-annex, DataLad, shared chunks): refused, or followed on request; a
broken link is an error, never an absent value.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.errors import OutsideLink
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.stores.local.links import MOST_LINKS
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import PrefixStore, ReadOnlyStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX symbolic links")

VALUES = np.arange(64, dtype="u2").reshape(8, 8)


def annexed(folder: Path, dialect: str) -> Path:
    """A hierarchy in which every file is a link into .git/annex/objects beside it, as `git annex add` makes it."""
    root = folder / "a.zarr"
    hierarchy = zarrscope.open(root, "a", dialect=dialect)
    hierarchy.create_group("g", {"note": "x"})
    array = hierarchy.create_array("g/a", shape=(8, 8), dtype="u2", chunks=(4, 4))
    assert isinstance(array, zarrscope.Array)
    array[...] = VALUES
    for file in [file for file in root.rglob("*") if file.is_file()]:
        key = "MD5E-" + hashlib.md5(file.read_bytes()).hexdigest()
        place = folder / ".git/annex/objects" / key[5:7] / key / key
        place.parent.mkdir(parents=True, exist_ok=True)
        file.replace(place)
        place.chmod(0o444)
        file.symlink_to(os.path.relpath(place, file.parent))
    return root


def objects(folder: Path) -> dict[str, str]:
    """The digest of each object of the annex, by the digest in its name."""
    return {
        place.name[5:]: hashlib.md5(place.read_bytes()).hexdigest() for place in folder.glob(".git/annex/objects/*/*/*")
    }


@pytest.mark.parametrize("dialect", ["v3", "v2", "n5", "draft-2020"])
def test_an_annexed_hierarchy_opens_where_links_are_followed(dialect: str, tmp_path: Path) -> None:
    root = annexed(tmp_path, dialect)
    with pytest.raises(OutsideLink, match="--follow-links"):
        zarrscope.open(root)
    hierarchy = zarrscope.open(root, follow_links=True)
    assert [path for path, _ in hierarchy.walk()] == ["/g", "/g/a"]
    array = hierarchy["g/a"]
    assert isinstance(array, zarrscope.Array)
    assert np.array_equal(array[...], VALUES)
    assert [f for f in check(hierarchy) if f.severity != "information"] == []
    again = pickle.loads(pickle.dumps(array))
    assert np.array_equal(again[...], VALUES), "the option outlives pickling"


@pytest.mark.parametrize("dialect", ["v3", "v2", "n5"])
def test_what_a_link_leads_to_is_never_written(dialect: str, tmp_path: Path) -> None:
    root = annexed(tmp_path, dialect)
    hierarchy = zarrscope.open(root, "r+", follow_links=True)
    group, array = hierarchy["g"], hierarchy["g/a"]
    assert isinstance(array, zarrscope.Array)
    document = hierarchy.document("g")
    base = attributes_pointer(hierarchy, "g")
    hierarchy.save("g", document.set_text(base + "/note", '"y"'))
    array[:4, :4] = 7
    array.resize((4, 8))
    fresh = zarrscope.open(root, follow_links=True)
    assert fresh["g"].attributes["note"] == "y"
    assert (as_array(fresh["g/a"])[:4, :4] == 7).all()
    assert group.attributes["note"] == "x"
    assert all(name == digest for name, digest in objects(tmp_path).items())
    assert len(objects(tmp_path)) >= 6


@pytest.mark.parametrize("follow", [True, False])
def test_a_link_to_nothing_is_unreadable_not_absent(follow: bool, tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    array = zarrscope.open(root, "a").create_array("a", shape=(8, 8), dtype="u2", chunks=(4, 4))
    assert isinstance(array, zarrscope.Array)
    array[...] = VALUES
    chunk = root / "a/c/0/0"
    chunk.unlink()
    chunk.symlink_to("gone")
    (root / "a/c/1").rename(root / "a/c/moved")
    (root / "a/c/1").symlink_to("nowhere")
    found = zarrscope.open(root, follow_links=follow)["a"]
    assert isinstance(found, zarrscope.Array)
    for region in (np.s_[:4, :4], np.s_[4:, 4:]):
        with pytest.raises(zarrscope.Unreadable, match="symbolic link is broken"):
            found[region]
    assert np.array_equal(found[:4, 4:], VALUES[:4, 4:])
    (root / "zarr.json").unlink()
    (root / "zarr.json").symlink_to("lost.json")
    with pytest.raises(zarrscope.Unreadable, match="symbolic link is broken"):
        zarrscope.open(root, follow_links=follow)


def test_content_that_git_annex_has_not_fetched_is_named_as_such(tmp_path: Path) -> None:
    root = annexed(tmp_path, "v3")
    (root / "g/a/c/0/0").resolve().unlink()
    found = zarrscope.open(root, follow_links=True)["g/a"]
    assert isinstance(found, zarrscope.Array)
    with pytest.raises(zarrscope.Unreadable, match="git annex get"):
        found[...]


def test_the_option_passes_through_wrappers(tmp_path: Path) -> None:
    root = annexed(tmp_path, "v3")
    for store, path in ((ReadOnlyStore(LocalStore(root)), "g/a"), (PrefixStore(LocalStore(root), "g/"), "a")):
        with pytest.raises(zarrscope.Refused):
            zarrscope.open(store)
        array = zarrscope.open(store, follow_links=True)[path]
        assert isinstance(array, zarrscope.Array)
        assert np.array_equal(array[...], VALUES)
        assert store.allow_outside


def test_a_folder_of_chunks_elsewhere_is_read_and_a_link_to_it_removed_alone(tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    array = zarrscope.open(root, "a").create_array("a", shape=(8, 8), dtype="u2", chunks=(4, 4))
    assert isinstance(array, zarrscope.Array)
    array[...] = VALUES
    (root / "a/c").rename(tmp_path / "chunks")
    (root / "a/c").symlink_to(tmp_path / "chunks")
    closed = as_array(zarrscope.open(root)["a"])
    with pytest.raises(OutsideLink):
        closed[...]
    hierarchy = zarrscope.open(root, "r+", follow_links=True)
    assert np.array_equal(as_array(hierarchy["a"])[...], VALUES)
    hierarchy.erase("a")
    assert "a" not in zarrscope.open(root)
    assert len([file for file in (tmp_path / "chunks").rglob("*") if file.is_file()]) == 4


@pytest.mark.parametrize("follow", [False, True])
def test_links_back_to_a_folder_above_make_no_endless_hierarchy(follow: bool, tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    h = zarrscope.open(root, "a")
    h.create_group("g/h")
    h.create_array("a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    for name in ("s1", "s2"):  # of two such links, the paths double with each link
        (root / name).symlink_to(".")
    (root / "g/up").symlink_to("../g")
    (root / "g/h/over").symlink_to("../..")
    h = zarrscope.open(root, follow_links=follow)
    told = dict(h.walk())
    assert sorted(told) == ["/a", "/g", "/g/h", "/g/h/over", "/g/up", "/s1", "/s2"]
    for path in ("/s1", "/s2", "/g/up", "/g/h/over"):
        node = h[path]
        assert isinstance(node, zarrscope.Group)
        with pytest.raises(zarrscope.Unreadable, match="leads back to a folder that contains it") as caught:
            [*node.children()]
        assert caught.value.key == path[1:] + "/"
        assert caught.value.store == h.url
        assert "Remove the link" in str(caught.value.advice)
    assert as_array(h["/s1/a"])[...].tolist() == [7] * 4
    told_by_check = sorted(each.key or "" for each in check(h) if each.severity == "error")
    assert told_by_check == ["g/h/over/", "g/up/", "s1/", "s2/"], "each is told once"
    with pytest.raises(zarrscope.Unreadable, match="leads back"):
        convert.run(convert.plan(h, MemoryStore(), "v2"))
    assert len([*h.store.list_prefix("")]) < 100


@pytest.mark.parametrize("follow", [False, True])
def test_links_that_branch_are_listed_only_a_few_levels_down(follow: bool, tmp_path: Path) -> None:
    """Each of 30 folders has two links to the next one: there are 2 ** 30 paths, and no circle."""
    root = tmp_path / "a.zarr"
    h = zarrscope.open(root, "a")
    for n in range(30):
        h.create_group(f"d{n}")
    for n in range(29):
        for name in ("x", "y"):
            (root / f"d{n}" / name).symlink_to(f"../d{n + 1}")
    h = zarrscope.open(root, follow_links=follow)
    assert max(path.count("/") for path, _ in h.walk()) == MOST_LINKS + 2
    assert [path for path, _ in h.walk("/d28")] == ["/d28/x", "/d28/y"]
    with pytest.raises(zarrscope.Unreadable, match="more than 4 symbolic links"):
        [*h.store.list_prefix("")]


def test_a_link_to_a_folder_beside_is_listed(tmp_path: Path) -> None:
    root = tmp_path / "a.zarr"
    h = zarrscope.open(root, "a")
    h.create_array("g/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    (root / "same").symlink_to("g")
    h = zarrscope.open(root)
    assert [path for path, _ in h.walk()] == ["/g", "/g/a", "/same", "/same/a"]
    assert [each for each in check(h) if each.severity == "error"] == []
    copy = MemoryStore()
    convert.run(convert.plan(h, copy, "v2"))
    assert as_array(zarrscope.open(copy)["/same/a"])[...].tolist() == [7] * 4


@pytest.mark.parametrize("key", ["zarr.json", "a/zarr.json", "a/c/0"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link in a circle"])
def test_what_is_no_file_is_not_read(kind: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a pipe would wait for a writer without end."""
    root = tmp_path / "a.zarr"
    zarrscope.open(root, "a").create_array("a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    (root / key).unlink()
    if kind == "pipe":
        os.mkfifo(root / key)
    elif kind == "socket":
        monkeypatch.chdir((root / key).parent)  # the name of a socket may have only about 100 characters
        with socket.socket(socket.AF_UNIX) as made:
            made.bind((root / key).name)
    else:
        (root / key).symlink_to((root / key).name)
    why = "in a circle" if kind == "link in a circle" else "a pipe or a socket, not a file"
    with pytest.raises(zarrscope.Unreadable, match=why) as caught:
        as_array(zarrscope.open(root)["a"])[...]
    assert caught.value.key == key
    assert "restore the file" in str(caught.value.advice)
