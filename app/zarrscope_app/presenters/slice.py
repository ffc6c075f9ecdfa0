"""The picture: which plane of an n-D image is on show, in which looks; coarse first, then sharp.

A host tells what it shows with `viewport(rect, pixels)` (level-0 indices, see scene.py), paints `frame` whenever
`painted()` comes and `state` whenever `changed()` comes: each at most once a loop turn. Moving an index gives a new
state at once; the chunks are asked for at the end of the turn, so that forty quick moves ask once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from psygnal import Signal

from zarrscope.background import Owner
from zarrscope.chunks import ChunkLoader
from zarrscope.pyramid import Image, level_for
from zarrscope.render import ChannelLook
from zarrscope_app.presenters import words
from zarrscope_app.presenters.line import LineReader
from zarrscope_app.presenters.mosaic import Mosaic, Plan
from zarrscope_app.presenters.painting import GREY, Key, LabelLook, Looks, Measure
from zarrscope_app.presenters.probing import Prober
from zarrscope_app.presenters.scene import (
    AxisView,
    ChannelView,
    Frame,
    LabelView,
    LevelView,
    Line,
    Rect,
    ScaleBar,
    SliceState,
)
from zarrscope_app.presenters.tiles import BASE_TILES, MAX_BYTES, MAX_CHUNKS, Sheet, Source, cost, sheet, tiling
from zarrscope_app.presenters.turn import OncePerTurn
from zarrscope_app.presenters.values import Probe

MAX_BLENDED = 8
"""Channels shown at first: more make mud, and cost as much to read."""
AHEAD_CHUNKS = 128


@dataclass
class _Channel:
    label: str
    color: tuple[int, int, int]
    visible: bool
    lo: float | None
    hi: float | None
    low: float
    high: float
    gamma: float = 1.0
    inverted: bool = False
    histogram: tuple[int, ...] = ()

    def look(self) -> ChannelLook:
        lo, hi = (0.0, 1.0) if self.lo is None or self.hi is None else (self.lo, self.hi)
        return ChannelLook(self.color, lo, hi, self.gamma, True, self.inverted)

    def view(self) -> ChannelView:
        text = words.span(self.lo, self.hi) if self.lo is not None and self.hi is not None else ""
        return ChannelView(
            words.clean(self.label, 60),
            self.color,
            self.visible,
            self.lo,
            self.hi,
            self.gamma,
            self.inverted,
            self.low,
            self.high,
            self.histogram,
            text,
        )


@dataclass
class _Label:
    path: str
    image: Image | None
    visible: bool = False
    opacity: float = 0.5
    sentence: str = ""


class SlicePresenter:
    """One image of a session. All methods on the host's thread; none waits; each gives a new `state` at once."""

    changed = Signal()
    painted = Signal()
    probed = Signal()

    def __init__(self, owner: Owner, loader: ChunkLoader) -> None:
        self._owner, self._loader = owner, loader
        self._turn = OncePerTurn(owner.post, self._replan)
        self._changes = OncePerTurn(owner.post, self.changed.emit)
        self._paints = OncePerTurn(owner.post, self._paint)
        self._mosaic = Mosaic(owner, loader, self._paints.soon, self._measured)
        self._line = LineReader(owner, loader, self._paints.soon)
        self._prober = Prober(owner, loader, self.probed.emit)
        self._rect: Rect = (0.0, 0.0, 0.0, 0.0)
        self._pixels = (0, 0)
        self._state: SliceState | None = None
        self._frame: Frame | None = None
        self.clear()

    # ------------------------------------------------------------------ for the session
    def clear(self, sentence: str = words.NO_IMAGE) -> None:
        """Shows no picture."""
        self._image: Image | None = None
        self._sentence = sentence
        self._index: list[int] = []
        self._y = self._x = -1
        self._channels: list[_Channel] = []
        self._labels: list[_Label] = []
        self._current = -1
        self._playing = -1
        self._travel = (-1, 1)
        self._lock: int | None = None
        self._level = 0
        self._blocked = ""
        self._anyway = False
        self._ahead_of: Any = None
        self._rect = (0.0, 0.0, 0.0, 0.0)
        self._mosaic.clear()
        self._line.clear()
        self._prober.clear()
        self._refresh()

    def set_image(self, image: Image, labels: dict[str, Image | None]) -> None:
        """Shows an image whose levels, axes, channels and defaults have been read; `labels` by path."""
        self.clear("")
        if not image.levels:
            return
        self._image = image
        self._y, self._x = image.plane
        self._index = [0] * len(image.axes)
        for i, axis in enumerate(image.axes):
            self._index[i] = image.defaults.get(axis.name, 0) if i not in (self._y, self._x) else 0
        self._sentence = words.problem(p).headline if (p := image.levels[0].array.problem) else ""
        if self._y < 0:
            if not self._sentence:
                self._line.show(image.levels[0].array)
            self._refresh()
            return
        active = sum(c.active for c in image.channels)
        shown = 0
        for channel in image.channels:
            visible = channel.active and (shown < MAX_BLENDED or active <= MAX_BLENDED)
            shown += visible
            lo, hi = channel.window or (None, None)
            low, high = channel.range or channel.window or (0.0, 1.0)
            self._channels.append(
                _Channel(
                    channel.label, channel.color or (255, 255, 255), visible, lo, hi, low, high, 1.0, channel.inverted
                )
            )
        if self._channels and not shown:
            self._channels[0].visible = True
        self._labels = [_Label(path, found) for path, found in labels.items()]
        sliders = self._sliders()
        self._current = next(
            (i for i in reversed(sliders) if image.axes[i].type == "space"), sliders[-1] if sliders else -1
        )
        self._rect = (0.0, 0.0, float(image.shape[self._y]), float(image.shape[self._x]))
        self._refresh()
        self._turn.soon()

    # ------------------------------------------------------------------ snapshots
    @property
    def state(self) -> SliceState:
        if self._state is None:
            self._state = self._make_state()
        return self._state

    @property
    def frame(self) -> Frame:
        if self._frame is None:
            self._frame = self._make_frame()
        return self._frame

    @property
    def image(self) -> Image | None:
        """The image on show, opened; for hosts that hand arrays on (napari)."""
        return self._image

    @property
    def line(self) -> Line | None:
        return self._line.line

    @property
    def probe(self) -> Probe:
        return self._prober.probe

    def _make_state(self) -> SliceState:
        image = self._image
        if image is None or self._sentence:
            return SliceState(sentence=self._sentence)
        if self._y < 0:
            return SliceState("line", words.clean(image.name), self._axis_views(image), sentence=self._line.sentence)
        levels = tuple(
            LevelView(level.path, level.shape, self._level_text(image, k)) for k, level in enumerate(image.levels)
        )
        auto = self._lock is None
        return SliceState(
            "image",
            words.clean(image.name),
            self._axis_views(image),
            tuple(channel.view() for channel in self._channels),
            tuple(
                LabelView(words.clean(n.path.rsplit("/", 1)[-1]), n.path, n.visible, n.opacity, n.sentence)
                for n in self._labels
            ),
            levels,
            self._level,
            not auto,
            f"level: auto ({self._level})" if auto else f"level: {self._level}",
            image.axes[self._current].name if self._current >= 0 else "",
            self._blocked,
        )

    def _axis_views(self, image: Image) -> tuple[AxisView, ...]:
        found = []
        for i, axis in enumerate(image.axes):
            unit = axis.unit if axis.unit != "rgb" else None
            physical = bool(unit) or (image.multiscale is not None and axis.type in ("space", "time"))
            found.append(
                AxisView(
                    axis.name,
                    axis.type,
                    words.unit(unit),
                    image.shape[i],
                    self._index[i],
                    self._role(i),
                    words.length(image.physical(i, self._index[i]), unit) if physical else "",
                    words.step(self._index[i], image.shape[i]),
                    i == self._playing,
                )
            )
        return tuple(found)

    def _role(self, axis: int) -> str:
        assert self._image is not None
        if axis == self._y:
            return "y"
        if axis == self._x:
            return "x"
        if axis == self._image.channel_axis:
            return "channel"
        return "slider" if self._image.shape[axis] > 1 else "fixed"

    def _level_text(self, image: Image, k: int) -> str:
        level = image.levels[k]
        text = f"{k} · {words.shape((level.shape[self._y], level.shape[self._x]))}"
        unit = image.axes[self._x].unit
        return f"{text} · {words.length(level.scale[self._x], unit)}" if unit else text

    def _make_frame(self) -> Frame:
        image = self._image
        if image is None or self._y < 0 or self._sentence:
            return Frame(sentence=self._sentence)
        loading = self._mosaic.loading
        scale = image.levels[0].scale
        same = image.axes[self._y].unit == image.axes[self._x].unit
        aspect = scale[self._y] / scale[self._x] if same and scale[self._x] and scale[self._y] else 1.0
        return Frame(
            (image.shape[self._y], image.shape[self._x]),
            self._mosaic.tiles,
            self._level,
            loading,
            self._mosaic.failed,
            self._blocked or words.tiles_loading(loading),
            self._blocked,
            abs(aspect) if 0.01 < abs(aspect) < 100 else 1.0,
        )

    def _refresh(self) -> None:
        """A new state, told at the end of the turn."""
        self._state = None
        self._frame = None
        self._changes.soon()

    def _paint(self) -> None:
        self._frame = None
        self.painted.emit()
        self._look_ahead()

    # ------------------------------------------------------------------ where
    def _axis(self, name: str) -> int:
        if self._image is not None:
            for i, axis in enumerate(self._image.axes):
                if axis.name == name:
                    return i
        return -1

    def _sliders(self) -> list[int]:
        return [i for i in range(len(self._index)) if self._role(i) == "slider"]

    def set_index(self, axis: str, index: int) -> None:
        """Clipped to the axis. Requests of the index before are dropped."""
        at = self._axis(axis)
        if self._image is None or at < 0:
            return
        index = max(0, min(int(index), self._image.shape[at] - 1))
        if index == self._index[at]:
            return
        self._travel = (at, 1 if index > self._index[at] else -1)
        self._index[at] = index
        self._moved()

    def _moved(self) -> None:
        self._anyway = False
        self._prober.clear()
        self._refresh()
        self._turn.soon()

    def step(self, by: int, axis: str | None = None) -> None:
        """Moves an axis (None: the current one)."""
        at = self._current if axis is None else self._axis(axis)
        if self._image is not None and at >= 0:
            self.set_index(self._image.axes[at].name, self._index[at] + by)

    def choose_axis(self, axis: str | int) -> None:
        """The current axis by name, or ±1: the next or the one before, of those with a slider."""
        sliders = self._sliders()
        if isinstance(axis, str):
            self._current = self._axis(axis) if self._axis(axis) in sliders else self._current
        elif sliders:
            at = sliders.index(self._current) if self._current in sliders else 0
            self._current = sliders[(at + axis) % len(sliders)]
        self._refresh()

    def show(self, y_axis: str, x_axis: str) -> None:
        """Other axes as height and width. Equal names swap with the axis now there."""
        y, x = self._axis(y_axis), self._axis(x_axis)
        if self._image is None or y < 0 or x < 0 or self._y < 0:
            return
        if y == x:
            y, x = (self._x, x) if x == self._y else (y, self._y)
        if (y, x) == (self._y, self._x) or self._image.channel_axis in (y, x):
            return
        for axis in {self._y, self._x} - {y, x}:
            self._index[axis] = self._image.shape[axis] // 2
        self._y, self._x = y, x
        sliders = self._sliders()
        if self._current not in sliders:
            self._current = sliders[-1] if sliders else -1
        self._rect = (0.0, 0.0, float(self._image.shape[y]), float(self._image.shape[x]))
        self._moved()

    def transpose(self) -> None:
        if self._image is not None and self._y >= 0:
            axes = self._image.axes
            self.show(axes[self._x].name, axes[self._y].name)

    def play(self, axis: str | None = None) -> None:
        """Starts or stops: `tick` then steps to the next index as soon as the picture is whole."""
        at = self._current if axis is None else self._axis(axis)
        self._playing = -1 if self._playing == at or at not in self._sliders() else at
        self._refresh()

    def tick(self) -> None:
        """A host's timer while something plays (about 10 a second): steps if the picture is whole."""
        if self._image is not None and self._playing >= 0 and self._mosaic.settled and not self._blocked:
            length = self._image.shape[self._playing]
            self.set_index(self._image.axes[self._playing].name, (self._index[self._playing] + 1) % length)

    # ------------------------------------------------------------------ how
    def viewport(self, rect: Rect, pixels: tuple[int, int]) -> None:
        """The part of the plane on the screen, and how many pixels (height, width) show it."""
        if (rect, pixels) != (self._rect, self._pixels):
            self._rect, self._pixels = rect, pixels
            self._turn.soon()

    def fit(self, pixels: tuple[int, int]) -> None:
        """The whole plane in so many pixels."""
        height, width = self.frame.shape
        self.viewport((0.0, 0.0, float(height), float(width)), pixels)

    def lock_level(self, level: int | None) -> None:
        """A level of the person's choice; None: what fits."""
        if self._image is not None:
            self._lock = None if level is None else max(0, min(level, len(self._image.levels) - 1))
            self._anyway = False
            self._refresh()
            self._turn.soon()

    def _restyle(self) -> None:
        self._refresh()
        self._mosaic.restyle(self._looks())

    def _at(self, channel: int) -> _Channel | None:
        return self._channels[channel] if 0 <= channel < len(self._channels) else None

    def set_levels(self, channel: int, lo: float, hi: float) -> None:
        if (at := self._at(channel)) and math.isfinite(lo) and math.isfinite(hi):
            at.lo, at.hi = min(lo, hi), max(lo, hi)
            self._restyle()

    def auto(self, channel: int | None = None) -> None:
        """Contrast limits from the data on show; None: of every visible channel."""
        keys = tuple(
            ("channel", i) for i, c in enumerate(self._channels) if (c.visible if channel is None else i == channel)
        )

        def done(found: dict[Key, Measure]) -> None:
            for (_, i), measure in found.items():
                if at := self._at(i):
                    at.lo, at.hi = measure.lo, measure.hi
                    self._adopt(at, measure)
            self._restyle()

        self._mosaic.measure(keys, done)

    def set_visible(self, channel: int, visible: bool) -> None:
        if at := self._at(channel):
            at.visible = visible
            self._restyle()
            self._turn.soon()

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        if at := self._at(channel):
            at.color = color
            self._restyle()

    def set_gamma(self, channel: int, gamma: float) -> None:
        if (at := self._at(channel)) and 0.01 <= gamma <= 100:
            at.gamma = gamma
            self._restyle()

    def set_inverted(self, channel: int, inverted: bool) -> None:
        if at := self._at(channel):
            at.inverted = inverted
            self._restyle()

    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Shows or hides a label image over the picture."""
        for label in self._labels:
            if label.path == path and label.image is not None:
                label.visible = visible
                label.opacity = label.opacity if opacity is None else max(0.0, min(1.0, opacity))
                self._restyle()
                self._turn.soon()

    def _looks(self) -> Looks:
        channels = []
        for i, channel in enumerate(self._channels):
            if channel.visible:
                look = channel.look()
                channels.append((("channel", i), None if channel.lo is None else look, look))
        labels = tuple(
            (("label", n.path), LabelLook(n.opacity, tuple(n.image.label_colors.items())))
            for n in self._labels
            if n.visible and n.image is not None
        )
        return Looks(tuple(channels), labels)

    def _measured(self, found: dict[Key, Measure]) -> None:
        for (_, i), measure in found.items():
            channel = self._channels[i]
            if channel.lo is None:
                channel.lo, channel.hi = measure.lo, measure.hi
                self._adopt(channel, measure)
        self._restyle()

    def _adopt(self, channel: _Channel, measure: Measure) -> None:
        channel.histogram = measure.counts
        channel.low, channel.high = measure.low, measure.high

    # ------------------------------------------------------------------ planning
    def _sources(self, index: list[int]) -> tuple[Source, ...]:
        image = self._image
        assert image is not None
        found = []
        for i, channel in enumerate(self._channels):
            if channel.visible:
                at = list(index)
                if image.channel_axis is not None:
                    at[image.channel_axis] = i
                found.append(Source(("channel", i), image, tuple(at), self._y, self._x))
        for label in self._labels:
            if label.visible and label.image is not None:
                source = self._label_source(label.image, label.path, index)
                if source is None:
                    label.sentence = words.LABEL_AXES
                else:
                    found.append(source)
        return tuple(found)

    def _label_source(self, labels: Image, path: str, index: list[int]) -> Source | None:
        """A label image's axes are found by name; one it lacks (channels) does not matter."""
        assert self._image is not None
        names = {axis.name: i for i, axis in enumerate(self._image.axes)}
        own = {axis.name: i for i, axis in enumerate(labels.axes)}
        y, x = self._image.axes[self._y].name, self._image.axes[self._x].name
        if y not in own or x not in own:
            return None
        at = [
            min(index[names[a.name]], labels.shape[i] - 1) if a.name in names else 0 for i, a in enumerate(labels.axes)
        ]
        return Source(("label", path), labels, tuple(at), own[y], own[x])

    def _sheet(self, level: int) -> Sheet:
        assert self._image is not None
        return sheet(self._image, level, self._y, self._x)

    def _fitting(self) -> int:
        assert self._image is not None
        if self._lock is not None:
            return self._lock
        height, width = self._rect[2] - self._rect[0], self._rect[3] - self._rect[1]
        zoom = (self._pixels[0] / max(height, 1e-9), self._pixels[1] / max(width, 1e-9))
        return level_for(self._image, zoom, (self._y, self._x))

    def _make_plan(self, index: list[int]) -> Plan | None:
        image = self._image
        if image is None or self._y < 0 or min(self._pixels) < 1 or self._sentence:
            return None
        level = self._fitting()
        sources = self._sources(index)
        layers = []
        base = max(range(len(image.levels)), key=lambda k: image.levels[k].factors[self._x])
        whole: Rect = (0.0, 0.0, float(image.shape[self._y]), float(image.shape[self._x]))
        if base != level:
            under = tiling(self._sheet(base), whole, self._pixels)
            places = under.places(whole)
            chunks, nbytes = cost(under, places, sources)
            if len(places) <= BASE_TILES and chunks <= MAX_CHUNKS // 4 and nbytes <= MAX_BYTES // 4:
                layers.append((under, tuple(places)))
        over = tiling(self._sheet(level), self._rect, self._pixels)
        places = over.places(self._rect)
        chunks, nbytes = cost(over, places, sources)
        self._blocked = ""
        if not self._anyway and (chunks > MAX_CHUNKS or nbytes > MAX_BYTES):
            self._blocked = words.too_much(chunks, nbytes)
        else:
            layers.append((over, tuple(places)))
        if level != self._level:
            self._level = level
        return Plan((image, tuple(index), self._y, self._x), tuple(layers), sources)

    def _replan(self) -> None:
        before = (self._blocked, self._level)
        plan = self._make_plan(self._index)
        if plan is None:
            return
        self._mosaic.show(plan, self._looks())
        if before != (self._blocked, self._level):
            self._refresh()

    def _look_ahead(self) -> None:
        """Once the picture is whole: the next index in the direction of travel."""
        axis, direction = self._travel
        if axis < 0 or self._image is None or not self._mosaic.settled or self._blocked:
            return
        ahead = list(self._index)
        ahead[axis] += direction
        if not 0 <= ahead[axis] < self._image.shape[axis] or self._ahead_of == (self._index, self._rect):
            return
        self._ahead_of = (list(self._index), self._rect)
        plan = self._make_plan(ahead)
        if plan is not None and sum(cost(t, list(p), plan.sources)[0] for t, p in plan.layers) <= AHEAD_CHUNKS:
            self._mosaic.ahead(plan)

    # ------------------------------------------------------------------ what
    def hover(self, y: float, x: float) -> Probe:
        """The exact values at a place of the plane (level-0 coordinates): at once what is at hand, the rest follows
        with `probed()`. Off the image: an empty Probe."""
        image = self._image
        if image is None or self._y < 0 or self._sentence:
            return self.probe
        labels = tuple((c.label, i) for i, c in enumerate(self._channels) if c.visible)
        return self._prober.at(image, self._index, (self._y, self._x), (y, x), labels)

    def leave(self) -> None:
        """The cursor left the picture."""
        self._prober.clear()

    def retry(self, key: tuple[int, int, int] | None = None) -> None:
        """Reads a failed tile again; None: all that failed."""
        self._mosaic.retry(key)

    def load_anyway(self) -> None:
        """Runs the plan that `frame.blocked` holds back."""
        self._anyway = True
        self._refresh()
        self._turn.soon()

    def picture(self, height: int, width: int) -> npt.NDArray[np.uint8]:
        """The viewport painted into (height, width, 3), as a host would: nearest pixels, grey where there is nothing.
        For terminals, notebooks, saving and tests."""
        canvas = np.full((height, width, 3), GREY, np.uint8)
        y0, x0, y1, x1 = self._rect
        if height < 1 or width < 1 or y1 <= y0 or x1 <= x0:
            return canvas
        ys = y0 + (np.arange(height) + 0.5) * (y1 - y0) / height
        xs = x0 + (np.arange(width) + 0.5) * (x1 - x0) / width
        for tile in self.frame.tiles:
            if tile.rgb is None:
                continue
            top, left, bottom, right = tile.rect
            a, b = np.searchsorted(ys, (top, bottom))
            c, d = np.searchsorted(xs, (left, right))
            if a < b and c < d:
                rows = np.minimum((ys[a:b] - top) / (bottom - top) * tile.rgb.shape[0], tile.rgb.shape[0] - 1)
                columns = np.minimum((xs[c:d] - left) / (right - left) * tile.rgb.shape[1], tile.rgb.shape[1] - 1)
                canvas[a:b, c:d] = tile.rgb[rows.astype(int)[:, None], columns.astype(int)[None, :]]
        return canvas

    def scale_bar(self, indices: float) -> ScaleBar | None:
        """A bar of a round length that fits into `indices` along x. None without a physical scale."""
        image = self._image
        if image is None or self._x < 0 or not image.axes[self._x].unit or image.axes[self._x].unit == "rgb":
            return None
        per_index = abs(image.levels[0].scale[self._x])
        limit = per_index * indices
        if not (math.isfinite(limit) and limit > 0):
            return None
        power = 10.0 ** math.floor(math.log10(limit))
        length = max(m * power for m in (1, 2, 5) if m * power <= limit * (1 + 1e-9))
        return ScaleBar(length / per_index, words.length(length, image.axes[self._x].unit))

    # ------------------------------------------------------------------ a view to come back to
    def view(self) -> dict[str, Any]:
        """Indices, axes and looks, as JSON."""
        image = self._image
        if image is None or self._y < 0:
            return {}
        names = [axis.name for axis in image.axes]
        return {
            "index": {n: self._index[i] for i, n in enumerate(names) if i not in (self._y, self._x)},
            "show": [names[self._y], names[self._x]],
            "channels": [{"visible": c.visible, "lo": c.lo, "hi": c.hi, "color": c.color} for c in self._channels],
        }

    def restore(self, view: Any) -> None:
        """What fits of a `view`; a text from elsewhere may hold anything."""
        if not isinstance(view, dict):
            return
        axes = view.get("show")
        if isinstance(axes, list) and len(axes) == 2 and all(isinstance(a, str) for a in axes):
            self.show(*axes)
        indices = view.get("index")
        for name, index in indices.items() if isinstance(indices, dict) else ():
            if isinstance(name, str) and isinstance(index, int):
                self.set_index(name, index)
        channels = view.get("channels")
        for i, channel in enumerate(channels if isinstance(channels, list) else ()):
            if isinstance(channel, dict):
                if isinstance(channel.get("visible"), bool):
                    self.set_visible(i, channel["visible"])
                lo, hi = channel.get("lo"), channel.get("hi")
                if isinstance(lo, int | float) and isinstance(hi, int | float):
                    self.set_levels(i, lo, hi)
