"""Binds the dock's keys in napari's own keymap, so that they work on the canvas and appear in napari's list of keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import QWidget

from zarrscope_app.presenters.layers.layer_commands import KEYS

if TYPE_CHECKING:
    from napari.viewer import Viewer


class Shortcuts(QObject):
    """Binds keys in one viewer: KEYS has the key of each action by the action's name, `acts` has its function by the
    same name. A key that is already bound stays as it is. The keys are freed when napari takes `dock` out of its
    window, which does not close it, and bound again when the dock is shown."""

    def __init__(self, viewer: Viewer, acts: dict[str, Callable[[], object]], dock: QWidget) -> None:
        super().__init__(dock)
        self._viewer, self._acts = viewer, acts
        self._bound: list[tuple[str, Any]] = []
        dock.installEventFilter(self)
        self.start()

    def start(self) -> None:
        """Binds the keys that are free."""
        for name, (key, description) in () if self._bound else KEYS.items():

            def act(_: object, run: Callable[[], object] = self._acts[name]) -> None:
                run()

            act.__doc__ = description
            if not any(str(bound) == key.replace("-", "+") for bound in set(self._viewer.keymap)):
                self._viewer.bind_key(key, act)
                self._bound.append((key, act))

    def stop(self) -> None:
        """Frees the keys, unless other code has bound them since."""
        for key, act in self._bound:
            for bound, found in list(self._viewer.keymap.items()):
                if found is act and str(bound) == key.replace("-", "+"):
                    del self._viewer.keymap[bound]
        self._bound.clear()

    def eventFilter(self, dock: QObject | None, event: QEvent | None) -> bool:
        """Frees the keys when the dock is removed, and binds them when it is shown."""
        kind = event.type() if event is not None else None
        if kind == QEvent.Type.Show:
            self.start()
        elif kind == QEvent.Type.ParentChange and dock is not None and dock.parent() is None:
            self.stop()
        return False
