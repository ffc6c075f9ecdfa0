"""The kernel's side of the widget: sends snapshots in parts, and receives gestures as messages. It makes no decisions.

Outgoing: synced traits, one for each part of the display (parts.py), and one with what has changed in them since they
were sent (differences.py); pictures as messages (pictures.py, thumbnails.py). Incoming: messages (gestures.py). These
traits can be observed and set from Python: `path`, `index`, `axes`, `clim`, `selection`, `state`.
"""

from __future__ import annotations

import base64
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from zarrscope.runtime.threads import Mailbox, Owner, shared
from zarrscope_app.jupyter import page_without_kernel
from zarrscope_app.jupyter.differences import difference, is_small, readout_change, readout_words
from zarrscope_app.jupyter.from_python import UsedFromPython
from zarrscope_app.jupyter.gestures import KEYS, perform_gesture, picture
from zarrscope_app.jupyter.host import VIEWS
from zarrscope_app.jupyter.kernel import CELLS, KernelMailbox, in_vscode, repeater
from zarrscope_app.jupyter.parts import PARTS
from zarrscope_app.jupyter.pictures import TileStream
from zarrscope_app.jupyter.places import ShowsPlaces
from zarrscope_app.jupyter.presenter_signals import PresenterSignals
from zarrscope_app.jupyter.still_picture import still_picture
from zarrscope_app.jupyter.thumbnails import ThumbnailStream
from zarrscope_app.presenters import CoalescedCall, Session, SessionStatus, Settings, strings
from zarrscope_app.presenters.notebook import CLOSED_NOTE, NOTEBOOK, WORDS
from zarrscope_app.presenters.session.on_show import selection_on_show, snippet_on_show
from zarrscope_app.presenters.session.opening import OpenTarget, target_of
from zarrscope_app.presenters.session.polling import GrowthPolling
from zarrscope_app.presenters.session.state_text import decode_view, is_view

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("elements", "kernel", "picture", "controls", "tree", "form", "panes", "widget")
"""The browser's scripts in this order; together they are one module without dependencies."""
STILL_SECONDS = 1.5
"""The most seconds that a cell waits for the content of the still page."""


def _end(
    sessions: list[Session], owner: Owner, post: Callable[[Callable[[], None]], None], polling: GrowthPolling
) -> None:
    """Closes the sessions of a widget that is no longer used, on their own thread."""

    def end() -> None:
        polling.hide()
        for session in sessions:
            session.close()
        owner.close()

    post(end)


