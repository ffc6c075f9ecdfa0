"""Paints labels in the viewer, and writes them back into their array.

napari can paint labels of one level only. A layer with several levels is replaced by a layer with only the finest
level, which can be painted. Painted labels are kept in memory and hide the stored ones, until the person has seen the
changes and writes them.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from qtpy.QtWidgets import QWidget

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import Owner
from zarrscope.view.editable import EditableView
from zarrscope_app.napari.dock_sentence import DockSentence
from zarrscope_app.napari.layers import insert, source_of, views_of
from zarrscope_app.napari.local_copy import LocalCopy
from zarrscope_app.napari.preview import PreviewDialog
from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters.layers import label_edits
from zarrscope_app.presenters.layers.label_edits import LabelEdits, LabelPlan
from zarrscope_app.presenters.session.opening import open_place

if TYPE_CHECKING:
    from napari.layers import Layer as NapariLayer
    from napari.viewer import Viewer


def is_labels(layer: NapariLayer) -> bool:
    """Whether `layer` is a labels layer that zarrscope made."""
    return layer is not None and type(layer).__name__ == "Labels" and bool(views_of(layer)) and bool(source_of(layer))


def is_painted(layer: NapariLayer) -> bool:
    """Whether `layer` has painted labels that are not yet written."""
    return is_labels(layer) and bool(label_edits.edits_of(layer.data))


def make_paintable(layer: NapariLayer) -> None:
    """Makes labels of one level paintable if napari made them from a layer of zarrscope: from an image (*Convert to
    labels*), or from one level of labels. Labels whose planes are too large stay as they are."""
    (view, *more) = views_of(layer)
    if type(layer).__name__ == "Labels" and not layer.multiscale and not more and not isinstance(view, EditableView):
        with suppress(ZarrscopeError):
            layer.data = label_edits.editable_of(view, layer.name)


class Painting:
    """The painted labels of one viewer. `said` shows results and failures."""

    def __init__(self, viewer: Viewer, owner: Owner, said: DockSentence, parent: QWidget) -> None:
        self._viewer, self._said, self._parent = viewer, said, parent
        self.edits = LabelEdits(owner)
        self.copy = LocalCopy(viewer, self.edits.jobs, said, parent)
        self.dialog: PreviewDialog | None = None

    @property
    def unsaved(self) -> list[NapariLayer]:
        """Layers with painted labels that are not yet written."""
        return [layer for layer in self._viewer.layers if is_painted(layer)]

    def paint(self) -> NapariLayer | None:
        """Replaces the selected labels by their finest level, ready for painting; returns the layer."""
        layer = self._viewer.layers.selection.active
        if not is_labels(layer):
            self._said.tell(label_edits.NOT_LABELS)
            return None
        if not isinstance(layer.data, EditableView):
            try:
                layer = self._exchanged(layer)
            except ZarrscopeError as error:
                self._said.tell(strings.problem(error).headline)
                return None
        self._viewer.layers.selection.active = layer
        layer.visible = True
        layer.mode = "paint"
        self._said.tell(label_edits.PAINT)
        return layer

    def _exchanged(self, layer: NapariLayer) -> NapariLayer:
        _, arguments, kind = layer.as_layer_data_tuple()
        layers, name = self._viewer.layers, layer.name
        data = label_edits.editable_of(views_of(layer)[0], name)
        insert(self._viewer, data, {**arguments, "multiscale": False, "visible": True}, kind)
        new = layers[-1]
        layers.move(len(layers) - 1, layers.index(layer))
        layers.remove(layer)
        new.name = name
        return new

    def write(self, session: Session | None) -> None:
        """Shows how the painted labels of the selected layer differ from the stored ones, and writes them if the person
        agrees."""
        layer = self._viewer.layers.selection.active
        if not is_labels(layer):
            self._said.tell(label_edits.NOT_LABELS)
        elif not is_painted(layer):
            self._said.tell(label_edits.NO_EDITS)
        else:
            self._said.tell(label_edits.LOOKING)
            source = source_of(layer)
            opener: label_edits.HierarchyOpener = open_place
            if session is not None and session.hierarchy is not None and session.hierarchy.url == source["url"]:
                opener = partial(
                    open_place, follow_links=session.follows_links, missing_is_fill=session.missing_is_fill
                )
            self.edits.look(source["url"], source["path"], layer.data, layer.name, partial(self._looked, layer), opener)

    def save_copy(self) -> None:
        """Offers to save the selected labels to a local copy."""
        layer = self._viewer.layers.selection.active
        if is_labels(layer):
            self.copy.offer(layer)
        else:
            self._said.tell(label_edits.NOT_LABELS)

    def _looked(self, layer: NapariLayer, plan: LabelPlan | None, problem: strings.Problem | None, copy: bool) -> None:
        self._said.tell("")  # a failure stands in the error bar of the job
        if plan is None:
            if copy:
                self.copy.offer(layer, problem.headline if problem is not None else "")
            return
        if plan.patch is None:
            plan.edits.clear(plan.version)
            self._said.tell_result(plan.sentence)
            return
        self.dialog = PreviewDialog(
            label_edits.TITLE,
            plan.sentence,
            plan.lines,
            label_edits.WRITE,
            partial(self._write, layer, plan),
            plan.close,
            self._parent,
        )
        self.dialog.open()

    def _write(self, layer: NapariLayer, plan: LabelPlan) -> None:
        self.edits.write(plan, partial(self._written, layer))

    def _written(self, layer: NapariLayer, sentence: str, problem: strings.Problem | None, copy: bool) -> None:
        if problem is None:
            self._said.tell_result(sentence)
        if layer in self._viewer.layers:
            layer.refresh()
            if copy:
                self.copy.offer(layer, problem.headline if problem is not None else "")
