"""Ends our process promptly, even while threads wait for a server, a name server or a frozen terminal.

Before it exits, Python joins all threads that are no daemons, such as those in which asyncio resolves host names, and
clears its modules, which takes a second on a busy machine once the libraries for buckets are loaded. After Ctrl-C a
person should wait for neither.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from contextlib import suppress
from typing import NoReturn

EXIT_SECONDS = 0.5
"""So long may take what is registered for the end of the process, and the output that nobody reads."""


def end_process(code: int) -> NoReturn:
    """Ends the process without waiting for its threads. What is registered with atexit runs first."""

    def insist() -> None:
        time.sleep(EXIT_SECONDS)
        os._exit(code)

    try:
        with suppress(RuntimeError):  # no thread can be started
            threading.Thread(target=insist, name="zarrscope-exit", daemon=True).start()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # the stream is closed, or its reader is gone
                stream.flush()
        atexit._run_exitfuncs()
    finally:
        os._exit(code)
