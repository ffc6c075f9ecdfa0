"""The types that stores take and return: byte ranges, listing entries, versions, requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zarrscope.errors import ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.runtime.named_tuple import NamedTuple


class ByteRange(NamedTuple):
    """A part of a value, in bytes. `start` None: the last `length` bytes. `length` None: from `start` to the end."""

    start: int | None
    length: int | None

    @classmethod
    def last(cls, length: int) -> ByteRange:
        """The last `length` bytes of a value, or the whole value if it is shorter."""
        return cls(None, length)

    def span(self, size: int) -> tuple[int, int]:
        """(offset of the first byte, offset after the last byte) of this range in a value of `size` bytes, clipped to
        the value."""
        if self.start is None:
            return max(0, size - (self.length or 0)), size
        start = min(self.start, size)
        return start, size if self.length is None else min(size, start + self.length)

    def of(self, value: bytes) -> bytes:
        """This part of a value in memory; fewer bytes where the value ends earlier."""
        start, stop = self.span(len(value))
        return value[start:stop]


class IndexRange(ByteRange):
    """The bytes of a shard's index. A store that reads ahead (BulkOperations.reads_ahead) may answer with an
    IndexAnswer, which has the wanted chunks, too."""

    numbers: Sequence[int] = ()
    """The numbers of the wanted chunks in the index, in C order."""
    expected = 0
    """The most bytes of these chunks."""


class IndexAnswer(bytes):
    """The bytes of a shard's index, and chunks that came with them."""

    blocks: Sequence[tuple[int, memoryview]] = ()
    """Bytes of the shard, each with their place in it, in ascending order."""


class Entry(NamedTuple):
    """One name found by list_dir, relative to the listed prefix, without a slash. `size` in bytes, if the listing gives
    it.

    A tuple, because listings make thousands of them.
    """

    name: str
    is_prefix: bool
    size: int | None = None


class ScannedChild(NamedTuple):
    """One prefix found by `scan_children`: its name relative to the scanned prefix, without a slash; the first of the
    wanted names that exists beneath it, or None; and the value of that name if it was asked for, or the error.
    """

    name: str
    document: str | None
    value: bytes | ZarrscopeError | None = None


@frozen
class Version:
    """The state of one stored value: opaque, comparable (an e-tag, a generation, time and digest …)."""

    token: str

    @classmethod
    def of(cls, value: bytes) -> Version:
        """The version of a value by its content, for stores that give no versions of their own."""
        from hashlib import sha256  # hashlib loads OpenSSL, which readers do not need

        return cls(f"{sha256(value).hexdigest()}.{len(value)}")

    def may_have(self, size: int) -> bool:
        """Whether a value of `size` bytes may have this version. If not, a caller need not read the value to compare
        it."""
        digest, _, length = self.token.rpartition(".")
        return not digest or length == str(size)

    @classmethod
    def of_pieces(cls, read: Callable[[int], bytes]) -> Version:
        """The version of a value that is too large for memory. `read` gives bytes from an offset on, and none at the
        end.
        """
        from hashlib import sha256

        digest, at = sha256(), 0
        while piece := read(at):
            digest.update(piece)
            at += len(piece)
        return cls(f"{digest.hexdigest()}.{at}")


ABSENT = Version("absent")
"""The version of a key without a value: `set(key, value, expect=ABSENT)` stores only where nothing is stored yet."""

Buffer = bytes | bytearray | memoryview

Request = tuple[str, ByteRange | None]


class DocumentRequest(tuple[str, None]):
    """A request for a whole value whose version may be needed as well. A store that learns versions only from its
    service may answer with a VersionedValue."""

    __slots__ = ()

    def __new__(cls, key: str) -> DocumentRequest:
        return super().__new__(cls, (key, None))


class VersionedValue(bytes):
    """A value and the version that its service stated with it."""

    version: Version | None = None


Answer = bytes | ZarrscopeError | None
"""The answer to one request of get_many: the bytes, None when absent, or the error."""


def renamed(request: Request, key: str) -> Request:
    """The same request for another key."""
    return DocumentRequest(key) if isinstance(request, DocumentRequest) else (key, request[1])


AnswerView = bytes | memoryview | ZarrscopeError | None
"""As Answer, but the bytes may lie in memory that another library owns."""


def never() -> bool:
    """Always False: the `cancelled` of calls that nobody cancels."""
    return False


class ShardPlace(NamedTuple):
    """A shard: its key, its span within the stored value (None: all of it), and its tier (0 is the outermost)."""

    key: str
    span: tuple[int, int] | None
    tier: int
