"""The installation: a sentence about the packages that a front end needs and lacks; and the lines for a bug report."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.util import find_spec
from typing import Literal, NamedTuple

import zarrscope
from zarrscope.errors.installing import how_to_install

FrontEnd = Literal["window", "terminal", "notebook", "napari"]


class _Needs(NamedTuple):
    """The name of a front end, the packages that it imports, and the extra that installs them."""

    title: str
    packages: tuple[str, ...]
    extra: str
    with_qt: bool = False


_NEEDS: dict[FrontEnd, _Needs] = {
    "window": _Needs("The window", ("qtpy",), "qt", with_qt=True),
    "terminal": _Needs("The terminal application", ("textual",), "tui"),
    "notebook": _Needs("The notebook widget", ("anywidget",), "jupyter"),
    # Qt is not listed for napari: the plugin's reader works in a napari without Qt, and napari itself reports a lack of
    # Qt bindings.
    "napari": _Needs("The napari plugin", ("napari",), "napari"),
}

QT_BINDINGS = {"PyQt6": "pyqt6", "PySide6": "pyside6"}
"""Package → its name in QT_API. The first installed one is used."""


def lacking(front_end: FrontEnd) -> str:
    """The reason why a front end cannot start if packages are missing, and how to install them; "" if
    none is missing."""
    title, packages, extra, with_qt = _NEEDS[front_end]
    missing = [name for name in packages if not _is_there(name)]
    if with_qt and not any(_is_there(name) for name in QT_BINDINGS):
        missing.append("a Qt 6 binding (PyQt6 or PySide6)")
    return f"{title} needs {_listed(missing)}. {how_to_install(extra)}." if missing else ""


def choose_qt() -> None:
    """Makes qtpy choose a binding of Qt 6. By itself it would also choose PyQt5 if that is installed.

    A binding that was named in QT_API, or imported before, stays.
    """
    if os.environ.get("QT_API") or any(name in sys.modules for name in ("qtpy", "PyQt5", "PySide2", *QT_BINDINGS)):
        return
    for name, called in QT_BINDINGS.items():
        if _is_there(name):
            os.environ["QT_API"] = called
            return


def qt_fails(error: ImportError) -> str:
    """The sentence for when Qt is installed but does not load."""
    library = re.match(r"(lib[\w.+-]+\.so[\w.]*): cannot open", str(error))
    if library is None:
        return f"The window does not start, since Qt cannot be loaded: {error}"
    return (
        f"The window does not start, since Qt needs {library[1]}, which this system lacks. "
        "On Debian and Ubuntu: apt-get install libegl1 libgl1 libxkbcommon-x11-0 libxcb-cursor0 libdbus-1-3"
    )


def report() -> str:
    """The lines for a bug report: versions of zarrscope, Python, the system and the libraries, the native shortcuts in
    use, and the installed extras. No path and no name of a person or machine."""
    lines = [
        f"zarrscope {zarrscope.__version__}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"System: {platform.platform()}",
    ]
    basic, extras = _requirements()
    lines.append("Libraries: " + ", ".join(f"{name} {_version(name) or 'missing'}" for name in basic))
    lines.append("Native shortcuts: " + "; ".join(_shortcuts()))
    if not extras:
        lines.append("Extras: unknown, since zarrscope runs from a folder")
        return "\n".join(lines)
    there, absent = [], []
    for extra, names in extras.items():
        versions = {name: _version(name) for name in names}
        if extra == "qt" and not lacking("window"):
            versions = {name: _version(name) for name in ("qtpy", *QT_BINDINGS) if _version(name)}
        if all(versions.values()):
            there.append(f"{extra} ({', '.join(f'{name} {number}' for name, number in versions.items())})")
        else:
            absent.append(extra)
    lines.append("Extras: " + (", ".join(there) or "none"))
    if absent:
        lines.append("Not installed: " + ", ".join(absent))
    return "\n".join(lines)


BASIC = (
    "numpy",
    "numcodecs",
    "zstandard",
    "deflate",
    "isal",
    "google-crc32c",
    "fsspec",
    "click",
    "rich",
    "psygnal",
)
"""The required distributions. They are listed here for a zarrscope that runs from a folder without metadata."""

_COLLECTIONS = {"all", "bench", "test"}
"""Extras that combine other extras, or that only developers install."""


def _requirements() -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """(distributions that are always needed, extra → its distributions)."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        listed = requires("zarrscope") or []
    except PackageNotFoundError:
        return BASIC, {}
    basic: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in listed:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""extra\s*==\s*["']([\w.-]+)["']""", line)
        if name is None or (extra is not None and extra[1] in _COLLECTIONS):
            continue
        (basic if extra is None else extras.setdefault(extra[1], [])).append(name[0])
    return tuple(basic), extras


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _shortcuts() -> list[str]:
    """The native shortcuts, which replace a Python library or several system calls: for each, whether this process uses
    it or why not, and the versions that it was tried with."""
    from zarrscope.codecs import cblosc, czstd  # noqa: F401 - importing them registers their shortcuts
    from zarrscope.runtime.shortcuts import states
    from zarrscope.stores.local import linux  # noqa: F401 - likewise

    found = list(states())
    used = [f"{state.name} {'yes' if state.used else f'no ({state.reason})'}" for state in found]
    return [*used, "tried with " + " and ".join(sorted({state.tried_with for state in found}))]


def _is_there(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
