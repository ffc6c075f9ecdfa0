"""Conflicts name values as the form does; the form has a field for the description of an image."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.jsondoc.document import Document
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.form.conflict import sides_of
from zarrscope_app.presenters.form.pointer_names import name_of
from zarrscope_app.presenters.form.sections.model import Subject
from zarrscope_app.presenters.form.sections.table import sections_of

AXES = [{"name": "t", "type": "time"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]


def level(path: str, size: float) -> dict[str, Any]:
    scale, moved = [60.0, size, size], [0.0, size / 2, size / 2]
    steps = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": moved}]
    return {"path": path, "coordinateTransformations": steps}


def ome(size: float = 0.5, **more: Any) -> dict[str, Any]:
    image = {"axes": AXES, "datasets": [level("full", size), level("half", 2 * size)], **more}
    return {"ome": {"version": "0.5", "multiscales": [image]}}


IMAGE = "/multiscales/0"
LEVEL = f"{IMAGE}/datasets/1/coordinateTransformations"


@pytest.mark.parametrize(
    ("pointer", "name"),
    [
        (f"{LEVEL}/0/scale/2", "pixel size x, level half"),
        (f"{LEVEL}/0/scale/0", "time step t, level half"),
        (f"{LEVEL}/0/scale", "pixel sizes, level half"),
        (f"{LEVEL}/1/translation/1", "offset y, level half"),
        (f"{IMAGE}/datasets/7/coordinateTransformations/0/scale/9", "pixel size of axis 9, level 7"),
        (f"{IMAGE}/axes/1/unit", "unit of y"),
        (f"{IMAGE}/axes/1/name", "name of axis 1"),
        (f"{IMAGE}/axes/1/type", "type of y"),
        (f"{IMAGE}/name", "name"),
        (f"{IMAGE}/metadata/description", "description"),
        ("/multiscales/2/name", "name, image 2"),
        ("/omero/channels/1/color", "colour of channel 1"),
        ("/omero/channels/1/label", "name of channel 1"),
        ("/omero/channels/1/window/start", "channel 1 contrast from"),
        ("/plate/name", "name of plate"),
        ("/other", ""),
        ("", ""),
    ],
)
def test_values_of_ome_zarr_have_names(pointer: str, name: str) -> None:
    attributes = ome()
    assert name_of(pointer, attributes["ome"]) == name
    assert name_of(f"/ome{pointer}" if pointer else "", attributes) == name


@pytest.mark.parametrize("junk", [None, [], {"ome": 3}, {"ome": {"multiscales": {"0": [1]}}}, ome(axes={"a": 1})])
def test_junk_has_names_too(junk: Any) -> None:
    assert name_of(f"/ome{LEVEL}/0/scale/2", junk).startswith("pixel size")


def test_a_conflict_names_its_fields() -> None:
    base, mine, theirs = (Document(json.dumps({"attributes": ome(size)})) for size in (0.5, 0.25, 0.125))
    sides = sides_of(base, mine, theirs, "/attributes")
    names = [each.name for each in sides.disputed]
    assert names[:2] == ["pixel size y, level full", "pixel size x, level full"]
    assert all(names)


# ---------------------------------------------------------------------- the description
def fields(attributes: Any) -> dict[str, str]:
    found = sections_of(Subject(attributes))
    return {field.pointer: field.text for section in found for row in section.rows for field in row.fields}


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        (None, ""),
        ({"method": "mean"}, ""),
        ({"description": "nuclei"}, "nuclei"),
        ([1], None),
        ({"description": 3}, None),
    ],
)
def test_the_description_is_that_of_the_images_metadata(metadata: Any, shown: str | None) -> None:
    attributes = ome() if metadata is None else ome(metadata=metadata)
    assert fields(attributes).get("description") == shown


@pytest.mark.parametrize("metadata", [None, {"method": "mean"}, {"description": "old", "method": "mean"}])
def test_it_is_edited_without_touching_the_rest(
    open_form: Callable[..., Session], tmp_path: Path, metadata: Any
) -> None:
    attributes = ome() if metadata is None else ome(metadata=metadata)
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.root.attrs.put(attributes)
        for path, side in (("full", 8), ("half", 4)):
            h.create_array(f"/{path}", shape=(1, side, side), dtype="uint8")
    s = open_form(tmp_path / "x.zarr")
    s.edit.edit("description", "nuclei of mice")
    (change,) = s.edit.diff().changes
    assert "nuclei of mice" in (change.after or "")
    draft = s.edit.unsaved_drafts()["/"]
    edited = draft.now.get(draft.prefix)["ome"]["multiscales"][0]
    assert edited == attributes["ome"]["multiscales"][0] | {
        "metadata": (metadata or {}) | {"description": "nuclei of mice"}
    }
    s.edit.revert()
