"""Several hierarchies in one widget: one in front, whose node is displayed, and all of them in one tree."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope_app.jupyter.parts import PARTS
from zarrscope_app.jupyter.pictures import TileStream
from zarrscope_app.jupyter.presenter_signals import PresenterSignals
from zarrscope_app.jupyter.thumbnails import ThumbnailStream
from zarrscope_app.presenters import RootsPresenter, Session, Settings, TreePresenter
from zarrscope_app.presenters.image.three_views import ThreeViews
from zarrscope_app.presenters.session.open_places import OpenPlaces
from zarrscope_app.presenters.session.opening import OpenTarget, target_of
from zarrscope_app.presenters.session.state_text import decode_view, is_view
from zarrscope_app.settings import FileSettings


class ShowsPlaces:
    """The part of a widget that opens hierarchies, closes them, and brings one of them to the front."""

    session: Session
    """The session in front."""
    turn: int
    editable: bool
    corner: tuple[int, int]
    exporting: bool
    channel_text: str
    thumbnails: ThumbnailStream
    streams: dict[str, TileStream]
    _post: Callable[[Callable[[], None]], None]
    _hearing: PresenterSignals

    if TYPE_CHECKING:  # methods of the widget

        def tell(self, *parts: str) -> None:
            """Marks parts as perhaps changed."""

        def tell_probe(self) -> None:
            """Marks the readout under the cursor as perhaps changed."""

        def draw(self, view: str) -> None:
            """Marks the picture of a view as perhaps changed."""

    def _keep_places(self, settings: Settings | None) -> None:
        """`settings` stores unsaved edits; with None they are stored in files of the user who runs the kernel."""
        self._settings = settings
        self._sessions: list[Session] = []
        self._three: dict[Session, ThreeViews] = {}
        bring = weakref.WeakMethod(self._bring)  # the sessions outlive the widget, and must not keep it alive

        def brought(session: Session) -> None:
            if (act := bring()) is not None:
                act(session)

        self._places = OpenPlaces(self._sessions, self._post, brought)

    @property
    def url(self) -> str:
        """The address of the hierarchy in front."""
        return self.session.url

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of all open hierarchies, in the order in which they were opened."""
        return tuple(session.url for session in self._sessions)

    def _open(self, found: OpenTarget, view: Mapping[str, Any] | None) -> Session:
        session = self._places.open(found, found.url, writable=self.editable)
        if view is not None:
            session.show_view(view)
        return session

    def _keep_edits(self, session: Session) -> None:
        """Only an editable widget has edits, or can restore them."""
        if self.editable:
            session.keep_edits(self._settings if self._settings is not None else FileSettings())

    def add(self, target: object, path: str | None = None) -> None:
        """Opens a further hierarchy in the same tree and brings it to the front: an address, the text of a copied view,
        or any object that `explore` takes. One that is open is only brought to the front. Raises TypeError for any
        other target."""
        if isinstance(target, str) and not (target := target.strip()):
            return
        view = None
        try:
            if isinstance(target, str) and is_view(target):
                view = decode_view(target)
                target, path = view["url"], str(view["path"])
        except ZarrscopeError as error:
            self.session.report(error)
            return
        found = target_of(target, path)
        session = self._places.at(found.url)
        if session is None:
            session = self._open(found, view)
            self._keep_edits(session)
        else:
            self._places.go(session, found, view)
        self._bring(session)

    def bring(self, url: str) -> None:
        """Brings an open hierarchy to the front. Raises KeyError for an address that is not open."""
        session = self._places.at(url)
        if session is None:
            raise KeyError(url)
        self._bring(session)

    def close_place(self, url: str | None = None) -> None:
        """Closes the hierarchy at `url`, or that in front if `url` is None; the last one stays open. Its unsaved edits
        are kept, and offered when the address is explored again. Raises KeyError for an address that is not open."""
        session = self.session if url is None else self._places.at(url)
        if session is None:
            raise KeyError(url)
        if len(self._sessions) == 1:
            return
        if session is self.session:
            self._hearing.detach()
        if session in self._three:
            self._three.pop(session).end()
        neighbour = self._places.close(session)
        if session is not self.session:
            self._bring(self.session)
        elif neighbour is not None:
            self._bring(neighbour)

    def _bring(self, session: Session) -> None:
        """Shows an open hierarchy in the views; the tree shows all open hierarchies."""
        if session is not self.session:
            self.session = session
            self.turn += 1
            self.corner, self.exporting, self.channel_text = (0, 0), False, ""
            self.thumbnails.renew()
            for view, stream in self.streams.items():
                stream.renew()
                if view == "main" and session.slice.painted_pixels[0]:
                    stream.place(session.slice.visible_rect)
                self.draw(view)
            self.tell_probe()
        self._hearing.attach()
        self.tell(*PARTS)

    @property
    def three(self) -> ThreeViews:
        """The planes of the session in front."""
        if self.session not in self._three:
            self._three[self.session] = ThreeViews(self.session.slice)
        return self._three[self.session]

    @property
    def node_tree(self) -> TreePresenter | RootsPresenter:
        """The tree of the only hierarchy, or of all that are open."""
        return self._places.tree(self.session)

    def _show_state(self, text: str) -> None:
        """Shows a view of an open hierarchy, and brings the hierarchy to the front. Raises Refused for any other text,
        which the error bar says as well."""
        shown = self.session
        try:
            shown = self._places.at(str(decode_view(text)["url"])) or shown
            view = shown.own_view(text)
        except ZarrscopeError as error:
            self.session.report(error)
            raise
        shown.show_view(view)
        self._bring(shown)
