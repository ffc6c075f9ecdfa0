"""Writes TIFF and OME-TIFF with tifffile: each plane, or each tile of a large plane, is written once it is read.

If its data type and size allow that, a plain TIFF is written so that ImageJ and Fiji open it as a hyperstack with its
pixel size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarrscope.convert.export.formats import ExportPlan, micrometers, tiff_dtype
from zarrscope.convert.export.source import ExportSource
from zarrscope.runtime.tuning import EXPORTED_PLANE_BYTES

TILE = 512
BIG = 1 << 32
"""Above this size, less the margin ROOM for the header, a TIFF needs 64-bit offsets."""
ROOM = 1 << 25
IMAGEJ = ("|u1", "<u2", "<f4", ">u2", ">f4")
IMAGEJ_ORDER = "TZCYX"
OME_UNITS = {
    "angstrom": "Å", "centimeter": "cm", "inch": "in", "meter": "m", "micrometer": "µm", "micron": "µm",
    "millimeter": "mm", "nanometer": "nm", "picometer": "pm",
    "day": "d", "hour": "h", "microsecond": "µs", "millisecond": "ms", "minute": "min", "nanosecond": "ns",
    "second": "s",
}  # fmt: skip


OME_SIZES = (("X", "PhysicalSizeX"), ("Y", "PhysicalSizeY"), ("Z", "PhysicalSizeZ"), ("T", "TimeIncrement"))


def write_tiff(plan: ExportPlan, path: str, read: Callable[..., Iterator[Any]]) -> None:
    """Writes the values of a plan, whose format is TIFF or OME-TIFF."""
    import tifffile

    source, ome = plan.source, plan.format.id == "ome-tiff"
    dtype = tiff_dtype(source.dtype, plan.format.id, [])
    nbytes = prod(source.shape) * dtype.itemsize
    tiled = _plane_bytes(plan, dtype) > EXPORTED_PLANE_BYTES
    imagej = not ome and dtype.str in IMAGEJ and not tiled and nbytes < BIG - ROOM
    letters = IMAGEJ_ORDER if imagej else _order(plan.letters)
    shape = tuple(source.shape[plan.letters.index(letter)] if letter in plan.letters else 1 for letter in letters)
    options: dict[str, Any] = {
        "shape": shape,
        "dtype": dtype,
        "photometric": "minisblack",
        "metadata": _metadata(plan, letters, imagej=imagej, ome=ome),
    }
    sizes = [micrometers(source, plan.letters.index(letter)) for letter in "XY"]
    if all(size is not None and size > 0 for size in sizes):
        across, down = (1.0 / size for size in sizes if size)
        options["resolution"] = (across, down) if imagej else (across * 1e4, down * 1e4)
        options["resolutionunit"] = "NONE" if imagej else "CENTIMETER"
    if tiled:
        options["tile"] = (TILE, TILE)
    planes = _tiles(plan, letters, dtype, read) if tiled else _planes(plan, letters, dtype, read)
    with tifffile.TiffWriter(path, imagej=imagej, ome=ome, bigtiff=nbytes >= BIG - ROOM) as writer:
        writer.write(planes, **options)


def _plane_bytes(plan: ExportPlan, dtype: np.dtype[Any]) -> int:
    return prod(plan.source.shape[plan.letters.index(letter)] for letter in "YX") * dtype.itemsize


def _order(letters: str) -> str:
    """The axes in the order of writing, the two axes of the plane last."""
    return "".join(letter for letter in letters if letter not in "YX") + "YX"


def _regions(plan: ExportPlan, letters: str) -> Iterator[list[tuple[int, int]]]:
    """Yields the region of each plane, in the order of the file."""
    source = plan.source
    lead = [plan.letters.index(letter) for letter in letters[:-2] if letter in plan.letters]
    for place in product(*(range(source.shape[axis]) for axis in lead)):
        region = [(0, length) for length in source.shape]
        for axis, index in zip(lead, place, strict=True):
            region[axis] = (index, index + 1)
        yield region


def _flat(plan: ExportPlan, values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The values of a region of one plane as an array of rows and columns."""
    rows, columns = plan.letters.index("Y"), plan.letters.index("X")
    plane = values.reshape([n for axis, n in enumerate(values.shape) if axis in (rows, columns)])
    return np.ascontiguousarray(plane.T if rows > columns else plane, dtype)


def _planes(
    plan: ExportPlan, letters: str, dtype: np.dtype[Any], read: Callable[..., Iterator[Any]]
) -> Iterator[NDArray[Any]]:
    for _, values in read(_regions(plan, letters)):
        yield _flat(plan, values, dtype)


def _tiles(
    plan: ExportPlan, letters: str, dtype: np.dtype[Any], read: Callable[..., Iterator[Any]]
) -> Iterator[NDArray[Any]]:
    """Yields the tiles of all planes, which are read in bands as high as a tile."""
    rows, columns = plan.letters.index("Y"), plan.letters.index("X")
    height, width = plan.source.shape[rows], plan.source.shape[columns]

    def bands() -> Iterator[list[tuple[int, int]]]:
        for region in _regions(plan, letters):
            for top in range(0, height, TILE):
                region[rows] = (top, min(top + TILE, height))
                yield list(region)

    for _, values in read(bands()):
        band = _flat(plan, values, dtype)
        for left in range(0, width, TILE):
            tile = np.zeros((TILE, TILE), dtype)
            part = band[:, left : left + TILE]
            tile[: part.shape[0], : part.shape[1]] = part
            yield tile


def _metadata(plan: ExportPlan, letters: str, *, imagej: bool, ome: bool) -> dict[str, Any]:
    source = plan.source
    metadata: dict[str, Any] = {"axes": letters}
    names = [channel.label for channel in source.channels] if "C" in plan.letters else []
    if imagej:
        z = micrometers(source, plan.letters.index("Z")) if "Z" in plan.letters else None
        metadata |= {"spacing": z} if z is not None else {}
        if micrometers(source, plan.letters.index("X")) is not None:
            metadata["unit"] = "micron"  # the spelling of Fiji, of which some versions cannot read "µm"
        time = plan.letters.find("T")
        if time >= 0 and source.axes[time].unit == "second":
            metadata["finterval"] = source.scale[time]
        if names:
            metadata["Labels"] = _labels(source, plan, letters, names)
        return metadata
    if ome:
        metadata["Name"] = source.name
        for letter, member in OME_SIZES:
            axis = plan.letters.find(letter)
            unit = OME_UNITS.get(source.axes[axis].unit or "") if axis >= 0 else None
            if unit is not None:
                metadata[member], metadata[f"{member}Unit"] = source.scale[axis], unit
        if names:
            colors = [_rgba(channel.color) for channel in source.channels]
            metadata["Channel"] = {"Name": names, "Color": colors}
    return metadata


def _rgba(color: tuple[int, int, int] | None) -> int:
    """An opaque colour as OME-XML states it: RGBA in a signed 32-bit integer."""
    red, green, blue = color or (255, 255, 255)
    value = red << 24 | green << 16 | blue << 8 | 255
    return value - (1 << 32) if value >= 1 << 31 else value


def _labels(source: ExportSource, plan: ExportPlan, letters: str, names: list[str]) -> list[str]:
    """For each plane, the name of its channel. ImageJ shows it above the picture."""
    lead = [plan.letters.index(letter) if letter in plan.letters else -1 for letter in letters[:-2]]
    ranges = [range(source.shape[axis]) if axis >= 0 else range(1) for axis in lead]
    at = letters.index("C")
    return [names[place[at]] for place in product(*ranges)]
