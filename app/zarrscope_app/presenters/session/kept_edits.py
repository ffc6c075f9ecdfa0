"""Unsaved edits of a session: kept when the process ends, and offered at the next start."""

from __future__ import annotations

from zarrscope_app.presenters.form.rescue import Keeper, Rescue
from zarrscope_app.presenters.session.part import SessionPart


class KeepsEdits(SessionPart):
    """The part of a session that keeps unsaved edits for the next start, and offers those of an earlier one."""

    rescue: Rescue | None = None

    def keep_edits(self, keeper: Keeper) -> None:
        """Starts to store unsaved edits so that they outlive the process, and offers those of an earlier run."""
        self.rescue = Rescue(self.url, self.edit, self.owner, keeper)
        self.rescue.changed.connect(self._refresh)
        self._refresh()

    def put_back(self) -> None:
        """Restores the edits of an earlier run; the hierarchy is opened for writing."""
        if self.rescue is not None and self.rescue.sentence:
            self.rescue.accept()
            if self.hierarchy is not None and self.hierarchy.writable:
                self.rescue.put_back(self.hierarchy)
            else:
                self.set_writable(True)

    def forget(self) -> None:
        """Drops the edits that an earlier run left."""
        if self.rescue is not None and self.rescue.sentence:
            self.rescue.discard()

    def discard_edits(self) -> None:
        """Called before `close`: unsaved edits will not be kept."""
        if self.rescue is not None:
            self.rescue.drop()

    def keep_unsaved(self) -> None:
        """Stores unsaved edits for the next start, because the process is about to end."""
        if self.rescue is not None:
            self.rescue.close()
