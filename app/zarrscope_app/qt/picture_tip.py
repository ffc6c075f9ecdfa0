"""The tooltip of the picture, which says why there are no data at a place. It stays up to date while it is shown."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.core import QPoint
from zarrscope_app.qt.toolkit.widgets import QToolTip, QWidget

from .text import tip


class PictureTip:
    """The tooltip of one widget."""

    def __init__(self, owner: QWidget) -> None:
        self._owner = owner
        self._at: QPoint | None = None
        """The position of the displayed tooltip on the screen; None if it is not displayed."""
        self._text = ""

    def show(self, at: QPoint, why: str) -> None:
        """Shows `why` at a position of the screen; an empty text hides the tooltip."""
        self._at, self._text = at if why else None, tip(why)
        QToolTip.showText(at, self._text, self._owner)

    @property
    def place(self) -> QPoint | None:
        """The place of the widget to which the displayed tooltip belongs; None if Qt has hidden it, or shows the
        tooltip of another widget."""
        shown = self._at is not None and QToolTip.isVisible() and QToolTip.text() == self._text
        return self._owner.mapFromGlobal(self._at) if self._at is not None and shown else None

    def renew(self, why: str) -> None:
        """Shows another text for the same place, if it has changed."""
        if self._at is not None and tip(why) != self._text:
            self.show(self._at, why)
