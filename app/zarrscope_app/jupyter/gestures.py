"""The calls that a browser may request by messages {"do": "slice.set_index", "args": ["z", 3], "n": 12}.

A message that is not a known gesture is dropped, because a notebook may contain anything. A message with a number `n`
is answered with {"heard": n} when it has been handled, so that the browser knows whether the kernel answers, and how
fast.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from math import isfinite
from typing import Any

from zarrscope.errors import ZarrscopeError
from zarrscope_app.jupyter.differences import checksum, with_text_edits
from zarrscope_app.jupyter.host import Host
from zarrscope_app.presenters.commands import COMMANDS, is_plain
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.session.actions import ACTIONS, choose_axis_key, open_name, perform, toggle_channel
from zarrscope_app.presenters.session.state_text import is_view

CALLS = {
    "tree": {"toggle", "expand", "collapse", "retry", "cancel", "filter"},
    "slice": {
        "set_index", "step", "choose_axis", "show", "transpose", "play", "tick", "lock_level", "set_levels", "auto",
        "set_colormap", "type_gamma", "set_part", "show_alone", "set_outline", "type_label",
        "set_dots", "set_smooth", "project", "type_range", "roll",
        "type_index", "type_position", "type_limit", "pin", "unpin", "set_visible", "set_color",
        "set_gamma", "set_inverted", "want_histogram", "set_label", "hover", "leave", "retry", "load_anyway",
        "measure_line", "measure_region", "measure_view", "forget_measurement",
    },
    "edit": {"edit", "edit_json", "retype", "add", "add_typed", "rename", "remove", "move", "undo", "redo", "revert",
             "fold", "save", "choose", "resolve", "reload", "show_way", "edit_text"},
    "session": {"select", "set_tab", "back", "forward", "retry", "reload", "dismiss", "use_credentials",
                "stop_waiting"},
    "metadata": {"load_documents"},
    "values": {"set_index", "show", "transpose", "set_format", "retry"},
    "chunks": {"set_level", "show", "set_chunk", "show_whole", "choose", "show_missing", "show_in_image",
               "choose_inner", "set_inner", "color_by", "check", "refresh", "cancel"},
    "problems": {"check", "resume", "stop", "stop_comparing"},
    "jobs": {"cancel", "dismiss"},
}  # fmt: skip
"""The methods that a browser may call, by presenter."""
READING = ("fold", "show_way")
"""The methods of the form that change nothing."""
EDITING = {"save", "undo", "redo", "revert"}
"""Commands that only an editable widget has. "writable" is not among them: Python decides that by `editable`."""
HOST = {"zoom-in", "zoom-out", "fit", "three-views", "copy-path", "copy-view", "find-channel"}
"""Commands that the widget carries out itself."""
ANYWHERE = {"go", "add", "paste", "close-place", "rows", "hello", "painted", "look", "seen"}
"""The gestures that do not refer to the session in front, besides those of the tree. All other gestures are dropped if
another session has come to the front and the browser did not know it yet: an edit must not change a node that the
person did not see."""
WALKING = ("next-image", "previous-image")
"""Commands with a function key: neither a notebook nor a browser has a use of its own for F7 and F8."""
WITH_CTRL = ("find-channel",)
"""Commands whose keys have Ctrl, as in the window. The others would take keys from the browser or the notebook."""
KEYS = {
    key: command.id
    for command in COMMANDS
    if command.id in {*ACTIONS, *HOST}
    for key in command.keys
    if is_plain(key) or command.id in (*WALKING, *WITH_CTRL)
}
BUTTONS = {"check", "transpose", "roll"}
"""Commands that the page has as buttons, and whose keys have Ctrl."""
ROWS = 400
"""The most rows of the tree that are sent."""
PICTURE_LIMIT = 2048
"""The most pixels along a side that a browser may request."""


def perform_gesture(widget: Host, message: object) -> None:
    """Carries out the call that a message requests."""
    if not isinstance(message, dict):
        return
    do, args, turn = message.get("do"), message.get("args"), message.get("turn")
    if not isinstance(do, str) or not isinstance(args, list):
        return
    if isinstance(turn, int) and turn != widget.turn and do not in ANYWHERE and not do.startswith("tree."):
        return
    act = OWN.get(do)
    if act is None:
        _call(widget, do, args)
        return
    try:
        act(widget, *args)
    except (TypeError, ValueError, OverflowError):
        widget.log.debug("%s%s", do, args)


def _call(widget: Host, do: str, args: list[Any]) -> None:
    name, _, method = do.partition(".")
    if method not in CALLS.get(name, ()) or (name == "edit" and not widget.editable and method not in READING):
        return
    presenters = {"session": widget.session, "tree": widget.node_tree}
    gesture = getattr(presenters.get(name) or getattr(widget.session, name), method)
    arguments = [tuple(a) if isinstance(a, list) else a for a in args]
    try:
        inspect.signature(gesture).bind(*arguments)
        gesture(*arguments)
    except ZarrscopeError:  # NotFound is also a KeyError, but the message was valid
        raise
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        widget.log.debug("%s%s", do, args)
    if do == "slice.hover":
        widget.tell_probe()


# ---------------------------------------------------------------------- gestures without a presenter
def _rows(widget: Host, start: int, stop: int) -> None:
    """Sets the rows of the tree that are scrolled into view."""
    first = max(0, int(start))
    widget.rows = (first, max(first, min(int(stop), first + ROWS)))
    widget.tell("tree")


def _cells(widget: Host, row: int, column: int) -> None:
    """Sets the part of the table that is scrolled into view."""
    widget.corner = (max(0, int(row)), max(0, int(column)))
    widget.tell("panel")


def _viewport(widget: Host, rect: list[float], pixels: list[int], view: str = "main") -> None:
    y0, x0, y1, x1 = (float(edge) for edge in rect)
    if not all(isfinite(edge) for edge in (y0, x0, y1, x1)) or y1 <= y0 or x1 <= x0:
        return
    height, width = (max(1, min(PICTURE_LIMIT, int(side))) for side in pixels)
    picture(widget, view).viewport((y0, x0, y1, x1), (height, width))
    widget.streams[view].place(None)
    widget.draw(view)


def picture(widget: Host, view: str) -> SlicePresenter:
    """The presenter of one of the three views. Raises ValueError for any other name."""
    found = {"main": widget.session.slice, "below": widget.three.below, "beside": widget.three.beside}.get(str(view))
    if found is None:
        raise ValueError(view)
    return found


def _pick(widget: Host, view: str, y: float, x: float) -> None:
    """Handles a click on one of the three views."""
    widget.three.pick(picture(widget, view), float(y), float(x))


def _command(widget: Host, command: str) -> None:
    if command == "three-views":
        widget.three.toggle()
    elif command in ("copy-path", "copy-view"):
        widget.copy(command)
    elif command in KEYS.values() or command in BUTTONS or (command in EDITING and widget.editable):
        perform(widget.session, command)


def _name(widget: Host, text: str) -> None:
    if open_name(widget.session, str(text), widget.node_tree):
        widget.cleared += 1
        widget.tell("place")


def _go(widget: Host, id: int) -> None:
    """A click on a row: goes to the node, whose hierarchy comes to the front."""
    tree, row = widget.node_tree, int(id)
    path = tree.path(row)
    tree.enter(row)
    if path:
        widget.session.select(path)


def _together(widget: Host, id: int, through: bool) -> None:
    """A click with Ctrl on a row selects it as well, or no longer; one with Shift (`through`) selects all rows between.
    One form is for nodes of one hierarchy: rows of others are not selected."""
    tree, session, row = widget.node_tree, widget.session, int(id)
    if tree.in_front(row):
        if through:
            session.select_through(row, tree)
        else:
            session.toggle_selected(tree.path(row))
    widget.tell("place")


def _all(widget: Host) -> None:
    """Ctrl+A in the tree: selects the listed nodes of the hierarchy in front."""
    widget.session.select_listed(widget.node_tree)
    widget.tell("place")


def _paste(widget: Host, text: str) -> None:
    """Opens a pasted view. Any other text does nothing, because it may be pasted by mistake."""
    if is_view(str(text)):
        widget.add(str(text))


def _find_channel(widget: Host, text: str) -> None:
    widget.channel_text = str(text)
    widget.tell("image")


def _edit_text(widget: Host, start: int, end: int, inserted: str, check: int) -> None:
    """Handles an edit of the attributes' text. If the kernel has another text than the browser, because both changed at
    once, the edit would make a text that nobody wrote: the browser is asked for the whole."""
    if not widget.editable:
        return
    edit = widget.session.edit
    text = with_text_edits(edit.state.text, [max(0, int(start)), max(0, int(end)), str(inserted)])
    if checksum(text) == int(check):
        edit.edit_text(text)
    else:
        widget.ask_whole_text()


def _export(widget: Host, act: str, *args: Any) -> None:
    """Handles the calls of the export pane: begin(), choose(what, format or ""), name(target), run(overwrite) and
    end()."""
    export = widget.session.export
    if act == "begin":
        export.start_in(os.getcwd())  # the folder of the notebook, whose files Jupyter lists
        export.begin()
    elif act == "choose":
        export.choose(str(args[0]), str(args[1]) or None)
    elif act == "name":
        export.name(str(args[0]))
    elif act == "run":
        export.run(bool(args and args[0]))
    elif act != "end":
        return
    widget.exporting = act != "end"
    widget.tell("export")


OWN: dict[str, Callable[..., object]] = {
    "problems.compare": lambda widget, other, values: widget.session.problems.compare(str(other), values=bool(values)),
    "rows": _rows,
    "cells": _cells,
    "go": _go,
    "together": _together,
    "all": _all,
    "paste": _paste,
    "find-channel": _find_channel,
    "show-channel": lambda widget, text: widget.show_channel(str(text)),
    "add": lambda widget, text: widget.add(str(text)),
    "close-place": lambda widget: widget.close_place(),
    "viewport": _viewport,
    "pick": _pick,
    "command": _command,
    "edit-text": _edit_text,
    "name": _name,
    "export": _export,
    "channel": lambda widget, number: toggle_channel(widget.session, int(number)),
    "axis": lambda widget, letter: choose_axis_key(widget.session, str(letter)),
    "copy": lambda widget, what: widget.copy(str(what)),
    "hello": lambda widget, kinds: widget.greet([str(kind) for kind in kinds][:8]),
    "painted": lambda widget, view: widget.painted(str(view)),
    "seen": lambda widget, view, visible: widget.seen(str(view)[:64], bool(visible)),
}
