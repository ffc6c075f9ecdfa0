"""Real shells in a pseudo-terminal complete verbs, options and files after the one line that the guide names."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import machine

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from terminals import terminals

if TYPE_CHECKING:
    from terminals import Terminal

GUIDE = machine.ROOT / "resources" / "docs" / "terminal.md"

# Completion asks the real program; a call records its arguments, so that the completed line can be compared.
PROGRAM = """#!/bin/sh
if [ -n "$_ZARRSCOPE_COMPLETE" ]; then exec {python} -m zarrscope_app "$@"; fi
printf '%s\\n' "$@" >"$RECORD.part"
mv "$RECORD.part" "$RECORD"
"""
PROMPT = {"bash": "PS1='ready> '", "zsh": "PS1='ready> '", "fish": "function fish_prompt; echo -n 'ready> '; end"}


def line_for(shell: str) -> tuple[str, str]:
    """The file and the line that the guide names for a shell."""
    row = re.search(rf"^- {shell}, `([^`]+)`: `([^`]+)`$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert row is not None, f"the guide has no line for {shell}"
    return row[1], row[2]


class Shell:
    """An interactive shell whose own start file has the line of the guide."""

    def __init__(self, shell: str, home: Path, start: Callable[..., Terminal]) -> None:
        program = home / "bin" / "zarrscope"
        program.parent.mkdir()
        program.write_text(PROGRAM.format(python=shlex.quote(sys.executable)), encoding="utf-8")
        program.chmod(0o755)
        (home / "cells of mice.zarr").mkdir()
        named, line = line_for(shell)
        settings = home / named.removeprefix("~/")
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(f"{PROMPT[shell]}\n{line}\n", encoding="utf-8")
        self._record = home / "called"
        found = shutil.which(shell)
        assert found is not None
        # Opened anew, the pseudo-terminal becomes the one that controls the session; fish asks for that.
        self.terminal = start(
            "-c",
            f'cd {shlex.quote(str(home))} && exec {shlex.quote(found)} -i <>"$(tty)"',
            program="sh",
            size=(40, 120),
            HOME=str(home),
            ZDOTDIR=str(home),
            XDG_CONFIG_HOME=str(home / ".config"),
            XDG_DATA_HOME=str(home / ".local"),
            PATH=f"{program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin",
            RECORD=str(self._record),
        )
        self.terminal.sees("ready> ")

    def called(self, keys: str) -> list[str]:
        """Types some keys and Enter, and returns the arguments that the program was then called with."""
        self.terminal.press(f"{keys}\r")
        self.terminal.wait(lambda _: self._record.exists(), f"{keys!r} calls the program")
        return self._record.read_text("utf-8").split("\n")[:-1]


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.needs(name)) for name in PROMPT])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    with terminals() as start:
        yield Shell(request.param, tmp_path, start)


@pytest.mark.parametrize(
    ("keys", "arguments"),
    [
        ("zarrscope at\t", ["attrs"]),
        ("zarrscope ls --lon\t", ["ls", "--long"]),
        ("zarrscope attrs s\t --dr\t", ["attrs", "set", "--dry-run"]),
        ("zarrscope tree cel\t", ["tree", "cells of mice.zarr"]),
    ],
)
def test_the_shell_completes_verbs_options_and_files(shell: Shell, keys: str, arguments: list[str]) -> None:
    assert [argument.rstrip("/") for argument in shell.called(keys)] == arguments
