"""A value that cannot be read is an error, never absent: documents and chunks of every store in the registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import zarrscope
from contracts.absence import CHUNK, GAP, VALUES
from contracts.hostile_http import Ask, hostile
from contracts.places import Services
from contracts.service_answers import bucket
from contracts.unreadable import ANSWERS, KINDS, WITHOUT, Faulty
from contracts.wire import eventually
from narrowing import as_array
from zarrscope import convert
from zarrscope.check.hierarchy import check
from zarrscope.errors import BadMetadata, NotFound, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.registry import STORES
from zarrscope.stores.store import Store

CASES = [(kind, fault) for kind, (_, faults) in KINDS.items() for fault in faults]
AMONG = {*ANSWERS} - {"403", "503", "a page", "cut short"}
"""Answers of services for which the slower test is left out, because the other test covers them."""


def of(cases: list[tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("faulty", "fault"), cases, ids=[" ".join(case) for case in cases], indirect=["faulty"]
    )


ROOT, DOCUMENT = ".zgroup", "a/.zarray"


@pytest.fixture
def faulty(
    request: pytest.FixtureRequest, services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Faulty]:
    with KINDS[request.param][0](tmp_path, services, monkeypatch) as found:
        yield found


def test_every_kind_of_store_is_tried() -> None:
    assert {name.partition(" ")[0] for name in KINDS} | {*WITHOUT} == {*STORES}
    assert not {*KINDS} & {*WITHOUT}
    assert all(faults for _, faults in KINDS.values())


def refusal(store: Store, key: str, part: ByteRange | None, limit: int | None = None) -> ZarrscopeError | None:
    """The reason why the value cannot be read; None if the store reports it as absent."""
    try:
        value = store.get(key, part, limit)
    except ZarrscopeError as error:
        return error
    assert value is None, f"{key} was read: {value!r}"
    return None


@of(CASES)
def test_a_value_that_cannot_be_read_is_not_absent(faulty: Faulty, fault: str) -> None:
    held = faulty.opened()
    assert held.get(CHUNK) == VALUES[CHUNK]
    assert held.get(GAP) is None
    for key in (CHUNK, DOCUMENT):
        with faulty.faults[fault](key):
            try:
                store = faulty.opened()
            except (Unreadable, BadMetadata):  # no value of the file or service can be read
                continue
            parts = fault not in faulty.whole_only
            for part in (None, ByteRange(0, 1), ByteRange.last(1)) if parts else (None,):
                error = refusal(store, key, part)
                assert isinstance(error, Unreadable | Unsupported), f"{key} {part}: {error!r}"
                assert not isinstance(error, NotFound)
                assert error.advice
                assert error.store == store.url
                assert not faulty.names_key or error.key == key
            assert isinstance(refusal(store, key, None, 1 << 20), Unreadable | Unsupported), "with a limit"
            assert all(isinstance(each, ZarrscopeError) for _, each in _many(store, key, parts))
            with pytest.raises((Unreadable, Unsupported)):
                store.get_versioned(key)
            store.close()
    held.close()
    store = faulty.opened()
    assert eventually(lambda: store.get(CHUNK)) == VALUES[CHUNK]
    assert eventually(lambda: store.get(GAP)) is None
    store.close()


def _many(store: Store, key: str, parts: bool) -> list[tuple[int, object]]:
    try:
        return [*store.get_many([(key, None), (key, ByteRange(0, 1) if parts else None)])]
    except ZarrscopeError as error:
        return [(0, error)]


@of([case for case in CASES if case[1] not in AMONG])
def test_nothing_is_made_of_what_cannot_be_read(faulty: Faulty, fault: str) -> None:
    """No fill values, missing nodes or empty hierarchies; a conversion stops."""
    with faulty.faults[fault](CHUNK), suppress(Unreadable, BadMetadata):
        hierarchy = zarrscope.open(faulty.opened())
        with pytest.raises((Unreadable, Unsupported)):
            as_array(hierarchy["a"])[...]
        if faulty.names_key:
            assert as_array(hierarchy["sparse"])[...].tolist() == [7, 7, 0, 0]
        findings: list[object] = []
        try:
            for found in check(hierarchy):
                findings.append(found)
                assert found.key != CHUNK or found.severity in ("error", "warning"), found
                assert found.key != CHUNK or "missing" not in found.code, found
        except ZarrscopeError:  # a store that cannot list
            findings.append(None)
        assert findings
        with pytest.raises(ZarrscopeError):
            convert.run(convert.plan(hierarchy, MemoryStore(), "v3"))
        hierarchy.store.close()
    for key in (ROOT, DOCUMENT):
        with faulty.faults[fault](key):
            try:
                hierarchy = zarrscope.open(faulty.opened())
                assert key != ROOT, "the hierarchy opened without the document of its root"
                hierarchy[DOCUMENT.partition("/")[0]]
            except NotFound as error:
                raise AssertionError(f"{key} was taken as absent: {error}") from error
            except (Unreadable, Unsupported, BadMetadata):
                pass
            else:
                raise AssertionError(f"{key} was read")


BUCKETS = [("s3", "NoSuchBucket"), ("gs", "NoSuchBucket"), ("abfs", "ContainerNotFound")]


@pytest.mark.parametrize(("kind", "code"), BUCKETS)
def test_a_bucket_that_is_not_there_is_said(kind: str, code: str) -> None:
    async def act(ask: Ask) -> None:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
        await ask.answer("404 Not Found", body, "Content-Type: application/xml", f"x-ms-error-code: {code}")

    with hostile(act, {}) as server:
        address, options = bucket(kind, server.url)
        with pytest.raises(NotFound, match=r"no (such )?(bucket|container)"):
            zarrscope.open(address, storage_options=options)
