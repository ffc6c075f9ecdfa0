"""What web servers may answer with: bodies by length and in chunks, cut and broken; and what aiohttp is asked for."""

from __future__ import annotations

import itertools
import socket
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zarrscope.errors import Unreadable
from zarrscope.store import ByteRange
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.wire import LARGEST_HEAD, Chunks


class Scripted:
    """A server whose answers are given byte by byte; each connection reads a request and sends the next answer."""

    def __init__(self) -> None:
        self.answers: list[list[bytes]] = []
        """The pieces of each; an empty list: the connection is closed without one."""
        self.asked: list[bytes] = []
        self.connected = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connected += 1
            self._connections.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                request = b""
                while b"\r\n\r\n" not in request:
                    try:
                        came = connection.recv(65536)
                    except OSError:
                        return
                    if not came:
                        return
                    request += came
                self.asked.append(request)
                pieces = self.answers.pop(0) if self.answers else []
                for piece in pieces:
                    try:
                        connection.sendall(piece)
                    except OSError:  # the client has enough
                        return
                if not pieces or b"HTTP/1.0" in pieces[0] or pieces[-1] == b"":
                    return

    def close(self) -> None:
        for each in (self._listening, *self._connections):
            with suppress(OSError):  # closed already
                each.shutdown(socket.SHUT_RDWR)
        self._listening.close()


@pytest.fixture
def server() -> Iterator[Scripted]:
    server = Scripted()
    yield server
    server.close()


@pytest.fixture
def web(server: Scripted) -> Iterator[HTTPStore]:
    store = HTTPStore(server.url + "/x", pause=0)
    yield store
    store.close()


def answer(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    length = "" if "Transfer_Encoding" in headers else f"content-length: {len(body)}\r\n"
    return f"HTTP/1.1 {status}\r\n{length}{lines}\r\n".encode() + body


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x;why=not\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


BIG = bytes(range(256)) * 2000


@pytest.mark.parametrize(
    ("sent", "part", "expected"),
    [
        (answer(BIG), None, BIG),
        (answer(b""), None, b""),
        (answer(b"x", X_Long="y" * 20_000), None, b"x"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer(b"after"), None, b"after"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", None, None),
        (answer(chunked(b"01234", BIG, b"56789"), Transfer_Encoding="chunked"), None, b"01234" + BIG + b"56789"),
        (answer(chunked(end=b"0\r\nTrailer: 1\r\n\r\n"), Transfer_Encoding="chunked"), None, b""),
        (answer(chunked(b"no such key"), "404 Not Found", Transfer_Encoding="chunked"), None, None),
        (answer(b"234", "206 Partial Content", Content_Range="bytes 2-4/10"), ByteRange(2, 3), b"234"),
        (answer(b"89", "206 Partial Content", Content_Range="bytes 8-9/10"), ByteRange.last(2), b"89"),
        (answer(b"0123456789"), ByteRange(2, 3), b"234"),
        (answer(b"0123456789"), ByteRange.last(2), b"89"),
        (answer(chunked(b"012", b"3456789"), Transfer_Encoding="chunked"), ByteRange(2, 3), b"234"),
        (answer(b"", "416 Range Not Satisfiable"), ByteRange(20, 3), b""),
        (b"HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n", None, None),
    ],
)
@pytest.mark.parametrize("step", [1 << 20, 3000, 7])
def test_answers_are_read_however_they_are_cut(
    server: Scripted, web: HTTPStore, sent: bytes, part: ByteRange | None, expected: bytes | None, step: int
) -> None:
    if sent.startswith(b"HTTP/1.1 100"):
        sent += answer(b"", "404 Not Found")
    if step < 100 and len(sent) > 100_000:
        step = 9001
    server.answers = [[sent[i : i + step] for i in range(0, len(sent), step)]]
    assert web.get("a", part) == expected
    server.answers = [[answer(b"again")]]
    assert web.get("b") == b"again", "the next answer is not the rest of this one"
    assert server.connected <= 2


def test_the_request_is_what_a_server_expects(server: Scripted, web: HTTPStore) -> None:
    server.answers = [[answer(b"2", "206 Partial Content")]]
    web.get("a b/ü", ByteRange(2, 1))
    lines = server.asked[0].decode("ascii").split("\r\n")
    assert lines[0] == "GET /x/a%20b/%C3%BC HTTP/1.1"
    assert f"Host: {server.url.removeprefix('http://')}" in lines
    assert "Range: bytes=2-2" in lines
    assert "Accept-Encoding: identity" in lines


def test_no_more_is_read_than_a_part_needs(server: Scripted, web: HTTPStore) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n"
    server.answers = [[head, b"0123456789" * 100]]
    assert web.get("a", ByteRange(2, 3)) == b"234"


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (answer(zlib.compress(b"smaller"), Content_Encoding="deflate"), b"smaller"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\nold", b"old"),
    ],
)
def test_what_is_not_spoken_here_is_asked_by_aiohttp(
    server: Scripted, web: HTTPStore, sent: bytes, body: bytes
) -> None:
    server.answers = [[sent]] * 3
    assert web.get("a") == body
    assert web.get("b") == body
    assert len(server.asked) == 3, "the second time aiohttp is asked at once"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * LARGEST_HEAD],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12", b""],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n12345\r\n0\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * 2 * LARGEST_HEAD],
        [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n123", b""],
        [],
    ],
)
def test_a_broken_answer_is_asked_for_again_and_then_told(
    server: Scripted, web: HTTPStore, pieces: list[bytes]
) -> None:
    server.answers = [pieces, [answer(b"good")]]
    assert web.get("a") == b"good"
    server.answers = [pieces] * 4
    with pytest.raises(Unreadable, match="connection failed"):
        web.get("a")
    server.answers = [[answer(b"good")]]
    assert web.get("a") == b"good"


