"""All actions on nodes, in the order of menus. A new one needs a row here, its words, and a command with its id."""

from __future__ import annotations

from zarrscope_app.presenters.nodes.acts import Act
from zarrscope_app.presenters.nodes.creating import CreateArray, CreateGroup
from zarrscope_app.presenters.nodes.images import AddLabels, BuildLevels
from zarrscope_app.presenters.nodes.moving import Copy, Move, Remove, Rename
from zarrscope_app.presenters.nodes.trash import EmptyTrash, Restore
from zarrscope_app.presenters.nodes.whole import Consolidate, Convert

ACTS: dict[str, Act] = {
    act.id: act
    for act in (
        CreateGroup(),
        CreateArray(),
        AddLabels(),
        BuildLevels(),
        Rename(),
        Move(),
        Copy(),
        Remove(),
        Restore(),
        EmptyTrash(),
        Convert(),
        Consolidate(),
    )
}
