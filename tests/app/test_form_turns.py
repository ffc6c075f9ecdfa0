"""The editors of a long form are made in turns, and a field that is asked for at once. Nothing is timed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QApplication, QLineEdit, QScrollBar

import zarrscope
from qt_robot import QtRobot
from zarrscope_app.qt.form import AttributesPane
from zarrscope_app.qt.section_form import AT_ONCE, SectionFormWidget
from zarrscope_app.qt.section_lines import SectionLines

CHANNELS = 64
WIDEST_ROW = 5


@pytest.fixture
def place(tmp_path: Path) -> str:
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "yx")]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.5]}]
    image = {"name": "x", "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    window = {"min": 0, "max": 255, "start": 0, "end": 200}
    channels = [{"label": f"n{i}", "color": f"{i:02X}8000", "window": window} for i in range(CHANNELS)]
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [image], "omero": {"channels": channels}}})
        h.create_array("/0", shape=(CHANNELS, 8, 8), dtype="uint8", chunks=(CHANNELS, 8, 8))
    return str(tmp_path / "x.zarr")


@pytest.fixture
def robot(qtbot: Any, place: str, made: list[int]) -> Iterator[QtRobot]:
    robot = QtRobot(qtbot)
    robot.open(place, writable=True)
    robot.wait(lambda: bool(robot.session.edit.state.sections), "the sections")
    yield robot
    robot.close()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of editors that each turn has made."""
    turns: list[int] = []
    make = SectionFormWidget._make_rows

    def counted(form: SectionFormWidget, *wanted: Any) -> None:
        before = len(form.editors)
        make(form, *wanted)
        turns.append(len(form.editors) - before)

    monkeypatch.setattr(SectionFormWidget, "_make_rows", counted)
    return turns


