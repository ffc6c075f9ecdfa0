"""The maximum of a volume along a line of sight of any direction, by shear and warp (Lacroute and Levoy, 1994).

The volume is cut into slices across the axis along which the line of sight crosses most voxels. The slices are shifted
against one another (shear), and their maximum is taken: no voxel on the line is left out, even if the edges of a voxel
differ much in length. The result is then turned and stretched onto the screen (warp). Pure functions over numpy arrays;
values are taken from the nearest voxel, without interpolation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Volume = npt.NDArray[Any]
ProjectedPicture = npt.NDArray[Any]
Turn = npt.NDArray[np.float64]


def turn(azimuth: float, elevation: float) -> Turn:
    """A rotation matrix: its rows are the directions right, down and depth of the screen, its columns the axes z, y, x.
    Angles are in degrees.

    0, 0 looks along z: x goes right and y down, as in the picture of a plane.
    """
    a, e = math.radians(azimuth), math.radians(elevation)
    return np.array(
        [
            [math.sin(a), 0.0, math.cos(a)],
            [-math.cos(a) * math.sin(e), math.cos(e), math.sin(a) * math.sin(e)],
            [math.cos(a) * math.cos(e), math.sin(e), -math.sin(a) * math.cos(e)],
        ]
    )


@dataclass(frozen=True, eq=False)
class ViewTransform:
    """A line of sight through a volume of the given `shape`. `matrix` converts voxel indices (z, y, x) to lengths to
    the right, down and in depth of the screen; the volume is cut into slices across the axis `along`."""

    shape: tuple[int, int, int]
    matrix: Turn
    along: int

    @property
    def across(self) -> tuple[int, int]:
        """The two axes of a slice."""
        first, second = (axis for axis in range(3) if axis != self.along)
        return first, second


def view_transform(
    shape: tuple[int, int, int], scale: tuple[float, float, float], azimuth: float, elevation: float
) -> ViewTransform:
    """The line of sight at angles in degrees; `scale`: the lengths of a voxel's edges."""
    turned = turn(azimuth, elevation)
    voxels = np.abs(turned[2] / scale)  # voxels crossed along each axis, per unit of length
    return ViewTransform(shape, turned * scale, int(np.argmax(voxels)))


def radius(shape: tuple[int, int, int], scale: tuple[float, float, float]) -> float:
    """The radius of the sphere around the volume: the volume stays inside when it is turned."""
    return math.hypot(*(n * s for n, s in zip(shape, scale, strict=True))) / 2


@dataclass(frozen=True, eq=False)
class ShearedImage:
    """The maximum of the shifted slices. `empty`: a mask of the pixels that no slice covers."""

    values: ProjectedPicture
    empty: npt.NDArray[np.bool_]
    origin: tuple[float, float]
    """The position of the pixel (0, 0), in voxels of the first slice."""


def shear(volume: Volume, seen: ViewTransform) -> ShearedImage:
    """Shifts the slices of a volume, and takes their maximum. `volume` has the axis `seen.along` first, then those of
    `seen.across`; the shear is quick if the axes have the same order in memory."""
    to_screen = seen.matrix[:2, list(seen.across)]
    step = np.linalg.solve(to_screen, seen.matrix[:2, seen.along])
    count, rows, columns = volume.shape
    shifts = np.rint(np.outer(np.arange(count), step)).astype(int)
    first = shifts.min(axis=0)
    shifts -= first
    height, width = (shifts.max(axis=0) + np.array((rows, columns))).tolist()
    low = -np.inf if volume.dtype.kind == "f" else False if volume.dtype.kind == "b" else np.iinfo(volume.dtype).min
    values = np.full((height, width), low, volume.dtype)
    empty = np.ones((height, width), bool)
    for slice_, (down, across) in zip(volume, shifts.tolist(), strict=True):
        window = values[down : down + rows, across : across + columns]
        np.maximum(window, slice_, out=window)
        empty[down : down + rows, across : across + columns] = False
    return ShearedImage(values, empty, (float(first[0]), float(first[1])))


@dataclass(frozen=True, eq=False)
class Warp:
    """For each pixel of the screen, the row and column of the sheared pixel; `outside`: a mask of the pixels without
    one."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    outside: npt.NDArray[np.bool_]

    def picture(self, sheared: ShearedImage) -> ProjectedPicture:
        """The values on the screen; values of pixels in `outside` are undefined."""
        shown: ProjectedPicture = sheared.values[self.rows, self.columns]
        return shown


def warp(sheared: ShearedImage, seen: ViewTransform, pixels: tuple[int, int], per_pixel: float) -> Warp:
    """The warp onto a screen of (height, width) pixels with the volume in its middle. A pixel is `per_pixel` units of
    length wide."""
    to_slice = np.linalg.inv(seen.matrix[:2, list(seen.across)])
    middle = [(seen.shape[axis] - 1) / 2 for axis in (*seen.across, seen.along)]
    # The middle of the volume lies in the middle slice, whose shift is half that of the last slice.
    step = np.linalg.solve(seen.matrix[:2, list(seen.across)], seen.matrix[:2, seen.along])
    right = (np.arange(pixels[1]) + 0.5 - pixels[1] / 2) * per_pixel
    down = (np.arange(pixels[0]) + 0.5 - pixels[0] / 2) * per_pixel
    found = []
    outside = np.zeros(pixels, bool)
    for axis in (0, 1):
        start = middle[axis] + step[axis] * middle[2] - sheared.origin[axis]
        at = np.rint(to_slice[axis, 0] * right + (to_slice[axis, 1] * down + start)[:, None]).astype(np.intp)
        most = sheared.values.shape[axis] - 1
        outside |= (at < 0) | (at > most)
        found.append(np.clip(at, 0, most))
    outside |= sheared.empty[found[0], found[1]]
    return Warp(found[0], found[1], outside)
