"""The widths of the columns of names, values and kinds in the form of all fields."""

from __future__ import annotations

from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.widgets import QHeaderView, QTreeView

from .form_model import KIND, NAME, VALUE, kind_width

_NAMES = 320
"""The width in pixels of the column of names, if half of the form is not less."""
_NARROW = 400
"""The width in pixels below which names, values and kinds have too little room beside each other."""


class FormColumns:
    """Fits the columns of `view` to the width of the form."""

    def __init__(self, view: QTreeView) -> None:
        header, viewport = view.header(), view.viewport()
        assert header is not None
        assert viewport is not None
        self._header, self._viewport = header, viewport
        header.setAccessibleName(LABELS["attributes"])
        header.setStretchLastSection(False)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(KIND, QHeaderView.ResizeMode.Fixed)  # ResizeToContents would measure every row
        header.resizeSection(KIND, kind_width(view))
        self._names = header.sectionSize(NAME)

    def fit(self, width: int) -> None:
        """Leaves out the column of kinds in a narrow form, in which they are changed by the menu of a field. Names take
        at most half of the rest, unless the person has made them wider."""
        narrow = width < _NARROW
        self._header.setSectionHidden(KIND, narrow)
        half = (self._viewport.width() - (0 if narrow else self._header.sectionSize(KIND))) // 2
        if narrow or self._header.sectionSize(NAME) == self._names:
            self._names = min(_NAMES, half)
            self._header.resizeSection(NAME, self._names)
