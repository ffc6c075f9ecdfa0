"""Opens the hierarchy at an address or in a store, or creates a new one.

The few documents that identify the dialect are fetched in parallel (detect.py); from then on the documents of every
node are known. Request counts: reference.md A.1, A.14.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from zarrscope.dialects import PROBES, Detected, dialect_named
from zarrscope.errors import Exists, NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model.node_path import join_path
from zarrscope.nodes.context import NodeContext, with_bare_root
from zarrscope.nodes.detect import PlainFolder, folders_in_place, found_in, is_named_n5, look_above, not_zarr
from zarrscope.nodes.group import Group
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.runtime.named_tuple import NamedTuple
from zarrscope.stores.address import METADATA_FILES, Address, at_version, split_address, store_at
from zarrscope.stores.registry import Mode
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.stores.objects import ObjectLocation


class OpenOptions(TypedDict, total=False):
    """The parameters of `open` that are given by name, for functions that pass them on."""

    dialect: str | None
    lenient: bool
    consolidated: bool
    fallbacks: bool
    document_limit: int | None
    storage_options: Mapping[str, Any] | None
    follow_links: bool


class _Reading(NamedTuple):
    """How the documents of a hierarchy are read: the parameters of `open` of these names."""

    dialect: str | None = None
    lenient: bool = False
    consolidated: bool = True
    fallbacks: bool = True


ASSUMED = "Denied values are taken as missing, because the server does not distinguish the two"


def open(
    url: str | os.PathLike[str] | Store | Mapping[str, Any] | object,
    mode: Mode = "r",
    *,
    dialect: str | None = None,
    lenient: bool = False,
    consolidated: bool = True,
    fallbacks: bool = True,
    document_limit: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    follow_links: bool = False,
) -> Hierarchy:
    """Opens the hierarchy at an address, or creates one.

    Parameters
    ----------
    url
        A path, a URL, a zip file, or a Store. Also an object: a mapping from keys to bytes, a file system, mapper or
        path of fsspec and upath, a Store, StorePath, Group or Array of zarr-python, a store of obstore, a ZipFile, a
        Dataset or DataTree of xarray or an array of dask that came from Zarr. If it is a node, `initial_path` is its
        path.
    mode
        "r" reads; "r+" reads and writes an existing hierarchy; "a" creates one if there is none; "w-" creates one and
        refuses an existing one.
    dialect
        The dialect to open as, or to create. By default it is detected; new hierarchies are v3.
    lenient
        Opens nodes that demand extensions which zarrscope does not know.
    consolidated
        False reads each node's own documents even where consolidated metadata hold a copy.
    fallbacks
        False refuses data types that are known only by the fallback that their document offers (drafts, v3 of 2023).
    document_limit
        The largest size of one metadata document, in bytes. By default 16 MiB, 64 MiB for consolidated metadata, or the
        value of ZARRSCOPE_DOCUMENT_LIMIT; a larger document is Unreadable.
    storage_options
        For remote stores: timeout, min_speed, attempts, patience, missing_is_fill (see stores/network.py; environment
        variables such as ZARRSCOPE_TIMEOUT set them for the process), and the options of fsspec's file system. For an
        Icechunk repository: branch, tag or snapshot, the version to open.
    follow_links
        Follows symbolic links that lead out of a folder (git-annex, DataLad). The links then decide which files are
        read. A file that such a link points to is never written: a new file replaces the link.

    Returns
    -------
    Hierarchy
        The open hierarchy. Used as a context manager, it closes the files and connections of the store at the end.

    Raises
    ------
    NotFound
        There is no hierarchy.
    Exists, NotEmpty
        A hierarchy exists already, or the folder or file holds something else, and the mode is "w-". Both are also a
        FileExistsError.
    Unreadable, BadMetadata, Unsupported, Refused
        The store did not answer; the root's document is broken; it demands a feature that zarrscope lacks; the mode or
        the address is not allowed.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> h = zarrscope.open(MemoryStore(), mode="w-", dialect="v2")
    >>> h.dialect.name
    'v2'
    """
    if mode not in ("r", "r+", "a", "w-"):
        raise Refused(f"There is no mode {mode!r}", advice="The modes are r, r+, a and w-.")
    if not isinstance(url, str):
        from zarrscope.stores.objects import locate_object

        given = locate_object(url, mode)
        if given.store is not None:
            if document_limit is not None:
                given.store.document_limit = document_limit
            if follow_links:
                given.store.allow_outside = True
            return _at_node(given, given.store, mode, _Reading(dialect, lenient, consolidated, fallbacks))
        url = given.address
    address = split_address(url)
    if storage_options:
        address, storage_options = at_version(address, storage_options)
    reading = _Reading(dialect or address.dialect or None, lenient, consolidated, fallbacks)

    def open_at(place: Address) -> Hierarchy:
        found = _opened(_store_at(place, mode, storage_options, follow_links, document_limit), mode, reading)
        found._nodes.owns_store = True
        found.initial_path = _initial_path(found, place.node_path)
        return found

    try:
        found = open_at(address)
    except NotFound as error:
        if dialect is None:
            _need_stated_dialect(address, storage_options, error)
        if mode in ("r", "r+"):
            from zarrscope.nodes.enclosing import opened_within

            if (within := opened_within(open_at, address, storage_options)) is not None:
                return within
            if (above := look_above(address)) is not None:
                error.advice = above
        raise
    _need_stated_repository(address, found)
    return found


def _need_stated_dialect(address: Address, options: Mapping[str, Any] | None, error: NotFound) -> None:
    """Raises NotFound if the address states a dialect, and there is a hierarchy of another one in its place."""
    if address.dialect and (other := _found_besides(address, options)):
        raise NotFound(
            f"The address says {dialect_named(address.dialect).title}, but the hierarchy is {other}",
            store=address.public_url,
            advice="Leave the format out of the address.",
        ) from error


def _need_stated_repository(address: Address, found: Hierarchy) -> None:
    """Closes `found` and raises NotFound if the address states a repository of Icechunk, and `found` is none."""
    if address.repository and (found.recognition is None or found.recognition.kind != "icechunk"):
        found.close()
        raise NotFound(
            f"The address says Icechunk, but the hierarchy is {found.dialect.title}",
            store=address.public_url,
            advice="Leave |icechunk: out of the address.",
        )


def _store_at(
    place: Address, mode: Mode, options: Mapping[str, Any] | None, follow_links: bool, limit: int | None
) -> Store:
    store = store_at(place.store_url, mode, options, follow_links=follow_links)
    store.document_limit = limit
    if place.remarks or store.remark:
        store.remark = ". ".join(each.rstrip(".") for each in (*place.remarks, store.remark) if each)
    return store


def open_array(
    url: str | os.PathLike[str] | Store | Mapping[str, Any] | object,
    path: str = "/",
    mode: Mode = "r",
    **options: Unpack[OpenOptions],
) -> Array:
    """Opens one array of a hierarchy.

    Parameters
    ----------
    url
        A path, a URL, a Store or another object that `open` takes. If the address itself names a node inside a
        store, `path` starts there.
    path
        The path of the array.
    mode
        "r" reads; "r+" also writes; "a" and "w-" create the hierarchy, so a new one has no such node.
    **options
        Any other parameter of `open`, such as `dialect` or `storage_options`.

    Returns
    -------
    Array
        The node.

    Raises
    ------
    NotFound
        There is no node, or it is a group.
    ZarrscopeError
        The hierarchy or the node cannot be opened: see `open` and `Hierarchy.open_node`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> _ = zarrscope.open(store, mode="w-").create_array("/images/0", shape=(8, 8), dtype="u1")
    >>> zarrscope.open_array(store, path="/images/0").shape
    (8, 8)
    """
    from zarrscope.nodes.array import Array

    node = _node(url, path, mode, options)
    if isinstance(node, Array):
        return node
    raise NotFound(
        f"The node {node.path} is a group, not an array",
        store=node.hierarchy.url,
        advice="open_group opens groups; list its arrays with .arrays().",
    )


def open_group(
    url: str | os.PathLike[str] | Store | Mapping[str, Any] | object,
    path: str = "/",
    mode: Mode = "r",
    **options: Unpack[OpenOptions],
) -> Group:
    """Opens one group of a hierarchy.

    Parameters
    ----------
    url
        A path, a URL, a Store or another object that `open` takes. If the address itself names a node inside a
        store, `path` starts there.
    path
        The path of the group.
    mode
        "r" reads; "r+" also writes; "a" and "w-" create the hierarchy, so a new one has no such node.
    **options
        Any other parameter of `open`, such as `dialect` or `storage_options`.

    Returns
    -------
    Group
        The node.

    Raises
    ------
    NotFound
        There is no node, or it is an array.
    ZarrscopeError
        The hierarchy or the node cannot be opened: see `open` and `Hierarchy.open_node`.

    Examples
    --------
    >>> import zarrscope
    >>> from zarrscope.stores.memory import MemoryStore
    >>> store = MemoryStore()
    >>> _ = zarrscope.open(store, mode="w-").create_group("/images")
    >>> zarrscope.open_group(store, path="/images").path
    '/images'
    """
    node = _node(url, path, mode, options)
    if isinstance(node, Group):
        return node
    raise NotFound(
        f"The node {node.path} is an array, not a group", store=node.store.url, advice="open_array opens arrays."
    )


def _node(
    url: str | os.PathLike[str] | Store | Mapping[str, Any] | object, path: str, mode: Mode, options: OpenOptions
) -> Group | Array:
    hierarchy = open(url, mode, **options)
    return hierarchy.open_node(join_path(hierarchy.initial_path, path))


def _initial_path(hierarchy: Hierarchy, path: str) -> str:
    """The node that an address names: a metadata file means its folder, unless there is a node of exactly that name."""
    above, _, name = path.rpartition("/")
    if name in METADATA_FILES and path not in hierarchy:
        return above or "/"
    return path or "/"


def _found_besides(address: Address, options: Mapping[str, Any] | None) -> str:
    """The title of the dialect that exists instead of the one that the address names; "" if there is none."""
    try:
        detected = found_in(store_at(address.store_url, "r", options)).detected
    except ZarrscopeError:
        return ""
    return "" if detected is None else detected.dialect.title


def _at_node(given: ObjectLocation, store: Store, mode: Mode, reading: _Reading) -> Hierarchy:
    """Opens the hierarchy that contains the node of a Python object that `open` was given. If there is none, opens one
    whose root is that node.
    """
    if given.path == "/":
        return _opened(store, mode, reading)
    if mode in ("r", "r+"):
        try:
            found = _opened(store, mode, reading)
        except (NotFound, Unsupported):
            pass
        else:
            if given.path in found:
                found.initial_path = given.path
                return found
    from zarrscope.stores.wrappers import PrefixStore

    beneath = PrefixStore(store, given.path.strip("/") + "/")
    return _opened(beneath, mode, reading)


def _opened(store: Store, mode: Mode, reading: _Reading) -> Hierarchy:
    dialect, lenient, consolidated, fallbacks = reading
    detected, documents, asked = found_in(store, dialect, lenient, fallbacks, consolidated)
    if detected is None:
        inner = _repository(store, mode)
        if inner is None:
            inner = _database(store, mode)
        if inner is not None:
            return _opened(inner, "r" if mode == "r" else "r+", reading)
        if mode in ("a", "w-"):
            return _created(store, dialect or "v3")
        named = is_named_n5(store)
        if named or dialect is not None:
            detected = with_bare_root(store, documents, dialect)
        if detected is None and dialect is None:
            if (folder := _folder_of_hierarchies(store, mode, asked - documents.keys())) is not None:
                return folder
            detected = None if named else with_bare_root(store, documents)
        if detected is None:
            raise not_zarr(store)
    if mode == "w-":
        raise Exists(
            f"There is a {detected.dialect.title} hierarchy already",
            store=store.url,
            advice="Open it with mode='r+', or choose another place.",
        )
    writable = mode != "r"
    found = NodeContext(store, detected, documents, writable=writable, use_consolidated=consolidated, asked=asked)
    if store.taken_as_missing:
        found.warnings += (ASSUMED,)
    found.recognition = store._recognition
    if store.remark:
        found.warnings += (store.remark,)
    return Hierarchy(found)


def _folder_of_hierarchies(store: Store, mode: Mode, absent: frozenset[str]) -> Hierarchy | None:
    """The folder of a store whose root is no node, if nodes lie beneath it; else None. `absent`: keys that are known
    to be absent."""
    from zarrscope.nodes.search import has_nodes
    from zarrscope.stores.recognition import Recognition

    first = Detected(PlainFolder.dialects()[0])
    folder = NodeContext(store, first, {}, writable=mode != "r", folder=True, asked=absent)
    if not has_nodes(folder, "/"):
        return None
    folder.recognition = Recognition("folder", PlainFolder.sentence)
    folder.warnings = tuple(f"{each.message}. {each.advice}" for each in folders_in_place(store, PROBES))
    return Hierarchy(folder)


def _repository(store: Store, mode: Mode) -> Store | None:
    """The store of an Icechunk repository; None if it is not one. Raises Unsupported for writing into one."""
    from zarrscope.stores.icechunk import IcechunkStore, is_repository, open_repository

    if isinstance(store, IcechunkStore) or not is_repository(store):
        return None
    return open_repository(store, None, mode)


def _database(store: Store, mode: Mode) -> Store | None:
    """The store of the LMDB environment in a folder of this computer; None if there is none. With the mode "w-" such a
    folder was refused before, because it is not empty."""
    if mode == "w-" or not store.url.startswith("file:"):
        return None
    from zarrscope.stores.file_address import open_database
    from zarrscope.stores.local.paths import path_of

    found = open_database(path_of(store.url), mode, None)
    if found is not None:
        found.document_limit = store.document_limit
        found.remark = store.remark
    return found


def reopened(store: Store) -> Hierarchy:
    """The hierarchy of a store that was opened before."""
    return _opened(store, "r+" if store.writable else "r", _Reading())


def _created(store: Store, dialect: str) -> Hierarchy:
    chosen = dialect_named(dialect)
    found = Hierarchy(NodeContext(store, Detected(chosen), {}, writable=True))
    found.create_group("/")
    return found
