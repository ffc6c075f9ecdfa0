"""Archives that lie about their content: nothing outside is read, memory stays bounded, and the error says why and what
to do next.
"""

from __future__ import annotations

import os
import struct
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.check.hierarchy import check
from zarrscope.errors import TooLarge
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.zip.directory import CENTRAL, CENTRAL_RECORD, DIRECTORY_LIMIT, END, END_RECORD, parse
from zarrscope.stores.zip.ranges import LocalRanges


def documents() -> dict[str, bytes]:
    """The values of a hierarchy with one array /a of two chunks."""
    store = MemoryStore()
    made = zarrscope.open(store, "w-").create_array("/a", shape=(4,), dtype="u1", chunks=(2,))
    made[...] = np.arange(1, 5)
    return {key: store.get(key) or b"" for key in store.list()}


def archive(
    path: Path,
    values: Mapping[str, bytes],
    *,
    more: Mapping[str, bytes] | None = None,
    method: int = zipfile.ZIP_STORED,
    comment: bytes = b"",
) -> Path:
    """An archive of these values. `more`: further entries, whose names are written as they are."""
    with zipfile.ZipFile(path, "w", method) as file:
        for key, value in values.items():
            file.writestr(key, value)
        for key, value in (more or {}).items():
            entry = zipfile.ZipInfo("x")
            entry.filename = key
            file.writestr(entry, value)
        file.comment = comment
    return path


def patched(path: Path, key: str, offset: int, form: str, number: int) -> Path:
    """Changes a number in the directory record of an entry."""
    data = bytearray(path.read_bytes())
    at = data.index(CENTRAL)
    while data[at + CENTRAL_RECORD.size :][: len(key)] != key.encode() or data[at + 28] != len(key):
        at = data.index(CENTRAL, at + 4)
    struct.pack_into(form, data, at + offset, number)
    path.write_bytes(data)
    return path


def hollow(path: Path, size: int, tail: bytes, records: Mapping[int, bytes] | None = None) -> Path:
    """A sparse file with `records` at their offsets, and `tail` after `size` bytes. It takes no room on disk."""
    with open(path, "wb") as file:
        file.truncate(size)
        for at, record in (records or {}).items():
            file.seek(at)
            file.write(record)
        file.seek(size)
        file.write(tail)
    return path


def end(size: int, count: int = 9) -> bytes:
    return END_RECORD.pack(END, 0, 0, count, count, size, 0, 0)


class Counted(LocalRanges):
    """A file that counts the bytes read from it."""

    read = 0

    def read_at(self, offset: int, length: int) -> bytes:
        found = super().read_at(offset, length)
        self.read += len(found)
        return found


LYING: dict[str, tuple[int, str, int, str]] = {
    "size too small": (24, "<L", 1, "does not decompress"),
    "size too large": (24, "<L", 1 << 28, "too large"),
    "offset within another entry": (42, "<L", 7, "does not begin where"),
    "offset beyond the end": (42, "<L", 0x7FFFFFFF, "does not begin where"),
    "bytes of another entry": (42, "<L", 0, "archive"),
    "encrypted": (8, "<H", 1, "encrypted"),
    "unknown method": (10, "<H", 99, "method 99"),
}


@pytest.mark.parametrize("lie", LYING)
def test_an_entry_that_the_directory_lies_about_fails_alone(lie: str, tmp_path: Path) -> None:
    offset, form, number, why = LYING[lie]
    path = patched(archive(tmp_path / "x.zip", documents(), method=zipfile.ZIP_DEFLATED), "a/c/0", offset, form, number)
    array = as_array(zarrscope.open(path)["/a"])
    assert array[2:].tolist() == [3, 4]
    with pytest.raises((zarrscope.Unreadable, zarrscope.Unsupported), match=why) as caught:
        array[:2]
    assert caught.value.key == "a/c/0"
    assert caught.value.store == zarrscope.open(path).url
    assert caught.value.advice
    assert [(each.key, each.code) for each in check(zarrscope.open(path)) if each.severity != "information"] == [
        ("a/c/0", {"encrypted": "unsupported", "unknown method": "unsupported", "size too large": "chunk-size"}.get(
            lie, "unreadable"))
    ]  # fmt: skip


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for key, value in documents().items():
            if key != "a/c/0":
                file.writestr(key, value)
        for key in ("a/c/0", "b/zarr.json"):
            with file.open(key, "w") as entry:
                for _ in range(64):
                    entry.write(bytes(1 << 20))
    h = zarrscope.open(path)
    with pytest.raises(TooLarge) as caught:
        as_array(h["/a"])[:2]
    assert (caught.value.key, caught.value.size) == ("a/c/0", 64 << 20)
    assert {name: child.error is not None for name, child in h.walk()} == {"/a": False, "/b": True}


