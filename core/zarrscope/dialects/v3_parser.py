"""Parses documents of Zarr v3 into canonical metadata, member by member (v3.py states under which keys
documents and chunks are stored, and writes documents).

Specification: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html (v3.0 and v3.1), ZEP 9 phase 2 for
`extensions`; spec A.7 (forms of early writers), A.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from zarrscope.dialects import extensions as known
from zarrscope.dialects.defects import Defects
from zarrscope.dialects.pipeline import extension, from_v3
from zarrscope.dialects.protocol import Dialect
from zarrscope.dialects.reading import Members, prefix_of, token, within
from zarrscope.errors import BadMetadata
from zarrscope.errors.visible import counted
from zarrscope.model.codec_table import kind_of
from zarrscope.model.dtype import CORE_NAMES, DataType, Fill, data_type, spell
from zarrscope.model.fill_value import V3 as FILL
from zarrscope.model.fill_value import parse_fill
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkGrid,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionOutcome,
    ExtensionReport,
    GroupMetadata,
)
from zarrscope.model.plugins import plugin

_OF_ARRAYS = ("chunk_grid", "codecs", "fill_value", "dimension_names")
"""Members of arrays that are not parsed if other members are defective. They are never reported as unknown."""
_NO_WAY = "zarrscope cannot read the array without it; ask its writer which package understands it."


class DocumentParser:
    """Parses one document into canonical metadata; `reports` collects the extensions that the document demands."""

    def __init__(self, dialect: Dialect, path: str, members: Members, notes: list[str], defects: Defects) -> None:
        self.dialect, self.path, self.members, self.notes, self.defects = dialect, path, members, notes, defects
        self.reports: list[ExtensionReport] = []
        for name in ("zarr_format", "node_type", "attributes"):
            members.any(name)

    def group(self) -> GroupMetadata:
        """The metadata of a group. Malformed consolidated metadata are reported in `notes`, and are no error."""
        inline = self.members.any("consolidated_metadata")
        if inline is not None:
            good = isinstance(inline, Mapping) and isinstance(inline.get("metadata"), Mapping)
            kind = inline.get("kind", "inline") if isinstance(inline, Mapping) else None
            if kind != "inline" and good:
                self.notes.append(f"Consolidated metadata of kind {spell(kind)} is ignored")
            elif not good:
                self.notes.append("The consolidated metadata is malformed, and ignored")
        self._members_left()
        return GroupMetadata(self.dialect.name, extensions=tuple(self.reports), defects=self.defects.found)

    def array(self) -> ArrayMetadata:
        """The metadata of an array, as far as its document has no defects; these are collected, not raised."""
        members, attempt = self.members, self.defects.attempt
        shape = attempt(members.ints, "shape")
        dtype = attempt(self._data_type)
        found = attempt(self._grid, shape) if shape is not None else None
        grid, separator = found if found is not None else (None, None)
        keys = attempt(self._keys, separator)
        codecs = attempt(self._codecs, dtype, len(shape)) if dtype is not None and shape is not None else None
        if members.value.get("consolidated_metadata") is None:
            members.any("consolidated_metadata")  # until 2025 zarr-python wrote null here, in many nodes (spec A.8.1)
        fill = attempt(self._fill, dtype) if dtype is not None else None
        transformers = attempt(self._transformers)
        names = attempt(self._dimension_names, len(shape)) if shape is not None else None
        for name in _OF_ARRAYS:
            members.any(name)
        self._members_left()
        return self.defects.array(
            shape=shape,
            dtype=dtype,
            grid=grid,
            keys=keys[0] if keys is not None else None,
            codecs=codecs,
            fill=fill,
            dialect=self.dialect.name,
            stored_type=members.any("data_type"),
            dimension_names=names,
            transformers=transformers or (),
            extensions=tuple(self.reports),
            alternative_keys=keys[1] if keys is not None else (),
        )

    def _fill(self, dtype: DataType) -> Fill:
        value = self.members.need("fill_value")
        with within("/fill_value"):
            fill = parse_fill(value, dtype, FILL, lenient=self.dialect.lenient)
        if type(value) is float and dtype.kind in ("i", "u"):
            self.notes.append(f"The fill value is written as {spell(value)}, and taken as {int(value)}")
        return fill

    # ------------------------------------------------------------------ extension points
    def _report(
        self, point: str, spec: CodecSpec, pointer: str, *, ignorable: bool = False, advice: str = _NO_WAY
    ) -> bool:
        """Reports an extension that zarrscope does not understand. Returns True if it may be ignored."""
        passed = ignorable and (not spec.must_understand or self.dialect.lenient)
        if passed and spec.must_understand:
            self.notes.append(
                f"The {point} {spec.name!r} must be understood, and is not: the displayed data may be wrong"
            )
        self.reports.append(
            ExtensionReport(
                point,
                spec.name,
                understood=False,
                required=spec.must_understand,
                outcome=ExtensionOutcome.IGNORED if passed else ExtensionOutcome.REFUSED,
                advice=advice,
                pointer=pointer,
                configuration=spec.configuration,
                passable=ignorable,
            )
        )
        return passed

    def _used(self, point: str, spec: CodecSpec, pointer: str) -> None:
        self.reports.append(
            ExtensionReport(point, spec.name, True, spec.must_understand, ExtensionOutcome.USED, pointer=pointer)
        )

    def _data_type(self) -> DataType:
        value = self.members.need("data_type")
        with within("/data_type"):
            dtype = data_type(value)
            if isinstance(value, Mapping) and value.get("must_understand") is False:
                raise BadMetadata(
                    "Values cannot be read without their data type, whatever must_understand says",
                    pointer="/must_understand",
                    advice="Remove must_understand.",
                )
        fallback = None
        if dtype.code is None and isinstance(value, Mapping):
            fallback = self._fallback(dtype, value.get("fallback"))
        if fallback is not None and self.dialect.fallbacks:
            self.notes.append(f"The data type {dtype.name!r} is unknown: its values are shown as {fallback.name}")
            self.reports.append(
                ExtensionReport(
                    "data type",
                    dtype.name,
                    understood=False,
                    required=False,
                    outcome=ExtensionOutcome.FELL_BACK,
                    advice=f"Shown as {fallback.name}, the fallback that the document offers.",
                    pointer="/data_type",
                    fallback=fallback.name,
                )
            )
            return fallback
        if dtype.name not in CORE_NAMES:
            known_here = dtype.code is not None
            self.reports.append(
                ExtensionReport(
                    "data type",
                    dtype.name,
                    understood=known_here,
                    required=True,
                    outcome=ExtensionOutcome.USED if known_here else ExtensionOutcome.REFUSED,
                    advice=f"Its fallback {fallback.name} is switched off." if fallback is not None else dtype.advice,
                    pointer="/data_type",
                    fallback=fallback.name if fallback is not None else "",
                )
            )
        return dtype

    def _fallback(self, dtype: DataType, value: object) -> DataType | None:
        """The first data type in `value` (one or a list) that zarrscope knows and whose size is that of `dtype`, if
        that is known; None if there is none."""
        for name in value if isinstance(value, list) else [] if value is None else [value]:
            with within("/data_type/fallback"):
                other = data_type(name)
            if other.code is not None and dtype.itemsize in (0, other.itemsize):
                return other
        return None

    def _grid(self, shape: tuple[int, ...]) -> tuple[ChunkGrid | None, str | None]:
        """The chunk grid, and the separator of chunk keys if the member chunk_grid has one, as in early 2023."""
        value = self.members.need("chunk_grid")
        spec = extension(value, "/chunk_grid", "chunk grid", ignorable=False)
        settings = _settings(value, spec, "/chunk_grid", "chunk grid's configuration")
        grid = known.grid(spec, settings, shape)
        if spec.name == "regular" and grid is not None:
            return grid, settings.choice("separator", "/", ".", default="") if "separator" in settings else None
        if grid is None:
            self._report("chunk grid", spec, "/chunk_grid")
            return None, None
        self._used("chunk grid", spec, "/chunk_grid")
        return grid, None

    def _keys(self, separator: str | None) -> tuple[ChunkKeys, tuple[ChunkKeys, ...]]:
        prefix = prefix_of(self.path)
        if "chunk_key_encoding" not in self.members and separator is not None:
            self.notes.append("The chunk keys are described as in early 2023")
            keys = ChunkKeys(prefix, f"c{separator}", separator, "c")
            return keys, (replace(keys, stem="c"),)
        pointer = "/chunk_key_encoding"
        value = self.members.need("chunk_key_encoding")
        spec = extension(value, pointer, "chunk key encoding", ignorable=False)
        settings = _settings(value, spec, pointer, "chunk key encoding's configuration")
        if spec.name == "default":
            separator = settings.choice("separator", "/", ".", default="/")
            return ChunkKeys(prefix, f"c{separator}", separator, "c"), ()
        if spec.name == "v2":
            return ChunkKeys(prefix, "", settings.choice("separator", "/", ".", default="."), "0"), ()
        made = plugin("chunk_key_encodings", spec.name)
        if made is not None:
            self._used("chunk key encoding", spec, pointer)
            return made(spec.configuration, prefix), ()
        self._report("chunk key encoding", spec, pointer)
        return ChunkKeys(prefix), ()

    def _codecs(self, dtype: DataType, ndim: int) -> tuple[CodecSpec, ...]:
        absent = "codecs" not in self.members
        value = self.members.any("codecs", [])
        if not value and isinstance(value, list) and not absent and not self.dialect.lenient:
            raise BadMetadata(
                "codecs is empty: an array→bytes codec such as bytes is needed",
                pointer="/codecs",
                advice='Write [{"name": "bytes", "configuration": {"endian": "little"}}] if chunks are plain bytes.',
            )
        codecs = from_v3(value, "/codecs", dtype, ndim, implicit=True)
        if absent or (isinstance(value, list) and len(codecs) != len(value)):
            self.notes.append("No codec turns arrays into bytes: little-endian bytes are assumed, as until July 2023")
        if any(_is_bare_bytes(item) for item in value) and any(
            spec.name == "bytes" and spec.configuration for spec in codecs
        ):
            self.notes.append("The bytes codec does not say its byte order: little-endian is assumed")
        for i, spec in enumerate(codecs):
            if spec.must_understand is False and kind_of(spec.name) is None:
                self._report("codec", spec, f"/codecs/{i}", ignorable=True, advice="It was passed over in reading.")
        return codecs

    def _transformers(self) -> tuple[CodecSpec, ...]:
        value = self.members.get("storage_transformers", list, type(None), default=[])
        if value is None:
            self.notes.append("storage_transformers is null, and taken as an empty list")
            value = []
        specs = [extension(item, f"/storage_transformers/{i}", "storage transformer") for i, item in enumerate(value)]
        kept: list[CodecSpec] = []
        for i, spec in enumerate(specs):
            pointer = f"/storage_transformers/{i}"
            if plugin("storage_transformers", spec.name) is not None:
                self._used("storage transformer", spec, pointer)
                kept.append(spec)
            else:
                self._report("storage transformer", spec, pointer, ignorable=True)
        return tuple(kept)

    def _dimension_names(self, ndim: int) -> tuple[str | None, ...] | None:
        value = self.members.get("dimension_names", list, type(None))
        if value is None:
            return None
        if len(value) != ndim or not all(name is None or isinstance(name, str) for name in value):
            raise BadMetadata(
                f"dimension_names must hold {counted(ndim, 'name')} (text or null), one per dimension, "
                f"not {spell(value)}",
                pointer="/dimension_names",
            )
        return tuple(value)

    def _members_left(self) -> None:
        """Reports the items of the member `extensions` (ZEP 9), then unknown members (v3.1 "Extension definition", spec
        A.8.3)."""
        if "extensions" in self.members:
            self.defects.attempt(self._extensions, self.members.any("extensions"))
        for name in self.members.unread():
            value = self.members.value[name]
            ignorable = isinstance(value, Mapping) and value.get("must_understand") is False
            self._report(
                "member",
                CodecSpec(name, must_understand=not ignorable),
                token(name),
                ignorable=True,
                advice=known.explain(name)
                or "It may change what the node means; open it anyway, read-only (lenient=True), to look.",
            )

    def _extensions(self, value: object) -> None:
        if not isinstance(value, list):
            advice = "ZEP 9 gives it the form of a list of objects with a name."
            members = value if isinstance(value, Mapping) else {}
            whole = CodecSpec("extensions", must_understand=members.get("must_understand") is not False)
            self._report("member", whole, "/extensions", ignorable=True, advice=advice)
            # ZEP 9 once considered an object with a member for each extension: each is reported to the user.
            for name, inner in members.items():
                if isinstance(inner, Mapping):
                    must = inner.get("must_understand") is not False
                    settings = {key: each for key, each in inner.items() if key != "must_understand"}
                    spec = CodecSpec(name, Configuration(settings), must)
                    advice = known.explain(name) or _NO_WAY
                    self._report("extension", spec, "/extensions" + token(name), ignorable=True, advice=advice)
            return
        if not value:
            self.notes.append("extensions is an empty list, which ZEP 9 asks to leave out")
        for i, item in enumerate(value):
            self.defects.attempt(self._extension, item, f"/extensions/{i}")

    def _extension(self, item: object, pointer: str) -> None:
        spec = extension(item, pointer, "extension")
        report = known.understood(spec, pointer)
        if report is None:
            advice = known.explain(spec.name) or _NO_WAY
            self._report("extension", spec, pointer, ignorable=True, advice=advice)
        else:
            self.reports.append(report)


def _settings(value: object, spec: CodecSpec, pointer: str, what: str) -> Members:
    """The configuration of an extension. Its pointer is that of the extension if `value` has no `configuration`,
    because early writers put the settings beside the name."""
    apart = isinstance(value, Mapping) and "configuration" in value
    return Members(spec.configuration, f"{pointer}/configuration" if apart else pointer, what)


def _is_bare_bytes(item: object) -> bool:
    """Whether `item` is a bytes codec without configuration."""
    return item == "bytes" or (
        isinstance(item, Mapping) and item.get("name") == "bytes" and not item.get("configuration")
    )
