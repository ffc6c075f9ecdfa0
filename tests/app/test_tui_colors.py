"""The abilities of a terminal, found from its answers and the environment; pictures in few colours; `zarrscope
show`.
"""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import zarrscope
from narrowing import not_none
from zarrscope_app.cli import cli
from zarrscope_app.presenters import strings_terminal
from zarrscope_app.presenters.commands import FOOTERS
from zarrscope_app.tui.characters import GROUND, CellRendering, cells_of, dithered_16, dithered_256, steadied, text_of
from zarrscope_app.tui.inline_pictures import kitty, palette, sixel, through_tmux
from zarrscope_app.tui.line_drawing import plotted
from zarrscope_app.tui.terminal import Answers, questions, read_answers, terminal, worth_asking

XTERM = {"TERM": "xterm-256color"}
RAMP = np.stack(np.broadcast_arrays(*np.ogrid[0:256:4, 0:256:4], 128), axis=-1).astype(np.uint8)


# ---------------------------------------------------------------------- the abilities of a terminal
@pytest.mark.parametrize(
    ("environ", "told", "colors"),
    [
        (XTERM, b"\x1b[?62;22c", "256"),
        (XTERM, b"\x1bP1+r524742\x1b\\\x1b[?62;22c", "truecolor"),
        (XTERM, b"\x1bP0+r524742\x1b\\\x1b[?62c", "256"),
        (XTERM, b"\x1bP0+r524742\x1b\\\x1bP>|kitty(0.26.5)\x1b\\\x1b[?62;c", "truecolor"),
        ({"TERM": "xterm"}, b"\x1bP>|XTerm(379)\x1b\\\x1b[?63;1;2;4;6;9;15;16;22;28c", "truecolor"),
        ({"TERM": "xterm"}, b"\x1bP>|XTerm(330)\x1b\\\x1b[?62c", "16"),
        ({"TERM": "tmux-256color", "TMUX": "x"}, b"\x1bP>|tmux 3.4\x1b\\\x1b[?1;2c", "256"),
        ({**XTERM, "COLORTERM": "truecolor"}, b"", "truecolor"),
        ({**XTERM, "NO_COLOR": "1", "COLORTERM": "truecolor"}, b"", "mono"),
        ({"TERM": "linux"}, b"", "16"),
        ({"TERM": "screen"}, b"", "16"),
        ({"TERM": "screen-256color"}, b"", "256"),
        ({"TERM": "tmux-256color", "TMUX": "x"}, b"", "256"),
        ({"TERM": "xterm-kitty"}, b"", "truecolor"),
        ({"TERM": "vt100"}, b"", "mono"),
    ],
)
def test_how_many_colours(environ: dict[str, str], told: bytes, colors: str) -> None:
    assert terminal(environ, read_answers(told)).colors == colors


@pytest.mark.parametrize(
    ("environ", "told", "drawing"),
    [
        (XTERM, b"\x1b[?62;22c", "blocks"),
        (XTERM, b"\x1b[?62;4;22c", "sixel"),
        (XTERM, b"\x1b_Gi=31;OK\x1b\\\x1b[?62c", "kitty"),
        (XTERM, b"\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?62c", "blocks"),
        (XTERM, b"\x1bP>|iTerm2 3.5.1\x1b\\\x1b[?62;4c", "iterm2"),
        ({**XTERM, "TMUX": "x"}, b"\x1b_Gi=31;OK\x1b\\\x1b[?1;2c", "blocks"),
        ({**XTERM, "NO_COLOR": "1"}, b"\x1b[?62;4c", "braille"),
        ({"TERM": "linux", "NO_COLOR": "1"}, b"", "blocks"),
        (XTERM, b"", "blocks"),
    ],
)
def test_how_pictures_are_drawn(environ: dict[str, str], told: bytes, drawing: str) -> None:
    assert terminal(environ, read_answers(told)).drawing == drawing


def test_what_is_told_counts_more() -> None:
    assert terminal(XTERM, Answers(), colors="truecolor").colors == "truecolor"
    assert terminal({"NO_COLOR": "1", **XTERM}, Answers(), colors="always").colors == "256"
    assert terminal(XTERM, Answers(true_color=True), colors="never").colors == "mono"
    asked = terminal({**XTERM, "TMUX": "x"}, Answers(), drawing="kitty")
    assert (asked.drawing, asked.passthrough) == ("kitty", True)
    assert "allow-passthrough" in asked.note


