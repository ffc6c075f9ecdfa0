"""Handles planes that cannot be read: the layer stays, the plane is empty, and the dock shows the reason.

napari reads while it handles a slider, a zoom or the insertion of a layer. An error there leaves the other layers
unsliced, and a half-inserted layer that can no longer be removed. So this module makes the slices of zarrscope's
layers. A slice that fails is replaced by the empty slice that napari makes beyond a layer's ends, which draws nothing
and has no value under the cursor. Code that reads `layer.data` itself gets the error, never zeros.

napari has no public hook for this. In versions whose internals differ from the three known forms (0.5.6 to 0.9), errors
surface as they would without this module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

import napari
import numpy as np
from qtpy.QtCore import QObject, Signal

from zarrscope.errors import TooLarge, ZarrscopeError
from zarrscope.view.lazy import LazyView
from zarrscope_app.napari.background_planes import BackgroundPlanes, loop_runs, on_window_thread, slicing_of
from zarrscope_app.napari.first_fit import FirstFit
from zarrscope_app.napari.first_layer import spare_scipy, spare_xarray
from zarrscope_app.napari.layers import source_of, views_of
from zarrscope_app.napari.painting import make_paintable
from zarrscope_app.napari.unwritten_labels import UnwrittenLabels
from zarrscope_app.napari.viewer_state import asked_view, go_to
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.advice import REFRESH, asks_to_refresh
from zarrscope_app.presenters.layers.presenter import UnreadPlanes
from zarrscope_app.qt.bridge import Bridge

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.utils.events import Event
    from napari.viewer import Viewer

    from zarrscope_app.presenters import Session

T = TypeVar("T")

TITLE = "Zarr explorer"
"""The name of the dock in the manifest."""
_Report = Callable[[ZarrscopeError | None], None]


class Watch(QObject):
    """Guards zarrscope's layers in one viewer: each layer is guarded before napari reads it, no matter which code adds
    it."""

    changed = Signal()

    def __init__(self, viewer: Viewer) -> None:
        super().__init__()
        spare_xarray()
        spare_scipy()
        self.unread = UnreadPlanes()
        self.unread.changed.connect(self.changed.emit, on_ref_error="ignore")  # Qt allows no weak reference to it
        self.listeners: set[int] = set()
        """The ids of docks that show `unread`. If there are none, napari's notifications show it."""
        self._viewer = ref(viewer)
        self._bridge = Bridge()
        self.background = BackgroundPlanes(viewer, self._bridge)
        self.background.late.changed.connect(self._tell_late)
        self._noticed = ""
        self.first_fit = FirstFit(viewer)
        self.labels = UnwrittenLabels(viewer, self._bridge, self._write)
        self.labels.changed.connect(self._removed_painted)
        self.dock: Callable[[], Any] = lambda: None
        """Returns the latest dock, or None if it no longer exists."""
        for layer in viewer.layers:
            self._guard(layer)
        # This handler guards a new layer, so it must run before napari's own handler, which reads from the layer.
        viewer.layers.events.inserted.connect(self._inserted, position="first")
        viewer.layers.events.inserted.connect(self._show)
        viewer.layers.events.removed.connect(self._removed)

    @property
    def again(self) -> str:
        """The label of the button that reads failed planes again; "" if none failed."""
        told = self.unread.sentence
        return "" if not told else REFRESH if asks_to_refresh(told) else strings.RETRY

    def retry(self, session: Session | None) -> None:
        """Reads failed planes again. Those of arrays that were replaced need the present arrays of `session`."""
        if session is not None and self.again == REFRESH:
            session.reload()
        for layer, _ in self.unread.items:
            layer.refresh()

    def _inserted(self, event: Event) -> None:
        self._guard(event.value)

    def _show(self, event: Event) -> None:
        """Shows the layers that `hidden_at_first` hid, now that they are guarded and complete, and fits the first."""
        if views_of(event.value):
            self.first_fit.begin()
        for view in views_of(event.value):
            if _waiting.pop(id(view), None) is not None:
                self.go_to_asked(event.value)
                event.value.visible = True

    def go_to_asked(self, layer: NapariLayer) -> None:
        """Shows the view with which a layer was opened, if it was."""
        viewer = self._viewer()
        if viewer is not None and (asked := asked_view(layer)):
            go_to(viewer, [layer], asked)
            if asked.get("rect"):
                self.first_fit.keep(layer, asked)

    def _removed(self, event: Event) -> None:
        self.unread.tell(event.value, None)
        self.background.forget(event.value)

    def _write(self, layer: NapariLayer) -> None:
        """Shows in the dock the changes that writing the painted labels of a layer would make."""
        viewer = self._viewer()
        if viewer is not None:
            viewer.layers.selection.active = layer
            (self.dock() or open_dock(viewer)).write_labels()

    def _removed_painted(self) -> None:
        viewer = self._viewer()
        if self.labels.held and viewer is not None and not self.listeners:
            open_dock(viewer)
        self.changed.emit()

    def _guard(self, layer: NapariLayer) -> None:
        if not views_of(layer):
            return
        _widen(layer)
        watched = ref(layer)

        def report(error: ZarrscopeError | None) -> None:
            self._bridge.post(lambda: self._tell(watched(), error))

        def shown_or_hidden() -> None:
            found = watched()
            if found is not None and not found.visible:
                self.unread.tell(found, None)

        guard(layer, report, self.background)
        make_paintable(layer)
        layer.events.visible.connect(shown_or_hidden)

    def _tell_late(self) -> None:
        """Tells that a plane is late: the dock each second, or a notification once if there is no dock."""
        notice = self.background.late.notice
        if notice and notice != self._noticed and not self.listeners:
            from napari.utils.notifications import show_info

            show_info(notice)
        self._noticed = notice
        self.changed.emit()

    def _tell(self, layer: NapariLayer, error: ZarrscopeError | None) -> None:
        if layer is None:
            return
        path = source_of(layer).get("path", "")
        if self.unread.tell(layer, error, path) and error is not None and not self.listeners:
            from napari.utils.notifications import show_warning

            show_warning(self.unread.sentence)


