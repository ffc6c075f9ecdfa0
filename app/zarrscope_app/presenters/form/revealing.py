"""Makes a field of a draft visible: expands the lists and objects around it, at the pages that contain it."""

from __future__ import annotations

from typing import Any

from zarrscope.jsondoc.pointers import pointer_of, tokens_of
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.pages import PAGE, page_of


def turn(draft: Draft, pointer: str, by: int) -> bool:
    """Shows the next (`by` 1) or the previous (-1) page of a list or object. Returns False if there is no such page."""
    holder = draft.now.get(draft.prefix + pointer, None)
    members = len(holder) if isinstance(holder, dict | list) else 0
    first = page_of(draft.pages, pointer, members).start + by * PAGE
    if not 0 <= first < members:
        return False
    draft.pages[pointer], draft.folded[pointer] = first, False
    return True


def reveal(draft: Draft, pointer: str) -> None:
    """Expands every list and object around a field, at the page that contains the field. A member that is not in the
    document yet, because it is being added, counts as the last one."""
    value = draft.now.get(draft.prefix, None)
    tokens = tokens_of(pointer)
    for depth, token in enumerate(tokens):
        above = pointer_of(tokens[:depth])
        draft.folded[above] = False
        if not isinstance(value, dict | list):
            return
        place, value = _member(value, token)
        draft.pages[above] = place // PAGE * PAGE


def _member(holder: dict[str, Any] | list[Any], token: str) -> tuple[int, Any]:
    """(position, value) of a member; (number of members, None) if there is no such member."""
    if isinstance(holder, list):
        there = token.isdecimal() and int(token) < len(holder)
        return (int(token), holder[int(token)]) if there else (len(holder), None)
    if token not in holder:
        return len(holder), None
    return next(i for i, name in enumerate(holder) if name == token), holder[token]
