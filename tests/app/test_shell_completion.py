"""Real shells in a pseudo-terminal complete verbs, options, files and nodes after the one line that the guide names."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import machine
import zarrscope

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are POSIX", allow_module_level=True)

from contracts.journeys import SECONDS
from terminals import terminals
from zarrscope_app.cli.node_paths import node_paths

if TYPE_CHECKING:
    from terminals import Terminal

GUIDE = machine.ROOT / "resources" / "docs" / "terminal.md"

# Completion asks the real program; a call records its arguments, so that the completed line can be compared.
PROGRAM = """#!/bin/sh
if [ -n "$_ZARRSCOPE_COMPLETE" ]; then exec {python} -c "$PATIENT" "$@"; fi
printf '%s\\n' "$@" >"$RECORD.part"
mv "$RECORD.part" "$RECORD"
"""
PATIENT = """
from zarrscope_app.cli import main, node_paths
node_paths.SECONDS = 60  # a busy machine takes longer
main()
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
        with zarrscope.open(home / "two.zarr", "w-") as h:
            for path in ("/raw", "/labels/nuclei", "/labels/membranes", "/plates"):
                h.create_group(path)
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
            PATIENT=PATIENT,
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
        ("zarrscope info two.zarr ra\t", ["info", "two.zarr", "raw"]),
        ("zarrscope attrs two.zarr /la\t/nu\t", ["attrs", "two.zarr", "/labels/nuclei"]),
    ],
)
def test_the_shell_completes_verbs_options_files_and_nodes(shell: Shell, keys: str, arguments: list[str]) -> None:
    assert [argument.rstrip("/") for argument in shell.called(keys)] == arguments


@pytest.mark.needs("fish")
def test_fish_shows_each_purpose_whole(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "zarrscope"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m zarrscope_app "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    asked = ("zarrscope tr", "zarrscope attrs e")
    lines = "\n".join([line_for("fish")[1], *(f"complete -C {shlex.quote(text)}" for text in asked)])
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{program.parent}:/usr/bin:/bin"}
    done = subprocess.run(["fish", "-c", lines], capture_output=True, text=True, timeout=300, env=environment)
    purposes = dict(line.split("\t") for line in done.stdout.splitlines())
    assert purposes["trash"] == "Lists, restores and erases removed nodes.", done.stderr
    assert purposes["edit"].endswith("without a terminal, give the new text by --from.")


def test_only_nodes_of_this_computer_are_proposed_and_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        for path in ("/raw", "/labels/nuclei", "/labels/old", "/with space", "/$HOME", "/lines"):
            h.create_group(path)
    place = str(tmp_path / "a.zarr")
    monkeypatch.setattr("zarrscope_app.cli.node_paths.SECONDS", 6 * SECONDS)
    assert sorted(node_paths(place, "")) == ["labels", "lines", "raw"]
    assert sorted(node_paths(place, "la")) == ["labels", "labels/nuclei", "labels/old"]
    assert node_paths(place, "/labels/n") == ["/labels/nuclei"]
    assert node_paths(place, "raw/x") == []
    (tmp_path / "empty").mkdir()
    assert node_paths(str(tmp_path / "empty"), "") == node_paths(str(tmp_path / "none.zarr"), "") == []
    monkeypatch.setattr("zarrscope.nodes.opening.open", lambda *_: pytest.fail("nothing elsewhere is opened"))
    assert node_paths("https://127.0.0.1:9/a.zarr", "") == node_paths("sftp://host/a.zarr", "") == []


def test_a_disk_that_does_not_answer_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def open_late(_: str) -> None:
        answer.wait()
        raise OSError("the disk is gone")

    monkeypatch.setattr("zarrscope.nodes.opening.open", open_late)
    monkeypatch.setattr("zarrscope_app.cli.node_paths.SECONDS", 0.01)
    assert node_paths(str(tmp_path), "") == []
    answer.set()
