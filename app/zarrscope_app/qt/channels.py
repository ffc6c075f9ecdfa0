"""The panel right of the image: a row for each channel, the labels over it, and the level on show."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from qtpy.QtCore import QSize, Qt
from qtpy.QtGui import QAction, QColor, QIcon, QPainter, QPalette, QPixmap
from qtpy.QtWidgets import (
    QCheckBox,
    QColorDialog,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from zarrscope_app.presenters import ChannelView, LabelView, Refusal, SlicePresenter, strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.qt.follow import follow

from .contrast import ContrastStrip
from .text import Label, literal, tip
from .theme import icon
from .typed_field import TypedField

_PALETTE = ((0, 255, 255), (255, 0, 255), (255, 255, 0), (0, 255, 0), (255, 0, 0), (0, 0, 255), (255, 255, 255))
_GAMMAS = (0.5, 1.0, 2.0)


class ChannelsPanel(QScrollArea):
    """`attach` a slice presenter, or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._rows: list[_ChannelRow] = []
        self._labels: dict[str, _LabelRow] = {}
        self._level_names: tuple[str, ...] = ()
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(176)
        inside = QWidget()
        self.setWidget(inside)
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(8, 8, 8, 8)
        self._column.setSpacing(8)
        self._channels = QVBoxLayout()
        self._channels.setSpacing(8)
        self._column.addLayout(self._channels)
        self._auto = QPushButton(icon("contrast"), command("auto").label)
        self._auto.clicked.connect(self._auto_all)
        self._column.addWidget(self._auto)
        self._label_title = Label(LABELS["labels"])
        self._column.addWidget(self._label_title)
        self._label_rows = QVBoxLayout()
        self._column.addLayout(self._label_rows)
        self._level_title = Label(LABELS["level"])
        self._column.addWidget(self._level_title)
        self._level = QComboBox()
        self._level.setAccessibleName(LABELS["level"])
        self._level.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._level.activated.connect(self._lock)
        self._column.addWidget(self._level)
        self._column.addStretch(1)

    def sizeHint(self) -> QSize:
        return QSize(240, 400)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Show the channels of `presenter`."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def strip(self, channel: int) -> ContrastStrip:
        """The contrast strip of a channel. Raises IndexError."""
        return self._rows[channel].strip

    def focus_limits(self) -> None:
        """To the contrast limits of the first channel on show, to be typed over."""
        shown = self._presenter.state.channels if self._presenter is not None else ()
        row = next((row for row, channel in zip(self._rows, shown, strict=False) if channel.visible), None)
        if row is not None:
            row.limits["lo"].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        while len(self._rows) > len(state.channels):
            self._rows.pop().remove()
        while len(self._rows) < len(state.channels):
            row = _ChannelRow(len(self._rows), self._presenter)
            self._rows.append(row)
            self._channels.addWidget(row)
        for row, channel in zip(self._rows, state.channels, strict=True):
            row.show_channel(channel, self._presenter, state.refusal)
        self._auto.setVisible(bool(state.channels))
        self._show_labels(state.labels)
        names = tuple(level.text for level in state.levels)
        if names != self._level_names:
            self._level_names = names
            self._level.clear()
            self._level.addItems([LABELS["level-auto"], *names])
        self._level.setCurrentIndex(state.level + 1 if state.locked else 0)
        self._level.setItemText(0, state.level_text if not state.locked and state.level_text else LABELS["level-auto"])
        self._level.setToolTip(tip(state.level_text))
        for widget in (self._level, self._level_title):
            widget.setVisible(len(names) > 1)

    def _show_labels(self, labels: tuple[LabelView, ...]) -> None:
        paths = [label.path for label in labels]
        for path in [path for path in self._labels if path not in paths]:
            self._labels.pop(path).remove()
        for label in labels:
            if label.path not in self._labels:
                self._labels[label.path] = row = _LabelRow(label)
                row.visible.toggled.connect(partial(self._set_label, label.path))
                row.opacity.valueChanged.connect(partial(self._set_opacity, label.path))
                self._label_rows.addWidget(row)
            self._labels[label.path].show_label(label)
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

    def _lock(self, row: int) -> None:
        if self._presenter is not None:
            self._presenter.lock_level(None if row == 0 else row - 1)


