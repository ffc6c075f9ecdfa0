"""The warnings and errors of one session, each with its location in the store and the next step. The presenter can also
check a hierarchy for more faults, and compare it with another one.

Opened and displayed nodes report their problems by themselves. `check` examines everything else: documents, consistency
and every stored chunk of the selected node and everything beneath it. A check says what it has examined, and never
claims more; it can be resumed after a stop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from zarrscope.errors import ZarrscopeError
from zarrscope.errors.confidential import public, scrub
from zarrscope.jsondoc.parse import parsed_once
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import JobResult, Owner, Ticket
from zarrscope.stores.address import absolute_address
from zarrscope_app.presenters import differences
from zarrscope_app.presenters.advice import capitalised, sentence_of
from zarrscope_app.presenters.coalesce import CoalescedCall
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.problem_rows import ProblemRow, rows_of
from zarrscope_app.presenters.signals import signal
from zarrscope_app.presenters.strings import Problem, clean, counted, joined, percent, problem

if TYPE_CHECKING:
    from zarrscope.check.diff import NodeDifference
    from zarrscope.check.finding import Finding
    from zarrscope.check.hierarchy import CheckProgress
    from zarrscope.nodes.hierarchy import Hierarchy

LIMIT = 1000
"""The most problems in the list; further problems are not added."""
UNLOOKED = "Nothing was checked yet: only opened and displayed nodes report their problems here."
NONE_SO_FAR = "No problems so far."
CHECKED, RULES = "checked", "ome-zarr"
"""Kinds of problems in the documents of a node: those that a check found, and rules that the form checks."""
_MANY = 10**15
MANY_CHUNKS = "more than 10¹⁵ chunks"
"""The number of checked chunks if damaged metadata claim more than that; hardly any of them is stored."""


class CheckJournal:
    """The journal of a check (zarrscope.check), kept in memory, so that it can be resumed."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def reached(self, path: str) -> int | None:
        """The number of chunks of the node's grid that were checked; None if the node was not checked yet."""
        return self.known.get(path)

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        """Remembers the number of checked chunks; the findings are in the list of problems already."""
        self.known[path] = chunks


class Comparison:
    """A comparison: the two sides, the progress, and the differences found so far."""

    def __init__(self, scope: str, other: str, values: bool) -> None:
        self.scope, self.other, self.values = scope, other, values
        self.at = ""
        self.found: list[Problem] = []
        self.count = 0
        self.whole = False

    def sentence(self, running: bool) -> str:
        """The progress of the comparison, or its result once it does not run any more."""
        if running:
            return differences.comparing(self.scope, self.other, self.at)
        return differences.compared(self.scope, self.other, self.count, whole=self.whole, values=self.values)


