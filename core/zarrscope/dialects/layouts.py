"""The differences between the four drafts of Zarr v3 (2019 to 2022) as tables: keys, names, fill values (spec A.2 to
A.6, A.13)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from zarrscope.model import fill_value as fills
from zarrscope.model.fill_value import FillForm

CORE_URI = re.compile(r"https?://purl\.org/zarr/spec/(?:protocol/)?core/(\d+)\.(\d+)/?")
CODEC_URI = re.compile(r"https?://purl\.org/zarr/spec/codecs?/([A-Za-z0-9_-]+)(?:/\d+(?:\.\d+)*)?/?")
SHARDING_URI = re.compile(
    r"https?://purl\.org/zarr/spec/(?:extensions/)?storage[_-]transformers/sharding/\d+(?:\.\d+)*/?"
)
FILTERS_URI = re.compile(r"https?://purl\.org/zarr/spec/(?:protocol/)?extensions/filters/\d+(?:\.\d+)*/?")
PLAIN_INDEX = [{"name": "bytes", "configuration": {"endian": "little"}}]
"""The codecs of a shard's index, as v3 writes them. The drafts allow no other codecs there."""

DATA_TYPE_EXTENSIONS = re.compile(
    r"(?:https?://purl\.org/zarr/spec/(?:protocol/)?extensions/|https?://zarr-specs\.readthedocs\.io/\S*/extensions/)"
    r"(?:data-types/)?(?:datetime|complex|string|struct|object)(?:-dtypes)?/v?1\.0(?:\.html)?/?"
    r"|TODO: (?:bytestring|unicode|structured|object) array protocol URL"
)
"""URIs of the data type extensions whose member `type` is a type string of numpy. zarr-python 2 wrote "TODO: …" as the
URI, so real hierarchies contain this text."""


@dataclass(frozen=True)
class DraftLayout:
    """The keys, spellings and rules of one draft."""

    name: str
    title: str
    format_uri: str
    bootstrap: bool
    """Whether there is a zarr.json at the root; otherwise every document states its zarr_format."""
    meta: str
    """An array document has the key meta + path + ".array" + suffix, that of the root the key root + "array" + suffix.
    The keys of groups have "group" in place of "array"."""
    root: str
    data: str
    """The keys of chunks start with data + path + "/"."""
    suffix: str
    stem: Literal["", "c"]
    separator: str
    scalar: str
    """The key of the only chunk of an array without dimensions."""
    codecs: str
    """The name of the member that holds the codecs."""
    codec_name: str
    flat: bool
    """Whether a codec's parameters lie beside its name, not under "configuration"."""
    codec_uri: str
    fill: FillForm
    strict: bool
    """Whether a node document with unknown members is refused."""
    datetime_uri: str
    separator_always: bool = False
    undefined_fill: bool = True
    filters_in: str | None = None
    """The attribute in which zarr-python 2 stores filters; None if the draft does not store them there."""
    consolidated_group: str | None = None
    """The path of the group that zarr-python 2 creates for consolidated metadata; None if the draft has none."""
    case_blind: bool = False
    """Whether two names in a group must differ in more than upper and lower case (spec D.1.6)."""


DRAFT_2019_05 = DraftLayout(
    name="draft-2019-05",
    title="Zarr v3 draft of May 2019",
    format_uri="http://purl.org/zarr/spec/protocol/core/3.0",
    bootstrap=False,
    meta="meta",
    root="root.",
    data="data",
    suffix=".json",
    stem="",
    separator=".",
    scalar="0",
    codecs="chunk_codecs",
    codec_name="codec",
    flat=True,
    codec_uri="http://purl.org/zarr/spec/codec/{}",
    fill=fills.DRAFT_2019,
    strict=False,
    datetime_uri="http://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0",
    case_blind=True,
)
DRAFT_2019_06 = DraftLayout(
    name="draft-2019-06",
    title="Zarr v3 draft of June 2019",
    format_uri="https://purl.org/zarr/spec/protocol/core/3.0",
    bootstrap=True,
    meta="meta/root",
    root="meta/root.",
    data="data",
    suffix="",
    stem="",
    separator=".",
    scalar="0",
    codecs="compressor",
    codec_name="codec",
    flat=False,
    codec_uri="http://purl.org/zarr/spec/codec/{}",
    fill=fills.DRAFT_2019,
    strict=False,
    datetime_uri="http://purl.org/zarr/spec/protocol/extensions/datetime-dtypes/1.0",
    case_blind=True,
)
DRAFT_2020 = DraftLayout(
    name="draft-2020",
    title="Zarr v3 draft of 2020",
    format_uri="https://purl.org/zarr/spec/protocol/core/3.0",
    bootstrap=True,
    meta="meta/root",
    root="meta/root.",
    data="data/root",
    suffix=".json",
    stem="c",
    separator="/",
    scalar="c0",
    codecs="compressor",
    codec_name="codec",
    flat=False,
    codec_uri="https://purl.org/zarr/spec/codec/{}/1.0",
    fill=fills.DRAFT_2020,
    strict=False,
    datetime_uri="https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html",
    separator_always=True,
    filters_in="filters",
    consolidated_group="/consolidated",
)
DRAFT_2022_05 = DraftLayout(
    name="draft-2022-05",
    title="Zarr v3 draft of 2022",
    format_uri="https://purl.org/zarr/spec/core/3.0",
    bootstrap=True,
    meta="meta",
    root="meta/",
    data="data",
    suffix=".json",
    stem="c",
    separator="/",
    scalar="c",
    codecs="codecs",
    codec_name="type",
    flat=False,
    codec_uri="https://purl.org/zarr/spec/codecs/{}/1.0",
    fill=fills.DRAFT_2022,
    strict=True,
    datetime_uri="https://purl.org/zarr/spec/extensions/data-types/datetime/1.0",
    separator_always=True,
    undefined_fill=False,
)
