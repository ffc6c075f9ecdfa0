"""Links pictures, so that all show the same position: moving one of them moves all, by physical position if the files
give it.

A picture that becomes visible, or shows another image, while pictures are linked also moves to the common position.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from zarrscope.model.frozen import frozen
from zarrscope.view.image import Image
from zarrscope_app.presenters.image.correspondence import axis_like, between, index_like, level_like, moved
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.view_models import Rect
from zarrscope_app.presenters.signals import signal

_ASKED = 32
"""The most requested rectangles per picture that are remembered until its host reports them: a person may drag faster
than pictures follow."""


@dataclass
class _Member:
    handlers: tuple[Callable[..., None], ...]
    image: Image | None = None
    lock: int | None = None
    asked: deque[Rect] = field(default_factory=lambda: deque(maxlen=_ASKED))
    """The rectangles that the host was asked to show. If the host reports one of them, this was not a move by the
    person, so the other pictures do not follow."""
    fits: bool = False
    """Whether the picture has a new image, and its host has not yet reported the displayed part."""


@frozen
class _Place:
    """The common position: what the picture that a person moved last shows."""

    image: Image
    axes: tuple[str, str]
    index: tuple[int, ...]
    rect: Rect
    pixels: tuple[int, int]
    lock: int | None


class Link:
    """The link between pictures. Call `join` and `leave` when pictures appear and disappear; `set_linked` sets whether
    they all show the same position."""

    changed = signal()

    def __init__(self) -> None:
        self.linked = False
        self._members: dict[SlicePresenter, _Member] = {}
        self._place: _Place | None = None
        self._moving = False

    def set_linked(self, linked: bool, first: SlicePresenter | None = None) -> None:
        """Links all pictures, which then move to the position of `first`; or unlinks them."""
        if linked != self.linked:
            self.linked = linked
            self._place = None
            if linked and first is not None:
                self._lead(first)
            self.changed.emit()

    def join(self, picture: SlicePresenter) -> None:
        """Adds a picture that has become visible."""
        handlers = (partial(self._indexed, picture), partial(self._looked, picture), partial(self._changed, picture))
        self._members[picture] = _Member(handlers, picture.image, picture.locked_level)
        for emitted, handler in zip((picture.moved, picture.looked, picture.changed), handlers, strict=True):
            emitted.connect(handler)
        if self.linked:
            self._adopt(picture)

    def leave(self, picture: SlicePresenter) -> None:
        """Removes a picture that is no longer visible."""
        member = self._members.pop(picture, None)
        if member is not None:
            for emitted, handler in zip((picture.moved, picture.looked, picture.changed), member.handlers, strict=True):
                emitted.disconnect(handler)

    # ------------------------------------------------------------------ a picture was moved
    def _indexed(self, picture: SlicePresenter, axis: int, index: int) -> None:
        if self.linked and not self._moving and self._members[picture].image is picture.image:
            self._lead(picture)

    def _looked(self, picture: SlicePresenter) -> None:
        member = self._members[picture]
        if not self.linked or self._moving or member.image is not picture.image:
            return
        if any(_close(picture.visible_rect, rect) for rect in member.asked):
            member.fits = False
        elif not member.fits:
            self._lead(picture)

    def _changed(self, picture: SlicePresenter) -> None:
        member = self._members[picture]
        if picture.image is not member.image:
            member.image, member.lock = picture.image, picture.locked_level
            if self.linked:
                self._adopt(picture)
        elif picture.locked_level != member.lock:
            member.lock = picture.locked_level
            if self.linked and not self._moving:
                self._lead(picture)

    # ------------------------------------------------------------------ moving the other pictures
    def _lead(self, picture: SlicePresenter) -> None:
        place = _place_of(picture)
        if place is None:
            return
        self._place = place
        for other, member in self._members.items():
            if other is not picture:
                self._move(other, member)

    def _adopt(self, picture: SlicePresenter) -> None:
        member = self._members[picture]
        member.asked.clear()
        member.fits = self._place is not None and self._move(picture, member)

    def _move(self, picture: SlicePresenter, member: _Member) -> bool:
        """Moves a picture to the common position; returns False if its displayed part did not change. The axes that the
        picture displays stay the same."""
        place, image = self._place, picture.image
        if place is None or image is None or picture.state.kind != "image":
            return False
        self._moving = True
        try:
            for number, axis in enumerate(place.image.axes):
                at = axis_like(image, axis.name) if number != place.image.channel_axis else -1
                if at >= 0:
                    picture.move(at, index_like(place.image, image, axis.name, place.index[number]))
            level = None if place.lock is None else level_like(place.image, place.lock, image, place.axes[1])
            if level != picture.locked_level:
                member.lock = level
                picture.lock_level(level)
            return self._look(picture, member, place, image)
        finally:
            self._moving = False

    @staticmethod
    def _look(picture: SlicePresenter, member: _Member, place: _Place, image: Image) -> bool:
        shown = {axis.role: axis.name for axis in picture.state.axes}
        if tuple(shown[role].lower() for role in ("y", "x")) != tuple(name.lower() for name in place.axes):
            return False
        ways = between(place.image, image, place.axes)
        if ways is None:
            return False
        there = moved(place.rect, *ways)
        height, width = picture.frame.shape
        own = picture.painted_pixels if min(picture.painted_pixels) > 0 else place.pixels
        y = min(max((there[0] + there[2]) / 2, 0.0), float(height))
        x = min(max((there[1] + there[3]) / 2, 0.0), float(width))
        # All pictures get the same zoom (screen pixels per pixel), although their windows differ in size.
        half_x = (there[3] - there[1]) / place.pixels[1] * own[1] / 2
        half_y = half_x * own[0] / own[1] / picture.frame.aspect
        rect = (y - half_y, x - half_x, y + half_y, x + half_x)
        if _close(rect, picture.visible_rect):
            return False
        member.asked.append(rect)
        picture.look_at(rect)
        return True


def _place_of(picture: SlicePresenter) -> _Place | None:
    image = picture.image
    if image is None or picture.state.kind != "image" or min(picture.painted_pixels) < 1:
        return None
    shown = {axis.role: axis.name for axis in picture.state.axes}
    return _Place(
        image, (shown["y"], shown["x"]), picture.index, picture.visible_rect, picture.painted_pixels,
        picture.locked_level,
    )  # fmt: skip


def _close(one: Rect, other: Rect) -> bool:
    """Whether two displayed rectangles differ by less than a pixel of the screen."""
    size = max(one[2] - one[0], one[3] - one[1], 1e-9)
    return all(abs(a - b) < size / 1000 for a, b in zip(one, other, strict=True))


_link = Link()


def shared_link() -> Link:
    """The link of all windows of this process."""
    return _link
