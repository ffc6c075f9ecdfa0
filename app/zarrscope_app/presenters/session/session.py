"""One opened hierarchy: where one is, what one sees, what has changed. Its presenters all speak of the selected node.

A session opens in the background. `state` is a frozen snapshot; `changed()` says there is a new one. Everything it has
asked for is given back by `close()`; after that no callback comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from psygnal import Signal

from zarrscope import chunks
from zarrscope.background import Background, Outcome, Ticket, shared
from zarrscope.chunks import ChunkLoader
from zarrscope.errors import ZarrscopeError
from zarrscope.hierarchy import Hierarchy
from zarrscope.opening import open as open_hierarchy
from zarrscope.pyramid import Image
from zarrscope_app.presenters import words
from zarrscope_app.presenters.edit import EditPresenter
from zarrscope_app.presenters.jobs import JobsPresenter
from zarrscope_app.presenters.looking import Selection, drawable, labels_of, look_at
from zarrscope_app.presenters.metadata import Info, MetadataPresenter
from zarrscope_app.presenters.nodes import NodesPresenter
from zarrscope_app.presenters.problems import ProblemsPresenter
from zarrscope_app.presenters.slice import SlicePresenter
from zarrscope_app.presenters.tree import TreePresenter
from zarrscope_app.presenters.turn import OncePerTurn, Post
from zarrscope_app.presenters.values import ValuesPresenter

TABS = (
    ("image", "Image"),
    ("values", "Values"),
    ("attributes", "Attributes"),
    ("info", "Info"),
    ("problems", "Problems"),
)
"""(id, title) in the order of all hosts."""


class SessionStatus(Enum):
    OPENING = "opening"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True)
class Tab:
    id: str
    title: str
    enabled: bool
    """False: the selected node has nothing to show there."""


@dataclass(frozen=True)
class SessionState:
    status: SessionStatus
    url: str
    path: str
    """The selected node."""
    name: str
    """Of the hierarchy, for a window's title: "cells.zarr"."""
    title: str
    """As `name`, with a dot in front while there are changes."""
    crumbs: tuple[tuple[str, str], ...]
    """(label, path) from the root to the selected node."""
    address: str
    """What the address line holds: URL and path."""
    facts: str
    """ "v3 · OME-Zarr 0.5 · read-only"."""
    tab: str
    """The id of the tab in front."""
    tabs: tuple[Tab, ...]
    selecting: bool
    """The selected node is still being opened."""
    sentence: str
    """For the strip under the address line; "" when all is well."""
    details: str
    retry: bool
    writable: bool
    offers: tuple[str, ...]
    """Commands that fit what the selected node demands: "open-anyway" where that is not understood here and may be
    passed over, "fallback" where its data type is not and its document offers another."""
    unsaved: str
    """ "2 changes", or ""."""
    status_text: str
    """The rest of the status bar: level, tiles loading, changes."""


