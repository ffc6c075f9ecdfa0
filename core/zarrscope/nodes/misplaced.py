"""Finds chunks under keys that only a lenient reader would try (v2, spec A.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array


def misplaced_chunks(array: Array) -> str | None:
    """A sentence about chunks under such keys; None if the chunks are under the right keys, or there are none.

    It takes one round trip, if it is not known from before. Raises Unreadable.

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
    from zarrscope.chunkio.presence import are_present  # only here: most arrays have no other keys

    stored = {keys[i] for i, there in are_present(array.store, keys) if there}
    found = [key for key in keys[1:] if key in stored]
    if keys[0] in stored or not found:
        return None
    needed = "which is read only in a hierarchy that is opened anyway, read-only (lenient=True)"
    return f"There is no chunk {keys[0]}, but a chunk {found[0]}, {needed}"
