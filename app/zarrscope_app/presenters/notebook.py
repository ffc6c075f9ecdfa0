"""Words that only the notebook uses."""

from __future__ import annotations

from collections.abc import Iterable

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import COMMANDS, LABELS
from zarrscope_app.presenters.tree.rows import TreeRow

STILL_NOTE = "A still picture: no kernel runs here. Run the cell to explore, or"
"""The text under a still picture, before the line of code that reads the displayed slice."""
CLOSED_NOTE = "This explorer was closed. Run again:"
NOTEBOOK = {
    "auto-all": LABELS["auto"],
    "busy": "The kernel is busy. Your actions wait, and are carried out when it is free.",
    "dead": "The kernel was restarted or ended: this is its last view. If the cell needs others, run them first.",
    "start-again": "Run the cell again",
    "panel": "Channels and display",
    "fullscreen": "Full screen, or back",
    "copied": "Copied.",
    "not-copied": "The browser does not allow copying; the text is below.",
    "search-tree": "Find a node",
    "add-place": "Open another place in this tree",
    "region": "Ctrl+drag: statistics of a region · Shift+drag: values along a line",
    "drop": "Show or hide the tree",
    "rows-axis": "Height",
    "columns-axis": "Width",
    "copy-code": "Copy as Python",
    "export-begin": "Export…",
    "export-close": "Close",
    "export-target": "To: a file where the kernel runs",
    "add-name": "Name of a new attribute",
    "row-from": "Row",
    "column-from": "Column",
    "chunk-list-stop": "Stop listing",
    "stop-waiting": "Stop",
    "snippets": "Open in code",
    "lines": "Lines",
    "lines-before": "Earlier lines of the text",
    "lines-after": "Later lines of the text",
}
WORDS = {
    **{c.id: c.label for c in COMMANDS}, **LABELS,
    "retry": strings.RETRY, "cancel": strings.CANCEL, "load": strings.LOAD_ANYWAY, "no-image": strings.NO_IMAGE,
    "loading": strings.LOADING,
    **NOTEBOOK,
}  # fmt: skip
"""All words that the browser's scripts display, by name."""


def more_rows(count: int) -> str:
    """The last line of a shortened tree, which counts the rows that are not shown."""
    return f"… {strings.counted(count, 'more row')}"


def tree_lines(rows: Iterable[TreeRow], selected: int | None) -> list[str]:
    """The rows of a tree as lines of text; the selected one, by its id, is marked."""
    lines = []
    for row in rows:
        sign = "▾" if row.expanded else "▸" if row.expandable else " "
        mark = "›" if row.id == selected else " "
        lines.append(f"{mark}{'  ' * row.depth}{sign} {row.name}  {row.detail}".rstrip())
    return lines