def test_without_unicode_pictures_are_ascii() -> None:
    found = terminal(XTERM, Answers(), encoding="ISO-8859-1")
    assert found.drawing == "ascii"
    assert "Unicode" in found.note
    assert found.spelled("⏎ choose  Esc back") == "RET choose  Esc back"
    feet = [*FOOTERS.values(), *(text for name, text in vars(strings_terminal).items() if name.endswith("_FOOT"))]
    told = [found.spelled(foot) for foot in feet]
    assert all(foot.isascii() and len(foot) < 80 for foot in told), told
    assert all(len(found.spelled(foot)) < 80 for foot in FOOTERS.values())
    assert terminal(XTERM, Answers()).spelled("⏎ choose") == "⏎ choose"


def test_a_link_is_slow_over_ssh_or_where_answers_take_long() -> None:
    assert terminal({**XTERM, "SSH_CONNECTION": "x"}, Answers()).slow
    assert terminal(XTERM, Answers(seconds=0.2)).slow
    assert not terminal(XTERM, Answers(seconds=0.001)).slow


@pytest.mark.parametrize("environ", [{"TERM": "xterm", "TMUX": "x"}, {"TERM": "tmux-256color"}, {"TERM": "screen"}])
def test_no_question_becomes_the_title_of_a_pane(environ: dict[str, str]) -> None:
    """tmux and GNU screen show the text of an APC, which is how kitty's pictures are asked for, as the title."""
    assert "\x1b_" not in questions(environ)
    assert "\x1b_" in questions({"TERM": "xterm"})


@pytest.mark.parametrize("environ", [{"TERM": "linux"}, {"TERM": "vt100"}])
def test_who_knows_nothing_is_not_asked(environ: dict[str, str]) -> None:
    assert not worth_asking(environ)
    assert worth_asking({**environ, "TERM": "xterm"})


@pytest.mark.parametrize(
    ("environ", "told", "mouse"),
    [
        ({"TERM": "screen"}, b"\x1b[>83;40900;0c\x1b[?1;2c", False),
        ({"TERM": "screen"}, b"\x1b[>84;0;0c\x1b[?1;2c", True),
        ({"TERM": "screen"}, b"", True),
        ({**XTERM, "STY": "1.pts-0.host"}, b"", False),
        ({"TERM": "screen", "TMUX": "x"}, b"\x1bP>|tmux 3.4\x1b\\\x1b[?1;2c", True),
    ],
)
def test_gnu_screen_is_known_and_reports_no_mouse(environ: dict[str, str], told: bytes, mouse: bool) -> None:
    """GNU screen holds Esc back until the next key while a program follows the mouse. It passes the strings among the
    questions on to its own terminal, so it is asked without them."""
    assert terminal(environ, read_answers(told)).mouse == mouse
    assert questions({"TERM": "screen"}) == "\x1b[>c\x1b[c"


# ---------------------------------------------------------------------- few colours
def test_256_colours_are_those_of_the_palette() -> None:
    found = dithered_256(RAMP).reshape(-1, 3)
    cube = {0, 95, 135, 175, 215, 255}
    assert all({*pixel} <= cube or len({*pixel}) == 1 for pixel in found.tolist())
    near = np.abs(dithered_256(np.full((64, 64, 3), (150, 40, 200), np.uint8)).mean(axis=(0, 1)) - (150, 40, 200))
    assert (near < 20).all()  # on average the colour is the right one


def test_greys_have_more_levels_than_the_cube() -> None:
    greys = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    assert len(np.unique(dithered_256(np.repeat(greys, 8, axis=0))[..., 0])) > 20


def test_sixteen_colours_are_sixteen() -> None:
    assert len(np.unique(dithered_16(RAMP).reshape(-1, 3), axis=0)) <= 16


