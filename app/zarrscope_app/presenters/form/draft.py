"""One document being edited: its history, its differences from the stored document, and the merging of two versions.
Reads and writes no store."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from hashlib import blake2b
from itertools import count
from typing import Literal

from zarrscope.errors import Refused
from zarrscope.jsondoc import differences as compare
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.nonstandard import brought_in
from zarrscope.jsondoc.parse import CONSOLIDATED_LIMIT
from zarrscope.jsondoc.pointers import within
from zarrscope.jsondoc.unparsed import UnparsedDocument, document_or_text
from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.conflict import FittingFields, Sides, beside_of, merge, put, sides_of
from zarrscope_app.presenters.form.line_diff import changed_lines
from zarrscope_app.presenters.form.sections.model import NodeFacts
from zarrscope_app.presenters.form.sections.shown_channels import ReadChannels, added_windows
from zarrscope_app.presenters.form.view_models import Change, Diff, Disagreement, Side, TextShape, Whose

AT_ONCE = 1 << 16
"""Documents of at most this many bytes are edited and compared on the host's thread."""
_acts = count(1)


def new_act() -> int:
    """A new number for an action of a person; later actions have larger numbers."""
    return next(_acts)


@frozen
class JsonText:
    """A document, and the JSON text of its attributes."""

    document: Document
    text: str
    shape: TextShape


