"""The state of a session for a browser, in parts: a part is sent when its content has changed.

Each function makes the content of one synced trait of the widget as JSON; `PARTS` names them, with the presenters whose
signals may change them. Pictures are sent separately (pictures.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zarrscope_app.jupyter.host import Host
from zarrscope_app.jupyter.snapshots import plain
from zarrscope_app.jupyter.views import diff, panel
from zarrscope_app.presenters.image.channel_search import MANY_CHANNELS, matching_channels

ROW_FIELDS = ("id", "path", "name", "kind", "icon", "detail", "badge", "expandable", "expanded", "depth", "sentence",
              "retry", "offer", "dirty", "origin")  # fmt: skip


def place(widget: Host) -> dict[str, Any]:
    """The state of the current node and of the error bar."""
    session = widget.session
    told = plain(session.state)
    del told["status_text"]
    return {
        **told,
        "problem": session.metadata.state.problem,
        "credentials": plain(session.credentials),
        "together": [*session.edit.several],
        "cleared": widget.cleared,
        "turn": widget.turn,
        "several": len(widget.urls) > 1,
        "waiting": bool(session.waiting),
        "jobs": plain(session.jobs.items),
    }


def tree(widget: Host) -> dict[str, Any]:
    """The visible rows, and the number of all rows."""
    shown = widget.node_tree
    found = shown.flat(*widget.rows)
    for row in found:
        shown.want_icon(row.id)
    rows = [
        {
            **{name: getattr(row, name) for name in ROW_FIELDS},
            "state": row.state.value,
            **({} if shown.in_front(row.id) else {"elsewhere": True}),
        }
        for row in found
    ]
    return {"first": widget.rows[0], "count": shown.flat_count, "rows": rows}


def image(widget: Host) -> dict[str, Any]:
    """The picture's axes, levels and controls: the state that a step of a slider does not change."""
    state = widget.session.slice.state
    axes = [
        {name: getattr(axis, name) for name in ("name", "title", "type", "length", "role", "end_text", "playing")}
        for axis in state.axes
    ]
    maps = widget.session.slice.colormaps if state.channels else ()  # importing them delays the first rows of the tree
    return {
        "kind": state.kind, "name": state.name, "axes": axes, "levels": [level.text for level in state.levels],
        "locked": state.level if state.locked else -1, "level_text": state.automatic_level,
        "current": state.current_axis, "sentence": state.sentence, "refusal": plain(state.refusal),
        "smooth": state.smooth, "dots": state.dots,
        "labels": plain(state.labels), "projection": plain(state.projection), "pin": plain(state.pin),
        "measurement": _measurement(widget),
        "many": len(state.channels) > MANY_CHANNELS, "found": _found(widget),
        "colormaps": [*maps], "line": _line(widget), "three": bool(widget.three.depth),
    }  # fmt: skip


def _found(widget: Host) -> list[int] | None:
    """The numbers of the channels with the searched name; None while none is searched."""
    if not widget.channel_text.strip():
        return None
    return sorted(matching_channels([c.label for c in widget.session.slice.state.channels], widget.channel_text))


def places(widget: Host) -> dict[str, list[Any]]:
    """For each axis with a slider: [index, index as text, position as text, name of the channel]."""
    axes = widget.session.slice.state.axes
    return {
        axis.name: [axis.index, axis.index_text, axis.position, axis.channel] for axis in axes if axis.role == "slider"
    }


def channels(widget: Host) -> list[dict[str, Any]]:
    """The display settings of each channel."""
    return [{**plain(channel), "ramp": _ramp(channel.ramp)} for channel in widget.session.slice.state.channels]


def _ramp(ramp: bytes) -> list[str]:
    """Some colours of a colour map, as CSS writes them."""
    step = max(1, len(ramp) // 3 // 8)
    return [f"#{ramp[3 * i : 3 * i + 3].hex()}" for i in range(0, len(ramp) // 3, step)]


def _measurement(widget: Host) -> dict[str, Any]:
    measured = widget.session.slice.state.measurement
    told: dict[str, Any] = plain(measured)
    for row, shown in zip(measured.rows, told["rows"], strict=True):
        shown["profile"] = None if row.profile is None else _short(row.profile)
    return told


def _line(widget: Host) -> dict[str, Any] | None:
    line = widget.session.slice.line
    if line is None:
        return None
    told = {"loading": line.loading, "sentence": line.sentence, "marks": [*line.marks]}
    return {"low": _short(line.low), "high": _short(line.high), **told}


def _short(values: np.ndarray[Any, Any]) -> list[float | None]:
    """Numbers for drawing, rounded to six digits, because a screen shows no more."""
    return [plain(float(np.format_float_scientific(float(value), precision=5))) for value in values]


def export(widget: Host) -> dict[str, Any]:
    """The planned export; empty before one is requested."""
    if not widget.exporting:
        return {}
    shown = widget.session.export
    formats = [[found.id, found.title] for found in shown.formats(shown.state.what)]
    return {**plain(shown.state), "whats": plain(shown.whats()), "formats": formats}


PARTS: dict[str, Callable[[Host], Any]] = {
    "place": place,
    "status": lambda widget: widget.session.state.status_text,
    "tree": tree,
    "image": image,
    "places": places,
    "channels": channels,
    "panel": lambda widget: panel(widget),
    "diff": lambda widget: diff(widget),
    "export": export,
}
PANEL = ("panel", "diff")
"""The parts of the displayed view."""
FOLLOWS = {
    "session": ("place", "status", *PANEL),
    "jobs": ("place",),
    "tree": ("tree",),
    "slice": ("image", "places", "channels"),
    "metadata": ("place", *PANEL),
    "three": ("image",),
}
"""Presenter → the parts that its signal may change. The signals of all other presenters change the panel."""
