"""A robot for the Qt window, also used for napari's dock: sends keys and clicks, and reads the widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy import QtTest
from qtpy.QtCore import QModelIndex, QPoint, QPointF, Qt
from qtpy.QtGui import QContextMenuEvent, QImage, QMouseEvent
from qtpy.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTextBrowser,
    QTreeWidget,
)

from contracts.journeys import SECONDS, Robot
from narrowing import not_none
from zarrscope_app.presenters import EditStatus, MemorySettings, Session, SlicePresenter, TileState
from zarrscope_app.presenters.commands import command
from zarrscope_app.presenters.session.actions import can_undo
from zarrscope_app.qt.export_dialog import ExportDialog
from zarrscope_app.qt.node_form import NodeDialog
from zarrscope_app.qt.window import Window

QTest: Any = QtTest.QTest  # PyQt6 declares its static functions as methods


def shown_window(qtbot: Any) -> Window:
    """A window in front that stores no settings. At the end of the test it is closed with its unsaved edits."""
    window = Window(MemorySettings())
    qtbot.addWidget(window, before_close_func=lambda _: window.workspace.close_all())
    window.show()
    # Shortcuts work in the active window only; without a window manager it must be activated.
    window.activateWindow()
    qtbot.waitActive(window, timeout=int(SECONDS * 1000))
    return window


def window_on(qtbot: Any, url: str, *, writable: bool = False) -> tuple[Window, Session]:
    """A window as `shown_window` gives it, and its session of `url`."""
    window = shown_window(qtbot)
    window.open(url, writable)
    session = window.workspace.current
    assert session is not None
    return window, session


class QtRobot(Robot):
    def __init__(self, qtbot: Any) -> None:
        self.qtbot = qtbot
        self.window = shown_window(qtbot)

    def open(self, url: str, *, writable: bool = False) -> None:
        self.window.open(url, writable)
        session = self.window.workspace.current
        assert session is not None
        self.session = session
        self.wait(lambda: self.window.tree.model is not None, "the tree")

    def close(self) -> None:
        self._close_sessions()
        self.window.close()

    def _close_sessions(self) -> None:
        """Closes all sessions first, because unsaved texts would open a question, which has a test of its own."""
        for session in self.window.workspace.sessions:
            self.window.workspace.close(session)

    def wait(self, happened: Callable[[], bool], what: str = "") -> None:
        try:
            self.qtbot.waitUntil(happened, timeout=int(SECONDS * 1000))
        except Exception:
            pytest.fail(f"This did not happen: {what}")

    # -------------------------------------------------- tree
    def _shown(self) -> Iterator[tuple[QModelIndex, int]]:
        """Every expanded row of the tree with its depth."""
        view = self.window.tree.view
        index = self.window.tree.model.index(0, 0) if self.window.tree.model else QModelIndex()
        while index.isValid():
            depth, above = 0, index.parent()
            while above.isValid():
                depth, above = depth + 1, above.parent()
            yield index, depth
            index = view.indexBelow(index)

    def _index(self, path: str) -> QModelIndex:
        # The presenter lists a row one pass of the event loop before the view shows it.
        self.wait(lambda: self._find(path).isValid(), f"{path} in the tree")
        return self._find(path)

    def _find(self, path: str) -> QModelIndex:
        model = self.window.tree.model
        assert model is not None
        for index, _ in self._shown():
            row = model.row_of(index)
            if row is not None and row.path == path:
                return index
        return QModelIndex()

    def _click(self, index: QModelIndex) -> None:
        view = self.window.tree.view
        view.scrollTo(index)
        rect = view.visualRect(index)
        # On the text, because the icon and the branch are left of it.
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(rect.left() + 26, rect.center().y()))

    def rows(self) -> list[str]:
        model = self.window.tree.model
        assert model is not None
        return [index.data() for index, depth in self._shown() if depth and not model.is_note(index)]

    def expand(self, path: str) -> None:
        view = self.window.tree.view
        index = self._index(path)
        if not view.isExpanded(index):
            # The branch sign, one indentation left of the row.
            rect = view.visualRect(index)
            at = QPoint(rect.left() - view.indentation() // 2, rect.center().y())
            QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert view.isExpanded(self._index(path))

    def select(self, path: str) -> None:
        self._click(self._index(path))

    def _note(self, path: str) -> QModelIndex:
        """The sentence beneath a row."""
        self.wait(lambda: self._last(path).isValid(), f"a sentence beneath {path}")
        return self._last(path)

    def _last(self, path: str) -> QModelIndex:
        model, index = self.window.tree.model, self._find(path)
        assert model is not None
        last = model.index(model.rowCount(index) - 1, 0, index)
        return last if model.is_note(last) else QModelIndex()

    def cancel(self, path: str) -> None:
        self._click(self._note(path))

    def retry_row(self, path: str) -> None:
        self._click(self._note(path))

    def type_name(self, text: str) -> None:
        field = self.window.tree.filter
        field.setFocus()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def show_info(self) -> None:
        window = self.window
        window.tabs.setCurrentWidget(window.info)
        self.wait(lambda: window.info.text.isVisible(), "the pane")
        window.info.documents.setChecked(True)

    def take(self, offer: str) -> None:
        def buttons() -> list[QPushButton]:
            found = self.window.findChildren(QPushButton)
            return [button for button in found if button.text() == command(offer).label and button.isVisible()]

        self.wait(lambda: bool(buttons()), f"the button of {offer}")
        QTest.mouseClick(buttons()[0], Qt.MouseButton.LeftButton)

    # -------------------------------------------------- picture
    def slide(self, axis: str, indices: Sequence[int]) -> None:
        slider = self.window.image.sliders.slider(axis)
        assert slider is not None
        for index in indices:
            slider.setValue(index)
            QApplication.processEvents()

    def picture(self) -> np.ndarray:
        image = self.window.image.canvas.grab().toImage().convertToFormat(QImage.Format.Format_RGB888)
        bits = image.constBits()
        data: Any = bits.asarray(image.sizeInBytes()) if hasattr(bits, "asarray") else bits  # a memoryview in PySide6
        flat: np.ndarray = np.frombuffer(data, dtype=np.uint8).reshape(image.height(), image.bytesPerLine())
        # A copy, because the memory belongs to the image, which is freed after this call.
        return flat[:, : image.width() * 3].reshape(image.height(), image.width(), 3).copy()

    def _at(self, y: float, x: float) -> QPoint:
        return self.window.image.canvas.to_widget((y, x, y, x)).topLeft().toPoint()

    def hover(self, y: float, x: float) -> None:
        canvas = self.window.image.canvas
        at = self._at(y, x)
        none = Qt.MouseButton.NoButton
        event = QMouseEvent(
            QMouseEvent.Type.MouseMove,
            QPointF(at),
            QPointF(canvas.mapToGlobal(at)),
            none,
            none,
            Qt.KeyboardModifier.NoModifier,
        )
        # QTest.mouseMove goes by way of the desktop's cursor, which other windows share.
        QApplication.sendEvent(canvas, event)

    def retry_picture(self) -> None:
        failed = next(tile for tile in self.session.slice.frame.tiles if tile.state is TileState.FAILED)
        y0, x0, y1, x1 = failed.rect
        canvas = self.window.image.canvas
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=self._at((y0 + y1) / 2, (x0 + x1) / 2))

    # -------------------------------------------------- form
    def edit(self, pointer: str, text: str) -> None:
        form = self.window.form
        self.wait(lambda: form.model.place_of(pointer) is not None, f"{pointer} in the form")
        place = form.model.place_of(pointer)
        assert place is not None
        index = form.model.at(place, 1)
        form.view.setCurrentIndex(index)
        form.view.edit(index)
        editor = not_none(form.view.viewport()).findChild(QLineEdit)
        assert editor is not None, f"{pointer} cannot be edited"
        editor.selectAll()
        QTest.keyClicks(editor, text)
        QTest.keyClick(editor, Qt.Key.Key_Return)

    def write_text(self, text: str) -> None:
        editor = self.window.form.json.text
        self.wait(editor.isVisible, "the editor of the text")
        editor.setFocus()
        editor.selectAll()
        editor.insertPlainText(text)
        self.window.form.json.commit()

    def _field_at(self, pointer: str, column: int) -> QModelIndex:
        form = self.window.form
        self.wait(lambda: form.model.place_of(pointer) is not None, f"{pointer} in the form")
        place = form.model.place_of(pointer)
        assert place is not None
        index = form.model.at(place, column)
        form.view.setCurrentIndex(index)
        form.view.scrollTo(index)
        return index

    def offers_of(self, pointer: str) -> set[str]:
        view, found = self.window.form.view, set()
        if self._field_at(pointer, 0).flags() & Qt.ItemFlag.ItemIsEditable:
            found.add("rename")
        index = self._field_at(pointer, 2)
        found.add(index.data())
        if index.flags() & Qt.ItemFlag.ItemIsEditable:
            view.edit(index)
            box = not_none(view.viewport()).findChild(QComboBox)
            found |= {box.itemText(i) for i in range(box.count())}
            QTest.keyClick(box, Qt.Key.Key_Escape)
            self.wait(lambda: not_none(view.viewport()).findChild(QComboBox) is None, "the list of kinds to close")
        if self.window.form._buttons["remove"].isEnabled():
            found.add("remove")
        return found

    def try_field(self, pointer: str, act: str, text: str = "") -> None:
        form = self.window.form
        index = self._field_at(pointer, {"rename": 0, "retype": 2}.get(act, 1))
        if act == "remove":
            form.remove()
        elif index.flags() & Qt.ItemFlag.ItemIsEditable:
            form.view.edit(index)
            editor = not_none(form.view.viewport()).findChild(QLineEdit)
            assert editor is not None
            editor.selectAll()
            QTest.keyClicks(editor, text)
            QTest.keyClick(editor, Qt.Key.Key_Return)
        else:  # as a model would that accepts it
            form.model.setData(index, text)
        QApplication.processEvents()

    def save(self) -> None:
        leads_to_form = (EditStatus.INVALID, EditStatus.CONFLICT)
        status = self.session.edit.brief.status
        self._ctrl("save", Qt.Key.Key_S, lambda: self.window.form.can_save or status in leads_to_form)

    def undo(self) -> None:
        self._ctrl("undo", Qt.Key.Key_Z, lambda: can_undo(self.session))

    def _ctrl(self, id: str, key: Qt.Key, possible: Callable[[], bool]) -> None:
        """Presses Ctrl and `key` when the menu entry `id` has followed the last change, which takes a few passes of the
        event loop: the key of a disabled entry has no effect."""
        action = self.window.menus.actions[id]
        QApplication.processEvents()
        self.wait(lambda: action.isEnabled() == possible(), f"the menu to follow the change: {id}")
        QTest.keyClick(self.window, key, Qt.KeyboardModifier.ControlModifier)

    def review(self) -> str:
        action = self.window.menus.actions["review"]
        self.wait(action.isEnabled, "the menu to follow the change")
        action.trigger()
        return str(self.window.form.diff.text.toPlainText())

    def resolve(self, whose: str) -> None:
        buttons = self.window.form.conflict.findChildren(QAbstractButton)
        wanted = {"mine": "Keep mine", "theirs": "Take theirs"}[whose]
        self.qtbot.mouseClick(next(b for b in buttons if b.text() == wanted), Qt.MouseButton.LeftButton)

    # -------------------------------------------------- actions
    def choose_in_menu(self, command: str) -> None:
        """Opens the context menu of the selected row, and clicks the entry of a command."""
        view, menu = self.window.tree.view, self.window.menus.menus["node"]
        action, path = self.window.menus.actions[command], self.session.state.path
        self.wait(action.isEnabled, f"{command} on {path}")
        viewport = not_none(view.viewport())
        at = view.visualRect(self._index(path)).center()
        asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, viewport.mapToGlobal(at))
        QApplication.sendEvent(viewport, asked)
        self.wait(menu.isVisible, "the menu")
        QTest.mouseClick(menu, Qt.MouseButton.LeftButton, pos=menu.actionGeometry(action).center())
        self.wait(lambda: not menu.isVisible(), "the menu closed")

    def fill_in(self, texts: Mapping[str, str]) -> NodeDialog:
        """Returns the open dialog of an action with these fields filled in, when its plan is ready."""
        dialog = self.window.nodes.dialog
        assert dialog is not None
        self.wait(lambda: set(texts) <= set(dialog.rows), "the fields")
        for id, text in texts.items():
            editor = dialog.rows[id].editor
            if isinstance(editor, QComboBox):
                editor.setFocus()
                editor.setCurrentIndex(editor.findData(text))
                editor.activated.emit(editor.currentIndex())
                continue
            assert isinstance(editor, QLineEdit)
            editor.selectAll()
            QTest.keyClicks(editor, text)
        planned = dialog._presenter

        def done() -> bool:
            given = {field.id: field.text for field in planned.state.fields}
            return dialog.act.isEnabled() and not planned.state.planning and texts.items() <= given.items()

        self.wait(done, "the plan of what was typed")
        assert dialog.sentence.text()
        return dialog

    def act(self, command: str, **fields: str) -> None:
        self.choose_in_menu(command)
        QTest.mouseClick(self.fill_in(fields).act, Qt.MouseButton.LeftButton)

    def rename(self, name: str) -> None:
        """Types the name in the tree."""
        self.choose_in_menu("rename-node")
        view = self.window.tree.view
        self.wait(lambda: bool(view.findChildren(QLineEdit)), "a field over the name")
        field = view.findChildren(QLineEdit)[0]
        field.selectAll()
        QTest.keyClicks(field, name)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def undo_act(self) -> None:
        undo = self.window.jobs_bar.undo
        self.wait(undo.isVisible, "the button")
        QTest.mouseClick(undo, Qt.MouseButton.LeftButton)

    def export(self, target: Path) -> None:
        self.window.menus.actions["export"].trigger()
        dialogs = self.window.findChildren(ExportDialog)
        assert len(dialogs) == 1
        dialog = dialogs[0]
        self.wait(dialog.isVisible, "the dialog")
        state = self.session.export
        for box, chosen in ((dialog.what, "node"), (dialog.format, "npy")):
            self.wait(partial(_offers, box, chosen), chosen)
            box.setCurrentIndex(box.findData(chosen))
            box.activated.emit(box.currentIndex())
            self.wait(partial(lambda chosen: chosen in (state.state.what, state.state.format), chosen), chosen)
        self.wait(lambda: dialog.format.currentData() == "npy" and state.state.ready, "the proposed file")
        dialog.target.selectAll()
        QTest.keyClicks(dialog.target, str(target))
        dialog.target.editingFinished.emit()  # as when the line loses the focus, which only an active dialog has
        self.wait(lambda: state.state.target == str(target) and state.state.ready and dialog.go.isEnabled(), "its size")
        QTest.mouseClick(dialog.go, Qt.MouseButton.LeftButton)

    def check(self) -> None:
        self._show_tab("problems")
        problems = self.window.problems
        self.wait(lambda: problems.check.isVisible() and problems.check.isEnabled(), "the button")
        QTest.mouseClick(problems.check, Qt.MouseButton.LeftButton)

    def _show_tab(self, id: str) -> None:
        """Clicks the tab of a view."""
        tabs = self.window.tabs
        bar = not_none(tabs.tabBar())
        QTest.mouseClick(bar, Qt.MouseButton.LeftButton, pos=bar.tabRect(tabs.indexOf(tabs.pages[id])).center())

    def choose_cell(self, path: str) -> None:
        grid = self.window.overview.grid
        self.wait(lambda: any(cell.path == path for cell in grid._cells.values()), f"{path} in the overview")
        cell = next(cell for cell in grid._cells.values() if cell.path == path)
        QTest.mouseClick(grid, Qt.MouseButton.LeftButton, pos=grid.place_of(cell.row, cell.column).center())

    def next_image(self) -> None:
        action = self.window.menus.actions["next-image"]
        self.wait(action.isEnabled, "the command")
        QTest.keyClick(self.window, Qt.Key.Key_F8)

    # -------------------------------------------------- words
    def sees(self, text: str) -> bool:
        return any(text in shown for shown in self._texts())

    def _texts(self) -> Iterator[str]:
        window = self.window
        yield window.windowTitle()
        for kind in (QLabel, QLineEdit, QAbstractButton):
            words: Any
            for words in window.findChildren(kind):
                yield words.text()
                yield words.toolTip()
        image = getattr(window, "image", None)  # the dock shows no pictures, napari does
        for row in image.sliders._rows.values() if image is not None else ():
            yield f"{row.index.text()} {row.end.text()}"
        for widget in window.findChildren(QTextBrowser) + window.findChildren(QPlainTextEdit):
            yield widget.toPlainText()
        for tree in window.findChildren(QTreeWidget):
            yield from (not_none(tree.topLevelItem(row)).text(0) for row in range(tree.topLevelItemCount()))
        for index, _ in self._shown():
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                for column in (0, 1):
                    yield str(index.siblingAtColumn(column).data(role) or "")
        for place in range(window.form.model.size):
            for column in range(3):
                yield str(window.form.model.at(place, column).data() or "")


def _offers(box: QComboBox, chosen: str) -> bool:
    """Whether a list offers an entry of this id."""
    return box.findData(chosen) >= 0


def wait_for_picture(robot: QtRobot, view: SlicePresenter, expected: np.ndarray) -> None:
    """Waits until a view shows these values: (y, x, 3), or (y, x) for the first colour. The rest of the view must be
    empty."""

    def shown() -> bool:
        tiles = view.frame.tiles
        if not tiles or not view._is_whole() or view.frame.shape != expected.shape[:2]:
            return False
        found = np.zeros((*expected.shape[:2], 3))
        for tile in tiles:
            y0, x0, y1, x1 = (round(edge) for edge in tile.rect)
            if tile.rgb is None or tile.rgb.shape[:2] != (y1 - y0, x1 - x0):
                return False
            found[y0:y1, x0:x1] = tile.rgb
        return np.array_equal(found if expected.ndim == 3 else found[..., 0], expected)

    robot.wait(shown, "the picture")


def luminance(colour: Any) -> float:
    """The relative luminance of a QColor, WCAG 2.1."""
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def contrast(one: Any, other: Any) -> float:
    """The contrast of two QColors, WCAG 2.1: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
