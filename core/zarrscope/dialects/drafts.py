"""The drafts of Zarr v3 from 2019 to 2022: documents lie under meta/, chunks under data/, at keys that follow from the
path of the node.

    zarr.json                   {"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0", "extensions": [],
                                 "metadata_encoding": "https://purl.org/zarr/spec/protocol/core/3.0",
                                 "metadata_key_suffix": ".json"}
    meta/root/g/a.array.json    {"shape": [4, 6], "data_type": "<u2", "fill_value": 0, "attributes": {},
                                 "chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "separator": "/"},
                                 "chunk_memory_layout": "C", "extensions": [],
                                 "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0",
                                                "configuration": {"level": 1}}}
    data/root/g/a/c0/1          the chunk in row 0, column 1

This example is the draft of 2020, which zarr-python 2.12 to 2.18 wrote; layouts.py holds the differences of the other
drafts.

Specification: https://github.com/zarr-developers/zarr-specs at c425be7 (May 2019), 0b75f0c (June 2019) and 89f92f9
(2022); spec A.3 to A.6, D.1 to D.3.

The sharding storage transformer of 2022 becomes a sharding_indexed codec: with an uncompressed index at the end this
codec reads the same bytes, so all shards are read by one piece of code (spec A.6.1). The rejected alternative, a store
that wraps the store and splits shards, would hide the inner chunks from the code that plans byte-range requests.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from zarrscope.dialects import draft_arrays, draft_writing
from zarrscope.dialects.defects import Defects, UnreadAttributes, as_far_as_read, need_sound
from zarrscope.dialects.demands import extension_reports, missing, unknown_members
from zarrscope.dialects.extensions import refuse_phase_3
from zarrscope.dialects.layouts import CORE_URI, DRAFT_2019_05, DRAFT_2019_06, DRAFT_2020, DRAFT_2022_05, DraftLayout
from zarrscope.dialects.protocol import DIMENSIONS, Child, Detected, Dialect, Erasure, Node, NodeKind, StoredDocument
from zarrscope.dialects.reading import Members, attributes_of, load, stays_inside, token, within
from zarrscope.dialects.writing import check_plain_name, consolidated_json, document
from zarrscope.errors import BadMetadata, Refused, Unsupported
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT, parse_json
from zarrscope.model.dtype import spell
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    Defect,
    ExtensionOutcome,
    ExtensionReport,
    GroupMetadata,
)
from zarrscope.model.plugins import plugin
from zarrscope.model.storage import Entry

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

BOOTSTRAP = "zarr.json"
_CONSOLIDATED = "meta/root/consolidated/.zmetadata"
_DOCUMENT = re.compile(r"[./](array|group)(\.json)?$")
_NODE_NAME = re.compile(r"[A-Za-z0-9._\-]{1,255}")


@dataclass(frozen=True)
class DraftDialect(Dialect):
    """The dialect of one draft of Zarr v3; `layout` (layouts.py) holds all differences from the other drafts."""

    layout: DraftLayout = DRAFT_2022_05
    suffix: str | None = None
    """The suffix of document keys that the bootstrap document (zarr.json) states; None: it has the layout's suffix."""
    lenient: bool = False
    fallbacks: bool = True
    extensions: tuple[ExtensionReport, ...] = ()
    """The extensions that the bootstrap document demands of every node."""
    encoding: str = ""
    """The metadata encoding of the documents if it is not JSON, else "". Without a plugin for the encoding, nodes can
    be listed by their keys, but not read."""

    implicit: ClassVar[Literal["prefix", "descendant"]] = "prefix"
    apart: ClassVar[bool] = True
    named_kinds: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def title(self) -> str:
        return self.layout.title

    @property
    def case_blind(self) -> bool:
        return self.layout.case_blind

    @property
    def undefined_fill(self) -> bool:
        return self.layout.undefined_fill

    @property
    def filters_in(self) -> str | None:
        return self.layout.filters_in

    @property
    def consolidated_group(self) -> str | None:
        return self.layout.consolidated_group

    @property
    def ending(self) -> str:
        """The ending of document keys: the `suffix` that the bootstrap document states, else that of the draft."""
        return self.layout.suffix if self.suffix is None else self.suffix

    # ------------------------------------------------------------------ at the root
    def recognize(self, documents: Mapping[str, bytes]) -> Detected | None:
        """The dialect, if the bootstrap document, zarr.json, is of this layout. The draft of May 2019 has no bootstrap
        document; there the existence of the root's own document is enough."""
        if self.layout == DRAFT_2019_05:
            return Detected(self)
        document = parse_json(documents[BOOTSTRAP], key=BOOTSTRAP, limit=CONSOLIDATED_LIMIT)
        if not isinstance(document, Mapping) or not isinstance(document.get("zarr_format"), str):
            return None
        refuse_phase_3(document)
        found, warnings = from_bootstrap(document, lenient=self.lenient)
        return Detected(found, warnings=warnings) if found.layout == self.layout else None

    def recognize_broken(self, documents: Mapping[str, bytes], beneath: Collection[str]) -> Detected | None:
        """The dialect, if zarr.json is broken but the keys of the documents `beneath` are those of this layout. The
        suffix follows from how these keys end."""
        if BOOTSTRAP not in documents or not self.layout.bootstrap:
            return None
        named = [key for key in beneath if _DOCUMENT.search(key) and key.startswith("meta/")]
        if not named:
            return None
        suffix = ".json" if any(key.endswith(".json") for key in named) else ""
        layout = DRAFT_2022_05
        if all(key.startswith(("meta/root.", "meta/root/")) for key in named):
            layout = DRAFT_2020 if suffix or "data/root/" in beneath else DRAFT_2019_06
        if layout != self.layout:
            return None
        defect = Defect(
            "zarr.json is broken, which states the rules of the hierarchy",
            "",
            BOOTSTRAP,
            "Restore it from a copy. Opened anyway, read-only (lenient=True), nodes are read without its demands.",
        )
        return Detected(replace(self, suffix=None if suffix == layout.suffix else suffix), defect=defect)

    # ------------------------------------------------------------------ keys
    def key(self, path: str, kind: NodeKind) -> str:
        """The key of the document of a node of this kind at `path`, whether or not it exists."""
        inner = path.strip("/")
        if not inner:
            return f"{self.layout.root}{kind}{self.ending}"
        return f"{self.layout.meta}/{inner}.{kind}{self.ending}"

    def documents(self, path: str, kind: NodeKind | None = None) -> tuple[str, ...]:
        if kind is not None:
            return (self.key(path, kind),)
        keys = (self.key(path, "array"), self.key(path, "group"))
        if path.strip("/"):
            return keys
        return (*keys, self._nameless_root, _CONSOLIDATED) if self.layout == DRAFT_2020 else keys

    @property
    def _nameless_root(self) -> str:
        """The key at which xtensor-zarr stores the document of an array at the root: the name of the node is empty in
        it (spec A.5). It is read, never written.

        Decision of 2026-11-21: zarrita stores the chunks of a root array at data/root//c0. zarrscope finds them only in
        a file system, which treats two slashes as one; it refuses keys with an empty part elsewhere (spec F.8).
        """
        return f"{self.layout.meta}/.array{self.ending}"

    def listing(self, path: str) -> str:
        return f"{self.layout.meta}/{_inside(path)}"

    def data(self, path: str) -> str:
        """The prefix of the chunks of the array at `path`."""
        return f"{self.layout.data}/{_inside(path)}"

    def children(self, path: str, entries: Iterable[Entry]) -> Iterator[Child]:
        seen: set[str] = set()
        groups: list[str] = []
        prefixes: list[str] = []
        array, group = f".array{self.ending}", f".group{self.ending}"
        for entry in entries:
            key = entry.name
            if entry.is_prefix:
                prefixes.append(key)
            elif key.endswith(array):
                name = key[: -len(array)]
                if name and name not in seen:
                    seen.add(name)
                    yield Child(name, "array")
            elif key.endswith(group) and key != group:
                groups.append(key[: -len(group)])
        for name in groups:  # a node with both documents is an array (spec A.6 "Existence")
            if name not in seen:
                seen.add(name)
                yield Child(name, "group")
        for name in prefixes:
            if name not in seen:
                seen.add(name)
                yield Child(name, "group", GroupMetadata(self.name, implicit=True, extensions=self.extensions))

    def adapt(self, metadata: ArrayMetadata) -> ArrayMetadata:
        """Gives shards an uncompressed index at their end: the sharding transformer of 2022 has no other."""
        return draft_writing.with_plain_index(metadata)

    def chunk_keys(self, path: str, ndim: int, separator: str | None = None) -> ChunkKeys:
        layout = self.layout
        return ChunkKeys(self.data(path), layout.stem, separator or layout.separator, layout.scalar)

    def attributes_at(self, path: str, kind: NodeKind) -> tuple[str, str]:
        return self.key(path, kind), "/attributes"

    def erase(self, path: str, kind: NodeKind) -> Erasure:
        keys = [self.key(path, "array"), self.key(path, "group")]
        prefixes = [self.listing(path), self.data(path)]
        inner = path.strip("/")
        if (
            inner and not self.layout.stem
        ):  # the first zarrita's key of the only chunk of an array without axes (spec D.2.11)
            keys.append(self.data(path).removesuffix("/"))
        if self.layout == DRAFT_2020 and not self.ending and inner and inner.partition("/")[0] != "root":
            prefixes.append(f"data/{inner}/")  # chunks lay here before data/root was introduced (spec D.2.4)
        return Erasure(tuple(keys), tuple(prefixes))

    def check_name(self, name: str) -> None:
        check_plain_name(name, self.title)
        if not _NODE_NAME.fullmatch(name):
            raise Refused(
                f"{name!r} cannot be the name of a node in {self.title}",
                advice="Use at most 255 of the letters a-z and A-Z, digits, and - _ .",
            )
        if any(name.endswith((f".{kind}", f".{kind}{self.ending}")) for kind in ("array", "group")):
            raise Refused(f"{name!r} ends like the key of a document", advice="Choose another ending.")

    # ------------------------------------------------------------------ reading
    def parse(self, path: str, documents: Mapping[str, StoredDocument]) -> Node | None:
        notes: list[str] = []
        kinds: tuple[NodeKind, ...] = ("array", "group")
        for kind in kinds:
            key = self.key(path, kind)
            if key in documents:
                with within(key=key):
                    return self._node(path, kind, key, documents, notes)
        if not path.strip("/") and self._nameless_root in documents:
            notes.append(f"The root's document lies at {self._nameless_root}, as xtensor-zarr wrote it")
            with within(key=self._nameless_root):
                return self._node(path, "array", self._nameless_root, documents, notes)
        return None

    def stated_kind(self, path: str, documents: Mapping[str, StoredDocument]) -> NodeKind | None:
        nameless = self._nameless_root if self.layout == DRAFT_2020 and not path.strip("/") else ""
        if self.key(path, "array") in documents or nameless in documents:
            return "array"
        return "group" if self.key(path, "group") in documents else None

    def _node(
        self, path: str, kind: NodeKind, key: str, documents: Mapping[str, StoredDocument], notes: list[str]
    ) -> Node:
        decode = plugin("metadata_encodings", self.encoding) if self.encoding else None
        source = documents[key]
        if decode is not None and isinstance(source, bytes):
            documents = {key: decode(source)}
        elif self.encoding:
            if kind == "group":
                return Node(path, GroupMetadata(self.name, extensions=self.extensions), {}, tuple(notes))
            raise Unsupported(
                f"The document is in the metadata encoding {self.encoding!r}, which is not understood here",
                feature=f"metadata encoding {self.encoding}",
                advice="Only JSON is understood; the names of nodes can still be listed.",
            )
        defects = Defects(key)
        members = defects.attempt(load, documents, key, notes)
        metadata: ArrayMetadata | GroupMetadata
        if members is None:  # the document cannot be read, but its key shows the kind
            metadata = GroupMetadata(self.name, extensions=self.extensions, defects=defects.found)
            if kind == "array":
                metadata = defects.nothing_of_array(self.name)
            return Node(path, metadata, UnreadAttributes(defects.found[0]), tuple(notes))
        if not self.layout.bootstrap:
            defects.attempt(check_format, members, notes)
        attributes = defects.attributes(attributes_of, members)
        reports = [*self.extensions]
        if kind == "array":
            metadata = draft_arrays.parse(self, path, members, as_far_as_read(attributes), notes, reports, defects)
        else:
            reports += extension_reports(members, notes, lenient=self.lenient, attempt=defects.attempt)
            reports += unknown_members(members, notes, strict=self.layout.strict, lenient=self.lenient)
            metadata = GroupMetadata(self.name, extensions=tuple(reports), defects=defects.found)
        return Node(path, metadata, attributes, tuple(notes))

    def consolidated(self, documents: Mapping[str, StoredDocument]) -> dict[str, StoredDocument] | None:
        """The copies of all documents that zarr-python 2 stores in meta/root/consolidated/.zmetadata; None without
        them."""
        members = load(documents, _CONSOLIDATED, [], limit=CONSOLIDATED_LIMIT)
        nodes = members.any("metadata") if members else None
        if not isinstance(nodes, Mapping):
            return None
        own = {key: value for key, value in nodes.items() if key.startswith("meta/") and stays_inside(key)}
        return {key: value for key, value in own.items() if isinstance(value, Mapping)}

    def consolidated_location(self, key: str) -> tuple[str, str] | None:
        return (_CONSOLIDATED, "/metadata" + token(key)) if self.layout == DRAFT_2020 else None

    def consolidate(self, texts: Mapping[str, str], root: bytes | None) -> dict[str, bytes]:
        """The consolidated document as zarr-python 2 writes it, with copies of `texts` and of zarr.json, and the
        document of the group /consolidated, in which the consolidated document lies."""
        inner = consolidated_json({BOOTSTRAP: document(self.bootstrap(), indent=4).decode(), **texts})
        text = f'{{\n    "metadata": {inner},\n    "zarr_consolidated_format": 1\n}}'
        group = document({"attributes": {}}, indent=4)
        return {self.key("/consolidated", "group"): group, _CONSOLIDATED: text.encode()}

    # ------------------------------------------------------------------ writing
    def write(
        self, path: str, metadata: ArrayMetadata | GroupMetadata, attributes: Mapping[str, Any]
    ) -> dict[str, bytes]:
        need_sound(metadata)
        written: dict[str, bytes] = {}
        if not path.strip("/") and self.layout.bootstrap:
            written[BOOTSTRAP] = document(self.bootstrap(), indent=4)
        own = dict(attributes)
        form: dict[str, Any] = {} if self.layout.bootstrap else {"zarr_format": self.layout.format_uri}
        if isinstance(metadata, ArrayMetadata):
            form |= draft_writing.form(self, path, metadata, own)
            if metadata.dimension_names is not None and DIMENSIONS not in own:
                names = metadata.dimension_names
                own[DIMENSIONS] = [name if name is not None else f"dim_{i}" for i, name in enumerate(names)]
        elif self.layout in (DRAFT_2019_05, DRAFT_2019_06):
            form["extensions"] = []
        written[self.key(path, "array" if isinstance(metadata, ArrayMetadata) else "group")] = document(
            {**form, "attributes": own}, indent=4
        )
        return written

    def bootstrap(self) -> dict[str, Any]:
        """The document at zarr.json of a new hierarchy. In the draft of 2020 it has the four members that zarr-python 2
        demands.
        """
        form: dict[str, Any] = {"zarr_format": self.layout.format_uri}
        if self.layout == DRAFT_2019_06:
            form["metadata_encoding"] = "application/json"
        elif self.layout == DRAFT_2020:
            form |= {"metadata_encoding": self.layout.format_uri, "metadata_key_suffix": self.ending}
        else:
            form["metadata_encoding"] = {"type": "json", "metadata_key_suffix": self.ending}
        return {**form, "extensions": []}


