"""The consolidated copy of a new hierarchy: all its documents in one, in the form of its dialect. Pure.

v2: .zmetadata; v3: `consolidated_metadata` of kind "inline" in the root's zarr.json, as zarr-python 3 writes it; the
draft of 2020: meta/root/consolidated/.zmetadata, as zarr-python 2.18 does. Where each copy goes its dialect says
(`copied_at`). Specification: dialects.md A.5, A.8.1, A.9.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from zarrscope.dialects import Dialect
from zarrscope.metadata import GroupMetadata
from zarrscope.naming import join_path


def with_copies(dialect: Dialect, documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The documents to be written, besides or in place of `documents`, so that they carry a copy of all of them. Empty
    where the dialect has no such copy."""
    places = {key: place for key in documents if (place := dialect.copied_at(key)) is not None}
    holders = {holder for holder, _ in places.values()}
    if not holders and dialect.name == "v3":
        holders = {*dialect.documents("/")} & documents.keys()
    written: dict[str, bytes] = {}
    for holder in sorted(holders):
        copies = {
            _name(pointer): json.loads(documents[key])
            for key, (where, pointer) in sorted(places.items())
            if where == holder and key != holder
        }
        whole: dict[str, Any]
        if holder in documents:
            inline = {"kind": "inline", "must_understand": False, "metadata": copies}
            whole = {**json.loads(documents[holder]), "consolidated_metadata": inline}
        else:
            whole = {"metadata": copies, "zarr_consolidated_format": 1}
            written |= _group_of(dialect, holder)
        written[holder] = (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
    return written


def is_holder(dialect: Dialect, path: str) -> bool:
    """Whether the group at `path` is there for nothing but to keep the copy in (the draft of 2020)."""
    place = dialect.copied_at("zarr.json") if dialect.apart else None
    return place is not None and path == join_path("/", place[0].rpartition("/")[0].rpartition("/")[2])


def _name(pointer: str) -> str:
    """The member's name that ends a JSON pointer."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def _group_of(dialect: Dialect, holder: str) -> dict[str, bytes]:
    """The group that zarr-python 2.18 keeps the copy in, for the draft of 2020; elsewhere it needs none."""
    folder = holder.rpartition("/")[0].rpartition("/")[2]
    if not folder:
        return {}
    path = join_path("/", folder)
    return dict(dialect.write(path, GroupMetadata(dialect.name), {}))
