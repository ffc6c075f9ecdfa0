"""sftp:// over OpenSSH's server on this machine: reading, writing, and broken connections."""

from __future__ import annotations

import gc
import os
import pickle
import shlex
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import servers
import zarrscope
from contracts.counting import count_up
from contracts.store import VALUES
from contracts.wire import Wire, eventually, wire
from narrowing import as_array
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.errors import Conflict, Denied, ReadOnly, Refused, Unreadable
from zarrscope.model.storage import ABSENT, ByteRange
from zarrscope.stores.address import open_store
from zarrscope.stores.local.links import MOST_LINKS
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.sftp import files
from zarrscope.stores.sftp.store import SFTPStore

pytest.importorskip("paramiko")
pytestmark = pytest.mark.needs("sshd")


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with servers.sshd(tmp_path_factory.mktemp("sshd")) as arguments:
        yield arguments


@pytest.fixture(scope="module", autouse=True)
def held(sshd: list[str]) -> Iterator[None]:
    """A store that keeps the connection open; otherwise each test would log in."""
    store = opened(sshd, "/")
    yield
    store.close()


def opened(sshd: list[str], root: str | Path, *, port: int | None = None, writable: bool = True, **options: Any) -> Any:
    url = f"sftp://127.0.0.1:{port or servers.port_of(sshd)}{root}"
    return SFTPStore(url, writable=writable, **{**servers.sftp_options(sshd, port), **options})


@pytest.fixture
def values(tmp_path: Path) -> Path:
    for key, value in VALUES.items():
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(value)
    return tmp_path


def test_a_hierarchy_is_made_edited_and_read(sshd: list[str], tmp_path: Path) -> None:
    root = tmp_path / "x.zarr"
    with zarrscope.open(opened(sshd, root), "w-") as h:
        h.create_array("/g/a", shape=(64, 64), dtype="u2", chunks=(8, 8))[...] = 7
        h["/g"].attrs["note"] = "far"
    assert int(zarrscope.open_array(str(root), "/g/a")[...].sum()) == 7 * 64 * 64
    url = f"sftp://127.0.0.1:{servers.port_of(sshd)}{root}"
    with zarrscope.open(url, storage_options=servers.sftp_options(sshd)) as h:
        assert h["/g"].attributes["note"] == "far"
        assert not h.store.writable
        assert int(as_array(h["/g/a"])[...].sum()) == 7 * 64 * 64


def test_values_of_many_requests_are_whole(sshd: list[str], tmp_path: Path) -> None:
    value = os.urandom(5 << 20)
    store = opened(sshd, tmp_path)
    store.bulk.put("large", value)
    assert (tmp_path / "large").read_bytes() == value
    assert store.get("large") == value
    assert store.get("large", ByteRange(70_000, 4 << 20)) == value[70_000 : 70_000 + (4 << 20)]
    assert dict(store.get_many([("large", ByteRange(i << 16, 1 << 16)) for i in range(80)])) == {
        i: value[i << 16 : (i + 1) << 16] for i in range(80)
    }
    assert store.read_end("large", 1000) == (value[-1000:], len(value))


def test_an_archive_there_opens(sshd: list[str], tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "x.zip"), "w-") as h:
        h.create_array("/a", shape=(64, 64), dtype="u1", chunks=(8, 8))[...] = 5
    url = f"sftp://127.0.0.1:{servers.port_of(sshd)}{tmp_path}/x.zip"
    with zarrscope.open(url, storage_options=servers.sftp_options(sshd)) as h:
        assert int(as_array(h["/a"])[...].sum()) == 5 * 64 * 64


def test_links_are_followed_and_lead_nowhere_twice(sshd: list[str], values: Path) -> None:
    (values / "to a").symlink_to("a")
    (values / "to b").symlink_to("a/b")
    (values / "broken").symlink_to("nothing")
    (values / "a" / "back").symlink_to("..")
    store = opened(sshd, values)
    names = {entry.name: entry.is_prefix for entry in store.list_dir("")}
    assert (names["to a"], names["to b"]) == (True, False)
    assert names["broken"] is False, "a value that should be there"
    with pytest.raises(Unreadable, match="link is broken"):
        store.get("broken")
    assert store.get("to a/b") == VALUES["a/b"]
    assert {"to b", "to a/b"} <= set(store.list())
    assert not any(key.startswith("a/back/") for key in store.list()), "nothing is listed twice"
    store.set("to b", b"through")
    assert (values / "a/b").read_bytes() == b"through"
    assert (values / "to b").is_symlink()


