"""Sentences about requests to stores that have not been answered."""

from __future__ import annotations

import re

from zarrscope.errors import Unreadable
from zarrscope_app.presenters.strings import clean

KEY_LENGTH = 32
"""Of a longer key only the end is shown, which differs between the nodes and chunks of a hierarchy."""


def waiting(url: str, key: str, seconds: float, ends: str = "Esc") -> str:
    """The sentence about a request without an answer: "Waiting 3 s for zarr.json from 10.0.0.1:8000 · Esc stops".
    `ends` is the key that stops it."""
    shown = clean(key)
    shown = shown if len(shown) <= KEY_LENGTH else f"…{shown[1 - KEY_LENGTH :]}"
    asked = f"{shown} from {host_of(url)}" if key else host_of(url)
    return f"Waiting {seconds:.0f} s for {asked} · {ends} stops"


def stopped(url: str, key: str, seconds: float) -> Unreadable:
    """The error in place of an answer for which a person did not want to wait any longer."""
    return Unreadable(
        f"Stopped after {seconds:.0f} s without an answer from {host_of(url)}",
        store=url,
        key=key or None,
    )


def asked_anew(seconds: float) -> str:
    """The sentence after a refresh has cancelled requests that were not answered."""
    return f"Cancelled after {seconds:.0f} s, asking again"


def host_of(url: str) -> str:
    """The part of an address that names its server or bucket: "host:8000", "s3://bucket", "ssh://ann@host"; else the
    last part of the path."""
    scheme, mark, rest = url.rpartition("::")[2].partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not mark or not host:
        return clean(re.split(r"[/\\]", url.rstrip("/\\"))[-1], 60)
    return clean(host.rpartition("@")[2] if scheme in ("http", "https") else f"{scheme}://{host}", 60)
