"""Saves labels of a layer, with what was painted into them, as a new image on this machine: for stores that cannot be
written.

`plan_copy` describes the new image, and `LabelCopies.save` writes it in the background; the layer can then use the
copy, where painted labels are written as usual.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace

import zarrscope
from zarrscope.runtime.threads import JobResult
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.jobs import JobsPresenter, Report, if_complete
from zarrscope_app.presenters.layers.layer_writing import DrawnLayer, PlannedImage, plan_image, write_image
from zarrscope_app.presenters.layers.presenter import Layer, plan

TITLE = "Save labels to a local copy"
SAVE = "Save"
FOLDER = "Folder of the copy"
CHANGED_SINCE = "Labels were painted while the copy was written: the layer stays with its store, and keeps them."


def proposed_place(name: str) -> str:
    """Proposes the address of a copy: a folder that does not exist yet, with the name of the layer."""
    stem = "-".join(re.findall(r"\w+", name)) or "labels"
    for number in range(1, 1000):
        target = os.path.join(os.path.expanduser("~"), f"{stem}{f'-{number}' if number > 1 else ''}.zarr")
        if not os.path.lexists(target):
            break
    return target


def plan_copy(target: str, layer: DrawnLayer) -> PlannedImage:
    """The plan of the copy. Raises Unsupported for labels that OME-Zarr cannot hold."""
    return plan_image(os.path.expanduser(target), [replace(layer, kind="labels")])


def sentence(layer: DrawnLayer, why: str = "") -> str:
    """A sentence about what will be written, and why a copy is offered."""
    size = strings.size(int(layer.data.size) * layer.data.dtype.itemsize)
    told = f"All labels, painted ones included ({size}), are read and written to a new image. Its levels are built."
    return f"{why} {told}" if why else told


class LabelCopies:
    """Writes copies in the background, and opens them; `jobs` show the progress."""

    def __init__(self, jobs: JobsPresenter) -> None:
        self.jobs = jobs

    def save(self, planned: PlannedImage, done: Callable[[Layer | None, str, strings.Problem | None], object]) -> None:
        """Writes a copy in the background. Calls `done(layer, sentence, None)` with the labels of the copy as a layer,
        or `done(None, "", problem)` if it fails."""

        def work(report: Report, cancelled: Callable[[], bool]) -> Layer:
            url = write_image(planned, lambda part: report(part, planned.labels[0].name), cancelled)
            (layer,) = plan(zarrscope.open(url)[planned.label_paths[0]])
            return layer

        def ended(outcome: JobResult[Layer]) -> str:
            problem = strings.problem(outcome.error, planned.target) if outcome.error is not None else None
            told = f"Saved as {strings.clean(planned.target)}. The layer shows the copy now." if problem is None else ""
            done(outcome.value, told, problem)
            return told

        self.jobs.run(TITLE, work, ended, if_complete(ended))
