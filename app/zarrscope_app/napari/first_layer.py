"""Keeps napari from importing, for zarrscope's layers, what takes long and much memory: xarray and scipy.

napari 0.9 imports xarray, and with it pandas, to ask whether the data of a layer are an array of xarray. That takes
0.6 s on the window's thread, and 70 MiB. While nothing has imported xarray, no array can be one of xarray's, so
napari is given that answer for zarrscope's own arrays. To make a thumbnail it imports scipy.ndimage, which takes 0.3 s
and 14 MiB, and of which it uses the nearest pixel alone: numpy finds that as well.

napari has no public hook for this; versions with other internals import both as they would without this module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from napari.layers import Image, Labels

from zarrscope.view.lazy import LazyView
from zarrscope_app.napari.background_planes import slicing_of
from zarrscope_app.napari.layers import views_of


def spare_xarray() -> None:
    """Makes napari not import xarray for zarrscope's layers."""
    try:
        fields: Any = importlib.import_module("napari.layers._scalar_field.scalar_field")
        result: Any = importlib.import_module("napari.utils._xarray_utils")._XarrayMetadata
        ask = fields._get_xr_metadata
    except (ImportError, AttributeError):  # an older version does not ask, a newer one may ask in another way
        return
    if getattr(ask, "func", None) is not _metadata:
        fields._get_xr_metadata = partial(_metadata, ask, result)


def _metadata(ask: Callable[..., Any], result: Any, data: Any, **given: Any) -> Any:
    """Replaces napari's function, which returns what was given, completed by what an array of xarray tells."""
    if "xarray" in sys.modules or not isinstance(data, LazyView) or not set(result._fields) <= set(given):
        return ask(data, **given)
    return result(**{name: given[name] for name in result._fields})


def spare_scipy() -> None:
    """Makes napari not import scipy for the thumbnails of zarrscope's layers."""
    for kind in (Image, Labels):
        own = vars(kind).get("_update_thumbnail")
        if own is not None and not hasattr(own, "__wrapped__"):
            kind._update_thumbnail = _sparing(own)


def _sparing(own: Callable[[Any], None]) -> Callable[[Any], None]:
    """Replaces a layer's method. Its thumbnail equals that of `own`, which is called once scipy.ndimage is imported."""

    @wraps(own)
    def spare(layer: Any) -> None:
        try:
            spared = "scipy.ndimage" not in sys.modules and bool(views_of(layer)) and not getattr(layer, "rgb", False)
            plane = _plane(layer) if spared else None
        except AttributeError:  # another version of napari
            spared = False
        if not spared:
            own(layer)
        elif plane is not None:
            layer.thumbnail = _colored(layer, plane)
        elif isinstance(layer, Image):
            layer.thumbnail = np.zeros(layer._thumbnail_shape, layer.dtype)

    return spare


def _plane(layer: Any) -> np.ndarray[Any, Any] | None:
    """The values of which napari makes the thumbnail; None if it has no plane yet."""
    plane = layer._slice
    if plane.empty or (isinstance(layer, Labels) and not slicing_of(layer).loaded):
        return None
    values = np.asarray(plane.thumbnail.raw)
    return np.max(values, axis=0) if layer._slice_input.ndisplay == 3 and layer.ndim > 2 else values


def _colored(layer: Any, plane: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    small = reduced(plane, layer._thumbnail_shape[:2])
    if isinstance(layer, Image):
        small = _brightness(small, *layer.contrast_limits) ** layer.gamma
    colors: np.ndarray[Any, Any] = layer.colormap.map(small.ravel()).reshape((*small.shape, 4))
    colors[..., 3] *= layer.opacity
    return colors


def _brightness(values: np.ndarray[Any, Any], low: float, high: float) -> np.ndarray[Any, Any]:
    """Values within the limits of the contrast as 0 to 1."""
    if np.issubdtype(values.dtype, np.integer):
        low, high = max(low, np.iinfo(values.dtype).min), min(high, np.iinfo(values.dtype).max)
    values = np.clip(values, low, high)
    return (values - low) / (high - low) if high != low else values


def reduced(values: np.ndarray[Any, Any], most: tuple[int, int]) -> np.ndarray[Any, Any]:
    """The plane in the size of a thumbnail, as scipy.ndimage.zoom makes it with order=0: by the nearest pixels. For
    some sizes scipy leaves the last row or column empty, because its position is rounded to one beyond the end.

    Parameters
    ----------
    values
        The plane.
    most
        The height and width into which it fits.

    Returns
    -------
    array
        The smaller, or larger, plane.

    Examples
    --------
    >>> import numpy as np
    >>> from zarrscope_app.napari.first_layer import reduced
    >>> reduced(np.arange(25).reshape(5, 5), (3, 3))
    array([[ 0,  2,  4],
           [10, 12, 14],
           [20, 22, 24]])
    """
    factor = min(wanted / length for wanted, length in zip(most, values.shape, strict=True))
    for axis, (wanted, length) in enumerate(zip(most, values.shape, strict=True)):
        size = round(length * (min(max(factor * length, 1), wanted) / length))
        step = (length - 1) / (size - 1) if size > 1 else 0.0
        places = np.floor(np.arange(size) * step + 0.5).astype(np.intp)
        values = values.take(np.minimum(places, length - 1), axis)
    return values.astype(np.float32) if values.dtype == np.float16 else values
