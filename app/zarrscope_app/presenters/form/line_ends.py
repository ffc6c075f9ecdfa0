"""Restores the line ends of a document's text after it was edited where all line ends are shown as LF. Pure functions.

Qt, terminals and browsers show CR LF, and other characters that end a line, as LF, and return LF.
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
    """The edited text with the line ends of `before` where nothing was edited; new lines end as most lines of `before`
    do. An edited text with other line ends than LF is returned unchanged: its editor keeps them."""
    if _END.search(before) is None or _END.search(edited) is not None:
        return edited
    units, seen = _UNIT.findall(before), shown(before)
    most = min(len(seen), len(edited))
    first = common_beginning(seen, edited, 0, 0, most)
    last = common_end(seen, edited, len(seen), len(edited), most - first)
    end = "\r\n" if 2 * before.count("\r\n") >= seen.count("\n") else "\n"
    new = edited[first : len(edited) - last].replace("\n", end)
    return "".join([*units[:first], new, *units[len(units) - last :]])
