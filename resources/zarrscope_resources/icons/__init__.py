"""The icons: SVG on a 16 x 16 grid, one stroke width, drawn in `currentColor` so that a host recolours them."""

from importlib.resources import files


def names() -> tuple[str, ...]:
    """The names `svg` knows, sorted."""
    return tuple(sorted(item.name[:-4] for item in files(__name__).iterdir() if item.name.endswith(".svg")))


def svg(name: str, color: str = "currentColor") -> str:
    """The icon's SVG text drawn in `color` (any SVG colour). KeyError when there is no such icon."""
    found = files(__name__).joinpath(f"{name}.svg")
    if not found.is_file():
        raise KeyError(name)
    return found.read_text(encoding="utf-8").replace("currentColor", color)
