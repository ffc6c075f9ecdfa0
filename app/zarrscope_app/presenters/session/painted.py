"""Paints a view without a window, as the window would paint the view: for the command line and for export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope.errors import TooLarge, Unreadable, Unsupported
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters.image.fuller_picture import pixels_of
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.solid import Solid
from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.session.view_models import SessionStatus

PATIENCE = 600.0
"""The most seconds to wait for data before an error is raised."""


def painted(
    url: str,
    view: Mapping[str, Any],
    longest: int,
    *,
    report: Callable[[str], object] = lambda sentence: None,
    **how: Any,
) -> npt.NDArray[np.uint8]:
    """The picture (height, width, 3) of a view (see state_text.py). The longer side has `longest` pixels.

    `report` is called with a sentence about each setting of the view that does not fit the data; `how` is passed to
    Session.

    Raises the error of a hierarchy or a chunk that cannot be read, Unsupported if there is no picture, TooLarge if the
    view would read too much. Waits until the picture is painted.
    """
    mailbox = Mailbox()
    session = Session(url, mailbox, path=str(view["path"]), **how)
    solid = Solid(session.slice)
    try:
        session.restore(view.get("slice"))
        _wait(mailbox, lambda: _answered(session) and session.labels_known)
        _need_picture(session)
        for problem in session.problems.items:
            report(problem.headline)
        if solid.state.open:
            return _paint_solid(solid, mailbox, longest)
        return _paint(session.slice, mailbox, longest)
    finally:
        solid.end()
        session.close()
        mailbox.run()


def _answered(session: Session) -> bool:
    status = session.state.status
    return status is SessionStatus.FAILED or (status is SessionStatus.READY and not session.state.selecting)


def _need_picture(session: Session) -> None:
    state = session.state
    if session.node is None:
        raise session.error or Unreadable(state.sentence, store=state.url)
    if session.slice.state.kind != "image":
        problem = getattr(session.node, "problem", None)
        raise problem or Unsupported(
            f"{state.path} has no picture to draw", feature="picture", advice="Name an image, or an array of two axes."
        )


def _paint_solid(solid: Solid, mailbox: Mailbox, longest: int) -> npt.NDArray[np.uint8]:
    frame = solid.main.frame
    height, width = frame.shape
    solid.resize(pixels_of((0.0, 0.0, float(height), float(width)), frame.aspect, longest))
    _wait(mailbox, lambda: solid.settled)
    if solid.state.rgb is None:
        raise Unsupported(solid.state.sentence.rstrip("."), feature="picture in three dimensions")
    return solid.state.rgb


def _paint(picture: SlicePresenter, mailbox: Mailbox, longest: int) -> npt.NDArray[np.uint8]:
    errors: list[BaseException] = []
    picture.failed.connect(lambda error, path: errors.append(error))
    height, width = picture.frame.shape
    rect = picture.take_rect() or (0.0, 0.0, float(height), float(width))
    pixels = pixels_of(rect, picture.frame.aspect, longest)
    picture.viewport(rect, pixels)

    def whole() -> bool:
        frame, channels = picture.frame, picture.state.channels
        known = all(channel.lo is not None for channel in channels if channel.visible)
        return bool(frame.blocked or errors or (frame.tiles and not frame.loading and known))

    _wait(mailbox, whole)
    mailbox.run()  # runs the remaining callbacks of the last tile
    if errors:
        raise errors[0]
    if picture.frame.blocked:
        raise TooLarge(
            f"This view takes too much to draw at once ({picture.frame.blocked.partition(':')[0]})",
            size=0,
            limit=0,
            advice="Zoom in, or choose a coarser level.",
        )
    _wait(mailbox, whole)
    return picture.picture(*pixels)


def _wait(mailbox: Mailbox, happened: Callable[[], bool]) -> None:
    """Runs callbacks until `happened()`. Raises Unreadable if that takes too long."""
    try:
        mailbox.run_until(happened, PATIENCE)
    except TimeoutError:
        raise Unreadable(f"No data arrived for {PATIENCE:.0f} seconds") from None
