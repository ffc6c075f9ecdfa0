"""The hierarchies that are open in a dock or a widget: one in front, all of them in one tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from zarrscope.errors.confidential import public
from zarrscope.stores.address import absolute_address
from zarrscope_app.presenters.coalesce import Post
from zarrscope_app.presenters.session.opening import OpenTarget
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.tree.presenter import TreePresenter
from zarrscope_app.presenters.tree.roots import RootsPresenter


class OpenPlaces:
    """The open sessions in the order in which they were opened. `brought(session)` is called when the person goes to a
    row of another hierarchy in the tree."""

    def __init__(self, sessions: list[Session], post: Post, brought: Callable[[Session], object]) -> None:
        """`sessions` is the list that holds the open sessions. The caller keeps it, and closes the sessions that are
        left in it when the dock or the widget is gone."""
        self.sessions = sessions
        self._post, self._brought = post, brought
        self._held: dict[Session, object] = {}
        """Objects that must stay alive while they are displayed."""
        self._hierarchies: dict[Session, object] = {}
        self._roots = RootsPresenter(lambda tree: brought(next(s for s in sessions if s.tree is tree)))

    def open(self, target: OpenTarget, url: str, *, writable: bool = False) -> Session:
        """Opens a hierarchy. The object `target.held` stays alive as long as the session."""
        session = Session(
            url,
            self._post,
            writable=writable,
            follow_links=target.follow_links,
            missing_is_fill=target.missing_is_fill,
            path=target.path,
        )
        self.sessions.append(session)
        self._held[session] = target.held
        session.placed.connect(partial(self._join, session))
        return session

    def _join(self, session: Session) -> None:
        """Called when a session has opened the hierarchy around its address: if another session shows that hierarchy,
        only the other one stays, at this one's node."""
        twin = next((other for other in self.sessions if other is not session and other.url == session.url), None)
        if twin is not None:
            twin.go_as(session)
            self._brought(twin)
            self.close(session)
            self._brought(twin)  # paints the tree without the other root

    def at(self, url: str) -> Session | None:
        """The open session of an address, or None."""
        place = public(absolute_address(url))
        return next((session for session in self.sessions if session.is_at(place)), None)

    def go(self, session: Session, target: OpenTarget, view: Mapping[str, Any] | None) -> None:
        """Goes to the node, or the view, that is wanted of a hierarchy that is open already."""
        if view is not None:
            session.show_view(view)
        elif target.path is not None:
            session.select(target.path)
        else:
            session.go_to_given(public(absolute_address(target.url)))

    def tree(self, front: Session) -> TreePresenter | RootsPresenter:
        """The tree to show: the tree of the only hierarchy, or one tree with a root for each hierarchy."""
        if len(self.sessions) == 1:
            self._roots.close()
            return front.tree
        self._roots.show([session.tree for session in self.sessions], front.tree)
        return self._roots

    def renewed(self, session: Session) -> bool:
        """Whether the session has opened its hierarchy again since the last call."""
        before, now = self._hierarchies.get(session), session.hierarchy
        if now is not None:
            self._hierarchies[session] = now
        return before is not None and now is not None and now is not before

    def close(self, session: Session) -> Session | None:
        """Closes a session; its unsaved edits are kept. Returns the session to show next, or None."""
        at = self.sessions.index(session)
        self.sessions.remove(session)
        self._held.pop(session, None)
        self._hierarchies.pop(session, None)
        session.close()
        return self.sessions[min(at, len(self.sessions) - 1)] if self.sessions else None

    def close_all(self) -> None:
        """Closes all sessions."""
        self._roots.close()
        while self.sessions:
            self.close(self.sessions[-1])
