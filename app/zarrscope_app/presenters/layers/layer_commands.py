"""Commands on the layers of a viewer: their names and descriptions."""

from __future__ import annotations

from zarrscope.model.frozen import frozen
from zarrscope_app.presenters import strings

MENU = "Layers"
"""The title of the menu."""


@frozen
class LayerCommand:
    """A command on the selected layer, or layers."""

    id: str
    label: str
    explanation: str


HOW_TO_OPEN = "Nothing is open. Type an address, press Browse, or drop a folder here."
NO_LAYER = "Select a layer first."
LAYER_COMMANDS = (
    LayerCommand("paint-labels", "Paint these labels", "Shows the finest level of the selected labels, to be painted."),
    LayerCommand("write-labels", "Write painted labels…", "Shows the changes to each array; then writes them."),
    LayerCommand(
        "save-local-copy",
        "Save labels to a local copy…",
        "For labels whose store cannot be written. The layer goes on from the copy.",
    ),
    LayerCommand(
        "save-layers",
        "Save layers as OME-Zarr…",
        "Makes a new image of the selected images and labels. The plan is shown first.",
    ),
    LayerCommand(
        "take-styles",
        "Contrast and colours into the metadata…",
        "Puts the display settings of the layers into the form of their node. Nothing is written before you save.",
    ),
    LayerCommand(
        "copy-view", "Copy view", "A text that opens this view in napari, the window, the terminal or a notebook."
    ),
)

KEYS = {
    "tree": ("Alt-Z", "Go to the tree of the Zarr explorer"),
    "add": ("Alt-A", "Add the nodes selected in the Zarr explorer"),
}
"""Name → key in napari's notation, and the description in its list of keys."""


def layer_command(id: str) -> LayerCommand:
    """The command with this `id`. Raises KeyError."""
    return {found.id: found for found in LAYER_COMMANDS}[id]


def foreign_layer(name: str, kind: str) -> str:
    """The sentence for a layer that did not come from zarrscope. `kind`: "image", "labels", "points" and so on."""
    told = f'"{strings.clean(name)}" does not come from Zarr'
    if kind in ("image", "labels"):
        return f"{told}. Save layers as OME-Zarr, under Layers ▸ Data, writes it to a new image."
    return f"{told}, and OME-Zarr holds images and labels only."
