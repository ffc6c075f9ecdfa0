"""Fits the first picture, or the part of it that a view shows, again while napari's window still lays out its panels.

napari fits the first layer to the canvas before its layer controls have taken their room, so the picture would be cut
off, or tiny in a narrow window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

from qtpy.QtCore import QObject, QTimer

from zarrscope_app.napari.viewer_state import camera_of, show_part

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.viewer import Viewer

SETTLING_MS = 500
"""Milliseconds after the last added layer in which a change of the canvas is taken for the layout of the panels."""


class FirstFit(QObject):
    """Watches the canvas of one viewer after `begin`, until the panels are laid out or the camera is moved."""

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        self._viewer = ref(viewer)
        self._fitted: tuple[Any, ...] | None = None
        self._part: tuple[Callable[[], NapariLayer | None], Mapping[str, Any]] = (lambda: None, {})
        self._end = QTimer(self)
        self._end.setSingleShot(True)
        self._end.setInterval(SETTLING_MS)
        self._end.timeout.connect(self._stop)
        canvas: Any = getattr(getattr(getattr(viewer, "window", None), "_qt_viewer", None), "canvas", None)
        scene = getattr(canvas, "_scene_canvas", None)
        if scene is not None:
            # Runs after napari's own handler, which tells the viewer the size of the canvas.
            scene.events.resize.connect(self._resized, position="last")

    @property
    def active(self) -> bool:
        """Whether the panels are being laid out."""
        return self._fitted is not None

    def begin(self) -> None:
        """Called after a layer was added: napari has fitted it if it is the only one."""
        viewer = self._viewer()
        if viewer is not None and len(viewer.layers) == 1:
            self._fitted = _sight(viewer)
            self._part = lambda: None, {}
        if self._fitted is not None:
            self._end.start()

    def keep(self, layer: NapariLayer, view: Mapping[str, Any]) -> None:
        """Fits the part of the plane that a view shows, instead of the whole picture, when the canvas changes."""
        viewer = self._viewer()
        if viewer is not None and self.active:
            self._fitted, self._part = _sight(viewer), (ref(layer), view)

    def _resized(self, _: object = None) -> None:
        viewer = self._viewer()
        if viewer is None or self._fitted is None:
            return
        if _sight(viewer) == self._fitted:
            layer, view = self._part[0](), self._part[1]
            if layer is None or not show_part(viewer, layer, view):
                viewer.reset_view()
            self._fitted = _sight(viewer)
        else:
            self._stop()  # a person has moved the camera

    def _stop(self) -> None:
        self._fitted = None


def _sight(viewer: Viewer) -> tuple[Any, ...]:
    """The position, zoom and angles of the camera, which change when a person moves it."""
    camera = camera_of(viewer)
    return (float(camera.zoom), tuple(camera.center), tuple(camera.angles), viewer.dims.ndisplay)
