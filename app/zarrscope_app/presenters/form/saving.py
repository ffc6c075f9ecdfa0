"""Saves drafts: the displayed one, or all of them; shows and merges conflicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from zarrscope.errors import Conflict, NotStandard
from zarrscope.jsondoc.document import Document
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.several_saving import Saved, saving
from zarrscope_app.presenters.form.view_models import Side, Whose
from zarrscope_app.presenters.form.whole_text import refused, save, stored


class Saver:
    """Saves drafts. `repaint()` requests a repaint; `saved(path)` is called for each document that was written,
    `failed(error, path)` for each that could not be written."""

    def __init__(
        self,
        owner: Owner,
        drafts: Drafts,
        repaint: Callable[[], object],
        saved: Callable[[str], object],
        failed: Callable[[BaseException, str], object],
    ) -> None:
        self._owner, self._drafts, self._repaint, self._saved, self._failed = owner, drafts, repaint, saved, failed
        self._then: Callable[[str | None], object] | None = None

    @property
    def saving(self) -> bool:
        """Whether any draft is being saved."""
        return any(draft.saving for draft in self._drafts.by_path.values())

    def tell_wait(self, sentence: str) -> None:
        """Shows the sentence about the lock for which a save waits; "" if none does."""
        if self._drafts.wait != sentence:
            self._drafts.wait = sentence
            self._repaint()

    def save(self) -> None:
        """Saves the displayed draft."""
        draft = self._drafts.editable
        if draft is not None and not draft.unfinished and draft.dirty and draft.theirs is None:
            self._save(self._drafts.path, draft, may_merge=True)

    def _save(self, path: str, draft: Draft, may_merge: bool) -> None:
        hierarchy = self._drafts.hierarchy
        assert hierarchy is not None  # there is a hierarchy, because each draft belongs to one of its nodes
        document = draft.now.read_at(draft.base.version)
        draft.saving, draft.failure = True, ""
        met = draft.copy()

        def work() -> tuple[Document | None, bool]:
            """(the saved document, or None if somebody else changed the stored one meanwhile; whether `met` was then
            merged with the stored one without a conflict)."""
            try:
                return save(hierarchy, path, met, document), False
            except Conflict:
                return None, met.meet(stored(hierarchy, path, met))

        def done(outcome: JobResult[tuple[Document | None, bool]]) -> None:
            draft.saving = False
            saved, merged = outcome.value or (None, False)
            # Nothing was written; if the person saves the same bytes again, that confirms them.
            if isinstance(outcome.error, NotStandard):
                draft.confirmed = document.bytes
                draft.failure = refused(outcome.error)
            elif outcome.error is not None:
                draft.failure = strings.problem(outcome.error, path).headline
                self._failed(outcome.error, path)
            elif saved is not None:
                draft.saved(saved)
                self._saved(path)
            else:
                draft.adopt(met)
                if merged and may_merge:  # merged without a conflict: the result is saved without asking
                    self._save(path, draft, may_merge=False)
            self._repaint()
            self._settled()

        self._owner.fetch(work, done)
        self._repaint()

    @property
    def can_save_all(self) -> bool:
        """Whether `save_all` has something to save, and no error or conflict prevents it."""
        drafts = self._drafts.unsaved().values()
        return bool(drafts) and self._drafts.writable and not any(d.unfinished or d.saving or d.theirs for d in drafts)

    def save_all(self, then: Callable[[str | None], object]) -> None:
        """Saves the changes of every node, or none of them; calls `then(path)` with the first one that could not be
        saved, or `then(None)` if all were saved."""
        if not self.can_save_all:
            then(self._in_the_way())
            return
        self._then = then
        drafts = self._drafts.unsaved()
        if len(drafts) > 1:
            self._save_together(drafts, may_merge=True)
        for path, draft in drafts.items():
            if len(drafts) == 1:
                self._save(path, draft, may_merge=True)

    def _save_together(self, drafts: Mapping[str, Draft], may_merge: bool) -> None:
        hierarchy = self._drafts.hierarchy
        assert hierarchy is not None  # there is a hierarchy, because each draft belongs to one of its nodes
        work = saving(hierarchy, drafts)
        for draft in drafts.values():
            draft.saving, draft.failure = True, ""

        def done(outcome: JobResult[Saved]) -> None:
            for draft in drafts.values():
                draft.saving = False
            found = outcome.value or Saved()
            if outcome.error is not None:
                self._failed(outcome.error, _tell_of(outcome.error, drafts))
            for path, document in found.saved.items():
                drafts[path].saved(document)
                self._saved(path)
            for path, met in found.met.items():
                drafts[path].adopt(met)
            if found.met and may_merge and not any(draft.theirs for draft in drafts.values()):
                self._save_together(drafts, may_merge=False)
            self._repaint()
            self._settled()

        self._owner.fetch(work, done)
        self._repaint()

    def when_saved(self, then: Callable[[str | None], object]) -> bool:
        """Calls `then`, as in `save_all`, when the running saves have ended; returns False if there are none."""
        if self._then is not None or not self.saving:
            return False
        self._then = then
        return True

    def _in_the_way(self) -> str | None:
        dirty = self._drafts.unsaved()
        found = [path for path, draft in dirty.items() if draft.unfinished or draft.theirs or draft.failure]
        return next(iter(found or dirty), None)

    def _settled(self) -> None:
        """Called when a save has ended. If no other save is running, calls the function that waits for the end of all
        saves."""
        if self._then is not None and not self.saving:
            then, self._then = self._then, None
            then(self._in_the_way())

    def choose(self, pointer: str, side: Side, path: str) -> None:
        """Chooses the side whose value a disputed field gets."""
        draft = self._drafts.by_path.get(path)
        if draft is not None and draft.theirs is not None:
            draft.choose(pointer, side)
            self._repaint()

    def resolve(self, whose: Whose) -> None:
        """Merges the displayed draft with the stored document. A field that both sides changed gets the value that was
        chosen for it, otherwise that of the side `whose`."""
        draft = self._drafts.shown
        if draft is not None and draft.theirs is not None:
            draft.resolve(whose)
            self._repaint()


def _tell_of(error: BaseException, drafts: Mapping[str, Draft]) -> str:
    """Puts the reason why nothing was saved into the draft of the document that the error names. Returns the path of
    its node."""
    key = getattr(error, "key", "")
    path = next((path for path, draft in drafts.items() if draft.now.key == key), next(iter(drafts)))
    draft = drafts[path]
    # Nothing was written; if the person saves the same bytes again, that confirms them.
    if isinstance(error, NotStandard):
        draft.confirmed = draft.now.bytes
        draft.failure = refused(error)
    else:
        draft.failure = strings.problem(error, path).headline
    return path
