"""The tabs Values (exact numbers) and Info (the description of a node); and the page of an empty window."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from zarrscope_app.presenters import (
    TITLES,
    MetadataPresenter,
    Recent,
    Table,
    ValuesPresenter,
    strings,
)
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.node_description import DescriptionSection
from zarrscope_app.presenters.snippets import without_repetition
from zarrscope_app.presenters.values import ONE_COLUMN, in_two_lines
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import QAbstractTableModel, QEvent, QModelIndex, Qt, QUrl, Signal
from zarrscope_app.qt.toolkit.gui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from zarrscope_app.qt.toolkit.widgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSpinBox,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from . import kept_lock
from .check_box import CheckBox
from .chunks import fill
from .text import IconLabel, Label, literal, tip
from .theme import current_palette, fixed_font, icon, link_color, quiet

_ROWS = 100_000
"""The most rows of the table, because Qt stores a position for each row. The sliders or the picture lead to the other
rows."""
_BLOCK_ROWS, _BLOCK_COLUMNS = 64, 16
_FEW_COLUMNS = 32
"""Up to this many columns are as wide as their contents."""
_COPY = "copy:"
"""The prefix of the links in the Info tab that copy a snippet; the id of the snippet follows. Text from a file is never
part of a link."""


class ValuesModel(QAbstractTableModel):
    """The Qt model of the Values tab: asks the presenter for blocks of cells as they become visible."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: ValuesPresenter | None = None
        self._frame = Table()
        self._blocks: dict[tuple[int, int], list[list[str]]] = {}

    def attach(self, presenter: ValuesPresenter | None) -> None:
        """Shows another table."""
        self._presenter = presenter
        self.refresh()

    def refresh(self) -> None:
        """Paints the table again after its cells, its size or its headers have changed."""
        frame = self._presenter.state if self._presenter is not None else Table()
        self._blocks.clear()
        if (frame.rows, frame.columns, frame.column_labels) != (
            self._frame.rows,
            self._frame.columns,
            self._frame.column_labels,
        ):
            self.beginResetModel()
            self._frame = frame
            self.endResetModel()
            return
        self._frame = frame
        if self.rowCount() and self.columnCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 0 if parent.isValid() else min(self._frame.rows, _ROWS)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: B008 -- as Qt declares it
        return 0 if parent.isValid() else min(self._frame.columns, _ROWS)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignLeft if self._text(index).startswith('"') else Qt.AlignmentFlag.AlignRight
            return side | Qt.AlignmentFlag.AlignVCenter  # numbers are compared by their ends, words are read
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(self._text(index))
        return in_two_lines(self._text(index)) if self._frame.complex else self._text(index)

    def _text(self, index: QModelIndex) -> str:
        if self._presenter is None:
            return ""
        row, column = index.row() // _BLOCK_ROWS, index.column() // _BLOCK_COLUMNS
        if (row, column) not in self._blocks:
            top, left = row * _BLOCK_ROWS, column * _BLOCK_COLUMNS
            self._blocks[row, column] = self._presenter.cells(
                top, left, min(_BLOCK_ROWS, self._frame.rows - top), min(_BLOCK_COLUMNS, self._frame.columns - left)
            )
        block = self._blocks[row, column]
        line = block[index.row() % _BLOCK_ROWS] if index.row() % _BLOCK_ROWS < len(block) else []
        return line[index.column() % _BLOCK_COLUMNS] if index.column() % _BLOCK_COLUMNS < len(line) else ""

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role != Qt.ItemDataRole.DisplayRole or self._presenter is None:
            return None
        if orientation == Qt.Orientation.Horizontal:
            return self._presenter.label(0, section)[1]
        return self._presenter.label(section, 0)[0]


