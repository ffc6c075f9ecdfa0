"""Images of the conformance archive with pixel size, channel name, colour and window edited through the form:
ome-zarr-models finds them valid, and ome-zarr-py and napari-ome-zarr read the values that were entered."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from one_form import OneForm
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import Mailbox

pytestmark = [pytest.mark.needs("ome", "cases"), pytest.mark.timeout(600)]

IMAGES = (
    "generated/ome-zarr-py/plate_0.4.ome.zarr/A/1/0",
    "generated/ome-zarr-py-0.10/img_0.1.ome.zarr",
    "generated/ome-zarr-py-0.10/img_0.3.ome.zarr",
    "generated/ome-zarr-py-0.10/img_0.4.ome.zarr",
    "generated/ome-zarr-py-0.10/plate_0.2.ome.zarr/A/1/0",
    "generated/ngff-zarr/img_0.4.ome.zarr",
    "generated/ngff-zarr/img_0.5.ome.zarr",
    "generated/ngff-zarr/img_0.6.ome.zarr",
    "real/ome-zarr-py/data/v1",
    "real/ome-zarr-py/data/v2",
    "real/zarr-java/ome/v0.5_hcs/A/1/0",
    "real/viv/bf/data.zarr/0",
    "real/neuroglancer/ome/simple_0.4",
    "real/neuroglancer/ome/simple_0.5",
    "real/neuroglancer/ome/0.6/basic/identity.zarr",
    "real/neuroglancer/ome/0.6/basic/scale.zarr",
    "real/ome-zarr-fiji/td/bioformats2raw_testing/bf2raw_dataset_v5.ome.zarr/0",
    "real/ome-zarr-fiji/td/single_resolution_testing/single_resolution_dataset_v5.ome.zarr",
    "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v4.zarr",
    "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v5.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyt/3d_dataset_v4.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyt/3d_dataset_v5.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyc/3d_dataset_v4.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyc/3d_dataset_v5.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyz/3d_dataset_v4.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyz/3d_dataset_v5.ome.zarr",
    "real/mobie/mri-stack.ome.zarr",
    "real/mobie/single-plane-hcs.zarr/E/07/0",
    "real/mobie/image.ome.zarr",
    "real/n5-ij/v0.5.ome.zarr/Tonsil1.zarr",
    "real/n5-ij/v0.5.ome.zarr/180712_H2B_22ss_Courtney1_20180712-163837_p00_c00_preview.zarr",
    "real/n5-ij/v0.5.ome.zarr/4496763.zarr",
)
"""OME-Zarr 0.1 to 0.6 of eleven writers."""

COLOUR = [0x20 / 255, 0xA0 / 255, 0xF0 / 255]
LEAST = {
    "valid": 28, "ome-zarr-py": 31, "channels of ome-zarr-py": 15, "napari-ome-zarr": 28,
    "channels of napari-ome-zarr": 13,
}  # fmt: skip
"""The least number of images that each program finds valid or reads. ome-zarr-models 1.7 has no public model of 0.6;
napari-ome-zarr 0.10 reads no label images of 0.1 to 0.3, nor transformations of 0.6 whose output is a text."""

_READ = """
import json, sys, traceback
from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from napari_ome_zarr._reader import napari_get_reader
import ome_zarr_models.v04.image, ome_zarr_models.v05.image

def validated(attributes):
    ome = attributes.get("ome")
    version = ome["version"] if ome else attributes["multiscales"][0].get("version")
    if version == "0.5":
        ome_zarr_models.v05.image.ImageAttrs.model_validate(ome)
    elif version == "0.4":
        ome_zarr_models.v04.image.ImageAttrs.model_validate(attributes)
    else:
        return None
    return "valid"

def read_by_ome_zarr(place):
    node = next(iter(Reader(parse_url(place))()))
    told = node.metadata
    return {
        "scale": told["coordinateTransformations"][0][0]["scale"],
        **{name: told.get(name) for name in ("channel_names", "contrast_limits", "colormap")},
    }

