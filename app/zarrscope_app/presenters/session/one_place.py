"""One set of indices for the picture, the table of values and the map of chunks; it is carried from an image to the
arrays of its levels, to its labels, and back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zarrscope.model.frozen import frozen
from zarrscope.view.image import Image, index_above, index_at
from zarrscope_app.presenters.image.display_settings import ChannelStyle
from zarrscope_app.presenters.session.part import SessionPart

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
    from zarrscope_app.presenters.values import ValuesPresenter


@frozen
class Place:
    """The position in an image when it, or the array of one of its levels, was left."""

    image: Image
    index: tuple[int, ...]
    """In the finest level."""
    plane: tuple[int, int]
    styles: Sequence[ChannelStyle]
    by_person: bool
    """Whether a person has changed the styles."""


class OnePlace(SessionPart):
    """The part of a session that moves all views to the same indices, and carries these to another node of the same
    image."""

    values: ValuesPresenter
    chunks: ChunksPresenter
    _place: Place | None = None
    _arriving = False
    """Whether another node was selected since the position was remembered."""

    @property
    @abstractmethod
    def node(self) -> Group | Array | None:
        """The selected node."""

    def _share_indices(self) -> None:
        self.slice.moved.connect(self._picture_moved)
        self.values.moved.connect(self._table_moved)
        self.slice.changed.connect(self._follow_level)

    def _picture_moved(self, axis: int, index: int) -> None:
        """Moves the table of values, and the map of chunks, to the picture's new index."""
        self.chunks.move(axis, index)
        self.values.move(axis, index)

    def _table_moved(self, axis: int, index: int) -> None:
        self.slice.move(axis, index)

    def _follow_level(self) -> None:
        """Shows in the table the level of the picture."""
        if self.node is not None and self.slice.state.kind == "image":
            self.values.show_level(self.slice.state.level)

    # ------------------------------------------------------------------ from an image to its levels
    def _leave_place(self) -> None:
        """Remembers the position in the displayed image, before another node is shown."""
        self._arriving = True
        image, plane = self.slice.image, self.slice.plane
        if image is None or min(plane) < 0:
            return
        styles: Sequence[ChannelStyle] = self.slice.styles
        by_person = self.slice.by_person
        if image.multiscale is not None:
            self._place = Place(image, self.slice.index, plane, styles, by_person)
        elif self._place is not None and (level := level_of(self._place.image, image)) >= 0:
            index = list(index_above(self._place.image, level, self.slice.index))
            before = index_at(self._place.image, level, self._place.index)
            for axis, here in enumerate(self.slice.index):
                if here == before[axis]:  # the level is too coarse to tell the difference
                    index[axis] = self._place.index[axis]
            if len(styles) != len(self._place.styles):  # the array's axis of channels has a slider
                styles, by_person = self._place.styles, self._place.by_person
            self._place = Place(self._place.image, tuple(index), plane, styles, by_person)
        else:
            self._place = None

    def _arrive(self) -> None:
        """Goes to the remembered position, if the displayed image is the same one, one of its levels or its labels."""
        place, image, picture = self._place, self.slice.image, self.slice
        arriving, self._arriving = self._arriving, False
        if place is None or not arriving or image is None or min(picture.plane) < 0:
            return
        if image.multiscale is not None and is_beside(place.image, image):
            self._arrive_beside(place, image)
            return
        if image.multiscale is not None:
            index = place.index if is_same(place.image, image) else None
        else:
            level = level_of(place.image, image)
            index = index_at(place.image, level, place.index) if level >= 0 else None
        if index is None:
            return
        names = [axis.name for axis in image.axes]
        picture.show(*(names[axis] for axis in place.plane))
        shown = next((i for i, style in enumerate(place.styles) if style.visible), 0)
        for axis, here in enumerate(index):  # a slider of an array without names may be the axis of channels
            picture.move(axis, shown if axis == place.image.channel_axis else here)
        if place.by_person or not picture.by_person:  # otherwise the person has chosen those of this node
            picture.take_styles(place.styles, place.by_person)

    def _arrive_beside(self, place: Place, image: Image) -> None:
        """Goes to the position of the image in its labels, or of these in the image, along the axes that both have.
        Each keeps its own colours and contrast."""
        names, shared = [axis.name for axis in image.axes], shared_axes(place.image, image)
        plane = [place.image.axes[axis].name for axis in place.plane]
        if {*plane} <= {*names}:
            self.slice.show(*plane)
        for axis, before in shared.items():
            if axis != image.channel_axis:
                self.slice.move(axis, place.index[before])


def is_beside(one: Image, other: Image) -> bool:
    """Whether one of two images holds labels of the other, or both those of a third: labels are in a group of this name
    beneath their image."""
    homes = [
        image.path.rpartition("/labels/")[0] if "/labels/" in image.path else image.path.rstrip("/")
        for image in (one, other)
    ]
    return homes[0] == homes[1] and one.path != other.path


def shared_axes(one: Image, other: Image) -> dict[int, int]:
    """Number of each axis of `other` → the number of that axis of `one` with the same name and length."""
    before = {(axis.name, length): at for at, (axis, length) in enumerate(zip(one.axes, one.shape, strict=True))}
    found = ((at, before.get((axis.name, n))) for at, (axis, n) in enumerate(zip(other.axes, other.shape, strict=True)))
    return {at: known for at, known in found if known is not None}


def level_of(image: Image, array: Image) -> int:
    """The number of the level of an image whose array is displayed alone; -1 if it is none of them."""
    paths = [level.path for level in image.levels]
    level = paths.index(array.path) if array.plain is not None and array.path in paths else -1
    return level if level >= 0 and image.levels[level].shape == array.shape else -1


def is_same(one: Image, other: Image) -> bool:
    """Whether two images, read at different times, are the same one, with axes of the same names and lengths."""
    return (one.path, one.name, one.shape) == (other.path, other.name, other.shape) and (
        [axis.name for axis in one.axes] == [axis.name for axis in other.axes]
    )
