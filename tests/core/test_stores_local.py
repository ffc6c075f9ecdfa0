"""The promises of LocalStore beyond the contract: crashes, links, other processes, modes, names."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.counting import count_up
from machine import keeps_modes, locks_files
from zarrscope.errors import Conflict, NotFound, ReadOnly, Refused, Unreadable, ZarrscopeError
from zarrscope.model.buffers import Arena
from zarrscope.model.storage import ABSENT, ByteRange, Entry
from zarrscope.stores.local import linux, removal
from zarrscope.stores.local import replace as replacing
from zarrscope.stores.local import temporaries as unfinished
from zarrscope.stores.local import write as putting
from zarrscope.stores.local.linux import nameless
from zarrscope.stores.local.locks import folder_lock
from zarrscope.stores.local.paths import extended, plain, real_path
from zarrscope.stores.local.spelling import check_windows_name
from zarrscope.stores.local.store import LocalStore

modes = pytest.mark.skipif(not keeps_modes(), reason="files have no modes here")
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX file systems only")


def child(code: str, *args: str, preexec: Callable[[], Any] | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", textwrap.dedent(code), *args]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=preexec
    )


def test_a_killed_writer_leaves_the_old_value_or_the_new(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    values = [bytes([65 + i]) * 300_000 for i in range(2)]
    store.set("a/zarr.json", values[0])
    seen = set()
    for turn in range(12):
        writer = child(
            """
            import sys
            from zarrscope.stores.local.store import LocalStore
            store = LocalStore(sys.argv[1], sync=False)
            print("ready", flush=True)
            while True:
                for i in range(2):
                    store.set("a/zarr.json", bytes([65 + i]) * 300_000)
            """,
            str(tmp_path),
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(turn * 3):  # each round ends at another moment of the writer's work
            store.get("a/zarr.json")
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        value = store.get("a/zarr.json")
        assert value in values
        seen.add(value)
        assert [entry.name for entry in store.list_dir("a/")] == ["zarr.json"]
        assert list(store.list()) == ["a/zarr.json"]
    store.set("a/zarr.json", b"still writable")
    assert store.get("a/zarr.json") == b"still writable"


@pytest.mark.parametrize("plain", [False, True], ids=["lock on folder", "lock file"])
def test_processes_lose_no_update(tmp_path: Path, plain: bool) -> None:
    LocalStore(tmp_path).set("n", b"0")
    opening = """
