"""Writing archives: killed at every byte, by two writers at once, beside other programs; others read the result."""

from __future__ import annotations

import errno
import io
import json
import random
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from contracts.counting import count_up
from narrowing import as_array
from zarrscope.errors import Conflict, NotFound, Refused, Unreadable, ZarrscopeError
from zarrscope.model.storage import ABSENT
from zarrscope.stores.zip import packing, writing
from zarrscope.stores.zip.directory import END, END64, end_records
from zarrscope.stores.zip.packing import repack
from zarrscope.stores.zip.store import ZipStore
from zarrscope_app.cli import run

Values = dict[str, bytes]
RANDOM = random.Random(0)
LARGE = RANDOM.randbytes(200_000)
NESTED = io.BytesIO()
with zipfile.ZipFile(NESTED, "w") as nested:
    nested.writestr("inner", b"of another archive")


def by_zipfile(data: bytes) -> Values:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def by_store(path: Path) -> Values:
    store = ZipStore(path)
    try:
        return {key: store.get(key) or b"" for key in store.list()}
    finally:
        store.close()


def filled(path: Path, values: Values, comment: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in values.items():
            archive.writestr(name, value)
        archive.comment = comment
    return path


def states(old: bytes, writes: list[tuple[int, bytes]], most: int) -> list[bytes]:
    """The archives that a kill can leave: each write cut at every byte, or at `most` positions and near its ends."""
    found = []
    now = bytearray(old)
    for offset, value in writes:
        cuts: Sequence[int] = range(len(value) + 1)
        if len(value) > most:
            cuts = sorted({*range(24), *range(len(value) - 24, len(value) + 1), *RANDOM.sample(cuts, most)})
        for cut in cuts:
            state = bytearray(now)
            state[len(state) :] = bytes(max(0, offset - len(state)) if cut else 0)
            state[offset : offset + cut] = value[:cut]
            found.append(bytes(state))
        now[len(now) :] = bytes(max(0, offset - len(now)))
        now[offset : offset + len(value)] = value
    return found


def recorded(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[tuple[int, bytes]]:
    """Records every write to the archive."""
    writes: list[tuple[int, bytes]] = []
    real = writing.writer

    def writer(handle: int) -> writing.WriteAt:
        write = real(handle)

        def record(offset: int, value: bytes) -> None:
            writes.append((offset, bytes(value)))
            write(offset, value)

        return record

    with monkeypatch.context() as patch:
        patch.setattr(writing, "writer", writer)
        act()
    return writes


SMALL: Values = {"zarr.json": b'{"a":1}', "c/0/0": bytes(range(256)), "c/0/1": b"x" * 5000}
LONG: Values = {f"c/{i}": b"%d" % i for i in range(900)}


@pytest.mark.parametrize(
    ("old", "comment", "change"),
    [
        (SMALL, b"", {"zarr.json": b'{"a":2}'}),
        (SMALL, b"a comment", {"zarr.json": b'{"a":2}', "c/1/0": b""}),
        (SMALL, b"a comment", {"c/1/0": LARGE, "c/1/1": LARGE[:70_000]}),
        (SMALL, b"", {"c/1/0": b"within " + END + b" a value"}),
        (SMALL, b"", {"c/1/0": NESTED.getvalue() + LARGE + NESTED.getvalue()}),
        (SMALL, b"", {"c/1/0": LARGE[:65_530]}),
        (SMALL, b"", {"c/1/0": LARGE[:64_900]}),
        ({}, b"", {"zarr.json": b"{}", "c/1/0": LARGE}),
        ({f"c/{i}": b"%d" % i for i in range(60)}, b"", {"c/1": LARGE}),
    ],
    ids=["document", "comment", "large", "mark", "nested", "edge", "within", "empty", "many"],
)
def test_every_reader_finds_the_old_archive_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: Values, comment: bytes, change: Values
) -> None:
    path = filled(tmp_path / "x.zip", old, comment)
    before = path.read_bytes()
    store = ZipStore(path, writable=True)
    writes = recorded(monkeypatch, lambda: store._change("zarr.json", change, {"c/0/1"}))
    new = {key: value for key, value in (old | change).items() if key != "c/0/1"}
    store.close()
    seen = {False: 0, True: 0}
    for state in states(before, writes, 20):
        path.write_bytes(state)
        found = by_zipfile(state)
        assert found in (old, new)
        assert by_store(path) == found
        seen[found == new] += 1
    assert seen[True] == 1, "the last byte of all decides"
    assert seen[False] > 100
    assert path.read_bytes()[: len(before)] == before


def test_a_long_directory_is_found_by_us_and_by_all_after_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "x.zip", LONG)
    before = path.read_bytes()
    store = ZipStore(path, writable=True)
    writes = recorded(monkeypatch, lambda: store.set("c/1", LARGE))
    store.close()
    kept = 0
    for n, state in enumerate(states(before, writes, 6)):
        path.write_bytes(state)
        found = by_store(path)
        assert found in (LONG, LONG | {"c/1": LARGE})
        if n % 10:
            continue
        kept += found == LONG
        with_next = ZipStore(path, writable=True, sync=False)
        with_next.set("new", b"1")
        with_next.close()
        assert by_zipfile(path.read_bytes()) == found | {"new": b"1"}
    assert kept > 3


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    before = path.read_bytes()
    store = ZipStore(path, writable=True)
    real = writing.writer
    for turn in range(6):
        count = [0]

        def writer(handle: int, turn: int = turn, count: list[int] = count) -> writing.WriteAt:
            def write(offset: int, value: bytes) -> None:
                count[0] += 1
                if count[0] > turn:
                    real(handle)(offset, value[: len(value) // 2])
                    raise OSError(errno.ENOSPC, "No space left on device")
                real(handle)(offset, value)

            return write

        monkeypatch.setattr(writing, "writer", writer)
        with pytest.raises(Unreadable, match="No space left") as caught:
            store.set("c/1/0", LARGE)
        assert (caught.value.errno, caught.value.key) == (errno.ENOSPC, "c/1/0")
        assert path.read_bytes() == before
    monkeypatch.setattr(writing, "writer", real)
    store.set("c/1/0", LARGE)
    assert by_zipfile(path.read_bytes()) == SMALL | {"c/1/0": LARGE}


@pytest.mark.parametrize("comment", [b"", b"1", b"12", b"123"])
def test_the_next_write_removes_what_a_killed_erasure_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comment: bytes
) -> None:
    """Zeros in front of the new directory were taken for bytes of another program, and every write was refused."""
    path = filled(tmp_path / "x.zip", SMALL, comment)
    before = path.read_bytes()
    store = ZipStore(path, writable=True)
    writes = recorded(monkeypatch, lambda: store.erase("c/0/1"))
    store.close()
    for state in states(before, writes, 6):
        path.write_bytes(state)
        found = by_store(path)
        with_next = ZipStore(path, writable=True, sync=False)
        with_next.set("new", b"1")
        with_next.close()
        assert by_zipfile(path.read_bytes()) == found | {"new": b"1"}


def test_what_follows_an_archive_and_is_not_ours_stays(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    path.write_bytes(path.read_bytes() + b"a signature")
    store = ZipStore(path, writable=True)
    assert store.get("zarr.json") == SMALL["zarr.json"]
    with pytest.raises(Refused, match="has other bytes after the end"):
        store.set("zarr.json", b"{}")
    assert path.read_bytes().endswith(b"a signature")


def test_an_archive_that_bytes_precede_is_written(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    path.write_bytes(b"#!/bin/sh\n" * 1000 + path.read_bytes())
    store = ZipStore(path, writable=True)
    store.set("zarr.json", b"{}")
    store.erase("c/0/0")
    store.set("new", LARGE)
    assert by_zipfile(path.read_bytes()) == {"zarr.json": b"{}", "c/0/1": SMALL["c/0/1"], "new": LARGE}
    assert path.read_bytes().startswith(b"#!/bin/sh\n")


def test_a_damaged_archive_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(bytes(1000))
    store = ZipStore(path, writable=True)
    with pytest.raises(Unreadable, match="damaged"):
        store.set("a", b"1")
    assert path.read_bytes() == bytes(1000)


def test_entries_beyond_four_gigabytes_and_more_than_two_bytes_can_count(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with open(path, "wb") as file:
        file.truncate(5 << 30)
        file.seek(5 << 30)
        file.write(end_records(0, 0, 5 << 30, b""))
    store = ZipStore(path, writable=True, sync=False)
    store.set("far", b"away")
    for i in range(66_000):
        store.bulk.put(f"c/{i}", b"1")
    store.close()
    with zipfile.ZipFile(path) as archive:
        assert archive.read("far") == b"away"
        assert archive.getinfo("far").header_offset > 5 << 30
        assert len(archive.namelist()) == 66_001
        assert archive.read("c/65999") == b"1"
    store = ZipStore(path, writable=True)
    store.erase_prefix("c/")
    assert by_store(path) == {"far": b"away"}
    path.unlink()


# ---------------------------------------------------------------------------------------------------- beside others
OPENING = """
from zarrscope.stores.zip.store import ZipStore
store = ZipStore(sys.argv[2], writable=True, sync=False)
"""


def test_no_update_of_another_process_is_lost(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.zip", {"n": b"0", "c/0": LARGE})
    counted = count_up(OPENING, str(path), times=25)
    assert by_zipfile(path.read_bytes()) == {"n": counted, "c/0": LARGE}


def test_what_others_wrote_is_read_and_kept(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    store, other = ZipStore(path, writable=True), ZipStore(path)
    assert other.get("new") is None
    found = store.get_versioned("zarr.json")
    assert found is not None
    store.set("new", b"1")
    assert other.get("new") == b"1"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("theirs", b"2")
    assert store.get("theirs") == other.get("theirs") == b"2"
    store.set("zarr.json", b"{}", found[1])
    assert by_zipfile(path.read_bytes()) == SMALL | {"new": b"1", "theirs": b"2", "zarr.json": b"{}"}
    with pytest.raises(Conflict):
        ZipStore(path, writable=True).set("theirs", b"3", ABSENT)


def test_another_program_that_writes_at_the_same_time_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    theirs = filled(tmp_path / "theirs.zip", {"theirs": b"2"})
    store = ZipStore(path, writable=True)
    for act in (
        lambda: shutil.copyfile(theirs, path),
        lambda: theirs.rename(path),
        lambda: path.unlink(),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(writing, "flush", lambda handle, act=act: act())
            with pytest.raises(Conflict, match="meanwhile"):
                store.set("zarr.json", b"{}")
        if path.exists():
            assert by_zipfile(path.read_bytes()) == {"theirs": b"2"}
    assert not path.exists()


def test_readers_keep_what_they_have_open(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    store, reader = ZipStore(path, writable=True), ZipStore(path)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            wrong.extend(key for key in ("c/0/0", "c/0/1") if reader.get(key) != SMALL[key])

    thread = threading.Thread(target=read)
    thread.start()
    for i in range(50):
        store.set("zarr.json", b"%d" % i)
    done.set()
    thread.join()
    assert not wrong
    path.unlink()
    assert reader.get("c/0/1") == SMALL["c/0/1"], "an archive that is gone is read on"


def test_what_was_put_is_there_at_once_and_for_others_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    code = """
import sys
from zarrscope.stores.zip.store import ZipStore
store = ZipStore(sys.argv[1], writable=True)
for i in range(200):
    store.bulk.put(f"c/{i}", b"%d" % i)
    assert store.get(f"c/{i}") == b"%d" % i
assert store._pending
assert len([*store.list_prefix("c/")]) == 200 and not store._pending
store.bulk.put("last", b"1")
assert store._pending
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert by_zipfile(path.read_bytes()) == {f"c/{i}": b"%d" % i for i in range(200)} | {"last": b"1"}


@pytest.mark.parametrize("caller", ["flush", "list", "put"])
def test_an_error_of_values_that_wait_is_told_once(tmp_path: Path, caller: str) -> None:
    """At the end of the process only if no caller got it: a full disk was told in two sentences."""
    code = """
import errno, sys
from zarrscope.errors import Unreadable
from zarrscope.stores.zip import writing
from zarrscope.stores.zip.store import ZipStore

def full(handle):
    def write(offset, value):
        raise OSError(errno.ENOSPC, "No space left on device")
    return write

store = ZipStore(sys.argv[1], writable=True)
store.set("first", b"1")
writing.writer = full
store.bulk.put("second", b"2")
if sys.argv[2] == "list":
    assert {*store.list()} == {"first", "second"}
else:
    try:
        store.bulk.flush()
    except Unreadable as error:
        print(error)
if sys.argv[2] == "put":
    store.bulk.put("third", b"3")
"""
    command = [sys.executable, "-c", code, str(tmp_path / "x.zip"), caller]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.count("No space left") == (caller != "list")
    assert done.stderr.count("Values were not written: ") == (caller != "flush"), done.stderr


def test_old_directories_take_little_room(tmp_path: Path) -> None:
    store = ZipStore(tmp_path / "x.zip", writable=True)
    for i in range(5000):
        store.bulk.put(f"c/{i}", LARGE[:1000])
    store.close()
    assert (tmp_path / "x.zip").stat().st_size < 5000 * 1000 * 1.3


# ---------------------------------------------------------------------------------------------------- whole hierarchies
@pytest.mark.parametrize("name", ["x.zip", "x.ozx"])
def test_a_hierarchy_is_made_edited_and_read_by_others(tmp_path: Path, name: str) -> None:
    import zarr

    path = tmp_path / name
    with pytest.raises(NotFound):
        zarrscope.open(str(path), "r+")
    values = np.arange(10_000, dtype="i4").reshape(100, 100)
    h = zarrscope.open(str(path), "w-")
    h.root.attrs["ome"] = {"version": "0.5"}
    h.create_array("a/b", shape=(100, 100), dtype="int32", chunks=(10, 10))[...] = values
    h.root.attrs["x"] = 1
    h.store.close()
    with pytest.raises(Refused):
        zarrscope.open(str(path), "w-")
    h = zarrscope.open(str(path), "a")
    h.root.attrs["y"] = [2]
    as_array(h["a/b"])[:10] = 7
    values[:10] = 7
    h.store.close()
    assert (as_array(zarrscope.open(str(path))["a/b"])[...] == values).all()
    with pytest.raises(ZarrscopeError):
        zarrscope.open(str(path)).root.attrs["x"] = 2
    store = zarr.storage.ZipStore(path, mode="r")
    group = zarr.open_group(store, mode="r")
    array = group["a/b"]
    assert isinstance(array, zarr.Array)
    assert np.array_equal(array[...], values)
    assert dict(group.attrs) == {"ome": {"version": "0.5"}, "x": 1, "y": [2]}
    if shutil.which("unzip"):
        done = subprocess.run(["unzip", "-t", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(path) as archive:
        names, comment = archive.namelist(), archive.comment
    if name == "x.ozx":
        assert names[:3] == ["zarr.json", "a/zarr.json", "a/b/zarr.json"]
        assert json.loads(comment) == {"ome": {"version": "0.5", "zipFile": {"centralDirectory": {"jsonFirst": True}}}}
    else:
        assert comment == b""


def test_a_folder_in_an_archive_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    h = zarrscope.open(f"zip://inner/x.zarr::{path}", "a")
    h.create_group("g", {"a": 1})
    assert set(by_store(path)) == {"inner/x.zarr/zarr.json", "inner/x.zarr/g/zarr.json"}
    with pytest.raises(ZarrscopeError):
        zarrscope.open(f"zip://inner/x.zarr::{path}").root.attrs["x"] = 2


# ---------------------------------------------------------------------------------------------------- repacking
@pytest.mark.parametrize("name", ["x.zip", "x.ozx"])
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_repacking_keeps_every_value_and_nothing_else(tmp_path: Path, name: str, method: int) -> None:
    path = tmp_path / name
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("c/0/0", LARGE)
        with archive.open("streamed", "w", force_zip64=True) as file:
            file.write(b"1" * 1000)
    path.chmod(0o640)
    store = ZipStore(path, writable=True)
    values: Values = {"a/b/zarr.json": b"{}", "a/zarr.json": b"{}", "streamed": b"1" * 1000}
    for turn in range(3):
        store.set("zarr.json", json.dumps({"attributes": {"ome": {"version": f"0.{turn}"}}}).encode())
        store.set("c/0/0", LARGE[: 1000 * turn])
        for key in values:
            store.set(key, values[key])
    store.set("gone", LARGE)
    store.erase("gone")
    expected = by_store(path)
    before = path.read_bytes()
    would = repack(str(path), dry_run=True)
    assert path.read_bytes() == before
    assert repack(str(path)) == would
    data = path.read_bytes()
    assert (would.before, would.after, would.entries) == (len(before), len(data), len(expected))
    assert len(data) < 5000
    assert path.stat().st_mode & 0o777 == 0o640
    assert by_zipfile(data) == by_store(path) == expected == {key: store.get(key) for key in expected}
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert [info.filename for info in sorted(archive.infolist(), key=lambda info: info.header_offset)] == names
        comment = archive.comment
    if name == "x.ozx":
        assert names[:3] == ["zarr.json", "a/zarr.json", "a/b/zarr.json"]
        assert json.loads(comment)["ome"] == {"version": "0.2", "zipFile": {"centralDirectory": {"jsonFirst": True}}}
        assert END64 in data[-400:], "RFC-9 wants ZIP64"
    if shutil.which("unzip"):
        assert subprocess.run(["unzip", "-t", str(path)], capture_output=True).returncode == 0
    assert repack(str(path)).after == len(data)
    store.set("new", b"1")
    assert by_zipfile(path.read_bytes()) == expected | {"new": b"1"}


def test_repacking_notices_another_program_and_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    theirs = filled(tmp_path / "theirs.zip", {"theirs": b"2"})
    monkeypatch.setattr(packing, "flush", lambda handle: shutil.copyfile(theirs, path))
    with pytest.raises(Conflict, match="meanwhile"):
        repack(str(path))
    assert by_zipfile(path.read_bytes()) == {"theirs": b"2"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["theirs.zip", "x.zip"]


def test_only_archives_on_this_computer_are_repacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = filled(tmp_path / "x.zip", SMALL)
    assert run(["repack", str(path), "--dry-run"]) == 0
    assert "3 entries; the archive would take" in capsys.readouterr().out
    for url in (tmp_path, f"{path}/c", "https://127.0.0.1:1/x.zip"):
        assert run(["repack", str(url)]) == 1
    assert "can be repacked" in capsys.readouterr().err
