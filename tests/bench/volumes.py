"""The volumes that are read: one picture in many layouts, made once and kept in a folder.

    Volumes(folder, shape).need(FORMS["zstd 64"])      -> the path of the store, made now if it is not there

The picture: blobs on a background, with the shot noise of a camera; it compresses to about a half. Every form holds
the same bytes in the same order, whatever its shape, so that `Volumes.expected` is what any read of it must give.
zarr-python 3 writes what it can; the drafts of v3, which nobody else writes today, are written by zarrscope, and
zarr-python 2.18 reads the one it knows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]
FULL: Shape = (128, 512, 512)
"""64 MiB of uint16."""
QUICK: Shape = (128, 128, 128)
Compression = Literal["blosc-lz4", "blosc-zstd", "zstd", "gzip", "raw"]


@dataclass(frozen=True)
class Form:
    """One layout of the picture. `reshape` gives the array's shape from the volume's, `chunks` the chunk shape."""

    name: str
    compression: Compression
    chunks: Callable[[Shape], Shape]
    dialect: str = "v3"
    reshape: Callable[[Shape], Shape] = lambda volume: volume
    shards: Callable[[Shape], Shape] | None = None
    order: Literal["C", "F"] = "C"
    byte_order: Literal["<", ">"] = "<"
    delta: bool = False
    node: str = ""
    """Where in the store the array is; "" for the root."""
    part: int = 1
    """Only this fraction of the volume is stored."""

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "_").replace("^", "")


def cube(edge: int) -> Callable[[Shape], Shape]:
    return lambda shape: tuple(min(edge, n) for n in shape)


def quarters(shape: Shape) -> Shape:
    """The shape of four shards, in multiples of 32."""
    return (shape[0], *(max(32, n // 2) for n in shape[1:]))


def five(volume: Shape) -> Shape:
    return (2, 2, volume[0] // 4, *volume[1:])


def flat(volume: Shape) -> Shape:
    return (prod(volume),)


def sheet(volume: Shape) -> Shape:
    return (volume[0] * volume[1] // 8, volume[2] * 8)


FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("v2 blosc-lz4 64^3", "blosc-lz4", cube(64), "v2"),
        Form("v2 blosc-lz4 128^3", "blosc-lz4", cube(128), "v2"),
        Form("v3 zstd 64^3", "zstd", cube(64)),
        Form("v3 blosc-zstd bitshuffle 64^3", "blosc-zstd", cube(64)),
        Form("v3 gzip 128^3", "gzip", cube(128)),
        Form("v3 raw 64^3", "raw", cube(64)),
        Form("v3 planes zstd", "zstd", lambda shape: (1, *shape[1:])),
        Form("v3 shards zstd 32^3", "zstd", cube(32), shards=quarters),
        Form("v3 tiny zstd 16^3", "zstd", cube(16), part=4),
        Form("v2 F order blosc-lz4", "blosc-lz4", cube(64), "v2", order="F"),
        Form("v3 big-endian zstd", "zstd", cube(64), byte_order=">"),
        Form("v2 delta zstd", "zstd", cube(64), "v2", delta=True),
        Form("v3 1-D zstd", "zstd", cube(1 << 18), reshape=flat),
        Form("v3 2-D tiles zstd", "zstd", cube(512), reshape=sheet),
        Form("draft 2022 zstd 64^3", "zstd", cube(64), "draft-2022-05", node="a"),
        Form("draft 2020 blosc-lz4 64^3", "blosc-lz4", cube(64), "draft-2020", node="a"),
        Form(
            "OME-Zarr 5-D v2 blosc-lz4",
            "blosc-lz4",
            lambda shape: (1, 1, *(min(256, n) for n in shape[2:])),
            "v2",
            reshape=five,
            node="0",
        ),
    )
}


class Volumes:
    """The folder of the volumes. An incomplete one is made again."""

    def __init__(self, folder: Path, shape: Shape = FULL) -> None:
        self.shape = shape
        self.folder = folder / "x".join(map(str, shape))
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def picture(self) -> Path:
        """The .npy file of the whole volume."""
        path = self.folder / "picture.npy"
        return _whole(path, lambda part: _save(part, picture(self.shape)))

    def expected(self, form: Form) -> NDArray[np.uint16]:
        """The values of a full read."""
        volume: NDArray[np.uint16] = np.load(self.picture, mmap_mode="r")
        return volume[: self.shape[0] // form.part].reshape(self.shape_of(form))

    def shape_of(self, form: Form) -> Shape:
        return form.reshape((self.shape[0] // form.part, *self.shape[1:]))

    def need(self, form: Form) -> Path:
        """The path of the store with this layout, which is made if it is missing."""
        return _whole(self.folder / form.folder, lambda part: write(form, part, self.expected(form)))

    def need_as(self, name: str, make: Callable[[Path], object]) -> Path:
        """The path of another thing that is made once."""
        return _whole(self.folder / name, make)


def _whole(path: Path, make: Callable[[Path], object]) -> Path:
    if not path.exists():
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        shutil.rmtree(part, ignore_errors=True)
        make(part)
        os.rename(part, path)
    return path


def _save(path: Path, values: NDArray[Any]) -> None:
    with open(path, "wb") as file:
        np.save(file, values)


def picture(shape: Shape, seed: int = 0) -> NDArray[np.uint16]:
    """Smooth blobs, 20 to some hundred photons a voxel, with the noise of counting them; an offset of 100."""
    random = np.random.default_rng(seed)
    coarse = random.gamma(0.35, 1.0, tuple(n // 24 + 4 for n in shape)).astype(np.float32)
    z, y, x = (np.linspace(0, n // 24 + 2, n, dtype=np.float32) for n in shape)
    rows = _between(_between(coarse, y, 1), x, 2)
    out = np.empty(shape, np.uint16)
    for plane, where in zip(out, z, strict=True):
        light = 20 + 250 * np.clip(_between(rows, where[None], 0)[0] - 0.15, 0, None)
        plane[:] = 100 + np.clip(light + np.sqrt(light) * random.standard_normal(light.shape, np.float32), 0, 60000)
    return out


def _between(values: NDArray[np.float32], where: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Linear interpolation along one axis."""
    before = where.astype(int)
    share: NDArray[np.float32] = (where - before).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    found: NDArray[np.float32] = values.take(before, axis) * (1 - share) + values.take(before + 1, axis) * share
    return found


