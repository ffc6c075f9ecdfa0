"""Times of acquisitions are shown and typed as dates, and stay as they were written if nothing is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import Refused
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.sections.model import NodeFacts, Subject
from zarrscope_app.presenters.form.sections.table import edits_of, sections_of
from zarrscope_app.presenters.form.view_models import Field
from zarrscope_app.presenters.typed_times import EXAMPLE, time_text, typed_time

START = 1343731272000
PLATE = {
    "plate": {
        "name": "screen",
        "rows": [{"name": "A"}],
        "columns": [{"name": "1"}],
        "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}],
        "acquisitions": [{"id": 1, "starttime": START, "endtime": 5}, {"id": 2}],
        "version": "0.4",
    }
}


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (START, EXAMPLE),
        (START + 345, "2012-07-31T10:41:12.345Z"),
        (1.343731272e12, EXAMPLE),
        (1343731272, ""),  # seconds
        (START + 0.5, ""),
        (-1, ""),
        (10**30, ""),
        (float("nan"), ""),
        ("2012", ""),
        (True, ""),
    ],
)
def test_a_number_of_milliseconds_as_a_date(milliseconds: Any, text: str) -> None:
    assert time_text(milliseconds) == text


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (EXAMPLE, str(START)),
        ("2012-07-31 10:41:12", str(START)),
        ("2012-07-31T12:41:12+02:00", str(START)),
        (" 2012-07-31 ", "1343692800000"),
        ("2012-07-31T10:41:12.345Z", str(START + 345)),
        ("20120731", "20120731"),
        ("0001-01-01T00:00+14:00", "0001-01-01T00:00+14:00"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_a_date_as_people_type_it(typed: str, read: str) -> None:
    assert typed_time(typed) == read


def subject(attributes: Any) -> Subject:
    return Subject(attributes, NodeFacts("/", "group", "v2"))


def fields(attributes: Any) -> dict[str, Field]:
    found = sections_of(subject(attributes))
    return {field.label: field for section in found for row in section.rows for field in row.fields}


def test_acquisitions_have_fields_for_all_that_can_be_stated() -> None:
    shown = fields(PLATE)
    start = shown["acquisition 1: starttime"]
    assert (start.text, start.editor, start.kind) == (EXAMPLE, "date", "text")
    assert shown["acquisition 1: endtime"].text == "5", "no likely time: the number as it is"
    for name in ("name", "description", "maximumfieldcount", "starttime", "endtime"):
        assert shown[f"acquisition 2: {name}"].text == ""
    typed = {
        "acquisition 2: name": ("second", "name", '"second"'),
        "acquisition 2: maximumfieldcount": ("3", "maximumfieldcount", "3"),
        "acquisition 2: starttime": ("2012-07-31 10:41:12", "starttime", str(START)),
    }
    for label, (text, member, made) in typed.items():
        (edit,) = edits_of(subject(PLATE), shown[label].pointer, text)
        assert (edit.pointer, edit.text) == (f"/plate/acquisitions/1/{member}", made)
    for label in typed:
        assert edits_of(subject(PLATE), shown[label].pointer, "") == [], "an empty field stays absent"
    for label, text in (("starttime", "yesterday"), ("maximumfieldcount", "0"), ("maximumfieldcount", "2.5")):
        with pytest.raises(Refused):
            edits_of(subject(PLATE), shown[f"acquisition 2: {label}"].pointer, text)


def test_a_plate_can_state_its_field_count_and_a_well_its_acquisitions() -> None:
    label = "most fields in a well"
    (edit,) = edits_of(subject(PLATE), fields(PLATE)[label].pointer, "4")
    assert (edit.pointer, edit.text) == ("/plate/field_count", "4")
    well = {"well": {"images": [{"path": "0"}, {"path": "1", "acquisition": 7}, {"path": "2", "acquisition": "odd"}]}}
    (section,) = sections_of(subject(well))
    assert [(row.label, row.fields[0].text) for row in section.rows] == [("field 0", ""), ("field 1", "7")]
    (edit,) = edits_of(subject(well), section.rows[0].fields[0].pointer, "0")
    assert (edit.pointer, edit.text) == ("/well/images/0/acquisition", "0")
    with pytest.raises(Refused):
        edits_of(subject(well), section.rows[0].fields[0].pointer, "-1")


def test_only_a_typed_time_is_written(open_form: Callable[..., Session], tmp_path: Path) -> None:
    zarrscope.open(str(tmp_path / "p.zarr"), "w-").root.attrs.put(json.loads(json.dumps(PLATE)))
    s = open_form(tmp_path / "p.zarr")
    shown = {f.label: f for section in s.edit.state.sections for row in section.rows for f in row.fields}
    s.edit.edit(shown["acquisition 1: starttime"].pointer, EXAMPLE)
    assert s.edit.state.changes == 0
    s.edit.edit(shown["acquisition 1: starttime"].pointer, "2012-07-31T10:41:13Z")
    assert [(change.pointer, change.after) for change in s.edit.diff().changes] == [
        ("/plate/acquisitions/0/starttime", str(START + 1000))
    ]
    s.edit.edit(shown["acquisition 2: endtime"].pointer, "soon")
    assert s.edit.state.status is EditStatus.INVALID
    assert EXAMPLE in s.edit.state.sentence
    s.edit.revert()


def test_among_all_fields_too(open_form: Callable[..., Session], tmp_path: Path) -> None:
    """There the number is seen as it is written, and a date may be typed."""
    zarrscope.open(str(tmp_path / "p.zarr"), "w-").root.attrs.put(json.loads(json.dumps(PLATE)))
    s = open_form(tmp_path / "p.zarr")
    s.edit.show_way("fields")
    pointer = "/plate/acquisitions/0/starttime"
    found = next(field for field in s.edit.state.fields if field.pointer == pointer)
    assert (found.text, found.summary, found.editor) == (str(START), f"{START} · {EXAMPLE}", "date")
    s.edit.edit(pointer, "2012-07-31T10:41:13Z")
    assert [change.after for change in s.edit.diff().changes] == [str(START + 1000)]
    s.edit.revert()
