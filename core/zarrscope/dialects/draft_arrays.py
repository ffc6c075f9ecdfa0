"""Converts array documents of the drafts of Zarr v3 to canonical metadata. drafts.py has the keys, layouts.py the
differences between the drafts, and draft_writing.py converts back.

Reading accepts more than any one draft allows, because real writers mixed the drafts: old and new type names,
`compressor` or `codecs`, parameters beside a codec's name or under "configuration" (spec A.0, A.13, D.2, D.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from zarrscope.dialects.defects import Defects
from zarrscope.dialects.demands import extension_reports, missing, unknown_members
from zarrscope.dialects.layouts import (
    CODEC_URI,
    DATA_TYPE_EXTENSIONS,
    DRAFT_2020,
    FILTERS_URI,
    PLAIN_INDEX,
    SHARDING_URI,
    DraftLayout,
)
from zarrscope.dialects.pipeline import NamedCodec, form_of, from_v2, from_v3, with_origin
from zarrscope.dialects.reading import Members, token, within
from zarrscope.dialects.v2 import dimension_names
from zarrscope.errors import BadMetadata
from zarrscope.model.codec_table import is_codec_name, kind_of
from zarrscope.model.dtype import CORE_NAMES, DataType, Fill, data_type, spell, unknown
from zarrscope.model.fill_value import parse_fill
from zarrscope.model.json_value import JSON
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionOutcome,
    ExtensionReport,
    Origin,
    RegularGrid,
)
from zarrscope.model.plugins import plugin
from zarrscope.model.typestr import parse_typestr

Typed = tuple[DataType, str | None]
"""A data type, and the byte order that its name contains; None if the name has none."""
_UNNAMED = "No draft of Zarr v3 names it: correct it, or restore the document from a copy."
_NEEDED = "The array cannot be read without it; ask its writer which package understands it."
MAX_TRANSFORMERS = 3
MAX_SHARD = 1 << 24


class DraftProtocol(Protocol):
    """The part of drafts.DraftDialect that reading and writing array documents needs."""

    @property
    def layout(self) -> DraftLayout:
        """The names and rules by which this draft differs from the others."""

    @property
    def lenient(self) -> bool:
        """Whether unknown extensions that must be understood are ignored; nothing is written then."""

    @property
    def fallbacks(self) -> bool:
        """Whether an unknown data type is read as the fallback that its document offers."""

    @property
    def name(self) -> str:
        """The name of the dialect, such as "draft-2022-05"."""

    @property
    def title(self) -> str:
        """The name of the draft in messages."""

    @property
    def ending(self) -> str:
        """The ending of document keys, such as ".json"; the bootstrap document may state another one."""

    def data(self, path: str) -> str:
        """The prefix of the chunks of the array at `path`."""

    def chunk_keys(self, path: str, ndim: int, separator: str | None) -> ChunkKeys:
        """The rule for the chunk keys of the array at `path`; `separator` None stands for the draft's default."""


def parse(
    dialect: DraftProtocol,
    path: str,
    members: Members,
    attributes: Mapping[str, JSON],
    notes: list[str],
    reports: list[ExtensionReport],
    defects: Defects,
) -> ArrayMetadata:
    """The canonical metadata of the array at `path`, from the `members` of its document. Adds to `notes`, `reports`
    and `defects`."""
    layout, attempt = dialect.layout, defects.attempt
    shape = attempt(members.ints, "shape")
    typed, extended = attempt(_data_type, dialect, members, notes, reports) or (None, False)
    dtype, endian = typed if typed is not None else (None, None)
    placed = attempt(_grid, dialect, members, shape, reports) if shape is not None else None
    grid, separator = placed if placed is not None else (None, None)
    if placed is None:
        for member in ("chunk_grid", "dimension_separator"):
            members.any(member)
    order, layout_codecs = attempt(_memory_layout, members, len(shape or ()), reports) or (None, ())
    filters = _filters(layout, attributes, dtype) if dtype is not None else []
    found = extension_reports(members, notes, lenient=dialect.lenient, attempt=attempt)
    for i, report in enumerate(found):
        if FILTERS_URI.fullmatch(report.name) and isinstance(report.configuration.get("filters"), list):
            pointer = f"{report.pointer}/configuration/filters"
            items = report.configuration["filters"]
            named = [attempt(_named, item, pointer + token(k)) for k, item in enumerate(items)]
            filters += [each for each in named if each is not None]
            found[i] = replace(report, understood=True, outcome=ExtensionOutcome.USED, advice="")
    reports += found
    codecs: tuple[CodecSpec, ...] | None = None
    members.any(_codec_member(members))
    if shape is not None and dtype is not None and order:
        made = attempt(_codecs, members, dtype, endian, len(shape), order, filters, reports)
        dtype, codecs = (made[0], (*layout_codecs, *made[1])) if made is not None else (dtype, None)
    if not members.value.get("storage_transformers"):
        members.any("storage_transformers")
    elif grid is not None and codecs is not None:
        grid, codecs = attempt(_transformers, layout, members, grid, codecs, reports) or (None, None)
    members.any("storage_transformers")
    members.any("fill_value")
    fill = attempt(_fill, layout, members, dtype, dialect.lenient or extended) if dtype is not None else None
    reports += unknown_members(members, notes, strict=layout.strict, lenient=dialect.lenient)
    keys = ChunkKeys(dialect.data(path), layout.stem, separator or layout.separator, layout.scalar)
    ndim = len(shape or ())
    return defects.array(
        shape=shape,
        dtype=dtype,
        grid=grid,
        keys=keys if separator is not None else None,
        codecs=codecs,
        fill=fill,
        dialect=dialect.name,
        stored_type=members.any("data_type"),
        dimension_names=dimension_names(attributes, ndim),
        extensions=tuple(reports),
        alternative_keys=_alternatives(dialect, path, keys, ndim) if shape is not None else (),
    )


