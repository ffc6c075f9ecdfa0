"""Sentences about requests to stores that have not been answered."""

from __future__ import annotations

from zarrscope.errors import Unreadable
from zarrscope_app.presenters.request_names import host_of, requested


def waiting(url: str, key: str, seconds: float, ends: str = "Esc") -> str:
    """The sentence about a request without an answer: "Waiting 3 s for zarr.json from 10.0.0.1:8000 · Esc stops".
    `ends` is the key that stops it."""
    return f"Waiting {seconds:.0f} s for {requested(url, key)} · {ends} stops"


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
