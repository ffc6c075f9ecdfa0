"""ssh://[user@]host[:port]/path: the store operations of a folder or archive on another machine.

The store runs the user's own `ssh` program, with its agent, keys and configuration. No port is opened, and no process
stays on the other machine. One connection serves all stores of one host; if round trips are long, it has several
channels (channels.py). A request is sent without waiting for the answers to earlier ones, and answers come in any
order. Ranges, listings, versions and locks are handled by the store on the other machine (serving.py). If the
connection ends or falls silent (connection.py), the next request opens it again, and reads in progress are repeated
once; locks that were held over it are released.

If zarrscope is not installed on the other machine, `open_ssh` uses SFTP instead, read-only.
"""

from __future__ import annotations

import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from zarrscope.errors import Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import Answer, Buffer, ByteRange, Entry, Request, ScannedChild, Version
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.interrupts import Interrupted
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.runtime.waits import waiting_for_lock
from zarrscope.stores.network import network
from zarrscope.stores.ssh.ahead import as_told, unpacked, worth_sending
from zarrscope.stores.ssh.channels import Channels, ask_divided, shared_login
from zarrscope.stores.ssh.connection import NO_PYTHON, NOT_THERE, NotInstalled, SSHConnection, WaitCancelled, wait
from zarrscope.stores.ssh.endings import ConnectionEnded
from zarrscope.stores.ssh.frames import MessageFrame, range_told, rebuilt
from zarrscope.stores.ssh.shares import JoinedShares, worth_sharing
from zarrscope.stores.store import Store

FAR_COMMAND = (
    "exec sh -c '"
    "if command -v zarrscope >/dev/null 2>&1; then exec zarrscope serve --stdio; "
    'elif python3 -c "import zarrscope_app" >/dev/null 2>&1; then exec python3 -m zarrscope_app serve --stdio; '
    f"elif command -v python3 >/dev/null 2>&1; then exit {NOT_THERE}; else exit {NO_PYTHON}; fi'"
)
"""The command on the other machine. sh runs it, because the login shell may be one with another grammar: fish, tcsh."""
_connections: dict[tuple[str, ...], Channels] = {}
_users: dict[tuple[str, ...], int] = {}
_opening = KeyedLocks()
"""Locks for connecting, by the arguments of ssh: a machine that is silent holds up no store of another one."""
_guard = threading.RLock()  # reentrant: the garbage collector may close a store in this thread
_holding = threading.local()
"""`locks`: (connection, arguments of ssh, id of the request) for each remote lock that this thread holds, the innermost
last."""
_FRESH_SECONDS = 15.0
"""If the connection received something within this time, it counts as alive, and a write does not check it first."""


