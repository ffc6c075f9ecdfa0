"""Snapshots of the attributes of a node as a form.

Fields are in one list in the document's order, each with its depth; a host paints them as a tree or indented.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from zarrscope_app.presenters.form.field_editors import Editor


class EditStatus(Enum):
    EMPTY = "empty"
    """No node is selected, or its document is still being read."""
    CLEAN = "clean"
    DIRTY = "dirty"
    INVALID = "invalid"
    """A field has an error; saving waits for it."""
    SAVING = "saving"
    CONFLICT = "conflict"
    """Somebody else changed the document: `conflicts`, then `resolve`."""
    FAILED = "failed"
    READ_ONLY = "read-only"


Way = Literal["image", "fields", "json"]
"""What they mean, as sections; all members, as a tree; the document's text."""
Side = Literal["mine", "theirs"]
Whose = Literal["mine", "theirs", "chosen"]
"""Whose value disputed fields have: one side's in all of them, or as each was chosen."""
FieldKind = Literal["text", "number", "bool", "null", "list", "object"]
KINDS: tuple[FieldKind, ...] = ("text", "number", "bool", "null", "list", "object")


@dataclass(frozen=True)
class Field:
    pointer: str
    """RFC 6901, within the attributes: "/multiscales/0/axes/2/unit". "" is the whole."""
    label: str
    """The member's name, or the position in a list."""
    kind: FieldKind
    text: str
    """What an editor shows: strings without quotes, numbers as the document spells them, "" for lists and objects."""
    summary: str
    """For a closed row: the text, or "3 items"."""
    depth: int
    error: str = ""
    changed: bool = False
    folded: bool = False
    """A list or object whose members are not in the list of fields; `fold(pointer, False)` opens it."""
    members: int = 0
    kinds: tuple[FieldKind, ...] = ()
    """What kinds it may be given, its own among them: those that keep what it holds."""
    can_rename: bool = False
    """It is a member with a name of its own: not an item of a list, and not the attributes as a whole."""
    can_remove: bool = False
    can_move: bool = False
    editor: Editor = "line"
    """Which editor of a host's table edits it."""
    title: str = ""
    """What a person calls such a field: "pixel size"; the kind where there is no better word."""
    choices: tuple[str, ...] = ()
    """What is proposed; another text may be typed all the same."""
    row: str = ""
    """The row of the table of form fields."""
    differs: str = ""
    """Of several nodes that state different texts here: how many texts, "3 values". Then `text` is ""."""


@dataclass(frozen=True)
class Row:
    """Fields of a section that are shown side by side: a size and its unit, a channel's colour, name and contrast."""

    label: str
    fields: tuple[Field, ...]
    note: str = ""
    """What follows from them: "512 pixels · 55.3 µm"."""


@dataclass(frozen=True)
class FormSection:
    """Fields with a common meaning (pixel sizes, a channel), wherever their members are in the document."""

    id: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """Sentences about all of it: how the levels follow."""
    command: str = ""
    """The id of a command that fills it, offered beside the title."""


@dataclass(frozen=True)
class Change:
    """One difference. None: the value does not exist."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Disagreement:
    """A field in a conflict: the former value, mine, theirs (JSON text; None: the value does not exist)."""

    pointer: str
    base: str | None
    mine: str | None
    theirs: str | None
    choice: Side | Literal[""] = ""
    """Whose value it will have; "" until somebody chose."""
    path: str = ""
    """Of several nodes, whose document it is about."""


@dataclass(frozen=True)
class Finding:
    """A fault or a doubtful value: `locate(pointer)` leads to its field, `mend(pointer)` makes the correction that
    `mend` describes."""

    pointer: str
    """Into the attributes; of a text that was typed and is wrong, the field's."""
    sentence: str
    wrong: bool
    """It must be otherwise; a remark where not."""
    mend: str = ""
    """What would mend it; "" where only a person can know."""


@dataclass(frozen=True)
class Diff:
    unified: str
    """A unified diff of the document, "" without changes; above it warnings of what JSON forbids."""
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class EditState:
    status: EditStatus = EditStatus.EMPTY
    sentence: str = ""
    fields: tuple[Field, ...] = ()
    changes: int = 0
    can_save: bool = False
    can_undo: bool = False
    can_redo: bool = False
    conflicts: tuple[Disagreement, ...] = ()
    """Fields that both sides changed: `choose` for each. May be empty in CONFLICT: then both sides fit together."""
    fitting: tuple[Disagreement, ...] = ()
    """In CONFLICT: fields that one side alone changed, which is kept."""
    path: str = "/"
    key: str = ""
    """The document in the store."""
    way: Way = "fields"
    """How the attributes are shown: `fields` are those of the sections, or of the tree of members."""
    ways: tuple[Way, ...] = ("fields",)
    """The ways that there are for this node."""
    sections: tuple[FormSection, ...] = ()
    """What the attributes mean; in the way "image" only."""
    text: str = ""
    """In the way "json": the text of the attributes, as typed where it is no JSON."""
    text_line: int = 0
    """The line that is wrong, from 1; 0: none."""
    text_error: str = ""
    verdict: str = ""
    """How they agree with the text of OME-Zarr: "OME-Zarr 0.5: valid."; "" while that is not known."""
    valid: bool = True
    findings: tuple[Finding, ...] = ()
    """What was typed and is wrong, then what the text of OME-Zarr says, errors first."""
    summary: str = ""
    """`verdict` without its findings: "OME-Zarr 0.5: valid · 2 remarks"."""
    title: str = "Attributes"
    """For the tab: "Attributes", with a dot while there are changes."""
