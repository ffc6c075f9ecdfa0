"""Makes the still page, which is shown without a running kernel: picture, tree and node, as HTML of limited size."""

from __future__ import annotations

import base64
from html import escape

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
"""Not a <figure>: pages with few tags, such as those of nbconvert with sanitize_html, would print it as text."""
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


def page(session: Session, tree: TreePresenter | RootsPresenter, code: str) -> str:
    """The still page, with the parts that have arrived: the picture of `session`, and the tree of all hierarchies."""
    node, picture = session.node, session.slice
    if node is None:
        return NOTHING.format(escape(session.state.sentence), escape(code))
    rows = [row for row in tree.flat(0, ROWS) if row.name]
    more = max(0, tree.flat_count - len(rows))
    lines = [*tree_lines(rows, tree.find(node.path)), *([more_rows(more)] if more else [])]
    parts = [TREE.format(escape("\n".join(lines)))]
    if picture.state.kind == "image" and picture.painted_pixels[0] and picture.frame.tiles:
        y0, x0, y1, x1 = picture.visible_rect
        kind, data = encoded(picture.picture(*pixels_of((y0, x0, y1, x1), picture.frame.aspect, LONGEST)), ("webp",))
        where = strings.joined(*(f"{axis.title} {axis.text}" for axis in picture.state.axes if axis.role == "slider"))
        source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
        parts.append(FIGURE.format(escape(session.bookmark_label), source, escape(where)))
    return PAGE.format("".join(parts), _summaries(session), escape(STILL_NOTE), escape(code))


def _summaries(session: Session) -> str:
    """The summary of the node, and of the array that the picture shows if that is another node, for its chunks."""
    node, array = session.node, array_on_show(session)
    assert node is not None
    if array is None or array.path == node.path:
        return node._repr_html_()
    return BENEATH.format(node._repr_html_(), array._repr_html_())
