"""The difference between two contents of a part, so that a small change of a large part is sent in few bytes.

A difference is nested like the content: it holds what changed under its name or its position in a list. A new value is
a list of this one value. {"rows": {"3": {"text": ["0.5"]}}} sets the text of the fourth row to "0.5".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

SHARE = 0.5
"""The largest difference that is sent in place of the content, as a share of the content's bytes. Each difference is
one from the content that was sent last in full, so that a page which is opened later needs no history."""


def difference(old: Any, new: Any) -> Any:
    """The difference of two values as JSON, or None if they are equal. Objects with other members, lists of another
    length, and lists of plain values are replaced as a whole."""
    pairs: Iterable[tuple[Any, Any, Any]]
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        pairs = ((name, old[name], new[name]) for name in new)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and _is_nested(new):
        pairs = ((str(at), old[at], new[at]) for at in range(len(new)))
    else:
        return None if type(old) is type(new) and old == new else [new]
    return {name: found for name, a, b in pairs if (found := difference(a, b)) is not None} or None


def is_small(found: Any, content: Any) -> bool:
    """Whether a difference takes so much less than the content that it is sent in its place."""
    return len(json.dumps(found)) <= SHARE * len(json.dumps(content))


def _is_nested(items: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for item in items)
