"""The table of what the browser paints for each view: content as JSON, made from snapshots in the kernel.

The painters of the built-in views stand in static/widget.js, under the same ids. A view of another distribution is
sent as blocks, which the browser paints one beneath the other: ("text", text), ("table", rows of texts, the first the
heads), ("picture", bytes of a PNG). It makes its own with `widgets={"jupyter": "module:blocks"}`, called with its
presenter; where it names none, its text is sent.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from zarrscope.errors import Unsupported
from zarrscope_app.jupyter.snapshots import plain
from zarrscope_app.presenters import Session, View, strings
from zarrscope_app.presenters.form.words import WAYS
from zarrscope_app.presenters.views import text_of, widget_factory

MOST_ROWS, MOST_COLUMNS = 50, 20
"""Cells of a table that are sent."""


def _table(session: Session) -> dict[str, Any]:
    values = session.values
    table = values.state
    rows, columns = min(table.rows, MOST_ROWS), min(table.columns, MOST_COLUMNS)
    shown = session.state.tab == "values"
    return {
        **plain(table),
        "cells": values.cells(0, 0, rows, columns) if shown and rows and columns else [],
        "heads": [values.label(0, c)[1] for c in range(columns)] if shown and rows else [],
        "sides": [values.label(r, 0)[0] for r in range(rows)] if shown and columns else [],
    }


def _chunks(session: Session) -> str:
    """The map as text, for the tab in front."""
    if session.state.tab != "chunks":
        return ""
    session.chunks.look()
    return session.chunks.text()


CONTENT: dict[str, Callable[[Session], dict[str, Any]]] = {
    "image": lambda s: {"slice": plain(s.slice.state), "colormaps": [*s.slice.colormaps]},
    "values": lambda s: {"table": _table(s)},
    "attributes": lambda s: {
        "edit": plain(s.edit.state),
        "ways": [[way, WAYS[way]] for way in s.edit.state.ways],
        "diff": s.edit.diff().unified if s.edit.state.changes else "",
    },
    "chunks": lambda s: {"chunks": _chunks(s)},
    "info": lambda s: {"info": plain(s.metadata.state)},
    "problems": lambda s: {"problems": plain(s.problems.items), "problems_text": s.problems.sentence},
}


def content(session: Session) -> dict[str, Any]:
    """The content of all views, as the browser is sent it; of plugged-in views only the one in front."""
    sent: dict[str, Any] = {"blocks": []}
    for view in session.tabs.views:
        made = CONTENT.get(view.id)
        if made is not None:
            sent |= made(session)
        elif view.id == session.state.tab:
            sent["blocks"] = _blocks(view, session.tabs.presenters[view.id])
    return sent


def _blocks(view: View, presenter: Any) -> list[list[Any]]:
    try:
        factory = widget_factory(view, "jupyter")
        if factory is None:
            return [["text", text_of(view, presenter)]]
        return [_block(kind, what) for kind, what in factory(presenter)]
    except Unsupported as error:
        return [["text", error.message]]
    except Exception as error:  # of a stranger's factory
        return [["text", strings.no_widget(view.title, error)]]


def _block(kind: str, what: Any) -> list[Any]:
    if kind == "picture":
        return [kind, f"data:image/png;base64,{base64.b64encode(what).decode()}"]
    if kind == "table":
        return [kind, [[strings.clean(str(cell), 200) for cell in row] for row in what[:MOST_ROWS]]]
    return ["text", strings.clean_lines(str(what))]
