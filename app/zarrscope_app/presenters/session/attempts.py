"""The problems of data that could not be read, listed or saved: each is listed until another attempt succeeds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.advice import REFRESH, asks_to_refresh
from zarrscope_app.presenters.form.view_models import EditStatus
from zarrscope_app.presenters.form.words import LOOK_FIRST
from zarrscope_app.presenters.problems import RULES
from zarrscope_app.presenters.session.part import SessionPart

if TYPE_CHECKING:
    from zarrscope.model.selection import ChunkIndex
    from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
    from zarrscope_app.presenters.tree.presenter import TreePresenter
    from zarrscope_app.presenters.values import ValuesPresenter


class WatchesAttempts(SessionPart):
    """Part of a session: adds the problems of failed attempts, and removes them after attempts that succeed."""

    tree: TreePresenter
    values: ValuesPresenter
    chunks: ChunksPresenter
    _shown_problem: strings.Problem
    _asked_to_save = False
    """Whether the person has asked to save the displayed attributes, and the result is not known yet."""

    @property
    @abstractmethod
    def _reads_chunks(self) -> bool:
        """Whether a node is shown. Otherwise its chunks will be requested again."""

    @property
    def _retry_label(self) -> str:
        """The label of the button that tries again after the shown problem; "" if no attempt may succeed."""
        stale = asks_to_refresh(self._shown_problem.headline)
        return "" if not self._shown_problem.retry else REFRESH if stale else strings.RETRY

    def _watch_attempts(self) -> None:
        self.edit.failed.connect(lambda error, path: self._was_denied(error, path, ("saved", path)))
        self.edit.saved.connect(lambda path: self._solved(("saved", path)))
        self.edit.saved.connect(self.problems.was_saved)
        self.edit.unapplied.connect(self._unapplied)
        self.tree.attempted.connect(self._attempted)
        self.slice.failed.connect(self._failed)
        self.slice.failed.connect(self.chunks.failed)
        self.values.failed.connect(self._cell_failed)
        for view in (self.slice, self.values):
            view.recovered.connect(self._recovered)
            view.recovered.connect(self.chunks.recovered)
        self.chunks.checked.connect(self._recovered)
        self.edit.changed.connect(self._list_stored_findings)
        self.edit.changed.connect(self._show_what_prevents_saving)

    def save_asked(self) -> None:
        """Called before attributes are saved because the person asks for it, in any tab."""
        self._asked_to_save = True
        self._show_what_prevents_saving()

    def _show_what_prevents_saving(self) -> None:
        """Brings the form to the front if attributes could not be saved: it says why, and what can be done."""
        brief = self.edit.brief
        status = brief.status
        prevented = status in (EditStatus.FAILED, EditStatus.CONFLICT, EditStatus.INVALID)
        if self._asked_to_save and (prevented or LOOK_FIRST in brief.sentence):
            self.tabs.lead_to("attributes")
            self._refresh()
        if status not in (EditStatus.DIRTY, EditStatus.SAVING, EditStatus.READ_ONLY, EditStatus.EMPTY):
            self._asked_to_save = False

    def _list_stored_findings(self) -> None:
        """Adds to the list of problems what the form found wrong with the stored OME-Zarr attributes. A check of the
        node would find the same."""
        if (found := self.edit.stored_findings) is not None:
            self.problems.show_findings(RULES, self.edit.brief.path, found)

    def _list_warnings(self, path: str, warnings: Iterable[str]) -> None:
        """Lists the warnings about a node as it was read last, in place of earlier ones."""
        told = [strings.warning(each, path) for each in warnings]
        self.problems.show_those_of(("read", path), {each: each for each in told})

    def _failed(self, error: BaseException, path: str, index: ChunkIndex) -> None:
        """Lists the error of a chunk among the problems; if a command would help, shows it in the error bar, too."""
        if not self._reads_chunks:
            return
        found = self.problems.add(error, path, cause=("chunk", path, index))
        helpful = found.offer or found.tried or asks_to_refresh(found.headline)
        if helpful and not self._shown_problem.headline:
            self._shown_problem = found
            self._refresh()

    def _cell_failed(self, error: BaseException, path: str, index: ChunkIndex) -> None:
        told = strings.problem(error)
        if told.offer or told.tried:  # the table itself shows all other errors
            self._failed(error, path, index)

    def _recovered(self, path: str, index: ChunkIndex) -> None:
        self._solved(("chunk", path, index))

    def _attempted(self, error: BaseException | None, path: str, name: str) -> None:
        if error is None:
            self._solved(("listing", path, name))
        else:
            self._was_denied(error, path, ("listing", path, name))

    def _was_denied(self, error: BaseException, path: str, cause: Hashable) -> None:
        """Shows the problem, which makes the session ask for credentials, if `error` says that the present ones were
        denied; called when a group could not be listed, or a document not saved."""
        found = strings.problem(error, path)
        if found.tried:
            self._show_problem(replace(self.problems.add(found, cause=cause), retry=False))

    def _unapplied(self, path: str, sentence: str) -> None:
        """Lists the texts of a node that were not applied, and leads to its form; "" if they are applied by now."""
        cause = ("unapplied", path)
        if sentence:
            found = strings.Problem("warning", strings.joined(strings.clean(path), sentence), path=path, mend="edit")
            self._show_problem(self.problems.add(found, cause=cause))
        else:
            self._solved(cause)

    def _solved(self, cause: Hashable) -> None:
        """Removes the problem of an earlier attempt from the list and from the error bar."""
        gone, shown = self.problems.solved(cause), self._shown_problem
        if gone is not None and (gone.path, gone.headline) == (shown.path, shown.headline):
            self._show_problem(strings.Problem("", ""))
