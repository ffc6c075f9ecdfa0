"""A full disk and a read-only home, each a small file system in its own mount namespace."""

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
from contracts.small_disk import MOUNT, READ_ONLY, needs_mounts, within
from terminals import terminals
from zarrscope.runtime.threads import Mailbox
from zarrscope_app import settings
from zarrscope_app.presenters import SessionStatus, Workspace

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


@pytest.mark.parametrize("home", ["read-only", "a file", "nobody's"])
def test_the_problems_say_that_settings_are_not_kept(
    home: str, data: Path, tmp_path: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single message, which is not counted among the problems of the hierarchy and remains after a refresh."""
    place = tmp_path / "state"
    if home == "nobody's":
        monkeypatch.setattr(settings, "folder", lambda: Path("~nobody-of-this-name").expanduser())
        settings_here, named = settings.FileSettings(), "~"
    else:
        if home == "a file":
            place.write_bytes(b"")
        else:
            place.mkdir()
            access = os.access
            # root may write everywhere
            monkeypatch.setattr("os.access", lambda path, *how, **to: path != place and access(path, *how, **to))
        settings_here, named = settings.FileSettings(place / "zarrscope"), str(place / "zarrscope")
    workspace = Workspace(mailbox, settings_here)
    session = workspace.open(str(data))
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY, 60)
    for _ in range(2):
        assert f": {named} cannot be written." in session.problems.sentence
        assert (session.problems.count, session.state.sentence) == (0, "")
        session.reload()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY, 60)
    workspace.close_all()
    if home != "read-only":  # which is only simulated
        settings_here.store("words", "x")
        assert settings_here.load("words") is None
    assert settings.FileSettings(tmp_path / "new" / "folder").unwritable() == ""


NOTEBOOK = """
import sys, time
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter import Explorer
mailbox = Mailbox()
widget = Explorer(sys.argv[1], post=mailbox, editable=True)
mailbox.run_until(lambda: "image" in str(widget.session.tree.rows(0, 0, 9)), 60)
print(widget.session.problems.sentence)
widget.close()
"""
NAPARI = """
import sys, time
import napari
from qtpy.QtWidgets import QApplication
viewer = napari.Viewer(show=False)
from zarrscope_app.napari.dock import Explorer
dock = Explorer(viewer)
dock.open(sys.argv[1])
end = time.monotonic() + 60
while time.monotonic() < end and "image" not in str(dock.session and dock.session.tree.rows(0, 0, 9)):
    QApplication.processEvents()
print(dock.session.problems.sentence)
dock.close()
viewer.close()
"""


@pytest.mark.parametrize("home_is", ["read-only", "missing"])
@pytest.mark.parametrize("host", ["notebook", "napari"])
def test_plug_ins_need_no_home(host: str, home_is: str, home: Path, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("anywidget" if host == "notebook" else "napari")
    command = [sys.executable, "-c", NOTEBOOK if host == "notebook" else NAPARI, str(data)]
    given = {**environment(home), "QT_QPA_PLATFORM": "offscreen"}
    if host == "napari":  # napari itself exits if it cannot write its own settings
        given |= {"NAPARI_CONFIG": str(tmp_path / "napari.yaml"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    if home_is == "read-only":
        command = within(home, *command, how=READ_ONLY)
    else:
        home.rmdir()
        given["HOME"] = str(data / "zarr.json" / "home")  # no folder can be made there
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=given, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Traceback" not in done.stderr
    assert done.stdout.rstrip().endswith(".local/state/zarrscope cannot be written."), done.stdout


EXPORTS = r"""
import json, os, sys
from pathlib import Path
from zarrscope_app import cli
data, place = sys.argv[1], Path(sys.argv[2])
made = cli.run(["export", data, "/a", str(place / sys.argv[3]), *["--overwrite"] * (sys.argv[3] == "kept.npy")])
kept = place / "kept.npy"
print(json.dumps([made, os.listdir(place), kept.read_text() if kept.exists() else None]))
"""
NAMES = ["new.tif", "new.ome.tif", "new.npy", "kept.npy", "new.csv", "new.zarr", "new.png"]


def exported(command: list[str]) -> tuple[list[Any], str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "went wrong inside" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr.splitlines()[-1]


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    values = np.random.default_rng(1).integers(0, 60_000, (512, 512), "u2")
    zarrscope.open(tmp_path / "noise.zarr", "w-").create_array("/a", shape=(512, 512), dtype="u2")[...] = values
    return tmp_path / "noise.zarr"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", ["full", "read-only", "limit"])
def test_an_export_that_cannot_be_written_leaves_nothing(fault: str, name: str, noise: Path, tmp_path: Path) -> None:
    if name.endswith(".tif"):
        pytest.importorskip("tifffile")
    place = tmp_path / "disk"
    place.mkdir()
    run = [sys.executable, "-c", EXPORTS, str(noise), str(place), name]
    old = f"echo -n old > {place}/kept.npy && "
    if fault == "limit":
        command = ["sh", "-c", f'{old} ulimit -f 100 && exec "$@"', "sh", *run]
    else:
        full = MOUNT.replace("shift 2", f"{old} shift 2")
        command = within(place, *run, how=full if fault == "full" else READ_ONLY)
    (code, left, kept), words = exported(command)
    assert code == 1, words
    assert words.startswith(f"zarrscope: {place}/{name} could not be written"), words
    if fault == "read-only":
        assert "Choose a folder in which you may write" in words
        assert left == []
    else:
        assert "choose another place. No part of the file is left." in words
        assert (left, kept) == (["kept.npy"], "old")