# ------------------------------------------------------------------------------------------------- writing
def write(form: Form, path: Path, values: NDArray[np.uint16]) -> None:
    if form.dialect.startswith("draft"):
        _write_draft(form, path, values)
        return
    import zarr

    options: dict[str, Any] = {"order": form.order} if form.dialect == "v2" else {}
    if form.dialect == "v2" and form.node:
        options["chunk_key_encoding"] = {"name": "v2", "separator": "/"}
    if form.delta:
        import numcodecs

        options["filters"] = [numcodecs.Delta("<u2")]
    if form.byte_order == ">":
        options["serializer"] = zarr.codecs.BytesCodec(endian="big")
    if form.node:
        group = zarr.open_group(str(path), mode="w", zarr_format=2 if form.dialect == "v2" else 3)
        group.attrs.update(ome_attributes(values.ndim))
    array = zarr.create_array(
        str(path),
        name=form.node or None,
        shape=values.shape,
        dtype=values.dtype,
        chunks=form.chunks(values.shape),
        shards=form.shards(values.shape) if form.shards is not None else None,
        compressors=compressors(form.compression, form.dialect),
        fill_value=0,
        zarr_format=2 if form.dialect == "v2" else 3,
        **options,
    )
    array[...] = np.ascontiguousarray(values)


def compressors(compression: Compression, dialect: str = "v3") -> Any:
    """The compressors as zarr-python takes them."""
    if dialect == "v2":
        import numcodecs

        return {
            "blosc-lz4": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
            "zstd": numcodecs.Zstd(level=3),
        }[compression]
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    return {
        "blosc-lz4": [BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=2)],
        "blosc-zstd": [BloscCodec(cname="zstd", clevel=5, shuffle="bitshuffle", typesize=2)],
        "zstd": [ZstdCodec(level=3)],
        "gzip": [GzipCodec(level=5)],
        "raw": None,
    }[compression]


def codecs(compression: Compression) -> list[dict[str, Any]]:
    """The codecs as v3 documents spell them, for zarrscope and tensorstore."""
    blosc = {"clevel": 5, "blocksize": 0, "typesize": 2}
    settings: dict[str, list[dict[str, Any]]] = {
        "blosc-lz4": [{"name": "blosc", "configuration": {**blosc, "cname": "lz4", "shuffle": "shuffle"}}],
        "blosc-zstd": [{"name": "blosc", "configuration": {**blosc, "cname": "zstd", "shuffle": "bitshuffle"}}],
        "zstd": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
        "gzip": [{"name": "gzip", "configuration": {"level": 5}}],
        "raw": [],
    }
    return [{"name": "bytes", "configuration": {"endian": "little"}}, *settings[compression]]


def _write_draft(form: Form, path: Path, values: NDArray[np.uint16]) -> None:
    import zarrscope

    hierarchy = zarrscope.open(path, "w-", dialect=form.dialect)
    array = hierarchy.create_array(
        f"/{form.node}",
        shape=values.shape,
        dtype=values.dtype,
        chunks=form.chunks(values.shape),
        codecs=codecs(form.compression),
    )
    array[...] = values


def ome_attributes(axes: int) -> dict[str, Any]:
    """OME-Zarr 0.4, one level."""
    units = ["millisecond", None, "micrometer", "micrometer", "micrometer"]
    kinds = ["time", "channel", "space", "space", "space"]
    named = [
        {"name": name, "type": kind, **({"unit": unit} if unit and kind == "space" else {})}
        for name, kind, unit in zip("tczyx", kinds, units, strict=True)
    ]
    scale = [{"type": "scale", "scale": [1.0, 1.0, 0.5, 0.1, 0.1][-axes:]}]
    datasets = [{"path": "0", "coordinateTransformations": scale}]
    return {"multiscales": [{"version": "0.4", "axes": named[-axes:], "datasets": datasets}]}
