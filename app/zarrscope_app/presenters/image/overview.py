"""The layout of a collection of images: the wells of a plate, the fields of a well, the images of a series or of a
folder.

Each image is a thumbnail of its coarsest level that is large enough. Thumbnails are read in the background
from the middle outwards, and drawn with the same contrast: as stated in the files, or else the common range of all
thumbnails that have arrived.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from psygnal import Signal

from zarrscope.errors import Unsupported
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.image import CollectionMember, Image, Level, default_image
from zarrscope.view.loader import ChunkLoader
from zarrscope.view.render import ChannelDisplay, auto_levels, render
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.elision import elided
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.display_settings import MAX_BLENDED
from zarrscope_app.presenters.image.placing import laid_out
from zarrscope_app.presenters.image.tile_geometry import MAX_OVERVIEW, overview_level
from zarrscope_app.presenters.image.walking import Walker
from zarrscope_app.presenters.image_names import image_name
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

KINDS = ("plate", "well", "series", "images", "plates")
SIDE = 128
"""The most pixels along the longer side of a thumbnail."""
IN_FLIGHT = 32
"""The most thumbnails that are requested at a time from a remote store."""
KEPT_BYTES = 32 << 20
"""The most bytes of the thumbnails of one collection that are kept while another node is displayed."""
DRAWN_TOGETHER = 24
"""The most thumbnails that are drawn before other work of the host's thread: about 2 ms."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of the layout: an image, or a group of images. `path` is "" if the collection lists none for this
    cell."""

    path: str
    name: str
    row: int
    column: int
    rgb: npt.NDArray[np.uint8] | None = None
    sentence: str = ""
    """The reason why there is no thumbnail; "" while it is loading."""


@dataclass(frozen=True, eq=False)
class OverviewState:
    """`rows` and `columns`: the names of rows and columns. Both are empty if the collection names neither, and each
    cell then shows its own name."""

    kind: str = ""
    title: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    loading: int = 0
    sentence: str = ""

    def place_text(self, row: int, column: int) -> str:
        """The text about one place of the layout; an empty one is named, too."""
        cell = next((c for c in self.cells if (c.row, c.column) == (row, column)), None)
        if cell is not None and (cell.path or cell.sentence):
            return strings.joined(cell.name, cell.path, cell.sentence)
        if row >= len(self.rows) or column >= len(self.columns):
            return ""
        return strings.joined(f"{self.rows[row]}/{self.columns[column]}", words.EMPTY_CELL)


def short_name(cell: Cell, beside: Iterable[Cell | None], fits: Callable[[str], bool]) -> str:
    """The name of a cell, shortened until it fits, and distinct from those of the cells `beside` if there is room."""
    return cell.name if fits(cell.name) else elided(cell.name, (each.name for each in beside if each is not None), fits)


@dataclass(frozen=True, eq=False)
class _Thumbnail:
    """The planes of the drawn channels, and their display settings from the file."""

    planes: tuple[npt.NDArray[Any], ...]
    displays: tuple[ChannelDisplay, ...]
    stated: tuple[bool, ...]
    """Whether the file states the contrast limits, for each channel."""
    name: str
    """See `image_name`."""


@dataclass
class _Place:
    path: str
    name: str
    row: int
    column: int
    thumbnail: _Thumbnail | None = None
    rgb: npt.NDArray[np.uint8] | None = None
    sentence: str = ""
    drawn: Cell | None = None
    """The cell that was made last, and is used again while nothing has changed, because only a few of thousands of
    cells change at a time."""

    def cell(self) -> Cell:
        if self.drawn is None or self.drawn.rgb is not self.rgb or self.drawn.sentence != self.sentence:
            self.drawn = Cell(self.path, self.name, self.row, self.column, self.rgb, self.sentence)
        return self.drawn


@dataclass(frozen=True)
class _Kept:
    """The cells with a thumbnail of the collection at `path`, and their common contrast."""

    path: str = ""
    places: dict[str, _Place] = field(default_factory=dict)
    limits: tuple[tuple[float, float], ...] = ()


class OverviewPresenter:
    """The view of a collection. `changed()` is emitted at most once per pass of the event loop."""

    changed = signal()
    named = Signal(dict)
    """Emits path → the name that an image of a series states, "" if it states none."""

    def __init__(self, owner: Owner, loader: ChunkLoader) -> None:
        self.drawn = True
        """Whether the host draws the thumbnails. If not, they are read only in a series, whose images state names."""
        self._owner = owner
        self._notify = CoalescedCall(owner.post, self._tell)
        self._tickets: dict[str, Ticket] = {}
        self._waiting: deque[_Place] = deque()
        self._undrawn: dict[str, _Place] = {}
        """The images that have arrived but are not drawn in the present common contrast, by path."""
        self._hierarchy: Hierarchy | None = None
        self._path = ""
        """The path of the displayed collection."""
        self._walker = Walker(owner)
        self._places: list[_Place] = []
        self._kept = _Kept()
        """The thumbnails of the collection that was displayed last: one walks from a plate to a well and back."""
        self._limits: tuple[tuple[float, float], ...] = ()
        self._state = OverviewState()
        self._kind = self._heading = self.title = ""
        """The kind of the collection, the heading above the layout, and the title of the tab."""
        self._rows: tuple[str, ...] = ()
        self._columns: tuple[str, ...] = ()

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        """Lays out the members of a collection in rows and columns."""
        collection = details.collection
        assert collection is not None, "the view is one of collections"
        self._stop()
        listed = collection.members or details.members
        placed = laid_out(collection, listed)
        self._places = [_Place(m.path, _name(m), row, column) for m, row, column in placed]
        rows = 1 + max((p.row for p in self._places), default=-1)
        columns = 1 + max((p.column for p in self._places), default=-1)
        named = collection.kind == "plate"
        self._rows = tuple(strings.clean(n, 8) for n in collection.rows) if named else ("",) * rows
        self._columns = tuple(strings.clean(n, 8) for n in collection.columns) if named else ("",) * columns
        self._kind = collection.kind
        self.title = words.COLLECTIONS[collection.kind]
        # A well is named by its row and column.
        called = "/".join(collection.path.split("/")[-2:]) if collection.kind == "well" else collection.name
        self._heading = words.collection_title(
            collection.kind, strings.clean(called, 60), len(self._places), len(listed)
        )
        self._limits = ()
        hierarchy = details.hierarchy
        if hierarchy is not self._hierarchy:
            self.forget()
        self._walker.enter(hierarchy)
        self._walker.walks[collection.path] = tuple(member.path for member in listed)
        middle = ((len(self._rows) - 1) / 2, (len(self._columns) - 1) / 2)
        read = self._places if self.drawn or collection.kind == "series" else ()
        self._waiting = deque(sorted(read, key=lambda p: math.hypot(p.row - middle[0], p.column - middle[1])))
        self._hierarchy = hierarchy
        self._path = collection.path
        self._take_kept()
        self._read_on()
        self._tell()

    def show_nothing(self, sentence: str = "") -> None:
        """Ends reading, and shows `sentence` in place of the thumbnails."""
        self._stop()
        self.title = ""
        self._state = OverviewState(sentence=sentence)
        self._notify.soon()

    def _stop(self) -> None:
        for ticket in self._tickets.values():
            ticket.cancel()
        self._keep()
        self._tickets, self._places = {}, []
        self._waiting.clear()
        self._undrawn.clear()

    def forget(self, path: str = "") -> None:
        """Drops the thumbnails of the collection that was displayed before: they are read again on return. Called when
        attributes of the node at `path` were saved, as they state colours and contrast; "" stands for all nodes."""
        self._kept = _Kept()
        self._walker.forget(path)

    def _keep(self) -> None:
        """Keeps the thumbnails of a collection that is left, except of a well of the plate that is kept."""
        above = self._kept.path.rstrip("/") + "/"
        found = {place.path: place for place in self._places if place.thumbnail is not None}
        if not found or (self._kept.places and self._path != self._kept.path and self._path.startswith(above)):
            return
        for path in self._undrawn:  # in an earlier contrast
            found[path].rgb = None
        size = sum(plane.nbytes for p in found.values() if p.thumbnail for plane in p.thumbnail.planes)
        self._kept = _Kept(self._path, found, self._limits) if size <= KEPT_BYTES else _Kept()

    def _take_kept(self) -> None:
        """Shows the thumbnails that are kept of this collection; the others are then read."""
        if self._path != self._kept.path:
            return
        self._limits = self._kept.limits
        for place in self._places:
            if (kept := self._kept.places.get(place.path)) is not None:
                place.thumbnail, place.rgb, place.name = kept.thumbnail, kept.rgb, kept.name
                if place.rgb is None:
                    self._undrawn[place.path] = place
        self._waiting = deque(place for place in self._waiting if place.thumbnail is None)

    # ------------------------------------------------------------------ reading
    def _most(self, hierarchy: Hierarchy) -> int:
        """The most thumbnails that are requested at a time. Reads of a local store mostly decode and hardly wait: with
        more of them than cores, the host's thread would only wait longer for Python's global lock."""
        return IN_FLIGHT if hierarchy.store.remote else min(IN_FLIGHT, self._owner.background.decode_threads)

    def _read_on(self) -> None:
        """Requests the next thumbnails. Thousands of requests at a time would block the host's thread."""
        while self._waiting and self._hierarchy is not None and len(self._tickets) < self._most(self._hierarchy):
            self._read(self._hierarchy, self._waiting.popleft())

    def _read(self, hierarchy: Hierarchy, place: _Place) -> None:
        def work() -> _Thumbnail:
            image = default_image(hierarchy[place.path])
            if image is None:
                raise Unsupported(words.NO_IMAGE_HERE, feature="thumbnail", key=place.path)
            return _thumbnail(image)

        def done(outcome: JobResult[_Thumbnail]) -> None:
            self._tickets.pop(place.path, None)
            self._read_on()
            if outcome.value is None:
                place.sentence = strings.problem(outcome.error or RuntimeError()).headline
            else:
                place.thumbnail = outcome.value
                self._name(place, outcome.value.name)
                self._arrived(place)
            self._notify.soon()

        self._tickets[place.path] = self._owner.read(work, done)

    def _name(self, place: _Place, name: str) -> None:
        """Names an image of a series as it names itself."""
        if self._kind == "series":
            place.name, place.drawn = name, None
            self.named.emit({place.path: name if name != place.path.rsplit("/", 1)[-1] else ""})

    def _arrived(self, place: _Place) -> None:
        """Draws a thumbnail soon, in the common contrast. If the thumbnail widens the common contrast, all thumbnails
        are drawn again."""
        found = place.thumbnail
        assert found is not None
        wider = _joined(self._limits, found)
        if wider != self._limits:
            self._limits = wider
            self._undrawn |= {p.path: p for p in self._places if p.thumbnail is not None}
        self._undrawn[place.path] = place

    def _draw_some(self) -> None:
        """Draws some of the thumbnails that are to be drawn, so that those of a plate hold nobody up."""
        for path in [*islice(self._undrawn, DRAWN_TOGETHER)]:
            place = self._undrawn.pop(path)
            if place.thumbnail is not None:
                place.rgb = _picture(place.thumbnail, self._limits)
        if self._undrawn:
            self._notify.soon()

    def walk(self, hierarchy: Hierarchy, path: str, by: int, go: Callable[[str], object]) -> None:
        """Calls `go` with the path of the node `by` steps after `path` in a collection, displayed or not: see
        walking.py."""
        self._walker.walk(hierarchy, path, by, go)

    def neighbours(self, hierarchy: Hierarchy, path: str) -> tuple[bool, bool] | None:
        """Whether `walk` leads back and on from `path`; None outside the collections that were displayed."""
        return self._walker.neighbours(hierarchy, path)

    # ------------------------------------------------------------------ the snapshot
    @property
    def state(self) -> OverviewState:
        """The snapshot of the overview."""
        return self._state

    def _tell(self) -> None:
        self._draw_some()
        if self._places:
            loading = len(self._tickets) + len(self._waiting) + len(self._undrawn)
            self._state = OverviewState(
                self._kind,
                self._heading,
                self._rows,
                self._columns,
                tuple(p.cell() for p in self._places),
                loading,
                words.thumbnails_loading(loading),
            )
        self.changed.emit()

    def text(self) -> str:
        """The layout as lines of text, for hosts without pictures: ■ for a listed image, · for none."""
        state = self._state
        taken = {(cell.row, cell.column) for cell in state.cells}
        if not any(state.columns):
            return "\n".join([state.title, "", *(f"{cell.name}  {cell.path}" for cell in state.cells)]).strip()
        wide = max(len(name) for name in (*state.columns, *state.rows)) + 1
        head = "".join(name.rjust(wide) for name in ("", *state.columns))
        lines = [
            name.rjust(wide) + "".join(("■" if (r, c) in taken else "·").rjust(wide) for c in range(len(state.columns)))
            for r, name in enumerate(state.rows)
        ]
        return "\n".join([state.title, "", head, *lines])


