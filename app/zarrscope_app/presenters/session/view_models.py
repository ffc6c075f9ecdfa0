"""Snapshots of a session: its state for the address line, tabs, error bar and status bar."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.formats import name_of
from zarrscope_app.presenters.session.last_part import last_part

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy import Hierarchy


class SessionStatus(Enum):
    """Whether the hierarchy of a session is being opened, is open, or could not be opened."""

    OPENING = "opening"
    READY = "ready"
    FAILED = "failed"


@frozen
class Tab:
    """One tab, as shown by hosts."""

    id: str
    title: str
    enabled: bool
    """Whether the tab fits the selected node."""


@frozen
class SessionState:
    """Everything that a host paints around the views: address, tabs, status, errors."""

    status: SessionStatus
    url: str
    path: str
    """The path of the selected node."""
    name: str
    """The name of the hierarchy: "cells.zarr"."""
    title: str
    """The name of the hierarchy, with a dot in front while there are unsaved changes."""
    crumbs: tuple[tuple[str, str], ...]
    """(label, path) from the root to the selected node."""
    address: str
    """The content of the address line: URL and path."""
    facts: str
    """Facts about the hierarchy: "v3 · OME-Zarr 0.5 · read-only"."""
    tab: str
    """The id of the tab in front."""
    tabs: tuple[Tab, ...]
    selecting: bool
    """Whether the selected node is still being opened."""
    sentence: str
    """The sentence in the error bar under the address line; "" if there is no error."""
    details: str
    retry: str
    """The label of the button that tries again: "Retry", or "Refresh" if only reading everything again helps; "" if no
    attempt may succeed."""
    writable: bool
    offers: tuple[str, ...]
    """Commands that may help with the selected node: "open-anyway" if it requires an extension that may be ignored,
    "follow-links" if links lead out of the store, "missing-is-fill" if a server does not distinguish missing from
    denied keys, "fallback" if its document offers one for an unknown data type; "put-back" and "forget" if an earlier
    run left unsaved edits."""
    unsaved: str
    """The number of unsaved changes: "2 changes"; "" if there are none."""
    status_text: str
    """The rest of the status bar: level, tiles loading, changes."""
    severity: str
    """The severity of `sentence`: "error", "warning" or "information" (see presenters/problem_rows.py)."""


def place_name(url: str) -> str:
    """The last part of an address: "cells.zarr"."""
    return strings.clean(last_part(url) or url, 80)


def facts_of(
    hierarchy: Hierarchy | None, node: Group | Array | None, version: str, lenient: bool, changing: str = ""
) -> str:
    """ "v3 · OME-Zarr 0.5 · read-only"; `version`: the version of OME-Zarr, "" for none; `changing`: a sentence about
    an array whose shape has changed."""
    if hierarchy is None:
        return ""
    return strings.joined(
        changing,
        name_of(hierarchy, node),
        f"OME-Zarr {strings.clean(version)}" if version else "",
        strings.WRITABLE if hierarchy.writable else strings.OPENED_ANYWAY if lenient else strings.READ_ONLY,
        strings.REFUSED_IS_MISSING if hierarchy.store.missing_is_fill and not hierarchy.store.tells_absence else "",
    )


def crumbs(url: str, path: str, titles: Mapping[str, str], *, whole: bool = False) -> tuple[tuple[str, str], ...]:
    """(label, path) from the root to a node. `titles`: path → a label in place of the node's name: "well A/1".
    `whole`: the root's label is the whole address, to be checked where nothing could be opened."""
    parts = [part for part in path.split("/") if part]
    paths = ["/" + "/".join(parts[: i + 1]) for i in range(len(parts))]
    beneath = [(titles.get(at) or strings.clean(part, 60), at) for part, at in zip(parts, paths, strict=True)]
    return ((strings.clean(url) if whole else place_name(url), "/"), *beneath)
