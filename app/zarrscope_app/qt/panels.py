"""The panels beside the tabs of a window: a person can move them to another side, take them out and hide them.

The window decides which panel has something to show; a person decides which of those to see. Both must agree before a
panel is visible.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.core import QByteArray, QCoreApplication, QSize, Qt
from zarrscope_app.qt.toolkit.gui import QAction, QCloseEvent, QKeyEvent, QShowEvent
from zarrscope_app.qt.toolkit.widgets import QDockWidget, QHBoxLayout, QMainWindow, QToolButton, QWidget

from .text import Label
from .theme import icon

_SIDES = {"tree": Qt.DockWidgetArea.LeftDockWidgetArea, "channels": Qt.DockWidgetArea.RightDockWidgetArea}
_WIDTHS = {"tree": (0.22, 192, 260), "channels": (0.24, 208, 240)}
"""For each panel, its first width as a share of the window's width, and the limits of that width in pixels. In a window
of 900 pixels all tabs fit between both panels."""


class Panels(QMainWindow):
    """`middle` with a panel at its left ("tree") and one at its right ("channels")."""

    def __init__(self, middle: QWidget, panels: dict[str, tuple[QWidget, str]], parent: QWidget | None = None) -> None:
        """`panels`: widget and title by id."""
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.Widget)  # else a QMainWindow is a window of its own
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.setDockOptions(QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks)
        self.setCentralWidget(middle)
        self.panels = {id: _Panel(id, widget, title, self) for id, (widget, title) in panels.items()}
        self._fitting = dict.fromkeys(panels, True)
        """Whether a panel has something to show."""
        self._at_first = True
        """Whether the widths are still to be set: Qt sets them only in a window that is shown."""
        self.reset()

    def reset(self) -> None:
        """Puts every panel where it was at first."""
        for id, panel in self.panels.items():
            panel.setFloating(False)
            self.addDockWidget(_SIDES[id], panel)
            panel.wanted = True
            self._show(id)
        self._set_widths()

    def _set_widths(self) -> None:
        limits = [_WIDTHS[id] for id in self.panels]
        widths = [round(min(most, max(least, share * self.width()))) for share, least, most in limits]
        self.resizeDocks([*self.panels.values()], widths, Qt.Orientation.Horizontal)

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        if self._at_first:
            self._at_first = False
            self._set_widths()

    def fit(self, id: str, fits: bool) -> None:
        """Sets whether the panel `id` has something to show, and shows or hides it accordingly."""
        self._fitting[id] = fits
        self._show(id)

    def toggle(self, id: str) -> None:
        """Hides a panel, or shows it again."""
        self.panels[id].wanted = not self.panels[id].wanted
        self._show(id)

    def wants(self, id: str) -> bool:
        """Whether the person wants to see a panel when it has something to show."""
        return self.panels[id].wanted

    def follow(self, id: str, action: QAction) -> None:
        """Checks the menu entry `action` whenever the person wants to see the panel `id`, and unchecks it otherwise."""
        action.setCheckable(True)
        panel = self.panels[id]
        panel.wanted_changed = lambda: action.setChecked(panel.wanted)
        panel.wanted_changed()

    def _show(self, id: str) -> None:
        panel = self.panels[id]
        panel.setVisible(panel.wanted and self._fitting[id])
        panel.wanted_changed()

    # ---------------------------------------------------------------- for the next start
    def layout_text(self) -> str:
        """The positions, sizes and visibility of the panels as JSON text, for `restore_layout`."""
        hidden = [id for id, panel in self.panels.items() if not panel.wanted]
        return json.dumps({"state": self.saveState().data().hex(), "hidden": hidden})

    def restore_layout(self, text: str) -> None:
        """Restores the layout that `layout_text` returned. Raises ValueError for any other text."""
        told = json.loads(text)
        if not isinstance(told, dict) or not isinstance(told.get("state"), str):
            raise ValueError
        self._at_first = not self.restoreState(QByteArray(bytes.fromhex(told["state"])))
        hidden = told.get("hidden")
        for id, panel in self.panels.items():
            panel.wanted = not (isinstance(hidden, list) and id in hidden)
            self._show(id)


class _Title(QWidget):
    """The title bar by which a panel is dragged. Its close button takes its colour from the palette, unlike the button
    of Qt's own title bar."""

    def __init__(self, title: str, panel: QDockWidget) -> None:
        super().__init__(panel)
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 2, 2, 2)
        line.addWidget(Label(title), 1)
        button = QToolButton()
        button.setAutoRaise(True)
        button.setIcon(icon("close"))
        button.setIconSize(QSize(12, 12))
        button.setToolTip(LABELS["hide"])
        button.setAccessibleName(LABELS["hide"])
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.clicked.connect(panel.close)
        line.addWidget(button)


class _Panel(QDockWidget):
    """A dock around a widget. Its close button hides the panel until the person shows it again by the menu."""

    def __init__(self, id: str, inside: QWidget, title: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName(id)  # Qt stores the panel's position under this name
        self.setWidget(inside)
        self.setTitleBarWidget(_Title(title, self))
        self.wanted = True
        self.wanted_changed: Callable[[], None] = lambda: None
        """Called when `wanted` may have changed."""

    def closeEvent(self, event: QCloseEvent | None) -> None:
        super().closeEvent(event)
        self.wanted = False
        self.wanted_changed()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Passes unused keys on to the window, also from a panel that was taken out, which is a window of its own."""
        assert event is not None
        event.ignore()
        parent = self.parentWidget()
        if self.isFloating() and parent is not None:
            QCoreApplication.sendEvent(parent, event)
