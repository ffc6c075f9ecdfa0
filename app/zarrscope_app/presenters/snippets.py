"""*Open in code*: a few lines of code that open a node, for each library; they run unchanged.

A snippet ends with `values`, one plane of an array, or with `node` for a group. If a library cannot open the node,
`why` gives the reason. For a node with a problem, the snippet of zarrscope prints the problem and everything else that
can be read: no snippet raises the problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from zarrscope.dialects.defects import UnreadAttributes
from zarrscope.errors.confidential import without_numbers
from zarrscope.errors.visible import visible
from zarrscope.model.frozen import frozen
from zarrscope.view.image import Image
from zarrscope_app.presenters.code_lines import folded_code
from zarrscope_app.presenters.formats import dialect_of, title_of

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group


@frozen
class Snippet:
    """Code that opens a node with one library. `text` is Python; it is "" if the library cannot open the node, and
    `why` then gives the reason."""

    id: str
    title: str
    text: str
    why: str = ""


TITLES = {
    "zarrscope": "zarrscope",
    "zarr": "zarr-python",
    "dask": "dask",
    "tensorstore": "tensorstore",
    "xarray": "xarray",
}
NO_DOCUMENT = "zarr-python opens groups that have a document of their own: choose a node beneath."
GROUPS_HAVE_NONE = "Only for arrays: choose one in the tree."
UNREAD = {
    "group": "Not all of this group can be read here:",
    "array": "Its values cannot be read here.",
}
DRIVERS = {"v2": "zarr", "v3": "zarr3", "n5": "n5"}
ZARR_FORMATS = {"v2": 2, "v3": 3}
TURNED = frozenset({"n5"})
"""Dialects whose axes have the reverse order in tensorstore."""


def snippets(node: Group | Array, image: Image | None = None) -> tuple[Snippet, ...]:
    """One snippet for each library. Reads nothing; names and scale of axes come from `image`, if given.

    For the group of an image, the libraries that open arrays alone get its finest level."""
    if node.hierarchy is None:
        return ()
    url, path, found_dialect = address(node), node.path, dialect_of(node)
    dialect = found_dialect.name if found_dialect is not None else ""
    problem = getattr(node, "problem", None)
    if url.startswith(("memory:", "object:")) or "***" in url:
        why = (
            "The address leads nowhere in another program."
            if "***" not in url
            else "The address contains a password or a token."
        )
        return tuple(Snippet(id, title, "", why) for id, title in TITLES.items())
    opened = f"zarrscope.open({url!r})[{path!r}]"
    if node.kind == "group":
        found = [_snippet("zarrscope", "\n".join(("import zarrscope\n", f"node = {opened}", *_of_group(node))))]
        if problem is not None:
            found.append(Snippet("zarr", TITLES["zarr"], "", f"{UNREAD['group']} zarr-python may fail."))
        elif getattr(node.metadata, "implicit", False) and dialect in ("", *ZARR_FORMATS):
            found.append(Snippet("zarr", TITLES["zarr"], "", NO_DOCUMENT))
        else:
            found.append(_zarr(url, node, dialect, "open_group", "node = {call}\nprint(list(node))"))
        finest = _finest(node, image)
        if finest is not None:
            theirs = {each.id for each in found}
            return (*found, *(each for each in _of_array(finest, image) if each.id not in theirs))
        found += [Snippet(id, TITLES[id], "", GROUPS_HAVE_NONE) for id in ("dask", "tensorstore", "xarray")]
        return tuple(found)
    if problem is not None:
        told = ("print(node.problem)", "print(node.metadata)", *_attributes(node))
        shown = _snippet("zarrscope", "\n".join(("import zarrscope\n", f"node = {opened}", *told)))
        others = (id for id in TITLES if id != "zarrscope")
        return (shown, *(Snippet(id, TITLES[id], "", UNREAD["array"]) for id in others))
    return _of_array(node, image)


def _of_array(node: Array, image: Image | None) -> tuple[Snippet, ...]:
    """One snippet for each library, each of which reads one plane of `node`."""
    url, found_dialect = address(node), dialect_of(node)
    dialect = found_dialect.name if found_dialect is not None else ""
    opened = f"zarrscope.open({url!r})[{node.path!r}]"
    cut = _cut(node, image)
    lazy = f"array = {opened}\nlazy = da.from_array(array, chunks=array.chunks)"
    return (
        _snippet("zarrscope", f"import zarrscope\n\narray = {opened}\nvalues = array[{cut}]"),
        _zarr(url, node, dialect, "open_array", f"array = {{call}}\nvalues = array[{cut}]"),
        _snippet("dask", f"import dask.array as da\nimport zarrscope\n\n{lazy}\nvalues = lazy[{cut}].compute()"),
        _tensorstore(url, node, dialect, cut),
        _snippet("xarray", _xarray(lazy, node, image, cut)),
    )


def _finest(group: Group, image: Image | None) -> Array | None:
    """The array of the finest level of the image that `group` is, or that it shows first as a plate or a series."""
    if image is None or group.problem is not None or not image.levels:
        return None
    finest = image.levels[0].array
    return finest if getattr(finest, "problem", None) is None and finest.ndim == len(image.axes) else None


def _of_group(group: Group) -> tuple[str, ...]:
    """The lines that follow the opening of a group: they show its children, if these can be listed."""
    if group.problem is None:
        return ("print(list(node))",)
    if group.metadata.listing_problem is not None:
        return ("print(node.problem)", *_attributes(group))
    return ("print(node.problem)", "print([child.name for child in node.names()])", *_attributes(group))


def _attributes(node: Group | Array) -> tuple[str, ...]:
    """The line that shows the attributes, if they can be read."""
    return () if isinstance(node.attributes, UnreadAttributes) else ("print(dict(node.attributes))",)


def as_text(found: tuple[Snippet, ...], columns: int = 0) -> str:
    """All snippets, each beneath its title; the reason alone if no library opens the node. Lines of more than `columns`
    characters are folded where Python allows it; 0 means that there is no limit."""
    if len(reasons := {each.why for each in found}) == 1 and "" not in reasons:
        text = f"# {reasons.pop()}"
    else:
        parts = (f"# {titles}\n{each.text or '# ' + each.why}" for each, titles in without_repetition(found))
        text = "\n\n".join(parts)
    return "\n".join(folded_code(text, columns)) if columns else text


def without_repetition(found: tuple[Snippet, ...]) -> Iterator[tuple[Snippet, str]]:
    """The snippets with their titles; libraries in a row that give the same reason are one: "dask, xarray"."""
    for _, same in groupby(found, lambda each: each.why or each.id):
        several = list(same)
        yield several[0], ", ".join(each.title for each in several)


def address(node: Group | Array) -> str:
    """The address of the hierarchy for other programs; a local folder as a plain path."""
    assert node.hierarchy is not None
    url = without_numbers(node.hierarchy.url)
    if url.startswith("file://") and "::" not in url and "|" not in url:
        return unquote(urlsplit(url).path)
    return url


def _within_zip(node: Group | Array) -> bool:
    """Whether the node lies within a zip file, whatever the name of the file is."""
    from zarrscope.stores.zip.store import ZipStore

    return node.hierarchy is not None and isinstance(node.hierarchy.store, ZipStore)


def _snippet(id: str, text: str) -> Snippet:
    return Snippet(id, TITLES[id], visible_code(text))


def visible_code(text: str) -> str:
    """Turns characters that repr keeps, but that control a terminal, into Python escapes."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _cut(array: Array, image: Image | None) -> str:
    """The subscript that selects the plane shown first: an index for each axis except the last two."""
    plane = image.plane if image is not None and min(image.plane) >= 0 else (array.ndim - 2, array.ndim - 1)
    parts = []
    for axis in range(array.ndim):
        name = image.axes[axis].name if image is not None else ""
        index = image.defaults.get(name, 0) if image is not None else 0
        parts.append(":" if axis in plane or array.shape[axis] == 0 else str(min(index, array.shape[axis] - 1)))
    return ", ".join(parts) or "()"


