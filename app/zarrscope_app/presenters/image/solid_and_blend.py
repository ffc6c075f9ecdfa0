"""The members of a saved view that show more than a plane of one image, which not every host can draw.

    {"solid": {"azimuth": 30, "elevation": -20, "zoom": 1.5},
     "blend": {"url": "/data/other.zarr", "path": "/0", "share": 0.5}}

"solid": the volume in three dimensions, seen from this direction. "blend": another image laid over the picture, with
the opacity "share". A host that cannot draw a member says so and keeps the member, so that another host, given the view
that the first one copied, draws it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from zarrscope_app.presenters.signals import signal

NOT_DRAWN = {
    "solid": "The view shows the volume in three dimensions; the window, napari and zarrscope render draw that.",
    "blend": "The view lays another image over this one; the window draws that.",
}
NOT_WRITTEN = "The image that lies over this one is not written."
"""A note of the export of a view with a blend, which only the screen of the window shows."""
NEAREST, FARTHEST = 16.0, 0.5
"""Limits of the zoom factor in three dimensions; at 1 the whole volume is visible."""
MOST_CHARACTERS = 1 << 12


class SolidAndBlend:
    """Holds those members of the displayed view that show more than a plane ("solid" and "blend", see the module), by
    name. A presenter that can draw a member adds its name to `drawn`."""

    asked = signal()
    """Emitted when a restored view has members to draw, which `take` returns."""

    def __init__(self) -> None:
        self.members: dict[str, dict[str, Any]] = {}
        self.drawn: set[str] = set()
        self._asked: set[str] = set()
        self.picture: npt.NDArray[np.uint8] | None = None
        """The volume as it is drawn in place of the plane; None while it is not drawn."""

    def clear(self) -> None:
        """Drops all members; called when another image is displayed."""
        self.members.clear()
        self._asked.clear()
        self.picture = None

    def tell(self, name: str, member: dict[str, Any] | None) -> None:
        """Called by the presenter that draws a member, when the member has changed; None if it is not drawn any
        more."""
        if member is None:
            self.members.pop(name, None)
        else:
            self.members[name] = member
        self._asked.discard(name)

    def take(self, name: str) -> dict[str, Any] | None:
        """The member that a restored view asks to draw; None if there is no request. Each request is returned once."""
        if name not in self._asked:
            return None
        self._asked.discard(name)
        return self.members.get(name)

    def restore(self, view: Mapping[str, Any]) -> list[str]:
        """Takes the members from a view, whose values may be of any type because it may come from pasted text. Returns
        sentences about the members that this host cannot draw."""
        misfits = []
        for name, read in (("solid", _solid), ("blend", _blend)):
            member = read(view.get(name))
            if member is None:
                continue
            self.members[name] = member
            if name in self.drawn:
                self._asked.add(name)
            else:
                misfits.append(NOT_DRAWN[name])
        if self._asked:
            self.asked.emit()
        return misfits


def solid_member(azimuth: float, elevation: float, zoom: float) -> dict[str, Any]:
    """The member "solid" of a saved view."""
    return {"azimuth": round(azimuth, 3), "elevation": round(elevation, 3), "zoom": round(zoom, 3)}


def _solid(told: object) -> dict[str, Any] | None:
    if not isinstance(told, Mapping):
        return None
    azimuth, elevation, zoom = (_number(told.get(name)) for name in ("azimuth", "elevation", "zoom"))
    turned = ((azimuth or 0.0) + 180.0) % 360.0 - 180.0
    return solid_member(
        turned, min(90.0, max(-90.0, elevation or 0.0)), min(NEAREST, max(FARTHEST, 1.0 if zoom is None else zoom))
    )


def _blend(told: object) -> dict[str, Any] | None:
    if not isinstance(told, Mapping):
        return None
    url, path, share = told.get("url"), told.get("path"), _number(told.get("share"))
    texts = isinstance(url, str) and isinstance(path, str) and bool(url) and len(url) + len(path) <= MOST_CHARACTERS
    return {"url": url, "path": path, "share": min(1.0, max(0.0, 0.5 if share is None else share))} if texts else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
