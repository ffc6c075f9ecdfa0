"""One process of the user's own `ssh`, the requests that wait for its answers, and a thread that watches for silence.

A request waits as long as the other side sends or accepts bytes. If the other side was silent for half of the time-out,
it gets a request "life", which it answers at once even if it is busy. If it is silent for the whole time-out, the ssh
process is killed, and all waiting requests fail. The time in which this process was suspended does not count.
"""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from typing import IO, Any, Protocol, TypeVar

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # `_enlarge` then does nothing

from zarrscope.errors import Unsupported, ZarrscopeError
from zarrscope.errors.installing import from_index
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.interrupts import LOOK_SECONDS, check
from zarrscope.runtime.tuning import SSH_PIPE_BYTES
from zarrscope.runtime.waits import waiting
from zarrscope.stores.ssh.endings import ConnectionEnded, why_ended, why_not_started
from zarrscope.stores.ssh.frames import MAGIC, PROTOCOL, FramePipe, MessageFrame, read_frame, rebuilt, write_frame

NOT_THERE, NO_PYTHON = 127, 120
"""The status of the remote command if zarrscope is not installed there, or not even Python."""
_OF_SSH = 255
"""The status of ssh if it failed itself; otherwise that of the remote command."""
_END_SECONDS = 2.0
"""The most seconds that the remote process may take to end."""
_LAST_WORDS = 20
"""The number of last lines from ssh's error output that are kept for messages."""
_PRINTED_BYTES = 1024
"""The most bytes that are kept of a text that the host prints in place of an answer."""


def _enlarge(pipe: IO[bytes] | None) -> None:
    """Enlarges a pipe, so that ssh can go on writing into it while other threads hold Python's global lock."""
    change = getattr(fcntl, "F_SETPIPE_SZ", None)
    if change is not None and pipe is not None:
        with suppress(OSError):  # the system may limit the size of pipes
            fcntl.fcntl(pipe, change, SSH_PIPE_BYTES)


class _Noticed:
    """A pipe that calls `notice` after each read."""

    def __init__(self, file: BufferedReader, notice: Callable[[], None]) -> None:
        self._file, self._notice = file, notice

    def read(self, count: int) -> bytes:
        found = self._file.read1(min(count, SSH_PIPE_BYTES))
        self._notice()
        return found


class Sink(Protocol):
    """Takes the answers to a request, and None when the connection ends."""

    def put(self, frame: MessageFrame | None, /) -> None:
        """Takes an answer; None is the last one, because the connection has ended."""


class WaitCancelled(Exception):
    """The caller cancelled the request while it waited for an answer."""


class NotInstalled(Unsupported):
    """zarrscope is not installed on the other machine."""


