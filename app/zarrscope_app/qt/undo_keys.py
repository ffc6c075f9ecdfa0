"""Decides whether an undo key applies to the text that is being typed or to the document.

Qt's text editors accept the keys of undo and redo even if they have nothing to undo, so the window's commands would
never receive them.
"""

from __future__ import annotations

from zarrscope_app.presenters.commands import command
from zarrscope_app.qt.toolkit.core import QEvent, QObject
from zarrscope_app.qt.toolkit.gui import QKeyEvent, QKeySequence
from zarrscope_app.qt.toolkit.widgets import QComboBox, QLineEdit, QPlainTextEdit, QWidget


class UndoKeys(QObject):
    """An event filter for the editors of a form (`watch`): after a typed text was applied, the keys of undo and redo
    act on the document, not on the editor."""

    def watch(self, editor: QWidget) -> None:
        """Passes the keys of undo and redo to the window while no text is being typed into `editor`."""
        editor.installEventFilter(self)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Answers for the editor when Qt asks it, by a ShortcutOverride event, whether it wants an undo or redo key."""
        if not isinstance(event, QKeyEvent) or not isinstance(watched, QWidget):
            return False
        if event.type() != QEvent.Type.KeyRelease and _is_the_documents(watched, event):
            event.ignore()
            return True
        return False


def _is_the_documents(editor: QWidget, event: QKeyEvent) -> bool:
    pressed = QKeySequence(event.keyCombination())
    undo = _means(event, pressed, QKeySequence.StandardKey.Undo, "undo")
    if not undo and not _means(event, pressed, QKeySequence.StandardKey.Redo, "redo"):
        return False
    line = editor.lineEdit() if isinstance(editor, QComboBox) else editor
    if isinstance(line, QLineEdit):
        own = line.isModified() and line.isUndoAvailable() if undo else line.isRedoAvailable()
    elif isinstance(line, QPlainTextEdit) and (document := line.document()) is not None:
        own = document.isModified() and document.isUndoAvailable() if undo else document.isRedoAvailable()
    else:
        return False
    return not own


def _means(event: QKeyEvent, pressed: QKeySequence, standard: QKeySequence.StandardKey, id: str) -> bool:
    return event.matches(standard) or any(pressed == QKeySequence(keys) for keys in command(id).keys)
