"""The table of views, which show a node in different ways. Every host paints each row as a tab.

Another distribution adds a view as a row like those here. An entry point refers to the row, and has the row's id as its
name:

    [project.entry-points."zarrscope.views"]
    sizes = "my_package:SIZES"

    SIZES = View("sizes", "Sizes", lambda details: details.node.kind == "array", lambda owner, loader: Sizes(owner))

A host shows `text()` of the added view's presenter, or the widget made by the factory that `widgets` names for the
host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol

from psygnal import Signal

from zarrscope.errors import Unsupported
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import loaded, registered
from zarrscope.runtime.threads import Owner
from zarrscope.view.loader import ChunkLoader
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.form.presenter import EditPresenter
from zarrscope_app.presenters.image.overview import KINDS, OverviewPresenter
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.metadata import MetadataPresenter
from zarrscope_app.presenters.node_details import NodeDetails
from zarrscope_app.presenters.problems import ProblemsPresenter
from zarrscope_app.presenters.values import ValuesPresenter


class ViewPresenter(Protocol):
    """The presenter of a view, made once in each session. It emits `changed` when there is something new to paint.

    Plugged-in presenters also have `text() -> str`, which hosts show if `widgets` has no factory for them.
    """

    changed: ClassVar[Signal]

    def show_node(self, details: NodeDetails) -> None:
        """Called when a node that fits the view was selected. Must not block: run slow work by `owner.fetch`."""

    def show_nothing(self, sentence: str = "") -> None:
        """Called when a node was selected that does not fit the view; `sentence` gives the reason."""


@frozen
class View:
    """One row: its `id`, the `title` of the tab, the condition `when` for a node, and a function that makes the
    presenter."""

    id: str
    title: str
    when: Callable[[NodeDetails], bool]
    """Called on the host's thread with the data that were read about the node; it must not read anything."""
    presenter: Callable[[Owner, ChunkLoader], ViewPresenter]
    leads: bool = False
    """Whether the tab comes to the front when the view fits a node, unless the person has chosen another tab."""
    otherwise: str = ""
    """The sentence that is shown in place of the view for a node that the view does not fit."""
    widgets: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Host ("qt", "napari", "tui", "jupyter") → "module:factory", imported when it is first needed."""


VIEWS = (
    View(
        "overview",
        "Overview",
        lambda details: details.collection is not None and details.collection.kind in KINDS,
        OverviewPresenter,
        leads=True,
        otherwise="This node is not a plate, a well, or a group of several images.",
    ),
    View(
        "image",
        "Image",
        lambda details: details.has_picture,
        SlicePresenter,
        leads=True,
        otherwise=strings.NO_IMAGE,
    ),
    View(
        "values",
        "Values",
        lambda details: details.node is not None and (details.node.kind == "array" or details.has_picture),
        ValuesPresenter,
        leads=True,
        otherwise=strings.NO_TABLE,
    ),
    View(
        "attributes",
        "Attributes",
        lambda details: details.node is not None,
        lambda owner, loader: EditPresenter(owner),
    ),
    View(
        "chunks",
        "Chunks",
        lambda details: details.node is not None and (details.node.kind == "array" or details.has_picture),
        ChunksPresenter,
        otherwise="This node has no chunks. Choose an array or an image.",
    ),
    View("info", "Info", lambda details: True, lambda owner, loader: MetadataPresenter(owner)),
    View("problems", "Problems", lambda details: True, lambda owner, loader: ProblemsPresenter(owner)),
)
"""The built-in views, in the order of every host. Views of other distributions follow, sorted by name."""
_NAME = re.compile("[a-z][a-z0-9_-]{0,39}")
TITLES = {view.id: view.title for view in VIEWS}


@lru_cache(maxsize=1)
def plugged_in() -> tuple[tuple[View, ...], tuple[Unsupported, ...]]:
    """The views of other distributions, and the reasons why some cannot be shown. Imports the distributions, so it must
    not be called on a host's thread."""
    found, faults = [], []
    for name in sorted(registered("views")):
        try:
            view = loaded("views", name)
            if not isinstance(view, View) or name in TITLES or not _NAME.fullmatch(name):
                raise Unsupported(strings.no_view(name, name in TITLES), feature=f"views {name}")
            found.append(replace(view, id=name, title=strings.clean(view.title, 40)))
        except Unsupported as fault:
            faults.append(fault)
    return tuple(found), tuple(faults)


def text_of(view: View, presenter: Any) -> str:
    """The text of a view of another distribution, for hosts without a widget for it. If its code fails, the text says
    so."""
    try:
        return strings.clean_lines(str(presenter.text()))
    except Exception as error:
        return strings.no_widget(view.title, error)


def widget_factory(view: View, host: str) -> Callable[..., Any] | None:
    """The function that makes a plugged-in view's widget for a host; None if the view names none.

    Raises Unsupported if it cannot be loaded.
    """
    place = view.widgets.get(host, "")
    if not place:
        return None
    from importlib import import_module

    module, _, name = place.partition(":")
    try:
        made: Callable[..., Any] = getattr(import_module(module), name)
    except Exception as error:  # the plugin failed
        raise Unsupported(strings.no_widget(view.title, error), feature=f"views {view.id}") from error
    return made
