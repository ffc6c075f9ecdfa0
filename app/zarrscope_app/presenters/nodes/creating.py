"""Actions that create groups and arrays: the form explains chunks and shards, with their number and size."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from zarrscope.dialects import Dialect
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.metadata import ArrayMetadata
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.nodes import trash
from zarrscope.nodes.array import Array
from zarrscope.nodes.create import new_array
from zarrscope.nodes.edit import need_place
from zarrscope.nodes.folders import within
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.nodes.internals import node_context
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.jobs import Report
from zarrscope_app.presenters.nodes import words
from zarrscope_app.presenters.nodes.acts import (
    NOT_REFUSED,
    Act,
    ActField,
    ActPlace,
    ActResult,
    FieldRefusal,
    Fields,
    IsCancelled,
    Undo,
    lengths,
    values,
    with_hints,
)

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON


class _Create(Act):
    roots = True
    saved_first = False

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return NOT_REFUSED if given.get("to", "").strip("/") else ("to", strings.NEW_PLACE)


class CreateGroup(_Create):
    """Creates an empty group."""

    id = "create-group"

    def fields(self, place: ActPlace) -> Fields:
        return (ActField("to", words.PLACE, join_path(place.group, "group"), hint=words.GROUP_HINT),)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        above = missing_groups(place.hierarchy, given["to"])
        made = place.hierarchy.create_group(given["to"])
        return ActResult(made.path, undo=taking_back(self.id, made.path, place.path, above))


class CreateArray(_Create):
    """Creates an array of fill values. The form proposes the shape, chunks and data type of the selected array, if one
    is selected."""

    id = "create-array"

    def fields(self, place: ActPlace) -> Fields:
        like = place.node if isinstance(place.node, Array) else None
        dialect = _dialect_at(place.hierarchy, place.path)
        types = [name for name in words.DTYPES if like is None or name != like.dtype.name]
        first = [like.dtype.name] if like is not None and like.metadata.dtype.numpy is not None else []
        names = (like.dimension_names or ()) if like is not None else ()
        found = [
            ActField("to", words.PLACE, join_path(place.group, "array"), hint=words.ARRAY_HINT),
            ActField("shape", words.SHAPE, _commas(like.shape if like is not None else ())),
            ActField("dtype", words.DTYPE, (first or ["uint16"])[0], "choice", _named([*first, *types])),
            ActField("chunks", words.CHUNKS, _commas(like.chunks if like is not None else ())),
            ActField("shards", words.SHARDS, _commas((like.shards or ()) if like is not None else ())),
            ActField("codec", words.COMPRESSION, "zstd:3", "choice", words.COMPRESSIONS),
            ActField("fill", words.FILL, "0", hint=words.FILL_HINT),
            ActField("axes", words.AXES, ", ".join(each or "" for each in names), hint=words.AXES_HINT),
        ]
        return tuple(each for each in found if each.id != "fill" or not dialect.zero_fill)

    def described(self, place: ActPlace, fields: Fields) -> Fields:
        given = values(fields)
        errors: dict[str, str] = {}
        lists: dict[str, tuple[int, ...] | None] = {}
        for id in ("shape", "chunks", "shards"):
            try:
                lists[id] = lengths(given[id])
            except Refused as error:
                errors[id] = error.message
        if errors or lists["shape"] is None:
            return with_hints(fields, {"shape": words.NO_LENGTHS, "chunks": "", "shards": ""}, errors)
        try:
            metadata = _metadata(place.hierarchy, given)
        except ZarrscopeError as error:
            errors[_guilty(error)] = strings.problem(error).headline
            return with_hints(fields, {"shape": "", "chunks": "", "shards": ""}, errors)
        hints = _hints(metadata, lists["chunks"] is None, lists["shards"] is not None)
        return with_hints(fields, hints, errors)

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        found = super().refused(place, given)
        return found if any(found) or given.get("shape") else ("shape", words.NO_LENGTHS)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        options = _options(given)
        above = missing_groups(place.hierarchy, given["to"])
        made = place.hierarchy.create_array(given["to"], **options)
        return ActResult(made.path, undo=taking_back(self.id, made.path, place.path, above))


def taking_back(act: str, path: str, back_to: str, above: Sequence[str]) -> Undo:
    """Undoes the creation of the node at `path`: moves it into the trash, or erases it if it contains only its
    documents. `above`: the groups that were created with it."""

    def work(hierarchy: Hierarchy) -> str:
        throw_back(hierarchy, path)
        erase_empty(hierarchy, above)
        return back_to

    return Undo(words.undoing(act, path.rpartition("/")[2]), work)


def missing_groups(hierarchy: Hierarchy, path: str, instead_of: str = "") -> list[str]:
    """The groups above `path` that do not exist and will be created with a node at `path`, the outermost first.
    `instead_of`: a node that will be moved to `path`."""
    context, path = node_context(hierarchy), clean_path(path)
    return need_place(within(context, path, context.dialect), path, instead_of=instead_of)


def erase_empty(hierarchy: Hierarchy, groups: Sequence[str]) -> None:
    """Erases groups that an action has created, the innermost first, as long as nothing was put into them since."""
    for path in reversed(groups):
        if path not in hierarchy:
            continue
        group = hierarchy[path]
        if not isinstance(group, Group) or group.attributes or any(True for _ in group.children()):
            return
        hierarchy.erase(path)


def throw_back(hierarchy: Hierarchy, path: str) -> None:
    """Removes the node that was created at `path`, unless that would lose data."""
    if trash.available(hierarchy):
        trash.put(hierarchy, path)
        return
    node = hierarchy.open_node(path)
    dialect = node_context(hierarchy).dialect_of(node)
    documents = {*dialect.documents(path)}
    for prefix in dialect.erase(path, node.kind).prefixes:
        if any(key not in documents for key in hierarchy.store.list_prefix(prefix)):
            raise Refused(words.HOLDS_DATA, store=hierarchy.url)
    hierarchy.erase(path)


def _options(given: Mapping[str, str]) -> dict[str, Any]:
    codec = given["codec"]
    name, _, level = codec.partition(":")
    codecs: list[Any] = [] if name == "none" else [name]
    if level:
        codecs = [{"name": name, "configuration": {"level": int(level)}}]
    axes = [name.strip() for name in given["axes"].replace(",", " ").split()] if given["axes"] else None
    return {
        "shape": lengths(given["shape"]) or (),
        "dtype": "str" if given["dtype"] == "string" else given["dtype"],
        "chunks": lengths(given["chunks"]),
        "shards": lengths(given["shards"]),
        "codecs": codecs,
        "fill_value": _fill(given.get("fill", "0"), given["dtype"]),
        "dimension_names": axes,
    }


def _fill(text: str, dtype: str) -> JSON:
    if dtype == "string":
        return "" if text == "0" else text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _metadata(hierarchy: Hierarchy, given: Mapping[str, str]) -> ArrayMetadata:
    path = clean_path(given["to"] or "/a")
    return new_array(_dialect_at(hierarchy, path), path, separator=None, **_options(given))


def _dialect_at(hierarchy: Hierarchy, path: str) -> Dialect:
    """The dialect of a new node at `path`: in a folder of several hierarchies, that of the hierarchy around it."""
    context = node_context(hierarchy)
    return within(context, path, context.dialect).dialect


def _hints(metadata: ArrayMetadata, guessed: bool, sharded: bool) -> dict[str, str]:
    itemsize = metadata.dtype.itemsize or None
    outer = metadata.grid.chunk_shape
    inner = tuple(metadata.codecs[0].configuration["chunk_shape"]) if sharded else tuple(outer)
    files = prod(metadata.grid.grid_shape(metadata.shape))
    inside = prod(o // i for o, i in zip(outer, inner, strict=True))
    pieces = prod(-(-n // i) for n, i in zip(metadata.shape, inner, strict=True))

    def bytes_of(extent: Sequence[int]) -> int | None:
        return prod(extent) * itemsize if itemsize is not None else None

    return {
        "shape": words.shape_hint(metadata.shape, bytes_of(metadata.shape)),
        "chunks": words.chunks_hint(pieces, inner, bytes_of(inner), guessed),
        "shards": words.shards_hint(files, inside, bytes_of(outer)),
    }


def _guilty(error: ZarrscopeError) -> str:
    """The id of the form field whose value causes an error."""
    message = error.message.lower()
    found = next((name for name in ("shards", "chunks", "fill value", "dimension name") if name in message), "shape")
    return {"fill value": "fill", "dimension name": "axes"}.get(found, found)


def _commas(extent: Sequence[int]) -> str:
    return ", ".join(map(str, extent))


def _named(names: list[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)