class _ChannelRow(QWidget):
    def __init__(self, number: int, presenter: SlicePresenter) -> None:
        super().__init__()
        self._number = number
        self._presenter = presenter
        self._view: ChannelView | None = None
        self._swatch = QToolButton()
        self._swatch.setAutoRaise(True)
        self._swatch.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._swatch.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        self._swatch.setIconSize(QSize(24, 16))
        self._swatch.setToolTip(LABELS["color"])
        self._menu = QMenu(self._swatch)
        self._menu.aboutToShow.connect(self._fill_menu)
        self._swatch.setMenu(self._menu)
        self._name = _Elided()
        self._eye = QToolButton()
        self._eye.setAutoRaise(True)
        self._eye.setCheckable(True)
        self._eye.toggled.connect(self._set_visible)
        self.limits = {end: TypedField("") for end in ("lo", "hi")}
        for end, field in self.limits.items():
            field.typed.connect(partial(self._type_limit, end))
            field.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.limits["lo"].setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._auto = QToolButton()
        self._auto.setAutoRaise(True)
        self._auto.setIcon(icon("contrast"))
        self._auto.setToolTip(command("auto").label)
        self._auto.clicked.connect(lambda: self._presenter.auto(self._number))
        self.strip = ContrastStrip()
        self.strip.levels_dragged.connect(self._set_levels)
        self.strip.auto_asked.connect(lambda: self._presenter.auto(self._number))
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(2)
        grid.addWidget(self._swatch, 0, 0)
        grid.addWidget(self._name, 0, 1)
        grid.addWidget(self._eye, 0, 3)
        grid.addWidget(self.strip, 1, 0, 1, 4)
        below = QHBoxLayout()
        below.setContentsMargins(0, 0, 0, 0)
        below.addWidget(self.limits["lo"])
        below.addStretch(1)
        below.addWidget(self._auto)
        below.addStretch(1)
        below.addWidget(self.limits["hi"])
        grid.addLayout(below, 2, 0, 1, 4)
        grid.setColumnStretch(1, 1)

    def show_channel(self, view: ChannelView, presenter: SlicePresenter, refusal: Refusal) -> None:
        self._presenter = presenter
        for end, text in (("lo", view.lo_text), ("hi", view.hi_text)):
            refused = refusal.sentence if refusal.field == f"{end}:{self._number}" else ""
            self.limits[end].show_text(text, refused)
        if view == self._view:
            return
        self._view = view
        color = QColor(*view.color)
        self._swatch.setIcon(_swatch(color))
        self._swatch.setAccessibleName(f"{LABELS['color']} {view.label}")
        self._name.setText(view.label)
        self._name.setToolTip(tip(view.label))
        self._name.setEnabled(view.visible)
        for end, field in self.limits.items():
            field.setAccessibleName(f"{LABELS[f'limit-{end}']} {view.label}")
            field.setEnabled(view.lo is not None)
        self._auto.setAccessibleName(f"{command('auto').label} {view.label}")
        self._eye.blockSignals(True)
        self._eye.setChecked(view.visible)
        self._eye.blockSignals(False)
        self._eye.setIcon(icon("visible" if view.visible else "hidden"))
        self._eye.setToolTip(LABELS["visible"])
        self._eye.setAccessibleName(f"{LABELS['visible']} {view.label}")
        self.strip.setAccessibleName(f"{command('auto').label} {view.label}")
        self.strip.setToolTip(tip(view.text))
        self.strip.setEnabled(view.lo is not None)
        # Background swamps everything else on a linear axis: heights are logarithms.
        heights = [math.log1p(count) for count in view.histogram]
        most = max(heights, default=0.0) or 1.0
        levels = (view.lo if view.lo is not None else view.low, view.hi if view.hi is not None else view.high)
        self.strip.show_levels([height / most for height in heights], (view.low, view.high), levels, color)

    def remove(self) -> None:
        self.hide()
        self.deleteLater()

    def _set_visible(self, visible: bool) -> None:
        self._presenter.set_visible(self._number, visible)

    def _type_limit(self, end: str, text: str) -> None:
        self._presenter.type_limit(self._number, end, text)
        state = self._presenter.state
        if self._number < len(state.channels):
            self.show_channel(state.channels[self._number], self._presenter, state.refusal)

    def _set_levels(self, lo: float, hi: float) -> None:
        self._presenter.set_levels(self._number, lo, hi)

    def _fill_menu(self) -> None:
        self._menu.clear()
        view = self._view
        if view is None:
            return
        for color in _PALETTE:
            action = QAction(_swatch(QColor(*color)), QColor(*color).name(), self._menu)
            action.triggered.connect(partial(self._set_color, color))
            self._menu.addAction(action)
        self._menu.addAction(LABELS["more-colors"], self._ask_color)
        self._menu.addSeparator()
        invert = QAction(LABELS["invert"], self._menu)
        invert.setCheckable(True)
        invert.setChecked(view.inverted)
        invert.triggered.connect(lambda on: self._presenter.set_inverted(self._number, on))
        self._menu.addAction(invert)
        for gamma in _GAMMAS:
            action = QAction(f"{LABELS['gamma']} {strings.short(gamma)}", self._menu)
            action.setCheckable(True)
            action.setChecked(view.gamma == gamma)
            action.triggered.connect(partial(self._set_gamma, gamma))
            self._menu.addAction(action)

    def _set_color(self, color: tuple[int, int, int], _checked: bool = False) -> None:
        self._presenter.set_color(self._number, color)

    def _set_gamma(self, gamma: float, _checked: bool = False) -> None:
        self._presenter.set_gamma(self._number, gamma)

    def _ask_color(self) -> None:
        dialog = QColorDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._view is not None:
            dialog.setCurrentColor(QColor(*self._view.color))
        dialog.currentColorChanged.connect(lambda c: self._set_color((c.red(), c.green(), c.blue())))
        dialog.setModal(False)
        dialog.show()


