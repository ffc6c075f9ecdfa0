"""The attributes of a node as a form. Nothing is written before `save`; every byte that was not edited survives it.

Fields come as one list in the document's order, each with its depth; a host paints them as a tree or indented. What a
person types is checked at once: a field that is wrong keeps the text, shows its error, and blocks saving.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from psygnal import Signal


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


FieldKind = Literal["text", "number", "bool", "null", "list", "object"]


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


@dataclass(frozen=True)
class Change:
    """One difference. None: not there."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Disagreement:
    """In a conflict: the field as it was, mine, theirs (JSON text; None: not there)."""

    pointer: str
    base: str | None
    mine: str | None
    theirs: str | None


@dataclass(frozen=True)
class Diff:
    unified: str
    """A unified diff of the document, "" without changes."""
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
    """Fields that both sides changed. May be empty in CONFLICT: then both sides fit together."""
    path: str = "/"
    key: str = ""
    """The document in the store."""
    title: str = "Attributes"
    """For the tab: "Attributes", with a dot while there are changes."""


class EditPresenter:
    """All methods on the host's thread; none waits. After each, `state` is new and `changed()` was emitted."""

    changed = Signal()

    @property
    def state(self) -> EditState:
        raise NotImplementedError

    def field(self, pointer: str) -> Field | None:
        raise NotImplementedError

    def edit(self, pointer: str, text: str) -> None:
        """The text of a field as typed; read according to its kind. For lists and objects: JSON text."""
        raise NotImplementedError

    def edit_json(self, pointer: str, text: str) -> None:
        """Replaces a value by JSON text, its kind with it."""
        raise NotImplementedError

    def retype(self, pointer: str, kind: FieldKind) -> None:
        """Another kind for a field, keeping what can be kept ("5" ↔ 5)."""
        raise NotImplementedError

    def add(self, pointer: str, name: str, text: str = '""') -> str:
        """A new member of the object or list at `pointer` (a list takes any name and appends); `text` is JSON.
        Returns its pointer."""
        raise NotImplementedError

    def rename(self, pointer: str, name: str) -> None:
        raise NotImplementedError

    def remove(self, pointer: str) -> None:
        raise NotImplementedError

    def move(self, pointer: str, by: int) -> None:
        """Up or down among its siblings."""
        raise NotImplementedError

    def undo(self) -> None:
        """Takes back the last edit, also one that was saved: save again to write that."""
        raise NotImplementedError

    def redo(self) -> None:
        raise NotImplementedError

    def revert(self) -> None:
        """Drops all changes; `undo` brings them back."""
        raise NotImplementedError

    def fold(self, pointer: str, folded: bool) -> None:
        raise NotImplementedError

    def diff(self) -> Diff:
        raise NotImplementedError

    def save(self) -> None:
        """Writes in the background: SAVING, then CLEAN, CONFLICT or FAILED."""
        raise NotImplementedError

    def resolve(self, whose: Literal["mine", "theirs"]) -> None:
        """Merges with what is stored now; where both changed a field, this side wins. DIRTY or CLEAN afterwards."""
        raise NotImplementedError

    def reload(self) -> None:
        """Reads the document again; changes not saved are dropped."""
        raise NotImplementedError
