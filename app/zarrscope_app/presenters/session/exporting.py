"""Exports of one session: the displayed view, a region or a node. An export is prepared (size and time), then run as a
job.

A view is written as painted, but in as many pixels as its data have where a terminal shows fewer; a region and a node
are written as values (zarrscope.convert.export). `prepare` finds the size and time of an export in the background;
`run` starts it. No incomplete file ever appears under the final name, and nothing is overwritten without asking.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from zarrscope import convert
from zarrscope.convert import export
from zarrscope.convert.export.formats import FORMATS, Format, format_of, need_tifffile
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.view.png import png
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.absent_chunks import AbsentChunks
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.image.fuller_picture import FullerPicture
from zarrscope_app.presenters.image.measuring import MeasuredPlane, measured_window
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.image.solid_and_blend import NOT_WRITTEN
from zarrscope_app.presenters.jobs import JobsPresenter, Report
from zarrscope_app.presenters.session.view_models import SessionState
from zarrscope_app.presenters.signals import signal
from zarrscope_app.presenters.values import ValuesPresenter

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy

WHATS = (
    ("view", "The view: the picture as it is painted"),
    ("drawn", "The drawn region: its values, all channels"),
    ("region", "The region on the screen: its values, all channels"),
    ("table", "The table: its cut of values"),
    ("node", "The whole node: its values"),
)
"""The parts that can be exported: (id, name for a person)."""


class ExportingSession(Protocol):
    """The members of a session (session.py) that exports use."""

    owner: Owner
    slice: SlicePresenter
    values: ValuesPresenter
    jobs: JobsPresenter

    @property
    def state(self) -> SessionState:
        """The snapshot of the session."""

    @property
    def name(self) -> str:
        """The name of the hierarchy: the last part of its address."""

    @property
    def node(self) -> Group | Array | None:
        """The selected node; None while it is being read."""

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The open hierarchy; None before it is open."""


@frozen
class ExportState:
    """The export that is being prepared. `ready`: whether the preparation is complete, so that `run` can write the
    file."""

    what: str = "view"
    format: str = "png"
    target: str = ""
    sentence: str = ""
    """The size and the time, "2 × 3 × 512 × 512 uint16 · 3.0 MiB · about 2 s", or a sentence about a choice that is
    missing."""
    notes: tuple[str, ...] = ()
    looking: bool = False
    ready: bool = False
    taken: bool = False
    """Whether the target exists already: `run` replaces it only with `overwrite`."""


Work = Callable[[Report, Callable[[], bool], bool], bool]
"""A function work(report, cancelled, overwrite) that writes the file, and returns whether it was written."""


class Prepared:
    """A prepared export: its description in words, and the function that carries it out."""

    def __init__(
        self, sentence: str, work: Work, notes: tuple[str, ...] = (), remark: Callable[[], str] = lambda: ""
    ) -> None:
        self.sentence, self.work, self.notes = sentence, work, notes
        self.remark = remark
        """Called after the work: a sentence about what was written; "" for none."""


