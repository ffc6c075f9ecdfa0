"""Which members of a long list or object are among the fields: one page of them, so that no edit walks them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.jsondoc.document import pointer_of, tokens_of
from zarrscope_app.presenters import strings

if TYPE_CHECKING:
    from zarrscope_app.presenters.form.draft import Draft

PAGE = 200
"""Members of one list or object that are shown at once."""


def page_of(draft: Draft, pointer: str, members: int) -> range:
    """The members on show, by their position."""
    first = min(draft.pages.get(pointer, 0), max(members - 1, 0) // PAGE * PAGE)
    return range(first, min(first + PAGE, members))


def page_text(page: range, members: int) -> str:
    """Which of how many: "201–400 of 25,000"; "" where all are shown."""
    if len(page) == members:
        return ""
    return f"{strings.count(page.start + 1)}–{strings.count(page.stop)} of {strings.count(members)} on show"


def turn(draft: Draft, pointer: str, by: int) -> bool:
    """Shows the page after this one, or before it. False where there is none."""
    holder = draft.now.get(draft.prefix + pointer, None)
    members = len(holder) if isinstance(holder, dict | list) else 0
    first = page_of(draft, pointer, members).start + by * PAGE
    if not 0 <= first < members:
        return False
    draft.pages[pointer], draft.folded[pointer] = first, False
    return True


def reveal(draft: Draft, pointer: str) -> None:
    """Unfolds all that holds a field, at the page that it is on."""
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
