"""Checking a hierarchy: documents, how nodes fit together, and every stored chunk; nothing is changed.

`check` streams findings in a fixed order: of each node what its own documents say, then what lies under its keys, then
its chunks (stored.py), then its children by name. A node that is broken costs its own findings; the rest goes on.

A chunk that is not stored is information, not an error: it reads as the fill value. `expect_all` makes it an error.
Specification: dialects.md A.1, A.9, F; severities: finding.py.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from zarrscope.array import Array
from zarrscope.consolidated import holder_of
from zarrscope.crews import Crew, crew_of
from zarrscope.dialects import Dialect, Source, dialect_named
from zarrscope.errors import BadMetadata, NotFound, Unsupported, ZarrscopeError
from zarrscope.finding import Finding, Severity, descendant, finding_of
from zarrscope.hierarchy import Group, Hierarchy
from zarrscope.jsontext import parse_json
from zarrscope.naming import clean_path, join_path
from zarrscope.opening import open as open_hierarchy
from zarrscope.probing import fetch
from zarrscope.store import never
from zarrscope.stored import StoredChunks
from zarrscope.walking import MAX_DEPTH

OME_KEYS = frozenset(("ome", "multiscales", "plate", "well", "image-label", "omero", "bioformats2raw.layout"))
"""Attributes that say a group is OME-Zarr's ("labels" alone may be anybody's)."""
MAX_LEFT_OVER = 1000
"""So many unfinished files are named."""
MAX_BENEATH = 1000
"""So many names beneath an array are looked at for nodes that should not be there, where chunks are not listed."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a check is: the node at hand, and how many of its chunks are done. `total` 0: they are not known yet."""

    path: str
    done: int = 0
    total: int = 0
    nodes: int = 0
    """How many nodes have been looked at before this one."""


class Journal(Protocol):
    """Remembers how far a check came, so that it can go on after a kill. Steps are told whole, with their findings."""

    def reached(self, path: str) -> int | None:
        """None: the node is still to be checked; else so many chunks of its grid, in C order, were passed."""

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None: ...


class Nothing:
    """The journal of a check that is not to be resumed."""

    def reached(self, path: str) -> int | None:
        return None

    def reach(self, path: str, chunks: int, findings: list[Finding]) -> None:
        pass


def no_progress(progress: Progress) -> None:
    pass


def check(
    hierarchy: Hierarchy,
    path: str = "/",
    *,
    chunks: bool = True,
    expect_all: bool = False,
    progress: Callable[[Progress], None] = no_progress,
    cancelled: Callable[[], bool] = never,
    resume: Journal | None = None,
    scheduler: Any = None,
) -> Iterator[Finding]:
    """Every finding at `path` and beneath, as it is found; ends early once `cancelled()`.

    Nodes are read from their own documents, whatever a consolidated copy says, and the copy is compared with them.
    With `resume`, steps that the journal knows are passed over: their findings are the journal's. At most the chunks
    under work on all cores are in memory. `scheduler`: chunks are decoded by the workers of this Dask cluster (its
    address, or a Client). Raises NotFound when there is no node at `path`, Unreadable when its own documents cannot be
    fetched.
    """
    checking = _Check(hierarchy, chunks, expect_all, progress, cancelled, resume or Nothing())
    if scheduler is None:
        return checking.run(clean_path(path))
    return checking.run_with(crew_of(scheduler), clean_path(path))


