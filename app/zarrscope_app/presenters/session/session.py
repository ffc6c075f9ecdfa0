"""A session: one opened hierarchy, the selected node, its display and its changes. All of its presenters show the
selected node.

A session opens in the background. `state` is a frozen snapshot; the signal `changed()` is emitted for a new one.
`close()` cancels all requests; no callback is called afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.nodes.internals import node_context
from zarrscope.runtime.threads import Background, JobResult, Ticket, shared
from zarrscope.stores.address import absolute_address
from zarrscope.view import loader as chunks
from zarrscope.view.image import Image
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import strings, views
from zarrscope_app.presenters.advice import REFRESH
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.coalesce import CoalescedCall, Post
from zarrscope_app.presenters.form import field_editors
from zarrscope_app.presenters.form.presenter import EditPresenter
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.jobs import JobsPresenter
from zarrscope_app.presenters.metadata import MetadataPresenter
from zarrscope_app.presenters.node_description import Info
from zarrscope_app.presenters.node_details import NodeDetails, kind_and_icon, labels_of, read_details
from zarrscope_app.presenters.nodes.presenter import NodesPresenter
from zarrscope_app.presenters.problems import ProblemsPresenter
from zarrscope_app.presenters.session.attempts import WatchesAttempts
from zarrscope_app.presenters.session.changing import Changing, open_patiently, see_what_grew
from zarrscope_app.presenters.session.credentials import AsksCredentials
from zarrscope_app.presenters.session.elements import show_elements
from zarrscope_app.presenters.session.enclosing import OpensEnclosing
from zarrscope_app.presenters.session.exporting import ExportPresenter
from zarrscope_app.presenters.session.gathering import GathersImages
from zarrscope_app.presenters.session.history import History
from zarrscope_app.presenters.session.kept_edits import KeepsEdits
from zarrscope_app.presenters.session.kept_views import KeepsViews
from zarrscope_app.presenters.session.one_place import OnePlace
from zarrscope_app.presenters.session.open_in import Elsewhere
from zarrscope_app.presenters.session.opening import Opening, OpensOtherwise, open_place
from zarrscope_app.presenters.session.several import SelectsSeveral
from zarrscope_app.presenters.session.tabs import Tabs
from zarrscope_app.presenters.session.taken_view import changes_of_view
from zarrscope_app.presenters.session.view_models import SessionState, SessionStatus, crumbs, facts_of, place_name
from zarrscope_app.presenters.session.waiting import WaitsForStores
from zarrscope_app.presenters.signals import signal
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.values import ValuesPresenter

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy


class Session(
    OpensOtherwise, OpensEnclosing, KeepsViews, OnePlace, KeepsEdits, WatchesAttempts, AsksCredentials, SelectsSeveral,
    WaitsForStores, GathersImages,
):  # fmt: skip
    """One opened hierarchy with its presenters. `url` is its address. `state` shows all failures."""

    changed = signal()
    layers_say = False
    """Whether layers are made of the images; these say themselves where an image lies."""

    def __init__(
        self,
        url: str,
        post: Post,
        *,
        writable: bool = False,
        follow_links: bool = False,
        missing_is_fill: bool = False,
        path: str | None = None,
        background: Background | None = None,
        loader: ChunkLoader | None = None,
        opener: Callable[..., Any] | None = None,
    ) -> None:
        """`url` may name a node: then the hierarchy around it is opened, unless `path` is given. `path`: the node to
        select first; None: the node that the address names. `opener(url, mode)` returns a Hierarchy, and accepts
        four options: `lenient=True` ignores required extensions that are not understood, `fallbacks=False` shows no
        values as their fallback type, `follow_links=True` follows links out of the store, `missing_is_fill=True` treats
        keys that a server denies as missing."""
        self.url = self.given = public(absolute_address(url))
        self.owner = (background or shared()).owner(post)
        self.loader = loader or chunks.shared()
        self._opener = opener or open_place
        self._wanted, self._seeks = path, path is None
        self._opening = Opening(writable, follow_links, missing_is_fill)
        self._passable = self._falls_back = self._closed = False
        self._hierarchy: Hierarchy | None = None
        self.error: BaseException | None = None
        """The reason why the hierarchy, or the node that was selected last, could not be read."""
        self._status = SessionStatus.OPENING
        self._path = path or "/"
        self._node: Group | Array | None = None
        self._version = ""
        self._shown_problem = self._reported = strings.Problem("", "")
        self._ticket: Ticket | None = None
        self._history = History()
        self._changing = Changing(self._refresh)
        self._shown = ""
        """The path of the displayed array or node while it is read again; otherwise ""."""
        self._view: tuple[str, Any] | None = None
        """(path of a node, "" for any; display settings for its picture), to be restored."""
        self._told: SessionState | None = None
        self._notify = CoalescedCall(self.owner.post, self._tell)

        self.jobs = JobsPresenter(self.owner)
        self.tree = TreePresenter(self.owner)
        self.tabs = Tabs(self.owner, self.loader, lambda error: self.problems.add(error))
        made: dict[str, Any] = {**self.tabs.presenters}
        self.slice: SlicePresenter = made["image"]
        self.values: ValuesPresenter = made["values"]
        self.edit: EditPresenter = made["attributes"]
        self.chunks: ChunksPresenter = made["chunks"]
        self.metadata: MetadataPresenter = made["info"]
        self.problems: ProblemsPresenter = made["problems"]
        self.nodes = NodesPresenter(self)
        self.export = ExportPresenter(self)
        self.elsewhere = Elsewhere(self)
        self._watch_waits()
        self.tree.set_name(self.name)
        self.edit.changed.connect(self._edited)
        self.edit.saved.connect(self._read_again)
        self.edit.saved.connect(made["overview"].forget)
        made["overview"].named.connect(self.tree.entitle)
        made["overview"].named.connect(self._refresh)
        self._watch_attempts()
        self.tree.attempted.connect(self._listed)
        self.tree.ask_by(lambda: self.access_denied)
        self.edit.offer_view(partial(changes_of_view, self.slice))
        self._share_indices()
        self.slice.changed.connect(self._refresh)
        self.slice.painted.connect(self._refresh)
        self.slice.painted.connect(self.chunks.live)
        self.chunks.image_asked.connect(partial(show_elements, self))
        self.problems.changed.connect(self._refresh)
        self._open()

    # ------------------------------------------------------------------ opening
    def _open(self) -> None:
        self._status, self._shown_problem = SessionStatus.OPENING, self._reported
        opening, opener, url = self._opening, self._opener, self.url
        again, self._shown = self._shown, ""
        self._end_opening()

        def done(outcome: JobResult[tuple[tuple[Any, str], Any]]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                self.error, self._status = outcome.error, SessionStatus.FAILED
                self._shown_problem = self.problems.add(outcome.error or RuntimeError())
                self.tabs.bring_problems(self._shown_problem.headline)
                self.tree.fail(self._shown_problem.headline)
                self._refresh()
                return
            (hierarchy, around), root = outcome.value
            entry, first = hierarchy.initial_path, self.url
            self._settle(entry, around)
            self._hierarchy = hierarchy
            self._hold(hierarchy.url)
            self._status, self._tried = SessionStatus.READY, None
            self.tabs.add(views.plugged_in()[0])
            for fault in (*views.plugged_in()[1], *field_editors.plugged_in()[1]):
                self.problems.add(fault)
            for warning in hierarchy.warnings:
                told = self.problems.add(strings.warning(warning, place=hierarchy.url))
                if url.startswith("ssh:") and hierarchy.url.startswith("sftp:"):  # less can be done than was asked for
                    self._reported = self._shown_problem = told
            self.tree.attach(hierarchy, self.name, *root)
            self.edit.attach(hierarchy, bool(hierarchy.writable))
            if self.rescue is not None:
                self.rescue.opened(hierarchy)
            self._node = None
            self._go(self._wanted or entry)
            self._tell_place(first)

        def work() -> tuple[tuple[Any, str], Any]:
            for table in (views, field_editors):  # imports plugins in the worker, so that no host waits for them
                table.plugged_in()
            found = self._open_around(lambda at: open_patiently(lambda: opening.open(opener, at), bool(again)), url)
            if again:
                see_what_grew(found[0], again)
            return found, kind_and_icon(found[0].root)

        self._ticket = self.owner.read(work, done)
        self._refresh()

    def _end_opening(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None

    def retry(self) -> None:
        """Tries again: opens the hierarchy if that has FAILED or is stale, otherwise reads the selected node again."""
        if self._status is SessionStatus.FAILED or self._retry_label == REFRESH:
            self.reload()
        elif self._hierarchy is not None:
            self.problems.clear(self._path)
            self._select(self._path)

    def reload(self) -> None:
        """Reads everything again (F5). Unsaved changes stay; saving compares them with the stored documents."""
        self._ask_anew()
        self._wanted = self._path if self._hierarchy is not None else self._wanted
        if (node := self._node) is not None:
            self._view = (self._path, self._settings_on_show())
            arrays = self._arrays(node)
            self._shown = arrays[0].path if arrays else node.path
            for array in arrays:
                self.loader.invalidate(array)
        self.problems.clear()
        self._open()

    def follow(self, path: str, to: str | None, *, moved: bool) -> None:
        """Reads everything again after an action on the node at `path`, and selects the node `to`. With `moved`, the
        node at `path` was moved to `to` (None: it was erased): the selection then changes only if it was at or beneath
        `path`; it goes to the new path, or to the group above an erased node."""
        if moved and f"{self._path}/".startswith(f"{path}/"):
            self._path = to + self._path[len(path) :] if to is not None else path.rpartition("/")[0] or "/"
        elif to is not None and not moved:
            self._node = self._node if self._path == path else None
            self._path = to
        self.reload()

    def _arrays(self, node: Group | Array) -> list[Any]:
        """The arrays whose chunks the picture or the table displays."""
        image = self.slice.image
        return [level.array for level in image.levels] if image is not None else [node] if node.kind == "array" else []

    def poll_growth(self) -> None:
        """Checks whether the displayed array has grown; see GrowthPolling."""
        self._changing.poll(self.owner, self._hierarchy)

    def stop_polling(self) -> None:
        """Cancels a check that `poll_growth` began."""
        self._changing.cancel()

    def report(self, error: BaseException) -> None:
        """Shows an error of the host itself in the error bar and among the problems."""
        self._reported = self._shown_problem = replace(self.problems.add(error), retry=False)
        self._refresh()

    def _show_problem(self, problem: strings.Problem) -> None:
        self._reported, self._shown_problem = strings.Problem("", ""), problem
        self._refresh()

    def _go_on(self) -> None:
        self._show_problem(strings.Problem("", ""))
        hierarchy = self._hierarchy
        assert hierarchy is not None  # this is called only while a hierarchy is open
        self._hold(*dict.fromkeys((*self._held, hierarchy.url)))
        nodes = node_context(hierarchy)
        nodes.forget()
        self.tree.read_denied_again()
        if self._node is None or nodes.passed_over.pop(self._path, None) is not None:
            self._select(self._path)
        self.slice.retry()
        self.values.retry()

    def dismiss(self) -> None:
        """Clears the error bar."""
        self._reported = self._shown_problem = strings.Problem("", "")
        if self.rescue is not None:
            self.rescue.hide()
        self._refresh()

    def close(self) -> None:
        """Cancels every request; no callback is called afterwards."""
        self._closed = True
        self.elsewhere.close()
        self.keep_display_settings()
        self.keep_unsaved()
        self.owner.close()
        self.slice.clear()
        self._hold()
        if self._hierarchy is not None:
            with suppress(ZarrscopeError):
                self._hierarchy.store.close()

    # ------------------------------------------------------------------ selecting
    def select(self, path: str) -> None:
        """Goes to a node: its metadata, form, picture and values are read in the background."""
        self.select_several(())
        self._go(path)

    def _go(self, path: str) -> None:
        path = "/" + "/".join(part for part in path.split("/") if part)
        if self._hierarchy is None:
            self._wanted = path
            return
        if path == self._path and (self._node is not None or self._ticket is not None):
            # Hosts also report a selection that the session itself made; reading the node again would make it flicker.
            if self._node is not None:
                self._restore_view()
            return
        self._history.visit(path)
        self._select(path)

    def _select(self, path: str) -> None:
        if self._node is not None:
            self.keep_display_settings()
            self._leave_place()
        self._wanted, self._path, self._node = path, path, None
        self._note = self._note if path == self._note[0] else ("", "")
        self.tree.reveal(path)
        self.edit.expect(path)
        hierarchy = self._hierarchy
        if self._status is SessionStatus.OPENING or hierarchy is None:  # the node is read once the hierarchy is open
            self._refresh()
            return
        self._end_opening()
        self._passable, self._falls_back, self._shown_problem = False, False, self._reported

        def done(outcome: JobResult[NodeDetails]) -> None:
            self._ticket = None
            if outcome.error is not None or outcome.value is None:
                self.error = outcome.error
                self._shown_problem = self.problems.add(outcome.error or RuntimeError(), path, cause=("node", path))
                self.tabs.show(NodeDetails(hierarchy, None, Info(path, problem=self._shown_problem.headline)))
                self._changing.show(path, ())
            else:
                self._solved(("node", path))
                self._show(outcome.value)
            self._refresh()

        self._ticket = self.owner.read(self._reads(hierarchy, path), done)
        self._refresh()

    def _reads(self, hierarchy: Hierarchy, path: str) -> Callable[[], NodeDetails]:
        origin = self.tree.origin(path)
        return lambda: read_details(hierarchy, path, origin)

    def _show(self, found: NodeDetails) -> None:
        node = found.node
        assert node is not None, "read_details gives one"
        self._node, self._passable, self._falls_back = node, found.passable, found.fallback is not None
        if self.layers_say and found.image is not None and found.image.multiscale is not None:
            said = set(map(strings.clean, found.image.multiscale.warnings))
            kept = tuple(warning for warning in found.info.warnings if warning not in said)
            found = replace(found, info=replace(found.info, warnings=kept))
        self._list_warnings(node.path, found.info.warnings)
        if found.info.problem:
            problem = self.problems.add(node.problem or RuntimeError(found.info.problem), node.path)
            if found.passable or found.fallback is not None:
                self._shown_problem = replace(problem, retry=False)
        elif found.fallback is not None:
            self._shown_problem = strings.fell_back(found.fallback.name, found.fallback.advice, node.path)
        if found.icon:
            self.tree.mark(node.path, found.icon)
        self.tree.entitle(found.titles)
        self._version = found.image.version if found.image is not None else ""
        self.tabs.show(found)
        self._gather(found)
        if found.image is not None and found.has_picture:
            self._saw(found.image)
            self._labels_come = found.labels is None
            if self._labels_come:
                self._show_labels(node, found.image)
            for axis, index in enumerate(self.slice.index):
                self._picture_moved(axis, index)
            self._restore_display_settings()
            self._arrive()
            self._restore_view()
        self._view = None
        self._changing.show(node.path, self._arrays(node))

    def _read_again(self, path: str) -> None:
        """Reads a saved node again, to update names of channels, sizes of pixels, and the Info tab."""
        node, hierarchy = self._node, self._hierarchy
        if node is None or node.path != path or hierarchy is None:
            return
        if node.problem is not None:  # the change may have made the node, and nodes beneath, readable
            self.reload()
            return

        def done(outcome: JobResult[NodeDetails]) -> None:
            if (found := outcome.value) is None or self._node is not node:
                return
            self._node = found.node
            self._list_warnings(path, found.info.warnings)
            self.metadata.show_node(found)
            self.tabs.show_again(found)
            if found.image is None or not self.slice.update_image(found.image):
                view = {name: value for name, value in self._settings_on_show().items() if name != "channels"}
                self._show(found)
                self.slice.restore(view)
            self._refresh()

        self.owner.read(self._reads(hierarchy, path), done)

    def _show_labels(self, node: Group | Array, image: Image) -> None:
        hierarchy = self._hierarchy

        def done(outcome: JobResult[dict[str, Image | None]]) -> None:
            if self._node is node:
                if outcome.value:
                    self.slice.set_labels(outcome.value)
                self._labels_came()

        if hierarchy is not None:
            self.owner.read(lambda: labels_of(hierarchy, image), done)

    def set_tab(self, tab: str) -> None:
        if self.tabs.bring(tab):
            self._refresh()

    def back(self) -> None:
        """Goes to the node that was selected before."""
        self._travel(-1)

    def forward(self) -> None:
        """Goes to the node that was selected before the last `back`."""
        self._travel(1)

    def _travel(self, by: int) -> None:
        if (path := self._history.travel(by)) is not None:
            self._select(path)

    # ------------------------------------------------------------------ the snapshot
    @property
    def name(self) -> str:
        """The name of the hierarchy: the last part of its address."""
        return place_name(self.url)

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The opened Hierarchy, None before it is open; for hosts that pass arrays to another viewer (napari)."""
        return self._hierarchy

    @property
    def node(self) -> Group | Array | None:
        """The selected Group or Array, None while it is being read."""
        return self._node

    @property
    def state(self) -> SessionState:
        """A snapshot, made anew at each call, because it combines the present states of all presenters."""
        hierarchy = self._hierarchy
        facts = facts_of(hierarchy, self._node, self._version, self._opening.lenient, self._changing.sentence)
        unsaved = strings.changes(self.edit.unsaved)
        opening = self._status is SessionStatus.OPENING
        return SessionState(
            self._status,
            self.url,
            self._path,
            self.name,
            f"• {self.name}" if unsaved else self.name,
            crumbs(self.url, self._path, self.tree.titles, whole=hierarchy is None and not opening),
            strings.clean(self.url.rstrip("/") + (self._path if self._path != "/" and hierarchy is not None else "")),
            strings.joined(self._note[1], facts) or (strings.OPENING if opening else ""),
            self.tabs.front,
            self.tabs.snapshot(),
            self._ticket is not None,
            self._shown_problem.headline or (self.rescue.sentence if self.rescue is not None else ""),
            self._shown_problem.details,
            self._retry_label,
            bool(hierarchy is not None and hierarchy.writable),
            self._offers(),
            unsaved,
            self._status_text(unsaved),
            self._shown_problem.severity or "information",
        )

    def _offers(self) -> tuple[str, ...]:
        kept = self.rescue is not None and bool(self.rescue.sentence)
        return self._opening.offers(self.helpful, passable=self._passable, falls_back=self._falls_back, kept=kept)

    @property
    def _reads_chunks(self) -> bool:
        return self._status is not SessionStatus.OPENING and self._node is not None

    def _edited(self) -> None:
        if self._hierarchy is not None:
            for warning in self._hierarchy.warnings:  # saving may have added warnings
                self.problems.add(strings.warning(warning, place=self._hierarchy.url))
        for fault in field_editors.failed.values():
            self.problems.add(fault)
        self.tree.set_dirty(self.edit.dirty_paths)
        self._refresh()

    def _refresh(self) -> None:
        self._notify.soon()

    def _tell(self) -> None:
        state = self.state
        self.edit.judge(state.tab in ("attributes", "problems"))
        self.chunks.bring(state.tab == "chunks")
        if state != self._told:  # most calls, as for a repainted picture, leave the state as it was
            self._told = state
            self.changed.emit()
