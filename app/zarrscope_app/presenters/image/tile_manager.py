"""The tiles of a picture: requests their chunks, has workers paint them, and keeps the displayed ones.

Call all methods on the owner's thread. A new plan replaces the previous one: requests for chunks that only the previous
plan needed are cancelled, and chunks that both need are not requested again. A tile whose indices changed, or of which
a larger part is visible, keeps its old picture until the new one is ready.

After a change of display settings, all tiles are first drawn coarsely in one job, and sharply when no newer settings
arrive. While a person drags a contrast limit, each step draws at most a sixteenth of the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Unsupported
from zarrscope.runtime.threads import JobResult, Owner, Priority, Ticket
from zarrscope.runtime.waits import PendingRequest
from zarrscope.view.loader import ChunkLoader, ChunkResult, ChunkState
from zarrscope.view.render import Picture, Plane
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import painting, words
from zarrscope_app.presenters.image.late_plane import FormerPlane
from zarrscope_app.presenters.image.painting import (
    DisplaySettings,
    LayerKey,
    MarksOfLayers,
    Measure,
    UnmarkedPicture,
    assemble,
    fit_labels,
    measure,
    paint,
    preview,
)
from zarrscope_app.presenters.image.tile_geometry import AxisIndices, TilePlace, TileSource, Tiling, chunk_key
from zarrscope_app.presenters.image.view_models import Rect, Tile, TileState

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array

TileKey = tuple[int, int, int]

PREVIEW = 1 << 18
"""The most pixels that are drawn in one preview, which takes some milliseconds."""

TOGETHER = 4
"""The most painted tiles of a layer that wait for others that are being painted, to be shown together."""


@dataclass(frozen=True, eq=False)
class TilePlan:
    """The tiles to show, in layers from coarse to fine: each layer has a tiling and the places of its tiles.
    `plane_key` identifies the indices and axes of the plane."""

    plane_key: Hashable
    layers: tuple[tuple[Tiling, tuple[TilePlace, ...]], ...]
    sources: tuple[TileSource, ...]


_Painted = tuple[Picture, dict[LayerKey, Measure], UnmarkedPicture | None, dict[LayerKey, Plane], MarksOfLayers]


@dataclass(eq=False)
class _Tile:
    key: TileKey
    tiling: Tiling
    place: TilePlace
    plane_key: Hashable
    planes: dict[LayerKey, Plane] = field(default_factory=dict)
    marks: MarksOfLayers = field(default_factory=dict)
    errors: dict[LayerKey, tuple[str, bool]] = field(default_factory=dict)
    """Source → (the reason why its chunks failed, whether zarrscope can decode them, so that another read may help)."""
    reasons: dict[tuple[LayerKey, AxisIndices], tuple[str, bool]] = field(default_factory=dict)
    """(source, chunk) → (reason, whether it can be decoded), for each chunk that failed."""
    absent: dict[LayerKey, set[AxisIndices]] = field(default_factory=dict)
    """Source → the chunks of the tile that are not stored."""
    fills: dict[LayerKey, str] = field(default_factory=dict)
    pieces: dict[LayerKey, dict[AxisIndices, ChunkResult]] = field(default_factory=dict)
    waiting: set[tuple[LayerKey, str, AxisIndices]] = field(default_factory=set)
    """The requested chunks that have not arrived: (source, path of the array, chunk index)."""
    parts: dict[LayerKey, Any] = field(default_factory=dict)
    rgb: Picture | None = None
    bare: UnmarkedPicture | None = None
    """`rgb` without the signs for missing data; None if it has no signs."""
    drawn: TilePlace | None = None
    """The part of the tile that `rgb` shows: smaller than `place` after more of the tile has become visible."""
    version: int = 0
    settings: DisplaySettings | None = None
    """The settings with which `rgb` was painted."""
    sharp: bool = True
    """Whether `rgb` was painted with all pixels; False for a coarse preview."""
    job: Ticket | None = None
    fresh: bool = False
    """Whether `rgb` is complete and shows the plane that `plane_key` identifies."""
    former: FormerPlane | None = None
    """The previous plane, if `rgb` still shows that plane; otherwise None."""
    shown: Tile | None = None


class TileManager:
    """Keeps the tiles of the newest plan. `painted()` is called after tiles changed, `measured` with the measures of
    the values by layer, `heard` with the path of an array and the result of one of its chunks."""

    def __init__(
        self,
        owner: Owner,
        loader: ChunkLoader,
        painted: Callable[[], None],
        measured: Callable[[dict[LayerKey, Measure]], None],
        heard: Callable[[str, ChunkResult], None] = lambda path, result: None,
    ) -> None:
        self._owner, self._loader = owner, loader
        self._painted, self._measured, self._heard = painted, measured, heard
        self._tiles: dict[tuple[Hashable, TileKey], _Tile] = {}
        self._order: list[_Tile] = []
        self._wanted: dict[tuple[str, AxisIndices], list[tuple[_Tile, LayerKey]]] = {}
        self._tickets: list[Ticket] = []
        self._ahead: list[Ticket] = []
        self._plan: TilePlan | None = None
        self._settings = DisplaySettings(())
        self._preview: Ticket | None = None
        self._versions = self._untold = 0
        self.late = False
        """Whether the previous plane was displayed long enough for a coarse picture of the new one to replace it."""

    # ------------------------------------------------------------------ requests
    def show(self, plan: TilePlan, settings: DisplaySettings, *, again: bool = False) -> None:
        """Shows `plan` instead of the previous plan. `again`: a person asks for another attempt to read chunks."""
        self._plan, self._settings = plan, settings
        kept: dict[tuple[Hashable, TileKey], _Tile] = {}
        order: list[_Tile] = []
        for tiling, places in plan.layers:
            for place in places:
                key = (tiling.sheet.level, place.row, place.column)
                at: tuple[Hashable, TileKey] = (tiling.stamp, key)
                tile = self._tiles.get(at)
                if tile is None or tile.plane_key != plan.plane_key or not tile.place.holds(place):
                    old, tile = tile, _Tile(key, tiling, place, plan.plane_key)
                    if old is not None:
                        self._stop(old)
                        tile.rgb, tile.version, tile.drawn = old.rgb, old.version, old.drawn
                        blank = bool(old.errors) and words.failure(old.errors, old.reasons, old.parts).blank
                        shows = old.former or FormerPlane(old.plane_key, blank)
                        tile.former = shows if tile.rgb is not None and shows.key != plan.plane_key else None
                kept[at] = tile
                order.append(tile)
        for where, before in self._tiles.items():
            if kept.get(where) is not before:
                self._stop(before)
        self._tiles, self._order = kept, order
        self._request(again=again)
        self._repaint()
        self._painted()

    def restyle(self, settings: DisplaySettings) -> None:
        """Draws the same data with other limits, colours or opacity."""
        self._settings = settings
        if self._preview is None:
            self._draw_preview()
        self._repaint()

    def clear(self) -> None:
        """Cancels all requests, and shows no tiles."""
        self._plan, self._settings = None, DisplaySettings(())
        for tile in self._order:
            self._stop(tile)
        if self._preview is not None:
            self._preview.cancel()
            self._preview = None
        self._tiles, self._order, self._wanted = {}, [], {}
        for ticket in (*self._tickets, *self._ahead):
            ticket.cancel()
        self._tickets, self._ahead = [], []

    def retry(self, key: TileKey | None) -> None:
        """Reads the failed chunks of a tile (None: of all tiles) again."""
        if self._plan is None:
            return
        for tile in self._order:
            if tile.errors and key in (None, tile.key):
                self._stop(tile)  # a painting that is under way has the old planes
                for source in [*tile.errors]:
                    tile.errors.pop(source)
                    tile.reasons = {at: why for at, why in tile.reasons.items() if at[0] != source}
                    tile.planes.pop(source, None)
                    tile.marks.pop(source, None)
                    tile.pieces.pop(source, None)
                    tile.fresh, tile.shown = False, None
        self.show(self._plan, self._settings, again=True)

    def _request(self, *, again: bool) -> None:
        """Requests every chunk that the tiles lack. New tickets are made before old ones are cancelled, so that chunks
        that the old and the new plan need stay requested."""
        assert self._plan is not None
        arrays: dict[str, tuple[Any, dict[AxisIndices, None]]] = {}
        self._wanted = {}
        for tile in self._order:
            tile.waiting.clear()
            for source in self._plan.sources:
                if source.key in tile.planes:
                    continue
                part = tile.parts[source.key] = source.part(tile.tiling, tile.place)
                array = part.sheet.array
                have = tile.pieces.setdefault(source.key, {})
                indices = arrays.setdefault(array.path, (array, {}))[1]
                for index in part.chunks():
                    if index in have:
                        continue
                    tile.waiting.add((source.key, array.path, index))
                    self._wanted.setdefault((array.path, index), []).append((tile, source.key))
                    indices[index] = None
        old, self._tickets, self._ahead = [*self._tickets, *self._ahead], [], []
        for path, (array, indices) in arrays.items():
            if indices:
                came = partial(self._came, path)
                self._tickets.append(self._loader.request(self._owner, array, indices, came, again=again))
        for ticket in old:
            ticket.cancel()

    def ahead(self, plan: TilePlan) -> None:
        """Requests the chunks of a plan that may come next, when all displayed ones have arrived."""
        for ticket in self._ahead:
            ticket.cancel()
        self._ahead = []
        for tiling, places in plan.layers:
            for source in plan.sources:
                parts = [source.part(tiling, place) for place in places]
                if parts:
                    indices = dict.fromkeys(index for part in parts for index in part.chunks())
                    self._ahead.append(
                        self._loader.request(
                            self._owner, parts[0].sheet.array, indices, lambda _: None, priority=Priority.NEARBY
                        )
                    )

    # ------------------------------------------------------------------ arriving chunks
    def _came(self, path: str, result: ChunkResult) -> None:
        self._heard(path, result)
        for tile, key in self._wanted.pop((path, result.index), ()):
            tile.pieces[key][result.index] = result
            tile.waiting.discard((key, path, result.index))
            if result.state is ChunkState.FAILED and result.error is not None:
                decodable = not isinstance(result.error, Unsupported)
                tile.errors.setdefault(key, (words.failed_chunk(result.error), decodable))
                tile.reasons[key, result.index] = strings.failed_chunk(result.error), decodable
            elif result.state is ChunkState.FILL:
                tile.absent.setdefault(key, set()).add(result.index)
                if key not in tile.fills:
                    tile.fills[key] = self._missing(tile.parts[key].sheet.array, result.index)
            if not tile.waiting:
                self._paint(tile)

    def _repaint(self) -> None:
        for tile in self._order:
            if not tile.waiting and self._outdated(tile):
                self._paint(tile)

    def _outdated(self, tile: _Tile) -> bool:
        """Whether a tile's picture is older than its chunks or its display settings."""
        return not tile.fresh or not tile.sharp or tile.settings != self._settings or not self._has_planes(tile)

    def _has_planes(self, tile: _Tile) -> bool:
        sources = self._plan.sources if self._plan is not None else ()
        return all(source.key in tile.planes for source in sources)

    def _draw_preview(self) -> None:
        """Draws a coarse preview of every tile whose chunks have arrived, with the current settings; repeats this while
        newer settings arrive."""
        settings = self._settings
        keys = [source.key for source in self._plan.sources] if self._plan is not None else []
        here = [t for t in self._order if keys and t.fresh and t.settings != settings and self._has_planes(t)]
        pixels = sum(tile.planes[keys[0]].size for tile in here)
        every = 1
        while pixels > PREVIEW * every * every:
            every *= 2
        if every == 1 or any(display is None for _, display, _ in settings.channels):
            return  # a preview would save no time, or needs limits that are not measured yet
        for tile in here:
            self._stop(tile)  # its queued painting job has older settings
        jobs = [(tile, tile.planes, dict(tile.marks)) for tile in here]

        def work() -> list[Picture]:
            return [preview({key: planes[key] for key in keys}, marks, settings, every) for _, planes, marks in jobs]

        def done(outcome: JobResult[list[Picture]]) -> None:
            self._preview = None
            for (tile, planes, _), picture in zip(jobs, outcome.value or (), strict=False):
                if tile.planes is planes and tile.settings != settings:
                    self._versions += 1
                    tile.rgb, tile.version, tile.settings, tile.sharp, tile.shown = (
                        picture, self._versions, settings, False, None,
                    )  # fmt: skip
                    tile.bare = None
            if outcome.error is None and self._settings != settings:
                self._draw_preview()
            self._repaint()
            self._painted()

        self._preview = self._owner.decode(work, done, Priority.VISIBLE)

    def _paint(self, tile: _Tile) -> None:
        """Has a worker assemble and paint a tile; a tile that is being painted is painted again afterwards."""
        if tile.job is not None or self._plan is None:
            return
        if self._preview is not None and tile.fresh and self._has_planes(tile):
            return  # the running preview paints the tile again when it ends
        settings, tiling, place = self._settings, tile.tiling, tile.place
        keys = [source.key for source in self._plan.sources]
        known = {key: tile.planes[key] for key in keys if key in tile.planes}
        signs = dict(tile.marks)
        parts = {key: (tile.parts[key], dict(tile.pieces.get(key, {}))) for key in keys if key not in known}
        if not known and not parts:
            return

        def work() -> _Painted:
            planes, marks = dict(known), dict(signs)
            for key, (part, pieces) in parts.items():
                if key[0] == "channel":
                    assembled = assemble(part, pieces, tiling.step)
                    planes[key] = assembled.plane
                    marks[key] = assembled.marks
                else:
                    planes[key] = fit_labels(assemble(part, pieces), part, tiling, place)
                    marks[key] = ()
            return (*paint({key: planes[key] for key in keys}, marks, settings), planes, marks)

        def done(outcome: JobResult[_Painted]) -> None:
            tile.job = None
            if outcome.error is not None:
                tile.errors[("picture", 0)] = (strings.problem(outcome.error).headline, False)
                tile.fresh, tile.settings, tile.shown, tile.rgb, tile.former = True, self._settings, None, None, None
                self._painted()
                return
            assert outcome.value is not None
            picture, found, bare, tile.planes, tile.marks = outcome.value
            for key in keys:
                tile.pieces.pop(key, None)
            if found:
                self._measured(found)
            # A picture with limits measured (`found`) from this tile alone would differ from its neighbours.
            if not found or tile.rgb is None or settings == self._settings:
                self._versions += 1
                tile.rgb, tile.version, tile.settings, tile.fresh, tile.shown = (
                    picture, self._versions, settings, True, None,
                )  # fmt: skip
                tile.sharp, tile.drawn, tile.bare, tile.former = True, place, bare, None
            if not tile.waiting and self._outdated(tile):
                self._paint(tile)
            self._untold += 1
            if self._untold == TOGETHER or not any(t.job for t in self._order if t.key[0] == tile.key[0]):
                self._untold = 0
                self._painted()

        tile.job = self._owner.decode(work, done, Priority.VISIBLE)

    def _stop(self, tile: _Tile) -> None:
        if tile.job is not None:
            tile.job.cancel()
            tile.job = None

    # ------------------------------------------------------------------ showing
    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles, coarse ones before fine ones; a layer that finer tiles cover completely is left out."""
        return tuple(self._shown(tile) for tile in self._on_show())

    def _on_show(self) -> list[_Tile]:
        if not self._order:
            return []
        first, last = self._order[0].key[0], self._order[-1].key[0]
        if self._is_sharp():
            return [tile for tile in self._order if tile.key[0] == last]
        coarse = self.late and first != last and all(tile.fresh for tile in self._order if tile.key[0] == first)
        return [tile for tile in self._order if not (coarse and tile.former is not None)]

    def _is_sharp(self) -> bool:
        return all(tile.fresh for tile in self._order if tile.key[0] == self._order[-1].key[0])

    @property
    def behind(self) -> bool:
        """Whether the finest layer is incomplete, and a tile still has the picture of the previous plane."""
        return not self._is_sharp() and any(tile.former is not None for tile in self._order)

    @property
    def former(self) -> FormerPlane | None:
        """The previous plane, if a displayed tile still shows it; otherwise None."""
        shown = [tile.former for tile in self._on_show() if tile.former is not None]
        return FormerPlane(shown[0].key, all(former.blank for former in shown)) if shown else None

    @property
    def loading(self) -> int:
        """The number of tiles that are not painted yet as the plan wants them."""
        return sum(not tile.fresh for tile in self._order)

    @property
    def waits(self) -> list[PendingRequest]:
        """The requests for chunks that have not been answered."""
        return [wait for ticket in self._tickets if (wait := ticket.waiting) is not None]

    @property
    def failures(self) -> list[words.Failure]:
        """One Failure for each displayed tile that has errors."""
        return [words.failure(tile.errors, tile.reasons, tile.parts) for tile in self._on_show() if tile.errors]

    @property
    def settled(self) -> bool:
        """Whether every displayed tile is complete and drawn with the current settings."""
        whole = all(tile.fresh and tile.sharp and tile.job is None for tile in self._order)
        return bool(self._order) and self._preview is None and whole

    def planes(self, key: LayerKey) -> list[Plane]:
        """The values of a source that were read, tile by tile, from the finest displayed layer."""
        last = self._order[-1].key[0] if self._order else 0
        here = [t for t in self._order if key in t.planes]
        finest = [t for t in here if t.fresh and t.key[0] == last] or here
        return [known for t in finest if (known := painting.known_values(t.planes[key], t.marks.get(key, ()))).size]

    def measure(
        self,
        keys: tuple[LayerKey, ...],
        done: Callable[[dict[LayerKey, Measure]], None],
        spans: Mapping[LayerKey, tuple[float, float]] | None = None,
    ) -> None:
        """Measures sources from the displayed tiles; histograms cover at least the ranges in `spans`."""
        at_least = dict(spans or {})
        samples = {key: planes for key in keys if (planes := self.planes(key))}
        settings = self._settings

        def work() -> dict[LayerKey, Measure]:
            return {key: measure(planes, at_least.get(key), settings.part_of(key)) for key, planes in samples.items()}

        if samples:
            self._owner.decode(work, lambda outcome: done(outcome.value or {}))

    def why(self, y: float, x: float, names: Mapping[LayerKey, str]) -> str:
        """The reasons why a position of level 0 has no values (loading, not stored, failed), one line for each source;
        "" if all have values. `names`: source → name."""
        for tile in reversed(self._order):
            place = tile.tiling.sheet.rect(tile.place.y0, tile.place.x0, tile.place.y1, tile.place.x1)
            if place[0] <= y < place[2] and place[1] <= x < place[3]:
                return self._why(tile, y, x, names)
        return ""

    def _why(self, tile: _Tile, y: float, x: float, names: Mapping[LayerKey, str]) -> str:
        said: dict[str, tuple[str, str]] = {}
        for source in self._plan.sources if self._plan is not None else ():
            key, part = source.key, tile.parts.get(source.key)
            if part is None:
                continue
            at = list(part.index)
            at[part.sheet.y], at[part.sheet.x] = part.sheet.pixel(y, x)
            index = tuple(part.sheet.array.edges(axis).chunk_of(i) for axis, i in enumerate(at))
            stored = chunk_key(part.sheet.array, index)
            if (key, index) in tile.reasons:
                said[names.get(key, "")] = words.failed_tile(*tile.reasons[key, index], stored), stored
            elif (key, part.sheet.array.path, index) in tile.waiting:
                said[names.get(key, "")] = words.loading_tile(stored), stored
            elif index in tile.absent.get(key, ()):
                said[names.get(key, "")] = self._missing(part.sheet.array, index), stored
        return words.by_name(said, len(names))

    @staticmethod
    def _missing(array: Array, index: AxisIndices) -> str:
        return strings.missing_chunk(array.metadata.fill, chunk_key(array, index))

    def _shown(self, tile: _Tile) -> Tile:
        if tile.shown is not None and tile.shown.version == tile.version:
            return tile.shown
        state, sentence = TileState.LOADING, ""
        if tile.fresh:
            state = TileState.PRESENT
            keys, at = [key for key in tile.planes if key[0] == "channel"], (tile.place, tile.tiling.step)
            if tile.errors:
                sentence, decodable = next(iter(tile.errors.values()))
                state = TileState.FAILED if decodable else TileState.UNDECODABLE
            elif keys and all(key in tile.fills and painting.is_covered(tile.marks.get(key, ()), *at) for key in keys):
                state, sentence = TileState.FILL, tile.fills[keys[0]]
        place = tile.drawn or tile.place
        rect = tile.tiling.sheet.rect(place.y0, place.x0, place.y1, place.x1)
        made = Tile(tile.key, tile.version, tile.key[0], rect, state, tile.rgb, sentence, *_bare(tile, rect))
        tile.shown = made if tile.fresh else None
        return made


def _bare(tile: _Tile, rect: Rect) -> tuple[Picture | None, tuple[tuple[TileState, Rect], ...]]:
    """The picture without the signs for missing data; the kind and rectangle, in the plane, of each sign."""
    if tile.bare is None:
        return None, ()
    height, width = tile.bare.picture.shape[:2]
    down, across = (rect[2] - rect[0]) / height, (rect[3] - rect[1]) / width
    y, x = rect[:2]
    return tile.bare.picture, tuple(
        (TileState(mark.state), (y + mark.y0 * down, x + mark.x0 * across, y + mark.y1 * down, x + mark.x1 * across))
        for mark in tile.bare.marks
    )
