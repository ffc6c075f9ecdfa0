"""Converted hierarchies, read by others: zarr-python 3, tensorstore, zarr-python 2.18, and the models of OME-Zarr."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import contracts.zarr2
import zarrscope
from narrowing import as_array
from zarrscope import convert

TYPES = ("uint8", "int16", ">u2", "float32", ">f8", "bool")
IMAGES = (
    "real/neuroglancer/ome/simple_0.4",
    "real/ome-zarr-fiji/td/pyramid_testing/pyramid_v4.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyt/3d_dataset_v4.ome.zarr",
    "real/ome-zarr-fiji/td/3d_testing/xyc/3d_dataset_v4.ome.zarr",
    "real/mobie/image.ome.zarr",
    "real/mobie/single-plane-hcs.zarr",
    "generated/ome-zarr-py-0.10/img_0.4.ome.zarr",
)
"""OME-Zarr 0.4 of six real writers, a plate among them, and one with labels."""


def values_of(data_type: str) -> np.ndarray[Any, Any]:
    values = np.arange(7 * 10).reshape(7, 10)
    return (values % 3 == 0 if data_type == "bool" else values).astype(data_type)


def made_in_v2(place: Path) -> zarrscope.Hierarchy:
    """Arrays of all TYPES by zarr-python, in either order, named after their type."""
    import zarr

    group = zarr.open_group(place, mode="w", zarr_format=2)
    for i, data_type in enumerate(TYPES):
        name = data_type.replace(">", "big-")
        array = group.create_array(name, shape=(7, 10), chunks=(3, 4), dtype=data_type, order="F" if i % 2 else "C")
        array[...] = values_of(data_type)
    return zarrscope.open(place)


def written(source: zarrscope.Hierarchy, place: Path, dialect: str, **options: Any) -> convert.ConversionPlan:
    plan = convert.plan(source, str(place), dialect, **options)
    convert.run(plan, allow_losses=True)
    return plan


def by_tensorstore(place: Path, driver: str) -> np.ndarray[Any, Any]:
    tensorstore = pytest.importorskip("tensorstore")
    found: np.ndarray[Any, Any] = (
        tensorstore.open({"driver": driver, "kvstore": {"driver": "file", "path": str(place)}}).result().read().result()
    )
    return found


@pytest.mark.parametrize(("dialect", "driver"), [("v3", "zarr3"), ("v2", "zarr")])
@pytest.mark.parametrize("through", ["v2", "n5", "draft-2020", "draft-2022-05", "draft-2019-06", "draft-2019-05"])
def test_v3_and_v2_are_read_by_zarr_python_and_tensorstore(
    through: str, dialect: str, driver: str, tmp_path: Path
) -> None:
    import zarr

    written(made_in_v2(tmp_path / "old"), tmp_path / "between", through)
    plan = written(zarrscope.open(tmp_path / "between"), tmp_path / "new", dialect)
    assert len(plan.nodes) == 1 + len(TYPES) - (through == "n5")
    group = zarr.open_group(tmp_path / "new", mode="r")
    for node in plan.nodes[1:]:
        values = values_of(node.target.strip("/").replace("big-", ">"))
        array = group[node.target.strip("/")]
        assert isinstance(array, zarr.Array)
        assert np.array_equal(array[...], values)
        assert np.array_equal(by_tensorstore(tmp_path / "new" / node.target.strip("/"), driver), values)


def test_new_shards_are_read_by_zarr_python_and_tensorstore(tmp_path: Path) -> None:
    import zarr

    source = made_in_v2(tmp_path / "old")
    plan = written(source, tmp_path / "new", "v3", chunks=(2, 2), shards=(4, 6), codecs=["blosc"])
    for node in plan.nodes[1:]:
        place = tmp_path / "new" / node.target.strip("/")
        values = as_array(source[node.path])[...]
        found = zarr.open_array(place, mode="r")
        assert (found.chunks, found.shards) == ((2, 2), (4, 6))
        assert np.array_equal(found[...], values)
        assert np.array_equal(by_tensorstore(place, "zarr3"), values)


@pytest.mark.parametrize("codec", ["gzip", "blosc", "zstd", None])
def test_n5_is_read_by_tensorstore(codec: str | None, tmp_path: Path) -> None:
    source = made_in_v2(tmp_path / "old")
    plan = written(source, tmp_path / "new", "n5", codecs=[codec] if codec else [])
    assert [loss.path for loss in plan.losses] == ["/bool"]
    for node in plan.nodes[1:]:
        found = by_tensorstore(tmp_path / "new" / node.target.strip("/"), "n5")
        assert np.array_equal(found.transpose(), as_array(source[node.path])[...])


@pytest.mark.needs("zarr2")
@pytest.mark.parametrize("codec", ["gzip", "blosc", None])
@pytest.mark.parametrize("dialect", ["draft-2020", "v2", "n5"])
def test_zarr_2_18_reads_what_is_of_its_time(dialect: str, codec: str | None, zarr2: Path, tmp_path: Path) -> None:
    source = made_in_v2(tmp_path / "old")
    written(source, tmp_path / "new", dialect, codecs=[codec] if codec else [])
    found = {path: values for path, (values, _) in contracts.zarr2.read(zarr2, tmp_path / "new", dialect).items()}
    wanted = [name for name in TYPES if dialect != "n5" or name != "bool"]
    assert found == {name.replace(">", "big-"): values_of(name).tolist() for name in wanted}


# ------------------------------------------------------------------------------------------------- OME-Zarr
@pytest.mark.needs("cases")
@pytest.mark.parametrize("name", IMAGES)
def test_ome_zarr_0_4_becomes_0_5_and_0_4_again(name: str, unpacked: Path, tmp_path: Path) -> None:
    import zarr

    models = pytest.importorskip("ome_zarr_models")
    source = zarrscope.open(unpacked / name)
    plan = convert.plan(source, str(tmp_path / "new"), "v3")
    assert not plan.losses
    assert {node.how for node in plan.nodes} == {"group", "copied"}
    assert convert.run(plan).verified
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.open_ome_zarr(zarr.open_group(tmp_path / "new", mode="r"))
    assert model.attributes.ome.version == "0.5"
    for node in plan.nodes:
        if node.array is None:
            continue
        place = tmp_path / "new" / node.target.strip("/")
        values = node.array[...]
        found = zarr.open_array(place, mode="r")
        assert getattr(found.metadata, "dimension_names", None) is not None
        assert np.array_equal(found[...], values)
        assert np.array_equal(by_tensorstore(place, "zarr3"), values)
    written(zarrscope.open(tmp_path / "new"), tmp_path / "back", "v2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = models.open_ome_zarr(zarr.open_group(tmp_path / "back", mode="r"))
    assert type(again).__module__.startswith("ome_zarr_models.v04")
    versions = {
        entry.get("version") for entry in zarrscope.open(tmp_path / "back").root.attributes.get("multiscales", [])
    }
    assert versions <= {"0.4"}


def test_groups_of_labels_and_series_are_known_by_their_place() -> None:
    from zarrscope.convert.carried_attributes import attributes
    from zarrscope.dialects import dialect_named

    ends = dialect_named("v2"), dialect_named("v3")
    labels = {"labels": ["cells"], "note": 1}
    assert attributes(labels, None, "/labels", *ends)[0] == {
        "ome": {"version": "0.5", "labels": ["cells"]},
        "note": 1,
    }
    assert attributes(labels, None, "/mine", *ends) == (labels, [])
    older = {"multiscales": [{"version": "0.2", "datasets": [{"path": "0"}]}]}
    kept, notes = attributes(older, None, "/", *ends)
    assert kept == older
    assert "0.2" in notes[0]
