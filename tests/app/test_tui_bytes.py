"""The bytes sent to the terminal cover only changed cells and give the same screen as Textual's own."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.driver import Driver

from zarrscope_app.tui.driver import sparing
from zarrscope_app.tui.screen_changes import ScreenChanges
from zarrscope_app.tui.terminal import Terminal as Abilities

SIGNS = ["a", "b", " ", "  ", "▀", "▀▀", "▄", "│ ", "word", "漢", "é", "e\u0301", "😀x"]
COLORS = ["", "38;5;1", "38;2;1;2;3;48;2;4;5;6", "1;38;5;9", "7", "48;5;16", "31;42", "4;48;5;3", "38;5;2;48;5;16"]
COLORS += [f"38;5;{front};48;5;{back}" for front in (16, 17, 18) for back in (16, 17, 18)]


def screen(read: ScreenChanges) -> list[list[tuple[str, tuple[str, str, str]]]]:
    """The cells that the screen must show, with half blocks in one orientation and blanks without a foreground
    colour."""
    rows = []
    for row in read._rows:
        cells = []
        for text, style in zip(row.text, row.styles, strict=True):
            front, back, rest = read._styles[style]
            if text == "▄" and front.startswith("38") and back.startswith("48"):
                text, front, back = "▀", f"38{back[2:]}", f"48{front[2:]}"
            if text == " " and not {"4", "7"} & {*rest.split(";")}:
                front = rest = ""
            cells.append((text, (front, back, rest)))
        while cells and cells[-1] == (" ", ("", "", "")):
            cells.pop()
        rows.append(cells)
    return rows


@pytest.mark.parametrize("seed", range(30))
def test_what_is_written_makes_the_same_screen(seed: int) -> None:
    """A terminal that receives only the changes shows the same as one that receives everything that Textual writes."""
    chance = random.Random(seed)
    meant, shown = ScreenChanges(), ScreenChanges()
    for _ in range(12):
        for _ in range(chance.randrange(1, 8)):
            written = f"\x1b[{chance.randrange(1, 6)};{chance.randrange(1, 30)}H"
            for _ in range(chance.randrange(1, 5)):
                style, text = chance.choice(COLORS), chance.choice(SIGNS)
                written += f"\x1b[{style}m{text}\x1b[0m" if style else text
            assert meant.feed(written) == ""
        shown.feed(meant.changes())
        assert screen(shown) == screen(meant)
        assert meant.changes() == ""


def test_the_old_layout_is_not_written_beyond_a_smaller_terminal() -> None:
    """The terminal would move it into the last line and column."""
    changes = ScreenChanges()
    changes.forget((2, 4))
    changes.feed("\x1b[1;1Hlong line\x1b[2;1Hfoot\x1b[9;1Hremains")
    assert changes.changes() == "\x1b[1;1Hlong\x1b[2;1Hfoot\x1b[9;8H"
    changes.forget((9, 9))
    changes.feed("\x1b[9;1Hfoot")
    assert "foot" in changes.changes()


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "ascii", "no-such-encoding"])
def test_without_unicode_signs_are_ascii_and_no_column_shifts(encoding: str) -> None:
    """The locale may be Latin-1 while the terminal expects UTF-8; a byte of Latin-1 would then be invalid."""
    changes = ScreenChanges(encoding=encoding)
    changes.feed("\x1b[1;1Hv3 · 16 µm × 2 ▸ caf\u00e9 │")
    shown = changes.changes()
    assert f"v3 * 16 um x 2 > caf{'é' if encoding == 'ISO-8859-1' else '?'} |" in shown


@pytest.mark.parametrize(("encoding", "font"), [("ISO-8859-1", ""), ("utf-8", "cp437")])
def test_scrollbars_and_corners_are_signs_that_the_terminal_has(encoding: str, font: str) -> None:
    """Textual draws the ends of its scrollbars with eighths of blocks, which old fonts and Latin-1 do not have."""
    changes = ScreenChanges(encoding=encoding, font=font)
    changes.feed("\x1b[1;1H╭─▁▂▃▄▅▆▇█▏▎▍▌▋▊▉")
    shown = changes.changes()
    assert "?" not in shown.replace("\x1b[?", "")
    shown.encode(font or encoding)
    assert font == "" or "┌─" in shown


# ---------------------------------------------------------------------- how often
class Sink:
    """The writing part of Textual's driver, on a clock that the test controls."""

    def __init__(self) -> None:
        self.written: list[tuple[float, str]] = []
        self.now = 100.0
        self.planned: list[tuple[float, Callable[[], None]]] = []
        self._loop = self

    def call_later(self, wait: float, call: Callable[[], None]) -> object:
        self.planned.append((self.now + wait, call))
        return call

    def write(self, data: str) -> None:
        self.written.append((self.now, data))

    def flush(self) -> None: ...

    def turn(self, seconds: float) -> None:
        """Advances the clock, and makes the calls that are due."""
        end = self.now + seconds
        while self.planned and min(self.planned, key=itemgetter(0))[0] <= end:
            due = min(self.planned, key=itemgetter(0))
            self.planned.remove(due)
            self.now = max(self.now, due[0])
            due[1]()
        self.now = end


