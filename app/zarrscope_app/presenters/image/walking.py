"""Walking through a collection of images without going back to it: the next field of a well, the next well, the next
image of a series. Wells follow row by row, other members in the order of the
documents, which are read in the background where they are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.image import find_collection, find_images, members
from zarrscope_app.presenters.folder_images import FEW, images_beneath

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

Walk = tuple[str, ...]
"""The paths of the members of a collection, row by row; () for a node that is no collection."""


class Walker:
    """Finds the member of a collection that follows another one. `walks` holds the collections that are known, by
    path."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._hierarchy: Hierarchy | None = None
        self._ticket: Ticket | None = None
        self.walks: dict[str, Walk] = {}

    def enter(self, hierarchy: Hierarchy) -> bool:
        """Forgets the walks of another hierarchy. Returns whether it was another one."""
        if hierarchy is self._hierarchy:
            return False
        self.forget()
        self._hierarchy = hierarchy
        return True

    def forget(self, path: str = "") -> None:
        """Forgets all walks, or only those that the document of the node at `path` states, after it was written."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        if not path:
            self.walks.clear()
        for stated in (path, path.removesuffix("/OME") or "/"):  # the group "OME" states those of a series
            self.walks.pop(stated, None)

    def walk(self, hierarchy: Hierarchy, path: str, by: int, go: Callable[[str], object]) -> None:
        """Calls `go` with the path of the node `by` steps after `path`, at once if the documents are known; not at all
        if there is none."""
        self.enter(hierarchy)
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        try:
            found = beside(self.walks.__getitem__, path, by)
        except KeyError:
            self._read(hierarchy, path, by, go)
            return
        if found:
            go(found)

    def neighbours(self, hierarchy: Hierarchy, path: str) -> tuple[bool, bool] | None:
        """Whether there is a node before `path`, and one after it, without reading: a collection that is not known may
        have one. None for a node that is in no known collection."""
        if hierarchy is not self._hierarchy:
            return None
        listed = {member for walk in self.walks.values() for member in walk}
        if not any(f"{path}/".startswith(f"{member}/") for member in listed):
            return None

        def walk_of(above: str) -> Walk:
            return self.walks[above] if above in listed else self.walks.get(above, ())

        def may_lead(by: int) -> bool:
            try:
                return bool(beside(walk_of, path, by))
            except KeyError:
                return True

        return may_lead(-1), may_lead(1)

    def _read(self, hierarchy: Hierarchy, path: str, by: int, go: Callable[[str], object]) -> None:
        known = dict(self.walks)

        def walk_of(path: str) -> Walk:
            if path not in known:
                known[path] = _read_walk(hierarchy, path)
            return known[path]

        def done(outcome: JobResult[str]) -> None:
            self._ticket = None
            self.walks |= known
            if outcome.value:
                go(outcome.value)

        self._ticket = self._owner.read(lambda: beside(walk_of, path, by), done)


def beside(walk_of: Callable[[str], Walk], path: str, by: int) -> str:
    """The path of the node `by` steps after `path`: the next field of a well, and after its last field the first one of
    the next well; backwards the last one of the well before. For a collection that is in no other, its first or last
    member. "" if there is none."""
    inside = False
    above = path
    while above != "/":
        above = above.rpartition("/")[0] or "/"
        walk = walk_of(above)
        at = next((i for i, member in enumerate(walk) if f"{path}/".startswith(f"{member}/")), -1)
        inside = inside or at >= 0
        if at < 0 or not 0 <= at + by < len(walk):
            continue
        there, rest = walk[at + by], path[len(walk[at]) :]
        fields = walk_of(there) if rest else ()
        return fields[0 if by > 0 else -1] if fields else there + rest
    whole = walk_of(path) if not inside else ()
    return whole[0 if by > 0 else -1] if whole else ""


def _read_walk(hierarchy: Hierarchy, path: str) -> Walk:
    """Reads the document of a node. A node that cannot be read is walked over: its own row states the reason."""
    try:
        node = hierarchy[path]
        if node.kind != "group" or find_images(node):
            return ()
        found = find_collection(node) or images_beneath(node, FEW).collection
        if found is None:
            return ()
        return tuple(member.path for member in members(node, found))
    except ZarrscopeError:
        return ()
