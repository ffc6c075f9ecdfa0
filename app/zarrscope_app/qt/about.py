"""The boxes of the Help menu: the keys, and what zarrscope is and with which parts it runs."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from zarrscope_app.presenters.commands import ABOUT, WINDOW_KEYS, command, key_sheet
from zarrscope_app.presenters.installation import report
from zarrscope_app.qt.toolkit.core import Qt
from zarrscope_app.qt.toolkit.gui import QIcon
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractButton,
    QDialog,
    QDialogButtonBox,
    QMessageBox,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

_KEYS_WIDE, _KEYS_HIGH = 560, 800
"""The pixels of the list of keys, which is no higher than the window."""


def show_keys(parent: QWidget) -> None:
    """Shows every key of the window and its command. The list is longer than a small screen, so it is scrolled."""
    rows = "".join(
        f"<tr><td style='padding-right:16px'><b>{escape(keys)}</b></td><td>{escape(act)}</td></tr>"
        for keys, act in key_sheet(*WINDOW_KEYS)
    )
    box = QDialog(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(command("keys").label)
    text = QTextBrowser()
    text.setAccessibleName(command("keys").label)
    text.setHtml(f"<table>{rows}</table>")
    close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    _without_icons(close.buttons())
    close.rejected.connect(box.close)
    column = QVBoxLayout(box)
    column.addWidget(text)
    column.addWidget(close)
    box.resize(_KEYS_WIDE, min(_KEYS_HIGH, parent.height()))
    box.show()


def show_about(parent: QWidget) -> None:
    """Shows the versions of zarrscope and of the parts in use."""
    _tell(parent, command("about").label, ABOUT.format(report=report()))


def _tell(parent: QWidget, title: str, text: str) -> None:
    box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, QMessageBox.StandardButton.Close, parent)
    _without_icons(box.buttons())
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setModal(False)
    box.show()


def _without_icons(buttons: Iterable[QAbstractButton]) -> None:
    """Removes the icons of Qt's own buttons, which are black in a dark theme, too. No other button has one."""
    for button in buttons:
        button.setIcon(QIcon())
