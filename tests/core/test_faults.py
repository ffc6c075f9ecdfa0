"""A fault between a store and its reader becomes an error that names it, never a wrong value or an absent one.

Each kind of store in the registry is tried with the faults that can happen to it: a network that is cut, refused or
silent; a service that is busy, denies, cuts short or answers something else; a disk that is full; somebody else who
writes or erases meanwhile. When the fault is over, the same store goes on.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import servers
from contracts.hostile_http import hostile
from contracts.places import PLACES, SERVICES, WRITABLE, Place, Services
from contracts.service_answers import (
    ABSENT_ANSWER,
    ANSWERS,
    CONTAINERS,
    SAME,
    answered,
    bucket,
    container,
    settings_for,
    slow_part,
    stored,
    well,
)
from contracts.wire import eventually
from narrowing import not_none
from zarrscope.errors import Conflict, Denied, NotFound, Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address import open_store
from zarrscope.stores.registry import STORES
from zarrscope.stores.ssh import client

VALUES = {"zarr.json": b'{"zarr_format":3,"node_type":"group"}', "a/b": b"0123456789", "a/c": bytes(range(256)) * 40}
WIRED = [name for name in SERVICES if name != "ssh"]  # whose connection is a process


@pytest.fixture
def place(request: pytest.FixtureRequest, services: Services, tmp_path: Path) -> Iterator[Place]:
    make: AbstractContextManager[Place] = PLACES[request.param](tmp_path, services, VALUES)
    with make as found:
        yield found


def of(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("place", kinds, indirect=True)


def cable(place: Place) -> Any:
    if place.wire is None:
        pytest.skip("no server is installed that a wire could lead to: packaging/check --servers --system installs it")
    return place.wire


def test_every_kind_of_store_has_a_place() -> None:
    assert {*PLACES} == {*STORES}


# ---------------------------------------------------------------------- the network
@of(*WIRED)
def test_a_connection_that_was_cut_is_made_anew(place: Place) -> None:
    store = place.opened("r", pause=0)
    for _ in range(3):
        assert dict(store.get_many([(key, None) for key in VALUES])) == dict(enumerate(VALUES.values()))
        cable(place).cut()
    assert store.get("a/b", ByteRange(2, 3)) == b"234"
    store.close()


@of(*WIRED)
def test_a_server_that_is_gone_is_an_error_until_it_is_back(place: Place) -> None:
    store = place.opened("r", attempts=2, pause=0, timeout=20)
    assert store.get("a/b") == VALUES["a/b"]
    cable(place).refuse()
    cable(place).cut()
    for key in ("a/b", "no"):
        with pytest.raises(Unreadable) as caught:
            store.get(key)
        assert (caught.value.store, caught.value.key) == (store.url, key)
        assert caught.value.advice
    answers = dict(store.get_many([("a/b", None), ("no", None)]) if place.address[:5] != "redis" else ())
    assert all(isinstance(each, Unreadable) for each in answers.values())
    cable(place).refuse(False)
    assert store.get("a/b") == VALUES["a/b"]
    assert store.get("no") is None
    store.close()


NOWHERE: dict[str, tuple[str, dict[str, Any]]] = {
    "http": ("http://{host}/x.zarr", {}),
    "s3": ("s3://b/x.zarr", {"endpoint": "http://{host}", "anon": True, "region": "us-east-1"}),
    "gs": ("gs://b/x.zarr", {"endpoint": "http://{host}", "anon": True}),
    "abfs": ("az://b/x.zarr", {"endpoint": "http://{host}", "account_name": "a", "anon": True}),
    "ssh": ("ssh://{host}/x.zarr", {}),
    "sftp": ("sftp://{host}/x.zarr", {"ssh_config": None, "allow_agent": False, "look_for_keys": False}),
    "redis": ("redis://{host}/0", {}),
}
"""Addresses on a host that is to be filled in, with their options."""


@pytest.mark.parametrize("host", ["no-such-host.invalid", "127.0.0.1:{closed}"])
@pytest.mark.parametrize("kind", SERVICES)
def test_a_host_that_cannot_be_reached_is_named_with_the_reason(
    kind: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """obstore's own sentence says only "error sending request"."""
    if kind == "redis":
        pytest.importorskip("redis")
    if kind == "ssh" and shutil.which("ssh") is None:
        pytest.skip("no ssh is installed")
    for name in ("ATTEMPTS", "PAUSE"):
        monkeypatch.setenv(f"ZARRSCOPE_{name}", "1" if name == "ATTEMPTS" else "0")
    host = host.format(closed=servers.free_port())
    address, options = NOWHERE[kind]
    filled = {name: value.format(host=host) if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises(Unreadable) as caught:
        open_store(address.format(host=host), "r", filled).get("zarr.json")
    sentence = caught.value.message
    assert host.partition(":")[0] in sentence
    reason = "efused|onnect to port" if ":" in host else "not known|resolve hostname|name resolution|No address"
    assert re.search(reason, sentence), sentence
    assert "HTTP error" not in sentence
    assert "network" in (caught.value.advice or "")


@of(*WIRED)
def test_a_silent_server_is_given_up_and_asked_again_later(place: Place) -> None:
    store = place.opened("r", attempts=1, timeout=1, patience=1)
    assert eventually(lambda: store.get("a/b")) == VALUES["a/b"]
    cable(place).hold()
    with pytest.raises(Unreadable) as caught:
        store.get("a/b")
    assert caught.value.key == "a/b"
    cable(place).release()
    cable(place).cut()
    assert eventually(lambda: store.get("a/b")) == VALUES["a/b"]
    store.close()


@of(*WIRED)
def test_a_stall_can_be_cancelled(place: Place) -> None:
    store = place.opened("r")
    assert store.get("a/b") == VALUES["a/b"]
    cable(place).hold()
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    assert list(store.get_many([("a/b", None)] * 20, stop.is_set)) == []
    timer.join()
    cable(place).release()
    assert store.get("a/b") == VALUES["a/b"]
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the command of the far side is a POSIX shell's")
class TestFarSide:
    """A store at ssh://, which is connected through the pipes of a process."""

    @pytest.fixture
    def place(self, services: Services, tmp_path: Path) -> Iterator[Place]:
        with PLACES["ssh"](tmp_path, services, VALUES) as found:
            yield found

    @staticmethod
    def process(store: Any) -> subprocess.Popen[bytes]:
        found: subprocess.Popen[bytes] = client._connections[store._arguments].first._process
        return found

    def test_what_is_read_is_asked_for_once_more(self, place: Place) -> None:
        store: Any = place.opened("a")
        for act in (
            lambda: store.get("a/b"),
            lambda: dict(store.get_many([("a/b", None)] * 3))[2],
        ):
            self.process(store).kill()
            self.process(store).wait(60)
            assert act() == VALUES["a/b"]
        store.close()

    def test_a_lock_that_was_lost_is_an_error(self, place: Place) -> None:
        store: Any = place.opened("a")
        with pytest.raises(Unreadable, match="lock"), store.lock("a/b"):  # noqa: PT012 - within the lock
            self.process(store).kill()
            self.process(store).wait(60)
            store.set("a/b", b"unlocked")
        assert store.get("a/b") == VALUES["a/b"]
        store.close()

    def test_a_silent_far_side_is_given_up(self, place: Place) -> None:
        store: Any = place.opened("r")
        assert store.get("a/b") == VALUES["a/b"]
        stopped = self.process(store)
        connection = client._connections[store._arguments].first
        connection._timeout = 2.0
        os.kill(stopped.pid, signal.SIGSTOP)
        assert store.get("a/b") == VALUES["a/b"]
        assert stopped.wait(60) == -signal.SIGKILL
        assert "said nothing for 2 seconds" in str(connection.ended())
        store.close()

    def test_one_that_is_busy_is_not(self, place: Place) -> None:
        """While it waits for a lock for longer than the time-out, the remote side keeps reporting that it is alive."""
        holder: Any = place.opened("a")
        store: Any = place.opened("a")
        connection = client._connections[store._arguments].first
        connection._timeout = 6.0
        connection.lived = time.monotonic()
        got = threading.Event()

        def wait_for_it() -> None:
            with store.lock("a/b"):
                got.set()

        with holder.lock("a/b"):
            waiting = threading.Thread(target=wait_for_it)
            waiting.start()
            assert not got.wait(8)
            process = self.process(store)
        assert got.wait(60)
        waiting.join(60)
        assert process.poll() is None
        store.close()
        holder.close()


def test_a_program_ends_though_its_servers_are_silent(services: Services, tmp_path: Path) -> None:
    script = (
        "import sys, threading\n"
        "from zarrscope.stores.address import open_store\n"
        "stores = [open_store(address, 'r', options) for address, options in eval(sys.argv[1])]\n"
        "assert all(store.get('a/b') for store in stores)\n"
        "print('held', flush=True)\n"
        "sys.stdin.readline()\n"
        "for store in stores:\n"
        "    threading.Thread(target=store.get, args=('a/b',), daemon=True).start()\n"
        "    next(iter(store.get_many([('a/b', None)] * 20, lambda: True)), None)\n"
    )
    with PLACES["http"](tmp_path / "1", services, VALUES) as one, PLACES["s3"](tmp_path / "2", services, VALUES) as two:
        places = [one, two]
        told = repr([(place.address, place.options) for place in places])
        command = [sys.executable, "-c", script, told]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "held\n"
            for place in places:
                cable(place).hold()
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.wait(60) == 0


# ---------------------------------------------------------------------- answers of services
GONE = "not there|no longer there|no such file"


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("kind", ["http", "s3", "gs", "abfs", *CONTAINERS])
def test_what_a_service_answers(kind: str, answer: str, tmp_path: Path) -> None:
    act, outcome = ANSWERS[answer]
    if kind in CONTAINERS and outcome is ABSENT_ANSWER:
        outcome = GONE  # the directory, or the reference, says that the value is there
    if kind in CONTAINERS and answer == "slow":
        act = slow_part
    part = ByteRange(2, 3) if "part" in answer else None
    values = {f"bucket/x/{key}": value for key, value in VALUES.items()}
    with hostile(well, values, lambda key: key.endswith(("a/b", ".zip", ".ozx"))) as server:
        key, (address, options) = "a/b", bucket(kind, server.url)
        if kind in CONTAINERS:
            files = container(kind, {"a/b": VALUES["a/b"], "a/c": VALUES["a/c"]}, server.url)
            if "references" in kind:
                stored(files, tmp_path)
                address = str(tmp_path / CONTAINERS[kind])
                key = "a/0" if "parquet" in kind else key
            else:
                values.update({f"bucket/x/{name}": value for name, value in files.items()})
                address += f"/{CONTAINERS[kind]}"
        store = open_store(address, "r", {**options, **settings_for(answer)})
        if kind in CONTAINERS:
            assert [*store.list_dir("")], "read before: the directory of an archive"
        server.counts.clear()
        server.act = act
        try:
            got: bytes | ZarrscopeError | None = store.get(key, part, 1000)
        except ZarrscopeError as error:
            got = error
        if outcome is SAME:
            assert got == (VALUES["a/b"] if part is None else part.of(VALUES["a/b"]))
        elif outcome is ABSENT_ANSWER:
            assert got is None
        else:
            assert isinstance(got, Denied if outcome == "Denied" else Unreadable), got
            assert (got.store, got.key) == (store.url, key)
            assert got.advice
            assert outcome == "Denied" or re.search(outcome, str(got)), str(got)
            assert "references" not in kind or f"{server.url}/bucket/x/a/b" in str(got), "where the reference leads"
            server.act = well  # when the fault is over, the same store goes on
            if kind == "http" and answer == "a page":
                return  # the store has asked for a key that cannot exist, so it knows how the server answers
            found = eventually(lambda: store.get(key, part, 1000))
            assert found == (VALUES["a/b"] if part is None else part.of(VALUES["a/b"]))


@pytest.mark.parametrize("kind", ["s3", "gs", "abfs"])
def test_an_archive_in_a_bucket_is_not_requested_earlier_than_the_service_asks(kind: str) -> None:
    values = {f"bucket/x/{name}": value for name, value in container("archive", {"a/b": bytes(200_000)}, "").items()}
    with hostile(well, values, lambda key: key.endswith(".zip")) as server:
        address, options = bucket(kind, server.url)
        store = open_store(f"{address}/{CONTAINERS['archive']}", "r", {**options, **settings_for("503 for a day")})
        assert [*store.list_dir("")]
        server.act = answered("503 Slow Down", b"", "Retry-After: 86400")
        with pytest.raises(Unreadable, match="asks to wait 24 hours"):
            store.get("a/b")


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_what_a_service_answers_for_a_directory_or_a_reference_file(kind: str, answer: str) -> None:
    """The fault answers the first request for the container or, in parquet with its two files, for the second file."""
    act, outcome = ANSWERS[answer]
    asks_for_parts = kind in ("archive", "ozx")
    if outcome is ABSENT_ANSWER:
        outcome = GONE
    if answer == "another part" and not asks_for_parts:
        outcome = SAME
    if answer == "slow":
        act = slow_part
    values = {f"bucket/x/{key}": value for key, value in VALUES.items()}
    with hostile(well, values, lambda key: key.endswith((".zip", ".ozx", ".json", "refs.0.parq"))) as server:
        files = container(kind, {"a/b": VALUES["a/b"], "a/c": VALUES["a/c"]}, server.url)
        values.update({f"bucket/x/{name}": value for name, value in files.items()})
        address = f"{server.url}/bucket/x/{CONTAINERS[kind]}"
        key = "a/0" if "parquet" in kind else "a/b"

        def read() -> bytes | None:
            return open_store(address, "r", settings_for(answer)).get(key)

        server.act = act
        if outcome is SAME:
            assert read() == VALUES["a/b"]
            return
        if answer == "404" and "parquet" in kind:
            assert read() is None, "fsspec stores no file of references to absent chunks"
            return
        with pytest.raises(NotFound if outcome is GONE else Denied if outcome == "Denied" else Unreadable) as caught:
            read()
        assert CONTAINERS[kind] in str(caught.value.store)
        assert caught.value.advice
        assert outcome == "Denied" or re.search(outcome, str(caught.value)), str(caught.value)
        server.act = well
        assert eventually(read) == VALUES["a/b"]


def test_a_damaged_file_of_references_is_no_absent_chunk(tmp_path: Path) -> None:
    files = container("references in parquet", VALUES, "http://127.0.0.1:1")
    files["x.parq/a/refs.0.parq"] = files["x.parq/a/refs.0.parq"][:-20]
    stored(files, tmp_path)
    with pytest.raises(Unreadable, match=r"refs\.0\.parq.*damaged"):
        open_store(str(tmp_path / "x.parq")).get("a/0")


def test_a_file_that_became_shorter_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"0123456789")
    (tmp_path / "x.json").write_text('{"version": 1, "refs": {"a/b": ["data.bin", 4, 10]}}')
    store = open_store(str(tmp_path / "x.json"))
    assert store.get("a/b", ByteRange(2, 3)) == b"678"
    with pytest.raises(Unreadable, match=r"refers to 10 bytes of 'data\.bin', but 6 bytes came"):
        store.get("a/b")


