"""Sections of labels, plates, wells, CF, dimension names and N5, with valid and with malformed metadata."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.edits import apply
from zarrscope.ome.edits import Edit, edit
from zarrscope.view.render import label_colors
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.form import words
from zarrscope_app.presenters.form.mending import followers, verdict, version_of
from zarrscope_app.presenters.form.sections import table
from zarrscope_app.presenters.form.sections.model import MOST_ROWS, NodeFacts, Section, Subject, make_field, node_facts
from zarrscope_app.presenters.form.sections.table import edits_of, fields_of, meaning_of, sections_of
from zarrscope_app.presenters.form.view_models import FormRow

LEVEL = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.5]}]}
IMAGE = {"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}], "datasets": [LEVEL]}
LABELS: dict[str, Any] = {
    "ome": {
        "version": "0.5",
        "multiscales": [IMAGE],
        "image-label": {
            "colors": [{"label-value": 1, "rgba": [255, 0, 16, 255]}, {"label-value": 2, "rgba": [0, 1, 2, 51]}],
            "properties": [{"label-value": 1, "class": "cell", "area (pixels)": 1200, "cut": False, "bounds": [1, 2]}],
        },
    }
}
PLATE = {
    "plate": {
        "name": "screen",
        "rows": [{"name": "A"}, {"name": "B"}],
        "columns": [{"name": "1"}],
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}],
        "acquisitions": [{"id": 7, "name": "first", "maximumfieldcount": 2}],
        "version": "0.4",
    }
}
WELL = {"well": {"images": [{"path": "0", "acquisition": 7}, {"path": "1"}], "version": "0.4"}}
CF = {"units": "K", "long_name": "temperature", "scale_factor": 1e-2, "other": 3, "_ARRAY_DIMENSIONS": ["lat", "lon"]}
N5 = {"resolution": [0.108, 0.108, 0.5], "units": ["um", "um", "um"], "downsamplingFactors": [2, 2, 1]}
IMAGEJ = {
    "title": "cells.tif", "fps": 0.0, "frameInterval": 2.5, "pixelWidth": 0.108, "pixelHeight": 0.108,
    "pixelDepth": 0.5, "pixelUnit": "\u00b5m", "xOrigin": 0.0, "yOrigin": 0.0, "zOrigin": 3.0, "numChannels": 1,
    "numSlices": 20, "numFrames": 3, "ImagePlusType": 1, "imageProperties": {},
}  # fmt: skip
"""As n5-ij 4 writes it beside a dataset: ImagePlusLegacyMetadataParser.writeMetadata."""
COSEM: dict[str, Any] = {
    "pixelResolution": {"dimensions": [4.0, 4.0, 5.24], "unit": "nm"},
    "transform": {
        "axes": ["z", "y", "x"], "scale": [5.24, 4.0, 4.0], "translate": [0.0, 1.5, 0.0], "units": ["nm", "nm", "nm"],
    },
}  # fmt: skip
"""As n5-universe writes it: N5CosemMetadata.CosemTransform, in the order of C."""
BDV = {"pixelResolution": {"dimensions": [4.0, 4.0, 40.0], "unit": "nm"}}
GEO = {
    "proj:code": "EPSG:32633",
    "spatial:bbox": [5e5, 0.0, 6e5, 1e5],
    "spatial:dimensions": ["y", "x"],
    "proj:wkt2": "P",
}
_PLANE = {"axes": [{"name": "y", "unit": "micrometer"}, {"name": "x", "unit": "micrometer"}]}
_TURN = {"type": "rotation", "rotation": [[0, 1], [-1, 0]]}
_STEPS = [{"type": "scale", "scale": [0.5, 0.25]}, _TURN, {"type": "inverseOf", "transformation": {"type": "identity"}}]
_MOVED = {"type": "sequence", "transformations": _STEPS, "input": "pixels", "output": {"name": "world", "path": "s"}}
_BENT = {"type": "displacements", "path": "bend", "input": "world", "output": "true"}
RFC5 = {
    "ome": {
        "version": "0.6dev",
        "multiscales": [
            {**IMAGE, "coordinateSystems": [{"name": "world", **_PLANE}], "coordinateTransformations": [_MOVED, _BENT]}
        ],
    }
}
ALL = {"geo": GEO, "rfc5": RFC5, "labels": LABELS, "plate": PLATE, "well": WELL, "cf": CF, "n5": N5, "bdv": BDV}
ALL |= {"imagej": IMAGEJ, "cosem": COSEM}


def subject(attributes: Any, kind: str = "array") -> Subject:
    return Subject(attributes, NodeFacts("/", kind, "v3", {"/0": (32, 32)}, (0.0, 255.0), 1))


def texts(attributes: Any, kind: str = "array") -> dict[str, str]:
    return {field.label: field.text for field in fields_of(sections_of(subject(attributes, kind))) if field.depth}


def typed(attributes: Any, label: str, text: str) -> Any:
    fields = fields_of(sections_of(subject(attributes)))
    (field,) = (each for each in fields if each.label == label and each.depth)
    return apply(Document(json.dumps(attributes)), "", edits_of(subject(attributes), field.pointer, text)).value


def test_labels_have_colours_and_properties() -> None:
    told = texts(LABELS)
    assert (told["label 1"], told["label 2"]) == ("FF0010", "000102")
    assert (told["class"], told["area (pixels)"], told["cut"]) == ("cell", "1200", "false")
    after = typed(LABELS, "label 2", "#0f8")["ome"]["image-label"]
    assert after["colors"][1]["rgba"] == [0, 255, 136, 51], "the opacity stays"
    after = typed(LABELS, "area (pixels)", "1.5e3")["ome"]["image-label"]
    assert after["properties"][0] == LABELS["ome"]["image-label"]["properties"][0] | {"area (pixels)": 1500.0}
    with pytest.raises(Refused):
        typed(LABELS, "label 1", "red")


@pytest.mark.parametrize("under_ome", [True, False])
def test_labels_get_first_colours_and_properties(under_ome: bool) -> None:
    bare = {"multiscales": [IMAGE], "image-label": {"version": "0.4"}}
    attributes: Any = {"ome": bare | {"version": "0.5"}} if under_ome else bare

    def label_image(held: Any) -> Any:
        return (held["ome"] if under_ome else held)["image-label"]

    after = typed(attributes, words.NEW_COLOUR, "5")
    shown = label_colors(np.array([[5]], np.uint8))[0, 0].tolist()
    assert label_image(after) == {"version": "0.4", "colors": [{"label-value": 5, "rgba": shown}]}, "as in the picture"
    assert texts(after)["label 5"] == "{:02X}{:02X}{:02X}".format(*shown[:3])
    after = typed(after, words.NEW_COLOUR, " label 7 ")
    assert [item["label-value"] for item in label_image(after)["colors"]] == [5, 7]
    assert typed(after, "label 7", "0000ff")["ome" if under_ome else "image-label"]
    for wrong in ("5", "256", "-1", "x", "1.5"):
        with pytest.raises(Refused):
            typed(after, words.NEW_COLOUR, wrong)
    assert typed(after, words.NEW_COLOUR, "") == after, "an empty field adds nothing"

    for text in ("5: area=12.5", "5:class = mitotic cell", "8: cut=true", "5: area=13"):
        after = typed(after, words.NEW_PROPERTY, text)
    assert label_image(after)["properties"] == [
        {"label-value": 5, "area": 13, "class": "mitotic cell"},
        {"label-value": 8, "cut": True},
    ]
    for wrong in ("area=1", "5: =1", "5: label-value=6", "900: a=1"):
        with pytest.raises(Refused):
            typed(after, words.NEW_PROPERTY, wrong)
    assert not verdict(after, version_of(after)).broken


def test_only_label_images_are_offered_colours() -> None:
    assert words.NEW_COLOUR not in texts({"ome": {"version": "0.5", "multiscales": [IMAGE]}})
    assert {words.NEW_COLOUR, words.NEW_PROPERTY} <= texts(LABELS).keys()


def test_very_many_labels_are_shown_in_part_and_that_is_said() -> None:
    colours = [{"label-value": i, "rgba": [1, 2, 3, 255]} for i in range(1000)]
    found = sections_of(subject({"image-label": {"colors": colours}, "multiscales": [IMAGE]}))
    (labels,) = (section for section in found if section.id == "labels")
    assert len(labels.rows) == MOST_ROWS + 1, "and the row that adds a label"
    assert labels.notes == (f"{1000 - MOST_ROWS} more: see All fields.",)


@pytest.mark.parametrize(
    "block", [{"bioformats2raw.layout": 3}, {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}]
)
def test_a_series_says_where_the_pixel_sizes_are(block: dict[str, Any]) -> None:
    (section,) = sections_of(Subject(block))
    assert (section.title, section.rows, meaning_of((section,))) == ("Series", (), "Series")
    assert section.notes == (
        "Pixel sizes and channels are those of each image: choose one in the tree, or select several there to edit "
        "them together.",
    )


def test_a_plate_of_a_series_is_a_plate() -> None:
    found = sections_of(Subject({**PLATE, "bioformats2raw.layout": 3}))
    assert [each.id for each in found] == [each.id for each in sections_of(Subject(PLATE))]


def test_plates_and_wells_have_names_and_acquisitions() -> None:
    stated = {label: text for label, text in texts(PLATE).items() if text}
    assert stated == {
        "name of plate": "screen", "acquisition 7: name": "first", "acquisition 7: maximumfieldcount": "2"
    }  # fmt: skip
    section, _ = sections_of(subject(PLATE))
    assert section.notes[0] == "2 rows × 1 column, 1 well."
    assert "are those of each image" in section.notes[-1]
    assert "no name of its own" in section.notes[1]
    assert typed(PLATE, "name of plate", "assay")["plate"]["name"] == "assay"
    assert typed(PLATE, "acquisition 7: name", "second")["plate"]["acquisitions"][0]["name"] == "second"
    assert texts(WELL) == {"field 0: acquisition": "7", "field 1: acquisition": ""}
    assert typed(WELL, "field 0: acquisition", "8")["well"]["images"] == [
        {"path": "0", "acquisition": 8},
        {"path": "1"},
    ]


def test_the_calibration_of_imagej() -> None:
    told = texts(IMAGEJ)
    assert told == {
        "title": "cells.tif", "pixel size in x": "0.108", "origin x (pixels)": "0.0", "pixel size in y": "0.108",
        "origin y (pixels)": "0.0", "pixel size in z": "0.5", "origin z (pixels)": "3.0", "unit": "\u00b5m",
        "frame interval": "2.5", "frames per second": "0.0",
    }  # fmt: skip
    (section,) = sections_of(subject(IMAGEJ))
    assert section.notes == ("1 channel, 20 slices, 3 frames.",)
    assert typed(IMAGEJ, "pixel size in z", "0.75") == {**IMAGEJ, "pixelDepth": 0.75}
    assert typed(IMAGEJ, "unit", "nm") == {**IMAGEJ, "pixelUnit": "nm"}
    with pytest.raises(Refused):
        typed(IMAGEJ, "pixel size in x", "0")
    assert sections_of(subject({"pixelWidth": 3, "title": "no calibration"})) == ()


def test_the_transform_of_cosem() -> None:
    sizes, transform = sections_of(subject(COSEM))
    assert [row.label for row in transform.rows] == ["z", "y", "x"]
    assert [[field.text for field in row.fields] for row in transform.rows] == [
        ["5.24", "0.0", "nm"], ["4.0", "1.5", "nm"], ["4.0", "0.0", "nm"],
    ]  # fmt: skip
    assert transform.notes == ("pixelResolution states pixel sizes, too, x first: change both.",)
    assert [row.label for row in sizes.rows] == ["x", "y", "z", "unit"]
    alone = {"transform": COSEM["transform"]}
    assert typed(alone, "pixel size in z", "6")["transform"]["scale"] == [6, 4.0, 4.0]
    assert typed(alone, "offset in y", "-2.5")["transform"]["translate"] == [0.0, -2.5, 0.0]
    assert not texts({"transform": {**COSEM["transform"], "scale": [1, 2]}}), "of another length"


def test_the_offset_of_paintera_is_beside_the_resolution() -> None:
    held = {"resolution": [4.0, 4.0, 40.0], "offset": [0.0, 8.0, 0.0]}
    assert [label for label in texts(held) if "offset" in label] == ["offset in x", "offset in y", "offset in z"]
    assert typed(held, "offset in y", "16") == {**held, "offset": [0.0, 16, 0.0]}


def test_cf_and_names_of_dimensions() -> None:
    assert texts(CF) == {
        "long_name": "temperature", "units": "K", "scale_factor": "0.01", "dimension 0": "lat", "dimension 1": "lon"
    }  # fmt: skip
    assert typed(CF, "scale_factor", "0.5") == CF | {"scale_factor": 0.5}
    assert typed(CF, "dimension 1", "x")["_ARRAY_DIMENSIONS"] == ["lat", "x"]
    assert texts({"title": "x", "Conventions": "CF-1.8"}, "group") == {"title": "x"}
    assert texts({"title": "x"}, "group") == {}


def test_resolutions_of_n5() -> None:
    assert texts(N5)["pixel size in z"] == "0.5"
    assert typed(N5, "pixel size in z", "0.25")["resolution"] == [0.108, 0.108, 0.25]
    assert typed(N5, "unit of x", "nm")["units"] == ["nm", "um", "um"]
    (section,) = sections_of(subject(N5))
    assert section.notes == ("This level is coarser by 2, 2, 1.",)
    assert texts(BDV) == {"pixel size in x": "4.0", "pixel size in y": "4.0", "pixel size in z": "40.0", "unit": "nm"}
    with pytest.raises(Refused):
        typed(BDV, "pixel size in x", "0")


JUNK: tuple[Any, ...] = (
    None,
    3,
    -1.5,
    "x",
    "",
    [],
    {},
    True,
    [None],
    {"a": 1},
    1e400,
    float("nan"),
    10**400,
    [[]],
    "0.6",
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield from _places(item, (*path, name))


@pytest.mark.parametrize("kind", ALL)
def test_junk_anywhere_costs_at_most_a_refusal(kind: str) -> None:
    chance = random.Random(kind)
    for _ in range(60):
        attributes = copy.deepcopy(ALL[kind])
        for _ in range(chance.randint(1, 3)):
            *above, last = chance.choice([path for path in _places(attributes) if path] or [("x",)])
            holder: Any = attributes
            for name in above:
                holder = holder[name]
            holder[last] = chance.choice(JUNK)
        about = subject(attributes)
        verdict(attributes, version_of(attributes))
        document = Document(json.dumps(attributes))
        for field in fields_of(sections_of(about)):
            if field.kind != "object" and field.pointer != "linked":
                for text in ("0.5", "x"):
                    try:
                        apply(document, "", edits_of(about, field.pointer, text))
                    except ZarrscopeError:
                        continue


def test_levels_of_unknown_types_have_no_limits(tmp_path: Path) -> None:
    attributes = {"multiscales": [{"version": "0.4", "axes": ["y", "x"], "datasets": [{"path": "0"}]}]}
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-", dialect="v3") as h:
        h.root.attrs.put(attributes)
        h.create_array("/0", shape=(4, 4), dtype="uint8", chunks=(4, 4))
    document = tmp_path / "x.zarr" / "0" / "zarr.json"
    document.write_text(document.read_text().replace('"uint8"', '"never_heard_of"'))
    with zarrscope.open(str(tmp_path / "x.zarr")) as h:
        facts = node_facts(h, h.root)
    assert (facts.limits, facts.shapes) == (None, {"/0": (4, 4)})


def test_transformations_are_told_in_words_and_the_order_of_axes_is_said_to_be_fixed() -> None:
    found = {section.title: section for section in sections_of(subject(RFC5, "group"))}
    assert found["Transformations"].notes[:3] == (
        "system world: y · micrometer, x · micrometer",
        "pixels → s#world: scale 0.5, 0.25, then rotation matrix 2 × 2, then the inverse of the same",
        "world → true: displacements from the array bend",
    )
    told = next(field.summary for field in fields_of([*found.values()]) if field.label == "Transformations")
    assert told.split("\n")[:3] == [*found["Transformations"].notes[:3]], "a fact without a full stop has its own line"
    assert not found["Transformations"].rows
    assert any("order" in note for note in found["Axes"].notes)
    assert "Transformations" not in {s.title for s in sections_of(subject({"ome": {"multiscales": [IMAGE]}}, "group"))}


def test_geozarr_is_recognised() -> None:
    (section,) = sections_of(subject(GEO))
    assert [row.label for row in section.rows] == ["reference system", "box", "dimensions"]
    assert [field.text for field in section.rows[1].fields] == ["500000.0", "0.0", "600000.0", "100000.0"]
    assert "WKT 2" in section.notes[0]
    assert typed(GEO, "box: largest y", "2e5")["spatial:bbox"] == [5e5, 0.0, 6e5, 2e5]
    assert typed(GEO, "reference system", "EPSG:4326")["proj:code"] == "EPSG:4326"


@pytest.mark.parametrize(
    ("attributes", "title"),
    [
        (PLATE, "Plate"),
        (WELL, "Well"),
        (CF, "CF conventions"),
        (GEO, "GeoZarr"),
        (LABELS, "Image"),
        ({"multiscales": [IMAGE]}, "Image"),
    ],
)
def test_the_view_by_meaning_is_titled_after_what_it_shows(attributes: dict[str, Any], title: str) -> None:
    sections = sections_of(subject(attributes, "array" if attributes is CF else "group"))
    assert words.way_title("image", meaning_of(sections)) == title
    assert words.way_title("json", meaning_of(sections)) == "JSON"


@pytest.mark.parametrize(
    ("id", "more", "title", "told"),
    [
        ("mood", {}, "Moods", []),
        ("moods", {"first_parts": ("mood",), "of_images": True, "tells_levels": True}, "Image", ["All levels follow."]),
    ],
)
def test_one_row_adds_a_section(
    monkeypatch: pytest.MonkeyPatch,
    open_form: Callable[..., Session],
    tmp_path: Path,
    id: str,
    more: dict[str, Any],
    title: str,
    told: list[str],
) -> None:
    """The row in SECTIONS is the only place: the section is shown, edited, titled, and quoted by the command line."""

    def rows(subject: Subject) -> list[FormRow]:
        return [FormRow("mood", (make_field("mood/0", "mood", subject.attributes["mood"], "mood"),), "")]

    def edits(subject: Subject, parts: Sequence[str], text: str) -> list[Edit]:
        return [edit("/mood", text)]

    section = Section(id, "Moods", rows, edits, lambda subject: ["All levels follow."], **more)
    monkeypatch.setattr(table, "SECTIONS", (section, *table.SECTIONS))
    attributes = {"mood": "calm"}
    assert typed(attributes, "mood", "glad") == {"mood": "glad"}
    assert words.way_title("image", meaning_of(sections_of(subject(attributes)))) == title
    assert followers(attributes, NodeFacts()) == told
    zarrscope.open(str(tmp_path / "m.zarr"), "w-").root.attrs.put(attributes)
    s = open_form(tmp_path / "m.zarr")
    s.edit.edit("mood/0", "glad")
    assert [(change.pointer, change.after) for change in s.edit.diff().changes] == [("/mood", '"glad"')]
    s.edit.revert()
