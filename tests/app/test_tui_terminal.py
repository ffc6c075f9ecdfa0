"""The terminal application in a pseudo-terminal: after every way of ending, the terminal is in its former state."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")
import zarrscope
from terminals import Terminal, plane_of, terminals
from zarrscope_app.tui.terminal import Answers, terminal, tmux_shows_ascii

FAULTS = """
import sys
from zarrscope_app.tui import main
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.keys import Keyboard
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.tree_lines import TreeLines
def fail(*_):
    raise ValueError("a fault in a handler")
if sys.argv[2] == "key":
    Keyboard._turn = fail
elif sys.argv[2] == "painting":
    FormLines.pieces = fail
elif sys.argv[2] == "event":
    TreeLines.on_resize = fail
elif sys.argv[2] == "start":
    Explorer.on_mount = fail
sys.exit(main([sys.argv[1]], writable=True))
"""


@pytest.fixture
def volume(tmp_path: Path) -> str:
    return plane_of(tmp_path / "plane.zarr", attributes={"note": "before"})


@pytest.fixture
def start() -> Iterator[Callable[..., Terminal]]:
    with terminals() as start:
        yield start


def explore(start: Callable[..., Terminal], volume: str, **environment: str) -> Terminal:
    terminal = start("-m", "zarrscope_app", "tui", volume, **environment)
    terminal.sees("q quit")
    terminal.sees("3-D")  # that row may be of the first screen: keys wait for the application's
    return terminal


def assert_clean(terminal: Terminal) -> None:
    """Modes as before, alternate screen left, cursor shown, mouse and paste reports off."""
    assert terminal.after == terminal.before
    for mode, wanted in ((1049, "l"), (25, "h"), (1000, "l"), (1003, "l"), (1006, "l"), (2004, "l")):
        set_last = re.findall(rf"\x1b\[\?{mode}([hl])", terminal.written)
        assert set_last[-1:] == [wanted], f"mode {mode}: {set_last}"


def test_quitting_leaves_a_clean_terminal(start: Callable[..., Terminal], volume: str) -> None:
    terminal = explore(start, volume)
    terminal.press("q")
    assert terminal.ended() == 0
    assert_clean(terminal)
    before = terminal.written.rpartition("\x1b[?1049l")[0]
    assert "\x1b[2J\x1b[H" in before, "a terminal without an alternate screen is empty"


@pytest.mark.parametrize(("number", "mouse"), [(83, False), (84, True)], ids=["screen", "tmux"])
def test_in_gnu_screen_the_mouse_stays_off(
    start: Callable[..., Terminal], volume: str, number: int, mouse: bool
) -> None:
    """It would hold Esc back until the next key."""
    told = b"\x1b[>%d;0;0c\x1b[?1;2c" % number
    terminal = start("-m", "zarrscope_app", "tui", volume, TERM="screen", answers=told)
    terminal.sees("q quit")
    terminal.sees("3-D")
    terminal.press(":")
    terminal.sees("type to find")
    terminal.press("\x1b")
    terminal.wait(lambda _: not any("type to find" in line for line in terminal.screen()), "Esc closes it")
    terminal.press("q")
    assert terminal.ended() == 0
    assert ("\x1b[?1000h" in terminal._all.decode()) == mouse


def test_y_puts_the_address_on_the_clipboard_of_the_computer_in_front(
    start: Callable[..., Terminal], volume: str
) -> None:
    """By OSC 52, which reaches the terminal over SSH."""
    terminal = explore(start, volume)
    terminal.press("y")
    terminal.wait(lambda written: re.search(r"\x1b\]52;c;[^\x07]+\x07", written), "the terminal gets the address")
    told = re.search(r"\x1b\]52;c;([^\x07]+)\x07", terminal.written)
    assert told is not None
    assert base64.b64decode(told[1]).decode().removeprefix("file://") == volume
    terminal.press("q")
    assert terminal.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_a_clean_terminal(start: Callable[..., Terminal], volume: str, number: int) -> None:
    terminal = explore(start, volume)
    terminal.process.send_signal(number)
    assert terminal.ended() == 128 + number
    assert_clean(terminal)


def test_a_fault_at_the_start_leaves_a_clean_terminal_and_says_itself(
    start: Callable[..., Terminal], volume: str
) -> None:
    terminal = start("-c", FAULTS, volume, "start")
    assert terminal.ended() != 0
    assert_clean(terminal)
    told = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.written)
    assert "a fault in a handler" in told.rpartition("\n[?1049l")[2]


@pytest.mark.parametrize(("where", "keys"), [("key", "]"), ("painting", "e"), ("event", "\x1b[A")])
def test_a_fault_in_a_handler_is_told_and_ends_nothing(
    start: Callable[..., Terminal], volume: str, where: str, keys: str
) -> None:
    terminal = start("-c", FAULTS, f"{volume}/plane", where)
    terminal.sees("q quit")
    terminal.sees("Values")  # the array is open: before, keys have nothing to change
    if where != "event":  # that one comes with the first layout
        terminal.press(keys)
    terminal.sees("(ValueError)")
    terminal.press("e\x1b[Bn")  # and it goes on: a new attribute is typed and saved
    terminal.press("new\r[1, 2]\r\x13")
    terminal.wait(lambda _: b'"new"' in Path(volume, "plane/zarr.json").read_bytes(), "the new attribute is stored")
    terminal.press("q")
    assert terminal.ended() == 1
    assert_clean(terminal)
    assert "a fault in a handler" in terminal.written.rpartition("\x1b[?1049l")[2]


# ---------------------------------------------------------------------- keys that arrive together
def attributes_of(volume: str) -> Any:
    return json.loads(Path(volume, "plane/zarr.json").read_bytes())["attributes"]


@pytest.mark.parametrize(
    ("keys", "after"),
    [
        ("\r\x15ab\x7f\x7fcd\r", {"note": "cd"}),
        ("\r\x15ab\x1b[D\x1b[DX\x1b[3~\x1b[FY\r", {"note": "XbY"}),
        ("\r\x15one\x01two \x05!\r", {"note": "two one!"}),
        ("\r\x15\x1b[200~pasted\nmore\x1b[201~ and typed\r", {"note": "pasted and typed"}),
        ("\r\x15first\ruu\x19", {"note": "first"}),
        ("nk\r[1, 2]\r", {"note": "before", "k": [1, 2]}),
        ("Nremark\x01\x0bcomment\r", {"comment": "before"}),
        ("?x?\tnnk\r5\r", {"note": "before", "k": 5}),
        ("c1\r\x15t\r", {"note": "t"}),
        ("xuxuxu\r\x15z\r", {"note": "z"}),
        ("vv\x1b[Cv\r\x15no picture\r", {"note": "no picture"}),
    ],
)
def test_keys_in_one_packet_are_applied_in_order(
    start: Callable[..., Terminal], volume: str, keys: str, after: Any
) -> None:
    """All keys, from the form to saving, arrive in one write."""
    terminal = start("-m", "zarrscope_app", "tui", "--write", f"{volume}/plane")
    terminal.sees("q quit")
    terminal.sees("Values")
    terminal.press("e")
    terminal.sees("⏎ edit")
    terminal.sees("1 member ")
    terminal.press(f"\x1b[B{keys}\x13")
    terminal.wait(lambda _: attributes_of(volume) == after, f"{after} is stored")
    terminal.press("q")
    assert terminal.ended() == 0


# ---------------------------------------------------------------------- where nothing can be drawn
def test_without_a_terminal_it_says_so(volume: str) -> None:
    command = [sys.executable, "-m", "zarrscope_app", "tui", volume]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"zarrscope: There is no terminal")
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_on_a_terminal_that_cannot_place_a_cursor_it_says_so(
    start: Callable[..., Terminal], volume: str, term: str
) -> None:
    terminal = start("-m", "zarrscope_app", "tui", volume, TERM=term)
    assert terminal.ended() == 2
    assert "cannot place a cursor" in terminal.written
    assert "\x1b" not in terminal.written


def test_without_true_colour_the_picture_is_dithered_and_says_so(start: Callable[..., Terminal], volume: str) -> None:
    terminal = explore(start, volume)
    terminal.press("\x1b[B\r")
    terminal.wait(lambda written: re.search(r"\x1b\[[0-9;]*[34]8;5;2[345]\d", written), "greys of the palette")
    terminal.sees("256 colours")
    assert "38;2;" not in terminal.written
    assert "48;2;" not in terminal.written


def test_on_the_console_of_linux_only_signs_of_its_font_are_written(
    start: Callable[..., Terminal], volume: str
) -> None:
    terminal = start("-m", "zarrscope_app", "tui", f"{volume}/plane", TERM="linux", PYTHONIOENCODING="utf-8")
    terminal.sees("q quit")
    terminal.sees("Values")
    terminal.sees("Chunks")
    terminal.press("\t")
    terminal.sees("a auto")
    terminal.wait(lambda _: any("▀" in line for line in terminal.screen()), "the picture is drawn")
    terminal.written_until_quiet()
    shown = "".join(terminal.screen())
    assert not {sign for sign in shown if not sign.encode("cp437", "ignore")}
    assert "|" in shown  # between tree and picture
    assert "Lt/Rt step" in shown  # in the line of keys
    terminal.press("q")
    assert terminal.ended() == 0


def test_true_colour_where_the_terminal_says_so(start: Callable[..., Terminal], tmp_path: Path) -> None:
    """In grey, all pixels may be near enough to one of the 256 colours, whose codes are shorter."""
    orange: dict[str, Any] = {
        "multiscales": [{"axes": [{"name": n} for n in "zyx"], "datasets": [{"path": "plane"}], "version": "0.4"}],
        "omero": {"channels": [{"color": "D2691E", "window": {"start": 0, "end": 12287, "min": 0, "max": 65535}}]},
    }
    volume = plane_of(tmp_path / "plane.zarr")
    with zarrscope.open(volume, mode="r+") as h:
        for name, value in orange.items():
            h["/"].attrs[name] = value
    terminal = explore(start, volume, COLORTERM="truecolor")
    terminal.press("\x1b[B\r")
    terminal.wait(lambda written: re.search(r"\x1b\[[34]8;2;\d+;\d+;\d+;48;2;\d+;\d+;\d+m▀", written), "half blocks")


@pytest.mark.parametrize("width", [10, 11, 40])
@pytest.mark.parametrize("line", ["", "a" * 200, "  " + "word " * 30, " " * 60 + "x" * 30, "note: " + "/folder" * 20])
def test_long_lines_are_folded_and_lose_nothing(line: str, width: int) -> None:
    from zarrscope_app.tui.lines import fold

    folded = [text for text, _ in fold(line, width)]
    assert all(len(text) <= width for text in folded)
    assert "".join("".join(folded).split()) == "".join(line.split())


# ---------------------------------------------------------------------------------------------- tmux without UTF-8
@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a tmux into the path that gives this answer, or fails if it is ""."""

    def put(answer: str) -> None:
        program = tmp_path / "tmux"
        program.write_text(f"#!/bin/sh\necho {answer}\n" if answer else "#!/bin/sh\nexit 1\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.mark.skipif(sys.platform == "win32", reason="tmux is POSIX")
@pytest.mark.parametrize(
    ("answer", "environ", "ascii"),
    [
        ("0", {}, True),
        ("0", {"LC_CTYPE": "C.UTF-8"}, True),  # which Python sets where there is no locale
        ("0", {"LANG": "C"}, True),
        ("1", {}, False),
        ("", {}, False),
        ("0", {"LANG": "de_DE.UTF-8"}, False),
        ("0", {"PYTHONIOENCODING": "utf-8"}, False),
    ],
)
def test_tmux_that_shows_no_unicode_gets_ascii(
    answer: str, environ: dict[str, str], ascii: bool, tmux: Callable[[str], None]
) -> None:
    """A tmux that was started without a locale, as over ssh without LANG, shows an underscore for each half block."""
    tmux(answer)
    assert tmux_shows_ascii({"TMUX": "/tmp/tmux-0/default,1,0", **environ}) is ascii
    assert not tmux_shows_ascii(environ)


def test_in_such_a_tmux_the_picture_is_ascii_and_the_note_names_the_way_out() -> None:
    found = terminal({"TMUX": "x", "TERM": "tmux-256color"}, Answers(), encoding="ascii")
    assert (found.drawing, found.unicode) == ("ascii", False)
    assert "tmux -u" in found.note