# ---------------------------------------------------------------------- somebody else, and the disk
@of(*WRITABLE)
def test_what_somebody_else_stores_or_erases_is_seen(place: Place) -> None:
    here, there = place.opened("a"), place.opened("a")
    version = here.get_versioned("a/b")
    there.set("a/b", b"theirs")
    there.bulk.put("new/x", b"1")
    there.bulk.flush()
    assert here.get("a/b") in (b"theirs", VALUES["a/b"])
    with pytest.raises(Conflict):
        here.set("a/b", b"mine", not_none(version)[1])
    there.close()
    again = place.opened("a")
    assert again.get("a/b") == b"theirs"
    again.erase_prefix("")
    again.bulk.flush()
    again.close()
    here.close()
    assert here.get("a/c") is None
    assert list(here.list()) == []
    here.close()


FULL = """
import resource, sys
from zarrscope.errors import ZarrscopeError
from zarrscope.stores.address import open_store
store = open_store(sys.argv[1], "a")
version = store.get_versioned("a/b")[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))  # no file may grow further: as on a full disk
for act in (
    lambda: store.set("a/b", bytes(1 << 20), version),
    lambda: store.set("large", bytes(1 << 20)),
    lambda: (store.bulk.put("large", bytes(1 << 20)), store.bulk.flush()),
):
    try:
        act()
    except ZarrscopeError as error:
        assert error.advice, repr(error)
        print(type(error).__name__, error.message)
    else:
        print("stored")
try:
    store.close()
except ZarrscopeError:  # an archive stores its last entries when it is closed
    pass
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a file's size is limited by POSIX")
@of("file", "zip", "sqlite", "dbm")
def test_a_full_disk_leaves_the_old_value(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, place.address], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert all(line.startswith(("Unreadable", "ReadOnly")) for line in said), said
    store = place.opened("r")
    assert {key: store.get(key) for key in VALUES} == VALUES
    assert store.get("large") is None
    store.close()


def test_a_home_that_cannot_be_written_keeps_nobody_from_working(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_bytes(b"a file")  # no folder, not even for root
    script = (
        "import sys, zarrscope\n"
        "with zarrscope.open(sys.argv[1], 'a') as h:\n"
        "    h.create_array('/a', shape=(4,), dtype='u1')[...] = 3\n"
        "    h['/a'].attrs['unit'] = 'nm'\n"
        "print(int(zarrscope.open(sys.argv[1])['/a'][...].sum()))\n"
    )
    places = {name: str(home / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.zarr")], capture_output=True, text=True, timeout=100,
        check=False, env={**os.environ, **places},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "12\n"), done.stderr[-2000:]
    listed = subprocess.run(
        [sys.executable, "-m", "zarrscope_app", "ls", str(tmp_path / "x.zarr")], capture_output=True, text=True,
        timeout=100, check=False, env={**os.environ, **places},
    )  # fmt: skip
    assert listed.returncode == 0, listed.stderr[-2000:]
    assert "a" in listed.stdout