@pytest.mark.parametrize("sent", [b"SSH-2.0-OpenSSH\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"])
def test_no_web_server_at_all(server: Scripted, web: HTTPStore, sent: bytes) -> None:
    server.answers = [[sent, b""]] * 20
    with pytest.raises(Unreadable):
        web.get("a")


def test_more_than_memory_is_told(server: Scripted, web: HTTPStore) -> None:
    server.answers = [[b"HTTP/1.1 200 OK\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\n"]]
    with pytest.raises(Unreadable, match="too large"):
        web.get("a")


def test_a_connection_that_the_server_closed_meanwhile_costs_no_attempt(server: Scripted) -> None:
    web = HTTPStore(server.url + "/x", attempts=1)
    for _ in range(5):
        server.answers = [[answer(b"one")], [], [answer(b"two")]]
        assert web.get("a") == b"one"
        assert web.get("a") == b"two"


def test_a_silent_server_is_given_up(server: Scripted) -> None:
    web = HTTPStore(server.url + "/x", attempts=1, timeout=0.05)
    server.answers = [[b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n12"]]
    with pytest.raises(Unreadable, match="said nothing for"):
        web.get("a")


def test_what_is_sent_unasked_spoils_the_connection(server: Scripted, web: HTTPStore) -> None:
    server.answers = [[answer(b"one") + answer(b"a lie")], [answer(b"two")]]
    assert web.get("a") == b"one"
    assert web.get("b") == b"two"
    assert server.connected == 2


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=40), max_size=6),
    cuts=st.lists(st.integers(0, 300), max_size=12),
    most=st.none() | st.integers(0, 100),
)
def test_chunks_come_together_wherever_they_are_cut(pieces: list[bytes], cuts: list[int], most: int | None) -> None:
    sent, whole = chunked(*pieces), b"".join(pieces)
    chunks = Chunks(most)
    bounds = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    for start, stop in itertools.pairwise(bounds):
        if chunks.feed(memoryview(sent[start:stop])):
            break
    else:
        raise AssertionError("it did not end")
    assert chunks.body == (whole if most is None else whole[:most]) or (most == 0 and not chunks.body)
    assert chunks.cut == (most is not None and len(whole) >= most and bool(whole))
