"""An operation on one node changes no key of another, whatever their names are.

Hostile names: tests/contracts/names.py. Every operation, every dialect; and every listed name opens what was listed, in
memory, in folders, in archives and on web servers.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.http_server import web_server
from contracts.names import DIALECT_NAMES, HOSTILE, Plot, signature
from narrowing import as_array, as_group
from zarrscope import convert
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.node_path import clean_path
from zarrscope.nodes import move as moving
from zarrscope.nodes.array import Array
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store

ALL = bool(os.environ.get("ZARRSCOPE_ALL_NAMES"))
"""All names are tested in folders, also with consolidated metadata; each other kind of store tests a share of them."""
every = pytest.mark.parametrize("dialect", DIALECT_NAMES)


def stores(tmp_path: Path) -> dict[str, Callable[[], Store]]:
    return {"memory": MemoryStore, "local": lambda: LocalStore(tmp_path / "x", sync=False)}


# ---------------------------------------------------------------------------------------------- opening
def listed(hierarchy: Hierarchy, beneath: str = "/") -> Iterator[str]:
    for child in as_group(hierarchy[beneath]).children():
        yield f"{beneath.rstrip('/')}/{child.name}"


HIDDEN = {"v3": ("__",), "v2": (".zarr", ".nczarr")}


def hidden(dialect: str, path: str) -> bool:
    """Whether the dialect reserves the name, so that no listing shows it."""
    return any(name.startswith(HIDDEN.get(dialect, ("/",))) for name in path.split("/"))


@every
@pytest.mark.parametrize("kind", ["memory", "local", "zip", "http"])
def test_every_listed_name_opens_the_node_that_was_listed(dialect: str, kind: str, tmp_path: Path) -> None:
    names = HOSTILE if kind in ("memory", "zip") or ALL else HOSTILE[DIALECT_NAMES.index(dialect) % 3 :: 3]
    plot = Plot(dialect, stores(tmp_path)[kind if kind == "local" else "memory"](), names)
    assert len(plot.nodes) > len(names), plot.refused
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            for key, value in signature(plot.store).items():
                archive.writestr(key, value or b"")
        opened = zarrscope.open(tmp_path / "x.zip")
    elif kind == "http":
        with web_server({key: value or b"" for key, value in signature(plot.store).items()}) as server:
            opened = zarrscope.open(server.url)
            wrong = [why for path in plot.nodes if (why := plot.shown(opened, path)) is not None]
        assert not wrong, wrong[:5]
        return
    else:
        opened = zarrscope.open(plot.store)
    found = [*listed(opened)]
    assert len(found) == len(set(found))
    told = {path for path in plot.nodes if path.count("/") == 1 and not hidden(dialect, path)}
    assert set(found) >= told
    assert all(path in plot.nodes for path in found if path in told or plot.owned(path))
    wrong = [why for path in plot.nodes if (why := plot.shown(opened, path)) is not None]
    assert not wrong, wrong[:5]
    walked = {path: child.kind for path, child in opened.walk()}
    assert {path: kind for path, kind in plot.nodes.items() if not hidden(dialect, path)}.items() <= walked.items()


# ---------------------------------------------------------------------------------------------- changing
def edit(hierarchy: Hierarchy, path: str) -> None:
    document = hierarchy.document(path)
    hierarchy.save(path, document.set(f"{attributes_pointer(hierarchy, path)}/note", "edited"))


def write(hierarchy: Hierarchy, path: str) -> None:
    node = hierarchy[path]
    array = node if isinstance(node, Array) else as_array(hierarchy[f"{path}/in"])
    array[1:3, 2:5] = 255


def resize(hierarchy: Hierarchy, path: str) -> None:
    node = hierarchy[path]
    array = node if isinstance(node, Array) else as_array(hierarchy[f"{path}/in"])
    array.resize((2, 3))


def erase(hierarchy: Hierarchy, path: str) -> None:
    hierarchy.erase(path)


ACTS: dict[str, Callable[[Hierarchy, str], Any]] = {
    "edit attributes": edit,
    "write values": write,
    "copy": lambda h, path: moving.copy(h, path, "/new-copy"),
    "erase the copy": lambda h, path: h.erase("/new-copy"),
    "create beneath": lambda h, path: h.create_group(f"{path}/new-child") if h[path].kind == "group" else None,
    "create": lambda h, path: h.create_group(f"{path}-new"),
    "resize": resize,
    "move": lambda h, path: moving.move(h, path, "/new-place"),
    "move back": lambda h, path: moving.move(h, "/new-place", path),
    "rename": lambda h, path: moving.rename(h, path, "new-name"),
    "erase": lambda h, path: h.erase("/new-name" if "/new-name" in h else path),
}
NEW = ("/new-copy", "/new-place", "/new-name")


@every
@pytest.mark.parametrize("kind", ["memory", "local"])
@pytest.mark.parametrize("consolidated", [False, True], ids=["", "consolidated"])
def test_what_is_done_to_one_node_changes_no_key_of_another(
    dialect: str, kind: str, consolidated: bool, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    few = kind == "local" or consolidated
    names = HOSTILE[:: 1 if ALL or not few else 4]
    plot = Plot(dialect, stores(tmp_path)[kind](), [name for name in names if name != "consolidated"])
    hierarchy = plot.hierarchy
    copies: set[str] = set()
    if consolidated:
        if hierarchy.dialect.consolidated_location(hierarchy.dialect.documents("/any", "array")[0]) is None:
            return
        hierarchy.consolidate()
        copies = {key for key in plot.store.list() if plot.owners.get(key, "/") == "/"}
    tried, refused = 0, 0
    before = signature(plot.store)
    chosen = [path for path in plot.nodes if path.count("/") == 1]
    if not ALL:
        chosen = chosen[DIALECT_NAMES.index(dialect) % 7 :: 7]
    for path in chosen:
        own = plot.owned(path)
        for name, act in ACTS.items():
            tried += 1
            try:
                act(hierarchy, path)
            except Refused:  # a name that zarrscope gives to none, in this dialect
                refused += 1
            except ZarrscopeError:
                if not refused:  # steps after a refused one find no node
                    raise
            after = signature(plot.store)
            changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
            others = {key for key in changed & plot.owners.keys() if key not in own and key not in copies}
            assert not others, f"{name} {path!r} changed {sorted(others)}"
            before = after
        gone = {key for key in own if key in after}
        assert not gone, f"{path!r} was erased, and left {sorted(gone)}"
    gone = {key for path in chosen for key in plot.owned(path)}
    assert {*after} & {*plot.owners} == {*plot.owners} - gone
    assert not hierarchy.warnings
    if hierarchy._nodes.consolidated_metadata is not None:
        assert {*hierarchy._nodes.consolidated_metadata.documents} <= {*after}, "the copy tells of nodes that are gone"
    record_property("tried", tried)
    assert tried == len(chosen) * len(ACTS)


# ---------------------------------------------------------------------------------------------- broken documents
def changed_keys(before: dict[str, bytes | None], after: dict[str, bytes | None]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@every
@pytest.mark.parametrize("broken", [b"{", b"", b"[1]"])
def test_beside_a_broken_document_no_key_of_another_is_changed(dialect: str, broken: bytes) -> None:
    """Arrays and groups in turn, with a broken .zattrs, zarr.json or attributes.json: operations on them and on their
    siblings."""
    plot = Plot(dialect, MemoryStore(), HOSTILE[::3])
    chosen = [path for path in plot.nodes if path.count("/") == 1 and not hidden(dialect, path)][:8]
    ill = chosen[:4]
    assert {plot.nodes[path] for path in ill} == {plot.nodes[path] for path in chosen[4:]} == {"array", "group"}
    for path in ill:
        kind: Any = plot.nodes[path]
        key = plot.dialect.attributes_at(path, kind)[0]
        assert key in plot.owners
        plot.store.set(key, broken)
    hierarchy = zarrscope.open(plot.store, "r+")
    assert {path for path in plot.nodes if path.count("/") == 1 and not hidden(dialect, path)} <= {*listed(hierarchy)}
    assert all(hierarchy[path].problem is not None for path in ill)
    before = signature(plot.store)
    for path in chosen:
        own = plot.owned(path)
        refused = 0
        for name, act in ACTS.items():
            try:
                act(hierarchy, path)
            except Refused:  # a name that zarrscope gives to none, in this dialect
                refused += 1
            except ZarrscopeError:
                if path not in ill and not refused:  # steps after a refused one find no node
                    raise
                refused += 1
            after = signature(plot.store)
            others = {key for key in changed_keys(before, after) & plot.owners.keys() if key not in own}
            assert not others, f"{name} {path!r} changed {sorted(others)}"
            before = after
        assert path not in ill or refused, "nothing told of the broken document"
        for place in NEW:  # where a broken node may have stayed
            with suppress(ZarrscopeError):
                hierarchy.erase(place)
        before = signature(plot.store)


DRAFTS = [name for name in DIALECT_NAMES if name.startswith("draft") and name != "draft-2019-05"]


@pytest.mark.parametrize("broken", [b"{", b"", b"[1]"])
@pytest.mark.parametrize("dialect", DRAFTS)
def test_with_a_broken_bootstrap_no_key_is_changed(dialect: str, broken: bytes) -> None:
    plot = Plot(dialect, MemoryStore(), HOSTILE[::3])
    names = {*listed(plot.hierarchy)}
    plot.store.set("zarr.json", broken)
    before = signature(plot.store)
    hierarchy = zarrscope.open(plot.store, "r+")
    assert {*(f"/{child.name}" for child in hierarchy.children("/"))} == names
    tried = 0
    for path in [path for path in plot.nodes if path.count("/") == 1][:8]:
        for act in ACTS.values():
            tried += 1
            with suppress(ZarrscopeError):
                act(hierarchy, path)
            assert signature(plot.store) == before, path
    assert tried == 8 * len(ACTS)


@every
def test_conversion_keeps_each_name_or_refuses_it(dialect: str) -> None:
    plot = Plot(dialect, MemoryStore(), HOSTILE)
    before = signature(plot.store)
    target = "v2" if dialect == "v3" else "v3"
    kept = 0
    chosen = [path for path in plot.nodes if path.count("/") == 1 and not hidden(dialect, path)]
    if not ALL:
        chosen = chosen[DIALECT_NAMES.index(dialect) % 4 :: 4]
    for path in chosen:
        place = MemoryStore()
        try:
            convert.run(convert.plan(plot.hierarchy, place, target, path=path))
        except Refused:
            continue
        made = zarrscope.open(place)
        assert made["/"].attributes["who"] == path
        kept += 1
        top = made["/"]
        if isinstance(top, Group):
            found = {child.name: made[f"/{child.name}"].attributes["who"] for child in top.children()}
            beneath = {who for who in plot.nodes if who.startswith(f"{path}/") and not hidden(dialect, who)}
            assert found.items() <= {who[len(path) + 1 :]: who for who in beneath}.items()
            assert "in" in found
    assert signature(plot.store) == before
    assert kept > len(chosen) // 2


# ---------------------------------------------------------------------------------------------- refused names
def test_a_backslash_is_a_character() -> None:
    assert clean_path("a\\b") == "/a\\b"
    assert clean_path("\\") == "/\\"
    assert clean_path("/a//b/") == "/a/b"
    for path in ("a/../b", ".", "./a", ".."):
        with pytest.raises(Refused):
            clean_path(path)
