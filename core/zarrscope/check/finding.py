"""A finding of a check: a frozen record of one problem and its place; and the conversion of errors into findings.

Severities: *error*: data is lost, or some reader will read it wrongly. *warning*: a rule is broken but the values are
complete, or it could not be checked here. *information*: worth knowing. Errors carry the code of their class:
not-found, unreadable, bad-metadata, unsupported, refused. Specification: reference.md F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from zarrscope.errors import BadChunk, OutsideLink, Refused, TooLarge, Unsupported, ZarrscopeError
from zarrscope.nodes.internals import node_context

if TYPE_CHECKING:
    from zarrscope.dialects import Dialect
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.hierarchy import Hierarchy
    from zarrscope.ome.violations import Violation

Severity = Literal["error", "warning", "information"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem found at node `path`. `code` names the kind of problem and never changes between versions."""

    severity: Severity
    code: str
    path: str
    message: str
    key: str | None = None
    pointer: str | None = None
    advice: str | None = None


def finding_of(error: ZarrscopeError, path: str, key: str | None = None) -> Finding:
    """The finding for an error at `path`. Unsupported or refused data gives a warning, because the data
    may be valid."""
    mild = isinstance(error, Unsupported | Refused) and not isinstance(error, OutsideLink)
    code = "".join(f"-{c.lower()}" if c.isupper() else c for c in type(error).__name__).lstrip("-")
    message = error.message.rstrip(".")
    error.located(key=key)  # before its advice is asked for, which names the key
    return Finding("warning" if mild else "error", code, path, message, error.key, error.pointer or None, error.advice)


def warnings_of(hierarchy: Hierarchy, path: str) -> list[Finding]:
    """The warnings of a hierarchy as findings at `path`. The kind of a place is only information."""
    kind = hierarchy.recognition
    told = [] if kind is None else [Finding("information", "hierarchy", path, kind.sentence)]
    return [*told, *(Finding("warning", "hierarchy", path, warning) for warning in hierarchy.warnings)]


def violation(found: Violation, path: str, key: str, base: str) -> Finding:
    """The finding for a rule of OME-Zarr that the attributes of node `path` break. `base`: the pointer of the
    attributes in the document `key`."""
    severity: Severity = "error" if found.strength == "must" else "warning"
    return Finding(severity, "ome-zarr", path, found.message, key, base + found.pointer, found.advice)


def in_documents(finding: Finding, hierarchy: Hierarchy) -> bool:
    """Whether a finding is among those of `check_documents`, and not one of keys, chunks or children."""
    if finding.code == "ome-zarr" or finding.code.startswith("copy-"):
        return True
    return finding.key in node_context(hierarchy).keys_of(finding.path)


def descendant(dialect: Dialect, array: str, node: str, key: str) -> Finding:
    """The finding for a node beneath an array, which most dialects forbid."""
    return Finding(
        "warning" if dialect.nodes_beneath_arrays else "error",
        "array-with-descendants",
        array,
        f"There is a node {node} beneath this array; readers do not find it",
        key,
        advice="Move it to a group, or erase it.",
    )


def failed_chunk(error: ZarrscopeError, array: Array, key: str) -> Finding:
    """The finding for a chunk that cannot be decoded: chunk-checksum or chunk-undecodable."""
    if isinstance(error, TooLarge):
        advice = "Restore the chunk from a copy, or erase it."
        return Finding("error", "chunk-size", array.path, error.message, error.key or key, None, advice)
    if not isinstance(error, BadChunk):
        return finding_of(error, array.path, key)
    codec = (error.codec or "").removeprefix("numcodecs.")
    code = "chunk-undecodable"
    if codec in ("crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3"):
        code = "chunk-checksum"
    advice = (
        error.own_advice or "Its values are lost here: restore the chunk from a copy, or erase it to read fill values."
    )
    return Finding("error", code, array.path, error.message.rstrip("."), error.key or key, None, advice)
