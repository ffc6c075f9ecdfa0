"""The interface of Hierarchy for modules that are in lower layers than Hierarchy itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from zarrscope.model.storage import never

if TYPE_CHECKING:
    from zarrscope.dialects import Child, Dialect, NodeKind
    from zarrscope.nodes.context import NodeContext
    from zarrscope.nodes.create import ArrayOptions
    from zarrscope.stores.recognition import Recognition
    from zarrscope.stores.store import Store


class HierarchyLike(Protocol):
    """The members of Hierarchy that groups, arrays and the moving of nodes use."""

    initial_path: str

    @property
    def _nodes(self) -> NodeContext: ...

    @property
    def url(self) -> str:
        """The address of the store, without passwords."""

    @property
    def store(self) -> Store:
        """The store of all documents and chunks."""

    @property
    def dialect(self) -> Dialect:
        """The layout of documents and chunks."""

    @property
    def other_dialects(self) -> tuple[str, ...]:
        """The names of other dialects whose documents also lie at the root."""

    @property
    def writable(self) -> bool:
        """Whether the mode, the store and the documents at the root allow writing."""

    @property
    def consolidated(self) -> bool:
        """Whether nodes are read from a copy of all documents at the root."""

    @property
    def recognition(self) -> Recognition | None:
        """The kind of the place, if it was found out by looking at it."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the hierarchy as a whole; nodes have warnings of their own."""

    # The nodes below are Group or Array, which are in a higher layer.
    def open_node(self, path: str, kind: NodeKind | None = None) -> Any:
        """The Group or Array at `path`. With `kind`, only the documents of that kind are requested. Raises NotFound."""

    def __getitem__(self, path: str) -> Any: ...

    def create_group(self, path: str, attributes: Mapping[str, Any] | None = None, *, overwrite: bool = False) -> Any:
        """Creates a group. See ChangingHierarchy.create_group."""

    def create_array(self, path: str, **options: Unpack[ArrayOptions]) -> Any:
        """Creates an array. See ChangingHierarchy.create_array."""

    def children(self, path: str, cancelled: Callable[[], bool] = never) -> Iterator[Child]:
        """Yields the names and kinds of a group's children; ends early once `cancelled()`."""
