"""Messages of an installation that lacks packages, and the output of `zarrscope --version` for a bug report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import machine
import zarrscope
from narrowing import not_none
from zarrscope.errors.installing import how_to_install, how_to_install_packages
from zarrscope_app.cli.explore import has_display
from zarrscope_app.presenters import installation

# Hides packages in a new process, before it imports anything of zarrscope.
WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
{code}
"""
QT = ("qtpy", "PyQt6", "PySide6")


def without(names: tuple[str, ...], code: str, **variables: str) -> tuple[int, str]:
    """The exit status and standard error of a process without these packages."""
    environment = {
        k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    } | variables
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=names, code=code)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stderr


def run_without(names: tuple[str, ...], *arguments: str, **variables: str) -> tuple[int, str]:
    return without(names, f"from zarrscope_app.cli import main; main({list(arguments)!r})", **variables)


@pytest.fixture
def volume(tmp_path: Path) -> str:
    hierarchy = zarrscope.open(tmp_path / "x.zarr", "w-")
    hierarchy.create_array("/a", shape=(4, 4), dtype="uint8")[...] = 1
    return str(tmp_path / "x.zarr")


@pytest.mark.parametrize("display", [{"DISPLAY": ":99"}, {}], ids=["display", "no display"])
@pytest.mark.parametrize("missing", [QT, ("PyQt6", "PySide6")], ids=["no qtpy", "no binding"])
def test_without_qt_the_window_names_its_extra(volume: str, missing: tuple[str, ...], display: dict[str, str]) -> None:
    code, said = run_without((*missing, "textual"), volume, **display)
    assert code == 1
    if display or sys.platform in ("win32", "darwin"):
        assert "The window needs" in said
        assert "PyQt6 or PySide6" in said
        assert how_to_install("qt") in said
    else:
        assert "no display" in said
    assert "Traceback" not in said
    assert "ModuleNotFoundError" not in said


def test_a_qt_that_does_not_load_says_which_library_is_missing() -> None:
    said = installation.qt_fails(ImportError("libEGL.so.1: cannot open shared object file: No such file or directory"))
    assert "libEGL.so.1" in said
    assert "apt-get install libegl1" in said
    assert "undefined symbol" in installation.qt_fails(ImportError("QtCore.so: undefined symbol: x"))


def test_without_textual_the_terminal_application_names_its_extra(volume: str) -> None:
    code, said = run_without(("textual",), "tui", volume)
    assert (code, said) == (1, f"zarrscope: The terminal application needs textual. {how_to_install('tui')}.\n")


@pytest.mark.parametrize(
    ("module", "missing", "extra"),
    [("zarrscope_app.jupyter", "anywidget", "jupyter"), ("zarrscope_app.napari.dock", "napari", "napari")],
)
def test_hosts_that_are_imported_name_their_extra(module: str, missing: str, extra: str) -> None:
    code, said = without((missing,), f"import {module}")
    assert code == 1
    assert re.search(rf"^ImportError: The .* needs {missing}\. {re.escape(how_to_install(extra))}\.$", said, re.M)


class Installed:
    def __init__(self, direct_url: str | None) -> None:
        self._direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self._direct_url


def test_an_extra_is_installed_from_where_zarrscope_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Installed:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(None))
    assert how_to_install("tui") == "Run: pip install 'zarrscope[tui]'"
    for from_folder in (absent, lambda name: Installed('{"url": "file:///x", "dir_info": {}}')):
        monkeypatch.setattr(metadata, "distribution", from_folder)
        assert how_to_install("tui") == "Run in the folder of zarrscope: pip install '.[tui]'"
        assert how_to_install() == "Run in the folder of zarrscope: pip install ."


def test_a_build_without_python_does_not_advise_pip_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    said = "This build takes no further packages: use an installation by pip or conda"
    assert how_to_install("tui") == how_to_install_packages("icechunk") == said
    for place in (machine.ROOT / "core", machine.ROOT / "app"):
        for file in place.rglob("*.py"):
            advised = re.search(r"Run: pip install", file.read_text("utf-8"))
            assert advised is None or file.name == "installing.py", f"{file} advises pip by itself"


