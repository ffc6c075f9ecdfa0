"""A group of a hierarchy: its attributes, and its children as they are found (listing.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.dialects import Child
from zarrscope.errors import ZarrscopeError
from zarrscope.metadata import ExtensionReport, GroupMetadata
from zarrscope.naming import join_path
from zarrscope.store import never

if TYPE_CHECKING:
    from zarrscope.array import Array
    from zarrscope.hierarchy import Hierarchy
    from zarrscope.walking import Tree


class Group:
    """A group node: its attributes, and its children as they are found."""

    kind: Literal["group"] = "group"

    def __init__(
        self,
        hierarchy: Hierarchy,
        path: str,
        metadata: GroupMetadata,
        attributes: Mapping[str, Any],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.hierarchy = hierarchy
        self.path = path
        self.metadata = metadata
        self.attributes = attributes
        self.warnings = warnings

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def extensions(self) -> tuple[ExtensionReport, ...]:
        """What the group's document demands or offers beyond the core, and what is done about each."""
        return self.metadata.extensions

    @property
    def problem(self) -> ZarrscopeError | None:
        """What this group demands and zarrscope does not have; None otherwise."""
        return self.metadata.problem

    def children(self, cancelled: Callable[[], bool] = never, *, tree: Tree | None = None) -> Iterator[Child]:
        """Every child once, its kind known, in the order of arrival; one whose documents are broken has `error`.

        `tree`: a listing of all that lies beneath a group above, where that is at hand (Hierarchy.tree).

        Streams: the first come before all are listed. Raises Unsupported when the store cannot list and nothing else
        tells what there is, or when the group demands an extension that is not understood here.
        """
        return self._listed(self.problem, cancelled, tree)

    def names(self, cancelled: Callable[[], bool] = never, *, tree: Tree | None = None) -> Iterator[Child]:
        """As `children`, where the metadata encoding is unknown, too: keys tell names and kinds. For front ends."""
        return self._listed(self.metadata.listing_problem, cancelled, tree)

    def _listed(
        self, problem: ZarrscopeError | None, cancelled: Callable[[], bool], tree: Tree | None
    ) -> Iterator[Child]:
        if problem is not None:
            raise problem.located(store=self.hierarchy.url, key=self.hierarchy.dialect.documents(self.path)[0])
        return self.hierarchy.children(self.path, cancelled) if tree is None else tree.children(self.path)

    def __getitem__(self, path: str) -> Group | Array:
        return self.hierarchy[join_path(self.path, path)]

    def __repr__(self) -> str:
        return f"<Group {self.path} in {self.hierarchy.url}>"

    def _repr_html_(self) -> str:
        """For notebooks: bounded, and made of what is at hand."""
        from zarrscope import html

        return html.of(self)
