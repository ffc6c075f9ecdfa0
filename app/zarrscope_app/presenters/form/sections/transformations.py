"""Describes transformations between coordinate systems (OME-Zarr 0.6dev, RFC-5) in words. Transformations can be edited
in the view "All fields".

The transformations of levels are scales and translations, which the section of pixel sizes shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zarrscope.errors import Refused
from zarrscope.ome.edits import Edit
from zarrscope.ome.metadata import block
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, Section, Subject

_DEEPEST = 6
TITLE = "Transformations"
SYSTEM, READ_ONLY = "system", "Shown as they are; edit them among All fields."


def _lines(subject: Subject) -> list[str]:
    """One line for each coordinate system and each transformation between two of them; none before OME-Zarr 0.6dev."""
    attributes = subject.attributes
    ome = block(attributes)[0] if isinstance(attributes, Mapping) else {}
    holders = [each for each in (ome.get("scene"), *_list(ome.get("multiscales"))) if isinstance(each, Mapping)]
    systems = [line for holder in holders for line in map(_system, _list(holder.get("coordinateSystems"))) if line]
    steps = [
        f"{_end(step.get('input'))} → {_end(step.get('output'))}: {in_words(step)}"
        for holder in holders
        for step in _list(holder.get("coordinateTransformations"))
        if isinstance(step, Mapping) and ("input" in step or "output" in step)
    ]
    found = [*systems, *(strings.clean(step, 300) for step in steps)]
    more = [words.more_rows(len(found) - MOST_ROWS)] if len(found) > MOST_ROWS else []
    return [*found[:MOST_ROWS], *more, READ_ONLY] if found else []


def in_words(step: Mapping[str, Any], depth: int = 0) -> str:
    """A transformation in words: "scale 0.5, 0.1, 0.1, then translation 1, 2, 3"."""
    kind = step.get("type")
    describe = _KINDS.get(kind) if isinstance(kind, str) else None
    if describe is None or depth > _DEEPEST:
        return strings.clean(str(kind), 60)
    return describe(step, depth)


def _numbers(name: str) -> Callable[[Mapping[str, Any], int], str]:
    def describe(step: Mapping[str, Any], depth: int) -> str:
        held, path = step.get(name), step.get("path")
        if isinstance(path, str):
            return f"{name} from the array {path}"
        return f"{name} {', '.join(strings.exact(each, 30) for each in _list(held))}"

    return describe


def _matrix(name: str) -> Callable[[Mapping[str, Any], int], str]:
    def describe(step: Mapping[str, Any], depth: int) -> str:
        held, path = _list(step.get(name)), step.get("path")
        if isinstance(path, str):
            return f"{name} matrix from the array {path}"
        return f"{name} matrix {len(held)} × {len(_list(held[0])) if held else 0}"

    return describe


def _field_of(name: str) -> Callable[[Mapping[str, Any], int], str]:
    return lambda step, depth: f"{name} from the array {step.get('path')}"


def _sequence(step: Mapping[str, Any], depth: int) -> str:
    return ", then ".join(in_words(each, depth + 1) for each in _steps(step)) or "nothing"


def _by_dimension(step: Mapping[str, Any], depth: int) -> str:
    def part(each: Mapping[str, Any]) -> str:
        inner = each.get("transformation")
        axes = ", ".join(str(axis) for axis in _list(each.get("input_axes")) or _list(each.get("input")))
        return f"{axes}: {in_words(inner if isinstance(inner, Mapping) else each, depth + 1)}"

    return "; ".join(part(each) for each in _steps(step)) or "nothing"


def _one_of(name: str, text: str) -> Callable[[Mapping[str, Any], int], str]:
    def describe(step: Mapping[str, Any], depth: int) -> str:
        inner = step.get(name)
        return text + (in_words(inner, depth + 1) if isinstance(inner, Mapping) else "?")

    return describe


def _axes(step: Mapping[str, Any], depth: int) -> str:
    held = step.get("mapAxis")
    if isinstance(held, Mapping):
        return "axes " + ", ".join(f"{to} from {source}" for to, source in held.items())
    return "axes in the order " + ", ".join(str(each) for each in _list(held))


_KINDS: dict[str, Callable[[Mapping[str, Any], int], str]] = {
    "identity": lambda step, depth: "the same",
    "scale": _numbers("scale"),
    "translation": _numbers("translation"),
    "affine": _matrix("affine"),
    "rotation": _matrix("rotation"),
    "mapAxis": _axes,
    "sequence": _sequence,
    "byDimension": _by_dimension,
    "displacements": _field_of("displacements"),
    "coordinates": _field_of("coordinates"),
    "inverseOf": _one_of("transformation", "the inverse of "),
    "bijection": _one_of("forward", "both ways; forward "),
}


def _system(system: object) -> str:
    if not isinstance(system, Mapping):
        return ""
    axes = [
        strings.joined(str(axis.get("name")), str(axis.get("unit") or ""))
        for axis in _list(system.get("axes"))
        if isinstance(axis, Mapping)
    ]
    return strings.clean(f"{SYSTEM} {system.get('name')}: {', '.join(axes)}", 300)


def _end(value: object) -> str:
    if isinstance(value, Mapping):
        return "#".join(str(part) for part in (value.get("path"), value.get("name")) if part)
    return value if isinstance(value, str) else "?"


def _steps(step: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in _list(step.get("transformations")) if isinstance(each, Mapping)]


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _no_edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
    raise Refused(READ_ONLY.rstrip("."))


TRANSFORMATIONS = Section("transformation", TITLE, lambda subject: (), _no_edits, _lines, of_images=True)