def read_by_napari(place):
    data, told, kind = napari_get_reader(place)(place)[0]
    colours = told.get("colormap")
    return {
        "scale": list(map(float, told["scale"])), "axis": told.get("channel_axis"), "name": told.get("name"),
        "contrast_limits": told.get("contrast_limits"),
        "colors": [list(map(float, each.colors[-1][:3])) for each in colours] if isinstance(colours, list) else None,
    }

def told(read, *asked):
    try:
        return {"read": read(*asked)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}

found = []
for place, attributes in json.loads(sys.stdin.read()):
    found.append({
        "models": told(validated, attributes), "ome": told(read_by_ome_zarr, place),
        "napari": told(read_by_napari, place),
    })
print(json.dumps(found, default=str))
"""


def read_by_others(python: Path, places: list[Path]) -> list[dict[str, Any]]:
    asked = [(str(place), dict(zarrscope.open(place).root.attributes)) for place in places]
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", _READ], input=json.dumps(asked),
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


@frozen
class Entered:
    """The edits of an image: pixel sizes by the number of the axis, and whether the first channel was edited."""

    sizes: dict[int, float]
    channel: bool


def entered(place: Path, mailbox: Mailbox) -> Entered:
    """Types a size for every axis of space, and a name, a colour and a window for the first channel if the form has
    one; saves."""
    form = OneForm(place, mailbox)
    try:
        assert form.show("/", "image"), form.edit.state.sentence
        edit, sizes = form.edit, dict[int, float]()
        edit.edit("linked", "false")
        pixels = next(section for section in edit.state.sections if section.id == "pixels")
        fields = [field.pointer for row in pixels.rows for field in row.fields if field.pointer.startswith("size/")]
        for place_of, id in enumerate(fields):
            sizes[int(id.partition("/")[2])] = value = 0.125 * (place_of + 1)
            edit.edit(id, str(value))
        has_channel = edit.field("channel/0/label") is not None
        if has_channel:
            for name, text in (("label", "typed"), ("color", "20A0F0"), ("end", "77"), ("start", "3")):
                edit.edit(f"channel/0/{name}", text)
        assert form.save(), edit.state.sentence
        return Entered(sizes, has_channel)
    finally:
        form.close()


def test_others_read_the_values_that_were_entered(ome: Path, unpacked: Path, tmp_path: Path, mailbox: Mailbox) -> None:
    old, new = ([tmp_path / kind / str(i) for i in range(len(IMAGES))] for kind in ("old", "new"))
    for name, *copies in zip(IMAGES, old, new, strict=True):
        for copy in copies:
            shutil.copytree(unpacked / str(name), copy)
    typed = [entered(place, mailbox) for place in new]
    former, told = read_by_others(ome, old), read_by_others(ome, new)
    counts: Counter[str] = Counter()
    for name, wanted, before, after in zip(IMAGES, typed, former, told, strict=True):
        # A fault that was there before the edit is not one of the form: some images are faulty, or of a newer version
        for reader, read in after.items():
            assert "read" in read or "error" in before[reader], (name, reader, before[reader], read)
        counts["valid"] += after["models"].get("read") == "valid"
        if found := after["ome"].get("read"):
            counts["ome-zarr-py"] += 1
            assert {i: found["scale"][i] for i in wanted.sizes} == wanted.sizes, name
            if wanted.channel:
                counts["channels of ome-zarr-py"] += 1
                assert (found["channel_names"][0], found["contrast_limits"][0]) == ("typed", [3, 77]), name
                assert found["colormap"][0][1] == pytest.approx(COLOUR), name
        if found := after["napari"].get("read"):
            counts["napari-ome-zarr"] += 1
            sizes = [wanted.sizes[i] for i in sorted(wanted.sizes)]
            assert found["scale"][-len(sizes) :] == pytest.approx(sizes), name
            if wanted.channel and found["axis"] is not None:
                counts["channels of napari-ome-zarr"] += 1
                assert found["name"][0].rpartition(": ")[2] == "typed", name
                assert found["contrast_limits"][0] == [3, 77], name
                assert found["colors"][0] == pytest.approx(COLOUR, abs=1e-3), name
    assert all(counts[each] >= least for each, least in LEAST.items()), counts
