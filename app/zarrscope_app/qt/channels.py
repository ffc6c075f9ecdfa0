"""The panel at the right of the image: a row for each channel and each label image, and the displayed level."""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters import LabelView, Refusal, SlicePresenter
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.image.channel_search import MANY_CHANNELS, matching_channels
from zarrscope_app.qt.follow import follow
from zarrscope_app.qt.toolkit.core import QEvent, QObject, QSize, Qt, Signal
from zarrscope_app.qt.toolkit.gui import QKeyEvent
from zarrscope_app.qt.toolkit.widgets import (
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from .channel_rows import ChannelRow, LabelRow
from .check_box import CheckBox
from .contrast import ContrastStrip
from .text import Label, tip
from .theme import icon

_LEAST_WIDTH = 208


class ChannelsPanel(QScrollArea):
    """The panel with channels, labels and the displayed level. `attach` takes a slice presenter, or None. `left` is
    emitted when the person is done here, so that the picture gets the keyboard focus."""

    left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._rows: list[ChannelRow] = []
        self._labels: dict[str, LabelRow] = {}
        self._level_names: tuple[str, ...] = ()
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(_LEAST_WIDTH)
        self.setAccessibleName(LABELS["channels"])
        inside = QWidget()
        self.setWidget(inside)
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(8, 8, 8, 8)
        self._column.setSpacing(8)
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.search.setPlaceholderText(LABELS["channel-name"])
        self.search.setAccessibleName(LABELS["channel-name"])
        self.search.setToolTip(LABELS["channel-name"])
        self.search.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self._filter)
        self.search.returnPressed.connect(self._show_named)
        self._unknown = Label(LABELS["channel-unknown"])
        self._column.addWidget(self.search)
        self._column.addWidget(self._unknown)
        self._channels = QVBoxLayout()
        self._channels.setSpacing(8)
        self._column.addLayout(self._channels)
        self._auto = QPushButton(icon("contrast"), command("auto").label)
        self._auto.clicked.connect(self._auto_all)
        self._column.addWidget(self._auto)
        self._part_title = Label(LABELS["part"])
        self._column.addWidget(self._part_title)
        self._part = QComboBox()
        self._part.setAccessibleName(LABELS["part"])
        self._part.activated.connect(self._set_part)
        self._column.addWidget(self._part)
        self._label_title = Label(LABELS["labels"])
        self._column.addWidget(self._label_title)
        self._label_rows = QVBoxLayout()
        self._column.addLayout(self._label_rows)
        self._level_title = Label(LABELS["level"])
        self._level = QComboBox()
        self._level.setAccessibleName(LABELS["level"])
        self._level.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._level.activated.connect(self._lock)
        level = QHBoxLayout()
        level.addWidget(self._level_title)
        level.addWidget(self._level, 1)
        self._column.addLayout(level)
        self._smooth = CheckBox(LABELS["smooth"])
        self._smooth.toggled.connect(self._set_smooth)
        self._column.addWidget(self._smooth)
        self._dots = CheckBox(LABELS["dots"])
        self._dots.setToolTip(command("dots").label)
        self._dots.toggled.connect(self._set_dots)
        self._column.addWidget(self._dots)
        self._column.addStretch(1)

    def sizeHint(self) -> QSize:
        return QSize(240, 400)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows the channels of `presenter`."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def strip(self, channel: int) -> ContrastStrip:
        """The contrast strip of a channel. Raises IndexError."""
        return self._rows[channel].strip

    def focus_limits(self) -> None:
        """Puts the keyboard focus on the contrast limits of the first displayed channel."""
        shown = self._presenter.state.channels if self._presenter is not None else ()
        row = next((row for row, channel in zip(self._rows, shown, strict=False) if channel.visible), None)
        if row is not None:
            row.limits["lo"].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def find_channel(self) -> None:
        """Shows the field for the name of a channel, and gives it the keyboard focus."""
        if len(self._rows) > 1:
            self.search.show()
            self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.search.selectAll()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        assert event is not None
        if event.key() == Qt.Key.Key_Escape and self.search.hasFocus():
            self.search.clear()
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def _filter(self) -> None:
        """Shows the rows of the channels whose names contain the typed text."""
        channels = self._presenter.state.channels if self._presenter is not None else ()
        found = matching_channels([channel.label for channel in channels], self.search.text())
        for number, row in enumerate(self._rows):
            row.setVisible(number in found)
        self._unknown.setVisible(bool(channels) and not found)

    def _show_named(self) -> None:
        """Shows the found channel alone, with its row among all others; the keys then act on the picture."""
        number = self._presenter.show_named(self.search.text()) if self._presenter is not None else None
        if number is not None:
            self.search.clear()
            self._show_row(self._rows[number])
            self.left.emit()

    def _show_row(self, row: ChannelRow) -> None:
        """Scrolls to a row. The panel, as short as the rows that were left, first grows for all of them."""
        inside, viewport = self.widget(), self.viewport()
        assert inside is not None
        assert viewport is not None
        self._column.activate()
        inside.resize(inside.width(), max(viewport.height(), inside.minimumSizeHint().height()))
        self.ensureWidgetVisible(row)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        while len(self._rows) > len(state.channels):
            self._rows.pop().remove()
        while len(self._rows) < len(state.channels):
            row = ChannelRow(len(self._rows), self._presenter)
            self._rows.append(row)
            self._channels.addWidget(row)
        for row, channel in zip(self._rows, state.channels, strict=True):
            row.show_channel(channel, self._presenter, state.refusal, len(state.channels) > 1)
        self.search.setVisible(len(state.channels) > MANY_CHANNELS or self.search.hasFocus())
        self._filter()
        self._auto.setVisible(bool(state.channels))
        self._show_labels(state.labels, state.refusal)
        self._smooth.setChecked(state.smooth)
        self._dots.setChecked(state.dots)
        parts = state.channels[0].parts if state.channels else ()
        for widget in (self._part, self._part_title):
            widget.setVisible(bool(parts))
        if parts and self._part.count() != len(parts):
            self._part.clear()
            for id, title in parts:
                self._part.addItem(title, id)
        if parts:
            self._part.setCurrentIndex([id for id, _ in parts].index(state.channels[0].part))
        names = tuple(level.text for level in state.levels)
        if names != self._level_names:
            self._level_names = names
            self._level.clear()
            self._level.addItems([state.automatic_level, *names])
        self._level.setCurrentIndex(state.level + 1 if state.locked else 0)
        self._level.setItemText(0, state.automatic_level)
        self._level.setToolTip(tip(state.level_text))
        for widget in (self._level, self._level_title):
            widget.setVisible(len(names) > 1)
        self._keep_room()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Follows the sizes of the rows, which change a turn of the event loop after their texts."""
        handled = super().eventFilter(watched, event)
        if event is not None and event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self._keep_room()
        return handled

    def _keep_room(self) -> None:
        """Keeps the panel wide enough for its controls and the scroll bar, which would else cover the controls at the
        right."""
        inside, bar = self.widget(), self.verticalScrollBar()
        if inside is not None and bar is not None:
            self.setMinimumWidth(max(_LEAST_WIDTH, inside.minimumSizeHint().width() + bar.sizeHint().width()))

    def _show_labels(self, labels: tuple[LabelView, ...], refusal: Refusal) -> None:
        paths = [label.path for label in labels]
        for path in [path for path in self._labels if path not in paths]:
            self._labels.pop(path).remove()
        for label in labels:
            if label.path not in self._labels:
                self._labels[label.path] = row = LabelRow(label)
                row.visible.toggled.connect(partial(self._set_label, label.path))
                row.opacity.valueChanged.connect(partial(self._set_opacity, label.path))
                row.outline.toggled.connect(partial(self._set_outline, label.path))
                row.chosen.typed.connect(partial(self._type_label, label.path))
                self._label_rows.addWidget(row)
            self._labels[label.path].show_label(label, refusal)
        self._label_title.setVisible(bool(labels))

    def _auto_all(self) -> None:
        if self._presenter is not None:
            self._presenter.auto()

    def _set_label(self, path: str, visible: bool) -> None:
        if self._presenter is not None:
            self._presenter.set_label(path, visible)

    def _set_opacity(self, path: str, percent: int) -> None:
        if self._presenter is not None:
            self._presenter.set_label(path, self._labels[path].visible.isChecked(), percent / 100)

    def _set_outline(self, path: str, outline: bool) -> None:
        if self._presenter is not None:
            self._presenter.set_outline(path, outline)

    def _type_label(self, path: str, text: str) -> None:
        if self._presenter is not None:
            self._presenter.type_label(path, text)
            self._changed()

    def _set_smooth(self, smooth: bool) -> None:
        if self._presenter is not None:
            self._presenter.set_smooth(smooth)

    def _set_dots(self, dots: bool) -> None:
        if self._presenter is not None and dots != self._presenter.state.dots:
            self._presenter.set_dots(dots)

    def _set_part(self, row: int) -> None:
        if self._presenter is not None:
            self._presenter.set_part(self._part.itemData(row))

    def _lock(self, row: int) -> None:
        if self._presenter is not None:
            self._presenter.lock_level(None if row == 0 else row - 1)
