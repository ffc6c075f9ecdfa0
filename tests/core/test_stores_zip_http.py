"""Malicious archives, faulty web servers, and wrappers that make stores slow or faulty."""

from __future__ import annotations

import io
import random
import struct
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.http_server import RESET, SHORT, WebServer, web_server
from zarrscope.errors import Denied, NotFound, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.runtime.tuning import IN_FLIGHT
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.wrappers import Counting, FaultRule, Faults, Gate, PrefixStore, ReadOnlyStore
from zarrscope.stores.zip.ranges import Ranges, RemoteFile
from zarrscope.stores.zip.store import ZipStore


def archive(path: Path, entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, value in entries:
            file.writestr(name, value)
    return path


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_last_of_two_entries_counts(tmp_path: Path) -> None:
    store = ZipStore(archive(tmp_path / "x.zip", [("a", b"old"), ("b", b""), ("a", b"new")]))
    assert store.get("a") == b"new"
    assert sorted(store.list()) == ["a", "b"]
    assert store.duplicates == ("a",)


def test_names_that_could_leave_are_not_listed(tmp_path: Path) -> None:
    bad = ["../../etc/passwd", "/etc/passwd", "a/../../b", "a//b", "./c"]
    store = ZipStore(archive(tmp_path / "x.zip", [(name, b"x") for name in bad] + [("ok/", b""), ("ok/x", b"1")]))
    assert list(store.list()) == ["ok/x"]
    assert set(store.refused) == set(bad)
    with pytest.raises(Refused):
        store.get("../../etc/passwd")


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", [("bomb", bytes(50_000_000)), ("ok", b"1" * 1000)], zipfile.ZIP_DEFLATED)
    store = ZipStore(path, limit=1_000_000)
    with pytest.raises(Refused, match="50,000,000"):
        store.get("bomb")
    assert store.get("ok", ByteRange(5, 2)) == b"11"


def patched(path: Path, signature: bytes, offset: int, value: bytes) -> None:
    data = bytearray(path.read_bytes())
    at = data.find(signature) + offset
    data[at : at + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize("declared", [10, 1_000_001])
def test_an_entry_that_lies_about_its_size(tmp_path: Path, declared: int) -> None:
    path = archive(tmp_path / "x.zip", [("a", bytes(1_000_000))], zipfile.ZIP_DEFLATED)
    patched(path, b"PK\x01\x02", 24, struct.pack("<L", declared))
    with pytest.raises(Unreadable, match="declares"):
        ZipStore(path).get("a")


def test_damage_is_told(tmp_path: Path) -> None:
    whole = archive(tmp_path / "x.zip", [("a", b"value" * 100)]).read_bytes()
    path = tmp_path / "y.zip"
    path.write_bytes(whole.replace(b"valuevalue", b"valueVALUE", 1))
    with pytest.raises(Unreadable, match="checksum"):
        ZipStore(path).get("a")
    for size in (0, 1, 30, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:size])
        with pytest.raises(Unreadable, match="damaged"):
            ZipStore(path).get("a")
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        store = ZipStore(path)
        try:
            store.get("a")
            list(store.list_dir(""))
        except ZarrscopeError:
            pass


def test_encrypted_and_unknown_entries_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", [("a", b"1")])
    patched(path, b"PK\x01\x02", 8, b"\x01\x00")
    with pytest.raises(Unsupported, match="encrypted"):
        ZipStore(path).get("a")
    path = archive(tmp_path / "y.zip", [("a", b"1")], zipfile.ZIP_LZMA)
    with pytest.raises(Unsupported, match="LZMA"):
        ZipStore(path).get("a")


def test_no_archive(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        ZipStore(tmp_path / "no.zip").get("a")


def test_a_stored_entry_is_read_by_range_and_the_rest_left(tmp_path: Path) -> None:
    class Watched(Ranges):
        def __init__(self, data: bytes) -> None:
            self.data, self.size, self.read = data, len(data), 0

        def read_at(self, offset: int, length: int) -> bytes:
            self.read += length
            return self.data[offset : offset + length]

        def close(self) -> None:
            pass

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("shard", bytes(1_000_000))
    source = Watched(file.getvalue())
    store = ZipStore(source)
    list(store.list())
    source.read = 0
    assert store.get("shard", ByteRange.last(100)) == bytes(100)
    assert source.read <= 130


# ---------------------------------------------------------------------------------------------------- the web
@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server({"x/a": b"0123456789"}) as server:
        yield server


@pytest.fixture
def web(server: WebServer) -> Iterator[HTTPStore]:
    store = HTTPStore(server.url + "/x", pause=0)
    yield store
    store.close()


@pytest.mark.parametrize("fault", [429, 500, 502, 503, 504, RESET, SHORT])
def test_faults_that_pass_are_tried_again(server: WebServer, web: HTTPStore, fault: int | str) -> None:
    server.faults["x/a"] = [fault, fault]
    assert web.get("a") == b"0123456789"
    assert len(server.asked) == 3


@pytest.mark.parametrize("fault", [503, RESET])
def test_faults_that_stay_are_told(server: WebServer, web: HTTPStore, fault: int | str) -> None:
    server.faults["x/a"] = [fault] * 99
    with pytest.raises(Unreadable, match="503" if fault == 503 else "connection") as caught:
        web.get("a")
    assert len(server.asked) == 4 or (fault == RESET and len(server.asked) <= 8), "aiohttp repeats a reset GET itself"
    assert (caught.value.key, caught.value.store) == ("a", web.url)
    assert caught.value.advice


@pytest.mark.parametrize("status", [400, 401, 405, 418])
def test_other_answers_are_told_at_once(server: WebServer, web: HTTPStore, status: int) -> None:
    server.faults["x/a"] = [status] * 99
    with pytest.raises(Unreadable, match=str(status)):
        web.get("a")
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [404, 410])
def test_answers_that_mean_absent(server: WebServer, web: HTTPStore, status: int) -> None:
    server.faults["x/a"] = [status]
    assert web.get("a") is None
    assert web.get("a") == b"0123456789"


def test_one_bad_request_of_many_leaves_the_others(server: WebServer, web: HTTPStore) -> None:
    server.values["x/b"] = b"b"
    server.faults["x/a"] = [400]
    answers = dict(web.get_many([("a", None), ("b", None), ("no", None)]))
    assert isinstance(answers[0], Unreadable)
    assert answers[0].key == "a"
    assert (answers[1], answers[2]) == (b"b", None)


def test_a_server_that_is_asked_too_much_is_asked_less_and_later_more_again(server: WebServer) -> None:
    server.values.update({f"x/{i}": b"1" for i in range(200)})
    store = HTTPStore(server.url + "/x", pause=0)
    wide = store.width
    for i in range(0, 150, 2):  # all of the first ones at once: one narrowing, not one for each
        server.faults[f"x/{i}"] = [429]
    assert all(answer == b"1" for _, answer in store.get_many([(str(i), None) for i in range(200)]))
    narrow = store.width
    assert 4 <= narrow < wide
    for _ in range(64):
        for _, answer in store.get_many([(str(i), None) for i in range(100)]):
            assert answer == b"1"
        if store.width == wide:
            break
    assert store.width == wide
    server.faults["x/0"] = [500]
    assert store.get("0") == b"1"
    assert store.width == wide, "a fault of another kind says nothing about how much it was asked"


def test_connections_outlive_a_store(server: WebServer) -> None:
    for _ in range(5):
        store = HTTPStore(server.url + "/x")
        assert store.get("a") == b"0123456789"
        store.close()
    assert server.connected == 1


def test_a_server_that_is_not_there() -> None:
    store = HTTPStore("http://127.0.0.1:1/x", pause=0)
    with pytest.raises(Unreadable, match="connection failed"):
        store.get("a")
    store.close()


def test_many_are_under_way_at_once_and_really_cancelled(server: WebServer, web: HTTPStore) -> None:
    server.gate.clear()
    stop = threading.Event()
    answers: list[object] = []
    reader = threading.Thread(target=lambda: answers.extend(web.get_many([("a", None)] * 200, stop.is_set)))
    reader.start()
    assert server.wait_held(IN_FLIGHT)
    stop.set()
    reader.join(20)
    assert not reader.is_alive()
    assert answers == []
    assert server.wait_closed(IN_FLIGHT), "the connections were closed, not left to finish"
    assert len(server.asked) == IN_FLIGHT


def test_redirects_stay_on_the_web(server: WebServer, web: HTTPStore, tmp_path: Path) -> None:
    server.redirects["x/moved"] = server.url + "/x/a"
    assert web.get("moved") == b"0123456789"
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    for target in (secret.as_uri(), "ftp://127.0.0.1/x", server.url + "/x/round"):
        server.redirects["x/round"] = target
        with pytest.raises(Unreadable):
            web.get("round")


def test_a_token_goes_with_every_key(server: WebServer) -> None:
    store = HTTPStore(server.url + "/x/?token=a%2Fb", pause=0)
    assert store.get("a") == b"0123456789"
    assert server.asked == [("x/a?token=a%2Fb", None)]
    store.close()


def test_an_archive_on_a_server_is_read_by_range(server: WebServer) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a/big", bytes(2_000_000))
        out.writestr("a/zarr.json", b"{}")
    server.values["x.zip"] = file.getvalue()
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert store.get("a/zarr.json") == b"{}"
    assert store.get("a/big", ByteRange(1_000_000, 3)) == bytes(3)
    assert all(span is not None for _, span in server.asked)
    store.close()
    with pytest.raises(NotFound):
        RemoteFile(HTTPStore(server.url + "/no.zip"))


def odd_headers(values: dict[str, bytes], extra: int, method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive whose local headers have `extra` bytes that are not in its directory."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out:
        for name, value in values.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            info.extra = struct.pack("<HH", 0x9999, extra - 4) + bytes(extra - 4) if extra else b""
            out.writestr(info, value)
            info.extra = b""
    return file.getvalue()


@pytest.mark.parametrize("count", [1, 400, 5000])
def test_the_directory_of_a_distant_archive_takes_two_requests_at_most(server: WebServer, count: int) -> None:
    server.values["x.zip"] = odd_headers({f"a/{i:06}": bytes([i % 256]) * 100 for i in range(count)}, 0)
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert len(list(store.list())) == count
    assert len(server.asked) == (1 if count < 1000 else 2)
    store.close()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("extra", [0, 4, 28, 64, 65, 500])
def test_header_and_bytes_of_an_entry_come_in_one_request(server: WebServer, extra: int, method: int) -> None:
    values = {f"a/{i}": bytes([i]) * 20_000 for i in range(30)} | {"empty": b"", "shard": bytes(range(256)) * 4000}
    server.values["x.zip"] = odd_headers(values | {"z": random.Random(0).randbytes(1 << 18)}, extra, method)
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert len(list(store.list())) == 33
    server.asked.clear()
    keys = [*values]
    assert {keys[i]: answer for i, answer in store.get_many([(key, None) for key in keys])} == values
    empty = method == zipfile.ZIP_STORED
    assert len(server.asked) == (len(keys) if extra <= 64 else 2 * len(keys) - empty), "more where headers are long"
    server.asked.clear()
    assert store.get_partial_values([("shard", ByteRange(900_000, 3)), ("shard", ByteRange.last(2))]) == [
        values["shard"][900_000:900_003], values["shard"][-2:],
    ]  # fmt: skip
    assert len(server.asked) == 2, "where its bytes begin is known by now"
    store.close()


def test_entries_of_a_distant_archive_are_asked_for_at_once(server: WebServer) -> None:
    values = {f"a/{i}": bytes(20_000) for i in range(IN_FLIGHT)}
    server.values["x.zip"] = odd_headers(values | {"z": random.Random(0).randbytes(1 << 18)}, 0)
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert store.get("none") is None
    server.gate.clear()
    answers: list[object] = []
    asking = [(key, None) for key in values]
    reader = threading.Thread(target=lambda: answers.extend(store.get_many(asking)))
    reader.start()
    assert server.wait_held(IN_FLIGHT), "in one round trip"
    server.gate.set()
    reader.join(20)
    assert len(answers) == IN_FLIGHT
    store.close()


def test_a_far_part_takes_one_round_trip_with_its_header(server: WebServer) -> None:
    shard = bytes(range(256)) * 4000
    server.values["x.zip"] = odd_headers({"shard": shard, "z": random.Random(0).randbytes(1 << 18)}, 28)
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert store.get("none") is None
    server.asked.clear()
    server.gate.clear()
    answers: list[object] = []
    reader = threading.Thread(target=lambda: answers.append(store.get("shard", ByteRange.last(100))))
    reader.start()
    assert server.wait_held(2)
    server.gate.set()
    reader.join(20)
    assert answers == [shard[-100:]]
    assert len(server.asked) == 2
    store.close()


def test_a_server_that_does_not_say_the_last_bytes(server: WebServer) -> None:
    values = {f"a/{i}": bytes([i]) * 20_000 for i in range(30)}
    server.values["x.zip"] = odd_headers(values, 0)
    server.faults["x.zip"] = [416]
    store = ZipStore(RemoteFile(HTTPStore(server.url + "/x.zip")))
    assert {key: store.get(key) for key in values} == values
    store.close()


# ---------------------------------------------------------------------------------------------------- wrappers
def test_counting() -> None:
    store = Counting(MemoryStore({"a": b"123", "b/c": b"4"}))
    store.get("a")
    store.get("a", ByteRange(0, 1))
    list(store.get_many([("a", None), ("no", None)]))
    store.set("d", b"12345")
    list(store.list_dir(""))
    assert store.requests == {"get": 4, "set": 1, "list_dir": 1}
    assert store.keys["get", "a"] == 3
    assert (store.read, store.written) == (7, 5)
    store.reset()
    assert not store.requests


def test_gate_holds_until_released() -> None:
    gate = Gate(MemoryStore({"a": b"1", "b": b"2"}), lambda operation, key: key == "a")
    assert gate.get("b") == b"2"
    got: list[bytes | None] = []
    threads = [threading.Thread(target=lambda: got.append(gate.get("a"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert gate.waiting(3)
    assert got == []
    gate.release(1)
    gate.release()
    for thread in threads:
        thread.join()
    assert got == [b"1"] * 3
    assert gate.arrived == ["a"] * 3


def test_faults_fail_as_asked() -> None:
    inner = MemoryStore({"a": b"1", "b": b"2"})
    store = Faults(inner, FaultRule(matches=lambda operation, key: key == "a" and operation == "get", skip=1, times=1))
    assert store.get("a") == b"1"
    with pytest.raises(Unreadable, match="'a'"):
        store.get("a")
    assert store.get("a") == b"1"
    broken = Faults(inner, FaultRule(matches=lambda operation, key: key in ("a", "new")))
    answers = dict(broken.get_many([("a", None), ("b", None)]))
    assert isinstance(answers[0], Unreadable)
    assert answers[1] == b"2"
    with pytest.raises(Unreadable):
        broken.set("new", b"3")
    assert inner.get("new") is None


def test_wrappers_keep_the_flags(server: WebServer, web: HTTPStore) -> None:
    for wrapper in (Counting, Gate, Faults, lambda store: PrefixStore(store, "p/")):
        for store in (web, MemoryStore(), ReadOnlyStore(MemoryStore())):
            wrapped = wrapper(store)
            assert (wrapped.listable, wrapped.writable, wrapped.remote) == (
                store.listable,
                store.writable,
                store.remote,
            )


# ---------------------------------------------------------------------------------------------------- buckets
def test_an_archive_in_a_bucket_is_read_by_range(tmp_path: Path) -> None:
    data = archive(tmp_path / "x.zip", [("zarr.json", b"{}"), ("c/0", bytes(100_000))]).read_bytes()
    bucket = FsspecStore("memory://archives/x.zip")
    bucket._filesystem.pipe_file(bucket._root, data)
    store = ZipStore(RemoteFile(bucket), url=bucket.url)
    assert store.get("c/0", ByteRange(99_990, 100)) == bytes(10)
    assert sorted(store.list()) == ["c/0", "zarr.json"]
    with pytest.raises(NotFound, match="no such file"):
        RemoteFile(FsspecStore("memory://archives/no.zip"))


def test_what_may_not_be_read_or_listed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError("403")

    store = FsspecStore("memory://denied/x.zarr")
    store._filesystem.pipe_file(f"{store._root}/a", b"1")
    for name in ("cat_file", "ls", "find"):
        monkeypatch.setattr(store._filesystem, name, denied)
    for look in (lambda: store.get("a"), lambda: list(store.list_dir("")), lambda: list(store.list())):
        with pytest.raises(Denied, match="403") as caught:
            look()
        assert "credentials" in (caught.value.advice or "")
        assert not caught.value.untold


def test_a_bucket_that_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TimeoutError("too slow")

    store = FsspecStore("memory://broken/x.zarr")
    store._filesystem.pipe_file(f"{store._root}/a", b"1")
    monkeypatch.setattr(store._filesystem, "cat_file", broken)
    with pytest.raises(Unreadable, match="too slow"):
        store.get("a")
    [(_, answer)] = store.get_many([("a", None)])
    assert isinstance(answer, Unreadable)
