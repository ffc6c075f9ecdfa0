"""Every error that zarrscope raises on purpose, with advice for the user.

    ZarrscopeError
    ├── NotFound      nothing is stored at that place: check the path, list the parent
    ├── Unreadable    the store did not answer (network, permission, disk): retry, check access
    │   ├── Denied    it answered, but does not give the value out: log in, check the address
    │   └── TooLarge  the value is larger than its reader can use: it was not read
    ├── BadMetadata   a document breaks its specification: the pointer names the place
    ├── Unsupported   a feature zarrscope does not have here (codec, data type …): install or ask for it
    ├── BadChunk      the bytes of one chunk cannot be decoded: the rest of the array can
    ├── Conflict      somebody else changed the value meanwhile: compare, merge, save again
    │   └── Exists    something is stored there already, and should not be: choose another place
    ├── ReadOnly      the store or the node cannot be written: open it for writing, or save a copy
    └── Refused       the caller asked for something that zarrscope will not do (a key outside the store)
        └── NotEmpty  the place for a new store holds something: choose another place

Code that does not know zarrscope can handle them as Python's own errors: NotFound is a KeyError and a
FileNotFoundError, ReadOnly and Denied are PermissionErrors, Exists and NotEmpty are FileExistsErrors, Unreadable and
BadChunk are OSErrors. Within zarrscope, code that handles OSError around calls that may raise a ZarrscopeError must
handle ZarrscopeError first (tests/test_error_handlers.py).

An error is raised where the fault is noticed, often by code that knows neither store nor key; each caller adds the
parts of the place that it knows with `located`. The message of an error always names the faulty thing. It shows text
from files in a form that cannot control the terminal on which a traceback is printed.

`advice` is the next step. An error that is raised without one has the usual step of its class, which names the document
and the pointer to correct; so every fault in stored data has a next step, in Python and in all front ends alike
(tests/core/test_error_steps.py).
"""

from __future__ import annotations

import errno as numbers
from typing import Any, Self

from zarrscope.errors.confidential import public, scrub
from zarrscope.errors.visible import shortened, visible


