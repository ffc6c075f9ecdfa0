"""Snapshots of a picture: a plane of an n-D image as tiles, with its axes, channels and overlays.

Coordinates are those of the displayed plane at full resolution (level 0), in indices: pixel i spans i … i+1, so the
whole plane is the rectangle (0, 0, height, width). Rectangles are (y0, x0, y1, x1), floats. A host
paints `frame.tiles` in their order, later ones over earlier ones; the signs for missing, failed and undecodable chunks
are already drawn into `rgb`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS

Rect = tuple[float, float, float, float]
"""(y0, x0, y1, x1) in indices of level 0."""


class TileState(Enum):
    """How much of a tile is there."""

    LOADING = "loading"
    """Data are being loaded; `rgb` may already show a coarser picture, or still the picture of the previous index."""
    PRESENT = "present"
    FILL = "fill"
    """No chunk is stored: `rgb` shows the fill value with faint dots."""
    FAILED = "failed"
    """Chunks could not be read: `rgb` shows a crosshatch; on a click, call `slice.retry(tile.key)`."""
    UNDECODABLE = "undecodable"
    """Chunks cannot be decoded: `rgb` shows a diagonal hatch; a retry does not help."""


@dataclass(frozen=True, eq=False)
class Tile:
    """One tile to paint. `key` identifies the tile in all frames; a new `version` with the same key has another
    picture."""

    key: tuple[int, int, int]
    """(level, row, column) in the grid of tiles."""
    version: int
    level: int
    rect: Rect
    state: TileState
    rgb: npt.NDArray[np.uint8] | None
    """The picture as a C-contiguous array (h, w, 3), to be stretched over `rect`; None if there is no picture yet."""
    sentence: str = ""
    bare: npt.NDArray[np.uint8] | None = None
    """`rgb` without the signs for missing data, for a host that draws them itself at screen resolution; None if `rgb`
    has no signs."""
    marks: tuple[tuple[TileState, Rect], ...] = ()
    """The kind of each sign to draw over `bare`, and its rectangle in the plane."""


@frozen
class Frame:
    """The frame to paint now. `shape`: (height, width) of the plane at level 0."""

    shape: tuple[int, int] = (0, 0)
    tiles: tuple[Tile, ...] = ()
    level: int = 0
    loading: int = 0
    """The number of tiles that have not arrived; 0 if the picture is complete."""
    failed: int = 0
    sentence: str = ""
    """The state of the frame: "12 tiles loading", or the reason why there is no picture."""
    over: str = ""
    """The sentence that hosts show over the picture: "z 11 is shown; z 12 is loading" if the picture has shown the
    previous plane for a while; if every tile of the plane failed, the reason and the key to try again; else ""."""
    blocked: str = ""
    """The reason why the fitting level is not loaded, "4,096 chunks, 3.1 GiB: zoom in, or press Load."; a host then
    offers `load_anyway()`. Else ""."""
    aspect: float = 1.0
    """The physical height of a pixel divided by its width: paint pixels with this ratio."""


@frozen
class AxisView:
    """One axis of the image, with the index that the plane has along it."""

    name: str
    """The name in the file, to be passed to methods; `title` is the name to display."""
    type: str
    """"space" | "time" | "channel" | ""."""
    unit: str
    """The symbol of the unit: "µm"; "" for none."""
    length: int
    index: int
    role: str
    """"y" | "x" (displayed) | "channel" (shown all at once: see `channels`) | "slider" | "fixed" (length 1)."""
    position: str
    """The physical position of `index`: "15.5 µm", or ""."""
    text: str
    """Index and last index as text: "31 / 63"."""
    playing: bool = False
    title: str = ""
    """The name as text that is safe to display."""
    index_text: str = ""
    """The index as editable text, "31", for `slice.type_index(name, text)`; edits of `position` go to
    `slice.type_position`."""
    end_text: str = ""
    """The text after `index_text`: "/ 63"."""
    channel: str = ""
    """The name of the channel `index`, if the axis has too many channels to show them at once; else ""."""


@frozen
class ChannelView:
    """The display settings of one channel."""

    label: str
    color: tuple[int, int, int]
    visible: bool
    lo: float | None
    """The lower contrast limit (`hi`: the upper one); None until the first data have arrived."""
    hi: float | None
    gamma: float
    inverted: bool
    low: float
    """The lowest value (`high`: the highest) on the strip where a person sets contrast."""
    high: float
    histogram: tuple[int, ...] = ()
    """Counts of values in equal intervals from `low` to `high`, from a sample; () until it is measured."""
    text: str = ""
    """The contrast limits as text: "120–3400"."""
    lo_text: str = ""
    """The lower limit as editable text, for `slice.type_limit(channel, "lo", text)`."""
    hi_text: str = ""
    gamma_text: str = ""
    """Gamma as editable text, for `slice.type_gamma(channel, text)`."""
    colormap: str = ""
    """The title of a colour map, one of `slice.colormaps`; "" for the plain colour `color`."""
    ramp: bytes = b""
    """The 256 colours of the colour map, three bytes each; b"" without a colour map."""
    parts: tuple[tuple[str, str], ...] = ()
    """(id, title) of the parts of complex values that `slice.set_part(id)` can draw; () for other values."""
    part: str = ""
    """The id of the displayed part of complex values."""
    is_alpha: bool = False
    """Whether the channel is the opacity of the other channels; it then has neither colour nor contrast."""
    limit_step: float = 0.0
    """The step by which a control changes a contrast limit."""
    unmeasured: str = ""
    """A text for the place of the histogram: why a hidden channel has none, or that it is being read."""


@frozen
class LabelView:
    """The display settings of one label image; `sentence` says why it cannot be drawn."""

    name: str
    path: str
    visible: bool
    opacity: float
    sentence: str = ""
    outline: bool = False
    chosen_text: str = ""
    """The only label that is drawn, as editable text for `slice.type_label(path, text)`; "" if all are drawn."""


@frozen
class LevelView:
    """One level, as a choice of hosts."""

    path: str
    shape: tuple[int, ...]
    text: str
    """The level in words: "1 · 512 × 512 · 1.3 µm"."""


@dataclass(frozen=True, eq=False)
class LinePlot:
    """A 1-D array as a line plot: for each column the lowest and the highest of its `step` elements."""

    start: int
    step: int
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    loading: bool = False
    sentence: str = ""
    length: int = 0
    """The number of elements."""

    @property
    def marks(self) -> tuple[str, str, str, str]:
        """The texts at the edges of the plot: the highest and the lowest value, the first and the last index; empty
        texts while no value is known."""
        known = np.isfinite(self.low) & np.isfinite(self.high)
        if not known.any():
            return ("", "", "", "")
        highest, lowest = strings.short(float(self.high[known].max())), strings.short(float(self.low[known].min()))
        return highest, lowest, strings.count(self.start), strings.count(max(0, self.length - 1))


@frozen
class ScaleBar:
    """A scale bar for `Frame`: `length` indices along x, labelled `text`."""

    length: float
    text: str


@frozen
class ProjectionView:
    """The projection along the current axis; hosts show its cost before it is read."""

    methods: tuple[tuple[str, str], ...] = ()
    """(id, title and size) of the available projections: `slice.project(method)`; () if no axis can be projected."""
    title: str = ""
    """The title of the axis."""
    method: str = ""
    """The current projection, as given to `slice.project`; "" if there is none."""
    range_text: str = ""
    """The range of the projection as editable text, "0–63", for `slice.type_range(text)`."""
    cost: str = ""
    """The cost of the projection: "64 planes: 4,096 chunks, 3.1 GiB to read"."""
    text: str = ""
    """The name of the displayed projection, "maximum of z 0–63"; "" if none is displayed."""
    remark: str = ""
    """A remark beside the readout, which says that its values are those of one plane, not of the projection."""
    span: tuple[int, int] | None = None
    """The first projected index and the one after the last; None if no projection is displayed."""


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """The measured values of one channel; `profile`: the values along a line."""

    label: str
    color: tuple[int, int, int]
    text: str
    """The statistics in words: "mean 120.5 · sd 12.2 · min 80 · max 200 · 1,024 values"."""
    profile: npt.NDArray[np.float64] | None = None


@frozen
class Measurement:
    """A measurement. `kind`: "line", "region", or "" for none. `progress`: from 0 to 1, None if it is complete."""

    kind: str = ""
    place: Rect = (0.0, 0.0, 0.0, 0.0)
    """The line or rectangle from (y0, x0) to (y1, x1), in indices of level 0, which hosts draw over the picture."""
    title: str = ""
    rows: tuple[MeasuredRow, ...] = ()
    progress: float | None = None
    sentence: str = ""
    """The reason why the measurement failed; "" if it did not."""
    length: str = ""
    """The length of a line: "12.3 µm"."""
    low_text: str = ""
    """The lower end (`high_text`: the upper end) of the scale of the profiles, as text."""
    high_text: str = ""


@frozen
class Refusal:
    """A typed text that was refused. Hosts mark the input `field` and show the sentence."""

    field: str = ""
    """The input with the text: "index:z", "position:z" (of an axis), "lo:0", "hi:0" (of a channel), or ""."""
    text: str = ""
    """The text as typed."""
    sentence: str = ""


@frozen
class SliceState:
    """The state of a picture. `kind` says what a host shows: "image" the frame, "line" the plot `line`, "none" the
    sentence."""

    kind: str = "none"
    name: str = ""
    axes: tuple[AxisView, ...] = ()
    channels: tuple[ChannelView, ...] = ()
    labels: tuple[LabelView, ...] = ()
    levels: tuple[LevelView, ...] = ()
    level: int = 0
    """The displayed level."""
    locked: bool = False
    """Whether the person chose the level; otherwise it follows the zoom."""
    level_text: str = ""
    """The displayed level as text: "level: auto (0)"."""
    current_axis: str = ""
    """The name of the axis along which the arrow keys step; "" if there is none."""
    sentence: str = ""
    refusal: Refusal = Refusal()
    smooth: bool = False
    """Whether enlarged pixels are interpolated; otherwise each is drawn as a plain rectangle."""
    dots: bool = True
    """Whether chunks that are not stored are marked with dots."""
    projection: ProjectionView = ProjectionView()
    measurement: Measurement = Measurement()
    pin: tuple[float, float] | None = None
    """(y, x) of the middle of the pinned pixel, in indices of level 0, where hosts draw a mark; None if no pixel is
    pinned."""

    @property
    def automatic_level(self) -> str:
        """The choice that lets the level follow the zoom: "auto (0)"; "auto" while a level is locked."""
        auto = LABELS["level-auto"]
        return auto if self.locked else f"{auto} ({self.level})"
