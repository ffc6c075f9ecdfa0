"""What the applications remember between two runs: recent places and window geometry, in one small JSON file.

It promises to be harmless: a missing, broken, unreadable or read-only file means defaults, never an error; a value
of the wrong kind is dropped alone; the file is replaced whole, so two windows closing at once cannot tear it.
The place follows the desktop: `ZARRSCOPE_CONFIG` if set, else `$XDG_CONFIG_HOME` or `~/.config` (Linux and others),
`%APPDATA%` (Windows), `~/Library/Application Support` (macOS), each followed by `zarrscope/settings.json`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path


def settings_path(environ: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path | None:
    """Where the settings file lies, or None where no home folder can be known (a bare container, say)."""
    environ = os.environ if environ is None else environ
    if environ.get("ZARRSCOPE_CONFIG"):
        return Path(environ["ZARRSCOPE_CONFIG"]) / "settings.json"
    try:
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    except RuntimeError:
        return None
    if platform == "win32":
        root = Path(environ["APPDATA"]) if environ.get("APPDATA") else home / "AppData" / "Roaming"
    elif platform == "darwin":
        root = home / "Library" / "Application Support"
    else:
        configured = environ.get("XDG_CONFIG_HOME", "")
        # The XDG specification tells programs to ignore a relative path here.
        root = Path(configured) if os.path.isabs(configured) else home / ".config"
    return root / "zarrscope" / "settings.json"


class FileSettings:
    """Small texts by name (the presenters' `Settings`). Each change is written at once; a failed write is forgotten,
    and the value then lasts as long as the process."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path if path is not None else settings_path()
        self._texts: dict[str, str] | None = None

    def load(self, name: str) -> str | None:
        """The text stored under `name`, or None."""
        if self._texts is None:
            self._texts = _load(self.path)
        return self._texts.get(name)

    def store(self, name: str, text: str) -> None:
        """Remember `text` under `name`; what other processes stored under other names stays."""
        # Read again first: another window or process may have stored its own texts meanwhile.
        self._texts = {**(self._texts or {}), **_load(self.path), name: text}
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=".settings-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(self._texts, file, indent=1)
                os.replace(temporary, self.path)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            pass


def _load(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str)}
