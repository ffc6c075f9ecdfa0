"""Lengths in pixels that grow with the font of the desktop."""

from __future__ import annotations

from zarrscope_app.qt.toolkit.widgets import QWidget

_USUAL = 7
"""The average width of a letter, in pixels, up to which lengths stay as they are: fonts of 9 or 10 points."""


def grown(widget: QWidget, pixels: int) -> int:
    """A length that suits the usual font, for the widget's own font if that is larger."""
    return round(pixels * max(1.0, widget.fontMetrics().averageCharWidth() / _USUAL))
