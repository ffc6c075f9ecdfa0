"""Contrast, colours and visibility of the displayed picture, as changes to the image's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.ome.edits import ChannelEdit, Edit
from zarrscope.ome.metadata import block, color, number
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.mending import Asked
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.view_models import ChannelView


def changes_of_view(picture: SlicePresenter, path: str) -> Sequence[Asked]:
    """The changes that give the image at `path` the picture's settings; () if the picture shows another node."""
    image = picture.image
    if image is None or image.path != path or image.multiscale is None or image.is_label:
        return ()
    return [_asked(i, channel) for i, channel in enumerate(picture.state.channels) if not channel.is_alpha]


def _asked(place: int, shown: ChannelView) -> Asked:
    def change(subject: Subject) -> Sequence[Edit]:
        """The edits of the values that differ from the metadata."""
        omero = block(subject.attributes)[0].get("omero")
        listed = omero.get("channels") if isinstance(omero, Mapping) else None
        held = listed[place] if isinstance(listed, list) and place < len(listed) else None
        stated: Mapping[str, Any] = held if isinstance(held, Mapping) else {}
        asked = ChannelEdit(
            color=None if color(stated.get("color")) == shown.color else "".join(f"{part:02X}" for part in shown.color),
            window=_window(stated.get("window"), shown),
            active=None if stated.get("active", True) is shown.visible else shown.visible,
        )
        if asked == ChannelEdit():
            return ()
        return subject.set_channel(place, asked)

    return change


def _window(stated: object, shown: ChannelView) -> tuple[str, str] | None:
    """The displayed contrast window as (start, end); None if it is unknown, empty, or equal to the one that the
    metadata state."""
    held: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    lo, hi = shown.lo, shown.hi
    if lo is None or hi is None or not lo < hi or (number(held.get("start")), number(held.get("end"))) == (lo, hi):
        return None
    return words.whole(lo), words.whole(hi)
