"""A full disk, for each kind of store that writes to one: a clear error, no half-written value, and recovery.

The disk is a small file system of its own, filled with another file. A Redis server has its memory for a disk.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import servers
import zarrscope
from contracts.full_disk import full_from
from contracts.places import COMMAND, DISKS, NEAR, WRITABLE
from contracts.small_disk import mounts, needs_mounts, within
from narrowing import as_array
from zarrscope import convert
from zarrscope.errors import ReadOnly, Unreadable
from zarrscope.model.storage import Version
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.redis import RedisStore
from zarrscope.stores.registry import STORES

SCRIPT = r"""
import contextlib, json, os, sys
from pathlib import Path
from zarrscope.errors import ZarrscopeError
from zarrscope.stores.address import open_store

address, options, disk = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
stack = contextlib.ExitStack()
if "PORT" in address:  # a server that sees this disk
    import servers
    program = stack.enter_context(servers.sshd(disk.parent))
    address, options = address.replace("PORT", str(servers.port_of(program))), servers.sftp_options(program)
VALUES = {"zarr.json": b'{"zarr_format":3,"node_type":"group"}', "a/b": b"0123456789", "a/c": bytes(range(256)) * 40}
LARGE = os.urandom(1 << 18)
told = {"errors": []}
store = open_store(address, "a", options)
for key, value in VALUES.items():
    store.set(key, value)
store.bulk.flush()
version = store.get_versioned("a/b")[1]

def put():
    store.bulk.put("many", LARGE)
    store.bulk.flush()

acts = [("a/b", lambda: store.set("a/b", LARGE, version)), ("large", lambda: store.set("large", LARGE)), ("many", put)]
with open(disk / "fill", "wb", buffering=0) as file:
    try:
        while True: file.write(bytes(512))
    except OSError: pass
for key, act in acts:
    try:
        act()
        told["errors"].append([key, "stored"])
    except ZarrscopeError as error:
        told["errors"].append([key, type(error).__name__, error.store, error.key, error.advice, error.errno])

def seen(store):
    return {key: store.get(key) == value for key, value in VALUES.items()}

told["full"] = seen(store)
told["listed"] = sorted(store.list())
other = open_store(address, "r", options)
told["elsewhere"] = seen(other), sorted(other.list())
other.close()
told["files"] = sorted(p.name for p in disk.rglob("*") if p.is_file() and p.name != "fill")
(disk / "fill").unlink()
for key, act in acts:
    act()
