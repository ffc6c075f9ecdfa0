"""Array.append: stores values behind the end of an array, then the new shape.

Chunks outside of the shape are not read, and the elements of a chunk that lie outside of it are cut off. So the values
are stored first, while the document still states the former shape, and the document last, in one atomic write: whoever
reads the array, also after its writer was killed, finds the former array or the longer one. What a killed writer left
outside of the shape is overwritten by the next append, element by element.

Two writers that append at once would store different values in the same places, and only one of them could store its
shape. So this is done only in stores that can exclude other writers until the shape is stored (Backend._claim). In
other stores the conditional write of the shape comes first, by which one of two writers is refused; if writing the
values then fails, the array gets its former shape back, but not if the process is killed.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from zarrscope.chunkio.write import as_elements, erase_outside, keys_outside
from zarrscope.errors import ZarrscopeError
from zarrscope.model.selection import select
from zarrscope.nodes.context import NodeContext, context_of
from zarrscope.nodes.edit import need_same_shape, resize
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.runtime.interrupts import uninterrupted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zarrscope.model.selection import Selection


@uninterrupted
def append(array: StoredArray, values: ArrayLike, axis: int) -> tuple[int, ...]:
    """See Array.append. The conversion of the values comes first, because it finds those that are wrong."""
    lengths, axis = np.shape(values), operator.index(axis)
    with array.reshaping:
        before = array.shape
        if not -array.ndim <= axis < array.ndim:
            raise ValueError(f"there is no axis {axis} in an array of shape {before}")
        axis %= array.ndim
        if (*before[:axis], *lengths[axis : axis + 1], *before[axis + 1 :]) != lengths:
            raise ValueError(f"values of shape {lengths} do not fit behind axis {axis} of an array of shape {before}")
        after = (*before[:axis], before[axis] + lengths[axis], *before[axis + 1 :])
        added = select((*[slice(None)] * axis, slice(before[axis], None)), after)
        elements = as_elements(array, values, added)
        context = array.context or context_of(array.store)
        context.need_writing(context.dialect.documents(array.path)[0])
        array.need_chunks_for(after)
        with array.claim(context) as alone:
            if alone:
                _values_first(array, context, after, added, elements)
            else:
                _shape_first(array, after, added, elements)
        return after


def _values_first(
    array: StoredArray, context: NodeContext, after: tuple[int, ...], added: Selection, elements: NDArray[np.generic]
) -> None:
    need_same_shape(context, array.path, array.metadata)
    grown = _Grown(array, after)
    try:
        grown.write(added, elements)
        metadata = resize(context, array.path, replace(grown.metadata, shape=array.shape), after)
    except BaseException:
        with suppress(ZarrscopeError):  # the first error counts
            need_same_shape(context, array.path, array.metadata)
            erase_outside(grown, keys_outside(grown, array.shape), lambda: None)
        raise
    array.warnings = grown.warnings
    array.set_metadata(metadata)
    array.notify_written()


def _shape_first(array: StoredArray, after: tuple[int, ...], added: Selection, elements: NDArray[np.generic]) -> None:
    before = array.shape
    array.resize(after)
    try:
        array.write(added, elements)
    except BaseException:
        with suppress(ZarrscopeError):  # the first error counts
            array.resize(before)
        raise


class _Grown(StoredArray):
    """An array with a new shape, which its document does not state yet."""

    def __init__(self, array: StoredArray, shape: tuple[int, ...]) -> None:
        super().__init__(
            array.documents,
            array.path,
            replace(array.metadata, shape=shape),
            warnings=array.warnings,
            context=array.context,
            opened=array.opened,
        )
        self._stated = array.shape

    def need_unchanged(self, *, writing: bool) -> None:
        if self.opened is not None:
            self.opened.check(self.documents, self._stated, writing=writing)
