"""The plugin's commands in napari's menus. For a layer that zarrscope did not make, a command shows the reason why it
does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrscope_app.napari.layers import source_of
from zarrscope_app.presenters.layers import label_edits
from zarrscope_app.presenters.layers.layer_commands import NO_LAYER, foreign_layer

if TYPE_CHECKING:
    import napari

    from zarrscope_app.napari.dock import Explorer


def open_explorer(napari_viewer: napari.Viewer | None = None) -> Explorer:
    """The command File ▸ IO Utilities: opens the dock, or shows the one that is open."""
    from zarrscope_app.napari.planes import open_dock

    found: Explorer = open_dock(napari_viewer or _viewer())
    return found


def open_attributes(napari_viewer: napari.Viewer | None = None) -> Explorer | None:
    """The command Layers ▸ Metadata: opens the dock at the node of the active layer, with its attributes."""
    return _at_layer(napari_viewer, "attributes")


def open_chunk_map(napari_viewer: napari.Viewer | None = None) -> Explorer | None:
    """The command Layers ▸ Visualize: opens the dock at the node of the active layer, with its chunk map."""
    return _at_layer(napari_viewer, "chunks")


def write_labels(napari_viewer: napari.Viewer | None = None) -> Explorer | None:
    """The command Layers ▸ Data: writes the painted labels of the active layer, after a preview."""
    dock = _on_labels(napari_viewer)
    if dock is not None:
        dock.write_labels()
    return dock


def save_local_copy(napari_viewer: napari.Viewer | None = None) -> Explorer | None:
    """The command Layers ▸ Data: saves the labels of the active layer to a local copy, after a preview."""
    dock = _on_labels(napari_viewer)
    if dock is not None:
        dock.save_local_copy()
    return dock


def save_layers(napari_viewer: napari.Viewer | None = None) -> None:
    """The command Layers ▸ Data: makes a new image of the selected images and labels, after a preview."""
    from zarrscope_app.napari.writer import save_selected

    save_selected(napari_viewer or _viewer(), _tell, _tell)


def _on_labels(napari_viewer: napari.Viewer | None) -> Explorer | None:
    from zarrscope_app.napari.painting import is_labels

    viewer = napari_viewer or _viewer()
    source, why = _source(viewer)
    if source and not is_labels(viewer.layers.selection.active):
        why = label_edits.NOT_LABELS
    if why:
        _tell(why)
        return None
    return _open(viewer)


def _at_layer(napari_viewer: napari.Viewer | None, tab: str) -> Explorer | None:
    viewer = napari_viewer or _viewer()
    source, why = _source(viewer)
    if not source:
        _tell(why)
        return None
    dock = _open(viewer)
    dock.open(source["url"], source["path"])
    dock.show_tab(tab)
    return dock


def _open(viewer: napari.Viewer) -> Explorer:
    """The viewer's dock if it is visible; else the dock is opened."""
    from zarrscope_app.napari.planes import watch

    found: Explorer | None = watch(viewer).dock()
    return found if found is not None and found.isVisible() else open_explorer(viewer)


def _source(viewer: napari.Viewer) -> tuple[dict[str, Any], str]:
    """The source of the active layer and ""; or {} and the reason why the layer has no source."""
    active = viewer.layers.selection.active
    if active is None:
        return {}, NO_LAYER
    source = source_of(active)
    return source, "" if source else foreign_layer(str(active.name), active._type_string)


def _tell(why: str) -> None:
    from napari.utils.notifications import show_info

    show_info(why)


def _viewer() -> napari.Viewer:
    import napari

    found: napari.Viewer = napari.current_viewer()
    return found
