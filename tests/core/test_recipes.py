"""The recipes of resources/docs/python.md, run as they stand there."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from machine import ROOT
from zarrscope.stores.memory import MemoryStore

TEXT = (ROOT / "resources" / "docs" / "python.md").read_text(encoding="utf-8")
SHAPE = (4, 6, 8)


def recipe(name: str) -> str:
    part = TEXT.partition("## Recipes")[2].partition(f"### {name}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    found = re.search(r"```python\n(.*?)```", part, re.DOTALL)
    assert found, f"there is no recipe for {name}"
    return found[1]


@pytest.fixture(autouse=True)
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray[Any, Any]:
    """Makes cells.ome.zarr in the working folder; returns its values."""
    monkeypatch.chdir(tmp_path)
    values = np.arange(np.prod(SHAPE), dtype="u2").reshape(SHAPE)
    made = zarrscope.open("cells.ome.zarr", "w-")
    made.create_array("/0", shape=SHAPE, dtype="u2", chunks=(1, 3, 4), dimension_names=["z", "y", "x"])[...] = values
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    scale = {"type": "scale", "scale": [2.0, 0.5, 0.5]}
    levels = [{"path": "0", "coordinateTransformations": [scale]}]
    made.root.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    return values


def run(name: str, **names: Any) -> dict[str, Any]:
    space = {"zarrscope": zarrscope, "np": np, "array": zarrscope.open_array("cells.ome.zarr", "/0"), **names}
    exec(compile(recipe(name), f"python.md, {name}", "exec"), space)
    return space


def test_numpy(cells: np.ndarray[Any, Any]) -> None:
    array = run("numpy")["array"]
    np.testing.assert_array_equal(np.asarray(array), cells)
    np.testing.assert_allclose(np.mean(array, axis=0), cells.mean(axis=0))
    np.testing.assert_array_equal(np.concatenate([array, array]), np.concatenate([cells, cells]))
    assert np.percentile(array, 50) == np.percentile(cells, 50)


def test_dask(cells: np.ndarray[Any, Any]) -> None:
    pytest.importorskip("dask.array")
    lazy = run("dask")["lazy"]
    assert lazy.chunks == ((1,) * 4, (3, 3), (4, 4))
    np.testing.assert_array_equal(lazy.compute(), cells)


def test_dask_takes_the_inner_chunks_of_a_shard() -> None:
    dask = pytest.importorskip("dask.array")
    store = MemoryStore()
    zarrscope.open(store, "w-").create_array("/0", shape=SHAPE, dtype="u2", chunks=(2, 3, 4), shards=SHAPE)[...] = 1
    array = zarrscope.open_array(store, "/0")
    lazy = dask.from_array(array, chunks=array.chunks)
    assert lazy.chunksize == (2, 3, 4)
    assert lazy.sum().compute() == array.size


def test_dask_reads_nothing_until_it_computes_and_each_chunk_once() -> None:
    dask = pytest.importorskip("dask.array")
    store = MemoryStore()
    made = zarrscope.open(store, "w-").create_array("/0", shape=SHAPE, dtype="u2", chunks=(2, 3, 4))
    made[...] = 1
    asked: list[str] = []
    original = MemoryStore._get

    def counted(key: str, *rest: Any) -> Any:
        asked.append(key)
        return original(store, key, *rest)

    array = zarrscope.open_array(store, "/0")
    store._get = counted  # type: ignore[assignment, method-assign]  # counts the calls
    lazy = dask.from_array(array, chunks=array.chunks)
    half = lazy[:2, :3]
    assert not asked
    assert half.sum().compute(scheduler="sync") == 2 * 3 * 8
    chunks = [key for key in asked if key.startswith("0/c")]
    assert sorted(chunks) == ["0/c/0/0/0", "0/c/0/0/1"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_xarray(zarr_format: int) -> None:
    pytest.importorskip("dask.array")
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr", minversion="3")
    days = np.arange("2024-01-01", "2024-01-05", dtype="datetime64[D]").astype("datetime64[ns]")
    made = xarray.Dataset(
        {
            "kelvin": (("time", "y"), np.array([[280.5, 281], [np.nan, 282], [283, 284], [285, 286.25]])),
            "rain": (("y",), np.array([np.nan, 1.5], "f4")),
        },
        coords={"time": days, "y": [10.0, 20.0]},
        attrs={"title": "weather"},
    )
    made["kelvin"].attrs["units"] = "K"
    made["kelvin"].encoding = {"dtype": "int16", "scale_factor": 0.25, "add_offset": 280.0, "_FillValue": -999}
    made.to_zarr("weather.zarr", zarr_format=zarr_format, consolidated=False)
    space = run("xarray")
    found, stored = space["weather"], space["stored"]
    assert found["kelvin"].chunks is not None, "it was read when it was opened"
    expected = xarray.open_zarr("weather.zarr", consolidated=False)
    xarray.testing.assert_identical(found.compute(), expected.compute())
    xarray.testing.assert_equal(found.compute(), made)
    assert stored["kelvin"].dtype == np.int16
    assert stored["time"].dtype == np.int64
    assert stored["time"].attrs["units"].startswith("days since")


def test_torch(cells: np.ndarray[Any, Any]) -> None:
    pytest.importorskip("torch")
    batches = run("torch")["batches"]
    np.testing.assert_array_equal(np.concatenate([batch.numpy() for batch in batches]), cells)


class Planes:
    """The recipe's Dataset, without torch."""

    def __init__(self, url: str, path: str) -> None:
        self.array = zarrscope.open_array(url, path)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int) -> np.ndarray[Any, Any]:
        return np.asarray(self.array[index].astype("float32"))


def some(planes: Planes, indices: Sequence[int], answers: Any) -> None:
    answers.put([(i, float(planes[i].sum())) for i in indices])


@pytest.mark.parametrize("how", multiprocessing.get_all_start_methods())
def test_workers_read_as_those_of_a_data_loader(how: str, cells: np.ndarray[Any, Any]) -> None:
    planes = Planes("cells.ome.zarr", "/0")
    assert planes[0].sum() == cells[0].sum()  # its threads have run before the fork
    np.testing.assert_array_equal(planes.array[...], cells)
    context: Any = multiprocessing.get_context(how)
    answers = context.Queue()
    workers = [context.Process(target=some, args=(planes, range(k, len(planes), 2), answers)) for k in range(2)]
    for worker in workers:
        worker.start()
    found = dict(pair for _ in workers for pair in answers.get(timeout=60))
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    assert found == {i: float(plane.sum()) for i, plane in enumerate(cells)}


def test_napari(cells: np.ndarray[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("dask.array")
    napari = pytest.importorskip("napari")
    from napari.components import ViewerModel
    from npe2 import PluginManager

    PluginManager.instance().discover()
    monkeypatch.setattr(napari, "Viewer", ViewerModel)  # no window
    viewer = run("napari", dask=dask)["viewer"]
    assert [layer.name for layer in viewer.layers][-1] == "raw"
    np.testing.assert_array_equal(np.asarray(viewer.layers["raw"].data), cells)
    first = viewer.layers[0]
    assert tuple(first.scale) == (2.0, 0.5, 0.5)
    np.testing.assert_array_equal(np.asarray(first.data[0] if first.multiscale else first.data), cells)
