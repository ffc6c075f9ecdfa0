"""The terminal before the application is imported, in the shell after Ctrl+Z, and under the terminal's own graphics."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import zarrscope
from zarrscope.dialects import Child
from zarrscope.nodes.group import Group
from zarrscope_app.presenters import RowState, SessionStatus
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import TERMINAL_KEYS, key_sheet
from zarrscope_app.presenters.tree.arriving import SMALL

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")
pytest.importorskip("textual")
from textual import events

from terminals import Terminal, plane_of, terminals
from zarrscope_app.tui.early_keys import LOOKS, EarlyKeys
from zarrscope_app.tui.first_rows import first_rows
from zarrscope_app.tui.first_screen import WIDE_SIDE, cut_to

SHELL = """
import fcntl, os, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
"""
"""A shell whose controlling terminal this is: only such a shell has job control."""


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return plane_of(tmp_path / "plane.zarr")


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    with terminals() as start:
        yield start


@pytest.fixture
def opened(start: Callable[..., Terminal], volume: str) -> Callable[..., Terminal]:
    """Opens the array in a terminal, and gives the keyboard focus to its picture."""

    def opened(**how: Any) -> Terminal:
        terminal = start("-m", "zarrscope_app", "tui", f"{volume}/plane", TERM="xterm-256color", **how)
        terminal.sees("q quit")
        terminal.sees("Values")
        terminal.press("\t")
        terminal.sees("a auto")
        return terminal

    return opened


@pytest.fixture
def failed(start: Callable[..., Terminal], volume: str) -> Terminal:
    """A terminal in which the application could not be imported."""
    terminal = start("-c", FAILING, volume)
    assert terminal.ended() == 1
    return terminal


@pytest.mark.skipif(shutil.which("bash") is None, reason="a shell with jobs is needed")
def test_ctrl_z_leads_to_the_shell_and_fg_back(start: Callable[..., Terminal], volume: str) -> None:
    shell = start("-c", SHELL, PS1="$ ", BASH_SILENCE_DEPRECATION_WARNING="1")
    shell.sees("$ ")
    shell.press(f"{shlex.quote(sys.executable)} -m zarrscope_app tui {volume}/plane\r")
    shell.sees("q quit")
    shell.sees("Values")
    shell.press("\x1a")
    shell.wait(lambda written: "$ " in written.partition("Stopped")[2], "the shell says that it is stopped")
    assert "\x1b[?1049l" in shell.written  # the former screen was restored
    shell.press("echo $((6 * 7))\r")
    shell.wait(lambda written: "42" in written, "the shell works")
    shell.press("fg\r")
    shell.wait(lambda written: "\x1b[?1049h" in written, "the alternate screen is entered again")
    shell.sees("q quit")
    shell.wait(lambda written: "Values" in written and "plane" in written, "all of the screen is drawn again")
    shell.press("q")
    # Keys that are pressed before the shell controls its terminal again are lost, with those meant for the application.
    shell.wait(lambda written: "$ " in written.partition("\x1b[?1049l")[2], "the shell asks again")
    shell.press("exit 7\r")
    assert shell.ended() == 7


ANSWERS = {
    "kitty": (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;22c", "\x1b_Ga=T,", "\x1b_Ga=d,"),
    "sixel": (b"\x1b[?62;4;22c", "\x1bP0;1;0q", ""),
    "iterm2": (b"\x1bP>|iTerm2 3.5.1\x1b\\\x1b[?62c", "\x1b]1337;File=inline=1;", ""),
}
"""A terminal's answer to the probe; the bytes that then draw a picture, and those that remove it."""


@pytest.mark.parametrize("drawing", ANSWERS)
def test_enter_shows_the_picture_in_the_terminals_own_pixels(opened: Callable[..., Terminal], drawing: str) -> None:
    told, draws, removes = ANSWERS[drawing]
    terminal = opened(answers=told)
    terminal.press("\r")
    terminal.wait(lambda written: draws in written and words.PIXELS_FOOT in written, "the picture is drawn in pixels")
    if drawing == "kitty":
        size = re.search(r"s=(\d+),v=(\d+),c=(\d+),r=(\d+)", terminal.written)
        assert size is not None
        wide, tall, columns, lines = map(int, size.groups())
        assert wide == tall  # the plane is square
        assert (columns, lines) == (46, 23)  # of 80 x 24, in cells of 10 x 20
    terminal.press("x")
    terminal.wait(lambda written: removes in written and "? keys" in written, "the explorer is drawn again")
    terminal.press("q")
    assert terminal.ended() == 0


def test_without_pictures_of_its_own_it_says_so(opened: Callable[..., Terminal]) -> None:
    terminal = opened()
    terminal.press("\r")
    terminal.sees("kitty")
    terminal.press("q")
    assert terminal.ended() == 0