class Session:
    """`Session(url, post)`: `url` may name a node within the store. Raises nothing: what fails is in `state`."""

    changed = Signal()

    def __init__(
        self,
        url: str,
        post: Post,
        *,
        writable: bool = False,
        path: str | None = None,
        background: Background | None = None,
        loader: ChunkLoader | None = None,
        opener: Callable[..., Any] | None = None,
    ) -> None:
        """`path`: the node to select first; None: the one the address names. `opener(url, mode)` gives a Hierarchy,
        `opener(url, "r", lenient=True)` one that passes over demands that are not understood, with `fallbacks=False`
        one that shows no data type as another."""
        self.url = url
        self.owner = (background or shared()).owner(post)
        self.loader = loader or chunks.shared()
        self._opener = opener or _open
        self._wanted = path
        self._writable = writable
        self._lenient = self._passable = self._falls_back = False
        self._fallbacks = True
        self._hierarchy: Any = None
        self._held: str | None = None
        self._closed = False
        self._status = SessionStatus.OPENING
        self._path = path or "/"
        self._node: Any = None
        self._tab = "info"
        self._chosen = ""
        self._can: frozenset[str] = frozenset()
        self._version = ""
        self._strip = words.Problem("", "")
        self._ticket: Ticket | None = None
        self._history: list[str] = []
        self._at = -1
        self._view: Any = None
        self._told: SessionState | None = None
        self._turn = OncePerTurn(self.owner.post, self._tell)

        self.problems = ProblemsPresenter()
        self.jobs = JobsPresenter(self.owner)
        self.tree = TreePresenter(self.owner)
        self.metadata = MetadataPresenter(self.owner)
        self.edit = EditPresenter(self.owner)
        self.slice = SlicePresenter(self.owner, self.loader)
        self.values = ValuesPresenter(self.owner, self.loader)
        self.nodes = NodesPresenter(self)
        self.tree.set_name(self.name)
        self.edit.changed.connect(self._edited)
        self.slice.changed.connect(self._refresh)
        self.slice.painted.connect(self._refresh)
        self.slice.failed.connect(self.problems.add)
        self.problems.changed.connect(self._refresh)
        self._open()

    # ------------------------------------------------------------------ opening
    def _open(self) -> None:
        self._status, self._strip = SessionStatus.OPENING, words.Problem("", "")
        opener, url, mode = self._opener, self.url, "r+" if self._writable else "r"
        options = {"lenient": True} if self._lenient else {}
        if not self._fallbacks:
            options["fallbacks"] = False
        self._stop()

        def done(outcome: Outcome[tuple[Any, str, Any]]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                self._strip = self.problems.add(outcome.error or RuntimeError())
                self._status = SessionStatus.FAILED
                self.tree.fail(self._strip.headline)
                self._refresh()
                return
            hierarchy, entry, kind = outcome.value
            self._hierarchy = hierarchy
            self._hold(hierarchy.url)
            self._status = SessionStatus.READY
            for warning in getattr(hierarchy, "warnings", ()):
                self.problems.add(words.warning(warning, place=hierarchy.url))
            self.tree.attach(hierarchy, self.name, kind)
            self.edit.attach(hierarchy, bool(hierarchy.writable))
            self._node = None
            self.select(self._wanted or entry)

        def work() -> tuple[Any, str, Any]:
            hierarchy = opener(url, mode, **options)
            return hierarchy, hierarchy.entry, hierarchy.root.kind

        self._ticket = self.owner.fetch(work, done)
        self._refresh()

    def _hold(self, url: str | None) -> None:
        """Which store's chunks are worth keeping for this session."""
        held, self._held = self._held, url
        if url is not None:
            self.loader.opened(url)
        if held is not None:
            self.loader.closed(held)

    def _stop(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def retry(self) -> None:
        """After FAILED: opens again. After a node that could not be read: reads it again."""
        if self._status is SessionStatus.FAILED:
            self.problems.clear()
            self._open()
        elif self._hierarchy is not None:
            self.problems.clear(self._path)
            self._select(self._path)

    def reload(self) -> None:
        """Reads everything again (F5). Unsaved changes are kept; saving compares them with what is stored then."""
        self._wanted = self._path
        self._view = self.slice.view()
        node = self._node
        if node is not None:
            for array in self._arrays(node):
                self.loader.invalidate(array)
        self.problems.clear()
        self._open()

    def follow(self, path: str, to: str | None, *, moved: bool) -> None:
        """A node went from `path` to `to` (None: it was erased): reads everything anew, and goes where what is selected
        went; what was only copied is where it was."""
        if moved and f"{self._path}/".startswith(f"{path}/"):
            self._path = to + self._path[len(path) :] if to is not None else path.rpartition("/")[0] or "/"
            self._node = None
        elif to is not None and not moved:
            self._path, self._node = to, None
        self.reload()

    def _arrays(self, node: Any) -> list[Any]:
        """The arrays whose chunks are on show."""
        image = self.slice.image
        return [level.array for level in image.levels] if image is not None else [node] if node.kind == "array" else []

    def set_writable(self, writable: bool) -> None:
        """Opens the same place for writing, or read-only again. Nothing is written where `open_anyway` was needed."""
        if writable != self._writable or self._lenient:
            self._writable, self._lenient = writable, False
            self.reload()

    def open_anyway(self) -> None:
        """Opens the same place read-only, passing over what it demands and zarrscope does not understand."""
        if not self._lenient:
            self._writable, self._lenient = False, True
            self.reload()

    @property
    def fallbacks(self) -> bool:
        """Data types that are not understood are shown as the fallback their document offers."""
        return self._fallbacks

    def set_fallbacks(self, on: bool) -> None:
        """Opens the same place with fallbacks of data types, or without."""
        if on != self._fallbacks:
            self._fallbacks = on
            self.reload()

    def dismiss(self) -> None:
        """Clears the strip."""
        self._strip = words.Problem("", "")
        self._refresh()

    def close(self) -> None:
        """Gives back every request; nothing is called afterwards."""
        self._closed = True
        self.owner.close()
        self.slice.clear()
        self._hold(None)
        close = getattr(getattr(self._hierarchy, "store", None), "close", None)
        if close is not None:
            try:
                close()
            except ZarrscopeError:
                pass

    # ------------------------------------------------------------------ selecting
    def select(self, path: str) -> None:
        """Goes to a node: its metadata, form, picture and values follow in the background."""
        path = "/" + "/".join(part for part in path.split("/") if part)
        if self._hierarchy is None:
            self._wanted = path
            return
        if path == self._path and (self._node is not None or self._ticket is not None):
            # Hosts echo a selection they were told of; reading it again would take the node away for a moment.
            if self._node is not None and self._view is not None:
                self.slice.restore(self._view)
                self._view = None
            return
        if not self._history or self._history[self._at] != path:
            del self._history[self._at + 1 :]
            self._history.append(path)
            self._at = len(self._history) - 1
        self._select(path)

    def _select(self, path: str) -> None:
        hierarchy = self._hierarchy
        self._stop()
        self._path, self._node = path, None
        self._passable = self._falls_back = False
        self._strip = words.Problem("", "")
        self.tree.reveal(path)

        def done(outcome: Outcome[Selection]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                self._strip = self.problems.add(outcome.error or RuntimeError(), path)
                self._nothing(self._strip.headline)
            else:
                self._show(outcome.value)
            self._refresh()

        self._ticket = self.owner.fetch(lambda: look_at(hierarchy, path), done)
        self._refresh()

    def _nothing(self, sentence: str) -> None:
        self._can = frozenset({"info"})
        self._tab = "problems" if self._chosen == "problems" else "info"
        self.metadata.show(self._hierarchy, Info(self._path, problem=sentence))
        self.slice.clear(sentence)
        self.values.clear(sentence)

    def _show(self, found: Selection) -> None:
        node = found.node
        self._node, self._passable, self._falls_back = node, found.passable, found.fallback is not None
        self.metadata.show(node.hierarchy, found.info)
        self.edit.select(node.path, node.kind)
        for warning in found.info.warnings:
            self.problems.add(words.warning(warning, node.path))
        if found.info.problem:
            problem = self.problems.add(node.problem, node.path)
            if found.passable or found.fallback is not None:
                self._strip = replace(problem, retry=False)
        elif found.fallback is not None:
            self._strip = words.fell_back(found.fallback.name, found.fallback.advice, node.path)
        if found.icon:
            self.tree.mark(node.path, found.icon)
        can = {"attributes", "info"}
        if node.kind == "array":
            can.add("values")
            self.values.show_array(node)
        else:
            self.values.clear(words.NO_TABLE)
        self._version = found.image.version if found.image is not None else ""
        if found.image is not None and (drawable(found.image) or found.image.levels[0].array.problem is not None):
            can.add("image")
            self.slice.set_image(found.image, found.labels or {})
            if found.labels is None:
                self._show_labels(node, found.image)
            if self._view is not None:
                self.slice.restore(self._view)
        else:
            self.slice.clear()
        self._view = None
        self._can = frozenset(can)
        fitting = "image" if "image" in can else "values" if "values" in can else "info"
        self._tab = self._chosen if self._chosen in can | {"problems"} and self._chosen != "values" else fitting

    def _show_labels(self, node: Any, image: Image) -> None:
        hierarchy = self._hierarchy

        def done(outcome: Outcome[dict[str, Image | None]]) -> None:
            if self._node is node and outcome.value:
                self.slice.set_labels(outcome.value)

        self.owner.fetch(lambda: labels_of(hierarchy, image), done)

    def set_tab(self, tab: str) -> None:
        if tab in dict(TABS):
            self._tab = tab
            self._chosen = tab if tab in ("attributes", "info", "problems") else ""
            self._refresh()

    def back(self) -> None:
        """To the node selected before."""
        self._travel(-1)

    def forward(self) -> None:
        self._travel(1)

    def _travel(self, by: int) -> None:
        if 0 <= self._at + by < len(self._history):
            self._at += by
            self._select(self._history[self._at])

    # ------------------------------------------------------------------ the snapshot
    @property
    def name(self) -> str:
        """Of the hierarchy: the last part of its address."""
        parts = [part for part in self.url.replace("\\", "/").rstrip("/").split("/") if part and not part.endswith(":")]
        return words.clean(parts[-1], 80) if parts else words.clean(self.url, 80)

    @property
    def hierarchy(self) -> Any:
        """The opened Hierarchy, None before; for hosts that hand arrays on (napari)."""
        return self._hierarchy

    @property
    def node(self) -> Any:
        """The selected Group or Array, None while it is being read."""
        return self._node

    @property
    def state(self) -> SessionState:
        """Made anew each time: it tells of all presenters, and none of them may be a turn behind."""
        hierarchy = self._hierarchy
        facts = ""
        writable = bool(hierarchy is not None and hierarchy.writable)
        if hierarchy is not None:
            facts = words.joined(
                hierarchy.dialect.name,
                f"OME-Zarr {words.clean(self._version)}" if self._version else "",
                words.WRITABLE if writable else words.OPENED_ANYWAY if self._lenient else words.READ_ONLY,
            )
        unsaved = words.changes(self.edit.unsaved)
        frame = self.slice.frame
        parts = [part for part in self._path.split("/") if part]
        crumbs = [(self.name, "/")]
        crumbs += [(words.clean(part, 60), "/" + "/".join(parts[: i + 1])) for i, part in enumerate(parts)]
        titles = {"attributes": self.edit.state.title, "problems": self.problems.title}
        opening = self._status is SessionStatus.OPENING
        return SessionState(
            self._status,
            self.url,
            self._path,
            self.name,
            f"• {self.name}" if unsaved else self.name,
            tuple(crumbs),
            words.clean(self.url.rstrip("/") + (self._path if self._path != "/" and hierarchy is not None else "")),
            facts or (words.OPENING if opening else ""),
            self._tab,
            tuple(Tab(id, titles.get(id, title), id in self._can or id == "problems") for id, title in TABS),
            self._ticket is not None,
            self._strip.headline,
            self._strip.details,
            self._strip.retry,
            writable,
            self._offers(),
            unsaved,
            words.joined(
                self.slice.state.level_text if len(self.slice.state.levels) > 1 else "",
                frame.sentence if frame.blocked else words.tiles_loading(frame.loading),
                f"✎ {unsaved}" if unsaved else "",
            ),
        )

    def _offers(self) -> tuple[str, ...]:
        found = {"open-anyway": self._passable, "fallback": self._falls_back}
        return tuple(command for command, offered in found.items() if offered)

    def _edited(self) -> None:
        self.tree.set_dirty(self.edit.dirty_paths)
        self._refresh()

    def _refresh(self) -> None:
        self._turn.soon()

    def _tell(self) -> None:
        state = self.state
        if state != self._told:  # a picture that is painted changes nothing here, as a rule
            self._told = state
            self.changed.emit()

    # ------------------------------------------------------------------ a view to come back to
    def view(self) -> dict[str, Any]:
        """Place and looks, as JSON."""
        return {"url": self.url, "path": self._path, "slice": self.slice.view()}

    def restore(self, view: Any) -> None:
        """Looks to use once the picture is there."""
        self._view = view


def _open(url: str, mode: Any, *, lenient: bool = False, fallbacks: bool = True) -> Hierarchy:
    return open_hierarchy(url, mode, lenient=lenient, fallbacks=fallbacks)
