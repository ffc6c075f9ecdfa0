"""The writer: *File ▸ Save* with a name that ends in .zarr makes a new OME-Zarr image of the layers.

First a dialog shows the plan, and a person chooses the version of OME-Zarr in it; for a script there is no dialog.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from napari.utils import progress
from qtpy.QtWidgets import QApplication, QComboBox, QFileDialog, QFormLayout, QVBoxLayout, QWidget

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope_app.napari.background_jobs import STEPS, Stopped, while_shown
from zarrscope_app.napari.background_planes import loop_runs
from zarrscope_app.napari.layers import label_colors, label_properties
from zarrscope_app.napari.preview import PreviewDialog
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.layers import layer_writing
from zarrscope_app.presenters.layers.label_copies import proposed_place
from zarrscope_app.presenters.layers.layer_writing import DrawnLayer, PlannedImage, plan_image, write_image
from zarrscope_app.presenters.layers.presenter import NOT_PLACED

if TYPE_CHECKING:
    from napari.viewer import Viewer

    from zarrscope.model.json_value import JSON


class SaveDialog(PreviewDialog):
    """Shows the plan of a new image; `planned` is that plan once the person has agreed, else None."""

    def __init__(
        self, target: str, layers: Sequence[DrawnLayer], others: Sequence[str], parent: QWidget | None
    ) -> None:
        self._plans = partial(plan_image, target, layers, others=others)
        self.planned: PlannedImage | None = None
        self.version = QComboBox()
        self.version.addItems(list(layer_writing.VERSIONS))
        self.version.setAccessibleName(layer_writing.VERSION)
        said = layer_writing.sentence(layers)
        super().__init__(layer_writing.TITLE, said, (), layer_writing.WRITE, self._agree, lambda: None, parent)
        row, column = QFormLayout(), self.layout()
        row.addRow(layer_writing.VERSION, self.version)
        assert isinstance(column, QVBoxLayout)
        column.insertLayout(1, row)
        self.version.currentTextChanged.connect(self._renew)
        self._renew()

    def _renew(self, _: str = "") -> None:
        self.plan.setPlainText("\n".join(self._plans(self.version.currentText()).lines))

    def _agree(self) -> None:
        self.planned = self._plans(self.version.currentText())


def write(path: str, layers: list[tuple[Any, dict[str, Any], str]]) -> list[str]:
    """Writes layers, as napari gives them, to a new place. If writing fails, no files are left behind. Points, shapes
    and other kinds are left out, and the plan names them: napari offers a writer only if it takes all selected kinds.

    Raises Refused if the person does not agree, because napari reports a writer that returns no path as failed.
    """
    described = [drawn(*layer) for layer in layers if layer[2] in layer_writing.KINDS]
    others = [str(arguments.get("name", kind)) for _, arguments, kind in layers if kind not in layer_writing.KINDS]
    plan = plan_image(path, described, others=others)
    if not loop_runs():
        for told in plan.left_out:
            warnings.warn(told, UserWarning, stacklevel=2)
        with progress(total=STEPS, desc=plan.lines[0]) as bar:
            return [write_image(plan, lambda part: bar.update(int(part * STEPS) - bar.n))]
    dialog = SaveDialog(path, described, others, QApplication.activeWindow())
    dialog.exec()
    planned = dialog.planned
    try:
        if planned is None:
            raise Stopped
        return [while_shown(partial(write_image, planned), planned.lines[0])]
    except Stopped:
        raise Refused(strings.STOPPED, store=path) from None


def save_selected(
    viewer: Viewer,
    tell: Callable[[str], object],
    tell_result: Callable[[str], object],
    parent: QWidget | None = None,
) -> None:
    """Asks for a name, and writes the selected images and labels under it, also if the viewer's own dialog would take
    another writer for the name. `tell_result(sentence)` shows the outcome, `tell(sentence)` why there is none."""
    selected = [layer for layer in viewer.layers if layer in viewer.layers.selection]
    chosen = [layer for layer in selected if layer._type_string in layer_writing.KINDS]
    if not chosen:
        tell(layer_writing.NONE_SELECTED)
        return
    path, _ = QFileDialog.getSaveFileName(
        parent,
        layer_writing.TITLE,
        proposed_place(chosen[0].name),
        "OME-Zarr (*.zarr)",
        options=QFileDialog.Option.DontConfirmOverwrite,  # nothing is overwritten: the writer refuses
    )
    if not path:
        return
    try:
        (target,) = write(layer_writing.named_zarr(path), [layer.as_layer_data_tuple() for layer in chosen])
    except ZarrscopeError as error:
        told = strings.problem(error)
        tell(" ".join(filter(None, (f"{told.headline.rstrip('.')}.", told.advice))))
    else:
        tell_result(layer_writing.saved(target, [layer.name for layer in selected if layer not in chosen]))


def drawn(data: Any, arguments: dict[str, Any], kind: str) -> DrawnLayer:
    """Describes a napari layer as a DrawnLayer; for a pyramid its finest level."""
    finest = data[0] if arguments.get("multiscale") else data
    rgb = bool(arguments.get("rgb"))
    color, inverted, left_out = _shade(arguments) if kind == "image" and not rgb else (None, False, [])
    return DrawnLayer(
        kind,
        str(arguments.get("name", kind)),
        finest,
        tuple(map(str, arguments.get("axis_labels") or ())),
        tuple(map(float, arguments["scale"])),
        tuple(map(float, arguments["translate"])),
        tuple(map(str, arguments.get("units") or ("pixel",) * (finest.ndim - rgb))),
        visible=bool(arguments.get("visible", True)),
        rgb=rgb,
        color=color,
        inverted=inverted,
        contrast=_pair(arguments.get("contrast_limits")),
        contrast_range=_pair(arguments.get("metadata", {}).get("zarrscope", {}).get("contrast_range")),
        label_colors=label_colors(arguments.get("colormap")) if kind == "labels" else {},
        label_properties=label_properties(arguments.get("features")) if kind == "labels" else {},
        left_out=(*([NOT_PLACED] if _turned(arguments) else []), *left_out),
    )


def _pair(value: JSON) -> tuple[float, float] | None:
    return (float(value[0]), float(value[1])) if value is not None else None


def _shade(arguments: dict[str, Any]) -> tuple[tuple[int, int, int] | None, bool, list[str]]:
    """The colour of an image layer, whether its colour map runs from it to black, and sentences about the properties
    that a colour does not hold."""
    import numpy as np
    from napari.utils.colormaps import ensure_colormap

    left_out = [layer_writing.NO_GAMMA] if arguments.get("gamma", 1) != 1 else []
    colormap = arguments.get("colormap")
    if colormap is None:
        return None, False, left_out
    if isinstance(colormap, str):
        colormap = ensure_colormap(colormap)
    name, table = (
        (colormap.get("name", ""), colormap["colors"])
        if isinstance(colormap, dict)
        else (colormap.name, colormap.colors)
    )
    colors = np.asarray(table, float)[:, :3]
    inverted = bool(colors[0].any() and not colors[-1].any())
    if inverted:
        colors = colors[::-1]
    if not np.allclose(colors, np.linspace(0, 1, len(colors))[:, None] * colors[-1], atol=0.02):
        left_out.append(layer_writing.last_color(str(name)))
    red, green, blue = (round(255 * float(part)) for part in colors[-1])
    return (red, green, blue), inverted, left_out


def _turned(arguments: dict[str, Any]) -> bool:
    """Whether a layer has a rotation, a shear or an affine transformation, besides scale and translation."""
    import numpy as np

    def is_one(matrix: Any) -> bool:
        return matrix is None or bool(np.allclose(matrix, np.eye(len(matrix))))

    if np.any(arguments.get("shear", 0)):
        return True
    return not (is_one(arguments.get("affine")) and is_one(arguments.get("rotate")))
