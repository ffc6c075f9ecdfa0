"""The reader and the sample data: the functions that napari calls to open them.

The reader is offered for paths that lead to Zarr (discovery.claims). It opens everything that zarrscope.open does:
folders, archives, addresses, also with the path of a node at the end.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrscope_app.presenters.layers.layer_part import LayerPart

LayerData = tuple[Any, dict[str, Any], str]


def get_reader(path: str | list[str]) -> Callable[[str | list[str]], list[Any]] | None:
    """The reading function, or None at once for a path that is not Zarr."""
    from zarrscope_app.discovery import claims

    first = _first(path)
    return opened if first.startswith("zarrscope:") or claims(first) else None


def opened(path: str | list[str]) -> list[Any]:
    """Like `read`, but while it reads, napari's window stays responsive and has a button to cancel. If there are
    several images and a window, the dock asks which one to add, and no layer is returned yet. If nothing can be added,
    a person gets the dock, with its tree, the reason and what can be done, and a script the error: with an error
    `napari --plugin zarrscope PLACE` would end."""
    from zarrscope.errors import ZarrscopeError
    from zarrscope.errors.confidential import public
    from zarrscope_app.napari.background_jobs import Stopped, while_shown
    from zarrscope_app.presenters import strings
    from zarrscope_app.presenters.advice import advise_read
    from zarrscope_app.presenters.image.choice import NoImage, SeveralImages

    try:
        text = strings.joined(strings.OPENING, strings.clean(public(_first(path))))
        return _shown(while_shown(lambda _, __: _layers(path), text))
    except SeveralImages as error:
        if not _ask(path, error.message, add=True):
            raise
    except NoImage as error:
        if not _is_person() or not _ask(path, strings.problem(error).headline, add=False):
            raise
    except ZarrscopeError as error:
        if not _is_person() or not _ask(path, strings.problem(error).headline, add=True):
            advise_read(error)
            raise
    except Stopped:
        _tell(strings.STOPPED)
    return [(None,)]  # npe2's way to say that the file was read and there is no layer to add


def read(
    url: Any,
    path: str | None = None,
    number: int | None = None,
    *,
    channels: Sequence[int | str] = (),
    levels: tuple[int, int | None] | None = None,
    ranges: Mapping[str, tuple[int, int | None]] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> list[LayerData]:
    """The layers of each address, as napari takes them.

    `viewer.open` passes its other arguments to napari's layers, not to a reader, so only this function has these
    parameters.

    Parameters
    ----------
    url
        An address or object for zarrscope.open, or several.
    path
        The path of the node; by default the one that the address names.
    number
        The number of the image, if the node describes several.
    channels
        The channels to read, by numbers, names or parts of names; by default all.
    levels
        The first and the last level (None: the coarsest); by default all.
    ranges
        Axis → the first and the last wanted index (None: to the end) of the finest level.
    storage_options
        Options for zarrscope.open, such as credentials.

    Returns
    -------
    list
        (data, arguments, kind) of each layer.

    Raises
    ------
    SeveralImages
        There are several images: name the path, or the number.
    Refused
        There is no such channel, level or axis.
    ZarrscopeError
        The errors of opening.

    Examples
    --------
    >>> from zarrscope_app.demo import demo_folder
    >>> from zarrscope_app.napari.reader import read
    >>> [arguments["name"] for _, arguments, kind in read(str(demo_folder("small"))) if kind == "labels"]
    ['organoids: nuclei (labels)']
    """
    from zarrscope_app.presenters.layers.layer_part import LayerPart

    part = LayerPart(tuple(channels), levels, ranges or {})
    return _shown(_layers(url, path, number, part, storage_options))


def _layers(
    url: Any,
    path: str | None = None,
    number: int | None = None,
    part: LayerPart | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[list[LayerData], tuple[str, ...]]:
    """Returns the layers and the warnings about them. May be called on any thread."""
    import zarrscope
    from zarrscope_app.napari.layers import as_napari
    from zarrscope_app.presenters.layers.layer_part import LayerPart, cut
    from zarrscope_app.presenters.layers.presenter import Layer, notes, plan
    from zarrscope_app.presenters.session.state_text import decode_view, is_view

    planned: list[Layer] = []
    for place in url if isinstance(url, list) else [url]:
        view = decode_view(place) if isinstance(place, str) and is_view(place) else None
        hierarchy = place
        if not isinstance(place, zarrscope.Hierarchy):
            hierarchy = zarrscope.open(view["url"] if view is not None else place, storage_options=storage_options)
        shown = path or (view["path"] if view is not None else hierarchy.initial_path)
        planned += cut(plan(hierarchy[shown], view, number), part or LayerPart())
    return [as_napari(layer) for layer in planned], notes(planned)


def _shown(found: tuple[list[LayerData], tuple[str, ...]]) -> list[LayerData]:
    """Issues the warnings, and returns the layers as napari takes them. Runs on the window's thread."""
    from zarrscope_app.napari.planes import hidden_at_first

    layers, told = found
    for note in told:
        warnings.warn(note, UserWarning, stacklevel=3)
    return [hidden_at_first(*layer) for layer in layers]


def _first(path: str | list[str]) -> str:
    return str(path[0] if isinstance(path, list) else path)


def _is_person() -> bool:
    """Whether a person waits for the layers, not a script: the event loop runs, or napari's window opens the places on
    the command line of `napari`, which it does before the loop runs."""
    from zarrscope_app.napari.background_planes import loop_runs

    frame = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_qt_open":
        frame = frame.f_back  # type: ignore[assignment]  # None above the first call
    return frame is not None or loop_runs()


def _ask(path: str | list[str], why: str, *, add: bool) -> bool:
    """Opens the dock at an address, with `add` also the list of images to choose from; returns False if there is no
    window."""
    import napari

    from zarrscope_app.napari.menu_commands import open_explorer

    viewer = napari.current_viewer()
    if viewer is None or not hasattr(viewer, "window"):
        return False
    dock = open_explorer(viewer)
    dock.open(_first(path))
    if add:
        dock.add_when_open()
    _tell(why)
    return True


def _tell(sentence: str) -> None:
    from napari.utils.notifications import show_info

    show_info(sentence)


def demo() -> list[LayerData]:
    """The demo volume, made on first use."""
    from zarrscope_app.demo import demo_folder

    return read(str(demo_folder("small")))