class ProblemsPresenter:
    """A list of problems without repeats, newest last. `changed()` is emitted after each change, on the
    host's thread."""

    changed = signal()

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._notify = CoalescedCall(owner.post, self.changed.emit)
        self._items: dict[tuple[str, str], Problem] = {}
        self._problem_of: dict[Hashable, tuple[str, str]] = {}
        """The cause of a problem → the key of the problem; see `add`."""
        self._causes: dict[tuple[str, str], set[Hashable]] = {}
        """The key of a problem → its causes. None among them: no later attempt removes it."""
        self._hierarchy: Hierarchy | None = None
        self._path = "/"
        self._ticket: Ticket | None = None
        self._steps: CheckJournal | None = None
        """The steps of the running or stopped check."""
        self._scope = ""
        self._whole = False
        self._told = ""
        self._further = 0
        """The number of findings that are only information."""
        self._saved_meanwhile: set[str] = set()
        """The nodes whose documents were saved while a check was running, which may have read them before."""
        self._comparison: Comparison | None = None
        self._comparing: Ticket | None = None
        self._rows: tuple[tuple[Problem, ...], tuple[ProblemRow, ...]] = ((), ())
        """The problems whose rows were asked for last, and the rows."""
        self.note = ""
        """A sentence about this computer, not about the hierarchy: it is not counted."""

    def set_note(self, note: str) -> None:
        """Sets `note`."""
        if note != self.note:
            self.note = note
            self.changed.emit()

    @property
    def items(self) -> tuple[Problem, ...]:
        """The problems, followed by the differences from another hierarchy."""
        return (*self._items.values(), *(self._comparison.found if self._comparison is not None else ()))

    @property
    def rows(self) -> tuple[ProblemRow, ...]:
        """One row for each of `items`."""
        items = self.items
        if items != self._rows[0]:
            self._rows = (items, rows_of(items))
        return self._rows[1]

    @property
    def count(self) -> int:
        """The number of different problems."""
        return len(self._items)

    @property
    def title(self) -> str:
        """The title of the tab: "Problems", "Problems 2"."""
        return f"Problems {self.count}" if self._items else "Problems"

    @property
    def checking(self) -> bool:
        """Whether a check is running; `stop` ends it."""
        return self._ticket is not None

    @property
    def can_check(self) -> bool:
        """Whether there is a hierarchy to check or to compare; there is none if it could not be opened."""
        return self._hierarchy is not None

    @property
    def can_resume(self) -> bool:
        """Whether a check was stopped, so that `resume` can continue it."""
        return self._ticket is None and self._steps is not None and not self._whole

    @property
    def unlooked(self) -> bool:
        """Whether nothing was checked yet in a hierarchy that can be checked."""
        return self.can_check and self._ticket is None and self._steps is None

    @property
    def comparing(self) -> bool:
        """Whether a comparison is running; `stop_comparing` ends it."""
        return self._comparing is not None

    @property
    def sentence(self) -> str:
        """The results of the check and of the comparison, and what was examined for them; then the note."""
        compared = self._comparison.sentence(self.comparing) if self._comparison is not None else ""
        return " ".join(part for part in (self._checked, compared, self.note) if part)

    @property
    def _checked(self) -> str:
        found = f"{counted(self.count, 'problem')}." if self._items else ""
        if self._ticket is not None:
            so_far = f" {counted(self.count, 'problem')} so far." if self._items else ""
            return f"Checking {differences.extent(self._scope)}{self._told}…{so_far}"
        if self._steps is None:
            return f"{found} {UNLOOKED if self.unlooked and self._comparison is None else ''}".strip()
        examined = sum(self._steps.known.values())
        chunks = counted(examined, "chunk") if examined < _MANY else MANY_CHUNKS
        also = f" {counted(self._further, 'remark')} besides, which zarrscope check lists." if self._further else ""
        if not self._whole:
            looked = f"{chunks} of {differences.extent(self._scope)} were checked, the rest was not checked."
            return f"{found or NONE_SO_FAR} Stopped: {looked}{also}"
        looked = f"{differences.extent(self._scope)}, every document and {chunks}, stored or not."
        return f"{found or 'No problems were found.'} Checked: {looked}{also}"

    # ------------------------------------------------------------------ for the session
    def show_node(self, details: NodeDetails) -> None:
        """Sets the node at which a check would begin. The list stays unchanged, because it covers the whole session."""
        if self._hierarchy is not details.hierarchy:
            self._notify.soon()  # from now on it can be checked
        self._hierarchy = details.hierarchy
        self._path = details.node.path if details.node is not None else "/"

    def show_nothing(self, sentence: str = "") -> None:
        """Does nothing: the list is about the whole session, not the selected node."""

    def add(self, item: Problem | BaseException, path: str = "", *, cause: Hashable = None) -> Problem:
        """Adds a problem or an error, unless it is there already or the list is full. Returns it in words.

        `cause`: identifies the data that could not be read or saved. When another attempt succeeds, call `solved` with
        it: that removes the problem, unless other data have the same one. None: the problem stays until it is cleared.
        """
        found = problem(item, path) if isinstance(item, BaseException) else item
        # A check and the reading of a chunk find the same fault, and advise differently.
        sentence = found.headline.removesuffix(found.advice).rstrip()
        # Findings about different members may have the same words.
        # A problem of the session (without a path) counts as one of the root, because opening and checking report the
        # same warnings, one without and one with a path.
        key = (found.path or "/", f"{sentence} {found.place}" if found.mend == "edit" else sentence)
        if cause is not None and self._problem_of.get(cause, key) != key:  # this attempt failed for another reason
            self.solved(cause)
        if key not in self._items and len(self._items) < LIMIT:
            self._items[key] = found
            self.changed.emit()
        if key in self._items:
            self._causes.setdefault(key, set()).add(cause)
            if cause is not None:
                self._problem_of[cause] = key
        return found

    def solved(self, cause: Hashable) -> Problem | None:
        """Removes and returns the problem that was added with this cause, because another attempt has succeeded. None:
        there is no such problem, or it has other causes too."""
        key = self._problem_of.pop(cause, None)
        if key is None:
            return None
        self._causes[key].discard(cause)
        if self._causes[key]:
            return None
        del self._causes[key]
        found = self._items.pop(key)
        self.changed.emit()
        return found

    def show_those_of(self, kind: Hashable, found: Mapping[Any, Problem]) -> None:
        """Lists the problems `found` of one kind of data, by cause, and removes those of that kind that are solved."""
        for cause in [cause for cause in self._problem_of if isinstance(cause, tuple) and cause[0] == kind]:
            if cause[1] not in found:
                self.solved(cause)
        for name, each in found.items():
            self.add(each, cause=(kind, name))

    def show_findings(self, kind: str, path: str, findings: Iterable[Finding]) -> None:
        """Lists the findings in a node's documents, and removes those of the same kind that were corrected."""
        url = self._hierarchy.url if self._hierarchy is not None else ""
        found = [problem_of(each, url) for each in findings if each.severity != "information"]
        found.sort(key=lambda each: each.severity != "error")
        self.show_those_of((kind, path), {each: each for each in found})

    def clear(self, path: str | None = None) -> None:
        """Removes all problems, or those of one node."""
        kept = {} if path is None else {k: p for k, p in self._items.items() if p.path != path}
        if path is None:
            self.stop()
            self.stop_comparing()
            self._steps, self._further, self._comparison = None, 0, None
            self._saved_meanwhile.clear()
        if len(kept) != len(self._items):
            self._keep(kept)

    def clear_denied(self, answers: Collection[Problem] = ()) -> None:
        """Removes the problems of denied access, after other credentials were given, and the problems about wrong
        `answers`."""
        self._keep({key: each for key, each in self._items.items() if not each.tried and each not in answers})

    def _keep(self, kept: dict[tuple[str, str], Problem]) -> None:
        self._items = kept
        self._causes = {key: causes for key, causes in self._causes.items() if key in kept}
        self._problem_of = {cause: key for cause, key in self._problem_of.items() if key in kept}
        self.changed.emit()

    # ------------------------------------------------------------------ checking
    def check(self) -> None:
        """Checks the documents and every stored chunk of the selected node and everything beneath it, in the
        background."""
        if self._hierarchy is None:
            return
        self.stop()
        self._steps, self._scope, self._further, self._told = CheckJournal(), self._path, 0, ""
        self._go(self._steps)

    def resume(self) -> None:
        """Continues a check that was stopped."""
        if self.can_resume and self._steps is not None:
            self._go(self._steps)

    def stop(self) -> None:
        """Stops the check; its findings stay."""
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
            self._notify.soon()

    def _go(self, steps: CheckJournal) -> None:
        hierarchy, scope, post = self._hierarchy, self._scope, self._owner.post
        if hierarchy is None:
            return
        self._whole = False

        def work(cancelled: Callable[[], bool]) -> bool:
            from zarrscope.check.hierarchy import check  # loaded only if it is needed

            def progress(state: CheckProgress) -> None:
                share = f" ({percent(state.done / state.total)} of its chunks)" if state.total else ""
                text = f", now {differences.place(state.path)}{share}"
                post(lambda: self._progress(steps, text))

            for finding in check(hierarchy, scope, progress=progress, cancelled=cancelled, resume=steps):
                post(partial(self._found, steps, finding))
            return not cancelled()

        def done(outcome: JobResult[bool]) -> None:
            self._ticket = None
            if outcome.error is not None:
                self.add(outcome.error, scope)
            self._whole = bool(outcome.value)
            self._notify.soon()
            saved, self._saved_meanwhile = self._saved_meanwhile, set()
            for path in saved:
                self.was_saved(path)

        self._ticket = self._owner.fetch(work, done)
        self._notify.soon()

    def was_saved(self, path: str) -> None:
        """Checks the saved documents of a node, and those of the groups above that have problems, again in the
        background: problems that were corrected leave the list."""
        if self.checking:
            self._saved_meanwhile.add(path)
        listed = {cause[0] for cause in self._problem_of if isinstance(cause, tuple)}
        if self._steps is not None and path in self._steps.known:
            listed.add((CHECKED, path))  # the change may have caused a problem
        for node in {"/", *(f"/{above}" for above in accumulate(path.strip("/").split("/"), "{}/{}".format))}:
            if kinds := [kind for kind in (CHECKED, RULES) if (kind, node) in listed]:
                self._check_documents(node, kinds)

    def _check_documents(self, path: str, kinds: Sequence[str]) -> None:
        hierarchy = self._hierarchy
        if hierarchy is None:
            return

        def work() -> list[Finding]:
            from zarrscope.check.hierarchy import check_documents  # loaded only if it is needed

            with parsed_once(share=True):
                return check_documents(hierarchy, path)

        def done(outcome: JobResult[list[Finding]]) -> None:
            if outcome.value is None or self._hierarchy is not hierarchy:
                return
            for kind in kinds:
                self.show_findings(kind, path, [each for each in outcome.value if kind == CHECKED or is_rule(each)])

        self._owner.fetch(work, done)

    # ------------------------------------------------------------------ comparing
    def compare(self, url: str, *, values: bool = False) -> None:
        """Compares the selected node, and everything beneath it, with another hierarchy: metadata and attributes, and
        with `values` also all values of arrays."""
        if self._hierarchy is None or not url.strip():
            return
        self.stop_comparing()
        hierarchy, post = self._hierarchy, self._owner.post
        try:
            place = absolute_address(url.strip())
        except ZarrscopeError as error:
            self.add(error)
            return
        made = self._comparison = Comparison(self._path, public(place), values)

        def reached(path: str) -> None:
            post(lambda: self._reached(made, path))

        def work(cancelled: Callable[[], bool]) -> bool:
            from zarrscope.check.diff import diff

            other = open_hierarchy(place)
            try:
                for found in diff(
                    hierarchy, other, made.scope, other.initial_path, values=values, cancelled=cancelled,
                    progress=reached,
                ):  # fmt: skip
                    post(partial(self._differs, made, found))
            finally:
                other.close()
            return not cancelled()

        def done(outcome: JobResult[bool]) -> None:
            self._comparing = None
            if outcome.error is not None:
                self.add(outcome.error)
                self._comparison = None
            made.whole = bool(outcome.value)
            self._notify.soon()

        self._comparing = self._owner.fetch(work, done)
        self._notify.soon()

    def stop_comparing(self) -> None:
        """Stops the comparison; the differences found so far stay."""
        if self._comparing is not None:
            self._comparing.cancel()
            self._comparing = None
            self._notify.soon()

    def _reached(self, made: Comparison, path: str) -> None:
        if self._comparison is made and self._comparing is not None:
            made.at = path
            self._notify.soon()

    def _differs(self, made: Comparison, found: NodeDifference) -> None:
        if self._comparison is made:
            made.count += 1
            if len(made.found) < differences.LIMIT:
                made.found.append(differences.problem_of(found, made.scope))
            self._notify.soon()

    def _progress(self, steps: CheckJournal, text: str) -> None:
        if self._steps is steps and self._ticket is not None and text != self._told:
            self._told = text
            self._notify.soon()

    def _found(self, steps: CheckJournal, finding: Finding) -> None:
        if self._steps is not steps:
            return
        hierarchy = self._hierarchy
        if hierarchy is None:
            return
        if finding.severity == "information":
            self._further += 1
        else:
            from zarrscope.check.finding import in_documents  # loaded already: it made the finding

            found = problem_of(finding, hierarchy.url)
            # Data are checked again by another check only, documents whenever they are saved.
            self.add(found, cause=((CHECKED, finding.path), found) if in_documents(finding, hierarchy) else None)
        self._notify.soon()


def is_rule(finding: Finding) -> bool:
    """Whether a finding is about a rule of OME-Zarr, as the form shows it, and not about the data of an image."""
    return finding.code == "ome-zarr" and bool(finding.pointer)


def problem_of(finding: Finding, store: str) -> Problem:
    """A finding of a check as a problem, in the words in which the error itself is shown. `store`: its address."""
    message = finding.message
    if finding.code == "ome-zarr":  # begins with a small letter if it is about a member that has a name in words
        message = capitalised(message)
    headline = sentence_of(message, finding.key)
    if finding.advice:
        headline += f" {clean(scrub(finding.advice))}"
    place = clean(ZarrscopeError("", store=store, key=finding.key, pointer=finding.pointer).place)
    part = clean(ZarrscopeError("", key=finding.key, pointer=finding.pointer).place)
    return Problem(
        finding.severity,
        headline,
        joined(headline, place),
        clean(finding.advice or ""),
        place,
        finding.path,
        mend=_mending(finding),
        part=part,
    )


def _mending(finding: Finding) -> str:
    """The command that corrects a finding, or leads to the place where it can be corrected."""
    if finding.code.startswith("copy-"):
        return "consolidate"
    return "edit" if finding.code.startswith("ome-") else ""
