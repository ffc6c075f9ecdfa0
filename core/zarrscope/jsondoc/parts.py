"""Where the parts of a long object or array in a JSON text lie, as offsets of commas: eight bytes a part.

An edit changes one part of a value that may have millions of parts. Parsing all of them, only to find where the next
one begins, takes as much memory as the whole value. So one pass over the characters, by numpy, finds the commas, and a
part is parsed when it is needed. The text must be valid JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

from zarrscope.runtime.tuning import JSON_PIECE

_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1


def separators(text: str, start: int, stop: int) -> NDArray[np.int64]:
    """The offsets of the separators in the object or array `text[start:stop]`: its opening bracket, the commas between
    its parts, its closing bracket."""
    found = [np.array([start])]
    depth, inside, at = 0, False, start + 1
    while at < stop - 1:
        end = min(at + JSON_PIECE, stop - 1)
        while text[end - 1] == "\\":  # a backslash and the character after it stay in one piece
            end += 1
        piece = text[at:end].encode("latin-1", "replace")  # one byte per character
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"..").replace(b'\\"', b"..")
        characters = np.frombuffer(piece, np.uint8)
        within = np.logical_xor.accumulate(characters == ord('"')) ^ inside
        steps = _STEPS[characters]
        steps[within] = 0
        depths = np.cumsum(steps, dtype=np.int32)
        commas = (characters == ord(",")) & (depths == -depth) & ~within
        found.append(np.flatnonzero(commas) + at)
        depth += int(depths[-1])
        inside = bool(within[-1])
        at = end
    found.append(np.array([stop - 1]))
    return np.concatenate(found)


def line_pieces(text: str) -> Iterator[str]:
    """The text in pieces of some lines each; all but the first begin with a line feed. One call for a text of megabytes
    would keep Python's lock, so that an interface waits for it."""
    at = 0
    while len(text) - at > JSON_PIECE and (end := text.find("\n", at + JSON_PIECE)) >= 0:
        yield text[at:end]
        at = end
    yield text[at:]


def start_of_line(text: str, number: int) -> int:
    """Where the line with this number begins, counted from 0; the end of the text if it has fewer lines."""
    at = 0
    while at < len(text) and number and (passed := text.count("\n", at, at + JSON_PIECE)) < number:
        number, at = number - passed, at + JSON_PIECE
    for _ in range(number):
        at = (text.find("\n", at) + 1) or len(text)
    return min(at, len(text))


def common_beginning(one: str, other: str, at: int, there: int, most: int) -> int:
    """The number of equal characters, at most `most`, in `one` from `at` on and in `other` from `there` on."""

    def same(done: int, size: int) -> bool:
        return one[at + done : at + done + size] == other[there + done : there + done + size]

    return _longest(same, most)


def common_end(one: str, other: str, stop: int, there: int, most: int) -> int:
    """The number of equal characters, at most `most`, in `one` before `stop` and in `other` before `there`."""

    def same(done: int, size: int) -> bool:
        return one[stop - done - size : stop - done] == other[there - done - size : there - done]

    return _longest(same, most)


def _longest(same: Callable[[int, int], bool], most: int) -> int:
    """The number of equal characters; `same(done, size)` compares `size` characters after the first `done`."""
    done = 0
    while done < most:
        size = min(JSON_PIECE, most - done)
        if not same(done, size):
            while size > 1:  # the first difference is in the first half, or else in the second
                half = size // 2
                if same(done, half):
                    done, size = done + half, size - half
                else:
                    size = half
            return done
        done += size
    return done
