"""GeoZarr: the coordinate reference system, the bounding box and the spatial transform.

https://github.com/zarr-conventions/geo-proj and https://github.com/zarr-conventions/spatial
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zarrscope_app.presenters import strings
from zarrscope_app.presenters.form.sections.members import SectionMember, kind_of, member_section
from zarrscope_app.presenters.form.sections.model import Subject

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

TITLE = "GeoZarr"
_TEXTS = {
    "proj:code": "reference system",
    "proj:epsg": "reference system (EPSG)",
    "crs": "reference system",
    "spatial:registration": "registration",
    "spatial:transform_type": "kind of transform",
}
_LISTS = {
    "spatial:bbox": ("box", ("least x", "least y", "largest x", "largest y")),
    "spatial:dimensions": ("dimensions", ("first", "second", "third")),
    "spatial:shape": ("shape", ("first", "second", "third")),
    "spatial:transform": ("transform", ("a", "b", "c", "d", "e", "f")),
}
_LONG = {"proj:wkt2": "WKT 2", "proj:projjson": "PROJJSON"}


def _listed(subject: Subject) -> list[SectionMember]:
    top = subject.attributes if isinstance(subject.attributes, Mapping) else {}
    found = [
        SectionMember(label, label, f"/{name}", top[name])
        for name, label in _TEXTS.items()
        if kind_of(top.get(name)) is not None and (name != "crs" or "spatial:bbox" in top)
    ]
    for name, (label, parts) in _LISTS.items():
        values: JSON = top.get(name)
        if not isinstance(values, list) or not 0 < len(values) <= len(parts):
            continue
        if all(kind_of(value) is not None for value in values):
            found += [
                SectionMember(label, f"{label}: {parts[i]}", f"/{name}/{i}", value) for i, value in enumerate(values)
            ]
    return found


def _notes(subject: Subject) -> list[str]:
    top = subject.attributes if isinstance(subject.attributes, Mapping) else {}
    return [
        f"The reference system is written in full as {title} ({strings.clean(name)}, among All fields)."
        for name, title in _LONG.items()
        if top.get(name)
    ]


GEO = member_section("geo", TITLE, _listed, _notes)
