"""ssh://: a remote side in another process, without a network, and over a real sshd."""

from __future__ import annotations

import gc
import getpass
import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any, cast

import numpy as np
import pytest

import machine
import servers
import zarrscope
from narrowing import as_array
from zarrscope.errors import Conflict, TooLarge, Unreadable
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope.model.storage import ByteRange, IndexRange
from zarrscope.runtime import tuning
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.ssh import ahead, channels, client, shares
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.ssh.connection import NotInstalled, SSHConnection
from zarrscope.stores.ssh.frames import MessageFrame

if sys.platform == "win32":
    pytest.skip("the command of the far side is a POSIX shell's", allow_module_level=True)

NEAR = [sys.executable, "-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[-1]])"]
"""Used in place of ssh: runs the remote command on this machine."""
COMMAND = f"exec {shlex.quote(sys.executable)} -m zarrscope_app serve --stdio"


def opened(folder: Path, mode: str = "a", **options: Any) -> SSHStore:
    return SSHStore(f"ssh://host{folder}", mode, **{"ssh": NEAR, "command": COMMAND, **options})


@pytest.fixture(scope="module", autouse=True)
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One connection for all tests; otherwise each would start a remote side."""
    store = opened(tmp_path_factory.mktemp("held"))
    yield
    store.close()


def test_a_hierarchy_is_written_edited_and_read(tmp_path: Path) -> None:
    with zarrscope.open(opened(tmp_path / "x.zarr"), "w-") as h:
        h.create_array("/g/a", shape=(4, 4), dtype="u2", chunks=(2, 2))[...] = 7
        h["/g"].attrs["note"] = "far"
    assert int(zarrscope.open_array(str(tmp_path / "x.zarr"), "/g/a")[...].sum()) == 7 * 16
    near = zarrscope.open(opened(tmp_path / "x.zarr", "r"))
    assert near["/g"].attributes["note"] == "far"
    assert not near.store.writable


def test_a_copy_that_changed_is_not_overwritten(tmp_path: Path) -> None:
    here, there = opened(tmp_path), LocalStore(str(tmp_path), writable=True)
    version = here.set("n", b"1")
    there.set("n", b"2")
    with pytest.raises(Conflict) as caught:
        here.set("n", b"3", version)
    assert caught.value.theirs == b"2"
    assert caught.value.store == here.url


def test_locks_are_those_of_the_far_machine(tmp_path: Path) -> None:
    here, there = opened(tmp_path), LocalStore(str(tmp_path), writable=True)
    order: list[str] = []
    with here.lock("n"):
        other = threading.Thread(target=lambda: [there.lock("n").__enter__(), order.append("there")])  # type: ignore[func-returns-value]  # called for what they do
        other.start()
        other.join(0.3)
        order.append("here")
    other.join(20)
    assert order == ["here", "there"]


def test_without_zarrscope_there_the_line_that_installs_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="pip install"):
        opened(tmp_path, command="exit 127")


def test_what_a_login_script_prints_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"v")
    assert opened(tmp_path, command=f"echo Welcome; echo; {COMMAND}").get("k") == b"v"


def test_why_ssh_failed_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="Host key verification failed"):
        opened(tmp_path, command="echo Host key verification failed. >&2; exit 255")


CHANGED = """
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
The fingerprint for the ED25519 key sent by the remote host is
SHA256:abc.
Offending ED25519 key in ~/.ssh/known_hosts:3
  remove with:
  ssh-keygen -f "~/.ssh/known_hosts" -R "host"
