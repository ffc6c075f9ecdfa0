"""The first look at places that are not images: one that cannot be opened, and a line of times."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

import zarrscope
from contracts.journeys import SECONDS
from terminal_hand import Screen, explore
from zarrscope_app.presenters import SessionStatus
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.line_drawing import plotted
from zarrscope_app.tui.lines import ProblemLines, fold


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
