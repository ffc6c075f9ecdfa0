"""Violations that ome-zarr-models finds in metadata of 0.4 and 0.5, if it is installed (the extra [ome])."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrscope.ome.violations import Violation

_MODELS = {
    "multiscales": ("image", "ImageAttrs"),
    "plate": ("hcs", "HCSAttrs"),
    "well": ("well", "WellAttrs"),
    "labels": ("labels", "LabelsAttrs"),
}


_MOST_OF_MODELS = 100
"""The most violations taken from ome-zarr-models, because finding the place of each takes a search."""
_ADVICE = "Compare this part with the specification: programs that use ome-zarr-models refuse it."
_REST = "Correct the findings above first, and check again."


def _with_version(ome: Mapping[str, Any], name: str, version: str) -> dict[str, Any]:
    """The metadata with a version in the plate or well. 0.5 states the version above them, but the models warn if it is
    not in them.
    """
    part = ome[name]
    if name in ("plate", "well") and isinstance(part, Mapping) and "version" not in part:
        return {**ome, name: {**part, "version": version}}
    return dict(ome)


def violations_of_models(ome: Mapping[str, Any], version: str) -> list[Violation]:
    """Violations that ome-zarr-models reports; none where it is not installed."""
    package = {"0.4": "v04", "0.5": "v05"}.get(version)
    if package is None:
        return []
    from importlib import import_module

    found = []
    for name in _MODELS.keys() & ome.keys():
        module, model = _MODELS[name]
        try:
            made = getattr(import_module(f"ome_zarr_models.{package}.{module}"), model)
        except ImportError:
            return []
        try:
            made.model_validate(_with_version(ome, name, version))
        except ValueError as error:
            told = error.errors() if hasattr(error, "errors") else []
            text = str(ome)
            for item in told[:_MOST_OF_MODELS]:
                place = "".join(f"/{part}" for part in item["loc"] if isinstance(part, int) or str(part) in text)
                message = " ".join(str(item["msg"]).split())
                found.append(Violation(place or f"/{name}", f"ome-zarr-models: {message}", "must", _ADVICE))
            if len(told) > _MOST_OF_MODELS:
                more = len(told) - _MOST_OF_MODELS
                found.append(Violation(f"/{name}", f"ome-zarr-models: and {more:,} more such findings", "must", _REST))
        except Exception as error:  # ome-zarr-models fails in unexpected ways on metadata that are badly wrong
            message = f"ome-zarr-models cannot judge this: {type(error).__name__}: {error}"
            found.append(Violation(f"/{name}", message, "should", _ADVICE))
    return found
