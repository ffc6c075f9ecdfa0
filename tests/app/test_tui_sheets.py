"""The dialogs of the terminal at the usual and at a small size always show the line with their keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from textual.containers import VerticalScroll

import terminal_hand
import zarrscope
from terminal_hand import Screen
from zarrscope_app.presenters import EditStatus, strings
from zarrscope_app.presenters.commands import COMMANDS, FOOTERS, LABELS, TERMINAL_KEYS, key_sheet, terminal_keys
from zarrscope_app.presenters.form.view_models import Disagreement, EditState
from zarrscope_app.presenters.strings_terminal import NOTHING_FOUND
from zarrscope_app.tui.conflict import LEAST_FIXED, SEEN, ConflictSheet
from zarrscope_app.tui.form_keys import BEGINS
from zarrscope_app.tui.keys import KEYS
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.sheet import Sheet

SIZES = pytest.mark.parametrize("size", [(80, 24), (60, 18)], ids=["80x24", "60x18"])
MANY = {f"field {number:02}": number for number in range(40)}


@pytest.fixture
def place(tmp_path: Path) -> str:
    zarrscope.open(str(tmp_path / "x.zarr"), "w-").root.attrs.put(MANY)
    return str(tmp_path / "x.zarr")


def explore(place: str, size: tuple[int, int], steps: Callable[[Screen], Coroutine[Any, Any, None]]) -> None:
    async def after_form(screen: Screen) -> None:
        await screen.until(lambda: screen.session.edit.state.fields, "the form is there")
        await steps(screen)

    terminal_hand.explore(place, after_form, size, writable=True)


def edit_all(screen: Screen) -> None:
    for name in MANY:
        screen.session.edit.edit(f"/{name}", "1000")


async def foot_in_sight(screen: Screen, *words: str) -> None:
    """Waits for a dialog; the line of its keys is completely visible and does not scroll."""
    await screen.until(lambda: isinstance(screen.top, Sheet), "a dialog")
    await screen.pilot.pause()
    foot = screen.top.query_one(".foot")
    assert foot.region.height >= 1
    assert screen.top.region.contains_region(foot.region)
    assert foot not in screen.top.query_one(VerticalScroll).walk_children()
    for word in words:
        await screen.until(partial(_says, screen, word), f"this is on the screen: {word}")


def _says(screen: Screen, word: str) -> bool:
    return word in _words(screen)


def _words(screen: Screen) -> str:
    """The words on the screen as one line, because a line of keys may be wrapped; without frames and scroll bars, and
    without what stands beside the frame of a dialog."""
    lines = [re.sub("^[^│]*│(.*)│[^│]*$", r"\1", line) for line in _shown(screen).splitlines()]
    return " ".join(re.sub("[│▁-█]", " ", " ".join(lines)).split())


def _shown(screen: Screen) -> str:
    """The characters on the screen."""
    lines = screen.top._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line) for line in lines)


async def conflict(screen: Screen, place: str) -> None:
    edit_all(screen)
    zarrscope.open(place, "r+").root.attrs.put(dict.fromkeys(MANY, 7))
    screen.session.edit.save()
    await screen.until(lambda: screen.session.edit.state.status is EditStatus.CONFLICT, "the conflict")


@SIZES
def test_a_conflict_opens_its_dialog_which_shows_its_keys(place: str, size: tuple[int, int]) -> None:
    async def steps(screen: Screen) -> None:
        await conflict(screen, place)
        await foot_in_sight(screen, "m mine", "⏎ merge", "T all theirs", "Esc back")
        assert isinstance(screen.top, ConflictSheet)
        for _ in range(20):
            await screen.press("down")
        await foot_in_sight(screen, "⏎ merge", "▸ /field 21")  # field 7 has no conflict
        await screen.until(lambda: "Theirs 7" in _words(screen).partition("▸ /field 21")[2], "both sides are in sight")
        await screen.press("enter")
        assert isinstance(screen.top, ConflictSheet)
        assert screen.top._at == 0, "it goes to the first field without a side"
        await screen.press("m", "enter")
        assert screen.top._at == 1
        await screen.press("escape")
        await screen.pilot.pause(0.2)
        assert not isinstance(screen.top, Sheet), "it opens by itself once"

        await screen.press("e")
        await screen.until(lambda: "d both sides, merge" in _shown(screen), "the footer names the key")
        for word in ("conflict", "merge"):
            await screen.press("colon")
            await screen.until(lambda: isinstance(screen.top, Picker), "the commands")
            await screen.press(*word)
            assert [id for id, _, _ in screen.top.found] == ["merge"]
            await screen.press("enter")
            await screen.until(lambda: isinstance(screen.top, ConflictSheet), "the dialog again")
            await screen.press("escape")

    explore(place, size, steps)


def test_of_a_large_conflict_only_the_fields_around_the_cursor_are_laid_out() -> None:
    """Textual took 217 ms for the 600 lines of a conflict over a document of 5 MB, and again for each key."""
    disputed = tuple(Disagreement(f"/d{i}", "1", "2", "3") for i in range(100))
    fitting = tuple(Disagreement(f"/n{i}", "1", "2", "1", choice="mine") for i in range(25_000))
    edit = Mock(state=EditState(EditStatus.CONFLICT, "", conflicts=disputed, fitting=fitting))
    sheet = ConflictSheet(edit)
    for at in (0, 1, 50, 98, 99):
        sheet._at = at
        text = sheet._sides()
        assert f"\n▸ /d{at}\n" in text
        assert "/n3" in text
        assert f"{25_100 - SEEN - LEAST_FIXED:,} more not listed" in text
        assert text.count("\n") <= 3 * (SEEN + LEAST_FIXED) + 3


def test_the_keys_that_the_footer_offers_in_a_conflict_work(tmp_path: Path) -> None:
    place = str(tmp_path / "x.zarr")
    zarrscope.open(place, "w-").root.attrs.put({"name": "cells", "scale": 1})

    async def steps(screen: Screen) -> None:
        edit = screen.session.edit

        def disputed() -> dict[str, str | None]:
            return {each.pointer: each.mine for each in edit.state.conflicts}

        edit.edit("/name", "mine")
        edit.edit("/scale", "3")
        zarrscope.open(place, "r+").root.attrs.put({"name": "theirs", "scale": 7})
        edit.save()
        await screen.until(lambda: isinstance(screen.top, ConflictSheet), "the dialog")
        await screen.press("down", "m", "escape", "e")
        await screen.until(lambda: "u undo" in _shown(screen), "the footer offers undo")
        assert disputed() == {"/name": '"mine"', "/scale": "3"}
        await screen.press("u")
        await screen.until(lambda: disputed() == {"/name": '"mine"'}, "the last edit is undone")
        assert edit.state.status is EditStatus.CONFLICT
        await screen.press("ctrl+r")
        await screen.until(lambda: disputed() == {"/name": '"mine"', "/scale": "3"}, "and made again")
        await screen.press("home", "down", "enter")
        await screen.type("other")
        await screen.until(lambda: disputed()["/name"] == '"other"', "a third value is typed")
        await screen.press("u", "u", "u")
        await screen.until(lambda: not edit.state.changes, "nothing of mine is left")
        assert "merge" in edit.state.sentence
        await screen.press("d", "enter")
        await screen.until(lambda: edit.state.status is EditStatus.CLEAN, "their document is shown")
        assert edit.state.sentence == strings.AS_STORED, "there is nothing to save"

    explore(place, (80, 24), steps)


def test_a_conflict_waits_until_a_typed_text_is_accepted(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("slash")
        await conflict(screen, place)
        await screen.pilot.pause(0.2)
        await screen.press("m")
        assert not isinstance(screen.top, Sheet), "keys still go to the input"
        await screen.press("escape")
        await screen.until(lambda: isinstance(screen.top, ConflictSheet), "the dialog")

    explore(place, (80, 24), steps)


@SIZES
def test_leaving_with_unsaved_changes_shows_the_keys_of_the_question(place: str, size: tuple[int, int]) -> None:
    async def steps(screen: Screen) -> None:
        edit_all(screen)
        await screen.until(lambda: screen.session.edit.state.changes, "the changes")
        for key in ("ctrl+c", "q"):
            await screen.press(key)
            await foot_in_sight(screen, "s save", "x discard", "Esc back", LABELS["close-title"])
            await screen.press("end")
            await foot_in_sight(screen, "s save")
            await screen.press("escape")

    explore(place, size, steps)


@SIZES
def test_every_other_dialog_shows_its_keys(place: str, size: tuple[int, int]) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("question_mark")
        await foot_in_sight(screen, "Esc back")
        await screen.press("escape")
        await screen.press("colon")
        await foot_in_sight(screen, "Esc back")
        for _ in range(30):
            await screen.press("down")
        await foot_in_sight(screen, "▸ ")  # the chosen command
        await screen.press("escape")
        await screen.command("create-array")
        await foot_in_sight(screen, "⏎ do it", "Esc back")
        await screen.press("escape")

    explore(place, size, steps)


def test_a_command_is_found_by_another_word_and_an_empty_list_says_so(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("colon", *"create")
        picker = screen.top
        assert isinstance(picker, Picker)
        assert {"create-group", "create-array"} <= {id for id, _, _ in picker.found}
        await screen.press("x")
        assert not picker.found
        await screen.until(lambda: NOTHING_FOUND in _words(screen), "the list says so")
        await screen.press("enter", "left")
        assert screen.top is picker, "it stays, so that the text can be corrected"
        await screen.press("ctrl+u", *"f2")
        assert "rename-node" in {id for id, _, _ in picker.found}, "by its key"
        await screen.press("escape")
        assert screen.top is not picker

    explore(place, (80, 24), steps)


def test_ctrl_z_leads_to_the_shell_out_of_every_dialog(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(screen: Screen) -> None:
        left: list[object] = []
        monkeypatch.setattr(screen.app, "to_shell", lambda: left.append(screen.top))
        await screen.press("ctrl+z", "question_mark", "ctrl+z")
        keys = screen.top
        assert isinstance(keys, Sheet), "the dialog stays for fg"
        await screen.press("escape", "colon", "c", "ctrl+z")
        assert isinstance(screen.top, Picker)
        await screen.press("escape", "slash", "ctrl+z")
        assert left == [screen.app.screen_stack[0], keys, left[2], screen.app.screen_stack[0]]
        assert isinstance(left[2], Picker)

    explore(place, (80, 24), steps)


# ---------------------------------------------------------------------- the editor
def test_a_fault_that_is_taken_back_in_the_editor_changes_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hierarchy that is open for reading, the text as it was waited to be written, and q asked about it."""
    given: list[str] = []

    def edited(_: object, text: str) -> str:
        given.append(text)
        return text.replace(":", "::", 1) if len(given) == 1 else text.replace("::", ":", 1)

    monkeypatch.setattr("zarrscope_app.tui.asking._edited", edited)

    async def steps(screen: Screen) -> None:
        await screen.until(lambda: screen.session.edit.state.fields, "the form is there")
        await screen.press("ctrl+o")
        await screen.until(lambda: isinstance(screen.top, Sheet), "the fault is told")
        await screen.press("e")
        await screen.until(lambda: len(given) == 2 and not isinstance(screen.top, Sheet), "it was edited again")
        await screen.pilot.pause()
        assert not screen.session.edit.waiting_texts
        assert not screen.session.edit.state.changes

    terminal_hand.explore(place, steps)


