"""Ends this process quickly, even while threads wait for a server, a name server or a frozen terminal.

Before it exits, Python joins all threads that are not daemons, such as those in which asyncio resolves host names, and
clears its modules, which takes a second on a busy machine once the libraries for buckets are loaded. After Ctrl-C a
person should not have to wait for this.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

import click

from zarrscope.runtime.waits import NextAttempt, PendingRequest, longest_wait, next_attempt, watch_threads

EXIT_SECONDS = 0.5
"""The most seconds for atexit functions and for writing the remaining output, before the process ends."""


def end_process(code: int) -> NoReturn:
    """Ends the process without waiting for its threads. Functions registered with atexit run first."""
    try:
        with suppress(RuntimeError):  # no thread can be started
            _insist(code)
        _leave()
    finally:
        os._exit(code)


def _leave() -> None:
    """Runs the functions registered with atexit, and writes what is left of the output, before them and after."""
    _flush()
    atexit._run_exitfuncs()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # the stream is closed, or its reader is gone
            stream.flush()


def _insist(code: int) -> None:
    """Ends the process after EXIT_SECONDS, whatever its other threads do then. Raises RuntimeError if no thread can be
    started."""

    def wait() -> None:
        time.sleep(EXIT_SECONDS)
        os._exit(code)

    threading.Thread(target=wait, name="zarrscope-exit", daemon=True).start()


def outlast_signals(numbers: Iterable[int]) -> None:
    """For the end of a verb that is done: from now on these signals give the functions registered with atexit
    EXIT_SECONDS. An error raised in one of them would be printed with a traceback, and the others would be left out."""

    def hurry(number: int, _: object) -> None:
        try:
            _insist(128 + number)
        except RuntimeError:  # Python 3.12 starts no thread any more once it runs these functions
            if not hasattr(signal, "setitimer"):
                os._exit(128 + number)
            signal.signal(signal.SIGALRM, lambda *_: os._exit(128 + number))
            signal.setitimer(signal.ITIMER_REAL, EXIT_SECONDS)

    for number in numbers:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, hurry)


def finish_process(code: int) -> NoReturn:
    """Ends the process as sys.exit does, but leaves out the clearing of modules. While Python clears them, it gives
    signals that have handlers back to the system, and Ctrl-C would end a verb that is done: without a word, and with
    the exit code of an interrupted one. A Python without the function that waits for its threads clears its modules."""
    join_threads = getattr(threading, "_shutdown", None)  # Python calls it here itself; it has no public name
    if join_threads is None:
        sys.exit(code)
    try:
        join_threads()
        _leave()
    finally:
        os._exit(code)


# ---------------------------------------------------------------------- --timeout
_timed_out: list[tuple[float, PendingRequest | None, NextAttempt | None]] = []
"""The seconds of --timeout, once they are over and the verb is being interrupted; the request without an answer; and
its next attempt, if it has failed before."""
INSIST_SECONDS = 4.0
"""Seconds that a verb has to end after --timeout interrupted it. Then it is interrupted once more, and after as many
seconds again the process is ended by force."""


def timeout_option() -> click.Option:
    """The option --timeout of a verb."""
    return click.Option(
        ["--timeout"],
        type=click.FloatRange(0.001),
        metavar="SECONDS",
        expose_value=False,
        callback=take_timeout,
        help="End with exit code 1 if the verb has not ended after this time.",
    )


def take_timeout(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
    """Interrupts the main thread after `seconds`, as Ctrl-C does, so that running work cleans up."""
    if seconds is None:
        return
    over = threading.Event()
    del _timed_out[:]
    watch_threads()

    def watch() -> None:
        if over.wait(seconds):
            return
        wait = longest_wait()
        _timed_out.append((seconds, wait, next_attempt(wait.place, wait.key) if wait is not None else None))
        for _ in range(2):
            _interrupt()
            if over.wait(INSIST_SECONDS):
                return
        os._exit(1)

    context.find_root().call_on_close(over.set)
    threading.Thread(target=watch, name="zarrscope-timeout", daemon=True).start()


def _interrupt() -> None:
    """Sends a real signal where the system has signals, because a signal also ends a blocking system call."""
    if hasattr(signal, "pthread_kill"):
        with suppress(OSError):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def timed_out() -> str:
    """The sentence about --timeout, if its time is over; else ""."""
    if not _timed_out:
        return ""
    seconds, wait, attempt = _timed_out[0]
    told = f"Not done within {seconds:g} s (--timeout)"
    if wait is None or wait.holder is not None or not (wait.place or wait.key):
        return f"{told}."
    if attempt is not None:
        from zarrscope_app.presenters.session.waiting_words import failed

        return f"{told}: {failed(wait.place, attempt)}."
    from zarrscope_app.presenters.request_names import requested

    return f"{told}: no answer to the request for {requested(wait.place, wait.key)}."
