"""Memory of results is used again only when no array refers to it, and is freed soon; chunks that are not stored read
as the fill value.
"""

from __future__ import annotations

import gc
import mmap
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from zarrscope.chunkio import output_buffer
from zarrscope.nodes.array import Array
from zarrscope.runtime import memory

SHAPE = (16, 256, 256)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[memory.MemoryPool]:
    """An empty pool that also keeps results of 1 MiB."""
    try:
        mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).madvise(mmap.MADV_FREE)
    except OSError:
        pytest.skip("this system takes no memory back, so none is kept")
    made = memory.MemoryPool()
    monkeypatch.setattr(memory, "_pool", made)
    monkeypatch.setattr(output_buffer, "KEPT_FROM", 1 << 20)
    monkeypatch.setattr(memory, "KEPT_SECONDS", 60.0)
    yield made
    gc.collect()


@pytest.fixture
def array(tmp_path: Path) -> Array:
    """An array of 2 MiB whose second half is not stored."""
    made = zarrscope.open(tmp_path, "w-").create_array("/a", shape=SHAPE, dtype="uint16", chunks=(8, 64, 64))
    made[:8] = np.arange(8 * 256 * 256, dtype="u2").reshape(8, 256, 256)
    return made


def address(values: np.ndarray) -> int:
    return int(values.__array_interface__["data"][0])


def stored(values: np.ndarray) -> bool:
    half = np.arange(8 * 256 * 256, dtype="u2").reshape(8, 256, 256)
    return np.array_equal(values[:8], half) and not values[8:].any()


needs_advice = pytest.mark.skipif(
    not memory.MemoryPool.possible, reason="this system cannot be told that memory is free"
)


@needs_advice
def test_memory_is_used_again_when_the_last_view_of_it_is_gone(kept: memory.MemoryPool, array: Array) -> None:
    first = array[...]
    where, view = address(first), first[3:5, ::2].T
    before = view.copy()
    del first
    second = array[...]
    assert address(second) != where
    assert stored(second)
    assert np.array_equal(view, before)
    second[...] = 7
    del view
    third = array[...]
    assert address(third) == where
    assert stored(third)
    del second, third
    fourth = array[...]
    assert stored(fourth), "what was put into a result before is not read as the fill value"


@needs_advice
def test_a_smaller_result_takes_it_and_a_much_smaller_one_does_not(kept: memory.MemoryPool, array: Array) -> None:
    first = array[...]
    where = address(first)
    del first
    assert address(array[:12]) == where
    assert address(array[:7]) != where


@needs_advice
def test_no_more_is_kept_than_the_limit(kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    results = [array[...] for _ in range(5)]
    limit = 3 * results[0].nbytes
    monkeypatch.setattr(memory, "KEPT_BYTES", limit)
    del results
    assert sum(map(len, kept.waiting)) == limit


def test_where_memory_cannot_be_marked_as_free_none_is_kept(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory.MemoryPool, "possible", False)
    assert stored(array[...])
    assert not kept.waiting
    monkeypatch.undo()


@needs_advice
def test_memory_that_the_system_does_not_want_marked_goes_back(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mmap, "MADV_FREE", 12345)
    values = array[...]
    assert stored(values)
    del values
    assert not kept.waiting


# ---------------------------------------------------------------------------------------------- not for long
def happens(what: Callable[[], bool]) -> bool:
    """Whether it happens within 30 seconds."""
    end = time.monotonic() + 30
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    return what()


@needs_advice
def test_what_nobody_uses_is_unmapped_soon_and_the_thread_that_does_it_ends(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "KEPT_SECONDS", 0.1)
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.5)
    held, passing = array[...], array[...]
    del passing
    (waiting,) = [weakref.ref(each) for each in kept.waiting]
    assert happens(lambda: waiting() is None)
    assert happens(lambda: not kept._watched)
    assert stored(held)
    del held
    assert not kept.waiting, "no thread would unmap it"
    passing = array[...]
    del passing
    assert len(kept.waiting) == 1, "the thread runs again"
    assert happens(lambda: not kept.waiting)


@needs_advice
def test_without_a_thread_that_unmaps_it_nothing_is_kept(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", refuse)
        assert stored(array[...])
    assert not kept.waiting


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))
import numpy
from zarrscope.runtime import memory
made = memory.take(9 << 20)
made[:] = 1
del made
assert not memory._pool.waiting
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ulimit")
def test_nothing_is_kept_where_the_address_space_is_limited() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False, env=environment)
    assert not run.returncode, run.stderr


@needs_advice
def test_where_no_memory_can_be_mapped_numpy_is_asked_for_it(
    kept: memory.MemoryPool, array: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **named: object) -> mmap.mmap:
        raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as full:
        full.setattr(mmap, "mmap", refuse)
        assert stored(array[...])


@needs_advice
def test_threads_never_share_the_memory_of_a_result(kept: memory.MemoryPool, array: Array) -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            values = array[...]
            if not stored(values):
                wrong.append(number)
            values[...] = number
            time.sleep(0)
            if not (values == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FORKED = """
import os, sys
import numpy as np
import zarrscope
from zarrscope.runtime import memory
array = zarrscope.open(sys.argv[1])["/a"]
want = np.arange(24, dtype="u2")[:, None, None]
def right(values):
    return bool((values == want).all())
held, passing = array[...], array[...]
del passing
assert len(memory._pool.waiting) == 1
memory._pool._guard.acquire()  # as if another thread held it
ask, answer = os.pipe()
child = os.fork()
if child == 0:
    status = 1
    try:
        os.read(ask, 1)
        fine = right(held) and not memory._pool.waiting
        del held
        fine = fine and not memory._pool.waiting  # no thread would unmap it in this process
        again = array[...]
        fine = fine and right(again)
        del again
        status = 0 if fine and len(memory._pool.waiting) == 1 else 2
    finally:
        os._exit(status)
memory._pool._guard.release()
for _ in range(3):
    passing = array[...]
    passing[...] = 7
    del passing
held[...] = 8
del held
over = array[...]
over[...] = 9
os.write(answer, b"!")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_advice
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_the_child_of_a_fork_keeps_its_results_and_none_of_the_waiting_memory(tmp_path: Path) -> None:
    made = zarrscope.open(tmp_path, "w-").create_array("/a", shape=(24, 512, 512), dtype="u2", chunks=(8, 256, 256))
    made[...] = np.broadcast_to(np.arange(24, dtype="u2")[:, None, None], made.shape)
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not run.returncode, (run.returncode, run.stderr)