def first_turn_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the turns after the first one from coming by themselves."""
    monkeypatch.setattr(SectionFormWidget, "_make_rows_later", lambda form: None)


def shown(robot: QtRobot) -> SectionFormWidget:
    robot.session.set_tab("attributes")
    form = robot.window.form.sections
    robot.wait(lambda: form.isVisible() and bool(form.editors), "the form")
    return form


def rest(robot: QtRobot, form: SectionFormWidget) -> None:
    while form._due:
        form._make_rows()
    form._make_rows()
    robot.wait(lambda: not form._due, "all editors")


def bar(form: SectionFormWidget) -> QScrollBar:
    found = form.verticalScrollBar()
    assert found is not None
    return found


def has_keys(form: SectionFormWidget, id: str) -> bool:
    return id in form.editors and form.editors[id].hasFocus()


def text(form: SectionFormWidget, channel: int) -> str:
    line = form.editors[f"channel/{channel}/label"]
    assert isinstance(line, QLineEdit)
    return line.text()


def fields(robot: QtRobot) -> list[str]:
    return [f.pointer for section in robot.session.edit.state.sections for row in section.rows for f in row.fields]


def test_new_editors_are_laid_out_once_in_one_painting(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    placed: list[SectionLines] = []
    arrangements: list[list[SectionLines]] = []
    paint, place = AttributesPane._paint, SectionLines.setGeometry

    def painted(pane: AttributesPane) -> None:
        placed.clear()
        paint(pane)
        arrangements.append([*placed])

    def noted(lines: SectionLines, rect: Any) -> None:
        placed.append(lines)
        place(lines, rect)

    monkeypatch.setattr(AttributesPane, "_paint", painted)
    monkeypatch.setattr(SectionLines, "setGeometry", noted)
    form = shown(robot)
    most = max(arrangements, key=len)
    assert most, "a painting laid the editors out"
    assert set(most) == set(form._layouts)
    assert len(most) <= 2 * len(form._layouts), "once, and once again if a scroll bar takes some of the width"


def test_no_turn_makes_more_editors_than_it_may_and_the_form_does_not_move(robot: QtRobot, made: list[int]) -> None:
    form = shown(robot)
    robot.wait(lambda: not form._due, "all editors")
    assert set(form.editors) == set(fields(robot))
    assert len(form.editors) > 5 * CHANNELS
    assert sum(made) == len(form.editors)
    assert max(made) < AT_ONCE + WIDEST_ROW
    assert all(editor.accessibleName() for editor in form.editors.values())
    assert all(editor.isVisibleTo(form) for editor in form.editors.values())
    tops = [form.editors[f"channel/{i}/label"].mapTo(form.widget(), form.rect().topLeft()).y() for i in range(CHANNELS)]
    assert len({after - before for before, after in pairwise(tops)}) == 1
    robot.wait(lambda: robot.window.form.width() > robot.window.width() / 2, "the panel of channels to go")


def test_a_field_that_is_asked_for_is_made_at_once(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    form = shown(robot)
    last = f"channel/{CHANNELS - 1}/label"
    assert last not in form.editors
    assert form.jump(last)
    robot.wait(form.editors[last].hasFocus, "the keyboard focus on the last channel")
    assert not form.editors[last].visibleRegion().isEmpty()
    top, scrolled = form.editors[last].y(), bar(form).value()
    rest(robot, form)
    assert (form.editors[last].y(), bar(form).value()) == (top, scrolled)
    assert form.editors[last].hasFocus()
    assert not form.jump("no such field")


def test_the_editors_of_a_turn_stand_where_they_stay(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    form = shown(robot)
    robot.wait(lambda: all(lines.is_placed for lines in form._layouts), "the first rows in their places")
    first = set(form.editors)
    form._make_rows()
    form._make_rows()
    places = {id: editor.geometry() for id, editor in form.editors.items() if id not in first}
    assert len(places) >= 2 * AT_ONCE
    rest(robot, form)
    assert {id: form.editors[id].geometry() for id in places} == places


def test_a_field_that_was_found_is_made_at_once(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    form = shown(robot)
    found = f"channel/{CHANNELS // 2}/label"
    form.mark(found)
    assert form._mark is not None
    assert form._mark.parentWidget() is form.editors[found]
    assert not form.editors[found].visibleRegion().isEmpty()


def test_tab_goes_down_a_column_whose_editors_are_not_made_yet(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    form = shown(robot)
    assert form.jump("channel/30/label")
    robot.wait(form.editors["channel/30/label"].hasFocus, "the channel")
    for key, then in ((Qt.Key.Key_Tab, 31), (Qt.Key.Key_Tab, 32), (Qt.Key.Key_Backtab, 31), (Qt.Key.Key_Backtab, 30)):
        robot.qtbot.keyClick(QApplication.focusWidget(), key)
        robot.wait(partial(has_keys, form, f"channel/{then}/label"), f"the channel {then}")
    rest(robot, form)
    assert form.editors["channel/30/label"].hasFocus()
    robot.qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Backtab)
    robot.wait(form.editors["channel/29/label"].hasFocus, "the channel above")


def test_an_edit_beside_the_turns_is_shown_by_all_editors(robot: QtRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    first_turn_only(monkeypatch)
    form = shown(robot)
    for channel in (0, 50):
        robot.session.edit.edit(f"channel/{channel}/label", f"mine {channel}")
    rest(robot, form)
    robot.wait(lambda: text(form, 0) == "mine 0" and text(form, 50) == "mine 50", "the names")
    robot.session.edit.undo()
    robot.wait(lambda: text(form, 50) == "n50", "the name of before")


def test_another_form_is_shown_while_rows_of_a_longer_one_are_still_to_be_made(
    robot: QtRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of the former form were looked for among the sections of the new one, which ended the process."""
    first_turn_only(monkeypatch)
    form = shown(robot)
    state = robot.session.edit.state
    assert len(state.sections) > 1
    assert form._due
    form.show_state(replace(state, sections=state.sections[:1]))
    assert set(form.editors) <= {field.pointer for row in state.sections[0].rows for field in row.fields}
    assert {place for place, _ in form._due} <= {0}
    rest(robot, form)
