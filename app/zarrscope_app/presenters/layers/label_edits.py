"""Edited labels of a viewer: describes the changes that writing them back would make, and writes them.

A viewer paints into the data of a layer (zarrscope.view.editable); painted values stay in memory. `LabelEdits.look`
reads the stored values in the background and makes a plan with its description; `write` carries it out, and the layer
then has no unwritten values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from zarrscope.convert import Patch, plan_patch, write_patch
from zarrscope.errors import NotFound, ReadOnly, Refused, TooLarge
from zarrscope.model.frozen import frozen
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope.stores.registry import Mode
from zarrscope.view.editable import EditableView, Edits
from zarrscope.view.image import Image, find_images
from zarrscope.view.lazy import LazyView
from zarrscope.view.loader import shared as chunk_loader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.commands import LABELS, command
from zarrscope_app.presenters.form.view_models import Closing
from zarrscope_app.presenters.jobs import JobsPresenter, Report, if_complete
from zarrscope_app.presenters.layers.usable_levels import PLANE_LIMIT
from zarrscope_app.presenters.session.open_in import plain
from zarrscope_app.presenters.session.opening import open_place

TITLE = "Write edited labels"
WRITE = "Write"
LOOKING = "Comparing the edited labels with the stored ones…"
NOTHING = "The edited labels equal the stored ones."
NOT_LABELS = "Select a layer of labels that comes from Zarr."
PAINT = "Paint on the finest level. Nothing is stored before you choose Layers ▸ Write painted labels."
NO_EDITS = "Nothing was painted into these labels."
MOST_LABELS = 8
"""The most labels whose changes a plan lists one by one."""


HierarchyOpener = Callable[[str, Mode], Hierarchy]
"""A function that opens a hierarchy in a mode, like `open_place`."""


@frozen
class LabelPlan:
    """The plan for writing labels: a `sentence`, and `lines` of detail. Without a `patch` there is nothing to write."""

    name: str
    sentence: str
    lines: tuple[str, ...]
    patch: Patch | None
    edits: Edits
    version: int
    """The version of the edits for which the plan was made."""
    hierarchy: Hierarchy | None = None

    def close(self) -> None:
        """Closes the hierarchy that was opened for writing."""
        if self.hierarchy is not None:
            self.hierarchy.close()


def editable_of(view: LazyView, name: str) -> EditableView:
    """The finest level of labels as data that can be painted. Raises TooLarge if a viewer would read too much."""
    plane = 1
    for n in view.shape[-2:]:
        plane *= n
    nbytes = plane * view.dtype.itemsize
    if nbytes > PLANE_LIMIT:
        raise TooLarge(
            f'One plane of "{strings.clean(name)}" takes {strings.size(nbytes)}, and it would be read whole',
            size=nbytes,
            limit=PLANE_LIMIT,
            key=view.array.path,
            advice="Labels are edited at their finest level, a plane at a time.",
        )
    return EditableView.of(view)


def edits_of(data: object) -> Edits | None:
    """The painted values in the data of a layer; None if the layer cannot be painted."""
    return data.edits if isinstance(data, EditableView) else None


def unsaved(names: Sequence[str]) -> str:
    """A sentence that names the layers with unwritten labels; "" if there are none."""
    named = ", ".join(f'"{strings.clean(name)}"' for name in names)
    return f"Edited and not written: {named}." if names else ""


_UNWRITTEN = (
    "Painted labels are written by Write Edited Labels. Cancel to write them, or discard them with all changes."
)


def closing(names: Sequence[str], edits: Closing | None) -> Closing:
    """The question before painted layers and the `edits` of a form are closed. Layers are written from their own menu,
    so that no answer saves."""
    text = "\n".join([unsaved(names), *([edits.text] if edits is not None else [])])
    label = command("save").label
    return Closing(LABELS["close-title"], _UNWRITTEN, text, label, can_answer=False, opens=False)


def plan_labels(
    url: str,
    path: str,
    view: EditableView,
    name: str,
    opener: HierarchyOpener,
    cancelled: Callable[[], bool],
) -> LabelPlan:
    """Plans the writing of painted labels: opens the hierarchy for writing and compares painted with stored values.
    Waits for the store. `path`: the node of the labels.

    Raises ReadOnly, NotFound and Refused, and the errors of opening and reading.
    """
    edits, version = view.edits, view.edits.version
    if not edits:
        raise Refused(NO_EDITS)
    if edits.dtype.kind not in "iub":
        raise Refused(
            f"These labels were made from values of the type {edits.dtype}, which are not labels",
            key=path,
            advice="Save the labels to a local copy.",
        )
    hierarchy = opener(url, "r+")
    try:
        if not hierarchy.writable:
            raise ReadOnly("This place is read-only", store=hierarchy.url, advice="Save the labels to a local copy.")
        image = _image(hierarchy, path, view.array.path)
        patch = plan_patch(image, edits, cancelled)
    except BaseException:
        hierarchy.close()
        raise
    lines = tuple(_lines(patch))
    if not patch.pieces:
        hierarchy.close()
        return LabelPlan(name, NOTHING, lines, None, edits, version)
    return LabelPlan(name, _sentence(patch, hierarchy.url), lines, patch, edits, version, hierarchy)


def _image(hierarchy: Hierarchy, path: str, array: str) -> Image:
    for image in find_images(hierarchy[path]):
        if image.levels[0].array.path == array:
            return image
    raise NotFound(f"{strings.clean(array)} is no longer the finest level of {strings.clean(path)}", key=path)


def _sentence(patch: Patch, url: str) -> str:
    chunks = strings.counted(patch.pieces, "chunk")
    return f"{_elements(patch.levels[0].elements)} change in {strings.clean(plain(url))}; {chunks} are written again."


def _lines(patch: Patch) -> list[str]:
    lines = []
    for level in patch.levels:
        how = f", from the level above ({level.method})" if level.method else ""
        chunks = strings.counted(len(level.pieces), "chunk")
        lines.append(f"{strings.clean(level.path)}: {_elements(level.elements)} in {chunks}{how}")
        if level.method is None:
            lines += _labels(patch)
    lines += [f"{strings.clean(path)} stays unchanged: {why}" for path, why in patch.left]
    return lines


def _labels(patch: Patch) -> list[str]:
    counts: Counter[int] = Counter()
    for piece in patch.levels[0].pieces:
        counts.update(dict(piece.counts))
    named = [f"    label {label}: {_elements(n)}" for label, n in counts.most_common(MOST_LABELS)]
    more = len(counts) - MOST_LABELS
    return [*named, *([f"    … and {strings.counted(more, 'more label')}"] if more > 0 else [])]


def _summary(patch: Patch) -> str:
    levels = len(patch.levels) - 1
    coarser = f", and {strings.counted(levels, 'coarser level')} with them" if levels else ""
    return f"Written: {_elements(patch.levels[0].elements)} of {strings.clean(patch.levels[0].path)}{coarser}."


def _elements(n: int) -> str:
    return strings.counted(n, "element")


class LabelEdits:
    """Plans and writes edited labels in the background, for one host; `jobs` show the progress."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self.jobs = JobsPresenter(owner)

    def look(
        self,
        url: str,
        path: str,
        view: EditableView,
        name: str,
        done: Callable[[LabelPlan | None, strings.Problem | None, bool], object],
        opener: HierarchyOpener = open_place,
    ) -> None:
        """Makes a LabelPlan in the background. Calls `done(plan, None, False)`, or `done(None, problem, copy)`: `copy`
        is True if the labels can only be saved elsewhere, because their store is read-only."""

        def work(_: Report, cancelled: Callable[[], bool]) -> LabelPlan:
            return plan_labels(url, path, view, name, opener, cancelled)

        def ended(outcome: JobResult[LabelPlan]) -> str:
            problem = strings.problem(outcome.error, path) if outcome.error is not None else None
            done(outcome.value, problem, isinstance(outcome.error, ReadOnly))
            return ""

        self.jobs.run(LOOKING, work, ended)

    def write(self, plan: LabelPlan, done: Callable[[str, strings.Problem | None, bool], object]) -> None:
        """Writes the plan. Calls `done(sentence, None, False)` if all was written, otherwise `done("", problem, copy)`:
        `copy` is True if the labels can only be saved elsewhere."""
        patch = plan.patch
        assert patch is not None, "there is something to write"

        def work(report: Report, cancelled: Callable[[], bool]) -> str:
            try:
                write_patch(patch, lambda part: report(part, plan.name), cancelled)
            finally:
                plan.close()
                for level in patch.levels:
                    chunk_loader().invalidate(level.array)
            plan.edits.clear(plan.version)
            return _summary(patch)

        def ended(outcome: JobResult[str]) -> str:
            problem = strings.problem(outcome.error, patch.levels[0].path) if outcome.error is not None else None
            done(outcome.value or "", problem, isinstance(outcome.error, ReadOnly))
            return outcome.value or ""

        self.jobs.run(TITLE, work, ended, if_complete(ended))
