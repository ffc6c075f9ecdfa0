"""From the presenters' layers to napari's: names of arguments, nothing else."""

from __future__ import annotations

from typing import Any

from zarrscope_app.presenters.layers import Layer


def as_napari(layer: Layer) -> tuple[Any, dict[str, Any], str]:
    """(data, arguments, kind) as readers give them and `Layer.create` takes them."""
    arguments: dict[str, Any] = {
        "name": layer.name,
        "scale": layer.scale,
        "translate": layer.translation,
        "axis_labels": layer.axis_names,
        "units": tuple(_unit(name) for name in layer.units),
        "visible": layer.visible,
        "multiscale": len(layer.data) > 1,
        "metadata": {"zarrscope": dict(layer.source)},
    }
    if layer.kind == "image":
        arguments["contrast_limits"] = layer.contrast
        arguments["blending"] = "additive"
        if layer.color is not None:
            arguments["colormap"] = _colormap(layer.color)
    elif layer.label_colors:
        arguments["colormap"] = _label_colormap(layer.label_colors)
    return list(layer.data) if len(layer.data) > 1 else layer.data[0], arguments, layer.kind


def _unit(name: str) -> str:
    """napari takes the units that pint knows; another word counts as none."""
    import pint

    try:
        pint.Unit(name)
    except (pint.PintError, ValueError, TypeError):
        return "pixel"
    return name


def _colormap(color: tuple[int, int, int]) -> Any:
    from napari.utils.colormaps import Colormap

    r, g, b = (c / 255 for c in color)
    return Colormap([[0, 0, 0, 1], [r, g, b, 1]], name=f"#{color[0]:02x}{color[1]:02x}{color[2]:02x}")


def _label_colormap(colors: dict[int, tuple[int, int, int, int]]) -> Any:
    from napari.utils.colormaps import DirectLabelColormap

    table: dict[int | None, Any] = {value: [c / 255 for c in rgba] for value, rgba in colors.items()}
    return DirectLabelColormap(color_dict={None: [0.6, 0.6, 0.6, 1], 0: [0, 0, 0, 0], **table})
