"""Ctrl+O opens a file, Ctrl+Shift+O a folder: each dialog names the key of the other, and begins at the last place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import SessionStatus, Workspace
from zarrscope_app.presenters.commands import COMMANDS, LABELS

KEYS = {command.id: command.keys[0] for command in COMMANDS if command.keys}


def test_each_title_names_the_key_of_the_other_dialog() -> None:
    assert LABELS["open-file-title"].endswith(f" {KEYS['open-folder']}")
    assert LABELS["open-folder-title"].endswith(f" {KEYS['open-file']}")
    bound = [key for command in COMMANDS for key in command.keys]
    for command in ("open-file", "open-folder", "open-url"):
        assert bound.count(KEYS[command]) == 1


def test_a_dialog_begins_at_the_last_place_of_this_computer(tmp_path: Path) -> None:
    mailbox = Mailbox()
    workspace = Workspace(mailbox)
    assert workspace.folder == ""
    zarrscope.open(str(tmp_path / "in" / "a.zarr"), "w-").create_group("/g")
    session = workspace.open(f"{tmp_path / 'in' / 'a.zarr'}::g")
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY)
    assert workspace.folder == str(tmp_path / "in")
    workspace.open("https://127.0.0.1:1/b.zarr")
    assert workspace.folder == str(tmp_path / "in")
    workspace.close_all()


@pytest.mark.needs("qt", "display")
@pytest.mark.parametrize("kind", ["folder", "zip", "document"])
def test_folders_archives_and_documents_open_from_the_dialogs(
    qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    from qtpy.QtWidgets import QFileDialog

    from qt_robot import shown_window

    place = tmp_path / ("a.zip" if kind == "zip" else "a.zarr")
    with zarrscope.open(str(place), "w-") as h:
        h.create_group("/g")
    chosen = str(place / "zarr.json" if kind == "document" else place)
    asked: list[tuple[str, str]] = []

    def ask_file(_: Any, title: str, folder: str) -> tuple[str, str]:
        asked.append((title, folder))
        return chosen, ""

    def ask_folder(_: Any, title: str, folder: str) -> str:
        asked.append((title, folder))
        return chosen

    monkeypatch.setattr(QFileDialog, "getOpenFileName", ask_file)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", ask_folder)
    window = shown_window(qtbot)
    command = "open-folder" if kind == "folder" else "open-file"
    window.run(command)

    def is_open() -> bool:
        session = window.workspace.current
        return session is not None and session.state.status is SessionStatus.READY and session.state.name == place.name

    qtbot.waitUntil(is_open, timeout=60_000)
    window.run(command)
    assert asked == [(LABELS[f"{command}-title"], ""), (LABELS[f"{command}-title"], str(tmp_path))]