@pytest.mark.parametrize(("slow", "most"), [(True, 10), (False, 30)])
def test_a_screen_is_written_ten_times_a_second_on_a_slow_link(
    slow: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames that come faster are merged; the last one is always written."""
    made: Any = sparing(cast("type[Driver]", Sink), Abilities(slow=slow), print, lambda: None)
    driver = made()
    monkeypatch.setattr("zarrscope_app.tui.driver.time", SimpleNamespace(monotonic=lambda: driver.now))
    for frame in range(200):
        driver.write(f"\x1b[1;1Hframe {frame:3}")
        driver.turn(0.01)
    driver.turn(1.0)
    times = [at for at, _ in driver.written]
    assert 2 * most - 2 <= len(times) <= 2 * most + 1
    assert min(after - before for before, after in pairwise(times)) >= 1 / most - 1e-6
    shown = ScreenChanges()
    for _, told in driver.written:
        shown.feed(told)
    assert "".join(shown._rows[0].text).startswith("frame 199")


# ---------------------------------------------------------------------- a real pseudo-terminal
if sys.platform != "win32":
    from terminals import Terminal

pty_only = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> str:
    from zarrscope_resources.demo import make

    return str(make(str(tmp_path_factory.mktemp("demo") / "demo.zarr"), "small"))


def explored(volume: str, size: tuple[int, int], colors: str) -> Terminal:
    terminal = Terminal(
        "-m", "zarrscope_app", "tui", "--color", colors, volume, size=size, TERM="xterm-256color", SSH_CONNECTION="x"
    )
    terminal.sees("q quit")
    terminal.sees("OME-Zarr 0.5")
    terminal.sees("nuclei")
    terminal.written_until_quiet(1.5)
    return terminal


@pytest.fixture(params=["256", "truecolor"])
def small(volume: str, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    terminal = explored(volume, (24, 80), request.param)
    yield terminal
    terminal.close()


def bytes_of(terminal: Terminal, *keys: str) -> int:
    """The number of bytes written for some keys. On a busy machine it may be too small, because writing can pause, but
    never too large; a limit therefore always holds."""
    terminal.written_until_quiet(1.0)
    written = 0
    for key in keys:
        terminal.press(key)
        terminal.wait(len, f"something is written for {key!r}")
        written += terminal.written_until_quiet(0.3)
    return written


@pty_only
def test_keys_send_what_changes_alone(small: Terminal) -> None:
    """Limits for a slow link: a step of the cursor 400 bytes, Tab 1 kB, a step through the volume 6 kB."""
    assert bytes_of(small, "\x1b[B", "\x1b[B", "\x1b[A") <= 3 * 400
    assert bytes_of(small, "\t") <= 1000
    assert bytes_of(small, *3 * ["\x1b[C"]) <= 3 * 6144
    bytes_of(small, "v")
    assert bytes_of(small, *3 * ["\x1b[D"]) <= 3 * 400


@pty_only
def test_a_question_that_waits_for_an_answer_sends_nothing(small: Terminal) -> None:
    small.press("/")
    small.sees("Esc cancel")
    small.written_until_quiet(1.0)
    small.press("")
    assert small.written_until_quiet(3.0) == 0, "the cursor of a line of text does not blink"


@pty_only
def test_a_step_through_the_volume_on_a_large_terminal(volume: str) -> None:
    terminal = explored(volume, (60, 200), "truecolor")
    try:
        bytes_of(terminal, "\t")
        assert bytes_of(terminal, *3 * ["\x1b[C"]) <= 3 * 60_000
    finally:
        terminal.close()


@pty_only
def test_a_large_group_that_is_being_listed_sends_little(tmp_path: Path) -> None:
    """Rows that arrive out of sight cost nothing."""
    for number in range(5000):
        folder = tmp_path / "many.zarr" / f"n{number:05}"
        folder.mkdir(parents=True)
        (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    (tmp_path / "many.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    command = ("-m", "zarrscope_app", "tui", "--color", "256", str(tmp_path / "many.zarr"))
    terminal = Terminal(*command, TERM="xterm-256color", SSH_CONNECTION="x")
    try:
        terminal.sees("n00010")
        terminal.written_until_quiet(2.0)
        assert len(terminal._all) <= 50_000, "all since the start"
    finally:
        terminal.close()


@pty_only
def test_a_hundred_thousand_groups_send_little_until_all_are_listed(tmp_path: Path) -> None:
    """The groups are references in one file, because that many folders take longer to make than to list."""
    document = '{"zarr_format": 3, "node_type": "group"}'
    groups = {f"n{number:06}/zarr.json": document for number in range(100_000)}
    place = tmp_path / "many.json"
    place.write_text(json.dumps({"version": 1, "refs": {"zarr.json": document, **groups}}))
    command = ("-m", "zarrscope_app", "tui", "--color", "256", str(place))
    terminal = Terminal(*command, TERM="xterm-256color", SSH_CONNECTION="x")
    try:
        terminal.sees("many.json 100,000")
        terminal.sees("n000010")
        terminal.written_until_quiet(1.0)
        assert len(terminal._all) <= 50_000, "all since the start; it was about 7,000 bytes"
    finally:
        terminal.close()
