"""An edit of one channel of an image whose metadata state none: all channels are added as the picture shows them, so
the picture does not change.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.ome.validate import check
from zarrscope.runtime.threads import Mailbox
from zarrscope.view.image import PALETTE, Image, find_images
from zarrscope.view.measured import measured_channels
from zarrscope.view.render import auto_levels
from zarrscope_app.cli import run
from zarrscope_app.presenters import EditStatus, Session

SECONDS = 20
AXES = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx")]
SENTENCE = "indow of 2 channels from the values of level 1"


def make(place: Path, dtype: str = "uint16", channels: list[Any] | None = None) -> Path:
    """Makes an image of two channels and two levels, whose values reach about 2000."""
    values = np.linspace(100, 2000, 2 * 4 * 32 * 32).reshape(2, 4, 32, 32).astype(dtype)
    scales = [[1, 1, factor, factor] for factor in (1, 2)]
    datasets = [
        {"path": str(i), "coordinateTransformations": [{"type": "scale", "scale": scale}]}
        for i, scale in enumerate(scales)
    ]
    ome: dict[str, Any] = {"version": "0.5", "multiscales": [{"name": "cells", "axes": AXES, "datasets": datasets}]}
    if channels is not None:
        ome["omero"] = {"channels": channels}
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"ome": ome})
        for i in range(2):
            level = values[:, :, :: 1 << i, :: 1 << i]
            h.create_array(f"/{i}", shape=level.shape, dtype=dtype, chunks=(1, 1, 16, 16))[...] = level
    return place


def omero(place: Path) -> list[dict[str, Any]]:
    attributes = json.loads((place / "zarr.json").read_text())["attributes"]
    assert not [finding for finding in check(attributes) if finding.strength == "must"]
    found: list[dict[str, Any]] = attributes["ome"]["omero"]["channels"]
    return found


def expected(place: Path) -> list[tuple[float, float]]:
    """The automatic contrast of the middle plane of the coarsest level, for each channel."""
    plane = zarrscope.open_array(str(place), "/1")[:, 2]
    return [auto_levels(plane[i]) for i in range(2)]


def damage(place: Path) -> None:
    for file in (place / "1" / "c").rglob("*"):
        if file.is_file():
            file.write_bytes(b"x")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return make(tmp_path / "c2.ome.zarr")


def windows(channels: list[dict[str, Any]]) -> list[tuple[float, float]]:
    return [(channel["window"]["start"], channel["window"]["end"]) for channel in channels]


# ---------------------------------------------------------------------- the command line
def test_naming_a_channel_keeps_contrast_and_colours(place: Path, capsys: Any) -> None:
    wanted = expected(place)
    assert run(["image", str(place), "--channel", "0:name=DAPI,color=00f", "--dry-run"]) == 0
    assert f"W{SENTENCE}." in capsys.readouterr().err
    assert run(["image", str(place), "--channel", "0:name=DAPI,color=00f"]) == 0
    first, second = channels = omero(place)
    assert windows(channels) == wanted
    assert [(c["window"]["min"], c["window"]["max"]) for c in channels] == [(0, 65535)] * 2
    assert all(isinstance(value, int) for channel in channels for value in channel["window"].values())
    assert (first["label"], first["color"]) == ("DAPI", "0000FF")
    assert (second["label"], second["color"]) == ("channel 1", "".join(f"{part:02X}" for part in PALETTE[1]))


def test_a_picture_is_the_same_before_and_after(place: Path, tmp_path: Path, capsys: Any) -> None:
    assert run(["render", str(place), "-o", str(tmp_path / "before.png")]) == 0
    assert run(["image", str(place), "--channel", "1:name=actin"]) == 0
    assert run(["render", str(place), "-o", str(tmp_path / "after.png")]) == 0
    assert (tmp_path / "before.png").read_bytes() == (tmp_path / "after.png").read_bytes()


def test_the_ends_of_fractions_are_those_of_the_values(tmp_path: Path) -> None:
    place = make(tmp_path / "f.zarr", "float32")
    assert run(["image", str(place), "--channel", "0:name=DAPI"]) == 0
    channels = omero(place)
    assert windows(channels) == expected(place)
    plane = as_array(zarrscope.open(str(place))["/1"])[0, 2]
    assert channels[0]["window"]["min"] == pytest.approx(float(plane.min()))
    assert channels[0]["window"]["max"] == pytest.approx(float(plane.max()))


def test_values_that_cannot_be_read_give_the_range_of_the_type(place: Path, capsys: Any) -> None:
    damage(place)
    assert run(["image", str(place), "--channel", "0:name=DAPI"]) == 0
    assert "from the range of the data type, because the values could not be read: " in capsys.readouterr().err
    assert windows(omero(place)) == [(0, 65535)] * 2
    assert omero(place)[1]["color"] == "".join(f"{part:02X}" for part in PALETTE[1])


def test_a_list_of_all_channels_reads_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    window = {"min": 0, "max": 65535, "start": 0, "end": 9}
    channels = [{"label": name, "color": "FF0000", "window": window, "active": True} for name in "ab"]
    place = make(tmp_path / "s.zarr", channels=channels)

    def read(image: Image) -> None:
        raise AssertionError("no value is needed")

    monkeypatch.setattr("zarrscope.view.measured.measured_channels", read)
    assert run(["image", str(place), "--channel", "0:name=DAPI"]) == 0
    assert windows(omero(place)) == [(0, 9)] * 2


def test_of_a_large_plane_the_middle_is_measured(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.view.measured.MOST_VALUES", 64)
    (image,) = find_images(zarrscope.open(str(place)).root)
    middle = zarrscope.open_array(str(place), "/1")[:, 2, 4:12, 4:12]
    assert [channel.window for channel in measured_channels(image)] == [auto_levels(middle[i]) for i in range(2)]


# ---------------------------------------------------------------------- the form
def test_the_form_states_what_the_picture_shows_and_says_so(
    open_form: Callable[..., Session], place: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    on: list[threading.Thread] = []

    def watched(image: Image) -> Any:
        on.append(threading.current_thread())
        return measured_channels(image)

    monkeypatch.setattr("zarrscope.view.measured.measured_channels", watched)
    edit = open_form(place).edit
    edit.edit("channel/0/label", "DAPI")
    shown = edit.field("channel/0/label")
    assert shown is not None
    edit.edit("name", "nuclei")  # waits for the previous edit, so that neither is lost
    mailbox.run_until(lambda: not edit.busy, SECONDS)
    assert on
    assert threading.main_thread() not in on
    assert f"w{SENTENCE}" in edit.state.sentence.replace("W", "w")
    assert f"W{SENTENCE}." in edit.diff().unified
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN, SECONDS)
    assert windows(omero(place)) == expected(place)
    assert omero(place)[0]["label"] == "DAPI"
    assert json.loads((place / "zarr.json").read_text())["attributes"]["ome"]["multiscales"][0]["name"] == "nuclei"
    assert SENTENCE not in edit.state.sentence


def test_undo_takes_the_sentence_back(open_form: Callable[..., Session], place: Path, mailbox: Mailbox) -> None:
    edit = open_form(place).edit
    edit.edit("channel/1/color", "FFFF00")
    mailbox.run_until(lambda: edit.state.changes > 0, SECONDS)
    edit.undo()
    mailbox.run_until(lambda: edit.state.changes == 0, SECONDS)
    assert SENTENCE not in edit.state.sentence


def test_typing_one_end_of_the_contrast_keeps_the_other(
    open_form: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    edit = open_form(place).edit
    edit.edit("channel/0/start", "250")
    mailbox.run_until(lambda: edit.state.changes > 0, SECONDS)
    edit.save()
    mailbox.run_until(lambda: edit.state.status is EditStatus.CLEAN, SECONDS)
    assert windows(omero(place)) == [(250, expected(place)[0][1]), expected(place)[1]]


def test_an_end_that_is_not_stated_is_read_in_the_background(
    open_form: Callable[..., Session], tmp_path: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = [{"label": name, "color": "FF0000", "window": {"start": 3}, "active": True} for name in "ab"]
    edit = open_form(make(tmp_path / "half.zarr", channels=channels)).edit
    on: list[threading.Thread] = []

    def watched(image: Image) -> Any:
        on.append(threading.current_thread())
        return measured_channels(image)

    monkeypatch.setattr("zarrscope.view.measured.measured_channels", watched)
    edit.edit("channel/0/start", "250")
    mailbox.run_until(lambda: edit.state.changes > 0, SECONDS)
    assert len(on) == 1
    assert threading.main_thread() not in on
    end = edit.field("channel/0/end")
    assert end is not None
    assert float(end.text) == expected(tmp_path / "half.zarr")[0][1]


def test_the_form_says_that_values_could_not_be_read(
    open_form: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    damage(place)
    edit = open_form(place).edit
    edit.edit("channel/0/label", "DAPI")
    mailbox.run_until(lambda: edit.state.changes > 0, SECONDS)
    assert "from the range of the data type, because the values could not be read" in edit.state.sentence
    assert "from the range of the data type, because the values could not be read" in edit.diff().unified


def test_a_typed_text_is_tried_without_reading_values(
    open_form: Callable[..., Session], place: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = open_form(place).edit
    read: list[Image] = []
    monkeypatch.setattr("zarrscope.view.measured.measured_channels", read.append)
    told: list[str] = []
    edit.try_text("channel/0/start", "1e9", told.append)
    mailbox.run_until(lambda: bool(told), SECONDS)
    assert read == []


def test_several_images_get_their_own_windows(
    open_form: Callable[..., Session], tmp_path: Path, mailbox: Mailbox
) -> None:
    zarrscope.open(str(tmp_path / "all.zarr"), "w-").close()
    places = [make(tmp_path / "all.zarr" / name) for name in ("a", "b")]
    s = Session(str(tmp_path / "all.zarr"), mailbox, writable=True)
    try:
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.edit.state.status is not EditStatus.EMPTY, SECONDS)
        s.edit.show_several(["/a", "/b"])
        mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
        s.edit.edit("channel/0/label", "DAPI")
        mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
        assert s.edit.diff().unified.count(SENTENCE) == 2
        s.edit.save()
        mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
        assert [windows(omero(place)) for place in places] == [expected(place) for place in places]
    finally:
        s.close()


# ---------------------------------------------------------------------- the correction of a finding
def without_windows() -> list[dict[str, Any]]:
    return [{"label": name, "color": "FF0000", "active": True} for name in "ab"]


def offers(session: Session) -> list[str]:
    return [found.mend for found in session.edit.state.findings if found.pointer.endswith("/window")]


def test_a_missing_window_is_mended_from_the_values_in_the_background(
    open_form: Callable[..., Session], tmp_path: Path, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, on = make(tmp_path / "bare.zarr", channels=without_windows()), list[threading.Thread]()

    def watched(image: Image) -> Any:
        on.append(threading.current_thread())
        return measured_channels(image)

    monkeypatch.setattr("zarrscope.view.measured.measured_channels", watched)
    s = open_form(place)
    mailbox.run_until(lambda: len(offers(s)) == 2, SECONDS)
    assert offers(s) == ["Mend: contrast from the coarsest level"] * 2
    assert not on, "an offer reads nothing"
    first, second = (found.pointer for found in s.edit.state.findings if found.pointer.endswith("/window"))
    s.edit.mend(first)
    mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
    assert on
    assert threading.main_thread() not in on
    assert "Window of 1 channel from the values of level 1." in s.edit.diff().unified
    mailbox.run_until(lambda: len(offers(s)) == 1, SECONDS)
    low, high = expected(place)[1]
    assert offers(s) == [f"Mend: contrast {low:g} to {high:g}"]
    s.edit.mend(second)
    s.edit.save()
    mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
    assert windows(omero(place)) == expected(place)
    assert [(c["window"]["min"], c["window"]["max"]) for c in omero(place)] == [(0, 65535)] * 2


@pytest.mark.parametrize("dtype", ["uint16", "float32"])
def test_a_missing_window_is_the_range_of_the_type_if_no_value_can_be_read(
    open_form: Callable[..., Session], tmp_path: Path, mailbox: Mailbox, dtype: str
) -> None:
    damage(place := make(tmp_path / "bare.zarr", dtype, channels=without_windows()))
    s = open_form(place)
    mailbox.run_until(lambda: len(offers(s)) == 2, SECONDS)
    first = next(found.pointer for found in s.edit.state.findings if found.pointer.endswith("/window"))
    s.edit.mend(first)
    mailbox.run_until(lambda: not s.edit.busy, SECONDS)
    if dtype == "uint16":
        assert "from the range of the data type, because the values could not be read" in s.edit.state.sentence
        mailbox.run_until(lambda: len(offers(s)) == 1, SECONDS)
        assert offers(s) == ["Mend: contrast 0 to 65535, the range of the data type"]
    else:
        assert "No value could be read" in s.edit.state.sentence
        assert s.edit.state.changes == 0
        assert offers(s) == ["", ""]


def test_missing_windows_of_several_images_are_mended_from_their_own_values(tmp_path: Path, mailbox: Mailbox) -> None:
    zarrscope.open(str(tmp_path / "all.zarr"), "w-").close()
    places = [make(tmp_path / "all.zarr" / name, channels=without_windows()) for name in ("a", "b")]
    s = Session(str(tmp_path / "all.zarr"), mailbox, writable=True)
    try:
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.edit.state.status is not EditStatus.EMPTY, SECONDS)
        s.edit.show_several(["/a", "/b"])
        mailbox.run_until(lambda: len(offers(s)) == 2, SECONDS)
        for found in s.edit.state.findings:
            s.edit.mend(found.pointer)
        mailbox.run_until(lambda: s.edit.state.valid and not offers(s) and s.edit.state.can_save, SECONDS)
        s.edit.save()
        mailbox.run_until(lambda: s.edit.state.status is EditStatus.CLEAN, SECONDS)
        assert [windows(omero(place)) for place in places] == [expected(place) for place in places]
    finally:
        s.close()
