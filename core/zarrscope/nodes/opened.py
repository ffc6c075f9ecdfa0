"""Checks whether an open array has changed in the store, by reading its documents again.

While an Array object exists, this process or another may erase the array or create another one in its place. Writing
would then change another array's chunks, and reading would give the fill value. So the documents are checked before a
write, once per call, and when a read found no chunk at all. An array counts as changed if its chunks are stored
differently, or its shape became smaller; changed attributes and a larger shape do not count.

A change between the check and the write is not noticed. Nor is an array that was erased and created again exactly as
before, or by a read that finds chunks which can be decoded as those of the old array: uncompressed chunks of the same
size, for example.

An array that was created here needs no request for a write that follows at once: its document was stored and read a
moment ago. That counts as a check for as long as reading the document took, because the answer to a check is as old as
that, too. It no longer counts once this process has set or erased any value.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

from zarrscope.dialects import Dialect
from zarrscope.dialects.parse_cache import parsed
from zarrscope.errors import Conflict, NotFound
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.nodes.detect import fetch
from zarrscope.stores.store import Store, latest_change

PAUSE = 1.0
"""Seconds for which the result of a check is valid for reads from a remote store, so that panning over absent chunks
sends no further requests."""


class Opened:
    """The documents of the array at `path` as they were when it was opened. `copied`: it was read from consolidated
    metadata."""

    def __init__(self, dialect: Dialect, path: str, metadata: ArrayMetadata, copied: bool) -> None:
        self.dialect, self.path, self.metadata, self.copied = dialect, path, metadata, copied
        self._seen: dict[str, bytes] | None = None
        self._until = 0.0
        self._created: tuple[float, object] | None = None
        """The time until which the creation of the array counts as a check, and the latest change at that moment."""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys of the documents that determine how chunks are stored."""
        own = self.dialect.documents(self.path, "array")
        return tuple(key for key in self.dialect.outline(self.path) if key in own)

    def __reduce__(self) -> tuple[Any, ...]:
        return Opened, (self.dialect, self.path, self.metadata, self.copied)

    def note_creation(self, seconds: float) -> None:
        """Notes that the array was just created, and that reading its document afterwards took `seconds`."""
        self._created = time.monotonic() + min(seconds, PAUSE), latest_change()

    def check(self, store: Store, shape: tuple[int, ...], *, writing: bool) -> None:
        """Checks that the array is still the one that was opened, and no smaller than `shape`.

        Raises NotFound (it was erased), Conflict (another or a smaller array is stored there now), Unreadable.
        """
        if store.remote and not writing and time.monotonic() < self._until:
            return
        if store.remote and writing and self._created is not None:
            until, change = self._created
            if time.monotonic() < until and latest_change() is change:
                return
            self._created = None
        documents = fetch(store, self.keys)
        if documents != self._seen:
            self._compare(store, documents, shape, writing)
            self._seen = documents or None
        self._until = time.monotonic() + PAUSE

    def _compare(self, store: Store, documents: dict[str, bytes], shape: tuple[int, ...], writing: bool) -> None:
        node = parsed(self.dialect, self.path, documents)
        place: dict[str, Any] = {"store": store.url, "key": self.keys[0]}
        advice = "Nothing was written. Open it again." if writing else "Open it again."
        if node is None:
            if self.copied and not writing:
                return
            raise NotFound(f"The array {self.path} was erased since it was opened", advice=advice, **place)
        now = node.metadata
        if now.defects and not self.metadata.defects:
            raise now.defects[0].error.located(store=store.url)
        if not isinstance(now, ArrayMetadata) or _stored(now) != _stored(self.metadata):
            raise Conflict(f"Something else is at {self.path} since the array was opened", advice=advice, **place)
        smaller = len(now.shape) != len(shape) or any(n < m for n, m in zip(now.shape, shape, strict=True))
        if smaller and not (self.copied and not writing):  # the consolidated copy may be newer
            raise Conflict(f"The array {self.path} became smaller since it was opened", advice=advice, **place)


def _stored(metadata: ArrayMetadata) -> tuple[object, ...]:
    """The metadata that must stay the same for the chunks to belong to this array: data type, grid, keys, codecs, fill
    value.
    """
    keys = metadata.keys, metadata.alternative_keys
    return metadata.dtype, metadata.grid, keys, metadata.codecs, metadata.fill, metadata.transformers
