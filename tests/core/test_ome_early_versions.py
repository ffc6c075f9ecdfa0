"""OME-Zarr 0.1, 0.2 and 0.3 are checked by the rules of their own texts, and not by those of 0.4."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz.documents import Fuzzer
from zarrscope.errors import BadMetadata
from zarrscope.ome.early_versions import EARLY, early_version
from zarrscope.ome.validate import check, validate

WINDOW = {"min": 0, "max": 255, "start": 0, "end": 200}


def image(version: str) -> dict[str, Any]:
    """A right image as the text of its version has it."""
    entry: dict[str, Any] = {"version": version, "name": "a", "type": "gaussian", "metadata": {"method": "m"}}
    entry["datasets"] = [{"path": "path/to/0"}, {"path": "1"}]
    if version == "0.3":
        entry["axes"] = [*"tczyx"]
    channel = {"active": True, "color": "0000FF", "label": "LaminB1", "window": WINDOW}
    return {"multiscales": [entry], "omero": {"id": 1, "version": version, "channels": [channel]}}


def label(version: str) -> dict[str, Any]:
    colors = [{"label-value": 1, "rgba": [255, 255, 255, 0]}, {"label-value": 4}]
    held: dict[str, Any] = {"version": version, "colors": colors, "source": {"image": "../../"}}
    if version != "0.1":
        held["properties"] = [{"label-value": 1, "class": "foo"}, {"label-value": 1, "area": 3}]
    return {"image-label": held, "multiscales": image(version)["multiscales"]}


def plate(version: str) -> dict[str, Any]:
    wells = [{"path": f"2020-10-10/{row}/{column}"} for row in "AB" for column in "12"]
    acquisition = {"id": 1, "maximumfieldcount": 2, "name": "m", "starttime": 1343731272000, "endtime": "1343731272"}
    named = {"columns": [{"name": "1"}, {"name": "2"}], "rows": [{"name": "A"}, {"name": "B"}]}
    return {"plate": {"acquisitions": [acquisition], **named, "field_count": 4, "version": version, "wells": wells}}


def well(version: str) -> dict[str, Any]:
    return {"well": {"images": [{"acquisition": 1, "path": "0"}, {"path": "1"}], "version": version}}


MADE: dict[str, Callable[[str], dict[str, Any]]] = {"image": image, "label": label, "plate": plate, "well": well}


@pytest.mark.parametrize("version", EARLY)
@pytest.mark.parametrize("kind", MADE)
def test_right_metadata_have_no_findings(kind: str, version: str) -> None:
    attributes = MADE[kind](version)
    assert early_version(attributes) == version
    assert check(attributes) == []
    validate(attributes, strict=True)


GONE = object()
BROKEN: tuple[tuple[str, str, tuple[Any, ...], Any, str], ...] = (
    # versions, kind, place, value there, pointer of the violation
    ("123", "image", ("multiscales",), [], "/multiscales"),
    ("123", "image", ("multiscales", 0, "datasets"), GONE, "/multiscales/0/datasets"),
    ("123", "image", ("multiscales", 0, "datasets"), [], "/multiscales/0/datasets"),
    ("123", "image", ("multiscales", 0, "datasets", 1, "path"), 0, "/multiscales/0/datasets/1/path"),
    ("123", "image", ("multiscales", 0, "datasets", 0, "path"), GONE, "/multiscales/0/datasets/0/path"),
    ("123", "image", ("multiscales", 0, "metadata"), "mean", "/multiscales/0/metadata"),
    ("123", "image", ("omero", "channels", 0, "color"), 255, "/omero/channels/0/color"),
    ("123", "image", ("omero", "channels", 0, "window", "end"), "100", "/omero/channels/0/window"),
    ("123", "image", ("omero", "channels", 0, "window"), GONE, "/omero/channels/0/window"),
    ("3", "image", ("multiscales", 0, "axes"), GONE, "/multiscales/0/axes"),
    ("3", "image", ("multiscales", 0, "axes"), ["y"], "/multiscales/0/axes"),
    ("3", "image", ("multiscales", 0, "axes"), ["z", "y", "ct"], "/multiscales/0/axes/2"),
    ("3", "image", ("multiscales", 0, "axes"), ["y", "t", "c"], "/multiscales/0/axes"),
    ("3", "image", ("multiscales", 0, "axes"), ["y", "y"], "/multiscales/0/axes"),
    ("123", "label", ("multiscales",), GONE, "/multiscales"),
    ("123", "label", ("image-label", "version"), "0.4", "/image-label/version"),
    ("123", "label", ("image-label", "colors", 0, "label-value"), GONE, "/image-label/colors/0/label-value"),
    ("123", "label", ("image-label", "colors", 1, "label-value"), 1, "/image-label/colors"),
    ("123", "label", ("image-label", "colors", 0, "rgba"), [1, 2, 3], "/image-label/colors/0/rgba"),
    ("23", "label", ("image-label", "properties", 0, "label-value"), "1", "/image-label/properties/0/label-value"),
    ("123", "label", ("image-label", "source"), {"image": 3}, "/image-label/source"),
    ("123", "plate", ("plate", "columns"), GONE, "/plate/columns"),
    ("123", "plate", ("plate", "rows", 0, "name"), GONE, "/plate/rows/0/name"),
    ("123", "plate", ("plate", "wells"), [], "/plate/wells"),
    ("123", "plate", ("plate", "wells", 0, "path"), GONE, "/plate/wells/0/path"),
    ("123", "plate", ("plate", "acquisitions", 0, "id"), GONE, "/plate/acquisitions/0/id"),
    ("123", "plate", ("plate", "acquisitions", 0, "maximumfieldcount"), "2", "/plate/acquisitions/0/maximumfieldcount"),
    ("123", "plate", ("plate", "field_count"), 1.5, "/plate/field_count"),
    ("123", "well", ("well", "images"), [], "/well/images"),
    ("123", "well", ("well", "images", 1, "path"), "0", "/well/images"),
    ("123", "well", ("well", "images", 0, "path"), "a b", "/well/images/0/path"),
)


@pytest.mark.parametrize(("versions", "kind", "place", "value", "pointer"), BROKEN)
def test_broken_metadata_are_found_at_their_place(
    versions: str, kind: str, place: tuple[Any, ...], value: Any, pointer: str
) -> None:
    for version in EARLY:
        attributes = copy.deepcopy(MADE[kind](version))
        owner: Any = attributes
        for name in place[:-1]:
            owner = owner.get(name) if isinstance(owner, dict) else owner[name]
            if owner is None:  # 0.1 has no properties
                break
        if owner is None:
            continue
        if value is GONE:
            owner.pop(place[-1], None)
        else:
            owner[place[-1]] = value
        if version[-1] in versions:
            assert [each.pointer for each in check(attributes) if each.strength == "must"] == [pointer], version
            with pytest.raises(BadMetadata):
                validate(attributes)
        else:
            assert not [each for each in check(attributes) if each.strength == "must"], version


def test_every_finding_has_advice() -> None:
    for versions, kind, place, value, _ in BROKEN:
        attributes = copy.deepcopy(MADE[kind](f"0.{versions[-1]}"))
        owner: Any = attributes
        for name in place[:-1]:
            owner = owner[name]
        if value is GONE:
            owner.pop(place[-1], None)
        else:
            owner[place[-1]] = value
        for found in check(attributes):
            assert found.advice.endswith("."), found


def test_a_version_that_is_not_stated_is_inferred_from_the_image() -> None:
    assert early_version({"multiscales": [{"datasets": [{"path": "0"}]}]}) == "0.1"
    assert early_version({"multiscales": [{"axes": ["y", "x"], "datasets": [{"path": "0"}]}]}) == "0.3"
    assert early_version({"multiscales": [{"version": "none", "axes": ["y", "x"]}]}) == "0.3"
    scaled = {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}
    assert early_version({"multiscales": [{"datasets": [scaled]}]}) is None
    assert early_version({"multiscales": [{"axes": [{"name": "y"}], "datasets": []}]}) is None
    assert early_version({"multiscales": [{"version": "0.4", "datasets": []}]}) is None
    assert early_version({"plate": {}}) is None
    told = {each.pointer: each.strength for each in check({"multiscales": [{"datasets": [{"path": "0"}]}]})}
    assert told == {f"/multiscales/0/{name}": "should" for name in ("name", "version", "type", "metadata")}
    (wrong,) = [each for each in check({"ome": {**image("0.3"), "version": "0.3"}}) if each.pointer == "/ome/version"]
    assert wrong.message == "OME-Zarr 0.3 is not written under 'ome'"


def test_no_metadata_end_in_another_error() -> None:
    for version in EARLY:
        for kind in MADE:
            fuzzer = Fuzzer(17)
            for _ in range(60):
                made = fuzzer.broken(MADE[kind](version))
                if isinstance(made, dict):
                    check(made)


def test_documents_of_other_programs_are_right(unpacked: Path) -> None:
    """ome-zarr-py, bioformats2raw and others wrote them."""
    known = dict[str, int]()
    csv.field_size_limit(10**8)
    with (unpacked / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            stated = row["attrs"]
            attributes = json.loads(stated) if stated.startswith("{") else {}
            version = early_version(attributes)
            if version is None or row["dialect"].startswith(("ome-", "broken")):
                continue
            known[version] = known.get(version, 0) + 1
            assert [each for each in check(attributes) if each.strength == "must"] == [], row["id"]
    assert {*known} == {*EARLY}, known
