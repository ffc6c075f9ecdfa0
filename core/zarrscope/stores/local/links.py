"""Links that would make a hierarchy endless: one back to a folder of its path, or very many in one path."""

from __future__ import annotations

import os
from collections.abc import Callable

from zarrscope.errors import Unreadable
from zarrscope.stores.local.names import is_link

MOST_LINKS = 4
"""The most links to folders in the path of a folder that is listed. Links that branch double the paths at each link:
with the 40 that Linux follows, a few folders would have more paths than can ever be listed."""
ADVICE = "Remove the link: the nodes are listed in their own folder."
CIRCLE = "A symbolic link leads back to a folder that contains it, so the nodes beneath have no end"
MANY = f"The path has more than {MOST_LINKS} symbolic links to folders, so it is not listed"


def endless(
    root: str,
    prefix: str,
    real: Callable[[str], str] = os.path.realpath,
    linked: Callable[[str, str], bool] = lambda path, _: is_link(path),
    separator: str = os.sep,
) -> str:
    """Returns CIRCLE if a link in the path of `prefix` leads back to a folder of that path, or to one that contains it;
    MANY if the path has more than MOST_LINKS links; otherwise "".

    `root` is the real path of the store, `real` resolves the links of a path, and `linked(path, prefix)` tells whether
    a folder is a link.
    """
    at, passed, links, reached = root, [root], 0, ""
    for name in prefix[:-1].split("/"):
        at, reached = f"{at.rstrip(separator)}{separator}{name}", f"{reached}{name}/"
        if linked(at, reached):
            links += 1
            at = real(at)
            if any(each == at or each.startswith(at.rstrip(separator) + separator) for each in passed):
                return CIRCLE
            if links > MOST_LINKS:
                return MANY
        passed.append(at)
    return ""


def no_end(message: str, *, store: str, key: str) -> Unreadable:
    """The error for CIRCLE or MANY."""
    return Unreadable(message, store=store, key=key, advice=ADVICE)


def need_an_end(root: str, prefix: str, *, store: str) -> None:
    """Raises Unreadable if the folder of `prefix` on this computer is `endless`."""
    if message := endless(root, prefix):
        raise no_end(message, store=store, key=prefix)
