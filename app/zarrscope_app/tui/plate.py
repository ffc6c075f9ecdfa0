"""The Overview tab: the wells of a plate, the fields of a well or the images of a series, as a grid of thumbnails."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.image.overview import Cell, OverviewPresenter, OverviewState, short_name
from zarrscope_app.tui.cells import Cells
from zarrscope_app.tui.characters import CellRendering, cells_of
from zarrscope_app.tui.lines import Lines

LEAST, MOST = 3, 20
"""The least and the greatest width of a thumbnail in terminal columns."""
LEAST_WHOLE = 8
"""The least width of a thumbnail to which it shrinks so that all rows are visible; narrower ones show too little."""
EMPTY, MISSING = 0.15, 0.06
"""How far the boxes of images that have not arrived, and of places without one, are from the background to the colour
of text."""


class PlateLines(Lines):
    """A grid of thumbnails with a cursor; Enter opens the image under it."""

    has_cursor = False

    def __init__(self, session: Session, *, id: str) -> None:
        super().__init__(session, id=id)
        self._places: dict[str, tuple[int, int]] = {}
        """The place of the cursor as (row, column), by the path of the collection."""
        self._seen = ""
        """The path of the collection whose place was scrolled into sight."""
        self.rendering = CellRendering()
        self._drawn: dict[int, tuple[object, list[Strip]]] = {}

    def follow(self, session: Session) -> None:
        super().follow(session)
        self._places, self._seen, self._drawn = {}, "", {}

    @property
    def at(self) -> tuple[int, int]:
        """The place of the cursor: at first that of the first image."""
        found = self._places.get(self.session.state.path)
        if found is not None:
            return found
        return min(((cell.row, cell.column) for cell in self.state.cells if cell.path), default=(0, 0))

    @property
    def presenter(self) -> OverviewPresenter:
        """The presenter of the collection."""
        found = self.session.tabs.presenters["overview"]
        assert isinstance(found, OverviewPresenter)  # presenters/views.py names this class for "overview"
        return found

    @property
    def state(self) -> OverviewState:
        """The snapshot of the collection."""
        return self.presenter.state

    # ------------------------------------------------------------------ layout
    @property
    def _gutter(self) -> int:
        return max((len(name) for name in self.state.rows), default=0) + 1

    @property
    def _across(self) -> int:
        """The width of a thumbnail in columns: such that as much of the plate as possible is visible."""
        columns = max(1, len(self.state.columns))
        wide = max(LEAST, min(MOST, (self.size.width - self._gutter) // columns - 1))
        rows = max(1, len(self.state.rows))
        whole = 2 * ((self.size.height - 2) // rows - 1 - self._named)
        return min(wide, whole) if whole >= LEAST_WHOLE else wide

    @property
    def _named(self) -> int:
        """The number of lines for the name of an image: 0 if columns have headings, else 1."""
        return 0 if any(self.state.columns) else 1

    @property
    def _high(self) -> int:
        """The height of a thumbnail in lines, including its name if the columns have no headings."""
        return max(1, self._across // 2) + self._named

    def count(self) -> int:
        return 2 + len(self.state.rows) * (self._high + 1) if self.state.cells else 1

    def show(self) -> None:
        self._drawn = {}
        super().show()
        self.virtual_size = Size(self._gutter + len(self.state.columns) * (self._across + 1), self.count())
        if self.state.cells and self.size and self._seen != self.session.state.path:
            self._seen = self.session.state.path
            self.call_after_refresh(self._scroll_to_cursor)

    @property
    def cell(self) -> Cell | None:
        """The image under the cursor."""
        at = self.at
        return next((c for c in self.state.cells if (c.row, c.column) == at), None)

    # ------------------------------------------------------------------ painting
    def render_line(self, y: int) -> Strip:
        line, state, width = y + self.scroll_offset.y, self.state, self.size.width
        base = self.rich_style
        if not state.cells or line >= self.count():
            text = f" {state.sentence}" if line == 0 else ""
            return Strip([Segment(text, base)]).adjust_cell_length(width, base)
        left = self.scroll_offset.x
        if line == 0:
            told = f" {state.title}  {state.sentence}"
            return Strip([Segment(told, base)]).adjust_cell_length(width, base)
        if line == 1:
            heads = "".join(f"{name[: self._across]:^{self._across + 1}}" for name in state.columns)
            strip = Strip([Segment(" " * self._gutter + heads, self._style("quiet", base))])
        else:
            row, within = divmod(line - 2, self._high + 1)
            strip = self._row(row)[within]
        return strip.crop(left, left + width).adjust_cell_length(width, base)

    def _row(self, row: int) -> list[Strip]:
        """The lines of one row of the plate."""
        cells = {c.column: c for c in self.state.cells if c.row == row}
        at = self.at
        key = (at, self._across, [(c.path, id(c.rgb), c.sentence) for c in cells.values()])
        found = self._drawn.get(row)
        if found is not None and found[0] == key:
            return found[1]
        columns, wide, base = len(self.state.columns), self._across, self.rich_style
        lines = self._high - self._named
        canvas = np.zeros((lines * self.rendering.rows, columns * (wide + 1) * self.rendering.columns, 3), np.uint8)
        canvas[...] = self.colors[2].rgb
        for column in range(columns):
            x = column * (wide + 1) * self.rendering.columns
            box = canvas[:, x : x + wide * self.rendering.columns]
            self._fill(box, cells.get(column), (row, column) == at)
        name = self.state.rows[row] if row < len(self.state.rows) else ""
        strips = [
            Strip([
                Segment(f"{name if y == lines // 2 else '':>{self._gutter - 1}} ", self._style("quiet", base)),
                *Cells(line, self.rendering.colors),
            ])
            for y, line in enumerate(cells_of(canvas, self.rendering))
        ]  # fmt: skip
        if self._named:
            names = "".join(self._caption(c, cells) if c in cells else " " * (wide + 1) for c in range(columns))
            strips.append(Strip([Segment(" " * self._gutter + names, self._style("quiet", base))]))
        strips.append(Strip.blank(self._gutter + columns * (wide + 1), base))
        self._drawn[row] = (key, strips)
        return strips

    def _caption(self, column: int, cells: Mapping[int, Cell]) -> str:
        """The name below a thumbnail of a row, and the terminal column to the next one."""
        beside = (cells.get(column - 1), cells.get(column + 1))
        name = short_name(cells[column], beside, lambda text: cell_len(text) <= self._across)
        return set_cell_size(name, self._across + 1)

    def _fill(self, box: npt.NDArray[np.uint8], cell: Cell | None, marked: bool) -> None:
        """One thumbnail as large as possible; a grey box if it has not arrived yet, a fainter one if no
        image is listed."""
        _, _, background, text = self.colors
        height, width = box.shape[:2]
        if cell is not None and cell.rgb is not None and cell.rgb.size:
            scale = min(height / cell.rgb.shape[0], width / cell.rgb.shape[1])
            h, w = max(1, int(cell.rgb.shape[0] * scale)), max(1, int(cell.rgb.shape[1] * scale))
            rows, columns = np.arange(h) * cell.rgb.shape[0] // h, np.arange(w) * cell.rgb.shape[1] // w
            y, x = (height - h) // 2, (width - w) // 2
            box[y : y + h, x : x + w] = cell.rgb[rows][:, columns]
        else:
            box[1:-1, 1:-1] = background.blend(text, EMPTY if cell is not None else MISSING).rgb
        if marked:  # the colour of text is visible on light and dark terminals
            box[0] = box[-1] = box[:, 0] = box[:, -1] = text.rgb

    # ------------------------------------------------------------------ moving
    def cursor_text(self) -> str:
        return self.state.place_text(*self.at)

    def _go(self, row: int, column: int) -> None:
        state = self.state
        at = (max(0, min(row, len(state.rows) - 1)), max(0, min(column, len(state.columns) - 1)))
        self._places[self.session.state.path] = at
        self._scroll_to_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _scroll_to_cursor(self) -> None:
        """Scrolls the thumbnail under the cursor into sight."""
        (row, column), high, wide = self.at, self._high + 1, self._across + 1
        region = Region(self._gutter + column * wide, 2 + row * high, wide, high)
        self.scroll_to_region(region, animate=False, force=True)  # the scrollbar may not be displayed yet

    def key(self, event: events.Key) -> bool:
        row, column = self.at
        moves = {
            "left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "h": (0, -1), "l": (0, 1), "k": (-1, 0),
            "j": (1, 0), "home": (0, -column), "end": (0, len(self.state.columns)), "pageup": (-row, 0),
            "pagedown": (len(self.state.rows), 0),
        }  # fmt: skip
        by = moves.get(event.key)
        if by is not None and self.state.cells:
            self._go(row + by[0], column + by[1])
        return by is not None

    def on_click(self, event: events.Click) -> None:
        line, x = event.y + self.scroll_offset.y - 2, event.x + self.scroll_offset.x - self._gutter
        if line >= 0 and x >= 0 and self.state.cells:
            self._go(line // (self._high + 1), x // (self._across + 1))
            self.post_message(self.Chosen(self, line + 2))
