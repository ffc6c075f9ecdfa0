"""Shows a range of elements, such as a chunk, in the image of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.chunkio.stored_chunks import ElementRanges
    from zarrscope_app.presenters.session.part import SessionPart

MARGIN = 0.25
"""The part of the range's length that is shown on each side of it, so that its neighbours can be compared."""


def show_elements(session: SessionPart, level: int, ranges: ElementRanges) -> None:
    """Brings the image to the front and shows these elements of the finest level. `level`: the level to draw, because
    another one could be read from other chunks. An index that lies within its range stays."""
    picture = session.slice
    image, axes = picture.image, picture.state.axes
    rows, columns = (next((i for i, axis in enumerate(axes) if axis.role == role), -1) for role in ("y", "x"))
    if image is None or len(ranges) != len(axes) or min(rows, columns) < 0:
        return
    session.set_tab("image")
    for at, (start, stop) in enumerate(ranges):
        if at not in (rows, columns) and not start <= picture.index[at] < stop:
            picture.set_index(axes[at].name, start)
    if image.channel_axis is not None:
        shown = range(*ranges[image.channel_axis])
        if not any(channel.visible for channel in picture.state.channels[shown.start : shown.stop]):
            picture.set_visible(shown.start, True)
    if len(image.levels) > 1:
        picture.lock_level(level)
    (top, bottom), (left, right) = ranges[rows], ranges[columns]
    down, across = MARGIN * max(1, bottom - top), MARGIN * max(1, right - left)
    picture.look_at((top - down, left - across, bottom + down, right + across))
