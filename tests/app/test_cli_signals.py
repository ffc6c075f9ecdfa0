"""Ctrl-C, SIGTERM, SIGHUP and a closed pipe, sent to a real process of the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from narrowing import as_array
from zarrscope_app.cli.ending import finish_process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
ZARRSCOPE = [sys.executable, "-m", "zarrscope_app"]


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
    """A web server that answers requests for documents, and never those for chunks."""
    values = {str(f.relative_to(source)): f.read_bytes() for f in source.rglob("*") if f.is_file()}
    with web_server(values) as server:
        yield server
        server.gate.set()


# ---------------------------------------------------------------------------------------------- signals
def test_an_interrupt_while_the_command_line_is_imported_shows_no_traceback(tmp_path: Path) -> None:
    stub = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(5)\n"
    (tmp_path / "click.py").write_text(stub, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = begin("tree", tmp_path, env={**os.environ, "PYTHONPATH": path})
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"zarrscope: Interrupted.\n")


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
        """Answers all requests until the first one for a chunk."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if any(key.startswith("a/") and key[2:3].isdigit() for key, _ in silent.asked):
                return
            # no more than one: otherwise a request for a chunk would be answered too
            if silent.held and not silent.permits:
                silent.let(1)
            time.sleep(0.01)

    silent.gate.clear()
    process = begin(verb, silent.url, *node, *more.get(verb, []))
    try:
        open_until_chunks()
        process.send_signal(getattr(signal, name))
        _, told = process.communicate()
    finally:
        process.kill()
    assert process.returncode == code, told
    assert b"Traceback" not in told
    assert b"nterrupted" in told


STUCK = """
import sys, threading
from zarrscope_app.cli.ending import finish_process
from zarrscope_app.cli import main
threading.Thread(target=threading.Event().wait).start()  # as one that asks a name server
main(sys.argv[1:])
"""


@pytest.mark.parametrize("verb", ["read", "check", "tree"])
def test_a_verb_ends_whatever_its_threads_wait_for(verb: str, silent: WebServer) -> None:
    """Not even the request that opens the store is answered. The message must not import further modules, which would
    take longer than all the rest."""
    silent.gate.clear()
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", STUCK, verb, silent.url],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert silent.wait_held(1, 60)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"nterrupted" in told
    assert b"zarrscope_app.presenters" not in told


LATE = """
import atexit, os, signal, sys, threading, time
from zarrscope_app.cli import main

def refuse(self):
    raise RuntimeError("can't start new thread at interpreter shutdown")

def late():
    print("late", flush=True)
    if sys.argv[4:] == ["threadless"]:  # as Python 3.12 does
        threading.Thread.start = refuse
    if sys.argv[1] == "sent":
        os.kill(os.getpid(), signal.Signals[sys.argv[2]])
        time.sleep(0.01)
    else:
        threading.Event().wait()

atexit.register(print, "last")
atexit.register(late)
main(["tree", sys.argv[3]])
"""


@pytest.mark.parametrize("threads", ["", "threadless"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_in_an_exit_handler_is_no_traceback(name: str, threads: str, source: Path) -> None:
    command = [sys.executable, "-c", LATE, "sent", name, str(source), threads]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("late\nlast\n"), "the other exit handlers run, too"


CLEARED = """
import os, signal, sys
from zarrscope_app.cli import main

class Last:
    def __del__(self, kill=os.kill, own=os.getpid, number=signal.Signals[sys.argv[1]]):
        kill(own(), number)

sys.zarrscope_last = Last()
main(["tree", sys.argv[2]])
"""
"""Sends itself a signal while Python clears its modules."""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_all_was_printed_changes_nothing(name: str, source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLEARED, name, str(source)], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "uint16" in done.stdout


@pytest.mark.parametrize("threads", ["", "threadless"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_an_exit_handler_that_hangs(name: str, threads: str, source: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LATE, "hangs", name, str(source), threads],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout is not None
        while process.stdout.readline() not in ("late\n", ""):
            pass
        process.send_signal(getattr(signal, name))
        _, told = process.communicate(timeout=100)
    finally:
        process.kill()
    assert (process.returncode, told) == (128 + getattr(signal, name), "")


def test_nothing_is_written_after_an_interrupted_conversion_has_ended(source: Path, tmp_path: Path) -> None:
    """The command is interrupted at several moments. Nothing changes after it has ended, and the same command
    resumes."""
    big = tmp_path / "big.zarr"
    h = zarrscope.open(big, "w-", dialect="v2")
    values = np.random.default_rng(1).integers(0, 9, (100, 100), "u1")  # 625 chunks: none converts before the signal
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
        _, told = process.communicate(timeout=60)
        ended.add(process.returncode)
        if process.returncode:
            assert told.strip() == b"zarrscope: Interrupted. Run the same command again to go on.", "one line"
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
    assert (as_array(zarrscope.open(to)["/a"])[...] == values).all()


# ---------------------------------------------------------------------------------------------- pipes
def piped(*arguments: object, errors: bool = False) -> int:
    """The exit code of a command whose output pipe is closed before it starts."""
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
    assert (as_array(zarrscope.open(tmp_path / "new.zarr")["/a"])[...] == np.arange(4096).reshape(64, 64)).all()


@pytest.mark.parametrize("closed", [0, 1, 2])
@pytest.mark.parametrize(
    "arguments", [("tree",), ("attrs",), ("attrs", "set", "/", "n", "1"), ("remove", "a")], ids=str
)
def test_streams_that_were_closed_at_the_start_are_done_without(
    closed: int, arguments: tuple[str, ...], source: Path
) -> None:
    verb = arguments[:2] if arguments[:2] == ("attrs", "set") else arguments[:1]
    words = [*ZARRSCOPE, *verb, str(source), *arguments[len(verb) :]]
    process = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}{"<" if closed == 0 else ">"}&-', "sh", *words],
        capture_output=True,
        timeout=60,
    )
    if verb == ("remove",):
        assert process.returncode == 1
        assert (source / "a" / ".zarray").exists()
    else:
        assert process.returncode == 0
        assert bool(process.stdout) == (closed != 1)
    assert b"inside zarrscope" not in process.stderr
    assert b"Traceback" not in process.stderr
    if verb == ("attrs", "set"):
        assert '"n": 1' in (source / ".zattrs").read_text()


def test_other_verbs_that_act_do_so_too(source: Path, tmp_path: Path) -> None:
    h = zarrscope.open(source)
    assert piped("copy", source, "a", "b", errors=True) == 0
    assert piped("resize", source, "b", "70,64") == 0
    assert as_array(h["/b"]).shape == (70, 64)
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


def test_a_python_without_a_private_function_ends_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(threading, "_shutdown")
    with pytest.raises(SystemExit) as ended:
        finish_process(3)
    assert ended.value.code == 3
