"""Display settings of layers are saved in the metadata or in a copied view; closing asks about unsaved ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qtpy.QtGui import QGuiApplication

import zarrscope
from napari_hand import Hand
from narrowing import not_none
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.presenters.form.view_models import Closing
from zarrscope_app.presenters.layers import shown_layers
from zarrscope_app.presenters.session.state_text import decode_view, encode_view


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A c z y x image of two channels, of which the metadata describe one."""
    path = tmp_path / "channels.zarr"
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "zyx")]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 0.5, 0.5]}]}]
    window = {"start": 1, "end": 900, "min": 0, "max": 1000}
    channel = {"label": "nuclei", "color": "00ff00", "window": window, "active": True, "own": "kept"}
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "omero": {"channels": [channel]}}
    with zarrscope.open(str(path), "w-") as h:
        h["/"].attrs["ome"] = ome
        values = np.arange(2 * 4 * 32 * 32, dtype="u2").reshape(2, 4, 32, 32)
        h.create_array("/0", shape=values.shape, dtype="u2", chunks=(1, 1, 32, 32))[...] = values
    return path


def channels(place: Path) -> Any:
    with zarrscope.open(str(place)) as h:
        return h["/"].attributes["ome"]["omero"]["channels"]


def test_contrast_and_colours_go_into_the_form_and_are_saved_there(hand: Hand, place: Path) -> None:
    hand.menu("take-styles")
    assert hand.dock.facts.text() == shown_layers.NO_LAYERS
    hand.add(str(place))
    first, second = hand.viewer.layers
    first.contrast_limits = (10.3, 799.8)  # as the slider of the viewer gives them
    second.colormap = "magenta"
    second.visible = False
    document = place / "zarr.json"
    before = document.read_bytes()
    hand.menu("take-styles")
    session: Any = hand.dock.session
    hand.wait(lambda: session.edit.state.can_save and "FF00FF" in hand.dock.form.diff.text.toPlainText())
    diff = hand.dock.form.diff.text.toPlainText()
    assert '"start": 10' in diff
    assert "00ff00" not in [line.strip("+ ") for line in diff.splitlines() if line.startswith("+")]
    assert document.read_bytes() == before, "nothing is written before somebody saves"
    session.edit.undo()
    assert not session.edit.state.changes, "one act is one undo"
    session.edit.redo()
    hand.dock._asked("save")
    hand.wait(lambda: not session.edit.state.changes)
    nuclei, other = channels(place)
    assert nuclei["window"] == {"start": 10, "end": 800, "min": 0, "max": 1000}
    assert (nuclei["color"], nuclei["own"]) == ("00ff00", "kept")
    assert (other["color"], other["active"]) == ("FF00FF", False)


def test_a_view_is_copied_and_opened_again(hand: Hand, place: Path) -> None:
    hand.add(str(place))
    first, second = hand.viewer.layers
    first.contrast_limits, first.gamma, second.visible = (10, 800), 1.5, False
    hand.viewer.dims.set_current_step(0, 3)
    hand.menu("copy-view")
    assert hand.dock.facts.text() == LABELS["view-copied"]
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    text = clipboard.text()
    told = decode_view(text)["slice"]
    assert told["index"] == {"c": 0, "z": 3}
    assert told["show"] == ["y", "x"]
    (red, _) = told["channels"]
    assert (red["lo"], red["hi"], red["gamma"], red["visible"]) == (10, 800, 1.5, True)
    assert told["channels"][1]["visible"] is False
    hand.viewer.dims.order = (1, 0, 2)
    assert decode_view(hand.dock.layer_menu.view_text())["slice"]["show"] == ["z", "x"]
    hand.viewer.layers.clear()
    hand.viewer.dims.order = (0, 1, 2)
    hand.dock.open(text)
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock._waiting)
    first, second = hand.viewer.layers
    assert (list(first.contrast_limits), first.gamma, second.visible) == ([10, 800], 1.5, False)
    assert hand.viewer.dims.current_step[0] == 3
    assert decode_view(first.metadata["zarrscope"]["state"])["slice"]["index"]["z"] == 3
    hand.dock.open(text[:-7])
    assert "was cut or changed" in hand.dock.facts.text()


def told_part(hand: Hand) -> Any:
    return decode_view(hand.dock.layer_menu.view_text())["slice"].get("rect")


