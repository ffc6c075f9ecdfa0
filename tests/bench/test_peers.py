"""Every benchmark runs once on a small volume, and every engine reads the values that were written. Nothing is timed.

The figures themselves are made by run.py, on a machine that does nothing else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import engines, listing, processes, reads, remote, report, run, stores, writes
from bench.latency import Slow
from bench.peers import Peer, Peers, Unable, WrongValues
from bench.results import LIMIT, OURS, Goal, Row, Spread
from bench.settings import Settings
from bench.volumes import FORMS, Volumes

pytestmark = pytest.mark.timeout(300)


def done(row: Row) -> Row:
    """A complete row. An engine that read wrong values would have raised before."""
    assert OURS not in row.unable, row
    assert all(len(figures) == 1 for figures in row.figures.values())
    assert report.line(row)
    assert Row.from_json(row.as_json()) == row
    return row


# ------------------------------------------------------------------------------------------------- every group
@pytest.mark.slow
def test_every_form_is_read_by_whoever_knows_its_dialect(settings: Settings) -> None:
    settings.cases = ["full", "region"]
    rows = [done(row) for group in (reads.raw, reads.shards, reads.tiny) for row in group(settings)]
    assert sorted(row.form for row in rows) == sorted([*FORMS, *FORMS])
    for row in rows:
        assert row.case != "full" or LIMIT in row.figures
        assert FORMS[row.form].dialect != "v3" or {"tensorstore", "zarr 3"} <= row.figures.keys()


def test_every_selection_is_read(settings: Settings) -> None:
    settings.forms = ["v3 zstd 64^3"]
    assert [done(row).case for row in reads.raw(settings)] == list(engines.CASES)


@pytest.mark.slow
def test_processes_start_read_and_tell_their_memory(settings: Settings) -> None:
    settings.forms = ["v3 shards"]
    (row,) = (done(row) for row in processes.cold(settings))
    assert {"tensorstore", "zarr 3"} <= row.figures.keys()
    for row in processes.memory(settings):
        assert all(figures[0] > 0 for figures in done(row).figures.values())
    assert [done(row).case for row in processes.warm(settings)] == ["open again"]


def test_children_are_listed_and_requests_counted(settings: Settings) -> None:
    rows = {row.key[1:]: done(row) for row in listing.measure(settings)}
    assert len(rows) == len(listing.READERS) + len(listing.DRAFTS)
    for (case, _), row in rows.items():
        if "requests" in case:
            assert all(held.holds for held in row.held()), row


@pytest.mark.slow
def test_what_everybody_writes_another_reads(settings: Settings) -> None:
    rows = [done(row) for row in writes.measure(settings)]
    assert [row.form for row in rows] == list(writes.FORMS)
    assert all({"tensorstore", "zarr 3"} <= row.figures.keys() for row in rows)


def test_planes_come_over_http(settings: Settings) -> None:
    settings.cases = ["30 ms"]
    rows = [done(row) for row in remote.planes(settings)]
    assert [row.form for row in rows] == list(remote.PLANES)


def test_a_first_picture_comes_over_http(settings: Settings) -> None:
    assert [done(row).form for row in remote.pictures(settings)] == list(remote.PICTURES)


@pytest.mark.slow
def test_every_kind_of_store_is_read_and_a_bucket_written(settings: Settings) -> None:
    settings.forms = ["v3 zstd"]
    rows = [done(row) for name in ("s3", "s3 write", "zip") for row in stores.GROUPS[name](settings)]
    assert {row.case.partition(",")[0] for row in rows} == {
        "open over S3", "plane over S3", "open and plane over S3", "write 128 chunks to S3",
        "plane of a .zip over HTTP",
    }  # fmt: skip
    assert all("tensorstore, S3" in row.figures for row in rows if "S3" in row.case)


@pytest.mark.slow
def test_databases_and_long_listings_are_read(settings: Settings) -> None:
    rows = [done(row) for name in ("databases", "long listing") for row in stores.GROUPS[name](settings)]
    assert len(rows) == 7


@pytest.mark.slow
@pytest.mark.needs("sshd")
def test_another_machine_is_read_by_three_ways(settings: Settings) -> None:
    assert [len(done(row).figures) for row in stores.GROUPS["ssh"](settings)] == [3, 3]


# ------------------------------------------------------------------------------------------------- the peers
@pytest.mark.parametrize("name", ["tensorstore", "zarrs", "zarr 3", LIMIT])
def test_a_peer_says_what_it_is(name: str) -> None:
    _answers(name)


@pytest.mark.needs("zarr2")
def test_zarr_2_says_what_it_is() -> None:
    assert _answers("zarr 2.18")["zarr"].startswith("2.18")


def _answers(name: str) -> dict[str, str]:
    peer = Peer(name)
    try:
        with pytest.raises(Unable, match="nowhere"):
            peer.ask("nowhere")
        return peer.versions
    finally:
        peer.close()


def test_other_values_are_noticed(folder: Path) -> None:
    form = FORMS["v3 raw 64^3"]
    volumes = Volumes(folder / "other", (64, 64, 64))
    volumes.need(form)
    changed = np.load(volumes.picture)
    changed[3, 5, 7] += 1
    np.save(volumes.picture, changed)
    with Peers([OURS]) as peers, pytest.raises(WrongValues, match="zarrscope, v3 raw"):
        reads.measure(peers, volumes, "raw", form, "full", 1)


def test_the_server_answers_in_waves(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from urllib.request import Request, urlopen

    (tmp_path / "value").write_bytes(bytes(range(100)))

    def part(span: str) -> bytes:
        with urlopen(Request(server.url + "/value", headers={"Range": f"bytes={span}"}), timeout=20) as answer:
            return bytes(answer.read())

    with Slow(tmp_path) as server, ThreadPoolExecutor(3) as threads:
        server.in_waves()
        assert list(threads.map(part, ["0-3", "90-", "-2"])) == [bytes(range(4)), bytes(range(90, 100)), b"bc"]
        assert part("5-5") == b"\x05"
        counts = server.counts()
    assert [len(wave) for wave in counts["waves"]] == [3, 1]
    assert counts["bytes"] == 4 + 10 + 2 + 1


# ------------------------------------------------------------------------------------------------- the report
def row(ours: list[float], goals: tuple[Goal, ...], **peers: list[float]) -> Row:
    return Row("raw", "full", "v3 zstd 64^3", {OURS: ours, **peers}, goals, date="2026-11-21")


def test_a_goal_is_judged_by_the_median_of_the_rounds() -> None:
    goals = (Goal(0.75), Goal(1.0, "quick"), Goal(0.4, "slow"), Goal(1.15, LIMIT), Goal(2.0, "figure"))
    found = row([1.0, 2.0, 9.0], goals, quick=[2.0, 4.0, 6.0], slow=[4.0, 4.0, 4.0])
    first, second, third, bound = found.held()
    assert (first.peer, first.spread, first.holds) == ("quick", Spread(0.5, 0.5, 1.0), True)
    assert (second.peer, second.holds) == ("quick", True)
    assert (third.peer, third.spread.median, third.holds) == ("slow", 0.5, False)
    assert (bound.peer, bound.spread.median, bound.holds) == (None, 2.0, True)  # no engine measured the limit


def test_a_new_row_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    old, new = row([1.0], ()), row([2.0], ())
    other = Row("tiny", "full", "x", {OURS: [1.0]})
    path = tmp_path / "results.json"
    report.store(path, {"cores": 2}, report.merged([old, other], [new]))
    assert report.load(path) == ({"cores": 2}, [new, other])


def test_the_table_shows_what_misses() -> None:
    about = {**report.about_machine(), "versions": {"tensorstore": {"tensorstore": "0.1"}}}
    held = row([1.0], (Goal(0.75), Goal(1.15, LIMIT)), tensorstore=[2.0], limit=[0.5])
    missed = Row("write", "write full", "v3", {OURS: [3.0], "zarrs": [2.0]}, (Goal(1.0),))
    text = report.table(about, [held, missed])
    assert "1 of 3 goals hold" in text
    assert "0.50 (0.50–0.50) T ≤ 0.75" in text
    assert "**2.00 ≤ 1.15**" in text
    assert "**1.50 (1.50–1.50) of zarrs ≤ 1**" in text
    assert "tensorstore 0.1" in text


def test_groups_have_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["run.py", "--list"])
    assert run.main() == 0
    assert {"raw", "shards", "tiny", "cold", "listing", "http"} <= set(capsys.readouterr().out.split())
    monkeypatch.setattr("sys.argv", ["run.py", "--only", "nothing"])
    with pytest.raises(SystemExit):
        run.main()


def test_figures_of_clusters_are_rows(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cluster.measure", lambda size, rounds: {"statistics": {1: 2.0, 2: 1.0}})
    (row,) = run.cluster(settings)
    assert done(row).ratio("one worker").median == 0.5


def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = Volumes(tmp_path / "a", (64, 32, 32)), Volumes(tmp_path / "b", (64, 32, 32))
    assert first.picture.read_bytes() == second.picture.read_bytes()