class ValuesPane(QWidget):
    """The Values tab: exact numbers in a table. `attach` takes a values presenter, or None. After copying,
    `copied(sentence)` is emitted: the reason if it failed, else ""."""

    copied = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: ValuesPresenter | None = None
        self.model = ValuesModel(self)
        self.view = kept_lock.TableView()
        self.view.setModel(self.model)
        self.view.setFont(fixed_font())
        self.view.setAccessibleName(LABELS["values"])
        # These keys copy cells only while the table has the focus; elsewhere they copy the path of the node.
        keys = QShortcut(QKeySequence.StandardKey.Copy, self.view)
        keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        keys.activated.connect(self.copy)
        self.view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        across = self.view.horizontalHeader()
        if across is not None:
            across.setResizeContentsPrecision(40)
            across.setMaximumSectionSize(480)
            across.setAccessibleName(LABELS["values-columns"])
        header = self.view.verticalHeader()
        if header is not None:
            header.setMinimumWidth(self.view.fontMetrics().horizontalAdvance("0000"))  # else "0" touches both edges
            header.setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
            header.setAccessibleName(LABELS["values-rows"])
        if (corner := self.view.findChild(QAbstractButton)) is not None:
            corner.setAccessibleName(LABELS["values-all"])
        self.sentence, self.source, self.note = Label(), Label(), Label()
        for label in (self.sentence, self.source, self.note):
            label.setWordWrap(True)
        self.rows, self.columns, self.format = QComboBox(), QComboBox(), QComboBox()
        top = QHBoxLayout()
        for combo, name in ((self.rows, "table-rows"), (self.columns, "table-columns"), (self.format, "table-format")):
            combo.setAccessibleName(LABELS[name])
            combo.setToolTip(LABELS[name])
            top.addWidget(combo)
        self._times = Label("×")
        top.insertWidget(1, self._times)
        for combo in (self.rows, self.columns):
            combo.activated.connect(self._axes_chosen)
        self.format.activated.connect(self._format_chosen)
        self._fixed = QHBoxLayout()
        self._spins: dict[str, QSpinBox] = {}
        self._parts: list[QWidget] = []
        top.addLayout(self._fixed)
        top.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 4)
        column.addLayout(top)
        column.addWidget(self.source)
        column.addWidget(self.note)
        column.addWidget(self.sentence)
        column.addWidget(self.view, 1)

    def copy(self) -> None:
        """Copies the selected cells to the clipboard, as lines of cells separated by tabs. If several ranges are
        selected, copies the rectangle around them."""
        chosen = self.view.selectionModel()
        selection: Any = chosen.selection() if chosen is not None else ()
        picked = [selection[i] for i in range(len(selection))]
        if self._presenter is None or not picked:
            return
        top, left = min(part.top() for part in picked), min(part.left() for part in picked)
        rows, columns = max(part.bottom() for part in picked) + 1, max(part.right() for part in picked) + 1
        self._presenter.copy(top, left, rows - top, columns - left, self._copied)

    def _copied(self, text: str, sentence: str) -> None:
        clipboard = QGuiApplication.clipboard()
        if text and clipboard is not None:
            clipboard.setText(text)
        self.copied.emit(sentence)

    def attach(self, presenter: ValuesPresenter | None) -> None:
        """Shows another table."""
        old, self._presenter = self._presenter, presenter
        self.model.attach(presenter)
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        self.model.refresh()
        for label, text in ((self.sentence, state.sentence), (self.source, state.source), (self.note, state.note)):
            label.setText(text)
            label.setVisible(bool(text))
        self._show_choices(state)
        shown = bool(state.rows and state.columns)
        self.view.setVisible(shown)
        header, lines = self.view.verticalHeader(), 2 if state.complex else 1
        if header is not None:
            header.setDefaultSectionSize(lines * self.view.fontMetrics().lineSpacing() + 6)
        centre = Qt.AlignmentFlag.AlignCenter
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignLeft if shown else centre)
        self.sentence.setMargin(0 if shown else 24)
        if state.columns <= _FEW_COLUMNS:
            self.view.resizeColumnsToContents()
        names = [name for name, _, _ in state.fixed]
        if names != list(self._spins):
            for part in self._parts:
                part.hide()
                part.deleteLater()
            self._spins, self._parts = {}, []
            while self._fixed.count():
                self._fixed.takeAt(0)
            for name in names:
                title, spin = Label(strings.clean(name, 24)), QSpinBox()
                spin.setAccessibleName(strings.clean(name, 24))
                spin.valueChanged.connect(lambda value, name=name: self._set(name, value))
                self._fixed.addWidget(title)
                self._fixed.addWidget(spin)
                self._spins[name] = spin
                self._parts += [title, spin]
        for name, index, length in state.fixed:
            spin = self._spins[name]
            spin.blockSignals(True)
            spin.setMaximum(max(0, min(length - 1, 2**31 - 1)))
            spin.setValue(index)
            spin.blockSignals(False)

    def _set(self, name: str, value: int) -> None:
        if self._presenter is not None:
            self._presenter.set_index(name, value)

    def _show_choices(self, state: Table) -> None:
        """Shows the axes of rows and columns, and the number format."""
        across = (*state.axes, ONE_COLUMN) if state.axes else ()
        chosen = state.column_title or ONE_COLUMN
        for combo, texts, text in ((self.rows, state.axes, state.row_title), (self.columns, across, chosen)):
            fill(combo, texts, texts.index(text) if text in texts else -1)
            combo.setVisible(len(texts) > 1)
        self._times.setVisible(len(state.axes) > 1)
        fill(self.format, state.formats, state.formats.index(state.format) if state.formats else -1)
        self.format.setVisible(bool(state.rows) and state.numbers)

    def _axes_chosen(self) -> None:
        across = self.columns.currentText()
        if self._presenter is not None:
            self._presenter.show(self.rows.currentText(), "" if across == ONE_COLUMN else across)

    def _format_chosen(self, place: int) -> None:
        if self._presenter is not None:
            self._presenter.set_format(self._presenter.state.formats[place])


