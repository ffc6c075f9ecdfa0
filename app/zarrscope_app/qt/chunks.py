"""The Chunks tab: the map, its counts, and the chosen chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.chunks.coloring import COLORINGS
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.chunks.view_models import (
    ABSENT,
    FAILED,
    LEGEND,
    LOADING,
    NONE_MISSING,
    NOT_PICTURED,
    PARTLY,
    PRESENT,
    UNTOLD,
    ChosenPart,
    ChunkMap,
    InnerMap,
)
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.node_description import Item
from zarrscope_app.qt.toolkit.core import QEvent, QSignalBlocker, Qt, Signal
from zarrscope_app.qt.toolkit.gui import (
    QKeyEvent,
    QResizeEvent,
    QShowEvent,
)
from zarrscope_app.qt.toolkit.widgets import (
    QBoxLayout,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from .chunk_map import PALEST, SMALLEST, WIDEST, MapWidget
from .follow import follow
from .text import Label, tip
from .theme import current_palette, fixed_font, icon, mix, quiet, warning
from .wrapping import WrappingRow

_SIGNS = {ABSENT: "⬚", PRESENT: "■", PARTLY: "▒", LOADING: "☰", FAILED: "☒", UNTOLD: "▨"}
_WIDEST_LEVEL = 256
"""The most pixels for the path of a level, so that a long one does not widen a dock."""
_LARGEST_INNER = 36.0
"""The most pixels along a side of a cell of the map of a shard."""


class PartLabels(QWidget):
    """A part of the details of a chunk: its title, and beneath it lines with labels, or text in a fixed font."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.items, self.text = Label(), QFormLayout(), Label()
        self.text.setFont(fixed_font())
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.addWidget(self.title)
        column.addLayout(self.items)
        column.addWidget(self.text)

    def show_part(self, part: ChosenPart) -> None:
        """Shows `part` in place of the present one."""
        self.title.setText(part.title)
        _show_items(self.items, part.items)
        self.text.setText(part.text)
        self.text.setVisible(bool(part.text))


class InnerPane(QWidget):
    """The chunks in the chosen shard. `set(axis, chunk)` is emitted when another plane of them is chosen."""

    set = Signal(str, int)

    def __init__(self) -> None:
        super().__init__()
        self.title, self.map = Label(), MapWidget()
        self.map.setAccessibleName(LABELS["chunk-inner-map"])
        self.map.setMinimumHeight(0)
        self._planes = WrappingRow()
        self._planes.setSpacing(6)
        self._spins: dict[str, QSpinBox] = {}
        self._parts: list[QWidget] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 0)
        column.addWidget(self.title)
        column.addLayout(self._planes)
        column.addWidget(self.map)

    def show_map(self, found: InnerMap) -> None:
        """Shows the chunks of another shard, or another plane of them."""
        self.title.setText(found.title)
        if [axis for axis, *_ in found.fixed] != [*self._spins]:
            for part in self._parts:
                self._planes.removeWidget(part)
                part.hide()
                part.deleteLater()
            self._spins, self._parts = {}, []
            for axis, *_ in found.fixed:
                part, self._spins[axis] = titled_spin(axis, self.set.emit)
                self._planes.addWidget(part)
                self._parts.append(part)
        for axis, chunk, first, last in found.fixed:
            blocker = QSignalBlocker(self._spins[axis])
            self._spins[axis].setRange(first, min(last, MOST_SPIN))
            self._spins[axis].setValue(chunk)
            blocker.unblock()
        rows, columns = found.cells.shape
        side = max(SMALLEST, min(_LARGEST_INNER, (SIDE - 24) / columns))
        self.map.setFixedHeight(min(SIDE, round(rows * side) + 2))
        self.map.show_map(found)


SIDE, WIDEST_SIDE = 320, 480
"""The least and the most pixels of the text beside the map."""
MOST_SPIN = 2**31 - 1
"""The largest value of a spin box."""