class _Elided(Label):
    """A name that gives way to what stands beside it, and says so with an ellipsis."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: Any) -> None:
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideMiddle, self.width())
        painter = QPainter(self)
        group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
        painter.setPen(self.palette().color(group, QPalette.ColorRole.WindowText))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)


class _LabelRow(QWidget):
    def __init__(self, label: LabelView) -> None:
        super().__init__()
        self.visible = QCheckBox(literal(strings.clean(label.name, 60)))
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setFixedWidth(64)
        self.opacity.setToolTip(LABELS["alpha"])
        self.opacity.setAccessibleName(f"{LABELS['alpha']} {label.name}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.visible, 1)
        row.addWidget(self.opacity)

    def show_label(self, label: LabelView) -> None:
        for widget in (self.visible, self.opacity):
            widget.blockSignals(True)
        self.visible.setChecked(label.visible)
        self.visible.setToolTip(tip(label.sentence or label.path))
        self.opacity.setValue(round(label.opacity * 100))
        self.opacity.setEnabled(label.visible)
        for widget in (self.visible, self.opacity):
            widget.blockSignals(False)

    def remove(self) -> None:
        self.hide()
        self.deleteLater()


def _swatch(color: QColor) -> QIcon:
    pixmap = QPixmap(24, 16)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(128, 128, 128))
    painter.setBrush(color)
    painter.drawRoundedRect(1, 3, 21, 10, 2, 2)
    painter.end()
    return QIcon(pixmap)
