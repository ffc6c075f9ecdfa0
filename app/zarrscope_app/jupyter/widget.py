"""The kernel's side of the widget: snapshots go out as JSON, gestures come in as messages. It decides nothing.

Outgoing traits: `view` (all that is painted but the picture), `picture` (PNG) with `frame` (which part of the plane it
shows), `probe` (what lies under the cursor).
Incoming messages: {"do": "slice.set_index", "args": ["z", 3]}, of the calls in `CALLS` only.
Observable from Python, both ways: `path`, `index`, `clim`, `state`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from zarrscope.errors import ZarrscopeError
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import JobResult, Mailbox, Owner, Ticket, shared
from zarrscope.view.png import png
from zarrscope_app.jupyter.snapshots import plain
from zarrscope_app.jupyter.views import CONTENT, content
from zarrscope_app.presenters import CoalescedCall, Session, Settings, strings
from zarrscope_app.presenters.commands import COMMANDS, LABELS, is_plain, python_text
from zarrscope_app.presenters.session.actions import ACTIONS, choose_axis_key, open_name, perform, toggle_channel
from zarrscope_app.presenters.session.opening import target_of
from zarrscope_app.presenters.session.state_text import decode_view, is_view
from zarrscope_app.settings import FileSettings

STATIC = Path(__file__).parent / "static"
PICTURE_LIMIT = 2048
"""Pixels along a side that a browser may ask for."""

CALLS = {
    "tree": {"toggle", "expand", "collapse", "retry", "cancel", "filter", "refresh", "open_child"},
    "slice": {
        "set_index", "step", "choose_axis", "show", "transpose", "play", "tick", "lock_level", "set_levels", "auto",
        "set_colormap", "type_gamma", "set_part", "show_alone", "set_outline", "type_label",
        "set_dots", "project", "type_range", "roll",
        "type_index", "type_position", "type_limit", "pin", "unpin", "set_visible", "set_color",
        "set_gamma", "set_inverted", "set_label", "hover", "leave", "retry", "load_anyway",
    },
    "edit": {"edit", "edit_json", "retype", "add", "add_typed", "rename", "remove", "move", "undo", "redo", "revert",
             "fold", "save", "resolve", "reload", "show_way", "edit_text"},
    "session": {"select", "set_tab", "back", "forward", "retry", "reload", "dismiss", "use_credentials"},
    "metadata": {"load_documents"},
    "values": {"set_index", "show", "transpose"},
}  # fmt: skip
"""What a browser may call, by presenter."""
EDITING = {"save", "undo", "redo", "revert"}
"""Commands of an editable widget only; "writable" is Python's to decide, with `editable`."""
SUMMARY_SECONDS = 1.0
"""A cell waits no longer for its static summary."""
ROWS = 400
"""Rows of the tree that are sent at most, however many there are."""


