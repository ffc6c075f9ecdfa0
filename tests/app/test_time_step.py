"""The time step of an image stands under a heading of its own; the keys that lead to the form lead to a pixel size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session

SECONDS = 20
AXES = [
    {"name": "t", "type": "time", "unit": "second"},
    *({"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"),
]


def image(place: Path, coarser_in_time: float = 1) -> None:
    """Writes an image of three time points in two levels; the coarser level has time steps of this factor."""
    levels = [("0", [90.0, 1.0, 0.2, 0.2]), ("1", [90.0 * coarser_in_time, 1.0, 0.4, 0.4])]
    datasets = [
        {"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]} for path, scale in levels
    ]
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": AXES, "datasets": datasets}]}})
        for path, side in (("0", 16), ("1", 8)):
            h.create_array(f"/{path}", shape=(3, 4, side, side), dtype="uint8", chunks=(1, 4, side, side))


def shown(session: Session) -> dict[str, list[str]]:
    """Title of a section → the labels of its rows, and its notes."""
    return {s.title: [*(row.label for row in s.rows), *s.notes] for s in session.edit.state.sections}


def test_the_first_size_is_one_of_space(open_form: Callable[..., Session], tmp_path: Path) -> None:
    image(tmp_path / "x.zarr")
    s = open_form(tmp_path / "x.zarr")
    sections = s.edit.state.sections
    assert sections[0].rows[0].fields[0].title == "pixel size in z"
    told = shown(s)
    assert told["Pixel size"] == ["z", "y", "x", "", "Level 1 follows: ×2 in y and x; ×1 in z."]
    assert told["Time step"] == ["t"]
    (row,) = next(section for section in sections if section.title == "Time step").rows
    assert [(f.title, f.text) for f in row.fields] == [("time step in t", "90"), ("unit of t", "second")]
    assert row.note == "3 time points · 270 s"
    s.edit.edit(row.fields[0].pointer, "2 min")
    s.edit.edit(sections[0].rows[0].fields[0].pointer, "0.5")
    assert s.edit.state.changes == 4, "t and z in two levels"
    assert s.edit.diff().changes[0].after == "120"
    s.edit.revert()


def test_a_level_with_fewer_time_points_follows(open_form: Callable[..., Session], tmp_path: Path) -> None:
    image(tmp_path / "x.zarr", 2)
    told = shown(open_form(tmp_path / "x.zarr"))
    assert told["Time step"][0] == "t"
    assert any(note.startswith("Level 1 states ×2 in t") for note in told["Time step"])
    assert not any(" t" in note for note in told["Pixel size"])


def test_of_several_images_too(tmp_path: Path, mailbox: Mailbox) -> None:
    for name in ("a.zarr", "b.zarr"):
        image(tmp_path / name)
    s = Session(str(tmp_path), mailbox, writable=True)
    try:
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.node is not None, SECONDS)
        s.select_several(("/a.zarr", "/b.zarr"))
        mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
        first = s.edit.state.sections[0].rows[0].fields[0]
        assert (first.title, first.text) == ("pixel size in z", "1")
        assert shown(s)["Time step"] == ["t"]
    finally:
        s.close()


@pytest.mark.needs("qt")
def test_e_leads_to_it_in_the_window(qtbot: Any, tmp_path: Path) -> None:
    from qtpy.QtCore import Qt
    from qtpy.QtWidgets import QApplication

    from qt_robot import window_on

    image(tmp_path / "x.zarr")
    window, session = window_on(qtbot, str(tmp_path / "x.zarr"), writable=True)
    wait = SECONDS * 1000
    qtbot.waitUntil(lambda: session.node is not None and bool(session.edit.state.fields), timeout=wait)
    qtbot.keyClick(window, Qt.Key.Key_E)
    editors = window.form.sections.editors
    qtbot.waitUntil(lambda: editors.get("size/1") is QApplication.focusWidget(), timeout=wait)
