"""The table of views in a browser: the content of each as JSON, made from snapshots in the kernel.

The painters of the built-in views are in static/, under the same ids. Only the displayed view is sent. A view of
another package is sent as blocks, which the browser paints from top to bottom: ("text", text), ("table", rows of texts,
the first row the heads), ("picture", bytes of a PNG). `widgets={"jupyter": "module:blocks"}` names the function that
makes the blocks; it is called with the view's presenter. A view without such a function is sent as text.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from zarrscope.errors import Unsupported
from zarrscope_app.jupyter.host import Host
from zarrscope_app.jupyter.snapshots import plain
from zarrscope_app.presenters import View, strings
from zarrscope_app.presenters.chunks.coloring import COLORINGS
from zarrscope_app.presenters.chunks.view_models import LEGEND, ChunkMap, InnerMap
from zarrscope_app.presenters.form.view_models import Field
from zarrscope_app.presenters.form.words import way_title
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.presenters.values import in_two_lines
from zarrscope_app.presenters.views import ViewPresenter, text_of, widget_factory

MOST_ROWS, MOST_COLUMNS = 60, 24
"""The most rows and columns of a table that are sent."""
FORM = ("status", "sentence", "changes", "can_save", "can_undo", "can_redo", "conflicts", "way", "text", "text_error",
        "text_line", "verdict", "shows_document")  # fmt: skip
"""The members of the form's snapshot that the browser paints, besides its fields."""
TEXT_WAYS = ("json", "document")
"""The views of the attributes that are one text: the browser has no use for its lines, of which there may be
thousands."""
SECTION_FIELD = ("pointer", "kind", "text", "summary", "title", "editor", "choices", "error", "changed", "differs",
                 "label")  # fmt: skip
"""The members of a field that the browser paints in a section."""
MEMBER_FIELD = (*SECTION_FIELD, "depth", "folded", "kinds", "can_rename", "can_remove")
"""The members of a field among all members."""
SHADES = 15
"""The number of levels to which the sizes of chunks are rounded."""


def _table(widget: Host) -> dict[str, Any]:
    values = widget.session.values
    table = values.state
    row, column = min(widget.corner[0], max(0, table.rows - 1)), min(widget.corner[1], max(0, table.columns - 1))
    rows, columns = min(table.rows - row, MOST_ROWS), min(table.columns - column, MOST_COLUMNS)
    drawn = rows > 0 and columns > 0 and widget.session.node is not None
    cells = values.cells(row, column, rows, columns) if drawn else []
    told = {
        **plain(table), "row": row, "column": column,
        "cells": [[in_two_lines(cell) for cell in line] for line in cells] if table.complex else cells,
        "heads": [values.label(row, column + c)[1] for c in range(columns)] if drawn else [],
        "sides": [values.label(row + r, column)[0] for r in range(rows)] if drawn else [],
    }  # fmt: skip
    told["sentence"] = values.state.sentence
    return {"table": told}


def _cells(found: ChunkMap | InnerMap) -> dict[str, list[str]]:
    cells = [] if found.cells is None else found.cells.tolist()
    shades = [] if found.shades is None else (found.shades * SHADES).round().astype(int).tolist()
    return {
        "cells": ["".join(map(str, row)) for row in cells],
        "shades": ["".join(format(shade, "x") for shade in row) for row in shades],
    }


def _chunks(widget: Host) -> dict[str, Any]:
    """The map: one digit for the state of each cell, and one for the size of its chunks."""
    chunks = widget.session.chunks
    chunks.look()
    state = chunks.state
    told = plain(state)
    told |= _cells(state)
    if state.inner is not None:
        told["inner"] |= _cells(state.inner)
    return {"chunks": {**told, "legend": [*LEGEND], "colorings": [[*each] for each in COLORINGS]}}


def _form(widget: Host) -> dict[str, Any]:
    """The displayed view of the attributes. In the view by meaning all fields stand in sections, once."""
    state = widget.session.edit.state
    told = {name: plain(getattr(state, name)) for name in FORM}
    if state.way == "image":
        told["sections"] = [
            {
                "title": section.title,
                "notes": [*section.notes],
                "rows": [
                    {"label": row.label, "note": row.note, "fields": _fields(row.fields, SECTION_FIELD)}
                    for row in section.rows
                ],
            }
            for section in state.sections
        ]
    elif state.way not in TEXT_WAYS:
        told["fields"] = _fields(state.fields, MEMBER_FIELD)
    return {"edit": told, "ways": [[way, way_title(way, state.meaning)] for way in state.ways]}


def _fields(fields: Sequence[Field], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """These members of fields: texts and flags, and lists of texts. Hundreds of fields may be displayed."""
    lists = ("choices", "kinds")
    return [
        {name: [*getattr(field, name)] if name in lists else getattr(field, name) for name in names} for field in fields
    ]


def diff(widget: Host) -> str:
    """The changes beneath the form while it is displayed; a part of its own, as it changes less often than the form."""
    edit = widget.session.edit
    return edit.diff().unified if widget.session.tabs.front == "attributes" and edit.state.changes else ""


def _info(widget: Host) -> dict[str, Any]:
    widget.session.metadata.measure()
    return {"info": plain(widget.session.metadata.state)}


def _problems(widget: Host) -> dict[str, Any]:
    problems = widget.session.problems
    what = "check-stop" if problems.checking else "check-resume" if problems.can_resume else "check-begin"
    return {
        "problems": [{**plain(row.problem), **plain(row), "problem": None} for row in problems.rows],
        "problems_text": problems.sentence,
        "check": what,
        "comparing": problems.comparing,
    }


def _overview(widget: Host) -> dict[str, Any]:
    """The layout; thumbnails are sent separately."""
    presenter = widget.session.tabs.presenters["overview"]
    assert isinstance(presenter, OverviewPresenter)
    widget.thumbnails.show(presenter.state.cells)
    told = plain(presenter.state)
    for cell in told["cells"]:
        del cell["rgb"]
    return {"overview": told}


CONTENT: dict[str, Callable[[Host], dict[str, Any]]] = {
    "overview": _overview,
    "image": lambda widget: {},  # the picture's parts are sent separately, even while another view is displayed
    "values": _table,
    "attributes": _form,
    "chunks": _chunks,
    "info": _info,
    "problems": _problems,
}


def panel(widget: Host) -> dict[str, Any]:
    """The content of the displayed view."""
    tabs = widget.session.tabs
    view = next(view for view in tabs.views if view.id == tabs.front)
    made = CONTENT.get(view.id)
    if made is not None:
        return {"tab": view.id, **made(widget)}
    return {"tab": view.id, "blocks": _blocks(view, tabs.presenters[view.id])}


def _blocks(view: View, presenter: ViewPresenter) -> list[list[Any]]:
    try:
        factory = widget_factory(view, "jupyter")
        if factory is None:
            return [["text", text_of(view, presenter)]]
        return [_block(kind, what) for kind, what in factory(presenter)]
    except Unsupported as error:
        return [["text", error.message]]
    except Exception as error:  # the plugin's factory failed
        return [["text", strings.no_widget(view.title, error)]]


def _block(kind: str, what: Any) -> list[Any]:
    if kind == "picture":
        return [kind, f"data:image/png;base64,{base64.b64encode(what).decode()}"]
    if kind == "table":
        return [kind, [[strings.clean(str(cell), 200) for cell in row] for row in what[:MOST_ROWS]]]
    return ["text", strings.clean_lines(str(what))]
