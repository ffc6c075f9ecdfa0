"""The promises of every dialect, run over all of DIALECTS: see zarrscope.dialects.protocol.

The templates are those that foreign writers make and readers took, typed in: one array of 10000 × 1000 numbers
and its group. A dialect without a template fails `test_every_dialect_has_a_template`.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from narrowing import not_none
from zarrscope.dialects import DIALECTS, Dialect, detect
from zarrscope.dialects.defects import need_sound
from zarrscope.dialects.v3 import V3 as Zarr3
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.model.dtype import Fill, data_type
from zarrscope.model.fill_value import V3, fill_json, undefined, zero
from zarrscope.model.metadata import ArrayMetadata, CodecSpec, Configuration, GroupMetadata, RegularGrid
from zarrscope.model.storage import Entry

Documents = dict[str, bytes]
NAN = Fill(np.float64("nan"))


class Template(Documents):
    """The documents of a hierarchy. `chunk_key` is the key of its chunk (1, 23)."""

    def __init__(self, chunk_key: str, documents: Documents) -> None:
        super().__init__(documents)
        self.chunk_key = chunk_key


def encoded(chunk_key: str, /, **documents: Any) -> Template:
    return Template(chunk_key, {key: json.dumps(value).encode() for key, value in documents.items()})


_2019 = "http://purl.org/zarr/spec/protocol/core/3.0"
_2020 = "https://purl.org/zarr/spec/protocol/core/3.0"
_2022 = "https://purl.org/zarr/spec/core/3.0"
_SHAPES = {"shape": [10000, 1000], "chunk_memory_layout": "C", "fill_value": "NaN", "extensions": []}
_REGULAR: dict[str, Any] = {"type": "regular", "chunk_shape": [1000, 100]}

TEMPLATES: dict[str, Template] = {
    "draft-2019-05": encoded(
        "data/g/a/1.23",
        **{
            "root.group.json": {"zarr_format": _2019, "extensions": [], "attributes": {}},
            "meta/g.group.json": {"zarr_format": _2019, "extensions": [], "attributes": {}},
            "meta/g/a.array.json": {
                "zarr_format": _2019,
                **_SHAPES,
                "data_type": "<f8",
                "chunk_grid": _REGULAR,
                "chunk_codecs": [{"codec": "http://purl.org/zarr/spec/codec/gzip", "level": 1}],
                "attributes": {},
            },
        },
    ),
    "draft-2019-06": encoded(
        "data/g/a/1.23",
        **{
            "zarr.json": {"zarr_format": _2020, "metadata_encoding": "application/json", "extensions": []},
            "meta/root/g.group": {"extensions": [], "attributes": {}},
            "meta/root/g/a.array": {
                **_SHAPES,
                "data_type": "<f8",
                "chunk_grid": _REGULAR,
                "compressor": {"codec": "http://purl.org/zarr/spec/codec/gzip", "configuration": {"level": 1}},
                "attributes": {},
            },
        },
    ),
    "draft-2020": encoded(
        "data/root/g/a/c1/23",
        **{
            "zarr.json": {
                "extensions": [],
                "metadata_encoding": _2020,
                "metadata_key_suffix": ".json",
                "zarr_format": _2020,
            },
            "meta/root/g.group.json": {"attributes": {}},
            "meta/root/g/a.array.json": {
                **_SHAPES,
                "data_type": "<f8",
                "chunk_grid": _REGULAR | {"separator": "/"},
                "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}},
                "attributes": {},
            },
        },
    ),
    "draft-2022-05": encoded(
        "data/g/a/c1/23",
        **{
            "zarr.json": {
                "zarr_format": _2022,
                "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
                "extensions": [],
            },
            "meta/g.group.json": {"attributes": {}},
            "meta/g/a.array.json": {
                **_SHAPES,
                "data_type": "float64",
                "chunk_grid": _REGULAR | {"separator": "/"},
                "codecs": [{"type": "https://purl.org/zarr/spec/codecs/gzip/1.0", "configuration": {"level": 1}}],
                "attributes": {},
            },
        },
    ),
    "v3": encoded(
        "g/a/c/1/23",
        **{
            "zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}},
            "g/zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}},
            "g/a/zarr.json": {
                "zarr_format": 3,
                "node_type": "array",
                "shape": [10000, 1000],
                "data_type": "float64",
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 100]}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": "NaN",
                "codecs": [
                    {"name": "bytes", "configuration": {"endian": "little"}},
                    {"name": "gzip", "configuration": {"level": 1}},
                ],
                "attributes": {},
            },
        },
    ),
    "v2": encoded(
        "g/a/1.23",
        **{
            ".zgroup": {"zarr_format": 2},
            "g/.zgroup": {"zarr_format": 2},
            "g/a/.zattrs": {},
            "g/a/.zarray": {
                "zarr_format": 2,
                "shape": [10000, 1000],
                "chunks": [1000, 100],
                "dtype": "<f8",
                "compressor": {"id": "gzip", "level": 1},
                "fill_value": "NaN",
                "order": "C",
                "filters": None,
            },
        },
    ),
    "n5": encoded(
        "g/a/23/1",
        **{
            "attributes.json": {"n5": "4.0.0"},
            "g/a/attributes.json": {
                "dimensions": [1000, 10000],
                "blockSize": [100, 1000],
                "dataType": "float64",
                "compression": {"type": "gzip", "level": 1},
            },
        },
    ),
    "v1": encoded(
        "1.23",
        meta={
            "zarr_format": 1,
            "shape": [10000, 1000],
            "chunks": [1000, 100],
            "dtype": "<f8",
            "compression": "zlib",
            "compression_opts": 1,
            "fill_value": "NaN",
            "order": "C",
        },
        attrs={},
    ),
}

every = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
writing = pytest.mark.parametrize("dialect", [d for d in DIALECTS if d.name != "v1"], ids=lambda dialect: dialect.name)


def array_path(dialect: Dialect) -> str:
    return "/" if dialect.name == "v1" else "/g/a"


def own(dialect: Dialect, path: str, documents: Mapping[str, bytes]) -> Documents:
    return {key: documents[key] for key in dialect.documents(path) if key in documents}


def listed(keys: Iterator[str] | list[str], prefix: str) -> list[Entry]:
    """list_dir over a set of keys."""
    found: dict[Entry, None] = {}
    for key in keys:
        if key.startswith(prefix):
            name, slash, _ = key[len(prefix) :].partition("/")
            found[Entry(name, bool(slash))] = None
    return [*found]


def a_plain_array(dialect: Dialect, path: str = "/g/a", shape: tuple[int, ...] = (10, 7)) -> ArrayMetadata:
    """An array that every dialect can store: with the fill value zero and one compressor."""
    dtype = data_type("uint16")
    codecs = (CodecSpec("bytes", Configuration({"endian": "little"})), CodecSpec("gzip", Configuration({"level": 1})))
    return dialect.adapt(
        ArrayMetadata(
            shape=shape,
            dtype=dtype,
            grid=RegularGrid(tuple(max(1, n // 2) for n in shape)),
            keys=dialect.chunk_keys(path, len(shape)),
            codecs=codecs,
            fill=Fill(zero(dtype)),
            dialect=dialect.name,
            dimension_names=tuple(f"d{i}" for i in range(len(shape))),
        )
    )


# ---------------------------------------------------------------------------------------------- one canonical result
def test_every_dialect_has_a_template() -> None:
    assert {dialect.name for dialect in DIALECTS} == set(TEMPLATES)


@every
def test_the_template_is_the_same_array_in_every_dialect(dialect: Dialect) -> None:
    path = array_path(dialect)
    node = dialect.parse(path, own(dialect, path, TEMPLATES[dialect.name]))
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    metadata = node.metadata
    assert metadata.shape == (10000, 1000)
    assert metadata.grid == RegularGrid((1000, 100))
    assert metadata.dtype.numpy == np.dtype("float64")
    assert metadata.fill == (Fill(np.float64(0)) if dialect.name == "n5" else NAN)
    assert metadata.problem is None
    assert metadata.dialect == dialect.name
    assert metadata.keys.key((1, 23)) == TEMPLATES[dialect.name].chunk_key
    names = [spec.name for spec in metadata.codecs]
    expected = {"n5": ["transpose", "n5_default"], "v1": ["bytes", "numcodecs.zlib"]}
    assert names == expected.get(dialect.name, ["bytes", "gzip"])
    assert node.attributes == {}


@writing
def test_groups_are_groups(dialect: Dialect) -> None:
    template = TEMPLATES[dialect.name]
    node = dialect.parse("/g", own(dialect, "/g", template))
    if node is None:
        assert dialect.implicit == "prefix"  # N5 writes no document for a plain group
    else:
        assert isinstance(node.metadata, GroupMetadata)
        assert not node.metadata.implicit
    assert dialect.parse("/nowhere", own(dialect, "/nowhere", template)) is None


# ---------------------------------------------------------------------------------------------- detection
@every
def test_detection_does_not_depend_on_the_order_of_documents(dialect: Dialect) -> None:
    template = TEMPLATES[dialect.name]
    root = [key for key in template if "/" not in key]
    for order in itertools.islice(itertools.permutations(root), 24):
        found = detect({key: template[key] for key in order})
        assert found is not None
        assert found.dialect == dialect
        assert found.other_dialects == ()


@every
def test_lenience_reaches_the_dialect(dialect: Dialect) -> None:
    root = {key: value for key, value in TEMPLATES[dialect.name].items() if "/" not in key}
    found = detect(root, lenient=True)
    assert found is not None
    assert found.dialect.lenient
    assert not dialect.lenient


@every
def test_dialects_travel_between_processes(dialect: Dialect) -> None:
    copy = pickle.loads(pickle.dumps(dialect))
    assert copy == dialect
    assert hash(copy) == hash(dialect)
    assert copy.documents("/g/a") == dialect.documents("/g/a")
    node = copy.parse(array_path(dialect), own(dialect, array_path(dialect), TEMPLATES[dialect.name]))
    assert pickle.loads(pickle.dumps(node)) == node


# ---------------------------------------------------------------------------------------------- writing
@writing
@pytest.mark.parametrize("path", ["/", "/a", "/g/a", "/g.array/a.b-c_D"])
def test_what_is_written_reads_back(dialect: Dialect, path: str) -> None:
    metadata = a_plain_array(dialect, path)
    attributes = {"units": "µm", "nested": {"list": [1, 2.5, None, True]}, "empty": {}}
    written = dialect.write(path, metadata, attributes)
    node = dialect.parse(path, own(dialect, path, written))
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    assert replace(node.metadata, extensions=(), alternative_keys=()) == metadata
    assert {name: node.attributes[name] for name in attributes} == attributes
    group = dialect.parse(path, own(dialect, path, dialect.write(path, GroupMetadata(dialect.name), attributes)))
    assert group is not None
    assert group.metadata == GroupMetadata(dialect.name)
    assert group.attributes == attributes


@writing
def test_the_template_reads_back_when_written_again(dialect: Dialect) -> None:
    node = dialect.parse("/g/a", own(dialect, "/g/a", TEMPLATES[dialect.name]))
    assert node is not None
    again = dialect.parse("/g/a", dialect.write("/g/a", node.metadata, node.attributes))
    assert again is not None
    assert again.metadata == node.metadata


@writing
@pytest.mark.parametrize("kind", ["array", "group"])
def test_attributes_are_where_the_dialect_says(dialect: Dialect, kind: str) -> None:
    metadata = a_plain_array(dialect) if kind == "array" else GroupMetadata(dialect.name)
    written = dialect.write("/g/a", metadata, {"mine": 5})
    key, pointer = dialect.attributes_at("/g/a", "array" if kind == "array" else "group")
    value = json.loads(written[key])
    for name in pointer.split("/")[1:]:
        value = value[name]
    assert value["mine"] == 5


@writing
def test_attributes_that_json_cannot_hold_are_refused(dialect: Dialect) -> None:
    for value in (float("nan"), {1: 2}, {"a": object()}):
        with pytest.raises(ZarrscopeError) as caught:
            dialect.write("/g", GroupMetadata(dialect.name), {"bad": value})
        assert "bad" in (caught.value.pointer or "")


@every
def test_what_a_dialect_cannot_express_it_refuses_by_name(dialect: Dialect) -> None:
    if dialect.name == "v1":
        with pytest.raises(Unsupported):
            dialect.write("/", a_plain_array(dialect), {})
        return
    odd = CodecSpec("transpose", Configuration({"order": [1, 0, 2]}))
    metadata = a_plain_array(dialect, shape=(4, 4, 4))
    metadata = replace(metadata, codecs=(odd, *metadata.codecs))
    if isinstance(dialect, Zarr3):
        assert dialect.write("/g/a", metadata, {})
        return
    with pytest.raises(Unsupported) as caught:
        dialect.write("/g/a", replace(metadata, dtype=data_type("bfloat16"), fill=undefined(data_type("bfloat16"))), {})
    assert caught.value.feature


# ---------------------------------------------------------------------------------------------- keys and names
TREE = {
    "/": "group",
    "/a": "array",
    "/a.b": "group",
    "/a.b/c": "array",
    "/a.b/x.array.json": "group",
    "/a.b/x.array.json/deep": "array",
    "/ab": "group",
    "/-_.9z": "array",
}


@writing
def test_children_and_documents_are_inverse(dialect: Dialect) -> None:
    keys: Documents = {}
    for path, kind in TREE.items():
        keys |= dialect.write(
            path, a_plain_array(dialect, path) if kind == "array" else GroupMetadata(dialect.name), {}
        )
    for path, kind in TREE.items():
        node = dialect.parse(path, own(dialect, path, keys))
        assert node is not None
        assert node.metadata.kind == kind
        if kind == "group":
            found: dict[str, str] = {}
            for child in dialect.children(path, listed([*keys], dialect.listing(path))):
                where = f"{path.rstrip('/')}/{child.name}"
                if child.kind is not None:
                    found[child.name] = child.kind
                elif (made := dialect.parse(where, own(dialect, where, keys))) is not None:
                    found[child.name] = made.metadata.kind
            above = path.rstrip("/")
            assert found == {
                p.rpartition("/")[2]: k for p, k in TREE.items() if p != "/" and p.rpartition("/")[0] == above
            }


@writing
def test_children_name_each_name_once(dialect: Dialect) -> None:
    keys = [key for path in ("/g", "/g/a", "/g/b/c") for key in dialect.write(path, a_plain_array(dialect, path), {})]
    random.Random(3).shuffle(keys)
    names = [child.name for child in dialect.children("/g", listed(keys, dialect.listing("/g")))]
    assert sorted(names) == ["a", "b"]


@writing
def test_erasing_covers_the_node_and_nothing_beside_it(dialect: Dialect) -> None:
    def keys_of(path: str) -> list[str]:
        metadata = a_plain_array(dialect, path)
        return [*dialect.write(path, metadata, {"x": 1}), metadata.keys.key((0, 0)), metadata.keys.key((1, 1))]

    erasure = dialect.erase("/g/a", "array")

    def covered(key: str) -> bool:
        return key in erasure.keys or key.startswith(erasure.prefixes)

    assert all(covered(key) for key in keys_of("/g/a"))
    assert all(covered(key) for key in keys_of("/g/a/below"))
    for beside in ("/g/ab", "/g/b", "/a", "/g/a.b"):
        assert not any(covered(key) for key in keys_of(beside))


@writing
def test_every_chunk_has_its_own_key(dialect: Dialect) -> None:
    for shape in ((), (5,), (4, 12), (3, 11, 2)):
        keys = dialect.chunk_keys("/g/a", len(shape))
        found = {keys.key(index) for index in np.ndindex(*shape)}
        assert len(found) == int(np.prod(shape))
        assert all(not key.endswith("/") and "//" not in key for key in found)


@every
@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "\ud800"])
def test_names_that_no_store_can_hold_are_refused(dialect: Dialect, name: str) -> None:
    with pytest.raises(Refused):
        dialect.check_name(name)


@writing
def test_ordinary_names_are_accepted(dialect: Dialect) -> None:
    for name in ("a", "image.zarr", "s0", "0a", "A-b_c.d", "labels"):
        dialect.check_name(name)


# ---------------------------------------------------------------------------------------------- broken documents
JUNK: list[Any] = [None, True, -1, 0, 1.5, 10**30, "x", "", "NaN", [], [None], [[]], {}, {"a": 1}, [-1, 5], ["a", "b"]]


def mutations(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yields the document with one member removed, renamed or replaced by another type, down to three levels."""
    if isinstance(value, dict):
        for name in value:
            rest = {key: each for key, each in value.items() if key != name}
            yield rest
            yield {**rest, name + "_": value[name]}
            for junk in JUNK:
                yield {**value, name: junk}
            if depth < 3:
                for inner in mutations(value[name], depth + 1):
                    yield {**value, name: inner}
    elif isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
            for junk in JUNK:
                yield [*value[:i], junk, *value[i + 1 :]]
            if depth < 3:
                for inner in mutations(value[i], depth + 1):
                    yield [*value[:i], inner, *value[i + 1 :]]


