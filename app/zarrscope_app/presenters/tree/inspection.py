"""Reads more about the children of one row in workers: the kinds and icons of visible children, and which children pass
the filter."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from itertools import islice

from zarrscope.nodes.internals import node_context
from zarrscope.nodes.listing import attributes_beneath
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_details import group_icon, stated_names
from zarrscope_app.presenters.tree.arriving import SMALL, Inspected, Seen, inspected, names_in
from zarrscope_app.presenters.tree.branch import Branch

INSPECTED_AT_ONCE = 256
"""The most children whose documents are read together because they are visible: those requested last."""


class Inspection:
    """Reads the documents of visible children only. Use it on the host's thread."""

    def __init__(
        self, owner: Owner, touch: Callable[[int], None], entitle: Callable[[Mapping[str, str]], None]
    ) -> None:
        """`entitle` gets path → name of the images of a series that state one."""
        self._owner, self._touch, self._entitle = owner, touch, entitle
        self._soon = CoalescedCall(owner.post, self._begin)
        self._icons_soon = CoalescedCall(owner.post, self._begin_icons)
        self._branches: dict[int, Branch] = {}
        self._undescribed: dict[int, Branch] = {}

    def want(self, branch: Branch, child: int) -> None:
        """Requests the documents of a visible child that were not read yet; not while a small group is loading, because
        this reads the documents of all children anyway."""
        if branch.state == "loading" and len(branch.names) <= SMALL:
            return
        branch.wanted.pop(child, None)
        branch.wanted[child] = None
        self._branches[branch.id] = branch
        self._soon.soon()

    def _begin(self) -> None:
        branches, self._branches = self._branches, {}
        for branch in branches.values():
            if branch.inspecting is None and not branch.dead and branch.node is not None and branch.wanted:
                self._inspect(branch)

    def _inspect(self, branch: Branch) -> None:
        """Reads the children that became visible last; requests for children that were scrolled out of view meanwhile
        are dropped."""
        latest = list(islice(reversed(branch.wanted), INSPECTED_AT_ONCE))
        branch.wanted = dict.fromkeys(latest)
        asked, group = [(k, branch.child(k)) for k in latest], branch.node

        assert group is not None  # listing the children has opened the group
        names: dict[str, str] = {}

        def work(cancelled: Callable[[], bool]) -> Inspected:
            return inspected(group, asked, cancelled, lambda found: names.update(names_in(group, found)))

        def done(outcome: JobResult[Inspected]) -> None:
            branch.inspecting = None
            if branch.dead:
                return
            if outcome.error is not None:
                badge = strings.problem(outcome.error, branch.path).headline
                branch.tell({k: Seen(child.kind, "", child.kind or "unknown", badge) for k, child in asked})
            else:
                branch.tell(outcome.value or {})
                self._entitle(names)
            self._touch(branch.id)
            if branch.wanted:
                self._inspect(branch)

        branch.inspecting = self._owner.read(work, done)

    def want_icon(self, branch: Branch, child: int) -> None:
        """Requests the attributes of a visible group, if only they show what it is: in a remote store they may lie in a
        document that a listing does not need."""
        seen = branch.seen.get(child)
        if seen is None or not seen.plain or branch.node is None:
            return
        hierarchy = branch.node.hierarchy
        if hierarchy.consolidated or not hierarchy.store.remote:  # the listing has read the attributes
            return
        branch.plain.pop(child, None)
        branch.plain[child] = None
        self._undescribed[branch.id] = branch
        self._icons_soon.soon()

    def _begin_icons(self) -> None:
        branches, self._undescribed = self._undescribed, {}
        for branch in branches.values():
            if branch.describing is None and not branch.dead and branch.plain:
                self._describe(branch)

    def _describe(self, branch: Branch) -> None:
        """Reads the attributes of the groups that became visible last."""
        latest = list(islice(reversed(branch.plain), INSPECTED_AT_ONCE))
        branch.plain = {}
        asked, group = {branch.names[k]: k for k in latest}, branch.node
        assert group is not None  # see want_icon
        names: dict[str, str] = {}

        def work(cancelled: Callable[[], bool]) -> dict[int, str]:
            found = attributes_beneath(node_context(group.hierarchy), group.path, asked, cancelled)
            names.update(stated_names(group, found.items()))
            return {asked[name]: group_icon(attributes) for name, attributes in found.items()}

        def done(outcome: JobResult[dict[int, str]]) -> None:
            branch.describing = None
            if branch.dead:
                return
            icons = outcome.value or {}
            for child in asked.values():  # after an error too: the row stays as it is, and is not asked for again
                seen = branch.seen.get(child)
                if seen is not None:
                    branch.seen[child] = seen._replace(icon=icons.get(child) or seen.icon, plain=False)
            self._entitle(names)
            self._touch(branch.id)
            if branch.plain:
                self._describe(branch)

        branch.describing = self._owner.fetch(work, done)


class Search:
    """Finds the children that pass the filter: large groups are searched in a worker. Use it on the host's thread."""

    def __init__(self, owner: Owner, touch: Callable[[int], None]) -> None:
        self._owner, self._touch = owner, touch
        self.needle = ""
        """The text of the filter, casefolded; "" means that no filter is set."""

    def begin(self, branch: Branch) -> None:
        """Searches the children that have not been searched yet. Batches that arrive during a search are searched after
        it."""
        if branch.searching is not None:
            return
        needle, order = self.needle, branch.order
        work = branch.search(needle)
        if work is None:
            return

        def done(outcome: JobResult[array[int]]) -> None:
            branch.searching = None
            if not branch.dead:
                branch.found = (needle, order, outcome.get())
                self._touch(branch.id)
                self.begin(branch)

        branch.searching = self._owner.decode(work, done)

    def anew(self, branch: Branch) -> None:
        """Starts the search again, because the text of the filter has changed."""
        if branch.searching is not None:
            branch.searching.cancel()
            branch.searching = None
        self.begin(branch)
