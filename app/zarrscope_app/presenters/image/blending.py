"""Another image laid over the picture at the same physical position, with an opacity that the person sets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zarrscope.errors.confidential import without_numbers
from zarrscope.model.frozen import frozen
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import JobResult, Ticket
from zarrscope.view.image import Image
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.choice import one_image
from zarrscope_app.presenters.image.correspondence import AxisMap, axis_like, between, index_like, moved
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.view_models import Rect, Tile
from zarrscope_app.presenters.signals import signal

HALF = 0.5


@frozen
class BlendView:
    """A snapshot of the image that lies over the picture: its `name`, "" for none; its opacity `share`, from 0 (the
    picture alone) to 1 (the other image alone)."""

    name: str = ""
    share: float = HALF
    share_text: str = ""
    """The opacity as text: "50 %"."""
    sentence: str = ""
    """The reason why the other image cannot be laid over the picture; "" if it can."""


@dataclass(frozen=True, eq=False)
class Other:
    """An image that can be laid over another one, with a name that contains its store: "cells.zarr ▸ 0"."""

    name: str
    image: Image


class Blend:
    """Blends two images: `show` lays an image over the picture of `main`, None removes it."""

    changed = signal()
    painted = signal()

    def __init__(self, main: SlicePresenter) -> None:
        self.main = main
        self.other = main.companion()
        self._state = BlendView()
        self._image: Image | None = None
        self._ways: tuple[AxisMap, ...] = (AxisMap(), AxisMap())
        main.changed.connect(self._follow)
        main.looked.connect(self._follow)
        main.solid_and_blend.drawn.add("blend")
        main.solid_and_blend.asked.connect(self._open_asked)
        self._opening: Ticket | None = None
        self.other.painted.connect(self._repaint)
        self.other.changed.connect(self._repaint)

    @property
    def state(self) -> BlendView:
        """A snapshot for the controls beside the picture."""
        return self._state

    def _repaint(self) -> None:
        self.painted.emit()

    def _open_asked(self) -> None:
        """Opens the image that a restored view names, and lays it over the picture."""
        asked = self.main.solid_and_blend.take("blend")
        if asked is None:
            return
        owner, _ = self.main.background
        name = strings.clean(asked["url"].rstrip("/").rpartition("/")[2] + asked["path"].rstrip("/"), 80)

        def opened() -> Image:
            return one_image(open_hierarchy(asked["url"])[asked["path"]], None)

        def done(outcome: JobResult[Image]) -> None:
            self._opening = None
            self._state = BlendView(name, asked["share"], strings.percent(asked["share"]))
            if outcome.value is not None:
                self.show(Other(name, outcome.value))
            else:
                self._say(strings.problem(outcome.error or RuntimeError()).headline)

        self._cancel()
        self._opening = owner.read(opened, done)

    def _cancel(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None

    def _keep(self) -> None:
        """Records the other image and its opacity in the saved view of the picture."""
        hierarchy = self._image.hierarchy if self._image is not None else None
        if self._image is None or hierarchy is None:
            self.main.solid_and_blend.tell("blend", None)
        else:
            url = without_numbers(hierarchy.url)
            self.main.solid_and_blend.tell("blend", {"url": url, "path": self._image.path, "share": self._state.share})

    def show(self, other: Other | None) -> None:
        """Lays another image over the picture, with its own channels and contrast."""
        self._cancel()
        self._image = other.image if other is not None else None
        self.other.clear()
        share = self._state.share
        self._state = BlendView(other.name, share, strings.percent(share)) if other is not None else BlendView()
        if self._image is not None:
            self.other.set_image(self._image, {})
            self._follow()
        self._keep()
        self.changed.emit()
        self.painted.emit()

    def set_share(self, share: float) -> None:
        """Sets the opacity of the other image."""
        share = min(1.0, max(0.0, share))
        if self._state.name and share != self._state.share:
            self._state = replace(self._state, share=share, share_text=strings.percent(share))
            self._keep()
            self.changed.emit()
            self.painted.emit()

    def end(self) -> None:
        """Removes the other image, and stops following the picture; called when the picture is closed."""
        self.main.changed.disconnect(self._follow)
        self.main.looked.disconnect(self._follow)
        self.main.solid_and_blend.asked.disconnect(self._open_asked)
        self.main.solid_and_blend.drawn.discard("blend")
        self.show(None)

    def _follow(self) -> None:
        """Sets the indices and the displayed part of the other image to those of the picture."""
        image, main = self._image, self.main
        if image is None:
            return
        if main.image is None or main.state.kind != "image":
            self.show(None)
            return
        self._keep()
        shown = {axis.role: axis.name for axis in main.state.axes}
        ways = between(main.image, image, (shown["y"], shown["x"]))
        if ways is None or self.other.state.kind != "image":
            self._say(words.not_alike(shown["y"], shown["x"]))
            return
        self._ways = ways
        self._say("")
        y, x = (image.axes[axis_like(image, shown[role])].name for role in ("y", "x"))
        self.other.show(y, x)
        for number, axis in enumerate(main.image.axes):
            at = axis_like(image, axis.name)
            if at >= 0 and number != main.image.channel_axis:
                self.other.move(at, index_like(main.image, image, axis.name, main.index[number]))
        if min(main.painted_pixels) > 0:
            self.other.viewport(moved(main.visible_rect, *ways), main.painted_pixels)

    def _say(self, sentence: str) -> None:
        if sentence != self._state.sentence:
            self._state = replace(self._state, sentence=sentence)
            self.changed.emit()

    # ------------------------------------------------------------------ painting
    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles of the other image, to be painted as one layer of the opacity `state.share`, each at
        place(tile.rect)."""
        return self.other.frame.tiles if self._state.name and not self._state.sentence else ()

    def place(self, rect: Rect) -> Rect:
        """A rectangle of the other image, converted to coordinates of the picture."""
        down, across = self._ways
        back = [AxisMap(1 / way.factor, -way.shift / way.factor) for way in (down, across)]
        return moved(rect, back[0], back[1])
