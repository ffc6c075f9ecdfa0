"""The icons: SVG on a 16 x 16 grid with one stroke width, in `currentColor`, so that a host can choose the colour."""

from functools import cache
from importlib.resources import files


@cache
def names() -> tuple[str, ...]:
    """The names of all icons, sorted."""
    return tuple(sorted(item.name[:-4] for item in files(__name__).iterdir() if item.name.endswith(".svg")))


def svg(name: str, color: str = "currentColor") -> str:
    """The SVG text of an icon in `color` (any SVG colour). Raises KeyError if there is no icon of this name."""
    found = files(__name__).joinpath(f"{name}.svg")
    if not found.is_file():
        raise KeyError(name)
    return found.read_text(encoding="utf-8").replace("currentColor", color)
