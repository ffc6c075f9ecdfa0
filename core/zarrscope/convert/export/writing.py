"""Carries out an export: reads values in blocks and writes each block as it arrives."""

from __future__ import annotations

import csv
import errno
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zarrscope.chunkio.source import CountOfChunks
from zarrscope.convert.export.formats import ExportPlan
from zarrscope.convert.export.source import ExportSource
from zarrscope.convert.export.target import ExportTarget
from zarrscope.convert.export.tiff import write_tiff
from zarrscope.convert.export.zarr_node import write_zarr
from zarrscope.model.storage import never

ReportProgress = Callable[[int, int], object]
"""progress(bytes of values that are done, bytes of all values)."""
ValueBlock = tuple[tuple[tuple[int, int], ...], NDArray[Any]]


class ExportStopped(Exception):
    """The export was cancelled; no part of it is left."""


def estimate(plan: ExportPlan) -> float:
    """Estimates the seconds that reading will take, from the time for one block in the middle."""
    blocks = [*plan.source.blocks()]
    if not blocks:
        return 0.0
    middle = blocks[len(blocks) // 2]
    began = time.perf_counter()
    plan.source.read(middle)
    spent = time.perf_counter() - began
    share = prod(high - low for low, high in middle) / max(1, prod(plan.source.shape))
    return spent / share


def run(
    plan: ExportPlan,
    *,
    overwrite: bool = False,
    cancelled: Callable[[], bool] = never,
    progress: ReportProgress = lambda done, total: None,
    counted: CountOfChunks | None = None,
) -> bool:
    """Writes the target. Returns False if it was cancelled; then no file is left. Blocks until the target is complete.

    `counted` is called for each block with the number of its chunks that are not stored, and of all its chunks. Blocks
    that share a chunk count it twice.

    Raises Conflict if the target's name is taken, NotFound if its folder does not exist, and the errors of reading. If
    it fails, no part of a file is left.
    """
    target = ExportTarget(plan.target, overwrite=overwrite, folder=plan.format.id == "zarr")
    write = {
        "tiff": write_tiff,
        "ome-tiff": write_tiff,
        "npy": _write_npy,
        "csv": _write_csv,
        "zarr": write_zarr,
    }[plan.format.id]
    try:
        with target:
            write(plan, os.fspath(target.part), partial(_read, plan.source, cancelled, progress, counted))
            if cancelled():
                return False
            target.done()
            return True
    except ExportStopped:
        return False


def _read(
    source: ExportSource,
    cancelled: Callable[[], bool],
    progress: ReportProgress,
    counted: CountOfChunks | None,
    blocks: Iterator[Any] | None = None,
) -> Iterator[ValueBlock]:
    """Yields (region, values) for each block and reports progress. Raises ExportStopped."""
    done = 0
    for region in blocks if blocks is not None else source.blocks():
        if cancelled():
            raise ExportStopped
        values = source.read(region, counted)
        yield region, values
        done += values.nbytes
        progress(done, source.nbytes)


def _write_npy(plan: ExportPlan, path: str, read: Callable[[], Iterator[ValueBlock]]) -> None:
    source = plan.source
    if source.dtype == object:
        values = np.empty(source.shape, object)
        for region, block in read():
            values[tuple(slice(*span) for span in region)] = block
        texts = all(isinstance(value, str) for value in values.flat)
        with open(path, "wb") as file:
            np.save(file, values.astype(str if texts else bytes), allow_pickle=False)
        return
    with open(path, "wb") as file:
        header = {"descr": np.lib.format.dtype_to_descr(source.dtype), "fortran_order": False, "shape": source.shape}
        np.lib.format.write_array_header_2_0(file, header)
        start = file.tell()
        _reserve(file, start + source.nbytes)
    if not source.nbytes:
        return
    values = np.memmap(path, source.dtype, "r+", start, source.shape or (1,))
    for region, block in read():
        values[tuple(slice(*span) for span in region) or ...] = block
    values.flush()
    del values


def _reserve(file: BinaryIO, size: int) -> None:
    """Extends a file to `size` bytes that are allocated on the disk. Raises OSError if there is no room for them.

    Mapped memory of a file with holes ends the process with SIGBUS if the disk becomes full.
    """
    if hasattr(os, "posix_fallocate"):
        file.flush()
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # the file system cannot reserve
                raise
    piece = bytes(1 << 20)
    for left in range(size - file.tell(), 0, -len(piece)):
        file.write(piece[:left])


def _write_csv(plan: ExportPlan, path: str, read: Callable[[], Iterator[ValueBlock]]) -> None:
    """Writes values of up to two axes as rows and columns. With more axes, each row has one value and its index. Each
    field of a structured data type gets a column.
    """
    source, spelled = plan.source, plan.spelling or cell
    names = source.dtype.names
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if len(source.shape) > 2 or names is not None:
            writer.writerow([*(axis.name for axis in source.axes), *(names or ("value",))])
            for region, block in read():
                lows = [low for low, _ in region]
                for index in np.ndindex(block.shape):
                    value = block[index]
                    cells = [spelled(value[name]) for name in names] if names is not None else [spelled(value)]
                    writer.writerow([*(low + i for low, i in zip(lows, index, strict=True)), *cells])
            return
        for _, block in read_rows(source, read):
            for line in block.reshape(block.shape[0] if block.ndim else 1, -1):
                writer.writerow([spelled(value) for value in line])


def read_rows(source: ExportSource, read: Callable[..., Iterator[ValueBlock]]) -> Iterator[ValueBlock]:
    """Calls `read` for regions of whole rows, of about 4 MiB each. If there is only one axis or none, `read` chooses
    the regions itself."""
    if len(source.shape) < 2:
        return read()
    rows, columns = source.shape
    many = max(1, (1 << 22) // max(1, columns * max(1, source.dtype.itemsize)))
    regions = [((low, min(low + many, rows)), (0, columns)) for low in range(0, rows, many)]
    return read(iter(regions))


def cell(value: object) -> str:
    """The text of a value, which reads back as the same value: all digits of integers, the shortest text of floats."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
