"""The writer: *File ▸ Save* with a name that ends in .zarr makes a new OME-Zarr image of the layers."""

from __future__ import annotations

from typing import Any

from napari.utils import progress

from zarrscope_app.napari.layers import label_colors
from zarrscope_app.presenters.layer_writing import DrawnLayer, plan_image, write_image
from zarrscope_app.presenters.layers import NOT_PLACED

STEPS = 1000


def write(path: str, layers: list[tuple[Any, dict[str, Any], str]]) -> list[str]:
    """Writes layers, as napari gives them, to a new place. If it fails, nothing is left behind."""
    plan = plan_image(path, [drawn(*layer) for layer in layers])
    with progress(total=STEPS, desc=plan.lines[0]) as bar:
        return [write_image(plan, lambda part: bar.update(int(part * STEPS) - bar.n))]


def drawn(data: Any, arguments: dict[str, Any], kind: str) -> DrawnLayer:
    """Describes a napari layer as a DrawnLayer; for a pyramid its finest level."""
    finest = data[0] if arguments.get("multiscale") else data
    return DrawnLayer(
        kind,
        str(arguments.get("name", kind)),
        finest,
        tuple(map(str, arguments.get("axis_labels") or ())),
        tuple(map(float, arguments["scale"])),
        tuple(map(float, arguments["translate"])),
        tuple(map(str, arguments.get("units") or ("pixel",) * finest.ndim)),
        visible=bool(arguments.get("visible", True)),
        color=_color(arguments.get("colormap")) if kind == "image" else None,
        contrast=_pair(arguments.get("contrast_limits")),
        contrast_range=_pair(arguments.get("metadata", {}).get("zarrscope", {}).get("contrast_range")),
        label_colors=label_colors(arguments.get("colormap")) if kind == "labels" else {},
        left_out=(NOT_PLACED,) if _turned(arguments) else (),
    )


def _pair(value: Any) -> tuple[float, float] | None:
    return (float(value[0]), float(value[1])) if value is not None else None


def _color(colormap: Any) -> tuple[int, int, int] | None:
    """The brightest colour of a colour map."""
    colors = colormap.get("colors") if isinstance(colormap, dict) else getattr(colormap, "colors", None)
    if colors is None:
        return None
    red, green, blue = (round(255 * float(part)) for part in colors[-1][:3])
    return red, green, blue


def _turned(arguments: dict[str, Any]) -> bool:
    """Whether a layer has a rotation, a shear or another affine transformation besides scale and translation."""
    import numpy as np

    def is_one(matrix: Any) -> bool:
        return matrix is None or bool(np.allclose(matrix, np.eye(len(matrix))))

    if np.any(arguments.get("shear", 0)):
        return True
    return not (is_one(arguments.get("affine")) and is_one(arguments.get("rotate")))