class ExportPresenter:
    """Prepares and runs the exports of one session. All methods run on the host's thread."""

    changed = signal()

    def __init__(self, session: ExportingSession) -> None:
        self._session = session
        self._ticket: Ticket | None = None
        self._painting: FullerPicture | None = None
        """The displayed view while it is painted again in more pixels."""
        self._prepared: Prepared | None = None
        self.folder = os.path.expanduser("~")
        """The folder that is proposed for new files."""
        self.state = ExportState()
        self._typed = ""
        """The target that a person has typed since `begin`; "" for none."""
        self._meant = ""
        """The format that a person has chosen since `begin`; "" for none."""
        self._notify = CoalescedCall(session.owner.post, self.changed.emit)

    def start_in(self, folder: str) -> None:
        """Proposes new files in `folder` in place of the home folder, if files can be written there."""
        if self.folder == os.path.expanduser("~") and os.access(folder, os.W_OK):
            self.folder = folder

    # ------------------------------------------------------------------ choices
    def whats(self) -> tuple[tuple[str, str], ...]:
        """The parts of the displayed node that can be exported."""
        node = self._session.node
        drawn = self._session.slice.state.kind == "image"
        there = {
            "view": drawn,
            "drawn": drawn and self._session.slice.state.measurement.kind == "region",
            "region": drawn,
            "table": self._session.values.array is not None,
        }
        return tuple(found for found in WHATS if there.get(found[0], node is not None))

    def formats(self, what: str) -> tuple[Format, ...]:
        """The formats that can hold `what`; a group without an image can only be copied as a Zarr hierarchy."""
        node = self._session.node
        if what == "view":
            return tuple(found for found in FORMATS if found.picture)
        if what == "table":
            return tuple(found for id in ("csv", "npy") for found in FORMATS if found.id == id)
        values = tuple(found for found in FORMATS if found.values)
        grouped = node is not None and node.kind == "group" and self._session.slice.image is None
        return tuple(found for found in values if found.id == "zarr") if grouped else values

    def propose(self, format: str) -> str:
        """Proposes a path that does not exist yet, in the folder of the last export."""
        parts = [self._session.name.removesuffix(".zarr").removesuffix(".ome"), *self._session.state.path.split("/")]
        stem = "-".join(part for part in parts if part) or "export"
        stem = "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in stem)[:80]
        ending = _ending(format)
        for number in range(1, 1000):
            name = f"{stem}{f'-{number}' if number > 1 else ''}{ending}"
            if not os.path.lexists(os.path.join(self.folder, name)):
                break
        return os.path.join(self.folder, name)

    def begin(self) -> None:
        """Resets the settings of the export to proposals for the displayed node."""
        whats = [what for what, _ in self.whats()]
        here = "table" if self._session.state.tab == "values" else "drawn"
        what = here if here in whats else whats[0] if whats else "node"
        self._typed = self._meant = ""
        self.choose(what)

    def choose(self, what: str, format: str | None = None, target: str | None = None) -> None:
        """Sets what to export, and the format and the target. Without a format, the one that was chosen before stays;
        if it cannot hold `what`, or none was chosen, a suitable format is used. If `target` is None, a suitable path is
        proposed: the one that a person has typed, with the ending of the format, if there is one."""
        formats = [found.id for found in self.formats(what)]
        if format in formats:
            self._meant = format
        chosen = self._meant if self._meant in formats else self._suitable(what, formats)
        if target is None:
            target = without_ending(self._typed) + _ending(chosen) if self._typed else self.propose(chosen)
        self.prepare(what, chosen, target)

    def _suitable(self, what: str, formats: Sequence[str]) -> str:
        """The first of the formats; for an array that is no picture, a table."""
        is_table = what == "node" and self._session.slice.state.kind != "image" and "csv" in formats
        return "csv" if is_table else formats[0]

    def name(self, target: str) -> None:
        """Sets the target that a person has typed. Its ending chooses the format, if that can hold what is exported; a
        name without an ending gets that of the chosen format."""
        state, target = self.state, target.strip()
        self._typed = target
        meant = next((found.id for found in FORMATS if target.lower().endswith(found.endings)), None)
        if meant is None and os.path.basename(target) and not _has_ending(target):
            target += _ending(state.format)
        if meant is not None and meant in [found.id for found in self.formats(state.what)]:
            self._meant = meant
            self.prepare(state.what, meant, target)
        else:
            self.prepare(state.what, state.format, target)

    # ------------------------------------------------------------------ size and time
    def prepare(self, what: str, format: str, target: str) -> None:
        """Finds the size of this export and the time that it would take, in the background."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
        if self._painting is not None:
            self._painting.end()
            self._painting = None
        self._prepared = None
        taken = os.path.lexists(os.path.expanduser(target))
        self.state = ExportState(what, format, target, strings.LOADING, looking=True, taken=taken)
        self._notify.soon()
        try:
            look = self._look(what, format, target)
        except ZarrscopeError as error:
            self._failed(error)
            return
        if look is not None:
            self._prepare_by(look)
            return
        more = self._session.slice.solid_and_blend

        def painted(picture: npt.NDArray[np.uint8], note: str) -> None:
            self._painting = None
            blend = NOT_WRITTEN if "blend" in more.drawn & more.members.keys() else ""
            self._prepare_by(lambda: prepared_picture(picture, target, tuple(filter(None, (note, blend)))))

        if more.picture is not None:
            painted(more.picture, words.SOLID_WRITTEN)
        elif "solid" in more.drawn & more.members.keys():
            self.state = replace(self.state, sentence=words.READING_SOLID, looking=False, ready=False)
        else:
            self._painting = FullerPicture(self._session.slice, painted)
            self._painting.start()

    def _prepare_by(self, look: Callable[[], Prepared]) -> None:
        def done(outcome: JobResult[Prepared]) -> None:
            self._ticket = None
            if outcome.error is not None:
                self._failed(outcome.error)
                return
            self._prepared = outcome.get()
            said, notes = self._prepared.sentence, self._prepared.notes
            self.state = replace(self.state, sentence=said, notes=notes, looking=False, ready=True)
            self._notify.soon()

        self._ticket = self._session.owner.fetch(look, done)

    def _failed(self, error: BaseException) -> None:
        self.state = replace(self.state, sentence=strings.problem(error).headline, looking=False, ready=False)
        self._notify.soon()

    def _look(self, what: str, format: str, target: str) -> Callable[[], Prepared] | None:
        """Returns the function that prepares the export in the background; None for a view, which is painted first."""
        session, chosen = self._session, format_of(target, format)
        node, hierarchy = session.node, session.hierarchy
        if node is None or hierarchy is None:
            raise Refused("No node is shown")
        if not target.lower().endswith(chosen.endings):
            raise Refused(f"{chosen.title} is chosen, whose names end in {chosen.endings[0]}")
        if what == "view":
            return None
        if what in ("region", "drawn"):
            selection, level = region_on_screen(session) if what == "region" else drawn_region(session)
            return lambda: prepared_values(export.ExportSource.of(node, level, selection), target, chosen)
        if what == "table":
            cut, table = session.values.cut(), session.values.array
            if table is None:
                raise Refused("No table is shown")
            spelling = session.values.spelling()
            return lambda: prepared_values(export.ExportSource.of(table, 0, cut), target, chosen, spelling)
        if chosen.id == "zarr":
            return lambda: prepared_copy(hierarchy, node.path, target)
        return lambda: prepared_values(export.ExportSource.of(node), target, chosen)

    def run(self, overwrite: bool = False) -> int | None:
        """Starts the prepared export, as a job. Returns its number, or None if there is nothing to start."""
        ready, state = self._prepared, self.state
        if ready is None or not state.ready:
            return None
        if state.taken and not overwrite:
            self.state = replace(state, sentence=already_there(state.target), ready=True)
            self._notify.soon()
            return None
        target = os.path.abspath(os.path.expanduser(state.target))
        self.folder = os.path.dirname(target)
        self._prepared = None
        self.state = replace(state, ready=False)
        self._notify.soon()

        def done(outcome: JobResult[bool]) -> str:
            if outcome.error is not None:
                return strings.problem(outcome.error).headline
            return f"{written(target)} {ready.remark()}".rstrip() if outcome.value else strings.STOPPED

        def late(outcome: JobResult[bool]) -> str:
            return f"{strings.TOO_LATE} {written(target)}" if outcome.value else ""

        def left(outcome: JobResult[bool]) -> str:
            if outcome.error is None:
                return f"Nothing was written to {strings.clean(target, 200)}."
            return ""

        name = f"Export {strings.clean(os.path.basename(target), 60)}"
        return self._session.jobs.run(
            name, lambda report, cancelled: ready.work(report, cancelled, overwrite), done, late, left
        )


def _ending(format: str) -> str:
    return next(found.endings[0] for found in FORMATS if found.id == format)


def _has_ending(target: str) -> bool:
    """Whether a name ends in letters after a dot, such as ".jpg", which is probably meant as a format; the numbers of
    "plate-1.5" are none."""
    ending = os.path.splitext(target)[1]
    return ending[1:].isalpha() and ending[1:].isascii()


def without_ending(target: str) -> str:
    """A path without the ending of a format: "cells.ome.tif" → "cells"."""
    endings = sorted((ending for found in FORMATS for ending in found.endings), key=len, reverse=True)
    found = next((ending for ending in endings if target.lower().endswith(ending)), "")
    return target[: len(target) - len(found)]


def already_there(target: str) -> str:
    """The question whether to overwrite an existing file."""
    return f"{strings.clean(target, 200)} is there already. Overwrite it, or choose another name."


def written(target: str) -> str:
    """The sentence that names the new file, and its size."""
    size = f" ({strings.size(os.path.getsize(target))})" if os.path.isfile(target) else ""
    return f"Written: {strings.clean(target, 200)}{size}."


def region_on_screen(session: ExportingSession) -> tuple[tuple[Any, ...], int]:
    """(selection in elements of the finest level, level) of the displayed part: all channels."""
    picture = session.slice
    y0, x0, y1, x1 = picture.visible_rect
    return _selection(
        picture, {"y": (int(y0), int(np.ceil(y1))), "x": (int(x0), int(np.ceil(x1)))}
    ), picture.state.level


def drawn_region(session: ExportingSession) -> tuple[tuple[Any, ...], int]:
    """(selection in elements of the finest level, level) of the region whose statistics are shown: the same pixels, at
    the level at which they were measured, of all channels."""
    picture = session.slice
    measured, image = picture.state.measurement, picture.image
    if measured.kind != "region" or image is None:
        raise Refused("No region is drawn", advice="Ctrl and drag draws one in the picture.")
    y0, x0, y1, x1 = measured.place
    # The pixels whose middle is inside, as in the statistics
    spans = {
        role: (int(np.ceil(min(ends) - 0.5)), int(np.ceil(max(ends) - 0.5)))
        for role, ends in (("y", (y0, y1)), ("x", (x0, x1)))
    }
    axes = [axis.role for axis in picture.state.axes]
    plane = MeasuredPlane(image, axes.index("y"), axes.index("x"))
    return _selection(picture, spans), measured_window(plane, measured.place)[0]


def _selection(picture: SlicePresenter, spans: dict[str, tuple[int, int]]) -> tuple[Any, ...]:
    """The elements of all channels within `spans` of height and width, at least one in each direction."""
    if picture.image is None or picture.state.kind != "image":
        raise Unsupported("There is no picture to export a region of", feature="region")
    selection: list[Any] = []
    for axis in picture.state.axes:
        if axis.role in spans:
            low, high = spans[axis.role]
            start = max(0, min(low, axis.length - 1))
            selection.append(slice(start, max(start + 1, min(axis.length, high))))
        elif axis.role == "channel":
            selection.append(slice(None))
        else:
            selection.append(axis.index)
    return tuple(selection)


def prepared_picture(picture: npt.NDArray[np.uint8], target: str, notes: tuple[str, ...] = ()) -> Prepared:
    """Prepares to write a picture as PNG or TIFF."""
    height, width = picture.shape[:2]
    tiff = not target.lower().endswith(".png")
    if tiff:
        need_tifffile()

    def work(report: Report, cancelled: Callable[[], bool], overwrite: bool) -> bool:
        with export.ExportTarget(target, overwrite=overwrite) as place:
            if tiff:
                import tifffile

                tifffile.imwrite(place.part, picture, photometric="rgb", metadata=None)
            else:
                place.part.write_bytes(png(picture))
            if cancelled():
                return False
            place.done()
            return True

    nbytes = strings.size(height * width * 3)
    return Prepared(f"{strings.count(width)} × {strings.count(height)} pixels · at most {nbytes}", work, notes)


def prepared_values(
    source: export.ExportSource, target: str, format: Format, spelling: Callable[[object], str] | None = None
) -> Prepared:
    """Prepares to write values to a file. Reads one block to estimate the time. `spelling`: writes a value of a CSV as
    text."""
    plan = export.plan(source, target, format, spelling=spelling)
    seconds = export.estimate(plan)
    absent = AbsentChunks()

    def work(report: Report, cancelled: Callable[[], bool], overwrite: bool) -> bool:
        def progress(done: int, total: int) -> None:
            report(done / max(1, total), f"{strings.size(done)} of {strings.size(total)}")

        return export.run(plan, overwrite=overwrite, cancelled=cancelled, progress=progress, counted=absent.add)

    return Prepared(values_text(plan, seconds), work, plan.notes, lambda: absent.sentence(source.array.fill_value))


def values_text(plan: export.ExportPlan, seconds: float | None = None) -> str:
    """The size of an export, and the time if it is given: "2 × 3 × 512 × 512 uint16 · 3.0 MiB · about 2 s"."""
    dtype = plan.source.dtype
    shape = f"{strings.shape(plan.source.shape)} {'struct' if dtype.names else strings.clean(str(dtype), 40)}"
    about = "" if plan.exact else "about " if plan.format.id == "csv" else "at most "
    return strings.joined(shape, f"{about}{strings.size(plan.file_nbytes)}", time_text(seconds))


def time_text(seconds: float | None) -> str:
    """The estimated time of an export: "less than a second", "about 2 s"; "" for None."""
    return "" if seconds is None else "less than a second" if seconds < 1 else f"about {strings.seconds(seconds)}"


def prepared_copy(hierarchy: Hierarchy, path: str, target: str) -> Prepared:
    """Prepares to copy a node, and everything beneath it, to a new Zarr hierarchy: in the same format, or in Zarr v3 if
    zarrscope does not write that format."""
    place = export.ExportTarget(target, folder=True)
    try:
        plan = convert.plan(hierarchy, os.fspath(place.path), hierarchy.dialect.name, path=path)
    except Unsupported:
        plan = convert.plan(hierarchy, os.fspath(place.path), "v3", path=path)
    if plan.losses:
        raise Refused(
            f"A new Zarr cannot hold everything: {' '.join(map(str, plan.losses[:3]))}",
            advice="zarrscope convert --allow-losses leaves it out.",
        )

    def work(report: Report, cancelled: Callable[[], bool], overwrite: bool) -> bool:
        def progress(state: convert.ConversionProgress) -> None:
            report(state.done / max(1, state.total), strings.clean(state.path, 60))

        with export.ExportTarget(target, folder=True) as place:
            again = convert.plan(hierarchy, os.fspath(place.part), plan.dialect.name, path=path)
            convert.run(again, progress=progress, cancelled=cancelled)
            if cancelled():
                return False
            place.done()
            return True

    chunks, size = strings.counted(plan.chunks, "chunk"), f"at most {strings.size(plan.nbytes)}"
    return Prepared(strings.joined(size, time_text(copy_seconds(plan)), chunks, plan.dialect.title), work)


PASSES = 3
"""How often a copy handles each value: it reads and writes it, and compares both."""


def copy_seconds(plan: convert.ConversionPlan) -> float | None:
    """Estimates the seconds of a copy from the time for one block of its largest array; None if nothing can be
    read."""
    largest = max((node for node in plan.nodes if node.array is not None), key=lambda node: node.nbytes, default=None)
    if largest is None or largest.array is None or largest.array.problem is not None or not largest.nbytes:
        return None
    seconds = export.estimate(export.plan(export.ExportSource.of(largest.array), "", format_of("", "npy")))
    return PASSES * seconds * plan.nbytes / largest.nbytes