def circular(root: Path) -> None:
    """A hierarchy with links to its own folder, to folders above, and to a folder beside."""
    h = zarrscope.open(root, "w-")
    h.create_group("g/h")
    h.create_array("a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    for name in ("s1", "s2"):
        (root / name).symlink_to(".")
    (root / "g/up").symlink_to("../g")
    (root / "g/h/over").symlink_to("../..")
    (root / "same").symlink_to("a")


def test_links_back_to_a_folder_above_make_no_endless_hierarchy(sshd: list[str], tmp_path: Path) -> None:
    circular(tmp_path / "x.zarr")
    with zarrscope.open(opened(sshd, tmp_path / "x.zarr"), "r+") as h:
        told = sorted(path for path, _ in h.walk())
        assert told == ["/a", "/g", "/g/h", "/g/h/over", "/g/up", "/s1", "/s2", "/same"]
        for path in ("/s1", "/g/up", "/g/h/over"):
            node = h[path]
            assert isinstance(node, zarrscope.Group)
            with pytest.raises(Unreadable, match="leads back to a folder that contains it") as caught:
                [*node.children()]
            assert (caught.value.key, caught.value.store) == (path[1:] + "/", h.url)
            assert "Remove the link" in str(caught.value.advice)
        assert {each.key for each in check(h) if each.severity == "error"} == {"g/h/over/", "g/up/", "s1/", "s2/"}
        with pytest.raises(Unreadable, match="leads back"):
            convert.run(convert.plan(h, MemoryStore(), "v2"))
        documents = {f"{at}zarr.json" for at in ("", "a/", "g/", "g/h/", "same/")}
        assert {*h.store.list()} == documents | {f"{at}/c/{i}" for at in ("a", "same") for i in range(2)}
        h.store.erase_prefix("s1/")
        h.store.erase_prefix("g/")
        assert not (tmp_path / "x.zarr/g").exists()
        assert not (tmp_path / "x.zarr/s1").is_symlink()
        assert (tmp_path / "x.zarr/a/c/0").exists(), "a link is removed, not the folder behind it"


def test_links_that_branch_are_listed_only_a_few_levels_down(sshd: list[str], tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path, "a")
    for n in range(12):
        h.create_group(f"d{n}")
    for n in range(11):
        (tmp_path / f"d{n}" / "x").symlink_to(f"../d{n + 1}")
    with zarrscope.open(opened(sshd, tmp_path)) as h:
        assert max(path.count("/") for path, _ in h.walk()) == MOST_LINKS + 2
        with pytest.raises(Unreadable, match="more than 4 symbolic links"):
            [*h.store.list()]


def test_links_end_through_a_file_system_of_fsspec(sshd: list[str], tmp_path: Path) -> None:
    """It says that a name is a link, but not where it leads."""
    (tmp_path / "x.zarr").mkdir()
    h = zarrscope.open(tmp_path / "x.zarr", "a")
    h.create_array("a", shape=(4,), dtype="u1", chunks=(2,))[...] = 7
    (tmp_path / "x.zarr/same").symlink_to("a")
    (tmp_path / "x.zarr/here").symlink_to(".")
    options = {name: value for name, value in servers.sftp_options(sshd).items() if name == "key_filename"}
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("sftp", host="127.0.0.1", port=int(servers.port_of(sshd)), **options)
    h = zarrscope.open(fsspec.FSMap(str(tmp_path / "x.zarr"), files))
    assert {"/same", "/here/a", "/here/here/same"} <= {path for path, _ in h.walk()}
    assert max(path.count("/") for path, _ in h.walk()) == MOST_LINKS + 1
    deepest = h["/here" * (MOST_LINKS + 1)]
    assert isinstance(deepest, zarrscope.Group)
    with pytest.raises(Unreadable, match="more than 4 symbolic links"):
        [*deepest.children()]
    files.client.close()


def test_a_large_folder_streams_and_may_be_left(sshd: list[str], tmp_path: Path) -> None:
    names = {f"n{i}" for i in range(3000)}
    for name in names:
        (tmp_path / name).touch()
    store = opened(sshd, tmp_path)
    assert {entry.name for entry in store.list_dir("")} == names
    for entry in store.list_dir(""):
        assert entry.name in names
        break
    assert store.get("n7") == b"", "the channel that was left is not used again"


def test_what_may_not_be_read_is_denied(sshd: list[str], values: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")  # as paramiko does; root of these tests may read everything

    monkeypatch.setattr(files, "read", denied)
    with pytest.raises(Denied, match="could not be read: Permission denied") as caught:
        opened(sshd, values).get("a/b")
    assert caught.value.key == "a/b"


def test_a_file_that_is_protected_is_not_replaced(sshd: list[str], values: Path) -> None:
    store = opened(sshd, values)
    (values / "a/b").chmod(0o444)
    with pytest.raises(ReadOnly, match="write-protected"):
        store.set("a/b", b"new")
    (values / "a/b").chmod(0o640)
    store.set("a/b", b"new")
    assert (values / "a/b").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in values.rglob(".zs-*")] == []


def test_a_file_is_no_folder_and_a_folder_no_file(sshd: list[str], values: Path) -> None:
    store = opened(sshd, values)
    for act in (
        lambda: store.set("zarr.json/x", b""),
        lambda: store.set("a", b""),
        lambda: store.set("a", b"", ABSENT),
        lambda: store.bulk.put("a/b/c/d", b""),
    ):
        with pytest.raises((Refused, Conflict)):
            act()
    assert {key: store.get(key) for key in VALUES} == VALUES


def test_what_a_killed_writer_left_is_in_nobodys_way(sshd: list[str], values: Path) -> None:
    store = opened(sshd, values)
    version = store.get_versioned("a/b")[1]
    with store._marked("a/b", time.time()):
        mark = next((values / "a").glob(".zs-*.partial"))
        assert [entry.name for entry in store.list_dir("a/") if entry.name.startswith(".")] == []
    assert not mark.exists()
    mark.touch()
    os.utime(mark, (1, 1))
    store.set("a/b", b"new", version)
    assert (values / "a/b").read_bytes() == b"new"
    assert not mark.exists()


OPENING = """
from zarrscope.stores.sftp.store import SFTPStore
store = SFTPStore(sys.argv[2], writable=True, **eval(sys.argv[3]))
"""


def test_writers_of_several_processes_lose_nothing(sshd: list[str], tmp_path: Path) -> None:
    (tmp_path / "n").write_bytes(b"0")
    store = opened(sshd, tmp_path)
    counted = count_up(OPENING, store.url, repr(servers.sftp_options(sshd)), times=5)
    assert (tmp_path / "n").read_bytes() == counted


# ---------------------------------------------------------------------- host keys and logins
def test_an_unknown_host_is_refused_with_the_line_that_makes_it_known(
    sshd: list[str], values: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    known = tmp_path_factory.mktemp("hosts") / "known hosts"
    store = opened(sshd, values, known_hosts=str(known))
    with pytest.raises(Refused, match="is not known: its key is ssh-ed25519 SHA256:") as caught:
        store.get("a/b")
    assert caught.value.advice is not None
    line = caught.value.advice[caught.value.advice.index("echo ") :]
    assert line.endswith(f" >> {known}")
    known.write_text(shlex.split(line)[1] + "\n")
    assert store.get("a/b") == VALUES["a/b"]
    store.close()


def test_a_host_with_another_key_is_refused(sshd: list[str], values: Path, tmp_path: Path) -> None:
    known = tmp_path / "known_hosts"
    user = Path(sshd[sshd.index("-i") + 1] + ".pub").read_text()
    known.write_text(f"[127.0.0.1]:{servers.port_of(sshd)} {user}")
    with pytest.raises(Refused, match="has changed") as caught:
        opened(sshd, values, known_hosts=str(known)).get("a/b")
    assert "ssh-keygen -R" in str(caught.value)


def test_a_login_that_is_not_taken_is_denied(sshd: list[str], values: Path, tmp_path: Path) -> None:
    key = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with pytest.raises(Denied, match="does not accept the login"):
        opened(sshd, values, key_filename=str(key)).get("a/b")


def test_the_configuration_of_ssh_says_where_the_host_is(sshd: list[str], values: Path, tmp_path: Path) -> None:
    options = servers.sftp_options(sshd)
    proxy = shlex.join([*sshd, "-W", f"127.0.0.1:{servers.port_of(sshd)}", "127.0.0.1"])
    config = tmp_path / "config"
    config.write_text(
        f"Host near\n HostName 127.0.0.1\n Port {servers.port_of(sshd)}\n IdentityFile {options['key_filename']}\n"
        f" UserKnownHostsFile {options['known_hosts']}\n IdentitiesOnly yes\n"
        f"Host through\n HostName 127.0.0.1\n Port {servers.port_of(sshd)}\n IdentityFile {options['key_filename']}\n"
        f" UserKnownHostsFile {options['known_hosts']}\n IdentitiesOnly yes\n ProxyCommand {proxy}\n"
    )
    for host in ("near", "through"):
        store = SFTPStore(f"sftp://{host}{values}", ssh_config=str(config), allow_agent=False)
        assert store.get("a/b") == VALUES["a/b"]
        store.close()


def test_unknown_options_are_refused() -> None:
    with pytest.raises(Refused, match="frobnicate"):
        open_store("sftp://host/x", "r", {"frobnicate": 1})


def test_a_pickled_store_has_no_password(sshd: list[str], values: Path) -> None:
    store = opened(sshd, values, password="s3cr3tPassword")
    data = pickle.dumps(store)
    assert b"s3cr3t" not in data
    again = pickle.loads(data)
    assert again.get("a/b") == VALUES["a/b"]
    again.close()
    store.close()


# ---------------------------------------------------------------------- failures
@pytest.fixture
def cable(sshd: list[str]) -> Iterator[Wire]:
    with wire(servers.port_of(sshd)) as found:
        yield found


def test_a_connection_that_broke_is_made_anew(sshd: list[str], values: Path, cable: Wire) -> None:
    store = opened(sshd, values, port=cable.port)
    for _ in range(3):
        assert dict(store.get_many([(key, None) for key in VALUES])) == dict(enumerate(VALUES.values()))
        cable.cut()
    version = store.get_versioned("a/b")[1]
    cable.cut()
    version = store.set("a/b", b"one", version)
    cable.cut()
    assert sorted(store.list()) == sorted(VALUES)
    cable.cut()
    store.set("a/b", b"two", version)
    cable.cut()
    store.erase("a/b")
    assert store.get("a/b") is None
    store.close()


def test_a_session_that_ended_without_notice_is_replaced(sshd: list[str], values: Path, cable: Wire) -> None:
    store, used, free = opened(sshd, values, port=cable.port), threading.Event(), threading.Event()
    store._connection.submit(lambda channel: [call() for call in (used.set, free.wait)])
    assert used.wait(60)
    cable.hold()
    other = store._connection.submit(lambda channel: channel.stat(f"{values}/a/b").st_size)
    while store._connection._session.opened < 2:
        time.sleep(0.01)
    cable.cut()
    cable.release()
    assert other.result(60) == len(VALUES["a/b"])
    free.set()
    store.close()


def test_a_channel_may_be_asked_for_while_the_connection_breaks(sshd: list[str], cable: Wire) -> None:
    store = opened(sshd, "/", port=cable.port)
    transport = store._connection.submit(lambda channel: channel.get_channel().get_transport()).result(60)
    asked: Any = type("Asked", (), {"set": lambda _: transport.channel_events.update({1 << 21: threading.Event()})})()
    transport.channel_events[1 << 20] = asked
    cable.cut()
    transport.join(60)  # a failure of this thread fails the test
    assert transport.sock._closed
    store.close()


def test_a_host_that_is_gone_is_an_error_that_names_it(sshd: list[str], values: Path, cable: Wire) -> None:
    store = opened(sshd, values, port=cable.port, timeout=20)
    assert store.get("a/b") == VALUES["a/b"]
    cable.refuse()
    cable.cut()
    with pytest.raises(Unreadable, match=r"127\.0\.0\.1") as caught:
        store.get("a/b")
    assert caught.value.key == "a/b"
    cable.refuse(False)
    assert store.get("a/b") == VALUES["a/b"]
    store.close()


def test_a_silent_host_is_given_up(sshd: list[str], values: Path, cable: Wire) -> None:
    store = opened(sshd, values, port=cable.port, timeout=1)
    assert eventually(lambda: store.get("a/b")) == VALUES["a/b"]
    cable.hold()
    with pytest.raises(Unreadable):
        store.get("a/b")
    cable.release()
    cable.cut()
    assert eventually(lambda: store.get("a/b")) == VALUES["a/b"]
    store.close()


FAILING = """
import sys, zarrscope
try:
    zarrscope.open(sys.argv[1], storage_options={"timeout": 1, "attempts": 1})
except zarrscope.Unreadable as error:
    print(error)
"""


def test_a_host_that_never_answers_is_told_without_a_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"sftp://ann@127.0.0.1:{silent.getsockname()[1]}/x.zarr"
        ended = subprocess.run([sys.executable, "-c", FAILING, url], capture_output=True, text=True, timeout=120)
    assert "127.0.0.1" in ended.stdout
    assert ended.stderr == ""


def test_what_waits_for_a_silent_host_can_be_cancelled(sshd: list[str], values: Path, cable: Wire) -> None:
    store = opened(sshd, values, port=cable.port)
    assert store.get("a/b") == VALUES["a/b"]
    cable.hold()
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert list(store.get_many([("a/b", None)] * 20, stop.is_set)) == []
    cable.release()
    assert store.get("a/b") == VALUES["a/b"]
    store.close()


def test_a_program_ends_though_the_host_is_silent(sshd: list[str], values: Path, cable: Wire) -> None:
    script = (
        "import sys, threading\n"
        "from zarrscope.stores.sftp.store import SFTPStore\n"
        "store = SFTPStore(sys.argv[1], **eval(sys.argv[2]))\n"
        "assert store.get('a/b')\n"
        "print('held', flush=True)\n"
        "sys.stdin.readline()\n"
        "threading.Thread(target=store.get, args=('a/b',), daemon=True).start()\n"
        "next(iter(store.get_many([('a/b', None)] * 20, lambda: True)), None)\n"
    )
    options = repr(servers.sftp_options(sshd, cable.port))
    command = [sys.executable, "-c", script, f"sftp://127.0.0.1:{cable.port}{values}", options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        cable.hold()
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait(60) == 0


def test_stores_of_a_login_share_a_connection_that_the_last_one_ends(
    sshd: list[str], values: Path, cable: Wire
) -> None:
    one, two = (opened(sshd, values, port=cable.port) for _ in range(2))
    assert one.get("a/b") == two.get("a/b") == VALUES["a/b"]
    assert cable.connected == 1
    one.close()
    assert two.get("a/b") == VALUES["a/b"]
    assert cable.connected == 1
    two.close()
    assert two.get("a/b") == VALUES["a/b"]
    assert cable.connected == 2
    two.close()
    connection = weakref.ref(one._connection)
    del one, two
    end = time.monotonic() + 60
    while connection() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.1)
    assert connection() is None


def test_a_disk_that_is_full_leaves_the_old_value(sshd: list[str], values: Path, monkeypatch: Any) -> None:
    class Short:
        """The attributes that the server reports of a file that could not be written to the end."""

        def __init__(self, found: Any) -> None:
            self.st_size, self.st_mode, self.st_mtime = found.st_size // 2, found.st_mode, found.st_mtime

    store = opened(sshd, values)
    plain = files.write_new

    def short(channel: Any, path: str, parts: Any) -> Any:
        class Channel:
            open = channel.open

            @staticmethod
            def stat(path: str) -> Short:
                return Short(channel.stat(path))

        return plain(Channel, path, parts)

    monkeypatch.setattr(files, "write_new", short)
    with pytest.raises(Unreadable, match="could be written") as caught:
        store.set("a/b", bytes(100_000))
    assert "full" in str(caught.value)
    assert (values / "a/b").read_bytes() == VALUES["a/b"]
    assert [path.name for path in values.rglob(".zs-*")] == []
