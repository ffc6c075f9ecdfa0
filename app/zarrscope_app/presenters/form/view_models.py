"""Snapshots of the attributes of a node as a form.

Fields are in one list in the document's order, each with its depth; a host paints them as a tree or indented.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters.form.field_editors import Editor


class EditStatus(Enum):
    """The state of the edited document, from reading to saving."""

    EMPTY = "empty"
    """No node is selected, or its document is still being read."""
    CLEAN = "clean"
    DIRTY = "dirty"
    INVALID = "invalid"
    """A field has an error, which prevents saving."""
    SAVING = "saving"
    CONFLICT = "conflict"
    """Somebody else changed the document: see `conflicts`, then call `resolve`."""
    FAILED = "failed"
    READ_ONLY = "read-only"


Way = Literal["image", "fields", "json", "document"]
"""The views of the attributes: sections by their meaning, all members as a tree, or their JSON text. "document" is the
whole text of a faulty document, which may not be JSON."""
Side = Literal["mine", "theirs"]
Whose = Literal["mine", "theirs", "chosen"]
"""The values that disputed fields get: all from one side, or for each field from the side that was chosen for it."""
FieldKind = Literal["text", "number", "bool", "null", "list", "object"]
KINDS: tuple[FieldKind, ...] = ("text", "number", "bool", "null", "list", "object")


@frozen
class Field:
    """One row of the form: a member of the attributes, with its text as it is edited."""

    pointer: str
    """A JSON pointer (RFC 6901) within the attributes: "/multiscales/0/axes/2/unit". "" stands for all attributes."""
    label: str
    """The member's name, or the position in a list."""
    kind: FieldKind
    text: str
    """The text in an editor: strings without quotes, numbers as the document spells them, "" for lists and objects."""
    summary: str
    """The text in one line, as in a row without an editor; for a list or object its size: "3 items"."""
    depth: int
    error: str = ""
    changed: bool = False
    folded: bool = False
    """Whether this is a collapsed list or object, whose members are not in the list of fields; `fold(pointer, False)`
    expands it."""
    members: int = 0
    kinds: tuple[FieldKind, ...] = ()
    """The kinds into which the value can be converted without loss, including its own."""
    can_rename: bool = False
    """Whether the field has a name: items of lists and the attributes as a whole have none."""
    can_remove: bool = False
    can_move: bool = False
    editor: Editor = "line"
    """The kind of editor; each host has a widget for each kind."""
    title: str = ""
    """The name of the field for a person: "pixel size"; the kind of its value if there is no better name."""
    choices: tuple[str, ...] = ()
    """The proposed values; another text may be typed too."""
    row: str = ""
    """The id of the row in the table of form fields."""
    differs: str = ""
    """If several nodes have different texts here: the number of texts, "3 values". `text` is then ""."""


@frozen
class FormRow:
    """Fields of a section that are shown side by side: a size and its unit, a channel's colour, name and contrast."""

    label: str
    fields: tuple[Field, ...]
    note: str = ""
    """A remark on the consequence of the values: "512 pixels · 55.3 µm"."""


@frozen
class FormSection:
    """Fields with a common meaning (pixel sizes, a channel), wherever their members are in the document."""

    id: str
    title: str
    rows: tuple[FormRow, ...]
    notes: tuple[str, ...] = ()
    """Sentences about the whole section, such as how an edit changes the other levels of the pyramid."""
    command: str = ""
    """The id of a command that fills the section, shown beside the title."""


@frozen
class Change:
    """One difference between two documents: the JSON text before and after; None where the value does not exist."""

    pointer: str
    before: str | None
    after: str | None


@frozen
class Disagreement:
    """A field in a conflict: its value before both changes, mine, and theirs (JSON text; None where the value does not
    exist)."""

    pointer: str
    base: str | None
    mine: str | None
    theirs: str | None
    choice: Side | Literal[""] = ""
    """The side whose value the field will get; "" until the person has chosen."""
    path: str = ""
    """The path of the node if several nodes are edited; otherwise ""."""
    name: str = ""
    """The name of the field for a person: "pixel size z, level 0"; "" if it is no known part of OME-Zarr."""


