"""What a person sees and may do, for every host: Qt, napari, Textual, Jupyter, scripts.

A host makes a `Workspace` or a `Session` with its `post` (runs a function later on the host's thread), paints the
frozen snapshots and forwards gestures. Signals are psygnal's and come on the host's thread. Every method returns at
once. Sentences, numbers and units come from here (`words`); a host has none of its own.
"""

from zarrscope_app.presenters import words
from zarrscope_app.presenters.edit import EditPresenter
from zarrscope_app.presenters.form import Change, Diff, Disagreement, EditState, EditStatus, Field, FieldKind
from zarrscope_app.presenters.jobs import Job, JobsPresenter, JobState
from zarrscope_app.presenters.metadata import Info, Item, MetadataPresenter, Section
from zarrscope_app.presenters.problems import ProblemsPresenter
from zarrscope_app.presenters.scene import (
    AxisView,
    ChannelView,
    Frame,
    LabelView,
    LevelView,
    Line,
    Rect,
    ScaleBar,
    SliceState,
    Tile,
    TileState,
)
from zarrscope_app.presenters.session import TABS, Session, SessionState, SessionStatus, Tab
from zarrscope_app.presenters.slice import SlicePresenter
from zarrscope_app.presenters.tree import ROOT, Row, RowState, TreePresenter
from zarrscope_app.presenters.turn import OncePerTurn, Post
from zarrscope_app.presenters.values import Probe, Table, ValuesPresenter
from zarrscope_app.presenters.words import Problem
from zarrscope_app.presenters.workspace import Forgetful, Recent, Settings, Workspace

__all__ = [
    "ROOT",
    "TABS",
    "AxisView",
    "Change",
    "ChannelView",
    "Diff",
    "Disagreement",
    "EditPresenter",
    "EditState",
    "EditStatus",
    "Field",
    "FieldKind",
    "Forgetful",
    "Frame",
    "Info",
    "Item",
    "Job",
    "JobState",
    "JobsPresenter",
    "LabelView",
    "LevelView",
    "Line",
    "MetadataPresenter",
    "OncePerTurn",
    "Post",
    "Probe",
    "Problem",
    "ProblemsPresenter",
    "Recent",
    "Rect",
    "Row",
    "RowState",
    "ScaleBar",
    "Section",
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
    "ValuesPresenter",
    "Workspace",
    "words",
]