def _zarr(url: str, node: Group | Array, dialect: str, function: str, then: str) -> Snippet:
    title, inside = TITLES["zarr"], node.path.strip("/")
    version = ZARR_FORMATS.get(dialect)
    if version is None:
        return Snippet("zarr", title, "", f"zarr-python 3 reads Zarr v2 and v3; this is {title_of(node)}.")
    if "|" in url or "::" in url:
        return Snippet("zarr", title, "", "zarr-python 3 does not take this address.")
    if _within_zip(node) and "://" not in url:
        opening = f"store = zarr.storage.ZipStore({url!r}, mode='r')\n"
        call = f"zarr.{function}(store, path={inside!r}, mode='r', zarr_format={version})"
    else:
        opening, call = "", f"zarr.{function}({url!r}, path={inside!r}, mode='r', zarr_format={version})"
    if "://" in url and urlsplit(url).scheme not in ("http", "https", "s3", "gs", "gcs", "file"):
        return Snippet("zarr", title, "", f"zarr-python 3 does not take addresses of {urlsplit(url).scheme}.")
    return _snippet("zarr", f"import zarr\n\n{opening}{then.format(call=call)}")


def _tensorstore(url: str, array: Array, dialect: str, cut: str) -> Snippet:
    title, driver = TITLES["tensorstore"], DRIVERS.get(dialect)
    if driver is None:
        return Snippet("tensorstore", title, "", f"tensorstore reads Zarr v2, v3 and N5; this is {title_of(array)}.")
    if array.dtype.names is not None or array.dtype.kind in "OSUMmV" or array.dtype.itemsize == 0:
        return Snippet("tensorstore", title, "", f"tensorstore has no data type for {visible(str(array.dtype))}.")
    kvstore: dict[str, str] | None = None
    inside = array.path.strip("/")
    scheme, where = urlsplit(url).scheme, urlsplit(url)
    if _within_zip(array):
        return Snippet("tensorstore", title, "", "Within a zip file tensorstore needs a chain of stores.")
    if "://" not in url:
        kvstore = {"driver": "file", "path": "/".join(part for part in (url.rstrip("/"), inside) if part) + "/"}
    elif scheme in ("http", "https"):
        kvstore = {"driver": "http", "base_url": "/".join(part for part in (url.rstrip("/"), inside) if part) + "/"}
    elif scheme in ("s3", "gs"):
        key = "/".join(part for part in (where.path.strip("/"), inside) if part) + "/"
        kvstore = {"driver": "s3" if scheme == "s3" else "gcs", "bucket": where.netloc, "path": key}
    if kvstore is None:
        return Snippet("tensorstore", title, "", f"tensorstore does not take addresses of {scheme}.")
    spec = f"{{'driver': {driver!r}, 'kvstore': {kvstore!r}}}"
    turned = ".T" if dialect in TURNED else ""
    return _snippet(
        "tensorstore",
        f"import tensorstore as ts\n\narray = ts.open({spec}, read=True).result(){turned}\n"
        f"values = array[{cut}].read().result()",
    )


def _xarray(lazy: str, array: Array, image: Image | None, cut: str) -> str:
    names = array.dimension_names or (None,) * array.ndim
    dims = [name or (image.axes[i].name if image is not None else f"dim_{i}") for i, name in enumerate(names)]
    if len(set(dims)) != len(dims):
        dims = [f"dim_{i}" for i in range(array.ndim)]
    heads = "import dask.array as da\nimport xarray as xr\nimport zarrscope"
    made = f"data = xr.DataArray(lazy, dims={tuple(dims)!r}, name={array.name or 'values'!r})"
    return f"{heads}\n\n{lazy}\n{made}\nvalues = data[{cut}].values"
