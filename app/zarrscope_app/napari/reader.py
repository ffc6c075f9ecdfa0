"""The reader and the sample: what napari calls when a file is opened.

Claims what nobody else does (zarr.json, .zarray, .zgroup, *.ozx). Directories named *.zarr are for those who choose
"zarrscope" in napari's reader settings.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

LayerData = tuple[Any, dict[str, Any], str]
NAMES = ("zarr.json", ".zarray", ".zgroup")


def get_reader(path: str | list[str]) -> Callable[[str | list[str]], list[LayerData]] | None:
    """The reading function, or None at once for what is not ours. Looks at names, and into a folder of another name
    for one of `NAMES`: who chooses zarrscope for it is not refused."""
    first = str(path[0] if isinstance(path, list) else path)
    if first.startswith("zarrscope:"):
        return read
    text = first.rstrip("/" + os.sep).lower()
    if text.endswith((".zarr", ".ozx", ".n5", *NAMES)) or "://" in text:
        return read
    return read if any(os.path.isfile(os.path.join(first, name)) for name in NAMES) else None


def read(path: str | list[str]) -> list[LayerData]:
    """The layers of each address, as napari takes them."""
    import zarrscope
    from zarrscope_app.napari.layers import as_napari
    from zarrscope_app.napari.planes import hidden_at_first
    from zarrscope_app.presenters.layers import notes, plan
    from zarrscope_app.presenters.session.state_text import decode_view, is_view

    layers: list[LayerData] = []
    for address in path if isinstance(path, list) else [path]:
        view = decode_view(str(address)) if is_view(str(address)) else None
        hierarchy = zarrscope.open(view["url"] if view is not None else str(address))
        planned = plan(hierarchy[view["path"] if view is not None else hierarchy.initial_path], view)
        for note in notes(planned):
            warnings.warn(note, UserWarning, stacklevel=2)  # napari shows it
        layers += [hidden_at_first(*as_napari(layer)) for layer in planned]
    return layers


def demo() -> list[LayerData]:
    """The demo volume, made on first use."""
    from zarrscope_app.demo import demo_folder

    return read(str(demo_folder("small")))