class Draft:
    """A document being edited. `base` is the stored document as it was last read or saved; `now` is the edited
    document. Pointers are relative to `prefix`. `whole`: the whole text of a faulty document is edited, and may not be
    JSON."""

    def __init__(self, document: Document, prefix: str, *, whole: bool = False) -> None:
        self.prefix = prefix
        self.whole = whole
        self.alone = False
        """Whether the whole text is the only view of the attributes, because they are in this document and cannot be
        read."""
        self.base = document
        self.history = [document]
        self.acts = [0]
        """The number of the action that made each document of the history; one action may change several drafts."""
        self.at = 0
        self.errors: dict[str, tuple[str, str]] = {}
        """Pointer → (text as typed, the reason why it is invalid)."""
        self.folded: dict[str, bool] = {}
        self.pages: dict[str, int] = {}
        """Long list or object → the position of the first displayed member."""
        self.saving = False
        self.confirmed = b""
        """The bytes of a document that is not standard JSON, about which the person was asked; saving the same bytes
        again writes them."""
        self.failure = ""
        self.note = ""
        self.hint = ""
        """The reason why the last action was refused; the next action clears it."""
        self.channels: ReadChannels | None = None
        """The channels as they were read for an edit; None if no edit has read them."""
        self.theirs: Document | None = None
        self.choices: dict[str, Side] = {}
        """Disputed field → the chosen side."""
        self._sides: tuple[tuple[Document, Document, Document], Sides] | None = None
        self.json: JsonText | None = None
        """The JSON text of the attributes that was made last."""
        self._diff: tuple[tuple[Document, Document], Diff] | None = None
        self._changes: tuple[tuple[Document, Document], tuple[Change, ...]] | None = None

    @property
    def now(self) -> Document:
        """The edited document, at the present place in the undo history."""
        return self.history[self.at]

    @property
    def large(self) -> bool:
        """Whether the document is so large that slow work on it is done in the background."""
        versions = (self.now, self.base, self.theirs)
        return any(len(each.bytes) > AT_ONCE for each in versions if each is not None)

    @property
    def dirty(self) -> bool:
        """Whether there is anything unsaved: a field with an error, or a difference from `base`."""
        return bool(self.errors) or not _alike(self.now, self.base)

    @property
    def unfinished(self) -> bool:
        """Whether a typed text is invalid, so that the draft cannot be saved."""
        return bool(self.errors) or isinstance(self.now, UnparsedDocument)

    @property
    def settled(self) -> bool:
        """Whether `changes` belong to the present `base` and `now`; of a large document they may be out of date."""
        known = self._changes
        return _alike(self.now, self.base) or (known is not None and _same(known[0], (self.base, self.now)))

    @property
    def changes(self) -> tuple[Change, ...]:
        """The differences from the stored document; of a large document, the differences that were computed last."""
        if self.large and not self.settled:
            return self._changes[1] if self._changes is not None else ()
        return self.find_changes()

    def find_changes(self) -> tuple[Change, ...]:
        """The differences from the stored document. Takes long for a large one, unless they were already computed."""
        if _alike(self.now, self.base):
            return ()
        if self._changes is None or not self.settled:
            self._changes = ((self.base, self.now), tuple(differences(self.base, self.now, self.prefix)))
        return self._changes[1]

    def copy(self) -> Draft:
        """A copy that can be changed in the background without changing this draft; `adopt` takes over the result."""
        made = copy(self)
        made.history, made.acts = [*self.history], [*self.acts]
        made.errors, made.choices = {**self.errors}, {**self.choices}
        made.folded, made.pages = {**self.folded}, {**self.pages}
        return made

    def adopt(self, made: Draft) -> None:
        """Takes over the edits made to a copy; collapsed fields and displayed pages stay those of this draft."""
        mine = {name: getattr(self, name) for name in ("folded", "pages", "saving", "confirmed")}
        self.__dict__.update({**made.__dict__, **mine})

    def push(self, document: Document, act: int = 0) -> None:
        """Appends an edited document to the history and makes it the present one. `act`: the number of the action if it
        changes several drafts; 0 for a new number."""
        if document.bytes == self.now.bytes:
            return
        del self.history[self.at + 1 :], self.acts[self.at + 1 :]
        self.history.append(document)
        self.acts.append(act or new_act())
        self.at += 1
        self.failure = self.note = self.hint = ""

    def travel(self, by: Literal[-1, 1]) -> bool:
        """Goes back (-1) or forward (1) by one edit of the history. Returns False if it ends there."""
        if not 0 <= self.at + by < len(self.history):
            return False
        self.at += by
        self.failure = self.note = self.hint = ""
        return True

    def make_again(self, changes: Sequence[tuple[str, str | None]]) -> None:
        """Applies changes that were made to another version of the document: (pointer, JSON text; None removes the
        value)."""
        made = self.now
        for pointer, after in changes:
            made = (
                self.with_text(after or "")
                if self.whole and not pointer
                else put(made, within(self.prefix, pointer), after)
            )
        self.push(made)

    def with_text(self, text: str) -> Document:
        """The whole document with another text, which need not be JSON."""
        return document_or_text(text, self.base.key, self.base.version, limit=CONSOLIDATED_LIMIT)

    def need_object(self, document: Document) -> None:
        """Raises Refused if the attributes as a whole would no longer be a JSON object."""
        if self.whole:
            return
        if isinstance(self.now.get(self.prefix, {}), dict) and not isinstance(document.get(self.prefix, {}), dict):
            raise Refused(strings.WHOLE_STAYS, key=document.key)

    def saved(self, document: Document) -> None:
        """Takes the stored document as the new `base`; the undo history stays."""
        self.base = document
        self.note = strings.SAVED

    def diff(self) -> Diff:
        """The differences as text. Takes long for a large document whose differences were not computed yet."""
        at = (self.base, self.now)
        if self._diff is None or not _same(self._diff[0], at):
            self.know(*at, diff_of(*at, self.prefix, self.channels))
        assert self._diff is not None
        return self._diff[1]

    def note_channels(self, facts: NodeFacts) -> None:
        """Keeps the channels that were read for an edit, so that the review can say which windows come from values."""
        self.channels = facts.read_channels or self.channels

    @property
    def added_windows(self) -> str:
        """The sentence about contrast windows that the edits added; "" if there are none, and for a large document."""
        if self.whole or self.large or self.channels is None:
            return ""
        return added_windows(self.base.get(self.prefix, {}), self.now.get(self.prefix, {}), self.channels)

    @property
    def known(self) -> tuple[Document, Document] | None:
        """The two documents that `diff` compared last; None before the first comparison."""
        return None if self._diff is None else self._diff[0]

    @property
    def known_diff(self) -> Diff | None:
        """The differences as text; None for a large document whose differences were not computed yet."""
        told = self.known is not None and _same(self.known, (self.base, self.now))
        return self.diff() if told or not self.large else None

    def know_changes(self, base: Document, now: Document, changes: tuple[Change, ...]) -> None:
        """Stores the changed fields between two versions of the document, as found in the background."""
        self._changes = ((base, now), changes)

    def know(self, base: Document, now: Document, diff: Diff) -> None:
        """Stores the difference between two versions of the document, as found in the background."""
        self._diff, self._changes = ((base, now), diff), ((base, now), diff.changes)

    # ------------------------------------------------------------------ merging
    @property
    def sides(self) -> Sides:
        """In a conflict: the fields that both sides changed, and the fields that one side changed; empty without a
        conflict. For a large document those that `compare_sides` found last."""
        if self.theirs is None:
            return Sides((), FittingFields())
        if self.large:
            return self._sides[1] if self._sides is not None else Sides((), FittingFields())
        return self._find_sides(self.theirs)

    def compare_sides(self) -> None:
        """In a conflict, compares both sides again after an edit of mine. Takes long for a large document."""
        if self.theirs is not None:
            self._find_sides(self.theirs)

    def _find_sides(self, theirs: Document) -> Sides:
        at = (self.base, self.now, theirs)
        if self._sides is None or not _same(self._sides[0], at):
            found = sides_of(*at, self.prefix)
            if self._sides is not None:  # a side was chosen between values of which mine may be another one now
                before = {each.pointer: each for each in self._sides[1].disputed}
                same = {each.pointer for each in found.disputed if before.get(each.pointer) == each}
                self.choices = {pointer: side for pointer, side in self.choices.items() if pointer in same}
            self._sides = (at, found)
        return self._sides[1]

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Fields that both sides changed, to different values."""
        return self.sides.chosen(self.choices)

    def meet(self, stored: Document) -> bool:
        """Merges the edits into the document that somebody else stored meanwhile. Returns False if that one has other
        values in the form's fields, so that a person has to decide. It takes long for a large document: call it on a
        copy in the background, then `adopt` the copy."""
        if stored.version == self.base.version:
            return True
        self.theirs = stored
        if differences(self.base, stored, self.prefix):
            self._find_sides(stored)
            return False
        self.resolve("mine")
        return True

    def choose(self, pointer: str, side: Side) -> None:
        """Chooses the side whose value a disputed field gets when both sides are merged."""
        self.choices[pointer] = side

    def resolve(self, whose: Whose) -> None:
        """Makes `theirs` the base, and applies my changes to it. `whose`: the values of fields that both sides changed:
        "mine", "theirs", or "chosen" by `choose`. Takes long for large documents."""
        if self.theirs is None:
            return
        self._find_sides(self.theirs)
        disputed = self.disagreements
        if whose == "chosen" and not all(each.choice for each in disputed):
            return
        choices = {each.pointer: each.choice or "mine" if whose == "chosen" else whose for each in disputed}
        if self.whole and choices.get("") == "mine":  # it need not be JSON yet
            merged = self.now
        else:
            merged = merge(self.theirs, self.now, self.prefix, self.find_changes(), choices)
        self.base, self.theirs, self.choices, self._sides = self.theirs, None, {}, None
        self.push(merged)
        self.note = strings.MERGED if self.dirty else strings.AS_STORED
        self.find_changes()


def _alike(one: Document, other: Document) -> bool:
    return one is other or one.bytes == other.bytes


def _same(known: tuple[Document, ...], at: tuple[Document, ...]) -> bool:
    """Whether both tuples consist of the same Document objects. Contents are not compared, because that takes long."""
    return all(one is other for one, other in zip(known, at, strict=True))


def diff_of(base: Document, now: Document, prefix: str, channels: ReadChannels | None = None) -> Diff:
    """The difference between two documents as text, with the key of the document at the top. Takes long for large
    documents. `channels`: the channels as they were read for the edits."""
    name = strings.clean(base.key)
    lines = changed_lines(base.text, now.text, f"{name} (stored)", f"{name} (edited)")
    warned = [words.not_standard_line(each) for each in brought_in(base, now)]
    told = [strings.clean_lines(line) for line in lines]
    if base.bytes != now.bytes:
        added = added_windows(base.get(prefix, {}), now.get(prefix, {}), channels) if channels is not None else ""
        warned += [f"# {name}: {added}"] if added else []
        told = [*warned, words.writes(name, len(now.bytes), len(base.bytes)), *told]
    return Diff("\n".join(told), tuple(differences(base, now, prefix)), len(now.bytes))


def diff_together(diffs: Sequence[Diff]) -> Diff:
    """The differences of several documents, one after the other, with the bytes to be written in all."""
    texts = [diff.unified for diff in diffs]
    if len(diffs) > 1 and all(diff.nbytes for diff in diffs):
        texts.insert(0, words.writes_in_all(len(diffs), sum(diff.nbytes for diff in diffs)))
    return Diff("\n".join(texts), tuple(c for diff in diffs for c in diff.changes), sum(diff.nbytes for diff in diffs))


def differences(before: Document, after: Document, prefix: str) -> list[Change]:
    """The differences between two documents, at the innermost values. Pointers are relative to `prefix`; those of the
    names of dimensions beside the attributes begin with BESIDE."""
    return [Change(*each) for each in compare.differences(before, after, prefix, beside_of(prefix))]


def digest(document: Document) -> str:
    """A text that differs between two contents of a document; it stays the same across processes, unlike versions of a
    store."""
    return blake2b(document.bytes, digest_size=16).hexdigest()
