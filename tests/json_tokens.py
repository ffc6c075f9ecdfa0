"""A JSON tokenizer that tells the place of every value in a text. It shares no code with zarrscope, so that tests can
judge edits of documents with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # the standard library has it, its stubs do not

_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?(?:Infinity|NaN)|true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

Places = dict[str, tuple[int, int]]
"""JSON pointer → (start, end) of the value in the text. Of a repeated name the last value counts, as in readers."""


def places_of(text: str) -> Places:
    """The places of all values. Raises ValueError if the text is not JSON."""
    found: Places = {}
    start = _after_space(text, 1 if text.startswith("\ufeff") else 0)
    end = _value(text, start, "", found)
    if _after_space(text, end) != len(text):
        raise ValueError(f"more text after the value, at {end}")
    return found


def leaves_of(places: Places) -> Iterator[str]:
    """The pointers of values that contain no others."""
    holders = {pointer.rpartition("/")[0] for pointer in places if pointer}
    yield from (pointer for pointer in places if pointer not in holders)


def masked(text: str, is_edited: Callable[[str], bool]) -> str:
    """The text with the same string in place of each innermost value whose pointer `is_edited` names."""
    places = places_of(text)
    spans = sorted(places[pointer] for pointer in leaves_of(places) if is_edited(pointer))
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], '"edited"']
        done = end
    return "".join([*parts, text[done:]])


def is_insertion(before: str, after: str) -> bool:
    """Whether `after` is `before` with one more piece of text, anywhere."""
    if len(after) <= len(before):
        return False
    ahead = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    return after.endswith(before[ahead:])


def only_adds(before: str, after: str) -> bool:
    """Whether `after` has all of `before` in its order, with more text between, and every innermost value of `before`
    as it was spelled."""
    characters = iter(after)
    if not all(each in characters for each in before):
        return False
    old, new = places_of(before), places_of(after)
    kept = (pointer for pointer in leaves_of(old) if before[slice(*old[pointer])] not in ("{}", "[]"))
    return all(pointer in new and before[slice(*old[pointer])] == after[slice(*new[pointer])] for pointer in kept)


def _after_space(text: str, at: int) -> int:
    matched = _SPACE.match(text, at)
    assert matched is not None
    return matched.end()


def _value(text: str, start: int, pointer: str, found: Places) -> int:
    end: int
    opening = text[start : start + 1]
    if opening == '"':
        _, end = scanstring(text, start + 1, False)
    elif opening in ("{", "["):
        end = _members(text, start, pointer, found)
    else:
        matched = _LITERAL.match(text, start)
        if matched is None:
            raise ValueError(f"no value at {start}")
        end = matched.end()
    found[pointer] = (start, end)
    return end


def _members(text: str, start: int, pointer: str, found: Places) -> int:
    is_object = text[start] == "{"
    at, count = _after_space(text, start + 1), 0
    while text[at : at + 1] not in ("}", "]"):
        name = str(count)
        if is_object:
            name, at = scanstring(text, at + 1, False)
            at = _after_space(text, at)
            if text[at : at + 1] != ":":
                raise ValueError(f"no colon at {at}")
            at = _after_space(text, at + 1)
        place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        if place in found:  # the name is repeated: the former value, and all within it, count no longer
            for former in [each for each in found if each == place or each.startswith(f"{place}/")]:
                del found[former]
        at = _after_space(text, _value(text, at, place, found))
        count += 1
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        elif text[at : at + 1] not in ("}", "]"):
            raise ValueError(f"no comma at {at}")
    return at + 1
