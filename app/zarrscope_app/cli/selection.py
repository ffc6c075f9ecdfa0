"""The option --select: an index like one of numpy, by the order of the axes or by their names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from types import EllipsisType

    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group

SELECT = click.option(
    "--select",
    "selection",
    metavar="INDEX",
    help='Like an index of numpy: "0,:,10:90", "...,5"; or by names of axes: "z=3,y=10:90".',
)


class NamedParts(dict[str, Any]):
    """A selection by names of axes: name → index or slice. `in_order` places the parts."""

    def in_order(self, node: Group | Array) -> tuple[Any, ...]:
        """The parts in the order of the node's axes; `:` for an axis that is not named. Raises UsageError for names
        that the node does not have."""
        from zarrscope.convert.export import ExportSource

        names = [axis.name for axis in ExportSource.of(node).axes]
        for name in self:
            if names.count(name) != 1:
                many = "More than one axis is named" if name in names else "There is no axis"
                raise click.UsageError(f"{many} {name!r} in {node.path}, which has the axes {', '.join(names)}.")
        return tuple(self.get(name, slice(None)) for name in names)


AxisParts = tuple[Any, ...] | NamedParts


def parse_selection(text: str | None) -> AxisParts:
    """Parses --select: "0,:,10:90" → (0, slice(None), slice(10, 90)); "z=3" → {"z": 3}. Raises UsageError."""
    if text is None or not text.strip():
        return (Ellipsis,)
    parts = [part.strip() for part in text.strip().strip("[]").split(",")]
    if any("=" in part for part in parts):
        named = NamedParts()
        for part in parts:
            name, equals, index = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise click.UsageError(f"--select {text!r} names some axes: write {part!r} with its name, too.")
            if name in named:
                raise click.UsageError(f"--select {text!r} names axis {name!r} twice.")
            if index == "...":
                raise click.UsageError(f"--select {text!r}: axes that are not named are whole, without '...'.")
            named[name] = _item(index, text)
        return named
    items = [_item(part, text) for part in parts]
    if items.count(Ellipsis) > 1:
        raise click.UsageError(f"--select {text!r} has more than one '...'.")
    return tuple(items)


def placed(parts: AxisParts, node: Group | Array) -> tuple[Any, ...]:
    """The parts of a selection in the order of the node's axes. Raises UsageError for unknown names."""
    return parts.in_order(node) if isinstance(parts, NamedParts) else parts


def _item(part: str, text: str) -> int | slice | EllipsisType:
    if part == "...":
        return Ellipsis
    if re.fullmatch(r"[+-]?\d+", part):
        return int(part)
    if re.fullmatch(r"\s*([+-]?\d+)?\s*:\s*([+-]?\d+)?\s*(:\s*([+-]?\d+)?\s*)?", part):
        found = slice(*(int(n) if n.strip() else None for n in part.split(":")))
        if found.step == 0:
            raise click.UsageError(f"--select {text!r} has a step of 0.")
        return found
    raise click.UsageError(f"{part!r} in --select {text!r} is neither an index nor a range such as 10:90.")
