"""Stores the unsaved edits of a session in a private file of the host, and offers them at the next start.

Edits are stored in the background a moment after they are typed, so that neither a crash nor a lost connection loses
them. The file is removed when the edits are saved or discarded. It contains the public address, the changed fields,
typed text that is invalid, texts that wait until the hierarchy is open for writing, the text that is being typed, and
the id of the process: edits of a process that still runs are not offered. Accepted edits are applied to the stored
document as if they were typed again; nothing is written to the store until the person saves.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from zarrscope.jsondoc.document import Document
from zarrscope.model.frozen import frozen
from zarrscope.nodes.document_keys import attributes_pointer
from zarrscope.nodes.mending import whole_document
from zarrscope.runtime.keyed_locks import KeyedLocks
from zarrscope.runtime.process import runs
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.draft import Draft, differences
from zarrscope_app.presenters.form.waiting import Aside
from zarrscope_app.presenters.settings import Settings
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope_app.presenters.form.presenter import EditPresenter

VERSION = 1
LAST_WRITE_SECONDS = 5.0
"""The seconds that the end of a session waits for a write of earlier edits that still runs."""
_counted = count(1)
_open: set[str] = set()
"""Names of the files of open sessions of this process."""


@frozen
class RescuedEdits:
    """The unsaved edits of one session that has ended."""

    name: str
    when: str
    drafts: Mapping[str, Mapping[str, Any]]
    waiting: tuple[Aside, ...] = ()
    """The texts that waited until the hierarchy is open for writing."""

    @property
    def changes(self) -> int:
        """The number of unsaved changes, with fields whose typed text is invalid and texts that waited."""
        # A large document may be kept as two versions that were not compared; they count as one change.
        return sum(
            max(len(draft["changes"]), bool(draft["versions"])) + len(draft["typed"]) for draft in self.drafts.values()
        ) + sum(len(each.texts) for each in self.waiting)


class Rescue:
    """The unsaved edits of one session. All methods run on the host's thread."""

    changed = signal()

    def __init__(self, url: str, edit: EditPresenter, owner: Owner, settings: Settings) -> None:
        self._edit, self._owner, self._settings = edit, owner, settings
        self._stored: str | None = None
        """The drafts as last stored; None if there is no file."""
        self._busy = self._hidden = self._closed = False
        self._outlived = self.outlives
        self._files = KeyedLocks()
        self._decided = self._done = 0
        """The number of the latest version of the file that was decided on, and of the one that is there."""
        self._found: list[RescuedEdits] = []
        self._wanted = False
        self._begin(url)
        edit.changed.connect(self._keep)
        edit.being_typed.changed.connect(self._keep)

    def _begin(self, url: str) -> None:
        """Chooses the file for the edits at this address, and reads those that earlier sessions left there."""
        self._url = url
        self._start = f"unsaved-{blake2b(url.encode(), digest_size=8).hexdigest()}-"
        self._name = f"{self._start}{os.getpid()}-{next(_counted)}"
        _open.add(self._name)
        self._found += [kept for name in self._settings.names(self._start) if (kept := self._read(name)) is not None]

    def move(self, url: str, entry: str) -> None:
        """Keeps edits under the address of another hierarchy from now on, in which the former root is the node `entry`.
        The edits that were found for the former address stay offered, for the nodes beneath `entry`."""
        above = entry.rstrip("/")

        def at(path: str) -> str:
            return f"{above}{path}".rstrip("/") or "/"

        self._found = [
            replace(
                kept,
                drafts={at(path): draft for path, draft in kept.drafts.items()},
                waiting=tuple(
                    replace(each, paths=tuple(map(at, each.paths)), bases={at(p): d for p, d in each.bases.items()})
                    for each in kept.waiting
                ),
            )
            for kept in self._found
        ]
        _open.discard(self._name)
        self._begin(url)
        self.changed.emit()

    def _read(self, name: str) -> RescuedEdits | None:
        try:
            told = json.loads(self._settings.load(name) or "")
            if told["zarrscope"] != VERSION or told["url"] != self._url or name in _open:
                return None
            if _runs(told["process"], told["host"]):
                return None
            drafts = {
                str(path): {"changes": [_change(c) for c in draft["changes"]],
                            "versions": _versions(draft),
                            "whole": str({"whole": "", **draft}["whole"]),
                            "typed": {str(p): (str(t), str(w)) for p, (t, w) in draft["typed"].items()}}
                for path, draft in told["drafts"].items()
            }  # fmt: skip
            waiting = tuple(map(_waiting, {"waiting": [], **told}["waiting"]))
            return RescuedEdits(name, str(told["when"]), drafts, waiting)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    # ------------------------------------------------------------------ keeping
    def _keep(self) -> None:
        """Stores the present unsaved edits, or removes the file if there are none. Only one write runs at a time; edits
        made meanwhile are stored after it."""
        if self._busy or self._closed:
            return
        if not all(draft.settled for draft in self._edit.unsaved_drafts().values()):
            return  # a large document is still being compared; this method is called again when its changes are known
        drafts = self._drafts()
        if drafts == self._stored:
            return
        self._busy = True

        def done(_: JobResult[None]) -> None:
            self._busy, self._stored = False, drafts
            self._tell_if_unkept()
            self._keep()

        write = self._version(drafts)
        self._owner.fetch(write, done)

    def _tell_if_unkept(self) -> None:
        """Emits `changed` if a write has shown that edits outlive the process no more, or do so again."""
        if self._outlived != self.outlives:
            self._outlived = self.outlives
            self.changed.emit()

    def _drafts(self) -> str | None:
        """The drafts, and the texts that are in none yet, as members of a JSON object; None if there are none."""
        found = {path: _as_kept(draft) for path, draft in self._edit.unsaved_drafts().items()}
        waiting = [
            {"paths": each.paths, "texts": each.texts, "bases": each.bases, "kind": each.kind, "whole": each.whole}
            for each in (*self._edit.unapplied_edits, *self._edit.being_typed.asides)
        ]
        return f'"drafts": {json.dumps(found)}, "waiting": {json.dumps(waiting)}' if found or waiting else None

    def _version(self, drafts: str | None) -> Callable[[], None]:
        """A function that stores the drafts in the file, or removes the file if they are None. Of several, in whatever
        order they end, the one that was asked for last decides."""
        self._decided += 1
        number, name, url = self._decided, self._name, self._url

        def write() -> None:
            # A write that still waits for its disk is not waited for without end.
            with self._files.hold(name, timeout=LAST_WRITE_SECONDS):
                if number < self._done:
                    return
                self._done = number
                if drafts is None:
                    self._settings.remove(name)
                    return
                about = {"zarrscope": VERSION, "url": url, "when": f"{datetime.now():%Y-%m-%d %H:%M}",
                         "process": os.getpid(), "host": platform.node()}  # fmt: skip
                self._settings.store(name, f"{json.dumps(about)[:-1]}, {drafts}}}")

        return write

    def close(self) -> None:
        """Called when the session ends; stores unsaved edits at once."""
        if not self._closed:
            self._closed = True
            self._version(self._drafts())()
            _open.discard(self._name)

    def drop(self) -> None:
        """Drops the unsaved edits, as the person decided."""
        self._closed = True
        self._version(None)()
        _open.discard(self._name)

    # ------------------------------------------------------------------ offering
    @property
    def outlives(self) -> bool:
        """Whether unsaved edits outlive the process."""
        return not self._settings.unwritable()

    @property
    def sentence(self) -> str:
        """The sentence that offers edits of earlier sessions; "" if there are none to offer."""
        if not self._found or self._hidden:
            return ""
        return strings.rescued(sum(kept.changes for kept in self._found), max(kept.when for kept in self._found))

    def hide(self) -> None:
        """Hides the offer until the next start."""
        self._hidden = True

    def discard(self) -> None:
        """Deletes the edits that were offered."""
        for kept in self._found:
            self._settings.remove(kept.name)
        self._found, self._wanted = [], False
        self.changed.emit()

    def accept(self) -> None:
        """Restores the offered edits with `put_back`, as soon as the hierarchy is open for writing."""
        self._wanted = bool(self._found)
        self.changed.emit()

    def opened(self, hierarchy: Hierarchy) -> None:
        """Called when the hierarchy was opened. Restores edits that the person accepted, if it can be written. Forgets
        edits that are stored already: their process was killed right after it had saved them."""
        if self._wanted and hierarchy.writable:
            self.put_back(hierarchy)
        elif self._found and not self._wanted:
            found = [*self._found]

            def done(outcome: JobResult[set[str]]) -> None:
                stored = outcome.value or set()
                for name in stored:
                    self._settings.remove(name)
                self._found = [kept for kept in self._found if kept.name not in stored]
                if stored:
                    self.changed.emit()

            self._owner.read(lambda: {kept.name for kept in found if _is_stored(hierarchy, kept)}, done)

    def put_back(self, hierarchy: Hierarchy) -> None:
        """Applies the offered edits to the present documents of `hierarchy`. If that fails for one node, the file is
        kept."""
        self._wanted, found = False, self._found

        def work() -> tuple[dict[str, Draft], BaseException | None]:
            drafts: dict[str, Draft] = {}
            failure: BaseException | None = None
            for kept in found:
                for path, told in kept.drafts.items():
                    try:
                        drafts[path] = _made_again(hierarchy, path, told, drafts.get(path))
                    except Exception as error:
                        failure = error
            return drafts, failure

        def done(outcome: JobResult[tuple[dict[str, Draft], BaseException | None]]) -> None:
            drafts, failure = outcome.value or ({}, outcome.error)
            self._edit.put_back(drafts)
            self._edit.wait_again([each for kept in found for each in kept.waiting])
            if failure is None:
                if not self._closed:
                    # Written before older files are removed, so that a crash loses nothing.
                    self._version(self._drafts())()
                for kept in found:
                    self._settings.remove(kept.name)
                self._found = []
            else:
                self._hidden = True
                self._edit.tell(strings.problem(failure).headline)
            self.changed.emit()

        self._owner.fetch(work, done)


