"""Array documents of the drafts: to canonical metadata and back (drafts.py has the keys, layouts.py the differences).

Reading is broader than any one text, since real writers mixed them: old and new type names, `compressor` or `codecs`,
parameters beside a codec's name or under "configuration" (spec A.0, A.13, D.2, D.3). Writing follows one text each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.demands import extension_reports, missing, unknown_members
from zarrscope.dialects.layouts import (
    CODEC_NAMES,
    CODEC_URI,
    DATA_TYPE_EXTENSIONS,
    DRAFT_2019_06,
    DRAFT_2020,
    DRAFT_2022_05,
    FILTERS_URI,
    SHARDING_URI,
    Layout,
)
from zarrscope.dialects.pipeline import Named, as_json, from_v2, from_v3, kind_of, to_v2
from zarrscope.dialects.reading import Members, token, within
from zarrscope.dialects.v2 import dimension_names
from zarrscope.dtype import CORE_NAMES, DataType, data_type, parse_typestr, spell, typestr, unknown
from zarrscope.errors import BadMetadata, Unsupported
from zarrscope.fill import fill_json, parse_fill
from zarrscope.metadata import (
    ArrayMetadata,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionReport,
    Outcome,
    RegularGrid,
)
from zarrscope.plugins import plugin

if TYPE_CHECKING:
    from zarrscope.dialects.drafts import Draft

Json = Any
Typed = tuple[DataType, str | None]
"""A data type and the byte order that its name carries."""
MAX_TRANSFORMERS = 3
MAX_SHARD = 1 << 24
_PLAIN_INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}]


def parse(
    dialect: Draft,
    path: str,
    members: Members,
    attributes: Mapping[str, Json],
    notes: list[str],
    reports: list[ExtensionReport],
) -> ArrayMetadata:
    """The canonical metadata of one array document. Raises BadMetadata, Unsupported."""
    layout = dialect.layout
    shape = members.ints("shape")
    (dtype, endian), extended = _data_type(dialect, members, notes, reports)
    grid, separator = _grid(dialect, members, shape, notes, reports)
    order, layout_codecs = _memory_layout(members, len(shape), reports)
    filters = _filters(layout, attributes, dtype)
    found = extension_reports(members, notes, lenient=dialect.lenient)
    for i, report in enumerate(found):
        if FILTERS_URI.fullmatch(report.name) and isinstance(report.configuration.get("filters"), list):
            pointer = f"{report.pointer}/configuration/filters"
            items = report.configuration["filters"]
            filters += [_named(item, pointer + token(k)) for k, item in enumerate(items)]
            found[i] = replace(report, understood=True, outcome=Outcome.USED, advice="")
    reports += found
    dtype, codecs = _codecs(members, dtype, endian, len(shape), order, filters, reports)
    codecs = (*layout_codecs, *codecs)
    if not members.value.get("storage_transformers"):
        members.any("storage_transformers")
    else:
        grid, codecs = _transformers(layout, members, grid, codecs, reports)
    fill_value = members.need("fill_value")
    with within("/fill_value"):
        fill = parse_fill(fill_value, dtype, layout.fill, lenient=dialect.lenient or extended)
    reports += unknown_members(members, notes, strict=layout.strict, lenient=dialect.lenient)
    keys = ChunkKeys(dialect.data(path), layout.stem, separator, layout.scalar)
    return ArrayMetadata(
        shape=shape,
        dtype=dtype,
        grid=grid,
        keys=keys,
        codecs=codecs,
        fill=fill,
        dialect=dialect.name,
        dimension_names=dimension_names(attributes, len(shape)),
        extensions=tuple(reports),
        alternative_keys=_alternatives(dialect, path, keys, len(shape)),
    )


def _alternatives(dialect: Draft, path: str, keys: ChunkKeys, ndim: int) -> tuple[ChunkKeys, ...]:
    """Keys that some writer used instead (spec D.2.4, D.2.11, D.7)."""
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
def _named_type(value: Json) -> Typed | None:
    """A type by its name in any of the drafts, or None: "<f8", "float64", "r24", "i1"."""
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
    dialect: Draft, members: Members, notes: list[str], reports: list[ExtensionReport]
) -> tuple[Typed, bool]:
    """((type, byte order), whether an extension defines it)."""
    value = members.need("data_type", str, dict)
    if isinstance(value, str):
        typed = _named_type(value)
        if typed is None:
            reports.append(missing("data type", value, "/data_type", "No draft of Zarr v3 names it."))
            return (unknown(value), None), False
        return typed, False
    inner = Members(value, "/data_type", "data type")
    extension = inner.need("extension", str)
    form = inner.any("type")
    if DATA_TYPE_EXTENSIONS.fullmatch(extension):
        try:
            dtype, endian = parse_typestr(form)
            reports.append(ExtensionReport("data type", extension, True, True, Outcome.USED, pointer="/data_type"))
            return (dtype, endian), True
        except BadMetadata as error:
            if value.get("fallback") is None:
                raise error.beneath("/data_type/type") from None
    typed, name = _fallback(value.get("fallback"), form)
    if typed is None:
        advice = "It offers no fallback that is known here, of the same size."
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
            "data type", extension, False, False, Outcome.FELL_BACK, advice, pointer="/data_type", fallback=name
        )
    )
    return typed, False


def _fallback(value: Json, form: Json) -> tuple[Typed | None, str]:
    """The first type of `fallback`, one name or a list, that is known here and of the size that `form` tells."""
    size = None
    if isinstance(form, str) and form[:1] in "<>|":
        try:
            size = parse_typestr(form)[0].itemsize
        except BadMetadata:
            pass  # an identifier that only its extension can tell the size of
    for name in value if isinstance(value, list) else [value]:
        typed = _named_type(name)
        if typed is not None and typed[0].numpy is not None and size in (None, typed[0].itemsize):
            return typed, str(name)
    return None, ""


# ---------------------------------------------------------------------------------------------- grid and layout
def _grid(
    dialect: Draft, members: Members, shape: tuple[int, ...], notes: list[str], reports: list[ExtensionReport]
) -> tuple[RegularGrid, str]:
    inner = Members(members.need("chunk_grid", dict), "/chunk_grid", "chunk grid")
    kind = inner.any("extension", inner.any("type"))
    separator = inner.choice("separator", "/", ".", default=dialect.layout.separator)
    if "dimension_separator" in members and members.value["dimension_separator"] in ("/", "."):
        separator = members.any("dimension_separator")  # zarr-python 2 wrote it beside, and lets it win
    if "extension" in inner or kind != "regular":
        if not isinstance(kind, str):
            raise BadMetadata(f"The type of a chunk grid is text, not {spell(kind)}", pointer="/chunk_grid/type")
        reports.append(missing("chunk grid", kind, "/chunk_grid", "A chunk grid can never be passed over."))
        return RegularGrid(tuple(max(1, n) for n in shape)), separator
    return RegularGrid(inner.chunk_shape("chunk_shape", shape)), separator


def _memory_layout(members: Members, ndim: int, reports: list[ExtensionReport]) -> tuple[str, tuple[CodecSpec, ...]]:
    """("C" or "F", codecs that an extension puts in front)."""
    value = members.need("chunk_memory_layout", str, dict)
    if isinstance(value, Mapping):
        name = Members(value, "/chunk_memory_layout", "memory layout").need("extension", str)
        made = plugin("memory_layouts", name)
        if made is not None:
            reports.append(ExtensionReport("memory layout", name, True, True, Outcome.USED, "", "/chunk_memory_layout"))
            return "C", from_v3(made(value, ndim), "/chunk_memory_layout", None, ndim)
        advice = "A memory layout can never be passed over."
        reports.append(missing("memory layout", name, "/chunk_memory_layout", advice))
        return "C", ()
    return members.choice("chunk_memory_layout", "C", "F"), ()


# ---------------------------------------------------------------------------------------------- codecs
def _filters(layout: Layout, attributes: Mapping[str, Json], dtype: DataType) -> list[Named]:
    """What zarr-python 2 hid in the attribute "filters" of the draft of 2020: codecs applied before the compressor."""
    value = attributes.get("filters")
    if layout != DRAFT_2020 or not isinstance(value, list) or not value or len(value) > 64:
        return []
    named: list[Named] = []
    for item in value:
        name = item.get("id") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            return []
        known = kind_of(name) or kind_of(f"numcodecs.{name}")
        if known is None and name != "pickle" and dtype.name != "object":
            return []  # somebody's own attribute
        named.append((name, item, name))
    return named


def _named(value: Json, pointer: str) -> Named:
    """{codec or type: URI, parameters beside it or under configuration} as identifier and parameters."""
    members = Members(value, pointer, "codec")
    uri = members.need("codec" if "codec" in members or "type" not in members else "type", str)
    configuration = members.get("configuration", dict, type(None))
    settings = {n: members.value[n] for n in members.left()} if configuration is None else configuration
    match = CODEC_URI.fullmatch(uri)
    name = match[1].lower() if match else uri
    if name == "id" or not (match and (name in CODEC_NAMES or name in ("endian", "transpose"))):
        name = uri  # the codec floor will say that nobody knows it
    return name, settings, uri


def _codecs(
    members: Members,
    dtype: DataType,
    endian: str | None,
    ndim: int,
    order: str,
    filters: list[Named],
    reports: list[ExtensionReport],
) -> tuple[DataType, tuple[CodecSpec, ...]]:
    """Memory layout, filters, codecs. A codec that works on bytes gets an array as little-endian bytes in C order."""
    member = "chunk_codecs" if "chunk_codecs" in members else "codecs" if "codecs" in members else "compressor"
    value = members.get(member, *((dict, type(None)) if member == "compressor" else (list, type(None))))
    items = [] if value is None else value if isinstance(value, list) else [value]
    if len(items) > 64:
        raise BadMetadata(f"{len(items)} codecs are more than zarrscope allows (64)", pointer=f"/{member}")
    named: list[Named] = []
    for i, item in enumerate(items):
        pointer = f"/{member}" + (token(i) if isinstance(value, list) else "")
        name, settings, uri = _named(item, pointer)
        if name == "transpose":
            reports.append(missing("codec", uri, pointer, "No draft defines what it does."))
        elif name == "endian":
            wanted = Members(settings, pointer + "/configuration", "endian codec").choice("endian", "little", "big")
            if named:
                reports.append(missing("codec", uri, pointer, "It needs an array, and gets bytes."))
            twice = endian is not None and any(_is_endian(other) for other in items[:i])
            endian = wanted if not twice else ("big" if (wanted == "big") != (endian == "big") else "little")
        else:
            named.append((name, settings, uri))
    return from_v2(dtype, endian, ndim, order, filters, named)


def _is_endian(item: Json) -> bool:
    match = CODEC_URI.fullmatch(str(item.get("type", item.get("codec")))) if isinstance(item, Mapping) else None
    return match is not None and match[1] == "endian"


# ---------------------------------------------------------------------------------------------- sharding
def _transformers(
    layout: Layout,
    members: Members,
    grid: RegularGrid,
    codecs: tuple[CodecSpec, ...],
    reports: list[ExtensionReport],
) -> tuple[RegularGrid, tuple[CodecSpec, ...]]:
    """Sharding transformers as sharding codecs: the first of the list is next to the array (spec A.6.1)."""
    value = members.get("storage_transformers", list, type(None)) or []
    if len(value) > MAX_TRANSFORMERS:
        raise BadMetadata(f"{len(value)} storage transformers are more than zarrscope allows", pointer=members.pointer)
    ndim = len(grid.chunk_shape)
    for i, item in enumerate(value):
        pointer = f"/storage_transformers/{i}"
        one = Members(item, pointer, "storage transformer")
        name, kind = one.need("extension", str), one.any("type")
        if not SHARDING_URI.fullmatch(name) or kind != "indexed":
            advice = "A storage transformer can never be passed over."
            reports.append(missing("storage transformer", f"{name} {spell(kind)}", pointer, advice))
            continue
        settings = Members(one.need("configuration", dict), pointer + "/configuration", "sharding configuration")
        per_shard = _chunks_per_shard(layout, settings, ndim)
        shard = tuple(c * n for c, n in zip(grid.chunk_shape, per_shard, strict=True))
        configuration = {
            "chunk_shape": [*grid.chunk_shape],
            "codecs": [as_json(spec) for spec in codecs],
            "index_codecs": _PLAIN_INDEX,
            "index_location": "end",
        }
        codecs = (CodecSpec("sharding_indexed", Configuration(configuration), spelled=name),)
        grid = RegularGrid(shard)
        reports.append(ExtensionReport("storage transformer", name, True, True, Outcome.USED, pointer=pointer))
    return grid, codecs


def _chunks_per_shard(layout: Layout, settings: Members, ndim: int) -> tuple[int, ...]:
    value = settings.any("chunks_per_shard")
    if layout == DRAFT_2020 and ndim:  # zarr-python 2 took a number, and lists that are too short
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


# ---------------------------------------------------------------------------------------------- writing
def form(dialect: Draft, path: str, metadata: ArrayMetadata, attributes: dict[str, Json]) -> dict[str, Json]:
    """The members of an array document, `attributes` completed where zarr-python 2 hides filters there."""
    layout, title = dialect.layout, dialect.title
    ndim = metadata.ndim
    if not isinstance(metadata.grid, RegularGrid):
        raise Unsupported(f"{title} has only regular chunk grids", feature=f"chunk grid in {title}")
    keys = metadata.keys
    if keys != dialect.chunk_keys(path, ndim, keys.separator):
        raise Unsupported(f"{title} has other chunk keys", feature=f"chunk keys in {title}")
    chunk_shape, codecs, per_shard = _unshard(metadata, title, layout)
    dtype = metadata.dtype
    order, endian, filters, compressor = to_v2(codecs, dtype, ndim, title)
    if dtype.itemsize > 1 and endian is None:
        endian = "little"
    later = [*filters, *([compressor] if compressor else [])]
    if layout == DRAFT_2020:
        if filters:
            attributes["filters"] = filters
        later = [compressor] if compressor else []
    if layout.codecs == "compressor" and len(later) > 1:
        raise Unsupported(f"{title} can apply only one codec", feature=f"several codecs in {title}")
    for config in later:
        if config["id"] not in CODEC_NAMES:
            raise Unsupported(f"{title} has no codec {config['id']}", feature=f"codec {config['id']} in {title}")
    grid: dict[str, Json] = {"type": "regular", "chunk_shape": [*chunk_shape]}
    if layout.separator_always or keys.separator != layout.separator:
        grid["separator"] = keys.separator
    out: dict[str, Json] = {
        "shape": [*metadata.shape],
        "data_type": _type_form(layout, dtype, endian, title),
        "chunk_grid": grid,
        "chunk_memory_layout": order,
    }
    items = [_codec_form(layout, config) for config in later]
    if layout.codecs != "compressor":
        if layout == DRAFT_2022_05 and endian == "big" and dtype.itemsize > 1:
            items.insert(0, {"type": layout.codec_uri.format("endian"), "configuration": {"endian": "big"}})
        out[layout.codecs] = items
    elif items:
        out["compressor"] = items[0]
    extended = isinstance(out["data_type"], dict)  # whose extension may leave the fill value open
    out["fill_value"] = None if extended and not metadata.fill.defined else fill_json(metadata.fill, dtype, layout.fill)
    out["extensions"] = []
    if per_shard:
        out["storage_transformers"] = [
            {
                "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
                "type": "indexed",
                "configuration": {"chunks_per_shard": [*per_shard]},
            }
        ]
    return out


def _unshard(
    metadata: ArrayMetadata, title: str, layout: Layout
) -> tuple[tuple[int, ...], Sequence[CodecSpec], tuple[int, ...] | None]:
    """(chunk shape, codecs, chunks per shard): a sharding codec with a plain index at the end as the transformer."""
    grid, codecs = metadata.grid.chunk_shape, metadata.codecs
    if not any(spec.name == "sharding_indexed" for spec in codecs):
        return grid, codecs, None
    settings = codecs[0].configuration
    plain = (
        len(codecs) == 1
        and layout in (DRAFT_2020, DRAFT_2022_05)
        and settings.get("index_location", "end") == "end"
        and settings.get("index_codecs") == _PLAIN_INDEX
    )
    inner = settings.get("chunk_shape")
    if not plain or not isinstance(inner, list) or any(not n or c % n for c, n in zip(grid, inner, strict=False)):
        raise Unsupported(
            f"{title} cannot express these shards",
            feature=f"sharding in {title}",
            advice="Write without shards, or write Zarr v3.",
        )
    specs = [CodecSpec(item["name"], Configuration(item.get("configuration"))) for item in settings["codecs"]]
    if any(spec.name == "sharding_indexed" for spec in specs):
        raise Unsupported(f"{title} cannot express nested shards", feature=f"nested sharding in {title}")
    return tuple(inner), specs, tuple(c // n for c, n in zip(grid, inner, strict=True))


def with_plain_index(metadata: ArrayMetadata) -> ArrayMetadata:
    """The same array, its shards with a plain index at the end."""
    index = {"index_codecs": _PLAIN_INDEX, "index_location": "end"}
    codecs = [
        replace(spec, configuration=Configuration({**spec.configuration, **index}))
        if spec.name == "sharding_indexed"
        else spec
        for spec in metadata.codecs
    ]
    return replace(metadata, codecs=tuple(codecs))


def _type_form(layout: Layout, dtype: DataType, endian: str | None, title: str) -> Json:
    core = dtype.name in CORE_NAMES
    if layout == DRAFT_2022_05:
        if core or (dtype.name.startswith("r") and dtype.name[1:].isdigit()):
            return dtype.name
        endian = "little"  # the endian codec says more
    text = typestr(dtype, endian)
    if core and not (dtype.name.startswith("complex") and layout in (DRAFT_2019_06, DRAFT_2020)):
        return {"|b1": "bool", "|i1": "i1", "|u1": "u1"}.get(text, text)
    if dtype.name.startswith("numpy."):
        fallback = None if layout == DRAFT_2020 else "int64" if layout == DRAFT_2022_05 else f"{text[0]}i8"
        return {"extension": layout.datetime_uri, "type": text, "fallback": fallback}
    if dtype.name.startswith("complex"):
        complex_uri = layout.datetime_uri.replace("datetime", "complex")
        if layout == DRAFT_2020:
            complex_uri = "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html"
        return {"extension": complex_uri, "type": text, "fallback": None}
    kind = dtype.numpy.kind if dtype.numpy is not None else ""
    if layout == DRAFT_2020:
        word = {"S": "bytestring", "U": "unicode", "V": "structured", "O": "object"}.get(kind)
        if word:
            return {"extension": f"TODO: {word} array protocol URL", "type": text, "fallback": None}
    if layout == DRAFT_2022_05 and kind in ("S", "U", "V"):
        word = "struct" if kind == "V" else "string"
        uri = f"https://purl.org/zarr/spec/extensions/data-types/{word}/1.0"
        return {"extension": uri, "type": text, "fallback": f"r{8 * dtype.itemsize}"}
    raise Unsupported(
        f"{title} has no data type {dtype.name}", feature=f"data type {dtype.name} in {title}", advice="Write Zarr v3."
    )


def _codec_form(layout: Layout, config: Mapping[str, Json]) -> dict[str, Json]:
    settings = {name: value for name, value in config.items() if name != "id"}
    head = {layout.codec_name: layout.codec_uri.format(config["id"])}
    return {**head, **settings} if layout.flat else {**head, "configuration": settings}
