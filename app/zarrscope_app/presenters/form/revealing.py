"""Makes a field of a draft visible: expands the lists and objects around it, at the pages that contain it."""

from __future__ import annotations

from zarrscope.jsondoc.document import pointer_of, tokens_of
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.pages import PAGE, page_of


def turn(draft: Draft, pointer: str, by: int) -> bool:
    """Shows the next or the previous page. Returns False if there is none."""
    holder = draft.now.get(draft.prefix + pointer, None)
    members = len(holder) if isinstance(holder, dict | list) else 0
    first = page_of(draft.pages, pointer, members).start + by * PAGE
    if not 0 <= first < members:
        return False
    draft.pages[pointer], draft.folded[pointer] = first, False
    return True


def reveal(draft: Draft, pointer: str) -> None:
    """Expands every list and object around a field, at the page that contains it."""
    value = draft.now.get(draft.prefix, None)
    tokens = tokens_of(pointer)
    for depth, token in enumerate(tokens):
        above = pointer_of(tokens[:depth])
        draft.folded[above] = False
        if isinstance(value, dict) and token in value:
            place = next(i for i, name in enumerate(value) if name == token) if len(value) > PAGE else 0
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            place, value = int(token), value[int(token)]
        else:
            return
        draft.pages[above] = place // PAGE * PAGE
