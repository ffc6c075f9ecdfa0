"""A disk that is full, and a home that cannot be written: each a small file system in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.small_disk import READ_ONLY, needs_mounts, within
from terminals import terminals

pytestmark = needs_mounts

FULL = r"""
import json, os, subprocess, sys
from pathlib import Path
import numpy as np, zarrscope
from zarrscope.errors import ZarrscopeError
from zarrscope_app.settings import FileSettings

place = Path(sys.argv[1])
told = {}
zarr = [sys.executable, "-m", "zarrscope_app", "--plain"]

def verb(name, *arguments):
    done = subprocess.run([*zarr, *arguments], capture_output=True, text=True, cwd=place)
    told[name] = [done.returncode, done.stderr]

def left():
    known = {"zarr.json", "fill", "words.json", ".zarrscope-convert.json"}
    return sorted(str(p.relative_to(place)) for p in place.rglob("*")
                  if p.is_file() and p.name not in known and "/c/" not in str(p))

with zarrscope.open(place / "a.zarr", "w-") as h:
    h.create_array("/a", shape=(8, 64, 64), dtype="u2", chunks=(1, 64, 64), attributes={"x": 1})[...] = 1
settings = FileSettings(place / "state")
settings.store("words", "the old words")
document = (place / "a.zarr/a/zarr.json").read_bytes()
with open(place / "fill", "wb", buffering=0) as file:
    try:
        while file.write(bytes(1024)): pass
    except OSError: pass

verb("attrs", "attrs", "set", "a.zarr", "a", "/x", "2")
told["document"] = (place / "a.zarr/a/zarr.json").read_bytes() == document
with zarrscope.open(place / "a.zarr", "r+") as h:
    try:
        h["/a"][...] = np.random.default_rng(3).integers(0, 60000, (8, 64, 64), dtype="u2")
    except ZarrscopeError as error:
        told["write"] = str(error)
    told["values"] = np.unique(h["/a"][...]).tolist()
verb("convert", "convert", "a.zarr", "b.zarr", "--to", "v2")
settings.store("words", "longer words " * 10000)
told["words"] = settings.load("words")
verb("info", "info", "a.zarr", "a")
told["left"] = left()
(place / "fill").unlink()
verb("attrs again", "attrs", "set", "a.zarr", "a", "/x", "2")
verb("convert again", "convert", "a.zarr", "b.zarr", "--to", "v2")
told["attributes"] = json.loads((place / "a.zarr/a/zarr.json").read_text())["attributes"]
told["converted"] = np.unique(zarrscope.open_array(place / "b.zarr", "/a")[...]).tolist()
print(json.dumps(told))
"""


def test_a_full_disk_loses_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        within(place, sys.executable, "-c", FULL, str(place)), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    for name in ("attrs", "convert"):
        code, words = told[name]
        assert code == 1, name
        assert "The disk is full" in words, name
        assert told[f"{name} again"] == [0, told[f"{name} again"][1]], name
    assert told["document"]
    assert "The disk is full" in told["write"]
    assert told["values"] == [1]
    assert told["words"] == "the old words"
    assert told["info"][0] == 0
    assert told["left"] == [], "unfinished files"
    assert told["attributes"] == {"x": 2}
    assert told["converted"] == [1]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ZARRSCOPE_"))}
    return {**kept, "HOME": str(home)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.zarr"
    with zarrscope.open(path, "w-") as h:
        h.create_array("/image", shape=(64, 64), dtype="u2", chunks=(32, 32))[...] = np.arange(64)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ("tree", "{data}"),
        ("info", "{data}", "image"),
        ("attrs", "set", "{data}", "image", "/x", "1"),
        ("check", "{data}"),
        ("convert", "{data}", "{data}.v2", "--to", "v2"),
        ("render", "{data}", "image", "-o", "{data}.png"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_verbs_need_no_home(home: Path, data: Path, arguments: tuple[str, ...]) -> None:
    verb = [sys.executable, "-m", "zarrscope_app", *(each.format(data=data) for each in arguments)]
    done = subprocess.run(
        within(home, *verb, how=READ_ONLY),
        capture_output=True, text=True, timeout=120, env=environment(home), cwd=data.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_the_demo_says_where_its_volume_can_lie(home: Path, data: Path) -> None:
    done = subprocess.run(
        within(home, sys.executable, "-m", "zarrscope_app", "demo", how=READ_ONLY),
        capture_output=True, text=True, timeout=120, env=environment(home), cwd=data.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "The demo volume cannot be written" in done.stderr
    assert "ZARRSCOPE_CACHE" in done.stderr


def test_the_terminal_needs_no_home(home: Path, data: Path) -> None:
    program, *rest = within(home, sys.executable, "-m", "zarrscope_app", "tui", str(data), how=READ_ONLY)
    with terminals() as start:
        terminal = start(*rest, program=program, HOME=str(home), XDG_STATE_HOME="", XDG_CACHE_HOME="")
        terminal.sees("image")
        terminal.press("q")
        assert terminal.ended() == 0


def test_the_window_needs_no_home(home: Path, data: Path) -> None:
    pytest.importorskip("PyQt6")
    script = (
        "import sys, time\n"
        "from qtpy.QtWidgets import QApplication\n"
        "application = QApplication([])\n"
        "from zarrscope_app.qt import open_window\n"
        "from zarrscope_app.settings import FileSettings\n"
        "window = open_window(FileSettings())\n"
        "window.open(sys.argv[1])\n"
        "end = time.monotonic() + 60\n"
        "while time.monotonic() < end and 'image' not in str(window._session and window._session.tree.rows(0, 0, 9)):\n"
        "    application.processEvents()\n"
        "window.close()\n"
        "print('closed')\n"
    )
    command = within(home, sys.executable, "-c", script, str(data), how=READ_ONLY)
    given = {**environment(home), "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=given, check=False)
    assert (done.returncode, done.stdout) == (0, "closed\n"), done.stderr
