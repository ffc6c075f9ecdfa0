"""The type of a parsed JSON value."""

from __future__ import annotations

from typing import Any

JSON = Any
"""None, bool, int, float, str, list or dict. The code that reads a value checks which of them it is."""
