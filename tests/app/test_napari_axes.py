"""The names of axes in napari: those that a document states; napari's own names where none does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from qtpy.QtCore import QObject

import zarrscope
from zarrscope_app.napari import dock_sentence
from zarrscope_app.napari.dock_sentence import DockSentence
from zarrscope_app.napari.reader import read
from zarrscope_app.presenters.session.state_text import decode_view

if TYPE_CHECKING:
    from napari_hand import Hand

NAPARIS = None


def labels_of(path: Path) -> Any:
    ((_, arguments, _),) = read(str(path / "a"))
    return arguments["axis_labels"]


@pytest.mark.parametrize(
    ("dialect", "names", "expected"),
    [
        ("v3", ["t", "plane", "y", "x"], ("t", "plane", "y", "x")),
        ("v2", ["t", "plane", "y", "x"], ("t", "plane", "y", "x")),
        ("n5", ["t", "plane", "y", "x"], ("t", "plane", "y", "x")),
        ("v3", [None, "plane", None, "x"], ("-4", "plane", "-2", "x")),
        ("v3", None, NAPARIS),
        ("v2", None, NAPARIS),
        ("n5", None, NAPARIS),
    ],
)
def test_axes_have_the_names_that_a_document_states(
    tmp_path: Path, dialect: str, names: list[str | None] | None, expected: Any
) -> None:
    place = tmp_path / "a.zarr"
    with zarrscope.open(str(place), "w-", dialect=dialect) as h:
        h.create_array("/a", shape=(2, 3, 8, 9), dtype="u1", dimension_names=names)[...] = 1
    assert labels_of(place) == expected


def test_the_attribute_of_xarray_names_axes_in_version_3_too(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/a", shape=(2, 8, 9), dtype="u1", attributes={"_ARRAY_DIMENSIONS": ["time", "lat", "lon"]})
    assert labels_of(tmp_path / "a.zarr") == ("time", "lat", "lon")


def test_an_array_without_names_leaves_the_sliders_of_other_layers_their_names(hand: Hand, tmp_path: Path) -> None:
    """napari names its sliders after the longest layer that has names, and a guessed name would be one."""
    with zarrscope.open(str(tmp_path / "plain.zarr"), "w-") as h:
        h.create_array("/a", shape=(2, 4, 20, 30), dtype="u1", chunks=(1, 1, 20, 30))[...] = 1
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/a", shape=(4, 20, 30), dtype="u1", dimension_names=["depth", "y", "x"])[...] = 1
    hand.add(str(tmp_path / "a.zarr"), "/a")
    hand.viewer.layers.clear()
    plain = hand.add(str(tmp_path / "plain.zarr"), "/a")
    assert not any("dim" in str(name) for name in plain.axis_labels)
    hand.viewer.dims.set_current_step(0, 1)
    hand.viewer.dims.set_current_step(1, 3)
    told = decode_view(hand.dock.layer_menu.view_text())["slice"]
    assert told["index"] | {"dim_0": 1, "dim_1": 3} == told["index"], "other hosts know the axes by these names"
    assert told["show"] == ["y", "x"]
    text = hand.dock.layer_menu.view_text()
    hand.dock.open(str(tmp_path / "a.zarr"), "/a")
    hand.wait(lambda: hand.dock.session is not None and hand.dock.session.node is not None)
    hand.dock.add()
    hand.wait(lambda: len(hand.viewer.layers) == 2)
    assert tuple(hand.viewer.layers[1].axis_labels) == ("depth", "y", "x")
    if hasattr(hand.viewer.layers, "axis_labels"):  # an older napari names its sliders by numbers
        assert tuple(hand.viewer.dims.axis_labels)[1:] == ("depth", "y", "x")
    hand.viewer.layers.clear()
    hand.dock.open(text)
    hand.wait(lambda: len(hand.viewer.layers) == 1 and not hand.dock.adding)
    assert tuple(hand.viewer.dims.current_step)[:2] == (1, 3)


def test_a_result_goes_and_a_reason_stays(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dock_sentence, "SHOWN_MS", 30)
    parent, told = QObject(), []
    said = DockSentence(lambda: told.append(said.text), parent)
    said.tell_result("Written.")
    assert said.passes
    qtbot.waitUntil(lambda: told == ["Written.", ""])
    said.tell_result("Written.")
    said.tell("Nothing was painted.")
    assert not said.passes
    said.tell_result("Saved.")
    said.clear()
    assert (said.text, said.passes) == ("", False)
    assert told == ["Written.", "", "Written.", "Nothing was painted.", "Saved."]