FAILING = """
import sys
import zarrscope_app.tui.first_screen as first_screen
first_screen.ROWS_SECONDS = 60
sys.modules["zarrscope_app.tui.app"] = None
from zarrscope_app.tui import main
main([sys.argv[1]])
"""


SLOW = """
import os, sys, time
from zarrscope_app.tui import main
from zarrscope_app.tui.app import Explorer
make = Explorer.__init__
def slow(*given, **named):
    os.write(2, b"being made")
    time.sleep(1)
    make(*given, **named)
Explorer.__init__ = slow
sys.exit(main([sys.argv[1]]))
"""


def test_something_is_on_the_screen_before_the_application_is_imported(failed: Terminal) -> None:
    first, _, after = failed.written.partition("\x1b[?1049l")
    assert words.OPENING in first
    assert "plane.zarr" in first  # of a long address, the end is shown
    assert "ModuleNotFoundError" in after  # the terminal was given back before
    assert failed.after == failed.before


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("https://127.0.0.1:9/a/long/way/to/cells.zarr?version=2", "cells.zarr"),
        ("s3://bucket/x/cells.zarr/", "cells.zarr"),
        ("/x/größe.zarr", "größe.zarr"),
        ("memory://", "memory://"),
    ],
)
def test_the_first_screen_begins_with_the_name_that_stays(
    start: Callable[..., Terminal], place: str, name: str
) -> None:
    """The title of the first screen is that of the application; the address appears in the note that it is being
    opened."""
    terminal = start("-c", FAILING, place)
    assert terminal.ended() == 1
    first, _, _ = terminal.written.partition("\x1b[?1049l")
    head = re.search(r"\x1b\[H(?:\x1b\[7m)?( .*?) {3}", first)
    assert head is not None
    assert head[1] == f" {name}"
    assert f"{words.OPENING} {place}" in first


def test_the_first_screen_shows_the_whole_end_of_a_long_address(start: Callable[..., Terminal]) -> None:
    terminal = start("-c", FAILING, f"/x/{'long/' * 20}cells.ome.zarr")
    assert terminal.ended() == 1
    first, _, _ = terminal.written.partition("\x1b[?1049l")
    assert re.search(rf"{words.OPENING} …[a-z/]+/cells\.ome\.zarr\x1b", first)


@pytest.mark.parametrize("size", [(0, 0), (1, 1), (2, 9), (4, 20)])
def test_the_first_screen_moves_the_cursor_within_any_terminal(
    start: Callable[..., Terminal], volume: str, size: tuple[int, int]
) -> None:
    """A serial console states 0 lines of 0 columns."""
    terminal = start("-c", FAILING, volume, size=size)
    assert terminal.ended() == 1
    first, _, _ = terminal.written.partition("\x1b[?1049l")
    assert words.OPENING in first
    assert "\x1b[-" not in first
    moves = [int(line) for line in re.findall(r"\x1b\[(\d+);\d+H", first)]
    assert 1 <= min(moves) <= max(moves) <= max(size[0] or 24, 2)


def test_the_first_rows_of_a_folder_are_on_the_screen_before_the_application_is_imported(failed: Terminal) -> None:
    first, _, _ = failed.written.partition("\x1b[?1049l")
    assert "▾ plane.zarr" in first
    assert "    plane 3-D uint16" in first


def test_the_first_rows_are_those_of_the_application(start: Callable[..., Terminal], tmp_path: Path) -> None:
    with zarrscope.open(tmp_path / "many.zarr", "w-") as h:
        for name in ("img10", "img2", "labels", "a name that is longer than the tree is wide", "größe\x1b"):
            h.create_group(f"/{name}")
        h.create_array("/0", shape=(2, 3), dtype="int8", chunks=(2, 3))
    (tmp_path / "many.zarr" / "img2" / "zarr.json").write_text("{")
    shown = [row.rstrip() for row in first_rows(str(tmp_path / "many.zarr"), 21, lambda row: len(row) <= WIDE_SIDE)]
    terminal = start("-m", "zarrscope_app", "tui", str(tmp_path / "many.zarr"), size=(24, 160))
    terminal.sees("q quit")
    assert len(shown) == 7
    begun = {row[:38].rstrip() for row in shown}
    terminal.wait(lambda _: begun <= {line[:38].rstrip() for line in terminal.screen()}, f"{begun} are seen")


