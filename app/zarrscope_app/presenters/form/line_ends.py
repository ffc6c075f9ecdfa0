"""Line ends of texts that were edited where there is only one kind: the document's own are put back. Pure.

Qt, the terminal and browsers show CR LF, and other signs for the end of a line, as one LF, and return that.
"""

from __future__ import annotations

import re

from zarrscope.jsondoc.parts import common_beginning, common_end

_END = re.compile("\r\n|[\r\u2028\u2029]")
_UNIT = re.compile("\r\n|.", re.DOTALL)


def shown(text: str) -> str:
    """The text as an editor shows it: every line ends in LF."""
    return _END.sub("\n", text)


def with_own_ends(before: str, edited: str) -> str:
    """The edited text with the line ends that `before` has where nothing was edited; new lines end as most lines of
    `before` do. A text that has other ends than LF itself is not changed."""
    if _END.search(before) is None or _END.search(edited) is not None:
        return edited
    units, seen = _UNIT.findall(before), shown(before)
    most = min(len(seen), len(edited))
    first = common_beginning(seen, edited, 0, 0, most)
    last = common_end(seen, edited, len(seen), len(edited), most - first)
    end = "\r\n" if 2 * before.count("\r\n") >= seen.count("\n") else "\n"
    new = edited[first : len(edited) - last].replace("\n", end)
    return "".join([*units[:first], new, *units[len(units) - last :]])
