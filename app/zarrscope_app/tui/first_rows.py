"""Lists the rows of the tree for the first screen, by the engine alone, while the application is being imported.

The application needs half a second of a processor for its imports, and a folder on a disk is listed in a tenth of that.
Only folders are listed: another place would be asked twice over the network, here and by the application.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from heapq import nsmallest
from itertools import chain, islice

from zarrscope.dialects import Child
from zarrscope.model.node_path import natural
from zarrscope.nodes.group import Group
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.elision import elided
from zarrscope_app.presenters.session.view_models import place_name
from zarrscope_app.presenters.tree.arriving import SMALL, detail

LISTING_SECONDS = 0.04
"""The seconds after which no further children are listed. A group of many thousands then shows the first of those that
were found, in order, as the application does while it lists them."""


def first_rows(place: str, most: int, fits: Callable[[str], bool]) -> list[str]:
    """The root of a folder and its first children, at most `most` rows, as the tree of the application paints them; []
    for any other place. Names are shortened until their row `fits`. Raises ZarrscopeError and OSError, which the
    application reports when it opens the place itself."""
    if not os.path.isdir(place):
        return []
    with open_hierarchy(place) as hierarchy:
        root = hierarchy["/"]
        head = f"▾ {strings.clean(place_name(os.path.abspath(place)))}"
        if not isinstance(root, Group):
            return [head]
        found = sorted(root.inspect(_first_children(root, most - 1)), key=_order)
        names = [strings.clean(child.name) for child in found]
        return [head, *(_row(child, names, at, fits) for at, child in enumerate(found))]


def _first_children(root: Group, most: int) -> list[Child]:
    """The first children in natural order, among those that are listed before LISTING_SECONDS have passed."""
    listed, end = root.list_names(), time.monotonic() + LISTING_SECONDS
    first: list[Child] = []
    while batch := list(islice(listed, SMALL)):
        first = nsmallest(most, chain(first, batch), key=_order)
        if time.monotonic() > end:
            break
    return first


def _order(child: Child) -> str:
    return natural(child.name)


def _row(child: Child, names: list[str], at: int, fits: Callable[[str], bool]) -> str:
    told = detail(child)  # the other facts of a row would import numpy
    mark, fault = " " if child.kind == "array" else "▸", " !" if child.error is not None else ""
    name = names[at]
    if not fits(f"  {mark} {name}{fault}"):
        name = elided(name, names[max(0, at - 1) : at + 2], lambda text: fits(f"  {mark} {text}{fault}"))
    return f"  {mark} {name}{fault}{f' {told}' if told else ''}"