def _fill(layout: DraftLayout, members: Members, dtype: DataType, lenient: bool) -> Fill:
    value = members.need("fill_value")
    with within("/fill_value"):
        return parse_fill(value, dtype, layout.fill, lenient=lenient)


def _alternatives(dialect: DraftProtocol, path: str, keys: ChunkKeys, ndim: int) -> tuple[ChunkKeys, ...]:
    """Other forms of chunk keys, which some writers used instead of `keys` (spec D.2.4, D.2.11, D.7)."""
    others: list[ChunkKeys] = []
    if dialect.layout == DRAFT_2020:
        if ndim == 0:
            others.append(replace(keys, scalar="c"))
        if not dialect.ending:
            others.append(replace(keys, prefix=keys.prefix.replace("data/root/", "data/", 1)))
    elif not dialect.layout.stem and ndim == 0 and path.strip("/"):
        others.append(replace(keys, prefix=keys.prefix.removesuffix("/"), scalar=""))
    return tuple(others)


# ---------------------------------------------------------------------------------------------- data types
def _named_type(value: JSON) -> Typed | None:
    """The data type with this name in any of the drafts, such as "<f8", "float64", "r24" or "i1"; None for an unknown
    name."""
    if not isinstance(value, str):
        return None
    if value in CORE_NAMES or (value[:1] == "r" and value[1:].isdigit()):
        return data_type(value), None
    if value[:1] in "<>|" or value in ("i1", "u1", "bool"):
        try:
            dtype, endian = parse_typestr(value)
        except BadMetadata:
            return None
        return (dtype, endian) if dtype.name in CORE_NAMES else None
    return None


def _data_type(
    dialect: DraftProtocol, members: Members, notes: list[str], reports: list[ExtensionReport]
) -> tuple[Typed, bool]:
    """Reads the member data_type: returns ((type, byte order), whether an extension defines the type)."""
    value = members.need("data_type", str, dict)
    if isinstance(value, str):
        typed = _named_type(value)
        if typed is None:
            reports.append(missing("data type", value, "/data_type", _UNNAMED))
            return (unknown(value), None), False
        return typed, False
    inner = Members(value, "/data_type", "data type")
    extension = inner.need("extension", str)
    form = inner.any("type")
    if DATA_TYPE_EXTENSIONS.fullmatch(extension):
        try:
            dtype, endian = parse_typestr(form)
            reports.append(
                ExtensionReport("data type", extension, True, True, ExtensionOutcome.USED, pointer="/data_type")
            )
            return (dtype, endian), True
        except BadMetadata as error:
            if value.get("fallback") is None:
                raise error.beneath("/data_type/type") from None
    typed, name = _fallback(value.get("fallback"), form)
    if typed is None:
        advice = "It offers no fallback of the same size that is known here. A newer zarrscope may know it."
        reports.append(missing("data type", extension, "/data_type", advice))
        return (unknown(extension), None), True
    if not dialect.fallbacks:
        report = missing("data type", extension, "/data_type", f"Its fallback {name} is switched off.")
        reports.append(replace(report, fallback=name))
        return (unknown(extension), None), True
    notes.append(f"The data type {spell(form)} of {extension} is unknown: its values are shown as {name}")
    advice = f"Shown as {name}, the fallback that the document offers."
    reports.append(
        ExtensionReport(
            "data type",
            extension,
            False,
            False,
            ExtensionOutcome.FELL_BACK,
            advice,
            pointer="/data_type",
            fallback=name,
        )
    )
    return typed, False


