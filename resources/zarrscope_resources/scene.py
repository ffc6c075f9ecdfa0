"""Simulates the content of the demo volume with numpy: two small organoids under a confocal microscope.

The cells of an organoid form a curved sheet around a cavity. Each has a nucleus (textured, some in division), a
membrane and a few bright puncta. All positions are in micrometers, so every sampling shows the same scene. All random
numbers come from seeds: a region is the same for any number of threads and any order.

The light without noise is computed at half the lateral sampling (the microscope could not resolve more) and then
interpolated. Puncta, detector offset and shot noise are added last, at full sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Volume = np.ndarray[Any, np.dtype[np.float32]]
Box = tuple[slice, slice, slice]

HALO = 2.0
"""The distance in µm around a region from which light is included before the blur."""
BLUR = (0.62, 0.17, 0.17)
"""The standard deviation of the microscope's blur in µm: three to four times worse along z, as with real lenses."""
OFFSET = 96.0
"""The detector's counts in the dark."""
GAIN = 9.0
"""Digital counts per photon."""
READ_NOISE = 3.2
CEILING = 4095
"""The largest count: twelve bits."""


@dataclass(frozen=True)
class Organoid:
    center: tuple[float, float, float]
    radius: float
    hollow: float
    cells: int


ORGANOIDS = (
    Organoid((15.0, 60.0, 49.0), 37.5, 22.0, 132),
    Organoid((19.0, 13.0, 101.0), 21.0, 9.5, 46),
)


@dataclass(frozen=True)
class Cell:
    """The position and the shape of a cell; lengths in µm. `axis` points outward, away from the cavity."""

    number: int
    organoid: int
    center: np.ndarray[Any, np.dtype[np.float64]]
    axis: np.ndarray[Any, np.dtype[np.float64]]
    radii: tuple[float, float]
    """The radii of the nucleus: across `axis`, and along it."""
    glow: float
    dividing: bool
    spots: int