def _unbroken(text: str) -> str:
    """The text with no end of a line within a shape, such as 1 × 3 × 512 × 512."""
    return text.replace(" × ", "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}")


_APART = 18
"""Pixels between the columns of a table in the Info tab."""
_CELL = "padding-top: 3px; padding-bottom: 3px; padding-right:"
"""The style of a cell of the description: the labels stand beneath the headings."""
_NARROW_INFO = 440
"""A description of fewer pixels has a narrower column of labels."""


class InfoPane(QWidget):
    """The Info tab: the description of a node, in words. `attach` takes a metadata presenter, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: MetadataPresenter | None = None
        self.text = QTextBrowser()
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._copy_code)
        self.text.setFrameShape(QTextBrowser.Shape.NoFrame)
        if (document := self.text.document()) is not None:
            document.setDocumentMargin(8)  # as the other tabs
        self._html = ""
        self._labels = 0
        """The width of the column of labels in the displayed description."""
        self._tables: tuple[DescriptionSection, ...] = ()
        """The sections of it that are shown as tables."""
        self._stale = False
        """Whether the node has changed while the tab was hidden."""
        self.text.setAccessibleName(TITLES["info"])
        self.documents = CheckBox(LABELS["document"])
        self.documents.toggled.connect(self._changed)
        copy = QPushButton(icon("copy"), LABELS["copy-all"])
        copy.clicked.connect(self._copy)
        row = QHBoxLayout()
        row.setContentsMargins(8, 4, 8, 4)
        row.addWidget(self.documents)
        row.addStretch(1)
        row.addWidget(copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.text, 1)
        column.addLayout(row)

    def attach(self, presenter: MetadataPresenter | None) -> None:
        """Shows the description of another node."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def changeEvent(self, event: QEvent | None) -> None:
        assert event is not None
        super().changeEvent(event)
        if event.type() == event.Type.PaletteChange and self._presenter is not None:
            self._changed()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        if self._stale:
            self._changed()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if (self._label_width(), self._fitting_tables()) != (self._labels, self._tables):
            self._changed()

    def _label_width(self) -> int:
        """The width of the column of labels: in a narrow pane only that of their longest word, because shapes would be
        broken."""
        if self.width() >= _NARROW_INFO or self._presenter is None:
            return 150
        labels = (item.label for section in self._presenter.state.sections for item in section.items)
        words = (word for label in labels for word in label.split())
        longest = max(map(self.text.fontMetrics().horizontalAdvance, words), default=0)
        return min(150, max(88, longest + 12))

    def _changed(self) -> None:
        self._stale = not self.isVisible()  # a hidden description is written when it is shown
        self._labels, self._tables = self._label_width(), self._fitting_tables()
        if self._presenter is None or self._stale:
            return
        state = self._presenter.state
        dim = quiet(current_palette()).name()
        parts = [f"<h3>{escape(state.title)}</h3>", f"<p style='color:{dim}'>{escape(state.subtitle)}</p>"]
        parts += [f"<p>{escape(state.words)}</p>"] if state.words else []
        parts += [f"<p><b>{escape(text)}</b></p>" for text in (state.problem, *state.warnings) if text]
        for section in state.sections:
            parts.append(f"<h4 style='margin-bottom: 2px'>{escape(section.title)}</h4>")
            parts += [f"<p style='margin: 0; color:{dim}'>{escape(section.hint)}</p>"] if section.hint else []
            parts.append("<table cellspacing='0' cellpadding='0'>")
            parts += self._rows(section, dim)
            parts.append("</table>")
        if state.snippets:
            parts.append(f"<h4>{LABELS['code-title']}</h4>")
        for snippet, titles in without_repetition(state.snippets):
            style = f"style='color: {link_color(current_palette()).name()}'"
            link = f" &nbsp; <a {style} href='{_COPY}{snippet.id}'>{LABELS['code-copy']}</a>" if snippet.text else ""
            told = (
                f"<pre style='white-space: pre-wrap;'>{escape(snippet.text)}</pre>"
                if snippet.text
                else f"<p style='color:{dim}'>{escape(snippet.why)}</p>"
            )
            parts.append(f"<p><b>{escape(titles)}</b>{link}</p>{told}")
        self._presenter.measure()
        if self.documents.isChecked():
            self._presenter.load_documents()
            parts += [f"<p style='color:{dim}'>{escape(state.undocumented)}</p>"] if state.undocumented else []
            for key, text in state.documents:
                parts.append(f"<h4>{escape(key)}</h4><pre style='white-space: pre-wrap;'>{escape(text)}</pre>")
        html = "".join(parts)
        bar = self.text.verticalScrollBar()
        if html != self._html:
            scrolled = bar.value() if bar is not None else 0
            self._html = html
            self.text.setHtml(html)
            if bar is not None:
                bar.setValue(scrolled)

    def _rows(self, section: DescriptionSection, dim: str) -> Iterator[str]:
        """The rows of a section in HTML: side by side if it is a table for which the pane is wide enough."""
        if section in self._tables:
            head = (f"<td style='color:{dim}; {_CELL} {_APART}px'>{escape(cell)}</td>" for cell in section.columns)
            yield f"<tr>{''.join(head)}</tr>"
            for row in section.rows:
                cells = (f"<td style='{_CELL} {_APART}px'>{_unbroken(escape(cell))}</td>" for cell in row)
                yield f"<tr>{''.join(cells)}</tr>"
            return
        for item in section.items:
            hint = f"<br><span style='color:{dim}'>{escape(item.hint)}</span>" if item.hint else ""
            yield (
                f"<tr><td width='{self._labels}' style='color:{dim}; {_CELL} 6px'>{escape(item.label)}</td>"
                f"<td style='{_CELL} 0'>{_unbroken(escape(item.text))}{hint}</td></tr>"
            )

    def _fitting_tables(self) -> tuple[DescriptionSection, ...]:
        """The sections of the description that the pane is wide enough to show as tables."""
        if self._presenter is None:
            return ()
        wide = self.text.fontMetrics().horizontalAdvance
        room = self.width() - 48  # the margins of the document and the scrollbar
        tables = (section for section in self._presenter.state.sections if section.rows)
        return tuple(
            section
            for section in tables
            if sum(max(map(wide, cells)) + _APART + 6 for cells in zip(section.columns, *section.rows, strict=True))
            <= room
        )

    def _copy_code(self, link: QUrl) -> None:
        clipboard = QGuiApplication.clipboard()
        for snippet in self._presenter.state.snippets if self._presenter is not None else ():
            if clipboard is not None and link.toString() == f"{_COPY}{snippet.id}":
                clipboard.setText(snippet.text)

    def _copy(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None and self._presenter is not None:
            clipboard.setText(self._presenter.text())


class WelcomePane(QWidget):
    """The empty window: a sentence, the ways to open something, and recent addresses. `asked(command)` and
    `picked(url)` are emitted for clicks."""

    asked = Signal(str)
    picked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        sentence = Label(strings.EMPTY_WINDOW)
        sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        sentence.setWordWrap(True)
        font = sentence.font()
        font.setPointSizeF(font.pointSizeF() * 1.2)
        sentence.setFont(font)
        mark = IconLabel(icon("zarrscope"), 48)
        mark.setAlignment(Qt.AlignmentFlag.AlignCenter)
        row = QHBoxLayout()
        row.addStretch(1)
        for name in ("open-folder", "open-file", "open-url", "open-demo"):
            button = QPushButton(icon(command(name).icon), command(name).label)
            button.clicked.connect(lambda _=False, name=name: self.asked.emit(name))
            row.addWidget(button)
        row.addStretch(1)
        self._title = Label(LABELS["places"])
        self._places = QVBoxLayout()
        self._places.setSpacing(0)
        places = QVBoxLayout()
        places.addWidget(self._title)
        places.addLayout(self._places)
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addLayout(places)
        middle.addStretch(1)
        column = QVBoxLayout(self)
        column.addStretch(2)
        column.addWidget(mark)
        column.addWidget(sentence)
        column.addSpacing(16)
        column.addLayout(row)
        column.addSpacing(24)
        column.addLayout(middle)
        column.addStretch(3)

    def show_recent(self, recent: tuple[Recent, ...]) -> None:
        """Lists the recently opened places."""
        while self._places.count():
            item = self._places.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.deleteLater()
        for place in recent:
            button = QPushButton(icon("recent"), literal(place.label))
            button.setFlat(True)
            button.setStyleSheet("text-align: left; padding: 4px 8px;")
            button.setToolTip(tip(place.url))
            button.clicked.connect(lambda _=False, url=place.url: self.picked.emit(url))
            self._places.addWidget(button)
        self._title.setVisible(bool(recent))