Host key verification failed.
"""


@pytest.mark.parametrize(
    ("told", "message", "advice"),
    [
        ("Host key verification failed.", "The host host is not known to ssh", "answer yes, then try again: ssh -p 7 "),
        (CHANGED, "The key of the host host has changed: it is ED25519 SHA256:abc", '-R "host"'),
        ("ann@host: Permission denied (publickey).", "Permission denied (publickey)", "use a key and an agent"),
        ("ssh: Could not resolve hostname host", "Could not resolve hostname host", "Check the address"),
        ("", "You must change your password", "Try in a terminal: ssh -p 7 host true"),
    ],
    ids=["unknown", "changed", "denied", "no name", "a shell that only prints"],
)
def test_the_reason_of_ssh_is_said_with_the_next_step(told: str, message: str, advice: str, tmp_path: Path) -> None:
    command = f"echo You must change your password; echo {shlex.quote(told)} >&2; exit 255"
    with pytest.raises(Unreadable) as caught:
        SSHStore(f"ssh://host:7{tmp_path}", ssh=NEAR, command=command)
    assert message in caught.value.message
    assert advice in (caught.value.advice or "")
    assert "@" not in caught.value.message.replace("ann@host", "")


FAR = """
import os, sys, time
from zarrscope_app import cli
import zarrscope_app.cli.serve, zarrscope.stores.ssh.serving
open(sys.argv[1] + "/ready", "w").close()
while not os.path.exists(sys.argv[1] + "/go"):
    time.sleep(0.02)
cli.run(["serve", "--stdio"])
"""


def test_the_time_in_which_this_process_was_suspended_is_no_silence_of_the_host(tmp_path: Path) -> None:
    """A laptop slept, or a job was stopped with Ctrl+Z: the connection was dropped though the host answered."""
    (tmp_path / "k").write_bytes(b"v")
    silent = 4.0
    far = shlex.join([sys.executable, "-c", FAR, str(tmp_path)])
    near = (
        "import sys; from zarrscope.stores.ssh.client import SSHStore\n"
        f"store = SSHStore('ssh://host{tmp_path}', ssh={NEAR!r}, command=sys.argv[1], timeout={silent})\n"
        "print(store.get('k'))"
    )
    with subprocess.Popen([sys.executable, "-c", near, far], stdout=-1, stderr=-1, text=True) as process:
        try:
            while not (tmp_path / "ready").exists():
                assert process.poll() is None, process.communicate()
                time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            time.sleep(silent + 0.5)
            process.send_signal(signal.SIGCONT)
            time.sleep(silent / 4)  # the connection looks for a silence twice
            (tmp_path / "go").touch()
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out == "b'v'\n", err


def abandon(answers: Iterator[Any]) -> None:
    """Begins to take the answers, and leaves them in a reference cycle, which only the garbage collector ends. It does
    not run by itself until a test enables it."""
    next(answers)
    gc.disable()
    cycle: list[Any] = [answers]
    cycle.append(cycle)


@pytest.mark.parametrize("asks", ["one channel", "divided"])
def test_a_read_that_the_collector_ends_while_another_is_sent_is_cancelled(
    tmp_path: Path, asks: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The collector may run while this thread holds the lock of the connection: json.dumps allocates."""
    for name in "abc":
        (tmp_path / name).write_bytes(b"v")
    store = opened(tmp_path, command=f"{COMMAND} # collects {asks}")
    first = client._connections[store._arguments].first
    sent: list[Mapping[str, Any]] = []
    write, taken = first._write, json.dumps

    def collected(*given: Any, **options: Any) -> str:
        gc.collect()
        return taken(*given, **options)

    def noted(head: Mapping[str, Any], body: bytes = b"") -> bool:
        sent.append(head)
        return write(head, body)

    request.addfinalizer(gc.enable)
    abandon(store.list_prefix("") if asks == "one channel" else store.get_many([(name, None) for name in "abc"]))
    monkeypatch.setattr(first, "_write", noted)
    monkeypatch.setattr(json, "dumps", collected)
    found: list[bytes | None] = []
    reader = threading.Thread(target=lambda: found.append(store.get("a")), daemon=True)
    reader.start()
    reader.join(20)
    assert found == [b"v"], "the connection waits for itself"
    monkeypatch.undo()
    assert [head["op"] for head in sent] == ["get", "cancel"]
    assert store.get("b") == b"v"
    store.close()


def test_the_last_store_may_be_collected_in_a_thread_that_sends(tmp_path: Path) -> None:
    stores = [opened(tmp_path, command=f"{COMMAND} # is collected")]
    connection = client._connections[stores[0]._arguments].first

    def collected() -> None:
        with connection._guard:
            stores.clear()
            gc.collect()

    sender = threading.Thread(target=collected, daemon=True)
    sender.start()
    sender.join(20)
    assert not sender.is_alive()
    assert connection._process.wait(10) is not None


