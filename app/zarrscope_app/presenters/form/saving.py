"""Saving the drafts of a form: one of them or all; conflicts told and merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.errors import Conflict, NotStandard
from zarrscope.jsondoc.document import Document
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft, differences
from zarrscope_app.presenters.form.several import SeveralForm
from zarrscope_app.presenters.form.view_models import Diff

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


class SavesDrafts:
    """Part of the edit presenter: what writes."""

    saved: Any
    _owner: Owner
    _hierarchy: Hierarchy | None
    _writable: bool
    _path: str
    _drafts: dict[str, Draft]
    _several: SeveralForm | None
    _then: Callable[[str | None], object] | None

    @property
    def saving(self) -> bool:
        return any(draft.saving for draft in self._drafts.values())

    def _in_turn(self, act: Callable[[], object]) -> None:
        raise NotImplementedError  # EditPresenter defines it

    def _draft(self) -> Draft | None:
        raise NotImplementedError  # EditPresenter defines it

    def _refresh(self) -> None:
        raise NotImplementedError  # EditPresenter defines it

    def save(self) -> None:
        """Writes in the background: SAVING, then CLEAN, CONFLICT or FAILED. Of several nodes all are saved, or none."""
        if self._several is not None:
            self._several.save()
            return

        def act() -> None:
            draft = self._draft()
            if draft is not None and not draft.errors and draft.dirty:
                self._save(self._path, draft, may_merge=True)

        self._in_turn(act)

    def _save(self, path: str, draft: Draft, may_merge: bool) -> None:
        hierarchy = self._hierarchy
        assert hierarchy is not None  # a draft is of a node, and a node of a hierarchy
        document = draft.now.read_at(draft.base.version)
        draft.saving, draft.failure = True, ""

        def work() -> tuple[Document | None, Document | None]:
            """(the saved document, or the one that is stored instead)."""
            try:
                return hierarchy.save(path, document, allow_nan=draft.confirmed == document.bytes), None
            except Conflict:
                return None, hierarchy.document(path)

        def done(outcome: JobResult[tuple[Document | None, Document | None]]) -> None:
            draft.saving = False
            saved, theirs = outcome.value or (None, None)
            if isinstance(outcome.error, NotStandard):  # the person is asked once; saving the same again confirms it
                draft.confirmed = document.bytes
                draft.failure = strings.not_standard(outcome.error.message)
            elif outcome.error is not None:
                draft.failure = strings.problem(outcome.error, path).headline
            elif saved is not None:
                draft.saved(saved)
                self.saved.emit(path)
            elif theirs is not None:
                attributes_changed = bool(differences(draft.base, theirs, draft.prefix))
                draft.theirs = theirs
                if may_merge and not attributes_changed:  # another part changed: merge without asking
                    draft.resolve("mine")
                    self._save(path, draft, may_merge=False)
            self._refresh()
            self._settled()

        self._owner.fetch(work, done)
        self._refresh()

    def diff_of_all(self) -> Diff:
        """The differences of every document with changes, one after the other."""
        found = [draft.diff() for draft in self._drafts.values() if draft.dirty]
        return Diff("\n".join(diff.unified for diff in found), tuple(c for diff in found for c in diff.changes))

    @property
    def can_save_all(self) -> bool:
        """Whether `save_all` has something to save and nothing in its way."""
        drafts = [draft for draft in self._drafts.values() if draft.dirty]
        return bool(drafts) and self._writable and not any(d.errors or d.saving or d.theirs for d in drafts)

    def save_all(self, then: Callable[[str | None], object]) -> None:
        """Saves the changes of every node; `then(path)` of the first that could not be saved, `then(None)` when all
        were. With errors or a conflict in one of them nothing is written."""
        if not self.can_save_all:
            then(self._in_the_way())
            return
        self._then = then
        for path, draft in [*self._drafts.items()]:
            if draft.dirty:
                self._save(path, draft, may_merge=True)

    def when_saved(self, then: Callable[[str | None], object]) -> bool:
        """`then`, as in `save_all`, once the saves under way have ended; False when there are none to wait for."""
        if self._then is not None or not self.saving:
            return False
        self._then = then
        return True

    def _in_the_way(self) -> str | None:
        dirty = [(path, draft) for path, draft in self._drafts.items() if draft.dirty]
        found = [path for path, draft in dirty if draft.errors or draft.theirs or draft.failure]
        return found[0] if found else dirty[0][0] if dirty else None

    def _settled(self) -> None:
        """Called when a save has ended; after the last one, calls those that wait for all."""
        if self._then is not None and not self.saving:
            then, self._then = self._then, None
            then(self._in_the_way())

    def resolve(self, whose: Literal["mine", "theirs"]) -> None:
        """Merges with what is stored now; where both changed a field, this side wins. DIRTY or CLEAN afterwards."""
        if self._several is not None:
            self._several.resolve(whose)
            return
        draft = self._drafts.get(self._path)
        if draft is not None and draft.theirs is not None:
            draft.resolve(whose)
            self._refresh()