@frozen
class FieldFinding:
    """A finding in the form: a violation of OME-Zarr, or an invalid typed text. `locate(pointer)` shows its field,
    `mend(pointer)` makes the correction that `mend` describes."""

    pointer: str
    """A pointer within the attributes; for an invalid typed text, the id of its field."""
    sentence: str
    wrong: bool
    """Whether the finding is a broken rule; otherwise it is a remark."""
    mend: str = ""
    """The correction that is offered; "" if only a person can decide."""
    advice: str = ""
    """A sentence about the correction; "" if the finding itself says it."""

    @property
    def severity(self) -> str:
        """The severity of the same finding in a check."""
        return "error" if self.wrong else "warning"

    @property
    def details(self) -> str:
        """The sentence with the advice."""
        return f"{self.sentence}. {self.advice}" if self.advice else self.sentence


@frozen
class Diff:
    """The difference between the edited document and the stored one."""

    unified: str
    """A unified diff of the document, "" without changes. Warnings about non-standard JSON precede it."""
    changes: tuple[Change, ...]
    nbytes: int = 0
    """The bytes that saving writes."""


@frozen
class TextShape:
    """The size of a text, which an editor needs before it lays it out. Counted in the background for a large one."""

    lines: int = 0
    longest: int = 0
    """The number of characters of the longest line."""


@frozen
class EditState:
    """The snapshot of the form."""

    status: EditStatus = EditStatus.EMPTY
    sentence: str = ""
    fields: tuple[Field, ...] = ()
    changes: int = 0
    can_save: bool = False
    can_undo: bool = False
    can_redo: bool = False
    conflicts: tuple[Disagreement, ...] = ()
    """Fields that both sides changed: call `choose` for each. If the tuple is empty although the status is CONFLICT,
    the changes of both sides can be merged without a choice."""
    fitting: Sequence[Disagreement] = ()
    """In CONFLICT: fields that only one side changed, those of the other side first. A merge keeps their changes."""
    path: str = "/"
    key: str = ""
    """The key of the document in the store."""
    way: Way = "fields"
    """The displayed view of the attributes. `fields` contains the fields of this view."""
    ways: tuple[Way, ...] = ("fields",)
    """The views that are available for this node."""
    meaning: str = ""
    """The title of the view "image", such as "Plate"; "" for an image."""
    sections: tuple[FormSection, ...] = ()
    """The sections by meaning; only in the view "image"."""
    text: str = ""
    """In the view "json": the text of the attributes; in "document": the text of the whole document. A text that is not
    JSON stays as typed."""
    text_shape: TextShape | None = None
    """The shape of `text`; None of a text that was just typed, which its editor knows."""
    text_line: int = 0
    """The number of the faulty line of `text`, from 1; 0 if there is none."""
    text_error: str = ""
    verdict: str = ""
    """The result of the check against the OME-Zarr specification: "OME-Zarr 0.5: valid."; "" until it is available."""
    valid: bool = True
    findings: tuple[FieldFinding, ...] = ()
    """Invalid typed texts, then the findings of the OME-Zarr specification, errors first."""
    summary: str = ""
    """`verdict` without its findings: "OME-Zarr 0.5: valid · 2 remarks"."""
    waits: bool = False
    """Whether typed texts wait until the hierarchy is open for writing."""
    shows_document: str = ""
    """The label of a button that calls `show_way("document")`, if a fault of the node is not in its attributes."""
    title: str = "Attributes"
    """The title of the tab: "Attributes", with a dot while there are changes."""

    @property
    def sentence_apart(self) -> str:
        """The sentence, for a front end that shows the findings as well; "" if one of them says the same."""
        told = self.status is EditStatus.INVALID and any(self.sentence in each.sentence for each in self.findings)
        return "" if told else self.sentence


@frozen
class Closing:
    """The question before a hierarchy with unsaved changes is closed."""

    title: str
    sentence: str
    text: str
    """The changes as a diff, then the texts that are in no document yet."""
    answer: str
    """The label of the answer that keeps the changes."""
    can_answer: bool
    """Whether that answer is possible; otherwise `sentence` states the reason."""
    opens: bool
    """Whether that answer opens the hierarchy for writing and closes nothing; otherwise it saves, then closes."""
