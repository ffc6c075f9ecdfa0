"""Asks before a layer with painted labels that are not written is removed, or its viewer closes.

The button, the key and the menus that remove layers all call `layers.remove_selected`, which this module replaces by a
function that asks first. If other code removes a layer (a script, another plugin), no question is asked, because code
does not wait for a person; such a layer is kept, and the dock offers to bring it back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

from qtpy.QtCore import QEvent, QObject, Qt, Signal
from qtpy.QtWidgets import QMessageBox, QWidget

from zarrscope_app.napari.background_planes import loop_runs
from zarrscope_app.napari.painting import is_painted
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers import unwritten_labels
from zarrscope_app.qt.bridge import Bridge

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.utils.events import Event
    from napari.viewer import Viewer


class UnwrittenLabels(QObject):
    """Guards the painted labels of one viewer. `write(layer)` begins to write the painted labels of a layer."""

    changed = Signal()
    """Emitted when layers with painted labels were removed, or brought back."""

    def __init__(self, viewer: Viewer, bridge: Bridge, write: Callable[[Any], object]) -> None:
        super().__init__()
        self._viewer, self._bridge, self._write = ref(viewer), bridge, write
        self.held: list[NapariLayer] = []
        """Layers with painted labels that code removed, without a question."""
        self.given_up: WeakSet[NapariLayer] = WeakSet()
        """Layers whose painted labels a person has chosen to lose."""
        layers = viewer.layers
        layers.remove_selected = partial(_remove_selected, ref(self), ref(layers), type(layers).remove_selected)
        layers.events.removed.connect(self._removed)
        window = getattr(viewer.window, "_qt_window", None)
        if window is not None:
            window.installEventFilter(self)

    @property
    def sentence(self) -> str:
        """A sentence about the layers that were removed without asking and are kept; "" if there are none."""
        return unwritten_labels.removed([layer.name for layer in self.held]) if self.held else ""

    def bring_back(self) -> None:
        """Puts the layers that were removed without asking back into the viewer."""
        viewer = self._viewer()
        layers, self.held = self.held, []
        for layer in layers:
            if viewer is not None:
                viewer.add_layer(layer)
        self.changed.emit()

    def may_lose(self, layers: list[NapariLayer], act: str) -> bool:
        """Asks whether painted labels of these layers may be lost. `act` is the label of the button that removes or
        closes them."""
        painted = [layer for layer in layers if is_painted(layer) and layer not in self.given_up]
        if not painted:
            return True
        answer = self._ask([layer.name for layer in painted], act)
        if answer == "write":
            self._write(painted[0])
        elif answer == "lose":
            self.given_up.update(painted)
        return answer == "lose"

    def _ask(self, names: list[str], act: str) -> str:
        viewer = self._viewer()
        window: QWidget | None = getattr(viewer.window, "_qt_window", None) if viewer is not None else None
        box = QMessageBox(window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle(unwritten_labels.TITLE)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(unwritten_labels.question(names))
        write = box.addButton(unwritten_labels.WRITE, QMessageBox.ButtonRole.AcceptRole)
        lose = box.addButton(act, QMessageBox.ButtonRole.DestructiveRole)
        cancel = box.addButton(strings.CANCEL, QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(write)
        box.setEscapeButton(cancel)
        box.exec()
        chosen = box.clickedButton()
        box.deleteLater()
        return "write" if chosen is write else "lose" if chosen is lose else "cancel"

    def _removed(self, event: Event) -> None:
        layer = event.value
        if is_painted(layer) and layer not in self.given_up:
            self.held.append(layer)
            self._bridge.post(self._tell)

    def _tell(self) -> None:
        """Emits `changed`, unless the viewer was closed: then the held layers are dropped."""
        viewer = self._viewer()
        if viewer is None or getattr(viewer.window, "_qt_window", None) is None:
            self.held.clear()
        else:
            self.changed.emit()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Handles the window's close event. If a script closes the viewer, no question is asked."""
        viewer = self._viewer()
        if event is None or viewer is None or event.type() != QEvent.Type.Close:
            return False
        if not (event.spontaneous() or loop_runs()) or self.may_lose(list(viewer.layers), unwritten_labels.CLOSE):
            return False
        event.ignore()
        return True


def _remove_selected(guard: ref[UnwrittenLabels], layers: ref[Any], remove: Callable[[Any], None]) -> None:
    """Replaces napari's `remove_selected`: first asks about painted labels."""
    found, asking = layers(), guard()
    if found is None:
        return
    going = [layer for layer in found.selection if not getattr(layer, "locked", False)]
    if asking is None or not loop_runs() or asking.may_lose(going, unwritten_labels.REMOVE):
        remove(found)
