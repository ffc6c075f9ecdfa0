"""The state, actions and words of the user interface, shared by all hosts: Qt, napari, Textual, Jupyter, scripts.

A host makes a `Workspace` or a `Session` with its `post` (which runs a function later on the host's thread), paints the
frozen snapshots and forwards gestures. Signals are psygnal's and are emitted on the host's thread. No method waits for
a store. Hosts take all sentences, numbers and units from this package (`strings`) and define none of their own.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrscope_app.presenters import strings
    from zarrscope_app.presenters.coalesce import CoalescedCall, Post
    from zarrscope_app.presenters.form.presenter import EditPresenter
    from zarrscope_app.presenters.form.view_models import (
        KINDS,
        Change,
        Diff,
        Disagreement,
        EditState,
        EditStatus,
        Field,
        FieldKind,
    )
    from zarrscope_app.presenters.image.presenter import SlicePresenter
    from zarrscope_app.presenters.image.view_models import (
        AxisView,
        ChannelView,
        Frame,
        LabelView,
        LevelView,
        LinePlot,
        Measurement,
        Rect,
        Refusal,
        ScaleBar,
        SliceState,
        Tile,
        TileState,
    )
    from zarrscope_app.presenters.jobs import Job, JobsPresenter, JobState
    from zarrscope_app.presenters.metadata import MetadataPresenter
    from zarrscope_app.presenters.node_description import DescriptionSection, Info, Item
    from zarrscope_app.presenters.problems import ProblemsPresenter
    from zarrscope_app.presenters.session.session import Session
    from zarrscope_app.presenters.session.view_models import SessionState, SessionStatus, Tab
    from zarrscope_app.presenters.session.workspace import Recent, Workspace
    from zarrscope_app.presenters.settings import MemorySettings, Settings
    from zarrscope_app.presenters.strings import Problem
    from zarrscope_app.presenters.tree.presenter import TreePresenter
    from zarrscope_app.presenters.tree.roots import RootsPresenter
    from zarrscope_app.presenters.tree.rows import ROOT, RowState, TreeRow
    from zarrscope_app.presenters.values import Probe, Table, ValuesPresenter
    from zarrscope_app.presenters.views import TITLES, VIEWS, View, ViewPresenter

_PLACES = {
    name: module
    for module, names in {
        "coalesce": "CoalescedCall Post",
        "form.presenter": "EditPresenter",
        "form.view_models": "Change Diff Disagreement EditState EditStatus Field FieldKind KINDS",
        "image.presenter": "SlicePresenter",
        "image.view_models": "AxisView ChannelView Frame LabelView LevelView LinePlot Measurement Rect Refusal "
        "ScaleBar SliceState Tile TileState",
        "jobs": "Job JobState JobsPresenter",
        "metadata": "MetadataPresenter",
        "node_description": "DescriptionSection Info Item",
        "problems": "ProblemsPresenter",
        "session.session": "Session",
        "session.view_models": "SessionState SessionStatus Tab",
        "session.workspace": "Recent Workspace",
        "settings": "MemorySettings Settings",
        "strings": "Problem",
        "tree.presenter": "TreePresenter",
        "tree.roots": "RootsPresenter",
        "tree.rows": "ROOT RowState TreeRow",
        "values": "Probe Table ValuesPresenter",
        "views": "TITLES VIEWS View ViewPresenter",
    }.items()
    for name in names.split()
}
"""Public name → its module, which is imported when the name is first used, so that `zarrscope ls` loads `strings`
only."""

__all__ = [
    "KINDS",
    "ROOT",
    "TITLES",
    "VIEWS",
    "AxisView",
    "Change",
    "ChannelView",
    "CoalescedCall",
    "DescriptionSection",
    "Diff",
    "Disagreement",
    "EditPresenter",
    "EditState",
    "EditStatus",
    "Field",
    "FieldKind",
    "Frame",
    "Info",
    "Item",
    "Job",
    "JobState",
    "JobsPresenter",
    "LabelView",
    "LevelView",
    "LinePlot",
    "Measurement",
    "MemorySettings",
    "MetadataPresenter",
    "Post",
    "Probe",
    "Problem",
    "ProblemsPresenter",
    "Recent",
    "Rect",
    "Refusal",
    "RootsPresenter",
    "RowState",
    "ScaleBar",
    "Session",
    "SessionState",
    "SessionStatus",
    "Settings",
    "SlicePresenter",
    "SliceState",
    "Tab",
    "Table",
    "Tile",
    "TileState",
    "TreePresenter",
    "TreeRow",
    "ValuesPresenter",
    "View",
    "ViewPresenter",
    "Workspace",
    "strings",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return value
