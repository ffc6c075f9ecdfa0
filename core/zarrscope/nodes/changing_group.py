"""The methods of a Group that create and erase nodes beneath it. group.py opens and lists them.

Names and results are those of zarr-python 3. Specification: as for the methods of a Hierarchy (changing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from zarrscope.errors import Exists, NotFound
from zarrscope.model.node_path import clean_path, join_path

if TYPE_CHECKING:
    import numpy.typing as npt

    from zarrscope.nodes.array import Array
    from zarrscope.nodes.create import ArrayOptions, LayoutOptions
    from zarrscope.nodes.hierarchy_like import HierarchyLike


class ChangingGroup:
    """The methods of a Group that change what lies beneath it. The hierarchy must be opened in a mode other than "r".

    Examples
    --------
    >>> import zarrscope
    >>> h = zarrscope.open({}, mode="w-")
    >>> images = h.root.require_group("images")
    >>> images.create_array("0", data=[[1, 2], [3, 4]]).shape
    (2, 2)
    >>> del images["0"]
    """

    hierarchy: HierarchyLike
    path: str

    def create_group(self, name: str, attributes: Mapping[str, Any] | None = None, *, overwrite: bool = False) -> Self:
        """Creates a group beneath this one, as `Hierarchy.create_group` does.

        Parameters
        ----------
        name
            The name of the new group, or a path from here such as "a/b".
        attributes
            The attributes to store in it.
        overwrite
            Erases the node of that name first, if there is one, as `Hierarchy.create_group` does.

        Returns
        -------
        Group
            The new group.

        Raises
        ------
        Exists, Refused, ReadOnly
            There is a node already; the name is not allowed; the hierarchy was not opened for writing.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> h.root.create_group("images").create_group("raw").path
        '/images/raw'
        """
        made: Self = self.hierarchy.create_group(path_beneath(self, name), attributes, overwrite=overwrite)
        return made

    def create_array(self, name: str, **options: Unpack[ArrayOptions]) -> Array:
        """Creates an array beneath this group, as `Hierarchy.create_array` does.

        Parameters
        ----------
        name
            The name of the new array, or a path from here such as "a/b".
        **options
            `shape` and `dtype`, or `data`; and if needed `chunks`, `shards`, `codecs`, `fill_value`,
            `dimension_names`, `attributes`, `separator` and `overwrite`, as in `Hierarchy.create_array`.

        Returns
        -------
        Array
            The new array.

        Raises
        ------
        Exists, Refused, ReadOnly, Unsupported
            As in `create_group`; the dialect cannot express the array.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> h.root.create_array("a", shape=(4, 4), dtype="u1", chunks=(2, 2)).path
        '/a'
        """
        made: Array = self.hierarchy.create_array(path_beneath(self, name), **options)
        return made

    def require_group(self, name: str) -> Self:
        """Opens a group beneath this one, or creates it if there is no node of that name.

        Parameters
        ----------
        name
            The name of the group, or a path from here such as "a/b".

        Returns
        -------
        Group
            The group.

        Raises
        ------
        TypeError
            There is an array of that name.
        ZarrscopeError
            As in `group[name]` and `create_group`.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> h.root.require_group("images") == h.root.require_group("images")
        True
        """
        found, _ = _required(self, name, lambda: self.create_group(name))
        if found.kind != "group":
            raise TypeError(f"{found.path} is an array, not a group")
        made: Self = found
        return made

    def require_array(
        self,
        name: str,
        *,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike,
        exact: bool = False,
        **options: Unpack[LayoutOptions],
    ) -> Array:
        """Opens an array beneath this group if it fits, or creates it if there is no node of that name.

        Parameters
        ----------
        name
            The name of the array, or a path from here such as "a/b".
        shape
            The shape that the array must have.
        dtype
            A data type to which numpy can convert the array's values safely; with `exact`, the array's data type.
        exact
            Whether the data type must be equal.
        **options
            For a new array, as in `create_array`. They are not compared with an existing one.

        Returns
        -------
        Array
            The array.

        Raises
        ------
        TypeError
            There is a group of that name, or an array of another shape or data type.
        ZarrscopeError
            As in `group[name]` and `create_array`.

        Examples
        --------
        >>> import zarrscope
        >>> h = zarrscope.open({}, mode="w-")
        >>> h.root.require_array("a", shape=4, dtype="u1") == h.root.require_array("a", shape=4, dtype="u2")
        True
        """
        found, is_new = _required(self, name, lambda: self.create_array(name, shape=shape, dtype=dtype, **options))
        if found.kind != "array":
            raise TypeError(f"{found.path} is a group, not an array")
        made: Array = found
        if not is_new:
            from zarrscope.nodes.create import need_fitting

            need_fitting(made.path, made.shape, made.dtype, shape, dtype, exact=exact)
        return made

    def __delitem__(self, path: str) -> None:
        """Erases a node beneath this group and everything beneath that node, as `Hierarchy.erase` does."""
        from zarrscope.nodes.edit import erase

        erase(self.hierarchy._nodes, clean_path(path_beneath(self, path)))


def _required(group: ChangingGroup, name: str, create: Callable[[], Any]) -> tuple[Any, bool]:
    """The node of that name beneath a group, and whether `create` has created it now."""
    path = path_beneath(group, name)
    try:
        return group.hierarchy.open_node(path), False
    except NotFound:
        try:
            return create(), True
        except Exists:  # somebody else has just created it
            return group.hierarchy.open_node(path), False


def path_beneath(group: ChangingGroup, path: str) -> str:
    """The path in the hierarchy of a path that starts at a group. Raises TypeError."""
    if not isinstance(path, str):
        raise TypeError(f"the path of a node is text, not {path!r}")
    return join_path(group.path, path)
