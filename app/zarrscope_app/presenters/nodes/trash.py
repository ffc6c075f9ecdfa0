"""Actions on the trash of the hierarchy: restore a node, or erase entries for good."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from zarrscope.nodes import trash
from zarrscope.nodes.hierarchy import Hierarchy
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
    Undo,
)


class _OfTrash(Act):
    roots = True
    saved_first = False
    looks = True

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        return NOT_REFUSED if "entry" in given else ("", words.EMPTY_TRASH)


class Restore(_OfTrash):
    """Restores one node, to its former path or to another one."""

    id = "restore"

    def fields(self, place: ActPlace) -> Fields:
        found = _entries(place)
        if not found:
            return ()
        return (
            ActField("entry", words.ENTRY, found[0][0], "choice", found),
            ActField("to", words.NEW_PLACE, hint=words.WHERE_IT_WAS),
        )

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        back = trash.restore(place.hierarchy, given["entry"], given["to"] or None)

        def again(hierarchy: Hierarchy) -> str:
            trash.put(hierarchy, back.path)
            return back.path.rpartition("/")[0] or "/"

        return ActResult(back.path, undo=Undo(words.undoing(self.id, back.path.rpartition("/")[2]), again))


class EmptyTrash(_OfTrash):
    """Erases all entries of the trash, or one of them, for good."""

    id = "empty-trash"
    danger = True

    def fields(self, place: ActPlace) -> Fields:
        found = _entries(place)
        return (ActField("entry", words.ENTRY, "", "choice", (("", words.ALL_ENTRIES), *found)),) if found else ()

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        return "", words.FINAL_ERASE

    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        ids = [given["entry"]] if given["entry"] else [entry.id for entry in trash.entries(place.hierarchy)]
        gone = trash.empty(place.hierarchy, ids if given["entry"] else None, cancelled=cancelled)
        if cancelled() and len(gone) < len(ids):
            return ActResult(place.path, sentence=words.emptied(len(gone), len(ids)), cancelled=True)
        return ActResult(place.path)


def _entries(place: ActPlace) -> tuple[tuple[str, str], ...]:
    """(id, a text with path and time) of each entry of the trash, the latest first."""
    found = reversed(trash.entries(place.hierarchy))
    return tuple((each.id, words.entry(each.path, datetime.fromisoformat(each.when))) for each in found)
