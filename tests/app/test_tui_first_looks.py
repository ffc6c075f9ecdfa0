"""The first look at places that are not images: one that cannot be opened, a line of times, a plate, a folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from contracts.journeys import SECONDS
from terminal_hand import Screen, explore
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.form.words import FOLDER_HAS_NONE
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.line_drawing import plotted
from zarrscope_app.tui.lines import ProblemLines, fold
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.terminal import Terminal


def test_a_place_that_cannot_be_opened_shows_its_problem(tmp_path: Path) -> None:
    async def run() -> None:
        app = Explorer(str(tmp_path / "nowhere.zarr"))
        async with app.run_test(size=(80, 24)) as pilot:

            def shown() -> bool:
                pane = app.pane
                if not isinstance(pane, ProblemLines) or app.session.state.status is not SessionStatus.FAILED:
                    return False
                return "There is no file or folder" in "".join(pane.render_line(y).text for y in range(3))

            async with asyncio.timeout(SECONDS):
                while not shown():
                    await pilot.pause(0.01)

    asyncio.run(run())


def test_nat_leaves_a_gap_in_a_line(tmp_path: Path) -> None:
    times = np.array(["2005-02-03", "NaT", "2005-02-05"], "datetime64[ns]")
    place = str(tmp_path / "times.zarr")
    with zarrscope.open(place, "w-") as hierarchy:
        hierarchy.create_array("/a", shape=(3,), dtype="datetime64[ns]", chunks=(2,))[...] = times

    async def steps(screen: Screen) -> None:
        def drawn() -> bool:
            line = screen.session.slice.line
            return line is not None and not line.loading and bool(np.isfinite(line.high).any())

        await screen.until(drawn, "the line is drawn")
        line = screen.session.slice.line
        assert line is not None
        assert np.isnan(line.low).tolist() == [False, True, False]
        assert line.low[0] == times[0].astype("i8")

    explore(f"{place}/a", steps)


def test_numbers_beside_a_line_are_whole() -> None:
    values = np.array([-9.223e18, 1.0])
    for shown in (plotted(values, values, 6, 40), plotted(values, values, 6, 40, "ascii")):
        assert "-9.223e+18" in shown[-1]
        assert {len(line) for line in shown} == {40}


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    text = "Each chunk   96.4 KiB to 98.4 KiB, half below 98.2 KiB"
    lines = [line for line, _ in fold(text, len(text) - 2)]
    assert lines[-1].strip() == "98.2 KiB"
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


@pytest.fixture
def plate(tmp_path: Path) -> str:
    """A plate of two rows and two columns, with an image in A/1 and none in the other wells."""
    url = str(tmp_path / "plate.zarr")
    with zarrscope.open(url, "w-") as h:
        names = {"rows": [{"name": "A"}, {"name": "B"}], "columns": [{"name": "1"}, {"name": "2"}]}
        wells = [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}]
        h["/"].attrs["ome"] = {"version": "0.5", "plate": {"version": "0.5", **names, "wells": wells}}
        h.create_group("/A/1", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
        labelled = {"axes": [{"name": n, "type": "space"} for n in "yx"], "datasets": [
            {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}  # fmt: skip
        h.create_group("/A/1/0", {"ome": {"version": "0.5", "multiscales": [labelled]}})
        h.create_array("/A/1/0/0", shape=(16, 16), dtype="u1", chunks=(16, 16))[...] = 200
    return url


@pytest.mark.parametrize("light", [False, True])
def test_a_plate_of_two_rows_is_whole_and_its_cursor_is_seen(plate: str, light: bool) -> None:
    async def steps(screen: Screen) -> None:
        pane = screen.app.part("overview", PlateLines)
        await screen.until(lambda: pane.state.cells and pane.size and not pane.state.loading, "thumbnails have come")
        assert pane.count() <= pane.size.height
        _, _, background, text = pane.colors
        edge = next(segment for segment in pane.render_line(2) if segment.text.strip())
        assert edge.style is not None
        assert edge.style.color is not None
        assert edge.style.color.triplet == text.rich_color.triplet
        assert abs(background.brightness - text.brightness) > 0.5

    explore(plate, steps, terminal=Terminal(light=light))


def test_a_folder_without_attributes_says_so_in_the_pane(tmp_path: Path) -> None:
    for name in "ab":
        with zarrscope.open(tmp_path / f"{name}.zarr", "w-") as h:
            h.create_group("/g")

    async def steps(screen: Screen) -> None:
        screen.session.set_tab("attributes")
        pane = screen.app.part("attributes", FormLines)

        def told() -> str:
            return " ".join("".join(pane.render_line(y).text for y in range(6)).split())

        await screen.until(lambda: pane.size and told() == FOLDER_HAS_NONE, "the sentence is whole")

    explore(str(tmp_path), steps)


def test_the_problems_name_the_key_of_a_check_until_one_was_started(plate: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.set_tab("problems")
        pane = screen.app.part("problems", ProblemLines)

        def told() -> str:
            return " ".join("".join(pane.render_line(y).text for y in range(pane.size.height)).split())

        await screen.until(lambda: words.CHECK_KEY in told(), "the key is named")
        await screen.press("ctrl+k")
        await screen.until(lambda: words.CHECK_KEY not in told() and "Checked" in told(), "the check is over")

    explore(plate, steps)