def _name(member: CollectionMember) -> str:
    return strings.clean(member.name or member.path.rsplit("/", 1)[-1], 60)


def _level(image: Image) -> Level:
    """The level of the thumbnail. Raises Unsupported if even its plane has more than MAX_OVERVIEW elements."""
    y, x = image.plane
    if 0 in image.shape:
        raise Unsupported(words.NO_ELEMENTS, feature="thumbnail", key=image.path)
    chosen = image.levels[overview_level(image, y, x) if y >= 0 else -1]
    if y < 0 or chosen.shape[y] * chosen.shape[x] > MAX_OVERVIEW:
        raise Unsupported(words.NO_SMALL_LEVEL, feature="thumbnail", key=chosen.path)
    return chosen


def _thumbnail(image: Image) -> _Thumbnail:
    """The planes of the first channels at a coarse level, reduced to at most SIDE pixels along a side. Waits for the
    store."""
    level = _level(image)
    y, x = image.plane
    step = max(1, -(-max(level.shape[y], level.shape[x]) // SIDE))
    planes, displays, stated = [], [], []
    shown = [(i, c) for i, c in enumerate(image.channels) if c.active][:MAX_BLENDED] or [(0, image.channels[0])]
    for number, channel in shown:
        pick: list[Any] = [
            min(image.defaults.get(axis.name, 0), level.shape[i] - 1) if level.shape[i] == image.shape[i]
            else min(int(image.defaults.get(axis.name, 0) / level.factors[i]), level.shape[i] - 1)
            for i, axis in enumerate(image.axes)
        ]  # fmt: skip
        if image.channel_axis is not None:
            pick[image.channel_axis] = number
        pick[y], pick[x] = slice(None, None, step), slice(None, None, step)
        plane = np.asarray(level.array[tuple(pick)])
        planes.append(np.ascontiguousarray(plane if y < x else plane.T))
        lo, hi = channel.window or auto_levels(planes[-1])
        displays.append(ChannelDisplay(channel.color or (255, 255, 255), lo, hi, inverted=channel.inverted))
        stated.append(channel.window is not None)
    return _Thumbnail(tuple(planes), tuple(displays), tuple(stated), image_name(image))


def _joined(limits: tuple[tuple[float, float], ...], found: _Thumbnail) -> tuple[tuple[float, float], ...]:
    """The common limits of each channel: those that the file states, else the range that contains the previous limits
    and those of this thumbnail."""
    joined = list(limits)
    for i, (display, stated) in enumerate(zip(found.displays, found.stated, strict=True)):
        if i >= len(joined):
            joined.append((display.lo, display.hi))
        elif not stated:
            joined[i] = (min(joined[i][0], display.lo), max(joined[i][1], display.hi))
    return tuple(joined)


def _picture(found: _Thumbnail, limits: tuple[tuple[float, float], ...]) -> npt.NDArray[np.uint8]:
    displays = [replace(d, lo=lo, hi=hi) for d, (lo, hi) in zip(found.displays, limits, strict=False)]
    return render(found.planes, displays)
