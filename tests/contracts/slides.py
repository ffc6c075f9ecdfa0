"""Small OME-Zarr images and plates for the tasks of a newcomer, which the hosts' tests carry out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import zarrscope

NAMES = ("DAPI", "CD3", "CD4", "CD8", "CD20", "CD31", "CD45", "CD45RO", "CD68", "CK", "Ki67", "PD1")
"""The names of the channels of an image with many."""


def image(place: Path, names: tuple[str, ...], *, planes: int = 2, side: int = 16, version: str = "0.5") -> None:
    """An image with a channel for each name, at two levels."""
    axes: list[dict[str, Any]] = [{"name": "c", "type": "channel"}]
    axes += [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "zyx"]
    levels = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 0.2 * 2**k, 0.2 * 2**k]}]}
        for k in (0, 1)
    ]
    window = {"min": 0, "max": 255, "start": 0, "end": 200}
    channels = [{"label": name, "color": "FFFFFF", "window": window, "active": i < 3} for i, name in enumerate(names)]
    ome = {
        "version": version,
        "multiscales": [{"name": place.stem, "axes": axes, "datasets": levels}],
        "omero": {"channels": channels},
    }
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"ome": ome})
        for k in (0, 1):
            shape = (len(names), planes, side >> k, side >> k)
            made = h.create_array(f"/{k}", shape=shape, dtype="u1", chunks=(1, 1, 8, 8))
            made[...] = np.arange(1, 1 + shape[-1], dtype="u1")


def plate(place: Path, fields: int = 1, names: tuple[str, ...] = ("DAPI",)) -> None:
    """A plate of a row of three wells, the last one first in the document, as a microscope that goes back and forth
    writes them. Each has this number of fields, with a channel for each name."""
    wells = [{"path": f"A/{c + 1}", "rowIndex": 0, "columnIndex": c} for c in range(3)]
    stated = {"rows": [{"name": "A"}], "columns": [{"name": n} for n in "123"], "wells": wells[::-1], "version": "0.5"}
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "plate": stated}})
        for well in wells:
            images = [{"path": str(field)} for field in range(fields)]
            h.create_group(f"/{well['path']}", {"ome": {"version": "0.5", "well": {"images": images}}})
    for well in wells:
        for field in range(fields):
            image(place / str(well["path"]) / str(field), names)


def stored(folder: Path) -> list[dict[str, Any]]:
    """The OME-Zarr metadata of the images a, b and c in a folder, as they are stored."""
    return [json.loads((folder / f"{n}.zarr/zarr.json").read_text())["attributes"]["ome"] for n in "abc"]


def mended(folder: Path) -> set[tuple[float, str]]:
    """(size in z, name of the first channel) of the images in a folder."""
    return {
        (
            ome["multiscales"][0]["datasets"][1]["coordinateTransformations"][0]["scale"][1],
            ome["omero"]["channels"][0]["label"],
        )
        for ome in stored(folder)
    }
