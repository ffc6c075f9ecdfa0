"""The plan of a conversion: every node's new documents, the chunks that are copied unchanged, and the losses.

A plan reads documents and no chunks, and writes nothing. The new documents are written in memory and parsed again while
planning, so every difference in meaning is found and listed as a loss. Specification: reference.md H.8, E.1, A.12.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal, TypeVar

import numpy as np

from zarrscope.convert.carried_attributes import attributes, strict
from zarrscope.convert.layout import CodecLike, Layout
from zarrscope.convert.levels import Pyramid, PyramidLevel, entries
from zarrscope.convert.ome_versions import axis_names
from zarrscope.convert.pyramids import PlannedArray, PyramidPlanner
from zarrscope.convert.same_bytes import meaning, rare
from zarrscope.dialects import Dialect, dialect_named
from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import without_numbers
from zarrscope.errors.visible import visible
from zarrscope.executors.executor import JOURNAL as JOURNAL
from zarrscope.jsondoc.parse import parsed_once
from zarrscope.model.dtype import Fill
from zarrscope.model.fill_value import zero
from zarrscope.model.metadata import ArrayMetadata, GroupMetadata
from zarrscope.model.node_path import clean_path, join_path, natural
from zarrscope.nodes.array import Array
from zarrscope.nodes.consolidated import holder_of
from zarrscope.nodes.consolidated_metadata import MAX_DEPTH
from zarrscope.nodes.detect import need_known_absence
from zarrscope.nodes.hierarchy import Group, Hierarchy
from zarrscope.nodes.stored_array import StoredArray
from zarrscope.ome.metadata import block
from zarrscope.stores.store import Store

T = TypeVar("T")

JOURNAL_LIMIT = 64 << 20
"""The most bytes of a journal. The journal of a rebuild may be long, because it names every group."""
OME_XML = "OME/METADATA.ome.xml"
OME_XML_LIMIT = 256 << 20
"""The most bytes of OME-XML that are copied: plates of many thousand wells have tens of millions."""
Action = Literal["group", "copied", "encoded", "built"]


@dataclass(frozen=True)
class Loss:
    """Something that the destination cannot express. `left_out`: the node, and all beneath it, is missing there."""

    path: str
    what: str
    left_out: bool = False

    def __str__(self) -> str:
        return visible(f"{self.path}: {self.what}" + (" It would be left out." if self.left_out else ""))


@dataclass(frozen=True)
class NodePlan:
    """The plan of one node: its `path` in the source, its path `target` in the destination, its new documents."""

    path: str
    target: str
    how: Action
    documents: Mapping[str, bytes]
    attributes_key: str
    """The key of the document that is written first, so that the node appears with its attributes."""
    array: Array | None = None
    """The source array, if the node is an array."""
    metadata: ArrayMetadata | None = None
    """The metadata of the array in the destination."""
    level: PyramidLevel | None = None
    """For a level of a new pyramid: how it is made from the level above. `path` is then that of the finest level."""
    notes: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are copied although they are not Zarr documents, by key."""

    @property
    def chunks(self) -> int:
        """The number of chunks in the destination's grid; chunks of nothing but the fill value are not stored."""
        return prod(self.metadata.grid.grid_shape(self.metadata.shape)) if self.metadata is not None else 0

    @property
    def nbytes(self) -> int:
        """The decoded size of the array, in bytes."""
        return prod(self.metadata.shape) * self.metadata.dtype.itemsize if self.metadata is not None else 0


class Amount:
    """A plan of nodes, with the total number of their chunks and bytes."""

    nodes: tuple[NodePlan, ...]

    @property
    def chunks(self) -> int:
        """The number of destination chunks (or shards) of all arrays of the plan."""
        return sum(node.chunks for node in self.nodes)

    @property
    def nbytes(self) -> int:
        """The size of all arrays of the plan in bytes, decoded."""
        return sum(node.nbytes for node in self.nodes)