# ---------------------------------------------------------------------- the list of keys
def test_keys_are_listed_as_they_are_typed() -> None:
    """A capital letter is displayed only for a key with Shift: N is another key than n, and V than v."""
    listed = {key for keys, _ in key_sheet(*TERMINAL_KEYS) for key in keys.split(" · ")}
    assert {"e", "w", "q", "a", "v", "x"} <= listed
    assert {key for key in listed if len(key) == 1 and key.isupper()} == {"N", "V"}
    quits = next(keys for keys, label in key_sheet(*TERMINAL_KEYS) if label == "Quit")
    assert quits == "q · Ctrl+C"


@pytest.mark.parametrize("pane", ["tree", "image", "overview", "values", "chunks", "info", "problems"])
def test_the_last_line_names_the_keys_of_the_tabs(pane: str) -> None:
    assert "[ ] tab" in FOOTERS[pane], "the row of tabs has no room for them at 80 columns"


def test_the_sheet_says_that_a_digit_begins_a_value() -> None:
    keys, label = next(row for row in key_sheet(*TERMINAL_KEYS) if "type another value" in row[1])
    digits, *others = keys.split(" · ")
    assert label.startswith("Among attributes")
    assert {*map(str, range(10)), *others} == BEGINS
    assert digits == "0–9"


def test_a_listed_letter_gives_its_command() -> None:
    for found in COMMANDS:
        for key in terminal_keys(found):
            assert len(key) > 1 or found.id == "quit" or KEYS[key.lower()] == found.id
