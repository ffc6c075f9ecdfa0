"""What a store is: keys to byte strings, with the specification's own operations (spec B; v3 core "Store interface").

A concrete store overrides the underscored methods it can do well; the public ones check keys and prefixes first, so no
backend ever sees a key that could leave the store (spec F.8), and derive what a backend lacks: list_dir ← list_prefix
← list, list_prefix ← list_dir; get_partial_values ← get; set_partial_values ← get + set; erase_prefix ← list_prefix +
erase; copy_many ← get_many + set. A store of files may move all keys of a prefix at once (`move_prefix`).

Promises, held by tests/contracts/store.py for every store, wrapper and transformer: absence is None, never an error and
never b""; a set is atomic (a reader sees the old value or the new, never a part); a value given with `expect` is stored
only when the stored version is that one; list_dir streams one level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import NamedTuple

from zarrscope.errors import Conflict, ReadOnly, Refused, Unsupported, ZarrscopeError
from zarrscope.frozen import frozen
from zarrscope.reader import Reader, Room
from zarrscope.turns import Turns

MAX_KEY_BYTES = 4096
_turns = Turns()
SURVEYED = 64
"""So many prefixes are looked into side by side."""
BATCH = 64
"""So many values are asked for at once where they are copied or compared."""


class ByteRange(NamedTuple):
    """A part of a value, in bytes. `start` None: the last `length` bytes. `length` None: from `start` to the end."""

    start: int | None
    length: int | None

    @classmethod
    def last(cls, length: int) -> ByteRange:
        return cls(None, length)

    def span(self, size: int) -> tuple[int, int]:
        """(from, to) within a value of `size` bytes, clipped to it."""
        if self.start is None:
            return max(0, size - (self.length or 0)), size
        start = min(self.start, size)
        return start, size if self.length is None else min(size, start + self.length)

    def of(self, value: bytes) -> bytes:
        start, stop = self.span(len(value))
        return value[start:stop]


class Entry(NamedTuple):
    """One name found by list_dir, relative to the listed prefix, without a slash. `size` in bytes where it is free.

    A tuple, for listings make them by the thousand.
    """

    name: str
    is_prefix: bool
    size: int | None = None


class Found(NamedTuple):
    """One prefix found by survey: its name relative to the surveyed one, without a slash; which of the names looked for
    it holds, None for none of them; the value where that was asked for, or why it could not be looked into."""

    name: str
    holds: str | None
    value: bytes | ZarrscopeError | None = None


@frozen
class Version:
    """The state of one stored value: opaque, comparable (an e-tag, a generation, time and digest …)."""

    token: str

    @classmethod
    def of(cls, value: bytes) -> Version:
        from hashlib import sha256  # with OpenSSL behind it: whoever only reads does without

        return cls(sha256(value).hexdigest())


ABSENT = Version("absent")
"""As `expect`: store only when nothing is stored there yet."""

Buffer = bytes | bytearray | memoryview
Request = tuple[str, ByteRange | None]
Answer = bytes | ZarrscopeError | None
"""What get_many yields for a request: the bytes, None when absent, or the error that this one request met."""


def never() -> bool:
    return False


_plain = re.compile(r"\.?[A-Za-z0-9_-][\w.-]*(/\.?[A-Za-z0-9_-][\w.-]*)*", re.ASCII).fullmatch


def check_key(key: str) -> str:
    """`key` when a store may see it. Raises Refused (spec F.8, B "Valid keys")."""
    if len(key) <= MAX_KEY_BYTES and _plain(key):  # nearly all are, and this is asked for every chunk
        return key
    _check_segments(key, key.split("/"), "key")
    return key


def check_prefix(prefix: str) -> str:
    """`prefix` when a store may see it: "" for everything, else key characters and a final slash. Raises Refused."""
    if prefix in ("", "/"):
        return ""
    if not prefix.endswith("/"):
        raise Refused(f"The prefix {prefix!r} does not end in '/'", key=prefix)
    _check_segments(prefix, prefix[:-1].split("/"), "prefix")
    return prefix


def _check_segments(whole: str, segments: Sequence[str], what: str) -> None:
    if not whole:
        raise Refused(f"An empty {what} names nothing", key=whole)
    if any(segment in ("", ".", "..") for segment in segments):
        raise Refused(f"The {what} {whole!r} has an empty, '.' or '..' part, which could leave the store", key=whole)
    if "\0" in whole:
        raise Refused(f"The {what} {whole!r} has a NUL character", key=whole)
    if len(whole.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise Refused(f"The {what} {whole[:60]!r}… is longer than {MAX_KEY_BYTES} bytes", key=whole[:200])


def _batches(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    rest = iter(pairs)
    while batch := list(islice(rest, BATCH)):
        yield batch


class Store:
    """Keys to values. `url` names the store for a person and for reopening; flags say what this one can do.

    One class with flags rather than one protocol per capability: a wrapper or a server learns only at run time what it
    can do, and an isinstance test on a wrapper would answer for the wrapper, not for what it wraps.
    """

    url: str = ""
    listable: bool = True
    writable: bool = True
    remote: bool = False
    """Each request costs a round trip: ask for little, many at once."""
    surveys: bool = False
    """`survey` is one pass over what is there, quicker than list_dir and get_many."""

    # ------------------------------------------------------------------ reading
    def get(self, key: str, part: ByteRange | None = None) -> bytes | None:
        """The value, or the given part of it; None when nothing is stored. Raises Unreadable, Refused."""
        return self._get(check_key(key), part)

    def likely(self, keys: Sequence[str]) -> Sequence[str]:
        """The keys without those that hold nothing, as far as that costs less than `get` says it."""
        return keys

    def get_partial_values(self, requests: Sequence[Request]) -> list[bytes | None]:
        """One answer per request, in the order of the requests; a key may repeat. The first failure is raised."""
        answers: list[bytes | None] = [None] * len(requests)
        for i, answer in self.get_many(requests):
            if isinstance(answer, ZarrscopeError):
                raise answer
            answers[i] = answer
        return answers

    def get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[int, Answer]]:
        """(index of the request, answer) in order of completion, many under way at once where that pays.

        A request that fails yields its error; the others go on. Ends early once `cancelled()` is true, really stopping
        requests under way where the backend can.
        """
        for key, _ in requests:
            check_key(key)
        yield from self._get_many(requests, cancelled)

    def get_versioned(self, key: str) -> tuple[bytes, Version] | None:
        """The value and the version to pass to `set(expect=…)`, read as one."""
        return self._get_versioned(check_key(key))

    def reader(self, room: Room) -> Reader:
        """For reading many values in a row, in one thread; close it. What it gives may lie in `room`."""
        return Reader(self)

    # ------------------------------------------------------------------ listing
    def list(self) -> Iterator[str]:
        """All keys, each once, in no order. Raises Unsupported where the store cannot list."""
        self._need_listing()
        yield from self._list()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """All keys that begin with `prefix` ("" or ending in "/"): full keys, in no order."""
        self._need_listing()
        yield from self._list_prefix(check_prefix(prefix))

    def list_dir(self, prefix: str) -> Iterator[Entry]:
        """One level: names of keys and of prefixes directly beneath `prefix`, each once, streamed."""
        self._need_listing()
        yield from self._list_dir(check_prefix(prefix))

    def survey(self, prefix: str, names: Sequence[str], *, read: bool) -> Iterator[Found]:
        """Each prefix directly beneath, with the first of `names` that holds a value in it: list_dir and a look inside.

        The value comes with it where `read`; without, only that there is one. Streamed.
        """
        self._need_listing()
        for name in names:
            check_key(name)
        yield from self._survey(check_prefix(prefix), names, read)

    # ------------------------------------------------------------------ writing
    def set(self, key: str, value: bytes, expect: Version | None = None) -> Version:
        """Stores the whole value, atomically. Raises Conflict when the stored version is not `expect`; ReadOnly."""
        self._need_writing(key)
        return self._set(check_key(key), bytes(value), expect)

    def put(self, key: str, *parts: Buffer) -> None:
        """Stores the parts, one after the other, as the whole value, atomically: for what its writer could write again.

        There is no version, and the value reaches the disk when the system sees fit, or by `flush`.
        """
        self._need_writing(key)
        self._put(check_key(key), parts)

    def flush(self) -> None:
        """Returns when all that was stored so far would outlast a loss of power, as far as the backend can tell."""
        self._flush()

    @contextmanager
    def turn(self, key: str = "") -> Iterator[None]:
        """One's turn among those who read, change and store the value of `key`; "": who change which nodes there are.

        Threads always take turns, processes where the store can tell of one another. It keeps nobody from writing: what
        may not be lost is stored with `expect` besides. The thread whose turn it is may take it again.
        """
        self._need_writing(key)
        with self._turn(check_key(key) if key else ""):
            yield

    def left_over(self, prefix: str = "") -> Iterator[str]:
        """Names beneath `prefix`, no keys, that killed writers left and the next writers remove."""
        yield from self._left_over(check_prefix(prefix))

    def set_partial_values(self, values: Iterable[tuple[str, int, bytes]]) -> None:
        """(key, start, bytes): overwrites ranges. Ranges of one key must not overlap; start ≤ current length."""
        patches: dict[str, list[tuple[int, bytes]]] = {}
        for key, start, value in values:
            self._need_writing(key)
            patches.setdefault(check_key(key), []).append((start, bytes(value)))
        for key, parts in patches.items():
            self._set_partial(key, parts)

    def erase(self, key: str) -> None:
        """Removes one key. Nothing happens when it is not there."""
        self._need_writing(key)
        self._erase(check_key(key))

    def erase_values(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.erase(key)

    def erase_prefix(self, prefix: str) -> None:
        """Removes every key beginning with `prefix`."""
        self._need_writing(prefix)
        self._erase_prefix(check_prefix(prefix))

    # ------------------------------------------------------------------ moving values about
    def size_of(self, key: str) -> int | None:
        """Bytes stored at `key`, where that costs no more than looking; None when nothing is there, or it would."""
        return self._size_of(check_key(key))

    def copy_many(
        self, source: Store, pairs: Iterable[tuple[str, str]], cancelled: Callable[[], bool] = never
    ) -> Iterator[tuple[str, int | None]]:
        """Stores what `source` has at the first key of each pair here at the second, as it is. Nothing there: nothing
        is stored. Yields (second key, bytes) of what was; bytes None when not known. The first failure is raised.
        What was stored is on disk after `flush`."""
        for batch in _batches(pairs):
            for key, to in batch:
                check_key(key)
                self._need_writing(to)
                check_key(to)
            yield from self._copy_many(source, batch, cancelled)

    def differing(self, source: Store, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The second keys of the pairs at which not the same is stored here as in `source` at the first."""
        for batch in _batches(pairs):
            yield from self._differing(source, batch)

    def can_move_prefix(self, source: Store, prefix: str, to: str) -> bool:
        """Whether `move_prefix` can do it, as far as looking tells."""
        return (
            self.writable and source.writable and self._can_move_prefix(source, check_prefix(prefix), check_prefix(to))
        )

    def move_prefix(self, source: Store, prefix: str, to: str) -> None:
        """Moves all that `source` has beneath `prefix` to beneath `to` here, at once: seen whole at one place or at the
        other. Raises Conflict when something lies beneath `to`, Unsupported when that cannot be done at once after
        all; then nothing has changed."""
        self._need_writing(to)
        source._need_writing(prefix)
        self._move_prefix(source, check_prefix(prefix), check_prefix(to))

    def close(self) -> None:
        """Gives back what the store holds open. A closed store may be used again; it reopens."""

    # ------------------------------------------------------------------ for stores to override
    def _get(self, key: str, part: ByteRange | None) -> bytes | None:
        raise NotImplementedError

    def _get_many(self, requests: Sequence[Request], cancelled: Callable[[], bool]) -> Iterator[tuple[int, Answer]]:
        for i, (key, part) in enumerate(requests):
            if cancelled():
                return
            try:
                answer: Answer = self._get(key, part)
            except ZarrscopeError as error:
                answer = error.located(store=self.url, key=key)
            yield i, answer

    def _get_versioned(self, key: str) -> tuple[bytes, Version] | None:
        value = self._get(key, None)
        return None if value is None else (value, Version.of(value))

    def _list(self) -> Iterator[str]:
        return self._list_prefix("")

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        if type(self)._list is not Store._list:
            yield from (key for key in self._list() if key.startswith(prefix))
            return
        if type(self)._list_dir is Store._list_dir:
            raise NotImplementedError
        pending = [prefix]
        while pending:
            prefix = pending.pop()
            for entry in self._list_dir(prefix):
                if entry.is_prefix:
                    pending.append(f"{prefix}{entry.name}/")
                else:
                    yield prefix + entry.name

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        seen: set[tuple[str, bool]] = set()
        for key in self._list_prefix(prefix):
            name, slash, _ = key[len(prefix) :].partition("/")
            if (name, bool(slash)) not in seen:
                seen.add((name, bool(slash)))
                yield Entry(name, bool(slash))

    def _survey(self, prefix: str, names: Sequence[str], read: bool) -> Iterator[Found]:
        beneath = (entry.name for entry in self._list_dir(prefix) if entry.is_prefix)
        while batch := list(islice(beneath, SURVEYED)):
            part = None if read else ByteRange(0, 1)
            held: dict[str, dict[str, bytes]] = {}
            failed: dict[str, ZarrscopeError] = {}
            asked = [(folder, name) for folder in batch for name in names]
            for i, answer in self._get_many([(f"{prefix}{folder}/{name}", part) for folder, name in asked], never):
                folder, name = asked[i]
                if isinstance(answer, ZarrscopeError):
                    failed[folder] = answer
                elif answer is not None:
                    held.setdefault(folder, {})[name] = answer
            for folder in batch:
                found = held.get(folder, {})
                holds = next((name for name in names if name in found), None)
                value: bytes | ZarrscopeError | None = failed.get(folder) if holds is None else None
                yield Found(folder, holds, found[holds] if holds is not None and read else value)

    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        raise NotImplementedError

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._set(key, bytes(parts[0]) if len(parts) == 1 else b"".join(parts), None)

    def _flush(self) -> None:
        pass

    def _turn(self, key: str) -> AbstractContextManager[object]:
        return _turns.hold((self.url, key))

    def _left_over(self, prefix: str) -> Iterator[str]:
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
            except Conflict:  # somebody wrote between our reading and writing: patch what is there now
                continue

    def _erase(self, key: str) -> None:
        raise NotImplementedError

    def _erase_prefix(self, prefix: str) -> None:
        for key in [*self._list_prefix(prefix)]:
            self._erase(key)

    def _size_of(self, key: str) -> int | None:
        return None

    def _folder_of(self, prefix: str) -> str | None:
        """The folder of the file system that holds what lies beneath `prefix` and nothing else."""
        return None

    def _copy_many(
        self, source: Store, pairs: Sequence[tuple[str, str]], cancelled: Callable[[], bool]
    ) -> Iterator[tuple[str, int | None]]:
        for i, answer in source.get_many([(key, None) for key, _ in pairs], cancelled):
            if isinstance(answer, ZarrscopeError):
                raise answer
            if answer is not None:
                self.put(pairs[i][1], answer)
                yield pairs[i][1], len(answer)

    def _differing(self, source: Store, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        for i, answer in source.get_many([(key, None) for key, _ in pairs]):
            if isinstance(answer, ZarrscopeError):
                raise answer
            if self.get(pairs[i][1]) != answer:  # one by one: values may be large
                yield pairs[i][1]

    def _can_move_prefix(self, source: Store, prefix: str, to: str) -> bool:
        return False

    def _move_prefix(self, source: Store, prefix: str, to: str) -> None:
        raise Unsupported("This store cannot move a prefix at once", feature="moving a prefix", store=self.url)

    def _moved_away(self, prefix: str) -> None:
        """Called when all beneath `prefix` was moved to another place."""

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
                advice="Open it with mode='r+' where it allows that.",
            )

    def _expect(self, key: str, expect: Version | None, found: tuple[bytes, Version] | None) -> None:
        """Raises Conflict unless what is stored is what the writer expects."""
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
        return f"<{type(self).__name__} {self.url}>"
