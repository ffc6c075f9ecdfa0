"""Commands on the selected node: copy its address, open its folder or a terminal there, rename, move or delete it.

Every change of nodes first shows its form and its plan in a dialog (node_form.py); only renaming happens in the tree.
"""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import Session
from zarrscope_app.presenters.commands import NODE_COMMANDS, command, python_text
from zarrscope_app.presenters.session.actions import can_undo, job_labels, perform
from zarrscope_app.qt.toolkit.core import QPoint
from zarrscope_app.qt.toolkit.gui import QGuiApplication
from zarrscope_app.qt.toolkit.widgets import QWidget

from .credentials import ask_credentials
from .menus import Menus
from .node_form import NodeDialog
from .open_in import open_terminal, reveal
from .selected_together import SelectedTogether
from .text import literal
from .tree import TreePane


class NodeActions:
    """The commands of the Node menu that only the desktop can carry out, on the selected node of `session()`."""

    def __init__(
        self,
        tree: TreePane,
        menus: Menus,
        session: Callable[[], Session | None],
        parent: QWidget,
        say: Callable[[str], object],
    ) -> None:
        """`say(sentence)` shows the result of a command."""
        self._tree, self._menus, self._session, self._parent, self._say = tree, menus, session, parent, say
        self.dialog: NodeDialog | None = None
        self.together = SelectedTogether(tree, session)
        tree.view.customContextMenuRequested.connect(self._menu)
        tree.renamed.connect(self._rename)
        tree.asked.connect(self.run)
        menus.menus["node"].aboutToShow.connect(self._name_jobs)

    def run(self, id: str) -> bool:
        """Carries out the command `id`; returns False if it is no command of this class."""
        acts: dict[str, Callable[[Session], object]] = {
            "copy-path": lambda session: _to_clipboard(session.state.address),
            "copy-commands": lambda session: _to_clipboard(session.edit.command_text(session.url)),
            "copy-python": lambda session: _to_clipboard(
                python_text(session.url, session.state.path, session.follows_links, session.missing_is_fill)
            ),
            "credentials": lambda session: ask_credentials(session, self._parent),
            "reveal": reveal,
            "terminal": lambda session: open_terminal(session, self._say),
            "rename-node": lambda session: self._tree.edit_name(session.state.path),
        }
        session = self._session()
        if id in NODE_COMMANDS and id not in acts:
            acts[id] = lambda session: self._plan(session, NODE_COMMANDS[id])
        if id in acts and session is not None:
            acts[id](session)
        return id in acts

    def enable(self, session: Session | None) -> None:
        """Enables the commands that are possible for the selected node."""
        path = session.state.path if session is not None else ""
        for id, act in NODE_COMMANDS.items():
            self._menus.enable((id,), session is not None and session.nodes.may(act, path))
        undo = session.nodes.undo_label if session is not None else ""
        self._menus.enable(("undo-node",), bool(undo))
        self._menus.enable(("undo",), session is not None and can_undo(session))
        self._menus.actions["undo-node"].setText(literal(undo or command("undo-node").label))
        self._tree.editable = session.nodes.may_change if session is not None else None

    def _name_jobs(self) -> None:
        """Has the menu say what checking and comparing would do now: begin, stop or go on."""
        session = self._session()
        for id, label in job_labels(session).items() if session is not None else ():
            self._menus.actions[id].setText(literal(label))

    def _plan(self, session: Session, act: str) -> None:
        session.nodes.begin(act, session.state.path)
        if session.nodes.state.act:  # otherwise the hierarchy is not open yet
            self.dialog = NodeDialog(session.nodes, self._parent)
            self.dialog.open()

    def mend(self, path: str, id: str) -> None:
        """Goes to a node and runs the command that corrects its problem."""
        session = self._session()
        if session is not None:
            session.select(path or "/")
            if id in NODE_COMMANDS:
                self._plan(session, NODE_COMMANDS[id])
            else:
                perform(session, id)

    def _rename(self, path: str, name: str) -> None:
        session = self._session()
        if session is not None:
            session.nodes.rename(path, name)

    def _menu(self, at: QPoint) -> None:
        viewport = self._tree.view.viewport()
        if viewport is not None and self._tree.current_row() is not None:
            self._menus.menus["node"].popup(viewport.mapToGlobal(at))


def _to_clipboard(text: str) -> None:
    clipboard = QGuiApplication.clipboard()
    if clipboard is not None:
        clipboard.setText(text)
