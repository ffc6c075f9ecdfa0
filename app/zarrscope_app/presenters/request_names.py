"""Names of servers and requests, for sentences."""

from __future__ import annotations

import re

from zarrscope_app.presenters.strings import clean

KEY_LENGTH = 32
"""Of a longer key only the end is shown, which differs between the nodes and chunks of a hierarchy."""


def requested(url: str, key: str) -> str:
    """The name of a request: "zarr.json from 10.0.0.1:8000"."""
    return f"{shortened(key)} from {host_of(url)}" if key else host_of(url)


def shortened(key: str) -> str:
    """A key, of which only the end is shown if it is long."""
    shown = clean(key)
    return shown if len(shown) <= KEY_LENGTH else f"…{shown[1 - KEY_LENGTH :]}"


def host_of(url: str) -> str:
    """The part of an address that names its server or bucket: "host:8000", "s3://bucket", "ssh://ann@host"; else the
    last part of the path."""
    scheme, mark, rest = url.rpartition("::")[2].partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not mark or not host:
        return clean(re.split(r"[/\\]", url.rstrip("/\\"))[-1], 60)
    return clean(host.rpartition("@")[2] if scheme in ("http", "https") else f"{scheme}://{host}", 60)
