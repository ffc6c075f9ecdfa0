"""Importing the engine changes nothing in the process; only the applications' entry points do."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import textwrap
from typing import Any

import pytest

WATCH = """
import ctypes, gc, json, os, signal, sys, threading, time, warnings, weakref, locale, faulthandler, decimal, logging
import numpy

def state():
    return dict(
        environment=sorted(os.environ.items()),
        switch=sys.getswitchinterval(),
        handlers=[str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
        threads=sorted(thread.name for thread in threading.enumerate()) if {threads} else [],
        frozen=gc.get_freeze_count(),
        thresholds=gc.get_threshold(),
        hooks=[str(hook) for hook in (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook)],
        fault=faulthandler.is_enabled(),
        filters=list(map(str, warnings.filters)),
        recursion=sys.getrecursionlimit(),
        digits=sys.get_int_max_str_digits(),
        place=os.getcwd(),
        mask=os.umask(os.umask(0o22)),
        floats=numpy.geterr(),
        printing=numpy.get_printoptions(),
        locale=locale.setlocale(locale.LC_ALL),
        handlers_of_logging=list(map(str, logging.root.handlers)),
    )
os.umask(0o22)

asked = []
cdll = ctypes.CDLL

class Watched(cdll):
    def __getitem__(self, name):
        asked.append(name)
        return super().__getitem__(name)

ctypes.CDLL = Watched
mapped = []
import mmap
class Map(mmap.mmap):
    def __new__(cls, *given, **named):
        made = super().__new__(cls, *given, **named)
        mapped.append(weakref.ref(made))
        return made
mmap.mmap = Map
"""

USE = """
import tempfile
import zarrscope
folder = tempfile.TemporaryDirectory()
group = zarrscope.open(folder.name, "w-")
made = group.create_array("/a", shape=(96, 512, 512), dtype="uint8", chunks=(32, 256, 256), codecs=["zstd"])
made[...] = numpy.arange(96, dtype="u1")[:, None, None]
for _ in range(3):
    found = numpy.asarray(made[...])
    assert found.nbytes > 16 << 20 and found[7, 3, 4] == 7
made.attrs["x"] = 1
del found
"""

TELL = """
ends = time.monotonic() + 30
while any(memory() is not None for memory in mapped) and time.monotonic() < ends:
    time.sleep(0.05)
unmapped = sum(memory() is None for memory in mapped)
print(json.dumps([before, state(), asked, [len(mapped), unmapped]], default=str))
"""


def told(
    *steps: str, threads: bool = False, **variables: str
) -> tuple[dict[str, Any], dict[str, Any], list[str], list[int]]:
    """The state before and after, the settings made in libraries, and the number of mappings made and removed."""
    program = WATCH.replace("{threads}", str(threads)) + "\n".join(textwrap.dedent(step) for step in steps) + TELL
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS", "ZARRSCOPE"))}
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**environment, **variables},
    )
    assert run.returncode == 0, run.stderr
    before, after, asked, mapped = json.loads(run.stdout.splitlines()[-1])
    return before, after, asked, mapped


MAPPED = [2, 2]
"""Of the three results in USE, one uses the memory of an earlier one, and all memory is returned to the system."""
ALLOCATOR = {"malloc_trim", "mallopt", "malloc_usable_size", "malloc_set_state"}


def test_importing_reading_and_writing_leaves_the_process_as_it_was() -> None:
    """This covers the environment, signal handlers, hooks, the switch interval, the garbage collector and the
    allocator."""
    before, after, asked, mapped = told("before = state()", USE)
    assert before == after
    assert "ZSTD_decompressDCtx" in asked, "what is asked of libraries is seen"
    assert not ALLOCATOR & set(asked)
    assert mapped == MAPPED, "the memory of results is kept for a moment only"


def test_importing_starts_no_thread() -> None:
    before, after, _, _ = told("before = state()", "import zarrscope; zarrscope.open; zarrscope.Array", threads=True)
    assert before == after


def test_neither_do_presenters_the_plugin_of_napari_and_the_widget() -> None:
    before, after, asked, mapped = told(
        "before = state()",
        "import zarrscope_app.presenters, zarrscope_app.presenters.layers.presenter, zarrscope_app.napari.reader",
        "import zarrscope_app.jupyter",
        USE,
        """
        from zarrscope.runtime.threads import Background
        from zarrscope.view.loader import ChunkLoader
        background = Background()
        loader = ChunkLoader(background=background)
        loader.opened("memory:")
        loader.closed("memory:")
        import time; time.sleep(0.3)
        """,
    )
    assert before == after
    assert not ALLOCATOR & set(asked)
    assert mapped == MAPPED


def test_the_environment_is_not_touched_before_numpy_is_imported_either() -> None:
    code = (
        "import os, sys; before = dict(os.environ); import zarrscope; zarrscope.open; print(before == dict(os.environ))"
    )
    watched = (
        "import os; put = os.putenv; os.putenv = lambda *given: (print('put', given), put(*given)); "
        "os.environ.__class__.__setitem__ = lambda *given: print('set', given[1:]); "
    )
    run = subprocess.run([sys.executable, "-c", watched + code], capture_output=True, text=True, check=True)
    told = run.stdout.split("\n")
    assert told[-2] == "True"
    assert not [line for line in told if "THREAD" in line], "numpy's own variable may be among them"


def test_an_application_says_that_the_process_is_its_own() -> None:
    """The command line's `main` lets numpy's threads sleep."""
    owning = "from zarrscope_app.process import own_process; own_process()"
    before, after, _, mapped = told("before = state()", owning, USE)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"environment"}
    assert ["OPENBLAS_THREAD_TIMEOUT", "20"] in after["environment"]
    assert mapped == MAPPED
    _, after, _, _ = told("before = state()", owning, OPENBLAS_THREAD_TIMEOUT="26")
    assert ["OPENBLAS_THREAD_TIMEOUT", "26"] in after["environment"], "what somebody chose stays"


@pytest.mark.parametrize("arguments", [["--help"], ["ls", "{volume}"]])
def test_the_command_line_is_such_an_application(arguments: list[str], tmp_path: object) -> None:
    import zarrscope

    zarrscope.open(str(tmp_path), "w-").create_array("/a", shape=(2,), dtype="uint8", chunks=(2,))
    given = [argument.format(volume=tmp_path) for argument in arguments]
    code = (
        "import atexit, os, sys; from zarrscope_app.cli import main; sys.argv[1:] = " + repr(given) + "\n"
        "from zarrscope.runtime.process import is_owned\n"
        "atexit.register(lambda: print(is_owned(), os.environ['OPENBLAS_THREAD_TIMEOUT']))\n"
        "main()"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines()[-1] == "True 20", run.stderr


SPUN = """
import json, os, sys, threading, time
from zarrscope_app.process import own_process
own_process()
import zarrscope
zarrscope.open
time.sleep(0.3)
main, spun = threading.get_native_id(), 0
for task in os.listdir("/proc/self/task"):
    if int(task) != main:
        with open(f"/proc/self/task/{task}/schedstat") as file:
            spun += int(file.read().split()[0])
print(spun / 1e9)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux counts the time of each thread")
def test_threads_of_numpy_do_not_spin_while_an_application_reads_its_first_plane() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    shown = subprocess.run([sys.executable, "-c", SPUN], capture_output=True, text=True, check=True, env=environment)
    assert float(shown.stdout) < 0.02


ARENAS = """
import ctypes, re, sys, threading
if sys.argv[1:]:
    from zarrscope_app.process import share_one_arena
    share_one_arena()
there = threading.Barrier(5)
def work():
    taken = [bytes(5000) for _ in range(200)]
    there.wait()
    there.wait()
for _ in range(4):
    threading.Thread(target=work).start()
there.wait()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
told = ctypes.c_void_p(libc.fopen(b"/dev/stdout", b"w"))
libc.malloc_info(0, told)
libc.fflush(told)
there.wait()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are those of glibc")
def test_the_threads_of_the_terminal_share_one_arena() -> None:
    """Each allocator arena keeps memory that its thread has freed; a login node has many users."""

    def arenas(*arguments: str) -> int:
        run = subprocess.run([sys.executable, "-c", ARENAS, *arguments], capture_output=True, text=True, check=True)
        return run.stdout.count("<heap nr=")

    assert arenas() > 1
    assert arenas("shared") == 1
