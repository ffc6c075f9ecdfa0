"""The name of an image of a series, the same in thumbnails, tree, crumbs, Info and status bar."""

from __future__ import annotations

from zarrscope.view.image import Image
from zarrscope_app.presenters import strings


def image_name(image: Image) -> str:
    """The name that the image states for itself; without one the last part of its path, "0". It is never counted from
    1, because OME-XML and other programs mean the path by the number."""
    stated = image.multiscale.name.strip("/") if image.multiscale is not None else ""
    return strings.clean(stated or image.path.rsplit("/", 1)[-1], 60)


def called_image(name: str) -> str:
    """The name after the word "image", as in "image 0"; many programs state names that begin with that word."""
    return name if name[:5].casefold() == "image" else f"image {name}"