class ZarrscopeError(Exception):
    """An error with its place. Every error that zarrscope raises on purpose is one.

    Parameters
    ----------
    message
        The fault, in a sentence.
    store
        The URL of the store; passwords are taken out.
    key
        The key in the store; "" for a fault of the whole store, which has no key even if one was asked for.
    pointer
        The place in a document (RFC 6901).
    advice
        The next step for the user. Without it, the error has the usual step of its class; "" for no step at all.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> try:
    ...     h["/nothing"]
    ... except zarrscope.ZarrscopeError as error:
    ...     error.key, error.message
    ('nothing/zarr.json', 'There is no node /nothing')
    """

    title = "zarrscope could not do that"

    def __init__(
        self,
        message: str,
        *,
        store: str | None = None,
        key: str | None = None,
        pointer: str | None = None,
        advice: str | None = None,
    ) -> None:
        message = shortened(scrub(message))
        super().__init__(message)
        self.message = message
        self.store = public(store) if store is not None else None
        self.key = key
        self.pointer = pointer
        self.own_advice = scrub(advice) if advice is not None else None

    @property
    def advice(self) -> str | None:
        """The next step for the user: `own_advice`, or else the usual step of this class at this place."""
        return self.own_advice if self.own_advice is not None else self._usual_step() or None

    @advice.setter
    def advice(self, step: str | None) -> None:
        self.own_advice = step

    def _usual_step(self) -> str:
        """The next step if the error was raised without one; "" if this class has no usual step."""
        return ""

    def located(self, *, store: str | None = None, key: str | None = None, pointer: str | None = None) -> Self:
        """Adds the parts of the place that were not yet known. Known parts stay.

        Parameters
        ----------
        store, key, pointer
            The address of the store, the key of the value, and the JSON pointer within it.

        Returns
        -------
        ZarrscopeError
            This error.

        Examples
        --------
        >>> from zarrscope import Unreadable
        >>> str(Unreadable("The file could not be read").located(key="c/0"))
        "The file could not be read (key 'c/0'). Check that the store can be reached and read, then try again."
        """
        self.store = self.store if self.store is not None else store
        self.key = self.key if self.key is not None else key
        self.pointer = self.pointer if self.pointer is not None else pointer
        return self

    def beneath(self, pointer: str) -> Self:
        """Puts a pointer before that of the error, whose document is itself a part of a larger one.

        Parameters
        ----------
        pointer
            The place of the part in the larger document.

        Returns
        -------
        ZarrscopeError
            This error.

        Examples
        --------
        >>> from zarrscope import BadMetadata
        >>> BadMetadata("No number", pointer="/level").beneath("/codecs/0").pointer
        '/codecs/0/level'
        """
        self.pointer = pointer + (self.pointer or "")
        return self

    @property
    def place(self) -> str:
        """The place of the fault, for people: "key 'a/zarr.json' at /codecs/0 in file:///data/x.zarr"."""
        parts = []
        if self.key:
            parts.append(f"key {self.key!r}")
        if self.pointer:
            parts.append(f"at {shortened(self.pointer)}")
        if self.store is not None:
            parts.append(f"in {self.store}")
        return " ".join(parts)

    def __str__(self) -> str:
        text = self.message.rstrip(".")
        if self.place:
            text += f" ({self.place})"
        advice = self.advice
        return visible(f"{text}. {scrub(advice)}" if advice else f"{text}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))


def _rebuild(kind: type[ZarrscopeError], message: str, state: dict[str, Any]) -> ZarrscopeError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class _SystemError(ZarrscopeError, OSError):
    """An error that is also an OSError, for code that does not know zarrscope."""

    errno: int = numbers.EIO
    """The number of the system's own error if it is known, otherwise the closest one."""

    @property
    def strerror(self) -> str:  # type: ignore[override]  # OSError has it as an attribute; here it is computed from the message
        return self.message

    @property
    def filename(self) -> str | None:
        if self.store is None or not self.key:
            return self.store or self.key
        return f"{self.store.rstrip('/')}/{self.key.lstrip('/')}"


class NotFound(_SystemError, FileNotFoundError, KeyError):
    """Nothing is stored at that place. It is also a KeyError and a FileNotFoundError.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> try:
    ...     h["/nothing"]
    ... except KeyError:
    ...     print("not there")
    not there
    """

    title = "Not found"
    errno = numbers.ENOENT
    archive = ""
    """The name of the archive that is the only thing in a folder where no hierarchy begins; "" anywhere else."""


class Unreadable(_SystemError):
    """The store did not answer, or the stored value cannot be read. It is also an OSError.

    Examples
    --------
    >>> from zarrscope import Unreadable
    >>> isinstance(Unreadable("The disk reports a fault"), OSError)
    True
    """

    title = "Could not be read"

    def _usual_step(self) -> str:
        known = self.store is not None or self.key is not None
        return "Check that the store can be reached and read, then try again." if known else ""


class TooLarge(Unreadable):
    """The value is larger than the limit that the caller set.

    `size` is the size of the value; None if it is only known to be more than `limit`.
    """

    title = "Too large"
    errno = numbers.EFBIG

    def _usual_step(self) -> str:
        return "Check whether the value belongs there, and restore it from a copy if not." if self.key else ""

    def __init__(self, message: str, *, size: int | None, limit: int, **place: Any) -> None:
        super().__init__(message, **place)
        self.size = size
        self.limit = limit


class Denied(Unreadable, PermissionError):
    """The store denies access.

    `untold`: the store gives the same answer for absent values, so it is unknown whether a value exists. `tried`: the
    sources of the credentials that the service rejected, then those that were not used, with the reason.
    """

    title = "Access denied"
    errno = numbers.EACCES
    UNTOLD_ADVICE = (
        "The server gives the same answer for missing values. If you may read every value there, "
        "--missing-is-fill (storage_options={'missing_is_fill': True}) treats it as missing."
    )
    """The advice of an untold denial, for scripts and the command line."""
    NOTHING_READ_ADVICE = (
        "The server gives this answer for every key, whether a value exists or not: check the address, whether you may "
        "read it, and whether your network asks for a login."
    )
    """The advice where not one value could be read: none can then be taken as missing."""

    def __init__(self, message: str, *, untold: bool = False, tried: tuple[str, ...] = (), **place: Any) -> None:
        super().__init__(message, **place)
        self.untold = untold
        self.tried = tried
        self.all_denied = False
        """Whether not one value of the store could be read."""

    @property
    def may_be_missing(self) -> bool:
        """Whether the value may be taken as missing: the store cannot tell, but other values could be read."""
        return self.untold and not self.all_denied

    def deny_all(self) -> None:
        """States that not one value could be read, so that none can be taken as missing."""
        self.all_denied = True
        self.advice = (self.advice or "").replace(self.UNTOLD_ADVICE, self.NOTHING_READ_ADVICE)


class BadMetadata(ZarrscopeError):
    """A document breaks its specification; `pointer` names the place.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> _ = store.set("zarr.json", b"{")
    >>> try:
    ...     zarrscope.open(store)
    ... except zarrscope.BadMetadata as error:
    ...     error.key
    'zarr.json'
    """

    title = "Metadata breaks its specification"

    def _usual_step(self) -> str:
        if self.key is None:  # metadata that a caller gave, not a stored document
            return f"Correct {shortened(self.pointer)}." if self.pointer else ""
        if self.pointer:
            return f"Correct {shortened(self.pointer)} in {self.key}, or restore that document from a copy."
        return f"Correct the text of {self.key}, or restore that document from a copy."


class Unsupported(ZarrscopeError):
    """A feature that zarrscope does not have here: a codec, a data type, an ability of a store.

    Parameters
    ----------
    message
        The fault, in a sentence.
    feature
        The missing feature as the document spells it, such as "codec imagecodecs_jpegxl".
    **place
        `store`, `key`, `pointer` and `advice`, as ZarrscopeError takes them.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> try:
    ...     h.create_array("/a", shape=(4,), dtype="u1", codecs=["no_such_codec"])
    ... except zarrscope.Unsupported as error:
    ...     error.feature
    'codec no_such_codec'
    """

    title = "Not supported here"

    def __init__(self, message: str, *, feature: str = "", **place: Any) -> None:
        super().__init__(message, **place)
        self.feature = feature

    def _usual_step(self) -> str:
        if self.key is None:  # asked for by a caller, not by stored data
            return ""
        place = f" If {shortened(self.pointer)} in {self.key} is wrong, correct it." if self.pointer else ""
        return f"A newer zarrscope may know it.{place}"


class BadChunk(_SystemError):
    """The bytes of one chunk cannot be decoded; the other chunks can. It is also an OSError.

    Parameters
    ----------
    message
        The fault, in a sentence.
    codec
        The codec that failed, if it is known.
    index
        The chunk's index in its grid, if it is known.
    **place
        `store`, `key`, `pointer` and `advice`, as ZarrscopeError takes them.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> a = zarrscope.open(store, mode="w-").create_array("/a", shape=(4,), dtype="u1", codecs=["zstd"])
    >>> _ = store.set("a/c/0", b"no frame of zstd")
    >>> try:
    ...     a[...]
    ... except zarrscope.BadChunk as error:
    ...     error.codec, error.index
    ('zstd', (0,))
    """

    title = "A chunk cannot be decoded"

    def __init__(
        self, message: str, *, codec: str | None = None, index: tuple[int, ...] | None = None, **place: Any
    ) -> None:
        super().__init__(message, **place)
        self.codec = codec
        self.index = index

    def _usual_step(self) -> str:
        rest = "The rest of the array can be read."
        return f"{rest} Restore this chunk from a copy; zarrscope check finds all damaged chunks."


class Conflict(ZarrscopeError):
    """Another writer changed the value since it was read, or something is stored there already.

    Parameters
    ----------
    message
        The fault, in a sentence.
    theirs
        The value that is stored now; None if it is gone.
    **place
        `store`, `key`, `pointer` and `advice`, as ZarrscopeError takes them.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-")
    >>> mine = h.document("/")
    >>> h.root.attrs["theirs"] = 1
    >>> try:
    ...     h.save("/", mine.set("/attributes", {"mine": 1}))
    ... except zarrscope.Conflict as error:
    ...     b"theirs" in error.theirs
    True
    """

    title = "Changed by somebody else"

    def __init__(self, message: str, *, theirs: bytes | None = None, **place: Any) -> None:
        super().__init__(message, **place)
        self.theirs = theirs


class Exists(Conflict, _SystemError, FileExistsError):
    """A node or a hierarchy exists already where a new one was asked for. It is also a FileExistsError."""

    title = "Exists already"
    errno = numbers.EEXIST


class ReadOnly(_SystemError, PermissionError):
    """The store or the node cannot be written. It is also a PermissionError.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> _ = zarrscope.open(store, mode="w-")
    >>> try:
    ...     zarrscope.open(store).create_group("/g")
    ... except PermissionError:
    ...     print("open it with mode='r+'")
    open it with mode='r+'
    """

    title = "Read-only"
    errno = numbers.EACCES


class Refused(ZarrscopeError):
    """The caller asked for something that zarrscope does not do, such as reading a key outside the store.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> try:
    ...     zarrscope.open(MemoryStore(), mode="w-").create_group("/a/../b")
    ... except zarrscope.Refused:
    ...     print("no such name")
    no such name
    """

    title = "Refused"


class OutsideLink(Refused):
    """A symbolic link leads out of the store, and following such links was not allowed."""

    title = "A link out of the store"


class NotEmpty(Refused, _SystemError, FileExistsError):
    """The place for a new store holds something already. It is also a FileExistsError."""

    title = "Not empty"
    errno = numbers.EEXIST


class NotStandard(Refused):
    """An edit would add NaN, Infinity, a number too large for a float, or a repeated name to a document: ask the user
    first."""

    title = "Not standard JSON"
