"""The bar beneath the picture for laying another image over it, with its opacity."""

from __future__ import annotations

from collections.abc import Callable

from zarrscope_app.presenters import SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.image.blending import Blend, Other
from zarrscope_app.qt.toolkit.core import Qt, Signal
from zarrscope_app.qt.toolkit.widgets import QComboBox, QHBoxLayout, QSizePolicy, QSlider, QToolButton, QWidget

from .text import Label, literal, tip
from .theme import icon


class BlendBar(QWidget):
    """`attach` takes a slice presenter, or None; `toggle` shows the bar. `changed` is emitted when another image is
    chosen."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.others: Callable[[], tuple[Other, ...]] = tuple
        """Returns the images that can be laid over the picture."""
        self.blend: Blend | None = None
        self._listed: tuple[Other, ...] = ()
        self.choice = _Choice(self._list)
        self.choice.setAccessibleName(LABELS["blend-with"])
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.setMinimumContentsLength(18)
        self.choice.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.choice.activated.connect(self._chosen)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, 100)
        self.slider.setMinimumWidth(80)
        self.slider.setAccessibleName(LABELS["blend-share"])
        self.slider.setToolTip(tip(LABELS["blend-share"]))
        self.slider.valueChanged.connect(self._slid)
        self.said = Label()
        close = QToolButton()
        close.setAutoRaise(True)
        close.setIcon(icon("close"))
        close.setAccessibleName(LABELS["blend-close"])
        close.setToolTip(tip(LABELS["blend-close"]))
        close.clicked.connect(self.toggle)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 4)
        row.addWidget(Label(LABELS["blend-with"]))
        row.addWidget(self.choice)
        row.addWidget(self.slider, 1)
        row.addWidget(self.said)
        row.addWidget(close)
        self.hide()

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Attaches another presenter, at first without another image over its picture."""
        if self.blend is not None:
            self.blend.changed.disconnect(self._changed)
            self.blend.painted.disconnect(self._painted)
            self.blend.end()
        self.blend = Blend(presenter) if presenter is not None else None
        if self.blend is not None:
            self.blend.changed.connect(self._changed)
            self.blend.painted.connect(self._painted)
        self.hide()
        self._changed()

    def toggle(self) -> None:
        """Shows the bar, or removes the other image."""
        if self.isHidden():
            self._list()
            self.show()
            self.choice.setFocus()
        else:
            self.hide()
            if self.blend is not None:
                self.blend.show(None)

    def _list(self) -> None:
        """Lists the images that can be chosen now; new ones may have been opened since the bar was made."""
        here = self.blend.main.image if self.blend is not None else None
        listed = tuple(other for other in self.others() if other.image is not here)
        self._listed = listed
        self.choice.clear()
        self.choice.addItem(LABELS["blend-none"] if listed else LABELS["blend-nothing"])
        for other in listed:
            self.choice.addItem(literal(other.name))
        self._changed()

    def _chosen(self, place: int) -> None:
        if self.blend is not None:
            self.blend.show(self._listed[place - 1] if 0 < place <= len(self._listed) else None)

    def _slid(self, value: int) -> None:
        if self.blend is not None:
            self.blend.set_share(value / 100)

    def _painted(self) -> None:
        self.changed.emit()

    def _changed(self) -> None:
        state = self.blend.state if self.blend is not None else None
        over = state is not None and bool(state.name)
        if over and self.isHidden():  # a restored view lays an image over the picture
            self._listed = tuple(other for other in self.others() if other.name == (state.name if state else ""))
            self.show()
        names = [other.name for other in self._listed]
        self.choice.setCurrentIndex(names.index(state.name) + 1 if state is not None and state.name in names else 0)
        self.slider.setEnabled(over)
        if state is not None:
            self.slider.blockSignals(True)
            self.slider.setValue(round(state.share * 100))
            self.slider.blockSignals(False)
            self.said.setText(state.sentence or state.share_text)
        self.changed.emit()


class _Choice(QComboBox):
    """A list that is filled again whenever it is opened."""

    def __init__(self, listing: Callable[[], None]) -> None:
        super().__init__()
        self._listing = listing

    def showPopup(self) -> None:
        self._listing()
        super().showPopup()
