"""The last part of an address: the name of a hierarchy. Without imports, for the terminal's first screen."""

from __future__ import annotations

import os


def last_part(url: str) -> str:
    """The last part of an address: "cells.zarr", also of "cells.zarr::images/0", which names a node; "" for an address
    without parts. After "::" of an address that begins with "zip://" or "reference://" follows the outer address. The
    version of an Icechunk repository follows its name: "cells @tag.v1"."""
    if url.startswith("icechunk://"):
        version, _, repository = url.removeprefix("icechunk://").partition("::")
    else:
        repository, _, version = url.partition("|icechunk:")
    if (version := version.removeprefix("//")).startswith("@"):
        return f"{last_part(repository)} {version.partition('/')[0].partition('|')[0]}"
    if "::" in url and not url.startswith(("zip://", "reference://")) and not os.path.lexists(url):
        url = url.partition("::")[0]
    place = url if url.startswith("file:") or "://" not in url else url.partition("?")[0]
    names = place.replace(os.sep, "/").rstrip("/").split("/")
    parts = [name for name in names if name and not name.endswith(":")]
    return parts[-1] if parts else ""
