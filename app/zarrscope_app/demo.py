"""The demo volume, for which the user names no folder: it is in a cache folder, and is made on first use.

The cache folder is `ZARRSCOPE_CACHE` if that is set, else `$XDG_CACHE_HOME/zarrscope` or `~/.cache/zarrscope`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from zarrscope.errors import Refused, ZarrscopeError


def demo_place(size: Literal["small", "full"] = "full") -> Path:
    """The folder of the volume, whether it has been made or not."""
    return cache_folder() / f"organoids-{size}.ome.zarr"


def demo_folder(size: Literal["small", "full"] = "full", progress: Callable[[int, int], None] | None = None) -> Path:
    """Returns the folder of the volume, which is made if it is missing. That takes up to half a minute, so applications
    call this in a background job. Raises Refused if the folder cannot be written."""
    from zarrscope_resources.demo import make

    target = demo_place(size)
    try:
        return make(target, size, progress)
    except ZarrscopeError:  # some of these are OSErrors, too, and keep their own message
        raise
    except OSError as error:
        raise Refused(
            f"The demo volume cannot be written to {target}: {error.strerror or error}",
            advice="Set ZARRSCOPE_CACHE to a folder with free space that you may write to.",
        ) from error


def cache_folder() -> Path:
    """The cache folder of zarrscope for this user; it may not exist yet."""
    if own := os.environ.get("ZARRSCOPE_CACHE"):
        return Path(own).expanduser()
    root = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification tells programs to ignore a relative path here.
    return (Path(root) if os.path.isabs(root) else Path.home() / ".cache") / "zarrscope"
