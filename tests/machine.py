"""The programs and devices that tests can need: the names of `@pytest.mark.needs(…)`, and whether this machine has
them.

A thing that is absent is a sentence saying what to install; tests/conftest.py skips by it and counts. `PACKAGES` things
come from the system's packages (packaging/system-packages.txt): packaging/check --system installs them, and then a skip
for lack of one is a failure.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = frozenset({"qt", "display", "tmux", "chromium", "zsh", "fish"})


def platform() -> str:
    """The value of sys.platform on this machine, or on the simulated system (tests/systems)."""
    forced = getattr(sys.modules.get("systems.forced"), "installed", None)
    return forced.platform if forced is not None else sys.platform


def keeps_modes() -> bool:
    """Whether chmod changes more than one bit; on a simulated system (tests/systems) it may not."""
    forced = getattr(sys.modules.get("systems.forced"), "installed", None)
    return forced is None or not (forced.does("no modes") or forced.does("modes are one bit"))


def locks_files() -> bool:
    """Whether flock has an effect; on a simulated system (tests/systems) it may not."""
    forced = getattr(sys.modules.get("systems.forced"), "installed", None)
    return forced is None or not forced.does("nothing is locked")


def chromium() -> str | None:
    """The path of a Chromium or Chrome."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def conformance() -> Path | None:
    """The folder of the conformance archive: ZARRSCOPE_CASES, or shared/conformance beside the clone."""
    named = os.environ.get("ZARRSCOPE_CASES")
    folder = Path(named) if named else ROOT.parent / "shared" / "conformance"
    return folder if (folder / "cases.tar.gz").is_file() or (folder / "MANIFEST.tsv").is_file() else None


def _python(variable: str, made: str) -> Path | None:
    """The interpreter that a variable names (itself, or its environment), else that of an environment of the clone."""
    named = os.environ.get(variable)
    place = Path(named) if named else ROOT / made
    candidates = (place, place / "bin" / "python", place / "Scripts" / "python.exe")
    return next((c for c in candidates if c.is_file()), None)


def zarr2() -> Path | None:
    """A Python that has zarr-python 2.18: ZARRSCOPE_ZARR2 (interpreter or environment), else .venv-zarr2."""
    return _python("ZARRSCOPE_ZARR2", ".venv-zarr2")


def zarr30() -> Path | None:
    """A Python that has zarr-python 3.0: ZARRSCOPE_ZARR30 (interpreter or environment), else .venv-zarr30."""
    return _python("ZARRSCOPE_ZARR30", ".venv-zarr30")


def ome() -> Path | None:
    """A Python that has ome-zarr-py: ZARRSCOPE_OME (interpreter or environment), else .venv-ome."""
    return _python("ZARRSCOPE_OME", ".venv-ome")


def silx() -> Path | None:
    """A Python that has silx: ZARRSCOPE_SILX (interpreter or environment), else .venv-silx, else None."""
    return _python("ZARRSCOPE_SILX", ".venv-silx")


@functools.cache
def missing(thing: str) -> str | None:
    """The reason why `thing` is missing on this machine, and how to get it; None if it is there. Raises KeyError for an
    unknown thing."""
    return {
        "qt": _qt,
        "display": _display,
        "tmux": lambda: _program("tmux"),
        "bash": lambda: _program("bash"),
        "zsh": lambda: _program("zsh"),
        "fish": lambda: _program("fish"),
        "chromium": lambda: None if chromium() else "no Chromium: install the system package chromium",
        "jupyterlab": lambda: _lacks("jupyterlab", "playwright"),
        "notebook": lambda: _lacks("notebook", "playwright"),
        "cases": _cases,
        "zarr2": lambda: (
            None if zarr2() else "no zarr-python 2.18: packaging/check makes .venv-zarr2, or set ZARRSCOPE_ZARR2"
        ),
        "zarr30": lambda: (
            None if zarr30() else "no zarr-python 3.0: packaging/check makes .venv-zarr30, or set ZARRSCOPE_ZARR30"
        ),
        "azure": lambda: _server("azure"),
        "gcs": lambda: _server("gcs"),
        "sshd": lambda: _server("sshd"),
        "redis": lambda: _server("redis"),
        "ome": lambda: None if ome() else "no ome-zarr-py: packaging/check makes .venv-ome, or set ZARRSCOPE_OME",
    }[thing]()


def _program(name: str) -> str | None:
    return None if shutil.which(name) else f"no {name}: install the system package {name}"


def _cases() -> str | None:
    if conformance() is None:
        return "no conformance archive beside the clone, nor where ZARRSCOPE_CASES says"
    return None if hasattr(tarfile, "data_filter") else "the conformance archive is unpacked by Python 3.11.4 or newer"


def _qt() -> str | None:
    code = (
        "from zarrscope_app.presenters.installation import choose_qt; choose_qt()\n"
        "from qtpy import QtGui, QtWidgets, QtTest"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        return None
    last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return f"Qt does not load ({last}): install the system packages of packaging/system-packages.txt"


def _lacks(*modules: str) -> str | None:
    lacking = [name for name in modules if importlib.util.find_spec(name) is None]
    return f"no {' and no '.join(lacking)}: pip install '.[test]'" if lacking else None


def _display() -> str | None:
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return None
    return None if shutil.which("Xvfb") else "no display and no Xvfb: install the system packages xvfb and xauth"


def _server(service: str) -> str | None:
    import servers

    return servers.missing(service)