@pytest.mark.parametrize(
    ("show", "asked"),
    [(["y", "x"], [8, 4, 24, 20]), (["z", "x"], [1, 10, 3, 14]), (["x", "y"], [11, 3, 21, 31])],
)
def test_the_part_of_a_view_is_shown_and_copied(hand: Hand, place: Path, show: list[str], asked: list[float]) -> None:
    view = {"url": str(place), "path": "/", "slice": {"show": show, "index": {"z": 2}, "rect": asked}}
    hand.dock.open(encode_view(view))
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock.adding)
    hand.wait(lambda: not hand.dock.planes.first_fit.active)  # napari has laid out its panels
    top, left, bottom, right = told = told_part(hand)
    assert top <= asked[0]
    assert left <= asked[1]
    assert bottom >= asked[2]
    assert right >= asked[3]
    fits = [abs(at - wanted) < 0.01 for at, wanted in zip(told, asked, strict=True)]
    assert (fits[0] and fits[2]) or (fits[1] and fits[3]), "the part fills the canvas in one direction"
    text = hand.dock.layer_menu.view_text()
    hand.viewer.reset_view()
    assert told_part(hand) is None, "the whole plane is on show"
    hand.viewer.layers.clear()
    hand.dock.open(text)
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock.adding)
    assert told_part(hand) == pytest.approx(told, abs=0.02)


@pytest.mark.parametrize("rect", [[0, 0, 32, 32], [5, 5, 5, 9], [9, 5, 2, 9], [0, 0, 1e300, 9e9], [1, 2, 3], "part"])
def test_a_part_that_is_none_leaves_the_whole_plane(hand: Hand, place: Path, rect: Any) -> None:
    view = {"url": str(place), "path": "/", "slice": {"rect": rect}}
    hand.dock.open(encode_view(view))
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock.adding)
    assert told_part(hand) is None


def with_unsaved_name(hand: Hand, place: Path) -> Any:
    """The session of the dock, opened for writing, with a name that is not saved yet."""
    hand.add(str(place))
    session: Any = hand.dock.session
    session.set_writable(True)
    hand.wait(lambda: session.state.writable and session.edit.state.ways[0] == "image")
    session.edit.edit("name", "other")
    hand.wait(lambda: session.edit.unsaved == 1)
    return session


@pytest.mark.parametrize("answer", ["cancel", "discard", "save"])
def test_the_dock_asks_before_it_closes_over_changes(
    answer: str, hand: Hand, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Question:
        def __init__(self, question: Closing, parent: Any) -> None:
            asked.append(question.text)
            self.answer = answer
            assert question.can_answer
            assert not question.opens

        def exec(self) -> None:
            """Answers the question at once."""

    monkeypatch.setattr("zarrscope_app.napari.closing.CloseQuestion", Question)
    session = with_unsaved_name(hand, place)
    frame: Any = hand.dock.parent()
    while not hasattr(frame, "destroyOnClose"):
        frame = frame.parent()
    frame.destroyOnClose()
    assert len(asked) == 1
    assert '"other"' in asked[0]
    if answer == "cancel":
        assert hand.dock.session is session
    else:
        hand.wait(lambda: hand.dock.session is None)
    with zarrscope.open(str(place)) as h:
        name = h["/"].attributes["ome"]["multiscales"][0].get("name")
    assert name == ("other" if answer == "save" else None)


def test_the_dock_and_the_window_of_napari_ask_before_they_close_over_running_jobs(
    hand: Hand, place: Path, monkeypatch: pytest.MonkeyPatch, held: None
) -> None:
    asked: list[str] = []

    class Question:
        stops = False

        def __init__(self, question: str, parent: Any) -> None:
            asked.append(question)

        def exec(self) -> None:
            """Answers the question at once."""

        def deleteLater(self) -> None:
            """There is no widget."""

    monkeypatch.setattr("zarrscope_app.qt.closing.JobsQuestion", Question)
    hand.add(str(place))
    session = not_none(hand.dock.session)
    session.export.begin()
    session.export.choose("whole", "npy", str(place.parent / "out.npy"))
    hand.wait(lambda: session.export.state.ready)
    session.export.run()
    hand.wait(lambda: any(job.progress is not None for job in session.jobs.running))
    frame: Any = hand.dock.parent()
    while not hasattr(frame, "destroyOnClose"):
        frame = frame.parent()
    window = hand.viewer.window._qt_window
    for leave in (frame.destroyOnClose, lambda: hand.in_loop(window.close), hand.dock.close_place):
        leave()
        assert hand.dock.session is session
        assert session.jobs.running
    assert ["Export out.npy" in each for each in asked] == [True] * 3
    Question.stops = True
    hand.dock.close_place()
    assert hand.dock.session is None
    hand.wait(lambda: not session.jobs._at_work)
    assert not (place.parent / "out.npy").exists()


def test_the_menus_of_napari_ask_before_they_close_the_window_over_changes(
    hand: Hand, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """*File ▸ Close Window* calls the window's `close`, as a script does, but while the event loop runs."""
    asked: list[str] = []

    class Question:
        answer = "cancel"

        def __init__(self, question: Closing, parent: Any) -> None:
            asked.append(question.text)

        def exec(self) -> None:
            """Answers the question at once."""

    monkeypatch.setattr("zarrscope_app.napari.closing.CloseQuestion", Question)
    session = with_unsaved_name(hand, place)
    window = hand.viewer.window._qt_window
    hand.in_loop(window.close)
    assert len(asked) == 1
    assert window.isVisible()
    assert hand.dock.session is session
    not_none(session).discard_edits()