class Scene:
    """One time point of the scene. `step` counts time points: between two of them the stage drifts and the puncta
    move."""

    def __init__(self, step: int, spacing: tuple[float, float, float], shape: tuple[int, int, int], seed: int) -> None:
        self.step, self.spacing, self.shape, self.seed = step, spacing, shape, seed
        self.coarse = (spacing[0], spacing[1] * 2, spacing[2] * 2)
        """The distance in µm between samples of the light without noise."""
        drift = np.array([0.35, -0.9, 1.3]) * step
        self.drift = drift

    def random(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *key])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, including those outside the field, because their neighbours' membranes depend on them."""
        random = self.random(1)
        found: list[Cell] = []
        for o, organoid in enumerate(ORGANOIDS):
            # A spiral from pole to pole distributes points evenly; random shifts make them look like a tissue.
            n = np.arange(organoid.cells) + 0.5
            up, turn = 1 - 2 * n / organoid.cells, np.pi * (1 + 5**0.5) * n
            ring = np.sqrt(1 - up**2)
            axes = np.stack([up, ring * np.sin(turn), ring * np.cos(turn)], axis=1)
            axes += random.normal(0, 0.055 * (100 / organoid.cells) ** 0.5, axes.shape)
            axes /= np.linalg.norm(axes, axis=1, keepdims=True)
            for axis in axes:
                dividing = random.random() < 0.07
                depth = 0.24 if dividing else random.normal(0.52, 0.11)
                distance = organoid.hollow + (organoid.radius - organoid.hollow) * float(np.clip(depth, 0.25, 0.72))
                across, along = random.normal(3.75, 0.30), random.normal(4.9, 0.45)
                found.append(
                    Cell(
                        len(found) + 1,
                        o,
                        np.array(organoid.center) + axis * distance * self._lobes(axis[None], o)[0],
                        axis,
                        (float(np.clip(across, 3.0, 4.4)), float(np.clip(along, 3.9, 6.0))),
                        float(np.clip(random.lognormal(0, 0.28), 0.55, 1.9)),
                        dividing,
                        int(random.negative_binomial(1.4, 0.035)),
                    )
                )
        return tuple(found)

    def _lobes(self, axes: np.ndarray[Any, Any], organoid: int) -> np.ndarray[Any, Any]:
        """The radius of the surface in a direction, because organoids are not spheres."""
        z, y, x = (axes[..., i] for i in range(3))
        k = organoid * 1.7
        bumps = (
            0.07 * np.sin(2.0 * y + 1.1 + k) * np.cos(1.6 * x - 0.4)
            + 0.05 * np.sin(3.1 * x + 2.3 * z + k)
            + 0.035 * np.cos(4.3 * y - 2.2 * x + 0.7 + k)
        )
        return np.asarray(1.0 + bumps)

    # ------------------------------------------------------------------ the light without noise
    def light(self, z0: int, z1: int) -> tuple[Volume, Volume, Volume, Volume, np.ndarray[Any, np.dtype[np.uint16]]]:
        """Planes z0 to z1 at half lateral sampling: nuclei, membranes, cell bodies (0 to about 1, blurred); the depth
        of a point inside its nucleus (µm, negative outside); and the number of that nucleus' cell."""
        halo = int(np.ceil(HALO / self.coarse[0]))
        first, last = z0 - halo, z1 + halo
        z = (np.arange(first, last) * self.spacing[0]).astype(np.float32)
        y, x = ((np.arange(-(-n // 2)) * 2 + 0.5) * s for n, s in zip(self.shape[1:], self.spacing[1:], strict=True))
        y, x = y.astype(np.float32), x.astype(np.float32)
        # Positions are shifted slightly, so that no membrane is straight and no nucleus is an ellipsoid.
        zz = z[:, None, None] - self.drift[0] + 0.35 * np.sin(0.55 * y[:, None] + 0.47 * x + 1.0)
        yy = y[:, None] - self.drift[1] + (0.75 * np.sin(0.41 * x + 0.3 * z[:, None, None]) + 0.3 * np.sin(1.1 * x + 2))
        xx = (
            x
            - self.drift[2]
            + (0.75 * np.sin(0.38 * y[:, None] - 0.27 * z[:, None, None] + 2) + 0.3 * np.sin(1.2 * y[:, None]))
        )
        place: list[Volume] = [
            np.ascontiguousarray(np.broadcast_to(p, (len(z), len(y), len(x))), np.float32) for p in (zz, yy, xx)
        ]
        shape = place[0].shape
        near = np.full(shape, 1e9, np.float32)
        second = np.full(shape, 1e9, np.float32)
        owner = np.zeros(shape, np.uint16)  # of nuclei: territories meet in the membranes
        nuclei = np.zeros(shape, np.float32)
        depth = np.full(shape, -1.0, np.float32)
        for cell in self.cells:
            for reach, act in ((15.0, "territory"), (8.0, "nucleus")):
                box = self._box(cell.center + self.drift, reach, z, y, x)
                if box is None:
                    continue
                offsets = [p[box] - np.float32(c) for p, c in zip(place, cell.center, strict=True)]
                if act == "territory":
                    along = _along(offsets, cell.axis)
                    # Stretched along the axis: columnar cells reach from the hollow to the outer face.
                    square = offsets[0] ** 2 + offsets[1] ** 2 + offsets[2] ** 2 - np.float32(0.72) * along**2
                    second[box] = np.minimum(second[box], np.maximum(near[box], square))
                    near[box] = np.minimum(near[box], square)
                else:
                    self._nucleus(cell, offsets, nuclei[box], depth[box], owner[box])
        inside, face = self._sheet(place)
        membranes = face
        for at, (dz, dy, dx) in enumerate(zip(*place, strict=True)):
            gap = np.sqrt(second[at]) - np.sqrt(near[at])
            membranes[at] += np.exp(-((gap / np.float32(0.62)) ** 2)) * inside[at]
            membranes[at] *= 0.8 + 0.2 * np.sin(0.9 * dy + 1.3 * dz) * np.sin(0.8 * dx - 0.7 * dz)
        del near, second, place
        keep = slice(halo, halo + z1 - z0)
        blurred = [self._blurred(v, keep) for v in (nuclei, membranes, inside)]
        return blurred[0], blurred[1], blurred[2], depth[keep], owner[keep]

    def _box(self, center: np.ndarray[Any, Any], reach: float, *grid: Volume) -> Box | None:
        spans = [np.searchsorted(g, [c - reach, c + reach]) for g, c in zip(grid, center, strict=True)]
        if any(a >= b for a, b in spans):
            return None
        return slice(*map(int, spans[0])), slice(*map(int, spans[1])), slice(*map(int, spans[2]))

    def _nucleus(
        self,
        cell: Cell,
        offsets: list[Volume],
        light: Volume,
        depth: Volume,
        owner: np.ndarray[Any, np.dtype[np.uint16]],
    ) -> None:
        """Adds one nucleus to the views `light`, `depth` and `owner`."""
        random = self.random(2, cell.number)
        across, along = cell.radii
        if cell.dividing:
            # Condensed chromosomes: one plate, or two plates that separate.
            across, along = 4.2, 1.15
        radial = _along(offsets, cell.axis)
        beside = _square(offsets) - radial**2
        if cell.dividing and cell.number % 2:
            radial = np.abs(radial) - np.float32(2.6)
        far = np.sqrt(np.maximum(beside, 0) / np.float32(across**2) + radial**2 / np.float32(along**2))
        edge = (1 - far) * np.float32(min(across, along))
        body = 1 / (1 + np.exp(np.clip(-edge / np.float32(0.16), -30, 30)))
        tone = np.full(far.shape, 2.3 if cell.dividing else 0.8, np.float32)
        if not cell.dividing:
            # Chromatin: a few waves in random directions, denser near the rim; nucleoli stay dark.
            for length, strength in ((2.9, 0.15), (1.9, 0.14), (1.3, 0.12), (0.9, 0.10)):
                for _ in range(2):
                    wave = random.normal(size=3)
                    wave *= 2 * np.pi / length / np.linalg.norm(wave)
                    phase = random.uniform(0, 2 * np.pi)
                    angle = _along(offsets, wave) + np.float32(phase)
                    tone += np.float32(strength) * np.sin(angle)
            tone += np.float32(0.18) * far**4
            for _ in range(int(random.integers(1, 4))):
                spot = random.normal(0, 0.36 * across, 3)
                width = random.uniform(0.75, 1.15)
                square = _square([o - np.float32(s) for o, s in zip(offsets, spot, strict=True)])
                tone -= np.float32(0.6) * np.exp(-square / np.float32(width**2))
        np.maximum(light, body * np.maximum(tone, 0.12) * np.float32(cell.glow), out=light)
        owner[edge > depth] = cell.number
        np.maximum(depth, edge, out=depth)

    def _sheet(self, place: list[Volume]) -> tuple[Volume, Volume]:
        """The amount of tissue at a point (0 to 1), and the light of its outer and inner surfaces."""
        inside = np.zeros(place[0].shape, np.float32)
        face = np.zeros(place[0].shape, np.float32)
        # Plane by plane, because the many intermediate arrays would take too much memory.
        for z in range(len(inside)):
            for o, organoid in enumerate(ORGANOIDS):
                self._faces(o, organoid, [p[z] for p in place], inside[z], face[z])
        return inside, face

    def _faces(self, o: int, organoid: Organoid, place: list[Volume], inside: Volume, face: Volume) -> None:
        """Adds one organoid's part of a plane to the views `inside` and `face`."""
        offsets = [p - np.float32(c) for p, c in zip(place, organoid.center, strict=True)]
        r = np.sqrt(_square(offsets)) + np.float32(1e-3)
        lobes = self._lobes(np.stack(offsets, axis=-1) / r[..., None], o).astype(np.float32)
        r /= lobes
        ripple = np.float32(0.45) * np.sin(np.float32(0.9) * place[1] + np.float32(0.6) * place[0])
        ripple *= np.sin(np.float32(0.8) * place[2] + 1)
        outer = organoid.radius + ripple - r
        inner = r - organoid.hollow - ripple
        edge = np.minimum(outer, inner)
        np.maximum(inside, 1 / (1 + np.exp(np.clip(-edge / np.float32(0.25), -30, 30))), out=inside)
        # The surface towards the cavity is brighter, like apical actin.
        np.maximum(face, 0.75 * np.exp(-((outer / 0.55) ** 2)), out=face)
        np.maximum(face, 1.7 * np.exp(-((inner / 0.75) ** 2)), out=face)

    def _blurred(self, volume: Volume, keep: slice) -> Volume:
        for axis, (sigma, spacing) in enumerate(zip(BLUR, self.coarse, strict=True)):
            volume = _smooth(volume, sigma / spacing, axis)
            if axis == 0:
                volume = volume[keep]
        return volume

    # ------------------------------------------------------------------ puncta
    @cached_property
    def spots(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(n, 5): z, y, x in µm (the drift included), brightness in photons, width in µm."""
        rows: list[np.ndarray[Any, Any]] = []
        for cell in self.cells:
            random = self.random(3, cell.number)
            organoid = ORGANOIDS[cell.organoid]
            n = cell.spots
            inward = random.uniform(-0.5, 5.5, n)
            around = random.normal(0, 2.3, (n, 3))
            around -= (around @ cell.axis)[:, None] * cell.axis
            places = cell.center + around - cell.axis * inward[:, None]
            reach = np.linalg.norm(places - np.array(organoid.center), axis=1)
            kept = (reach > organoid.hollow * 1.02) & (reach < organoid.radius * 1.02)
            places = places + self.random(4, cell.number, self.step).normal(0, 0.25 * min(1, self.step), places.shape)
            light = random.lognormal(4.15, 0.55, n)
            width = random.uniform(0.13, 0.24, n)
            rows.append(np.column_stack([places + self.drift, light, width])[kept])
        return np.concatenate(rows)

    def puncta(self, box: Box) -> Volume:
        """The light of the puncta in a box of full-sampling indices, in photons."""
        volume = np.zeros([s.stop - s.start for s in box], np.float32)
        low = [s.start * d for s, d in zip(box, self.spacing, strict=True)]
        for z, y, x, light, width in self.spots:
            sigmas = (
                max(width * 2.6, self.spacing[0] * 0.5),
                max(width, self.spacing[1] * 0.5),
                max(width, self.spacing[2] * 0.5),
            )
            profiles, spans = [], []
            for at, sigma, start, d, n in zip((z, y, x), sigmas, low, self.spacing, volume.shape, strict=True):
                a = max(0, int(np.ceil((at - 3.5 * sigma - start) / d)))
                b = min(n, int(np.floor((at + 3.5 * sigma - start) / d)) + 1)
                if a >= b:
                    break
                profiles.append(np.exp(-(((np.arange(a, b) * d + start - at) / sigma) ** 2) / 2).astype(np.float32))
                spans.append(slice(a, b))
            else:
                volume[tuple(spans)] += (
                    np.float32(light) * profiles[0][:, None, None] * profiles[1][:, None] * profiles[2]
                )
        return volume

    # ------------------------------------------------------------------ the detector's counts
    def exposed(self, photons: Volume, key: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.uint16]]:
        """Counts of the detector: shot noise, read noise, offset. `key` identifies the region and selects its random
        numbers.

        Shot noise uses the square-root transform, under which Poisson counts are nearly normal with a standard
        deviation of one half. It looks like sampling the Poisson distribution, and takes a quarter of the time.
        """
        noise = self.random(5, self.step, *key).standard_normal(photons.shape, dtype=np.float32)
        counts = np.sqrt(photons + np.float32(0.375 + (READ_NOISE / GAIN) ** 2))
        counts += noise * np.float32(0.5)
        np.maximum(counts, 0, out=counts)
        counts *= counts
        counts -= np.float32(0.375)
        counts *= np.float32(GAIN)
        counts += np.float32(OFFSET)
        result: np.ndarray[Any, np.dtype[np.uint16]] = np.clip(np.rint(counts, out=counts), 0, CEILING).astype(
            np.uint16
        )
        return result


def _along(offsets: list[Volume], vector: Any) -> Volume:
    z, y, x = (np.float32(v) for v in vector)
    total: Volume = offsets[0] * z + offsets[1] * y + offsets[2] * x
    return total


def _square(offsets: list[Volume]) -> Volume:
    return offsets[0] ** 2 + offsets[1] ** 2 + offsets[2] ** 2


def drawn_out(volume: Volume, rows: slice, columns: slice) -> Volume:
    """The part [rows, columns] of `volume` (half lateral sampling), linearly interpolated to full sampling.

    Coarse sample i lies between the fine ones 2i and 2i + 1.
    """
    for axis, part in ((1, rows), (2, columns)):
        low, high = part.start // 2 - 1, -(-part.stop // 2) + 1
        at = np.clip(np.arange(low, high), 0, volume.shape[axis] - 1)
        v = np.take(volume, at, axis=axis)
        fine = np.empty((*v.shape[:axis], 2 * v.shape[axis], *v.shape[axis + 1 :]), np.float32)
        even, odd = (tuple(slice(o, None, 2) if a == axis else slice(None) for a in range(3)) for o in (0, 1))
        before, after = np.roll(v, 1, axis), np.roll(v, -1, axis)
        fine[even] = v * np.float32(0.75) + before * np.float32(0.25)
        fine[odd] = v * np.float32(0.75) + after * np.float32(0.25)
        start = part.start - 2 * low
        volume = fine[
            tuple(slice(start, start + part.stop - part.start) if a == axis else slice(None) for a in range(3))
        ]
    return volume


def _smooth(volume: Volume, sigma: float, axis: int) -> Volume:
    """A Gaussian blur along one axis; beyond the ends the last plane is repeated."""
    reach = int(np.ceil(2.5 * sigma))
    if sigma < 0.25 or not reach:
        return volume
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    n = volume.shape[axis]
    result = np.zeros_like(volume)
    for k, weight in zip(range(-reach, reach + 1), weights, strict=True):
        at = np.clip(np.arange(n) + k, 0, n - 1)
        part = volume * np.float32(weight) if k == 0 else np.take(volume, at, axis=axis)
        if k:
            part *= np.float32(weight)
        result += part
    return result


def halved(volume: np.ndarray[Any, Any], steps: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """The mean of each block of `steps` elements, rounded; a smaller block at the end is averaged over its own
    elements."""
    total = volume.astype(np.uint32)
    count = np.ones((1, 1, 1), np.uint32)
    for axis, step in enumerate(steps):
        if step > 1:
            starts = np.arange(0, volume.shape[axis], step)
            total = np.add.reduceat(total, starts, axis=axis)
            sizes = np.diff(np.append(starts, volume.shape[axis])).astype(np.uint32)
            count = count * sizes.reshape([-1 if a == axis else 1 for a in range(3)])
    return ((total + count // 2) // count).astype(np.uint16)


def blocks(length: int, size: int) -> Iterator[slice]:
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))
