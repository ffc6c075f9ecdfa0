"""HTML summaries of hierarchies, groups and arrays for notebooks.

These functions read nothing from the store, produce at most LIMIT bytes whatever the names and attributes are, and
escape all text from files. They use the page's own colours, so they are readable in light and dark themes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.nodes.hierarchy_like import HierarchyLike
from zarrscope.nodes.html_drawing import of_chunks, tree_lines

if TYPE_CHECKING:
    from zarrscope.model.dtype import Element
    from zarrscope.model.json_value import JSON

LIMIT = 26_000
"""The most bytes of UTF-8, including tags."""
_ROW, _ATTRIBUTES, _TREE = 700, 6_000, 2_500
_DEPTH, _MEMBERS, _NODES, _STRING = 6, 40, 400, 200

_BOX = "font:13px/1.45 system-ui,sans-serif;border:1px solid #8886;border-radius:4px;padding:8px 12px;max-width:52em"
_QUIET = "opacity:.65;padding:0 1.2em 0 0;text-align:left;vertical-align:top;white-space:nowrap;background:none"
_VALUE = "padding:0;text-align:left;vertical-align:top;overflow-wrap:anywhere;background:none"
_CODE = (
    "margin:4px 0 0;white-space:pre-wrap;overflow-wrap:anywhere;font:12px/1.4 monospace;background:none;color:inherit"
)


class _Node(Protocol):
    """The attributes that groups and arrays share."""

    @property
    def path(self) -> str: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    @property
    def attributes(self) -> Mapping[str, Any]: ...

    @property
    def hierarchy(self) -> HierarchyLike | None: ...

    @property
    def metadata(self) -> ArrayMetadata | GroupMetadata: ...

    @property
    def problem(self) -> ZarrscopeError | None: ...


class _Array(_Node, Protocol):
    @property
    def metadata(self) -> ArrayMetadata: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def chunks(self) -> tuple[int, ...]: ...

    @property
    def shards(self) -> tuple[int, ...] | None: ...

    @property
    def chunk_grid_shape(self) -> tuple[int, ...]: ...

    @property
    def fill_value(self) -> Element: ...

    @property
    def dimension_names(self) -> tuple[str | None, ...] | None: ...


def of_hierarchy(hierarchy: HierarchyLike) -> str:
    """The HTML summary of a hierarchy. It sends no request, and no content of a file makes it fail."""
    return _box("Hierarchy", hierarchy.url, list(_hierarchy(hierarchy)), _warnings(hierarchy.warnings), None)


def of_group(group: _Node, *, folded: bool = True) -> str:
    """The HTML summary of a group, from data that were read already. With `folded=False` its parts cannot be folded,
    and it has only tags that nearly every page allows."""
    return _node("Group", group, [], beneath=_known(group), folded=folded)


def of_array(array: _Array, *, folded: bool = True) -> str:
    """The HTML summary of an array, with its shape, chunks and codecs, from data that were read already. `folded` as in
    `of_group`."""
    try:
        drawing = of_chunks(array.shape, array.chunks, array.shards, array.dimension_names)
    except ZarrscopeError:
        drawing = ""  # the summary names the problem in text
    return _node("Array", array, list(_array(array)), drawing, folded=folded)


def _known(group: _Node) -> list[str]:
    """The lines of a tree of the nodes beneath a group; none without consolidated metadata, to send no request."""
    hierarchy = group.hierarchy
    copied = hierarchy._nodes.consolidated_metadata if hierarchy is not None else None
    if hierarchy is None or copied is None:
        return []
    named = {key.rpartition("/")[2] for key in hierarchy.dialect.documents(group.path)}
    return tree_lines(group.path, copied.documents, sorted(named))


def _node(
    kind: str,
    node: _Node,
    more: list[tuple[str, str]],
    drawing: str = "",
    beneath: Sequence[str] = (),
    *,
    folded: bool,
) -> str:
    hierarchy = node.hierarchy
    dialect = hierarchy.dialect.title if hierarchy is not None else node.metadata.dialect
    rows = [("Dialect", dialect), ("Store", hierarchy.url if hierarchy is not None else ""), *more]
    problem = [] if node.problem is None else [str(node.problem)]
    marks = [*problem, *_warnings(node.warnings)]
    return _box(kind, node.path, rows, marks, as_far_as_read(node.attributes), drawing, beneath, folded=folded)


def _hierarchy(hierarchy: HierarchyLike) -> Iterator[tuple[str, str]]:
    yield "Dialect", hierarchy.dialect.title
    yield "Access", "read and write" if hierarchy.writable else "read-only"
    if hierarchy.recognition is not None:
        yield "Kind", hierarchy.recognition.sentence
    if hierarchy.initial_path != "/":
        yield "Node", hierarchy.initial_path
    if hierarchy._nodes.consolidated:
        yield "Metadata", "consolidated"


def _array(array: _Array) -> Iterator[tuple[str, str]]:
    metadata = array.metadata
    names = array.dimension_names
    yield "Shape", _shape(array.shape) + (f"  ({', '.join(str(name or '–') for name in names)})" if names else "")
    yield "Type", metadata.dtype.name
    if array.nbytes:
        yield "Size", _size(array.nbytes)
    try:
        yield "Chunks", f"{_shape(array.chunks)}  in a grid of {_shape(array.chunk_grid_shape)}"
        if array.shards is not None:
            yield "Shards", _shape(array.shards)
        yield "Fill value", _value(array.fill_value)
    except ZarrscopeError:
        pass  # the summary shows the problem below
    codecs = [f"{c.spelled or c.name} {c.configuration if c.configuration else ''}".strip() for c in metadata.codecs]
    yield "Codecs", " → ".join(codecs)


def _value(value: JSON) -> str:
    """A fill value without the name of its type in numpy, which the row "Type" has; texts and bytes with quotes."""
    if isinstance(value, str | bytes):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return str(value) if isinstance(value, np.generic) else repr(value)


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{n:,}" for n in shape) if shape else "a single value"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} PiB"


def _warnings(warnings: tuple[str, ...]) -> list[str]:
    return [*warnings[:3], *([f"… and {len(warnings) - 3} more warnings"] if len(warnings) > 3 else [])]


def _box(
    kind: str,
    title: str,
    rows: list[tuple[str, str]],
    marks: list[str],
    attributes: JSON,
    drawing: str = "",
    beneath: Sequence[str] = (),
    *,
    folded: bool = True,
) -> str:
    parts = [f'<div class="zarrscope" style="{_BOX}"><div>{kind} <b>{clipped(title, _ROW)}</b></div>']
    parts += [f"<div>⚠ {clipped(mark, _ROW)}</div>" for mark in marks]
    parts.append('<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start">')
    shown = [(label, clipped(text, _ROW)) for label, text in rows if text]
    parts.append((_table if folded else _lines)(shown) + f"{drawing}</div>")
    if beneath:
        text = clipped("\n".join(beneath), _TREE, keep="\n")
        parts.append(_part("Nodes", text, folded, opened=True))
    if attributes:
        count = f"{len(attributes):,} attribute{'s' if len(attributes) != 1 else ''}"
        text = clipped("\n".join(outline(attributes)), _ATTRIBUTES, keep="\n")
        parts.append(_part(count, text, folded))
    return "".join([*parts, "</div>"])


def _table(rows: list[tuple[str, str]]) -> str:
    told = (
        f'<tr style="background:none"><td style="{_QUIET}">{label}</td><td style="{_VALUE}">{text}</td></tr>'
        for label, text in rows
    )
    return f'<table style="border:none;margin:4px 0;background:none">{"".join(told)}</table>'


def _lines(rows: list[tuple[str, str]]) -> str:
    """The rows without a table: nbconvert with sanitize_html prints the <tbody> that it adds to a table as text."""
    told = (
        f'<div style="display:table-row"><span style="display:table-cell;{_QUIET}">{label}:</span> '
        f'<span style="display:table-cell;{_VALUE}">{text}</span></div>'
        for label, text in rows
    )
    return f'<div style="display:table;margin:4px 0">{"".join(told)}</div>'


def _part(title: str, text: str, folded: bool, opened: bool = False) -> str:
    """A part with lines of text: one that folds, or one that scrolls."""
    if not folded:
        return f'<div>{title}</div><pre style="{_CODE};max-height:12em;overflow:auto">{text}</pre>'
    opening = "<details open>" if opened else "<details>"
    return f'{opening}<summary>{title}</summary><pre style="{_CODE}">{text}</pre></details>'


def clipped(text: str, limit: int, keep: str = "") -> str:
    """`text`, escaped, with at most `limit` bytes; characters that are invisible or reorder text become escapes."""
    found: list[str] = []
    left = limit - 3
    for char in text:
        piece = escape(char if char in keep else visible(char))
        left -= len(piece.encode("utf-8"))
        if left < 0:
            found.append("…")
            break
        found.append(piece)
    return "".join(found)


def outline(value: object) -> Iterator[str]:
    """Attributes as indented JSON, only the first members of each object and list, so it is quick at any size."""
    left = [_NODES]

    def lines(value: object, depth: int, head: str) -> Iterator[str]:
        left[0] -= 1
        indent = "  " * depth
        if isinstance(value, Mapping | list | tuple) and value and depth < _DEPTH and left[0] > 0:
            named = isinstance(value, Mapping)
            yield f"{indent}{head}{'{' if named else '['}"
            members: JSON = value.items() if isinstance(value, Mapping) else (("", member) for member in value)
            for name, member in islice(members, _MEMBERS):
                if left[0] <= 0:
                    break
                yield from lines(member, depth + 1, f"{_scalar(name)}: " if named else "")
            if len(value) > _MEMBERS or left[0] <= 0:
                yield f"{indent}  …"
            yield f"{indent}{'}' if named else ']'}"
        elif isinstance(value, Mapping | list | tuple):
            shut = "{}" if isinstance(value, Mapping) else "[]"
            yield f"{indent}{head}{shut[0]}{'…' if value else ''}{shut[1]}"
        else:
            yield f"{indent}{head}{_scalar(value)}"

    yield from lines(value, 0, "")


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value[:_STRING] + ("…" if len(value) > _STRING else ""), ensure_ascii=False)
    if isinstance(value, int) and value.bit_length() > 4096:
        return "…"
    return json.dumps(value, default=lambda other: str(other)[:_STRING])
