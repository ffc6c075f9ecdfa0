"""The terminal application on light and dark terminals: every text is readable, the choice is kept, and answers of the
terminal never become keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.color import Color
from rich.color_triplet import ColorTriplet

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")
from contracts.journeys import Shelf, labelled_image
from terminal_hand import Screen, explore
from terminals import Terminal as Pty
from terminals import plane_of, terminals
from zarrscope_app.presenters import MemorySettings
from zarrscope_app.tui.late_answers import AnswerFilter
from zarrscope_app.tui.lines import ROLES
from zarrscope_app.tui.terminal import Answers, Terminal, has_light_background, read_answers

LEAST = 4.5
"""The least contrast of a text to its background (WCAG 2, level AA)."""
SIGNS = {*map(chr, range(0x2500, 0x25A0)), "●", "○", " "}
"""Frames, bars and the colours of channels: no text."""


def luminance(color: ColorTriplet) -> float:
    linear = [c / 12.92 if (c := part / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for part in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: ColorTriplet, other: ColorTriplet) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def unreadable(screen: Screen) -> list[tuple[str, float]]:
    """The texts on the screen whose contrast is too small. A sheet dims everything beneath it."""
    app, found = screen.app, []
    sheets = [sheet.region for sheet in app.screen.query(".sheet")]
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            at, x = x, x + segment.cell_length
            text = segment.text.strip()
            if set(text) <= SIGNS or segment.style is None or (sheets and not any(s.contains(at, y) for s in sheets)):
                continue
            colors = segment.style.color, segment.style.bgcolor
            front, back = (
                (color or Color.default()).get_truecolor(app.ansi_theme, foreground=not number)
                for number, color in enumerate(colors)
            )
            if (found_contrast := contrast(front, back)) < LEAST:
                found.append((text, found_contrast))
    return found


@pytest.fixture
def url() -> str:
    shelf = Shelf()
    labelled_image(shelf)
    return shelf.url


GESTURES = (
    ("right", "down", "enter"), ("tab",), ("]",), ("]",), ("]",), ("e",), ("down", "down", "n"), ("k", "enter"),
    ("1", "enter"), ("d",), ("escape",), ("w",), ("w",), ("question_mark",), ("escape",), ("ctrl+p",), ("e", "x"),
    ("escape",), ("tab",), ("slash",), ("a",), ("escape",), ("q",), ("escape",),
)  # fmt: skip


@pytest.mark.parametrize("light", [False, True], ids=["dark", "light"])
def test_every_text_is_readable(url: str, light: bool) -> None:
    async def steps(screen: Screen) -> None:
        assert screen.app.current_theme.dark is not light
        for keys in ((), *GESTURES):
            await screen.press(*keys)
            await screen.ready()
            assert not unreadable(screen), keys
        lines = screen.app.tree_lines
        for role in ROLES[:-1]:
            color = lines.get_component_rich_style(f"lines--{role}").color
            assert color is not None
            assert contrast(color.get_truecolor(), ColorTriplet(*lines.background_colors[1].rgb)) >= LEAST, role
        screen.session.report(ValueError("A fault, to see the bar."))
        await screen.until(lambda: screen.app.query_one("#error-bar").display, "the error is shown")
        await screen.pilot.pause()
        assert not unreadable(screen), "the error bar"

    explore(url, steps, size=(100, 30), terminal=Terminal(light=light), writable=True)


def test_the_choice_is_kept(url: str) -> None:
    settings = MemorySettings()

    async def choose(screen: Screen) -> None:
        await screen.command("theme")
        await screen.until(lambda: "As the terminal is" in screen.sheet(), "the themes are listed")
        await screen.press(*"light", "enter")
        await screen.until(lambda: not screen.app.current_theme.dark, "it is light")

    async def look(screen: Screen, light: bool) -> None:
        assert screen.app.current_theme.dark is not light

    explore(url, choose, settings=settings, terminal=Terminal(light=False))
    explore(url, lambda screen: look(screen, True), settings=settings, terminal=Terminal(light=False))
    explore(url, lambda screen: look(screen, False), settings=settings, terminal=Terminal(light=True), theme="dark")


@pytest.mark.parametrize(
    ("environ", "told", "light"),
    [
        ({}, b"", False),
        ({}, b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c", True),
        ({}, b"\x1b]11;rgb:fdfd/f6f6/e3e3\x07\x1b[?62;22c", True),
        ({}, b"\x1b]11;rgba:00/2b/36/ff\x07\x1b[?62;22c", False),
        ({}, b"\x1b]11;#eee8d5\x07", True),
        ({}, b"\x1b]11;rgb:f/f\x07", False),
        ({}, b"\x1b]11;nonsense\x07", False),
        ({"COLORFGBG": "0;15"}, b"\x1b[?62;22c", True),
        ({"COLORFGBG": "0;default;7"}, b"", True),
        ({"COLORFGBG": "15;0"}, b"", False),
        ({"COLORFGBG": "12;8"}, b"", False),
        ({"COLORFGBG": "0;default"}, b"", False),
        ({"COLORFGBG": "0;15"}, b"\x1b]11;rgb:0000/0000/0000\x1b\\", False),
    ],
)
def test_which_background_is_light(environ: dict[str, str], told: bytes, light: bool) -> None:
    assert has_light_background(environ, read_answers(told)) is light


def test_without_an_answer_it_is_dark() -> None:
    assert not has_light_background({}, Answers())


# ---------------------------------------------------------------------- in a pseudo-terminal
WHITE, DA1 = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", b"\x1b[?62;22c"
TRUE_COLOR = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLORFGBG": ""}
PAPER = "48;2;251;251;251"
"""The background of the light theme."""


@pytest.fixture
def start() -> Iterator[Callable[..., Pty]]:
    with terminals() as start:
        yield start


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return plane_of(tmp_path / "plane.zarr")


@pytest.mark.parametrize(
    ("arguments", "answers", "environment", "light"),
    [
        ((), WHITE + DA1, {}, True),
        ((), DA1, {}, False),
        ((), DA1, {"COLORFGBG": "0;15"}, True),
        (("--theme", "dark"), WHITE + DA1, {}, False),
        (("--theme", "light"), DA1, {}, True),
    ],
)
def test_a_light_terminal_gets_the_light_theme(
    start: Callable[..., Pty],
    volume: str,
    tmp_path: Path,
    arguments: tuple[str, ...],
    answers: bytes,
    environment: dict[str, str],
    light: bool,
) -> None:
    environment = {**TRUE_COLOR, "XDG_STATE_HOME": str(tmp_path), **environment}
    terminal = start("-m", "zarrscope_app", "tui", volume, *arguments, answers=answers, **environment)
    terminal.sees("q quit")
    if light:  # also if the answer came too late for the start
        terminal.wait(lambda written: PAPER in written, "the light theme")
    assert (PAPER in terminal.written) is light
    assert "rgb:" not in "".join(terminal.screen())
    terminal.press("q")
    assert terminal.ended() == 0


def test_late_answers_are_not_typed(start: Callable[..., Pty], volume: str, tmp_path: Path) -> None:
    """Without an answer in time it starts; the answers come while a person types, in two pieces."""
    environment = {**TRUE_COLOR, "XDG_STATE_HOME": str(tmp_path)}
    terminal = start("-m", "zarrscope_app", "tui", volume, answers=b"", **environment)
    terminal.sees("q quit")
    terminal.sees("3-D")
    assert PAPER not in terminal.written
    terminal.press("/")
    terminal.sees("Enter accept")
    late = "\x1b_Gi=31;OK\x1b\\\x1bP1+r524742\x1b\\\x1bP>|far(1)\x1b\\" + WHITE.decode()
    terminal.press(f"pl{late[:40]}")
    terminal.press(f"{late[40:]}{DA1.decode()}ane")
    terminal.wait(lambda _: any(line.startswith("plane ") for line in terminal.screen()), "only the keys are typed")
    terminal.wait(lambda written: PAPER in written, "the theme follows the late answer")
    terminal.press("\x1b")
    terminal.wait(lambda _: "q quit" in "".join(terminal.screen()), "Esc is still a key")
    terminal.press("q")
    assert terminal.ended() == 0


ANSWERS = (
    "\x1b[>83;40900;0c"
    "\x1b_Gi=31;OK\x1b\\\x1bP1+r524742\x1b\\\x1bP>|far(1)\x1b\\\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[6;20;10t\x1b[?62;22c"
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_answers_are_removed_in_pieces_of_any_size(size: int) -> None:
    text = f"a{ANSWERS}b\x1b[A\x1b[6~c{ANSWERS}\x1b]11;rgb:0/0/0\x1b\\d"
    kept = AnswerFilter(print)
    assert "".join(kept.passed(text[at : at + size]) for at in range(0, len(text), size)) == "ab\x1b[A\x1b[6~cd"


@pytest.mark.parametrize("key", ["\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b[?"])
def test_keys_that_begin_like_an_answer_are_passed_on(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = AnswerFilter(print)
    assert kept.passed(f"x{key}") == "x"
    kept._since -= 1.0
    assert kept.overdue() == key
    assert kept.overdue() == ""


def test_half_of_an_answer_is_dropped() -> None:
    kept = AnswerFilter(print)
    assert kept.passed("\x1b]11;rgb:ffff") == ""
    kept._since -= 1.0
    assert kept.overdue() == ""
    kept._since -= 10.0
    assert kept.overdue() == ""
    assert kept.passed("x") == "x"
