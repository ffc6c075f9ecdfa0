"""On a terminal, verbs show the request they wait for; their output does not contain it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("termios", reason="pseudo-terminals are POSIX")

import zarrscope
from contracts.http_server import WebServer, web_server
from zarrscope.runtime import waits
from zarrscope_app.cli import streams, waiting

SECONDS = 60.0


class SlowValues(dict[str, bytes]):
    """A store whose values at and beneath `held` are returned only after `released` is set."""

    held = "/"
    """No key of the test begins with this."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__(values)
        self.released = threading.Event()
        self.asked = threading.Event()

    def get(self, key: str, default: Any = None) -> Any:
        if key.startswith(self.held):
            self.asked.set()
            self.released.wait()
        return super().get(key, default)


@pytest.fixture
def values() -> SlowValues:
    """Two arrays of four chunks in a group with consolidated metadata."""
    made: dict[str, bytes] = {}
    with zarrscope.open(made, "w-") as h:
        h.create_array("/a", shape=(4, 4), dtype="u1", chunks=(2, 2))[...] = 7
        h.create_array("/b", shape=(4, 4), dtype="u1", chunks=(2, 2))[...] = 8
        h.consolidate()
    return SlowValues(made)


@pytest.fixture
def server(values: SlowValues) -> Iterator[WebServer]:
    with web_server(values) as found:
        yield found
        values.released.set()


class OnTerminal:
    """A verb whose stderr is a terminal; its stdout is a terminal or a file."""

    def __init__(self, *arguments: str, out: Path | None = None) -> None:
        self.ours, self._theirs = os.openpty()
        self._out = out.open("wb") if out is not None else None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "zarrscope_app", *arguments],
            stdin=self._theirs,
            stdout=self._theirs if self._out is None else self._out,
            stderr=self._theirs,
            start_new_session=True,
        )
        self.written = ""

    def read(self, happened: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, self.written
            if select.select([self.ours], [], [], 0.05)[0]:
                self.written += os.read(self.ours, 65536).decode()

    def says(self, text: str) -> None:
        self.read(lambda: text in self.written)

    def ended(self) -> int:
        self.read(lambda: self.process.poll() is not None)
        self.read(lambda: not select.select([self.ours], [], [], 0.05)[0])
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self._theirs)
        if self._out is not None:
            self._out.close()


@pytest.fixture
def begin() -> Iterator[Callable[..., OnTerminal]]:
    begun: list[OnTerminal] = []

    def run(*arguments: str, out: Path | None = None) -> OnTerminal:
        begun.append(OnTerminal(*arguments, out=out))
        return begun[-1]

    yield run
    for each in begun:
        each.close()


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("read", ["a"]),
        ("check", []),
        ("chunks", ["a"]),
        ("stats", []),
        ("export", ["a", "a.npy"]),
        ("render", ["a", "-o", "a.png"]),
    ],
)
def test_the_chunk_that_a_verb_waits_for_is_named(
    verb: str,
    more: list[str],
    values: SlowValues,
    server: WebServer,
    begin: Callable[..., OnTerminal],
    tmp_path: Path,
) -> None:
    values.held = "a/c"
    more = [str(tmp_path / each) if "." in each else each for each in more]
    run = begin(verb, server.url, *more)
    run.says("a/c/")
    run.says("Ctrl+C stops")
    assert f" from {server.url.partition('://')[2]}" in run.written
    run.process.send_signal(signal.SIGINT)
    assert run.ended() == 130


@pytest.mark.parametrize("verb", ["ls", "tree", "info"])
def test_the_document_that_a_verb_waits_for_is_named(
    verb: str, values: SlowValues, server: WebServer, begin: Callable[..., OnTerminal]
) -> None:
    """A document that is read after the root was opened."""
    root = json.loads(values["zarr.json"])
    del root["consolidated_metadata"]
    values["zarr.json"] = json.dumps(root).encode()
    values.held = "a/zarr.json"
    run = begin(verb, f"{server.url}/", "a")
    run.says("a/zarr.json from 127.0.0.1")
    run.process.send_signal(signal.SIGINT)
    assert run.ended() == 130


def test_what_a_verb_prints_elsewhere_holds_no_word_of_it(
    values: SlowValues, server: WebServer, begin: Callable[..., OnTerminal], tmp_path: Path
) -> None:
    values.held = "a/c"
    run = begin("read", server.url, "a", "--json", out=tmp_path / "out")
    run.says("Ctrl+C stops")
    values.released.set()
    assert run.ended() == 0
    assert json.loads((tmp_path / "out").read_text()) == [[7] * 4] * 4


def test_a_log_gets_the_same_text_from_a_slow_server(values: SlowValues, server: WebServer) -> None:
    values.held = "a/c"
    command = [sys.executable, "-m", "zarrscope_app", "read", server.url, "a"]
    verb = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert values.asked.wait(SECONDS)
        time.sleep(2 * waiting.LONG_SECONDS)
        values.released.set()
        _, told = verb.communicate(timeout=SECONDS)
    finally:
        verb.kill()
        verb.wait()
    assert told == b""


# ---------------------------------------------------------------------- lines
class Terminal:
    """A stream that counts as a terminal."""

    def __init__(self) -> None:
        read, self._write = os.pipe()
        self._read = os.fdopen(read, encoding="utf-8", newline="")
        self.stream = streams.InertStream(os.fdopen(self._write, "wb"), encoding="utf-8", write_through=True)
        self.stream.terminal = True

    def text(self) -> str:
        self.stream.close()
        with self._read:
            return self._read.read()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("a line\n", "a line\nWaiting\n"),
        ("[\n  1", "[\n  1\nWaiting\n"),
        ("\r37 %", "\r37 %\nWaiting\n"),
        ("37 %\r\x1b[K", "37 %\r\x1b[KWaiting\n"),
        ("37 %\r", "37 %\rWaiting\n"),
    ],
)
def test_a_line_of_waiting_stands_alone(before: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    monkeypatch.setattr(streams, "_cursor", ["\n"])
    terminal.stream.steer(before)
    streams.interpose(lambda: streams.steer("Waiting\n"))
    assert terminal.text() == expected


# ---------------------------------------------------------------------- records of threads
@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_watched", {})
    monkeypatch.setattr(waits, "_here", threading.local())


def test_the_longest_wait_of_any_thread_is_found(watched: None) -> None:
    with waits.asking("http://h", "a"):
        mine = waits.longest_wait()
        assert mine is not None
        assert (mine.place, mine.key) == ("http://h", "a")
        with waits.waiting():
            assert waits.longest_wait() is not None
        assert waits.longest_wait() is None, "the answer has come, and is computed with"
    assert waits.longest_wait() is None
    with waits.asking("redis://h", "b"):  # a store that does not report which request it waits for
        assert waits.longest_wait() is not None
        told: list[waits.PendingRequest | None] = []

        def other() -> None:
            with waits.asking("http://h", "c"), waits.waiting():
                told.append(waits.longest_wait())

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert [each and each.key for each in told] == ["b"]
    assert waits.longest_wait() is None