def test_all_is_every_extra_that_a_user_installs() -> None:
    project = tomllib.loads((machine.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    combined = everything.removeprefix("zarrscope[").removesuffix("]").split(",")
    assert set(combined) == extras.keys() - installation._COLLECTIONS


def test_no_other_text_words_how_an_extra_is_installed() -> None:
    texts = [
        *(machine.ROOT / "core").rglob("*.py"),
        *(machine.ROOT / "app").rglob("*.py"),
        *(machine.ROOT / "resources/docs").glob("*.md"),
        machine.ROOT / "README.md",
    ]
    worded = re.compile(r"(pip install|Install) '?`?zarrscope\b")
    found = [path.name for path in texts if worded.search(path.read_text(encoding="utf-8"))]
    assert found == [], "zarrscope.errors.installing words it"


@pytest.mark.parametrize("verb", [["tree"], ["info"], ["check"], ["read", "a"], ["render", "a", "-o", "p.png"]])
def test_the_command_line_needs_no_extra(volume: str, verb: list[str], tmp_path: Path) -> None:
    arguments = [verb[0], volume, *(str(tmp_path / word) if word == "p.png" else word for word in verb[1:])]
    extras = (*QT, "textual", "anywidget", "napari", "npe2", "aiohttp", "distributed", "dask", "imagecodecs", "pcodec")
    code, said = run_without(extras, *arguments)
    assert code == 0, said


def test_qtpy_is_told_to_take_qt_6(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("qtpy", "PyQt5", "PySide2", *QT):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(installation, "_is_there", lambda name: name == "PySide6")
    monkeypatch.setenv("QT_API", "pyqt6")
    installation.choose_qt()
    assert os.environ["QT_API"] == "pyqt6", "what somebody chose stays"
    monkeypatch.delenv("QT_API")
    installation.choose_qt()
    assert os.environ["QT_API"] == "pyside6"
    monkeypatch.delenv("QT_API")
    monkeypatch.setitem(sys.modules, "PyQt6", object())
    installation.choose_qt()
    assert "QT_API" not in os.environ, "what is imported already stays"


def test_the_report_names_versions_shortcuts_and_extras_but_no_path() -> None:
    lines = dict(line.partition(": ")[::2] for line in installation.report().splitlines()[2:])
    assert installation.report().startswith(f"zarrscope {zarrscope.__version__}\nPython {sys.version.split()[0]} ")
    for library in installation.BASIC:
        assert re.search(rf"\b{library} \d", lines["Libraries"]), library
    shortcuts = lines["Native shortcuts"].split("; ")
    assert shortcuts.pop().startswith("tried with Linux ")
    assert len(shortcuts) == 7
    assert all(re.fullmatch(r"[\w -]+ (yes|no \(.+\))", each) for each in shortcuts), shortcuts
    assert "Extras" in lines
    assert not re.search(r"(?<![\w])[/\\]\w+[/\\]", installation.report())


def test_the_report_says_why_a_shortcut_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope.runtime import shortcuts

    def broken() -> None:
        raise OSError("a broken library")

    shortcuts.shortcut("made for a test", tried_with="nothing")(broken)
    try:
        assert "; made for a test no (OSError: a broken library); tried with " in installation.report()
    finally:
        del shortcuts._shortcuts["made for a test"]


def test_the_basic_libraries_are_those_of_the_distribution() -> None:
    import tomllib

    import machine

    with open(machine.ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    assert tuple(not_none(re.match(r"[\w.-]+", line))[0] for line in project["dependencies"]) == installation.BASIC
    assert "version" in project["dynamic"]


@pytest.mark.parametrize(
    ("given", "opens"),
    [
        ({}, False),
        ({"DISPLAY": ":99"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"QT_QPA_PLATFORM": "offscreen"}, True),
        ({"QT_QPA_PLATFORM": "xcb"}, False),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
def test_a_window_needs_a_display_or_a_platform_that_draws_without(
    given: dict[str, str], opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert has_display() == opens


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently on Windows")
def test_a_reader_that_has_read_enough_is_no_error() -> None:
    """`zarrscope --version | head -1` sometimes ended with a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-m", "zarrscope_app", "--version"]
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, timeout=100, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
