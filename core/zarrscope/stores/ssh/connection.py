"""ssh://[user@]host[:port]/path: the store operations of a folder or archive on another machine.

The user's own `ssh` program is run, with its agent, keys and configuration; no port is opened and nothing keeps running
there. One connection serves all places of one host. Requests go out at once and are answered in any order; ranges,
listings with kinds, versions and locks are those of the far machine (serving.py). A connection that ended is made anew
for the next request; what it held locked is free again.

Where zarrscope is not installed on the far side, `open_ssh` goes on by SFTP, read-only.
"""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import IO, Any
from urllib.parse import unquote, urlsplit

from zarrscope.errors import Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import Answer, Buffer, ByteRange, Entry, Request, ScannedChild, Version
from zarrscope.runtime.interrupts import LOOK_SECONDS, check
from zarrscope.stores.ssh.frames import MAGIC, PROTOCOL, Frame, range_told, read_frame, rebuilt, write_frame
from zarrscope.stores.store import Store

FAR_COMMAND = (
    "if command -v zarrscope >/dev/null 2>&1; then exec zarrscope serve --stdio; "
    "elif python3 -c 'import zarrscope_app' >/dev/null 2>&1; then exec python3 -m zarrscope_app serve --stdio; "
    "else exit 127; fi"
)
NOT_THERE = 127
_LAST_WORDS = 20
"""Lines of what ssh says that are kept for messages."""


class NotInstalled(Unsupported):
    """zarrscope is not installed on the far side."""


