"""A document that is not a JSON object, or not JSON: its node opens anyway, so that the nodes beneath it can be reached
and it can be corrected (tests/contracts/odd_members.py).
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.odd_members import NO_OBJECT, WRITABLE, documents_that_are_no_object, family, keys
from narrowing import as_array, as_group
from zarrscope.check.hierarchy import check
from zarrscope.dialects import Dialect
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import run
from zarrscope_app.presenters import Session


def faults_of_documents(
    dialect: Dialect, path: str, kind: Any, key: str, store: MemoryStore, beneath: list[str]
) -> Iterator[str]:
    """The faults in a node with a document that is not a JSON object, and in the nodes around it."""
    h = zarrscope.open(store, "r+")
    node = h[path]
    at_key = dialect.attributes_at(path, kind)[0]
    if node.kind != kind:
        yield f"opens as {node.kind}"
    try:
        shown: Any = dict(node.attributes)
    except zarrscope.BadMetadata as error:
        shown = error.key
    expected = {"x": 1} if at_key != key else key
    if shown != expected:
        yield f"shows the attributes {shown}"
    if node.problem is None or node.problem.key != key:
        yield f"has the problem {node.problem}"
    errors = [each.key for each in check(h) if each.severity == "error"]
    if errors != [key]:
        yield f"has errors in {errors}"
    _ = repr(node), node._repr_html_()
    if isinstance(node, zarrscope.Group):
        listed = [child.name for child in node.names()]
        if listed != beneath:
            yield f"lists {listed}"
        if not all(name in node for name in beneath):
            yield "lacks a node that it lists"
        with contextlib.suppress(zarrscope.BadMetadata):
            yield f"lists {[*node.children()]} as though nothing were broken"
    else:
        with contextlib.suppress(zarrscope.BadMetadata):
            node[...]
            yield "is read all the same"
    if [*h.walk()][-1][0] != "/g/a" or (path != "/g/a" and as_array(h["/g/a"])[...].tolist() != [3] * 4):
        yield "hides what lies beneath"
    before = keys(store)
    try:
        node.attrs["x"] = 2
        if at_key == key and before[key] != b"null":  # null stands for no attributes
            yield "takes an attribute where there is no object"
    except zarrscope.ZarrscopeError as error:
        if at_key != key:
            yield f"takes no attribute: {error}"
        elif keys(store) != before:
            yield "was changed by an edit that was refused"
    changed = {each for each, value in keys(store).items() if before.get(each) != value}
    if changed - {at_key}:
        yield f"was saved into {changed}"


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_a_document_that_is_no_object_closes_no_node(dialect: Dialect) -> None:
    beneath = {"/": ["g"], "/g": ["a"]}
    tried, failed = 0, []
    for path, kind, key, odd, store in documents_that_are_no_object(dialect):
        tried += 1
        found = [*faults_of_documents(dialect, path, kind, key, store, beneath.get(path, []))]
        failed += [f"{path} {key} = {odd!r}: {fault}" for fault in found]
    assert tried >= 27
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed[:40])


DRAFTS = [dialect for dialect in WRITABLE if "zarr.json" in keys(family(dialect)) and dialect.apart]


@pytest.mark.parametrize("odd", NO_OBJECT)
@pytest.mark.parametrize("dialect", DRAFTS, ids=lambda dialect: dialect.name)
def test_a_broken_bootstrap_document_hides_no_names(dialect: Dialect, odd: bytes) -> None:
    """This document states the rules of all nodes: they are listed, reading one raises an error, and writing is
    refused."""
    store = family(dialect)
    store.set("zarr.json", odd)
    before = keys(store)
    h = zarrscope.open(store, "r+")
    assert h.dialect.name == dialect.name
    assert any("zarr.json is broken" in each for each in h.warnings)
    assert [path for path, _ in h.walk()] == ["/g", "/g/a"]
    assert [each.key for each in check(h) if each.severity == "error"] == ["zarr.json"]
    for path in ("/", "/g", "/g/a"):
        assert h[path].problem is not None
        with pytest.raises(zarrscope.BadMetadata, match=r"zarr\.json is broken") as caught:
            as_array(h[path])[...] if path == "/g/a" else [*as_group(h[path]).children()]
        assert caught.value.key == "zarr.json"
    with pytest.raises(zarrscope.ReadOnly, match="restore"):
        h.create_group("/new")
    assert keys(store) == before
    lenient = zarrscope.open(store, lenient=True)
    assert as_array(lenient["/g/a"])[...].tolist() == [3] * 4
    assert [child.name for child in as_group(lenient["/g"]).children()] == ["a"]


V1_META = b'{"zarr_format": 1, "shape": [4], "chunks": [2], "dtype": "|u1", "compression": null, "fill_value": 0}'


@pytest.mark.parametrize("odd", [*NO_OBJECT, V1_META[:40], V1_META + b"}"])
@pytest.mark.parametrize("key", ["meta", "attrs"])
def test_a_broken_document_of_v1_closes_nothing(key: str, odd: bytes) -> None:
    values = {"meta": V1_META, "attrs": b'{"x": 1}', "0": b"\3\3", "1": b"\3\3"}
    h = zarrscope.open(MemoryStore({**values, key: odd}))
    assert (h.dialect.name, h.root.kind) == ("v1", "array")
    assert h.root.problem is not None
    assert h.root.problem.key == key
    with pytest.raises(zarrscope.BadMetadata):
        as_array(h.root)[...]


@pytest.mark.parametrize("value", [b"", b"{", b"<html></html>", b'{"a": 1'])
@pytest.mark.parametrize("key", ["zarr.json", "attributes.json", "meta"])
def test_a_broken_document_alone_makes_no_hierarchy(key: str, value: bytes) -> None:
    """Nothing else shows that the folder contains Zarr."""
    with pytest.raises(zarrscope.ZarrscopeError):
        zarrscope.open(MemoryStore({key: value, "notes/readme.txt": b"x"}))


CUT = b'{"zarr_format": 3, "node_type": "%s", "shape": ['


@pytest.mark.parametrize(
    ("around", "kind"),
    [
        ({"n/zarr.json": CUT % b"array"}, "array"),
        ({"n/zarr.json": CUT % b"group"}, "group"),
        ({"n/zarr.json": b"", "n/c/0/0": b"x"}, "array"),
        ({"n/zarr.json": b"", "n/c": b"x"}, "array"),
        ({"n/zarr.json": b"", "n/0.0": b"x"}, "array"),
        ({"n/zarr.json": b"", "n/0/0": b"x"}, "array"),
        ({"n/zarr.json": b"", "n/0/zarr.json": b"{}", "n/0/c/0": b"x"}, "group"),
        ({"n/zarr.json": b"", "n/c/zarr.json": b"{}"}, "group"),
        ({"n/zarr.json": b'{"consolidated_metadata": {"a": {"node_type": "array"', "n/a/zarr.json": b"{}"}, "group"),
        ({"n/zarr.json": b""}, "group"),
    ],
)
def test_the_kind_is_guessed_by_text_and_keys(around: dict[str, bytes], kind: str) -> None:
    root = b'{"zarr_format": 3, "node_type": "group"}'
    h = zarrscope.open(MemoryStore({"zarr.json": root, **around}))
    node = h["/n"]
    assert node.kind == kind
    assert node.problem is not None
    assert "a guess" in str(node.problem.advice)
    (child,) = as_group(h.root).children()
    assert (child.name, child.kind) == ("n", kind)
    assert child.error is not None
    assert "attributes that cannot be read" in repr(node.attributes)
    assert (node.attributes == {}) is False
    again = pickle.loads(pickle.dumps(node.attributes))
    with pytest.raises(zarrscope.BadMetadata):
        again.get("x")


@pytest.mark.parametrize(("key", "seen"), [(".zattrs", False), ("g/.zattrs", False), ("g/.zgroup", True)])
def test_a_group_with_a_document_that_is_no_object_is_shown_and_mended(
    key: str, seen: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dialect = next(each for each in WRITABLE if each.name == "v2")
    root, path = tmp_path / "x", "/g" if key.startswith("g/") else "/"
    for each, value in keys(family(dialect)).items():
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).write_bytes(b"[1, 2]" if each == key else value)
    for verb in ("tree", "info"):
        beneath = verb == "tree" and path != "/"  # a tree that lacks what is beneath a node ends with 1
        assert run([verb, str(root), *([path] if verb == "info" else [])]) == int(beneath)
        assert f"must be a JSON object, not [1, 2] (in {key})." in capsys.readouterr().out
    assert run(["ls", str(root), path]) == 0
    assert capsys.readouterr().out.split()[0] == ("a" if path == "/g" else "g/")
    assert run(["check", str(root)]) == 1
    assert run(["attrs", "set", str(root), path, "y", "2"]) == (0 if seen else 1)
    assert seen or "zarrscope attrs set STORE" in capsys.readouterr().err
    if not seen:
        assert run(["attrs", "set", str(root), path, "", '{"y": 2}']) == 0
    assert zarrscope.open(root)[path].attributes["y"] == 2

    mailbox = Mailbox()
    session = Session(str(root), mailbox, writable=True)
    session.select(path)
    session.set_tab("attributes")
    mailbox.run_until(lambda: bool(session.edit.state.fields) and session.edit.state.path == path)
    session.tree.reveal("/g/a")
    mailbox.run_until(lambda: "/g/a" in [row.path for row in session.tree.flat(0, 9)])
    session.close()
