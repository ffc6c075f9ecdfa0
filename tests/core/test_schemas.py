"""Written documents follow the registered schemas; a violation is reported before anything is erased."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array, not_none
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.codecs import CODECS
from zarrscope.dialects import dialect_named
from zarrscope.dialects.strict import document_faults
from zarrscope.errors import Refused
from zarrscope.model.codec_table import CODECS as SCHEMAS
from zarrscope.stores.memory import MemoryStore

DOCUMENT: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
PLAIN = DOCUMENT["codecs"][0]
BARE_ONES = ("crc32", "adler32", "fletcher32", "packbits", "zlib", "bz2", "lzma", "lz4", "pcodec")


def codecs(*after: Any) -> dict[str, Any]:
    return {"codecs": [PLAIN, *after]}


BROKEN = {
    "level": (codecs({"name": "gzip", "configuration": {"level": -1}}), "/codecs/1/configuration/level"),
    "no level": (codecs({"name": "gzip"}), "/codecs/1"),
    "short-hand that needs more": (codecs("zstd"), "/codecs/1"),
    "unknown member": (codecs({"name": "crc32c", "configuration": {"x": 1}}), "/codecs/1/configuration/x"),
    "null shuffle": (
        codecs({"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": None, "typesize": 2}}),
        "/codecs/1/configuration",
    ),
    **{f"numcodecs.{name}": (codecs({"name": f"numcodecs.{name}"}), "/codecs/1") for name in BARE_ONES[:3]},
    "two serializers": (codecs(PLAIN), "/codecs"),
    "order of codecs": ({"codecs": [{"name": "crc32c"}, PLAIN]}, "/codecs"),
    "no byte order": ({"codecs": ["bytes"]}, "/codecs/0"),
    "former name": ({"codecs": [{"name": "endian", "configuration": {"endian": "little"}}]}, "/codecs/0"),
    "member beside": ({"codecs": [{"name": "bytes", "endian": "little"}]}, "/codecs/0/endian"),
    "nested": (
        {
            "codecs": [
                {
                    "name": "sharding_indexed",
                    "configuration": {
                        "chunk_shape": [1, 3],
                        "codecs": [PLAIN, {"name": "gzip", "configuration": {"level": 12}}],
                        "index_codecs": [PLAIN, {"name": "crc32c"}],
                    },
                }
            ]
        },
        "/codecs/0/configuration/codecs/1/configuration/level",
    ),
    "chunk of nothing": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 0]}}},
        "/chunk_grid/configuration/chunk_shape/1",
    ),
    "too few axes": (
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}},
        "/chunk_grid/configuration/chunk_shape",
    ),
    "separator": (
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}},
        "/chunk_key_encoding/configuration/separator",
    ),
    "type without length": ({"data_type": "fixed_length_utf32"}, "/data_type"),
    "unit": (
        {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "x", "scale_factor": 1}}},
        "/data_type/configuration/unit",
    ),
    "fill value": ({"fill_value": 65536}, "/fill_value"),
    "bool as a number": ({"data_type": "bool", "fill_value": 0}, "/fill_value"),
    "names": ({"dimension_names": ["y"]}, "/dimension_names"),
    "attributes": ({"attributes": None}, "/attributes"),
    "unknown": ({"other": 1}, "/other"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_schema_is_told_with_its_place(name: str) -> None:
    changes, pointer = BROKEN[name]
    assert list(document_faults(DOCUMENT)) == []
    assert pointer in [place for place, _ in document_faults({**DOCUMENT, **changes})]


def test_every_codec_is_described_and_no_default_differs() -> None:
    assert set(CODECS) <= set(SCHEMAS)
    for name, row in SCHEMAS.items():
        assert set(row.required) <= set(row.members or ()), name
        for required in row.required:
            for value in not_none(row.members)[required].get("enum", ()):
                assert value is not None


@pytest.mark.parametrize("separator", [".", "/"])
def test_an_upgrade_in_place_is_read_by_others_whatever_the_codecs_left_out(separator: str, tmp_path: Path) -> None:
    import zarr

    values = {name: np.arange(40, dtype="i4").reshape(5, 8) for name in (*BARE_ONES, "gzip", "shuffle")}
    values["packbits"] = values["packbits"] % 3 == 0
    source = zarrscope.open(tmp_path, "a", dialect="v2")
    for name, some in values.items():
        settings: dict[str, Any] = {"name": "gzip" if name == "gzip" else f"numcodecs.{name}"}
        source.create_array(
            name, shape=some.shape, chunks=(2, 8), dtype=some.dtype, codecs=[settings], separator=separator
        )
        document = tmp_path / name / ".zarray"
        told = json.loads(document.read_text())
        for each in (told["compressor"], *(told["filters"] or ())):
            if each is not None:
                for member in [*each]:
                    if member != "id":
                        del each[member]
                if name in ("gzip", "zlib"):
                    each["level"] = -1
        document.write_text(json.dumps(told))
        as_array(zarrscope.open(tmp_path, "r+")[name])[...] = some
    convert.upgrade(convert.plan_upgrade(zarrscope.open(tmp_path, "r+")), remove=True, allow_losses=True)
    assert not [*tmp_path.rglob(".z*")]
    assert not [f for f in check(zarrscope.open(tmp_path)) if f.code == "schema"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(tmp_path, mode="r", zarr_format=3)
        for name, some in values.items():
            found: Any = group[name]
            assert np.array_equal(found[...], some), name


def test_nothing_old_is_erased_while_a_new_document_breaks_a_schema(tmp_path: Path) -> None:
    source = zarrscope.open(tmp_path, "a", dialect="v2")
    source.create_array("a", shape=(4,), dtype="i4", codecs=["gzip"])[...] = 5
    convert.upgrade(convert.plan_upgrade(zarrscope.open(tmp_path, "r+")))
    new = tmp_path / "a" / "zarr.json"
    new.write_text(new.read_text().replace('"level": 5', '"level": -1'))
    before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    (found,) = [f for f in check(zarrscope.open(tmp_path)) if f.code == "schema"]
    assert (found.severity, found.key, found.pointer) == ("warning", "a/zarr.json", "/codecs/1/configuration/level")

    plan = convert.plan_upgrade(zarrscope.open(tmp_path, "r+"))
    with pytest.raises(zarrscope.ZarrscopeError):
        convert.upgrade(plan, remove=True)
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before
    from zarrscope.convert.upgrading import _need_no_fault

    with pytest.raises(Refused, match="level must be at least 0"):
        _need_no_fault(plan)


def test_a_document_that_others_refuse_is_not_written() -> None:
    made = zarrscope.open(MemoryStore(), "a")
    with pytest.raises(zarrscope.ZarrscopeError, match="level"):
        made.create_array("a", shape=(4,), dtype="i4", codecs=[{"name": "gzip", "configuration": {"level": 12}}])
    assert "a" not in made


def test_documents_of_other_dialects_have_no_schema_here() -> None:
    assert dialect_named("v2").faults({".zgroup": b'{"zarr_format": 2}'}) == []