from zarrscope.stores.local.store import LocalStore
store = LocalStore(sys.argv[2], sync=False)
store._lock_on_folder = store._lock_on_folder and sys.argv[3] != "True"
"""
    counted = count_up(opening, str(tmp_path), str(plain), times=40)
    assert LocalStore(tmp_path).get("n") == counted


def test_a_lock_that_is_held_ends_in_a_sentence(tmp_path: Path) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with folder_lock(str(tmp_path)):
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    try:
        with pytest.raises(Unreadable, match="Another program"), folder_lock(str(tmp_path), timeout=0.01):
            pass
    finally:
        done.set()
        thread.join()
    with folder_lock(str(tmp_path), timeout=0.01):
        assert os.listdir(tmp_path) == []


@posix
def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_bytes(b"secret")
    root = tmp_path / "x.zarr"
    root.mkdir()
    (root / "file").symlink_to(tmp_path / "secret/file")
    (root / "folder").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("..")
    (root / "ok").write_bytes(b"ok")
    store = LocalStore(root)
    for act in (
        lambda: store.get("file"),
        lambda: store.get("folder/file"),
        lambda: store.get("up/secret/file"),
        lambda: list(store.list_dir("folder/")),
        lambda: list(store.list_prefix("up/")),
        lambda: store.set("file", b"x"),
        lambda: store.set("folder/new", b"x"),
        lambda: store.erase("folder/file"),
        lambda: store.erase_prefix("folder/"),
    ):
        with pytest.raises(Refused, match="leads out"):
            act()
    assert list(store.list()) == ["ok"]
    assert (tmp_path / "secret/file").read_bytes() == b"secret"
    free = LocalStore(root, allow_outside=True)
    assert free.get("file") == b"secret"
    assert free.get("folder/file") == b"secret"
    store.erase_prefix("")
    assert (tmp_path / "secret/file").read_bytes() == b"secret", "a link is removed, not what it leads to"


@posix
def test_links_within_are_followed_and_circles_end(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x")
    store.set("a/b", b"1")
    (tmp_path / "x/link").symlink_to("a")
    (tmp_path / "x/alias").symlink_to("a/b")
    (tmp_path / "x/a/circle").symlink_to("..")
    (tmp_path / "x/loop").symlink_to("loop")
    assert store.get("link/b") == store.get("alias") == b"1"
    assert set(store.list()) >= {"a/b", "alias", "link/b"}
    store.set("alias", b"2")
    assert (tmp_path / "x/alias").is_symlink()
    assert store.get("a/b") == b"2"
    with pytest.raises(Unreadable, match="circle"):
        store.get("loop")
    sizes = {entry.name: entry.is_prefix for entry in store.list_dir("")}
    assert sizes == {"a": True, "link": True, "alias": False, "loop": False}


@posix
@pytest.mark.parametrize("read", [True, False])
def test_a_survey_looks_neither_outside_nor_into_pipes(tmp_path: Path, read: bool) -> None:
    store = LocalStore(tmp_path / "x")
    for name in ("plain", "linked", "away", "pipe", "folder"):
        (tmp_path / "x" / name).mkdir(parents=True)
    store.set("plain/doc", b"1")
    LocalStore(tmp_path / "secret").set("doc", b"secret")
    (tmp_path / "x/linked/doc").symlink_to("../plain/doc")
    (tmp_path / "x/away/doc").symlink_to(tmp_path / "secret/doc")
    (tmp_path / "x/out").symlink_to(tmp_path / "secret")
    (tmp_path / "x/in").symlink_to("plain")
    os.mkfifo(tmp_path / "x/pipe/doc")
    (tmp_path / "x/folder/doc").mkdir()
    found = {each.name: each for each in store.bulk.scan_children("", ("doc",), read=read)}
    held = b"1" if read else None
    assert {name: (found[name].document, found[name].value) for name in ("plain", "linked", "in")} == {
        "plain": ("doc", held), "linked": ("doc", held), "in": ("doc", held)
    }  # fmt: skip
    for name, kind in (("away", Refused), ("out", Refused), ("pipe", Unreadable), ("folder", Unreadable)):
        assert found[name].document is None
        assert isinstance(found[name].value, kind)
    free = LocalStore(tmp_path / "x", allow_outside=True)
    assert {each.name for each in free.bulk.scan_children("", ("doc",), read=read) if each.document} >= {
        "plain",
        "away",
        "out",
    }


@posix
def test_a_root_that_is_a_link_is_the_folder_it_names(tmp_path: Path) -> None:
    LocalStore(tmp_path / "real").set("a", b"1")
    (tmp_path / "link").symlink_to("real")
    assert LocalStore(tmp_path / "link").get("a") == b"1"


@posix
@modes
def test_mode_and_attributes_are_kept(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a", b"1")
    os.chmod(tmp_path / "a", 0o640)
    marked = sys.platform == "linux"
    if marked:
        try:
            os.setxattr(tmp_path / "a", "user.note", b"mine")
        except OSError:
            marked = False
    store.set("a", b"2")
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o640
    if marked:
        assert os.getxattr(tmp_path / "a", "user.note") == b"mine"
    old = os.umask(0o027)
    try:
        store.set("new", b"1")
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o640


@posix
@modes
def test_permissions_are_told_in_a_sentence(tmp_path: Path) -> None:
    """In a process that is not root, because root has all permissions."""
    store = LocalStore(tmp_path / "x")
    store.set("a/secret", b"1")
    store.set("a/fixed", b"1")
    os.chmod(tmp_path / "x/a/secret", 0)
    os.chmod(tmp_path / "x/a/fixed", 0o444)
    os.chmod(tmp_path / "x/a", 0o777)
    place = tmp_path
    while place != place.parent:  # other users cannot read pytest's folders
        if os.stat(place).st_uid == os.getuid() and os.getuid() == 0 and place != Path("/"):
            os.chmod(place, stat.S_IMODE(os.stat(place).st_mode) | 0o055)
        place = place.parent
    code = """
        import os, sys
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        from zarrscope.errors import ZarrscopeError
        for act in ("get('a/secret')", "set('a/fixed', b'2')", "set('b', b'2')"):
            try:
                eval("store." + act)
                print("done")
            except ZarrscopeError as error:
                print(type(error).__name__, "|", error.advice)
        """
    os.chmod(tmp_path / "x", 0o555)
    setup = "import sys; from zarrscope.stores.local import locks, store as l\nstore = l.LocalStore(sys.argv[1])\n"
    done = child(setup + textwrap.dedent(code), str(tmp_path / "x"))
    out, errors = done.communicate(timeout=30)
    os.chmod(tmp_path / "x", 0o755)
    lines = out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["Denied", "ReadOnly", "ReadOnly"], errors.decode()
    assert "Ask the owner" in lines[0]
    assert (tmp_path / "x/a/fixed").read_bytes() == b"1"


def test_a_folder_and_a_file_cannot_share_a_name(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a/b", b"1")
    for key in ("a", "a/b/c", "a/b/c/d"):
        with pytest.raises(Refused):
            store.set(key, b"2")
    assert list(store.list()) == ["a/b"]
    assert sorted(os.listdir(tmp_path)) == ["a"]


@posix
def test_pipes_do_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="pipe"):
        LocalStore(tmp_path).get("pipe")


def test_erasing_the_last_key_removes_the_folder_but_never_the_root(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x")
    store.set("a/b/c", b"1")
    store.erase("a/b/c")
    assert (tmp_path / "x").is_dir()
    assert os.listdir(tmp_path / "x") == []
    store.set("a/b/c", b"1")
    store.erase_prefix("a/b/")
    assert os.listdir(tmp_path / "x") == []


def test_unfinished_files_are_no_keys_and_old_ones_go(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a/b", b"1")
    name = ".zs-0123456789abcdef.partial"
    (tmp_path / "a" / name).write_bytes(b"half")
    assert list(store.list()) == ["a/b"]
    assert list(store.list_dir("a/")) == [Entry("b", False)]
    assert store.get("a/" + name) is None
    with pytest.raises(Refused):
        store.set("a/" + name, b"x")
    store.erase("a/b")
    assert (tmp_path / "a").is_dir(), "somebody may be writing it now"
    os.utime(tmp_path / "a" / name, (time.time() - 2 * unfinished.STALE,) * 2)
    store.erase("a/b")
    store.set("a/b", b"1")
    store.erase("a/b")
    assert not (tmp_path / "a").exists()


def old_enough(path: Path) -> None:
    os.utime(path, (time.time() - 2 * unfinished.GRACE,) * 2)


@posix
@pytest.mark.skipif(not locks_files(), reason="files are not locked here: age alone tells what is left over")
def test_what_a_killed_writer_left_goes_with_the_next_and_a_living_one_is_left_alone(tmp_path: Path) -> None:
    writer = child(
        """
        import sys
        from zarrscope.stores.local.temporaries import begin
        path, handle = begin(sys.argv[1])
        print(path, flush=True)
        sys.stdin.read()
        """,
        str(tmp_path),
    )
    assert writer.stdout is not None
    left = Path(writer.stdout.readline().decode().strip())
    old_enough(left)
    store = LocalStore(tmp_path)
    unfinished.sweep(str(tmp_path), now=True)
    assert left.exists(), "its writer lives"
    assert list(store.files.stale_temporaries()) == []
    assert list(store.list()) == []
    writer.kill()
    writer.communicate()
    assert list(store.files.stale_temporaries()) == [left.name]
    unfinished._swept.clear()
    store.set("a", b"1")
    assert os.listdir(tmp_path) == ["a"]
    fresh, handle = unfinished.begin(str(tmp_path))
    os.close(handle)
    unfinished._swept.clear()
    store.bulk.put("b", b"1")
    assert os.path.exists(fresh), "there is a moment between making a file and marking it"
    old_enough(Path(fresh))
    store.bulk.put("b", b"2")
    assert os.path.exists(fresh), "a folder is looked through once an hour"
    unfinished._swept.clear()
    store.bulk.put("b", b"2")
    assert not os.path.exists(fresh)


def test_a_prefix_is_gone_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed before anything was erased for good: the prefix is no longer visible, and the next writer
    completes its removal."""
    store = LocalStore(tmp_path)
    for i in range(5):
        store.set(f"a/b/{i}", b"x")
    monkeypatch.setattr(removal, "remove", lambda path: None)
    store.erase_prefix("a/b/")
    assert list(store.list()) == []
    assert list(store.list_dir("")) == []
    monkeypatch.undo()
    (aside,) = tmp_path.iterdir()
    assert sum(file.is_file() for file in aside.rglob("*")) == 5
    assert store.get(f"{aside.name}/removed/1") is None, "nobody reads there"
    with pytest.raises(Refused):
        store.set(f"{aside.name}/removed/1", b"x")
    assert list(store.files.stale_temporaries()) == [], "somebody may be about to remove it"
    old_enough(aside)
    assert list(store.files.stale_temporaries()) == [aside.name]
    unfinished._swept.clear()
    store.set("c", b"1")
    assert os.listdir(tmp_path) == ["c"]


