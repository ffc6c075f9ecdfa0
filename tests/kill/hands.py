"""Starts several processes that act at the same moment, and the actions for tests/core/test_parallel.py."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import zarrscope
from narrowing import as_array
from zarrscope.errors import Conflict, Refused
from zarrscope.nodes.document_keys import attributes_pointer

_context = multiprocessing.get_context("forkserver")  # not fork: the tests' own process has threads
_context.set_forkserver_preload(
    ["kill.hands", "zarrscope.nodes.edit", "zarrscope.chunkio.write", "zarrscope.stores.address"]
)

Work = tuple[Callable[..., Any], tuple[Any, ...]]


class Hands:
    """A process for each work; all start at the same moment. `finish` returns their results, or raises the error of one
    of them."""

    def __init__(self, *works: Work) -> None:
        barrier = self._barrier = _context.Barrier(len(works))
        self._answers = []
        self._processes = []
        for work, arguments in works:
            mine, theirs = _context.Pipe(duplex=False)
            process = _context.Process(target=_hand, args=(barrier, theirs, work, arguments), daemon=True)
            process.start()
            theirs.close()
            self._answers.append(mine)
            self._processes.append(process)

    @property
    def busy(self) -> bool:
        return any(process.is_alive() for process in self._processes)

    def finish(self, seconds: float = 60) -> list[Any]:
        answers: list[Any] = []
        for process, answer in zip(self._processes, self._answers, strict=True):
            if not answer.poll(seconds):
                process.kill()
                raise TimeoutError("a process did not end")
            try:
                met, value = answer.recv()
            except EOFError:
                raise AssertionError("a process died") from None
            if met:
                raise AssertionError(value)
            answers.append(value)
        for process in self._processes:
            process.join(seconds)
        return answers


def _hand(barrier: Any, answer: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer.send((False, work(barrier, *arguments)))
    except BaseException:
        barrier.abort()
        answer.send((True, traceback.format_exc()))


def create(barrier: Any, url: str, acts: list[tuple[str, str]]) -> list[str]:
    """Creates each ("array" or "group", path) at the same moment as the other processes; returns "made" or the error
    for each."""
    h = zarrscope.open(url, "r+")
    told = []
    for kind, path in acts:
        barrier.wait(30)
        try:
            if kind == "array":
                h.create_array(path, shape=(4,), chunks=(2,), dtype="u2", attributes={"kind": kind})
            else:
                h.create_group(path, {"kind": kind})
            told.append("made")
        except (Conflict, Refused) as error:
            named = path.split("/")[1] in f"{error} {error.key}"
            told.append(type(error).__name__ if named else f"does not name {path}: {error}")
    assert not h.warnings, h.warnings
    return told


def fill(barrier: Any, url: str, path: str, places: list[Any], times: int, base: int) -> None:
    """Writes base + 1 … base + times to each of the regions of an array, one after the other."""
    array = as_array(zarrscope.open(url, "r+")[path])
    barrier.wait(30)
    for turn in range(1, times + 1):
        for place in places:
            array[place] = base + turn


def watch(barrier: Any, url: str, path: str, places: list[Any], times: int, bases: list[int]) -> int:
    """Reads until the last values are stored. No region may hold two values at a time, or an older one than before.
    Returns the number of reads."""
    array = zarrscope.open(url, "r")[path]
    seen = [0] * len(places)
    reads = 0
    barrier.wait(30)
    while any(last != base + times for last, base in zip(seen, bases, strict=True)):
        reads += 1
        for i, place in enumerate(places):
            values = np.asarray(array[place])
            assert (values == values.flat[0]).all(), f"{place}: {np.unique(values)}"
            value = int(values.flat[0])
            assert value >= seen[i], f"{place}: {value} after {seen[i]}"
            assert value in (0, *range(bases[i] + 1, bases[i] + times + 1))
            seen[i] = value
    return reads


def count(barrier: Any, url: str, path: str, name: str, times: int) -> None:
    """Saves an attribute with 1 … times, and increments "shared" each time, merging the other processes' saves."""
    h = zarrscope.open(url, "r+")
    pointer = attributes_pointer(h, path)
    barrier.wait(30)
    for turn in range(1, times + 1):
        while True:
            document = h.document(path)
            raised = document.get(f"{pointer}/shared") + 1
            try:
                h.save(path, document.set(f"{pointer}/{name}", turn).set(f"{pointer}/shared", raised))
                break
            except Conflict:
                continue
    assert not h.warnings, h.warnings
