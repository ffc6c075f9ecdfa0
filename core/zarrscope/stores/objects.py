"""Finds the store of a Python object that zarrscope.open accepts in place of an address.

An object is identified by the name and module of its class, or of a base class, so that no package has to be imported:
the package of an object is loaded already. For a node of zarr-python the result is its store and path, for a file
system or path of fsspec the folder, and for objects of xarray and dask the Zarr arrays from which their values are
read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from zarrscope.errors import Refused, Unsupported
from zarrscope.model.node_path import join_path
from zarrscope.stores.local.paths import file_url
from zarrscope.stores.registry import Mode, known_schemes
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    import zipfile

_MOST_LAYERS = 32
"""The most nested wrappers of xarray that are opened to find the array inside."""
_NAMED = frozenset("|:~$%<>\"'`“”„‘’«» \t\n" + "\\" * (os.name != "nt"))
"""Characters that may have a special meaning in an address."""
_ADVICE = (
    "Pass an address, a Store, a mapping from keys to bytes, a file system of fsspec, a store or node of zarr-python, "
    "a store of obstore, a ZipFile, or an object of xarray or dask that was opened from Zarr."
)
_TREE_ADVICE = "Pass one of its nodes."


class ObjectLocation(NamedTuple):
    """The store of an object, or else its address, and the path of the node in it."""

    store: Store | None
    address: str = ""
    path: str = "/"


def locate_object(value: object, mode: Mode) -> ObjectLocation:
    """The store or address of an object. Raises Refused for an object of an unknown type, Unsupported for one that
    cannot be opened.

    With mode "r" the store is read-only; with other modes it can be written if the object allows it.
    """
    if isinstance(value, str):
        return ObjectLocation(None, value)
    if isinstance(value, os.PathLike):
        return ObjectLocation(None, path_text(value))
    if isinstance(value, Store):
        return ObjectLocation(value)
    found = _found(value, mode)
    if found is None:
        raise Refused(f"{type(value).__name__} cannot be opened by zarrscope", advice=_ADVICE)
    if mode == "r" and found.store is not None and found.store.writable:
        from zarrscope.stores.wrappers import ReadOnlyStore

        return found._replace(store=ReadOnlyStore(found.store))
    return found


def path_text(path: os.PathLike[str]) -> str:
    """The address of a pathlib.Path, in which no character has a special meaning."""
    text = os.fspath(path)
    head = text.replace("\\", "/").partition("/")[0]
    if head.endswith(":") and head[:-1].lower() in known_schemes() and not os.path.lexists(head):
        return text  # Path("s3://bucket") becomes "s3:/bucket"; the error of address_text.py explains that
    return file_url(os.path.abspath(text)) if set(text) & _NAMED else text


def _found(value: Any, mode: Mode) -> ObjectLocation | None:
    if _is(value, "zarr", "Group", "Array", "AsyncGroup", "AsyncArray", "StorePath"):
        return _of_node(value, mode)
    if _is(value, "icechunk", "Repository", "Session"):
        from zarrscope.stores.icechunk import session_of

        return ObjectLocation(session_of(value, mode))
    if _is(value, "zarr.abc.store", "Store"):
        return ObjectLocation(_of_zarr_python(value, mode))
    if _is(value, "fsspec.mapping", "FSMap"):
        return ObjectLocation(_file_system(value.fs, value.root, mode))
    if isinstance(value, Mapping) and not _is(value, "xarray", "Dataset", "DataTree"):
        from zarrscope.stores.mapping import MappingStore

        return ObjectLocation(MappingStore(value))
    if _is(value, "zipfile", "ZipFile"):
        return ObjectLocation(_of_zip(value))
    if _is(value, "fsspec", "AbstractFileSystem"):
        return ObjectLocation(_file_system(value, "", mode))
    if _is(value, "upath", "UPath"):
        return ObjectLocation(_file_system(value.fs, value.path, mode))
    if _is(value, "obstore.store", "ObjectStoreMethods", "_ObjectStoreMixin"):
        return ObjectLocation(_bucket(value, mode))
    if _is(value, "xarray", "DataTree"):
        return _of_tree(value, mode)
    if _is(value, "xarray", "Dataset", "DataArray", "Variable") or _is(value, "dask", "Array"):
        return _of_arrays(value, mode)
    return None


def _is(value: object, package: str, *names: str) -> bool:
    """Whether the class of `value`, or a base class, has one of these names in that package."""
    return any(
        kind.__name__ in names and (kind.__module__ == package or kind.__module__.startswith(package + "."))
        for kind in type(value).__mro__
    )


# ------------------------------------------------------------------ stores
def _folder(root: str, what: str, mode: Mode) -> Store:
    """Opens a folder on this computer as a LocalStore, which writes atomically and has locks. `what`: the kind of
    object that was given."""
    if root in ("", "/"):
        raise Refused(f"The {what} names no folder", advice="Pass the path of the folder itself.")
    from zarrscope.stores.address import open_store

    return open_store(root, "r" if mode == "r" else "a")


def _file_system(files: object, root: str, mode: Mode) -> Store:
    from zarrscope.stores.file_system import FileSystemStore, unwrapped

    files, root = unwrapped(files, root)
    if type(files).__name__ == "LocalFileSystem":
        return _folder(root, "LocalFileSystem", mode)
    return FileSystemStore(files, root)


def _bucket(client: Any, mode: Mode) -> Store:
    if type(client).__name__ == "LocalStore":
        return _folder(str(client.prefix or ""), "LocalStore", mode)
    from zarrscope.stores.obstore_store import ObstoreStore

    return ObstoreStore(client)


def _of_zarr_python(store: Any, mode: Mode) -> Store:
    """The store of zarrscope for a store of zarr-python. Folders, archives and buckets are opened by zarrscope's own
    stores, which write more safely and list faster; for other stores, their methods are called (zarr_python.py)."""
    kind = type(store)
    own = kind.__module__.startswith("zarr.storage.")
    if own and kind.__name__ == "LocalStore":
        return _folder(str(store.root), "LocalStore", "r" if store.read_only else mode)
    if own and kind.__name__ == "ZipStore" and store.read_only:
        from zarrscope.stores.zip.store import ZipStore

        return ZipStore(store.path)
    if own and kind.__name__ == "ObjectStore":
        return _unless(store.read_only, _bucket(store.store, mode))
    if own and kind.__name__ == "FsspecStore":
        return _unless(store.read_only, _file_system(store.fs, store.path, mode))
    if _is(store, "zarrscope.stores", "ZarrscopeStore"):
        inner: Store = store.store
        return _unless(store.read_only, inner)
    from zarrscope.stores.zarr_python import ZarrPythonStore

    if type(store).__module__.partition(".")[0] == "icechunk":
        from zarrscope.stores.icechunk import IcechunkSession

        return IcechunkSession(store)
    return ZarrPythonStore(store)


def _unless(read_only: bool, store: Store) -> Store:
    if not read_only:
        return store
    from zarrscope.stores.wrappers import ReadOnlyStore

    return ReadOnlyStore(store)


def _of_zip(archive: zipfile.ZipFile) -> Store:
    from zarrscope.stores.process_addresses import object_address
    from zarrscope.stores.zip.ranges import GivenRanges
    from zarrscope.stores.zip.store import ZipStore

    if archive.mode != "r":
        raise Unsupported(
            "A ZipFile that is open for writing has no directory yet",
            feature="ZipFile",
            advice="Close it, then open the file.",
        )
    if archive.fp is None:
        raise Refused("The ZipFile is closed", advice="Open the file itself.")
    store = ZipStore(GivenRanges(archive))
    store.remote = False
    store.url = object_address(store)
    return store


# ------------------------------------------------------------------ nodes
def _of_node(node: Any, mode: Mode) -> ObjectLocation:
    """The store and path of a node of zarr-python. A node of version 3 has a StorePath, one of version 2 a mapping and
    a path."""
    place = getattr(node, "store_path", node)
    path = join_path("/", str(place.path))
    if isinstance(place.store, Mapping):
        found = _found(place.store, mode)
        assert found is not None
        return found._replace(path=path)
    store = _of_zarr_python(place.store, mode)
    return ObjectLocation(store, path=path)


def _of_arrays(value: Any, mode: Mode) -> ObjectLocation:
    """The Zarr array from which a dask array or DataArray is read, or the group from which a Dataset is read."""
    whole = _is(value, "xarray", "Dataset")
    group = _group_of(value)
    if whole and group is not None:
        return _of_node(group, mode)
    variables = list(value.variables.values()) if whole else [getattr(value, "variable", value)]
    arrays: dict[tuple[int, str], Any] = {}
    for variable in variables:
        for array in _arrays_of(getattr(variable, "_data", variable)):
            place = getattr(array, "store_path", array)
            arrays.setdefault((id(place.store), str(place.path)), array)
    name = type(value).__name__
    if not arrays:
        source = getattr(value, "encoding", {}).get("source") if whole else None
        if isinstance(source, str):
            return ObjectLocation(None, source)
        raise Refused(f"This {name} was not opened from Zarr, or its values are in memory by now", advice=_ADVICE)
    first, *rest = arrays.values()
    found = _of_node(first, mode)
    if not whole:
        if rest:
            raise Refused(
                f"This {name} is computed from {len(arrays)} Zarr arrays", advice="Pass one of them, or their group."
            )
        return found
    groups = {path.rpartition("/")[0] for _, path in arrays}
    if len(groups) > 1 or len({_store_key(array) for array in arrays.values()}) > 1:
        raise Refused(f"This {name} was combined from several groups", advice="Pass one of its variables.")
    return found._replace(path=found.path.rpartition("/")[0] or "/")


def _of_tree(tree: Any, mode: Mode) -> ObjectLocation:
    """The group from which a DataTree is read: its own, or that of the lazy arrays in all of its nodes."""
    group = _group_of(tree)
    if group is not None:
        return _of_node(group, mode)
    found: dict[tuple[str, str], Any] = {}
    for node in tree.subtree:
        below = node.path.removeprefix(tree.path if tree.path != "/" else "").strip("/")
        for variable in node.variables.values():
            for array in _arrays_of(getattr(variable, "_data", variable)):
                place = str(getattr(array, "store_path", array).path).rpartition("/")[0]
                if place != below and not place.endswith("/" + below) and below:
                    raise Refused("The nodes of this DataTree have other places in Zarr", advice=_TREE_ADVICE)
                found.setdefault((_store_key(array), place.removesuffix(below).rstrip("/")), array)
    if not found:
        raise Refused("This DataTree was not opened from Zarr, or its values are in memory by now", advice=_ADVICE)
    if len(found) > 1:
        raise Refused("This DataTree was combined from several groups", advice=_TREE_ADVICE)
    (((_, path), array),) = found.items()
    return _of_node(array, mode)._replace(path="/" + path)


def _group_of(value: Any) -> Any:
    """The group of zarr-python from which a Dataset or DataTree was opened, found by way of the function that closes
    it; None if the values were computed."""
    group = getattr(getattr(getattr(value, "_close", None), "__self__", None), "zarr_group", None)
    return group if _is(group, "zarr", "Group") else None


def _store_key(array: Any) -> str:
    """A text that is equal for stores of the same folder or address: xarray may open one store for each variable."""
    store = getattr(array, "store_path", array).store
    return str(getattr(store, "root", "") or getattr(store, "path", "") or id(store))


def _arrays_of(data: Any) -> Iterator[Any]:
    """The arrays of zarr-python inside xarray's wrappers and dask's graphs."""
    for _ in range(_MOST_LAYERS):
        if _is(data, "zarr", "Array", "AsyncArray"):
            yield data
            return
        if _is(data, "dask", "Array"):
            for layer in data.dask.layers.values():
                for name, task in layer.items():
                    if isinstance(name, str):  # in dask's graph the key of a source is a text, that of a block a tuple
                        yield from _arrays_of(getattr(task, "value", task))
            return
        inner = getattr(data, "_array", None)
        data = inner if inner is not None else getattr(data, "array", None)
        if data is None:
            return
