"""Keeps the unsaved edits of a session when the process ends, and offers to restore them at the next start."""

from __future__ import annotations

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.rescue import Rescue
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.settings import Settings


class KeepsEdits(SessionPart):
    """The part of a session that keeps unsaved edits for the next start, and offers those of an earlier session."""

    rescue: Rescue | None = None
    _settings: Settings

    def keep_edits(self, settings: Settings) -> None:
        """Starts to store unsaved edits so that they outlive the process, and offers those of an earlier run."""
        self.rescue = Rescue(self.url, self.edit, self.owner, settings)
        self.rescue.changed.connect(self._refresh)
        self._settings = settings
        self._say_if_unkept()
        if self.hierarchy is not None:
            self.rescue.opened(self.hierarchy)
        self.rescue.changed.connect(self._say_if_unkept)
        self._refresh()

    def _say_if_unkept(self) -> None:
        """Says among the problems whether nothing can be stored on this computer."""
        self.problems.set_note(_unkept(self._settings.unwritable()))

    @property
    def keeps_unsaved(self) -> bool:
        """Whether unsaved edits are kept for the next start."""
        return self.rescue is not None and self.rescue.outlives

    def put_back(self) -> None:
        """Restores the edits of an earlier run; opens the hierarchy for writing if it is read-only."""
        if self.rescue is not None and self.rescue.sentence:
            self.rescue.accept()
            if self.hierarchy is not None and self.hierarchy.writable:
                self.rescue.put_back(self.hierarchy)
            else:
                self.set_writable(True)

    def forget(self) -> None:
        """Deletes the unsaved edits of an earlier run."""
        if self.rescue is not None and self.rescue.sentence:
            self.rescue.discard()

    def discard_edits(self) -> None:
        """Deletes the stored copy of unsaved edits; called before `close` if the person discards them."""
        if self.rescue is not None:
            self.rescue.drop()

    def keep_unsaved(self) -> None:
        """Stores unsaved edits for the next start, because the process is about to end."""
        if self.rescue is not None:
            self.rescue.close()


def _unkept(place: str) -> str:
    """The sentence about a place where nothing can be stored; "" for none."""
    if not place:
        return ""
    told = "Settings, recent places and unsaved edits are not kept for the next start"
    return f"{told}: {strings.clean(place)} cannot be written."
