"""Applies what was requested for nodes that are not displayed, as soon as the hierarchy is open for writing.

The result is unsaved edits of these nodes, as if their forms had been displayed. Texts for a document that somebody
else changed meanwhile are not applied: the person is told, and they are applied when the node is selected, where their
effect is visible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from zarrscope.model.frozen import frozen
from zarrscope.nodes.mending import whole_document
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import Draft, digest
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.node_form import NodeForm
from zarrscope_app.presenters.form.saving import Saver
from zarrscope_app.presenters.form.sections.model import NodeFacts, node_facts
from zarrscope_app.presenters.form.several import SeveralForm
from zarrscope_app.presenters.form.view_models import EditStatus
from zarrscope_app.presenters.form.waiting import Aside, Waiting
from zarrscope_app.presenters.form.whole_text import read_draft

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy


@frozen
class _Read:
    """The data that are read before texts are applied."""

    changed: tuple[str, ...]
    """The nodes whose documents differ from those to which the texts were typed."""
    draft: Draft | None = None
    """A new draft of the only node; None for several nodes."""
    facts: NodeFacts | None = None
    """The facts about the only node; None if its whole document is edited."""


class PutAside:
    """Applies the requests that `waiting` keeps aside, one form after the other. `repaint()` requests a repaint, after
    which the next `apply` is called; `unapplied(path, sentence)` is called if texts for a node are not applied."""

    def __init__(
        self,
        owner: Owner,
        drafts: Drafts,
        waiting: Waiting,
        saver: Saver,
        repaint: Callable[[], object],
        unapplied: Callable[[str, str], object],
    ) -> None:
        self._owner, self._drafts, self._waiting, self._saver = owner, drafts, waiting, saver
        self._repaint, self._unapplied = repaint, unapplied
        self._now: Aside | None = None
        """The requests that are being applied."""
        self._form: SeveralForm | None = None
        """The form of several nodes in which they are applied; None if they are those of one node."""

    @property
    def applied_together(self) -> list[Aside]:
        """The texts that are being applied to several nodes and are not in their documents yet."""
        if self._now is None or self._form is None or not self._form.unapplied:
            return []
        return [Aside(self._now.paths, {**self._form.unapplied}, bases=self._now.bases)]

    def apply(self, busy: Collection[str]) -> None:
        """Begins to apply what waits, if the hierarchy is open for writing. `busy`: the nodes whose documents another
        form is editing; what waits for them waits on."""
        hierarchy = self._drafts.hierarchy
        if self._now is not None or hierarchy is None or not self._drafts.writable:
            return
        due = (each for each in self._waiting.aside if not each.told and not {*each.paths} & {*busy})
        aside = next(due, None)
        if aside is not None:
            self._now = aside
            self._owner.read(partial(_read, hierarchy, aside), partial(self._begin, aside, hierarchy))

    def _next(self) -> None:
        self._now = self._form = None
        self._repaint()

    def _begin(self, aside: Aside, hierarchy: Hierarchy, outcome: JobResult[_Read]) -> None:
        found = outcome.value
        if all(each is not aside for each in self._waiting.aside):  # its nodes were selected meanwhile
            self._next()
        elif found is None:
            error = outcome.error or RuntimeError()
            self._refuse(aside, aside.paths[0], strings.problem(error, aside.paths[0]).headline)
        elif found.changed:
            self._refuse(aside, found.changed[0], words.changed_meanwhile(len(aside.texts)))
        elif found.draft is None:
            self._apply_together(aside, hierarchy)
        else:
            self._apply_one(aside, hierarchy, found.draft, found.facts)

    def _refuse(self, aside: Aside, path: str, sentence: str) -> None:
        aside.told = True
        self._unapplied(path, sentence)
        self._next()

    def _apply_one(self, aside: Aside, hierarchy: Hierarchy, draft: Draft, facts: NodeFacts | None) -> None:
        """Edits a draft that is not displayed, in a form of its own, and then puts it among the drafts."""
        path = aside.paths[0]
        known = self._drafts.by_path.get(path)
        start = known.now if known is not None else None
        if known is not None:
            draft = known.copy()
        own, texts = Drafts(), Waiting()
        own.hierarchy, own.writable, own.path, own.kind = hierarchy, True, path, aside.kind
        own.by_path[path] = draft
        texts.here = Aside(aside.paths, {**aside.texts}, [*aside.acts])
        form = NodeForm(self._owner, own, texts, self._saver, self._repaint)
        if facts is not None:
            form.sections.set_facts(facts)

        def done() -> None:
            now = self._drafts.by_path.get(path)
            same = now is known and (now is None or (now.now is start and not now.saving))
            if same and self._waiting.drop(aside):  # otherwise the node was selected meanwhile, or edited
                if known is not None:
                    known.adopt(draft)
                else:
                    self._drafts.by_path[path] = draft
                if not draft.dirty and (draft.failure or draft.hint):
                    self._unapplied(path, draft.failure or draft.hint)
            self._next()

        form.type_waiting()
        form.when_edited(done)

    def _apply_together(self, aside: Aside, hierarchy: Hierarchy) -> None:
        self._waiting.drop(aside)

        def repaint_or_end() -> None:
            self._repaint()
            if self._now is aside and not form.busy and not form.occupied:
                state = form.brief
                if state.status in (EditStatus.INVALID, EditStatus.FAILED):
                    self._waiting.wait_again([aside])
                    self._refuse(aside, aside.paths[0], state.sentence)
                else:
                    self._next()

        form = self._form = SeveralForm(self._owner, self._drafts, repaint_or_end, lambda path: None)
        form.type_again(aside.texts)
        form.show(hierarchy, aside.paths)
        for act in aside.acts:
            act.perform(form)


def _read(hierarchy: Hierarchy, aside: Aside) -> _Read:
    """Reads the documents of nodes again. Waits for the store."""
    if len(aside.paths) > 1:
        changed = [path for path in aside.paths if _differs(aside, path, Draft(hierarchy.document(path), ""))]
        return _Read(tuple(changed))
    path = aside.paths[0]
    if not aside.whole:
        draft = read_draft(hierarchy, path, aside.kind)
        facts = node_facts(hierarchy, hierarchy[path]) if not draft.whole else None
        return _Read((path,) if draft.whole or _differs(aside, path, draft) else (), draft, facts)
    draft = Draft(whole_document(hierarchy, path, aside.whole), "", whole=True)
    return _Read((path,) if _differs(aside, path, draft) else (), draft)


def _differs(aside: Aside, path: str, draft: Draft) -> bool:
    return path in aside.bases and digest(draft.base) != aside.bases[path]