@pytest.mark.parametrize("colors", ["truecolor", "256", "16", "mono"])
@pytest.mark.parametrize("signs", ["blocks", "braille", "ascii"])
def test_each_line_is_as_wide_as_its_cells(colors: Any, signs: str) -> None:
    rendering = CellRendering(colors, signs)
    picture = RAMP[: 8 * rendering.rows, : 20 * rendering.columns]
    for row in cells_of(picture, rendering):
        told = text_of(row, colors)
        assert len(re.sub(r"\x1b\[[0-9;]*m", "", told)) == 20
        assert (colors == "mono") == ("\x1b" not in told)
        assert signs != "ascii" or re.sub(r"\x1b\[[0-9;]*m", "", told).isascii()


def test_the_numbers_of_colours_are_right() -> None:
    """Each pixel with a colour of the palette is sent as the number of that colour."""
    red = np.full((2, 1, 3), (255, 0, 0), np.uint8)
    assert text_of(cells_of(red, CellRendering("256"))[0], "256") == "\x1b[48;5;196m \x1b[0m"
    grey = np.full((2, 1, 3), 118, np.uint8)
    assert text_of(cells_of(grey, CellRendering("256"))[0], "256") == "\x1b[48;5;243m \x1b[0m"
    assert text_of(cells_of(red // 255, CellRendering("16"))[0], "16") == "\x1b[40m \x1b[0m"


def test_a_steadied_picture_is_near_and_changes_less() -> None:
    chance = np.random.default_rng(7)
    first = chance.integers(0, 255, (40, 60, 3), np.uint8)
    second = np.clip(first.astype(int) + chance.integers(-6, 7, first.shape), 0, 255).astype(np.uint8)
    before = steadied(first, None, 8)
    after = steadied(second, before, 8)
    assert np.abs(after.astype(int) - second).max() <= 8
    assert (after == before).all(axis=2).mean() > (second == first).all(axis=2).mean() + 0.1


@pytest.mark.parametrize("tolerance", [0, 5, 20])
def test_no_pixel_is_sent_beyond_its_tolerance(tolerance: int) -> None:
    """The escape sequences of a reduced picture are read as a terminal reads them, and compared with the picture."""
    chance = np.random.default_rng(tolerance)
    wanted = chance.integers(0, 256, (12, 50, 3), np.uint8)
    wanted[:6] = wanted[:6, :1]  # runs
    wanted[2:4] = (0, 0, 95)  # a number that colour schemes change
    picture = steadied(wanted, None, tolerance) if tolerance else wanted
    rendering = CellRendering("truecolor", "blocks", tolerance)
    told = [text_of(line, "truecolor") for line in cells_of(picture, rendering, steady=bool(tolerance))]
    assert not re.search(r"8;5;(1[0-9]|2[01]|[0-9])[;m]", "".join(told))
    shown = np.concatenate([pixels_of(line) for line in told])
    assert np.abs(shown.astype(int) - wanted).max() <= (tolerance or 3)


def pixels_of(line: str) -> np.ndarray:
    """Two rows of pixels from one line of half blocks."""
    colors: dict[str, tuple[int, ...]] = {"3": (0, 0, 0), "4": (0, 0, 0)}
    rows: list[list[tuple[int, ...]]] = [[], []]
    for sgr, text in re.findall(r"\x1b\[([0-9;]*)m([^\x1b]*)", line):
        for ground, number, *rgb in re.findall(r"([34])8;(?:5;(\d+)|2;(\d+);(\d+);(\d+))", sgr):
            colors[ground] = color_of_256(int(number)) if number else tuple(map(int, rgb))
        for sign in text:
            rows[0].append(colors["4" if sign == " " else "3"])
            rows[1].append(colors["4"])
    return np.array(rows)


def color_of_256(number: int) -> tuple[int, ...]:
    """A colour of xterm's palette, from its cube or its greys."""
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    levels = (0, 95, 135, 175, 215, 255)
    return tuple(levels[(number - 16) // by % 6] for by in (36, 6, 1))


def test_noise_of_the_background_is_not_drawn_out_into_streaks() -> None:
    chance = np.random.default_rng(3)
    noise = chance.integers(0, 9, (20, 40, 3)).astype(np.uint8)
    assert not steadied(noise, None, 10).any(), "all of it is black"


def test_the_edge_of_the_image_is_not_drawn_out_over_the_margin() -> None:
    rgb = np.full((4, 12, 3), GROUND, np.uint8)
    rgb[2:, :6] = (40, 30, 22)
    before = np.full_like(rgb, 40)
    for shown in (steadied(rgb, None, 20), steadied(rgb, before, 20)):
        assert len({tuple(pixel) for pixel in shown[:, 6:].reshape(-1, 3).tolist()}) == 1
        assert np.abs(shown[:, 6:].astype(int) - GROUND).max() <= 4  # the nearest grey of the palette


def test_a_steadied_picture_takes_few_bytes() -> None:
    """For noise that differs little from plane to plane, a step sends less than half the bytes of exact colours."""
    chance = np.random.default_rng(3)
    smooth = np.repeat(np.repeat(chance.integers(0, 200, (9, 14, 3)), 4, axis=0), 4, axis=1)
    exact, near = 0, 0
    before = None
    for _ in range(4):
        rgb = (smooth + chance.integers(0, 30, smooth.shape)).astype(np.uint8)
        before = steadied(rgb, before, 20)
        near += sum(
            len(text_of(line, "truecolor")) for line in cells_of(before, CellRendering(tolerance=20), steady=True)
        )
        exact += sum(len(text_of(line, "truecolor")) for line in cells_of(rgb, CellRendering()))
    assert near < 0.45 * exact


# ---------------------------------------------------------------------- pictures of the terminal's own
def test_kitty_gets_the_pixels() -> None:
    told = kitty(RAMP, 4, 10)
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", told)
    assert "s=64,v=64,c=10,r=4" in parts[0][0]
    assert [head[-3:] for head, _ in parts[:-1]] == ["m=1"] * (len(parts) - 1)
    assert zlib.decompress(base64.b64decode("".join(text for _, text in parts))) == RAMP.tobytes()


def test_sixels_make_the_picture() -> None:
    picture = np.repeat(np.repeat(RAMP[::16, ::16], 5, axis=0), 3, axis=1)
    told = sixel(picture)
    colors = {
        int(n): tuple(round(int(v) * 2.55) for v in (r, g, b))
        for n, r, g, b in re.findall(r"#(\d+);2;(\d+);(\d+);(\d+)", told)
    }
    drawn = np.full(picture.shape, -99)
    body = re.sub(r"#\d+;2;\d+;\d+;\d+", "", told.partition('"')[2])
    body = body[not_none(re.match(r"[\d;]*", body)).end() : -2]
    for band, text in enumerate(body.split("-")[:-1]):
        for line in text.split("$"):
            number, x = int(not_none(re.match(r"#(\d+)", line))[1]), 0
            for count, sign in re.findall(r"(?:!(\d+))?([?-~])", line.partition(str(number))[2]):
                for _ in range(int(count or 1)):
                    for bit in range(6):
                        if ord(sign) - 63 >> bit & 1:
                            drawn[band * 6 + bit, x] = colors[number]
                    x += 1
    assert np.abs(drawn - picture.astype(int)).max() <= 2


def test_a_picture_of_many_colours_gets_those_that_it_has_most() -> None:
    y, x = np.mgrid[:128, :128]
    picture = np.stack([y * 2, x * 2, (y + x) // 2], axis=-1).astype(np.uint8)
    picture[60:63, 60:63] = (255, 255, 0)
    colors, numbers = palette(picture)
    assert len(colors) == 256
    shown = colors[numbers].astype(int)
    off = np.abs(shown - picture)
    dithered = np.abs(dithered_256(picture).astype(int) - picture)
    assert off.mean() < 0.3 * dithered.mean()
    assert np.abs(shown[61, 61] - (255, 255, 0)).max() < 8, "a small bright object keeps its colour"


@pytest.mark.parametrize("size", [(8, 40), (24, 60), (40, 300), (64, 700)])
def test_a_picture_of_many_similar_colours_is_drawn(size: tuple[int, int]) -> None:
    """Dim noise, and noise of more colours than a palette is computed from; both lie in few cells of the cube of
    colours."""
    chance = np.random.default_rng(5)
    for most in (9, 48):
        picture = chance.integers(0, most, (*size, 3), np.uint8)
        colors, numbers = palette(picture)
        assert 64 <= len(colors) <= 256
        assert numbers.shape == size
        assert np.abs(colors[numbers].astype(int) - picture).max() <= most / 3
        assert sixel(picture).startswith(f'\x1bP0;1;0q"1;1;{size[1]};{size[0]}#0;2;')


def test_tmux_gets_it_wrapped() -> None:
    assert through_tmux("\x1b]1337;x\x07") == "\x1bPtmux;\x1b\x1b]1337;x\x07\x1b\\"


# ---------------------------------------------------------------------- lines
def test_a_line_reaches_from_its_lowest_to_its_highest() -> None:
    values = np.linspace(0, 10, 200)
    for signs in ("braille", "ascii"):
        lines = plotted(values, values, 6, 40, signs)
        assert len(lines) == 6
        assert all(len(line) == 40 for line in lines)
        assert lines[0].split()[0] == "10"
        assert lines[-1].split()[0] == "0"
        assert lines[0].rstrip()[-1] not in " │|"
    assert plotted(np.array([np.nan]), np.array([np.nan]), 6, 40) == []


# ---------------------------------------------------------------------- zarrscope show
@pytest.fixture
def place(tmp_path: Path) -> str:
    with zarrscope.open(str(tmp_path / "p.zarr"), mode="w-") as h:
        h.create_array("/plane", shape=(64, 64), dtype="uint8", chunks=(32, 32))[...] = RAMP[..., 0]
        h.create_array("/line", shape=(100,), dtype="float32", chunks=(50,))[...] = np.sin(np.arange(100) / 9)
    return str(tmp_path / "p.zarr")


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(cli, [*arguments], catch_exceptions=False, standalone_mode=False)
    return done.stdout


def test_show_draws_a_picture(place: str) -> None:
    how = ("show", place, "plane", "--image", "blocks", "--columns", "20", "--lines", "10")
    told = shown(*how, "--color", "256")
    lines = told.rstrip("\n").split("\n")
    assert len(lines) == 10
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) == 20 for line in lines)
    assert "48;5;" in told
    assert told == shown(
        "--color", "256", "show", place, "plane", "--image", "blocks", "--columns", "20", "--lines", "10"
    )


@pytest.mark.parametrize("drawing", ["kitty", "iterm2", "sixel"])
def test_show_sends_no_more_pixels_than_have_room(tmp_path: Path, drawing: str) -> None:
    """A plane of 1024² went whole over the line, 2.3 MB, although 760² had room."""
    plane = np.zeros((1024, 1024), "u1")
    plane[::2] = 200
    with zarrscope.open(str(tmp_path / "large.zarr"), mode="w-") as h:
        h.create_array("/plane", shape=plane.shape, dtype="uint8", chunks=(256, 256))[...] = plane
    height, width = terminal({}, Answers(), drawing=drawing).cell
    told = shown(
        "show", f"{tmp_path}/large.zarr", "plane", "--image", drawing, "--columns", "100", "--lines", "10",
    )  # fmt: skip
    if drawing == "kitty":
        parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", told)
        size = tuple(int(not_none(re.search(rf"{side}=(\d+)", parts[0][0]))[1]) for side in "vs")
        pixels = zlib.decompress(base64.b64decode("".join(text for _, text in parts)))
        assert np.frombuffer(pixels, "u1").min() > 0, "each pixel is the average of those that it covers"
    elif drawing == "sixel":
        size = tuple(int(not_none(re.search(rf'"1;1;{at}', told))[1]) for at in (r"\d+;(\d+)", r"(\d+)"))
        assert all(int(level) > 0 for level in re.findall(r"#\d+;2;(\d+)", told)), "each is the average, as above"
    else:
        file = base64.b64decode(told.partition(":")[2])
        size = int.from_bytes(file[20:24], "big"), int.from_bytes(file[16:20], "big")
    assert size == (10 * height, 10 * height)
    assert 100 * width > 10 * height


def test_show_into_a_file_has_no_escapes(place: str) -> None:
    told = shown("show", place, "plane", "--image", "ascii", "--columns", "20", "--lines", "10")
    assert told.isascii()
    assert told.isprintable() or "\x1b" not in told
    assert "%" in told


def test_show_draws_a_line(place: str) -> None:
    told = shown("show", place, "line", "--image", "ascii", "--columns", "60", "--lines", "12")
    assert told.count("*") > 40
    assert shown("show", place, "line", "--select", "0:10", "--image", "braille", "--columns", "60")
