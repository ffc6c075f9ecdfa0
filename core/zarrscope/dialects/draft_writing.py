"""Converts canonical metadata to array documents of the drafts of Zarr v3. Each draft is written in one form, although
reading (draft_arrays.py) accepts several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zarrscope.dialects.draft_arrays import DraftProtocol
from zarrscope.dialects.layouts import (
    DRAFT_2019_06,
    DRAFT_2020,
    DRAFT_2022_05,
    PLAIN_INDEX,
    DraftLayout,
)
from zarrscope.dialects.pipeline import to_v2
from zarrscope.errors import Unsupported
from zarrscope.model.codec_table import Family, is_codec_name
from zarrscope.model.dtype import CORE_NAMES, DataType
from zarrscope.model.fill_value import fill_json
from zarrscope.model.json_value import JSON
from zarrscope.model.metadata import (
    ArrayMetadata,
    CodecSpec,
    Configuration,
    RegularGrid,
)
from zarrscope.model.typestr import typestr


def form(dialect: DraftProtocol, path: str, metadata: ArrayMetadata, attributes: dict[str, JSON]) -> dict[str, JSON]:
    """The members of the document of the array at `path`, except attributes. In the draft of 2020 filters are stored
    as an attribute, as by zarr-python 2: they are added to `attributes` in place."""
    layout, title = dialect.layout, dialect.title
    ndim = metadata.ndim
    if not isinstance(metadata.grid, RegularGrid):
        raise Unsupported(f"{title} has only regular chunk grids", feature=f"chunk grid in {title}")
    keys = metadata.keys
    if keys != dialect.chunk_keys(path, ndim, keys.separator):
        raise Unsupported(f"{title} cannot express these chunk keys", feature=f"chunk keys in {title}")
    chunk_shape, codecs, per_shard = _unshard(metadata, title, layout)
    dtype = metadata.dtype
    by_id: Family = "v2" if layout == DRAFT_2020 else "draft"  # the draft of 2020 stores filters as zarr-python 2 does
    order, endian, filters, compressor = to_v2(codecs, dtype, ndim, title, filters=by_id, compressor="draft")
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
        if not is_codec_name("draft", config["id"]):
            raise Unsupported(f"{title} has no codec {config['id']}", feature=f"codec {config['id']} in {title}")
    grid: dict[str, JSON] = {"type": "regular", "chunk_shape": [*chunk_shape]}
    if layout.separator_always or keys.separator != layout.separator:
        grid["separator"] = keys.separator
    out: dict[str, JSON] = {
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
    extended = isinstance(out["data_type"], dict)  # with a type from an extension the fill value may be undefined
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
    metadata: ArrayMetadata, title: str, layout: DraftLayout
) -> tuple[tuple[int, ...], Sequence[CodecSpec], tuple[int, ...] | None]:
    """Converts a sharding codec to a sharding transformer: returns (chunk shape, codecs, chunks per shard or None)."""
    grid, codecs = metadata.grid.chunk_shape, metadata.codecs
    if not any(spec.name == "sharding_indexed" for spec in codecs):
        return grid, codecs, None
    settings = codecs[0].configuration
    plain = (
        len(codecs) == 1
        and layout in (DRAFT_2020, DRAFT_2022_05)
        and settings.get("index_location", "end") == "end"
        and settings.get("index_codecs") == PLAIN_INDEX
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
    """Returns the metadata with an uncompressed index at the end of each shard."""
    index = {"index_codecs": PLAIN_INDEX, "index_location": "end"}
    codecs = [
        replace(spec, configuration=Configuration({**spec.configuration, **index}))
        if spec.name == "sharding_indexed"
        else spec
        for spec in metadata.codecs
    ]
    return replace(metadata, codecs=tuple(codecs))


def _type_form(layout: DraftLayout, dtype: DataType, endian: str | None, title: str) -> JSON:
    core = dtype.name in CORE_NAMES
    if layout == DRAFT_2022_05:
        if core or (dtype.name.startswith("r") and dtype.name[1:].isdigit()):
            return dtype.name
        endian = "little"  # an "endian" codec in the document states big-endian order instead
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
    kind = dtype.kind
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


def _codec_form(layout: DraftLayout, config: Mapping[str, JSON]) -> dict[str, JSON]:
    settings = {name: value for name, value in config.items() if name != "id"}
    head = {layout.codec_name: layout.codec_uri.format(config["id"])}
    return {**head, **settings} if layout.flat else {**head, "configuration": settings}
