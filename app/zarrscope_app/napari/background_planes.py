"""Reads planes on other threads while Qt's event loop runs, also if napari's asynchronous slicing is off.

With asynchronous slicing off, napari reads on its own thread, which draws nothing meanwhile. This module reads planes
on another thread. If a plane does not arrive within a few milliseconds, the layer shows the previous plane until then,
and no value under the cursor, as with napari's asynchronous slicing. The plane is given to napari by the event with
which napari's own slicer announces planes.

A script that has not started the event loop gets the requested plane at once, as it expects. Planes that were requested
before, in the background, are not shown any more, and neither are they if napari's own slicer reads a newer one. A
screenshot waits for the planes that are being read, and so does the next step of a playing slider.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary, ref

from qtpy.QtCore import QCoreApplication, QThread, QTimer

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import JobResult, Ticket, shared
from zarrscope.view.editable import EditableView
from zarrscope_app.napari.layers import views_of
from zarrscope_app.presenters.layers.late_reads import LateReads
from zarrscope_app.qt.bridge import Bridge

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.viewer import Viewer

GRACE_MS = 6
"""The most milliseconds that the window's thread waits for planes in one pass of the event loop, so that cached planes
appear at once."""
MOST_READS = 2
"""The most planes of one layer that are read at a time. Of further requests only the newest is read later, so planes
that a moving slider has passed are skipped."""


class PlaneRequest(Protocol):
    """The members of a slice request that this module uses."""

    id: int

    @property
    def slice_input(self) -> Any:  # Any: napari's private class
        """The position of the plane, and its axes."""

    @property
    def newest(self) -> bool:
        """Whether no newer request was made for the layer."""

    def read(self) -> Any:  # Any: as above
        """The plane; an empty one if it cannot be read. May be called on any thread."""

    def empty(self) -> Any:  # Any: as above
        """A plane without picture and values."""

    def fail(self, error: ZarrscopeError) -> None:
        """Reports why the plane is not read."""


@dataclass
class _Reads:
    """The state of the reads of one layer."""

    latest: PlaneRequest
    shown: int = -1
    """The id of the newest plane that was shown."""
    waiting: PlaneRequest | None = None
    """The request to be read once another read has ended."""
    tickets: set[Ticket] = field(default_factory=set)

    @property
    def pending(self) -> bool:
        """Whether the layer waits for a plane. It does not if a script, or napari's own slicer, reads a newer one."""
        return self.shown != self.latest.id and self.latest.newest


def on_window_thread() -> bool:
    """Whether this is Qt's main thread."""
    application, thread = QCoreApplication.instance(), QThread.currentThread()
    return application is not None and thread is not None and thread is application.thread()


def loop_runs() -> bool:
    """Whether this is Qt's main thread, and its event loop runs: then a person waits, not a script."""
    thread = QThread.currentThread()
    return thread is not None and on_window_thread() and thread.loopLevel() > 0


def slicing_of(layer: NapariLayer) -> Any:
    """The object that slices a layer: in older versions of napari the layer itself."""
    return getattr(layer, "_slicing_state", layer)