def _inside(path: str) -> str:
    inner = path.strip("/")
    return f"{inner}/" if inner else ""


# ---------------------------------------------------------------------------------------------- shared by documents
def check_format(members: Members, notes: list[str]) -> None:
    """Raises Unsupported unless zarr_format is the URI of the core protocol, major version 3. A newer minor version
    adds to `notes` (spec A.1)."""
    found = members.need("zarr_format", str)
    match = CORE_URI.fullmatch(found)
    if match is None or match[1] != "3":
        raise Unsupported(
            f"zarr_format {spell(found)} is not known to zarrscope",
            feature=f"zarr_format {found}",
            pointer="/zarr_format",
            advice="The drafts of version 3 have https://purl.org/zarr/spec/protocol/core/3.0 there.",
        )
    if match[2] != "0":
        notes.append(f"Written for version 3.{match[2]}: its new features are ignored")


# ---------------------------------------------------------------------------------------------- from the bootstrap
def from_bootstrap(document: Mapping[str, Any], *, lenient: bool = False) -> tuple[DraftDialect, tuple[str, ...]]:
    """Returns (the dialect of the draft, warnings) for a zarr.json whose zarr_format is a string (spec A.1)."""
    notes: list[str] = []
    members = Members(document, what="bootstrap document")
    check_format(members, notes)
    encoding = members.need("metadata_encoding")
    unknown = ""
    suffix: JSON = None
    if isinstance(encoding, Mapping):
        layout = DRAFT_2022_05
        inner = Members(encoding, "/metadata_encoding", "metadata_encoding")
        suffix = inner.get("metadata_key_suffix", str, default=layout.suffix)
        if inner.any("extension") is not None or inner.need("type") != "json":
            unknown = str(inner.any("extension") or inner.any("type"))
    elif isinstance(encoding, str) and CORE_URI.fullmatch(encoding):
        layout = DRAFT_2020
        suffix = members.get("metadata_key_suffix", str, default="")
    elif isinstance(encoding, str) and re.fullmatch(r"[\w.+-]+/[\w.+-]+", encoding):
        layout = DRAFT_2019_06
        unknown = "" if encoding == "application/json" else encoding
    else:
        raise Unsupported(
            f"The metadata encoding {spell(encoding)} is not understood here",
            feature=f"metadata encoding {spell(encoding)}",
            pointer="/metadata_encoding",
            advice="Only JSON is understood.",
        )
    if suffix is not None and ("/" in suffix or len(suffix) > 64):
        raise BadMetadata(f"{spell(suffix)} cannot end a key", pointer="/metadata_encoding/metadata_key_suffix")
    reports = extension_reports(members, notes, lenient=lenient)
    if unknown and plugin("metadata_encodings", unknown) is None:
        advice = "Only JSON is understood: nodes are found by their keys, and their documents are shown as stored."
        report = missing("metadata encoding", unknown, "/metadata_encoding", advice)
        reports.append(replace(report, outcome=ExtensionOutcome.IGNORED) if lenient else report)
    reports = [replace(report, key=BOOTSTRAP) for report in reports]
    notes += [
        f"The member {name!r} of zarr.json is not part of the format and was ignored" for name in members.unread()
    ]
    return DraftDialect(
        layout, None if suffix == layout.suffix else suffix, lenient, extensions=tuple(reports), encoding=unknown
    ), tuple(notes)


draft_2022_05 = partial(DraftDialect, DRAFT_2022_05)
draft_2020 = partial(DraftDialect, DRAFT_2020)
draft_2019_06 = partial(DraftDialect, DRAFT_2019_06)
draft_2019_05 = partial(DraftDialect, DRAFT_2019_05)
