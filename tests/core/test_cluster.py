"""Which workers of a Dask cluster take part and why others do not, with real schedulers and workers."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.hostile_http import BEHAVIOURS, hostile
from narrowing import as_array
from zarrscope import convert
from zarrscope.errors import Refused, Unreadable
from zarrscope.executors import cluster as clusters
from zarrscope.executors import cluster_worker
from zarrscope.executors.executor import Cancelled
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore

pytest.importorskip("distributed")
pytestmark = pytest.mark.timeout(240)

SAID_WITHIN = 10.0
"""The promise: seconds until an error says that no scheduler answers."""


def started(command: list[str], **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        env={**os.environ, "DASK_DISTRIBUTED__WORKER__USE_FILE_LOCKING": "False", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def ended_afterwards(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def until(happened: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Path]:
    """The scheduler file of a Dask scheduler that has no workers."""
    file = tmp_path / "scheduler.json"
    command = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with ended_afterwards(started([*command, "--scheduler-file", str(file)])):
        until(lambda: file.exists() and file.stat().st_size)
        yield file


@contextmanager
def worker(scheduler: Path, folder: Path, path: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Starts a worker and waits until the scheduler knows it; `path` comes first in its module search path."""
    address = json.loads(scheduler.read_text())["address"]
    before = _known(address)
    command = ["distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
    paths = os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH", "")]))
    process = started([*command, "--local-directory", str(folder)], PYTHONPATH=paths)
    with ended_afterwards(process):
        until(lambda: _known(address) > before)
        yield process


def _known(address: str) -> int:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return len(client.nthreads())


def stub(folder: Path, text: str) -> str:
    """A folder with another zarrscope, for the front of a module search path."""
    package = folder / "zarrscope"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    return str(folder)


def a_document(folder: Path) -> tuple[LocalStore, bytes]:
    zarrscope.open(folder, "w-")
    store = LocalStore(folder)
    value = store.get("zarr.json")
    assert value is not None
    return store, value


# ---------------------------------------------------------------------------------------------- the scheduler
@pytest.mark.alone
def test_a_port_where_something_else_listens_is_said_soon() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(Unreadable, match="No Dask scheduler answers at"):
            clusters.DaskExecutor(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - began < SAID_WITHIN


def test_a_scheduler_file_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="There is no scheduler file"):
        clusters.DaskExecutor(tmp_path / "missing.json")
    (tmp_path / "odd.json").write_text("[]")
    with pytest.raises(Unreadable, match="is not a scheduler file"):
        clusters.DaskExecutor(str(tmp_path / "odd.json"))


def test_a_scheduler_without_workers_is_said_soon(scheduler: Path, tmp_path: Path) -> None:
    store, value = a_document(tmp_path / "a")
    executor = clusters.DaskExecutor(scheduler, wait_for_workers=0.5)
    try:
        with pytest.raises(Unreadable, match="had no worker"):
            executor.check_shared(store, "zarr.json", value)
    finally:
        executor.close()


# ---------------------------------------------------------------------------------------------- workers
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ImportError('No module named zarrscope')", "cannot import zarrscope"),
        ("", "runs another zarrscope"),
    ],
    ids=["lacks", "other"],
)
def test_a_worker_without_this_zarrscope_is_named_with_the_reason(
    scheduler: Path, tmp_path: Path, text: str, said: str
) -> None:
    store, value = a_document(tmp_path / "a")
    with worker(scheduler, tmp_path / "w", stub(tmp_path / "stub", text)):
        executor = clusters.DaskExecutor(scheduler)
        try:
            with pytest.raises(Refused, match=rf"The worker tcp://127.0.0.1:\d+ {said}"):
                executor.check_shared(store, "zarr.json", value)
        finally:
            executor.close()


def test_the_reason_is_the_first_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    own = cluster_worker.identity()
    good = {"host": "a", "version": own.version, "digest": own.digest, "found": "x"}
    place = cluster_worker.ProbedKey("file:///a", "zarr.json", "x")
    assert cluster_worker.reason_against(good, place) is None
    changes: list[tuple[dict[str, Any], str]] = [
        ({"version": "0.0.9"}, "runs zarrscope 0.0.9"),
        ({"digest": "0"}, "with other code"),
        ({"failed": "Unreadable: denied"}, "cannot read this store"),
        ({"found": None}, "does not see this store"),
        ({"found": "y"}, "sees another store"),
    ]
    for change, said in changes:
        assert said in (cluster_worker.reason_against({**good, **change}, place) or "")


def test_other_code_anywhere_in_the_engine_is_another_build(tmp_path: Path) -> None:
    engine = Path(zarrscope.__file__).parent
    shutil.copytree(engine, tmp_path / "zarrscope", ignore=shutil.ignore_patterns("__pycache__"))
    code = f"from {cluster_worker.identity.__module__} import identity; print(*identity())"

    def told() -> list[str]:
        made = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        return made.stdout.split()

    assert told() == [*cluster_worker.identity()]
    with (tmp_path / "zarrscope/codecs/registry.py").open("a") as file:
        file.write("# another\n")
    version, digest = told()
    assert version == cluster_worker.identity().version
    assert digest != cluster_worker.identity().digest


