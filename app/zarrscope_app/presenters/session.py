"""One opened hierarchy: where one is, what one sees, what has changed. Its presenters all speak of the selected node.

A session opens in the background. `state` is a frozen snapshot; `changed()` says there is a new one. Everything it has
asked for is given back by `close()`; after that no callback comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from psygnal import Signal

from zarrscope_app.presenters.edit import EditPresenter
from zarrscope_app.presenters.jobs import JobsPresenter
from zarrscope_app.presenters.metadata import MetadataPresenter
from zarrscope_app.presenters.problems import ProblemsPresenter
from zarrscope_app.presenters.slice import SlicePresenter
from zarrscope_app.presenters.tree import TreePresenter
from zarrscope_app.presenters.turn import Post
from zarrscope_app.presenters.values import ValuesPresenter

TABS = (
    ("image", "Image"),
    ("values", "Values"),
    ("attributes", "Attributes"),
    ("info", "Info"),
    ("problems", "Problems"),
)
"""(id, title) in the order of all hosts."""


class SessionStatus(Enum):
    OPENING = "opening"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True)
class Tab:
    id: str
    title: str
    enabled: bool
    """False: the selected node has nothing to show there."""


@dataclass(frozen=True)
class SessionState:
    status: SessionStatus
    url: str
    path: str
    """The selected node."""
    name: str
    """Of the hierarchy, for a window's title: "cells.zarr"."""
    title: str
    """As `name`, with a dot in front while there are changes."""
    crumbs: tuple[tuple[str, str], ...]
    """(label, path) from the root to the selected node."""
    address: str
    """What the address line holds: URL and path."""
    facts: str
    """ "v3 · OME-Zarr 0.5 · read-only"."""
    tab: str
    """The id of the tab in front."""
    tabs: tuple[Tab, ...]
    selecting: bool
    """The selected node is still being opened."""
    sentence: str
    """For the strip under the address line; "" when all is well."""
    details: str
    retry: bool
    writable: bool
    unsaved: str
    """ "2 changes", or ""."""
    status_text: str
    """The rest of the status bar: level, tiles loading, changes."""


class Session:
    """`Session(url, post)`: `url` may name a node within the store. Raises nothing: what fails is in `state`."""

    changed = Signal()

    tree: TreePresenter
    metadata: MetadataPresenter
    edit: EditPresenter
    slice: SlicePresenter
    values: ValuesPresenter
    jobs: JobsPresenter
    problems: ProblemsPresenter

    def __init__(self, url: str, post: Post, *, writable: bool = False, path: str | None = None) -> None:
        """`path`: the node to select first; None: the one the address names."""
        raise NotImplementedError

    @property
    def state(self) -> SessionState:
        raise NotImplementedError

    def select(self, path: str) -> None:
        """Goes to a node: its metadata, form, picture and values follow in the background."""
        raise NotImplementedError

    def set_tab(self, tab: str) -> None:
        raise NotImplementedError

    def back(self) -> None:
        """To the node selected before."""
        raise NotImplementedError

    def forward(self) -> None:
        raise NotImplementedError

    def retry(self) -> None:
        """After FAILED: opens again."""
        raise NotImplementedError

    def reload(self) -> None:
        """Reads everything again (F5). Unsaved changes are kept as long as the document did not change."""
        raise NotImplementedError

    def set_writable(self, writable: bool) -> None:
        """Opens the same place for writing, or read-only again."""
        raise NotImplementedError

    def dismiss(self) -> None:
        """Clears the strip."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives back every request; nothing is called afterwards."""
        raise NotImplementedError
