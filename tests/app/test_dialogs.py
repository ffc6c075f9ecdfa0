"""Every dialog of the window has a title, and every control in it a name for those who hear it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
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
from zarrscope_app.qt.closing import JobsQuestion
from zarrscope_app.qt.credentials import CredentialsDialog
from zarrscope_app.qt.export_dialog import ExportDialog
from zarrscope_app.qt.node_form import NodeDialog
from zarrscope_app.qt.review import CloseQuestion
from zarrscope_app.qt.saved_views import ViewDialog

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


def plan_of(act: str) -> Callable[[Session, QWidget], NodeDialog]:
    def made(session: Session, parent: QWidget) -> NodeDialog:
        session.nodes.begin(act, "/")
        return NodeDialog(session.nodes, parent)

    return made


DIALOGS: dict[str, Callable[[Session, QWidget], QDialog]] = {
    "export": ExportDialog,
    "credentials": lambda _, parent: CredentialsDialog(
        CredentialsQuestion("T", "S", "N", FIELDS, "Go", "", ""), parent
    ),
    "close": lambda _, parent: CloseQuestion(Closing("T", "S", "-a\n+b", "Save", True, False), parent),
    "jobs": lambda _, parent: JobsQuestion("Stop?", parent),
    "view": lambda _, parent: ViewDialog(parent),
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


@pytest.mark.parametrize("name", DIALOGS)
def test_return_means_the_same_after_every_button_had_the_focus(
    qtbot: Any, opened: tuple[QWidget, Session], name: str
) -> None:
    """With Tab from *Cancel* on to the first field, Return in that field cancelled the dialog."""
    window, session = opened
    dialog = DIALOGS[name](session, window)
    dialog.open()
    try:
        qtbot.waitUntil(lambda: dialog.isVisible() and not session.nodes.state.planning, timeout=60_000)
        field = next((each for each in dialog.findChildren(QLineEdit) if each.isVisibleTo(dialog)), None)
        if field is None:
            return
        field.setFocus()
        qtbot.waitUntil(field.hasFocus, timeout=60_000)
        buttons = dialog.findChildren(QPushButton)
        before = [each for each in buttons if each.isDefault()]
        for button in buttons:
            button.setFocus(Qt.FocusReason.TabFocusReason)
            field.setFocus(Qt.FocusReason.TabFocusReason)
            assert [each for each in buttons if each.isDefault()] == before, button.text()
    finally:
        dialog.reject()


def test_a_profile_that_is_typed_replaces_the_denied_one(qtbot: Any, opened: tuple[QWidget, Session]) -> None:
    window, _ = opened
    profile = CredentialsField("profile", "Profile", "lab", "A profile of ~/.aws", ("lab", "other"))
    dialog = CredentialsDialog(CredentialsQuestion("T", "S", "N", (profile, *FIELDS[1:]), "Go", "", ""), window)
    dialog.open()
    try:
        qtbot.waitUntil(lambda: dialog.isActiveWindow(), timeout=60_000)
        assert dialog.focusWidget() is dialog.inputs["profile"]
        line = dialog.findChildren(QLineEdit)[0]
        assert line.selectedText() == "lab"
        qtbot.keyClicks(line, "other")
        assert dialog.values["profile"] == "other"
    finally:
        dialog.reject()


def test_no_form_of_an_action_has_a_scroll_bar(qtbot: Any, opened: tuple[QWidget, Session]) -> None:
    """Forms whose fields have no hints opened too low. The area that scrolls took the focus before the first field."""
    window, session = opened
    for act in ACTS:
        dialog = plan_of(act)(session, window)
        dialog.open()
        try:
            (scroll,) = dialog.findChildren(QScrollArea)
            assert scroll.focusPolicy() is Qt.FocusPolicy.NoFocus
            qtbot.waitUntil(lambda: not session.nodes.state.planning, timeout=60_000)
            seen = partial(fits_with_its_plan, dialog, scroll, bool(session.nodes.state.lines))
            qtbot.waitUntil(seen, timeout=60_000)
        finally:
            dialog.reject()


def test_a_submenu_without_an_icon_shows_no_question_mark(opened: tuple[Any, Session]) -> None:
    """*Bookmarks* and *Other versions* had the sign of an unknown node."""
    window, _ = opened
    assert window.menus.menus["bookmarks"].icon().isNull()
    assert not window.menus.menus["open-recent"].icon().isNull()


def fits_with_its_plan(dialog: NodeDialog, scroll: QScrollArea, planned: bool) -> bool:
    """Whether nothing has to be scrolled, and the field for the plan is visible only if there is one."""
    bar = scroll.verticalScrollBar()
    return bar is not None and bar.maximum() == 0 and dialog.plan.isVisible() == planned


def test_the_form_of_an_array_says_a_hint_once_and_return_leads_to_its_field(
    qtbot: Any, opened: tuple[QWidget, Session]
) -> None:
    window, session = opened
    dialog = plan_of("create-array")(session, window)
    dialog.open()
    try:
        shape = dialog.rows["shape"]
        qtbot.waitUntil(lambda: session.nodes.state.at_fault == "shape" and bool(shape.hint.text()), timeout=60_000)
        qtbot.waitUntil(lambda: dialog.sentence.isHidden(), timeout=60_000)
        qtbot.keyClick(dialog, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: bool(session.nodes.state.field("shape").error), timeout=60_000)
        assert dialog.focusWidget() is shape.editor
        assert dialog.isVisible(), "nothing was carried out"
    finally:
        dialog.reject()


def test_a_text_that_is_no_view_cannot_be_opened(qtbot: Any, opened: tuple[QWidget, Session]) -> None:
    window, _ = opened
    dialog = ViewDialog(window)
    dialog.open()
    try:
        (confirm,) = [each for each in dialog.findChildren(QPushButton) if each.isDefault()]
        for text, may in (("", False), ("cells", False), ("zarrscope:eNo", True)):
            dialog.text.setText(text)
            assert confirm.isEnabled() == may
    finally:
        dialog.reject()


def test_every_dialog_is_visited() -> None:
    for found in pkgutil.iter_modules(zarrscope_app.qt.__path__):
        importlib.import_module(f"zarrscope_app.qt.{found.name}")
    own = {
        each.__name__
        for each in (*QDialog.__subclasses__(), *QMessageBox.__subclasses__())
        if each.__module__.startswith("zarrscope_app.qt")
    }
    assert own == {"CloseQuestion", "CredentialsDialog", "ExportDialog", "JobsQuestion", "NodeDialog", "ViewDialog"}