def _fallback(value: JSON, form: JSON) -> tuple[Typed | None, str]:
    """Returns the first data type named in `value` (a name or a list of names) that zarrscope knows and whose elements
    have the size of the type string `form`, with its name; (None, "") if there is none."""
    size = None
    if isinstance(form, str) and form[:1] in "<>|":
        try:
            size = parse_typestr(form)[0].itemsize
        except BadMetadata:
            pass  # only the extension knows the size of this type
    for name in value if isinstance(value, list) else [value]:
        typed = _named_type(name)
        if typed is not None and typed[0].code is not None and size in (None, typed[0].itemsize):
            return typed, str(name)
    return None, ""


# ---------------------------------------------------------------------------------------------- grid and layout
def _grid(
    dialect: DraftProtocol, members: Members, shape: tuple[int, ...], reports: list[ExtensionReport]
) -> tuple[RegularGrid | None, str]:
    """Returns the chunk grid, None if it is of another kind than regular, and the separator of chunk keys."""
    inner = Members(members.need("chunk_grid", dict), "/chunk_grid", "chunk grid")
    kind = inner.any("extension", inner.any("type"))
    separator = inner.choice("separator", "/", ".", default=dialect.layout.separator)
    if "dimension_separator" in members and members.value["dimension_separator"] in ("/", "."):
        separator = members.any("dimension_separator")  # zarr-python 2 gives this member precedence over `separator`
    if "extension" in inner or kind != "regular":
        if not isinstance(kind, str):
            where = next((inner.at(name) for name in ("extension", "type") if name in inner), "/chunk_grid")
            raise BadMetadata(f"The type of a chunk grid is text, not {spell(kind)}", pointer=where)
        reports.append(missing("chunk grid", kind, "/chunk_grid", _NEEDED))
        return None, separator
    return RegularGrid(inner.chunk_shape("chunk_shape", shape)), separator


def _memory_layout(members: Members, ndim: int, reports: list[ExtensionReport]) -> tuple[str, tuple[CodecSpec, ...]]:
    """Reads the member chunk_memory_layout: returns ("C" or "F", the codecs of an extension, which come first)."""
    value = members.need("chunk_memory_layout", str, dict)
    if isinstance(value, Mapping):
        name = Members(value, "/chunk_memory_layout", "memory layout").need("extension", str)
        made = plugin("memory_layouts", name)
        if made is not None:
            pointer = "/chunk_memory_layout"
            reports.append(ExtensionReport("memory layout", name, True, True, ExtensionOutcome.USED, "", pointer))
            return "C", with_origin(pointer, *from_v3(made(value, ndim), pointer, None, ndim))
        advice = _NEEDED
        reports.append(missing("memory layout", name, "/chunk_memory_layout", advice))
        return "C", ()
    return members.choice("chunk_memory_layout", "C", "F"), ()


# ---------------------------------------------------------------------------------------------- codecs
def _filters(layout: DraftLayout, attributes: Mapping[str, JSON], dtype: DataType) -> list[NamedCodec]:
    """The codecs that zarr-python 2 stored in the attribute "filters" (draft of 2020); they apply before the
    compressor."""
    value = attributes.get("filters")
    if layout != DRAFT_2020 or not isinstance(value, list) or not value or len(value) > 64:
        return []
    named: list[NamedCodec] = []
    for i, item in enumerate(value):
        name = item.get("id") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            return []
        known = kind_of(name) or kind_of(f"numcodecs.{name}")
        if known is None and name != "pickle" and dtype.name != "object":
            return []  # the user chose the name "filters" for an attribute that holds no codecs
        pointer = f"/attributes/filters/{i}"
        named.append(NamedCodec(name, item, name, Origin(pointer, pointer)))
    return named


def _named(value: JSON, pointer: str) -> NamedCodec:
    """Parses one codec of a document: its URI is the member `codec` or `type`; its parameters lie beside that member
    or under `configuration`."""
    members = Members(value, pointer, "codec")
    uri = members.need("codec" if "codec" in members or "type" not in members else "type", str)
    configuration = members.get("configuration", dict, type(None))
    settings = {n: members.value[n] for n in members.unread()} if configuration is None else configuration
    match = CODEC_URI.fullmatch(uri)
    name = match[1].lower() if match else uri
    known = match is not None and is_codec_name("draft", name)
    origin = Origin(pointer, pointer if configuration is None else f"{pointer}/configuration")
    # codecs/registry.py raises the error for an unknown codec later
    return NamedCodec(name if known else uri, settings, uri, origin, "draft" if known else "v2")


