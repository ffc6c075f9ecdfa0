"""Terminals that answer late, or not all questions: a pseudo-terminal plays them."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

import fcntl
import pty
import struct
import termios
import threading

from contracts.journeys import SECONDS
from zarrscope_app.tui.terminal import Answers, read_answers, terminal, with_cell, without_late_answers

LATE = b"\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.26.5)\x1b\\\x1b[6;20;9t\x1b[?62;c"
"""The answers of kitty on a busy machine, after half a second."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, int]]:
    """Both ends of a pseudo-terminal, the second of which is this process' stdin and stderr."""
    mine, its = pty.openpty()
    stream = SimpleNamespace(fileno=lambda: its)
    monkeypatch.setattr(sys, "__stdin__", stream)
    monkeypatch.setattr(sys, "__stderr__", stream)
    yield mine, its
    os.close(mine)
    os.close(its)


def has_echo(its: int) -> bool:
    return bool(termios.tcgetattr(its)[3] & termios.ECHO)


def waiting(its: int) -> bool:
    return bool(select.select([its], [], [], 0)[0])


def test_answers_that_come_late_are_neither_echoed_nor_left_to_the_shell(ends: tuple[int, int]) -> None:
    mine, its = ends
    unanswered = Answers(seconds=0.5)
    with without_late_answers(unanswered, 6 * SECONDS):
        assert not has_echo(its)
        answer = threading.Timer(0.1, lambda: os.write(mine, LATE))
        answer.start()
    answer.join()
    assert has_echo(its)
    assert not waiting(mine), "no answer was echoed"
    os.write(mine, b"typed\n")
    assert os.read(its, 100) == b"typed\n"


def test_where_no_answer_comes_it_ends_in_time(ends: tuple[int, int]) -> None:
    _, its = ends
    with without_late_answers(Answers(seconds=0.5), 0.5):
        assert not has_echo(its)
    assert has_echo(its)


@pytest.mark.parametrize("answers", [read_answers(LATE, 0.1), Answers()], ids=["answered", "not asked"])
def test_else_the_terminal_is_left_alone(ends: tuple[int, int], answers: Answers) -> None:
    _, its = ends
    with without_late_answers(answers, 6 * SECONDS):
        assert has_echo(its)


def test_the_size_of_a_cell_is_that_of_the_window_where_the_terminal_does_not_state_it(ends: tuple[int, int]) -> None:
    """The xterm of Debian: it reports 30 lines of 100 columns, and with its border 1104 × 664 pixels."""
    _, its = ends
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 1104, 664))
    told = read_answers(b"\x1bP>|XTerm(379)\x1b\\\x1b[?63;4;22c")
    assert terminal({}, with_cell(told)).cell == (22, 11)
    assert terminal({}, with_cell(read_answers(LATE))).cell == (20, 9), "stated"
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    assert terminal({}, with_cell(told)).cell == (20, 10)
