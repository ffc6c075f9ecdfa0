"""The rules of OME-Zarr's RFC-9 for an .ozx archive: the order of its entries, and its comment (spec E.8)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.stores.zip.directory import ArchiveMember, Directory

ROOT = "zarr.json"


def json_first(members: Sequence[ArchiveMember]) -> list[ArchiveMember]:
    """The members in the order of RFC-9: the document of the root first, then the documents of other nodes from the top
    down, then all others."""
    return sorted(members, key=lambda member: _rank(member.name))


def _rank(name: str) -> tuple[bool, int, str]:
    return (False, name.count("/"), name) if is_document(name) else (True, 0, "")


def is_document(name: str) -> bool:
    """Whether an entry is a zarr.json, of any node."""
    return name == ROOT or name.endswith("/" + ROOT)


def is_ome(path: str, comment: bytes) -> bool:
    """Whether an archive has to follow RFC-9, by its name or its comment."""
    return path.lower().endswith(".ozx") or _said(comment) is not None


def comment_of(comment: bytes, root: bytes | None) -> bytes:
    """The comment for an archive in the order of RFC-9, from its present `comment`. `root`: the document of the root,
    if it is known.

    A comment that is not of OME-Zarr stays as it is.
    """
    said = _said(comment)
    if comment and said is None:
        return comment
    ome: dict[str, Any] = said or {}
    version = _version(root) if root is not None else None
    if version is not None:
        ome = {**ome, "version": version}
    file = ome.get("zipFile")
    directory = file.get("centralDirectory") if isinstance(file, dict) else None
    directory = {**(directory if isinstance(directory, dict) else {}), "jsonFirst": True}
    ome = {**ome, "zipFile": {**(file if isinstance(file, dict) else {}), "centralDirectory": directory}}
    return json.dumps({"ome": ome}, separators=(",", ":")).encode()


def arrangement(path: str, directory: Directory, added: Mapping[str, bytes]) -> dict[str, Any]:
    """The arguments of `append_entries` for an archive that follows RFC-9: the order of its directory, and its comment;
    none for other archives."""
    if not is_ome(path, directory.comment):
        return {}
    return {"order": json_first, "comment": comment_of(directory.comment, added.get(ROOT))}


def _said(comment: bytes) -> dict[str, Any] | None:
    """The member "ome" of a comment; None if the comment has none."""
    try:
        ome = json.loads(comment)["ome"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return ome if isinstance(ome, dict) else None


def _version(document: bytes) -> str | None:
    """The version of OME-Zarr that the document of the root states; None if it states none."""
    try:
        version = json.loads(document)["attributes"]["ome"]["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return version if isinstance(version, str) else None
