"""Shows text that may come from a file in Qt's widgets: character by character, never as HTML or a shortcut.

Qt's labels and tooltips guess whether a text is HTML, and buttons and menus interpret "&" as the mark of a shortcut.
Every label of this application is a `Label`; other widgets pass text from a file through `tip` or `literal`.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.elision import shortened_facts
from zarrscope_app.qt.theme import Role, current_palette
from zarrscope_app.qt.toolkit.core import QEvent, QSize, Qt
from zarrscope_app.qt.toolkit.gui import QColor, QIcon, QPainter, QPaintEvent, QPalette
from zarrscope_app.qt.toolkit.widgets import QLabel
from zarrscope_app.qt.wrapped_rows import BREAK, with_breaks

Ink = Callable[[QPalette], QColor]
"""A colour of text, mixed from a palette."""


class Label(QLabel):
    """A label that never shows HTML. With an `ink` its text has that colour of the current theme, also when the desktop
    changes to another theme."""

    _ink: Ink | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        for argument in arguments:
            if isinstance(argument, str):
                self.setText(argument)
            else:
                self.setParent(argument)

    def set_ink(self, ink: Ink) -> None:
        """Gives the text a colour that is mixed from the palette."""
        self._ink = ink
        self._color()

    def changeEvent(self, event: QEvent | None) -> None:
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.PaletteChange:
            self._color()

    def _color(self) -> None:
        """Colours the text and whatever else comes from the palette."""
        if self._ink is not None and (color := self._ink(current_palette())) != self.palette().color(Role.WindowText):
            palette = QPalette(self.palette())
            palette.setColor(Role.WindowText, color)
            self.setPalette(palette)


class IconLabel(Label):
    """A label that shows an icon in the colours of the current theme."""

    def __init__(self, shown: QIcon, side: int) -> None:
        super().__init__()
        self._shown, self._side = shown, side
        self._color()

    def _color(self) -> None:
        self.setPixmap(self._shown.pixmap(self._side, self._side))


class WrappedLabel(Label):
    """A label of several lines that also breaks long words such as addresses, which Qt would cut off at both ends."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)

    def setText(self, text: str | None) -> None:
        super().setText(with_breaks(text or ""))

    def text(self) -> str:
        """The text without the places where its words may be broken."""
        return super().text().replace(BREAK, "")


class ElidedLabel(Label):
    """A label whose text is shortened with an ellipsis if there is not enough space, unless it may take several lines
    (`setWordWrap`)."""

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__()
        self._mode = mode

    def text_color(self) -> QColor:
        """The colour of the text."""
        return self.palette().color(self.foregroundRole())

    def minimumSizeHint(self) -> QSize:
        if self.wordWrap():
            return super().minimumSizeHint()
        # Qt's is the whole text, which would widen the window instead of being shortened.
        least = self.fontMetrics().horizontalAdvance("…") * _LEAST_ELIDED
        return QSize(min(least, self.sizeHint().width()), super().minimumSizeHint().height())

    def shortened(self, width: int) -> str:
        """The text as it is shown in this many pixels."""
        return self.fontMetrics().elidedText(self.text(), self._mode, width)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        if self.wordWrap():
            super().paintEvent(event)
            return
        place = self.contentsRect()
        text = self.shortened(place.width())
        painter = QPainter(self)
        painter.setPen(self.text_color())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)


class FactsLabel(ElidedLabel):
    """A line of facts (strings.joined) of which the longest, which may be a sentence, is shortened: the others are
    short words that mean nothing in part."""

    def shortened(self, width: int) -> str:
        """The text as it is shown in this many pixels."""
        return shortened_facts(self.text(), self.fontMetrics().horizontalAdvance, width) or super().shortened(width)


_LEAST_ELIDED = 4
"""The least width of a shortened text, as a number of ellipses."""
_LONG = 90
"""Lines of more characters are wrapped in a tooltip, which Qt does only for HTML."""


def tip(text: str) -> str:
    """Returns `text` for a tooltip, so that Qt does not take it for HTML, and wraps long lines."""
    shown = strings.clean_lines(text)
    as_html = "<" in shown or "&" in shown or any(len(line) > _LONG for line in shown.splitlines())
    return f"<span style='white-space:pre-wrap'>{escape(shown, quote=False)}</span>" if as_html else shown


def literal(text: str) -> str:
    """Returns `text` for a button or a menu, so that Qt does not take "&" for a shortcut."""
    return text.replace("&", "&&")
