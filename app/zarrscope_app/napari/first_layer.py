"""Controls the imports of napari for the first layer: early those that it needs, never those of xarray.

napari 0.9 imports xarray, and with it pandas, to ask whether the data of a layer are an array of xarray. That takes
0.6 s on the window's thread, and 70 MiB. While nothing has imported xarray, no array can be one of xarray's, so
napari is given that answer for zarrscope's own arrays. napari has no public hook for this; versions with other
internals import xarray as they would without this module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from zarrscope.view.lazy import LazyView


def import_early() -> None:
    """Imports what napari needs for the first layer, while the person still enters an address. Otherwise napari imports
    it on the window's thread: scipy.ndimage, for the thumbnail of an image, takes 0.3 s."""
    with suppress(ImportError):  # napari reports a missing module itself, or does without it
        importlib.import_module("scipy.ndimage")


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
