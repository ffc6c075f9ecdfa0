"""`show`: draws one picture on the terminal, and ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from zarrscope_app.cli.color import chosen, steer_stdout
from zarrscope_app.cli.console import Failed, opened, opening
from zarrscope_app.cli.plain import plain
from zarrscope_app.cli.selection import SELECT, parse_selection, placed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from zarrscope import Array
    from zarrscope_app.tui.terminal import Terminal

DRAWINGS = ("auto", "kitty", "iterm2", "sixel", "blocks", "braille", "ascii")
IMAGE = click.option(
    "--image",
    "drawing",
    type=click.Choice(DRAWINGS),
    default="auto",
    help="The way pictures are drawn; with auto the terminal is asked.",
)
THEME = click.option(
    "--theme",
    type=click.Choice(("auto", "light", "dark")),
    default="auto",
    help="Light or dark; with auto as last chosen in the application, else as the terminal is.",
)
COLUMNS, LINES = 80, 24
"""The size of the picture in characters, if the output is not a terminal."""
LONGEST = 1024
"""The most pixels along the longer side of a picture that is sent to a terminal that can show pictures."""

MOST_OF_LINE = 1 << 26
"""The most values of a 1-D array that are read for a line plot."""


@click.command("show")
@click.argument("url")
@click.argument("node", required=False)
@SELECT
@IMAGE
@click.option("--columns", type=click.IntRange(8, 1000), help="The width; by default the terminal's.")
@click.option("--lines", type=click.IntRange(2, 1000), help="The greatest height; by default the terminal's.")
@click.option("--level", type=click.IntRange(0), help="The level to draw; by default the one that fits.")
@click.option("--labels", is_flag=True, help="Draw the first label image over the picture.")
@opening
def show(
    url: str,
    node: str | None,
    selection: str | None,
    drawing: str,
    columns: int | None,
    lines: int | None,
    level: int | None,
    labels: bool,
    **how: Any,
) -> None:
    """Draws one plane on the terminal, and ends. An array with one axis is drawn as a line.

    --select counts in elements of the finest level: an index for each axis that is not shown, a range to crop an axis
    or to choose channels.

    \b
    Examples:
      zarrscope show cells.zarr
      zarrscope show cells.zarr 0 --select "c=1,z=16"
      zarrscope show cells.zarr --image ascii --columns 60 > cells.txt
    """
    parts = parse_selection(selection)
    _, found = opened(url, node, descend=True, **how)
    part = placed(parts, found)
    room = _room(columns, lines)
    with _asked(drawing) as terminal:
        if found.kind == "array" and found.ndim == 1:
            _show_line(found, part, room, terminal)
            return
        from zarrscope_app.cli.drawing import ImageDrawing, image_to_draw

        image = image_to_draw(found, url)
        own = terminal.drawing in ("kitty", "iterm2", "sixel")
        most = max(room[0] * terminal.cell[0], room[1] * terminal.cell[1]) if own else max(room[0] * 4, room[1] * 2)
        picture = ImageDrawing(image, part, max(16, min(LONGEST, most)), level, labels).paint()
        _draw(picture, room, terminal)


def _room(columns: int | None, lines: int | None) -> tuple[int, int]:
    """The most lines and columns for the picture. Two lines of the terminal are left for the prompt."""
    from shutil import get_terminal_size  # imported here: `ls` loads this module, and shutil loads four more

    size = get_terminal_size((COLUMNS, LINES))
    return lines or max(2, size.lines - 2), columns or max(8, size.columns)


@contextmanager
def _asked(drawing: str) -> Iterator[Terminal]:
    """A context with the abilities of the terminal, which is asked for them."""
    from zarrscope_app.tui.terminal import (
        Answers,
        ask,
        speak_ascii_in_tmux,
        terminal,
        with_cell,
        without_late_answers,
        worth_asking,
    )

    if sys.stdout.isatty():
        speak_ascii_in_tmux(sys.stdout)
    environ, tty = os.environ, sys.stdout.isatty() and sys.stderr.isatty() and sys.stdin.isatty()
    told = chosen()
    if plain() and drawing == "auto":
        drawing = "ascii"
    answers = ask() if tty and worth_asking(environ) and (drawing == "auto" or told == "auto") else Answers()
    if told == "auto" and not sys.stdout.isatty():
        told = "never"
    encoding = sys.stdout.encoding or "utf-8"
    with without_late_answers(answers):
        yield terminal(environ, with_cell(answers), encoding=encoding, colors=told, drawing=drawing)
        sys.stdout.flush()


def _fitted(picture: npt.NDArray[np.uint8], height: int, width: int) -> tuple[npt.NDArray[np.uint8], int, int]:
    """The picture scaled to fit `height` by `width` square pixels, as (picture, its height, its width)."""
    import numpy as np

    h, w = _fitting(picture, height, width)
    small = _shrunk(picture, h, w)
    rows, columns = np.arange(h) * small.shape[0] // h, np.arange(w) * small.shape[1] // w
    return small[rows][:, columns], h, w


def _fitting(picture: npt.NDArray[np.uint8], height: int, width: int) -> tuple[int, int]:
    """The size of the picture that fits `height` by `width` square pixels."""
    scale = min(height / picture.shape[0], width / picture.shape[1])
    return max(1, round(picture.shape[0] * scale)), max(1, round(picture.shape[1] * scale))


def _shrunk(picture: npt.NDArray[np.uint8], height: int, width: int) -> npt.NDArray[np.uint8]:
    """The picture with at most `height` by `width` pixels, each the average of those that it covers, so that no thin
    line is lost."""
    import numpy as np

    from zarrscope.view.render import averaged

    if picture.shape[0] <= height and picture.shape[1] <= width:
        return picture
    sizes = zip(picture.shape[:2], (height, width), strict=True)
    return averaged(picture, *(np.arange(min(most, length)) * length // min(most, length) for length, most in sizes))


def _draw(picture: npt.NDArray[np.uint8], room: tuple[int, int], terminal: Terminal) -> None:
    import numpy as np

    lines, columns = room
    if terminal.drawing in ("kitty", "iterm2", "sixel"):
        _draw_own(picture, lines, columns, terminal)
        return
    from zarrscope_app.tui.characters import CellRendering, cells_of, text_of

    rendering = CellRendering.of(terminal)
    fitted, h, w = _fitted(picture, lines * rendering.rows, columns * rendering.columns)
    canvas = np.zeros(
        (-(-h // rendering.rows) * rendering.rows, -(-w // rendering.columns) * rendering.columns, 3), np.uint8
    )
    canvas[:h, :w] = fitted
    for row in cells_of(canvas, rendering):
        steer_stdout(
            text_of(row, rendering.colors).rstrip(" ") if rendering.colors == "mono" else text_of(row, rendering.colors)
        )
        sys.stdout.write("\n")


def _draw_own(picture: npt.NDArray[np.uint8], lines: int, columns: int, terminal: Terminal) -> None:
    from zarrscope_app.tui.inline_pictures import drawn

    cell_height, cell_width = terminal.cell
    room = lines * cell_height, columns * cell_width
    h, w = _fitting(picture, *room)
    over = max(1, -(-h // cell_height)), max(1, -(-w // cell_width))
    # Sixel needs the pixels of the screen; kitty and iTerm2 enlarge a picture themselves, which saves bytes.
    sent = _fitted(picture, *room)[0] if terminal.drawing == "sixel" else _shrunk(picture, h, w)
    steer_stdout(drawn(sent, over, terminal))
    sys.stdout.write("\n" * over[0] if terminal.drawing == "kitty" else "\n")


def _show_line(array: Array, part: tuple[Any, ...], room: tuple[int, int], terminal: Terminal) -> None:
    import numpy as np

    from zarrscope_app.tui.line_drawing import plotted

    if array.problem is not None:
        raise array.problem
    if array.size > MOST_OF_LINE:
        raise Failed(f"These are {array.size:,} values. Choose fewer with --select, such as 0:1000000.")
    values = np.atleast_1d(np.asarray(array[part]))
    if values.dtype.kind not in "buif":
        raise Failed(f"{array.path} holds no numbers that can be drawn as a line. Use zarrscope read.")
    numbers = values.astype(np.float64)
    signs = "ascii" if terminal.drawing == "ascii" else "braille"
    for text in plotted(numbers, numbers, min(room[0], 20), room[1], signs):
        sys.stdout.write(text.rstrip() + "\n")