class Explorer(UsedFromPython, ShowsPlaces, anywidget.AnyWidget):
    """A hierarchy in a cell. `editable` opens it for writing and shows the form. Nothing is written before Save, and
    unsaved edits outlive the kernel: they are offered when the same address is explored again.

    `held` is an object that must stay alive while it is displayed. `settings` stores unsaved edits; with None they are
    stored in files of the user who runs the kernel.
    """

    _esm = "\n".join((STATIC / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    _css = (STATIC / "widget.css").read_text("utf-8")

    texts = traitlets.Dict().tag(sync=True)
    place = traitlets.Dict().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)
    tree = traitlets.Dict().tag(sync=True)
    image = traitlets.Dict().tag(sync=True)
    places = traitlets.Dict().tag(sync=True)
    channels: traitlets.List[Any] = traitlets.List().tag(sync=True)
    panel = traitlets.Dict().tag(sync=True)
    diff = traitlets.Unicode().tag(sync=True)
    export = traitlets.Dict().tag(sync=True)
    changes = traitlets.Dict().tag(sync=True)
    """Part → the difference of its content from the trait of that name, for parts that changed a little."""
    height = traitlets.Int(420).tag(sync=True)
    path = traitlets.Unicode("/")
    """The path of the selected node."""
    index = traitlets.Dict()
    """Axis name → index, for the axes with a slider."""
    axes = traitlets.List(traitlets.Unicode())
    """The axes shown as height and width."""
    clim = traitlets.Dict()
    """Channel label → contrast limits (low, high)."""
    selection = traitlets.Dict()
    """Axis name → index of the clicked pixel, or (first, end) of the measured region; {} if there is neither."""
    state = traitlets.Unicode()
    """The displayed view as one text, for window, terminal, napari and `zarrscope render --state`."""

    def __init__(
        self,
        url: str,
        *,
        editable: bool = False,
        follow_links: bool = False,
        missing_is_fill: bool = False,
        height: int = 420,
        path: str | None = None,
        view: Mapping[str, Any] | None = None,
        held: object = None,
        settings: Settings | None = None,
        post: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._wanted = self._closed = False
        super().__init__(height=height, texts={"words": WORDS, "keys": KEYS, "editable": editable})
        self.cells: dict[str, str] = {}
        self.made_in = ("", "")
        self.editable = editable
        self.rows, self.corner = (0, 200), (0, 0)
        self.exporting, self.channel_text = False, ""
        self.cleared = self.turn = 0
        """The number of times that the filter was cleared because its text was opened as a node, and that another
        session came to the front."""
        self._thread = threading.get_ident()
        self._post = post or KernelMailbox()
        self._owner: Owner = shared().owner(self._post)
        self._keep_places(settings)
        self.session = self._open(OpenTarget(url, path, held, follow_links, missing_is_fill), view)
        CELLS.made(self)  # closes the widget of an earlier run, whose edits are then offered
        self._keep_edits(self.session)
        alive = weakref.ref(self)  # the timer must not keep the widget
        self.polling = GrowthPolling(
            lambda: shown.session if (shown := alive()) is not None else None, repeater(self._post)
        )
        self._seen_by: set[str] = set()
        """The browser's views of the widget that are visible."""
        self._ending = weakref.finalize(self, _end, self._sessions, self._owner, self._post, self.polling)
        self._ending.atexit = False
        self.thumbnails = ThumbnailStream(self._owner, self._say)
        self.streams = {view: TileStream(view, self._owner, self._say) for view in VIEWS}
        self._draws = {view: CoalescedCall(self._post, partial(self._draw, view)) for view in VIEWS}
        self._dirty = set(PARTS)
        self._now: dict[str, Any] = {}
        """The content of each part."""
        self._publish = CoalescedCall(self._post, self._send_parts)
        self._answer = CoalescedCall(self._post, self._send_answer)
        self._heard: int | None = None
        self._probe = ("", "")
        self._told_probe = ("", "")
        self._told_line = self._told_words = ""
        """The line of which the browser can make the next readout, and the words that it was sent before one."""
        self._mirroring = False
        self._hearing = PresenterSignals(self)
        self._hearing.attach()
        self.on_msg(self._receive)
        self.observe(self._from_python, names=["path", "index", "axes", "clim", "selection", "state"])
        self._publish.soon()

    # ------------------------------------------------------------------ outgoing
    def tell(self, *parts: str) -> None:
        """Notes parts of the state that may have changed. Changed ones are sent at the end of the event loop's pass."""
        self._dirty.update(parts)
        self._publish.soon()

    def tell_probe(self) -> None:
        """Marks the readout under the cursor as perhaps changed."""
        self._answer.soon()

    def draw(self, view: str) -> None:
        """Marks the picture of a view as perhaps changed."""
        self._draws[view].soon()

    def _send_parts(self) -> None:
        if self._closed:
            return
        dirty, self._dirty = self._dirty, set()
        changes = {**self.changes}
        with self.hold_sync():
            for name in PARTS:
                if name in dirty:
                    content = self._now[name] = PARTS[name](self)
                    changes.pop(name, None)
                    found = difference(getattr(self, name), content)
                    if found is not None and is_small(found, content):
                        changes[name] = found
                    else:
                        setattr(self, name, content)
            self.changes = changes
        self._send_words()
        self._mirror()

    def _send_words(self) -> None:
        """Sends the words of the readout before the cursor moves: a move then costs only its numbers."""
        line = self.session.slice.blank_readout
        if (words := readout_words(line)) != self._told_words:
            self._told_line, self._told_words = line, words
            self._say({"blank": line}, [])

    def _mirror(self) -> None:
        """Copies the displayed state to the traits that Python observes."""
        state = self.session.slice.state
        roles = {axis.role: axis.name for axis in state.axes}
        self._mirroring = True
        try:
            self.path = self.session.state.path
            self.index = {a.name: a.index for a in state.axes if a.role == "slider"}
            self.axes = [roles["y"], roles["x"]] if state.kind == "image" else []
            self.clim = {c.label: (c.lo, c.hi) for c in state.channels if c.lo is not None and c.hi is not None}
            self.selection = selection_on_show(self.session)
            self.state = self.session.view_text()
        finally:
            self._mirroring = False

    def _draw(self, view: str) -> None:
        if self._closed:
            return
        shown = picture(self, view)
        if view == "main" and shown.frame.shape[0] and (asked := shown.take_rect()) is not None:
            self.streams[view].place(asked)
        rect = shown.visible_rect
        self.streams[view].show(shown.frame, bar=shown.scale_bar((rect[3] - rect[1]) / 5), broken=shown.broken)

    def _send_answer(self) -> None:
        """Sends the numbers of handled messages, and the values under the cursor."""
        if self._closed:
            return
        shown = self.session.slice
        measured = shown.state.measurement
        told = measured.sentence or "   ".join(f"{row.label}: {row.text}" for row in measured.rows) or measured.title
        text = told if measured.kind else shown.probe.text or shown.probe.sentence
        self._probe = ("   ".join(part for part in (shown.state.refusal.sentence, text) if part), shown.note)
        answer: dict[str, Any] = {}
        if self._heard is not None:
            answer["heard"], self._heard = self._heard, None
        for name, new, old in zip(("probe", "why"), self._probe, self._told_probe, strict=True):
            if new != old:
                answer[name] = (readout_change(self._told_line, new) or new) if name == "probe" else new
        self._told_probe = self._probe
        if "probe" in answer:
            self._told_line = self._probe[0]
        if answer:
            self._say(answer, [])

    def _say(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        if not self._closed:
            self.send(content, buffers)

    @property
    def view(self) -> dict[str, Any]:
        """The whole state for a browser, except pictures, in one object."""
        return {**self.texts, **{name: self._now.get(name, getattr(self, name)) for name in PARTS}}

    # ------------------------------------------------------------------ incoming
    def _receive(self, _: object, message: object, buffers: object = None) -> None:
        """Handles a message of the browser on the widget's thread: presenters belong to one thread, but JupyterLab and
        Notebook 7 send messages over a subshell of the kernel, whose own thread runs while a cell does."""
        if threading.get_ident() == self._thread:
            self._carry_out(message)
        else:
            self._post(partial(self._carry_out, message))

    def _carry_out(self, message: object) -> None:
        """Carries out a message; anything but a known gesture is dropped."""
        if self._closed or not isinstance(message, dict):
            return
        perform_gesture(self, message)
        if isinstance(number := message.get("n"), int):
            self._heard = number
            self._answer.soon()

    def greet(self, kinds: list[str]) -> None:
        """Called when a browser shows the widget; it can read these kinds of pictures and has none of them yet."""
        self._told_probe, self._told_words = ("", ""), ""
        self._publish.soon()
        self.tell_probe()
        self.thumbnails.anew(kinds)
        for view, stream in self.streams.items():
            stream.anew(kinds)
            self.draw(view)

    def seen(self, view: str, visible: bool) -> None:
        """Called when one of the browser's views of the widget becomes visible, or no longer is."""
        (self._seen_by.add if visible else self._seen_by.discard)(view)
        (self.polling.show if self._seen_by else self.polling.hide)()

    def painted(self, view: str) -> None:
        """Called when the browser has painted a message."""
        if view in self.streams:
            self.streams[view].painted()

    def copy(self, what: str) -> None:
        """Sends a text for the browser's clipboard: the address ("copy-path"), the view ("copy-view"), or else the code
        that reads the slice."""
        session = self.session
        texts = {"copy-path": session.state.address, "copy-view": session.view_text()}
        told = texts.get(what) or snippet_on_show(session)
        self._say({"copy": told, "said": NOTEBOOK["copied"]}, [])

    def ask_whole_text(self) -> None:
        """Asks the browser for the whole text of the attributes that it sent an edit of."""
        self._say({"whole": True}, [])

    def show_channel(self, text: str) -> None:
        """Shows the channel alone whose name is or contains `text`, and its controls among all others."""
        number = self.session.slice.show_named(text)
        if number is not None:
            self.channel_text = ""
            self.tell("image")
            self._say({"channel": number}, [])

    # ------------------------------------------------------------------ display
    def open(self) -> None:
        """Opens the connection to the browser when the widget is first displayed; a widget that is never displayed
        needs no closing."""
        if self._wanted and not self._closed:
            super().open()

    @property
    def model_id(self) -> str:
        """The widget's name in the browser."""
        self._wanted = True
        self.open()
        return str(self._model_id if self.comm is None else self.comm.comm_id)

    def _ipython_display_(self, **_: Any) -> None:
        """Displays the widget, and after it a still page that is hidden while the widget exists: saved notebooks,
        nbconvert and nbviewer show it, whether they support widgets or not."""
        from IPython import display

        publish: Callable[..., None] = display.publish_display_data
        if self._closed:
            publish({"text/plain": repr(self), "text/html": self._farewell()})
            return
        CELLS.shows(self)
        bundle = super()._repr_mimebundle_()
        data, about = bundle if isinstance(bundle, tuple) else (bundle, None)
        if data is not None:
            data["text/plain"] = ""  # a viewer without widgets shows the page, and no name of a class above it
        publish(data, about)
        self._wait_for_still()
        session, tree = self.session, self.node_tree
        pixels = None if in_vscode() else page_without_kernel.picture(session)
        if pixels is not None:
            kind, file = still_picture(pixels)
            publish({kind: base64.b64encode(file).decode(), "text/plain": ""})
        html = page_without_kernel.page(session, tree, self.code, pictured=pixels is None)
        publish({"text/html": html, "text/plain": page_without_kernel.text(session, tree, self.code)})

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and beside it a still page, for programs that choose one of the two."""
        if self._closed:
            return {"text/plain": repr(self), "text/html": self._farewell()}
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/html"] = self.page()
        return bundle

    def page(self) -> str:
        """The display as HTML of limited size; waits a moment for missing parts."""
        self._wait_for_still()
        return page_without_kernel.page(self.session, self.node_tree, self.code)

    def _wait_for_still(self) -> None:
        """Waits a moment for the parts of the still page."""
        post, session = self._post, self.session
        if isinstance(post, Mailbox):

            def there() -> bool:
                state = session.state
                if state.status is SessionStatus.FAILED:
                    return True
                if state.status is not SessionStatus.READY or state.selecting:
                    return False
                page_without_kernel.fit(session)
                return page_without_kernel.is_whole(session, self.node_tree)

            try:
                post.run_until(there, STILL_SECONDS)
            except TimeoutError:
                pass

    def _farewell(self) -> str:
        return f"<div>{escape(CLOSED_NOTE)} <code>{escape(self.code)}</code></div>"

    def close(self) -> None:
        """Releases all resources; nothing is sent afterwards."""
        if not self._closed:
            self._closed = True
            self._hearing.detach()
            self.polling.hide()
            for three in self._three.values():
                three.end()
            self._ending.detach()
            self._places.close_all()
            self._owner.close()
        super().close()
        if self.trait_has_value("layout"):
            self.layout.close()  # ipywidgets keeps every model, with its connection, until it is closed
        # ipywidgets has set this attribute to None; without it the method shows a note that the widget is closed
        self.__dict__.pop("_repr_mimebundle_", None)

    def __del__(self) -> None:
        """Called when the widget is no longer used; `_end` releases its resources on their own thread."""

    def __repr__(self) -> str:
        return strings.clean(f"<Explorer {self.session.state.url} {self.path}>")


def explore(
    target: object = None,
    *further: Any,
    editable: bool = False,
    follow_links: bool = False,
    missing_is_fill: bool = False,
    height: int = 420,
    path: str | None = None,
    state: str | None = None,
) -> Explorer:
    """Shows `target` in a cell: an address, a zarrscope Hierarchy, Group or Array, or any other object for
    zarrscope.open: a node or store of zarr-python, a Dataset or DataTree of xarray or an array of dask that came from
    Zarr, a file system, a mapping. `further` targets stand in the same tree; `target` is in front.

    `editable` opens it for writing (attributes only; every write needs a Save after a diff; edits that were unsaved
    when the kernel ended are offered when the address is explored again). `follow_links` also follows links that lead
    out of the folder. `missing_is_fill` treats values that a server denies as missing, for a server that answers both
    with the same error. A hierarchy that is already open keeps its own options. `height` is in pixels. `state` is a
    copied view, which may also be given as `target`. Raises TypeError for any other target, Refused for a text that is
    not a view.
    """
    if isinstance(target, str) and is_view(target):
        target, state = None, target
    view = decode_view(state) if state is not None else None
    found = target_of(view["url"] if target is None and view is not None else target, path)
    shown = Explorer(
        found.url,
        editable=editable,
        follow_links=follow_links or found.follow_links,
        missing_is_fill=missing_is_fill or found.missing_is_fill,
        height=height,
        path=found.path,
        view=view,
        held=found.held,
    )
    for each in further:
        shown.add(each)
    shown.bring(found.url)
    return shown