class _Check:
    def __init__(
        self,
        hierarchy: Hierarchy,
        chunks: bool,
        expect_all: bool,
        progress: Callable[[Progress], None],
        cancelled: Callable[[], bool],
        journal: Journal,
    ) -> None:
        self.given = hierarchy
        self.chunks = chunks
        self.expect_all = expect_all
        self.progress = progress
        self.cancelled = cancelled
        self.journal = journal
        self.crew: Crew | None = None
        self.nodes = 0
        self.copies: Mapping[str, Source] | None = None
        self.hierarchy = hierarchy
        self.tree = hierarchy.tree()

    def run_with(self, crew: Crew, path: str) -> Iterator[Finding]:
        """As `run`, chunks decoded by others."""
        self.crew = crew
        try:
            documents = fetch(self.given.store, self.given.dialect.documents("/"))
            for key, value in list(documents.items())[:1]:
                crew.sees(self.given.store, key, value)
            yield from self.run(path)
        finally:
            crew.close()

    def run(self, path: str) -> Iterator[Finding]:
        store = self.given.store
        if self.given.consolidated:
            self._take_copies()
            if store.listable:
                dialect = self.given.dialect
                self.hierarchy = open_hierarchy(
                    store,
                    dialect=dialect.name,
                    lenient=dialect.lenient,
                    consolidated=False,
                    fallbacks=dialect.fallbacks,
                )
        first = [Finding("warning", "hierarchy", path, warning) for warning in self.given.warnings]
        if self.journal.reached("") is None:
            first += self._compared_copies(path)
            first += self._left_over(path) if self.chunks else []  # it walks where the chunks lie
            self.journal.reach("", 0, first)
            yield from first
        try:
            node: Group | Array | ZarrscopeError = self.hierarchy[path]
        except (BadMetadata, Unsupported) as error:
            node = error
        self.tree = self.hierarchy.tree(path, self.cancelled)
        yield from self._node(path, node)

    def _left_over(self, path: str) -> list[Finding]:
        """What killed writers left behind, under names that nobody reads."""
        advice = "Nothing has to be done: the next who writes there removes it."
        prefixes = ("",) if path == "/" else self.given.dialect.erase(path, "group").prefixes
        try:
            names = sorted(
                islice((name for each in prefixes for name in self.given.store.left_over(each)), MAX_LEFT_OVER)
            )
        except ZarrscopeError as error:
            return [finding_of(error, path)]
        message = "A writer was stopped here and left an unfinished file"
        return [Finding("information", "left-over", path, message, name, advice=advice) for name in names]

    # ------------------------------------------------------------------ walking
    def _node(self, path: str, node: Group | Array | ZarrscopeError | None = None) -> Iterator[Finding]:
        if self.cancelled():
            return
        self.progress(Progress(path, nodes=self.nodes))
        self.nodes += 1
        if node is None:
            try:
                node = self.hierarchy[path]
            except ZarrscopeError as error:
                node = error
        reached = self.journal.reached(path)
        findings = self._documents(path, node) if reached is None else []
        if isinstance(node, Array):
            yield from self._array(path, node, findings, reached)
            return
        if isinstance(node, ZarrscopeError) and self._claimed(path) == "array":
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
        if reached is None:
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
                if node.problem is not None:
                    key = self._dialect(node).documents(path)[0]
                    findings.append(replace(finding_of(node.problem, path), key=key))
                findings += self._beneath(path, node)
                self.journal.reach(path, 0, findings)
                yield from findings
            return
        stored = StoredChunks(node, self._dialect(node), self.expect_all, self.cancelled, self.crew)
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
            self.progress(Progress(path, done, stored.total, self.nodes - 1))
            yield from found

    # ------------------------------------------------------------------ one node
    def _dialect(self, node: Group | Array) -> Dialect:
        """The dialect of one node: in a folder, any of several."""
        name = node.metadata.dialect
        return self.hierarchy.dialect if name == self.hierarchy.dialect.name else dialect_named(name)

    def _claimed(self, path: str) -> str | None:
        dialect = self.hierarchy.dialect
        try:
            return dialect.claimed(path, fetch(self.hierarchy.store, dialect.documents(path)))
        except ZarrscopeError:
            return None

    def _documents(self, path: str, node: Group | Array | ZarrscopeError) -> list[Finding]:
        """What the node's own documents say of themselves, and whether they agree on what it is."""
        if isinstance(node, NotFound) and path != "/":
            message = "A prefix is listed here, but nothing lies beneath it: a writer or an erasure was stopped"
            advice = "Nothing has to be done: it goes when something is written and erased there."
            return [Finding("information", "left-over", path, message, advice=advice)]
        if isinstance(node, ZarrscopeError):
            key = self.hierarchy.dialect.documents(path)[0]
            return [finding_of(node, path, key), *self._two_kinds(path, self.hierarchy.dialect)]
        dialect = self._dialect(node)
        key = dialect.attributes_at(path, node.kind)[0]
        findings = [Finding("warning", "metadata", path, warning, key) for warning in node.warnings]
        if isinstance(node, Group) and node.problem is not None:
            findings.append(finding_of(node.problem, path, key))
        findings += self._two_kinds(path, dialect)
        if self.copies is not None and path != "/" and not getattr(node.metadata, "implicit", False):
            keys = dialect.documents(path)
            holds_them = (holder_of(dialect) or "").startswith(
                dialect.listing(path)
            )  # the group made for the copy alone
            if not holds_them and not any(each in self.copies for each in keys):
                findings.append(
                    Finding(
                        "error",
                        "copy-lacks-node",
                        path,
                        "The consolidated metadata does not have this node: readers that trust it do not see it",
                        key,
                        advice="Consolidate the metadata anew.",
                    )
                )
        if isinstance(node, Group) and node.attributes:
            findings += self._ome(path, node, key)
        return findings

    def _ome(self, path: str, node: Group, key: str) -> list[Finding]:
        """What breaks the rules of OME-Zarr in the attributes, and images that do not open as their attributes say."""
        from zarrscope.ome_check import check as ome_check
        from zarrscope.pyramid import find_images

        findings: list[Finding] = []
        if OME_KEYS & node.attributes.keys():
            base = self._dialect(node).attributes_at(path, "group")[1]
            for each in ome_check(node.attributes):
                severity: Severity = "error" if each.strength == "must" else "warning"
                findings.append(Finding(severity, "ome-zarr", path, each.message, key, base + each.pointer))
        try:
            for image in find_images(node):
                findings += [Finding("warning", "ome-zarr", path, warning, key) for warning in image.warnings]
        except ZarrscopeError as error:
            findings.append(Finding("error", "ome-zarr", path, error.message, error.key, error.pointer, error.advice))
        return findings

    def _two_kinds(self, path: str, dialect: Dialect) -> list[Finding]:
        try:
            documents = fetch(self.hierarchy.store, dialect.documents(path))
        except ZarrscopeError:
            return []  # opening the node told it
        by_kind = {dialect.claimed(path, {key: value}): key for key, value in documents.items()}
        if "array" not in by_kind or "group" not in by_kind:
            return []
        message = f"There is an array ({by_kind['array']}) and a group ({by_kind['group']}) at the same path"
        advice = "The array is shown. Erase the document that does not belong here."
        return [Finding("error", "array-and-group", path, message, by_kind["group"], advice=advice)]

    def _names(self, path: str, names: list[str]) -> list[Finding]:
        """Names that another file system, or another reader, takes for one another or refuses."""
        findings: list[Finding] = []
        same: dict[str, str] = {}
        for name in names:
            folded = unicodedata.normalize("NFC", name).casefold()
            first = same.setdefault(folded, name)
            if first != name:
                message = f"The names {first!r} and {name!r} are the same where case or accents are not told apart"
                advice = "Such a hierarchy cannot be copied to every file system; rename one."
                findings.append(Finding("warning", "case-collision", join_path(path, name), message, advice=advice))
            try:
                self.hierarchy.dialect.check_name(name)
            except ZarrscopeError as error:
                findings.append(
                    Finding("warning", "node-name", join_path(path, name), error.message, advice=error.advice)
                )
        return findings

    def _beneath(self, path: str, node: Array) -> list[Finding]:
        """Nodes beneath an array, one level down, where no listing of its chunks tells them."""
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

    # ------------------------------------------------------------------ the consolidated copy
    def _take_copies(self) -> None:
        store, dialect = self.given.store, self.given.dialect
        try:
            self.copies = dialect.consolidated({**fetch(store, dialect.documents("/"))})
        except ZarrscopeError:
            self.copies = None  # opening the hierarchy told it

    def _compared_copies(self, path: str) -> list[Finding]:
        """Where the consolidated copy says other things than the documents it was made of."""
        if self.copies is None:
            return []
        prefix = self.given.dialect.listing(path)
        places = {key: self.given.dialect.copied_at(key) for key in self.copies if key.startswith(prefix)}
        keys = sorted(key for key, place in places.items() if place is not None)
        findings: list[Finding] = []
        for at in range(0, len(keys), 256):
            batch = keys[at : at + 256]
            for i, answer in sorted(
                self.given.store.get_many([(key, None) for key in batch], self.cancelled), key=lambda pair: pair[0]
            ):
                key = batch[i]
                node = "/" + key.rpartition("/")[0]
                if isinstance(answer, ZarrscopeError):
                    findings.append(finding_of(answer, node, key))
                    continue
                told, place = self._copy_differs(node, key, self.copies[key], answer), places[key]
                if told is not None and place is not None:
                    (code, message), (holder, pointer) = told, place
                    advice = "Readers that trust the copy see something else. Consolidate the metadata anew."
                    findings.append(Finding("error", code, node, message, holder, pointer, advice))
        return findings

    def _copy_differs(self, path: str, key: str, copy: Source, own: bytes | None) -> tuple[str, str] | None:
        held = copy if isinstance(copy, Mapping) else parse_json(copy)
        if own is None:
            if not held:
                return None  # no attributes, spelled out in the copy only
            return "copy-without-node", "The consolidated metadata has a document that is not stored"
        try:
            stored = parse_json(own)
        except ZarrscopeError:
            return None  # the node's own finding
        if _plain(held) == _plain(stored) or self._same_node(path, key, held, own):
            return None
        return "copy-stale", "The consolidated metadata says something else than the node's own document"

    def _same_node(self, path: str, key: str, held: Any, own: bytes) -> bool:
        """Both make the same node, though one spells out what the other leaves to the defaults."""
        try:
            nodes = [self.given.dialect.parse(path, {key: each}) for each in (held, own)]
        except ZarrscopeError:
            return False
        first, second = nodes
        return (
            first is not None
            and second is not None
            and (first.metadata == second.metadata and _plain(first.attributes) == _plain(second.attributes))
        )


def _plain(document: Any) -> Any:
    """What a document says, apart from a copy of others that it holds itself; NaN equal to itself."""
    if isinstance(document, Mapping):
        document = {name: value for name, value in document.items() if name != "consolidated_metadata"}
    return json.loads(json.dumps(document, sort_keys=True, default=str), parse_constant=str)
