"""The lines in which two texts differ, as `diff -u` shows them: for edits, which change only a small part of a text.

A document may be one long line, as many programs write it. A person could not find a change in it, so long lines are
broken where JSON begins a value or an object ends.

difflib's time grows with the square of the number of lines. So it only gets the lines between the first and the last
difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarrscope.jsondoc.parts import common_beginning, common_end, line_pieces

CONTEXT = 3
MOST = 5_000
"""The most lines of both texts that are compared one by one; if more lie between the first and the last difference, all
of them count as replaced."""
LONGEST = 160
"""Lines of more characters are broken."""
MOST_BROKEN = 200_000
"""Longer texts are not broken: that takes 0.1 s for this number of characters."""
_TOKEN = re.compile(r'\[[^\[\]{}"]*\]|"(?:[^"\\]|\\.)*"?|[\[\]{},]|[^"\[\]{},]+')
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def changed_lines(before: str, after: str, old: str, new: str) -> Iterator[str]:
    """The lines of a unified diff, without line ends; `old` and `new` are the names of the two texts."""
    skipped = 0
    if max(len(before), len(after)) > MOST_BROKEN:
        before, after, skipped = _around_changes(before, after)
        left, right = before.splitlines(), after.splitlines()
    else:
        left, right = before.splitlines(), after.splitlines()
        if max(map(len, (*left, *right)), default=0) > LONGEST:
            left, right = ([part for line in text for part in _broken(line)] for text in (left, right))
            old, new = f"{old}, long lines broken", f"{new}, long lines broken"
    shorter = min(len(left), len(right))
    head = 0
    while head < shorter and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    if head == len(left) == len(right):
        return
    first = max(0, head - CONTEXT)
    left, right = (each[first : len(each) - max(0, tail - CONTEXT)] for each in (left, right))
    if len(left) + len(right) > MOST:
        before_it, after_it = min(CONTEXT, head), min(CONTEXT, tail)
        yield from (f"--- {old}", f"+++ {new}")
        yield f"@@ -{skipped + first + 1},{len(left)} +{skipped + first + 1},{len(right)} @@"
        yield from (f" {line}" for line in left[:before_it])
        yield from (f"-{line}" for line in left[before_it : len(left) - after_it])
        yield from (f"+{line}" for line in right[before_it : len(right) - after_it])
        yield from (f" {line}" for line in left[len(left) - after_it :])
        return
    import difflib  # only a change needs it

    for line in difflib.unified_diff(left, right, old, new, lineterm="", n=CONTEXT):
        yield _HUNK.sub(lambda found: _shifted(found, skipped + first), line) if line.startswith("@@ ") else line


def _around_changes(before: str, after: str) -> tuple[str, str, int]:
    """The lines around the differences of two long texts, and the number of lines before them. Splitting all lines of
    megabytes keeps Python's lock, so that an interface waits for it."""
    most = min(len(before), len(after))
    head = common_beginning(before, after, 0, 0, most)
    tail = common_end(before, after, len(before), len(after), most - head)
    start, end = head, len(before) - tail
    for _ in range(CONTEXT + 1):
        start = before.rfind("\n", 0, max(0, start))
        end = found if (found := before.find("\n", end + 1)) >= 0 else len(before)
    start += 1
    skipped = sum(len(f"{piece[1:]}\n".splitlines()) for piece in line_pieces(f"\n{before[:start]}")) - 1
    return before[start:end], after[start : len(after) - len(before) + end], skipped


def _broken(line: str) -> list[str]:
    """A long line of JSON as several: each member and element on its own line, indented by its depth. Lists of numbers
    stay on one line."""
    if len(line) <= LONGEST:
        return [line]
    lines, depth, begun = [], 0, ""

    def end() -> None:
        nonlocal begun
        if begun.strip():
            lines.append("  " * depth + begun.strip())
        begun = ""

    for token in _TOKEN.findall(line):
        if token in ("]", "}"):
            end()
            depth = max(0, depth - 1)
        begun += token
        if token in ("[", "{", ","):
            end()
            depth += token != ","
    end()
    return lines


def _shifted(hunk: re.Match[str], by: int) -> str:
    start, count, other, others = hunk.groups()
    return f"@@ -{int(start) + by}{count or ''} +{int(other) + by}{others or ''} @@"
