"""The levels of a pyramid in the window's tab Info: a table, or a line for each level if the pane is too narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from contracts.slides import image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import SessionStatus, Workspace
from zarrscope_app.qt.panes import InfoPane


def test_the_levels_are_a_table_while_the_pane_is_wide_enough(
    qtbot: Any, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    session = workspace.open(str(tmp_path / "a.zarr"))
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    pane = InfoPane()
    qtbot.addWidget(pane)
    pane.resize(700, 500)
    pane.show()
    pane.attach(session.metadata)
    table, lines = ("Level", "Shape", "Chunks", "Size"), "chunks 1 × 1 × 8 × 8 · 128 B"

    def shown() -> str:
        told: str = pane.text.toPlainText().replace("\N{NO-BREAK SPACE}", " ")
        return told

    qtbot.waitUntil(lambda: "\n".join(table) in shown() and lines not in shown(), timeout=20_000)
    pane.setFixedWidth(240)
    qtbot.waitUntil(lambda: "Level 1" in shown() and lines in shown() and "Shape" not in shown(), timeout=20_000)
    pane.setFixedWidth(700)
    qtbot.waitUntil(lambda: "\n".join(table) in shown(), timeout=20_000)
