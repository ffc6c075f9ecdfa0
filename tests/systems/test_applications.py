"""The command line, the terminal application and the window on simulated systems: they start, show, edit and export."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from systems.run import environment
from terminals import Terminal, terminals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systems are forced on Linux")

VALUES = np.arange(48 * 64, dtype="u2").reshape(48, 64)
DESKTOPS = ("windows", "macos")
OME = {
    "version": "0.5",
    "multiscales": [
        {
            "axes": [{"name": name, "type": "space", "unit": "micrometer"} for name in "yx"],
            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.25, 0.25]}]}],
        }
    ],
}


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    place = tmp_path / "cells.zarr"
    with zarrscope.open(str(place), "w-") as h:
        h["/"].attrs.update({"ome": OME})
        a = h.create_array("/0", shape=(48, 64), dtype="u2", chunks=(32, 32), attributes={"note": "before"})
        a[...] = VALUES
    return place


def given(system: str, home: Path) -> dict[str, str]:
    """The environment of an application of that system, whose settings lie in `home`."""
    there = f"C:{home}".replace("/", "\\") if system == "windows" else str(home)
    return {**environment(system), "HOME": str(home), "LOCALAPPDATA": there, "QT_QPA_PLATFORM": "offscreen"}


def told(system: str, home: Path, code: str, *arguments: str) -> Any:
    """The JSON that `code` prints at its end; zarrscope runs on the system meanwhile."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env=given(system, home), cwd=home, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


COMMANDS = """
    0 ls cells.zarr
    0 tree cells.zarr
    0 info cells.zarr
    3 ls missing.zarr
    0 attrs set cells.zarr /0 note 1
    0 image cells.zarr --pixel-size y=0.5,x=0.5
    0 stats cells.zarr /0
    0 chunks cells.zarr /0
    0 check cells.zarr
    0 read cells.zarr /0 --select 0,0
    0 render cells.zarr -o a.png
    0 export cells.zarr /0 a.tif
    0 export cells.zarr /0 a.npy
    0 export cells.zarr /0 a.csv
    0 export cells.zarr / b.zarr
    0 convert cells.zarr c.zarr --to v2
    0 convert cells.zarr/0 c.zarr.zip --to v2
    0 ls c.zarr.zip
    0 create new.zarr
    0 create new.zarr /a --shape 3,4 --dtype u1
    0 move new.zarr /a /b
    0 copy new.zarr /b /c
    0 remove new.zarr /b --yes
    0 consolidate new.zarr
    0 diff new.zarr new.zarr
    0 demo d.zarr --size small
    """


@pytest.mark.parametrize("system", DESKTOPS)
def test_the_commands_do_their_work(system: str, cells: Path, tmp_path: Path) -> None:
    pytest.importorskip("tifffile")
    code = """
        import contextlib, io, json, shlex, sys
        from zarrscope_app.cli import run
        found = []
        for line in sys.argv[1].strip().splitlines():
            code, *arguments = shlex.split(line)
            caught = io.StringIO()
            with contextlib.redirect_stdout(caught), contextlib.redirect_stderr(caught):
                ended = run(arguments)
            if ended != int(code):
                found.append([line.strip(), ended, caught.getvalue()])
        print(json.dumps(found))
        """
    assert told(system, tmp_path, code, COMMANDS) == []
    assert zarrscope.open(cells)["/0"].attributes["note"] == 1
    assert np.array_equal(np.load(tmp_path / "a.npy"), VALUES)
    for made in ("a.png", "a.tif", "a.csv", "b.zarr", "c.zarr", "c.zarr.zip", "d.zarr"):
        assert (tmp_path / made).exists(), made
    assert not [each.name for each in tmp_path.iterdir() if each.name.startswith((".", "C:"))], "nothing is left over"


@pytest.mark.parametrize("system", DESKTOPS)
def test_an_attribute_is_edited_in_the_terminal(system: str, cells: Path, tmp_path: Path) -> None:
    pytest.importorskip("textual")
    with terminals() as start:
        terminal: Terminal = start("-m", "zarrscope_app", "tui", str(cells / "0"), "--write", **given(system, tmp_path))
        terminal.sees("v3 · writable")
        terminal.press("e")
        terminal.sees("⏎ edit")
        terminal.sees("1 member ")
        terminal.press("\x1b[B\r\x15typed\r\x13")
        terminal.wait(lambda _: zarrscope.open(cells)["/0"].attributes["note"] == "typed", "it is stored")
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("system", DESKTOPS)
def test_an_attribute_is_edited_in_the_window(system: str, cells: Path, tmp_path: Path) -> None:
    pytest.importorskip("qtpy")
    code = """
        import json, sys, time
        from qtpy.QtWidgets import QApplication
        application = QApplication([])
        from zarrscope_app.qt import open_window
        from zarrscope_app.settings import FileSettings
        window = open_window(FileSettings())
        window.open(sys.argv[1], writable=True)
        def until(happened):
            end = time.monotonic() + 90
            while not happened():
                assert time.monotonic() < end, "it did not happen"
                application.processEvents()
        until(lambda: window._session and window._session.slice.state.kind == "image")
        session = window._session
        session.set_tab("attributes")
        until(lambda: session.edit.state.fields)
        session.edit.edit("/note", "typed")
        until(lambda: session.edit.state.can_save)
        session.edit.save()
        until(lambda: session.edit.state.status.value == "clean")
        window.close()
        print(json.dumps("closed"))
        """
    assert told(system, tmp_path, code, str(cells / "0")) == "closed"
    assert zarrscope.open(cells)["/0"].attributes["note"] == "typed"
