"""Native shortcuts: one variable turns all off, each tests itself when it is loaded, and results are the same without
them.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import machine
from contracts.shortcuts import PLACES
from zarrscope.codecs import cblosc, czstd, native
from zarrscope.runtime import shortcuts
from zarrscope.stores.local import linux

ROOT = machine.ROOT
PROOF = ROOT / "tests" / "contracts" / "shortcuts.py"


def proved(interpreter: str, **environment: str) -> dict[str, Any]:
    """The output of the checks in another interpreter."""
    run = subprocess.run(
        [interpreter, str(PROOF)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, **environment},
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize(
    "interpreter", [sys.executable, *filter(None, os.environ.get("ZARRSCOPE_INTERPRETERS", "").split(os.pathsep))]
)
def test_each_shortcut_gives_what_the_plain_way_gives(interpreter: str) -> None:
    """ZARRSCOPE_INTERPRETERS names further interpreters, such as one with the oldest supported numcodecs."""
    found = proved(interpreter)
    assert set(found["used"]) | set(found["unused"]) == set(PLACES)
    assert found["compared"]["arrays"] == 162
    assert min(found["compared"].values()) > 100
    if sys.platform == "linux":
        assert not found["unused"], "the proof proved nothing"


def test_one_variable_turns_all_off() -> None:
    """Then ctypes loads nothing, and no system call bypasses Python."""
    program = """
        import ctypes, sys
        def refuse(*_, **__):
            raise AssertionError("a library was loaded")
        import numpy
        ctypes.CDLL.__init__ = refuse
        import tempfile, zarrscope
        from zarrscope.runtime.shortcuts import states
        from zarrscope.codecs import cblosc, czstd
        with tempfile.TemporaryDirectory() as folder:
            group = zarrscope.open(folder, "w-")
            for codec in ("zstd", "blosc", "gzip"):
                made = group.create_array("/" + codec, shape=(20, 20), dtype="int16", chunks=(7, 7), codecs=[codec])
                made[...] = numpy.arange(400).reshape(20, 20)
                made.attrs["a"] = 1
                assert made[3, 4] == 64 and made[...].sum() == 79800
        assert "numcodecs.blosc" in sys.modules, "the plain way"
        print(*(f"{state.name}={state.used}={state.reason}" for state in states()), sep="\\n")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "ZARRSCOPE_NATIVE": "0"},
    )
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stdout.split("\n") if line]
    assert {line.split("=", 1)[0] for line in lines} == set(PLACES)
    assert all(line.endswith("=False=ZARRSCOPE_NATIVE=0") for line in lines), lines


class _Wrong:
    """A library whose functions do nothing and report success."""

    def __getattr__(self, name: str) -> Any:
        def function(*given: Any) -> int:
            return given[2] if name == "ZSTD_decompressDCtx" else 256 if "blosc" in name else 1

        return function


def state_of(make: Any) -> shortcuts.ShortcutState:
    """The state of a shortcut that is made in the same way as this one."""
    loaded = shortcuts.shortcut("for a test", tried_with="nothing")(make)
    try:
        [state] = [state for state in shortcuts.states() if state.name == "for a test"]
        assert state.used == (loaded() is not None)
        return state
    finally:
        del shortcuts._shortcuts["for a test"]


@pytest.mark.parametrize("name", PLACES)
def test_a_shortcut_that_answers_wrongly_is_left_unused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readlink = os.readlink
    monkeypatch.setattr(czstd, "numcodecs_file", lambda *_: _Wrong())
    monkeypatch.setattr(cblosc, "numcodecs_file", lambda *_: _Wrong())
    monkeypatch.setattr(linux, "_function", lambda name: lambda *_: os.dup(0) if name == "syscall" else 0)
    monkeypatch.setattr(os, "readlink", lambda path: "/else" if str(path).startswith("/proc/self/") else readlink(path))
    state = state_of(shortcuts._shortcuts[name].make)
    assert not state.used
    assert re.search(r"wrongly|followed|made a file|cannot exchange|another path|did not", state.reason), state


REASONS = {
    "missing": "numcodecs has no library file",
    "without functions": "numcodecs does not export the function",
    "broken": "OSError: no such library",
}


@pytest.mark.parametrize("name", ["c-blosc reading", "c-blosc writing", "libzstd"])
@pytest.mark.parametrize("what", REASONS)
def test_a_library_that_is_not_as_expected_is_left_unused(
    name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = PLACES[name][0][0]
    if what == "missing":
        monkeypatch.setattr(native, "find_spec", lambda _: None)
        monkeypatch.setattr(module, "numcodecs_file", native.numcodecs_file.__wrapped__)
    elif what == "without functions":
        monkeypatch.setattr(module, "numcodecs_file", lambda *_: object())
    else:
        monkeypatch.setattr(ctypes, "CDLL", _refuse)
        monkeypatch.setattr(module, "numcodecs_file", native.numcodecs_file.__wrapped__)
    state = state_of(shortcuts._shortcuts[name].make)
    assert not state.used
    assert state.reason.startswith(REASONS[what])


def _refuse(*_: object, **__: object) -> None:
    raise OSError("no such library")


def test_ctypes_stands_where_shortcuts_are_only() -> None:
    """Also, the system call openat2 is bound only once."""
    core = ROOT / "core" / "zarrscope"
    texts = {path.relative_to(core).as_posix(): path.read_text("utf-8") for path in core.rglob("*.py")}
    assert {path for path, text in texts.items() if re.search(r"^\s*import ctypes", text, re.M)} == {
        "codecs/native.py",
        "codecs/czstd.py",
        "codecs/cblosc.py",
        "stores/local/linux.py",
        "runtime/memory.py",
    }
    assert [path for path, text in texts.items() if "_OPENAT2 =" in text] == ["stores/local/linux.py"]


def test_what_a_shortcut_was_tried_with_is_for_people_and_its_test_decides() -> None:
    assert state_of(lambda: object()).used
