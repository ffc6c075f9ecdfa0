"""Tells on a terminal which request a verb waits for, and for how long, so that nobody takes a silent server for a long
computation.

Nothing is printed if stderr is not a terminal, so that logs and scripts get the same text from slow and quick servers.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from zarrscope.runtime.waits import longest_wait, watch_threads
from zarrscope_app.cli.streams import interpose

LONG_SECONDS = 1.0
"""The seconds without an answer after which a verb says so."""
LOOK_SECONDS = 0.25
"""The seconds between two looks at the requests."""
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5.0, 60.0
"""The least seconds between two lines, doubled after each: a server that takes 2 s for each of a thousand chunks does
not fill the screen."""


def telling_waits(verb: Callable[..., Any], say: Callable[[str], None]) -> Callable[..., Any]:
    """Makes a verb say on a terminal, by `say`, which request has no answer yet."""

    @wraps(verb)
    def run(*arguments: Any, **options: Any) -> object:
        if not sys.stderr.isatty():
            return verb(*arguments, **options)
        watch_threads()
        finished = threading.Event()
        threading.Thread(target=_watch, args=(finished, say), name="zarrscope-waits", daemon=True).start()
        try:
            return verb(*arguments, **options)
        finally:
            finished.set()

    return run


def _watch(finished: threading.Event, say: Callable[[str], None]) -> None:
    after, pause = 0.0, PAUSE_SECONDS
    while not finished.wait(LOOK_SECONDS):
        wait, now = longest_wait(), time.monotonic()
        if wait is None or now - wait.since < LONG_SECONDS or now < after:
            continue
        from zarrscope_app.presenters.session.waiting_words import (
            waiting_for,  # imported only now: it takes half a second
        )

        wait = longest_wait()
        if wait is not None and not finished.is_set():
            sentence = waiting_for(wait, wait.place, time.monotonic() - wait.since, "Ctrl+C")
            interpose(partial(say, sentence))
            after, pause = now + pause, min(2 * pause, LONGEST_PAUSE_SECONDS)