def test_names_that_lead_out_are_told_and_not_shown(tmp_path: Path) -> None:
    names = ("../evil/zarr.json", "a/../../b/zarr.json", "/abs/zarr.json", "c\n\x1b[2J/../zarr.json")
    document = documents()["a/zarr.json"]
    h = zarrscope.open(archive(tmp_path / "x.zip", documents(), more=dict.fromkeys(names, document)))
    assert [path for path, _ in h.walk()] == ["/a"]
    (warning,) = h.warnings
    assert "'../evil/zarr.json', 'a/../../b/zarr.json', '/abs/zarr.json' and more" in warning
    assert any(warning == each.message for each in check(h))
    assert zarrscope.open(archive(tmp_path / "y.zip", documents())).warnings == ()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_of_two_documents_counts(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", documents(), more={"zarr.json": b"{"})
    h = zarrscope.open(path)
    assert h.root.problem is not None
    assert (h.root.problem.store, h.root.problem.key) == (h.url, "zarr.json")
    assert [name for name, _ in h.walk()] == ["/a"]


@pytest.mark.parametrize("count", [1, 2900])
def test_an_end_record_in_the_comment_hides_nothing(count: int, tmp_path: Path) -> None:
    for stated in (0, 60):
        path = archive(tmp_path / f"{stated}.zip", documents(), comment=end(stated, count=stated // 46) * count)
        assert as_array(zarrscope.open(path)["/a"])[...].tolist() == [1, 2, 3, 4]


SPARSE = pytest.mark.skipif(sys.platform == "win32", reason="a file with holes would be written whole")


@SPARSE
def test_a_directory_that_lies_about_its_size_is_not_read_whole(tmp_path: Path) -> None:
    for n, tail in enumerate((end(0xFFFFFFF0), end(0x3FF00000) * 2900)):
        path = hollow(tmp_path / f"{n}.zip", 5 << 30, tail)
        ranges = Counted(str(path))
        with pytest.raises(zarrscope.Unreadable, match="no directory"):
            parse(ranges, further=True)
        assert ranges.read < 2 << 30
        ranges.close()
        with pytest.raises(zarrscope.Unreadable, match="no directory") as caught:
            zarrscope.open(path)
        assert "again" in str(caught.value.advice)


@SPARSE
def test_a_directory_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    step = CENTRAL_RECORD.size + 3 * 0xFFFF
    count = DIRECTORY_LIMIT // step + 1
    record = CENTRAL_RECORD.pack(CENTRAL, *[0] * 9, 0xFFFF, 0xFFFF, 0xFFFF, *[0] * 4)
    path = hollow(tmp_path / "x.zip", count * step, end(count * step), {n * step: record for n in range(count)})
    ranges = Counted(str(path))
    with pytest.raises(zarrscope.Unsupported, match="directory of the archive has"):
        parse(ranges)
    assert ranges.read < 1 << 24
    ranges.close()
    with pytest.raises(zarrscope.Unsupported) as caught:
        zarrscope.open(path)
    assert "unpack it" in str(caught.value.advice)


def test_a_long_directory_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.stores.zip.directory.ARCHIVE_DIRECTORY_BYTES", 100)
    names = {f"n{n}": b"%d" % n for n in range(200)}
    path = archive(tmp_path / "x.zip", {**documents(), **names}, comment=b"a comment")
    ranges = Counted(str(path))
    found = parse(ranges)
    ranges.close()
    with zipfile.ZipFile(path) as file:
        assert [each.name for each in found.members] == file.namelist()
        assert [each.offset for each in found.members] == [each.header_offset for each in file.infolist()]
    assert found.data == path.read_bytes()[found.start :][: len(found.data)]
    assert found.comment == b"a comment"
    assert as_array(zarrscope.open(path)["/a"])[...].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("cut", [1, 22, 60, 200])
def test_a_cut_archive_is_told_as_such(cut: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", documents())
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(zarrscope.Unreadable, match="The archive is damaged") as caught:
        zarrscope.open(path)
    assert caught.value.store is not None
    assert "again" in str(caught.value.advice)


def test_zip64_records_that_lie_are_refused(tmp_path: Path) -> None:
    data = archive(tmp_path / "x.zip", documents()).read_bytes()
    for size, offset in ((2**63, 2**63), (2**64 - 1, 0), (46, 2**64 - 1)):
        record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, offset)
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
        path = tmp_path / "y.zip"
        path.write_bytes(data[:-22] + record + locator + data[-22:])
        with pytest.raises(zarrscope.Unreadable, match="damaged"):
            zarrscope.open(path)


def test_an_ozx_archive_in_the_wrong_order_is_read(tmp_path: Path) -> None:
    values = dict(reversed(documents().items()))
    said = b'{"ome":{"version":"0.5","zipFile":{"centralDirectory":{"jsonFirst":true}}}}'
    path = archive(tmp_path / "x.ozx", values, comment=said)
    assert as_array(zarrscope.open(path)["/a"])[...].tolist() == [1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
@pytest.mark.parametrize("name", ["x.zip", "x.ozx", "x.zarr", "x.json", "x"])
def test_a_pipe_instead_of_a_store_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(zarrscope.Unreadable, match="a pipe or a socket, not a file"):
        zarrscope.open(tmp_path / name)
