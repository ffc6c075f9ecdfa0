"""Faults of listings and of writes in buckets: an error that names the fault, never a listing that lacks names, and
never a value that is said to be stored and is not. When the fault is over, the same store goes on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from contracts.hostile_http import Ask, Behaviour, Hangup, Hostile, Reset, hostile
from contracts.service_answers import ANSWERS, PAGE, SAME, XML, answered, bucket, fault, settings_for, tags, well
from contracts.wire import eventually
from zarrscope.errors import Denied, Unreadable, ZarrscopeError
from zarrscope.stores.address import open_store
from zarrscope.stores.store import Store

KINDS = ["s3", "gs", "abfs"]
NAMES = ("b", "c")


def page(kind: str, names: Sequence[str], following: str = "") -> bytes:
    """One page of a listing of x/a/ as the service of this kind sends it; `following` continues it."""
    when = "2023-01-01T00:00:00.000Z"
    if kind == "abfs":
        day = "Sun, 01 Jan 2023 00:00:00 GMT"
        blobs = "".join(
            f"<Blob><Name>x/a/{name}</Name><Properties><Last-Modified>{day}</Last-Modified><Etag>1</Etag>"
            "<Content-Length>10</Content-Length><Content-Type>application/octet-stream</Content-Type>"
            "<BlobType>BlockBlob</BlobType></Properties></Blob>"
            for name in names
        )
        return (
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="bucket"><Prefix>x/a/</Prefix>'
            f"<Blobs>{blobs}</Blobs><NextMarker>{following}</NextMarker></EnumerationResults>"
        ).encode()
    contents = "".join(
        f"<Contents><Key>x/a/{name}</Key><LastModified>{when}</LastModified><ETag>1</ETag><Size>10</Size></Contents>"
        for name in names
    )
    more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>bucket</Name><Prefix>x/a/</Prefix>'
        f"<IsTruncated>{str(bool(following)).lower()}</IsTruncated>{more}{contents}</ListBucketResult>"
    ).encode()


@contextmanager
def served(kind: str, **settings: Any) -> Iterator[tuple[Hostile, Store]]:
    """A store in a bucket on a server that answers each request as its `act` does."""
    with hostile(well, {}) as server:
        address, options = bucket(kind, server.url)
        yield server, open_store(address, "r+", {**options, **settings})


def listing(kind: str, act: Behaviour) -> Behaviour:
    """Answers as `act` does, with a listing as the value."""

    async def answer(ask: Ask) -> None:
        ask.value, ask.span = page(kind, NAMES), None
        await act(ask)

    return answer


async def listed_well(ask: Ask) -> None:
    await ask.answer("200 OK", ask.value or b"", XML)


LISTED = {
    **{name: ANSWERS[name] for name in ANSWERS if "part" not in name and name != "404"},
    "404": (answered("404 Not Found", fault("NoSuchKey"), XML), "404"),
    "a page": (answered("200 OK", PAGE, "Content-Type: text/html"), "web page|invalid list response"),
    "slow": (ANSWERS["slow"][0], "body"),
}


@pytest.mark.parametrize("verb", ["list_dir", "list_prefix"])
@pytest.mark.parametrize("answer", LISTED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_listing_is_whole_or_an_error(kind: str, answer: str, verb: str) -> None:
    act, outcome = LISTED[answer]
    with served(kind, **settings_for(answer)) as (server, store):

        def names() -> list[str]:
            if verb == "list_dir":
                return sorted(entry.name for entry in store.list_dir("a/"))
            return sorted(key.removeprefix("a/") for key in store.list_prefix("a/"))

        server.act = listing(kind, act)
        if outcome is SAME:
            assert names() == [*NAMES]
            return
        with pytest.raises(Unreadable) as caught:
            names()
        assert isinstance(caught.value, Denied) is (outcome == "Denied"), caught.value
        assert caught.value.store == store.url
        assert caught.value.advice
        assert outcome == "Denied" or re.search(outcome, str(caught.value)), str(caught.value)
        server.act = listing(kind, listed_well)
        assert eventually(names) == [*NAMES]


@pytest.mark.parametrize("kind", ["s3", "gs"])
def test_a_listing_that_breaks_off_goes_on_behind_the_last_key(kind: str) -> None:
    """The second page breaks off in each attempt but the last; the first page is not requested again."""
    asked: list[int] = []
    first = [f"b{i:03}" for i in range(1000)]

    async def pages(ask: Ask) -> None:
        asked.append(ask.count)
        if ask.count == 1:
            await ask.answer("200 OK", page(kind, first, following="more"), XML)
        elif ask.count < 4:
            value = page(kind, ["c"])
            await ask.answer("200 OK", value[:50], XML, f"Content-Length: {len(value)}", length=False)
            raise Hangup
        else:
            await ask.answer("200 OK", page(kind, ["c"]), XML)

    with served(kind, attempts=3, pause=0, timeout=20) as (server, store):
        server.act = pages
        assert [*store.list_prefix("a/")] == [*(f"a/{name}" for name in first), "a/c"]
        assert asked == [1, 2, 3, 4]


def test_a_listing_without_order_does_not_go_on() -> None:
    async def pages(ask: Ask) -> None:
        if ask.count == 1:
            await ask.answer("200 OK", page("s3", ["c", *(f"b{i:03}" for i in range(999))], following="more"), XML)
        else:
            raise Reset

    with served("s3", attempts=2, pause=0, timeout=20) as (server, store):
        server.act = pages
        with pytest.raises(Unreadable, match=r"broke off|request failed"):
            list(store.list_prefix("a/"))


def test_a_login_that_may_not_list_does_not_keep_another_from_reading() -> None:
    """The first credentials are denied both; the bucket is public, but its listing is not."""
    with served("s3", attempts=1) as (server, store):
        store._logins = [store._logins[0], *store._logins]  # type: ignore[attr-defined]  # two that are tried in turn
        store._settled = False  # type: ignore[attr-defined]  # as before the first request

        server.act = answered("403 Forbidden", fault("AccessDenied"), XML)
        with pytest.raises(Denied):
            list(store.list_dir("a/"))
        server.counts.clear()

        async def value(ask: Ask) -> None:
            if ask.count == 1:
                await ask.answer("403 Forbidden", fault("AccessDenied"), XML)
            else:
                await ask.answer("200 OK", b"value", *tags(b"value"))

        server.act = value
        assert store.get("a/b") == b"value"


WRITTEN = {
    name: ANSWERS[name]
    for name in ("401", "403", "expired", "429 once", "500 once", "500", "503 once", "503", "503 for a day", "silent")
}


@pytest.mark.parametrize("answer", [*WRITTEN, "reset once", "a page"])
@pytest.mark.parametrize("kind", ["s3", "abfs"])
def test_a_value_is_stored_or_an_error(kind: str, answer: str) -> None:
    async def stored(ask: Ask) -> None:
        await ask.answer("200 OK", b"", *tags(b""))

    async def reset_once(ask: Ask) -> None:
        if ask.count == 1:
            raise Reset
        await stored(ask)

    others = {
        "reset once": (reset_once, SAME),
        "a page": (answered("200 OK", PAGE, "Content-Type: text/html"), "request failed"),
    }
    act, outcome = {**WRITTEN, **others}[answer]

    async def answer_it(ask: Ask) -> None:
        ask.value, ask.span = b"", None
        await act(ask)

    with served(kind, **settings_for(answer)) as (server, store):
        server.act = answer_it
        got: ZarrscopeError | None = None
        try:
            store.set("a/b", b"value")
        except ZarrscopeError as error:
            got = error
        if outcome is SAME:
            assert got is None, got
            return
        assert isinstance(got, Denied if outcome == "Denied" else Unreadable), got
        assert (got.store, got.key) == (store.url, "a/b")
        assert got.advice
        assert outcome == "Denied" or re.search(outcome, str(got)), str(got)
        server.act = stored
        assert eventually(lambda: store.set("a/b", b"value")).token


@pytest.mark.parametrize("code", ["401 Unauthorized", "403 Forbidden"])
@pytest.mark.parametrize("kind", ["s3", "abfs"])
def test_an_erasure_that_is_denied_is_said_so(kind: str, code: str) -> None:
    with served(kind, attempts=1) as (server, store):
        server.act = answered(code, fault("AccessDenied"), XML)
        with pytest.raises(Denied):
            store.erase("a/b")
