"""The changes that an application makes to its own process. Only main functions call this: no library, plugin or
notebook widget."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from zarrscope.runtime import process

_OPENBLAS = "OPENBLAS_THREAD_TIMEOUT"
_M_ARENA_MAX = -8
"""The parameter of glibc's mallopt for the number of arenas, from malloc.h."""


def own_process() -> None:
    """Sets up the process of an application. Call it in a main, before numpy is imported.

    It allows the engine to return memory to the system. It also makes the threads of numpy's OpenBLAS sleep when idle.
    Otherwise they would spin for a tenth of a second after their start, on the cores that decode the first plane, which
    costs 8 of the 80 ms until that plane is shown (2026-11-21, tests/bench/run.py "cold"). OpenBLAS reads the variable
    once; a value that is already set stays.
    """
    process.own()
    os.environ.setdefault(_OPENBLAS, "20")  # 2**20 cycles: 0.4 ms


def few_threads(most: int) -> None:
    """Limits the libraries that numpy and the codecs call to `most` threads, unless a limit is already set. Call it
    before numpy is imported: by default OpenBLAS starts one thread per core, even on a login node that other people
    use."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLOSC_NTHREADS"):
        os.environ.setdefault(name, str(most))


def share_one_arena() -> None:
    """Lets all threads that start from now on take memory from one arena of glibc. By default each thread gets an
    arena of its own, of which a part stays unused: 5 of the 89 MB of the terminal application with the demo's small
    volume (2026-11-26). Its threads mostly wait, so that they seldom wait for one another's allocations. Does nothing
    with another C library."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    except (OSError, AttributeError):  # another C library
        pass


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspends garbage collection while an application imports modules: imports leave no garbage, and each collection
    visits everything imported so far, which took a tenth of the processor time of the terminal's imports."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tune_interpreter() -> None:
    """Tunes Python for an application, after all imports: computing threads release the GIL after 1 ms instead of 5, so
    that keys and mouse moves are answered meanwhile; and objects that survive a full garbage collection are seldom
    visited again (`_SeldomWhole`)."""
    sys.setswitchinterval(0.001)
    gc.freeze()
    gc.callbacks.append(_SeldomWhole())


class _SeldomWhole:
    """Excludes the objects that survive a full garbage collection from the next ones, until there are many more of
    them; and those of imported modules before they are visited for the first time. A full collection keeps Python's
    lock: 5 to 10 ms for the 35,000 objects that an open form imports and makes, several times as long on a busy
    machine. Python itself waits for a quarter more objects; this waits for another quarter, and at least `_GROWTH`, so
    the garbage that is kept longer is limited in the same way."""

    _GROWTH = 50_000
    _IMPORTS = 20
    """From this number of new modules on, all new objects count as those of an import."""

    def __init__(self) -> None:
        self._modules = len(sys.modules)
        self._kept = gc.get_freeze_count()
        """The objects that the last whole collection left."""
        self._since = 0
        """The survivors of the collections after it, of which some may be gone again."""
        self._whole = False

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != 2:
            return
        if phase == "start":
            if self._whole:
                gc.unfreeze()
            elif len(sys.modules) >= self._modules + self._IMPORTS:
                gc.freeze()
                self._modules = len(sys.modules)
            return
        if self._whole:
            gc.freeze()
            self._kept, self._since, self._whole = gc.get_freeze_count(), 0, False
            return
        self._since += len(gc.get_objects())
        gc.freeze()
        limit = max(self._GROWTH, self._kept // 4)
        if self._since > limit:
            self._since = gc.get_freeze_count() - self._kept  # takes several ms, so it is not asked each time
            self._whole = self._since > limit
