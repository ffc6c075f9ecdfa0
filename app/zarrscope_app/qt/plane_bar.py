"""The bar beneath the sliders: the two displayed axes, and the projection along the current axis, with its cost."""

from __future__ import annotations

from zarrscope_app.presenters import SlicePresenter
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.qt.toolkit.widgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from .follow import follow
from .text import Label, literal, tip
from .typed_field import TypedField


class PlaneBar(QWidget):
    """The bar of planes. `attach` takes a slice presenter, or None. It is hidden for an image without further axes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._presenter: SlicePresenter | None = None
        self._along: tuple[tuple[str, str], ...] = ()
        self.axes = {role: QComboBox() for role in ("y", "x")}
        for role, box in self.axes.items():
            box.setAccessibleName(f"{LABELS['shown-axes']} {role}")
            box.setToolTip(LABELS["shown-axes-note"])
            box.activated.connect(lambda _, role=role: self._choose(role))
        self.method = QComboBox()
        self.method.setAccessibleName(LABELS["project"])
        self.method.activated.connect(self._project)
        for box, letters in ((self.axes["y"], 2), (self.axes["x"], 2), (self.method, 9)):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(letters)
            box.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.method.setMinimumWidth(self.method.sizeHint().width())  # in a narrow window the cost is cut off, else not
        self.method.setMinimumContentsLength(16)
        self.range = TypedField(LABELS["project-range"])
        self.range.setToolTip(LABELS["project-range"])
        self.range.set_widest("000–000")
        self.range.typed.connect(self._type_range)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 4)
        row.setSpacing(6)
        row.addWidget(self.axes["y"])
        row.addWidget(Label("×"))
        row.addWidget(self.axes["x"])
        row.addSpacing(12)
        for widget in (self.method, self.range):
            row.addWidget(widget)
        row.addStretch(1)

    def attach(self, presenter: SlicePresenter | None) -> None:
        """Shows the axes of `presenter`."""
        old, self._presenter = self._presenter, presenter
        follow(old, presenter, self._changed)

    def _changed(self) -> None:
        assert self._presenter is not None
        state = self._presenter.state
        able = [axis for axis in state.axes if axis.role in ("y", "x", "slider", "projected")]
        self.setVisible(state.kind == "image" and len(able) > 2)
        for role, box in self.axes.items():
            names = [axis.name for axis in able]
            if [box.itemData(i) for i in range(box.count())] != names:
                box.clear()
                for axis in able:
                    box.addItem(literal(axis.title), axis.name)
            box.setCurrentIndex(next((i for i, axis in enumerate(able) if axis.role == role), -1))
        view = state.projection
        methods = ["", *(id for id, _ in view.methods)]
        if ([self.method.itemData(i) for i in range(self.method.count())], view.methods) != (methods, self._along):
            self._along = view.methods
            self.method.clear()
            self.method.addItem(LABELS["project-off"], "")
            for id, title in view.methods:
                self.method.addItem(literal(title), id)
        self.method.setCurrentIndex(methods.index(view.method))
        self.range.show_text(view.range_text, state.refusal.sentence if state.refusal.field == "range" else "")
        self.method.setToolTip(tip(view.cost))
        self.method.setVisible(bool(view.methods))
        self.range.setVisible(bool(view.methods) and bool(view.method))

    def _choose(self, role: str) -> None:
        if self._presenter is None:
            return
        y, x = (self.axes[each].currentData() for each in ("y", "x"))
        if y == x:  # the chosen axis swaps with the one it replaces
            shown = {axis.role: axis.name for axis in self._presenter.state.axes}
            y, x = (y, shown["y"]) if role == "y" else (shown["x"], x)
        self._presenter.show(y, x)
        self._changed()

    def _project(self, row: int) -> None:
        if self._presenter is not None:
            self._presenter.project(self.method.itemData(row))
            self._changed()

    def _type_range(self, text: str) -> None:
        if self._presenter is not None:
            self._presenter.type_range(text)
            self._changed()
