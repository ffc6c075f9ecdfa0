"""Every dialog of the window has a title, and every control in it a name for those who hear it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QTextEdit,
    QWidget,
)

import zarrscope_app.qt
from contracts.slides import image
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.form.view_models import Closing
from zarrscope_app.presenters.nodes.table import ACTS
from zarrscope_app.presenters.session.credentials import CredentialsField, CredentialsQuestion
from zarrscope_app.qt.credentials import CredentialsDialog
from zarrscope_app.qt.export_dialog import ExportDialog
from zarrscope_app.qt.node_form import NodeDialog
from zarrscope_app.qt.review import CloseQuestion

pytestmark = pytest.mark.needs("qt", "display")
CONTROLS = (
    QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit,
    QTextEdit,
)  # fmt: skip
FIELDS = (
    CredentialsField("profile", "Profile", "", "A profile of ~/.aws", ("lab", "home")),
    CredentialsField("address", "Address", "https://a.example"),
    CredentialsField("anon", "Without credentials", "", yes_or_no=True),
)


def plan_of(act: str) -> Callable[[Session, QWidget], QDialog]:
    def made(session: Session, parent: QWidget) -> QDialog:
        session.nodes.begin(act, "/")
        return NodeDialog(session.nodes, parent)

    return made


DIALOGS: dict[str, Callable[[Session, QWidget], QDialog]] = {
    "export": ExportDialog,
    "credentials": lambda _, parent: CredentialsDialog(
        CredentialsQuestion("T", "S", "N", FIELDS, "Go", "", ""), parent
    ),
    "close": lambda _, parent: CloseQuestion(Closing("T", "S", "-a\n+b", "Save", True, False), parent),
    **{f"node: {act}": plan_of(act) for act in ACTS},
}


@pytest.fixture
def opened(qtbot: Any, tmp_path: Path) -> tuple[QWidget, Session]:
    from qt_robot import window_on

    image(tmp_path / "a.zarr", ("DAPI",))
    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=60_000)
    session.set_writable(True)
    qtbot.waitUntil(lambda: session.state.writable and session.node is not None, timeout=60_000)
    return window, session


def said(widget: QWidget) -> str:
    return widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")


def nameless(dialog: QDialog) -> list[str]:
    """The visible controls without a name; the parts of a control belong to it."""
    inside = (QComboBox, QAbstractSpinBox, QLineEdit)
    return [
        f"{type(widget).__name__} in {type(widget.parent()).__name__}"
        for widget in dialog.findChildren(QWidget)
        if isinstance(widget, CONTROLS)
        and not isinstance(widget, QScrollBar)
        and not isinstance(widget.parent(), inside)
        and widget.isVisibleTo(dialog)
        and not said(widget).strip()
    ]


@pytest.mark.parametrize("name", DIALOGS)
def test_every_control_of_a_dialog_has_a_name(qtbot: Any, opened: tuple[QWidget, Session], name: str) -> None:
    window, session = opened
    dialog = DIALOGS[name](session, window)
    dialog.open()
    try:
        qtbot.waitUntil(lambda: dialog.isVisible(), timeout=60_000)
        assert dialog.windowTitle()
        assert not nameless(dialog)
    finally:
        dialog.reject()


def test_every_dialog_is_visited() -> None:
    for found in pkgutil.iter_modules(zarrscope_app.qt.__path__):
        importlib.import_module(f"zarrscope_app.qt.{found.name}")
    own = {each.__name__ for each in QDialog.__subclasses__() if each.__module__.startswith("zarrscope_app.qt")}
    assert own == {"CloseQuestion", "CredentialsDialog", "ExportDialog", "NodeDialog"}
