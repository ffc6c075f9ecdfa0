"""The address line: a row of buttons for the path, which becomes editable text, and the facts about the hierarchy
beside it."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import SessionState
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.session.opening import is_address
from zarrscope_app.qt.toolkit.core import QEvent, QObject, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QDropEvent, QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent
from zarrscope_app.qt.toolkit.widgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QWidget,
)

from .text import FactsLabel, IconLabel, literal, tip
from .theme import Role, icon


def dropped_places(event: QDropEvent | None) -> list[str]:
    """The paths and addresses in the data of a drag: files, links, or lines of text that look like one."""
    data = event.mimeData() if event is not None else None
    if data is None:
        return []
    places = [url.toLocalFile() or url.toString() for url in data.urls()]
    places = places or [line for line in data.text().splitlines() if is_address(line)]
    return [place.strip() for place in places if place.strip()]


def take_drag(event: QDropEvent) -> None:
    """Accepts a drag, but never to move what it carries: the program that offers a move deletes what was taken."""
    offered = event.possibleActions()
    kept = (action for action in (Qt.DropAction.CopyAction, Qt.DropAction.LinkAction) if action & offered)
    event.setDropAction(next(kept, Qt.DropAction.IgnoreAction))
    event.accept()


class AddressLine(QWidget):
    """The address of the displayed hierarchy: a person can read it, click its parts, or type another address.

    `entered(text)`: an address was typed; `went(path)`: a part of the path was clicked; `asked(command)`: back,
    forward, or a step in a collection.
    """

    entered = Signal(str)
    went = Signal(str)
    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._address = ""
        self._crumbs: tuple[tuple[str, str], ...] = ()
        self._parts: list[QWidget] = []
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 4, 8, 4)
        row.setSpacing(4)
        for name in ("back", "forward"):
            button = QToolButton()
            button.setAutoRaise(True)
            button.setIcon(icon(name))
            button.setToolTip(command(name).label)
            button.setAccessibleName(command(name).label)
            button.clicked.connect(lambda _=False, name=name: self.asked.emit(name))
            row.addWidget(button)
        self._trail = _Trail()
        self._trail.pressed.connect(self.edit)
        self.line = QLineEdit()
        self.line.setAccessibleName(LABELS["address"])
        self.line.setPlaceholderText(LABELS["open-url-title"])
        self.line.returnPressed.connect(self._enter)
        self.line.installEventFilter(self)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._trail)
        self._stack.addWidget(self.line)
        self._stack.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._stack.setFixedHeight(self.line.sizeHint().height() + 4)
        row.addWidget(self._stack, 1)
        self.steps = {"previous-image": QToolButton(), "next-image": QToolButton()}
        """The buttons that step through a plate, a well or a series, while such a node is displayed."""
        for name, button in self.steps.items():
            found = command(name)
            button.setArrowType(Qt.ArrowType.RightArrow if name == "next-image" else Qt.ArrowType.LeftArrow)
            button.setToolTip(tip(f"{found.label} ({found.keys[0]})"))
            button.setAccessibleName(found.label)
            button.clicked.connect(lambda _=False, name=name: self.asked.emit(name))
            button.hide()
            row.addWidget(button)
        self.facts = FactsLabel()
        self.facts.setContentsMargins(8, 0, 0, 0)
        row.addWidget(self.facts)
        self.show_place(None)

    def show_place(self, state: SessionState | None) -> None:
        """Shows the address of a session; None: an empty line, ready for typing."""
        self._address = state.address if state is not None else ""
        self.facts.setText(state.facts if state is not None else "")
        self._share_width()
        crumbs = state.crumbs if state is not None else ()
        if crumbs != self._crumbs:
            self._crumbs = crumbs
            self._trail.show_crumbs(crumbs, self.went.emit)
        if state is None:
            self.line.clear()
            self._stack.setCurrentWidget(self.line)
        elif not self.line.hasFocus():
            self._stack.setCurrentWidget(self._trail)

    def show_neighbours(self, neighbours: tuple[bool, bool] | None) -> None:
        """Shows whether one can step back and on through a collection; None: the node is in none."""
        for button, leads in zip(self.steps.values(), neighbours or (False, False), strict=True):
            button.setVisible(neighbours is not None)
            button.setEnabled(leads)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._share_width()

    def _share_width(self) -> None:
        """Leaves the address at least three fifths of the line: the facts may contain a sentence."""
        most = self.width() * 2 // 5
        # The label's own hint is at least the width that was set before.
        needed = self.facts.fontMetrics().horizontalAdvance(self.facts.text()) + 8 if self.facts.text() else 0
        self.facts.setFixedWidth(min(needed, most))
        self.facts.setToolTip(tip(self.facts.text()) if needed > most else "")

    def edit(self) -> None:
        """Turns the buttons into text and selects all of it."""
        self.line.setText(self._address)
        self._stack.setCurrentWidget(self.line)
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.line.selectAll()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == event.Type.KeyPress and event.key() == Qt.Key.Key_Escape:
            self._leave()
            return True
        popup = Qt.FocusReason.PopupFocusReason
        if isinstance(event, QFocusEvent) and event.lostFocus() and event.reason() != popup and self._crumbs:
            self._stack.setCurrentWidget(self._trail)
        return False

    def _enter(self) -> None:
        text = self.line.text()
        self._leave()
        if text.strip():
            self.entered.emit(text)

    def _leave(self) -> None:
        self.line.clearFocus()
        if self._crumbs:
            self._stack.setCurrentWidget(self._trail)


class _Trail(QFrame):
    """A frame like a text field's, with a button for each part of the path; a click beside the buttons
    starts editing."""

    pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setBackgroundRole(Role.Base)
        self.setAutoFillBackground(True)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(4, 0, 4, 0)
        self._row.setSpacing(0)
        self._parts: list[QWidget] = []

    def minimumSizeHint(self) -> QSize:
        # A long path must not widen the window: its first crumbs are dropped.
        return QSize(120, super().minimumSizeHint().height())

    def show_crumbs(self, crumbs: tuple[tuple[str, str], ...], go: Callable[[str], object]) -> None:
        for part in self._parts:
            part.hide()
            part.deleteLater()
        while self._row.count():
            self._row.takeAt(0)
        self._parts = []
        # Show the first crumb and the last few; the others are reached through the tree.
        shown = crumbs if len(crumbs) <= 5 else (crumbs[0], *crumbs[-3:])
        most = 40 if len(crumbs) > 1 else 100  # a place that did not open shows its whole address
        for place, (label, path) in enumerate(shown):
            if place:
                gap = IconLabel(icon("forward"), 10)
                self._parts.append(gap)
                self._row.addWidget(gap)
            button = QToolButton()
            button.setAutoRaise(True)
            button.setText(
                literal(label if len(label) <= most else f"{label[: most // 2 - 2]}…{label[2 - most // 2 :]}")
            )
            button.setToolTip(tip(label))
            button.setCursor(Qt.CursorShape.ArrowCursor)
            button.clicked.connect(lambda _=False, path=path: go(path))
            self._parts.append(button)
            self._row.addWidget(button)
        self._row.addStretch(1)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        self.pressed.emit()
