"""Stores the applications' settings: small text files in the platform's folder for the state of applications.

$XDG_STATE_HOME/zarrscope (else ~/.local/state/zarrscope); %LOCALAPPDATA% on Windows; ~/Library/Application Support on
macOS. If the folder cannot be read or written, or its disk is full, that is not an error: nothing is stored then, and
`unwritable` tells.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from zarrscope.runtime.interrupts import operation


def folder() -> Path:
    """The folder of the files. It is created when something is first stored."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Application Support")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(base):  # the XDG specification says to ignore a relative path
            base = str(Path.home() / ".local" / "state")
    return Path(base) / "zarrscope"


class FileSettings:
    """Implements the presenters' `Settings`: one file for each name."""

    def __init__(self, place: Path | None = None) -> None:
        self._place = place
        self._failed = False
        """Whether the last text could not be stored: a full disk, or a quota that is used up, shows in no mode."""

    def _file(self, name: str) -> Path:
        return (self._place or folder()) / f"{name}.json"

    def load(self, name: str) -> str | None:
        """The text of a name's file; None if there is none, or if it cannot be read."""
        try:
            return self._file(name).read_text("utf-8")
        except (OSError, ValueError, RuntimeError):
            return None

    def store(self, name: str, text: str) -> None:
        """Replaces the file of a name atomically; only this user can read it. A failure is not raised;
        `unwritable` tells of it until a text is stored again."""
        try:
            file = self._file(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            with operation():
                # mkstemp makes a file that only this user can read, whatever the umask.
                handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{name}-")
                try:
                    with os.fdopen(handle, "w", encoding="utf-8") as stream:
                        stream.write(text)
                    os.replace(temporary, file)
                except BaseException:  # mkstemp succeeds on a full disk, so each attempt would leave an empty file
                    os.unlink(temporary)
                    raise
        except (OSError, RuntimeError):
            self._failed = True
        else:
            self._failed = False

    def unwritable(self) -> str:
        """The folder of the files if nothing can be stored there; "" if it can be written, or could be created."""
        try:
            place = self._file("x").parent
        except RuntimeError:  # this user has no home
            return "~"
        there = next((each for each in (place, *place.parents) if each.exists()), place)
        fit = not self._failed and there.is_dir() and os.access(there, os.W_OK | os.X_OK)
        return "" if fit else str(place)

    def names(self, start: str) -> list[str]:
        """The sorted names, beginning with `start`, under which texts are stored."""
        try:
            return sorted(file.stem for file in self._file("x").parent.glob(f"{start}*.json"))
        except (OSError, RuntimeError):
            return []

    def remove(self, name: str) -> None:
        """Removes the file of a name; a failure is ignored."""
        try:
            self._file(name).unlink(missing_ok=True)
        except (OSError, RuntimeError):
            return
