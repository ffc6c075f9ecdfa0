"""The error of a database or an archive that another process has locked names that process, where the system tells; and
the wait for it has a limit, and can be ended."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import Unreadable
from zarrscope.runtime.interrupts import Interrupted
from zarrscope.runtime.waits import LockHolder, WriteJob, running
from zarrscope.stores import lmdb as lmdb_store
from zarrscope.stores import lmdb_writers, sqlite
from zarrscope.stores.local import lock_holders

SECONDS = 60.0
LINUX = pytest.mark.skipif(not os.path.exists("/proc/locks"), reason="only Linux names the holder of a lock")

HOLD = {
    "lmdb": "import lmdb; e = lmdb.open(place); held = e.begin(write=True)",
    "sqlite": "import sqlite3; c = sqlite3.connect(place, isolation_level=None); c.execute('BEGIN IMMEDIATE')",
    "zip": "import fcntl, os; fcntl.flock(os.open(os.path.dirname(place), os.O_RDONLY), fcntl.LOCK_EX)",
    "dbm": "import fcntl, os; fcntl.flock(os.open(place, os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)",
}
END = "; print(flush=True); import time; time.sleep(600)"
NAMES = {"lmdb": "x.lmdb", "sqlite": "x.sqlite", "zip": "the folder", "dbm": "x.dbm"}

Hold = Callable[[str, Path], subprocess.Popen[str]]


@pytest.fixture
def hold() -> Iterator[Hold]:
    begun: list[subprocess.Popen[str]] = []

    def begin(kind: str, place: Path) -> subprocess.Popen[str]:
        code = f"import sys; place = sys.argv[1]; {HOLD[kind]}{END}"
        process = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield begin
    for process in begun:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(params=[kind for kind in HOLD if kind != "dbm"])
def locked(
    request: pytest.FixtureRequest, tmp_path: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, zarrscope.Hierarchy, subprocess.Popen[str]]:
    """A hierarchy, and the process that has locked the database or archive that contains it."""
    kind: str = request.param
    if kind == "lmdb":
        pytest.importorskip("lmdb")
    for module in (lmdb_store, sqlite):
        monkeypatch.setattr(module, "WAIT", 0.3)
    monkeypatch.setattr("zarrscope.stores.local.locks.folder_lock.__wrapped__.__kwdefaults__", _soon())
    place = tmp_path / f"x.{kind}"
    h = zarrscope.open(str(place) if kind == "zip" else f"{kind}://{place}", "w-")
    h.create_group("/g", {"note": "old"})
    return kind, h, hold(kind, place)


def _soon() -> dict[str, Any]:
    from zarrscope.stores.local.locks import folder_lock

    return {**folder_lock.__wrapped__.__kwdefaults__, "timeout": 0.3}  # type: ignore[attr-defined]  # a wrapped function


def why_not_written(h: zarrscope.Hierarchy) -> str:
    with pytest.raises(Unreadable) as caught:
        h["/g"].attrs["note"] = "new"
    assert (caught.value.store, caught.value.key) == (h.url, "g/zarr.json")
    return str(caught.value)


@LINUX
def test_the_process_that_has_the_lock_is_named(
    locked: tuple[str, zarrscope.Hierarchy, subprocess.Popen[str]],
) -> None:
    kind, h, process = locked
    told = why_not_written(h)
    assert f"Another program (process {process.pid}, python" in told
    assert NAMES[kind] in told
    assert "Wait until that program is done" in told
    process.kill()
    process.wait()
    h["/g"].attrs["note"] = "new"
    assert h["/g"].attributes["note"] == "new"
    h.close()


@LINUX
def test_a_system_that_does_not_tell_names_nobody(
    locked: tuple[str, zarrscope.Hierarchy, subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, h, process = locked
    monkeypatch.setattr(lock_holders, "_text", lambda path: "")
    told = why_not_written(h)
    assert "Another program has locked" in told
    assert NAMES[kind] in told
    process.kill()
    h.close()


def test_a_dbm_file_names_its_lock(tmp_path: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    """dbm.gnu, which locks its file and does not wait, is played here: few systems have it."""
    place = tmp_path / "x.dbm"
    process = hold("dbm", place)
    h = zarrscope.open(f"dbm://{tmp_path / 'other'}", "w-")
    store: Any = h.store
    monkeypatch.setattr(store._file, "path", str(place))
    told = store._failed(OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)), "zarr.json")
    named = f" (process {process.pid}, python" if os.path.exists("/proc/locks") else ""
    assert str(told).startswith(f"Another program{named}")
    assert "has locked the file x.dbm" in str(told)
    monkeypatch.setattr(lock_holders, "_text", lambda path: "")
    assert str(store._failed(OSError(errno.EAGAIN, "busy"))).startswith("Another program has locked the file x.dbm")
    assert "damaged" in str(store._failed(OSError(errno.EINVAL, "bad")))
    h.close()


# ---------------------------------------------------------------------- LMDB waits in C, where nothing ends its wait
@pytest.fixture
def environment(tmp_path: Path) -> Iterator[zarrscope.Hierarchy]:
    pytest.importorskip("lmdb")
    h = zarrscope.open(f"lmdb://{tmp_path / 'x.lmdb'}", "w-")
    h.create_group("/g", {"note": "old"})
    yield h
    h.close()


@LINUX
def test_a_wait_for_lmdb_is_named_and_ended(tmp_path: Path, environment: zarrscope.Hierarchy, hold: Hold) -> None:
    process = hold("lmdb", tmp_path / "x.lmdb")
    job, ended = WriteJob(), list[BaseException]()

    def write() -> None:
        try:
            with running(job):
                environment["/g"].attrs["note"] = "new"
        except Interrupted as error:
            ended.append(error)

    writing = threading.Thread(target=write)
    writing.start()
    end = time.monotonic() + SECONDS
    while (wait := job.waiting) is None or wait.holder is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert wait.holder.process == process.pid
    assert wait.holder.program.startswith("python")
    assert job.give_up_lock()
    writing.join(SECONDS)
    assert len(ended) == 1
    process.kill()
    process.wait()
    environment["/g"].attrs["note"] = "newer"
    assert environment["/g"].attributes["note"] == "newer"


@LINUX
def test_where_the_mutex_is_not_known_lmdb_itself_waits(
    tmp_path: Path, environment: zarrscope.Hierarchy, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lmdb_writers._is_known()
    monkeypatch.setattr(lmdb_writers, "_MUTEX", 96)
    lmdb_writers._is_known.cache_clear()
    try:
        assert not lmdb_writers._is_known()
        process = hold("lmdb", tmp_path / "x.lmdb")
        done = threading.Event()

        def write() -> None:
            environment["/g"].attrs["note"] = "new"
            done.set()

        writing = threading.Thread(target=write)
        writing.start()
        assert not done.wait(0.3)
        process.kill()
        process.wait()
        assert done.wait(SECONDS)
        writing.join()
    finally:
        lmdb_writers._is_known.cache_clear()


@LINUX
def test_looking_at_the_mutex_keeps_the_locks_of_lmdb(tmp_path: Path, environment: zarrscope.Hierarchy) -> None:
    """Closing any descriptor of a file ends the locks that a process has on it by fcntl. Without its lock, the next
    process would take the environment for unused, and begin its table of readers anew."""
    file = str(tmp_path / "x.lmdb" / "lock.mdb")
    for number in range(3):
        environment["/g"].attrs["note"] = str(number)
    writers = environment.store._environment.writers  # type: ignore[attr-defined]  # of LMDBStore
    assert not writers.is_locked
    assert writers.holder == LockHolder()
    assert os.getpid() in lock_holders.lockers(file)
