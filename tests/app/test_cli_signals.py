"""The command line when it is interrupted, hung up on, or no longer read: a real process, real signals and pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import WebServer, web_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
ZARRSCOPE = [sys.executable, "-m", "zarrscope_app"]
ENDS = 20.0
"""Seconds after which a process that was told to end counts as one that does not."""


def begin(*arguments: object, **how: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*ZARRSCOPE, *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how},
        restore_signals=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    h = zarrscope.open(tmp_path / "old.zarr", "w-", dialect="v2")
    h.create_array("/a", shape=(64, 64), chunks=(32, 32), dtype="u2")[...] = np.arange(4096).reshape(64, 64)
    return tmp_path / "old.zarr"


@pytest.fixture
def silent(source: Path) -> Iterator[WebServer]:
    """Answers for documents, never for chunks."""
    values = {str(f.relative_to(source)): f.read_bytes() for f in source.rglob("*") if f.is_file()}
    with web_server(values) as server:
        yield server
        server.gate.set()


# ---------------------------------------------------------------------------------------------- signals
@pytest.mark.parametrize(
    ("verb", "name", "code"),
    [
        ("read", "SIGINT", 130),
        ("render", "SIGINT", 130),
        ("check", "SIGTERM", 143),
        ("convert", "SIGINT", 130),
        ("convert", "SIGHUP", 129),
    ],
)
def test_a_verb_that_waits_in_vain_ends_by_the_signal(
    verb: str, name: str, code: int, silent: WebServer, tmp_path: Path
) -> None:
    more = {"render": ["-o", tmp_path / "a.png"], "convert": [tmp_path / "new.zarr", "--to", "v3", "--node", "a"]}
    node = [] if verb == "convert" else ["a"]

    def open_until_chunks() -> None:
        """Lets through what is asked for until the first chunk."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if any(key.startswith("a/") and key[2:3].isdigit() for key, _ in silent.asked):
                return
            if silent.held and not silent.permits:  # no more than one: a chunk would use what is left over
                silent.let(1)
            time.sleep(0.01)

    silent.gate.clear()
    process = begin(verb, silent.url, *node, *more.get(verb, []))
    try:
        open_until_chunks()
        sent = time.monotonic()
        process.send_signal(getattr(signal, name))
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert time.monotonic() - sent < ENDS
    assert process.returncode == code, told
    assert b"Traceback" not in told
    assert b"nterrupted" in told


STUCK = """
import sys, threading
from zarrscope_app.cli import main
threading.Thread(target=threading.Event().wait).start()  # as one that asks a name server
main(sys.argv[1:])
"""


@pytest.mark.parametrize("verb", ["read", "check", "tree"])
def test_a_verb_ends_whatever_its_threads_wait_for(verb: str, silent: WebServer) -> None:
    """Not even the opening gets an answer. Nothing is loaded any more to say so: that takes as long as all the rest."""
    silent.gate.clear()
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", STUCK, verb, silent.url],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert silent.wait_held(1, 60)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=ENDS)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"nterrupted" in told
    assert b"zarrscope_app.presenters" not in told


def test_nothing_is_written_after_an_interrupted_conversion_has_ended(source: Path, tmp_path: Path) -> None:
    """Interrupted at some moments; what is there when the command has ended stays, and the same command goes on."""
    big = tmp_path / "big.zarr"
    h = zarrscope.open(big, "w-", dialect="v2")
    values = np.random.default_rng(1).integers(0, 9, (48, 48), "u1")
    h.create_array("/a", shape=values.shape, chunks=(4, 4), dtype="u1")[...] = values
    to = tmp_path / "new.zarr"
    ended = set()
    for _ in range(2):
        process = begin("convert", big, to, "--to", "v3", "--codec", "gzip:9")
        end = time.monotonic() + 60
        seen = len(list(to.rglob("*")))
        while process.poll() is None and len(list(to.rglob("*"))) <= seen + 20 and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        ended.add(process.returncode)
        state = {path: path.stat().st_mtime_ns for path in to.rglob("*")}
        time.sleep(0.05)
        assert state == {path: path.stat().st_mtime_ns for path in to.rglob("*")}
        if process.returncode == 0:
            break
    assert ended <= {0, 130}
    assert 130 in ended
    done = begin("convert", big, to, "--to", "v3", "--codec", "gzip:9")
    _, told = done.communicate(timeout=100)
    assert done.returncode == 0 or b"already" in told, told
    assert (zarrscope.open(to)["/a"][...] == values).all()


# ---------------------------------------------------------------------------------------------- pipes
def piped(*arguments: object, errors: bool = False) -> int:
    """The exit code of a command whose output nobody reads: the pipe is closed before it begins."""
    reading, writing = os.pipe()
    os.close(reading)
    process = begin(*arguments, stdout=writing, stderr=writing if errors else subprocess.DEVNULL)
    os.close(writing)
    try:
        return process.wait(timeout=100)
    finally:
        process.kill()


@pytest.mark.parametrize("errors", [False, True], ids=["stdout", "stderr too"])
def test_a_conversion_that_nobody_reads_converts(errors: bool, source: Path, tmp_path: Path) -> None:
    assert piped("convert", source, tmp_path / "new.zarr", "--to", "v3", errors=errors) == 0
    assert (zarrscope.open(tmp_path / "new.zarr")["/a"][...] == np.arange(4096).reshape(64, 64)).all()


def test_other_verbs_that_act_do_so_too(source: Path, tmp_path: Path) -> None:
    h = zarrscope.open(source)
    assert piped("copy", source, "a", "b", errors=True) == 0
    assert piped("resize", source, "b", "70,64") == 0
    assert h["/b"].shape == (70, 64)
    assert piped("remove", source, "b", "--yes") == 0
    assert piped("create", source, "d/e", "--shape", "4,4", "--dtype", "u1") == 0
    assert piped("attrs", "set", source, "d/e", "x", "1") == 0
    h = zarrscope.open(source)
    assert "/b" not in h
    assert h["/d/e"].attributes["x"] == 1
    assert piped("read", source, "a", "-o", tmp_path / "a.npy", errors=True) == 0
    assert (np.load(tmp_path / "a.npy") == np.arange(4096).reshape(64, 64)).all()
    assert piped("check", source, "--resume", tmp_path / "state") == 0
    assert (tmp_path / "state").stat().st_size > 100


@pytest.mark.parametrize("verb", ["tree", "read"])
def test_verbs_that_print_end_quietly(verb: str, source: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = begin(verb, source, *(["a"] if verb == "read" else []), stdout=writing)
    os.close(writing)
    _, told = process.communicate(timeout=100)
    assert process.returncode == 0
    assert told == b""
