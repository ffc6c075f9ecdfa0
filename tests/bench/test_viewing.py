"""The viewers' benchmarks run on correct values, and their counts stay within limits. Nothing is timed.

The figures are made by run.py on a machine that does nothing else; what gestures cost is proved in tests/app/
test_slice_costs.py, with gates.
"""

from __future__ import annotations

import urllib.request
from pathlib import Path
from typing import Any

import pytest

from bench import napari_peer, report, viewing
from bench.results import OURS, Row
from bench.settings import Settings

pytestmark = pytest.mark.timeout(300)


def told(row: Row) -> Row:
    assert row.figures.get(OURS), row
    assert report.line(row)
    assert Row.from_json(row.as_json()) == row
    return row


def test_every_engine_walks_through_the_planes_that_were_written(settings: Settings) -> None:
    settings.forms, settings.cases = ["v3 zstd"], ["z step"]
    stepped, cached = map(told, viewing.steps(settings))
    assert {"tensorstore", "zarr 3"} <= stepped.figures.keys()
    assert "tensorstore caching" in cached.figures
    assert "the mean, with the steps that decode" in stepped.note


def test_scrubbing_decodes_little_in_vain_and_panning_nothing_out_of_sight(settings: Settings) -> None:
    waits, vain = map(told, viewing.scrubbing(settings))
    assert all(seconds > 0 for seconds in waits.figures[OURS])
    assert all(count <= 2 for count in vain.figures[OURS])
    panned = told(viewing.panning(settings))
    assert panned.figures[OURS] == [0.0]
    assert all(held.holds for held in panned.held())


def test_what_is_fetched_ahead_goes_on_beside(settings: Settings) -> None:
    row = told(viewing.ahead(settings))
    assert set(row.figures) == {OURS, "nothing ahead"}


@pytest.mark.slow
def test_closing_is_measured_in_a_process_of_its_own(settings: Settings) -> None:
    row = told(viewing.closing(settings))
    assert "while open" in row.note


def test_the_requests_of_each_plugin_are_counted_alone(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "chunk").write_bytes(b"values")
    expected = {OURS: 2, napari_peer.READER: 3, napari_peer.PEER: 5}

    def asks(_: Settings, engine: str, place: str, *__: Any) -> dict[str, Any]:
        for _number in range(expected[engine]):
            urllib.request.urlopen(f"{place}/chunk", timeout=60).close()
        return {"first": 0.0}

    monkeypatch.setattr(napari_peer, "_told", asks)
    row = napari_peer.requests(settings, tmp_path / "volume")
    assert row.figures == {engine: [float(count)] for engine, count in expected.items()}


def test_a_plate_has_rows_for_seconds_computing_memory_and_requests(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The floor is the first well, which napari-ome-zarr and the dock open through the plate."""
    places: dict[str, str] = {}

    def told_of(_: Settings, engine: str, place: str, *__: Any) -> dict[str, Any]:
        if place.startswith("http"):
            urllib.request.urlopen(f"{place}/zarr.json", timeout=60).close()
        else:
            places[engine] = place
        return {"first": 2.0, "computing": 1.0, "memory": 50.0}

    monkeypatch.setattr(napari_peer, "_told", told_of)
    rows = list(map(told, napari_peer.plate(settings)))
    *measured, counted = rows
    assert [row.figures[napari_peer.FLOOR] for row in measured] == [[2.0], [1.0], [50.0]]
    assert counted.figures == {OURS: [1.0], napari_peer.PEER: [1.0]}
    assert {OURS, napari_peer.PEER} < rows[0].figures.keys()
    assert places[napari_peer.FLOOR] == f"{places[OURS]}/A/1/0"


@pytest.mark.slow
@pytest.mark.timeout(480)  # eleven times napari from its start
@pytest.mark.needs("display")
def test_both_plugins_show_the_volume_in_napari(settings: Settings) -> None:
    rows = [told(row) for row in napari_peer.measure(settings, viewing.demo(settings))]
    assert [row.case for row in rows] == [
        "napari, first picture",
        "napari, all layers",
        "napari, slider step",
        "napari, memory",
        "napari, requests",
        "napari, plate",
        "napari, plate, computing of the window's thread",
        "napari, plate, memory",
        "napari, plate, requests",
    ]
    for row in rows[-5:]:
        assert OURS in row.figures, row.unable
    assert {OURS, napari_peer.READER, napari_peer.FLOOR} <= rows[0].figures.keys()
