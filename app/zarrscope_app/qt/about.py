"""The boxes of the Help menu: the keys, and what zarrscope is and with which parts it runs."""

from __future__ import annotations

from zarrscope_app.presenters.commands import ABOUT, WINDOW_KEYS, command, key_sheet
from zarrscope_app.presenters.installation import report
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.widgets import QMessageBox, QWidget


def show_keys(parent: QWidget) -> None:
    """Shows every key of the window and its command."""
    rows = "".join(
        f"<tr><td style='padding-right:16px'><b>{keys}</b></td><td>{act}</td></tr>"
        for keys, act in key_sheet(*WINDOW_KEYS)
    )
    _tell(parent, command("keys").label, f"<table>{rows}</table>")


def show_about(parent: QWidget) -> None:
    """Shows the versions of zarrscope and of the parts in use."""
    _tell(parent, command("about").label, ABOUT.format(report=report()))


def _tell(parent: QWidget, title: str, text: str) -> None:
    box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, QMessageBox.StandardButton.Close, parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setModal(False)
    box.show()
