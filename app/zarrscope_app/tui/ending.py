"""Ends the terminal application from a separate thread, so that it ends even if the other threads are blocked.

A signal may arrive anywhere in the main thread, perhaps while it holds a lock that closing the session needs. A
vanished terminal may send no signal at all (its shell was killed, and the application leads no session), and Textual
then continues: its input thread spins at the end of the file, its output thread has died of an error, and the main
thread waits for space in the queue between them. A frozen terminal stops the main thread in the same way. So the signal
handlers only leave a note. `Ending` reads it and asks the application, on the application's own thread, to end; after a
while it stores the unsaved edits, restores the terminal and ends the process itself.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from zarrscope.runtime.answers import AnswerQueue
from zarrscope_app.tui.first_screen import Modes

LOOK_SECONDS = 0.5
"""Seconds between two checks whether the terminal still exists."""
KEEP_SECONDS = 1.0
"""The most seconds for storing unsaved edits without a terminal, before the process ends."""
JOB_SECONDS = 5.0
"""The most seconds for running jobs to remove their unfinished files, before the process ends."""
QUIT_SECONDS = 3.0
"""The most seconds for the application to restore its terminal."""
RESTORE = (
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?2004l\x1b[?2048l"  # mouse, paste, sizes
    "\x1b[?1004l\x1b[?2026l\x1b[?7h\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"  # focus, batches, wrap, keys, screen, cursor
)
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Ends(Protocol):
    """The members of the application that `Ending` uses."""

    leaving: Callable[[int], None]
    """The application calls this with its exit status when it begins to leave."""

    def call_soon(self, call: Callable[[], None]) -> bool:
        """Runs `call` on the application's thread; returns False before it has begun or after it has ended."""
        ...

    def keep(self) -> None:
        """Stores unsaved edits for the next start."""
        ...

    def leave_at_once(self, code: int) -> None:
        """Stores unsaved edits, and leaves without asking."""
        ...


class Ending:
    """Ensures that the program ends after a signal or without its terminal: `with Ending(app): app.run()`. `tell` is
    called before the process is ended by force, and `stop_jobs` before that and after the terminal vanished, with the
    most seconds that it may wait. `modes` are those that the terminal then gets; by default those that it has now."""

    def __init__(
        self,
        app: Ends,
        tell: Callable[[], None] = lambda: None,
        stop_jobs: Callable[[float], None] = lambda seconds: None,
        modes: Modes | None = None,
    ) -> None:
        self._app, self._tell, self._stop_jobs = app, tell, stop_jobs
        self._notes: AnswerQueue[tuple[str, int]] = AnswerQueue()
        """A handler of a signal puts into it as well."""
        self._files = [stream.fileno() for stream in (sys.__stdin__, sys.__stderr__) if stream is not None]
        self._before: dict[int, Any] = {}
        self._modes = modes
        self._thread = threading.Thread(target=self._watch, name="zarrscope-ending", daemon=True)

    def __enter__(self) -> Ending:
        if self._modes is None:
            with suppress(Exception):  # not a POSIX terminal
                import termios

                self._modes = termios.tcgetattr(self._files[0])
        self._app.leaving = lambda code: self._notes.put(("leaving", code))
        for name in SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores SIGHUP
                self._before[number] = signal.signal(number, lambda number, _: self._notes.put(("told", 128 + number)))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._notes.put(("over", 0))
        self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _watch(self) -> None:
        code: int | None = None
        asked = False
        end = float("inf")
        while True:
            try:
                note, number = self._notes.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                note, number = "", 0
            if note == "over":
                return
            if note:
                code = number if code is None or number else code
                end = min(end, time.monotonic() + QUIT_SECONDS)
                asked = asked or note == "leaving"
            if not self._has_terminal():
                self._vanished(code or 128 + getattr(signal, "SIGHUP", 1))
            if code is not None and not asked:
                asked = self._app.call_soon(partial(self._app.leave_at_once, code))
            if time.monotonic() >= end:
                self._force(code or 0)

    def _has_terminal(self) -> bool:
        return all(map(os.isatty, self._files))

    def _vanished(self, code: int) -> None:
        """Ends the application after its terminal vanished; Textual would wait for the terminal for ever."""
        kept = threading.Event()

        def keep() -> None:
            try:
                self._app.keep()
            finally:
                kept.set()

        if not self._app.call_soon(keep) or not kept.wait(KEEP_SECONDS):
            _try(self._app.keep)
        self._stop_jobs(JOB_SECONDS)
        os._exit(code)

    def _force(self, code: int) -> None:
        """Ends the process by force if the main thread waits for a lock, a disk or a frozen terminal."""
        _try(self._app.keep)
        self._stop_jobs(JOB_SECONDS)
        with suppress(Exception):
            import termios

            termios.tcsetattr(self._files[0], termios.TCSANOW, self._modes or [])
        with suppress(Exception):  # a frozen terminal accepts no output
            if select.select([], self._files[1:], [], 0)[1]:
                os.write(self._files[1], RESTORE.encode())
                _try(self._tell)
        os._exit(code)


def _try(call: Callable[[], None]) -> None:
    """Runs `call`, but waits only a limited time, because a disk or a terminal may be blocked."""
    trying = threading.Thread(target=call, name="zarrscope-last", daemon=True)
    trying.start()
    trying.join(KEEP_SECONDS)


def has_job_control() -> bool:
    """Whether the parent is a shell that can bring this process back: in the same session, but another
    process group."""
    try:
        parent = os.getppid()
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgrp()
    except (AttributeError, OSError):  # Windows lacks these calls, or the parent process is gone
        return False
