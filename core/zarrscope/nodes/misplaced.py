"""Finds chunks under keys that only a lenient reader would try (v2, spec A.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.model.storage import ByteRange

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array


def misplaced_chunks(array: Array) -> str | None:
    """A sentence about chunks under such keys; None if the chunks are under the right keys, or there are none.

    It takes one round trip. Raises Unreadable.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> misplaced_chunks(h.create_array("/a", shape=(4,), dtype="u1")) is None
    True
    """
    keys = [where.key((0,) * array.ndim) for where in (array.metadata.keys, *array.metadata.lenient_keys)]
    if len(keys) == 1:
        return None
    own, *others = array.store.get_partial_values([(key, ByteRange(0, 1)) for key in keys])
    found = [key for key, value in zip(keys[1:], others, strict=True) if value is not None]
    if own is not None or not found:
        return None
    needed = "which is read only in a hierarchy that is opened anyway, read-only (lenient=True)"
    return f"There is no chunk {keys[0]}, but a chunk {found[0]}, {needed}"