def test_what_is_removed_in_a_turn_is_gone_when_the_turn_is_over(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a/b", b"x")
    with store.lock():
        store.erase_prefix("a/")
        assert list(store.list()) == []
        assert len(os.listdir(tmp_path)) == 1, "others need not wait for it"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("force", ["closed first", "lock file", "no vectors", "nothing told by locks", "as it is"])
def test_the_ways_of_other_systems(force: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    store._nameless = force in ("as it is", "no vectors")
    if force == "closed first":
        store._renames_open = False
    elif force == "lock file":
        store._lock_on_folder = False
    elif force == "no vectors":
        monkeypatch.delattr(os, "writev", raising=False)
    elif force == "nothing told by locks":
        monkeypatch.setattr(unfinished, "unused", lambda path: None)
    left, handle = unfinished.begin(str(tmp_path))
    os.close(handle)
    os.utime(left, (1, 1))
    unfinished._swept.clear()
    with store.lock(), store.lock("a"):
        store.bulk.put("a", b"1", b"23")
        version = store.set("b", b"x")
    store.set("b", b"y", version)
    store.erase("a")
    store.bulk.put("a", b"4")
    assert {key: store.get(key) for key in store.list()} == {"a": b"4", "b": b"y"}
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@modes
@pytest.mark.parametrize("named", [False, True])
def test_a_value_that_is_put_has_the_mode_of_the_old_one_or_that_of_the_umask(named: bool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store._nameless = not named
    before = os.umask(0o027)
    try:
        store.bulk.put("a/b", b"1")
        assert (tmp_path / "a/b").stat().st_mode & 0o777 == (0o640 if os.name == "posix" else 0o666)
        (tmp_path / "a/b").chmod(0o604)
        store.bulk.put("a/b", b"2")
    finally:
        os.umask(before)
    assert os.name != "posix" or (tmp_path / "a/b").stat().st_mode & 0o777 == 0o604
    assert store.get("a/b") == b"2"
    assert os.listdir(tmp_path / "a") == ["b"]


@posix
@pytest.mark.parametrize("named", [False, True])
def test_a_value_is_put_through_a_link_only_within_the_store(named: bool, tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x")
    store._nameless = not named
    store.bulk.put("a/b", b"1")
    (tmp_path / "x/link").symlink_to("a/b")
    (tmp_path / "x/folder").symlink_to("a")
    (tmp_path / "x/out").symlink_to(tmp_path)
    (tmp_path / "x/nobody").symlink_to(tmp_path / "y")
    store.bulk.put("link", b"2")
    assert (tmp_path / "x/link").is_symlink()
    assert store.get("a/b") == b"2"
    store.bulk.put("folder/c", b"3")
    assert store.get("a/c") == b"3"
    for key in ("out/d", "out/new/d", "nobody"):
        with pytest.raises(Refused):
            store.bulk.put(key, b"4")
    assert sorted(os.listdir(tmp_path)) == ["x"]
    with pytest.raises(Refused):
        store.bulk.put("a", b"5")
    with pytest.raises(Refused):
        store.bulk.put("a/b/c", b"5")
    assert sorted(os.listdir(tmp_path / "x/a")) == ["b", "c"]


@pytest.mark.skipif(nameless() is None, reason="this system has no files without a name")
def test_nothing_has_a_name_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, seen = LocalStore(tmp_path), []
    store.bulk.put("old", b"1")

    def looked(handle: int, parts: Any) -> None:
        replacing.write(handle, parts)
        seen.append(sorted(os.listdir(tmp_path)))

    monkeypatch.setattr(putting, "write", looked)
    store.bulk.put("new", b"2")
    store.bulk.put("old", b"3")
    assert seen == [["old"], ["new", "old"]]
    monkeypatch.setattr(putting, "nameless", lambda: (lambda folder: -errno.EOPNOTSUPP, None))
    store.bulk.put("b", b"4")
    monkeypatch.setattr(putting, "nameless", None)
    store.bulk.put("c", b"5")
    assert {key: store.get(key) for key in store.list()} == {"new": b"2", "old": b"3", "b": b"4", "c": b"5"}


def test_a_turn_in_which_nothing_is_stored_leaves_no_folder(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x/y")
    with store.lock():
        assert store.get("a") is None
    assert os.listdir(tmp_path) == []
    with store.lock():
        store.set("a", b"1")
    assert store.get("a") == b"1"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ZarrscopeError), LocalStore(tmp_path / "file/x").lock():
        pass


@posix
def test_a_folder_that_may_not_be_renamed_is_emptied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    store.set("a/b/c", b"x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "rename", refuse)
    store.erase_prefix("a/")
    assert os.listdir(tmp_path) == []


@posix
def test_turns_hold_between_processes_and_end_with_a_kill(tmp_path: Path) -> None:
    code = """
        import sys
        from zarrscope.stores.local.store import LocalStore
        with LocalStore(sys.argv[1]).lock(sys.argv[2]):
            print("mine", flush=True)
            sys.stdin.read()
        """
    store = LocalStore(tmp_path)
    for key in ("", "a/b"):
        holder = child(code, str(tmp_path), key)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"mine\n"
        got = threading.Event()

        def take(key: str = key, got: threading.Event = got) -> None:
            with store.lock(key):
                got.set()

        thread = threading.Thread(target=take)
        thread.start()
        assert not got.wait(0.05)
        holder.kill()
        holder.communicate()
        thread.join(20)
        assert got.is_set()


def test_a_full_disk_leaves_the_old_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    store.set("a", b"old")

    def full(handle: int, value: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Unreadable, match="disk is full"):
        store.set("a", b"new")
    monkeypatch.undo()
    assert store.get("a") == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_listing_reads_no_more_than_one_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path)
    for i in range(5):
        store.set(f"{i}/deep/er", b"")
    scanned: list[str] = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (scanned.append(path), scandir(path))[1])  # type: ignore[func-returns-value]  # called for what they do
    first = next(store.list_dir(""))
    assert first.is_prefix
    assert len(list(store.list_dir(""))) == 5
    assert set(scanned) == {store._base}


def test_a_name_that_is_not_unicode_is_listed_and_read(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has file names of any bytes")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")).write_bytes(b"1")
    store = LocalStore(tmp_path)
    (key,) = store.list()
    assert store.get(key) == b"1"
    with pytest.raises(Refused):
        store.get("\ud800")


def test_a_key_beyond_what_the_system_takes_is_absent(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    assert store.get("x" * 1000) is None
    with pytest.raises(Unreadable, match="shorter"):
        store.set("x" * 1000, b"")


def test_keys_of_long_paths_are_as_good_as_others(tmp_path: Path) -> None:
    """Without a special prefix Windows does not find paths of more than 259 characters, so values would seem to be
    absent."""
    store = LocalStore(tmp_path / "x")
    key = "/".join(["a" * 60] * 5 + ["zarr.json"])
    assert store.get(key) is None
    store.set(key, b"1")
    store.bulk.put(key, b"2")
    store.bulk.put(key + ".beside", b"3")
    assert store.get(key) == b"2"
    reader = store.bulk.reader(Arena())
    reader.seek(key)
    assert bytes(reader.whole() or b"") == b"2"
    reader.close()
    assert sorted(store.list()) == [key, key + ".beside"]
    found = store.get_versioned(key)
    assert found is not None
    store.set(key, b"4", found[1])
    store.erase(key + ".beside")
    assert store.get(key) == b"4"
    store.erase_prefix("a" * 60 + "/")
    assert list(store.list()) == []
    assert os.listdir(tmp_path / "x") == []


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("C:\\a\\b", "\\\\?\\C:\\a\\b"), ("C:\\", "\\\\?\\C:\\"),
        ("\\\\server\\share\\a", "\\\\?\\UNC\\server\\share\\a"),
    ],
)  # fmt: skip
def test_paths_of_windows_are_given_in_the_form_for_any_length(
    path: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plain(extended("/a/b")) == "/a/b"
    monkeypatch.setattr(sys, "platform", "win32")
    assert extended(path) == extended(form) == form
    assert plain(form) == plain(path) == path


@pytest.mark.parametrize("name", ["CON", "nul.txt", "com1", "a:b", "a\\b", "a.", "a ", "LPT9.x", "a?"])
def test_names_that_windows_takes_for_something_else(name: str, tmp_path: Path) -> None:
    class WindowsStore(LocalStore):
        _windows = True

    with pytest.raises(Refused, match="Windows"):
        WindowsStore(tmp_path).get(f"a/{name}/b")
    if sys.platform != "win32":
        LocalStore(tmp_path).set(f"a/{name}", b"1")
        assert LocalStore(tmp_path).get(f"a/{name}") == b"1"


@pytest.mark.parametrize("name", ["c", "zarr.json", ".zarray", "console", "com", "0.0", "ü"])
def test_names_that_windows_takes_as_they_are(name: str) -> None:
    check_windows_name(name)


def test_ranges_of_a_file_larger_than_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.stores.local.store.SYSTEM_CALL_BYTES", 7)
    for positional in (True, False):
        store = LocalStore(tmp_path)
        store._positional = positional and hasattr(os, "pread")
        value = bytes(range(100))
        store.set("a", value)
        assert store.get("a") == value
        assert store.get("a", ByteRange(10, 50)) == value[10:60]
        assert store.get("a", ByteRange.last(20)) == value[-20:]


def test_a_store_opened_for_reading_creates_nothing(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x", writable=False)
    with pytest.raises(ReadOnly):
        store.set("a", b"")
    assert not (tmp_path / "x").exists()


@posix
def test_a_root_is_the_folder_itself_however_it_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for way in ("real", "link", "link/../link", "no/such/folder"):
        expected = os.path.realpath(tmp_path / way)
        assert LocalStore(tmp_path / way).root == expected
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(linux, "real_path", lambda: None)
            assert real_path(str(tmp_path / way)) == expected


def test_likely_keys_leave_out_only_what_is_not_there(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.set("a", b"1")
    store.set("b/c", b"1")
    assert list(store.bulk.filter_existing(["a", "b", "no", "b/c", "b/no"])) == ["a", "b", "b/c", "b/no"]
    assert list(LocalStore(tmp_path / "no").bulk.filter_existing(["a"])) == ["a"]


def test_a_conflict_makes_no_folder_in_the_place_of_one_that_was_moved_away(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "x.zarr")
    version = store.set("g/zarr.json", b"{}", expect=ABSENT)
    (tmp_path / "x.zarr").rename(tmp_path / "away.zarr")
    with pytest.raises(Conflict):
        store.set("g/zarr.json", b"{ }", expect=version)
    assert [each.name for each in tmp_path.iterdir()] == ["away.zarr"], "whoever moves it back finds no folder there"
    (tmp_path / "away.zarr").rename(tmp_path / "x.zarr")
    store.set("g/zarr.json", b"{ }", expect=version)


def test_a_folder_that_was_moved_away_is_named(tmp_path: Path) -> None:
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        h.create_group("g")
    with zarrscope.open(tmp_path / "x.zarr") as h:
        (tmp_path / "x.zarr").rename(tmp_path / "away.zarr")
        for path in ("/g", "/nothing"):
            with pytest.raises(NotFound, match="folder of this hierarchy is not there any more") as caught:
                h[path]
            assert "Put it back" in str(caught.value.advice)
