"""The part of the form's presenter that changes members of the attributes of one node."""

from __future__ import annotations

from zarrscope_app.presenters.form.node_form import NodeForm
from zarrscope_app.presenters.form.view_models import FieldKind


class MemberActions:
    """Part of a presenter: forwards to the form of the selected node, `_one`."""

    _one: NodeForm

    def may_retype(self, pointer: str) -> bool:
        """Whether a field can be converted to another kind; if not, `state.sentence` gives the reason."""
        return self._one.members.may_retype(pointer)

    def retype(self, pointer: str, kind: FieldKind) -> None:
        """Converts a field to another of its `kinds` ("5" ↔ 5). Other kinds would lose content, so they are refused."""
        self._one.members.retype(pointer, kind)

    def add(self, pointer: str, name: str, text: str = '""') -> str:
        """Adds a member to the object or list at `pointer` (a list ignores the name and appends); `text` is JSON.
        Returns the pointer of the new member, or "" if it could not be added (`state.sentence` gives the reason)."""
        return self._one.members.add(pointer, name, text)

    def add_typed(self, pointer: str, name: str, typed: str) -> str:
        """Like `add`, with a value as a person types it: JSON, or else plain text."""
        return self._one.members.add_typed(pointer, name, typed)

    def takes_name(self, pointer: str, name: str) -> bool:
        """Whether the object at `pointer` can have a new member `name`; if not, `state.sentence` gives the reason."""
        return self._one.members.takes_name(pointer, name)

    def rename(self, pointer: str, name: str) -> None:
        """Renames a member of an object. Items of lists, and the attributes as a whole, have no name."""
        self._one.members.rename(pointer, name)

    def remove(self, pointer: str) -> None:
        """Removes a member or an item. The attributes as a whole cannot be removed."""
        self._one.members.remove(pointer)

    def move(self, pointer: str, by: int) -> None:
        """Moves a member or an item up or down among its siblings."""
        self._one.members.move(pointer, by)