_watches: WeakKeyDictionary[Viewer, Watch] = WeakKeyDictionary()
_waiting: WeakValueDictionary[int, LazyView] = WeakValueDictionary()
"""The finest level of each layer that will be made visible after its insertion. The keys are ids, because `==` would
compare elements."""


def unwrapped(viewer: T) -> T:
    """The viewer, or dock, behind the proxy that napari gives to plugins. The proxy hides private attributes that the
    plugin needs, and cannot be a dict key."""
    behind: T = getattr(viewer, "__wrapped__", viewer)
    return behind


def open_dock(viewer: Viewer) -> Any:
    """Opens the plugin's dock, or shows the one that the viewer has. The dock is opened by name, because its module
    imports this one."""
    _, widget = viewer.window.add_plugin_dock_widget("zarrscope", TITLE)
    return unwrapped(widget)


def watch(viewer: Viewer) -> Watch:
    """The Watch of a viewer, which is made on the first call."""
    viewer = unwrapped(viewer)
    events = viewer.layers.events
    found = _watches.get(events)
    if found is None:
        found = _watches[events] = Watch(viewer)
    return found


def hidden_at_first(data: Any, arguments: dict[str, Any], kind: str) -> tuple[Any, dict[str, Any], str]:
    """Returns a layer as readers return it, but hidden, because a viewer reads visible layers while it inserts them.
    `Watch` makes it visible afterwards. Without a viewer there is no Watch, so the layer is returned unchanged."""
    viewers = list(getattr(napari.Viewer, "_instances", ()))
    if not viewers or not arguments["visible"]:
        return data, arguments, kind
    for viewer in viewers:
        watch(viewer)
    finest = data[0] if arguments["multiscale"] else data
    _waiting[id(finest)] = finest
    return data, {**arguments, "visible": False}, kind


def _widen(layer: NapariLayer) -> None:
    """Allows contrast limits in the whole range of the file or the type, not only between the initial limits."""
    reach = source_of(layer).get("contrast_range")
    if reach and hasattr(layer, "contrast_limits_range"):
        low, high = layer.contrast_limits
        layer.contrast_limits_range = (min(low, reach[0]), max(high, reach[1]))