def _after_fork() -> None:
    global _guard
    _guard = threading.RLock()
    _connections.clear()
    _users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class SSHStore(Store):
    """The values beneath ssh://[user@]host[:port]/path. Raises NotInstalled, Unreadable, NotFound.

    The options are `command`, the command to run on the other machine (by default ZARRSCOPE_FAR_COMMAND, or else
    zarrscope, as the shell finds it); `ssh`, the program to run on this machine, with its arguments; and `timeout`, the
    seconds that the other machine may be silent.
    """

    remote = True

    def __init__(
        self,
        url: str,
        mode: str = "r",
        *,
        command: str | None = None,
        ssh: str | Sequence[str] = "ssh",
        follow_links: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        command = command or os.environ.get("ZARRSCOPE_FAR_COMMAND") or FAR_COMMAND
        self._mode, self._command, self._ssh = mode, command, ssh
        self.allow_outside = follow_links
        parts = urlsplit(url)
        user = f"{unquote(parts.username)}@" if parts.username else ""
        self._host = f"{user}{parts.hostname}"
        port = ["-p", str(parts.port)] if parts.port else []
        program = shlex.split(ssh) if isinstance(ssh, str) else [*ssh]
        self._timeout = network(None if timeout is None else {"timeout": timeout}).timeout
        seconds = max(1, round(self._timeout))
        self._program = (
            *program, "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", "-o", f"ConnectTimeout={seconds}",
        )  # fmt: skip
        self._destination = (*port, "--", self._host)
        self._trial = (*port, self._host)
        self._arguments = (*self._program, *self._destination, command)
        self._root = url.partition("://")[2].partition("/")[2]
        self._root = "/" + self._root if not self._root.startswith("/") else self._root
        self._joined = False
        self._lost: dict[str, tuple[str, ...]] = {}
        self._folders: set[str] = set()
        """The keys at which the last read found a folder."""
        told = next(self._ask("open", {"mode": mode})).head
        self.listable, self.writable = told["listable"], told["writable"]
        self._scans_children = self._reads_ahead = True

    def __reduce__(self) -> tuple[Any, ...]:
        told = {"command": self._command, "ssh": self._ssh, "timeout": self._timeout}
        options = {**told, "follow_links": self.allow_outside}
        return _opened_again, (self.url, self._mode, options)

    def close(self) -> None:
        """Removes this store from the users of the connection, which is closed with its last user."""
        with _guard:
            last = self._leave()
        if last is not None:
            last.end()

    def _leave(self) -> Channels | None:
        """Removes this store from the users of the connection. Returns the connection if this was its last user."""
        if not self._joined:
            return None
        self._joined = False
        _users[self._arguments] -= 1
        return None if _users[self._arguments] else _connections.pop(self._arguments, None)

    def __del__(self) -> None:
        # It never waits: the garbage collector may call it in a thread that holds one of the locks, or paints a window.
        try:
            if self._joined and _guard.acquire(blocking=False):
                try:
                    last = self._leave()
                finally:
                    _guard.release()
                if last is not None:
                    last.first.leave(last.end)
        except Exception:  # the interpreter is shutting down; the other side ends with this process
            pass

    def _connection(self) -> SSHConnection:
        return self._channels().first

    def _channels(self) -> Channels:
        if (found := self._joined_to()) is not None:
            return found
        with _opening.hold(self._arguments):
            if (found := self._joined_to()) is not None:  # another thread has just connected
                return found
            if (ended := _connections.get(self._arguments)) is not None:
                ended.end()
            made = self._opened()
            with _guard:
                _connections[self._arguments] = made
            return self._joined_to() or made

    def _joined_to(self) -> Channels | None:
        """The open connection, after this store was added to its users; None if there is none."""
        with _guard:
            found = _connections.get(self._arguments)
            if found is None or not found.first.alive:
                return None
            if not self._joined:
                self._joined = True
                _users[self._arguments] = _users.get(self._arguments, 0) + 1
            return found

    def _opened(self) -> Channels:
        login = shared_login(self._program, self._destination)
        further = self._arguments[len(self._program) :]

        def opened(options: Sequence[str]) -> SSHConnection:
            return SSHConnection(self._host, (*self._program, *options, *further), self._timeout, self._trial)

        if login is None:
            return Channels(opened(()))
        try:
            return Channels(opened(login.first), lambda: opened(login.further), login)
        except BaseException:  # also when cancelled
            login.forget()
            raise

    def _head(self, connection: SSHConnection, op: str, told: Mapping[str, Any]) -> dict[str, Any]:
        place = {"root": self._root, "writable": self._mode != "r", "follow_links": self.allow_outside}
        head = {"op": op, "mode": self._mode, **place, **told}
        for held, arguments, number in reversed(getattr(_holding, "locks", ())):
            if held is connection:
                return {**head, "under": number}
            if arguments == self._arguments:
                raise Unreadable(
                    f"The connection to {self._host} ended while a lock was held there",
                    advice="Another program may have written meanwhile. Open the hierarchy again, compare, then save "
                    "again.",
                )
        return head

    def _ask(
        self,
        op: str,
        told: Mapping[str, Any],
        body: bytes = b"",
        cancelled: Callable[[], bool] | None = None,
        *,
        again: bool = True,
    ) -> Iterator[MessageFrame]:
        """Yields the answers to a request. `again`: the request only reads, so it may be repeated if the connection
        ends before an answer came."""
        try:
            begun = False
            for last in (False, True):
                connection = self._connection()
                try:
                    for frame in connection.ask(self._head(connection, op, told), body, cancelled):
                        begun = True
                        yield frame
                    return
                except ConnectionEnded:
                    if last or begun or not again:
                        raise
        except ZarrscopeError as error:
            error.store = error.store or self.url
            raise

    def _one(self, op: str, told: Mapping[str, Any], body: bytes = b"", *, again: bool = True) -> MessageFrame:
        found = MessageFrame({})
        for frame in self._ask(op, told, body, again=again):
            found = frame
        return found

    def _lively(self) -> SSHConnection:
        """The connection. If nothing came from it for long, it may have broken; then a request checks that it is
        alive."""
        if time.monotonic() - self._connection().lived > _FRESH_SECONDS:
            try:
                self._one("life", {})
            except ConnectionEnded:
                raise
            except ZarrscopeError:  # an older version does not know this request, but its error shows that it is alive
                pass
        return self._connection()

    def _write(self, op: str, told: Mapping[str, Any], body: bytes = b"") -> MessageFrame:
        """Sends a request that changes data. It is never repeated."""
        self._lively()
        try:
            return self._one(op, told, body, again=False)
        except ConnectionEnded as error:
            error.advice = "It is not known whether the value was stored: check the stored value before you continue."
            raise

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        frame = self._one("get", {"key": key, "part": range_told(part), "limit": limit})
        return self._noted(key, frame)

    def _noted(self, key: str, frame: MessageFrame) -> bytes | None:
        """The value in an answer. Remembers whether a folder is in its place; older versions there do not say so."""
        (self._folders.add if frame.head.get("folder") else self._folders.discard)(key)
        if frame.head.get("absent"):
            return None
        return unpacked(frame) if "blocks" in frame.head else frame.body

    def _is_folder(self, key: str) -> bool:
        return key in self._folders

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        left, received = dict(enumerate(requests)), 0
        divided = again = False
        may_share = True
        while True:
            channels = self._channels()
            # A thread that holds a lock must read over the channel of that lock. A later attempt uses one channel.
            holds: Sequence[object] = getattr(_holding, "locks", ())
            chosen = [channels.first] if divided or again or holds else channels.alive
            shares = may_share and worth_sharing([*left.values()], len(chosen))
            try:
                for i, frame in (self._shared if shares else self._divided)(chosen, left, cancelled, limit):
                    del left[i]
                    received += len(frame.body)
                    if "error" in frame.head:
                        yield i, rebuilt(frame, self.url)
                    else:
                        yield i, self._noted(requests[i][0], frame)
                if not (shares and left) or cancelled():
                    channels.note_read(received)
                    return
                may_share = False  # the values that are left were replaced while their shares were read
            except ConnectionEnded as error:
                if again:
                    error.store = error.store or self.url
                    raise
                # When a further channel ends, the first one may have ended, too, without notice yet: this attempt does
                # not count as the one over a new connection.
                divided, again = len(chosen) > 1, len(chosen) == 1

    def _divided(
        self,
        channels: Sequence[SSHConnection],
        requests: Mapping[int, Request],
        cancelled: Callable[[], bool],
        limit: int | None,
    ) -> Iterator[tuple[int, MessageFrame]]:
        """Yields the answers to numbered requests, which are divided evenly among the channels."""
        ahead = worth_sending([*requests.values()], len(channels))
        numbers = [*requests]
        parts = [part for at in range(len(channels)) if (part := numbers[at :: len(channels)])]
        heads = [
            self._many(channel, [requests[i] for i in part], limit, ahead=ahead)
            for channel, part in zip(channels, parts, strict=False)
        ]
        for at, frame in self._answers(channels[: len(parts)], heads, cancelled):
            yield parts[at][frame.head["i"]], frame

    def _shared(
        self,
        channels: Sequence[SSHConnection],
        requests: Mapping[int, Request],
        cancelled: Callable[[], bool],
        limit: int | None,
    ) -> Iterator[tuple[int, MessageFrame]]:
        """Yields the answers to numbered requests for whole values, of which each channel carries a share. Leaves out
        values that were replaced meanwhile."""
        numbers, count, joined = [*requests], len(channels), JoinedShares()
        heads = [
            {**self._many(channel, [*requests.values()], limit), "share": [at, count]}
            for at, channel in enumerate(channels)
        ]
        answered = set[int]()
        for _, frame in self._answers(channels, heads, cancelled):
            number = numbers[frame.head["i"]]
            if number not in answered and (whole := joined.add(number, frame)) is not None:
                answered.add(number)
                yield number, whole

    def _many(
        self, channel: SSHConnection, requests: Sequence[Request], limit: int | None, *, ahead: bool = False
    ) -> dict[str, Any]:
        told: dict[str, Any] = {"requests": [*map(_as_told, requests)], "limit": limit}
        if ahead:
            told["ahead"] = as_told(requests)
        return self._head(channel, "get_many", told)

    def _answers(
        self, channels: Sequence[SSHConnection], heads: Sequence[Mapping[str, Any]], cancelled: Callable[[], bool]
    ) -> Iterator[tuple[int, MessageFrame]]:
        try:
            yield from ask_divided(channels, heads, cancelled)
        except ZarrscopeError as error:
            error.store = error.store or self.url
            raise

    def _version_of(self, value: bytes) -> Version | None:
        return Version.of(value)  # the far side opens paths of its own machine only

    def _get_versioned(self, key: str, limit: int | None = None) -> tuple[bytes, Version] | None:
        frame = self._one("get_versioned", {"key": key, "limit": limit})
        token = frame.head["version"]
        return None if token is None else (frame.body, Version(token))

    def _size_of(self, key: str) -> int | None:
        size: int | None = self._one("size_of", {"key": key}).head["size"]
        return size

    # ------------------------------------------------------------------ listing
    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        for frame in self._ask("list_dir", {"prefix": prefix}):
            yield from (Entry(*each) for each in frame.head["entries"])

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        for frame in self._ask("list_prefix", {"prefix": prefix}):
            yield from frame.head["keys"]

    def _scan_children(
        self, prefix: str, names: Sequence[str], read: bool, limit: int | None = None
    ) -> Iterator[ScannedChild]:
        told = {"prefix": prefix, "names": [*names], "read": read, "limit": limit}
        for frame in self._ask("scan_children", told):
            value: bytes | ZarrscopeError | None = None
            if "error" in frame.head:
                value = rebuilt(frame, self.url)
            elif not frame.head["absent"]:
                value = frame.body
            yield ScannedChild(frame.head["name"], frame.head["holds"], value)

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        told = {"key": key, "expect": None if expect is None else expect.token}
        head = self._write("set", told, value).head
        if lost := head.get("lost"):  # absent if an older zarrscope answers
            self._lost[key] = tuple(lost)
        return Version(head["version"])

    def _lost_rights(self, key: str) -> tuple[str, ...]:
        return self._lost.pop(key, ())

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._write("put", {"key": key}, b"".join(parts))

    def _flush(self) -> None:
        self._write("flush", {})

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return self._held(key)

    @contextmanager
    def _held(self, key: str) -> Iterator[None]:
        connection = self._lively()
        waiting: AnswerQueue[MessageFrame | None] = AnswerQueue()
        number = connection.send(self._head(connection, "lock", {"key": key}), b"", waiting)
        held = (connection, self._arguments, number)
        try:
            with waiting_for_lock(self.url, key) as lock:
                try:
                    frame = wait(waiting, lambda: lock.given_up)
                except WaitCancelled:
                    raise Interrupted from None
            if frame is None:
                raise connection.ended()
            if "error" in frame.head:
                raise rebuilt(frame, self.url)
            _holding.locks = [*getattr(_holding, "locks", ()), held]
            try:
                yield
            finally:
                _holding.locks.remove(held)
        finally:
            connection.post({"op": "unlock", "id": 0, "lock": number})
            connection.forget(number)

    def _erase(self, key: str) -> None:
        self._write("erase", {"keys": [key]})

    def _erase_prefix(self, prefix: str) -> None:
        self._write("erase_prefix", {"prefix": prefix})

    @property
    def _renames_within(self) -> bool:
        return True

    def _rename_within(self, keys: Sequence[tuple[str, str]], prefixes: Sequence[tuple[str, str]]) -> bool:
        try:
            return bool(self._write("rename_within", {"keys": [*keys], "prefixes": [*prefixes]}).head["done"])
        except Unsupported:  # an older zarrscope answers, or the folders cannot be renamed: nothing was changed
            return False


def _as_told(request: Request) -> list[Any]:
    key, part = request
    return [key, range_told(part)]


def _opened_again(url: str, mode: str, options: dict[str, Any]) -> SSHStore:
    return SSHStore(url, mode, **options)


def open_ssh(url: str, mode: str, options: Mapping[str, Any] | None) -> Store:
    """The store at `url`. It uses zarrscope on the other machine; if that is not installed, SFTP, read-only."""
    told = dict(options or {})
    settings: dict[str, Any] = {name: told.pop(name) for name in ("command", "ssh") if name in told}
    if "timeout" in told:
        settings["timeout"] = told["timeout"]
    if shutil.which(shlex.split(settings["ssh"])[0] if isinstance(settings.get("ssh"), str) else "ssh") is None:
        raise Unsupported("There is no ssh program", feature="scheme ssh", store=url, advice="Install OpenSSH.")
    try:
        return SSHStore(url, mode, **settings)
    except NotInstalled as missing:
        if mode != "r":
            raise
        from zarrscope.stores.registry import need_kind

        try:
            store = need_kind("sftp", url).open("sftp" + url[url.index("://") :], "r", told)
            next(iter(store.list_dir("")), None)
        except ZarrscopeError as error:
            missing.advice = f"{missing.advice}. SFTP does not work either: {error}"
            raise missing from error
        # The command stands at the end, where it is copied whole.
        store.remark = f"{missing.message}: files are read by SFTP, and nothing can be written. {missing.advice}"
        return store
