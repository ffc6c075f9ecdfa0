"""Members of the attributes: adds, renames, removes and moves them, and converts their kind."""

from __future__ import annotations

import json
from collections.abc import Callable

from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.pointers import pointer_of, tokens_of
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.editing import DraftEditor
from zarrscope_app.presenters.form.field_tree import spelled
from zarrscope_app.presenters.form.revealing import reveal
from zarrscope_app.presenters.form.section_form import is_section_field
from zarrscope_app.presenters.form.view_models import Field, FieldKind


class MemberEditor:
    """Adds, renames, removes, moves and converts members of the attributes. Fields of sections have ids that are not
    JSON pointers, so they cannot be changed here."""

    def __init__(
        self, editor: DraftEditor, field: Callable[[str], Field | None], repaint: Callable[[], object]
    ) -> None:
        self._editor, self._field, self._repaint = editor, field, repaint

    def may_retype(self, pointer: str) -> bool:
        """Whether a field can be converted to another kind; if not, `state.sentence` gives the reason."""
        field = self._field(pointer)
        if field is None or self._editor.draft() is None:
            return False
        if len(field.kinds) < 2:
            self._editor.refuse(strings.keeps_kind(field.label) if pointer else strings.WHOLE_STAYS)
        return len(field.kinds) > 1

    def retype(self, pointer: str, kind: FieldKind) -> None:
        """Converts a field to another of its `kinds` ("5" ↔ 5). Other kinds would lose content, so they are refused."""
        field, draft = self._field(pointer), self._editor.draft()
        if field is None or draft is None or field.kind == kind:
            return
        value = draft.now.get(draft.prefix + pointer)
        new = spelled(value, field.text, kind, bool(field.error)) if kind in field.kinds else None
        if new is None:
            self._editor.refuse(strings.WHOLE_STAYS if not pointer else strings.would_lose(field.label, kind))
        else:
            text = new
            self._editor.change(pointer, lambda d, p: d.set_text(p, text))

    def add(self, pointer: str, name: str, text: str = '""') -> str:
        """Adds a member to the object or list at `pointer` (a list ignores the name and appends); `text` is JSON.
        Returns the pointer of the new member, or "" if it could not be added (`state.sentence` gives the reason)."""
        draft = self._editor.draft()
        if draft is None:
            return ""
        if is_section_field(pointer):
            self._editor.refuse(words.ADD_AMONG_ALL)
            return ""
        holder = draft.now.get(draft.prefix + pointer, None)
        if isinstance(holder, list):
            new = f"{pointer}/{len(holder)}"
        else:
            new = pointer + pointer_of([name])
            if isinstance(holder, dict) and name in holder:
                self._editor.refuse(strings.taken(name))
                return ""

        def make(made: Draft) -> Document:
            now = made.now.with_object(made.prefix) if pointer == "" and made.prefix else made.now
            document = now.set_text(made.prefix + new, text)
            made.errors.pop(pointer, None)
            return document

        if not self._editor.make(make):
            return ""
        draft.errors.pop(pointer, None)
        reveal(draft, new)
        draft.folded[pointer] = False
        self._repaint()
        return new

    def add_typed(self, pointer: str, name: str, typed: str) -> str:
        """Like `add`, with a value as a person types it: JSON, or else plain text. A text that begins like JSON but is
        invalid is refused, because it is a typing error."""
        bare = typed.strip()
        try:
            json.loads(bare)
        except ValueError:
            bare = bare if bare[:1] in ("{", "[", '"') else json.dumps(typed, ensure_ascii=False)
        return self.add(pointer, name, bare)

    def takes_name(self, pointer: str, name: str) -> bool:
        """Whether the object at `pointer` can have a new member `name`; if not, `state.sentence` gives the reason."""
        draft = self._editor.draft()
        holder = draft.now.get(draft.prefix + pointer, None) if draft is not None else None
        if isinstance(holder, dict) and name in holder:
            self._editor.refuse(strings.taken(name))
            return False
        return True

    def rename(self, pointer: str, name: str) -> None:
        """Renames a member of an object. Items of lists, and the attributes as a whole, have no name."""
        if is_section_field(pointer):
            self._editor.refuse(words.ADD_AMONG_ALL)
            return
        field = self._field(pointer)
        if not pointer or (field is not None and not field.can_rename):
            self._editor.refuse(strings.ITEM_HAS_NO_NAME if pointer else strings.WHOLE_STAYS)
            return
        if name != tokens_of(pointer)[-1] and self.takes_name(pointer_of(tokens_of(pointer)[:-1]), name):
            self._editor.change(pointer, lambda d, p: d.rename(p, name), name)

    def remove(self, pointer: str) -> None:
        """Removes a member or an item. The attributes as a whole cannot be removed."""
        if not pointer or is_section_field(pointer):
            self._editor.refuse(words.ADD_AMONG_ALL if pointer else strings.WHOLE_STAYS)
            return
        if self._editor.change(pointer, lambda d, p: d.remove(p)) and (draft := self._editor.draft()):
            draft.errors = {p: e for p, e in draft.errors.items() if not _within(p, pointer)}
            self._repaint()

    def move(self, pointer: str, by: int) -> None:
        """Moves a member or an item up or down among its siblings."""
        draft = self._editor.draft()
        if is_section_field(pointer):
            return
        tokens = tokens_of(pointer)
        if draft is None or not tokens:
            return
        holder = draft.now.get(draft.prefix + pointer_of(tokens[:-1]), None)
        at = [*holder].index(tokens[-1]) if isinstance(holder, dict) else int(tokens[-1])
        if isinstance(holder, dict | list) and 0 <= at + by < len(holder):
            self._editor.change(pointer, lambda d, p: d.move(p, at + by))


def _within(pointer: str, above: str) -> bool:
    return pointer == above or pointer.startswith(above + "/")
