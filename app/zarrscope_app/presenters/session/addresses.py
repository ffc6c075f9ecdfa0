"""Addresses that mean the same from every folder."""

from __future__ import annotations

import os


def absolute(text: str) -> str:
    """An address that means the same from every folder: a local path from the root on, all else as it is."""
    if "://" in text or not text.strip():
        return text
    path, sign, rest = text, "", ""
    for mark in ("::", "|"):  # a node within, or a pipeline
        if mark in text and not os.path.exists(text):
            path, sign, rest = text.partition(mark)
            break
    return os.path.abspath(os.path.expanduser(path)) + sign + rest
