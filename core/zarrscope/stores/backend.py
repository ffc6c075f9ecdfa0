"""The methods that each kind of store overrides; they have an underscore and get checked keys and prefixes.

Methods that a store does not override are derived: list_dir ← list_prefix ← list, list_prefix ← list_dir;
set_partial_values ← get_versioned + set; erase_prefix ← list_prefix + erase; copying ← get_many + put. Callers use only
the public operations of `Store` (store.py), of its `bulk` (bulk.py) and of its `files` (files.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast

from zarrscope.errors import Conflict, ReadOnly, Refused, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import PublicAddress
from zarrscope.errors.visible import visible
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import (
    ABSENT,
    Answer,
    AnswerView,
    Buffer,
    ByteRange,
    Entry,
    Request,
    ScannedChild,
    Version,
    never,
)
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.runtime.named_tuple import NamedTuple
from zarrscope.runtime.tuning import SCANNED_AT_ONCE
from zarrscope.stores.keys import too_large
from zarrscope.stores.value_reader import Reader

if TYPE_CHECKING:
    from zarrscope.stores.puts import WhenDone
    from zarrscope.stores.recognition import Recognition

AnyAnswer = TypeVar("AnyAnswer", bound=AnswerView)

_locks = KeyedLocks()


class BackendEntry(NamedTuple):
    """An entry of a listing that includes folders: a key; a folder; or neither, such as a broken link, with an error
    that gives the reason."""

    key: str
    is_folder: bool = False
    error: ZarrscopeError | None = None


class Backend:
    """The inner interface of a store: attributes that state its abilities, and methods that do the work."""

    url: str = PublicAddress()  # type: ignore[assignment]  # assigning keeps only the public form of the address
    listable: bool = True
    writable: bool = True
    remote: bool = False
    """Whether each request costs a round trip. Callers should then send few requests, and many of them in parallel."""
    document_limit: int | None = None
    """The largest size of a metadata document, in bytes; None stands for the limit of jsondoc/parse.py."""
    allow_outside: bool = False
    """Whether symbolic links that lead out of the store are followed. Only stores of files have such links."""
    _scans_children: bool = False
    """See BulkOperations.scans_children."""
    _reads_ahead: bool = False
    """See BulkOperations.reads_ahead."""
    _gathers_puts: bool = False
    """See BulkOperations.gathers_puts."""

    remark: str = ""
    """Sentences about the store for the person who opens it."""
    _only_read: str = ""
    """The advice for a person who wants to write, if the address is the reason why the store cannot be written."""
    _recognition: Recognition | None = None
    """The kind of store that a place was recognised as; None if its address states the kind."""

    # ------------------------------------------------------------------ for stores to override
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        """Reads one value. It may raise `too_large` early; in any case the caller checks the result against `limit`."""
        raise NotImplementedError  # each store overrides this

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        for i, (key, part) in enumerate(requests):
            if cancelled():
                return
            try:
                answer: Answer = self._get(key, part, limit)
            except ZarrscopeError as error:
                answer = error.located(store=self.url, key=key)
            yield i, answer

    def _get_many_within(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, Answer]]:
        """Answers the requests. Replaces a value of more than `limit` bytes by an error, because `_get_many` of a
        backend need not check the limit."""
        if limit is None:
            return self._get_many(requests, cancelled)
        return self._checked(self._get_many(requests, cancelled, limit), requests, limit)

    def _checked(
        self, answers: Iterator[tuple[int, AnyAnswer]], requests: Sequence[Request], limit: int
    ) -> Iterator[tuple[int, AnyAnswer]]:
        for i, answer in answers:
            if isinstance(answer, bytes | memoryview) and len(answer) > limit:
                error = too_large(len(answer), limit).located(store=self.url, key=requests[i][0])
                yield i, cast("AnyAnswer", error)
            else:
                yield i, answer

    def _get_views(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, AnswerView]]:
        """See BulkOperations.get_views. It need not check the limit."""
        return self._get_many(requests, cancelled, limit)

    def _get_growing(
        self, requests: list[Request], cancelled: Callable[[], bool], limit: int | None
    ) -> Iterator[tuple[int, AnswerView]]:
        """See BulkOperations.get_growing. It need not check the limit. Here requests that were added wait until the
        earlier ones are answered."""
        done = 0
        while done < len(requests) and not cancelled():
            first, done = done, len(requests)
            for i, answer in self._get_views(requests[first:done], cancelled, limit):
                yield first + i, answer

    def _renew(self, other: Backend) -> bool:
        """See store.renew."""
        return False

    def _filter_existing(self, keys: Sequence[str]) -> Sequence[str]:
        """See BulkOperations.filter_existing."""
        return keys

    def _reader(self, arena: Arena, limit: int | None = None) -> Reader:
        raise NotImplementedError  # each store overrides this

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        value = self._get(key, None, limit)
        return None if value is None else (value, Version.of(value))

    def _version_of(self, value: bytes) -> Version | None:
        """The version that `_get_versioned` gave with this value, as a DocumentRequest returned it; None if only
        another request tells it."""
        return Version.of(value) if type(self)._get_versioned is Backend._get_versioned else None

    def _list(self) -> Iterator[str]:
        return self._list_prefix("")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        if type(self)._list is not Backend._list:
            yield from (key for key in self._list() if key.startswith(prefix))
            return
        if type(self)._list_dir is Backend._list_dir:
            raise NotImplementedError  # a store that lists overrides this, or _list_dir
        yield from (key for key, _ in self._list_sizes(prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        """The keys beneath a prefix, in no order, with their sizes where listings give them."""
        pending = [prefix]
        while pending:
            prefix = pending.pop()
            for entry in self._list_dir(prefix):
                if entry.is_prefix:
                    pending.append(f"{prefix}{entry.name}/")
                else:
                    yield prefix + entry.name, entry.size

    def _list_with_folders(self, prefix: str) -> Iterator[BackendEntry]:
        return map(BackendEntry, self._list_prefix(prefix))

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        seen: set[tuple[str, bool]] = set()
        for key in self._list_prefix(prefix):
            name, slash, _ = key[len(prefix) :].partition("/")
            if (name, bool(slash)) not in seen:
                seen.add((name, bool(slash)))
                yield Entry(name, bool(slash))

    def _named_folders(self, prefix: str) -> Iterator[str] | None:
        """The names of folders beneath a prefix, from another source than a listing: web servers cannot list keys, but
        some have index pages. None if there is no such source."""
        return None

    def _folders_refused(self, prefix: str) -> int | None:
        """The HTTP status with which the server refused the names at the last `_named_folders(prefix)`: the access was
        denied, or the server failed; 0 if it did not answer. None if it refused nothing."""
        return None

    def _scan_children(
        self, prefix: str, names: Sequence[str], read: bool, limit: int | None = None
    ) -> Iterator[ScannedChild]:
        beneath = (entry.name for entry in self._list_dir(prefix) if entry.is_prefix)
        while batch := list(islice(beneath, SCANNED_AT_ONCE)):
            part = None if read else ByteRange(0, 1)
            held: dict[str, dict[str, bytes]] = {}
            failed: dict[str, ZarrscopeError] = {}
            asked = [(folder, name) for folder in batch for name in names]
            for i, answer in self._get_many_within(
                [(f"{prefix}{folder}/{name}", part) for folder, name in asked], never, limit
            ):
                folder, name = asked[i]
                if isinstance(answer, ZarrscopeError):
                    failed[folder] = answer
                elif answer is not None:
                    held.setdefault(folder, {})[name] = answer
            for folder in batch:
                found = held.get(folder, {})
                holds = next((name for name in names if name in found), None)
                value: bytes | ZarrscopeError | None = failed.get(folder) if holds is None else None
                yield ScannedChild(folder, holds, found[holds] if holds is not None and read else value)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        raise NotImplementedError  # each store overrides this

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._set(key, bytes(parts[0]) if len(parts) == 1 else b"".join(parts), None)

    def _puts_begun_at_once(self) -> int:
        """The number of values that `_begin_put` may be storing at once; 0 if this store has no event loop for it."""
        return 0

    def _begin_put(self, key: str, value: bytes, done: WhenDone) -> Callable[[], object]:
        """Stores a value without a thread that waits, and calls `done`. Returns a function that cancels the request."""
        raise NotImplementedError  # a store with `_puts_begun_at_once` > 0 overrides this

    def _flush(self) -> None:
        pass

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return _locks.hold((self.url, key))

    def _claim(self, key: str) -> AbstractContextManager[bool]:
        """A lock that one writer holds for as long as it prepares a change of the value at `key`. The value can be read
        and replaced meanwhile. Gives True if everyone else who claims the key waits, or gets an error; False if this
        store cannot exclude other processes."""
        return nullcontext(False)

    def _stale_temporaries(self, prefix: str) -> Iterator[str]:
        return iter(())

    def _set_partial(self, key: str, parts: Sequence[tuple[int, bytes]]) -> None:
        while True:
            found = self._get_versioned(key)
            value = bytearray(b"" if found is None else found[0])
            size, end = len(value), 0
            for start, patch in sorted(parts):
                if start < end or start > size:
                    raise Refused(f"A write of {len(patch)} bytes at {start} leaves a gap or overlaps another", key=key)
                value[start : start + len(patch)] = patch
                end = start + len(patch)
            try:
                self._set(key, bytes(value), ABSENT if found is None else found[1])
                return
            except Conflict:  # another writer stored a value meanwhile: patch that one
                continue

    def _erase(self, key: str) -> None:
        raise NotImplementedError  # each store overrides this

    def _erase_prefix(self, prefix: str) -> None:
        for key in [*self._list_prefix(prefix)]:
            self._erase(key)

    def _size_of(self, key: str) -> int | None:
        return None

    def _is_gone(self) -> bool:
        """Whether the place of all values, such as a folder, is known to be absent."""
        return False

    def _ignores_spelling(self) -> bool:
        return False

    def _spelled(self, key: str) -> str:
        return key

    def _lost_rights(self, key: str) -> tuple[str, ...]:
        return ()

    def _links(self, key: str) -> int:
        return 1

    def _is_folder(self, key: str) -> bool:
        """Whether a folder of the file system lies where the value of `key` would be."""
        return False

    def _folder_of(self, prefix: str) -> str | None:
        """The folder of the file system that contains exactly the values beneath `prefix`."""
        return None

    def _copy_many(
        self, source: Backend, pairs: Sequence[tuple[str, str]], cancelled: Callable[[], bool]
    ) -> Iterator[tuple[str, int | None]]:
        copied = []
        from zarrscope.stores.puts import Puts

        with Puts(self) as puts:
            for i, answer in source._get_many([(key, None) for key, _ in pairs], cancelled):
                if isinstance(answer, ZarrscopeError):
                    raise answer
                if answer is not None:
                    puts.put(pairs[i][1], (answer,))
                    copied.append((pairs[i][1], len(answer)))
        yield from copied

    def _compare_many(self, source: Backend, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        for i, answer in source._get_many([(key, None) for key, _ in pairs], never):
            if isinstance(answer, ZarrscopeError):
                raise answer
            if self._get(pairs[i][1], None) != answer:  # one at a time, because values may be large
                yield pairs[i][1]

    def _can_move_prefix(self, source: Backend, prefix: str, to: str) -> bool:
        return False

    def _move_prefix(self, source: Backend, prefix: str, to: str) -> None:
        raise Unsupported("This store cannot move a prefix at once", feature="moving a prefix", store=self.url)

    @property
    def _renames_within(self) -> bool:
        """Whether `_rename_within` probably succeeds."""
        return False

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        """Renames values, and all values beneath prefixes, in one step: (old, new). Nothing is stored at the new keys
        yet. Returns False, and changes nothing, if this store cannot do so."""
        if keys or len(prefixes) != 1 or not self._can_move_prefix(self, *prefixes[0]):
            return False
        self._move_prefix(self, *prefixes[0])
        return True

    def _moved_away(self, prefix: str) -> None:
        """Called after everything beneath `prefix` was moved away."""

    # ------------------------------------------------------------------ shared checks
    def _need_listing(self) -> None:
        if not self.listable:
            raise Unsupported(
                "This store cannot list its keys",
                feature="listing",
                store=self.url,
                advice="Open a node by its path, or use a store with consolidated metadata.",
            )

    def _need_writing(self, key: str) -> None:
        if not self.writable:
            raise ReadOnly(
                "This store is read-only",
                store=self.url,
                key=key,
                advice="Open it with mode='r+' if the store allows writing.",
            )

    def _expect(self, key: str, expect: Version | None, found: tuple[bytes, Version] | None) -> None:
        """Raises Conflict unless the stored version is the one that the writer expects."""
        if expect is None:
            return
        version = ABSENT if found is None else found[1]
        if version != expect:
            raise Conflict(
                "The stored value changed since it was read"
                if expect != ABSENT
                else "Something is stored there already",
                store=self.url,
                key=key,
                theirs=None if found is None else found[0],
                advice="Compare both versions, then save again.",
            )

    def __repr__(self) -> str:
        return visible(f"<{type(self).__name__} {self.url}>")
