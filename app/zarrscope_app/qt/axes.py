"""A row for each axis that is not shown: its slider, editable fields for index and position, and a play button."""

from __future__ import annotations

from functools import partial

from zarrscope_app.presenters import AxisView, Refusal, SlicePresenter, strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.qt.toolkit.core import QSize, Qt
from zarrscope_app.qt.toolkit.widgets import QGridLayout, QSlider, QToolButton, QWidget

from .follow import follow
from .text import Label
from .theme import icon
from .typed_field import TypedField


class AxisSliders(QWidget):
    """A row for each axis of the role "slider": name, slider, index, physical position, play."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._names: tuple[tuple[str, int], ...] = ()
        self._rows: dict[str, _AxisRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 0, 8, 4)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows the axes of `presenter`."""
        old, self._presenter = self._presenter, presenter
        self._build(())
        follow(old, presenter, self._changed)

    def slider(self, axis: str) -> QSlider | None:
        """The slider of an axis; None if the axis has no slider."""
        return self._rows[axis].slider if axis in self._rows else None

    def focus_current(self) -> None:
        """Puts the keyboard focus on the index of the current axis."""
        if self._presenter is not None and self._presenter.state.current_axis in self._rows:
            self._rows[self._presenter.state.current_axis].index.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        shown = tuple(axis for axis in state.axes if axis.role == "slider")
        if tuple((axis.name, axis.length) for axis in shown) != self._names:
            self._build(shown)
        for axis in shown:
            self._rows[axis.name].show_axis(axis, axis.name == state.current_axis, state.refusal)

    def _build(self, axes: tuple[AxisView, ...]) -> None:
        for row in self._rows.values():
            row.remove()
        self._rows.clear()
        self._names = tuple((axis.name, axis.length) for axis in axes)
        for place, axis in enumerate(axes):
            row = _AxisRow(axis, self)
            row.slider.valueChanged.connect(lambda value, name=axis.name: self._set(name, value))
            row.slider.sliderPressed.connect(lambda name=axis.name: self._choose(name))
            row.play.clicked.connect(lambda _=False, name=axis.name: self._play(name))
            row.index.typed.connect(partial(self._type, "index", axis.name))
            row.position.typed.connect(partial(self._type, "position", axis.name))
            for field in (row.index, row.position):
                field.stepped.connect(lambda by, name=axis.name: self._step(name, by))
            row.place(self._grid, place)
            self._rows[axis.name] = row

    def _set(self, name: str, value: int) -> None:
        if self._presenter is not None:
            self._presenter.set_index(name, value)

    def _type(self, what: str, name: str, text: str) -> None:
        if self._presenter is not None:
            (self._presenter.type_index if what == "index" else self._presenter.type_position)(name, text)
            self._changed()

    def _step(self, name: str, by: int) -> None:
        if self._presenter is not None:
            self._presenter.step(by, name)
            self._changed()

    def _choose(self, name: str) -> None:
        if self._presenter is not None:
            self._presenter.choose_axis(name)

    def _play(self, name: str) -> None:
        if self._presenter is not None:
            self._presenter.play(name)


class _AxisRow:
    def __init__(self, axis: AxisView, parent: QWidget) -> None:
        self.name = Label(axis.title, parent)
        self.slider = QSlider(Qt.Orientation.Horizontal, parent)
        self.slider.setRange(0, axis.length - 1)
        self.slider.setPageStep(max(1, min(10, axis.length // 4)))
        self.slider.setMinimumWidth(80)
        self.slider.setAccessibleName(axis.title)
        self.index = TypedField(f"{LABELS['index']} {axis.title}", parent)
        self.index.set_widest(str(axis.length - 1))
        self.end = Label(parent)
        self.position = TypedField(f"{LABELS['position']} {axis.title}", parent)
        self.position.set_widest("0000.00 µm")
        self.position.setVisible(bool(axis.position))
        self.play = QToolButton(parent)
        self.play.setAutoRaise(True)
        self.play.setIconSize(QSize(16, 16))
        self.play.setAccessibleName(f"{command('play').label} {axis.title}")
        self.play.setToolTip(command("play").label)
        self._playing: bool | None = None

    def place(self, grid: QGridLayout, row: int) -> None:
        for column, widget in enumerate(self._widgets):
            grid.addWidget(widget, row, column)

    @property
    def _widgets(self) -> tuple[QWidget, ...]:
        return self.name, self.slider, self.index, self.end, self.position, self.play

    def show_axis(self, axis: AxisView, current: bool, refusal: Refusal) -> None:
        self.slider.blockSignals(True)
        self.slider.setValue(axis.index)
        self.slider.blockSignals(False)
        self.index.show_text(axis.index_text, refusal.sentence if refusal.field == f"index:{axis.name}" else "")
        self.end.setText(strings.joined(axis.end_text, axis.channel))
        self.position.show_text(axis.position, refusal.sentence if refusal.field == f"position:{axis.name}" else "")
        if self.name.font().bold() != current:
            font = self.name.font()
            font.setBold(current)
            self.name.setFont(font)
        if axis.playing != self._playing:
            self._playing = axis.playing
            self.play.setIcon(icon("pause" if axis.playing else "play"))

    def remove(self) -> None:
        for widget in self._widgets:
            widget.hide()
            widget.deleteLater()
