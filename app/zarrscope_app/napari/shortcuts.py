"""Binds the dock's keys in napari's own keymap, so that they work on the canvas and appear in napari's list of keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zarrscope_app.presenters.layers.layer_commands import KEYS

if TYPE_CHECKING:
    from napari.viewer import Viewer


class Shortcuts:
    """Binds keys in one viewer: KEYS has the key of each action by the action's name, `acts` has its function by the
    same name. A key that is already bound stays as it is."""

    def __init__(self, viewer: Viewer, acts: dict[str, Callable[[], object]]) -> None:
        self._viewer = viewer
        self._bound: list[tuple[str, Any]] = []
        for name, (key, description) in KEYS.items():

            def act(_: object, run: Callable[[], object] = acts[name]) -> None:
                run()

            act.__doc__ = description
            before = set(viewer.keymap)
            if not any(str(bound) == key.replace("-", "+") for bound in before):
                viewer.bind_key(key, act)
                self._bound.append((key, act))

    def stop(self) -> None:
        """Frees the keys, unless other code has bound them since."""
        for key, act in self._bound:
            for bound, found in list(self._viewer.keymap.items()):
                if found is act and str(bound) == key.replace("-", "+"):
                    del self._viewer.keymap[bound]
        self._bound.clear()
