"""Computes coarser levels of an image: each block of elements is reduced to one element, by one of three methods.

- mean: the local mean. Integers are computed exactly, whatever their width, and rounded to the nearest, halves to the
  even one, so that no level is brighter than the one above it. Floats are summed in double precision (half floats in
  single) and rounded once; one NaN makes its block NaN.
- nearest: the first element of each block. It makes no new values, so it suits labels.
- mode: the most frequent value of each block, the smallest among equals; NaN never wins against a number.

If the factors do not divide the shape, the last block is smaller: a level has ceil(n / factor) elements, and no element
at the edge is dropped. With mean and mode, an element of a level stands for its block, so its position is the middle of
the block. With nearest, its position is that of the element that was taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zarrscope.errors import Refused
from zarrscope.model.dtype import DataType

Method = Literal["mean", "nearest", "mode"]
METHODS: tuple[Method, ...] = ("mean", "nearest", "mode")


def coarser_shape(shape: Sequence[int], factors: Sequence[int]) -> tuple[int, ...]:
    """The shape of the next level: each length divided by its factor and rounded up, because an incomplete block makes
    an element too."""
    return tuple(-(-n // f) for n, f in zip(shape, factors, strict=True))


def middle(factor: int, method: Method) -> float:
    """The position of a level's first element, in elements of the finer level."""
    return 0.0 if method == "nearest" else (factor - 1) / 2


def check_method(method: Method, dtype: DataType) -> None:
    """Raises Refused if the values of a data type have no mean, or cannot be counted for the mode."""
    numpy = dtype.numpy
    numbers = numpy is not None and (numpy.kind in "iufc" or _is_small_float(numpy))
    if method == "mean" and not numbers:
        raise Refused(f"Values of type {dtype.name} have no mean", advice="Choose the method nearest, or mode.")
    if method == "mode" and (numpy is None or numpy.kind not in "biufMm"):
        raise Refused(f"Values of type {dtype.name} cannot be counted for a mode", advice="Choose the method nearest.")


def downsample(values: NDArray[Any], factors: Sequence[int], method: Method) -> NDArray[Any]:
    """Reduces each block of `factors` elements of `values` to one; the first block begins at the first element."""
    if method == "nearest":
        return np.ascontiguousarray(values[tuple(slice(None, None, f) for f in factors)])
    reduce = _mean if method == "mean" else _mode
    out = np.empty(coarser_shape(values.shape, factors), values.dtype)
    for source, target, block in _alike(values.shape, factors):
        parts = [
            values[source][tuple(slice(k, None, f) for k, f in zip(offset, block, strict=True))]
            for offset in product(*map(range, block))
        ]
        out[target] = reduce(parts, values.dtype)
    return out


Slices = tuple[slice, ...]


def _alike(shape: Sequence[int], factors: Sequence[int]) -> Iterator[tuple[Slices, Slices, tuple[int, ...]]]:
    """Yields parts in which all blocks have the same shape: (part of the source, part of the result, that shape)."""
    per_axis: list[list[tuple[slice, slice, int]]] = []
    for n, f in zip(shape, factors, strict=True):
        whole, rest = divmod(n, f)
        parts = [(slice(0, whole * f), slice(0, whole), f)] if whole else []
        if rest:
            parts.append((slice(whole * f, n), slice(whole, whole + 1), rest))
        per_axis.append(parts)
    for combination in product(*per_axis):
        yield tuple(c[0] for c in combination), tuple(c[1] for c in combination), tuple(c[2] for c in combination)


def _is_small_float(dtype: np.dtype[Any]) -> bool:
    return dtype.name == "bfloat16" or dtype.name.startswith(("float8_", "float6_", "float4_"))


def _mean(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    count = len(parts)
    if dtype.kind in "iu":
        return _whole_mean(parts, dtype, count)
    wide = np.complex128 if dtype.kind == "c" else np.float32 if dtype.itemsize <= 2 else np.float64
    with np.errstate(over="ignore", invalid="ignore"):
        total: NDArray[Any] = parts[0].astype(wide)
        for part in parts[1:]:
            total += part
        total /= count
        result: NDArray[Any] = total.astype(dtype)
        return result


def _whole_mean(parts: list[NDArray[Any]], dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """The exact mean of integers, rounded once. If their sum could overflow, it sums quotients and remainders."""
    signed = dtype.kind == "i"
    if (dtype.itemsize * 8 - signed) + (count - 1).bit_length() < 31:
        wide: type[np.signedinteger[Any] | np.unsignedinteger[Any]] = np.int32
    else:
        wide = np.int64 if signed or dtype.itemsize < 8 else np.uint64
    fits = dtype.itemsize * 8 + (count - 1).bit_length() < 63
    if fits:
        quotient = parts[0].astype(wide)
        for part in parts[1:]:
            quotient += part
        quotient, remainder = _divided(quotient, count)
    else:
        quotient = np.zeros(parts[0].shape, wide)
        remainder = np.zeros(parts[0].shape, wide)
        for part in parts:
            whole, rest = np.divmod(part.astype(wide), wide(count))
            quotient += whole
            remainder += rest
        carried, remainder = np.divmod(remainder, wide(count))
        quotient += carried
    twice = remainder * wide(2)
    quotient += (twice > count) | ((twice == count) & ((quotient & wide(1)) == 1))
    result: NDArray[Any] = quotient.astype(dtype)
    return result


def _divided(total: NDArray[Any], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Returns (quotient rounded down, remainder). Division by a power of two shifts, which is several times as fast."""
    if count & (count - 1) == 0:
        return total >> total.dtype.type(count.bit_length() - 1), total & total.dtype.type(count - 1)
    return np.divmod(total, total.dtype.type(count))


def _mode(parts: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    ordered = np.sort(np.stack(parts), axis=0)  # NaN and NaT come last
    best: NDArray[Any] = ordered[0].copy()
    longest = np.ones(best.shape, np.int32)
    run = np.ones(best.shape, np.int32)
    for before, here in pairwise(ordered):
        run = np.where(here == before, run + 1, 1)
        won = run > longest
        longest[won] = run[won]
        best[won] = here[won]
    return best


def block_bytes(factors: Sequence[int], itemsize: int) -> int:
    """The bytes of one block of the finer level, which is reduced to one element."""
    return prod(factors) * itemsize
