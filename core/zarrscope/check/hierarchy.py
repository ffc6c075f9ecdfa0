"""Checks a hierarchy: its documents, how its nodes fit together, and every stored chunk. Nothing is changed.

`check` yields findings in a fixed order. For each node these are: the findings in its own documents, those about its
keys, those in its chunks (chunks.py), then those of its children by name. A broken node ends only its own checks; the
checks of other nodes go on.

A chunk that is not stored is information, not an error: it reads as the fill value. `expect_all` makes it an error.
Specification: reference.md A.1, A.9, F; severities: finding.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from zarrscope.check.chunks import StoredChunks
from zarrscope.check.consolidated import copies, stale_copies
from zarrscope.check.coverage import Coverage
from zarrscope.check.finding import Finding, descendant, finding_of, violation, warnings_of
from zarrscope.dialects import Dialect, StoredDocument, bare_root_dialects, dialect_named
from zarrscope.dialects.defects import as_far_as_read
from zarrscope.dialects.protocol import NodeKind
from zarrscope.errors import BadMetadata, NotFound, Unsupported, ZarrscopeError
from zarrscope.executors import executor_for
from zarrscope.executors.executor import JOURNAL, Executor, Scheduler
from zarrscope.model.node_path import clean_path, join_path
from zarrscope.model.storage import ByteRange, never
from zarrscope.nodes.array import Array
from zarrscope.nodes.consolidated import holder_of
from zarrscope.nodes.consolidated_metadata import MAX_DEPTH
from zarrscope.nodes.detect import fetch
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.nodes.internals import node_context
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.nodes.search import shows_dialect

OME_KEYS = frozenset(("ome", "multiscales", "plate", "well", "image-label", "omero", "bioformats2raw.layout"))
"""Attributes that identify a group as OME-Zarr ("labels" alone may have another meaning)."""
MOST_LOST = 64
"""The most keys that are examined to find an array that lost its document."""
_looks_like_a_chunk = re.compile(r"(c[/.]?)?[0-9]+([./][0-9]+)*", re.ASCII).fullmatch
MAX_LEFT_OVER = 1000
"""The most leftover temporary files that are named."""
MAX_BENEATH = 1000
"""In a check that does not list the chunks, at most this many names beneath an array are checked for nodes."""


@dataclass(frozen=True, slots=True)
class CheckProgress:
    """The progress of a check: the current node, its checked chunks and their total (0 while it is unknown)."""

    path: str
    done: int = 0
    total: int = 0
    nodes: int = 0
    """The number of nodes checked before this one."""


class Journal(Protocol):
    """Remembers how far a check got, so that it can resume after it was killed. It records whole steps
    with findings."""

    def reached(self, path: str) -> int | None:
        """The number of chunks of the node's grid that were checked, in C order; None if the node was not checked
        yet."""

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        """Records that the first `chunks` chunks of the node's grid were checked, with the findings since the last
        record."""


class NullJournal:
    """The journal of a check that cannot be resumed: it records nothing."""

    def reached(self, path: str) -> int | None:
        """Always None: every node is checked from its first chunk."""
        return None

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        """Does nothing."""


def _no_progress(progress: CheckProgress) -> None:
    pass


def check(
    hierarchy: Hierarchy,
    path: str = "/",
    *,
    chunks: bool = True,
    expect_all: bool = False,
    progress: Callable[[CheckProgress], None] = _no_progress,
    cancelled: Callable[[], bool] = never,
    resume: Journal | None = None,
    scheduler: Scheduler | None = None,
    coverage: Coverage | None = None,
) -> Iterator[Finding]:
    """Yields every finding at `path` and beneath, as it is found; ends early once `cancelled()`.

    Each node is read from its own documents, and consolidated metadata are compared with them. With `resume`, steps in
    the journal are skipped, and their findings come from the journal. Memory holds at most one chunk per core.
    `scheduler`: chunks are decoded by the workers of this Dask cluster (its address, or a Client). `coverage` counts
    the data that are read. Raises NotFound when there is no node at `path`, Unreadable when its own documents cannot be
    fetched.
    """
    checking = _Check(hierarchy, chunks, expect_all, progress, cancelled, resume or NullJournal())
    checking.coverage = coverage or Coverage()
    if scheduler is None:
        return checking.run(clean_path(path))
    return checking.run_with(executor_for(scheduler), clean_path(path))


def check_documents(hierarchy: Hierarchy, path: str) -> list[Finding]:
    """The findings in the documents of one node, as `check` yields them; reads neither its chunks nor nodes beneath."""
    checking = _Check(hierarchy, False, False, _no_progress, never, NullJournal())
    return checking.documents(clean_path(path))


class _Check:
    def __init__(
        self,
        hierarchy: Hierarchy,
        chunks: bool,
        expect_all: bool,
        progress: Callable[[CheckProgress], None],
        cancelled: Callable[[], bool],
        journal: Journal,
    ) -> None:
        self.given = hierarchy
        self.chunks = chunks
        self.expect_all = expect_all
        self.progress = progress
        self.cancelled = cancelled
        self.journal = journal
        self.executor: Executor | None = None
        self.coverage = Coverage()
        self.nodes = 0
        self.consolidated_metadata: Mapping[str, StoredDocument] | None = None
        self.hierarchy = hierarchy
        self.tree = hierarchy.tree()

    def run_with(self, executor: Executor, path: str) -> Iterator[Finding]:
        """All findings, with the chunks decoded by the workers of `executor`."""
        self.executor = executor
        try:
            documents = fetch(self.given.store, self.given.dialect.documents("/"))
            for key, value in list(documents.items())[:1]:
                executor.check_shared(self.given.store, key, value)
            yield from self.run(path)
        finally:
            executor.close()

    def _read_copies(self) -> None:
        """Reads consolidated metadata; the nodes themselves are then read from their own documents."""
        if not self.given.consolidated:
            return
        self.consolidated_metadata = copies(self.given)
        dialect = self.given.dialect
        if self.given.store.listable:
            self.hierarchy = open_hierarchy(
                self.given.store,
                dialect=dialect.name,
                lenient=dialect.lenient,
                consolidated=False,
                fallbacks=dialect.fallbacks,
            )

    def documents(self, path: str) -> list[Finding]:
        """The findings in the documents of one node, and in their copies."""
        self._read_copies()
        keys = node_context(self.given).keys_of(path)
        held = {key: each for key, each in (self.consolidated_metadata or {}).items() if key in keys}
        findings = stale_copies(self.given, held, path, self.cancelled)
        node = self._read(path)
        findings += self._findings_in_documents(path, node)
        if isinstance(node, Array) and node.problem is not None and not node.metadata.defects:
            findings.append(self._unusable(path, node.problem, node))
        return findings

    def _read(self, path: str) -> Group | Array | ZarrscopeError:
        try:
            return self.hierarchy[path]
        except ZarrscopeError as error:
            return error

    def _unusable(self, path: str, problem: ZarrscopeError, node: Array) -> Finding:
        return replace(finding_of(problem, path), key=self._dialect(node).documents(path)[0])

    def run(self, path: str) -> Iterator[Finding]:
        self._read_copies()
        first = warnings_of(self.given, path)
        if self.journal.reached("") is None:
            first += stale_copies(self.given, self.consolidated_metadata, path, self.cancelled)
            first += self._left_over(path) if self.chunks else []  # slow: lists the folders of chunks
            self.journal.reach("", 0, first)
            yield from first
        try:
            node: Group | Array | ZarrscopeError = self.hierarchy[path]
        except (BadMetadata, Unsupported) as error:
            node = error
        self.tree = self.hierarchy.tree(path, self.cancelled)
        yield from self._node(path, node)

    def _left_over(self, path: str) -> list[Finding]:
        """Findings for temporary files that killed writers left behind."""
        advice = "You need not do anything: the next writer in that folder removes it."
        prefixes = ("",) if path == "/" else self.given.dialect.erase(path, "group").prefixes
        try:
            files = self.given.store.files
            names = sorted(islice((name for each in prefixes for name in files.stale_temporaries(each)), MAX_LEFT_OVER))
        except ZarrscopeError as error:
            return [finding_of(error, path)]
        message = "A writer was stopped here and left an unfinished file"
        return [Finding("information", "left-over", path, message, name, advice=advice) for name in names]

    # ------------------------------------------------------------------ walking
    def _node(self, path: str, node: Group | Array | ZarrscopeError | None = None) -> Iterator[Finding]:
        if self.cancelled():
            return
        self.progress(CheckProgress(path, nodes=self.nodes))
        self.nodes += 1
        self.coverage.nodes += 1
        node = self._read(path) if node is None else node
        reached = self.journal.reached(path)
        findings = self._findings_in_documents(path, node) if reached is None else []
        if isinstance(node, Array):
            yield from self._array(path, node, findings, reached)
            return
        if isinstance(node, ZarrscopeError) and self._stated_kind(path) == "array":
            if reached is None:
                self.journal.reach(path, 0, findings)
            yield from findings
            return
        names: list[str] = []
        try:
            names = sorted(child.name for child in self.tree.children(path))
        except ZarrscopeError as error:
            if not isinstance(node, ZarrscopeError):
                findings.append(finding_of(error, path))
                node = error  # a second listing would tell the same
        lost = isinstance(node, Group) and node.metadata.implicit and self._lost_array(path)
        if lost:
            names = []
        if reached is None:
            if lost:
                findings.append(self._lost(path))
            elif not isinstance(node, ZarrscopeError):
                findings += self._lost_beneath(path, node, frozenset(names))
            findings += self._names(path, names)
            if path.count("/") >= MAX_DEPTH and names:
                findings.append(
                    Finding("warning", "too-deep", path, f"Nodes more than {MAX_DEPTH} levels down are not checked")
                )
            if self.cancelled():
                return
            self.journal.reach(path, 0, findings)
            yield from findings
        if path.count("/") < MAX_DEPTH:
            for name in names:
                yield from self._node(join_path(path, name))

    def _array(self, path: str, node: Array, findings: list[Finding], reached: int | None) -> Iterator[Finding]:
        if node.problem is not None or not self.chunks:
            if reached is None:
                if node.problem is not None and not node.metadata.defects:
                    findings.append(self._unusable(path, node.problem, node))
                links = StoredChunks(node, self._dialect(node)).links() if not node.metadata.unread else []
                behind = tuple(f"{each.key}/" for each in links)
                findings += [each for each in self._beneath(path, node) if not (each.key or "").startswith(behind)]
                findings += links
                self.journal.reach(path, 0, findings)
                yield from findings
            return
        stored = StoredChunks(node, self._dialect(node), self.expect_all, self.cancelled, self.executor)
        try:
            listed = stored.listed()
            if reached is None:
                findings += [*listed, *([] if stored.documents_seen else self._beneath(path, node))]
        except ZarrscopeError as error:
            if reached is None:
                findings.append(finding_of(error, path))
                self.journal.reach(path, 0, findings)
                yield from findings
            return
        if self.cancelled():
            return
        if reached is None:
            self.journal.reach(path, 0, findings)
            yield from findings
        for done, found in stored.decoded(reached or 0):
            self.journal.reach(path, done, found)
            self.progress(CheckProgress(path, done, stored.total, self.nodes - 1))
            yield from found
        self.coverage.add(stored, reached or 0)

    def _findings_in_documents(self, path: str, node: Group | Array | ZarrscopeError) -> list[Finding]:
        """Findings in a node's documents. An unexpected exception becomes a finding too, and the check goes on."""
        try:
            return self._documents(path, node)
        except MemoryError:
            raise
        except Exception as error:
            message = f"This node could not be checked ({type(error).__name__}: {error})"
            return [
                Finding("error", "internal", path, message, advice="This is a mistake in zarrscope: please report it")
            ]

    # ------------------------------------------------------------------ one node
    def _dialect(self, node: Group | Array) -> Dialect:
        """The dialect of one node. In a plain folder of several hierarchies, nodes may have different dialects."""
        name = node.metadata.dialect
        return self.hierarchy.dialect if name == self.hierarchy.dialect.name else dialect_named(name)

    def _stated_kind(self, path: str) -> str | None:
        dialect = self.hierarchy.dialect
        try:
            return dialect.stated_kind(path, fetch(self.hierarchy.store, dialect.documents(path)))
        except ZarrscopeError:
            return None

    def _documents(self, path: str, node: Group | Array | ZarrscopeError) -> list[Finding]:
        """Findings in the node's own documents, also if the documents disagree on the node's kind."""
        if isinstance(node, NotFound) and path != "/":
            message = "A prefix is listed here, but nothing lies beneath it: a writer or an erasure was stopped"
            advice = "Nothing has to be done: the prefix disappears when something is written and erased there."
            return [Finding("information", "left-over", path, message, advice=advice)]
        if isinstance(node, ZarrscopeError):
            key = self.hierarchy.dialect.documents(path)[0]
            return [finding_of(node, path, key), *self._two_kinds(path, self.hierarchy.dialect)]
        dialect = self._dialect(node)
        key = dialect.attributes_at(path, node.kind)[0]
        own = dialect.documents(path, node.kind)[0]
        findings = [Finding("warning", "metadata", path, warning, own) for warning in node.warnings]
        shared = self.hierarchy._nodes.defect if path != "/" else None  # it is reported once, at the root
        defects = [each for each in node.metadata.defects if each != shared]
        findings += [replace(finding_of(each.error, path, own), severity="error") for each in defects]
        if isinstance(node, Group) and node.problem is not None and not node.metadata.defects:
            findings.append(finding_of(node.problem, path, own))
        findings += self._two_kinds(path, dialect)
        findings += self._hard_links(path, dialect, node.kind)
        findings += self._schemas(path, dialect, node.kind) if not node.metadata.defects else []
        if self.consolidated_metadata is not None and path != "/" and not getattr(node.metadata, "implicit", False):
            keys = dialect.documents(path)
            holds_them = (holder_of(dialect) or "").startswith(
                dialect.listing(path)
            )  # true for the group that exists only to hold the consolidated copy
            if not holds_them and not any(each in self.consolidated_metadata for each in keys):
                findings.append(
                    Finding(
                        "error",
                        "copy-lacks-node",
                        path,
                        "The consolidated metadata does not have this node: readers that trust it do not see it",
                        key,
                        advice="Consolidate the metadata again.",
                    )
                )
        if isinstance(node, Group) and as_far_as_read(node.attributes):
            findings += self._ome(path, node, key)
        return findings

    def _hard_links(self, path: str, dialect: Dialect, kind: NodeKind) -> list[Finding]:
        """Findings for documents whose file has a second name (a hard link), under which it would not be edited."""
        advice = "After an edit the other name keeps the present content. Copy the file if you do not want that."
        return [
            Finding("information", "hard-link", path, "The document's file has another name", key, None, advice)
            for key in dialect.documents(path, kind)
            if self.hierarchy.store.files.links(key) > 1
        ]

    def _schemas(self, path: str, dialect: Dialect, kind: NodeKind) -> list[Finding]:
        """Findings where documents break the registered schemas of codecs, data types and grids, but are readable
        here."""
        try:
            faults = dialect.faults({**fetch(self.hierarchy.store, dialect.documents(path, kind))})
        except ZarrscopeError:
            return []  # opening the node reported the error
        advice = "zarrscope can read it. Other readers may refuse it: correct the document."
        return [
            Finding("warning", "schema", path, f"{pointer or 'The document'} {problem}", key, pointer, advice)
            for key, (pointer, problem) in faults
        ]

    def _ome(self, path: str, node: Group, key: str) -> list[Finding]:
        """Findings where attributes break the rules of OME-Zarr, and images that do not open as their attributes
        declare."""
        from zarrscope.ome.validate import check as ome_check
        from zarrscope.view.image import find_images

        findings: list[Finding] = []
        if OME_KEYS & node.attributes.keys():
            base = self._dialect(node).attributes_at(path, "group")[1]
            findings += [violation(each, path, key, base) for each in ome_check(node.attributes)]
        try:
            for image in find_images(node):
                advice = "Correct this part of the group's attributes, or the array that it names."
                findings += [Finding("warning", "ome-zarr", path, told, key, advice=advice) for told in image.warnings]
        except ZarrscopeError as error:
            findings.append(Finding("error", "ome-zarr", path, error.message, error.key, error.pointer, error.advice))
        return findings

    def _two_kinds(self, path: str, dialect: Dialect) -> list[Finding]:
        try:
            documents = fetch(self.hierarchy.store, dialect.documents(path))
        except ZarrscopeError:
            return []  # opening the node reported the error
        by_kind = {dialect.stated_kind(path, {key: value}): key for key, value in documents.items()}
        if "array" not in by_kind or "group" not in by_kind:
            return []
        message = f"There is an array ({by_kind['array']}) and a group ({by_kind['group']}) at the same path"
        advice = "The array is shown. Erase the document that does not belong here."
        return [Finding("error", "array-and-group", path, message, by_kind["group"], advice=advice)]

    def _names(self, path: str, names: list[str]) -> list[Finding]:
        """Findings for names that another file system or reader refuses, or cannot tell apart."""
        findings: list[Finding] = []
        same: dict[str, str] = {}
        for name in names:
            folded = unicodedata.normalize("NFC", name).casefold()
            first = same.setdefault(folded, name)
            if first != name:
                message = f"The names {first!r} and {name!r} are the same on systems that ignore case or accents"
                advice = "Such a hierarchy cannot be copied to every file system; rename one."
                findings.append(Finding("warning", "case-collision", join_path(path, name), message, advice=advice))
            try:
                self.hierarchy.dialect.check_name(name)
            except ZarrscopeError as error:
                findings.append(
                    Finding("warning", "node-name", join_path(path, name), error.message, advice=error.advice)
                )
        return findings

    def _lost_beneath(self, path: str, node: Group, names: frozenset[str]) -> list[Finding]:
        """Findings for folders of a group that hold chunks, but no document: the document of an array was lost."""
        store = self.hierarchy.store
        if not store.listable:
            return []
        findings = []
        try:
            for entry in store.list_dir(self._dialect(node).chunk_keys(path, 1).prefix):
                child = join_path(path, entry.name)
                if entry.is_prefix and entry.name not in names and self._lost_array(child, node):
                    findings.append(self._lost(child))
                if self.cancelled():
                    break
        except ZarrscopeError as error:
            findings.append(finding_of(error, path))
        return sorted(findings, key=lambda found: found.path)

    def _lost(self, path: str) -> Finding:
        if self.hierarchy.store.get(JOURNAL, ByteRange(0, 1)) is not None:
            message = "Chunks of a conversion that was not finished lie here"
            return Finding("warning", "array-lost", path, message, advice="Run the same command again to continue.")
        message = "There are chunks here, but no document of their array, so they cannot be read"
        advice = "Restore the array's document from a copy or from the consolidated metadata, or erase the chunks."
        return Finding("error", "array-lost", path, message, advice=advice)

    def _lost_array(self, path: str, above: Group | None = None) -> bool:
        """Whether `path`, which has no document, holds only keys that look like chunks."""
        store = self.hierarchy.store
        dialect = self.hierarchy.dialect if above is None else self._dialect(above)
        if not store.listable:
            return False
        prefix = dialect.chunk_keys(path, 1).prefix
        documents = {key.rpartition("/")[2] for key in dialect.documents("/node")}
        try:
            first = [key[len(prefix) :] for key in islice(store.list_prefix(prefix), MOST_LOST)]
        except ZarrscopeError:
            return False
        chunks = [key for key in first if key not in documents]
        if not chunks or not all(_looks_like_a_chunk(key) for key in chunks):
            return False
        if dialect.name not in bare_root_dialects():
            return True
        try:  # arrays of N5 may be called "0", "1" …, and their chunks are listed before their documents
            return not shows_dialect(self.hierarchy._nodes, path)
        except ZarrscopeError:
            return False

    def _beneath(self, path: str, node: Array) -> list[Finding]:
        """Findings for nodes one level beneath an array, for a check that does not list the array's chunks."""
        store, dialect = self.hierarchy.store, self._dialect(node)
        if not store.listable:
            return []
        try:
            listing = store.list_dir(dialect.listing(path))
            names = [child.name for child in islice(dialect.children(path, listing), MAX_BENEATH)]
            keys = {key: name for name in names for key in dialect.documents(join_path(path, name))}
            found = fetch(store, list(keys), self.cancelled)
        except ZarrscopeError as error:
            return [finding_of(error, path)]
        beneath: dict[str, str] = {}
        for key in sorted(found):
            beneath.setdefault(keys[key], key)
        return [descendant(dialect, path, join_path(path, name), key) for name, key in beneath.items()]
