"""The rows of the channels panel: a channel with its colour, contrast and gamma; a label image with its opacity."""

from __future__ import annotations

import math
from functools import partial

from zarrscope_app.presenters import ChannelView, LabelView, Refusal, SlicePresenter, strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.qt.toolkit.core import QSize, Qt
from zarrscope_app.qt.toolkit.gui import QAction, QBrush, QColor, QIcon, QLinearGradient, QPainter, QPixmap
from zarrscope_app.qt.toolkit.widgets import (
    QColorDialog,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QSlider,
    QToolButton,
    QWidget,
)

from .check_box import CheckBox
from .contrast import ContrastStrip
from .text import ElidedLabel, Label, literal, tip
from .theme import current_palette, icon, quiet
from .typed_field import TypedField

_PALETTE = ((0, 255, 255), (255, 0, 255), (255, 255, 0), (0, 255, 0), (255, 0, 0), (0, 0, 255), (255, 255, 255))
_STOPS = 8
"""Stops of the gradient that represents a colour map."""


class ChannelRow(QWidget):
    """One channel: its colour, contrast and gamma. Gestures go to the presenter at once."""

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
        self._name = _Name()
        self._eye = QToolButton()
        self._eye.setAutoRaise(True)
        self._eye.setCheckable(True)
        self._eye.toggled.connect(self._set_visible)
        self.limits = {end: TypedField("") for end in ("lo", "hi")}
        for end, field in self.limits.items():
            field.typed.connect(partial(self._type_limit, end))
            field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.limits["lo"].setAlignment(Qt.AlignmentFlag.AlignLeft)
        self._auto = QToolButton()
        self._auto.setAutoRaise(True)
        self._auto.setIcon(icon("contrast"))
        self._auto.setToolTip(command("auto").label)
        self._auto.clicked.connect(lambda: self._presenter.auto(self._number))
        self._alone = QToolButton()
        self._alone.setAutoRaise(True)
        self._alone.setIcon(icon("alone"))
        self._alone.setToolTip(LABELS["alone"])
        self._alone.clicked.connect(lambda: self._presenter.show_alone(self._number))
        self._gamma_title = Label("γ")
        self._gamma_title.setToolTip(LABELS["gamma"])
        self.gamma = TypedField("")
        self.gamma.set_widest("1.55")
        self.gamma.setToolTip(LABELS["gamma"])
        self.gamma.typed.connect(self._type_gamma)
        self.strip = ContrastStrip()
        self.strip.levels_dragged.connect(self._set_levels)
        self.strip.auto_asked.connect(lambda: self._presenter.auto(self._number))
        self.strip.seen_empty.connect(self._want_histogram)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(4)
        grid.setVerticalSpacing(2)
        grid.addWidget(self._swatch, 0, 0)
        grid.addWidget(self._name, 0, 1)
        grid.addWidget(self._alone, 0, 2)
        grid.addWidget(self._eye, 0, 3)
        grid.addWidget(self.strip, 1, 0, 1, 4)
        below = QHBoxLayout()
        below.setContentsMargins(0, 0, 0, 0)
        below.addWidget(self.limits["lo"], 1)  # as wide as the other: γ then stands in one column of all rows
        below.addWidget(self._auto)
        below.addWidget(self._gamma_title)
        below.addWidget(self.gamma)
        below.addWidget(self.limits["hi"], 1)
        grid.addLayout(below, 2, 0, 1, 4)
        grid.setColumnStretch(1, 1)

    def show_channel(
        self, view: ChannelView, presenter: SlicePresenter, refusal: Refusal, several: bool = True
    ) -> None:
        """Paints a snapshot. `refusal` marks the field whose text was refused; `several`: whether other channels
        exist."""
        self._presenter = presenter
        for end, text in (("lo", view.lo_text), ("hi", view.hi_text)):
            refused = refusal.sentence if refusal.field == f"{end}:{self._number}" else ""
            self.limits[end].show_text(text, refused)
        self.gamma.show_text(view.gamma_text, refusal.sentence if refusal.field == f"gamma:{self._number}" else "")
        if view == self._view:
            return
        self._view = view
        color = QColor(*view.color)
        self._swatch.setIcon(_ramp_swatch(view.ramp) if view.ramp else _swatch(color))
        if view.ramp:  # a histogram has one colour: the middle of the colour map
            color = QColor(*view.ramp[len(view.ramp) // 6 * 3 :][:3])
        light = (self._swatch, self._auto, self._gamma_title, self.gamma, self.strip)
        for widget in (*light, *self.limits.values()):
            widget.setVisible(not view.is_alpha)
        self._alone.setVisible(several and not view.is_alpha)
        self.gamma.setAccessibleName(f"{LABELS['gamma']} {view.label}")
        self._alone.setAccessibleName(f"{LABELS['alone']} {view.label}")
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
        self.strip.setToolTip(tip(strings.joined(view.text, view.unmeasured)))
        self.strip.setEnabled(view.lo is not None)
        # Heights are logarithms: on a linear axis the background would make everything else invisible.
        heights = [math.log1p(count) for count in view.histogram]
        most = max(heights, default=0.0) or 1.0
        levels = (view.lo if view.lo is not None else view.low, view.hi if view.hi is not None else view.high)
        self.strip.show_levels(
            [height / most for height in heights],
            (view.low, view.high),
            levels,
            color,
            view.limit_step,
            view.unmeasured,
        )

    def remove(self) -> None:
        """Takes the row off the panel for good."""
        self.hide()
        self.deleteLater()

    def _want_histogram(self) -> None:
        if self._view is not None and not self._view.visible:
            self._presenter.want_histogram(self._number)

    def _set_visible(self, visible: bool) -> None:
        self._presenter.set_visible(self._number, visible)

    def _type_gamma(self, text: str) -> None:
        self._presenter.type_gamma(self._number, text)
        state = self._presenter.state
        if self._number < len(state.channels):
            self.show_channel(state.channels[self._number], self._presenter, state.refusal)

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
        for title in self._presenter.colormaps:
            action = QAction(_ramp_swatch(self._presenter.ramp(title)), title, self._menu)
            action.setCheckable(True)
            action.setChecked(view.colormap == title)
            action.triggered.connect(partial(self._set_colormap, title))
            self._menu.addAction(action)
        self._menu.addSeparator()
        invert = QAction(LABELS["invert"], self._menu)
        invert.setCheckable(True)
        invert.setChecked(view.inverted)
        invert.triggered.connect(lambda on: self._presenter.set_inverted(self._number, on))
        self._menu.addAction(invert)

    def _set_color(self, color: tuple[int, int, int], _checked: bool = False) -> None:
        self._presenter.set_color(self._number, color)

    def _set_colormap(self, title: str, _checked: bool = False) -> None:
        self._presenter.set_colormap(self._number, title)

    def _ask_color(self) -> None:
        dialog = QColorDialog(self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._view is not None:
            dialog.setCurrentColor(QColor(*self._view.color))
        dialog.currentColorChanged.connect(lambda c: self._set_color((c.red(), c.green(), c.blue())))
        dialog.setModal(False)
        dialog.show()


class _Name(ElidedLabel):
    """The name of a channel or of a label image, as wide as there is space."""

    def __init__(self) -> None:
        super().__init__(Qt.TextElideMode.ElideMiddle)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def text_color(self) -> QColor:
        """Not Qt's colour of disabled text for a hidden channel, which is unreadable in a dark theme."""
        return quiet(current_palette(), 1.0 if self.isEnabled() else 0.55)


class LabelRow(QWidget):
    """One label image: its visibility, opacity, outline and the only label to draw."""

    def __init__(self, label: LabelView) -> None:
        super().__init__()
        self.visible = CheckBox(literal(strings.clean(label.name, 60)))
        self.opacity = QSlider(Qt.Orientation.Horizontal)
        self.opacity.setRange(0, 100)
        self.opacity.setFixedWidth(64)
        self.opacity.setToolTip(LABELS["alpha"])
        self.opacity.setAccessibleName(f"{LABELS['alpha']} {label.name}")
        self.outline = QToolButton()
        self.outline.setAutoRaise(True)
        self.outline.setCheckable(True)
        self.outline.setIcon(icon("outline"))
        self.outline.setToolTip(LABELS["outline"])
        self.outline.setAccessibleName(f"{LABELS['outline']} {label.name}")
        self.chosen = TypedField(f"{LABELS['only-label']} {label.name}")
        self.chosen.setPlaceholderText("#")
        self.chosen.setToolTip(LABELS["only-label"])
        self.chosen.set_widest("00000")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.visible, 1)
        for widget in (self.chosen, self.outline, self.opacity):
            row.addWidget(widget)

    def show_label(self, label: LabelView, refusal: Refusal) -> None:
        """Paints a snapshot, without the signals that a person's gestures send."""
        self.chosen.show_text(label.chosen_text, refusal.sentence if refusal.field == f"label:{label.path}" else "")
        for widget in (self.visible, self.opacity, self.outline):
            widget.blockSignals(True)
        self.outline.setChecked(label.outline)
        self.visible.setChecked(label.visible)
        self.visible.setToolTip(tip(label.sentence or label.path))
        self.opacity.setValue(round(label.opacity * 100))
        for field in (self.opacity, self.outline, self.chosen):
            field.setEnabled(label.visible)
        for widget in (self.visible, self.opacity, self.outline):
            widget.blockSignals(False)

    def remove(self) -> None:
        """Takes the row off the panel for good."""
        self.hide()
        self.deleteLater()


def _swatch(brush: QColor | QBrush) -> QIcon:
    pixmap = QPixmap(24, 16)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(128, 128, 128))
    painter.setBrush(brush)
    painter.drawRoundedRect(1, 3, 21, 10, 2, 2)
    painter.end()
    return QIcon(pixmap)


def _ramp_swatch(ramp: bytes) -> QIcon:
    """A swatch of a colour map, from left to right."""
    gradient = QLinearGradient(1, 0, 22, 0)
    last = len(ramp) // 3 - 1
    for stop in range(_STOPS + 1):
        at = round(stop / _STOPS * last) * 3
        gradient.setColorAt(stop / _STOPS, QColor(*ramp[at : at + 3]))
    return _swatch(QBrush(gradient))
