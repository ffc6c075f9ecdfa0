"""What the selected node can be asked for: its address on the clipboard, its folder, another name or place, an end.

Moving, copying and deleting show their plan first, in a dialog; renaming happens in the tree.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from qtpy.QtCore import Qt, QUrl
from qtpy.QtGui import QDesktopServices, QGuiApplication
from qtpy.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters.commands import LABELS, NODE_COMMANDS, python_text
from zarrscope_app.presenters.tree.node_changes import NodesPresenter

from .credentials import ask_credentials
from .menus import Menus
from .text import Label
from .theme import fixed_font
from .tree import TreePane


class PlanDialog(QDialog):
    """The plan of one act on one node; the new place is typed where the act has one."""

    def __init__(self, presenter: NodesPresenter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter = presenter
        state = presenter.state
        self.setWindowTitle(state.title)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.place = QLineEdit(state.to)
        self.place.setAccessibleName(LABELS["new-place"])
        self.place.setVisible(state.act != "remove")
        self.place.textEdited.connect(presenter.set_target)
        start = state.to.rfind("/") + 1
        self.place.setSelection(start, len(state.to) - start)
        self.sentence = Label()
        self.sentence.setWordWrap(True)
        self.plan = QPlainTextEdit()
        self.plan.setReadOnly(True)
        self.plan.setFont(fixed_font())
        self.plan.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.plan.setAccessibleName(LABELS["plan"])
        buttons = QDialogButtonBox()
        danger = state.act == "remove"
        role = QDialogButtonBox.ButtonRole.DestructiveRole if danger else QDialogButtonBox.ButtonRole.AcceptRole
        act, cancel = buttons.addButton(state.label, role), buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        assert act is not None
        assert cancel is not None
        cancel.setText(strings.CANCEL)
        act.setAutoDefault(not danger)
        act.setDefault(not danger)
        cancel.setDefault(danger)
        act.clicked.connect(self._carry_out)
        cancel.clicked.connect(self.reject)
        self.act = act
        column = QVBoxLayout(self)
        for widget in (self.place, self.sentence, self.plan, buttons):
            column.addWidget(widget)
        self.resize(640, 360)
        presenter.changed.connect(self._changed)
        self.finished.connect(self._left)
        self._changed()

    def _changed(self) -> None:
        state = self._presenter.state
        self.sentence.setText(state.sentence)
        text = "\n".join(state.lines)
        if text != self.plan.toPlainText():
            self.plan.setPlainText(text)
        self.act.setEnabled(state.ready)

    def _carry_out(self) -> None:
        self._presenter.carry_out()
        self.accept()

    def _left(self) -> None:
        self._presenter.changed.disconnect(self._changed)
        self._presenter.cancel()


class NodeActions:
    """The commands of the Node menu that are the desktop's to do, on `session()`'s selected node."""

    def __init__(self, tree: TreePane, menus: Menus, session: Callable[[], Session | None], parent: QWidget) -> None:
        self._tree, self._menus, self._session, self._parent = tree, menus, session, parent
        self.dialog: PlanDialog | None = None
        tree.view.customContextMenuRequested.connect(self._menu)
        tree.renamed.connect(self._rename)
        tree.selected.connect(self._select_several)

    def run(self, id: str) -> bool:
        """Does the command; False: it is none of these."""
        acts: dict[str, Callable[[Session], object]] = {
            "copy-path": lambda session: _to_clipboard(session.state.address),
            "copy-python": lambda session: _to_clipboard(
                python_text(session.url, session.state.path, session.follows_links, session.missing_is_fill)
            ),
            "credentials": lambda session: ask_credentials(session, self._parent),
            "reveal": _reveal,
            "rename-node": lambda session: self._tree.edit_name(session.state.path),
        }
        session = self._session()
        if id in NODE_COMMANDS and id not in acts:
            acts[id] = lambda session: self._plan(session, NODE_COMMANDS[id])
        if id in acts and session is not None:
            acts[id](session)
        return id in acts

    def enable(self, session: Session | None) -> None:
        """Offers what may be done to the selected node."""
        offered = session is not None and session.nodes.may_change(session.state.path)
        self._menus.enable(tuple(NODE_COMMANDS), offered)
        self._tree.editable = session.nodes.may_change if session is not None else None

    def _select_several(self, paths: list[str]) -> None:
        session = self._session()
        if session is not None:  # after what is told of the node under the keyboard
            session.owner.post(lambda: session.select_several(paths))

    def show_several(self) -> None:
        """Shows in the tree which nodes are edited together."""
        session = self._session()
        if session is not None:
            self._tree.show_several(session.edit.several)

    def _plan(self, session: Session, act: Any) -> None:
        session.nodes.begin(act, session.state.path)
        self.dialog = PlanDialog(session.nodes, self._parent)
        self.dialog.open()

    def _rename(self, path: str, name: str) -> None:
        session = self._session()
        if session is not None:
            session.nodes.rename(path, name)

    def _menu(self, at: Any) -> None:
        viewport = self._tree.view.viewport()
        if viewport is not None and self._tree.current_row() is not None:
            self._menus.menus["node"].popup(viewport.mapToGlobal(at))


def _to_clipboard(text: str) -> None:
    clipboard = QGuiApplication.clipboard()
    if clipboard is not None:
        clipboard.setText(text)


def _reveal(session: Session) -> None:
    place = QUrl.fromUserInput(session.state.url)
    if place.isLocalFile():
        folder = place.toLocalFile()
        node = os.path.join(folder, session.state.path.strip("/"))
        found = next((path for path in (node, folder) if os.path.isdir(path)), os.path.dirname(folder))
        QDesktopServices.openUrl(QUrl.fromLocalFile(found))