@dataclass(frozen=True)
class ConversionPlan(Amount):
    """The plan of a conversion. `plan` makes it, `copying.run` carries it out."""

    source: Hierarchy
    destination: str
    store: Store | None
    """The destination, if it was given as a store."""
    dialect: Dialect
    nodes: tuple[NodePlan, ...]
    losses: tuple[Loss, ...]

    @property
    def digest(self) -> str:
        """A digest of the plan, which is equal for two plans that write the same source in the same way."""
        told = hashlib.sha256(without_numbers(self.source.url).encode())
        for node in self.nodes:
            told.update(f"\n{node.path} {node.target} {node.how}".encode("utf-8", "surrogatepass"))
            if node.level is not None:
                told.update(f" {node.level.above} {node.level.factors} {node.level.method}".encode())
            for key, value in sorted({**node.documents, **node.files}.items()):
                told.update(key.encode("utf-8", "surrogatepass") + b"\0" + value)
        return told.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON, for scripts: the same plan always gives the same text."""
        return {
            "source": self.source.url,
            "destination": self.destination,
            "from": self.source.dialect.name,
            "to": self.dialect.name,
            "chunks": self.chunks,
            "nbytes": self.nbytes,
            "nodes": [node_json(node) for node in self.nodes],
            "losses": [{"path": loss.path, "what": loss.what, "left_out": loss.left_out} for loss in self.losses],
        }


def node_json(node: NodePlan) -> dict[str, Any]:
    """The row of a node in the JSON of a plan; the members about elements are there for arrays only."""
    told: dict[str, Any] = {"path": node.path, "target": node.target, "how": node.how, "notes": [*node.notes]}
    if node.metadata is not None:
        told |= {
            "shape": [*node.metadata.shape],
            "data_type": node.metadata.dtype.name,
            "chunk_shape": [*node.metadata.grid.chunk_shape],
            "codecs": [spec.name for spec in node.metadata.codecs],
            "chunks": node.chunks,
            "nbytes": node.nbytes,
        }
    if node.level is not None:
        told |= {"of": node.level.above, "factors": [*node.level.factors], "method": node.level.method}
    return told


def plan(
    source: Hierarchy,
    destination: str | Store,
    dialect: str,
    *,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    codecs: Sequence[CodecLike] | None = None,
    path: str = "/",
    pyramid: Pyramid | None = None,
) -> ConversionPlan:
    """Plans the conversion of the node at `path`, and all beneath it, to `dialect` at the new place `destination`.

    `chunks` and `shards` (elements per axis) apply to arrays with that number of axes. `codecs` applies to all arrays:
    a whole list, or only bytes→bytes codecs, before which each array gets an array→bytes codec for its data type; []
    means no compression. `pyramid` replaces the levels of every image (OME-Zarr), and makes an image of a plain array.
    Raises NotFound, Refused (the destination is in the source), Unsupported (zarrscope never writes the dialect).
    """
    chosen = dialect_named(dialect)
    url = destination.url if isinstance(destination, Store) else _url(destination, chosen)
    if url == source.url or url.startswith(source.url.rstrip("/") + "/"):
        raise Refused("The destination is the source itself, or inside it", store=url, advice="Name a new place.")
    chosen.write("/", GroupMetadata(chosen.name), {})
    layout = Layout(_fixed(chunks), _fixed(shards), _fixed(codecs))
    planner = _Planner(source, chosen, clean_path(path), layout, pyramid)
    nodes = tuple(planner.nodes())
    if planner.pyramids is not None and not planner.pyramids.built:
        told = next((note for node in nodes for note in node.notes if "levels are kept" in note), None)
        raise Refused(
            "There is no image to build levels for" + (f": {told}" if told else ""),
            store=source.url,
            advice="Name a plain array with --node, and its axes with --axes.",
        )
    if source.consolidated and nodes[0].metadata is None:
        nodes = _consolidated(chosen, nodes)
    store = destination if isinstance(destination, Store) else None
    return ConversionPlan(source, url, store, chosen, nodes, tuple(planner.losses))


def _fixed(given: Sequence[T] | None) -> tuple[T, ...] | None:
    return None if given is None else tuple(given)


def plan_beside(source: Hierarchy, dialect: str) -> ConversionPlan:
    """Plans new documents in the source's own store, beside the old ones, for the same chunks."""
    planner = _Planner(source, dialect_named(dialect), "/", Layout(), None, chunks_stay=True)
    nodes = tuple(planner.nodes())
    if source.consolidated and nodes[0].metadata is None:
        nodes = _consolidated(planner.dialect, nodes)
    return ConversionPlan(source, source.url, source.store, planner.dialect, nodes, tuple(planner.losses))


