"""Conversion by the workers of a Dask cluster: two processes on this machine that share a folder."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.convert import blocks
from zarrscope.convert.downsampling import downsample
from zarrscope.errors import BadChunk, Conflict, Refused, Unreadable
from zarrscope.executors import cluster as clusters
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_images

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.timeout(240)

VALUES = np.random.default_rng(4).integers(0, 65535, (24, 300, 310)).astype("u2")


@contextmanager
def two_workers(folder: Path) -> Iterator[Any]:
    import dask

    with (
        dask.config.set({"distributed.worker.use-file-locking": False}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=str(folder),
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with two_workers(tmp_path_factory.mktemp("workers")) as made:
        yield made


def source_at(place: Path, dialect: str = "v2") -> zarrscope.Hierarchy:
    made = zarrscope.open(place, "w-", dialect=dialect)
    array = made.create_array("/a", shape=VALUES.shape, dtype="u2", chunks=(8, 64, 64), dimension_names=["z", "y", "x"])
    array[...] = VALUES
    made.create_array("/sparse", shape=(100,), dtype="f4", chunks=(10,))[35:52] = 1
    return zarrscope.open(place)


def values_equal(place: Path) -> None:
    made = zarrscope.open(place)
    assert np.array_equal(as_array(made["/a"])[...], VALUES)
    assert as_array(made["/sparse"])[...].sum() == 17
    assert not [f for f in check(made) if f.severity != "information"]


def test_chunks_are_copied_and_encoded_by_workers(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    seen: list[convert.ConversionProgress] = []
    ways: dict[str, dict[str, Any]] = {"copied": {}, "encoded": {"chunks": (4, 50, 50), "shards": (8, 100, 100)}}
    for name, options in ways.items():
        plan = convert.plan(source, str(tmp_path / name), "v3", **options)
        result = convert.run(plan, scheduler=cluster.scheduler_address, progress=seen.append)
        assert result.verified
        assert getattr(result, name) > 0
        assert result.copied + result.encoded + result.blank == plan.chunks
        values_equal(tmp_path / name)
    assert {progress.doing for progress in seen} == {"converting", "verifying"}
    assert seen[-1].done == seen[-1].total


def test_levels_are_built_by_workers_as_by_threads(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    places = {}
    for name, scheduler in {"threads": None, "cluster": cluster.scheduler_address}.items():
        plan = convert.plan(
            source, str(tmp_path / name), "v3", path="/a", pyramid=convert.Pyramid(levels=3),
            chunks=(4, 32, 32), shards=(8, 64, 64),
        )  # fmt: skip
        convert.run(plan, scheduler=scheduler)
        files = (tmp_path / name).rglob("*")
        places[name] = {str(f.relative_to(tmp_path / name)): f.read_bytes() for f in files if f.is_file()}
    assert places["threads"] == places["cluster"]
    (image,) = find_images(zarrscope.open(tmp_path / "cluster").root)
    assert np.array_equal(image.levels[1].array[...], downsample(VALUES, (2, 2, 2), "mean"))


def test_levels_are_rebuilt_in_place_by_workers(cluster: Any, tmp_path: Path) -> None:
    plan = convert.plan(source_at(tmp_path / "old"), str(tmp_path / "i"), "v3", path="/a", pyramid=convert.Pyramid(2))
    convert.run(plan)
    image = zarrscope.open(tmp_path / "i", "r+")
    convert.rebuild(convert.plan_rebuild(image, convert.Pyramid(3)), scheduler=cluster.scheduler_address)
    (found,) = find_images(zarrscope.open(tmp_path / "i").root)
    assert np.array_equal(found.levels[1].array[...], downsample(VALUES, (2, 2, 2), "mean"))
    assert len(found.levels) == 3


def test_no_two_regions_share_a_shard(tmp_path: Path) -> None:
    plan = convert.plan(
        source_at(tmp_path / "old"), str(tmp_path / "new"), "v3", chunks=(4, 50, 50), shards=(8, 100, 100)
    )
    (node, *_) = [node for node in plan.nodes if node.target == "/a"]
    assert node.array is not None
    assert node.metadata is not None
    keys = [
        index
        for region in blocks.regions(node.metadata, blocks.region_shape(node.array.chunks, node.metadata))
        for index in np.ndindex(*map(len, region))
        for index in [tuple(r[i] for r, i in zip(region, index, strict=True))]
    ]
    assert len(keys) == len(set(keys)) == node.chunks


def test_one_background_of_as_many_threads_as_the_worker_has(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    executor = clusters.DaskExecutor(cluster.scheduler_address)
    found: list[Any] = []
    try:
        executor.run(_background, [source.url] * 40, found.append, piece_bytes=1 << 30)
    finally:
        executor.close()
    assert len(found) == 40
    by_process = {process: {identity for p, identity, _ in found if p == process} for process, _, _ in found}
    assert os.getpid() not in by_process
    assert all(len(identities) == 1 for identities in by_process.values())
    assert {threads for _, _, threads in found} == {1}


def _threads() -> int:
    from zarrscope.runtime.threads import shared

    return shared().decode_threads


def _background(url: str) -> tuple[int, int, int]:
    from zarrscope.runtime.threads import shared

    as_array(zarrscope.open(url)["/a"])[0]
    return os.getpid(), id(shared()), shared().decode_threads


def test_arrays_go_to_workers_and_come_back(cluster: Any, tmp_path: Path) -> None:
    import dask.array

    array = as_array(source_at(tmp_path / "old")["/a"])
    assert pickle.loads(pickle.dumps(array)).metadata == array.metadata
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        lazy = dask.array.from_array(array, chunks=array.chunks)
        total = client.compute(lazy.astype("u8").sum()).result(timeout=60)
        threads = client.run(_threads)
    assert total == VALUES.sum(dtype="u8")
    assert set(threads.values()) == {1}, "a worker of one thread keeps to one core"
    from zarrscope.runtime.cpu import cores
    from zarrscope.runtime.threads import shared

    assert shared().decode_threads == cores()


def test_stopped_and_gone_on_with_by_workers_or_threads(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    plan = convert.plan(source, str(tmp_path / "new"), "v3", codecs=["gzip"], chunks=(6, 60, 60))
    seen: list[convert.ConversionProgress] = []
    address = cluster.scheduler_address
    stopped = convert.run(plan, scheduler=address, progress=seen.append, cancelled=lambda: len(seen) > 3)
    assert stopped.cancelled
    files = set((tmp_path / "new").rglob("*"))
    assert not (tmp_path / "new" / "zarr.json").exists()
    assert set((tmp_path / "new").rglob("*")) == files  # no worker writes any more
    again = convert.run(plan)
    assert again.kept > 0
    assert again.verified
    values_equal(tmp_path / "new")


@pytest.mark.parametrize("options", [{}, {"shards": (8, 128, 128)}])
def test_a_check_by_workers_finds_what_threads_find(cluster: Any, tmp_path: Path, options: Any) -> None:
    made = zarrscope.open(tmp_path / "v", "w-")
    for name in "ab":
        array = made.create_array(
            f"/{name}", shape=VALUES.shape, dtype="u2", chunks=(8, 64, 64) if options else (8, 32, 32), **options
        )
        array[...] = VALUES
    for name, index, value in (("a", (1, 1, 1), b"short"), ("b", (0, 0, 0), b""), ("b", (2, 2, 2), b"x" * 90)):
        made.store.set(as_array(made[f"/{name}"]).metadata.keys.key(index), value)
    made.store.erase(as_array(made["/a"]).metadata.keys.key((0, 1, 0)))
    source = zarrscope.open(tmp_path / "v")
    wanted = list(check(source))
    assert len({f.key for f in wanted}) == 4
    assert list(check(source, scheduler=cluster.scheduler_address)) == wanted
    assert not [f for f in check(source, scheduler=cluster.scheduler_address, cancelled=lambda: True) if f.key]
    with pytest.raises(Refused, match="memory"):
        list(check(zarrscope.open(MemoryStore(), "w-"), scheduler=cluster.scheduler_address))


def test_errors_of_workers_are_our_own(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    key = as_array(source["/a"]).metadata.keys.key((1, 1, 1))
    (tmp_path / "old" / key).write_bytes(b"damaged")
    plan = convert.plan(source, str(tmp_path / "new"), "v3", codecs=["gzip"])
    with pytest.raises(BadChunk) as caught:
        convert.run(plan, scheduler=cluster.scheduler_address)
    assert (caught.value.index, caught.value.key) == ((1, 1, 1), key)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(Conflict):
        convert.run(convert.plan(source, str(tmp_path / "full"), "v3"), scheduler=cluster.scheduler_address)


def test_what_workers_cannot_see_is_refused_and_leaves_nothing(cluster: Any, tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    store = MemoryStore()
    with pytest.raises(Refused, match="memory"):
        convert.run(convert.plan(source, store, "v3"), scheduler=cluster.scheduler_address)
    assert not list(store.list())


def test_where_no_scheduler_answers_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No Dask scheduler answers"):
        clusters.DaskExecutor("tcp://127.0.0.1:9")


@pytest.mark.slow
def test_a_cluster_that_goes_away_is_told_and_threads_go_on(tmp_path: Path) -> None:
    source = source_at(tmp_path / "old")
    plan = convert.plan(source, str(tmp_path / "new"), "v3", codecs=["gzip"], chunks=(3, 40, 40))
    closed: list[int] = []
    with two_workers(tmp_path / "workers") as cluster:

        def close(progress: convert.ConversionProgress) -> None:
            if progress.done > progress.total // 3 and not closed:
                closed.append(progress.done)
                cluster.close()

        with pytest.raises(Unreadable, match="again"):
            convert.run(plan, scheduler=cluster.scheduler_address, progress=close)
    assert not (tmp_path / "new" / "zarr.json").exists()
    result = convert.run(plan)
    assert result.kept >= closed[0]
    assert result.encoded > 0
    values_equal(tmp_path / "new")


@pytest.mark.slow
def test_workers_that_are_killed_cost_nothing(tmp_path: Path) -> None:
    """One worker after the other is killed during its work, until none is left; their nannies start new ones."""
    source = source_at(tmp_path / "old")
    plan = convert.plan(source, str(tmp_path / "new"), "v3", codecs=["gzip"], chunks=(3, 20, 20), shards=(6, 40, 40))
    killed: list[int] = []

    def murderous(progress: convert.ConversionProgress) -> None:
        if progress.done > (len(killed) + 1) * progress.total // 5 and len(killed) < 3:
            alive = [nanny.pid for nanny in its.workers.values() if nanny.pid not in (None, *killed)]
            for victim in alive[:1]:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

    with two_workers(tmp_path / "workers") as its:
        result = convert.run(plan, scheduler=its.scheduler_address, progress=murderous)
    assert len(killed) >= 2
    assert result.verified
    values_equal(tmp_path / "new")
