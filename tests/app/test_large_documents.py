"""Documents of megabytes are edited in the background: nobody waits for them, and every act keeps its order."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.jsondoc import document as documents
from zarrscope.jsondoc.differences import differences
from zarrscope.jsondoc.document import Document
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session

SECONDS = 60
ROWS = [{"label": i, "class": f"cell {i}", "area": 1.5 * i} for i in range(4000)]
STEP = {"type": "scale", "scale": [0.5, 0.5]}
AXES = [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"]
ENTRY = {"name": "x", "axes": AXES, "datasets": [{"path": "0", "coordinateTransformations": [STEP]}]}


@pytest.fixture
def session(tmp_path: Path, mailbox: Mailbox) -> Iterator[Session]:
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [ENTRY]}, "table": ROWS})
        h.create_array("/0", shape=(8, 8), dtype="uint8", chunks=(8, 8))
    s = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    mailbox.run_until(lambda: bool(s.edit.state.sections) and s.node is not None, SECONDS)
    yield s
    s.close()


def text(s: Session, pointer: str) -> str:
    return next((field.text for field in s.edit.state.fields if field.pointer == pointer), "")


def test_no_large_document_is_parsed_on_the_hosts_thread(
    session: Session, mailbox: Mailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[int] = []
    real = documents.parse_json

    def parse(data: Any, *args: Any, **given: Any) -> Any:
        if len(data) > 100_000:
            where.append(threading.get_ident())
        return real(data, *args, **given)

    monkeypatch.setattr(documents, "parse_json", parse)
    edit = session.edit
    edit.edit("size/0", "0.25")
    assert text(session, "size/0") == "0.25", "what is being set is shown as it was typed"
    edit.edit("name", "other")
    edit.undo()
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN and not edit.busy, SECONDS)
    assert where
    assert threading.get_ident() not in where
    entry = zarrscope.open(str(tmp_path / "x.zarr")).root.attributes["ome"]["multiscales"][0]
    assert entry["datasets"][0]["coordinateTransformations"][0]["scale"] == [0.25, 0.25]
    assert entry["name"] == "x", "the acts were done in their order"


def test_the_review_of_a_large_document_comes_later(session: Session, mailbox: Mailbox) -> None:
    edit = session.edit
    edit.show_way("fields")
    edit.fold("/table", False)
    edit.edit("/table/7/class", "other")
    mailbox.run_until(lambda: edit.state.changes == 1, SECONDS)
    edit.diff()
    mailbox.run_until(lambda: "other" in edit.diff().unified, SECONDS)
    (change,) = edit.diff().changes
    assert (change.pointer, change.before, change.after) == ("/table/7/class", '"cell 7"', '"other"')
    edit.edit("/table/7/area", "x")
    assert edit.state.status is EditStatus.INVALID
    edit.revert()
    mailbox.run_until(lambda: edit.state.changes == 0 and not edit.busy, SECONDS)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('{"a": 1, "b": [1, 2]}', '{"a":1,"b":[1,3]}', [("/b/1", "2", "3")]),
        ('{"a": 1}', '{"a": 1.0}', [("/a", "1", "1.0")]),
        ('{"a": "\\u0061"}', '{"a": "a"}', []),
        ('{"a": [1]}', '{"a": [1, 2]}', [("/a", "[1]", "[1, 2]")]),
        ('{"a": 1, "b": 2}', '{"b": 2, "c": null}', [("/a", "1", None), ("/c", None, "null")]),
        ('{"a": {}}', '{"a": []}', [("/a", "{}", "[]")]),
        ('{"a": 1, "a": 2}', '{"a": 2}', []),
        ('{"a": NaN}', '{"a": NaN }', []),
    ],
)
def test_differences_are_told_as_deep_as_they_lie(before: str, after: str, told: list[Any]) -> None:
    assert differences(Document(before), Document(after)) == told