def _url(destination: str, chosen: Dialect) -> str:
    from zarrscope.stores.address import split_address

    address = split_address(destination)
    if address.node_path:
        raise Refused("A conversion makes a new hierarchy; it cannot add to another one", advice="Name a new place.")
    if address.dialect and address.dialect != chosen.name:
        raise Refused(
            f"The destination's address says {dialect_named(address.dialect).title}, but {chosen.title} is written",
            store=address.public_url,
            advice="Leave the format out of the address.",
        )
    return address.public_url


class _Planner:
    """Walks the source and collects losses."""

    def __init__(
        self,
        source: Hierarchy,
        dialect: Dialect,
        root: str,
        layout: Layout,
        pyramid: Pyramid | None,
        chunks_stay: bool = False,
    ) -> None:
        """`chunks_stay`: the new documents describe the existing chunks, which keep their keys."""
        self.source, self.dialect, self.root, self.layout = source, dialect, root, layout
        self.chunks_stay = chunks_stay
        self.tree = source.tree(root)
        self.pyramids = PyramidPlanner(dialect, pyramid) if pyramid is not None else None
        self.groups: set[str] = set()
        """The targets of groups that are created for levels, because the source does not have them."""
        self.losses: list[Loss] = []
        self.axes: dict[str, tuple[str, ...]] = {}

    def nodes(self) -> Iterator[NodePlan]:
        need_known_absence(self.source.store)
        node = self.source.open_node(self.root) if self.pyramids is not None else None
        if self.pyramids is None or not isinstance(node, Array):
            yield from self._node(self.root, "/", 0)
            return
        if node.problem is not None:
            raise node.problem
        own, notes = self.pyramids.of_array(node)
        (entry,) = entries(own)
        self.axes[node.path] = tuple(axis["name"] for axis in entry["axes"])
        yield self._new_group(node.path, "/", own, (*notes, "The array becomes the finest level of an image"))
        yield from self._node(self.root, "/0", 1)

    def _lose(self, path: str, what: str, *, left_out: bool = False) -> None:
        self.losses.append(Loss(path, what, left_out))

    def _node(self, path: str, target: str, depth: int) -> Iterator[NodePlan]:
        if self.pyramids is not None and path in self.pyramids.dropped:
            return
        try:
            if target != "/":
                self.dialect.check_name(target.rpartition("/")[2])
            if depth > MAX_DEPTH:
                raise Refused(f"It nests deeper than {MAX_DEPTH} levels")
            with parsed_once():
                node, made = self._planned(path, target)
        except ZarrscopeError as error:
            if path == self.root:
                raise
            self._lose(path, str(error), left_out=True)
            return
        yield made
        if self.pyramids is not None and isinstance(node, Array):
            yield from self._levels(made)
        if isinstance(node, Group):
            names = sorted((child.name for child in node.children(tree=self.tree)), key=natural)
            for name in names:
                if self.source.consolidated and join_path(path, name) == self.source.dialect.consolidated_group:
                    continue  # the group exists only to hold the consolidated copy
                yield from self._node(join_path(path, name), join_path(target, name), depth + 1)

    def _planned(self, path: str, target: str) -> tuple[Group | Array, NodePlan]:
        node = self.source.open_node(path)
        if node.problem is not None:
            raise node.problem
        if path in self.source._nodes.passed_over:  # a document that could not be read would be lost without notice
            raise self.source._nodes.passed_over[path]
        return node, self._array(node, target) if isinstance(node, Array) else self._group(node, target)

    # ------------------------------------------------------------------ groups
    def _group(self, group: Group, target: str) -> NodePlan:
        notes = ["There was no document for this group; it gets one"] if group.metadata.implicit else []
        own = self._attributes(group, None, notes)
        self.axes |= axis_names(own, group.path)
        if self.pyramids is not None:
            own = self.pyramids.rebuild(group, own, target, notes)
        documents = self.dialect.write(target, GroupMetadata(self.dialect.name), own)
        self._tell_extensions(group.path, group.metadata)
        key = self.dialect.attributes_at(target, "group")[0]
        files = self._files(group.path, target) if "bioformats2raw.layout" in block(group.attributes)[0] else {}
        return NodePlan(group.path, target, "group", documents, key, notes=tuple(notes), files=files)

    def _files(self, path: str, target: str) -> dict[str, bytes]:
        """The OME-XML files that bioformats2raw writes beside its series (reference.md E.6)."""
        if self.source.dialect.apart:
            return {}
        found = self.source.store.get(join_path(path, OME_XML)[1:], None, OME_XML_LIMIT)
        if found is None:
            return {}
        if self.dialect.apart:
            self._lose(path, f"{self.dialect.title} has no place for the file {OME_XML}.")
            return {}
        return {join_path(target, OME_XML)[1:]: found}

    def _new_group(self, path: str, target: str, own: Mapping[str, Any], notes: tuple[str, ...]) -> NodePlan:
        documents = self.dialect.write(target, GroupMetadata(self.dialect.name), own)
        return NodePlan(path, target, "group", documents, self.dialect.attributes_at(target, "group")[0], notes=notes)

    # ------------------------------------------------------------------ pyramids
    def _levels(self, base: NodePlan) -> Iterator[NodePlan]:
        """The plans of the levels to build from the array of the plan `base`."""
        assert self.pyramids is not None
        assert base.metadata is not None
        for made in self.pyramids.levels(base.path, base.target, base.metadata, self._separator(base.metadata)):
            yield from self._groups_above(made, base)
            notes: list[str] = []
            own: dict[str, Any] = {}
            if made.former is not None:
                try:
                    former = self.source.open_node(made.former)
                    own = self._attributes(former, former.metadata, notes) if isinstance(former, Array) else {}
                except ZarrscopeError:
                    pass  # a broken level is replaced anyway
            adapted = self.dialect.adapt(made.metadata)
            documents = self.dialect.write(made.target, adapted, own)
            StoredArray(self.source.store, made.target, adapted).need_encoding()
            key = self.dialect.attributes_at(made.target, "array")[0]
            told = tuple(notes)
            yield NodePlan(base.path, made.target, "built", documents, key, None, adapted, level=made.level, notes=told)

    def _groups_above(self, made: PlannedArray, base: NodePlan) -> Iterator[NodePlan]:
        """Groups between the image and a level that are missing in the source, such as "scale3" of scale3/image."""
        assert self.pyramids is not None
        built = self.pyramids.built[base.path]
        inner = made.target[len(built.target.rstrip("/")) :].split("/")[1:-1]
        place, source = built.target, built.image
        for name in inner:
            place = join_path(place, name)
            source = join_path(source, name) if source is not None else None
            if place not in self.groups and (source is None or source not in self.source):
                self.groups.add(place)
                yield self._new_group(base.path, place, {}, ("A group for a new level",))

    def _attributes(self, node: Group | Array, metadata: ArrayMetadata | None, notes: list[str]) -> dict[str, Any]:
        ends = self.source.dialect, self.dialect
        own, told = attributes(node.attributes, metadata, node.path, *ends, shape_of=self._shape_of)
        notes += told
        own, pointers = strict(own)
        if pointers:
            few = ", ".join(pointers[:5]) + (" …" if len(pointers) > 5 else "")
            self._lose(node.path, f"NaN and infinities in attributes become text: JSON has no such numbers ({few}).")
        result: dict[str, Any] = own
        return result

    def _shape_of(self, path: str) -> tuple[int, ...] | None:
        try:
            node = self.source.open_node(path)
        except ZarrscopeError:
            return None
        return node.shape if isinstance(node, Array) else None

    def _tell_extensions(self, path: str, metadata: ArrayMetadata | GroupMetadata) -> None:
        for report in metadata.extensions:
            if report.point in ("extension", "member") and self.source.dialect.extensions.count(report) == 0:
                self._lose(path, f"The {report.point} {report.name!r} is lost.")

    # ------------------------------------------------------------------ arrays
    def _array(self, array: Array, target: str) -> NodePlan:
        notes: list[str] = []
        before = array.metadata
        fill, fill_moves = self._fill(before, notes)
        names = before.dimension_names
        if names is None and self.dialect.ome_zarr != "0.4":  # OME-Zarr requires names in v3, and has none in v2
            names = self.axes.get(array.path)
        names = names if names is not None and len(names) == before.ndim else None
        own = self._attributes(array, before, notes)
        draft = replace(
            before,
            fill=fill,
            dialect=self.dialect.name,
            keys=before.keys
            if self.chunks_stay
            else self.dialect.chunk_keys(target, before.ndim, self._separator(before)),
            dimension_names=names,
            transformers=(),
            extensions=(),
            alternative_keys=(),
        )
        after, documents = self._expressed(draft, target, own, notes)
        if names is not None and None in names and after.dimension_names != names:
            notes.append("Dimensions without a name are called dim_0, dim_1 …")
        self._tell_extensions(array.path, before)
        self._compare(array.path, draft, after)
        same = not fill_moves and before.grid == after.grid and meaning(before) == meaning(after)
        if same:
            notes += [f"{n} is not a core codec: some readers lack it" for n in rare(after)]
        key = self.dialect.attributes_at(target, "array")[0]
        how: Action = "copied" if same else "encoded"
        return NodePlan(array.path, target, how, documents, key, array, after, notes=tuple(notes))

    def _separator(self, before: ArrayMetadata) -> str | None:
        """The separator in chunk keys. An array that becomes v2 gets "/", as in OME-Zarr 0.4."""
        wanted = self.dialect.wanted_separator
        return before.keys.separator if wanted and before.dialect == self.dialect.name else wanted

    def _fill(self, before: ArrayMetadata, notes: list[str]) -> tuple[Fill, bool]:
        fill = before.fill
        if not fill.defined and not self.dialect.undefined_fill:
            notes.append(f"The fill value was undefined; it becomes {fill.value!r}, the value that is read already")
            return replace(fill, defined=True), False
        if self.dialect.zero_fill and fill.defined and before.dtype.numpy is not None:
            none = Fill(zero(before.dtype))
            if fill != none:
                notes.append("N5 has no fill value but 0: chunks of nothing but the fill value are stored")
                return none, True
        return fill, False

    def _expressed(
        self, draft: ArrayMetadata, target: str, own: Mapping[str, Any], notes: list[str]
    ) -> tuple[ArrayMetadata, Mapping[str, bytes]]:
        """The metadata and the documents of the array in the destination, for the first layout that its dialect can
        express."""
        failure: ZarrscopeError | None = None
        for metadata, told in self.layout.candidates(draft, notes):
            try:
                adapted = self.dialect.adapt(metadata)
                documents = self.dialect.write(target, adapted, own)
                node = self.dialect.parse(target, documents)
                if node is None or not isinstance(node.metadata, ArrayMetadata):
                    raise Unsupported(f"{self.dialect.title} does not read its own document", feature="array")
                probe = StoredArray(self.source.store, target, node.metadata)
                if probe.problem is not None:
                    raise probe.problem
                if meaning(draft) != meaning(node.metadata) or draft.grid != node.metadata.grid:
                    probe.need_encoding()
            except ZarrscopeError as error:
                failure = error
                continue
            notes += told
            return node.metadata, documents
        assert failure is not None
        raise failure

    def _compare(self, path: str, wanted: ArrayMetadata, got: ArrayMetadata) -> None:
        """Lists the differences between the wanted metadata and those of the destination as losses."""
        if wanted.dtype.numpy != got.dtype.numpy:
            self._lose(path, f"The data type {wanted.dtype} becomes {got.dtype}.")
        if wanted.fill != got.fill and not self.dialect.zero_fill:
            bits = "The bits of its NaN are" if _is_nan(wanted.fill) and _is_nan(got.fill) else "It is"
            self._lose(path, f"The fill value {wanted.fill.value!r} becomes {got.fill.value!r}. {bits} not the same.")
        if got.dimension_names is None and wanted.dimension_names is not None:
            self._lose(path, "The names of its dimensions are lost.")


def _is_nan(fill: Fill) -> bool:
    return isinstance(fill.value, np.floating) and bool(np.isnan(fill.value))


def _consolidated(dialect: Dialect, nodes: tuple[NodePlan, ...]) -> tuple[NodePlan, ...]:
    """The plans of `nodes`, where the root gets a consolidated copy of all documents if the dialect has one."""
    root = nodes[0]
    documents = {key: value for node in nodes for key, value in node.documents.items()}
    copied = {
        key: value.decode("utf-8", "surrogatepass")
        for key, value in documents.items()
        if dialect.consolidated_location(key)
    }
    if holder_of(dialect) is None:
        note = f"{dialect.title} has no consolidated copy of the metadata: readers find each node's own"
        return (replace(root, notes=(*root.notes, note)), *nodes[1:])
    added = dialect.consolidate(copied, root.documents.get(root.attributes_key))
    note = "The consolidated copy of the metadata is written again"
    return (replace(root, documents={**root.documents, **added}, notes=(*root.notes, note)), *nodes[1:])
