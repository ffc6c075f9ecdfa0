"""Several sessions side by side, recent addresses, and restoring a view from its text."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from psygnal import Signal

from zarrscope.errors.confidential import public, without_numbers
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import shared
from zarrscope.stores.address import absolute_address
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import Post
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.closing import unsaved_lines
from zarrscope_app.presenters.jobs import stop_all
from zarrscope_app.presenters.session.bookmarks import Bookmark, Bookmarks, bookmarked
from zarrscope_app.presenters.session.dropped import Drop
from zarrscope_app.presenters.session.kept_views import LastDisplaySettings
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.session.state_text import decode_view
from zarrscope_app.presenters.settings import MemorySettings, Settings
from zarrscope_app.presenters.signals import signal
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.roots import RootsPresenter


@frozen
class Recent:
    """An address that was opened recently, and its name."""

    url: str
    label: str


MAX_RECENT = 12


class Workspace:
    """The sessions of one window.

    `current` is the session in front, None for an empty window, in which a host shows `strings.EMPTY_WINDOW` and
    `recent`.
    """

    changed = signal()
    unopened = Signal(object)
    """Emits the problem (strings.Problem) of dropped places that could not be opened, if nothing else is open."""

    def __init__(self, post: Post, settings: Settings | None = None, make: Callable[..., Session] = Session) -> None:
        self._post = post
        self._settings: Settings = settings if settings is not None else MemorySettings()
        self._make = make
        self._bookmarks = Bookmarks(self._settings)
        self._sessions: list[Session] = []
        self._current: Session | None = None
        self._roots = RootsPresenter(self._bring_tree)
        self._recent = self._load()
        self._drops: list[Drop] = []
        """Those that have not ended: signals do not keep them alive."""

    def _load(self) -> list[str]:
        try:
            found = json.loads(self._settings.load("recent") or "[]")
        except ValueError:
            return []
        return [url for url in found if isinstance(url, str)][:MAX_RECENT] if isinstance(found, list) else []

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The open sessions, in the order of their tabs."""
        return tuple(self._sessions)

    def stop_jobs(self, seconds: float) -> None:
        """Stops the jobs of all sessions, and waits at most `seconds` until they have removed what is unfinished. Any
        thread may call this."""
        stop_all((session.jobs for session in self.sessions), seconds)

    @property
    def current(self) -> Session | None:
        """The session in front; None for an empty window."""
        return self._current

    @property
    def tree(self) -> TreePresenter | RootsPresenter | None:
        """The tree to show: of the only open hierarchy, or of several open ones, each beneath a row of its own; None if
        none is open."""
        if self._current is None:
            return None
        if len(self._sessions) == 1:
            self._roots.close()
            return self._current.tree
        self._roots.show([session.tree for session in self._sessions], self._current.tree)
        return self._roots

    def _bring_tree(self, tree: TreePresenter) -> None:
        self.bring(next(session for session in self._sessions if session.tree is tree))

    @property
    def recent(self) -> tuple[Recent, ...]:
        """The addresses that were opened last, newest first."""
        return tuple(Recent(url, strings.clean(url, 90)) for url in self._recent)

    @property
    def versions(self) -> tuple[Recent, ...]:
        """The other branches and tags of the Icechunk repository in front; () for other places."""
        hierarchy = None if self._current is None else self._current.hierarchy
        kind = None if hierarchy is None else hierarchy.recognition
        others = (each for each in (kind.versions if kind is not None else ()) if not each.shown)
        return tuple(Recent(each.address, f"{each.kind} {strings.clean(each.name, 60)}") for each in others)

    @property
    def folder(self) -> str:
        """The folder of this computer that contains the place opened last, in which a dialog begins; "" for none."""
        places = (url.partition("::")[0] for url in self._recent)
        return next((os.path.dirname(os.path.abspath(place)) for place in places if os.path.isabs(place)), "")

    def drop(self, urls: Sequence[str]) -> None:
        """Opens places that were dropped on the window. Of one that is no Zarr, only the error stays."""
        self._drops = [*(drop for drop in self._drops if not drop.ended), Drop(self, urls)]

    def prepare(self) -> None:
        """Loads in the background what the first `open` would load, for a host that waits for an address: patterns of
        addresses are compiled, for example, and a thread is started."""
        owner = shared().owner(self._post)
        owner.fetch(partial(absolute_address, os.curdir), lambda _: owner.close())

    def open(
        self, url: str, *, writable: bool = False, follow_links: bool = False, missing_is_fill: bool = False
    ) -> Session:
        """Opens an address, or brings its session to the front if it is open already."""
        url = public(absolute_address(url))
        for session in self._sessions:
            if session.is_at(url):
                session.go_to_given(url)
                if writable:
                    session.set_writable(True)
                if follow_links:
                    session.follow_links()
                if missing_is_fill:
                    session.take_as_missing()
                self.bring(session)
                return session
        how = {"follow_links": follow_links, "missing_is_fill": missing_is_fill}
        chosen = {name: True for name, wanted in how.items() if wanted}
        session = self._make(url, self._post, writable=writable, **chosen)
        session.keep_edits(self._settings)
        session.remember_display_settings(LastDisplaySettings(self._settings))
        session.relocated.connect(lambda: self._put_first(session.url))
        session.placed.connect(partial(self._join, session))
        self._sessions.append(session)
        self._current = session
        self._put_first(url)
        return session

    def _join(self, session: Session) -> None:
        """Called when a session has opened the hierarchy around its address: if another session shows that hierarchy,
        only the other one stays, at this one's node."""
        twin = next((other for other in self._sessions if other is not session and other.url == session.url), None)
        if twin is None:
            self.changed.emit()
            return
        in_front = session is self._current
        twin.go_as(session)
        self.close(session)
        if in_front:
            self.bring(twin)

    def _put_first(self, url: str) -> None:
        self._remember([url, *(u for u in self._recent if u != url)][:MAX_RECENT])

    def _remember(self, urls: list[str]) -> None:
        self._recent = urls
        self._settings.store("recent", json.dumps([without_numbers(url) for url in urls]))
        self.changed.emit()

    def bring(self, session: Session) -> None:
        """Brings a session to the front."""
        if session in self._sessions and session is not self._current:
            self._current = session
            self.changed.emit()

    def bring_next(self) -> None:
        """Brings the next hierarchy in the tree to the front; after the last one the first."""
        if self._current is not None:
            at = self._sessions.index(self._current)
            self.bring(self._sessions[(at + 1) % len(self._sessions)])

    def close(self, session: Session) -> None:
        """Closes a session; its right neighbour, or else its left one, comes to the front. Asks nothing, even if edits
        are unsaved."""
        if session in self._sessions:
            at = self._sessions.index(session)
            self._sessions.remove(session)
            session.close()
            if session is self._current:
                self._current = self._sessions[min(at, len(self._sessions) - 1)] if self._sessions else None
            self.changed.emit()

    def forget(self, session: Session) -> None:
        """Closes a session, and removes its address from those that were opened last."""
        self.close(session)
        self._remember([url for url in self._recent if not session.is_at(url)])

    def close_all(self) -> None:
        """Closes all sessions, without asking about unsaved edits."""
        for session in self.sessions:
            self.close(session)

    def keep_unsaved(self) -> str:
        """Stores unsaved edits for the next start, because the process is about to end. Returns what it cannot store,
        as lines to print, "" for none: actions chosen while a place was read-only; if the settings cannot be written,
        also the texts typed meanwhile, and all other edits."""
        lines = []
        for session in self.sessions:
            session.keep_unsaved()
            kept = session.keeps_unsaved
            if not kept and (drafts := session.edit.unsaved_drafts()):
                lines.append(f"{strings.clean(without_numbers(session.url))}: {words.NOT_SAVED}")
                edits = unsaved_lines(drafts, session.edit.diff_of_all().unified)
                lines += [strings.clean(line, 2000) for line in edits]
            texts = [] if kept else session.edit.waiting_texts
            if texts := [*texts, *session.edit.waiting_acts]:
                lines.append(f"{strings.clean(without_numbers(session.url))}: {words.NOT_KEPT}")
                lines += [f"  {strings.clean(path)}: {strings.clean(text, 2000)}" for path, text in texts]
        return "\n".join(lines)

    def clear_recent(self) -> None:
        """Forgets the addresses that were opened, also in the settings."""
        self._remember([])

    def view_text(self) -> str:
        """The current view (address, indices, axes, contrast) as one text, "" for an empty window; see
        state_text.py."""
        return self._current.view_text() if self._current is not None else ""

    def restore(self, text: str, url: str | None = None) -> Session:
        """Opens the view in a text that `view_text` returned. `url`: another address to use instead of the one in the
        text. Raises Refused, with a sentence, for any other text."""
        return self.show_view(decode_view(text), url)

    def show_view(self, view: Mapping[str, Any], url: str | None = None) -> Session:
        """Opens the address of a view, or `url` instead, and shows the view."""
        known = (*(session.url for session in self._sessions), *self._recent)
        place = url or next((found for found in known if without_numbers(found) == view["url"]), view["url"])
        session = self.open(place)
        session.show_view(view)
        return session

    # ------------------------------------------------------------------ bookmarks
    @property
    def bookmarks(self) -> tuple[Bookmark, ...]:
        """The bookmarked views, oldest first; a text that does not describe a view is left out."""
        return self._bookmarks.items

    def add_bookmark(self) -> str:
        """Saves the displayed view. Returns the message about it; "" if no view is displayed."""
        if self._current is None:
            return ""
        name = self._bookmarks.add(self._current.bookmark_label, self.view_text())
        self.changed.emit()
        return bookmarked(name)

    def remove_bookmark(self, label: str) -> None:
        """Removes the bookmark of this name."""
        self._bookmarks.remove(label)
        self.changed.emit()
