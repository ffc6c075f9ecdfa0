"""ssh://: the contract of stores over a far side in a process of its own, without a network; and over a real sshd."""

from __future__ import annotations

import getpass
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import servers
import zarrscope
from contracts.store import Writing
from zarrscope.errors import Conflict, Unreadable
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.ssh import client
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.ssh.connection import NotInstalled

if sys.platform == "win32":
    pytest.skip("the command of the far side is a POSIX shell's", allow_module_level=True)

NEAR = [sys.executable, "-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[-1]])"]
"""In place of ssh: runs the command here."""
COMMAND = f"exec {sys.executable} -m zarrscope_app serve --stdio"


def opened(folder: Path, mode: str = "a", **options: Any) -> SSHStore:
    return SSHStore(f"ssh://host{folder}", mode, **{"ssh": NEAR, "command": COMMAND, **options})


@pytest.fixture(scope="module", autouse=True)
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Held for all tests: each would else start a far side of its own."""
    store = opened(tmp_path_factory.mktemp("held"))
    yield
    store.close()


class TestSSH(Writing):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def empty(self) -> SSHStore:
        return opened(Path(tempfile.mkdtemp(dir=self.folder)))

    def filled(self, values: Mapping[str, bytes]) -> SSHStore:
        store = self.empty()
        for key, value in values.items():
            store.set(key, value)
        return store


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


def test_a_connection_that_broke_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(b"v")
    store = opened(tmp_path, command=f"{COMMAND} # breaks")
    client._connections[store._arguments]._process.kill()
    with suppress(Unreadable):  # the request that was under way, at most
        store.get("k")
    assert store.get("k") == b"v"
    store.close()


def test_nothing_is_left_running(tmp_path: Path) -> None:
    store = opened(tmp_path, command=f"{COMMAND} # ends")
    process = client._connections[store._arguments]._process
    store.close()
    assert process.wait(10) is not None
    assert all_closed(process)


@pytest.mark.parametrize("command", ["exit 255", "true", f"echo; {COMMAND} # lives"])
def test_no_pipe_is_left_open(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*given, **options)
        if given and command in given[0]:  # and no process that another test left a thread to start
            made.append(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", noted)
    with suppress(Unreadable):
        opened(tmp_path, command=command).close()
    assert made
    assert all(all_closed(each) for each in made)


def all_closed(process: subprocess.Popen[bytes]) -> bool:
    """Whether its pipes are closed within a minute: two threads close what they read."""
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
        assert int(h["/a"][...].sum()) == 3 * 64 * 64
        h["/a"].attrs["unit"] = "nm"
    assert zarrscope.open(str(root))["/a"].attributes["unit"] == "nm"


@pytest.mark.needs("sshd")
def test_without_zarrscope_there_sftp_reads(sshd: list[str], tmp_path: Path) -> None:
    pytest.importorskip("paramiko")
    root = tmp_path / "x.zarr"
    zarrscope.open(str(root), "w-").create_array("/a", shape=(4,), dtype="u1")[...] = 3
    url = f"ssh://{getpass.getuser()}@127.0.0.1:{servers.port_of(sshd)}{root}"
    options = {"ssh": sshd, "command": "exit 127", **servers.sftp_options(sshd)}
    h = zarrscope.open(url, storage_options=options)
    assert int(h["/a"][...].sum()) == 12
    assert any("SFTP" in warning for warning in h.warnings)
    h.store.close()
    assert int(h["/a"][...].sum()) == 12, "a closed store opens again"
    h.store.close()
    with pytest.raises(NotInstalled):
        zarrscope.open(url, "r+", storage_options=options)