def _draft_for(hierarchy: Hierarchy, path: str, whole: str) -> Draft:
    """A draft of the stored document: of the attributes, or of the whole document at the key `whole`."""
    if whole:
        return Draft(whole_document(hierarchy, path, whole), "", whole=True)
    return Draft(hierarchy.document(path), attributes_pointer(hierarchy, path))


def _made_again(hierarchy: Hierarchy, path: str, told: Mapping[str, Any], draft: Draft | None = None) -> Draft:
    """The draft of a node with the edits of a file, made after those of `draft`, if there are others."""
    draft = _draft_for(hierarchy, path, told["whole"]) if draft is None else draft
    draft.make_again(told["changes"] or _compared(told["versions"], draft.prefix))
    draft.errors.update(told["typed"])
    return draft


def _is_stored(hierarchy: Hierarchy, kept: RescuedEdits) -> bool:
    """Whether the documents contain all edits of a file already. False if one of them cannot be read."""
    if kept.waiting:
        return False
    try:
        return not any(_made_again(hierarchy, path, told).dirty for path, told in kept.drafts.items())
    except Exception:  # they stay offered; putting them back says what is wrong
        return False


def _as_kept(draft: Draft) -> dict[str, Any]:
    """The edits of one document in the form of the file. A large document whose changes were not computed yet is kept
    as both versions, stored and edited; they are compared when the edits are put back."""
    if draft.large and not draft.settled and not draft.whole:
        return {"changes": [], "versions": [draft.base.text, draft.now.text], "typed": draft.errors}
    whole = {"whole": draft.base.key} if draft.whole else {}
    return {"changes": [[c.pointer, c.after] for c in draft.find_changes()], "typed": draft.errors, **whole}


