"""The picture: the displayed plane of an n-D image and its display settings. It is drawn coarsely first, then sharply.

A host calls `viewport(rect, pixels)` (level-0 indices, see view_models.py), paints `frame` when `painted()` is emitted
and `state` when `changed()` is emitted; each comes at most once per pass of the event loop. Moving an index makes a new
state at once; the chunks are requested at the end of the pass, so that forty quick moves make one request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from zarrscope.runtime.threads import Owner, Priority
from zarrscope.view.image import Image
from zarrscope.view.loader import VISIBLE, ChunkLoader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.failed_chunks import TellsFailedChunks
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.coarse_sample import SampledChannel, measure_coarsest
from zarrscope_app.presenters.image.composition import aspect, compose, level_views, scale_bar
from zarrscope_app.presenters.image.contrast import Contrast
from zarrscope_app.presenters.image.display import Display
from zarrscope_app.presenters.image.display_settings import (
    ChannelStyle,
    LabelStyle,
    channel_styles,
    display_settings,
    updated,
)
from zarrscope_app.presenters.image.late_plane import LatePlane
from zarrscope_app.presenters.image.line_plot import LinePlotReader
from zarrscope_app.presenters.image.measuring import MeasuredChannel, MeasuredPlane, Measuring
from zarrscope_app.presenters.image.navigation import Navigation
from zarrscope_app.presenters.image.painting import DisplaySettings, LayerKey, Measure
from zarrscope_app.presenters.image.planning import PlaneKey, RequestedView, cost_text, plan
from zarrscope_app.presenters.image.probing import Prober
from zarrscope_app.presenters.image.projection import Projection
from zarrscope_app.presenters.image.readout import ReadsOut
from zarrscope_app.presenters.image.saved_view import shows_the_same
from zarrscope_app.presenters.image.solid_and_blend import SolidAndBlend
from zarrscope_app.presenters.image.tile_manager import TileManager
from zarrscope_app.presenters.image.view_models import Frame, LinePlot, Rect, ScaleBar, SliceState
from zarrscope_app.presenters.image.wait_messages import WaitMessages
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.signals import signal

AHEAD_CHUNKS = 128
"""The most chunks that are prefetched for the next index; if it needs more, none are prefetched."""


class SlicePresenter(ReadsOut, Navigation, Display, WaitMessages, TellsFailedChunks):
    """The picture of one image in a session. Call all methods on the host's thread; none waits for the store."""

    changed = signal()
    painted = signal()
    probed = signal()
    looked = signal()
    """Emitted when another part of the plane is displayed."""

    def __init__(self, owner: Owner, loader: ChunkLoader) -> None:
        TellsFailedChunks.__init__(self)
        self._owner, self._loader = owner, loader
        self._notify = CoalescedCall(owner.post, self._replan)
        self._changes = CoalescedCall(owner.post, self.changed.emit)
        self._paints = CoalescedCall(owner.post, self._paint)
        self._contrast = Contrast(
            lambda: self._tiles, self._measure_coarsest, lambda: self._channels, self._restyle, self._refresh
        )
        self._tiles = TileManager(owner, loader, self._repaint, self._contrast.adopt, self.heard)
        self._late_plane = LatePlane(owner, self._repaint)
        self._line = LinePlotReader(owner, loader, self._repaint)
        self._prober = Prober(owner, loader, self.probed.emit)
        self._measuring = Measuring(owner, self._refresh)
        self._rect: Rect = (0.0, 0.0, 0.0, 0.0)
        self._pixels = (0, 0)
        self._state: SliceState | None = None
        self._frame: Frame | None = None
        self._costs: tuple[Image, tuple[object, ...], tuple[str, str]] | None = None
        """(image, settings of the view, cost) of the projection whose cost was computed last."""
        self.solid_and_blend = SolidAndBlend()
        self.clear()

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        """Shows the node's image, with the label images that are known."""
        assert details.image is not None
        self.set_image(details.image, details.labels or {})

    def show_nothing(self, sentence: str = strings.NO_IMAGE) -> None:
        """Shows no picture, and `sentence` in its place."""
        self.clear(sentence)

    def clear(self, sentence: str = strings.NO_IMAGE) -> None:
        """Shows no picture."""
        self._image: Image | None = None
        self._sentence = sentence
        self._stand_nowhere()
        self._channels: list[ChannelStyle] = []
        self._labels: list[LabelStyle] = []
        self._own: list[LabelStyle] = []
        """The displayed image, if it is a label image shown by itself and not over another image; otherwise empty."""
        self._cursor: tuple[float, float] | None = None
        self._pin: tuple[float, float] | None = None
        self._lock: int | None = None
        self._level = 0
        self._blocked, self._anyway = "", False
        self._pending, self._waiting, self._next_node = False, "", ""
        self._ahead_of: tuple[list[int], Rect | None] | None = None
        self._before_alone = ()
        self._contrast.clear()
        self._asked_rect, self.by_person = None, False
        self._told_note = ""
        """The note of the pixel of the readout at the last painting."""
        self._tiles.clear()
        self._line.clear()
        self._prober.clear()
        self._measuring.clear()
        self.solid_and_blend.clear()
        self._refresh()

    def set_image(self, image: Image, labels: dict[str, Image | None]) -> None:
        """Shows an image whose levels, axes, channels and defaults have been read; `labels` by path."""
        self.clear("")
        if not image.levels:
            return
        self._image = image
        self._stand_at_defaults(image)
        self._sentence = strings.problem(p).headline if (p := image.levels[0].array.problem) else ""
        if self._y < 0:
            if not self._sentence:
                self._line.show(image.levels[0].array)
            self._refresh()
            return
        if image.is_label and image.value_kind in "iub":
            self._own = [LabelStyle(image.path, image, visible=True, opacity=1.0)]
        else:
            self._channels = channel_styles(image)
        self._labels = [*self._own, *(LabelStyle(path, found) for path, found in labels.items())]
        self._choose_first_slider(image)
        self._rect = self._whole_rect(image)
        self._refresh()
        self._plan_soon()

    def set_labels(self, labels: dict[str, Image | None]) -> None:
        """Adds label images, by path, that were found after the picture was shown."""
        if self._image is not None and self._y >= 0:
            self._labels = [*self._own, *(LabelStyle(path, found) for path, found in labels.items())]
            self._restyle()
            self._plan_soon()

    def companion(self) -> SlicePresenter:
        """Makes another presenter for another plane of the same image; it shows nothing yet."""
        return SlicePresenter(self._owner, self._loader)

    @property
    def background(self) -> tuple[Owner, ChunkLoader]:
        """The owner and the chunk loader of this picture, for presenters that show the same image in another way."""
        return self._owner, self._loader

    @property
    def label_images(self) -> dict[str, Image | None]:
        """The label images over the picture, as `set_image` accepts them."""
        own = {label.path for label in self._own}
        return {label.path: label.image for label in self._labels if label.path not in own}

    # ------------------------------------------------------------------ snapshots
    @property
    def state(self) -> SliceState:
        """The snapshot of axes, channels and settings, made when it is first asked for after a change."""
        if self._state is None:
            self._state = self._make_state()
        return self._state

    @property
    def frame(self) -> Frame:
        """The tiles to paint, made when they are first asked for after a change."""
        if self._frame is None:
            self._frame = self._make_frame()
        return self._frame

    @property
    def image(self) -> Image | None:
        """The displayed image, for hosts that pass its arrays to another viewer (napari); None if there is none."""
        return self._image

    def update_image(self, image: Image) -> bool:
        """Updates the image after its metadata changed. If values or axes changed, returns False: call `set_image`."""
        if (old := self._image) is None or self._y < 0 or not shows_the_same(old, image):
            return False
        self._image = image
        if not self._own:
            self._channels = updated(self._channels, channel_styles(old), channel_styles(image))
        for own in self._own:
            own.image = image
        self._restyle()
        self._plan_soon()
        return True

    @property
    def line(self) -> LinePlot | None:
        """The line plot of a 1-D array; None for other arrays and until it is known."""
        return self._line.line

    def _make_state(self) -> SliceState:
        image = self._image
        if image is None or self._sentence:
            return SliceState(sentence=self._sentence)
        if self._y < 0:
            return SliceState("line", strings.clean(image.name), self._axis_views(image), sentence=self._line.sentence)
        auto = self._lock is None
        return SliceState(
            "image",
            strings.clean(image.name),
            self._axis_views(image),
            self._parts.each(image, "channel", [((*vars(c).values(),), c.view) for c in self._channels]),
            tuple(label.view() for label in self._labels),
            self._parts.part(image, "levels", (self._y, self._x), lambda: level_views(image, (self._y, self._x))),
            self._level,
            not auto,
            f"level: auto ({self._level})" if auto else f"level: {self._level}",
            image.axes[self._current].name if self._current >= 0 else "",
            self._blocked,
            self._refusal,
            self._smooth,
            self._dots,
            self._projection_view(),
            self._measuring.measurement,
            self._pin,
        )

    def _make_frame(self) -> Frame:
        image = self._image
        if image is None or self._y < 0 or self._sentence:
            return Frame(sentence=self._sentence)
        loading, late = self._tiles.loading or int(self._pending), self._late(image)
        failures = self._tiles.failures
        return Frame(
            (image.shape[self._y], image.shape[self._x]),
            self._tiles.tiles,
            self._level,
            loading,
            len(failures),
            self._blocked or late or words.tiles(loading, failures),
            self._over(late, loading, failures),
            self._blocked,
            aspect(image, self._y, self._x),
        )

    def _late(self, image: Image) -> str:
        former = self._tiles.former
        if not self._tiles.late or former is None or not isinstance(former.key, PlaneKey):
            return ""
        axes = enumerate(zip(former.key.at, self._index, strict=True))
        return words.late([(image.axes[i].name, was, now) for i, (was, now) in axes if was != now], former.blank)

    def _refresh(self) -> None:
        """Makes a new state; `changed` is emitted at the end of the pass of the event loop."""
        self._state = self._frame = None
        self._changes.soon()

    def _is_whole(self) -> bool:
        return self._tiles.settled and not self._pending and not self._blocked

    def _moved(self) -> None:
        self._anyway = False
        self._refresh()
        self._plan_soon()

    def _repaint(self) -> None:
        self._frame = None  # dropped now, because a host may read the frame before the pass ends
        self._late_plane.follow(self._tiles.behind)
        self._tiles.late = self._late_plane.is_late
        self._paints.soon()

    def _paint(self) -> None:
        self.painted.emit()
        if (note := self.note) != self._told_note:  # the cursor has not moved, but its pixel has come or failed
            self._told_note = note
            self.probed.emit()
        if self._tiles.settled:
            self._contrast.complete()
            self._look_ahead()

    # ------------------------------------------------------------------ displayed part and level
    def viewport(self, rect: Rect, pixels: tuple[int, int]) -> None:
        """Sets the displayed part of the plane, and the number of screen pixels (height, width) for it."""
        if (rect, pixels) != (self._rect, self._pixels):
            if not self._pixels[0]:
                self._refresh()  # shows the cost of a projection, which needs the number of pixels
            self._rect, self._pixels = rect, pixels
            self._plan_soon()
            self.looked.emit()

    def fit(self, pixels: tuple[int, int]) -> None:
        """Shows the whole plane in (height, width) pixels of the screen."""
        height, width = map(float, self.frame.shape)
        self.viewport((0.0, 0.0, height, width), pixels)

    def lock_level(self, level: int | None) -> None:
        """Sets the level to show; None shows the level that fits the zoom."""
        if self._image is not None:
            self._lock = None if level is None else max(0, min(level, len(self._image.levels) - 1))
            self._moved()

    @property
    def locked_level(self) -> int | None:
        """The level that the person chose; None if the level follows the zoom."""
        return self._lock

    def _measure_coarsest(
        self,
        wanted: Sequence[SampledChannel],
        done: Callable[[dict[LayerKey, Measure]], None],
        priority: Priority = VISIBLE,
    ) -> bool:
        view = self._view(self._index)
        return view is not None and measure_coarsest(self._owner, self._loader, view, wanted, done, priority)

    def want_histogram(self, channel: int) -> None:
        """Reads the histogram of a hidden channel in the background, when the picture is complete. A host calls it when
        the place for the histogram comes into view; later calls do nothing."""
        if self._contrast.want(channel):
            self._paints.soon()

    def _settings(self) -> DisplaySettings:
        return display_settings(self._channels, self._labels, self._dots)

    def _restyle(self) -> None:
        self._refresh()
        self._tiles.restyle(self._settings())

    # ------------------------------------------------------------------ planning
    def _view(self, index: list[int]) -> RequestedView | None:
        if self._image is None or self._y < 0 or min(self._pixels) < 1 or self._sentence:
            return None
        return RequestedView(
            self._image, tuple(index), self._y, self._x, self._rect, self._pixels, self._lock, self._anyway,
            self._projection,
        )  # fmt: skip

    def _cost(self, projection: Projection) -> tuple[str, str]:
        view = self._view(self._index)
        if view is None:
            return "", ""
        # The cost is part of every state, so it is computed again only if other chunks would be read.
        others = tuple(i for axis, i in enumerate(self._index) if axis != projection.axis)
        shown = tuple(c.visible for c in self._channels), tuple((v.path, v.visible) for v in self._labels)
        key = (projection, others, view.y, view.x, view.rect, view.pixels, view.level, shown)
        if self._costs is None or self._costs[0] is not view.image or self._costs[1] != key:
            told = cost_text(replace(view, projection=projection), self._channels, self._labels)
            self._costs = view.image, key, told
        return self._costs[2]

    def _plan_soon(self) -> None:
        """Requests missing chunks at the end of this pass of the event loop; until then the picture is incomplete."""
        self._pending = True
        self._frame = None
        self._notify.soon()

    def _replan(self) -> None:
        self._pending = False
        self._frame = None
        view = self._view(self._index)
        if view is None:
            return
        planned = plan(view, self._channels, self._labels)
        if (self._blocked, self._level) != (planned.blocked, planned.level):
            self._blocked, self._level = planned.blocked, planned.level
            self._refresh()
        self._tiles.show(planned.plan, self._settings())
        if self._cursor is not None:  # the cursor has not moved, but points at another plane now
            self.hover(*self._cursor)
            self.probed.emit()

    def _look_ahead(self) -> None:
        """Once the picture is complete, loads the next index in the direction of travel."""
        axis, direction = self._travel
        if axis < 0 or self._image is None or self._blocked:
            return
        (ahead := list(self._index))[axis] += direction
        here = (list(self._index), self._rect)
        if not 0 <= ahead[axis] < self._image.shape[axis] or self._ahead_of == here:
            return
        self._ahead_of = here
        view = self._view(ahead)
        if view is not None:
            planned = plan(view, self._channels, self._labels)
            if planned.chunks <= AHEAD_CHUNKS:
                self._tiles.ahead(planned.plan)

    # ------------------------------------------------------------------ readout
    def why(self, y: float, x: float) -> str:
        """The reason why there are no data at a place of the plane (level-0 coordinates), with the chunk's key.

        Reasons are: loading, not stored, failed, not decodable. "" if there are data.
        """
        names: dict[LayerKey, str] = {("channel", i): c.label for i, c in enumerate(self._channels)}
        names |= {("label", label.path): label.path.rsplit("/", 1)[-1] for label in self._labels}
        return self._tiles.why(y, x, names)

    @property
    def note(self) -> str:
        """The result of `why` for the pixel of the readout, in one line."""
        return self.why(*self._cursor).replace("\n", "  ") if self._cursor is not None else ""

    def retry(self, key: tuple[int, int, int] | None = None) -> None:
        """Reads the failed chunks of a tile again; None: of all tiles."""
        self._tiles.retry(key)
        if self._cursor is not None:
            self.hover(*self._cursor)
            self.probed.emit()

    def load_anyway(self) -> None:
        """Loads the level that was not loaded because of its cost (see `frame.blocked`)."""
        self._anyway = True
        self._refresh()
        self._plan_soon()

    # ------------------------------------------------------------------ measuring
    def _measured(self) -> tuple[MeasuredPlane, list[MeasuredChannel]] | None:
        image = self._image
        if image is None or self._y < 0 or self._sentence:
            return None
        styles = [(i, style) for i, style in enumerate(self._channels) if style.visible and not style.is_alpha]
        found = []
        for i, style in styles:
            at = list(self._index)
            if image.channel_axis is not None:
                at[image.channel_axis] = i
            found.append(MeasuredChannel(strings.clean(style.label, 40), style.color, tuple(at), style.part))
        return MeasuredPlane(image, self._y, self._x), found

    def measure_line(self, y0: float, x0: float, y1: float, x1: float) -> None:
        """Measures the displayed channels along a line of the plane, in the background: `state.measurement`."""
        if (measured := self._measured()) is not None:
            self._measuring.line(*measured, (y0, x0, y1, x1))

    def measure_region(self, y0: float, x0: float, y1: float, x1: float) -> None:
        """Measures statistics of the displayed channels in a rectangle of the plane, in the background."""
        if (measured := self._measured()) is not None:
            self._measuring.region(*measured, (y0, x0, y1, x1))

    def measure_view(self) -> None:
        """Measures statistics of the displayed part of the plane; if a measurement is displayed, removes it instead."""
        if self._measuring.measurement.kind:
            self._measuring.clear()
        else:
            self.measure_region(*self._rect)

    def forget_measurement(self) -> None:
        """Removes the measurement, and cancels a running one."""
        self._measuring.clear()

    def measurement_text(self) -> str:
        """The measurement as text to copy: lines of cells separated by tabs."""
        return words.measurement_lines(self._measuring.measurement)

    def picture(self, height: int, width: int) -> npt.NDArray[np.uint8]:
        """The viewport as an array (height, width, 3), painted as hosts do: nearest pixels, grey where there are no
        data. For terminals, notebooks, saving and tests."""
        return compose(self.frame.tiles, self._rect, height, width)

    def scale_bar(self, indices: float) -> ScaleBar | None:
        """A bar of a round length that fits into `indices` along x; None without a physical scale."""
        return scale_bar(self._image, self._x, indices) if self._image is not None and self._x >= 0 else None
