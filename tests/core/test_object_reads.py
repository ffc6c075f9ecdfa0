"""Many concurrent reads of a bucket: their tasks and connections; absent, failing, slow and cancelled requests."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import pytest

pytest.importorskip("obstore")

from contracts.http_server import WebServer, web_server
from zarrscope.errors import Denied, Unreadable
from zarrscope.stores.object_reads import Bucket, ManyReads, Sent
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.remote import loop

VALUES = {f"c/{i}": bytes([i]) * (100 + i) for i in range(40)}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server({f"pub/x.zarr/{key}": value for key, value in VALUES.items()}) as found:
        yield found


def bucket(server: WebServer, **options: Any) -> ObjectStore:
    store = ObjectStore("s3://pub/x.zarr", endpoint=server.url, region="us-east-1", anon=True, pause=0.01, **options)
    assert store.get("c/0") == VALUES["c/0"]
    server.asked.clear()
    return store


def asked(server: WebServer) -> list[str]:
    return sorted(key.removeprefix("pub/x.zarr/") for key, _ in server.asked)


def test_values_that_come_take_no_task(server: WebServer) -> None:
    store, tasks = bucket(server), list[str]()

    def counted(where: Any, work: Any, **more: Any) -> Any:
        tasks.append(str(work))
        return asyncio.Task(work, loop=where, **more)

    loop().call_soon_threadsafe(partial(loop().set_task_factory, counted))
    try:
        found = dict(store.get_many([(key, None) for key in VALUES]))
    finally:
        loop().call_soon_threadsafe(partial(loop().set_task_factory, None))
    assert [found[i] for i in range(len(VALUES))] == [*VALUES.values()]
    assert asked(server) == sorted(VALUES)
    assert not tasks


@pytest.mark.parametrize(
    "login", [{"anon": True}, {"key": "k", "secret": "s"}, {"key": "k", "secret": "s", "token": "t"}]
)
def test_the_hierarchies_in_a_bucket_share_its_connections(server: WebServer, login: dict[str, Any]) -> None:
    """Making a connection takes two or three round trips."""
    server.values["pub/folder/y.zarr/k"] = b"another hierarchy"
    server.values["pub/k"] = b"in no folder"
    for place, key in (("pub/x.zarr", "c/0"), ("pub/folder/y.zarr", "k"), ("pub", "k")):
        store = ObjectStore(f"s3://{place}", endpoint=server.url, region="us-east-1", **login)
        assert store.get(key) == server.values[f"{place}/{key}"]
        assert dict(store.get_many([(key, None)])) == {0: server.values[f"{place}/{key}"]}
    assert server.connected == 1
    other = ObjectStore("s3://pub", endpoint=server.url, region="us-east-1", key="another", secret="s")
    assert other.get("k") == b"in no folder"
    assert server.connected == 2, "other credentials, another client"


def test_an_absent_value_takes_one_request_and_a_fault_one_more(server: WebServer) -> None:
    store = bucket(server)
    server.faults["pub/x.zarr/c/3"] = [503, 500]
    server.faults["pub/x.zarr/c/4"] = [403]
    keys = [*VALUES, "c/none"]
    found = dict(store.get_many([(key, None) for key in keys]))
    denied = found.pop(keys.index("c/4"))
    assert isinstance(denied, Denied)
    assert denied.key == "c/4"
    assert found == {i: VALUES.get(key) for i, key in enumerate(keys) if key != "c/4"}
    again = [key for key in asked(server) if key in keys]
    assert again == sorted([*keys, "c/3", "c/3"])


def test_a_value_over_the_limit_is_told(server: WebServer) -> None:
    store = bucket(server)
    found = dict(store.get_many([("c/1", None), ("c/2", None)], limit=101))
    assert found[0] == VALUES["c/1"]
    assert isinstance(found[1], Unreadable)
    assert found[1].key == "c/2"


def test_what_takes_too_long_in_all_is_given_up(server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    store = bucket(server)
    monkeypatch.setattr(store, "_longest", lambda part, limit: 0.5)
    server.gate.clear()
    found = dict(store.get_many([("c/1", None), ("c/2", None)]))
    assert [type(each) for each in found.values()] == [Unreadable, Unreadable]
    assert server.wait_closed(2), "the requests do not go on"
    server.gate.set()
    assert dict(store.get_many([("c/1", None)])) == {0: VALUES["c/1"]}


def test_fewer_go_at_once_after_too_many(server: WebServer) -> None:
    store = bucket(server)
    store._width = 4
    server.gate.clear()
    coming = store.get_many([(key, None) for key in VALUES])
    server.let(1)
    next(coming)
    assert server.wait_held(5)
    assert len(server.asked) == 5, "a request begins when another one has ended"
    server.gate.set()
    assert len(dict(coming)) == len(VALUES) - 1


def test_what_nobody_wants_any_more_is_cancelled(server: WebServer) -> None:
    store, answered = bucket(server), False
    server.gate.clear()
    coming = store.get_many([(key, None) for key in VALUES], lambda: answered)

    def let_one_when_all_were_sent() -> None:
        if server.wait_held(len(VALUES)):
            server.let(1)

    lets = threading.Thread(target=let_one_when_all_were_sent, name="lets")
    lets.start()
    next(coming)
    lets.join()
    answered = True
    assert not list(coming)
    assert server.wait_closed(len(VALUES) - 1)
    server.gate.set()
    assert store.get("c/0") == VALUES["c/0"]


def test_an_error_that_comes_after_the_end_is_not_written_to_stderr(caplog: pytest.LogCaptureFixture) -> None:
    """asyncio logs the error of a future whose result is never requested."""

    async def run() -> None:
        here = asyncio.get_running_loop()
        future: asyncio.Future[Any] = here.create_future()

        class OneRead:
            url, width, _loop = "s3://pub/x.zarr", 1, here

            def _send_read(self, *request: object) -> Sent:
                return Sent(future, None, 0, 0, 1)

        many = ManyReads(cast(Bucket, OneRead()), [("c/0", None)], None)
        await asyncio.sleep(0)
        future.set_exception(OSError("reset"))
        many._end()
        await asyncio.sleep(0)

    asyncio.run(run())
    gc.collect()
    assert not caplog.records