class _Connection:
    """One ssh process and the requests that wait for its answers."""

    def __init__(self, host: str, command: Sequence[str]) -> None:
        self._host = host
        try:
            self._process = subprocess.Popen(
                [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C reaches only us, and we end it in an orderly way
            )  # fmt: skip
        except OSError as error:
            raise Unsupported(
                f"{command[0]} cannot be run: {error}", feature="ssh", store=host, advice="Install OpenSSH."
            ) from error
        self._said: deque[str] = deque(maxlen=_LAST_WORDS)
        self._waiting: dict[int, queue.SimpleQueue[Frame | None]] = {}
        self._guard = threading.Lock()
        self._next = 0
        self._ready: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self.alive = True
        self._hearing = threading.Thread(target=self._hear, name="zarrscope-ssh-errors", daemon=True)
        self._hearing.start()
        threading.Thread(target=self._receive, name="zarrscope-ssh", daemon=True).start()
        try:
            self._greet()
        except BaseException:  # also when cancelled: leave no process and no open pipe
            self.end()
            raise

    def _greet(self) -> None:
        hello = _wait(self._ready)
        if hello is None:
            raise self.ended()
        if hello.head.get("protocol") != PROTOCOL:
            raise Unsupported(
                f"{self._host} has zarrscope {hello.head.get('version')}, which speaks another protocol",
                feature="ssh",
                advice="Install the same version on both sides.",
            )

    def _hear(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._said.append(line.decode(errors="replace").strip())

    def _receive(self) -> None:
        file = self._process.stdout
        assert file is not None
        try:
            with file:
                self._pass_on(file)
        except (ZarrscopeError, OSError, ValueError):
            pass
        with self._guard:
            self.alive = False
            left = [*self._waiting.values()]
        for each in (self._ready, *left):
            each.put(None)

    def _pass_on(self, file: IO[bytes]) -> None:
        if _skip_to(file, MAGIC):
            self._ready.put(read_frame(file))
            while (frame := read_frame(file)) is not None:
                waiting = self._waiting.get(frame.head["id"])
                if waiting is not None:
                    waiting.put(frame)

    def ended(self) -> ZarrscopeError:
        try:
            code: int | None = self._process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        self._hearing.join(1)
        said = " ".join(line for line in self._said if line)
        if code == NOT_THERE:
            return NotInstalled(
                f"zarrscope is not installed on {self._host}",
                feature="ssh",
                advice=f"Run: ssh {self._host} python3 -m pip install --user zarrscope",
            )
        return Unreadable(
            f"The connection to {self._host} ended: {said or 'ssh does not say why'}",
            advice=f"Try in a terminal: ssh {self._host} true. It must need no password: use a key and an agent.",
        )

    def ask(
        self, head: Mapping[str, Any], body: bytes = b"", cancelled: Callable[[], bool] | None = None
    ) -> Iterator[Frame]:
        """The answers to one request, as they come. Ends early once `cancelled()`; raises what the far side raised."""
        waiting: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        number = self.send(head, body, waiting)
        over = False
        try:
            while True:
                frame = _wait(waiting, cancelled)
                if frame is _CANCELLED:
                    return
                if frame is None:
                    over = True
                    raise self.ended()
                if frame.head.get("last"):
                    over = True
                    if "error" in frame.head:
                        raise rebuilt(frame, "")
                    return
                if cancelled is not None and cancelled():
                    return
                yield frame
        finally:
            self.forget(number)
            if not over:
                self.send({"op": "cancel"}, number=number)

    def send(
        self,
        head: Mapping[str, Any],
        body: bytes = b"",
        waiting: queue.SimpleQueue[Frame | None] | None = None,
        number: int | None = None,
    ) -> int:
        file = self._process.stdin
        assert file is not None
        with self._guard:
            if number is None:
                number = self._next = self._next + 1
            if waiting is not None:
                self._waiting[number] = waiting
                if not self.alive:
                    waiting.put(None)
                    return number
            try:
                write_frame(file, {**head, "id": number}, body)
                file.flush()
            except (OSError, ValueError):
                self.alive = False
                if waiting is not None:
                    waiting.put(None)
        return number

    def forget(self, number: int) -> None:
        """Drops the answers to a request that nobody awaits any more."""
        self._waiting.pop(number, None)

    def end(self) -> None:
        """Closes the input of the far side, which then ends; the threads that read its output close that."""
        self.alive = False
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_CANCELLED = Frame({"cancelled": True})


def _wait(answers: queue.SimpleQueue[Frame | None], cancelled: Callable[[], bool] | None = None) -> Frame | None:
    while True:
        try:
            return answers.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            check()  # the far side may never answer
            if cancelled is not None and cancelled():
                return _CANCELLED


def _skip_to(file: Any, mark: bytes) -> bool:
    """Reads past `mark`, and past the output of login scripts before it. False if it did not come."""
    seen = b""
    while not seen.endswith(mark):
        more = file.read(1)
        if not more:
            return False
        seen = (seen + more)[-len(mark) :]
    return True


_connections: dict[tuple[str, ...], _Connection] = {}
_users: dict[tuple[str, ...], int] = {}
_guard = threading.RLock()  # reentrant: the garbage collector may close a store in this thread
_holding = threading.local()
"""`numbers`: the locks that this thread holds on far sides, the last one innermost."""


def _after_fork() -> None:
    global _guard
    _guard = threading.RLock()
    _connections.clear()
    _users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class SSHStore(Store):
    """The values beneath ssh://[user@]host[:port]/path. Raises NotInstalled, Unreadable, NotFound.

    Options: `command`, what to run there (else ZARRSCOPE_FAR_COMMAND, else zarrscope, where the shell finds it); `ssh`,
    the program to run here, with its arguments.
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
        self._arguments = (
            *program, "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", *port, "--", self._host, command,
        )  # fmt: skip
        self._root = url.partition("://")[2].partition("/")[2]
        self._root = "/" + self._root if not self._root.startswith("/") else self._root
        self._joined = False
        told = next(self._ask("open", {"mode": mode})).head
        self.listable, self.writable = told["listable"], told["writable"]
        self._scans_children = True

    def __reduce__(self) -> tuple[Any, ...]:
        options = {"command": self._command, "ssh": self._ssh, "follow_links": self.allow_outside}
        return _opened_again, (self.url, self._mode, options)

    def close(self) -> None:
        """Gives up this store's use of the connection, which ends with its last user."""
        with _guard:
            if not self._joined:
                return
            self._joined = False
            _users[self._arguments] -= 1
            last = None if _users[self._arguments] else _connections.pop(self._arguments, None)
        if last is not None:
            last.end()

    def __del__(self) -> None:
        # Never waits: the thread that holds the lock may be the one in which this store is collected.
        try:
            if self._joined and _guard.acquire(blocking=False):
                try:
                    self.close()
                finally:
                    _guard.release()
        except Exception:  # the interpreter is shutting down
            pass

    def _connection(self) -> _Connection:
        with _guard:
            found = _connections.get(self._arguments)
            if found is None or not found.alive:
                if found is not None:
                    found.end()
                found = _connections[self._arguments] = _Connection(self._host, self._arguments)
            if not self._joined:
                self._joined = True
                _users[self._arguments] = _users.get(self._arguments, 0) + 1
        return found

    def _head(self, op: str, told: Mapping[str, Any]) -> dict[str, Any]:
        under = getattr(_holding, "numbers", None)
        place = {"root": self._root, "writable": self._mode != "r", "follow_links": self.allow_outside}
        return {"op": op, "mode": self._mode, **place, **told, **({"under": under[-1]} if under else {})}

    def _ask(
        self,
        op: str,
        told: Mapping[str, Any],
        body: bytes = b"",
        cancelled: Callable[[], bool] | None = None,
    ) -> Iterator[Frame]:
        try:
            yield from self._connection().ask(self._head(op, told), body, cancelled)
        except ZarrscopeError as error:
            error.store = error.store or self.url
            raise

    def _one(self, op: str, told: Mapping[str, Any], body: bytes = b"") -> Frame:
        found = Frame({})
        for frame in self._ask(op, told, body):
            found = frame
        return found

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        frame = self._one("get", {"key": key, "part": range_told(part), "limit": limit})
        return None if frame.head.get("absent") else frame.body

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        asked = [[key, range_told(part)] for key, part in requests]
        for frame in self._ask("get_many", {"requests": asked, "limit": limit}, b"", cancelled):
            if "error" in frame.head:
                yield frame.head["i"], rebuilt(frame, self.url)
            else:
                yield frame.head["i"], None if frame.head["absent"] else frame.body

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
        return Version(self._one("set", told, value).head["version"])

    def _put(self, key: str, parts: Sequence[Buffer]) -> None:
        self._one("put", {"key": key}, b"".join(parts))

    def _flush(self) -> None:
        self._one("flush", {})

    def _lock_key(self, key: str) -> AbstractContextManager[object]:
        return self._held(key)

    @contextmanager
    def _held(self, key: str) -> Iterator[None]:
        connection = self._connection()
        waiting: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        number = connection.send(self._head("lock", {"key": key}), b"", waiting)
        try:
            frame = _wait(waiting)
            if frame is None:
                raise connection.ended()
            if "error" in frame.head:
                raise rebuilt(frame, self.url)
            _holding.numbers = [*getattr(_holding, "numbers", ()), number]
            try:
                yield
            finally:
                _holding.numbers.remove(number)
        finally:
            connection.send({"op": "unlock", "lock": number})
            connection.forget(number)

    def _erase(self, key: str) -> None:
        self._one("erase", {"keys": [key]})

    def _erase_prefix(self, prefix: str) -> None:
        self._one("erase_prefix", {"prefix": prefix})


def _opened_again(url: str, mode: str, options: dict[str, Any]) -> SSHStore:
    return SSHStore(url, mode, **options)


def open_ssh(url: str, mode: str, options: Mapping[str, Any] | None) -> Store:
    """The store at `url`: through zarrscope on the far side, else by SFTP, read-only."""
    told = dict(options or {})
    settings = {name: told.pop(name) for name in ("command", "ssh") if name in told}
    if shutil.which(shlex.split(settings["ssh"])[0] if isinstance(settings.get("ssh"), str) else "ssh") is None:
        raise Unsupported("There is no ssh program", feature="scheme ssh", store=url, advice="Install OpenSSH.")
    try:
        return SSHStore(url, mode, **settings)
    except NotInstalled as missing:
        if mode != "r":
            raise
        from zarrscope.stores.fsspec import FsspecStore

        try:
            store = FsspecStore("sftp" + url[url.index("://") :], **told)
        except ZarrscopeError:
            raise missing from None
        store.remark = f"{missing} Until then the files are read by SFTP, and nothing can be written."
        return store