def test_who_does_not_find_the_document_takes_no_part(scheduler: Path, tmp_path: Path) -> None:
    store, value = a_document(tmp_path / "a")
    with worker(scheduler, tmp_path / "w"):
        executor = clusters.DaskExecutor(scheduler)
        try:
            executor.check_shared(store, "zarr.json", value)
            for key, found, said in [
                ("other", value, "does not see this store"),
                ("zarr.json", b"{}", "another store"),
            ]:
                with pytest.raises(Refused, match=said):
                    executor.check_shared(store, key, found)
        finally:
            executor.close()


def test_who_joins_later_and_may_not_work_is_named_and_left_out(
    scheduler: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, value = a_document(tmp_path / "a")
    found: list[int] = []
    joined = threading.Event()
    with worker(scheduler, tmp_path / "w"):
        executor = clusters.DaskExecutor(scheduler)
        try:
            executor.check_shared(store, "zarr.json", value)

            def pieces() -> Iterator[int]:
                yield from range(3)
                with worker(scheduler, tmp_path / "v", stub(tmp_path / "stub", "raise ImportError('none here')")):
                    until(lambda: executor.threads() and executor._unfit)
                    joined.set()
                    yield from range(3, 6)

            with caplog.at_level(logging.WARNING, "zarrscope.executors.cluster"):
                executor.run(abs, pieces(), found.append, piece_bytes=1 << 30)
        finally:
            executor.close()
    assert joined.is_set()
    assert sorted(found) == [*range(6)]
    assert "cannot import zarrscope (none here). It takes no part" in caplog.text


def test_a_frozen_worker_is_told_and_takes_no_part(
    scheduler: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 1.0)
    store, value = a_document(tmp_path / "a")
    with worker(scheduler, tmp_path / "w") as frozen:
        frozen.send_signal(signal.SIGSTOP)
        executor = clusters.DaskExecutor(scheduler, wait_for_workers=2.0)
        try:
            with pytest.raises(Unreadable, match="No worker of the cluster answered"):
                executor.check_shared(store, "zarr.json", value)
        finally:
            executor.close()
    assert "did not answer within" in caplog.text


def test_a_worker_that_freezes_at_work_is_told(
    scheduler: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "SILENT_SECONDS", 2.0)
    monkeypatch.setattr(clusters, "HALT_SECONDS", 1.0)
    with worker(scheduler, tmp_path / "w") as frozen:
        executor = clusters.DaskExecutor(scheduler)
        executor.threads()
        frozen.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(Cancelled):
                executor.run(time.sleep, [0.01] * 4, lambda _: None, lambda: "not been heard of" in caplog.text)
        finally:
            executor.close()
    assert "it may still write the chunks that it began" in caplog.text


def _append(piece: tuple[str, int]) -> None:
    path, number = piece
    time.sleep(0.1)
    with open(path, "a") as file:
        file.write(f"{number}\n")


def test_nothing_is_written_once_a_stopped_job_has_returned(scheduler: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stopping = threading.Event()
    here = Path(__file__).parent  # the modules that this file imports lie in the folder above
    with worker(scheduler, tmp_path / "w", os.pathsep.join([str(here), str(here.parent)])):
        executor = clusters.DaskExecutor(scheduler)
        try:
            with pytest.raises(Cancelled):
                executor.run(_append, [(str(out), n) for n in range(200)], lambda _: stopping.set(), stopping.is_set, 1)
            written = out.read_bytes()
            assert written.count(b"\n") < 200
            time.sleep(1)  # a task that still runs would write ten lines
            assert out.read_bytes() == written
        finally:
            executor.close()


def test_the_command_line_takes_a_scheduler_file(scheduler: Path, tmp_path: Path) -> None:
    source = zarrscope.open(tmp_path / "old", "w-", dialect="v2")
    source.create_array("/a", shape=(64, 64), dtype="u2", chunks=(16, 16))[...] = 7
    command = ["zarrscope_app", "convert", str(tmp_path / "old"), str(tmp_path / "new"), "--to", "v3"]
    with worker(scheduler, tmp_path / "w"):
        done = subprocess.run(
            [sys.executable, "-m", *command, "--scheduler-file", str(scheduler)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert as_array(zarrscope.open(tmp_path / "new")["/a"])[...].sum() == 7 * 64 * 64


def test_what_workers_took_as_missing_is_counted(scheduler: Path, tmp_path: Path) -> None:
    memory = MemoryStore()
    sparse = zarrscope.open(memory, "w-").create_array("/a", shape=(4, 4), dtype="u2", chunks=(2, 2), codecs=["gzip"])
    sparse[:2, :2] = 7
    values = {key: memory.get(key) or b"" for key in memory.list()}
    denied = BEHAVIOURS["denied alike"]
    with hostile(denied, values, lambda key: key not in values) as server, worker(scheduler, tmp_path / "w"):
        source = zarrscope.open(server.url, storage_options={"missing_is_fill": True, "attempts": 1})
        plan = convert.plan(source, str(tmp_path / "new"), "v2", path="/a", chunks=(4, 4))
        told = convert.run(plan, scheduler=scheduler)
    assert told.assumed
