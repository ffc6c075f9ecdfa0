"""The choice between several images of a node: a person or a script has to choose one, because none is chosen
silently."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from zarrscope.dialects.defects import as_far_as_read
from zarrscope.errors import NotFound, TooLarge, Unsupported, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.ome.metadata import has_multiscales
from zarrscope.view.image import Image, find_collection, find_images, members
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.folder_images import FEW, images_beneath

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group

MOST = 5000
"""The most images of a collection that are listed. A plate of 1,536 wells has fewer."""
NAME_ARRAYS = "List the path of at least one array under 'datasets' of its 'multiscales'."
HOW_TO_CHOOSE = "Enter or a double-click adds it."


@frozen
class ImageChoice:
    """One of several images, or one well of a plate: the image `number` of the node at `path`."""

    path: str
    name: str
    number: int = 0


class NoImage(NotFound):
    """The node is no picture, and holds none."""


class SeveralImages(ZarrscopeError):
    """One image was requested, but there are several; `choices` lists them."""

    title = "Several images"

    def __init__(self, kind: str, path: str, choices: tuple[ImageChoice, ...], store: str | None) -> None:
        super().__init__(
            _why(kind, shown_path(path, store), len(choices)),
            store=store,
            key=path,
            advice=_advice(choices[0].path, choices[0].number),
        )
        self.choices = choices


def one_image(node: Group | Array, number: int | None = None, depth: int = 3) -> Image:
    """The image of a node; for a collection of one member, or a group above one image, that image. `number`: the number
    of the image if a document describes several.

    Raises SeveralImages if there are several, NoImage if there is none, and the error of an array that cannot be read.
    """
    if node.kind == "array" and node.problem is not None:
        raise node.problem
    if images := find_images(node):
        if number is None and len(images) > 1:
            named = [(strings.clean(image.name.rpartition("/")[2]), n) for n, image in enumerate(images)]
            choices = tuple(ImageChoice(node.path, _numbered(name, n), n) for name, n in named)
            raise SeveralImages("image", node.path, choices, _url(node))
        if (number or 0) < len(images):
            return images[number or 0]
    if node.kind == "group" and depth and not number and (found := find_collection(node)) is not None:
        listed = list(islice(members(node, found), MOST))
        if len(listed) > 1:
            choices = tuple(ImageChoice(member.path, strings.clean(member.name or member.path)) for member in listed)
            raise SeveralImages(found.kind, node.path, choices, node.hierarchy.url)
        if listed:
            return one_image(node.hierarchy[listed[0].path], None, depth - 1)
    about = strings.clean(shown_path(node.path, _url(node)))
    if node.kind == "group" and has_multiscales(as_far_as_read(node.attributes)) and not images:
        raise NoImage(f"{about} names no array for its image", store=_url(node), key=node.path, advice=NAME_ARRAYS)
    if node.kind == "group" and not number:
        beneath = images_beneath(node, FEW)
        if (several := beneath.collection) is not None:
            choices = tuple(ImageChoice(member.path, strings.clean(member.name)) for member in several.members or ())
            raise SeveralImages(several.kind, node.path, choices, node.hierarchy.url)
        if beneath.only is not None and depth:
            return one_image(node.hierarchy[beneath.only.path], None, depth - 1)
    advice = "Choose an array of two axes or more, or a group with OME-Zarr metadata."
    raise NoImage(f"{about} holds no image", store=_url(node), key=node.path, advice=advice)


def nothing_to_draw(error: BaseException) -> bool:
    """Whether an error says that a node is no picture, or too large for one: nothing is wrong with its data."""
    return isinstance(error, NoImage | TooLarge) or (
        isinstance(error, Unsupported) and error.feature.startswith("picture ")
    )


def shown_path(path: str, store: str | None) -> str:
    """The path of a node; for the root the name of its store."""
    return path if path != "/" else (store or path).rstrip("/").rpartition("/")[2]


def _url(node: Group | Array) -> str | None:
    """The address of a node's store; None for an array that came from a pickle."""
    return node.hierarchy.url if node.hierarchy is not None else None


def _why(kind: str, path: str, n: int) -> str:
    """The sentence of the error, which says how many images there are."""
    noun = {"plate": "well", "well": "field", "labels": "label image", "plates": "plate"}.get(kind, "image")
    return f"{strings.clean(path)} holds {strings.counted(n, noun)}: choose one"


def _advice(path: str, number: int) -> str:
    """The advice on how a person or a script chooses."""
    more = f", number={number}" if number else ""
    return f"In the dock, choose from the list. In a script: zarrscope_app.napari.reader.read(…, {path!r}{more})."


def _numbered(name: str, n: int) -> str:
    """The label of one of several images in a document."""
    return f"{n + 1}: {name}" if name else str(n + 1)
