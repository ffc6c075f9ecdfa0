"""Web servers with every fault of hostile_http.py: the outcome for whole values and for byte ranges.

The table is the promise: a value is right, absent is what the server says is not there, and all else is an error that
says why, soon and in bounded memory (tests/contracts/hostile_http.py has the server).
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time

import pytest

import zarrscope
from contracts.hostile_http import BEHAVIOURS, Ask, hostile
from zarrscope.errors import Denied, NotFound, Unreadable, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores import body
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.network import Network

VALUE = b"0123456789"
LIMIT = 100_000
IMPATIENT = Network(attempts=2, pause=0.0, patience=2.0, timeout=0.4, min_speed=2000.0)
PATIENT = Network(attempts=2, pause=0.0, patience=2.0, timeout=20.0)

ABSENT = "absent"
TOO_LARGE = r"too large|more than the part"
SLOW = "less than 2000 bytes a second|in time"
SILENT = "in time"
BROKEN = "connection failed|request failed"
SAME = "what is there"

OUTCOMES: dict[str, str | tuple[str, str, str]] = {
    # For each behaviour the outcome: one, or those of the whole value, of bytes 2 to 4, and of the last 3.
    "endless chunked body": (TOO_LARGE, "zeros", TOO_LARGE),
    "endless body without length": (TOO_LARGE, "zeros", TOO_LARGE),
    "body of 20 GiB": (TOO_LARGE, "zeros", "does not send parts"),
    "part of 20 GiB": ("the whole value was requested", "sent bytes from 0", "sent bytes from 0"),
    "part without end": ("the whole value was requested", "more than the part", "more than the part"),
    "gzip bomb": (TOO_LARGE, "zeros", TOO_LARGE),
    "gzip bomb in gzip": (TOO_LARGE, SAME, SAME),
    "gzip in gzip, told": "Content-Encoding 'gzip, gzip'",
    "brotli": "Content-Encoding 'br'",
    "gzip of the value": SAME,
    "gzip cut short": (BROKEN, SAME, BROKEN),
    "gzip of parts": SAME,
    "byte after byte": (SLOW, "zeros", SLOW),
    "never an answer": SILENT,
    "silent after the head": SILENT,
    "silent after half": (SILENT, SAME, SILENT),
    "head byte after byte": SILENT,
    "head without end": r"in time|failed",
    "head of one endless line": BROKEN,
    "soon soon soon": r"in time|failed",
    "faults without end": ABSENT,
    "cut short": (BROKEN, SAME, BROKEN),
    "cut short chunked": (BROKEN, SAME, BROKEN),
    "cut short then well": SAME,
    "reset of the connection": BROKEN,
    "hangs up": BROKEN,
    "speaks SSH": BROKEN,
    "bad chunk sizes": BROKEN,
    "negative length": BROKEN,
    "two lengths": BROKEN,
    "length of 30 digits": BROKEN + "|too large",
    "HTTP 1 0": SAME,
    "404 Not Found": ABSENT,
    "410 Gone": ABSENT,
    "no such key": ABSENT,
    "wait for a day": "503",
    "wait until 2100": "429",
    "wait for ever": "503",
    "wait, it does not say how long": "503",
    "no such bucket": "no such bucket",
    "no such container": "no such bucket",
    "expired token": "403",
    "expired address": "403",
    "denied where it is": "403",
    "denied alike": "403",
    "asked too often once": SAME,
    "broken once": SAME,
    "redirects in a circle": "the server redirects again and again",
    "redirects to a file": BROKEN,
    "redirects to nothing": BROKEN,
    "redirects to nonsense": BROKEN,
    "redirects nowhere": BROKEN + "|302",
    "a page for everything": "a web page",
    "a page without a type": "a web page",
    "an error in JSON for everything": "an error in JSON",
    "errors in json that differ": "an error in JSON",
    "an empty object for everything": "an empty JSON object",
    "an empty array for everything": "an empty JSON array",
    "nothing for everything": "with nothing instead",
    "null for everything": "the JSON value null",
    "pages that differ": "a web page",
    "a page in parts": "a web page",
    "a login instead": "a web page",
    "all is text html": SAME,
    "no ranges": SAME,
    "another part": (SAME, "sent bytes from 6", "sent bytes from 6"),
    "a part cut short": (SAME, BROKEN, BROKEN),
    "less than asked": (SAME, "sent bytes from 2", "sent bytes from 7"),
    "a part without saying which": (SAME, "without stating which", SAME),
    "parts in an envelope": ("the whole value was requested", "without stating which", "without stating which"),
    "a part of the whole": ("the whole value was requested", SAME, SAME),
    "no part pleases": (SAME, b"".hex(), SAME),
    "no part pleases though it knows better": SAME,
    "a thousand cookies": SAME,
}
for _name in BEHAVIOURS:  # the store must report each status that means neither "value found" nor "no such key"
    if _name[:3].isdigit():
        OUTCOMES.setdefault(_name, _name[:3])
PARTS = (None, ByteRange(2, 3), ByteRange.last(3))


def test_each_behaviour_has_an_outcome() -> None:
    assert OUTCOMES.keys() == BEHAVIOURS.keys()
    assert len(BEHAVIOURS) >= 60


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_what_a_behaviour_comes_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "MOST_IN_VAIN", 32 << 20)
    outcome = OUTCOMES[name]
    with hostile(name, {"x/a": VALUE}) as server:
        slow = {SILENT, SLOW} & {outcome, *outcome} or "in time" in outcome
        store = HTTPStore(server.url + "/x", IMPATIENT if slow else PATIENT)
        for part, expected in zip(PARTS, outcome if isinstance(outcome, tuple) else (outcome,) * 3, strict=True):
            begun = time.monotonic()
            server.counts.clear()
            try:
                got: bytes | ZarrscopeError | None = store.get("a", part, LIMIT)
            except ZarrscopeError as error:
                got = error
            print(part, repr(got)[:200], f"{time.monotonic() - begun:.2f} s, {server.sent} bytes")
            if expected is ABSENT:
                assert got is None
            elif expected is SAME:
                assert got == (VALUE if part is None else part.of(VALUE)) or "bomb" in name
            elif expected == "zeros":
                assert got == bytes(3)
            elif expected == "":
                assert got == b""
            else:
                assert isinstance(got, Unreadable | NotFound), "never a value, never absent"
                assert re.search(expected, str(got)), str(got)
                assert (got.store, got.key) == (store.url, "a")
                assert got.advice
        store.close()
    assert server.sent < 200 << 20


EMPTY = [
    "an empty object for everything",
    "an empty array for everything",
    "null for everything",
    "nothing for everything",
]


@pytest.mark.parametrize("name", [*EMPTY, "a page for everything", "denied alike"])
@pytest.mark.parametrize("form", ["", "zarr2://", "zarr3://"])
def test_one_answer_for_every_key_is_no_hierarchy(name: str, form: str) -> None:
    """Empty objects passed for an empty group, null for an array, and the advice named an option that cannot help."""
    with hostile(name, {}) as server, pytest.raises(Denied) as caught:
        zarrscope.open(f"{form}{server.url}/x.zarr")
    assert caught.value.key
    assert "for every key" in (caught.value.advice or "")
    assert "missing-is-fill" not in str(caught.value)
    assert not caught.value.may_be_missing
    assert len(server.asked) <= 16


def test_empty_attributes_stay_a_value() -> None:
    """They cost no request to find that out, except where another answer is doubted already."""
    values = {"x/.zgroup": b'{"zarr_format": 2}', "x/.zattrs": b"{}", "x/zarr.json": b"{}"}
    with hostile("an empty object for everything", values, lambda key: key not in values) as server:
        store = HTTPStore(server.url + "/x")
        assert store.get(".zattrs") == b"{}"
        assert server.asked == ["x/.zattrs"]
        store.close()
    with hostile("404 Not Found", values, lambda key: key not in values) as server:
        store = HTTPStore(server.url + "/x")
        assert [store.get(key) for key in ("zarr.json", ".zattrs")] == [b"{}", b"{}"]
        assert len(server.asked) == 3
        store.close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("speaks SSH", "breaks the rules of HTTP"),
        ("bad chunk sizes", "breaks the rules of HTTP"),
        ("head of one endless line", "breaks the rules of HTTP"),
        ("redirects to a file", "redirects to something that is no address of the web"),
        ("wait until 2100", "asks to wait 2"),
        ("wait for a day", "asks to wait 24 hours"),
    ],
)
def test_the_reason_is_one_plain_sentence(name: str, said: str) -> None:
    """The words of the library had several lines, and the address with its token."""
    with hostile(name, {}) as server:
        store = HTTPStore(server.url + "/x?token=SECRET", PATIENT)
        with pytest.raises(Unreadable) as caught:
            store.get("a")
        store.close()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert "seconds" not in (caught.value.advice or "")


@pytest.mark.parametrize("name", ["expired token", "expired address"])
def test_an_address_that_has_expired_is_called_so(name: str) -> None:
    with hostile(name, {}) as server, pytest.raises(Denied, match=r"expired: get a new one"):
        zarrscope.open(server.url + "/x.zarr?X-Amz-Signature=1")


READING = """
import sys, zarrscope
options = {"timeout": 1, "attempts": 1, "min_speed": 1 << 20}
zarrscope.open(sys.argv[1], storage_options=options)["/a"][...]
"""


def test_requests_that_are_given_up_at_the_end_of_the_process_say_nothing() -> None:
    """The first failed chunk ends the program; the other requests must not print errors then."""

    async def drip(ask: Ask) -> None:
        await ask.write(b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n")
        while not ask.stop.is_set():
            await ask.write(b"x")
            await asyncio.sleep(0.2)

    store = MemoryStore()
    array = zarrscope.open(store, "w-").create_array("/a", shape=(64,), dtype="u1", chunks=(4,))
    array[...] = 1
    with hostile(drip, {key: store.get(key) or b"" for key in store.list()}, lambda key: "/c/" in key) as server:
        done = subprocess.run([sys.executable, "-c", READING, server.url], capture_output=True, text=True, timeout=60)
    assert "Unreadable" in done.stderr
    assert "Task was destroyed" not in done.stderr
