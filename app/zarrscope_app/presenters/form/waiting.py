"""Requests made while a hierarchy is read-only, which wait until it is open for writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.draft import digest
from zarrscope_app.presenters.form.drafts import Drafts
from zarrscope_app.presenters.form.protocol import Form
from zarrscope_app.presenters.form.view_models import EditState, EditStatus

FormAct = Callable[[Form], object]
"""An action on the form for which it was requested."""


@dataclass(frozen=True)
class WaitingAct:
    """An action on a form that waits until the hierarchy is open for writing. It ends with the process: it may hold the
    picture of that moment, or a finding about an unsaved document."""

    title: str
    """The label of the command, as a person chose it."""
    perform: FormAct


@dataclass
class Aside:
    """The requests that wait for one form: of a node, or of several nodes."""

    paths: tuple[str, ...]
    texts: dict[str, str] = field(default_factory=dict)
    """Id of a field → the text typed into it."""
    acts: list[WaitingAct] = field(default_factory=list)
    bases: dict[str, str] = field(default_factory=dict)
    """Path of a node → `digest` of the document to which the texts were typed."""
    kind: Literal["group", "array"] = "group"
    whole: str = ""
    """The key of the document whose whole text was edited; "" if the attributes were edited."""
    told: bool = False
    """Whether a person was told that the texts could not be applied; they then wait until the nodes are selected."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.acts)


class Waiting:
    """Texts and actions that wait until the hierarchy is open for writing. Those of the form of the selected node are
    `here`; those of another form wait aside."""

    def __init__(self) -> None:
        self.here = Aside(("/",))
        self._aside: dict[tuple[str, ...], Aside] = {}
        """Paths of nodes → the requests for their form."""
        self._together: list[WaitingAct] = []
        """The actions for the displayed form of several nodes."""

    def __bool__(self) -> bool:
        return bool(self.here)

    @property
    def texts(self) -> dict[str, str]:
        """Id of a field of the selected node → the text typed into it."""
        return self.here.texts

    def type(self, id: str, text: str, drafts: Drafts) -> None:
        """Keeps a text for the selected node. Texts are applied in the order of typing."""
        self.here.texts.pop(id, None)
        self.here.texts[id] = text
        self._note(drafts)

    def add(self, act: WaitingAct, drafts: Drafts) -> None:
        """Keeps an action for the selected node, or for the nodes that are selected together."""
        if drafts.together:
            self._together.append(act)
        else:
            self.here.acts.append(act)
            self._note(drafts)

    def _note(self, drafts: Drafts) -> None:
        """Notes the document that is displayed while something is requested."""
        here, draft = self.here, drafts.selected
        here.paths, here.kind, here.told = (drafts.path,), drafts.kind, False
        if draft is not None:
            here.bases = {drafts.path: digest(draft.base)}
            here.whole = draft.base.key if draft.whole else ""

    def go(self, path: str, to: str) -> None:
        """Puts aside the texts and actions of node `path`, and takes up those of node `to`."""
        if self.here:
            self.here.paths = (path,)
            self._aside[path,] = self.here
        self.here = self._aside.pop((to,), Aside((to,)))

    def with_acts(self, state: EditState, together: Mapping[str, str] | None) -> EditState:
        """The state with the sentence about the actions that wait for the displayed form. `together`: the texts that
        wait for the nodes that are selected together; None while the form of one node is displayed."""
        acts, texts = (self.here.acts, self.texts) if together is None else (self._together, together)
        if not acts or state.status is not EditStatus.READ_ONLY:
            return state
        titles = tuple(dict.fromkeys(act.title for act in acts))
        return replace(state, sentence=words.acts_wait(titles, texts=bool(texts)), waits=True)

    def all_acts(self, together: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
        """(paths, title) of every action that waits. `together`: the nodes whose common form is displayed."""
        waits = [(each.paths, act) for each in (self.here, *self._aside.values()) for act in each.acts]
        return [(paths, act.title) for paths, act in (*waits, *((together, act) for act in self._together))]

    def put_aside(self, paths: tuple[str, ...], texts: Mapping[str, str], drafts: Drafts) -> None:
        """Keeps the requests for a form of several nodes that is no longer displayed."""
        if texts or self._together:
            self._aside[paths] = replace(self.beside(paths, texts, drafts), acts=self._together)
        self._together = []

    @staticmethod
    def beside(paths: tuple[str, ...], texts: Mapping[str, str], drafts: Drafts) -> Aside:
        """The texts of a form of several nodes, with the documents to which they were typed."""
        bases = {path: digest(draft.base) for path in paths if (draft := drafts.by_path.get(path)) is not None}
        return Aside(paths, {**texts}, bases=bases)

    def with_texts(self, drafts: Drafts, together: Mapping[tuple[str, ...], Mapping[str, str]]) -> list[Aside]:
        """All requests with texts. `together`: the texts of forms of several nodes, by their paths."""
        forms = [self.beside(paths, texts, drafts) for paths, texts in together.items()]
        return [each for each in (self.here, *self._aside.values(), *forms) if each.texts]

    def take_up(self, paths: tuple[str, ...]) -> Aside:
        """The requests that were put aside for a form of these nodes; the actions wait for it again."""
        found = self._aside.pop(paths, Aside(paths))
        self._together += found.acts
        return found

    # ------------------------------------------------------------------ aside
    @property
    def aside(self) -> tuple[Aside, ...]:
        """The requests for forms that are not displayed."""
        return tuple(self._aside.values())

    def wait_again(self, asides: Iterable[Aside]) -> None:
        """Takes requests of an earlier run; those of this run for the same form are newer."""
        for each in asides:
            known = self._aside.get(each.paths)
            if known is None:
                self._aside[each.paths] = each
            else:
                known.texts = {**each.texts, **known.texts}

    def drop(self, aside: Aside) -> bool:
        """Forgets requests that were applied. Returns False if they are not aside any more."""
        if self._aside.get(aside.paths) is not aside:
            return False
        del self._aside[aside.paths]
        return True

    # ------------------------------------------------------------------ applying
    def type_texts(self, edit: Callable[[str, str], object]) -> None:
        """Calls `edit(field, text)` for each text of the selected node, and forgets the texts."""
        texts, self.here.texts = self.here.texts, {}
        for id, text in texts.items():
            edit(id, text)

    def do_acts(self, form: Form, *, together: bool = False) -> None:
        """Does the actions for the selected node, or for the selected nodes `together`, in the order in which they were
        added, and forgets them."""
        if together:
            acts, self._together = self._together, []
        else:
            acts, self.here.acts = self.here.acts, []
        for act in acts:
            act.perform(form)
