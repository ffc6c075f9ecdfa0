"""The demo volume: a realistic OME-Zarr 0.5 image with labels, generated from a seed.

    make(folder, "small")   2 x 3 x 16 x 256 x 256, a second or two: for tests and a first look
    make(folder, "full")    2 x 3 x 64 x 1024 x 1024, about 800 MB of values

Axes t, c, z, y, x; channels nuclei, membranes, puncta; a pyramid by local mean that leaves z alone until the voxels are
cubes; the nuclei as labels. Zarr v3, sharded, zstd. Both sizes show the same scene (scene.py). The result is the same
to the last bit for any number of threads. The folder appears only when it is complete, and an existing one is kept.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from zarrscope.nodes.document_keys import attributes_pointer

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope_resources.scene import Scene

Size = Literal["small", "full"]
Progress = Callable[[int, int], None]
"""(pieces done, all pieces); called on worker threads, one call at a time. An exception that it raises cancels the
work."""

SEED = 2026
RECIPE = 1
"""Increased when the recipe changes, so that an older volume is recognised."""
SLAB = 32
"""Planes that are in memory at once, and that share a shard."""
LIGHT_PLANES = 16
"""Planes whose light is computed together. Fixed, because the last bit of a sine may depend on the number."""
TILE = 512
CHUNK = (8, 128, 128)
SECONDS_PER_FRAME = 90.0
MARK = "zarrscope-demo"


@dataclass(frozen=True)
class ChannelRecipe:
    label: str
    color: str
    window: tuple[int, int]
    photons: float
    """The photons from the brightest structures, except puncta, which have their own number."""
    haze: float
    """The photons from the cell body around them."""


CHANNELS = (
    ChannelRecipe("nuclei", "4876FF", (110, 1900), 150.0, 7.0),
    ChannelRecipe("membranes", "FF4096", (110, 1300), 95.0, 5.0),
    ChannelRecipe("puncta", "BEFF46", (120, 900), 0.0, 4.0),
)
DARK_PHOTONS = 1.2


@dataclass(frozen=True)
class Plan:
    """The parameters of a size. `levels`: elements of the finest level per element, along z, y, x."""

    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]
    levels: tuple[tuple[int, int, int], ...]
    steps: int = 2


PLANS: dict[str, Plan] = {
    "small": Plan((16, 256, 256), (2.0, 0.432, 0.432), ((1, 1, 1), (1, 2, 2), (1, 4, 4))),
    "full": Plan(
        (64, 1024, 1024), (0.5, 0.108, 0.108), ((1, 1, 1), (1, 2, 2), (1, 4, 4), (2, 8, 8), (4, 16, 16))
    ),
}  # fmt: skip


def make(folder: str | os.PathLike[str], size: Size = "full", progress: Progress | None = None) -> Path:
    """Makes the volume at `folder`, unless it exists already. Raises Conflict if `folder` contains anything else."""
    target = Path(folder).expanduser().absolute()
    if is_demo(target, size):
        return target
    _need_free(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent))
    try:
        _write(part / "volume", PLANS[size], size, progress)
        if not is_demo(target, size):
            _need_free(target)
            if target.exists():
                target.rmdir()
            os.rename(part / "volume", target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def is_demo(folder: Path, size: Size) -> bool:
    """Whether `folder` is a finished volume of this size and recipe."""
    import json

    try:
        document = json.loads((folder / "zarr.json").read_bytes())
        return bool(document["attributes"][MARK] == {"recipe": RECIPE, "size": size})
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _need_free(target: Path) -> None:
    from zarrscope.errors import Conflict

    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise Conflict(f"{target} exists and is not this demo volume", advice="Name another folder.")


class _Meter:
    def __init__(self, total: int, report: Progress | None) -> None:
        self.total, self.report, self.done = total, report, 0
        self._lock = threading.Lock()
        self.tick(0)

    def tick(self, n: int = 1) -> None:
        with self._lock:
            self.done += n
            if self.report is not None:
                self.report(self.done, self.total)


def _write(folder: Path, plan: Plan, size: Size, progress: Progress | None) -> None:
    import zarrscope
    from zarrscope.runtime import threads as background
    from zarrscope_resources.scene import Scene, blocks

    hierarchy = zarrscope.open(str(folder), mode="w-", dialect="v3")
    scenes = [Scene(step, plan.spacing, plan.shape, SEED) for step in range(plan.steps)]
    root = hierarchy.document("/")
    hierarchy.save("/", root.set(attributes_pointer(hierarchy, "/"), _image_attributes(plan, size)))
    hierarchy.create_group("/labels", attributes={"ome": {"version": "0.5", "labels": ["nuclei"]}})
    hierarchy.create_group("/labels/nuclei", attributes=_label_attributes(plan, scenes[0]))
    image = [_create(hierarchy, f"/{i}", plan, level, len(CHANNELS)) for i, level in enumerate(plan.levels)]
    labels = [_create(hierarchy, f"/labels/nuclei/{i}", plan, level, 1) for i, level in enumerate(plan.levels)]
    share = background.shared().share
    slabs = list(blocks(plan.shape[0], SLAB))
    tiles = [(y, x) for y in blocks(plan.shape[1], TILE) for x in blocks(plan.shape[2], TILE)]
    pieces = sum(-(-(s.stop - s.start) // LIGHT_PLANES) for s in slabs)
    meter = _Meter(plan.steps * (pieces + len(slabs) * len(tiles) * (len(CHANNELS) + 1)), progress)
    for scene in scenes:
        for slab in slabs:
            _Slab(scene, slab, plan, tiles, image, labels, meter, share).write()


class _Slab:
    """The planes z0 to z1 of one time point in all channels: first the light, then tile by tile the detector's
    counts."""

    def __init__(
        self,
        scene: Scene,
        planes: slice,
        plan: Plan,
        tiles: Sequence[tuple[slice, slice]],
        image: Sequence[Array],
        labels: Sequence[Array],
        meter: _Meter,
        share: Callable[[Sequence[Any], Callable[[Any], object]], None],
    ) -> None:
        self.scene, self.planes, self.plan, self.tiles = scene, planes, plan, tiles
        self.image, self.labels, self.meter, self.share = image, labels, meter, share
        self.light: list[Any] = []

    def write(self) -> None:
        from zarrscope_resources.scene import blocks

        height = self.planes.stop - self.planes.start
        parts: dict[int, Any] = {}

        def illuminate(part: slice) -> None:
            parts[part.start] = self.scene.light(self.planes.start + part.start, self.planes.start + part.stop)
            self.meter.tick()

        self.share(list(blocks(height, LIGHT_PLANES)), illuminate)
        self.light = [np.concatenate([parts[z][i] for z in sorted(parts)]) for i in range(5)]
        # Coarser levels are collected here, because one of their shards spans several tiles.
        finer = tuple(-(-n // f) for n, f in zip((height, *self.plan.shape[1:]), self.plan.levels[1], strict=True))
        gathered = [np.zeros(finer, np.uint16) for _ in (*CHANNELS, None)]
        jobs = [(c, y, x) for c in range(len(gathered)) for y, x in self.tiles]
        self.share(jobs, lambda job: self._tile(job[0], job[1], job[2], gathered[job[0]]))
        self.share(list(range(len(gathered))), lambda c: self._coarser(c, gathered[c]))

    def _tile(self, c: int, y: slice, x: slice, gathered: Any) -> None:
        from zarrscope_resources.scene import drawn_out, halved

        step = self.plan.levels[1]
        nuclei, membranes, body, depth, owner = self.light
        if c == len(CHANNELS):
            cells = owner[:, np.arange(y.start, y.stop) // 2][:, :, np.arange(x.start, x.stop) // 2]
            block = np.where(drawn_out(depth, y, x) > 0, cells, 0).astype(np.uint16)
            self.labels[0][self.scene.step, 0, self.planes, y, x] = block
            coarser = block[:: step[0], :: step[1], :: step[2]]
        else:
            recipe = CHANNELS[c]
            photons = drawn_out(body, y, x) * np.float32(recipe.haze)
            photons += np.float32(DARK_PHOTONS)
            if recipe.photons:
                photons += drawn_out((nuclei, membranes)[c], y, x) * np.float32(recipe.photons)
            else:
                photons += self.scene.puncta((self.planes, y, x))
            block = self.scene.exposed(photons, (c, self.planes.start, y.start, x.start))
            self.image[0][self.scene.step, c, self.planes, y, x] = block
            coarser = halved(block, step)
        gathered[:, y.start // step[1] : -(-y.stop // step[1]), x.start // step[2] : -(-x.stop // step[2])] = coarser
        self.meter.tick()

    def _coarser(self, c: int, volume: Any) -> None:
        from zarrscope_resources.scene import halved

        for i, level in enumerate(self.plan.levels[1:], 1):
            if i > 1:
                z, y, x = (b // a for a, b in zip(self.plan.levels[i - 1], level, strict=True))
                step = z, y, x
                volume = volume[:: step[0], :: step[1], :: step[2]] if c == len(CHANNELS) else halved(volume, step)
            start = self.planes.start // level[0]
            array, channel = (self.labels[i], 0) if c == len(CHANNELS) else (self.image[i], c)
            array[self.scene.step, channel, start : start + volume.shape[0]] = volume


# ---------------------------------------------------------------------- metadata
def _create(hierarchy: Hierarchy, path: str, plan: Plan, level: tuple[int, int, int], channels: int) -> Array:
    shape = tuple(-(-n // f) for n, f in zip(plan.shape, level, strict=True))
    slab = min(SLAB // level[0], shape[0])
    chunk = tuple(min(c, n) for c, n in zip(CHUNK, (slab, *shape[1:]), strict=True))
    return hierarchy.create_array(
        path,
        shape=(plan.steps, channels, *shape),
        dtype="uint16",
        chunks=(1, 1, *chunk),
        shards=(1, 1, slab, *(min(TILE, n) for n in shape[1:])),
        codecs=[
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "zstd", "configuration": {"level": 1, "checksum": False}},
        ],
        dimension_names=("t", "c", "z", "y", "x"),
    )


def _multiscale(plan: Plan, name: str, method: str, mean: bool) -> dict[str, Any]:
    """`mean`: the position of an element of a coarser level is the middle of its block, otherwise that of the first
    element."""
    axes: list[dict[str, str]] = [
        {"name": "t", "type": "time", "unit": "second"},
        {"name": "c", "type": "channel"},
        *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"),
    ]
    datasets = []
    for i, level in enumerate(plan.levels):
        scale = [SECONDS_PER_FRAME, 1.0, *(round(s * f, 6) for s, f in zip(plan.spacing, level, strict=True))]
        steps: list[dict[str, Any]] = [{"type": "scale", "scale": scale}]
        shift = [round(s * (f - 1) / 2, 6) if mean else 0.0 for s, f in zip(plan.spacing, level, strict=True)]
        if any(shift):
            steps.append({"type": "translation", "translation": [0.0, 0.0, *shift]})
        datasets.append({"path": str(i), "coordinateTransformations": steps})
    about = {"method": "zarrscope demo", "version": str(RECIPE)}
    return {"name": name, "axes": axes, "datasets": datasets, "type": method, "metadata": about}


def _image_attributes(plan: Plan, size: Size) -> dict[str, Any]:
    channels = [
        {
            "label": c.label,
            "color": c.color,
            "active": True,
            "window": {"min": 0, "max": 4095, "start": c.window[0], "end": c.window[1]},
        }
        for c in CHANNELS
    ]
    omero = {
        "name": "organoids",
        "channels": channels,
        "rdefs": {"defaultT": 0, "defaultZ": plan.shape[0] // 2, "model": "color"},
    }
    ome = {"version": "0.5", "multiscales": [_multiscale(plan, "organoids", "local mean", True)], "omero": omero}
    about = "Two organoids: simulated, not measured. Made by zarrscope from a seed."
    return {"ome": ome, "description": about, MARK: {"recipe": RECIPE, "size": size}}


def _label_attributes(plan: Plan, scene: Scene) -> dict[str, Any]:
    import colorsys

    colors, properties = [], []
    for cell in scene.cells:
        hue = (cell.number * 0.6180339887498949) % 1
        rgb = colorsys.hsv_to_rgb(hue, 0.55 + 0.35 * ((cell.number * 0.7548776662466927) % 1), 0.95)
        colors.append({"label-value": cell.number, "rgba": [*(round(255 * v) for v in rgb), 255]})
        state = "dividing" if cell.dividing else "interphase"
        properties.append({"label-value": cell.number, "organoid": cell.organoid + 1, "state": state})
    label = {"version": "0.5", "colors": colors, "properties": properties, "source": {"image": "../../"}}
    multiscale = _multiscale(plan, "nuclei", "nearest", False)
    return {"ome": {"version": "0.5", "multiscales": [multiscale], "image-label": label}}