def poster() -> Callable[[Callable[[], None]], None]:
    """Makes the `post` that runs calls on the kernel's event loop."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        loop = asyncio.get_event_loop_policy().get_event_loop()

    def post(call: Callable[[], None]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(call)

    return post


class Explorer(anywidget.AnyWidget):
    """A hierarchy in a cell. `editable` opens it for writing and shows the form; nothing is written before Save, and
    what is not saved outlives the kernel: it is offered when the same place is explored again.

    `settings`: where edits that were not saved are kept; None: in files of the person who runs the kernel.
    """

    _esm = STATIC / "widget.js"
    _css = STATIC / "widget.css"

    view = traitlets.Dict().tag(sync=True)
    picture = traitlets.Bytes().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    probe = traitlets.Dict().tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)
    path = traitlets.Unicode("/")
    """The selected node."""
    index = traitlets.Dict()
    """Axis name → index, of the axes with a slider."""
    clim = traitlets.Dict()
    """Channel label → (low, high)."""
    state = traitlets.Unicode()
    """The view on show as one text, for window, terminal, napari and `zarrscope render --state`."""

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
        settings: Settings | None = None,
        post: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        super().__init__(height=height)
        self._closed = False
        self.held: object = None
        """What must live for as long as it is shown."""
        self._post = post or poster()
        self._editable = editable
        self._rows = (0, 200)
        self.cleared = 0
        """How often the filter was emptied because what it held was opened."""
        self._pixels = (320, 480)
        self._rect: tuple[float, float, float, float] | None = None
        self._painting: Ticket | None = None
        self._repaint = False
        self._owner: Owner = shared().owner(self._post)
        self.session = Session(
            url, self._post, writable=editable, follow_links=follow_links, missing_is_fill=missing_is_fill, path=path
        )
        if view is not None:
            self.session.show_view(view)
        if editable:  # only an editable widget has edits, or can restore them
            self.session.keep_edits(settings if settings is not None else FileSettings())
        self._publish = CoalescedCall(self._post, self._send_view)
        self._paint = CoalescedCall(self._post, self._draw)
        s = self.session
        for signal in (
            s.changed, s.tree.changed, s.metadata.changed, s.edit.changed, s.slice.changed, s.values.changed,
            s.chunks.changed, s.problems.changed,
        ):  # fmt: skip
            signal.connect(self._soon, check_nargs=False)
        self._heard: set[str] = set(CONTENT)
        """Views whose presenters are listened to."""
        s.slice.painted.connect(self._paint.soon, check_nargs=False)
        s.slice.probed.connect(self._send_probe, check_nargs=False)
        self.on_msg(self._receive)
        self.observe(self._from_python, names=["path", "index", "clim", "state"])
        self._mirroring = False
        self._publish.soon()

    # ------------------------------------------------------------------ out
    def _soon(self, _: object = None) -> None:
        self._publish.soon()

    def _send_probe(self) -> None:
        if not self._closed:
            self.probe = {**plain(self.session.slice.probe), "why": self.session.slice.note}

    def _send_view(self) -> None:
        if self._closed:
            return
        s = self.session
        for id, presenter in s.tabs.presenters.items():
            if id not in self._heard:
                self._heard.add(id)
                presenter.changed.connect(self._soon, check_nargs=False)
        with self.hold_sync():
            self.view = {
                "session": plain(s.state),
                "rows": plain(s.tree.flat(*self._rows)),
                "first_row": self._rows[0],
                "row_count": s.tree.flat_count,
                **content(s),
                "cleared": self.cleared,
                "credentials": plain(s.credentials),
                "editable": self._editable,
                "words": WORDS,
                "keys": KEYS,
            }
        self._mirror()
        self._paint.soon()

    def _mirror(self) -> None:
        """Copies what is shown to the traits that Python observes."""
        state = self.session.slice.state
        self._mirroring = True
        try:
            self.path = self.session.state.path
            self.index = {a.name: a.index for a in state.axes if a.role == "slider"}
            self.clim = {c.label: (c.lo, c.hi) for c in state.channels if c.lo is not None and c.hi is not None}
            self.state = self.session.view_text()
        finally:
            self._mirroring = False

    def _draw(self) -> None:
        """Paints the viewport in a worker. Requests that come meanwhile are merged into one."""
        if self._closed:
            return
        if self._painting is not None:
            self._repaint = True
            return
        s = self.session.slice
        frame = s.frame
        if s.state.kind != "image" or not frame.shape[0]:
            return
        rect = self._rect or (0.0, 0.0, float(frame.shape[0]), float(frame.shape[1]))
        height, width = self._pixels
        rgb = s.picture(height, width)
        sent = {
            "rect": list(rect), "shape": list(frame.shape), "aspect": frame.aspect, "sentence": frame.sentence,
            "blocked": frame.blocked, "loading": frame.loading, "failed": frame.failed, "level": frame.level,
            "bar": plain(s.scale_bar((rect[3] - rect[1]) / 5)),
            "marks": [[*t.rect, t.state.value, t.sentence, list(t.key)] for t in frame.tiles
                      if t.state.value in ("failed", "undecodable")],
        }  # fmt: skip

        def done(outcome: JobResult[bytes]) -> None:
            self._painting = None
            if outcome.value is not None:
                with self.hold_sync():
                    self.frame = sent
                    self.picture = outcome.value
            if self._repaint:
                self._repaint = False
                self._paint.soon()

        self._painting = self._owner.decode(lambda: png(rgb, level=1), done)

    # ------------------------------------------------------------------ in
    def _receive(self, _: object, message: Any, buffers: object = None) -> None:
        """Handles a message of the browser; anything but a known gesture is dropped."""
        if self._closed or not isinstance(message, dict):
            return
        do, args = message.get("do"), message.get("args")
        if not isinstance(do, str) or not isinstance(args, list):
            return
        if do in ("rows", "viewport", "command", "channel", "axis", "name"):
            try:
                getattr(self, f"_on_{do}")(*args)
            except (TypeError, ValueError, OverflowError):
                self.log.debug("%s%s", do, args)
        else:
            self._call(do, args)

    def _on_rows(self, start: int, stop: int) -> None:
        """The part of the tree that is scrolled into sight."""
        first = max(0, int(start))
        self._rows = (first, max(first, min(int(stop), first + ROWS)))
        self._publish.soon()

    def _on_viewport(self, rect: list[float], pixels: list[int]) -> None:
        y0, x0, y1, x1 = (float(edge) for edge in rect)
        if not all(isfinite(edge) for edge in (y0, x0, y1, x1)) or y1 <= y0 or x1 <= x0:
            return
        height, width = (max(1, min(PICTURE_LIMIT, int(side))) for side in pixels)
        self._rect, self._pixels = (y0, x0, y1, x1), (height, width)
        self.session.slice.viewport(self._rect, self._pixels)
        self._paint.soon()

    def _on_command(self, command: str) -> None:
        if command in KEYS.values() or (command in EDITING and self._editable):
            perform(self.session, command)

    def _on_channel(self, number: int) -> None:
        toggle_channel(self.session, int(number))

    def _on_name(self, text: str) -> None:
        if open_name(self.session, str(text)):
            self.cleared += 1
            self._publish.soon()

    def _on_axis(self, letter: str) -> None:
        choose_axis_key(self.session, str(letter))

    def _call(self, do: str, args: list[Any]) -> None:
        name, _, method = do.partition(".")
        if method not in CALLS.get(name, ()) or (
            name == "edit" and not self._editable and method not in ("fold", "show_way")
        ):
            return
        gesture = getattr(self.session if name == "session" else getattr(self.session, name), method)
        arguments = [tuple(a) if isinstance(a, list) else a for a in args]
        try:
            inspect.signature(gesture).bind(*arguments)
            gesture(*arguments)
        except ZarrscopeError:  # NotFound is a KeyError too, but no fault of the message
            raise
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            self.log.debug("%s%s", do, args)
        if do == "slice.hover":
            self._send_probe()

    def _from_python(self, change: Any) -> None:
        if self._mirroring or self._closed:
            return
        s = self.session
        self._publish.soon()
        if change["name"] == "state":
            s.go_to(change["new"])
        elif change["name"] == "path":
            s.select(change["new"])
        elif change["name"] == "index":
            for axis, position in change["new"].items():
                s.slice.set_index(axis, int(position))
        else:
            for number, channel in enumerate(s.slice.state.channels):
                if channel.label in change["new"]:
                    lo, hi = change["new"][channel.label]
                    s.slice.set_levels(number, float(lo), float(hi))

    # ------------------------------------------------------------------ for people at the prompt
    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and beside it a summary for where no kernel runs: GitHub, nbviewer, a saved page."""
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/html"] = self._summary()
        return bundle

    def _summary(self) -> str:
        """The selected node as HTML of bounded size. While the node is being opened, it waits for a bounded time."""
        node = self.session.node
        if node is not None:
            return str(node._repr_html_())
        url, path = self.session.url, self.session.state.path
        links, fill = self.session.follows_links, self.session.missing_is_fill
        found: list[str] = []

        def work() -> str:
            options = {"missing_is_fill": True} if fill else None
            hierarchy = open_hierarchy(url, follow_links=links, storage_options=options)
            return str(hierarchy[path if path != "/" else hierarchy.initial_path]._repr_html_())

        mailbox = Mailbox()
        owner = shared().owner(mailbox)
        ticket = owner.fetch(work, lambda outcome: found.append(outcome.value or ""))
        try:
            mailbox.run_until(lambda: ticket.finished, SUMMARY_SECONDS)
        except TimeoutError:
            pass
        finally:
            owner.close()
        return "".join(found) or f"<code>{escape(self.code)}</code>"

    @property
    def code(self) -> str:
        """A line of Python that reads the selected node."""
        session = self.session
        return python_text(session.url, session.state.path, session.follows_links, session.missing_is_fill)

    def close(self) -> None:
        """Gives everything back; nothing is sent afterwards."""
        if not self._closed:
            self._closed = True
            self.session.close()
            self._owner.close()
        super().close()

    def __repr__(self) -> str:
        return strings.clean(f"<Explorer {self.session.state.url} {self.path}>")


