"""Pages of a long list or object: fields are made only for the members of one page, so that an edit need not visit all
members."""

from __future__ import annotations

from collections.abc import Mapping

from zarrscope_app.presenters import strings

PAGE = 200
"""The number of members of one list or object that are shown at once."""


def page_of(pages: Mapping[str, int], pointer: str, members: int) -> range:
    """The positions of the displayed members of the list or object at `pointer`. `pages`: pointer → the position of the
    first displayed member."""
    first = min(pages.get(pointer, 0), max(members - 1, 0) // PAGE * PAGE)
    return range(first, min(first + PAGE, members))


def page_text(page: range, members: int) -> str:
    """The range of displayed members: "201–400 of 25,000"; "" if all are displayed."""
    if len(page) == members:
        return ""
    return f"{strings.count(page.start + 1)}–{strings.count(page.stop)} of {strings.count(members)} shown"
