"""Which members of a long list or object are among the fields: one page of them, so that no edit walks them all."""

from __future__ import annotations

from collections.abc import Mapping

from zarrscope_app.presenters import strings

PAGE = 200
"""The number of members of one list or object that are shown at once."""


def page_of(pages: Mapping[str, int], pointer: str, members: int) -> range:
    """The members on show, by their position; `pages`: list or object → the position of its first one."""
    first = min(pages.get(pointer, 0), max(members - 1, 0) // PAGE * PAGE)
    return range(first, min(first + PAGE, members))


def page_text(page: range, members: int) -> str:
    """Which of how many: "201–400 of 25,000"; "" where all are shown."""
    if len(page) == members:
        return ""
    return f"{strings.count(page.start + 1)}–{strings.count(page.stop)} of {strings.count(members)} on show"
