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

Rect = tuple[float, float, float, float]
"""(y0, x0, y1, x1) in indices of level 0."""


class TileState(Enum):
    LOADING = "loading"
    """Data are being loaded; `rgb` may already show a coarser picture, or that of the index before."""
    PRESENT = "present"
    FILL = "fill"
    """No chunk is stored there: the fill value with faint dots."""
    FAILED = "failed"
    """Crosshatch where chunks failed; call `slice.retry(tile.key)` on a click."""
    UNDECODABLE = "undecodable"
    """Diagonal hatch; a retry does not help."""


@dataclass(frozen=True, eq=False)
class Tile:
    """One tile to paint. `key` identifies its place, the same from frame to frame; a new `version` under the same key
    has another picture."""

    key: tuple[int, int, int]
    """(level, row, column) in the grid of tiles."""
    version: int
    level: int
    rect: Rect
    state: TileState
    rgb: npt.NDArray[np.uint8] | None
    """(h, w, 3), to be stretched over `rect`; C-contiguous. None: there is no picture yet."""
    sentence: str = ""
    bare: npt.NDArray[np.uint8] | None = None
    """`rgb` without the signs, if it has any: for a host that draws the signs larger than pixels."""
    marks: tuple[tuple[TileState, Rect], ...] = ()
    """The places of the signs over `bare`, in the plane."""


@frozen
class Frame:
    """The frame to paint now. `shape` (height, width) of the plane at level 0."""

    shape: tuple[int, int] = (0, 0)
    tiles: tuple[Tile, ...] = ()
    level: int = 0
    loading: int = 0
    """The number of tiles that have not arrived; 0: the picture is complete."""
    failed: int = 0
    sentence: str = ""
    """ "12 tiles loading", or the reason why there is no picture."""
    over: str = ""
    """The sentence that hosts say over the picture: "z 11 is shown; z 12 is loading" if it has shown a former plane for
    a while; the reason, and the key to try again, if every tile of the plane failed; else ""."""
    blocked: str = ""
    """The reason why the plan is held back, "4,096 chunks, 3.1 GiB: zoom in, or press Load.": offer `load_anyway()`;
    else ""."""
    aspect: float = 1.0
    """The physical height of a pixel divided by its width: paint pixels with this ratio."""


@frozen
class AxisView:
    name: str
    """The name in the file, for calls. `title` is for people."""
    type: str
    """"space" | "time" | "channel" | ""."""
    unit: str
    """The symbol: "µm"."""
    length: int
    index: int
    role: str
    """"y" | "x" (displayed) | "channel" (shown all at once: see `channels`) | "slider" | "fixed" (length 1)."""
    position: str
    """The physical position of `index`: "15.5 µm", or ""."""
    text: str
    """ "31 / 63"."""
    playing: bool = False
    title: str = ""
    """The name as text that is safe to display."""
    index_text: str = ""
    """ "31", as editable text: `slice.type_index(name, text)`; `position` belongs to `slice.type_position`."""
    end_text: str = ""
    """ "/ 63", the text after it."""


@frozen
class ChannelView:
    label: str
    color: tuple[int, int, int]
    visible: bool
    lo: float | None
    """The contrast limits; None until the first data have arrived."""
    hi: float | None
    gamma: float
    inverted: bool
    low: float
    """The lowest and (`high`) the highest value on the strip where contrast is set."""
    high: float
    histogram: tuple[int, ...] = ()
    """Counts over low … high in a coarse sample; empty until known."""
    text: str = ""
    """ "120–3400"."""
    lo_text: str = ""
    """Editable text: `slice.type_limit(channel, "lo", text)`."""
    hi_text: str = ""
    gamma_text: str = ""
    """Editable text: `slice.type_gamma(channel, text)`."""
    colormap: str = ""
    """One of `slice.colormaps`; "": use `color`."""
    ramp: bytes = b""
    """The colours of the colour map, three bytes each."""
    parts: tuple[tuple[str, str], ...] = ()
    """(id, title) of the parts of complex values: `slice.set_part(id)`."""
    part: str = ""
    """The displayed part."""
    is_alpha: bool = False
    """Whether the channel is the opacity of the other channels; it then has neither colour nor contrast."""
    limit_step: float = 0.0
    """The smallest change of a contrast limit."""


