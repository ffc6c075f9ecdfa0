"""The first layers import neither xarray nor scipy, and their thumbnails equal those of napari."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer

from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.napari.first_layer import spare_scipy
from zarrscope_app.napari.reader import read


def test_the_first_layers_import_neither_xarray_nor_scipy(tmp_path: Path) -> None:
    """In a process of its own, in which nothing has been imported. Arrays of others are asked about as before."""
    with open_hierarchy(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/a", shape=(4, 4), dtype="u1")[...] = 1
    code = f"""if True:
        import os
        import sys
        import numpy as np
        import napari
        from napari.layers import Image, Labels
        before = "scipy.ndimage" in sys.modules, "xarray" in sys.modules
        from zarrscope_app.napari.layers import insert
        from zarrscope_app.napari.planes import watch
        from zarrscope_app.napari.reader import read
        viewer = napari.Viewer(show=False)
        watch(viewer)
        data, more, kind = read({str(tmp_path / "a.zarr" / "a")!r})[0]
        insert(viewer, data, more, kind)
        insert(viewer, data, {{"visible": True}}, "labels")
        image, labels = viewer.layers
        shown = image.thumbnail.any(), labels.thumbnail.any()
        scipy, xarray = "scipy.ndimage" in sys.modules, "xarray" in sys.modules
        assert image.data.sum() == 16, "dask, which computes this, imports xarray itself"
        import xarray as others
        data = others.DataArray(np.ones((2, 2)), dims=("v", "u"))
        print(*before, scipy, xarray, *shown, *Image(data).axis_labels, flush=True)
        os._exit(0)  # napari takes seconds to end
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    scipy_before, xarray_before, scipy, xarray, image, labels, *axes = done.stdout.split()
    assert (scipy, xarray) == (scipy_before, xarray_before), "an older napari imports them itself, xarray through dask"
    assert (image, labels) == ("True", "True")
    if importlib.util.find_spec("napari.utils._xarray_utils") is not None:  # an older napari does not ask
        assert (scipy, xarray, axes) == ("False", "False", ["v", "u"])


@pytest.mark.parametrize("kind", ["image", "labels"])
@pytest.mark.parametrize("shape", [(4, 4), (64, 64), (1, 300), (37, 5), (3, 40, 70), (1000, 9)])
@pytest.mark.parametrize("dtype", ["u1", "f2", "?"])
def test_a_thumbnail_is_that_of_napari(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, shape: tuple[int, ...], dtype: str
) -> None:
    if kind == "labels" and dtype.startswith("f"):
        return
    with open_hierarchy(str(tmp_path / "a.zarr"), "w-") as h:
        values = np.random.default_rng(1).integers(0, 100, shape).astype(dtype)
        h.create_array("/a", shape=shape, dtype=dtype)[...] = values
    viewer = ViewerModel()
    more = {"contrast_limits": (3, 70), "gamma": 0.5, "colormap": "magma"} if kind == "image" else {}
    data: Any = read(str(tmp_path / "a.zarr" / "a"))[0][0]
    spare_scipy()
    layer: Any = Layer.create(data, {"opacity": 0.5, **more}, kind)
    viewer.add_layer(layer)
    for volume in range(len(shape) - 1):
        viewer.dims.ndisplay = 2 + volume
        importlib.import_module("scipy.ndimage")
        layer._update_thumbnail()
        own = layer.thumbnail.copy()
        layer.thumbnail = np.zeros_like(own)
        with monkeypatch.context() as without:
            without.delitem(sys.modules, "scipy.ndimage")
            layer._update_thumbnail()
            assert "scipy.ndimage" not in sys.modules
        assert own.any()
        np.testing.assert_array_equal(layer.thumbnail, own)
