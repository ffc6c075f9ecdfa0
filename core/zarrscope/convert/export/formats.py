"""The export formats, the values that each can hold, and the estimated size of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from zarrscope.convert.export.source import ExportSource
from zarrscope.errors import Refused, Unsupported
from zarrscope.errors.installing import how_to_install


@dataclass(frozen=True)
class Format:
    """A file format. `endings`: file name endings, the usual one first. `picture`: whether it can hold the colours on
    screen. `values`: whether it can hold the values of an array."""

    id: str
    title: str
    endings: tuple[str, ...]
    picture: bool = False
    values: bool = True


FORMATS = (
    Format("png", "PNG", (".png",), picture=True, values=False),
    Format("ome-tiff", "OME-TIFF", (".ome.tif", ".ome.tiff")),
    Format("tiff", "TIFF", (".tif", ".tiff"), picture=True),
    Format("npy", "npy (numpy)", (".npy",)),
    Format("csv", "CSV", (".csv",)),
    Format("zarr", "Zarr v3", (".zarr", ".ome.zarr")),
)
CELLS = 10_000_000
"""The most values of a CSV."""
CELL_BYTES = 9
"""The approximate bytes of a value in a CSV, with its comma."""
LETTERS = "TZC"
"""TIFF's letters for the axes besides Y and X: time, depth, channel."""
MICROMETERS = {
    "angstrom": 1e-4,
    "centimeter": 1e4,
    "inch": 25400.0,
    "meter": 1e6,
    "micrometer": 1.0,
    "micron": 1.0,
    "millimeter": 1e3,
    "nanometer": 1e-3,
    "picometer": 1e-6,
}
"""Micrometers per unit of length, for the units that metadata may name."""


@dataclass(frozen=True)
class ExportPlan:
    """The plan of an export. `nbytes`: the size of the values; `file_nbytes`: the size of the file, estimated if it is
    compressed.
    """

    source: ExportSource
    format: Format
    target: str
    letters: str
    """For a TIFF: one letter for each axis of the values, such as "CYX"."""
    nbytes: int
    file_nbytes: int
    exact: bool
    """Whether `file_nbytes` is right to a few kilobytes."""
    notes: tuple[str, ...]
    """Sentences about information that the format cannot hold."""
    spelling: Callable[[object], str] | None = None
    """For a CSV: the function that writes a value as text; by default the text reads back as the same value."""


def format_of(target: str, id: str | None = None) -> Format:
    """The format with this id; without an id, the format that the ending of `target` means. Raises Refused."""
    for found in FORMATS:
        if found.id == id if id is not None else target.lower().endswith(found.endings):
            return found
    endings = ", ".join(ending for found in FORMATS for ending in found.endings[:1])
    name = id or os.path.basename(target)
    raise Refused(f"No format is known for {name!r}", advice=f"Give the name one of these endings: {endings}.")


def plan(
    source: ExportSource,
    target: str,
    format: Format | None = None,
    *,
    spelling: Callable[[object], str] | None = None,
) -> ExportPlan:
    """Plans the export of values. Reads nothing. `spelling`: see ExportPlan.

    Raises Refused if the format cannot hold the values, Unsupported if a package is missing.
    """
    chosen = format or format_of(target)
    if not chosen.values:
        raise Refused(f"{chosen.title} holds a picture, no values", advice="Export the view, or choose another format.")
    notes: list[str] = []
    letters = ""
    file_nbytes, exact = source.nbytes, True
    if chosen.id in ("tiff", "ome-tiff"):
        need_tifffile()
        letters = tiff_letters(source, notes)
        stored = tiff_dtype(source.dtype, chosen.id, notes)
        file_nbytes = prod(source.shape) * stored.itemsize
    elif chosen.id == "csv":
        if prod(source.shape) > CELLS:
            raise Refused(
                f"A CSV of {prod(source.shape):,} values would be too large to use",
                advice="Select less, or export npy.",
            )
        file_nbytes, exact = prod(source.shape) * CELL_BYTES, False
    elif chosen.id == "zarr" or source.dtype == object:
        exact = False
    return ExportPlan(source, chosen, target, letters, source.nbytes, file_nbytes, exact, tuple(notes), spelling)


def need_tifffile() -> None:
    """Raises Unsupported if tifffile is not installed."""
    from importlib.util import find_spec

    if find_spec("tifffile") is None:
        raise Unsupported(
            "Writing a TIFF needs a package that is not installed: tifffile",
            feature="tifffile",
            advice=how_to_install("export") + ".",
        )


def tiff_letters(source: ExportSource, notes: list[str]) -> str:
    """Chooses T, Z, C, Y or X for each axis of the values. Raises Refused for fewer than two axes, more than five, or
    no values."""
    axes = source.axes
    if len(axes) < 2:
        raise Refused("A TIFF needs two axes or more", advice="Export npy or CSV.")
    if 0 in source.shape:
        raise Refused("A TIFF needs at least one pixel, and nothing is selected", advice="Export npy or CSV.")
    found: dict[int, str] = {}
    names = [axis.name.lower() for axis in axes]
    rows, columns = (names.index("y"), names.index("x")) if {"y", "x"} <= {*names} else (len(axes) - 2, len(axes) - 1)
    found[rows], found[columns] = "Y", "X"
    for i, axis in enumerate(axes):
        letter = {"time": "T", "channel": "C"}.get(axis.type, names[i].upper() if names[i].upper() in LETTERS else "")
        if i not in found and letter and letter not in found.values():
            found[i] = letter
    for i in reversed(range(len(axes))):
        if i in found:
            continue
        free = [letter for letter in "ZTC" if letter not in found.values()]
        if not free:
            raise Refused(
                f"A TIFF has five axes, and none is left for {axes[i].name}", advice="Choose one index of it."
            )
        found[i] = free[0]
        notes.append(f"The axis {axes[i].name} is written as {free[0]}.")
    return "".join(found[i] for i in range(len(axes)))


def tiff_dtype(dtype: np.dtype[Any], format: str, notes: list[str]) -> np.dtype[Any]:
    """The dtype in which a TIFF stores the values. Raises Refused for values that a TIFF cannot hold."""
    kind, size = dtype.kind, dtype.itemsize
    if dtype.names is not None or kind not in "buifc":
        raise Refused(f"A TIFF cannot hold values of type {dtype}", advice="Export npy, CSV or Zarr.")
    if kind == "b":
        notes.append("True and false are written as 1 and 0.")
        return np.dtype(np.uint8)
    if kind == "f" and size == 2:
        notes.append("Floats of 16 bits are written with 32 bits.")
        return np.dtype(np.float32)
    if (kind in "iu" and size == 8) and format == "ome-tiff":
        raise Refused(f"OME-TIFF has no type {dtype}", advice="Choose a name that ends in .tif, or export Zarr.")
    if size > (16 if kind == "c" else 8):
        raise Refused(f"A TIFF cannot hold values of type {dtype}", advice="Export npy or Zarr.")
    return dtype.newbyteorder("=")


def micrometers(source: ExportSource, axis: int) -> float | None:
    """The size of a pixel along an axis; None if the metadata give no unit of length."""
    unit = source.axes[axis].unit
    return source.scale[axis] * MICROMETERS[unit] if unit in MICROMETERS else None