WORDS = {
    **LABELS, **{c.id: c.label for c in COMMANDS},
    "retry": strings.RETRY, "cancel": strings.CANCEL, "load": strings.LOAD_ANYWAY, "no-image": strings.NO_IMAGE,
}  # fmt: skip
KEYS = {k: c.id for c in COMMANDS if c.id in {*ACTIONS, "zoom-in", "zoom-out", "fit"} for k in c.keys if is_plain(k)}


def explore(
    target: Any = None,
    *,
    editable: bool = False,
    follow_links: bool = False,
    missing_is_fill: bool = False,
    height: int = 420,
    path: str | None = None,
    state: str | None = None,
) -> Explorer:
    """Shows `target` in a cell: an address, a zarrscope Hierarchy, Group or Array, or what else zarrscope.open takes: a
    node or store of zarr-python, a Dataset of xarray or an array of dask that came from Zarr, a file system, a mapping.

    `editable` opens it for writing (attributes only; a Save and a diff stand before every write; edits that were not
    saved when the kernel ended are offered when the place is explored again). `follow_links`: also links that
    lead out of the folder. `missing_is_fill`: takes as missing what a server does not give out, where it does not tell
    one from the other. What is opened already keeps to what it was opened with. `height` in pixels. `state`: a view
    that was copied; it may stand in place of the target, too. Raises TypeError for any other target, Refused for a text
    that is no view.
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
    )
    shown.held = found.held
    return shown
