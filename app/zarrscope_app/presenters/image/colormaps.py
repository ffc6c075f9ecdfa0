"""Colour maps for channels, from the package cmap; if it is not installed, there are only plain colours."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

COLORMAPS = {
    "viridis": "matplotlib:viridis",
    "magma": "matplotlib:magma",
    "inferno": "matplotlib:inferno",
    "cividis": "matplotlib:cividis",
    "turbo": "google:turbo",
    "coolwarm": "matplotlib:coolwarm",
    "twilight": "matplotlib:twilight",
}
"""Title → name in cmap: first perceptually uniform maps, then the rainbow, a diverging map and a cyclic one."""
CYCLIC = "twilight"
"""The colour map for angles: π and −π have the same colour."""
STEPS = 256


@lru_cache(maxsize=1)
def titles() -> tuple[str, ...]:
    """The titles of the available colour maps; () if cmap is not installed."""
    try:
        import cmap  # noqa: F401 -- asked whether it is there
    except ImportError:
        return ()
    return tuple(COLORMAPS)


@lru_cache(maxsize=len(COLORMAPS))
def ramp(title: str) -> bytes:
    """The 256 colours of a colour map, three bytes each; b"" for an unknown title."""
    if title not in COLORMAPS or title not in titles():  # without a map, cmap is not imported
        return b""
    from cmap import Colormap

    colors = np.asarray(Colormap(COLORMAPS[title]).lut(STEPS))[:, :3]
    found: bytes = np.rint(colors * 255).astype(np.uint8).tobytes()
    return found
