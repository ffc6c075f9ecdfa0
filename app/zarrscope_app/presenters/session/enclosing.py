"""The address of a session: a node's own address opens the hierarchy around the node, and from then on the address of
the session is that of the hierarchy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from zarrscope.errors import NotFound, ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.nodes.enclosing import archive_in, only_node_in, opened_around
from zarrscope.stores.address import split_address
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters.form.rescue import Rescue
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.session.view_models import place_name
from zarrscope_app.presenters.signals import signal
from zarrscope_app.presenters.tree.presenter import TreePresenter

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


class OpensEnclosing(SessionPart):
    """The part of a session that opens the hierarchy around a node."""

    placed = signal()
    """Emitted when the address of the hierarchy differs from the address that was given."""
    loader: ChunkLoader
    tree: TreePresenter
    rescue: Rescue | None
    given: str
    """The address that the session was made with."""
    entry = "/"
    """The node that the given address names."""
    _seeks: bool
    """Whether the hierarchy around the address is still to be looked for."""
    _wanted: str | None
    _held: tuple[str, ...] = ()
    """The addresses that `loader` was told."""
    _note = ("", "")
    """The path of a node, and a sentence about the opening of its hierarchy, until another node is selected."""

    def _hold(self, *urls: str) -> None:
        """Tells the chunk loader the addresses of the store that this session shows: the present one and previous
        ones."""
        held, self._held = self._held, urls
        for url in urls:
            self.loader.opened(url)
        for url in held:
            self.loader.closed(url)

    def _open_around(self, open: Callable[[str], Hierarchy], url: str) -> tuple[Hierarchy, str]:
        """Opens the hierarchy at or around the address, or the only archive in a folder; also returns the address of
        one that is not at the address itself. A folder that contains one hierarchy stays the root, and `initial_path`
        is that hierarchy. Waits for the store."""
        if not self._seeks:
            return open(url), ""
        try:
            found, around = opened_around(open, url)
            if not around and not found.initial_path.strip("/"):
                found.initial_path = only_node_in(found)
            return found, around
        except NotFound as error:
            place = archive_in(url, error)
            if not place:
                raise
            return open(place), place

    def _settle(self, entry: str, around: str) -> None:
        """Called when the hierarchy is first open: takes its address, if it lies around the given address, or if the
        given address names a node in it."""
        self._seeks, before = False, self.url
        self.entry = "/" + entry.strip("/")
        try:
            address = split_address(before)
        except ZarrscopeError:  # it was opened by a host's own function
            return
        if around:
            inside = around.startswith(before)
            name = place_name(around)
            self._note = (self.entry, f"Opened {name}, the only file of the folder" if inside else f"Part of {name}")
            if not inside and self._wanted is not None:
                self._wanted = entry + self._wanted
            self.url = public(around)
        elif address.node_path:
            self.url = public(replace(address, node_path="").text)
        elif self.entry != "/":
            self._note = (self.entry, "The only hierarchy in this folder")
        if self.url != before and self.rescue is not None:
            self.rescue.move(self.url, entry if around else "/")

    def _tell_place(self, before: str) -> None:
        """Called after `_settle`, when a node is selected: `before` is the address until then."""
        if self.url != before:
            if self.state.path == self.entry:  # nothing else was wanted meanwhile
                self.tree.reveal(self.entry, given=True)
            self.placed.emit()

    def go_to_given(self, url: str) -> None:
        """Selects the node that the given address names, if `url` is that address and the hierarchy has another one."""
        if url == self.given != self.url:
            self.select(self.entry)

    def go_as(self, other: OpensEnclosing) -> None:
        """Goes to the node of another session that has opened the same hierarchy, and says the same of it."""
        self._note = other._note
        self.select(other.state.path)

    def is_at(self, url: str) -> bool:
        """Whether `url` is the address of this session, or the one that it was made with."""
        return url in (self.url, self.given)