def _compared(versions: Sequence[str], prefix: str) -> list[tuple[str, str | None]]:
    """The changes between two versions of a document."""
    if len(versions) != 2:
        return []
    before, after = map(Document, versions)
    return [(change.pointer, change.after) for change in differences(before, after, prefix)]


def _waiting(told: Mapping[str, Any]) -> Aside:
    texts, bases = ({str(k): str(v) for k, v in told[name].items()} for name in ("texts", "bases"))
    kind: Literal["group", "array"] = "array" if told["kind"] == "array" else "group"
    return Aside(tuple(map(str, told["paths"])), texts, bases=bases, kind=kind, whole=str(told["whole"]))


def _versions(draft: Mapping[str, Any]) -> tuple[str, ...]:
    """The stored and the edited version of a document that was not compared; () if the file contains its changes."""
    return tuple(map(str, {"versions": (), **draft}["versions"]))


def _change(told: Sequence[Any]) -> tuple[str, str | None]:
    pointer, after = told
    if not isinstance(pointer, str) or not isinstance(after, str | None):
        raise TypeError
    return pointer, after


def _runs(process: int, host: str) -> bool:
    """Whether another process of the machine `host` still runs; False if this cannot be found out: on another machine,
    and on Windows."""
    return host == platform.node() and process != os.getpid() and runs(int(process)) is True