class ChunksPane(QWidget):
    """The Chunks tab. `attach` takes a chunks presenter, or None."""

    _presenter: ChunksPresenter | None = None  # here, because Qt may tell a change of the palette during construction

    has_image = True
    """Whether the front end shows an image of its own, in which a chunk can be shown; napari's dock does not."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.level, self.rows, self.columns = QComboBox(), QComboBox(), QComboBox()
        for combo, name in ((self.level, "level"), (self.rows, "chunk-rows"), (self.columns, "chunk-columns")):
            combo.setAccessibleName(LABELS[name])
            combo.setToolTip(LABELS[name])
        self.level.activated.connect(lambda place: self._tell("set_level", place))
        for combo in (self.rows, self.columns):
            combo.activated.connect(self._axes_chosen)
        self.coloring = QComboBox()
        self.coloring.setAccessibleName(LABELS["chunk-color"])
        self.coloring.addItems([label for _, label in COLORINGS])
        self.coloring.activated.connect(lambda place: self._tell("color_by", COLORINGS[place][0]))
        self._spins: dict[str, QSpinBox] = {}
        self._parts: list[QWidget] = []
        """The spin boxes with their titles."""
        self.whole = QPushButton(icon("fit"), LABELS["chunk-whole"])
        self.whole.clicked.connect(lambda: self._tell("show_whole"))
        refresh = self._refresh = QPushButton(icon("retry"), LABELS["chunk-refresh"])
        refresh.setAccessibleName(LABELS["chunk-refresh"])
        refresh.setToolTip(LABELS["chunk-refresh"])
        refresh.clicked.connect(lambda: self._tell("refresh"))
        self.level.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.level.setMaximumWidth(_WIDEST_LEVEL)
        top = self._top = WrappingRow()
        top.setSpacing(6)
        top.at_right = self.whole
        self._axes = QWidget()  # the two axes stay on one line
        across = QHBoxLayout(self._axes)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(6)
        for widget in (self.rows, Label("×"), self.columns):
            across.addWidget(widget)
        self._fill_top(narrow=False)
        self.map = MapWidget()
        self.map.picked.connect(lambda row, column: self._tell("choose", row, column))
        self.sentence, self.legend = Label(), Label()
        self.sentence.setWordWrap(True)
        self.legend.setWordWrap(True)
        middle = self._middle = QHBoxLayout()
        middle.addWidget(self.map)
        self._side = self._make_side()
        middle.addWidget(self._side)
        middle.addStretch()
        self._share(narrow=False)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 4)
        column.addLayout(top)
        column.addWidget(self.sentence)
        column.addWidget(self.legend)
        column.addLayout(middle, 1)

    def _make_side(self) -> QWidget:
        self.counts, self.title, self.details, self.about_chosen = QFormLayout(), Label(), QFormLayout(), Label()
        self.counts.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)  # the bars do not fit beside their name
        self.details.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        for lines in (self.counts, self.details):
            lines.setHorizontalSpacing(12)
        self.inner = InnerPane()
        self.inner.map.picked.connect(lambda row, column: self._tell("choose_inner", row, column))
        self.inner.set.connect(lambda axis, chunk: self._tell("set_inner", axis, chunk))
        self.more = QVBoxLayout()
        self.parts: list[PartLabels] = []
        """The parts of the details that have titles of their own."""
        self.about_chosen.setWordWrap(True)
        self.title.setWordWrap(True)
        self.missing = QPushButton(command("missing").label)
        self.missing.clicked.connect(lambda: self._tell("show_missing"))
        self.check = QPushButton(LABELS["chunk-check"])
        self.check.clicked.connect(lambda: self._tell("check"))
        self.in_image = QPushButton(LABELS["chunk-in-image"])
        self.in_image.clicked.connect(lambda: self._tell("show_in_image"))
        inside = QWidget()
        side = QVBoxLayout(inside)
        side.setContentsMargins(8, 0, 0, 0)
        side.addLayout(self.counts)
        side.addWidget(self.missing, 0, Qt.AlignmentFlag.AlignLeft)
        side.addSpacing(16)
        side.addWidget(self.title)
        side.addLayout(self.details)
        side.addWidget(self.about_chosen)
        buttons = WrappingRow()
        buttons.setSpacing(6)
        for button in (self.in_image, self.check):
            buttons.addWidget(button)
        side.addLayout(buttons)
        side.addWidget(self.inner)
        side.addLayout(self.more)
        side.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setMinimumWidth(SIDE)
        scroll.setMaximumWidth(WIDEST_SIDE)
        return scroll

    def attach(self, presenter: ChunksPresenter | None) -> None:
        """Shows the chunks of another session."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def changeEvent(self, event: QEvent | None) -> None:
        """Takes the colours of another theme."""
        super().changeEvent(event)
        if event is not None and event.type() == QEvent.Type.PaletteChange and self._presenter is not None:
            self._changed()

    def focus_map(self) -> None:
        """Gives the keyboard focus to the map."""
        self.map.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._changed()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Takes the keys of the map's own commands, which only the window's menu has otherwise."""
        acts = {"missing": "show_missing", "chunk-in-image": "show_in_image"}
        for id, gesture in acts.items():
            if event is not None and event.text() in command(id).keys:
                self._tell(gesture)
                return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Puts the map above its text in a narrow pane, such as a dock."""
        super().resizeEvent(event)
        self._lay_out()
        self._fit_map()

    def _fit_map(self) -> None:
        """Keeps the text beside the map, or beneath it, also if the map is small."""
        most, beneath = self.map.largest(), self._middle.direction() == QBoxLayout.Direction.TopToBottom
        self.map.setMaximumWidth(WIDEST if beneath else most.width())
        self.map.setMaximumHeight(most.height() if beneath else WIDEST)

    def _lay_out(self) -> None:
        narrow = self.width() < 2 * SIDE - 80
        across = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._middle.direction() != across:
            self._middle.setDirection(across)
            self._side.setMinimumWidth(0 if narrow else SIDE)
            self._side.setMaximumWidth(WIDEST if narrow else WIDEST_SIDE)
            self._refresh.setText("" if narrow else LABELS["chunk-refresh"])
            self._fill_top(narrow)
            self._share(narrow)

    def _share(self, narrow: bool) -> None:
        """Divides the room between the map and its text: beneath the map the text has more than half, else what the
        map leaves."""
        for widget, part in ((self.map, 45 if narrow else 100), (self._side, 55 if narrow else 1)):
            self._middle.setStretchFactor(widget, part)

    def _fill_top(self, narrow: bool) -> None:
        """Puts the controls into their order: on the short lines of a narrow pane the axes begin a line."""
        last = (self.whole, self._refresh)
        if narrow:
            order = (self.level, self.coloring, *last, self._axes, *self._parts)
        else:
            order = (self.level, self._axes, self.coloring, *self._parts, *last)
        for widget in order:
            self._top.removeWidget(widget)
        for widget in order:
            self._top.addWidget(widget)

    def _tell(self, gesture: str, *arguments: int | str) -> None:
        if self._presenter is not None:
            getattr(self._presenter, gesture)(*arguments)

    def _axes_chosen(self) -> None:
        self._tell("show", self.rows.currentText(), self.columns.currentText())

    def _changed(self) -> None:
        if self._presenter is None or not self.isVisible():
            return
        self._presenter.look()
        state = self._presenter.state
        fill(self.level, state.levels, state.level)
        self.level.setVisible(len(state.levels) > 1)
        self.level.setToolTip(tip(strings.joined(LABELS["level"], self.level.currentText())))
        for combo, axis in ((self.rows, state.row_axis), (self.columns, state.column_axis)):
            fill(combo, state.axes, state.axes.index(axis) if axis in state.axes else -1)
        self._axes.setVisible(len(state.axes) > 1)
        self.coloring.setVisible(state.cells is not None)
        self.coloring.setCurrentIndex([id for id, _ in COLORINGS].index(state.colored_by))
        self._show_fixed(state)
        self.whole.setVisible(not state.whole)
        self.sentence.setText(state.sentence)
        self.sentence.setVisible(bool(state.sentence))
        self.map.show_map(state)
        self._fit_map()
        _show_items(self.counts, state.items)
        chosen = state.chosen
        self.title.setText(
            chosen.title if chosen is not None else LABELS["chunk-choose"] if state.cells is not None else ""
        )
        _show_items(self.details, chosen.items if chosen is not None else ())
        self.about_chosen.setText(chosen.sentence if chosen is not None else "")
        self.about_chosen.setVisible(bool(self.about_chosen.text()))
        self.inner.setVisible(state.inner is not None)
        if state.inner is not None:
            self.inner.show_map(state.inner)
        self._show_parts(chosen.parts if chosen is not None else ())
        self.missing.setVisible(state.cells is not None)
        self.missing.setEnabled(not state.all_stored)
        self.missing.setToolTip(tip(NONE_MISSING if state.all_stored else ""))
        self.in_image.setVisible(chosen is not None and self.has_image)
        self.in_image.setEnabled(state.pictured)
        shown = command("chunk-in-image")
        self.in_image.setToolTip(tip(f"{shown.label} ({shown.keys[0]})" if state.pictured else NOT_PICTURED))
        self.check.setVisible(chosen is not None)
        self.check.setText(strings.RETRY if chosen is not None and chosen.failed else LABELS["chunk-check"])
        used = [] if state.cells is None else np.unique(state.cells).tolist()
        accent = current_palette().highlight().color()
        inks = {PRESENT: accent, PARTLY: accent, LOADING: accent, FAILED: warning(current_palette())}
        told = (
            f"<span style='color: {inks[code].name()}'>{_SIGNS[code]}</span>&nbsp;{LEGEND[code]}"
            if code in inks
            else f"{_SIGNS[code]}&nbsp;{LEGEND[code]}"
            for code in used
            if code != PRESENT or not state.scale  # the ramp says it
        )
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setText(" &nbsp; ".join((*told, *self._ramp(state))))

    def _show_parts(self, parts: tuple[ChosenPart, ...]) -> None:
        while len(self.parts) < len(parts):
            self.parts.append(PartLabels())
            self.more.addWidget(self.parts[-1])
        for number, shown in enumerate(self.parts):
            shown.setVisible(number < len(parts))
            if number < len(parts):
                shown.show_part(parts[number])

    def _ramp(self, state: ChunkMap) -> Iterator[str]:
        """The part of the legend about the colours: the values of some of them, if the stored chunks differ."""
        base, accent = current_palette().base().color(), current_palette().highlight().color()
        for share, told in state.scale:
            ink = mix(base, accent, PALEST + (1 - PALEST) * share)
            before = "" if share else f"{LEGEND[PRESENT]} &nbsp; "
            yield f"{before}<span style='color: {ink.name()}'>{_SIGNS[PRESENT]}</span>&nbsp;<nobr>{told}</nobr>"

    def _show_fixed(self, state: ChunkMap) -> None:
        names = [name for name, _, _ in state.fixed]
        if names != list(self._spins):
            for part in self._parts:
                self._top.removeWidget(part)
                part.hide()
                part.deleteLater()
            self._spins, self._parts = {}, []
            for name in names:
                part, spin = titled_spin(name, self._set)
                self._spins[name] = spin
                self._parts.append(part)
            self._fill_top(self._middle.direction() == QBoxLayout.Direction.TopToBottom)
        for name, chunk, many in state.fixed:
            spin = self._spins[name]
            spin.blockSignals(True)
            spin.setMaximum(min(many - 1, MOST_SPIN))
            spin.setValue(chunk)
            spin.blockSignals(False)

    def _set(self, name: str, chunk: int) -> None:
        self._tell("set_chunk", name, chunk)


