"""The picture: a plane of an n-D image as tiles, coarse first and then sharp, with its axes, channels and overlays.

Coordinates are those of the displayed plane at full resolution (level 0), in indices: pixel i spans i … i+1, so the
whole plane is the rectangle (0, 0, height, width). Rectangles are (y0, x0, y1, x1), floats. A host tells what it shows
with `viewport(rect, pixels)`, paints `frame.tiles` in their order, later ones over earlier ones, and repaints on
`painted()`. `changed()` is about axes, channels, overlays and sentences. Both come at most once a loop turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
from psygnal import Signal

from zarrscope_app.presenters.values import Probe

Rect = tuple[float, float, float, float]
"""(y0, x0, y1, x1) in indices of level 0."""


class TileState(Enum):
    LOADING = "loading"
    """`rgb` may already hold a coarser picture or the one of the index before."""
    PRESENT = "present"
    FILL = "fill"
    """No chunk is stored there: the fill value, to be painted with a faint pattern over `rgb`."""
    FAILED = "failed"
    """Crosshatch; `slice.retry(tile.key)` on a click."""
    UNDECODABLE = "undecodable"
    """Diagonal hatch; retrying does not help."""


@dataclass(frozen=True, eq=False)
class Tile:
    """`key` names the place (stable from frame to frame); a new `version` under the same key has another picture."""

    key: tuple[int, int, int]
    """(level, row, column) in the grid of tiles."""
    version: int
    level: int
    rect: Rect
    state: TileState
    rgb: npt.NDArray[np.uint8] | None
    """(h, w, 3), to be stretched over `rect`; C-contiguous. None: nothing to show yet."""
    sentence: str = ""


@dataclass(frozen=True)
class Frame:
    """What to paint now. `shape` (height, width) of the plane at level 0."""

    shape: tuple[int, int] = (0, 0)
    tiles: tuple[Tile, ...] = ()
    level: int = 0
    loading: int = 0
    """Tiles still to come; 0 = the picture is whole."""
    failed: int = 0
    sentence: str = ""
    """"12 tiles loading", or why there is no picture."""
    blocked: str = ""
    """"4,096 chunks, 3.1 GiB: zoom in, or press Load.": offer `load_anyway()`. "" when nothing is held back."""
    aspect: float = 1.0
    """Height of an index / width of an index, physically: paint pixels that tall."""


@dataclass(frozen=True)
class AxisView:
    name: str
    type: str
    """"space" | "time" | "channel" | ""."""
    unit: str
    """The symbol: "µm"."""
    length: int
    index: int
    role: str
    """"y" | "x" (displayed) | "channel" (shown all at once: see `channels`) | "slider" | "fixed" (length 1)."""
    position: str
    """Physical place of `index`: "15.5 µm", or ""."""
    text: str
    """ "31 / 63"."""
    playing: bool = False


@dataclass(frozen=True)
class ChannelView:
    label: str
    color: tuple[int, int, int]
    visible: bool
    lo: float | None
    """Contrast limits; None until the first data have come."""
    hi: float | None
    gamma: float
    inverted: bool
    low: float
    """What the contrast strip spans."""
    high: float
    histogram: tuple[int, ...] = ()
    """Counts over low … high of a coarse sample; empty until known."""
    text: str = ""
    """ "120–3400"."""


@dataclass(frozen=True)
class LabelView:
    name: str
    path: str
    visible: bool
    opacity: float
    sentence: str = ""


@dataclass(frozen=True)
class LevelView:
    path: str
    shape: tuple[int, ...]
    text: str
    """ "1 · 512 × 512 · 1.3 µm"."""


@dataclass(frozen=True, eq=False)
class Line:
    """A 1-D array: for each of n columns the lowest and highest value; `step` elements per column."""

    start: int
    step: int
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    loading: bool = False
    sentence: str = ""


@dataclass(frozen=True)
class ScaleBar:
    """For `Frame`: a bar of `length` indices along x that means `text`."""

    length: float
    text: str


@dataclass(frozen=True)
class SliceState:
    """`kind`: "image" paint `frame`; "line" paint `line`; "none" show `sentence`."""

    kind: str = "none"
    name: str = ""
    axes: tuple[AxisView, ...] = ()
    channels: tuple[ChannelView, ...] = ()
    labels: tuple[LabelView, ...] = ()
    levels: tuple[LevelView, ...] = ()
    level: int = 0
    """The level now shown."""
    locked: bool = False
    """The person chose the level; False: what fits."""
    level_text: str = ""
    """ "level: auto (0)"."""
    current_axis: str = ""
    """The axis that arrow keys step."""
    sentence: str = ""


class SlicePresenter:
    """One image of a session. All methods on the host's thread; none waits; each gives a new `state` at once."""

    changed = Signal()
    painted = Signal()
    probed = Signal()

    @property
    def state(self) -> SliceState:
        raise NotImplementedError

    @property
    def frame(self) -> Frame:
        raise NotImplementedError

    @property
    def line(self) -> Line | None:
        raise NotImplementedError

    @property
    def probe(self) -> Probe:
        raise NotImplementedError

    # ------------------------------------------------------------------ where
    def set_index(self, axis: str, index: int) -> None:
        """Clipped to the axis. Requests of the index before are dropped."""
        raise NotImplementedError

    def step(self, by: int, axis: str | None = None) -> None:
        """Moves an axis (None: the current one)."""
        raise NotImplementedError

    def choose_axis(self, axis: str | int) -> None:
        """The current axis by name, or ±1: the next or the one before, of those with a slider."""
        raise NotImplementedError

    def show(self, y_axis: str, x_axis: str) -> None:
        """Other axes as height and width. Equal names swap with the axis now there."""
        raise NotImplementedError

    def transpose(self) -> None:
        raise NotImplementedError

    def play(self, axis: str | None = None) -> None:
        """Starts or stops: the next index as soon as the picture is whole (and the host called `tick`)."""
        raise NotImplementedError

    def tick(self) -> None:
        """A host's timer while something plays (about 10 a second): steps if the picture is whole."""
        raise NotImplementedError

    # ------------------------------------------------------------------ how
    def viewport(self, rect: Rect, pixels: tuple[int, int]) -> None:
        """The part of the plane on the screen, and how many pixels (height, width) show it."""
        raise NotImplementedError

    def lock_level(self, level: int | None) -> None:
        """A level of the person's choice; None: what fits."""
        raise NotImplementedError

    def set_levels(self, channel: int, lo: float, hi: float) -> None:
        raise NotImplementedError

    def auto(self, channel: int | None = None) -> None:
        """Contrast limits from the data on show; None: of every visible channel."""
        raise NotImplementedError

    def set_visible(self, channel: int, visible: bool) -> None:
        raise NotImplementedError

    def set_color(self, channel: int, color: tuple[int, int, int]) -> None:
        raise NotImplementedError

    def set_gamma(self, channel: int, gamma: float) -> None:
        raise NotImplementedError

    def set_inverted(self, channel: int, inverted: bool) -> None:
        raise NotImplementedError

    def set_label(self, path: str, visible: bool, opacity: float | None = None) -> None:
        """Shows or hides a label image over the picture."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what
    def hover(self, y: float, x: float) -> Probe:
        """The exact values at a place of the plane (level-0 coordinates): at once what is at hand, the rest follows
        with `probed()`. Off the image: an empty Probe."""
        raise NotImplementedError

    def leave(self) -> None:
        """The cursor left the picture."""
        raise NotImplementedError

    def retry(self, key: tuple[int, int, int] | None = None) -> None:
        """Reads a failed tile again; None: all that failed."""
        raise NotImplementedError

    def load_anyway(self) -> None:
        """Runs the plan that `frame.blocked` holds back."""
        raise NotImplementedError

    def picture(self, height: int, width: int) -> npt.NDArray[np.uint8]:
        """The viewport painted into (height, width, 3), as a host would: nearest pixels, grey where there is nothing.
        For terminals, notebooks, saving and tests."""
        raise NotImplementedError

    def scale_bar(self, indices: float) -> ScaleBar | None:
        """A bar of a round length that fits into `indices` along x. None without a physical scale."""
        raise NotImplementedError