def test_the_first_rows_of_a_large_group_are_there_before_it_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zarrscope.open(tmp_path / "many.zarr", "w-") as h:
        h.create_array("/n0000", shape=(2, 3), dtype="int8", chunks=(2, 3))
        document = (tmp_path / "many.zarr" / "n0000" / "zarr.json").read_bytes()
    for i in range(1, 600):
        (tmp_path / "many.zarr" / f"n{i:04d}").mkdir()
        (tmp_path / "many.zarr" / f"n{i:04d}" / "zarr.json").write_bytes(document)
    monkeypatch.setattr("zarrscope_app.tui.first_rows.LISTING_SECONDS", 90)
    assert first_rows(str(tmp_path / "many.zarr"), 4, bool) == [
        "▾ many.zarr",
        *(f"    n000{i} 2-D int8" for i in range(3)),
    ]
    listed: list[str] = []
    names = Group.list_names

    def counted(self: Group) -> Iterator[Child]:
        for child in names(self):
            listed.append(child.name)
            yield child

    monkeypatch.setattr(Group, "list_names", counted)
    monkeypatch.setattr("zarrscope_app.tui.first_rows.LISTING_SECONDS", -1)  # the time is over at once
    shown = first_rows(str(tmp_path / "many.zarr"), 4, bool)
    assert len(listed) == SMALL
    assert shown == ["▾ many.zarr", *(f"    {name} 2-D int8" for name in sorted(listed)[:3])]


def test_keys_that_come_before_the_application_wait_for_it_and_are_not_echoed(
    start: Callable[..., Terminal], volume: str
) -> None:
    terminal = start("-m", "zarrscope_app", "tui", volume)
    terminal.sees("plane 3-D uint16")
    terminal.press("q")
    assert terminal.ended() == 0
    before, entered, _ = terminal.written.partition("\x1b[?1049h")
    assert not entered or "q" not in before


def test_keys_pressed_on_the_first_rows_move_as_on_those_of_the_application(
    start: Callable[..., Terminal], volume: str
) -> None:
    terminal = start("-m", "zarrscope_app", "tui", volume)
    terminal.sees("plane 3-D uint16")
    terminal.press("\x1b[B\r")
    terminal.sees("Values")  # the tab of an array
    terminal.press("q")
    assert terminal.ended() == 0


def test_keys_pressed_while_the_terminal_is_asked_reach_the_application(
    start: Callable[..., Terminal], volume: str
) -> None:
    """The terminal never answers, so that it is asked for the whole time; keys are then read with the answers."""
    terminal = start("-m", "zarrscope_app", "tui", volume, answers=b"")
    terminal.sees("plane 3-D uint16")
    terminal.press("\x1b[B\r")
    terminal.sees("Values")  # the tab of an array
    terminal.press("q")
    assert terminal.ended() == 0


def test_keys_pressed_while_the_application_is_made_are_not_echoed(start: Callable[..., Terminal], volume: str) -> None:
    terminal = start("-c", SLOW, volume)
    terminal.sees("being made")
    terminal.press("\x1b[B")
    terminal.sees("q quit")
    assert "^[" not in terminal.written
    terminal.press("q")
    assert terminal.ended() == 0
    assert terminal.after == terminal.before


@pytest.mark.parametrize("come", [True, False])
def test_keys_pressed_on_the_first_rows_wait_however_long_the_start_takes(
    monkeypatch: pytest.MonkeyPatch, come: bool
) -> None:
    """Only looks count, not time: on a busy machine an hour may pass between two looks."""
    pressed: list[Any] = []
    looks: list[Callable[[], None]] = []
    hours = count(time.monotonic(), 3600)
    early = EarlyKeys(pressed.append)
    early.hold()
    monkeypatch.setattr("time.monotonic", lambda: next(hours))
    session: Any = SimpleNamespace(state=SimpleNamespace(status=SessionStatus.READY, selecting=False))
    row: Any = SimpleNamespace(state=RowState.LOADING, expanded=False, expandable=True)

    def every(_: float, look: Callable[[], None]) -> Any:
        looks.append(look)
        return SimpleNamespace(stop=lambda: None)

    early.poll(every, lambda: (session, row))
    key = events.Key("down", None)
    early.key(key)
    for _ in range(LOOKS - 1):
        looks[0]()
    assert not pressed
    if come:
        row.state, row.expanded = RowState.READY, True
    for _ in range(2):
        looks[0]()
    assert pressed == [key], "once, with the rows or without them"


@pytest.mark.parametrize(
    ("row", "width", "cut"), [("▾ abc", 4, "▾ ab"), ("  größe", 5, "  gr"), ("short", 25, "short")]
)
def test_rows_of_the_first_screen_stay_within_the_tree(row: str, width: int, cut: str) -> None:
    assert cut_to(row, width) == cut


def test_a_key_with_ctrl_has_one_meaning_on_the_sheet() -> None:
    listed = [key for keys, _ in key_sheet(*TERMINAL_KEYS) for key in keys.split(" · ") if key.startswith("Ctrl+")]
    assert listed.count("Ctrl+Z") == 1
    assert len(listed) == len(set(listed))
    assert not [key for key in listed if "Shift" in key], "terminals send the same as without Shift"
    assert ("Ctrl+Y", "Redo") in key_sheet(*TERMINAL_KEYS)
    assert ("Ctrl+Z", "Undo") in key_sheet()