def fault(dialect: Dialect, path: str, documents: Documents) -> ZarrscopeError | None:
    """The first error of a node in the order in which a hierarchy parses it; any other exception fails the test."""
    try:
        detect({key: value for key, value in documents.items() if "/" not in key})
        node = dialect.parse(path, own(dialect, path, documents))
    except ZarrscopeError as error:
        return error
    if node is None:
        return None
    if isinstance(node.metadata, ArrayMetadata):
        json.dumps(fill_json(node.metadata.fill, node.metadata.dtype, V3))
    problem = node.metadata.problem
    return None if problem is None else problem.located(key=dialect.documents(path)[0])


@every
def test_a_broken_document_is_a_named_error(dialect: Dialect) -> None:
    template = TEMPLATES[dialect.name]
    lenient = replace(dialect, lenient=True)  # type: ignore[type-var]  # every dialect is a dataclass
    tried = 0
    faults: list[ZarrscopeError] = []
    for key, text in template.items():
        path = "/" if "/" not in key else "/g/a" if "a" in key.rpartition("g")[2] else "/g"
        for value in mutations(json.loads(text)):
            tried += 1
            documents = {**template, key: json.dumps(value).encode()}
            found = (fault(each, path, documents) for each in (dialect, lenient))
            faults += [each for each in found if each is not None]
    assert tried > 40
    assert len(faults) > 30
    assert all(each.key is not None and each.message and str(each) for each in faults)