def _codecs(
    members: Members,
    dtype: DataType,
    endian: str | None,
    ndim: int,
    order: str,
    filters: list[NamedCodec],
    reports: list[ExtensionReport],
) -> tuple[DataType, tuple[CodecSpec, ...]]:
    """The canonical (data type, codecs) for the memory layout, the filters and the codecs of the document."""
    member = _codec_member(members)
    value = members.get(member, *((dict, type(None)) if member == "compressor" else (list, type(None))))
    items = [] if value is None else value if isinstance(value, list) else [value]
    if len(items) > 64:
        raise BadMetadata(f"{len(items)} codecs are more than zarrscope allows (64)", pointer=f"/{member}")
    named: list[NamedCodec] = []
    dtype_at = "/data_type"
    for i, item in enumerate(items):
        pointer = f"/{member}" + (token(i) if isinstance(value, list) else "")
        found = _named(item, pointer)
        name, settings, uri = found.identifier, found.configuration, found.spelled
        if name == "transpose":
            reports.append(missing("codec", uri, pointer, "No draft defines what it does: ask its writer."))
        elif name == "endian":
            wanted = Members(settings, pointer + "/configuration", "endian codec").choice("endian", "little", "big")
            if named:
                reports.append(
                    missing(
                        "codec",
                        uri,
                        pointer,
                        "It needs an array, and gets bytes: restore the document from a copy, or correct it.",
                    )
                )
            twice = endian is not None and any(_is_endian(other) for other in items[:i])
            endian = wanted if not twice else ("big" if (wanted == "big") != (endian == "big") else "little")
            dtype_at = pointer
        else:
            named.append(found)
    return from_v2(dtype, endian, ndim, order, filters, named, dtype_at=dtype_at, order_at="/chunk_memory_layout")


def _codec_member(members: Members) -> str:
    return next((name for name in ("chunk_codecs", "codecs") if name in members), "compressor")


def _is_endian(item: JSON) -> bool:
    match = CODEC_URI.fullmatch(str(item.get("type", item.get("codec")))) if isinstance(item, Mapping) else None
    return match is not None and match[1] == "endian"


# ---------------------------------------------------------------------------------------------- sharding
def _transformers(
    layout: DraftLayout,
    members: Members,
    grid: RegularGrid,
    codecs: tuple[CodecSpec, ...],
    reports: list[ExtensionReport],
) -> tuple[RegularGrid, tuple[CodecSpec, ...]]:
    """Converts sharding storage transformers to sharding codecs: returns (grid of the shards, codecs). The first
    transformer groups chunks into shards, each further one groups the shards of the one before (spec A.6.1)."""
    value = members.get("storage_transformers", list, type(None)) or []
    if len(value) > MAX_TRANSFORMERS:
        raise BadMetadata(f"{len(value)} storage transformers are more than zarrscope allows", pointer=members.pointer)
    ndim = len(grid.chunk_shape)
    for i, item in enumerate(value):
        pointer = f"/storage_transformers/{i}"
        one = Members(item, pointer, "storage transformer")
        name, kind = one.need("extension", str), one.any("type")
        if not SHARDING_URI.fullmatch(name) or kind != "indexed":
            advice = _NEEDED
            reports.append(missing("storage transformer", f"{name} {spell(kind)}", pointer, advice))
            continue
        settings = Members(one.need("configuration", dict), pointer + "/configuration", "sharding configuration")
        per_shard = _chunks_per_shard(layout, settings, ndim)
        shard = tuple(c * n for c, n in zip(grid.chunk_shape, per_shard, strict=True))
        configuration = {
            "chunk_shape": [*grid.chunk_shape],
            "codecs": [form_of(spec) for spec in codecs],
            "index_codecs": PLAIN_INDEX,
            "index_location": "end",
        }
        origin = Origin(
            pointer,
            f"{pointer}/configuration",
            (("chunk_shape", "/chunk_grid/chunk_shape" if i == 0 else f"{pointer}/configuration/chunks_per_shard"),),
            tuple(spec.origin for spec in codecs),
        )
        codecs = (CodecSpec("sharding_indexed", Configuration(configuration), spelled=name, origin=origin),)
        grid = RegularGrid(shard)
        reports.append(ExtensionReport("storage transformer", name, True, True, ExtensionOutcome.USED, pointer=pointer))
    return grid, codecs


def _chunks_per_shard(layout: DraftLayout, settings: Members, ndim: int) -> tuple[int, ...]:
    value = settings.any("chunks_per_shard")
    if layout == DRAFT_2020 and ndim:  # zarr-python 2 also accepted a number, or a list with fewer items than axes
        value = [value] if type(value) is int else value
        if isinstance(value, list):
            value = [*value, *[1] * (ndim - len(value))]
    found = Members({"chunks_per_shard": value}, settings.pointer, settings.what)
    per_shard = found.ints("chunks_per_shard", minimum=1, maximum=MAX_SHARD, length=ndim)
    count = 1
    for n in per_shard:
        count *= n
    if count > MAX_SHARD:
        raise BadMetadata(
            f"{count:,} chunks in a shard are more than {MAX_SHARD:,}", pointer=found.at("chunks_per_shard")
        )
    return per_shard
