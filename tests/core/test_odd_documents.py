"""One document of a node is no JSON object, or not even JSON: a node of known kind opens all the same, so that what
lies beneath it can be reached and the rest of it mended (tests/contracts/odd_members.py)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.odd_members import WRITABLE, documents_that_are_no_object, family, keys, shows_its_kind
from zarrscope.check.hierarchy import check
from zarrscope.dialects import Dialect
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import run
from zarrscope_app.presenters import Session


def faults_of_documents(
    dialect: Dialect, path: str, kind: Any, key: str, store: MemoryStore, beneath: list[str]
) -> Iterator[str]:
    """The faults of a node, one of whose documents is no JSON object, and of the nodes around it."""
    h = zarrscope.open(store, "r+")
    node = h[path]
    at_key = dialect.attributes_at(path, kind)[0]
    expected = {"x": 1} if at_key != key else {}
    if (node.kind, dict(node.attributes)) != (kind, expected):
        yield f"opens as {node.kind} with {dict(node.attributes)}"
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
    if [*h.walk()][-1][0] != "/g/a" or (path != "/g/a" and h["/g/a"][...].tolist() != [3] * 4):
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
def test_a_document_that_is_no_object_closes_no_node_of_known_kind(dialect: Dialect) -> None:
    beneath = {"/": ["g"], "/g": ["a"]}
    tried, failed = 0, []
    for path, kind, key, odd, store in documents_that_are_no_object(dialect):
        tried += 1
        if shows_its_kind(dialect, path, kind, key):
            found = [*faults_of_documents(dialect, path, kind, key, store, beneath.get(path, []))]
            failed += [f"{path} {key} = {odd!r}: {fault}" for fault in found]
        elif path != "/":
            h = zarrscope.open(store, "r+")
            with pytest.raises(zarrscope.BadMetadata) as caught:
                h[path]
            assert caught.value.key == key
            above = path.rpartition("/")[0] or "/"
            (child,) = h[above].children()
            assert child.error is not None
            assert [each.key for each in check(h) if each.severity == "error"] == [key]
            assert path == "/g/a" or h["/g/a"][...].tolist() == [3] * 4
    assert tried >= 27
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed[:40])


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
        assert run([verb, str(root), *([path] if verb == "info" else [])]) == 0
        assert f"must be a JSON object, not [1, 2]. (in {key})" in capsys.readouterr().out
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