@frozen
class LabelView:
    name: str
    path: str
    visible: bool
    opacity: float
    sentence: str = ""
    outline: bool = False
    chosen_text: str = ""
    """The only label to draw, as editable text: `slice.type_label(path, text)`; "": all."""


@frozen
class LevelView:
    path: str
    shape: tuple[int, ...]
    text: str
    """ "1 · 512 × 512 · 1.3 µm"."""


@dataclass(frozen=True, eq=False)
class LinePlot:
    """A 1-D array: for each of n columns the lowest and highest value; `step` elements per column."""

    start: int
    step: int
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    loading: bool = False
    sentence: str = ""


@frozen
class ScaleBar:
    """A scale bar for `Frame`: `length` indices along x, labelled `text`."""

    length: float
    text: str


@frozen
class ProjectionView:
    """A projection along the current axis; its cost is shown before it is read."""

    methods: tuple[tuple[str, str], ...] = ()
    """(id, title and size) of the available projections: `slice.project(method)`; () if no axis can be projected."""
    title: str = ""
    """The title of the axis."""
    method: str = ""
    """The current projection, as given to `slice.project`; "" if there is none."""
    range_text: str = ""
    """ "0–63", as editable text: `slice.type_range(text)`."""
    cost: str = ""
    """ "64 planes: 4,096 chunks, 3.1 GiB to read"."""
    text: str = ""
    """The name of the displayed projection, "maximum of z 0–63"; "" if none is displayed."""
    remark: str = ""
    """A remark for the readout: its values are those of one plane, not of the projection."""


@dataclass(frozen=True, eq=False)
class Row:
    """The measured values of one channel; `profile`: the values along a line."""

    label: str
    color: tuple[int, int, int]
    text: str
    """ "mean 120.5 · sd 12.2 · min 80 · max 200 · 1,024 values"."""
    profile: npt.NDArray[np.float64] | None = None


@frozen
class Measurement:
    """A measurement: `kind` "line", "region", or "" for none. `progress` None: it is complete."""

    kind: str = ""
    place: Rect = (0.0, 0.0, 0.0, 0.0)
    """From (y0, x0) to (y1, x1), in indices of level 0: hosts draw it over the picture."""
    title: str = ""
    rows: tuple[Row, ...] = ()
    progress: float | None = None
    sentence: str = ""
    """The reason why there is no measurement."""
    length: str = ""
    """The length of a line: "12.3 µm"."""
    low_text: str = ""
    """The lower and (`high_text`) the upper limit of the scale of the profiles, as text."""
    high_text: str = ""


@frozen
class Refusal:
    """Typed text that was refused. Hosts mark the field and show the sentence."""

    field: str = ""
    """ "index:z", "position:z" (of an axis), "lo:0", "hi:0" (of a channel), or ""."""
    text: str = ""
    """The text as typed."""
    sentence: str = ""


@frozen
class SliceState:
    """The state of a picture. `kind` tells what to show: "image" `frame`, "line" `line`, "none" `sentence`."""

    kind: str = "none"
    name: str = ""
    axes: tuple[AxisView, ...] = ()
    channels: tuple[ChannelView, ...] = ()
    labels: tuple[LabelView, ...] = ()
    levels: tuple[LevelView, ...] = ()
    level: int = 0
    """The displayed level."""
    locked: bool = False
    """Whether the person chose the level; otherwise it is the fitting one."""
    level_text: str = ""
    """ "level: auto (0)"."""
    current_axis: str = ""
    """The axis that the arrow keys step."""
    sentence: str = ""
    refusal: Refusal = Refusal()
    smooth: bool = False
    """Whether enlarged pixels are interpolated; otherwise each is a plain rectangle."""
    dots: bool = True
    """Whether chunks that are not stored are marked with dots."""
    projection: ProjectionView = ProjectionView()
    measurement: Measurement = Measurement()
    pin: tuple[float, float] | None = None
    """(y, x) of the middle of the pinned pixel, in indices of level 0; hosts mark it."""