def test_a_program_that_closes_no_store_ends(tmp_path: Path) -> None:
    """At the end of the interpreter no thread can be started."""
    (tmp_path / "k").write_bytes(b"v")
    code = dedent(f"""
        from zarrscope.stores.ssh.client import SSHStore

        store = SSHStore({f"ssh://host{tmp_path}"!r}, ssh={NEAR!r}, command={COMMAND!r})
        print(store.get("k"))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "b'v'\n", "")


def test_a_connection_that_broke_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"v")
    store = opened(tmp_path, command=f"{COMMAND} # breaks")
    client._connections[store._arguments].first._process.kill()
    with suppress(Unreadable):  # at most the pending request
        store.get("k")
    assert store.get("k") == b"v"
    store.close()


def test_nothing_is_left_running(tmp_path: Path) -> None:
    store = opened(tmp_path, command=f"{COMMAND} # ends")
    process = client._connections[store._arguments].first._process
    store.close()
    assert process.wait(10) is not None
    assert all_closed(process)


@pytest.mark.parametrize("command", ["exit 255", "true", f"echo; {COMMAND} # lives"])
def test_no_pipe_is_left_open(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*given, **options)
        if given and command in given[0]:  # and no process whose start another test left to a thread
            made.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", noted)
    with suppress(Unreadable):
        opened(tmp_path, command=command).close()
    assert made
    assert all(all_closed(each) for each in made)


def all_closed(process: subprocess.Popen[bytes]) -> bool:
    """Whether its pipes are closed within a minute; two threads close the ends that they read."""
    pipes = [each for each in (process.stdin, process.stdout, process.stderr) if each is not None]
    end = time.monotonic() + 60
    while time.monotonic() < end and not all(each.closed for each in pipes):
        time.sleep(0.01)
    return all(each.closed for each in pipes)


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The program and arguments that log in to a real sshd on this machine."""
    folder = tmp_path_factory.mktemp("sshd")
    with servers.sshd(folder) as arguments:
        yield arguments


@pytest.mark.needs("sshd")
def test_over_a_real_sshd(sshd: list[str], tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    zarrscope.open(str(root), "w-").create_array("/a", shape=(64, 64), dtype="u1", chunks=(8, 8))[...] = 3
    store = SSHStore(f"ssh://127.0.0.1{root}", "r+", ssh=sshd, command=COMMAND)
    with zarrscope.open(store, "r+") as h:
        assert int(as_array(h["/a"])[...].sum()) == 3 * 64 * 64
        h["/a"].attrs["unit"] = "nm"
    assert zarrscope.open(str(root))["/a"].attributes["unit"] == "nm"


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("name", ["x.zarr", "x.zip", "x.ozx", "x.sqlite", "x.dbm", "x.lmdb"])
def test_each_kind_of_place_there_is_written(name: str, sshd: list[str], tmp_path: Path) -> None:
    row = next(line for line in REMOTE.read_text("utf-8").splitlines() if line.startswith("| `ssh://` |"))
    assert [cell.strip() for cell in row.split("|")][2:5] == [
        "folder, zip file or database on another machine that has zarrscope, too", "yes", "yes",
    ]  # fmt: skip
    scheme = name.partition(".")[2]
    if scheme in ("zarr", "zip", "ozx"):
        place = f"{tmp_path / name}"
    else:
        place = f"{scheme}://{tmp_path / name}"
        if scheme == "lmdb":
            pytest.importorskip("lmdb")
        zarrscope.open(place, "w-", dialect="v2").close()
    options = {"ssh": sshd, "command": COMMAND}
    with zarrscope.open(f"ssh://127.0.0.1{tmp_path / name}", "a", storage_options=options) as h:
        h.create_array("/a", shape=(4,), dtype="u1", chunks=(2,))[...] = 3
        h["/a"].attrs["unit"] = "nm"
        assert as_array(h["/a"])[...].tolist() == [3, 3, 3, 3]
    with zarrscope.open(place) as h:
        assert as_array(h["/a"])[...].tolist() == [3, 3, 3, 3]
        assert h["/a"].attributes["unit"] == "nm"


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("known", ["not known", "has changed"])
def test_a_key_that_a_real_ssh_does_not_know_is_explained(known: str, sshd: list[str], tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    if known == "has changed":
        key = Path(sshd[sshd.index("-i") + 1]).with_suffix(".pub").read_text()
        hosts.write_text(f"[127.0.0.1]:{servers.port_of(sshd)} {key}")
    options = ["-o", f"UserKnownHostsFile={hosts}", "-o", "GlobalKnownHostsFile=none"]
    with pytest.raises(Unreadable, match=known) as caught:
        SSHStore(f"ssh://127.0.0.1{tmp_path}", ssh=[*sshd[:-2], *options], command=COMMAND)
    assert "SHA256:" in caught.value.message or known == "not known"
    assert "owner of the host" in (caught.value.advice or "")


@pytest.mark.needs("sshd")
def test_without_zarrscope_there_sftp_reads(sshd: list[str], tmp_path: Path) -> None:
    pytest.importorskip("paramiko")
    root = tmp_path / "x.zarr"
    zarrscope.open(str(root), "w-").create_array("/a", shape=(4,), dtype="u1")[...] = 3
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{servers.port_of(sshd)}{root}"
    options = {"ssh": sshd, "command": "exit 127", **servers.sftp_options(sshd)}
    h = zarrscope.open(url, storage_options=options)
    assert int(as_array(h["/a"])[...].sum()) == 12
    (said,) = [warning for warning in h.warnings if "SFTP" in warning]
    assert said.endswith("python3 -m pip install --user ./"), "the command can be copied as it stands there"
    h.store.close()
    assert int(as_array(h["/a"])[...].sum()) == 12, "a closed store opens again"
    h.store.close()
    with pytest.raises(NotInstalled):
        zarrscope.open(url, "r+", storage_options=options)


REMOTE = machine.ROOT / "resources" / "docs" / "remote.md"
VALUES = {f"c/{i}": bytes([i]) * 4096 for i in range(64)}


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every read counts as large, and every path as long."""
    monkeypatch.setattr(channels, "SSH_LONG_WAY_SECONDS", 0.0)
    monkeypatch.setattr(channels, "SSH_LARGE_READ_BYTES", 1)


@pytest.fixture
def far(sshd: list[str], tmp_path: Path, long_way: None) -> Iterator[SSHStore]:
    """A store with VALUES over a real sshd, with its own connection."""
    (tmp_path / "far").mkdir()
    place = LocalStore(str(tmp_path / "far"), writable=True)
    for key, value in VALUES.items():
        place.set(key, value)
    store = SSHStore(f"ssh://127.0.0.1{tmp_path / 'far'}", ssh=sshd, command=f"{COMMAND} # {tmp_path.name}")
    yield store
    store.close()


def read_all(store: SSHStore) -> dict[str, bytes]:
    keys = [*VALUES]
    found = {keys[i]: answer for i, answer in store.get_many([(key, None) for key in keys], lambda: False)}
    return {key: value for key, value in found.items() if isinstance(value, bytes)}


def opened_channels(store: SSHStore) -> list[SSHConnection]:
    """The channels of a store after a large read, when no more are being opened."""
    assert read_all(store) == VALUES
    opening = store._channels().opening
    if opening is not None:
        opening.join(60)
        assert not opening.is_alive()
    return store._channels().alive


@pytest.mark.needs("sshd")
def test_large_reads_are_divided_among_channels_of_one_login(far: SSHStore) -> None:
    found = opened_channels(far)
    assert len(found) == tuning.SSH_CHANNELS
    before = [each._next for each in found]
    assert read_all(far) == VALUES
    assert all(each._next > asked for each, asked in zip(found, before, strict=True)), "each channel was asked"
    answers = dict(
        far.get_many([("c/1", ByteRange(1, 2)), ("absent", None), ("c/2", ByteRange.last(1))], lambda: False)
    )
    assert answers == {0: b"\1\1", 1: None, 2: b"\2"}
    # only the first one logged in: the others have no connection of their own
    options = [" ".join(cast("list[str]", each._process.args)) for each in found]
    assert ["ControlMaster=yes" in each for each in options] == [True, *[False] * (tuning.SSH_CHANNELS - 1)]
    far.close()
    assert all(each._process.poll() is not None and all_closed(each._process) for each in found)
    path = next(part for part in options[0].split() if part.startswith("ControlPath=")).partition("=")[2]
    assert not Path(path).parent.exists()


@pytest.mark.needs("sshd")
@pytest.mark.parametrize("which", [0, 1])
def test_a_channel_that_breaks_loses_no_answer(far: SSHStore, which: int) -> None:
    found = opened_channels(far)
    answers = far.get_many([(key, None) for key in VALUES], lambda: False)
    got = dict([next(answers)])
    found[which]._process.kill()
    got.update(answers)
    assert [got[i] for i in range(len(VALUES))] == [*VALUES.values()]
    assert read_all(far) == VALUES


@pytest.mark.needs("sshd")
def test_few_large_values_are_carried_by_all_channels(far: SSHStore, tmp_path: Path) -> None:
    large = {f"l/{i}": os.urandom(tuning.SSH_SHARED_BYTES * 3 + i) for i in range(3)}
    place = LocalStore(str(tmp_path / "far"), writable=True)
    for key, value in large.items():
        place.set(key, value)
    found = opened_channels(far)
    before = [each._next for each in found]
    for asked in (["l/0"], ["l/1", "l/2"], ["absent", "c/1"]):
        answers = dict(far.get_many([(key, None) for key in asked], lambda: False))
        assert [answers[i] for i in range(len(asked))] == [large.get(key, VALUES.get(key)) for key in asked]
    assert [each._next for each in found] == [number + 3 for number in before], "each channel was asked each time"
    small = dict(far.get_many([("l/0", None), ("c/2", None)], lambda: False, tuning.SSH_SHARED_BYTES))
    assert isinstance(small[0], TooLarge)
    assert small[1] == VALUES["c/2"]
    found[1]._process.kill()
    assert dict(far.get_many([("l/0", None)], lambda: False)) == {0: large["l/0"]}


@pytest.mark.needs("sshd")
def test_shares_of_different_values_are_never_joined(
    far: SSHStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LocalStore(str(tmp_path / "far"), writable=True)
    length = tuning.SSH_SHARED_BYTES * 8
    place.set("l", b"a" * length)
    opened_channels(far)
    asked = channels.ask_divided

    def replaced_meanwhile(channels: Any, heads: Any, cancelled: Any) -> Iterator[tuple[int, MessageFrame]]:
        """The value is replaced after the first channel has read it."""
        if "share" not in heads[0]:
            yield from asked(channels, heads, cancelled)
            return
        yield from asked(channels[:1], heads[:1], cancelled)
        place.set("l", b"b" * length)
        for at, frame in asked(channels[1:], heads[1:], cancelled):
            yield at + 1, frame

    monkeypatch.setattr(client, "ask_divided", replaced_meanwhile)
    assert dict(far.get_many([("l", None)], lambda: False)) == {0: b"b" * length}


def test_each_channel_reads_its_share_and_one_of_them_the_small_values(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path), writable=True)
    value = os.urandom(tuning.SSH_SHARED_BYTES + 1)
    store.set("large", value)
    store.set("small", b"s")
    keys = ["large", "small", "absent", "../outside"]
    joined, found = shares.JoinedShares(), dict[int, list[MessageFrame]]()
    for channel in range(3):
        for frame in shares.read_shares(store, keys, None, channel, 3):
            kept = MessageFrame(frame.head, bytes(frame.body))
            whole = joined.add(frame.head["i"], kept)
            found.setdefault(frame.head["i"], []).extend([whole] if whole else [])
    assert {i: len(some) for i, some in found.items()} == dict.fromkeys(range(4), 1)
    assert [found[i][0].body for i in range(2)] == [value, b"s"]
    assert found[2][0].head["absent"]
    assert found[3][0].head["error"] == "Refused"


def test_channels_carry_equal_shares_of_few_values(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path), writable=True)
    values = [os.urandom(tuning.SSH_SHARED_BYTES * (4 + i) + i) for i in range(4)]
    for i, value in enumerate(values):
        store.set(f"{i}", value)
    joined, found, carried = shares.JoinedShares(), dict[int, bytes](), []
    for channel in reversed(range(5)):
        carried.append(0)
        for frame in shares.read_shares(store, [*map(str, range(4))], None, channel, 5):
            carried[-1] += len(frame.body)
            whole = joined.add(frame.head["i"], MessageFrame(frame.head, bytes(frame.body)))
            if whole is not None:
                found[frame.head["i"]] = whole.body
    assert [found[i] for i in range(4)] == values
    assert max(carried) - min(carried) <= 1
    assert shares.worth_sharing([("0", None)] * 4, 5)
    assert not shares.worth_sharing([("0", None)] * 10, 5)
    assert not shares.worth_sharing([("0", None), ("1", ByteRange(0, 1))], 5)


def test_shares_with_a_gap_or_an_overlap_are_not_joined() -> None:
    """The processes on the other machine cut by the sizes of all values, so a value that grew moves the cuts of the
    others."""

    def share(start: int, body: bytes) -> MessageFrame:
        return MessageFrame({"i": 0, "absent": False, "share": [start, 6, "same file"]}, body)

    overlapping = shares.JoinedShares()
    assert [overlapping.add(0, each) for each in (share(0, b"abcd"), share(3, b"def"))] == [None, None]
    gap = shares.JoinedShares()
    assert [gap.add(0, each) for each in (share(4, b"ef"), share(0, b"ab"), share(1, b"bcd"))] == [None] * 3
    whole = shares.JoinedShares()
    assert whole.add(0, share(4, b"ef")) is None
    joined = whole.add(0, share(0, b"abcd"))
    assert joined is not None
    assert joined.body == b"abcdef"


class Scripted:
    """A channel that gives these answers without waiting."""

    def __init__(self, *frames: MessageFrame | None) -> None:
        self._frames = frames

    def send(self, head: object, body: bytes = b"", waiting: Any = None, number: int = 0) -> int:
        for frame in self._frames if waiting is not None else ():
            waiting.put(frame)
        return number

    def forget(self, number: int) -> None:
        pass


def test_a_channel_that_ends_after_its_last_answer_has_answered() -> None:
    value, last = MessageFrame({"i": 0}, b"x"), MessageFrame({"last": True})
    asked = cast("list[SSHConnection]", [Scripted(value, last, None), Scripted(value, last)])
    assert [*channels.ask_divided(asked, [{}, {}], lambda: False)] == [(0, value), (1, value)]


@pytest.mark.needs("sshd")
def test_a_divided_read_is_cancelled_on_every_channel(far: SSHStore) -> None:
    found = opened_channels(far)
    cancelled = threading.Event()
    answers = far.get_many([(key, None) for key in VALUES], cancelled.is_set)
    next(answers)
    cancelled.set()
    assert len([*answers]) < len(VALUES)
    assert not any(each._waiting for each in found)


@pytest.mark.needs("sshd")
def test_one_channel_does_where_no_login_can_be_shared(
    sshd: list[str], far: SSHStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reason in ("windows", "another program"):
        with monkeypatch.context() as patch:
            if reason == "windows":
                patch.setattr(sys, "platform", "win32")
            program = sshd if reason == "windows" else [*NEAR]
            assert channels.shared_login(program, ["--", "127.0.0.1"]) is None
    monkeypatch.setattr(client, "shared_login", lambda *_: None)
    alone = SSHStore(far.url, ssh=sshd, command=f"{COMMAND} # alone")
    assert len(opened_channels(alone)) == 1
    assert read_all(alone) == VALUES
    alone.close()


@pytest.mark.needs("sshd")
def test_a_server_that_allows_one_channel_is_read_by_one(
    sshd: list[str], far: SSHStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = channels.shared_login

    def refused(program: Any, destination: Any) -> channels.SharedLogin | None:
        login = shared(program, destination)
        assert login is not None
        return login._replace(further=(*login.further[:2], "-o", "ControlPath=/nowhere/s", *login.further[4:]))

    monkeypatch.setattr(client, "shared_login", refused)
    alone = SSHStore(far.url, ssh=sshd, command=f"{COMMAND} # refused")
    assert len(opened_channels(alone)) == 1
    assert read_all(alone) == VALUES
    alone.close()


@pytest.mark.needs("sshd")
def test_a_login_that_the_user_shares_is_used_as_configured(sshd: list[str], far: SSHStore, tmp_path: Path) -> None:
    folder = tempfile.mkdtemp(prefix="zs-")  # the path of a socket must be short
    config = tmp_path / "config"
    config.write_text(f"Host *\n  ControlMaster auto\n  ControlPath {folder}/%C\n  ControlPersist no\n")
    program = [str(config) if part == "none" else part for part in sshd]
    store = SSHStore(far.url, ssh=program, command=f"{COMMAND} # shared")
    found = opened_channels(store)
    assert len(found) == tuning.SSH_CHANNELS
    assert not any("ControlPath" in str(each._process.args) for each in found)
    store.close()
    Path(folder).rmdir()


@pytest.mark.needs("sshd")
def test_a_program_that_ends_without_closing_leaves_no_folder(sshd: list[str], far: SSHStore) -> None:
    script = (
        "import sys, json; from zarrscope.stores.ssh.client import SSHStore; "
        "store = SSHStore(sys.argv[1], ssh=json.loads(sys.argv[2]), command=sys.argv[3]); print(store.get('c/1')[:1])"
    )
    arguments = [far.url, json.dumps(sshd), COMMAND]
    folder = tempfile.mkdtemp(prefix="zs-")  # the path of a socket must be short
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "TMPDIR": folder},
        capture_output=True,
        timeout=120,
    )
    assert done.stdout == b"b'\\x01'\n", done.stderr
    os.rmdir(folder)  # it is empty


@pytest.mark.needs("sshd")
def test_a_short_way_opens_no_further_channels(sshd: list[str], far: SSHStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "SSH_LONG_WAY_SECONDS", 60.0)
    alone = SSHStore(far.url, ssh=sshd, command=f"{COMMAND} # short")
    assert len(opened_channels(alone)) == 1
    alone.close()


def test_a_silent_machine_holds_up_no_store_of_another_one(tmp_path: Path) -> None:
    """While ssh waits for one machine, stores on others open, read and close; an application closes them on the thread
    that also draws its window."""
    told = tmp_path / "pid"
    silent = [
        sys.executable,
        "-c",
        f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)",
    ]
    failed: list[Exception] = []

    def wait_for_silence() -> None:
        try:
            SSHStore(f"ssh://silent{tmp_path}", ssh=silent, command=COMMAND, timeout=600)
        except Unreadable as error:
            failed.append(error)

    def use_another() -> None:
        store = opened(tmp_path / "x.zarr", "a")
        store.set("a", b"1")
        assert store.get("a") == b"1"
        store.close()

    waits, uses = threading.Thread(target=wait_for_silence), threading.Thread(target=use_another)
    waits.start()
    try:
        while not (told.exists() and told.read_text()):
            time.sleep(0.01)
        uses.start()
        uses.join(60)
        assert not uses.is_alive(), "it waits for the silent machine"
        assert waits.is_alive()
    finally:
        os.kill(int(told.read_text()), signal.SIGKILL)
        waits.join()
        uses.join()
    assert failed


# ------------------------------------------------------------------ chunks of shards come with their index
def in_shards(place: Path, location: str = "end") -> np.ndarray[Any, Any]:
    """Makes an array of 2 x 2 shards of 4 x 4 x 4 chunks each, of which one chunk is absent; returns its values."""
    values = np.random.default_rng(3).integers(1, 60_000, (16, 32, 32), "u2")
    values[4:8, 4:8, 4:8] = 0
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    shard = {
        "chunk_shape": [4, 4, 4],
        "codecs": [little, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}],
        "index_codecs": [little, {"name": "crc32c"}],
        "index_location": location,
    }
    a = zarrscope.open(place, "w-").create_array(
        "/a",
        shape=values.shape,
        dtype="u2",
        chunks=(16, 16, 16),
        codecs=[CodecSpec("sharding_indexed", Configuration(shard))],
    )
    a[...] = values
    return values


def counted_requests(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The heads of all requests for several values."""
    sent: list[dict[str, Any]] = []
    send = SSHConnection.send

    def noted(self: SSHConnection, head: Any, *rest: Any) -> int:
        if head["op"] == "get_many" and any("c/" in key for key, _ in head["requests"]):
            sent.append(head)
        return send(self, head, *rest)

    monkeypatch.setattr(SSHConnection, "send", noted)
    return sent


@pytest.mark.parametrize("location", ["end", "start"])
def test_chunks_of_shards_come_with_their_index(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = in_shards(tmp_path / "x", location)
    array = zarrscope.open_array(opened(tmp_path / "x", "r"), "/a")
    sent = counted_requests(monkeypatch)
    for at in (5, 6, 13):
        assert np.array_equal(array[at], values[at])
    assert np.array_equal(array[3:9, 5, 2:30:3], values[3:9, 5, 2:30:3])
    assert len(sent[0]["requests"]) == 4, "one request for each shard, and no second round"
    assert sent[0]["ahead"] is not None
    assert all("ahead" not in head for head in sent[1:]), "the indexes are known by now"


def test_an_older_version_there_sends_the_index_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = in_shards(tmp_path / "x")
    store = opened(tmp_path / "x", "r")
    monkeypatch.setattr(client, "as_told", lambda requests: [None] * len(requests))
    sent = counted_requests(monkeypatch)
    assert np.array_equal(zarrscope.open_array(store, "/a")[5], values[5])
    assert len(sent) == 2, "ranges followed"


def test_a_damaged_index_makes_no_wrong_values(tmp_path: Path) -> None:
    """The other machine reads where the damaged numbers point; this side finds the fault by the checksum."""
    values = in_shards(tmp_path / "x")
    shard = tmp_path / "x/a/c/0/0/0"
    whole = bytearray(shard.read_bytes())
    for at in range(len(whole) - 1028, len(whole) - 4, 3):
        whole[at] ^= 0x11
    shard.write_bytes(whole)
    (tmp_path / "x/a/c/0/1/1").unlink()
    (tmp_path / "x/a/c/0/1/0").write_bytes(b"short")
    array = zarrscope.open_array(opened(tmp_path / "x", "r"), "/a")
    with pytest.raises(zarrscope.BadChunk, match="checksum"):
        array[5, :16, :16]
    with pytest.raises(zarrscope.BadChunk, match="cut off"):
        array[5, 16:, :16]
    assert not array[5, 16:, 16:].any(), "an absent shard is the fill value"
    assert np.array_equal(array[5, :16, 16:], values[5, :16, 16:])


def test_only_plain_bytes_of_a_shard_are_sent_ahead() -> None:
    """Entries outside the file, on its index or beyond the limit are left out, whatever the index says."""
    index = struct.pack(
        "<12Q", 0, 10, 5, 10, 90, 20, 2**64 - 1, 2**64 - 1, 2**63, 2**63, 30, tuning.SSH_AHEAD_BYTES + 1
    )
    at_end = ByteRange.last(len(index))
    assert ahead._spans(index, at_end, [0, 1, 2, 3, 4, 9, -1], 196) == [(0, 15)]
    assert ahead._spans(index, ByteRange(0, len(index)), [0, 2], 300) == []
    assert ahead._spans(index, at_end, [5, 0], 1 << 30) == [(0, 10)]


def test_few_large_shards_are_read_by_all_channels() -> None:
    def request(expected: int) -> tuple[str, ByteRange]:
        part = IndexRange(None, 1028)
        part.numbers, part.expected = [0], expected
        return "c/0", part

    assert ahead.worth_sending([request(1000)], 4)
    assert ahead.worth_sending([request(1 << 30)] * 4, 4)
    assert not ahead.worth_sending([request(1 << 30)], 4)
    assert not ahead.worth_sending([("c/0", ByteRange(0, 4))], 1)
