"""The form by meaning: a pixel size of a pyramid is changed in few gestures in every host."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.ome.metadata import multiscales
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Field, Session
from zarrscope_app.presenters.form.words import AXES_ORDER

SECONDS = 20
AXES = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]


def level(path: str, factor: float) -> dict[str, Any]:
    scale = {"type": "scale", "scale": [1.0, 0.2 * factor, 0.2 * factor]}
    moved = {"type": "translation", "translation": [0.0, 0.1 * (factor - 1), 0.1 * (factor - 1)]}
    return {"path": path, "coordinateTransformations": [scale, moved]}


CHANNEL = {"label": "a", "color": "FF0000", "window": {"min": 0, "max": 255, "start": 0, "end": 200}, "active": True}
ATTRIBUTES = {
    "ome": {
        "version": "0.5",
        "multiscales": [{"name": "cells", "axes": AXES, "datasets": [level("0", 1), level("1", 2), level("2", 4)]}],
        "omero": {"channels": [CHANNEL]},
    },
    "mine": {"note": 1e-3},
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    h.root.attrs.put(ATTRIBUTES)
    for i in range(3):
        h.create_array(f"/{i}", shape=(4, 32 >> i, 32 >> i), dtype="uint8", chunks=(4, 32, 32))
    h.create_group("/plain", attributes={"n": 1})
    return str(tmp_path / "x.zarr")


def field(session: Session, id: str) -> Field:
    found = session.edit.field(id)
    assert found is not None
    return found


def _reached(told: Sequence[Any], count: int) -> bool:
    return len(told) == count


def scales(place: str) -> list[Any]:
    (image,) = multiscales(zarrscope.open(place).root.attributes, "/")
    return [dataset.scale for dataset in image.datasets]


# ---------------------------------------------------------------------- the presenter
def test_one_field_is_one_edit_of_all_levels_in_one_diff_one_undo_one_save(
    open_form: Callable[..., Session], place: str, mailbox: Mailbox
) -> None:
    s = open_form(place)
    edit, before = s.edit, Path(place, "zarr.json").read_bytes()
    assert (edit.state.way, edit.state.ways) == ("image", ("image", "fields", "json"))
    notes = [note for section in edit.state.sections for note in section.notes]
    assert notes == ["Levels 1 and 2 follow: ×2, ×4 in y and x; ×1 in z.", AXES_ORDER]
    edit.edit("size/1", "0.108")
    assert [field(s, f"size/{i}").text for i in range(3)] == ["1", "0.108", "0.108"], "y and x are alike"
    assert [field(s, f"size/{i}").changed for i in range(3)] == [False, True, True]
    assert Path(place, "zarr.json").read_bytes() == before
    edit.undo()
    assert not edit.state.can_undo
    assert edit.state.changes == 0
    edit.redo()
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN, SECONDS)
    assert scales(place) == [(1, 0.108, 0.108), (1, 0.216, 0.216), (1, 0.432, 0.432)]


def test_all_ways_show_the_same_edits(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    edit = s.edit
    edit.edit("size/0", "3")
    edit.show_way("fields")
    at = "/ome/multiscales/0/datasets/{}/coordinateTransformations/0/scale/0"
    assert [field(s, at.format(i)).text for i in range(3)] == ["3", "3.0", "3.0"]
    edit.edit("/ome/multiscales/0/name", "other")
    edit.edit(at.format(0), "-1")
    assert edit.state.status is EditStatus.INVALID
    edit.edit(at.format(0), "4.5")
    edit.show_way("image")
    assert field(s, "name").text == "other"
    assert field(s, "size/0").text == "4.5"
    seen = []
    for _ in edit.state.ways:
        edit.next_way()
        seen.append(edit.state.way)
    assert seen == [*edit.state.ways[1:], "image"]


def test_parted_axes_are_edited_by_themselves(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    s.edit.edit("linked", "false")
    assert s.edit.state.changes == 0
    s.edit.edit("size/2", "0.5")
    assert [field(s, f"size/{i}").text for i in (1, 2)] == ["0.2", "0.5"]


def test_what_is_wrong_stays_as_typed_says_why_and_blocks_saving(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    for id, wrong, said, right in (
        ("size/1", "-1", "is not a pixel size", "0.3"),
        ("size/1", "abc", "not a number", "0.3"),
        ("channel/0/color", "red", "not a colour", "#0f8"),
        ("channel/0/start", "250", "empty", "100"),
        ("axis/0/name", "y", "Another axis", "w"),
    ):
        s.edit.edit(id, wrong)
        assert (field(s, id).text, said in field(s, id).error) == (wrong, True)
        assert not s.edit.state.can_save
        assert s.edit.state.status is EditStatus.INVALID
        s.edit.edit(id, right)
        assert not field(s, id).error
    assert field(s, "channel/0/color").text == "00FF88"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("0,5", "0.5"), (".5", "0.5"), ("+0.3", "0.3"), ("1e-1", "0.1"), ("0,250", "0.25"), ("2 um", "2"),
        ("0.5 \N{MICRO SIGN}m", "0.5"), ("500 nm", "0.5"), ("1e-3mm", "1"), ("108nanometer", "0.108"),
    ],
)  # fmt: skip
def test_a_pixel_size_is_read_as_people_type_it(
    open_form: Callable[..., Session], place: str, typed: str, read: str
) -> None:
    s = open_form(place)
    s.edit.edit("size/1", typed)
    found = field(s, "size/1")
    assert (float(found.text), found.error, field(s, "unit/1").text) == (float(read), "", "micrometer")
    assert s.edit.state.can_save


@pytest.mark.parametrize(
    "typed", ["1,250", "1.000,5", "3 s", "12 3", "0x10", "\N{VULGAR FRACTION ONE HALF}", "", "-1 nm"]
)
def test_a_number_of_doubtful_meaning_is_refused(open_form: Callable[..., Session], place: str, typed: str) -> None:
    """1,250 is a thousand in some countries, and one and a quarter in others."""
    s = open_form(place)
    s.edit.edit("size/1", typed)
    assert (field(s, "size/1").text, bool(field(s, "size/1").error)) == (typed, True)
    assert not s.edit.state.can_save


def test_a_size_typed_with_a_unit_gives_it_to_axes_without_one(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    for axis in (0, 1, 2):
        s.edit.edit(f"unit/{axis}", "")
    s.edit.edit("size/1", "108 nm")
    assert [field(s, f"unit/{axis}").text for axis in (0, 1, 2)] == ["", "nanometer", "nanometer"]
    assert [field(s, f"size/{axis}").text for axis in (1, 2)] == ["108", "108"], "both axes of the plane"
    s.edit.undo()
    assert [field(s, f"unit/{axis}").text for axis in (0, 1, 2)] == ["", "", ""], "one step"


@pytest.mark.parametrize("ends", [("300", "400"), ("-50", "-20")])
@pytest.mark.parametrize("order", [("start", "end"), ("end", "start")])
def test_both_ends_of_a_window_can_be_typed_in_either_order(
    open_form: Callable[..., Session], place: str, ends: tuple[str, str], order: tuple[str, str], mailbox: Mailbox
) -> None:
    s = open_form(place)
    texts = {"start": ends[0], "end": ends[1]}
    for name in order:
        s.edit.edit(f"channel/0/{name}", texts[name])
    assert s.edit.state.can_save, s.edit.state.sentence
    assert [field(s, f"channel/0/{name}").text for name in ("start", "end")] == [*ends]
    s.edit.save()
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
    (channel,) = zarrscope.open(place).root.attributes["ome"]["omero"]["channels"]
    assert (channel["window"]["start"], channel["window"]["end"]) == tuple(map(int, ends))


def test_a_limit_of_contrast_may_have_a_comma(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    s.edit.edit("channel/0/start", "0,5")
    assert (field(s, "channel/0/start").text, field(s, "channel/0/start").error) == ("0.5", "")


def test_a_text_is_tried_while_it_is_typed_and_nothing_changes(
    open_form: Callable[..., Session], place: str, mailbox: Mailbox
) -> None:
    s = open_form(place)
    told: list[str] = []
    for count, text in enumerate(("-", "-3", "0.3"), 1):
        s.edit.try_text("size/0", text, told.append)
        mailbox.run_until(partial(_reached, told, count), SECONDS)
    assert [bool(each) for each in told] == [True, True, False]
    assert s.edit.state.changes == 0
    assert not s.edit.state.can_undo


def test_the_verdict_follows_the_edits(open_form: Callable[..., Session], place: str, mailbox: Mailbox) -> None:
    s = open_form(place)
    mailbox.run_until(lambda: "valid" in s.edit.state.verdict, SECONDS)
    s.edit.edit("axis/0/type", "time")
    s.edit.edit("axis/1/type", "time")
    mailbox.run_until(lambda: not s.edit.state.valid, SECONDS)
    assert "error" in s.edit.state.verdict
    assert "/ome/multiscales/0/axes" in s.edit.state.verdict
    s.edit.revert()
    mailbox.run_until(lambda: s.edit.state.valid, SECONDS)


def test_what_is_typed_into_a_place_open_for_reading_waits(
    open_form: Callable[..., Session], place: str, mailbox: Mailbox
) -> None:
    s = open_form(place, writable=False)
    assert s.edit.state.status is EditStatus.READ_ONLY
    s.edit.edit("size/0", "3")
    s.edit.edit("size/1", "0.5")
    assert field(s, "size/0").text == "1"
    shown = {f.pointer: f.text for section in s.edit.state.sections for row in section.rows for f in row.fields}
    assert shown["size/0"] == "3"
    assert shown["size/2"] == "0.5", "y and x are alike"
    s.edit.edit("size/1", "much")
    s.edit.edit("size/1", "0.5")
    assert "Save opens it for writing" in s.edit.state.sentence
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.DIRTY, SECONDS)
    assert [field(s, f"size/{i}").text for i in range(3)] == ["3", "0.5", "0.5"]


def test_sections_have_no_members_to_add_or_rename(open_form: Callable[..., Session], place: str) -> None:
    s = open_form(place)
    assert s.edit.add("pixels", "x") == ""
    assert "All fields" in s.edit.state.sentence
    s.edit.rename("size/0", "x")
    s.edit.remove("size/0")
    s.edit.move("size/0", 1)
    assert s.edit.state.changes == 0


def test_what_means_nothing_known_is_shown_as_fields(
    open_form: Callable[..., Session], place: str, mailbox: Mailbox
) -> None:
    s = open_form(place)
    s.select("/plain")
    mailbox.run_until(lambda: s.edit.field("/n") is not None, SECONDS)
    assert (s.edit.state.way, s.edit.state.ways) == ("fields", ("fields", "json"))
    s.select("/")
    mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
    assert s.edit.state.way == "image", "what was chosen for images stays"


@pytest.mark.parametrize("junk", [[], {}, {"axes": 3}, {"datasets": [None, 3, {"path": 3}]}, {"axes": [None, {}]}, "x"])
def test_junk_is_shown_as_far_as_it_goes(junk: Any, tmp_path: Path, mailbox: Mailbox) -> None:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [junk], "omero": {"channels": [3, {}]}}})
    s = Session(str(tmp_path / "x.zarr"), mailbox, writable=True)
    try:
        mailbox.run_until(lambda: bool(s.edit.state.fields), SECONDS)
        assert not s.problems.items or all("wrong inside" not in p.headline for p in s.problems.items)
    finally:
        s.close()


# ---------------------------------------------------------------------- as text
def test_text_is_the_documents_own_and_only_what_was_typed_changes(
    open_form: Callable[..., Session], place: str, mailbox: Mailbox
) -> None:
    s = open_form(place)
    s.edit.show_way("json")
    text = s.edit.state.text
    assert json.loads(text) == ATTRIBUTES
    assert text.splitlines()[-1] == "}", "at the left edge"
    before = Path(place, "zarr.json").read_text().splitlines()
    s.edit.edit_text(text)
    assert s.edit.state.changes == 0
    s.edit.edit_text(text.replace('"cells"', '"other"'))
    assert s.edit.state.changes == 1
    s.edit.save()
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
    after = Path(place, "zarr.json").read_text().splitlines()
    assert [b for a, b in zip(before, after, strict=True) if a != b] == [
        line.replace('"cells"', '"other"') for line in before if '"cells"' in line
    ]


def test_a_text_that_is_no_json_stays_through_all_ways_and_says_its_line(
    open_form: Callable[..., Session], place: str
) -> None:
    s = open_form(place)
    s.edit.show_way("json")
    lines = s.edit.state.text.splitlines()
    at = next(i for i, line in enumerate(lines) if '"cells"' in line)
    broken = "\n".join([*lines[:at], '"name": ,', *lines[at + 1 :]])
    s.edit.edit_text(broken)
    assert (s.edit.state.text, s.edit.state.text_line) == (broken, at + 1)
    assert "Expected a value" in s.edit.state.text_error
    assert s.edit.state.status is EditStatus.INVALID
    assert [f.label for f in s.edit.state.fields if f.error] == [str(at + 1)]
    s.edit.show_way("image")
    assert field(s, "name").text == "cells"
    s.edit.show_way("json")
    assert s.edit.state.text == broken
    s.edit.edit(f"line/{at}", '"name": "mended",')
    assert s.edit.state.text_error == ""
    assert field(s, "name").text == "mended"


def test_the_whole_stays_an_object(open_form: Callable[..., Session], place: str, mailbox: Mailbox) -> None:
    s = open_form(place)
    told: list[tuple[int, str]] = []
    for count, text in enumerate(("[1]", "{", "{}"), 1):
        s.edit.try_json(text, lambda line, sentence: told.append((line, sentence)))
        mailbox.run_until(partial(_reached, told, count), SECONDS)
    assert [bool(sentence) for _, sentence in told] == [True, True, False]
    assert s.edit.state.changes == 0


# ---------------------------------------------------------------------- the hosts
@pytest.mark.needs("qt")
def test_in_the_window_by_keyboard_alone(qtbot: Any, place: str) -> None:
    """E, size of z, Tab, size of y (x follows), Ctrl+S: five gestures for nine scales and six translations."""
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication, QLineEdit

    from qt_robot import window_on

    window, session = window_on(qtbot, place, writable=True)
    qtbot.waitUntil(lambda: session.node is not None and bool(session.edit.state.fields), timeout=SECONDS * 1000)
    qtbot.keyClick(window, Qt.Key.Key_E)
    qtbot.waitUntil(
        lambda: window.form.sections.editors.get("size/0") is QApplication.focusWidget(), timeout=SECONDS * 1000
    )
    z = window.form.sections.editors["size/0"]
    assert isinstance(z, QLineEdit)
    assert z.selectedText() == z.text(), "what is there is typed over"
    qtbot.keyClicks(z, "2.5")
    qtbot.keyClick(z, Qt.Key.Key_Tab)
    y = QApplication.focusWidget()
    assert y is window.form.sections.editors["size/1"]
    qtbot.keyClicks(y, "0.1")
    x: Any = window.form.sections.editors["size/2"]
    qtbot.keyClick(y, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: scales(place)[0][0] == 2.5, timeout=SECONDS * 1000)
    assert scales(place) == [(2.5, 0.1, 0.1), (2.5, 0.2, 0.2), (2.5, 0.4, 0.4)]
    qtbot.waitUntil(lambda: x.text() == "0.1", timeout=SECONDS * 1000)


@pytest.mark.needs("qt")
def test_in_the_window_errors_stand_beside_their_field(qtbot: Any, place: str) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, place)
    qtbot.waitUntil(lambda: bool(session.edit.state.sections), timeout=SECONDS * 1000)
    session.set_tab("attributes")
    form = window.form.sections
    qtbot.waitUntil(lambda: "size/0" in form.editors, timeout=SECONDS * 1000)
    z: Any = form.editors["size/0"]
    z.setFocus()
    z.selectAll()
    qtbot.keyClicks(z, "4")
    assert "Save opens it for writing" in session.edit.state.sentence
    session.set_writable(True)
    qtbot.waitUntil(lambda: session.edit.state.changes > 0, timeout=SECONDS * 1000)
    z = form.editors["size/0"]
    qtbot.waitUntil(lambda: z.text() == "4", timeout=SECONDS * 1000)
    end = time.monotonic() + SECONDS
    while "is not a pixel size" not in form._notes["pixels/0"].text() and time.monotonic() < end:
        z = form.editors["size/0"]  # opening the hierarchy for writing may rebuild the form while the user types
        z.setFocus()
        z.selectAll()
        qtbot.keyClicks(z, "-4")
        with suppress(qtbot.TimeoutError):
            qtbot.waitUntil(lambda: "is not a pixel size" in form._notes["pixels/0"].text(), timeout=2000)
    assert "is not a pixel size" in form._notes["pixels/0"].text()
    session.edit.revert()


def test_in_the_terminal(place: str) -> None:
    from zarrscope_app.tui.app import Explorer
    from zarrscope_app.tui.form_lines import FormLines

    app = Explorer(place, writable=True)

    async def until(pilot: Any, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not happened():
                await pilot.pause(0.01)

    async def mend() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            s = app.session
            await until(pilot, lambda: s.node is not None and bool(s.edit.state.fields))
            await pilot.press("e")
            await until(pilot, lambda: app._panes.current == "attributes" and bool(s.edit.state.sections))
            form = app.query_one("#attributes", FormLines)
            form.move([f.pointer for f in s.edit.state.fields].index("size/1"))
            await pilot.press("enter", *(["backspace"] * 3), "0", ".", "5", "enter")
            assert [field(s, f"size/{i}").text for i in (1, 2)] == ["0.5", "0.5"]
            await pilot.press("w")
            await until(pilot, lambda: s.edit.state.way == "fields")
            await pilot.press("w")
            await until(pilot, lambda: s.edit.state.way == "json")
            lines = [f.text for f in s.edit.state.fields]
            form.move(next(i for i, line in enumerate(lines) if '"cells"' in line))
            await pilot.press("enter", *(["backspace"] * len(lines[form.cursor])), *'"name":"x",', "enter")
            assert field(s, "name").text == "x"
            await pilot.press("w")
            await until(pilot, lambda: s.edit.state.way == "image")
            s.edit.revert()

    asyncio.run(mend())


def test_in_the_notebook(place: str, mailbox: Mailbox) -> None:
    from zarrscope_app.jupyter import Explorer

    widget = Explorer(place, post=mailbox, editable=True)
    try:
        widget._receive(widget, {"do": "session.set_tab", "args": ["attributes"]})
        mailbox.run_until(lambda: bool(widget.view["panel"].get("edit", {}).get("sections")), SECONDS)
        assert widget.view["panel"]["ways"] == [["image", "Image"], ["fields", "All fields"], ["json", "JSON"]]
        json.dumps(widget.view["panel"]["edit"])
        widget._receive(widget, {"do": "edit.edit", "args": ["size/1", "0.5"]})
        mailbox.run_until(lambda: widget.view["panel"]["edit"]["changes"] > 0, SECONDS)
        assert field(widget.session, "size/2").text == "0.5"
        widget._receive(widget, {"do": "edit.show_way", "args": ["fields"]})
        mailbox.run_until(lambda: widget.view["panel"]["edit"]["way"] == "fields", SECONDS)
    finally:
        widget.session.edit.revert()
        widget.close()


@pytest.mark.needs("qt")
def test_a_section_of_notes_alone_is_shown_in_the_window(qtbot: Any) -> None:
    """The transformations of a scene have no fields: the form was not made anew for them, and failed."""
    from zarrscope_app.presenters.form.view_models import EditState, FormRow, FormSection
    from zarrscope_app.qt.section_form import SectionFormWidget

    form = SectionFormWidget()
    qtbot.addWidget(form)
    form.show()
    notes = FormSection("transformation", "Transformations", (), ("system physical: y, x",))
    form.show_state(EditState(way="image", sections=(notes,)))
    assert form._notes["transformation"].text() == "system physical: y, x"
    named = FormSection("name", "Name", (FormRow("name", (Field("/name", "name", "text", "a", "a", 0),)),))
    form.show_state(EditState(way="image", sections=(named,)))
    form.show_state(EditState(way="image", sections=(named, notes)))
    assert form._notes["transformation"].isVisible()
    assert list(form.editors) == ["/name"]
