"""The common interface of the form of one node and that of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from zarrscope_app.presenters.form.mending import Asked
from zarrscope_app.presenters.form.view_models import Diff, EditState, Field, Whose


class Form(Protocol):
    """The common interface of the form of one node and that of several."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the nodes in the form."""

    @property
    def state(self) -> EditState:
        """A new snapshot of the form."""

    @property
    def brief(self) -> EditState:
        """A new snapshot without fields and texts."""

    def field(self, id: str, /) -> Field | None:
        """A member by its pointer, or a field of a section by its id; None if it is not in the form."""

    def diff(self) -> Diff:
        """The differences of the edited documents from the stored ones."""

    def judge(self, on: bool) -> None:
        """Sets whether the form is visible, so that typed text is checked against the OME-Zarr specification."""

    def edit(self, id: str, text: str, /) -> None:
        """Sets the text of a field as typed; it is read according to the field's kind."""

    def why_not(self, id: str, text: str, /) -> Callable[[], str] | None:
        """A function for any thread that returns the reason why a text is invalid, or ""; None while nothing can be
        edited."""

    def change(self, asked: Sequence[Asked]) -> None:
        """Makes changes, all of them or none, as one step of the undo history."""

    def mend(self, pointer: str) -> None:
        """Makes the correction that the finding at `pointer` offers."""

    def locate(self, pointer: str) -> str:
        """Shows the field of a finding. Returns the id of the field; "" if there is none."""

    def travel(self, by: Literal[-1, 1]) -> None:
        """Undoes the latest edit (-1), or redoes it (1)."""

    def revert(self) -> None:
        """Drops all changes, as one step of the undo history."""

    def save(self) -> None:
        """Saves in the background all documents of the form, or none of them."""

    def resolve(self, whose: Whose) -> None:
        """Merges with the stored documents. Fields for which no side was chosen get the value of the side `whose`."""
