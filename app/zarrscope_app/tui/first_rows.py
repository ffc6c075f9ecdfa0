"""Lists the rows of the tree for the first screen, by the engine alone, while the application is being imported.

The application needs half a second of a processor for its imports, and a folder on a disk is listed in a tenth of that.
Only folders are listed: another place would be asked twice over the network, here and by the application.
"""

from __future__ import annotations

import os
from itertools import islice

from zarrscope.dialects import Child
from zarrscope.model.node_path import natural
from zarrscope.nodes.group import Group
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.session.view_models import place_name
from zarrscope_app.presenters.tree.arriving import detail

MOST = 64
"""The most children of a group that is shown. For a larger group no child is shown, because to find the first children
all must be listed."""


def first_rows(place: str) -> list[str]:
    """The root of a folder and its children, as the tree of the application paints them; [] for any other place. Raises
    ZarrscopeError and OSError, which the application reports when it opens the place itself."""
    if not os.path.isdir(place):
        return []
    with open_hierarchy(place) as hierarchy:
        root = hierarchy["/"]
        head = f"▾ {strings.clean(place_name(os.path.abspath(place)))}"
        if not isinstance(root, Group):
            return [head]
        listed = list(islice(root.list_names(), MOST + 1))
        found = sorted(root.inspect(listed), key=lambda child: natural(child.name)) if len(listed) <= MOST else []
        return [head, *map(_row, found)]


def _row(child: Child) -> str:
    told = detail(child)  # the other facts of a row would import numpy
    mark, fault = " " if child.kind == "array" else "▸", " !" if child.error is not None else ""
    return f"  {mark} {strings.clean(child.name)}{fault}{f' {told}' if told else ''}"
