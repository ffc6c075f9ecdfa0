"""Makes the still page, which is shown without a running kernel: picture, tree and node, as HTML of limited size.

Its tags are those that nearly every viewer allows: nbconvert with sanitize_html prints any other as text, also <img>.
So the picture is an output of its own in notebooks that can show it there (still_picture.py).
"""

from __future__ import annotations

import base64
from html import escape

import numpy as np
import numpy.typing as npt

from zarrscope import Array
from zarrscope.nodes import html
from zarrscope_app.jupyter.pictures import encoded
from zarrscope_app.presenters import RootsPresenter, Session, TreePresenter, strings
from zarrscope_app.presenters.image.fuller_picture import pixels_of
from zarrscope_app.presenters.notebook import STILL_NOTE, more_rows, tree_lines
from zarrscope_app.presenters.session.on_show import array_on_show

LONGEST = 448
"""The pixels along the longer side of the picture."""
ROWS = 40
PAGE = (
    '<div class="zs-still"><div style="display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start;'
    'font:13px/1.45 system-ui,sans-serif;margin:2px 0 6px">{}</div>{}'
    '<div style="opacity:.65;font:12px system-ui,sans-serif;margin:4px 0">{} <code>{}</code></div></div>'
)
NOTHING = '<div class="zs-still"><div>{}</div><code>{}</code></div>'
"""The page of a place that did not open: the reason, and the code."""
FIGURE = '<div><img alt="{}" style="max-width:100%;display:block" src="{}"><div style="opacity:.7">{}</div></div>'
WHERE = '<div style="opacity:.7;flex-basis:100%">{}</div>'
"""The place of a picture that is an output of its own, directly above: a line by itself."""
BENEATH = '{}<div style="margin-top:6px">{}</div>'
TREE = '<pre style="margin:0;font:12px/1.4 monospace;background:none;color:inherit;max-width:24em">{}</pre>'


def fit(session: Session) -> None:
    """Requests the whole plane if no part of it has been requested yet."""
    picture = session.slice
    if picture.state.kind == "image" and not picture.painted_pixels[0]:
        height, width = picture.frame.shape
        picture.fit(pixels_of((0.0, 0.0, float(height), float(width)), picture.frame.aspect, LONGEST))


def is_whole(session: Session, tree: TreePresenter | RootsPresenter) -> bool:
    """Whether everything for the still page has arrived."""
    picture = session.slice
    if tree.find(session.state.path) is None:
        return False
    if picture.state.kind != "image":
        return picture.line is None or not picture.line.loading
    frame, channels = picture.frame, picture.state.channels
    known = all(channel.lo is not None for channel in channels if channel.visible)
    return bool(frame.blocked or frame.failed or (frame.tiles and not frame.loading and known))


def page(session: Session, tree: TreePresenter | RootsPresenter, code: str, *, pictured: bool = True) -> str:
    """The still page, with the parts that have arrived: the picture of `session`, and the tree of all hierarchies.
    With `pictured=False` the picture is left out."""
    node = session.node
    if node is None:
        return NOTHING.format(escape(session.state.sentence), escape(code))
    parts = [TREE.format(escape("\n".join(_tree(session, tree))))]
    pixels = picture(session)
    if pixels is not None and pictured:
        kind, data = encoded(pixels, ("webp",))
        source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        parts.append(FIGURE.format(escape(session.bookmark_label), source, escape(_where(session))))
    elif pixels is not None and (where := _where(session)):
        parts.insert(0, WHERE.format(escape(where)))
    return PAGE.format("".join(parts), _summaries(session), escape(STILL_NOTE), escape(code))


def text(session: Session, tree: TreePresenter | RootsPresenter, code: str) -> str:
    """The still page for viewers that show no HTML: the tree, the place of the picture, and the code."""
    lines = [session.state.sentence] if session.node is None else [*_tree(session, tree), _where(session)]
    return "\n".join([*filter(None, lines), STILL_NOTE, code])


def picture(session: Session) -> npt.NDArray[np.uint8] | None:
    """The pixels of the picture; None if there is none, or none of it has arrived."""
    shown = session.slice
    if session.node is None or shown.state.kind != "image" or not shown.painted_pixels[0] or not shown.frame.tiles:
        return None
    return shown.picture(*pixels_of(shown.visible_rect, shown.frame.aspect, LONGEST))


def _tree(session: Session, tree: TreePresenter | RootsPresenter) -> list[str]:
    rows = [row for row in tree.flat(0, ROWS) if row.name]
    more = max(0, tree.flat_count - len(rows))
    return [*tree_lines(rows, tree.find(session.state.path)), *([more_rows(more)] if more else [])]


def _where(session: Session) -> str:
    """The indices of the picture along the axes that it does not show."""
    if session.slice.state.kind != "image":
        return ""
    return strings.joined(*(f"{axis.title} {axis.text}" for axis in session.slice.state.axes if axis.role == "slider"))


def _summaries(session: Session) -> str:
    """The summary of the node, and of the array that the picture shows if that is another node, for its chunks."""
    node, array = session.node, array_on_show(session)
    assert node is not None
    told = html.of_array(node, folded=False) if isinstance(node, Array) else html.of_group(node, folded=False)
    if array is None or array.path == node.path:
        return told
    return BENEATH.format(told, html.of_array(array, folded=False))
