"""What an application changes in its own process. Only the mains call this: no library, plugin or notebook widget."""

from __future__ import annotations

import gc
import os
import sys

from zarrscope.runtime import process

_OPENBLAS = "OPENBLAS_THREAD_TIMEOUT"


def own_process() -> None:
    """Sets up the process of an application. Call it in a main, before numpy is imported.

    The engine may use memory again and give it back. And the threads of numpy's OpenBLAS sleep while they have nothing
    to do: they would spin for a tenth of a second from their start, on the cores that the first plane is decoded on,
    8 ms of 80 (2026-11-21, tests/bench/run.py "cold"). OpenBLAS reads the variable once; what somebody set is left.
    """
    process.own()
    os.environ.setdefault(_OPENBLAS, "20")  # 2**20 cycles: 0.4 ms


def few_threads(most: int) -> None:
    """Keeps the libraries that numpy and the codecs call to so many threads, where nobody has said otherwise. Call it
    before numpy is imported: OpenBLAS starts one for each core of a login node, which other people use."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLOSC_NTHREADS"):
        os.environ.setdefault(name, str(most))


def tune_interpreter() -> None:
    """For the main of a host, once all is imported: threads that compute give Python back after 1 ms instead of 5, so
    that a key or a mouse that moves is answered while they do; and what has been imported, which stays to the end, is
    no longer walked through for garbage, which took the terminal application 20 ms a time."""
    sys.setswitchinterval(0.001)
    gc.freeze()
