"""A finding leads to its field, and a button mends it where that is safe; the picture's contrast can be saved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.validate import check
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.findings import field_of, findings_of, mend
from zarrscope_app.presenters.form.mending import verdict, version_of
from zarrscope_app.presenters.form.section_form import Judge
from zarrscope_app.presenters.form.sections.model import NodeFacts, Subject
from zarrscope_app.presenters.session.actions import perform

SECONDS = 20
CHANNEL = {"label": "a", "color": "00FF00", "window": {"min": 0, "max": 255, "start": 0, "end": 200}, "active": True}


def image(axes: list[Any], channels: list[Any], version: dict[str, str]) -> dict[str, Any]:
    step = {"type": "scale", "scale": [1.0] * len(axes)}
    level = {"path": "0", "coordinateTransformations": [step]}
    named = {"name": "i", "type": "mean", "metadata": {}}
    return {"multiscales": [{**named, **version, "axes": axes, "datasets": [level]}], "omero": {"channels": channels}}


Y, X = ({"name": name, "type": "space", "unit": "micrometer"} for name in "yx")
CASES = {
    "unit": (image([{**Y, "unit": "micron"}, X], [CHANNEL], {"version": "0.4"}), "/axes/0/unit", "unit/0"),
    "symbol": (image([{**Y, "unit": "µm"}, X], [CHANNEL], {"version": "0.4"}), "/axes/0/unit", "unit/0"),
    "type": (
        image([{"name": "y"}, X, Y | {"name": "z"}], [CHANNEL], {"version": "0.4"}),
        "/axes/0/type",
        "axis/0/type",
    ),
    "colour": (image([Y, X], [{**CHANNEL, "color": "#0f0"}], {"version": "0.4"}), "/color", "channel/0/color"),
    "window": (
        image([Y, X], [{**CHANNEL, "window": {"start": 3, "end": 9}}], {"version": "0.4"}),
        "/window",
        "channel/0/start",
    ),
    "version": (image([Y, X], [CHANNEL], {}), "/multiscales/0/version", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_clear_is_mended_and_leads_to_its_field(case: str) -> None:
    attributes, pointer, id = CASES[case]
    subject = Subject(attributes, NodeFacts(limits=(0, 255), channels=1))
    (found,) = (each for each in check(attributes) if each.pointer.endswith(pointer))
    assert field_of(subject, found.pointer) == id
    (told,) = (each for each in findings_of(subject, check(attributes)) if each.pointer == found.pointer)
    assert told.mend.startswith("Mend: ")
    document = apply(Document(json.dumps(attributes)), "", mend(subject, found))
    assert found.pointer not in [each.pointer for each in check(document.value)]


@pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
def test_early_versions_are_judged_by_their_own_rules(version: str) -> None:
    entry: dict[str, Any] = {"name": "i", "type": "mean", "metadata": {}, "datasets": [{"path": "0"}]}
    if version == "0.3":
        entry["axes"] = ["y", "x"]
    attributes = {"multiscales": [{**entry, "version": version}]}
    assert verdict(attributes, version_of(attributes)).sentence == f"OME-Zarr {version}: valid."
    broken = {"multiscales": [{**entry, "version": version, "datasets": [{}]}]}
    told = verdict(broken, version_of(broken))
    assert told.summary == f"OME-Zarr {version}: 1 error"
    assert told.broken[0].pointer == "/multiscales/0/datasets/0/path"
    unstated = {"multiscales": [entry], "image-label": {"version": version}}
    (found,) = [each for each in check(unstated) if each.pointer == "/multiscales/0/version"]
    document = apply(Document(json.dumps(unstated)), "", mend(Subject(unstated), found))
    assert document.value["multiscales"][0]["version"] == version


def test_what_only_a_person_can_know_is_not_mended() -> None:
    attributes = image([{**Y, "unit": "parrot"}, {"name": "q"}], [{**CHANNEL, "color": "reddish"}], {"version": "0.4"})
    found = findings_of(Subject(attributes), check(attributes))
    assert found
    assert not any(each.mend for each in found)
    assert [each.wrong for each in found] == sorted((each.wrong for each in found), reverse=True), "errors come first"


# ---------------------------------------------------------------------- in a session
@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("a.zarr", "b.zarr"):
        with zarrscope.open(str(tmp_path / name), "w-") as h:
            ome = image([{**Y, "unit": "micron"}, {**X, "unit": "um"}], [CHANNEL], {})
            h.root.attrs.put({"ome": {"version": "0.5", **ome}, "mine": {"a": {"b": 1}}})
            array = h.create_array("/0", shape=(16, 16), dtype="uint8", chunks=(16, 16))
            array[...] = 7
            array[0, 0] = 99
    return tmp_path


@pytest.fixture
def session(place: Path, mailbox: Mailbox) -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def session(path: str, writable: bool = True) -> Session:
        made.append(s := Session(str(place), mailbox, writable=writable, path=path))
        s.set_tab("attributes")
        mailbox.run_until(lambda: bool(s.edit.state.findings), SECONDS)
        return s

    yield session
    for each in made:
        each.edit.revert()
        each.close()


def omero(place: Path) -> Any:
    return json.loads((place / "a.zarr" / "zarr.json").read_text())["attributes"]["ome"]["omero"]["channels"][0]


def test_a_finding_leads_to_its_field_and_is_mended(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session("/a.zarr")
    s.edit.show_way("fields")
    y, x = s.edit.state.findings[:2]
    assert s.edit.state.summary == "OME-Zarr 0.5: valid · 2 remarks"
    assert (s.edit.locate(y.pointer), s.edit.state.way) == ("unit/0", "image")
    assert s.edit.locate("/mine/a/b") == "/mine/a/b"
    assert s.edit.state.way == "fields"
    assert any(field.pointer == "/mine/a/b" for field in s.edit.state.fields), "it is unfolded"
    s.edit.mend(x.pointer)
    s.edit.mend(y.pointer)
    mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid", SECONDS)
    assert (s.edit.state.changes, s.edit.state.findings) == (2, ())
    s.edit.show_way("image")
    s.edit.edit("size/0", "-1")
    (wrong,) = s.edit.state.findings
    s.edit.show_way("json")
    assert (s.edit.locate(wrong.pointer), s.edit.state.way) == ("size/0", "image")


def test_problems_lists_errors_first_and_keeps_the_names_of_members(tmp_path: Path, mailbox: Mailbox) -> None:
    """The error stood beneath the remarks, as "CoordinateTransformations must be …", which no document has."""
    ome = image([{**Y, "unit": "micron"}, X], [CHANNEL], {})
    ome["multiscales"][0]["coordinateTransformations"] = []
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", **ome}})
        h.create_array("/0", shape=(16, 16), dtype="uint8", chunks=(16, 16))
    s = Session(str(tmp_path / "a.zarr"), mailbox)
    try:
        s.set_tab("problems")
        mailbox.run_until(lambda: s.problems.count == 2, SECONDS)
        first, second = s.problems.items
        assert (first.severity, second.severity) == ("error", "warning")
        assert first.headline.startswith("coordinateTransformations must be a list")
        assert second.headline.startswith("The unit should be")
    finally:
        s.close()


def test_problems_lists_what_attributes_counts(place: Path, mailbox: Mailbox) -> None:
    s = Session(str(place / "a.zarr"), mailbox, writable=True)
    try:
        s.set_tab("problems")
        mailbox.run_until(lambda: s.problems.count == 2, SECONDS)
        told = {problem.headline for problem in s.problems.items}
        assert all(each[0].isupper() for each in told), told
        assert all("Write it in full, such as micrometer." in each for each in told), told
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid · 2 remarks", SECONDS)
        s.problems.check()
        mailbox.run_until(lambda: not s.problems.checking, SECONDS)
        listed = [problem.headline for problem in s.problems.items]
        assert set(listed) == told, "a check lists the same"
        assert len(listed) == 2, "each once"
    finally:
        s.close()


def test_a_mended_finding_leaves_problems_once_it_is_saved(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session("/a.zarr")
    mailbox.run_until(lambda: s.problems.count == 2, SECONDS)
    s.edit.mend(s.edit.state.findings[0].pointer)
    mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid · 1 remark", SECONDS)
    assert s.problems.count == 2, "it is stored as before"
    s.edit.save()
    mailbox.run_until(lambda: s.problems.count == 1, SECONDS)


def listed(s: Session, path: str) -> int:
    return [each.path for each in s.problems.items].count(path)


def test_a_mended_finding_of_a_check_leaves_problems_once_it_is_saved(place: Path, mailbox: Mailbox) -> None:
    s = Session(str(place), mailbox, writable=True)
    try:
        mailbox.run_until(lambda: s.problems.can_check and not s.state.selecting, SECONDS)
        s.problems.check()
        mailbox.run_until(lambda: not s.problems.checking, SECONDS)
        assert (listed(s, "/a.zarr"), listed(s, "/b.zarr")) == (2, 2)
        s.select("/a.zarr")
        s.set_tab("attributes")
        mailbox.run_until(lambda: len(s.edit.state.findings) == 2, SECONDS)
        s.edit.mend(s.edit.state.findings[0].pointer)
        mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid · 1 remark", SECONDS)
        assert listed(s, "/a.zarr") == 2, "it is stored as before"
        s.edit.save()
        mailbox.run_until(lambda: listed(s, "/a.zarr") == 1, SECONDS)
        assert "Checked: the whole hierarchy" in s.problems.sentence
        s.edit.mend(s.edit.state.findings[0].pointer)
        mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid", SECONDS)
        s.edit.save()
        mailbox.run_until(lambda: listed(s, "/a.zarr") == 0, SECONDS)
        s.edit.undo()
        s.edit.save()
        mailbox.run_until(lambda: listed(s, "/a.zarr") == 1, SECONDS)
        assert listed(s, "/b.zarr") == 2
    finally:
        s.edit.revert()
        s.close()


def test_findings_of_nodes_that_are_not_displayed_leave_problems_too(
    session: Callable[..., Session], mailbox: Mailbox
) -> None:
    s = session("/a.zarr")
    mailbox.run_until(lambda: listed(s, "/a.zarr") == 2, SECONDS)  # the form has listed them; no check was asked for
    for each in s.edit.state.findings:
        s.edit.mend(each.pointer)
    mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid", SECONDS)
    s.select("/b.zarr")
    mailbox.run_until(lambda: listed(s, "/b.zarr") == 2 and s.edit.brief.path == "/b.zarr", SECONDS)
    s.edit.save_all(lambda path: None)
    mailbox.run_until(lambda: listed(s, "/a.zarr") == 0, SECONDS)
    assert listed(s, "/b.zarr") == 2
    s.problems.check()
    mailbox.run_until(lambda: not s.problems.checking, SECONDS)
    s.select_several(["/a.zarr", "/b.zarr"])
    mailbox.run_until(lambda: len(s.edit.several) == 2 and len(s.edit.state.findings) == 2, SECONDS)
    for each in s.edit.state.findings:
        s.edit.mend(each.pointer)
    mailbox.run_until(lambda: not s.edit.state.findings, SECONDS)
    s.edit.save()
    mailbox.run_until(lambda: listed(s, "/b.zarr") == 0, SECONDS)


def test_a_warning_of_an_opened_node_leaves_problems_once_it_is_mended(place: Path, mailbox: Mailbox) -> None:
    broken = image([Y, X], [CHANNEL], {"version": "0.4"})
    broken["multiscales"][0]["datasets"].append({"path": "lost"})
    with zarrscope.open(str(place / "c.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", **broken}})
        h.create_array("/0", shape=(16, 16), dtype="uint8", chunks=(16, 16))[...] = 7
    s = Session(str(place / "c.zarr"), mailbox, writable=True)
    try:
        s.set_tab("attributes")
        mailbox.run_until(lambda: any("lost" in each.headline for each in s.problems.items), SECONDS)
        s.problems.check()
        mailbox.run_until(lambda: not s.problems.checking, SECONDS)
        mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
        s.edit.show_way("fields")
        s.edit.remove("/ome/multiscales/0/datasets/1")
        mailbox.run_until(lambda: s.edit.state.status is EditStatus.DIRTY, SECONDS)
        s.edit.save()
        mailbox.run_until(lambda: not any("lost" in each.headline for each in s.problems.items), SECONDS)
    finally:
        s.edit.revert()
        s.close()


def test_a_check_that_read_a_document_before_it_was_saved_lists_no_old_finding(
    session: Callable[..., Session], mailbox: Mailbox
) -> None:
    s = session("/a.zarr")
    s.edit.mend(s.edit.state.findings[0].pointer)
    mailbox.run_until(lambda: s.edit.state.summary == "OME-Zarr 0.5: valid · 1 remark", SECONDS)
    s.problems.check()
    assert s.problems.checking
    s.edit.save()
    mailbox.run_until(lambda: not s.problems.checking and not s.edit.saving, SECONDS)
    mailbox.run_until(lambda: listed(s, "/a.zarr") == 1, SECONDS)


def test_a_document_is_checked_after_it_was_painted(
    place: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first check imports packages, and beside it the widgets of a form took three times as long."""
    order: list[str] = []
    checked = Judge.look_at

    def look_at(self: Judge, *rest: Any) -> None:
        order.append("checked")
        checked(self, *rest)

    monkeypatch.setattr(Judge, "look_at", look_at)
    s = Session(str(place), mailbox, path="/a.zarr")
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.READ_ONLY, SECONDS)
    order.clear()
    s.edit.changed.connect(lambda: order.append("painted"))
    s.set_tab("attributes")
    mailbox.run_until(lambda: bool(s.edit.state.findings), SECONDS)
    assert order[:2] == ["painted", "checked"]
    s.close()