store.close()
other = open_store(address, "r", options)
told["after"] = [other.get(key) == LARGE for key in ("a/b", "large", "many")] + [other.get("a/c") == VALUES["a/c"]]
other.close()
stack.close()
print(json.dumps(told))
"""


def test_every_kind_that_is_in_files_of_this_machine_is_tried() -> None:
    in_files = {name for name in WRITABLE if STORES[name].form in ("path", "file", "chain")}
    assert in_files <= {*DISKS} <= {*WRITABLE}


@needs_mounts
@pytest.mark.parametrize("kind", DISKS)
def test_a_full_disk_is_named_and_leaves_the_store_usable(kind: str, tmp_path: Path) -> None:
    if kind == "lmdb":
        pytest.importorskip("lmdb")
    users: tuple[str, ...] = ("--map-root-user",)
    if kind == "sftp":
        users = ()
        pytest.importorskip("paramiko")
        if (why := servers.missing("sshd")) is not None or not mounts(users):
            pytest.skip(why or "a server in a namespace of its own takes root")
    disk = tmp_path / "disk"
    disk.mkdir()
    options = {"ssh": NEAR, "command": f"{COMMAND} # full"} if kind == "ssh" else {}
    command = [sys.executable, "-c", SCRIPT, DISKS[kind].format(disk=disk), json.dumps(options), str(disk)]
    done = subprocess.run(
        within(disk, *command, size="2m", users=users), capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout)
    for key, name, store, at, advice, number in told["errors"]:
        assert (name, at, number) == ("Unreadable", key, errno.EIO if kind == "sftp" else errno.ENOSPC), key
        assert str(disk) in store
        # servers of SFTP give no reason
        assert advice.startswith("The disk there may be" if kind == "sftp" else "The disk is full: make room, then")
    assert len(told["errors"]) == 3
    old = {"zarr.json": True, "a/b": True, "a/c": True}
    assert told["full"] == old
    assert told["elsewhere"] == [old, sorted(old)], "nothing half written"
    # an archive keeps a value from `put` in memory until there is space
    assert [key for key in told["listed"] if key != "many" or kind != "zip"] == sorted(old)
    assert not [name for name in told["files"] if name.startswith(".") or name.endswith("-journal")]
    assert told["after"] == [True, True, True, True]


ANSWERS = {
    "OutOfMemoryError": ("OOM command not allowed when used memory > 'maxmemory'.", Unreadable, "raise its maxmemory"),
    "ResponseError": ("MISCONF Redis is configured to save RDB snapshots", Unreadable, "Make room on its disk"),
    "ReadOnlyError": ("READONLY You can't write against a read only replica.", ReadOnly, "its primary server"),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("compared", [False, True])
def test_a_redis_server_that_stores_nothing(answer: str, compared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are simulated, because a test should not fill the memory of a real server."""
    redis = pytest.importorskip("redis")
    fakeredis = pytest.importorskip("fakeredis")
    client: Any = fakeredis.FakeRedis
    text, kind, advice = ANSWERS[answer]
    full = [False]

    def refuse() -> None:
        if full[0]:
            raise getattr(redis.exceptions, answer)(text)

    class Full(client):  # type: ignore[misc]  # fakeredis has no types
        def execute_command(self, *arguments: Any, **options: Any) -> Any:
            if arguments[0] == "SET":
                refuse()
            return super().execute_command(*arguments, **options)

        def pipeline(self, *arguments: Any, **options: Any) -> Any:
            made = super().pipeline(*arguments, **options)
            run = made.execute

            def execute(*given: Any, **more: Any) -> Any:
                if any(command[0][0] == "SET" for command in made.command_stack):
                    refuse()
                return run(*given, **more)

            made.execute = execute
            return made

    monkeypatch.setattr("redis.Redis.from_url", Full.from_url)
    store = RedisStore(f"redis://fake-full-{answer}-{compared}:6379/0/p", writable=True)
    store.set("a/b", b"old")
    expect = Version.of(b"old") if compared else None
    full[0] = True
    with pytest.raises(kind) as caught:
        store.set("a/b", b"new", expect)
    assert (caught.value.store, caught.value.key) == (store.url, "a/b")
    assert advice in str(caught.value.advice)
    assert store.get("a/b") == b"old"
    full[0] = False
    store.set("a/b", b"new", expect)
    assert store.get("a/b") == b"new"
    store.close()


def test_a_value_that_was_not_there_before_has_no_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path, writable=True)
    store.set("old", b"1")
    full_from(monkeypatch, "")
    for key, said in (("old", "The old value is still there."), ("new", "there was none before.")):
        with pytest.raises(Unreadable) as caught:
            store.set(key, b"2")
        assert str(caught.value.advice).startswith("The disk is full: make room, then try again. ")
        assert str(caught.value.advice).endswith(said)


def test_a_conversion_onto_a_full_disk_can_be_continued(tmp_path: Path) -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    plan = convert.plan(source, str(tmp_path / "new.zarr"), "v3")
    with pytest.MonkeyPatch.context() as patch:
        full_from(patch, "a/")
        with pytest.raises(Unreadable) as caught:
            convert.run(plan)
    assert "The old value" not in str(caught.value)
    assert str(caught.value.advice).startswith(
        "The disk is full. Make room, then run the same conversion again: it continues"
    )
    convert.run(plan)
    assert as_array(zarrscope.open(tmp_path / "new.zarr")["/a"])[...].tolist() == [7] * 4


def test_a_conversion_that_cannot_begin_on_a_full_disk_leaves_nothing_to_delete(tmp_path: Path) -> None:
    source = zarrscope.open(MemoryStore(), "w-")
    source.create_group("/g")
    plan = convert.plan(source, str(tmp_path / "new.zarr"), "v3")
    with pytest.MonkeyPatch.context() as patch:
        full_from(patch, ".zarrscope-convert", documents=True)
        with pytest.raises(Unreadable) as caught:
            convert.run(plan)
    assert str(caught.value.advice) == "The disk is full: make room, then try again. Nothing was written."
    assert not (tmp_path / "new.zarr").exists()
