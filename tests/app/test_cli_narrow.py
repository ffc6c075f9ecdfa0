"""The command line in a narrow terminal: help, descriptions and sums are folded to its width."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zarrscope
from terminals import terminals
from zarrscope_app.cli import folding, run
from zarrscope_app.cli.folding import folded
from zarrscope_app.cli.verbs import VERBS

WIDTH = 40


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an image with two levels, whose name is a word."""
    place = tmp_path_factory.mktemp("narrow") / "cells.zarr"
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    levels = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0**k, 2.0**k]}]}
        for k in range(2)
    ]
    with zarrscope.open(str(place), mode="w-") as h:
        h["/"].attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
        for k, side in enumerate((64, 32)):
            made = h.create_array(f"/{k}", shape=(8, side, side), dtype="uint16", chunks=(1, 32, 32))
            made[...] = 7
    return str(place)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines that a command prints on stdout."""
    assert run(arguments) == 0
    return capsys.readouterr().out.splitlines()


def too_wide(lines: list[str]) -> list[str]:
    """Lines that are too wide although they could be folded. An address is one word, with its label before it."""
    return [line for line in lines if len(line) > WIDTH and "file://" not in line]


@pytest.mark.parametrize(
    "arguments", [[], *([verb] for verb in VERBS), ["attrs", "set"], ["trash", "empty"]], ids=" ".join
)
def test_help_fits_a_narrow_terminal(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    lines = printed(capsys, *arguments, "--help")
    assert [line for line in too_wide(lines) if " " in line.strip(" \\")] == [], "only a single word may be wider"


def test_an_example_of_help_that_is_folded_is_still_a_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    for width in (200, WIDTH):
        monkeypatch.setenv("COLUMNS", str(width))
        examples = "\n".join(printed(capsys, "convert", "--help")).partition("Examples:")[2].partition("Options:")[0]
        read.append(examples.replace("\\\n", "").split())  # as a shell reads it
        assert examples.count(" \\\n") == (examples.count("\n        "))
    assert examples.count(" \\\n") > 5
    assert read[0] == read[1]


def test_the_purpose_of_each_verb_of_a_group_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(" ".join(printed(capsys, "attrs", "--help")).split())
    assert "without a terminal, give the new text by --from." in told
    assert "..." not in told.partition("Commands:")[2]


@pytest.mark.parametrize("arguments", [["info", "/"], ["info", "0"], ["stats", "/"], ["chunks", "0"]], ids=" ".join)
def test_descriptions_and_sums_fit_a_narrow_terminal(
    arguments: list[str], image: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    verb, node = arguments
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    whole = printed(capsys, verb, image, node)  # stdout is no terminal: no limit
    assert too_wide(whole)
    monkeypatch.setattr(folding, "on_terminal", lambda: True)
    lines = printed(capsys, verb, image, node)
    assert not too_wide(lines)
    if node == "0" or verb == "stats":  # the levels of an image are a table, or one under the other
        assert " ".join(" ".join(lines).split()) == " ".join(" ".join(whole).split()), "no word is lost"


@pytest.mark.parametrize("width", range(24, 60, 3))
def test_a_shape_is_not_broken(width: int) -> None:
    lines = folded("  Chunks  Stored in 32 pieces (chunks) of 1 × 32 × 32.", width).splitlines()
    assert any("1 × 32 × 32." in line for line in lines)
    assert max(map(len, lines)) <= width


def test_the_width_is_that_of_the_terminal(image: str) -> None:
    with terminals() as start:
        terminal = start("-m", "zarrscope_app", "info", image, size=(60, WIDTH))
        assert terminal.ended() == 0
        lines = terminal.written.replace("\r\n", "\n").split("\n")
        assert any(line.strip() == "× 32 × 32." or line.strip().endswith("resolutions.") for line in lines)
        assert not too_wide([re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines])


def test_the_demo_is_announced_before_it_is_made(tmp_path: Path) -> None:
    place = tmp_path / "demo.zarr"
    command = [sys.executable, "-m", "zarrscope_app", "demo", str(place), "--size", "small"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        first = process.stderr.readline()
        assert first == f"zarrscope: Making the demo volume at {place}. This takes a second.\n"
        assert process.stdout.read() == f"{place}\n"
        assert process.stderr.read() == ""
    assert process.returncode == os.EX_OK
    again = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert (again.stdout, again.stderr) == (f"{place}\n", ""), "nothing is made"
