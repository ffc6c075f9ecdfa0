"""*Save to local copy*: writes the labels of a layer, with the painted ones, as a new image on this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from qtpy.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from zarrscope.errors import ZarrscopeError
from zarrscope.view.editable import EditableView
from zarrscope_app.napari.dock_sentence import DockSentence
from zarrscope_app.napari.layers import source_of
from zarrscope_app.napari.preview import PreviewDialog
from zarrscope_app.napari.writer import drawn
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.jobs import JobsPresenter
from zarrscope_app.presenters.layers import label_copies
from zarrscope_app.presenters.layers.label_copies import LabelCopies
from zarrscope_app.presenters.layers.label_edits import editable_of
from zarrscope_app.presenters.layers.layer_writing import DrawnLayer
from zarrscope_app.presenters.layers.presenter import Layer

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.viewer import Viewer


class CopyDialog(PreviewDialog):
    """Shows the plan of a copy. `target` is the field for the folder in which the copy is made."""

    def __init__(self, layer: DrawnLayer, why: str, carry_out: Callable[[], object], parent: QWidget | None) -> None:
        self._layer = layer
        self.target = QLineEdit(label_copies.proposed_place(layer.name))
        self.target.setAccessibleName(label_copies.FOLDER)
        browse = QPushButton(LABELS["browse"])
        browse.clicked.connect(self._browse)
        said = label_copies.sentence(layer, why)
        super().__init__(label_copies.TITLE, said, (), label_copies.SAVE, carry_out, lambda: None, parent)
        row = QHBoxLayout()
        row.addWidget(self.target, 1)
        row.addWidget(browse)
        column = self.layout()
        assert isinstance(column, QVBoxLayout)
        column.insertLayout(1, row)
        self.target.textChanged.connect(self._renew)
        self._renew()

    def _browse(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(self, label_copies.FOLDER, self.target.text())
        if chosen:
            self.target.setText(chosen)

    def _renew(self) -> None:
        """Shows the plan for the typed folder."""
        try:
            lines = label_copies.plan_copy(self.target.text(), self._layer).lines
        except ZarrscopeError as error:
            lines = (strings.problem(error).headline,)
            self._allow(False)
        else:
            self._allow(bool(self.target.text().strip()))
        self.plan.setPlainText("\n".join(lines))

    def _allow(self, allowed: bool) -> None:
        assert self.act is not None
        self.act.setEnabled(allowed)


class LocalCopy:
    """Offers and makes copies for one dock. `said` shows results and failures."""

    def __init__(self, viewer: Viewer, jobs: JobsPresenter, said: DockSentence, parent: QWidget) -> None:
        self._viewer, self._said, self._parent = viewer, said, parent
        self._copies = LabelCopies(jobs)
        self.dialog: CopyDialog | None = None

    def offer(self, layer: NapariLayer, why: str = "") -> None:
        """Shows the plan, and writes the copy if the person agrees. `why` states the reason for the offer."""
        described = drawn(*layer.as_layer_data_tuple())
        self.dialog = CopyDialog(described, why, partial(self._save, layer, described), self._parent)
        self.dialog.open()

    def _save(self, layer: NapariLayer, described: DrawnLayer) -> None:
        dialog = self.dialog
        assert dialog is not None
        planned = label_copies.plan_copy(dialog.target.text(), described)
        self._copies.save(planned, partial(self._saved, layer, _version(layer)))

    def _saved(
        self,
        layer: NapariLayer,
        version: int | None,
        copy: Layer | None,
        sentence: str,
        problem: strings.Problem | None,
    ) -> None:
        if copy is None:
            self._said.tell("")  # a failure stands in the error bar of the job
            return
        if layer not in self._viewer.layers:
            self._said.tell_result(sentence)
            return
        if version != _version(layer):
            self._said.tell(label_copies.CHANGED_SINCE)
            return
        layer.data = list(copy.data) if layer.multiscale else editable_of(copy.data[0], layer.name)
        source_of(layer).update(copy.source, axes=list(copy.axis_names))
        self._said.tell_result(sentence)


def _version(layer: NapariLayer) -> int | None:
    """The version number of a layer's painted labels, which each painting changes; None if it cannot be painted."""
    return layer.data.edits.version if isinstance(layer.data, EditableView) else None
