"""The tables of support in the docs match the code, and the tests that they name exist."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

import machine
from zarrscope.codecs import CODECS
from zarrscope.dialects import DIALECTS
from zarrscope.model.dtype import DATA_TYPES, data_type
from zarrscope.stores.registry import STORES


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("support_table", machine.ROOT / "packaging" / "support_table.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_the_docs_hold_the_tables_as_the_registries_are_now(table: ModuleType) -> None:
    formats = (machine.ROOT / "resources" / "docs" / "formats.md").read_text(encoding="utf-8")
    parts = {
        "dialects": "dialects",
        "codecs": "codecs",
        "types": "data_types",
        "points": "extension_points",
        "stores": "stores",
    }
    for name, function in parts.items():
        held = formats.partition(f"<!-- generated: {name} -->\n")[2].partition("\n<!-- end -->")[0]
        assert held.splitlines() == getattr(table, function)().splitlines(), "run: python packaging/generated_docs.py"


def test_every_dialect_codec_and_type_has_its_place(table: ModuleType) -> None:
    dialects, codecs, types = table.dialects(), table.codecs(), table.data_types()
    assert all(f"`{dialect.name}`" in dialects for dialect in DIALECTS)
    shown = {name.removeprefix("numcodecs.") for name in CODECS if not name.endswith("pickle")}
    assert all(f"`{name}`" in codecs for name in shown)
    assert all(f"`{name}`" in types for name in DATA_TYPES)


def test_every_store_says_what_it_was_tried_against(table: ModuleType) -> None:
    assert set(table.STORE_PROOFS) == set(STORES)


def test_what_it_calls_proved_has_tests(table: ModuleType) -> None:
    names = table.tests()
    assert len(names) > 8
    assert not [name for name in names if not (machine.ROOT / "tests" / "core" / f"{name}.py").is_file()]


def test_what_cannot_be_decoded_is_not_called_written(table: ModuleType) -> None:
    assert table.type_round_trips("uint16")
    assert data_type("complex_float16").numpy is None
    assert not table.type_round_trips("complex_float16")


def test_the_entry_points_it_names_are_those_of_the_engine(table: ModuleType) -> None:
    documented = (machine.ROOT / "core" / "zarrscope" / "model" / "plugins.py").read_text(encoding="utf-8")
    for point in table.POINTS:
        assert f"zarrscope.{point[3]} " in documented
