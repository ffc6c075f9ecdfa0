"""Documents of real writers, and the demands of the specifications, dialect by dialect: see reference.md A, D and H."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.dialects import DIALECTS, Node, detect, detect_listed, dialect_named
from zarrscope.dialects.extensions import inherited
from zarrscope.dialects.n5 import N5
from zarrscope.dialects.v2 import V2
from zarrscope.dialects.v3 import V3
from zarrscope.errors import BadMetadata, NotFound, Refused, Unsupported, ZarrscopeError
from zarrscope.model import plugins
from zarrscope.model.dtype import Fill, data_type
from zarrscope.model.metadata import (
    ArrayMetadata,
    ChunkKeys,
    CodecSpec,
    Configuration,
    ExtensionOutcome,
    RectilinearGrid,
    RegularGrid,
)
from zarrscope.stores.memory import MemoryStore

LITTLE = {"endian": "little"}
URI = "https://example.com/zarr/"


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def sound(node: Node | None) -> Node:
    """Opens the node and reads its values. Raises the error in its document."""
    assert node is not None
    for defect in node.metadata.defects:
        raise defect.error
    return node


def array(node: Node | None) -> ArrayMetadata:
    assert node is not None
    assert isinstance(node.metadata, ArrayMetadata)
    return node.metadata


def names(metadata: ArrayMetadata) -> list[str]:
    return [spec.name for spec in metadata.codecs]


# ---------------------------------------------------------------------------------------------- v3
BASE: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": LITTLE}],
    "attributes": {},
}
GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def v3(lenient: bool = False, **changes: Any) -> Node:
    form = {name: value for name, value in (BASE | changes).items() if value is not ...}
    return sound(V3(lenient=lenient).parse("/", {"zarr.json": dumped(form)}))


def v3_group(lenient: bool = False, **changes: Any) -> Node:
    return sound(V3(lenient=lenient).parse("/", {"zarr.json": dumped(GROUP | changes)}))


@pytest.mark.parametrize(
    ("encoding", "key"),
    [
        ({"name": "default"}, "c/1/23"),
        ("default", "c/1/23"),
        ({"name": "default", "configuration": {"separator": "."}}, "c.1.23"),
        ({"name": "v2"}, "1.23"),
        ({"name": "v2", "configuration": {"separator": "/"}}, "1/23"),
        ({"name": "default", "separator": "."}, "c.1.23"),
    ],
)
def test_v3_chunk_keys(encoding: Any, key: str) -> None:
    assert array(v3(chunk_key_encoding=encoding)).keys.key((1, 23)) == key


def test_v3_scalars() -> None:
    scalar: dict[str, Any] = {"shape": [], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}}}
    assert array(v3(**scalar)).keys.key(()) == "c"
    assert array(v3(**scalar, chunk_key_encoding="v2")).keys.key(()) == "0"


def test_v3_short_hands_are_objects() -> None:
    metadata = array(v3(data_type="uint8", codecs=["bytes", "crc32c"]))
    assert metadata.codecs == (CodecSpec("bytes"), CodecSpec("crc32c"))
    assert array(v3(data_type={"name": "int32"})).dtype == array(v3()).dtype


def test_v3_null_consolidated_metadata_of_zarr_python_is_nothing() -> None:
    node = v3_group(consolidated_metadata=None)
    assert node.metadata.problem is None
    assert node.warnings == ()
    assert V3().consolidated({"zarr.json": dumped(GROUP | {"consolidated_metadata": None})}) is None
    assert array(v3(consolidated_metadata=None)).problem is None


def test_v3_consolidated_documents_by_key() -> None:
    inner = {"a": BASE, "g": GROUP, "g/b": BASE, "../evil": BASE, "/abs": BASE, "": BASE, "bad": 5}
    form = GROUP | {"consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": inner}}
    found = V3().consolidated({"zarr.json": dumped(form)})
    assert found is not None
    assert set(found) == {"a/zarr.json", "g/zarr.json", "g/b/zarr.json"}
    assert array(V3().parse("/g/b", found)).shape == (4, 6)
    other = GROUP | {"consolidated_metadata": {"kind": "other", "must_understand": False, "metadata": {}}}
    assert V3().consolidated({"zarr.json": dumped(other)}) is None


@pytest.mark.parametrize("value", [5, "x", None, [], [{"must_understand": False}], {}, {"must_understand": True}])
@pytest.mark.parametrize("bad", [0, "false"])
def test_v3_unknown_members_are_refused_by_name(value: Any, bad: Any) -> None:
    for member in (value, {"must_understand": bad}):
        for node in (v3(False, **{"https://x/y": member}), v3_group(False, **{"https://x/y": member})):
            problem = node.metadata.problem
            assert isinstance(problem, Unsupported)
            assert problem.pointer == "/https:~1~1x~1y"
            assert "https://x/y" in problem.feature
    opened = v3(lenient=True, future=value)
    assert opened.metadata.problem is None
    assert any("future" in note for note in opened.warnings)


def test_v3_unknown_members_that_may_be_ignored_are_reported() -> None:
    node = v3(future={"must_understand": False, "a": 1})
    assert node.metadata.problem is None
    (report,) = node.metadata.extensions
    assert (report.point, report.name, report.outcome, report.required) == (
        "member",
        "future",
        ExtensionOutcome.IGNORED,
        False,
    )


def test_zep9_extensions() -> None:
    statistics = {"name": URI + "array-statistics", "configuration": {"min": 1}, "must_understand": False}
    for node in (v3(extensions=[statistics]), v3_group(extensions=[statistics])):
        (report,) = node.metadata.extensions
        assert report.outcome is ExtensionOutcome.USED
        assert report.configuration["min"] == 1
    offset = {"name": URI + "offset", "configuration": {"offset": [12]}}
    for items, pointer in (([offset], "/extensions/0"), ([statistics, URI + "offset"], "/extensions/1")):
        problem = v3_group(extensions=items).metadata.problem
        assert problem is not None
        assert problem.pointer == pointer
        assert "origin" in (problem.advice or "")
        assert v3_group(lenient=True, extensions=items).metadata.problem is None
    assert v3(extensions=[{"name": "mine", "must_understand": False}]).metadata.problem is None
    assert "empty" in v3(extensions=[]).warnings[0]
    forms: list[Any] = [{}, "x", {URI + "offset": {}}, {URI + "offset": {"must_understand": False}}]
    for form in forms:
        assert v3(extensions=form).metadata.problem is not None
    weighed = v3(extensions={"must_understand": False, URI + "statistics": {"must_understand": False, "a": 1}})
    assert weighed.metadata.problem is None
    assert weighed.metadata.extensions[1].configuration == Configuration({"a": 1})
    for item in ({"must_understand": False}, {"name": 5}, {"name": "", "must_understand": False}, 7):
        with pytest.raises(BadMetadata) as caught:
            v3(extensions=[item])
        assert (caught.value.pointer or "").startswith("/extensions/0")


@pytest.mark.parametrize(
    ("changes", "point"),
    [
        ({"data_type": "int33"}, "data type"),
        ({"data_type": URI + "string"}, "data type"),
        ({"chunk_grid": {"name": URI + "grid", "configuration": {}}}, "chunk grid"),
        ({"chunk_key_encoding": {"name": "zigzag"}}, "chunk key encoding"),
        ({"storage_transformers": [{"name": "cache"}]}, "storage transformer"),
    ],
)
def test_v3_unknown_extensions_leave_the_node_open_and_say_what_is_missing(changes: Any, point: str) -> None:
    metadata = array(v3(**changes))
    assert metadata.shape == (4, 6)
    assert isinstance(metadata.problem, Unsupported)
    assert metadata.problem.feature.startswith(point)


@pytest.mark.parametrize("member", ["data_type", "chunk_grid", "chunk_key_encoding"])
def test_v3_must_understand_false_is_barred_where_it_cannot_hold(member: str) -> None:
    value = BASE[member] if isinstance(BASE[member], dict) else {"name": BASE[member]}
    with pytest.raises(BadMetadata) as caught:
        v3(False, **{member: {**value, "must_understand": False}})
    assert caught.value.pointer == f"/{member}/must_understand"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"shape": [True, 6]}, "/shape/0"),
        ({"shape": [4, 6.0]}, "/shape/1"),
        ({"shape": [4, -6]}, "/shape/1"),
        ({"shape": [4, 2**63]}, "/shape/1"),
        ({"shape": [1] * 40}, "/shape"),
        ({"shape": "46"}, "/shape"),
        (
            {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}},
            "/chunk_grid/configuration/chunk_shape",
        ),
        (
            {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}},
            "/chunk_grid/configuration/chunk_shape/0",
        ),
        ({"chunk_grid": "regular"}, "/chunk_grid"),
        (
            {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "|"}}},
            "/chunk_key_encoding/configuration/separator",
        ),
        ({"fill_value": 1.5}, "/fill_value"),
        ({"fill_value": None}, "/fill_value"),
        ({"codecs": []}, "/codecs"),
        ({"codecs": "bytes"}, "/codecs"),
        ({"codecs": ["bytes", "GZIP"]}, "/codecs/1"),
        ({"codecs": [{"name": "bytes", "must_understand": "false"}]}, "/codecs/0/must_understand"),
        ({"codecs": ["bytes"] * 65}, "/codecs"),
        ({"dimension_names": ["x"]}, "/dimension_names"),
        ({"dimension_names": ["x", 5]}, "/dimension_names"),
        ({"attributes": [1]}, "/attributes"),
        ({"zarr_format": 2}, "/zarr_format"),
        ({"zarr_format": True}, "/zarr_format"),
        ({"zarr_format": 3.0}, "/zarr_format"),
        ({"node_type": "dataset"}, "/node_type"),
    ],
)
def test_v3_faults_have_their_pointer(changes: Any, pointer: str) -> None:
    with pytest.raises(BadMetadata) as caught:
        v3(**changes)
    assert (caught.value.key, caught.value.pointer) == ("zarr.json", pointer)


def test_v3_zero_length_chunks_where_there_is_nothing() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}
    metadata = array(v3(shape=[0, 6], chunk_grid=grid))
    assert metadata.grid.grid_shape(metadata.shape) == (0, 2)


def test_v3_nested_shards_have_limits() -> None:
    codecs: Any = [{"name": "bytes", "configuration": LITTLE}]
    for _ in range(6):
        codecs = [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": codecs}}]
    with pytest.raises(BadMetadata):
        v3(codecs=codecs)


def test_v3_interim_documents() -> None:
    assert array(v3(codecs=[{"name": "endian", "configuration": {"endian": "big"}}])).codecs == (
        CodecSpec("bytes", Configuration({"endian": "big"})),
    )
    for order, expected in (("F", [1, 0]), ("C", [0, 1])):
        codecs = [{"name": "transpose", "configuration": {"order": order}}, *BASE["codecs"]]
        assert array(v3(codecs=codecs)).codecs[0].configuration["order"] == expected
    for written, known in ((..., ["bytes"]), ([{"name": "gzip"}], ["bytes", "gzip"])):
        node = v3(codecs=written)
        assert names(array(node)) == known
        assert "July 2023" in node.warnings[0]
    shard = {"name": "sharding_indexed", "configuration": {"chunk_shape": [1, 3], "codecs": [{"name": "gzip"}]}}
    settings = array(v3(codecs=[shard])).codecs[0].configuration
    assert [spec["name"] for spec in settings["index_codecs"]] == ["bytes", "crc32c"]
    assert [spec["name"] for spec in settings["codecs"]] == ["bytes", "gzip"]
    assert array(v3(data_type="float32", fill_value="+Infinity")).fill == Fill(np.float32("inf"))
    node = v3(data_type={"name": URI + "money", "fallback": ["nope", "int64"]})
    assert array(node).dtype.name == "int64"
    assert any("shown as int64" in note for note in node.warnings)
    strict = V3(fallbacks=False).parse(
        "/", {"zarr.json": dumped(BASE | {"data_type": {"name": "m", "fallback": "int8"}})}
    )
    assert array(strict).problem is not None
    old = {"name": "regular", "configuration": {"chunk_shape": [2, 3], "separator": "/"}}
    metadata = array(v3(chunk_grid=old, chunk_key_encoding=...))
    assert metadata.keys.key((1, 2)) == "c/1/2"
    assert metadata.alternative_keys[0].key((1, 2)) == "c1/2"


def test_v3_bytes_without_byte_order_is_told() -> None:
    node = v3(codecs=["bytes"])
    assert array(node).codecs[0].configuration == Configuration(LITTLE)
    assert "byte order" in node.warnings[0]
    assert v3(codecs=["bytes"], data_type="uint8").warnings == ()


def test_array_statistics_are_a_first_contrast_window() -> None:
    item = {"name": URI + "array-statistics", "configuration": {"min": 5, "max": 12}, "must_understand": False}
    assert array(v3(extensions=[item])).declared_range == (5, 12)
    for bad in ({}, {"min": 5}, {"min": "5", "max": 12}, {"min": True, "max": 12}):
        assert array(v3(extensions=[{**item, "configuration": bad}])).declared_range is None
    assert array(v3()).declared_range is None


def test_phase_3_of_zep_9_is_explained_and_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        v3(False, **{"https://zarr.dev/v3/array/data_type": "int32"}, data_type=...)
    assert "phase 3" in str(caught.value)
    assert caught.value.pointer == "/https:~1~1zarr.dev~1v3~1array~1data_type"
    problem = v3(False, **{"@context": "https://zarr.dev/context/v3.1"}).metadata.problem
    assert problem is not None
    assert "phase 3" in str(problem)
    with pytest.raises(BadMetadata) as prefixed:
        v3(codecs=["zarr:bytes"])
    assert "phase 3" in str(prefixed.value)
    assert "phase 3" in str(array(v3(data_type="example:utf-16-string")).problem)


def test_extensions_of_groups_above_are_told() -> None:
    def reports(*items: Any) -> Any:
        return v3_group(lenient=True, extensions=[*items]).metadata.extensions

    mine = {"name": URI + "my-extension", "configuration": {"a": 1}}
    other = {"name": URI + "other", "configuration": {"b": 2}}
    ref = {"name": URI + "my-extension", "configuration": {"reference": "../.."}}
    complimentary = {"name": URI + "my-extension-ref", "configuration": {"reference": "../.."}}
    parent = {"name": "https://zarr.dev/extensions/parent-ref", "configuration": {"reference": "../.."}}
    escape = {"name": URI + "e", "configuration": {"reference": "../../.."}}
    away = {"name": URI + "f", "configuration": {"reference": "https://example.com"}}
    root = reports(mine, other)

    def at_child(item: Any) -> Any:
        found = inherited("/g/a", {"/": root, "/g": (), "/g/a": reports(item)})
        return found[0]

    assert [(i.form, i.origin) for i in inherited("/g/a", {"/": root})] == [("above", "/"), ("above", "/")]
    assert at_child(mine).form == "copy"
    assert (at_child(ref).form, at_child(ref).target, at_child(ref).resolved) == ("reference", "/", (root[0],))
    assert at_child(complimentary).resolved == (root[0],)
    assert (at_child(parent).form, at_child(parent).resolved) == ("parent-ref", root)
    for outside in (escape, away):
        assert (at_child(outside).target, at_child(outside).resolved) == (None, ())
    assert [i.form for i in inherited("/", {"/": root})] == ["own", "own"]


def test_other_packages_add_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any) -> Any:
        raise RuntimeError("no")

    added = {
        ("data_types", "my-int"): lambda name, configuration: replace(data_type("int16"), name=name),
        ("chunk_grids", "my-grid"): lambda configuration, shape: RegularGrid(shape),
        ("chunk_key_encodings", "my-keys"): lambda configuration, prefix: ChunkKeys(prefix, "k", "-", "k"),
        ("storage_transformers", "my-cache"): lambda store, configuration, prefix: store,
        ("extensions", "my-note"): lambda configuration: "It says nothing.",
        ("memory_layouts", URI + "layout"): lambda configuration, n: [
            {"name": "transpose", "configuration": {"order": [*range(n)][::-1]}}
        ],
        ("metadata_encodings", URI + "yaml"): lambda data: json.loads(data[1:]),
        ("chunk_grids", "broken-grid"): fails,
    }

    class Point:
        def __init__(self, name: str, made: Any) -> None:
            self.name = self.value = name
            self.made = made

        def load(self) -> Any:
            return self.made

    def points(group: str) -> list[Point]:
        return [Point(name, made) for (where, name), made in added.items() if f"zarrscope.{where}" == group]

    monkeypatch.setattr("importlib.metadata.entry_points", points)
    plugins.forget()
    try:
        node = v3(
            data_type="my-int",
            chunk_grid="my-grid",
            chunk_key_encoding="my-keys",
            storage_transformers=["my-cache"],
            extensions=["my-note"],
        )
        metadata = array(node)
        assert metadata.problem is None
        assert (metadata.dtype.name, metadata.grid) == ("my-int", RegularGrid((4, 6)))
        assert metadata.keys.key((1, 2)) == "k1-2"
        assert metadata.transformers == (CodecSpec("my-cache"),)
        assert {report.outcome for report in metadata.extensions} == {ExtensionOutcome.USED}
        with pytest.raises(Unsupported, match="RuntimeError"):
            v3(chunk_grid="broken-grid")
        layout = {"extension": URI + "layout", "type": "x"}
        assert names(array(draft("draft-2022-05", chunk_memory_layout=layout))) == ["transpose", "bytes"]
        encoding = {"extension": URI + "yaml", "type": "yaml", "metadata_key_suffix": ".yaml"}
        base = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": encoding}
        found = detect({"zarr.json": dumped(base)})
        assert found is not None
        group = found.dialect.parse("/g", {"meta/g.group.yaml": b"#" + dumped({"attributes": {"a": 1}})})
        assert group is not None
        assert group.attributes == {"a": 1}
        assert group.metadata.problem is None
    finally:
        plugins.forget()


def test_v3_is_written_as_the_oldest_reader_wants_it() -> None:
    written = V3().write("/a", array(v3(codecs=["bytes", "crc32c"], data_type="uint8")), {})
    form = json.loads(written["a/zarr.json"])
    assert form["codecs"] == [{"name": "bytes"}, {"name": "crc32c"}]
    assert form["data_type"] == "uint8"
    assert form["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
    assert form["fill_value"] == 0
    assert not {"extensions", "storage_transformers", "must_understand", "dimension_names"} & set(form)


def test_rectilinear_grids() -> None:
    def grid(*shapes: Any) -> dict[str, Any]:
        return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [*shapes]}}

    metadata = array(v3(shape=[10, 7], chunk_grid=grid([[3, 2], 4], 2)))
    assert isinstance(metadata.grid, RectilinearGrid)
    assert metadata.grid.chunk_shape == (4, 2)
    assert metadata.grid.grid_shape((10, 7)) == (3, 4)
    edges = metadata.grid.edges(0, 10)
    assert [edges.span(i) for i in range(3)] == [(0, 3), (3, 6), (6, 10)]
    assert [edges.chunk_of(i) for i in range(10)] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert metadata.grid.shape_at((2, 3)) == (4, 2)
    assert V3().parse("/", V3().write("/", metadata, {})) == Node("/", metadata, {})
    huge = array(v3(shape=[10**7, 6], chunk_grid=grid([[1, 10**7]], 6)))
    assert huge.grid.edges(0, 10**7).chunk_of(10**7 - 1) == 10**7 - 1
    for shapes in (
        ([[1, 10**12]], 6),
        ([3], 6),
        ([], 6),
        ([0, 5], 6),
        ([[2, 0]], 6),
        ([True, 9], 6),
        ([5, 5],),
        (5.0, 6),
        ("5", 6),
    ):
        with pytest.raises(BadMetadata) as caught:
            v3(shape=[10, 6], chunk_grid=grid(*shapes))
        assert (caught.value.pointer or "").startswith("/chunk_grid/configuration/chunk_shapes")


# ---------------------------------------------------------------------------------------------- v2
ZARRAY: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [4, 6],
    "chunks": [2, 3],
    "dtype": "<i4",
    "compressor": None,
    "fill_value": 0,
    "order": "C",
    "filters": None,
}


def v2(attributes: Any = ..., **changes: Any) -> Node:
    form = {name: value for name, value in (ZARRAY | changes).items() if value is not ...}
    documents = {"a/.zarray": dumped(form)}
    if attributes is not ...:
        documents["a/.zattrs"] = dumped(attributes)
    return sound(V2().parse("/a", documents))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [("bytes", LITTLE)]),
        ({"dtype": ">i4"}, [("bytes", {"endian": "big"})]),
        ({"dtype": "|u1"}, [("bytes", {})]),
        ({"order": "F"}, [("transpose", {"order": [1, 0]}), ("bytes", LITTLE)]),
        ({"order": "F", "shape": [4], "chunks": [2]}, [("bytes", LITTLE)]),
        ({"compressor": {"id": "zlib", "level": 3}}, [("bytes", LITTLE), ("numcodecs.zlib", {"level": 3})]),
        (
            {"compressor": {"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}},
            [
                ("bytes", LITTLE),
                (
                    "blosc",
                    {"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 0},
                ),
            ],
        ),
        (
            {
                "filters": [{"id": "delta", "dtype": "<i4", "astype": ">i2"}],
                "compressor": {"id": "blosc", "shuffle": -1},
            },
            [
                ("numcodecs.delta", {"dtype": "<i4", "astype": ">i2"}),
                ("bytes", {"endian": "big"}),
                ("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}),
            ],
        ),
        (
            {"filters": [{"id": "shuffle", "elementsize": 4}, {"id": "crc32"}]},
            [("bytes", LITTLE), ("numcodecs.shuffle", {"elementsize": 4}), ("numcodecs.crc32", {})],
        ),
        (
            {"filters": [{"id": "packbits"}], "dtype": "|b1", "fill_value": False},
            [("numcodecs.packbits", {}), ("bytes", {})],
        ),
        (
            {"filters": [{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}], "dtype": "<f8"},
            [("numcodecs.astype", {"encode_dtype": "<f4", "decode_dtype": "<f8"}), ("bytes", LITTLE)],
        ),
        ({"dtype": "|O", "filters": [{"id": "vlen-utf8"}]}, [("vlen-utf8", {})]),
        (
            {"dtype": "|O", "filters": [{"id": "vlen-bytes"}], "compressor": {"id": "gzip"}},
            [("vlen-bytes", {}), ("gzip", {"level": 1})],
        ),
        ({"dtype": "|O", "filters": [{"id": "json2"}]}, [("numcodecs.json2", {})]),
        ({"filters": [{"id": "pickle"}]}, [("numcodecs.pickle", {})]),
        ({"compressor": {"id": "imagecodecs_tiff"}}, [("imagecodecs_tiff", {})]),
        ({"compressor": {"id": "pcodec", "level": 8}}, [("numcodecs.pcodec", {"level": 8})]),
        ({"dtype": [["a", "<i4"], ["b", ">f8"]], "fill_value": None}, [("bytes", {})]),
    ],
)
def test_v2_pipelines(changes: Any, expected: list[tuple[str, Any]]) -> None:
    metadata = array(v2(**changes))
    assert [(spec.name, dict(spec.configuration)) for spec in metadata.codecs] == expected
    again = V2().parse("/a", V2().write("/a", metadata, {}))
    assert replace(array(again), alternative_keys=()) == replace(metadata, alternative_keys=())


def test_v2_object_types() -> None:
    assert array(v2(dtype="|O", filters=[{"id": "vlen-utf8"}])).dtype.name == "string"
    assert array(v2(dtype="|O", filters=[{"id": "vlen-bytes"}])).dtype.name == "bytes"
    assert array(v2(dtype="|O", filters=[{"id": "vlen-array", "dtype": "<i4"}])).dtype.variable
    problem = array(v2(dtype="|O")).problem
    assert problem is not None
    assert "object codec" in (problem.advice or "")


def test_v2_separators_and_what_to_try_instead() -> None:
    plain = array(v2())
    assert plain.keys.key((1, 2)) == "a/1.2"
    assert plain.alternative_keys == ()
    lenient = array(V2(lenient=True).parse("/a", {"a/.zarray": dumped(ZARRAY)}))
    assert [keys.key((1, 2)) for keys in lenient.alternative_keys] == ["a/1/2"]
    nested = array(v2(dimension_separator="/"))
    assert nested.keys.key((1, 2)) == "a/1/2"
    assert nested.alternative_keys == ()
    scalar = array(v2(shape=[], chunks=[]))
    assert scalar.keys.key(()) == "a/0"
    with pytest.raises(BadMetadata) as caught:
        v2(dimension_separator="|")
    assert caught.value.pointer == "/dimension_separator"


def test_v2_attributes_and_dimension_names() -> None:
    node = v2(attributes={"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"})
    assert array(node).dimension_names == ("y", "x")
    assert node.attributes == {"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"}
    assert array(v2(attributes={"_ARRAY_DIMENSIONS": ["y"]})).dimension_names is None
    written = V2().write("/a", replace(array(v2()), dimension_names=("y", None)), {})
    assert json.loads(written["a/.zattrs"]) == {"_ARRAY_DIMENSIONS": ["y", "dim_1"]}
    with pytest.raises(BadMetadata) as caught:
        v2(attributes=[1])
    assert caught.value.key == "a/.zattrs"
    documents = {"a/.zarray": dumped(ZARRAY), "a/.zattrs": b"[1]"}
    lenient = V2(lenient=True).parse("/a", documents)
    assert lenient is not None
    assert lenient.attributes == {}
    assert lenient.warnings


def test_v2_missing_members_and_unknown_ones() -> None:
    node = v2(compressor=..., filters=..., order=..., fill_value=..., _NCZARR_ARRAY={"storage": "chunked"})
    assert names(array(node)) == ["bytes"]
    assert not array(node).fill.defined
    assert len(node.warnings) == 4


def test_v2_consolidated_documents_by_key() -> None:
    inside = {".zgroup": {"zarr_format": 2}, "a/.zarray": ZARRAY, "a/.zattrs": {}, "../x/.zarray": ZARRAY, "a/junk": {}}
    found = V2().consolidated({".zmetadata": dumped({"zarr_consolidated_format": 1, "metadata": inside})})
    assert found is not None
    assert set(found) == {".zgroup", "a/.zarray", "a/.zattrs"}
    assert array(V2().parse("/a", found)).shape == (4, 6)
    with pytest.raises(BadMetadata):
        V2().consolidated({".zmetadata": b'{"metadata": [1]}'})


# ---------------------------------------------------------------------------------------------- drafts
def draft(name: str, path: str = "/a", **changes: Any) -> Node:
    dialect = dialect_named(name)
    form: dict[str, Any] = {
        "shape": [4, 6],
        "data_type": "<i4",
        "chunk_grid": {"type": "regular", "chunk_shape": [2, 3]},
        "chunk_memory_layout": "C",
        "fill_value": 0,
        "extensions": [],
        "attributes": {},
    }
    if name == "draft-2019-05":
        form |= {"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "chunk_codecs": []}
    form = {member: value for member, value in (form | changes).items() if value is not ...}
    return sound(dialect.parse(path, {dialect.documents(path)[0]: dumped(form)}))


ALL_DRAFTS = ["draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05"]
every_draft = pytest.mark.parametrize("name", ALL_DRAFTS)


@every_draft
@pytest.mark.parametrize(
    ("kind", "expected", "endian"),
    [
        ("<f8", "float64", "little"),
        (">u2", "uint16", "big"),
        ("u1", "uint8", None),
        ("bool", "bool", None),
        ("float32", "float32", "little"),
        ("<c8", "complex64", "little"),
        ("r24", "r24", None),
    ],
)
def test_drafts_know_old_and_new_type_names(name: str, kind: str, expected: str, endian: str | None) -> None:
    fill = {"bool": False, "r24": "0x000000" if name == "draft-2022-05" else "AAAA", "<c8": [0, 0]}.get(kind, 0)
    metadata = array(draft(name, data_type=kind, fill_value=fill))
    assert metadata.dtype.name == expected
    assert metadata.codecs[0].configuration.get("endian") == endian


@every_draft
def test_drafts_allow_ascii_names_only(name: str) -> None:
    dialect = dialect_named(name)
    for good in ("a", "A.b-c_9", "x" * 255):
        dialect.check_name(good)
    for bad in ("µ", "a b", "a:b", "x" * 256, "g.array", "..."):
        with pytest.raises(Refused):
            dialect.check_name(bad)


def test_two_codecs_apply_in_the_order_of_the_document() -> None:
    codecs = [{"codec": f"http://purl.org/zarr/spec/codec/{each}", "level": 2} for each in ("zlib", "gzip")]
    assert names(array(draft("draft-2019-05", chunk_codecs=codecs))) == ["bytes", "numcodecs.zlib", "gzip"]
    uris = [{"type": f"https://purl.org/zarr/spec/codecs/{each}/1.0"} for each in ("gzip", "zstd")]
    assert names(array(draft("draft-2022-05", codecs=uris))) == ["bytes", "gzip", "zstd"]


@every_draft
def test_layout_f_is_a_reversal(name: str) -> None:
    metadata = array(draft(name, chunk_memory_layout="F"))
    assert metadata.codecs[0] == CodecSpec("transpose", Configuration({"order": [1, 0]}))


@every_draft
@pytest.mark.parametrize(
    "uri",
    [
        "http://purl.org/zarr/spec/codec/gzip",
        "https://purl.org/zarr/spec/codec/gzip/1.0",
        "https://purl.org/zarr/spec/codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codec/GZIP/",
    ],
)
@pytest.mark.parametrize("flat", [True, False])
def test_codecs_are_known_by_every_address(name: str, uri: str, flat: bool) -> None:
    dialect = dialect_named(name)
    member = dialect.layout.codecs  # type: ignore[attr-defined]  # of the drafts alone
    key = dialect.layout.codec_name  # type: ignore[attr-defined]  # of the drafts alone
    item = {key: uri, "level": 7} if flat else {key: uri, "configuration": {"level": 7}}
    metadata = array(draft(name, "/a", **{member: item if member == "compressor" else [item]}))
    assert metadata.codecs[-1] == CodecSpec("gzip", Configuration({"level": 7}))


@pytest.mark.parametrize(
    ("items", "endian"),
    [
        ([], "little"),
        (["big"], "big"),
        (["little"], "little"),
        (["big", "big"], "little"),
        (["little", "big"], "big"),
    ],
)
def test_the_endian_codec_of_2022_takes_what_it_gets_for_little_endian(items: list[str], endian: str) -> None:
    uri = "https://purl.org/zarr/spec/codecs/endian/1.0"
    codecs = [{"type": uri, "configuration": {"endian": each}} for each in items]
    assert array(draft("draft-2022-05", data_type="int32", codecs=codecs)).codecs == (
        CodecSpec("bytes", Configuration({"endian": endian})),
    )


def test_the_endian_codec_outranks_the_type_name() -> None:
    codecs = [{"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "little"}}]
    assert array(draft("draft-2022-05", data_type=">i4", codecs=codecs)).codecs[0].configuration["endian"] == "little"
    assert array(draft("draft-2022-05", data_type=">i4")).codecs[0].configuration["endian"] == "big"


TRANSFORMER = {
    "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
    "type": "indexed",
    "configuration": {"chunks_per_shard": [2, 4]},
}


@pytest.mark.parametrize("name", ["draft-2020", "draft-2022-05"])
def test_the_sharding_transformer_is_the_codec(name: str) -> None:
    metadata = array(draft(name, shape=[8, 24], storage_transformers=[TRANSFORMER]))
    assert metadata.grid == RegularGrid((4, 12))
    (shard,) = metadata.codecs
    assert shard.name == "sharding_indexed"
    assert shard.configuration["chunk_shape"] == [2, 3]
    assert shard.configuration["index_codecs"] == [{"name": "bytes", "configuration": LITTLE}]
    assert shard.configuration["index_location"] == "end"
    dialect = dialect_named(name)
    again = dialect.parse("/a", dialect.write("/a", metadata, {}))
    assert replace(array(again), extensions=()) == replace(metadata, extensions=())


def test_two_sharding_transformers_nest() -> None:
    inner = {**TRANSFORMER, "configuration": {"chunks_per_shard": [1, 2]}}
    metadata = array(draft("draft-2022-05", shape=[8, 96], storage_transformers=[inner, TRANSFORMER]))
    assert metadata.grid == RegularGrid((4, 24))
    assert metadata.codecs[0].configuration["chunk_shape"] == [2, 6]
    assert metadata.codecs[0].configuration["codecs"][0]["configuration"]["chunk_shape"] == [2, 3]


def test_chunks_per_shard_as_zarr_python_2_wrote_it() -> None:
    for value, expected in ((2, (4, 3)), ([2], (4, 3)), ([], (2, 3))):
        transformer = {**TRANSFORMER, "configuration": {"chunks_per_shard": value}}
        assert array(draft("draft-2020", storage_transformers=[transformer])).grid == RegularGrid(expected)
        if value != [2, 4]:
            with pytest.raises(BadMetadata):
                draft("draft-2022-05", storage_transformers=[transformer])
    for bad in ([0, 2], [2, 2, 2], [-1, 1], [2**20, 2**20], "2", None):
        with pytest.raises(BadMetadata):
            draft("draft-2022-05", storage_transformers=[{**TRANSFORMER, "configuration": {"chunks_per_shard": bad}}])


@every_draft
@pytest.mark.parametrize(
    ("changes", "point"),
    [
        ({"data_type": "<i3"}, "data type"),
        ({"data_type": {"extension": URI + "t", "type": "x"}}, "data type"),
        ({"data_type": {"extension": URI + "t", "type": "x", "fallback": None}}, "data type"),
        ({"data_type": {"extension": URI + "t", "type": "x", "fallback": ["zz"]}}, "data type"),
        ({"chunk_grid": {"type": "odd", "chunk_shape": [2, 3]}}, "chunk grid"),
        ({"chunk_grid": {"extension": URI + "g", "type": "odd"}}, "chunk grid"),
        ({"chunk_memory_layout": {"extension": URI + "l", "type": "z"}}, "memory layout"),
        ({"storage_transformers": [{"extension": URI + "s", "type": "z"}]}, "storage transformer"),
        ({"extensions": [{"extension": URI + "e", "must_understand": True}]}, "extension"),
        ({"extensions": [{"extension": URI + "e"}]}, "extension"),
    ],
)
def test_drafts_say_which_piece_is_missing(name: str, changes: Any, point: str) -> None:
    problem = array(draft(name, **changes)).problem
    assert isinstance(problem, Unsupported)
    assert problem.feature.startswith(point)
    assert problem.pointer


@every_draft
def test_fallbacks_are_used_and_told(name: str) -> None:
    node = draft(name, data_type={"extension": URI + "t", "type": ["any"], "fallback": ["zz", "<i2"]}, fill_value=5)
    assert array(node).dtype.name == "int16"
    assert array(node).extensions[0].outcome is ExtensionOutcome.FELL_BACK
    assert any("shown as" in note for note in node.warnings)


@every_draft
def test_fallbacks_can_be_switched_off_and_must_be_of_the_size_that_the_type_tells(name: str) -> None:
    form = {"extension": URI + "t", "type": "<M8[ns]", "fallback": ["<i4", "<i8"]}
    report = array(draft(name, data_type=form, fill_value=5)).extensions[0]
    assert (report.outcome, report.fallback) == (ExtensionOutcome.FELL_BACK, "<i8")
    report = array(draft(name, data_type=form | {"fallback": ["<i4"]}, fill_value=5)).extensions[0]
    assert (report.outcome, report.fallback) == (ExtensionOutcome.REFUSED, "")
    store = MemoryStore()
    h = zarrscope.open(store, "w-", dialect=name)
    h.create_array("/a", shape=(2,), dtype="i2")[...] = 3
    key = h.dialect.documents("/a", "array")[0]
    document = json.loads(store.get(key) or b"") | {
        "data_type": {"extension": URI + "t", "type": "x", "fallback": "<i2"}
    }
    store.set(key, json.dumps(document).encode())
    assert as_array(zarrscope.open(store)["/a"])[...].tolist() == [3, 3]
    strict = zarrscope.open(store, fallbacks=False)["/a"]
    assert isinstance(strict, zarrscope.Array)
    assert [report.fallback for report in strict.extensions] == ["<i2"]
    with pytest.raises(zarrscope.Unsupported, match="switched off") as caught:
        strict[...]
    assert caught.value.pointer == "/data_type"


@every_draft
def test_datetime_extension(name: str) -> None:
    uri = dialect_named(name).layout.datetime_uri  # type: ignore[attr-defined]  # of the drafts alone
    metadata = array(draft(name, data_type={"extension": uri, "type": "<M8[ns]", "fallback": "<i8"}, fill_value=None))
    assert metadata.dtype.numpy == np.dtype("M8[ns]")
    assert not metadata.fill.defined


def test_zarr_python_2_types_and_filters() -> None:
    for kind, text, fill in (("unicode", ">U4", ""), ("bytestring", "|S5", ""), ("structured", [["a", "<i4"]], None)):
        form = {"extension": f"TODO: {kind} array protocol URL", "type": text, "fallback": None}
        assert array(draft("draft-2020", data_type=form, fill_value=fill)).problem is None
    form = {"extension": "TODO: object array protocol URL", "type": "|O", "fallback": None}
    metadata = array(
        draft("draft-2020", data_type=form, attributes={"filters": [{"id": "vlen-utf8"}]}, dimension_separator="/")
    )
    assert metadata.dtype.name == "string"
    assert names(metadata) == ["vlen-utf8"]
    own = array(draft("draft-2020", attributes={"filters": [{"id": "median", "size": 3}]}))
    assert names(own) == ["bytes"]


def test_the_2022_draft_refuses_unknown_members_and_others_pass_them_over() -> None:
    for name in ALL_DRAFTS:
        node = draft(name, surprise=None)
        assert (array(node).problem is not None) == (name == "draft-2022-05")
        assert (node.warnings != ()) == (name != "draft-2022-05")
    assert array(draft("draft-2022-05", surprise={"must_understand": False})).problem is None


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"metadata_encoding": "application/json"}, "draft-2019-06"),
        ({"metadata_encoding": "https://purl.org/zarr/spec/protocol/core/3.0"}, "draft-2020"),
        ({"metadata_encoding": "http://purl.org/zarr/spec/core/3.0/", "metadata_key_suffix": ".json"}, "draft-2020"),
        ({"metadata_encoding": {"type": "json", "metadata_key_suffix": ".meta"}}, "draft-2022-05"),
    ],
)
def test_bootstrap_documents(document: Any, name: str) -> None:
    base = {"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.1", "extensions": []}
    found = detect({"zarr.json": dumped(base | document)})
    assert found is not None
    assert found.dialect.name == name
    assert "3.1" in found.warnings[0]


def test_the_suffix_of_the_bootstrap_ends_every_document() -> None:
    base = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "extensions": []}
    for suffix, key in ((".meta", "meta/foo/baz.array.meta"), ("", "meta/foo/baz.array")):
        encoding = {"type": "json", "metadata_key_suffix": suffix}
        found = detect({"zarr.json": dumped(base | {"metadata_encoding": encoding})})
        assert found is not None
        assert found.dialect.documents("/foo/baz")[0] == key


@pytest.mark.parametrize(
    "document",
    [
        {"zarr_format": "https://purl.org/zarr/spec/core/4.0"},
        {"zarr_format": "https://purl.org/zarr/spec/core/2.0"},
        {"zarr_format": "latest"},
        {"zarr_format": 2},
        {"zarr_format": True},
        {"zarr_format": 3.0},
        {"zarr_format": None},
        {"metadata_encoding": "application/json"},
        {"zarr_format": "https://purl.org/zarr/spec/core/3.0"},
        {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": 7},
        {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": "https://example.com/x"},
        {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": {}},
        {
            "zarr_format": "https://purl.org/zarr/spec/core/3.0",
            "metadata_encoding": {"type": "json", "metadata_key_suffix": "/../x"},
        },
    ],
)
def test_zarr_json_of_no_known_format(document: Any) -> None:
    with pytest.raises(ZarrscopeError) as caught:
        detect({"zarr.json": dumped(document)})
    assert caught.value.key == "zarr.json"


def test_an_unknown_metadata_encoding_leaves_the_names() -> None:
    base = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "extensions": []}
    encoding = {"extension": URI + "cbor", "type": "cbor", "metadata_key_suffix": ".cbor"}
    found = detect({"zarr.json": dumped(base | {"metadata_encoding": encoding})})
    assert found is not None
    (report,) = found.dialect.extensions
    assert (report.point, report.outcome) == ("metadata encoding", ExtensionOutcome.REFUSED)
    group = found.dialect.parse("/g", {"meta/g.group.cbor": b"\xa0"})
    assert group is not None
    assert group.metadata.problem is not None
    with pytest.raises(Unsupported) as caught:
        found.dialect.parse("/a", {"meta/a.array.cbor": b"\xa0"})
    assert caught.value.key == "meta/a.array.cbor"


def test_what_the_bootstrap_demands_holds_for_every_node() -> None:
    base = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": {"type": "json"}}
    document = dumped(base | {"extensions": [{"extension": URI + "e", "must_understand": True}]})
    found = detect({"zarr.json": document})
    assert found is not None
    group = found.dialect.parse("/g", {"meta/g.group.json": dumped({"attributes": {}})})
    assert group is not None
    assert group.metadata.problem is not None
    lenient = detect({"zarr.json": document}, lenient=True)
    assert lenient is not None
    opened = lenient.dialect.parse("/g", {"meta/g.group.json": dumped({"attributes": {}})})
    assert opened is not None
    assert opened.metadata.problem is None


def test_a_web_page_in_place_of_zarr_json_does_not_hide_what_lies_beside_it() -> None:
    page = b"<!doctype html><html></html>"
    found = detect({"zarr.json": page, ".zgroup": dumped({"zarr_format": 2})})
    assert found is not None
    assert found.dialect.name == "v2"
    assert "zarr.json" in found.warnings[0]
    with pytest.raises(BadMetadata):
        detect({"zarr.json": page})


def test_v3_is_preferred_to_what_lies_beside_it() -> None:
    found = detect({".zgroup": dumped({"zarr_format": 2}), "zarr.json": dumped(GROUP), "attributes.json": b"{}"})
    assert found is not None
    assert (found.dialect.name, found.other_dialects) == ("v3", ("v2", "n5"))
    assert len(found.warnings) == 2


def test_nothing_is_no_hierarchy() -> None:
    assert detect({}) is None
    assert detect({".zattrs": b"{}"}) is None
    assert detect_listed({"meta/x": b"junk", "meta/a.array.json": dumped({"zarr_format": 3})}) is None
    with pytest.raises(NotFound):
        dialect_named("v4")
    assert [dialect_named(dialect.name) for dialect in DIALECTS] == [*DIALECTS]


# ---------------------------------------------------------------------------------------------- N5
def n5(**changes: Any) -> Node:
    form = {"dimensions": [6, 4], "blockSize": [3, 2], "dataType": "uint16", "compression": {"type": "raw"}} | changes
    return sound(N5().parse("/a", {"a/attributes.json": dumped({k: v for k, v in form.items() if v is not ...})}))


def test_n5_axes_are_reversed() -> None:
    node = n5(axes=["x", "y"], resolution=[1, 2])
    metadata = array(node)
    assert (metadata.shape, metadata.grid) == ((4, 6), RegularGrid((2, 3)))
    assert metadata.keys.key((0, 1)) == "a/1/0"
    assert metadata.dimension_names == ("y", "x")
    assert node.attributes == {"axes": ["x", "y"], "resolution": [1, 2]}
    transpose, block = metadata.codecs
    assert transpose.configuration["order"] == [1, 0]
    assert [spec["name"] for spec in block.configuration["codecs"]] == ["transpose", "bytes"]
    assert block.configuration["codecs"][1]["configuration"] == {"endian": "big"}


@pytest.mark.parametrize(
    ("compression", "name"),
    [
        ({"type": "gzip", "level": -1}, "gzip"),
        ({"type": "gzip", "useZlib": True}, "numcodecs.zlib"),
        ({"type": "bzip2", "blockSize": 9}, "numcodecs.bz2"),
        ({"type": "xz", "preset": 6}, "numcodecs.lzma"),
        ({"type": "zstd"}, "zstd"),
        ({"type": "blosc", "cname": "lz4", "clevel": 3, "shuffle": 1, "blocksize": 0, "nthreads": 4}, "blosc"),
        ({"type": "lz4", "blockSize": 65536}, "n5.lz4"),
        ({"type": "secret"}, "n5.secret"),
    ],
)
def test_n5_compressions(compression: Any, name: str) -> None:
    assert array(n5(compression=compression)).codecs[-1].configuration["codecs"][-1]["name"] == name
    again = N5().parse("/a", N5().write("/a", array(n5(compression=compression)), {}))
    assert array(again).codecs[-1].configuration["codecs"][-1]["name"] == name


def test_n5_of_version_0_and_of_versions_to_come() -> None:
    assert len(array(n5(compression=..., compressionType="gzip")).codecs[-1].configuration["codecs"]) == 3
    assert array(n5(dataType="string")).problem is not None
    assert array(n5(shardSize=[6, 4])).problem is not None
    for version in ("5.0.0", "x", 4):
        with pytest.raises(ZarrscopeError) as caught:
            n5(n5=version)
        assert caught.value.pointer == "/n5"