@every
@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"3",
        b'"text"',
        b"\xff\xfe\x00",
        b"<html><body>404</body></html>",
        b'{"a": 1} trailing',
        b'{"a": 1,}',
        b"[" * 200_000,
        b'{"shape": ' + b"9" * 5000 + b"}",
        b"\x1f\x8b\x08\x00",
    ],
    ids=lambda junk: repr(junk[:12]),
)
def test_junk_is_a_named_error(dialect: Dialect, junk: bytes) -> None:
    path = array_path(dialect)
    key = next(key for key in dialect.documents(path) if key in TEMPLATES[dialect.name])
    error = fault(dialect, path, {key: junk})
    if error is None:  # N5 accepts any object as the attributes of a group, also with a number of 5000 digits
        assert dialect.name == "n5"
        assert junk.startswith(b'{"shape"')
    else:
        assert error.key == key
    assert dialect.stated_kind(path, {key: junk}) in (None, "array", "group")
    assert dialect.consolidated({}) is None


@every
def test_without_documents_no_kind_is_claimed(dialect: Dialect) -> None:
    assert dialect.stated_kind(array_path(dialect), {}) is None
    assert dialect.stated_kind(array_path(dialect), {"another/document": b"{}"}) is None


@every
def test_text_cut_anywhere_is_a_named_error(dialect: Dialect) -> None:
    path = array_path(dialect)
    key = next(key for key in dialect.documents(path) if key in TEMPLATES[dialect.name])
    text = TEMPLATES[dialect.name][key]
    for end in range(0, len(text), 3):
        with pytest.raises(ZarrscopeError):
            need_sound(not_none(dialect.parse(path, {key: text[:end]})).metadata)  # its key shows an array
