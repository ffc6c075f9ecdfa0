"""Titles, Info and errors of nodes that are not images, and of documents that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import BadMetadata
from zarrscope.runtime.threads import Mailbox
from zarrscope.view.image import find_images
from zarrscope_app.presenters import Session, strings
from zarrscope_app.presenters.chunks.view_models import share_text
from zarrscope_app.presenters.image import words
from zarrscope_app.presenters.metadata import MetadataPresenter
from zarrscope_app.presenters.node_words import in_words
from zarrscope_app.presenters.values import ValuesPresenter


def info(place: Path, mailbox: Mailbox, path: str) -> tuple[str, str, str, bool]:
    """(title, subtitle, words, whether numbers have a format) of a node."""
    session = Session(str(place), mailbox, path=path)
    shown, values = session.metadata, session.tabs.presenters["values"]
    assert isinstance(shown, MetadataPresenter)
    assert isinstance(values, ValuesPresenter)
    mailbox.run_until(lambda: shown.state.path == path and not session.state.selecting)
    found = shown.state.title, shown.state.subtitle, shown.state.words, values.state.numbers
    session.close()
    return found


def test_a_table_of_texts_is_no_picture_and_has_no_size(tmp_path: Path, mailbox: Mailbox) -> None:
    place = tmp_path / "names.zarr"
    with zarrscope.open(str(place), "w-") as h:
        h.create_array("/texts", shape=(2, 3), dtype="string", chunks=(2, 3))
        h.create_array("/cells", shape=(20, 30), dtype="uint8", chunks=(20, 30))
    assert info(place, mailbox, "/texts") == (
        "texts",
        "2-D string · 2 × 3",
        "A table of 2 × 3 texts, which cannot be drawn as a picture.",
        False,
    )
    assert info(place, mailbox, "/cells") == (
        "cells",
        "2-D uint8 · 20 × 30 · 600 B",
        "An image of 30 × 20 pixels.",
        True,
    )
    assert info(place, mailbox, "/")[0] == "names.zarr", "a root is called as its store"


@pytest.mark.parametrize(
    ("shape", "dtype", "names", "said"),
    [
        ((), "float64", None, "A single number."),
        ((60,), "int16", ("t",), "A list of 60 integers along t."),
        ((1,), "uint8", None, "A list of 1 integer."),
        ((0,), "float32", None, "A list for numbers, without any yet."),
        ((7,), "bool", None, "A list of 7 booleans."),
        ((12,), "string", ("name",), "A list of 12 texts along name."),
        ((12,), "<U5", None, "A list of 12 texts."),
        ((12,), "datetime64[s]", ("time",), "A list of 12 times along time."),
        ((4,), "complex64", None, "A list of 4 complex numbers."),
        ((8, 6), "complex64", None, "An image of 6 × 8 pixels, its values complex numbers."),
        ((1000,), [("x", "f4"), ("y", "f4")], None, "A list of 1,000 records of 2 fields (x, y)."),
        ((3,), [(n, "i2") for n in "abcde"], None, "A list of 3 records of 5 fields (a, b, c, d, …)."),
        (
            (2, 3, 4),
            [("x", "f4")],
            None,
            "An array of 2 × 3 × 4 records of 1 field (x), which cannot be drawn as a picture.",
        ),
        ((5,), "V4", None, "A list of 5 values of 4 bytes each."),
        ((5,), "bytes", None, "A list of 5 sequences of bytes."),
    ],
)
def test_an_array_that_is_no_image_is_told_in_words(
    tmp_path: Path, shape: tuple[int, ...], dtype: Any, names: tuple[str, ...] | None, said: str
) -> None:
    """It had no sentence, or one about values."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        made = h.create_array("/a", shape=shape, dtype=dtype, chunks=[max(1, n) for n in shape], dimension_names=names)
        images = find_images(made)
        assert in_words(made, images[0] if images else None, None) == said


def test_a_line_is_said_with_its_document(tmp_path: Path) -> None:
    place = tmp_path / "broken.zarr"
    place.mkdir()
    (place / "zarr.json").write_text('{"zarr_format": 3')
    with pytest.raises(BadMetadata) as caught:
        zarrscope.open(str(place))
    assert strings.problem(caught.value).headline.startswith("zarr.json: Line 1, column ")
    assert strings.defect(caught.value) == strings.problem(caught.value).headline, "the place is told once"


def test_a_series_without_a_name_is_counted_once() -> None:
    assert words.collection_title("series", "", 2, 2) == "2 images"
    assert words.collection_title("series", "day", 2, 2) == "day: 2 images"
    assert words.collection_title("plate", "P1", 384, 384) == "Plate P1: 384 wells"


def test_a_plate_says_how_many_of_its_wells_have_images(tmp_path: Path, mailbox: Mailbox) -> None:
    wells = [{"path": f"{row}/{column}", "rowIndex": r, "columnIndex": c} for r, row in enumerate("AB") for c, column in
             enumerate("123")]  # fmt: skip
    names = {"rows": [{"name": n} for n in "AB"], "columns": [{"name": n} for n in "123"]}
    with zarrscope.open(str(tmp_path / "plates.zarr"), "w-") as h:
        for name, listed in (("full", wells), ("sparse", wells[:2])):
            h.create_group(f"/{name}", attributes={"ome": {"version": "0.5", "plate": {**names, "wells": listed}}})
    assert info(tmp_path / "plates.zarr", mailbox, "/full")[2] == "A plate of 2 × 3 wells with images."
    assert info(tmp_path / "plates.zarr", mailbox, "/sparse")[2] == "A plate of 2 × 3 wells, 2 with images."


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 9, "0 %"), (1, 12_288, "under 1 %"), (4, 72, "6 %"), (12_287, 12_288, "over 99 %"), (72, 72, "100 %")],
)
def test_one_missing_chunk_among_many_is_not_rounded_away(part: int, whole: int, said: str) -> None:
    """12,287 of 12,288 chunks were "100 %"."""
    assert share_text(part, whole) == said
