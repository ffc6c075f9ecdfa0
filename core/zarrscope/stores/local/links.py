"""Links that would make a hierarchy endless: one back to a folder of its path, or very many in one path."""

from __future__ import annotations

import os

from zarrscope.errors import Unreadable
from zarrscope.stores.local.names import is_link

MOST_LINKS = 4
"""The most links to folders in the path of a folder that is listed. Links that branch double the paths at each link:
with the 40 that Linux follows, a few folders would have more paths than can ever be listed."""
ADVICE = "Remove the link: the nodes are listed in their own folder."


def need_an_end(root: str, prefix: str, *, store: str) -> None:
    """Raises Unreadable if a link in the path of `prefix` leads back to a folder of that path, or to one that contains
    it, or if the path has more than MOST_LINKS links. `root`: the real path of the store."""
    at, passed, links = root, [root], 0
    for name in prefix[:-1].split("/"):
        at = f"{at}{os.sep}{name}"
        if is_link(at):
            links += 1
            at = os.path.realpath(at)
            if any(each == at or each.startswith(at.rstrip(os.sep) + os.sep) for each in passed):
                message = "A symbolic link leads back to a folder that contains it, so the nodes beneath have no end"
                raise Unreadable(message, store=store, key=prefix, advice=ADVICE)
            if links > MOST_LINKS:
                message = f"The path has more than {MOST_LINKS} symbolic links to folders, so it is not listed"
                raise Unreadable(message, store=store, key=prefix, advice=ADVICE)
        passed.append(at)