class SSHConnection:
    """One ssh process and the requests that wait for its answers. `timeout`: seconds that the other side may be
    silent. `destination`: the arguments of ssh that name the host, if they are more than `host`."""

    def __init__(self, host: str, command: Sequence[str], timeout: float, destination: Sequence[str] = ()) -> None:
        self._host, self._timeout, self._destination = host, timeout, tuple(destination) or (host,)
        self.lived = time.monotonic()
        """The time at which the connection last received something."""
        self.round_trip: float | None = None
        """The shortest time between a request and its first answer, in seconds; None before the first answer."""
        self._silent = False
        self._left: Callable[[], None] | None = None
        self._over = threading.Event()
        try:
            self._process = subprocess.Popen(
                [*command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C must not kill ssh before `end` closes it
            )  # fmt: skip
        except OSError as error:
            raise Unsupported(
                f"{command[0]} cannot be run: {error}", feature="ssh", store=host, advice="Install OpenSSH."
            ) from error
        _enlarge(self._process.stdout)
        self._said: deque[str] = deque(maxlen=_LAST_WORDS)
        self._printed = ""
        """The end of the text that the host printed, if that was all that it sent."""
        self._waiting: dict[int, Sink] = {}
        self._guard = threading.Lock()
        self._next = 0
        self._posted: AnswerQueue[Mapping[str, Any]] = AnswerQueue()
        """The messages of `post` that have not been sent yet."""
        self._ready: AnswerQueue[MessageFrame | None] = AnswerQueue()
        self.alive = True
        self._greeting, self._sending, self._greeted = True, 0, False
        self._hearing = threading.Thread(target=self._hear, name="zarrscope-ssh-errors", daemon=True)
        self._hearing.start()
        threading.Thread(target=self._receive, name="zarrscope-ssh", daemon=True).start()
        threading.Thread(target=self._watch, name="zarrscope-ssh-watch", daemon=True).start()
        try:
            self._greet()
        except BaseException:  # also when cancelled: leave no process and no open pipe
            self.end()
            raise

    def _greet(self) -> None:
        hello = wait(self._ready)
        self._greeting = False
        if hello is None:
            raise self.ended()
        self._greeted = True
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
        assert isinstance(file, BufferedReader)
        try:
            with file:
                self._pass_on(_Noticed(file, self._notice))
        except (ZarrscopeError, OSError, ValueError):
            pass
        self._over.set()
        with self._guard:
            self.alive = False
            left = [*self._waiting.values()]
        for each in (self._ready, *left):
            each.put(None)

    def _notice(self) -> None:
        self.lived = time.monotonic()

    def _watch(self) -> None:
        """Kills the process if requests wait and the other side is silent for longer than the time-out. Ends the
        connection after `leave`."""
        idle, asked = True, False
        pause, looked = min(1.0, self._timeout / 8), time.monotonic()
        while not self._over.wait(pause):
            looked, before = time.monotonic(), looked
            if looked - before > pause + self._timeout / 2:
                self._notice()  # this process was suspended, and could not receive what the other side sent
            if self._left is not None:
                self._left()
                return
            if not (self._waiting or self._greeting or self._sending):
                idle = True
                continue
            if idle:  # no request was waiting until now
                idle, asked = False, False
                self._notice()
            silent = time.monotonic() - self.lived
            if silent > self._timeout:
                self._silent, self.alive = True, False
                self._process.kill()
                return
            if silent < self._timeout / 2:
                asked = False
            elif not asked and not self._greeting:
                asked = self._ask_for_life()

    def _ask_for_life(self) -> bool:
        if not self._guard.acquire(blocking=False):
            return False  # another thread is sending; if its bytes are accepted, the other side is alive
        try:
            self._write({"op": "life", "id": 0})
        finally:
            self._guard.release()
        self._send_posted()
        return True

    def _pass_on(self, file: FramePipe) -> None:
        before = _skipped_to(file, MAGIC)
        if before is not None:
            self._printed = before.decode(errors="replace")
        else:
            self._ready.put(read_frame(file))
            while (frame := read_frame(file)) is not None:
                waiting = self._waiting.get(frame.head["id"])
                if waiting is not None:
                    waiting.put(frame)

    def ended(self) -> ZarrscopeError:
        """The error that says why the connection ended. Waits up to 6 seconds for the end of ssh and its last lines."""
        try:
            code: int | None = self._process.wait(5)
        except subprocess.TimeoutExpired:
            code = None
        self._hearing.join(1)
        if self._silent:
            return ConnectionEnded(
                f"{self._host} said nothing for {self._timeout:g} seconds",
                advice="Check the network, then try again. ZARRSCOPE_TIMEOUT sets this limit.",
            )
        if code == NO_PYTHON:
            return NotInstalled(
                f"Neither zarrscope nor python3 was found on {self._host}",
                feature="ssh",
                advice="Install them there; or if they are installed, name the command that runs them: "
                "ZARRSCOPE_FAR_COMMAND='module load zarrscope; exec zarrscope serve --stdio'",
            )
        if code == NOT_THERE:
            return NotInstalled(
                f"zarrscope is not installed on {self._host}",
                feature="ssh",
                advice=f"Run: ssh {self._host} python3 -m pip install --user zarrscope"
                if from_index()
                else f"Run on {self._host}, in a copy of the folder of zarrscope: python3 -m pip install --user ./",
            )
        began = self._greeted or code in (None, _OF_SSH)
        return (why_ended if began else why_not_started)(self._host, self._destination, self._said, self._printed)

    def ask(
        self, head: Mapping[str, Any], body: bytes = b"", cancelled: Callable[[], bool] | None = None
    ) -> Iterator[MessageFrame]:
        """Sends a request, and yields the answers as they arrive. Ends early once `cancelled()` is true. Raises the
        error that the other side sends."""
        waiting: AnswerQueue[MessageFrame | None] = AnswerQueue()
        began = time.monotonic()
        number = self.send(head, body, waiting)
        begun = over = False
        try:
            while True:
                frame = wait(waiting, cancelled)
                if not begun:
                    begun, took = True, time.monotonic() - began
                    self.round_trip = took if self.round_trip is None else min(self.round_trip, took)
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
        except WaitCancelled:
            return
        finally:
            self.forget(number)
            if not over:
                self.post({"op": "cancel", "id": number})

    def send(self, head: Mapping[str, Any], body: bytes, waiting: Sink) -> int:
        """Sends a request and returns its number. `waiting` takes the answers; None is put there if the connection has
        ended."""
        self._sending += 1
        try:
            with self._guard:
                number = self._next = self._next + 1
                self._waiting[number] = waiting
                if not (self.alive and self._write({**head, "id": number}, body)):
                    waiting.put(None)
        finally:
            self._sending -= 1
        self._send_posted()
        return number

    def post(self, head: Mapping[str, Any]) -> None:
        """Sends a message that has no answer. If a thread is sending, that thread sends the message afterwards. So it
        never waits for the lock, which the calling thread may hold itself: the garbage collector closes abandoned
        generators at any point, and they cancel their requests."""
        self._posted.put(head)
        self._send_posted()

    def _send_posted(self) -> None:
        # The holder of the lock looks again after it released the lock, so no message is left in the queue.
        while not self._posted.empty() and self._guard.acquire(blocking=False):
            try:
                with suppress(queue.Empty):
                    while True:
                        head = self._posted.get(timeout=0.0)
                        if self.alive:
                            self._write(head)
            finally:
                self._guard.release()

    def _write(self, head: Mapping[str, Any], body: bytes = b"") -> bool:
        file = self._process.stdin
        assert file is not None
        try:
            write_frame(file, head, body, self._notice)
            file.flush()
        except (OSError, ValueError):
            self.alive = False
            return False
        return True

    def forget(self, number: int) -> None:
        """Ignores further answers to a request."""
        self._waiting.pop(number, None)

    def leave(self, end: Callable[[], None]) -> None:
        """Lets a thread of the connection call `end` within a second. It waits for nothing and starts no thread, so a
        `__del__` may call it, also when the interpreter is shutting down: then the other side ends with this
        process."""
        self._left = end

    def end(self) -> None:
        """Closes the input of the ssh process, so that both sides end. The threads that read its output then close that
        too. A process that does not end is killed."""
        self.alive = False
        assert self._process.stdin is not None
        if not self._guard.acquire(timeout=_END_SECONDS):
            self._process.kill()  # a thread is sending, but the other side accepts no bytes
            self._guard.acquire()
        try:
            with suppress(OSError):
                self._process.stdin.close()
        finally:
            self._guard.release()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


_Answer = TypeVar("_Answer")


def wait(answers: AnswerQueue[_Answer], cancelled: Callable[[], bool] | None = None) -> _Answer:
    """Waits for the next answer. Raises WaitCancelled once `cancelled()` is true."""
    with waiting():
        while True:
            try:
                return answers.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                check()  # lets the user interrupt, because the other side may never answer
                if cancelled is not None and cancelled():
                    raise WaitCancelled from None


def _skipped_to(file: FramePipe, mark: bytes) -> bytes | None:
    """Reads up to the end of `mark`, which may follow the output of login scripts. If the input ends without it,
    returns the end of the input."""
    seen = b""
    while not seen.endswith(mark):
        more = file.read(1)
        if not more:
            return seen
        seen = (seen + more)[-_PRINTED_BYTES:]
    return None
