"""OME-Zarr that conversion writes, opened by ome-zarr-py and napari-ome-zarr: real images of the archive, and pyramids.

The digest of the values that they read is compared with that of the source.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope import convert
from zarrscope.view.image import find_images

pytestmark = [pytest.mark.needs("ome"), pytest.mark.timeout(240)]

REAL = (
    "real/neuroglancer/ome/simple_0.4",
    "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v4.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyt/3d_dataset_v4.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyc/3d_dataset_v4.ome.zarr",
    "real/mobie/image.ome.zarr",
)
"""OME-Zarr 0.4 of real writers."""

_READ = """
import hashlib, json, sys
import numpy as np
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from napari_ome_zarr._reader import napari_get_reader

def digest(values):
    values = np.ascontiguousarray(values)
    return [list(values.shape), values.dtype.str, hashlib.sha256(values.tobytes()).hexdigest()]

found = {}
for place in sys.argv[1:]:
    location = parse_url(place)
    nodes = list(Reader(location)())
    layers = napari_get_reader(place)(place)
    found[place] = {
        "format": location.fmt.version,
        "levels": [digest(np.asarray(level)) for level in nodes[0].data],
        "metadata": {k: v for k, v in nodes[0].metadata.items() if k in ("name", "axes", "coordinateTransformations")},
        "napari": [
            [digest(np.asarray(level)) for level in (data if isinstance(data, (list, tuple)) else [data])]
            for data, _, _ in layers
        ],
    }
print(json.dumps(found, default=str))
"""


def read_by_others(python: Path, *places: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", _READ, *map(str, places)],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return [told[str(place)] for place in places]


def digest(values: np.ndarray[Any, Any]) -> list[Any]:
    return [list(values.shape), values.dtype.str, hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()]


@pytest.mark.needs("cases")
def test_five_real_images_of_0_4_become_0_5_and_are_opened(unpacked: Path, ome: Path, tmp_path: Path) -> None:
    places = [tmp_path / str(i) for i in range(len(REAL))]
    wanted = []
    for name, place in zip(REAL, places, strict=True):
        source = zarrscope.open(unpacked / name)
        (image,) = find_images(source.root)
        assert image.version == "0.4"
        assert convert.run(convert.plan(source, str(place), "v3")).verified
        wanted.append([digest(level.array[...]) for level in image.levels])
    for told, levels in zip(read_by_others(ome, *places), wanted, strict=True):
        assert told["format"] == "0.5"
        assert told["levels"] == levels
        assert len(told["napari"]) >= 1
    assert sum(map(len, wanted)) >= 10


@pytest.mark.parametrize("dialect", ["v3", "v2"])
def test_pyramids_are_opened(dialect: str, ome: Path, tmp_path: Path) -> None:
    source = zarrscope.open(tmp_path / "old", "w-")
    values = np.random.default_rng(8).integers(0, 65535, (3, 10, 70, 90)).astype("u2")
    array = source.create_array("/a", shape=values.shape, dtype="u2", chunks=(1, 5, 32, 32))
    array[...] = values
    wanted = convert.Pyramid(levels=3, axes=("c", "z", "y", "x"))
    convert.run(convert.plan(source, str(tmp_path / "new"), dialect, path="/a", pyramid=wanted))
    (image,) = find_images(zarrscope.open(tmp_path / "new").root)
    (told,) = read_by_others(ome, tmp_path / "new")
    assert told["format"] == ("0.5" if dialect == "v3" else "0.4")
    assert told["levels"] == [digest(level.array[...]) for level in image.levels]
    assert [level[0] for level in told["napari"][0]] == [[3, 10, 70, 90], [3, 5, 35, 45], [3, 3, 18, 23]]
    second = told["metadata"]["coordinateTransformations"][1]
    assert second == [
        {"type": "scale", "scale": [1.0, 2.0, 2.0, 2.0]},
        {"type": "translation", "translation": [0.0, 0.5, 0.5, 0.5]},
    ]