def test_all_of_several_are_mended_at_once(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session("/a.zarr")
    s.select_several(["/a.zarr", "/b.zarr"])
    mailbox.run_until(lambda: len(s.edit.several) == 2 and len(s.edit.state.findings) == 2, SECONDS)
    found = s.edit.state.findings[0]
    assert s.edit.locate(found.pointer) == "unit/0"
    s.edit.mend(found.pointer)
    mailbox.run_until(lambda: s.edit.state.changes == 2 and len(s.edit.state.findings) == 1, SECONDS)
    assert s.edit.dirty_paths == {"/a.zarr", "/b.zarr"}


def test_the_view_is_taken_over(session: Callable[..., Session], place: Path, mailbox: Mailbox) -> None:
    s = session("/a.zarr")
    mailbox.run_until(lambda: s.slice.state.channels != (), SECONDS)
    (channels,) = (each for each in s.edit.state.sections if each.id == "channels")
    s.slice.set_levels(0, 9.7, 60.4)
    s.slice.set_color(0, (255, 128, 0))
    perform(s, "take-view")
    assert s.edit.state.can_undo
    s.edit.save()
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
    assert omero(place)["window"] == {"min": 0, "max": 255, "start": 10, "end": 60}
    assert omero(place)["color"] == "FF8000"
    perform(s, "take-view")
    assert s.edit.state.changes == 0, "what is stated already is left as it is spelled"
    s.select_several(["/a.zarr", "/b.zarr"])
    mailbox.run_until(lambda: len(s.edit.several) == 2 and bool(s.edit.state.sections), SECONDS)
    (channels,) = (each for each in s.edit.state.sections if each.id == "channels")
    assert channels.command == "take-view"
    perform(s, "take-view")
    mailbox.run_until(lambda: s.edit.dirty_paths == {"/b.zarr"}, SECONDS)


def test_what_is_chosen_read_only_says_that_it_waits_and_asks_before_closing(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session("/a.zarr", writable=False)
    found = next(each for each in s.edit.state.findings if each.mend)
    assert s.edit.closing() is None
    s.edit.mend(found.pointer)
    state = s.edit.state
    assert (state.status, state.waits) == (EditStatus.READ_ONLY, True), "Save is possible, which opens it"
    assert f"{found.mend} waits until then; it is not kept for the next start." in state.sentence
    assert "typed" not in state.sentence, "nothing was typed"
    asked = s.edit.closing()
    assert asked is not None
    assert (asked.opens, asked.can_answer) == (True, True)
    assert asked.text.splitlines()[-1].strip() == f"/a.zarr: {found.mend}"
    assert "What you chose waits" in asked.sentence
    s.edit.edit("size/0", "0.25")
    assert f"The typed text and {found.mend} wait" in s.edit.state.sentence
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.state.changes >= 2, SECONDS)
    assert all(each.pointer != found.pointer for each in s.edit.state.findings), "it was mended"


def test_what_is_taken_read_only_waits(session: Callable[..., Session], place: Path, mailbox: Mailbox) -> None:
    s = session("/a.zarr", writable=False)
    mailbox.run_until(lambda: s.slice.state.channels != (), SECONDS)
    s.slice.set_levels(0, 10.0, 60.0)
    perform(s, "take-view")
    assert "Take from the view waits until then" in s.edit.state.sentence
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.DIRTY, SECONDS)
    assert s.edit.state.changes == 2


# ---------------------------------------------------------------------- the window
@pytest.mark.needs("qt")
def test_in_the_window(qtbot: Any, place: Path) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication, QToolButton

    from qt_robot import window_on

    window, session = window_on(qtbot, str(place / "a.zarr"), writable=True)
    session.set_tab("attributes")
    findings, wait = window.form.findings, SECONDS * 1000
    qtbot.waitUntil(lambda: len(findings.rows) == 2, timeout=wait)
    qtbot.mouseClick(findings.opener, Qt.MouseButton.LeftButton)
    go, mend = findings.rows[0].findChildren(QToolButton)
    qtbot.mouseClick(go, Qt.MouseButton.LeftButton)
    unit: Any = window.form.sections.editors["unit/0"]
    qtbot.waitUntil(lambda: QApplication.focusWidget() in (unit, unit.lineEdit()), timeout=wait)
    qtbot.mouseClick(mend, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: unit.currentText() == "micrometer" and len(findings.rows) == 1, timeout=wait)
    session.edit.revert()