def guard(layer: NapariLayer, report: _Report, background: BackgroundPlanes | None = None) -> None:
    """Guards `layer`: its slices no longer raise errors.

    `report` is called, on any thread, with the error of the latest slice, or None if it could be read. `background`
    reads slices that take longer, so that the window does not wait.
    """
    holder = slicing_of(layer)
    make = getattr(holder, "_make_slice_request_internal", None)
    if make is None or isinstance(make, _Guarded):
        return
    holder._make_slice_request_internal = _Guarded(make, report, ref(layer), background)


class SliceRequest(Protocol):
    """The members of napari's slice request, a private dataclass, that this module uses."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    id: int
    slice_input: Any  # Any: napari's private class
    dtype: np.dtype[Any]
    multiscale: bool
    data_level: int
    thumbnail_level: int
    level_shapes: np.ndarray[Any, Any]

    def __call__(self) -> Any:  # Any: as above
        """Reads the slice."""


class _Guarded:
    """Makes the slice requests of one layer; these requests raise no read errors."""

    def __init__(
        self, make: Callable[..., Any], report: _Report, layer: ref[Any], background: BackgroundPlanes | None
    ) -> None:
        self._make, self._report = make, report
        self.layer, self.background = layer, background
        self.latest: int | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> _Request:
        request = self._make(*args, **kwargs)
        self.latest = request.id
        return _Request(self, request)

    def tell(self, request: SliceRequest, error: ZarrscopeError | None) -> None:
        if request.id == self.latest:
            self._report(error)


class _Request:
    """A slice request for napari that raises no read errors. It may be called on any thread."""

    def __init__(self, origin: _Guarded, request: SliceRequest) -> None:
        self._origin, self._request = origin, request
        self.id: int = request.id

    @property
    def slice_input(self) -> Any:
        return self._request.slice_input

    @property
    def newest(self) -> bool:
        return self.id == self._origin.latest

    def __call__(self) -> Any:
        """napari calls this: on the window's thread, unless napari's asynchronous slicing is on."""
        layer, background = self._origin.layer(), self._origin.background
        if background is None or not background.available or layer is None:
            return self.read()
        if loop_runs():
            return background.read(layer, self)
        if on_window_thread():
            background.overtake(layer, self)
        return self.read()

    def fail(self, error: ZarrscopeError) -> None:
        """Reports the error of a slice that was not read, because a person stopped it."""
        self._origin.tell(self._request, error)

    def empty(self) -> Any:
        """The empty slice that napari makes beyond a layer's ends."""
        return _empty(type(self._request))(**_settings(self._request))()

    def read(self) -> Any:
        """The slice, or an empty one if it cannot be read."""
        error: ZarrscopeError
        try:
            response = self._request()
        except ZarrscopeError as raised:
            error = raised
        except MemoryError:
            error = TooLarge(strings.TOO_LITTLE_MEMORY, size=None, limit=0)
        else:
            self._origin.tell(self._request, None)
            return response
        response = self._without_thumbnail()
        self._origin.tell(self._request, None if response is not None else error)
        return response if response is not None else self.empty()

    def _without_thumbnail(self) -> Any:
        """The slice, if only the slice of the coarsest level fails, which napari needs for the thumbnail; else None."""
        request = self._request
        level = request.thumbnail_level
        if not request.multiscale or request.data_level == level:
            return None
        try:
            return replace(request, **_blank_thumbnail(request), id=request.id)()
        except (ZarrscopeError, MemoryError):
            return None


def _blank_thumbnail(request: Any) -> dict[str, Any]:
    """The arguments of a request that give it zeros as its coarsest level. In napari 0.5 a request has all levels."""
    held = hasattr(request, "data_at_thumbnail_level")
    dtype = request.dtype if held else request.data[0].dtype
    blank = np.broadcast_to(np.zeros((), dtype), tuple(request.level_shapes[request.thumbnail_level]))
    if held:
        return {"data_at_thumbnail_level": blank}
    levels = list(request.data)
    levels[request.thumbnail_level] = blank
    return {"data": levels}


def _settings(request: SliceRequest) -> dict[str, Any]:
    return {field.name: getattr(request, field.name) for field in fields(request)}


def _empty(kind: type[Any]) -> type[Any]:
    """A class of slice requests like `kind`, but for a place outside the layer, so that their slice is empty."""
    return type(kind.__name__, (kind,), {"_slice_out_of_bounds": lambda _: True})