def titled_spin(name: str, changed: Callable[[str, int], object]) -> tuple[QWidget, QSpinBox]:
    """A spin box behind its name, in one widget; `changed(name, value)` is called when its value changes."""
    part, spin = QWidget(), QSpinBox()
    spin.setAccessibleName(name)
    spin.valueChanged.connect(lambda value: changed(name, value))
    line = QHBoxLayout(part)
    line.setContentsMargins(0, 0, 0, 0)
    line.addWidget(Label(name))
    line.addWidget(spin)
    return part, spin


def fill(combo: QComboBox, texts: tuple[str, ...], current: int) -> None:
    """Sets the texts of a list; nothing changes if they are the same."""
    if texts != tuple(combo.itemText(i) for i in range(combo.count())):
        combo.clear()
        combo.addItems(texts)
    combo.setCurrentIndex(current)


def _show_items(form: QFormLayout, items: tuple[Item, ...]) -> None:
    if form.rowCount() != len(items):
        while form.rowCount():
            form.removeRow(0)
        for _ in items:
            label, text = Label(), Label()
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            form.addRow(label, text)
    dimmed = f"color: {quiet(current_palette()).name()}"
    for row, item in enumerate(items):
        for role, told in ((QFormLayout.ItemRole.LabelRole, item.label), (QFormLayout.ItemRole.FieldRole, item.text)):
            place = form.itemAt(row, role)
            widget = place.widget() if place is not None else None
            if isinstance(widget, Label) and widget.text() != told:
                widget.setText(told)
            if widget is not None and role == QFormLayout.ItemRole.LabelRole and widget.styleSheet() != dimmed:
                widget.setStyleSheet(dimmed)
