"""Completion of NODE, the path of a group or an array, for the shell.

Only folders and archives of this computer are listed, and only for a moment: a person who presses Tab waits for the
answer, and a server could be slow or ask for credentials.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING

import click

from zarrscope.errors import ZarrscopeError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy

SECONDS = 0.4
"""The most seconds that are waited for a disk, and the most of a processor that opening and listing may take; then the
names that were found are proposed."""
LOOK = 0.05
"""Seconds between two looks whether the listing goes on."""
MOST = 1000
"""The most names that are proposed; a shell asks before it shows a hundred."""
_PLAIN = re.compile(r"[\w.+@%-][\w.+@%~-]*")
"""The names that every shell inserts as they are. The others have to be typed, in quotes."""


class NodeType(click.types.StringParamType):
    """The type of the argument NODE. The shell completes the paths of the nodes in the place that was named before."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        place = next((ctx.params[name] for name in ("url", "source") if isinstance(ctx.params.get(name), str)), "")
        return [CompletionItem(path) for path in node_paths(place, incomplete)]


def node_paths(place: str, begun: str) -> list[str]:
    """The paths of nodes in `place` that begin with the typed text, one level deep. If only one group fits, the nodes
    in it follow, so that a shell stops at its name and one more Tab shows them."""
    place = os.path.expanduser(place)
    if not os.path.exists(place):  # also each address of another computer
        return []
    from zarrscope.nodes import opening  # not in the thread: only the disk is waited for

    found: list[str] = []

    def work() -> None:
        _list_into(found, opening.open, place, begun)

    # The thread is left behind if a network disk does not answer.
    listing = Thread(target=work, daemon=True)
    listing.start()
    waited, began = 0.0, time.process_time()
    while listing.is_alive() and waited < SECONDS and time.process_time() - began < SECONDS:
        before = time.process_time()
        listing.join(LOOK)
        # On a busy machine the thread gets little time; only a disk that does not answer lets it do nothing at all.
        waited += LOOK if time.process_time() - before < LOOK / 50 else 0.0
    return [*found]


def _list_into(found: list[str], open_hierarchy: Callable[[str], Hierarchy], place: str, begun: str) -> None:
    above, slash, name = begun.rpartition("/")
    try:
        with open_hierarchy(place) as hierarchy:
            group = hierarchy["/" + above.strip("/")]
            if group.kind != "group":
                return
            found.extend(_named(above + slash, group, name))
            if len(found) == 1:
                only = hierarchy["/" + found[0].strip("/")]
                if only.kind == "group":
                    found.extend(_named(f"{found[0]}/", only, ""))
    except (ZarrscopeError, OSError):  # the verb reports it
        return


def _named(before: str, group: Group, begun: str) -> Iterable[str]:
    names = (child.name for child in group.list_names())
    fit = (name for name in names if name.startswith(begun) and _PLAIN.fullmatch(name))
    return (before + name for name in islice(fit, MOST))
