"""The interface of an action on a node for every host: form fields, their consequences, a plan, the work, its undoing.

An action is a row of a table (table.py). Its form is a tuple of fields that a host paints in their order; `described`
adds the consequences of the typed values. `described` is called on the host's thread after every keystroke, so it reads
nothing. `plan` and `do` run in the background. By default, `plan` runs `do` on a dry-run hierarchy, which
records operations without carrying them out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope.nodes.array import Array
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.stores.dry_run import Operation, ordered
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.jobs import Report
from zarrscope_app.presenters.nodes import operation_text, words

QuestionKind = Literal["text", "choice", "flag", "folder"]
MOST_LINES = 200
"""The most operations of a plan that are shown."""
IsCancelled = Callable[[], bool]


@frozen
class ActField:
    """A field of the form. `hint` explains the value and its consequences, `error` why it is invalid."""

    id: str
    label: str
    text: str = ""
    """The typed or chosen text; for a flag "yes" or ""."""
    kind: QuestionKind = "text"
    choices: tuple[tuple[str, str], ...] = ()
    """(text, its name for a person). A field of kind "choice" accepts only these texts."""
    hint: str = ""
    error: str = ""


Fields = tuple[ActField, ...]
FieldRefusal = tuple[str, str]
"""(id of the field whose text is missing or wrong, or "" if none is; the reason why an action cannot be planned)."""
NOT_REFUSED: FieldRefusal = ("", "")


def values(fields: Fields) -> dict[str, str]:
    """Id of each field → its text."""
    return {field.id: field.text.strip() for field in fields}


def with_hints(fields: Fields, hints: Mapping[str, str], errors: Mapping[str, str]) -> Fields:
    """The fields with their hints and errors."""
    return tuple(
        with_error(replace(field, hint=hints.get(field.id, field.hint)), errors.get(field.id, "")) for field in fields
    )


def with_error(field: ActField, error: str) -> ActField:
    """The field with an error, and without a hint that says the same."""
    return replace(field, error=error, hint="" if field.hint == error else field.hint)


@frozen
class ActPlace:
    """The node to which an action is applied. `node`: the opened node if it is the selected one, otherwise None."""

    hierarchy: Hierarchy
    path: str
    node: Group | Array | None = None

    @property
    def name(self) -> str:
        """The last part of the path; "" for the root."""
        return self.path.rpartition("/")[2]

    @property
    def group(self) -> str:
        """The group in which a new node would be created."""
        above = self.path.rpartition("/")[0] or "/"
        return above if isinstance(self.node, Array) else self.path


@frozen
class Undo:
    """How to undo an action. `work` undoes it, and returns the path of the node to select afterwards."""

    name: str
    """ "delete nuclei": the action that would be undone."""
    work: Callable[[Hierarchy], str]


@frozen
class PlannedAct:
    """The plan of an action, for a person to read before it is carried out."""

    lines: tuple[str, ...]
    sentence: str
    undo: str = ""
    """How the action can be undone, as a sentence."""
    final: str = ""
    """The reason why the action cannot be undone, shown as a warning."""


@frozen
class ActResult:
    """The result of an action. `to`: the path of the node to select; None for the group above an erased node. `moved`:
    whether the node of the action was moved to `to`. `cancelled`: whether the action was stopped; `sentence` then names
    the data that it leaves behind."""

    to: str | None
    moved: bool = False
    notes: tuple[str, ...] = ()
    sentence: str = ""
    undo: Undo | None = None
    cancelled: bool = False


class Act(ABC):
    """An action on nodes: one row of the table of actions. Hosts and commands refer to it by its `id`."""

    id = ""
    danger = False
    """Whether the action removes data: then a key pressed by mistake must not confirm it."""
    writes_here = True
    """Whether the action changes this hierarchy, which must then be open for writing."""
    roots = False
    """Whether the action can also be applied to the root node."""
    saved_first = True
    """Whether unsaved changes at and beneath the node must be saved before the action."""
    looks = False
    """Whether `fields` reads stored data, and must therefore run in the background."""

    def title(self, place: ActPlace) -> str:
        """The title of the action's form, with the name of the node."""
        return words.title(self.id, place.name)

    def fits(self, node: Group | Array | None) -> bool:
        """Whether the action makes sense for this node (None: a node that was not read yet)."""
        return True

    def refused(self, place: ActPlace, given: Mapping[str, str]) -> FieldRefusal:
        """The reason why the action cannot be planned, and its field; NOT_REFUSED if it can."""
        return NOT_REFUSED

    def at_fault(self, error: BaseException) -> str:
        """The id of the field whose text is the most probable cause of an error of `plan`. If the form has no such
        field, none is."""
        return "to"

    def fields(self, place: ActPlace) -> Fields:
        """The inputs of the action's form with their proposals; () if it needs none."""
        return ()

    def described(self, place: ActPlace, fields: Fields) -> Fields:
        """The inputs with hints and errors for their present texts; called after each edit."""
        return fields

    def plan(self, place: ActPlace, given: Mapping[str, str], cancelled: IsCancelled) -> PlannedAct:
        """Makes a dry run of the action: nothing is written. Raises the errors that the action would raise."""
        log: list[Operation] = []
        done = self.do(replace(place, hierarchy=place.hierarchy.dry_run(log)), given, _silent, cancelled)
        operations = ordered(log)
        sentence = as_sentences(operation_text.summary(operations), *done.notes)
        undo, final = self.mark(place, given)
        return PlannedAct(shown(operations, place.hierarchy.url), sentence, undo, final)

    def mark(self, place: ActPlace, given: Mapping[str, str]) -> tuple[str, str]:
        """(how the action can be undone, or ""; why it cannot be undone, or "")."""
        return words.UNDO, ""

    @abstractmethod
    def do(self, place: ActPlace, given: Mapping[str, str], report: Report, cancelled: IsCancelled) -> ActResult:
        """Carries out the action. Raises ZarrscopeError if that is not possible."""


def shown(operations: tuple[Operation, ...], url: str) -> tuple[str, ...]:
    """The operations as lines of text: at most MOST_LINES, then a line that counts the others."""
    lines = [operation_text.line(each, url) for each in operations[:MOST_LINES]]
    if len(operations) > MOST_LINES:
        lines.append(strings.and_more(len(operations) - MOST_LINES))
    return tuple(lines)


def as_sentences(*parts: str) -> str:
    """Several notes as one text, each note as a sentence."""
    return " ".join(f"{strings.clean(part).rstrip('.')}." for part in parts if part)


def lengths(text: str) -> tuple[int, ...] | None:
    """ "64, 512 x 512" → (64, 512, 512); "" → None. Raises Refused for any other text."""
    parts = text.replace("×", ",").replace("x", ",").replace("·", ",").split(",")
    if not text.strip():
        return None
    try:
        found = tuple(int(part.strip().replace(" ", "")) for part in parts)
    except ValueError:
        raise Refused(words.NO_LENGTHS) from None
    if min(found) < 0:
        raise Refused(words.NO_LENGTHS)
    return found


def _silent(progress: float | None, text: str) -> None:
    pass
