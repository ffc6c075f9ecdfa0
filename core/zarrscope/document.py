"""Document: a JSON file as text with the version it was read at."""

from __future__ import annotations

from zarrscope.jsontext import CONSOLIDATED_LIMIT, NODE_LIMIT, parse_json

__all__ = ["CONSOLIDATED_LIMIT", "NODE_LIMIT", "parse_json"]
