"""Actions on an image: add an empty label image, build other pyramid levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from zarrscope import convert
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.model.node_path import join_path
from zarrscope.nodes import trash
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.nodes.internals import node_context
from zarrscope.view.image import find_images
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.jobs import Report
from zarrscope_app.presenters.nodes import words
from zarrscope_app.presenters.nodes.acts import (
    NOT_REFUSED,
    Act,
    ActField,
    ActPlace,
    ActResult,
    FieldRefusal,
    Fields,
    IsCancelled,
    PlannedAct,
    Undo,
    as_sentences,
    with_hints,
)
from zarrscope_app.presenters.nodes.acts import values as values_of
from zarrscope_app.presenters.nodes.creating import throw_back


class _OfImage(Act):
    roots = True

    def fits(self, node: Group | Array | None) -> bool:
        return isinstance(node, Group) and bool(find_images(node))


class AddLabels(_OfImage):
    """Adds an empty label image with a level for each level of the image, of the same shape without the axis of
    channels."""

    id = "add-labels"

    def fields(self, place: ActPlace) -> Fields:
        from zarrscope.convert.label_images import DTYPES  # here and below: imported only when it is needed

        types = sorted(DTYPES, key=lambda name: name != "uint32")
        return (
            ActField("name", words.NAME, "cells"),
            ActField("dtype", words.DTYPE, "uint32", "choice", tuple((name, name) for name in types)),
        )

    def described(self, place: ActPlace, fields: Fields) -> Fields:
        return with_hints(fields, {"dtype": words.dtype_hint(values_of(fields)["dtype"])}, {})

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return NOT_REFUSED if given.get("name") else ("name", words.NO_NAME)

    def at_fault(self, error: BaseException) -> str:
        return "name"

    def plan(self, place: ActPlace, given: Mapping[str, str], cancelled: IsCancelled) -> PlannedAct:
        from zarrscope.convert.label_images import label_levels

        planned = super().plan(place, given, cancelled)
        image = find_images(place.hierarchy.open_node(place.path))[0]
        levels = [shape for shape, _ in label_levels(image)]
        nbytes = sum(prod(shape) for shape in levels) * np.dtype(given["dtype"]).itemsize
        said = f"{words.labels_hint(levels, nbytes)} {planned.sentence}"
        return PlannedAct(planned.lines, said, planned.undo, planned.final)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        made = convert.add_label_image(place.hierarchy, place.path, given["name"], dtype=given["dtype"])

        def back(hierarchy: Hierarchy) -> str:
            from zarrscope.convert.label_images import unlist

            unlist(hierarchy, made.path)
            if trash.available(hierarchy):
                trash.put(hierarchy, made.path)
            else:
                for name in sorted(child.name for child in made.children()):
                    throw_back(hierarchy, join_path(made.path, name))
                hierarchy.erase(made.path)
            return place.path

        return ActResult(made.path, undo=Undo(words.undoing(self.id, made.name), back))


class BuildLevels(_OfImage):
    """Builds every level except the finest anew; the image can be opened at any moment."""

    id = "build-levels"

    def fields(self, place: ActPlace) -> Fields:
        return (
            ActField("levels", words.LEVELS, "", hint=words.SAME_LEVELS),
            ActField("factor", words.FACTOR, "2", hint=words.FACTOR_HINT),
            ActField("method", words.METHOD, "", "choice", words.METHODS),
        )

    def described(self, place: ActPlace, fields: Fields) -> Fields:
        errors = {}
        for field in fields:
            if field.id in ("levels", "factor") and field.text.strip():
                try:
                    _pyramid({**values_of(fields), **({"factor": "2"} if field.id == "levels" else {"levels": ""})})
                except ZarrscopeError as error:
                    errors[field.id] = strings.problem(error).headline
        return with_hints(fields, {}, errors)

    def at_fault(self, error: BaseException) -> str:
        return "levels"

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        return (words.UNDO, "") if trash.available(place.hierarchy) else ("", words.FINAL_LEVELS)

    def plan(self, place: ActPlace, given: Mapping[str, str], cancelled: IsCancelled) -> PlannedAct:
        made = convert.plan_rebuild(place.hierarchy, _pyramid(given), place.path)
        throw = trash.available(place.hierarchy)
        lines = [
            words.group_line(node.target)
            if node.metadata is None
            else words.level_line(node.target, node.metadata.shape, node.chunks, node.nbytes)
            for node in made.nodes
        ]
        lines += [words.gone_line(path, throw) for path in made.former]
        levels = sum(node.metadata is not None for node in made.nodes)
        if not levels and not given.get("levels"):  # nobody asked to remove the present levels
            raise Refused(words.NO_LEVELS)
        said = words.levels_sentence(levels, made.chunks, made.nbytes, len(made.former), throw)
        notes = [note for switch in made.switches for note in switch.notes]
        undo, final = self.mark(place, given)
        return PlannedAct(tuple(lines), " ".join(part for part in (said, as_sentences(*notes)) if part), undo, final)

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        made = convert.plan_rebuild(place.hierarchy, _pyramid(given), place.path)
        thrown: dict[str, str] = {}

        def throw(path: str) -> None:
            thrown[path] = trash.put(place.hierarchy, path).id

        keeps = trash.available(place.hierarchy)
        result = convert.rebuild(
            made, progress=progress_of(report), cancelled=cancelled, remove=throw if keeps else None
        )

        def back(hierarchy: Hierarchy) -> str:
            from zarrscope.convert.rebuilding import undo as undo_rebuild

            # The plan has a hierarchy of its own, whose cached metadata are out of date.
            node_context(made.source).forget()
            undo_rebuild(
                made,
                lambda path: trash.restore(made.source, thrown[path]),
                lambda path: trash.put(made.source, path),
            )
            return place.path

        undone = keeps and not result.cancelled
        undo = Undo(words.undoing(self.id, place.name), back) if undone else None
        said = words.UNFINISHED_LEVELS if result.cancelled else ""
        return ActResult(place.path, undo=undo, sentence=said, cancelled=result.cancelled)


def _pyramid(given: Mapping[str, str]) -> convert.Pyramid:
    try:
        levels = int(given["levels"]) if given.get("levels") else None
        factor = _factors(given.get("factor") or "2")
    except ValueError:
        raise Refused(words.NO_LENGTHS) from None
    wanted = given.get("method")
    from zarrscope.convert.downsampling import METHODS

    method = next((name for name in METHODS if name == wanted), None)
    return convert.Pyramid(levels, factor, method)


def _factors(text: str) -> int | dict[str, int]:
    """Parses factors between levels: "2" for all axes in space, or "z=1, y=2, x=2"."""
    if "=" not in text:
        return int(text)
    return {name.strip(): int(number) for name, _, number in (part.partition("=") for part in text.split(","))}


def progress_of(report: Report) -> Callable[[convert.ConversionProgress], None]:
    """A callback that passes the progress of a conversion or a rebuild on to `report`."""

    def progress(state: convert.ConversionProgress) -> None:
        report(state.done / max(1, state.total), words.of_chunks(state.doing, state.done, state.total))

    return progress