class BackgroundPlanes:
    """Reads the planes of one viewer's layers. `bridge` runs functions on the window's thread."""

    def __init__(self, viewer: Viewer, bridge: Bridge) -> None:
        self._viewer = ref(viewer)
        self._owner = shared().owner(bridge.post)
        self.late = LateReads(self._owner, lambda: self.busy)  # not of planes that a slider has passed
        self._reads: WeakKeyDictionary[NapariLayer, _Reads] = WeakKeyDictionary()
        self._grace = GRACE_MS / 1000
        slicer: Any = getattr(viewer, "_layer_slicer", None)
        self.available = hasattr(getattr(slicer, "events", None), "ready")
        """False: this version of napari announces planes in another way, so napari's own thread reads them all."""
        canvas: Any = getattr(getattr(getattr(viewer, "window", None), "_qt_viewer", None), "canvas", None)
        if canvas is None or not hasattr(canvas, "screenshot"):
            self.available = False
        elif self.available:
            canvas.screenshot = partial(_screenshot, ref(self), ref(canvas), type(canvas).screenshot)
            # Runs after napari's own handler, which lets the slider play on once the canvas is drawn.
            canvas._scene_canvas.events.draw.connect(self.let_play_on, position="last")

    @property
    def busy(self) -> bool:
        """Whether planes are being read."""
        return any(reads.pending for reads in self._reads.values())

    def read(self, layer: NapariLayer, request: PlaneRequest) -> Any:
        """Returns the requested plane if it arrives within GRACE_MS. Otherwise returns the plane that the layer shows
        now; `_show` replaces it when the requested plane has arrived."""
        reads = self._reads.setdefault(layer, _Reads(request))
        reads.latest, reads.waiting = request, None
        if len(reads.tickets) >= MOST_READS:
            reads.waiting = request
        elif (found := self._begin(layer, reads, request)) is not None:
            reads.shown = request.id
            _set_loaded(layer, request.id)
            return found
        slicing_of(layer)._set_unloaded_slice_id(request.id)
        return _held(layer, request)

    def finish(self) -> None:
        """Waits for the planes that are being read, and shows them."""
        for layer, reads in list(self._reads.items()):
            if reads.pending:
                self._cancel(reads)
                self._show(layer, reads, reads.latest, reads.latest.read())

    def overtake(self, layer: NapariLayer, request: PlaneRequest) -> None:
        """Stops reading for a layer of which a script reads a newer plane at once."""
        reads = self._reads.get(layer)
        if reads is not None:
            self._cancel(reads)
            reads.latest, reads.shown = request, request.id
            _set_loaded(layer, request.id)

    def forget(self, layer: NapariLayer) -> None:
        """Stops reading for a layer that was removed."""
        reads = self._reads.pop(layer, None)
        if reads is not None:
            self._cancel(reads)

    def let_play_on(self, _: object = None) -> None:
        """Lets a playing slider go on if no plane is being read. Otherwise it would outrun them, and the layers would
        show planes of different steps together. napari gives the same leave after each drawing."""
        viewer = self._viewer()
        if viewer is not None and hasattr(viewer.dims, "_play_ready"):
            viewer.dims._play_ready = not self.busy

    def _cancel(self, reads: _Reads) -> None:
        reads.waiting = None
        while reads.tickets:
            reads.tickets.pop().cancel()

    def _begin(self, layer: NapariLayer, reads: _Reads, request: PlaneRequest, grace: bool = True) -> Any:
        """Starts to read a plane. Returns it if it arrives within the rest of GRACE_MS in this pass of the event loop,
        else None."""
        there, versions, watched = threading.Event(), _versions(layer), ref(layer)
        found: list[Any] = []

        def work() -> None:
            try:
                found.append(request.read())
            finally:
                there.set()

        def done(outcome: JobResult[None]) -> None:
            reads.tickets.discard(ticket)
            if (layer := watched()) is None or self._reads.get(layer) is not reads or not reads.latest.newest:
                return
            if reads.waiting is not None:
                waiting, reads.waiting = reads.waiting, None
                self._begin(layer, reads, waiting, grace=False)
            elif request is reads.latest and versions != _versions(layer):  # labels were painted during the read
                self._begin(layer, reads, request, grace=False)
                return
            if isinstance(outcome.error, ZarrscopeError):  # a person did not want to wait any longer
                request.fail(outcome.error)
            elif outcome.error is not None:
                _tell(outcome.error)
            self._show(layer, reads, request, found[0] if found else request.empty())

        ticket = self._owner.read(work, done)
        reads.tickets.add(ticket)
        if grace and self._wait(there) and found:
            reads.tickets.discard(ticket)
            ticket.cancel()
            return found[0]
        return None

    def _wait(self, there: threading.Event) -> bool:
        """Waits for a plane, for at most the rest of GRACE_MS. Returns whether the plane has arrived."""
        if self._grace <= 0:
            return there.is_set()
        if self._grace == GRACE_MS / 1000:
            QTimer.singleShot(0, self._next_turn)
        start = time.perf_counter()
        arrived = there.wait(self._grace)
        self._grace -= time.perf_counter() - start
        return arrived

    def _next_turn(self) -> None:
        self._grace = GRACE_MS / 1000

    def _show(self, layer: NapariLayer, reads: _Reads, request: PlaneRequest, plane: Any) -> None:
        """Gives napari a plane. If a newer request exists, the plane is shown until that request's plane arrives, so
        that a person who drags a slider sees the planes in between."""
        viewer = self._viewer()
        if viewer is None or layer not in viewer.layers or request.id <= reads.shown:
            return
        if request is not reads.latest:
            if plane.empty or not _same_axes(plane.slice_input, reads.latest.slice_input):
                return
            plane = replace(plane, slice_input=reads.latest.slice_input)
        reads.shown = request.id
        viewer._layer_slicer.events.ready(value={ref(layer): plane})
        if not self.busy:
            self.let_play_on()


def _same_axes(one: Any, other: Any) -> bool:
    return bool(one.ndisplay == other.ndisplay and tuple(one.order) == tuple(other.order))


def _held(layer: NapariLayer, request: PlaneRequest) -> Any:
    """The plane that the layer shows now, labelled as the answer to `request`; an empty plane if the axes differ."""
    held = slicing_of(layer)._slice
    if held.empty or not _same_axes(held.slice_input, request.slice_input):
        return request.empty()
    return replace(held, slice_input=request.slice_input, request_id=request.id)


def _set_loaded(layer: NapariLayer, id: int) -> None:
    holder = slicing_of(layer)
    if not holder.loaded:
        holder._last_slice_id = id
        holder._update_loaded_slice_id(id)


def _versions(layer: NapariLayer) -> tuple[int, ...]:
    """Version numbers of the edits in the layer's data; they change whenever something is painted."""
    return tuple(view.edits.version for view in views_of(layer) if isinstance(view, EditableView))


def _tell(error: BaseException) -> None:
    """Shows an unexpected error as a notification of napari, as napari's own slicer does."""
    from napari.utils.notifications import notification_manager

    notification_manager.receive_error(type(error), error, error.__traceback__)


def _screenshot(planes: ref[BackgroundPlanes], canvas: ref[Any], take: Callable[..., Any]) -> Any:
    """Replaces the canvas's `screenshot`: first waits for the planes that are being read."""
    if (found := planes()) is not None:
        found.finish()
    return take(canvas())
