"""Opening an address on a web server until the picture: the server counts the requests that wait for others.

The server holds every request and lets through only those of one round trip: what comes next must come all the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import WebServer, web_server
from zarrscope.chunkio import sharded_fetch
from zarrscope.dialects import PROBES, dialect_named
from zarrscope.errors import NotFound
from zarrscope.nodes.detect import FIRST
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import find_images

LEVELS = 3
SHAPE = (4, 64, 64)


def image(*, shards: bool) -> MemoryStore:
    store = MemoryStore()
    made = zarrscope.open(store, "w-")
    datasets = [
        {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": [1, 2**n, 2**n]}]}
        for n in range(LEVELS)
    ]
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    multiscales = [{"name": "picture", "axes": axes, "datasets": datasets}]
    made.create_group("/x.zarr", {"ome": {"version": "0.5", "multiscales": multiscales}})
    for n in range(LEVELS):
        shape = (SHAPE[0], SHAPE[1] >> n, SHAPE[2] >> n)
        array = made.create_array(
            f"/x.zarr/{n}", shape=shape, dtype="uint16", chunks=(1, 8, 8), shards=(4, 16, 16) if shards else None
        )
        array[...] = np.arange(1, np.prod(shape) + 1).reshape(shape)
    made.create_group("/x.zarr/labels", {"ome": {"labels": ["cells"]}})
    made.create_group("/x.zarr/labels/cells")
    return store


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as server:
        server.gate.clear()
        yield server


def keys(server: WebServer) -> list[str]:
    with server.changed:
        return [key.removeprefix("x.zarr/") for key, _ in server.asked]


def round_trip(server: WebServer, before: int, expected: set[str]) -> int:
    """Waits until all `expected` keys are requested, with `before` requests answered; then answers them."""
    assert server.wait_held(before + len(expected)), f"after {before}: {keys(server)[before:]}"
    assert set(keys(server)[before:]) == expected
    assert len(keys(server)) == before + len(expected), "nothing is asked for twice"
    server.let(len(expected))
    return before + len(expected)


def running(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), name="reader")
    thread.start()
    return thread, found


DOCUMENTS = {*(f"{n}/zarr.json" for n in range(LEVELS)), "labels/zarr.json"}
CHUNKS = {f"2/c/0/{y}/{x}" for y in (0, 1) for x in (0, 1)}


def coarse(url: str) -> Any:
    (found,) = find_images(zarrscope.open(url)["/"])
    return found.levels[-1].array[0]


def test_a_coarse_picture_takes_three_round_trips(server: WebServer) -> None:
    store = image(shards=False)
    server.values = {key: store.get(key) or b"" for key in store.list()}
    thread, found = running(lambda: coarse(server.url + "/x.zarr"))
    answered = round_trip(server, 0, set(FIRST))
    answered = round_trip(server, answered, DOCUMENTS)
    round_trip(server, answered, CHUNKS)
    thread.join(20)
    np.testing.assert_array_equal(found[0], np.arange(1, 257).reshape(16, 16))


@pytest.mark.parametrize("whole", [True, False])
def test_a_coarse_picture_of_shards_takes_four_and_three_where_they_are_small(
    server: WebServer, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = image(shards=True)
    server.values = {key: store.get(key) or b"" for key in store.list()}
    monkeypatch.setattr(sharded_fetch, "MAX_WHOLE", 1 << 20 if whole else 0)

    def all_planes(url: str) -> Any:
        (found,) = find_images(zarrscope.open(url)["/"])
        return found.levels[-1].array[...]

    thread, found = running(lambda: all_planes(server.url + "/x.zarr"))
    answered = round_trip(server, 0, set(FIRST))
    answered = round_trip(server, answered, DOCUMENTS)
    answered = round_trip(server, answered, {"2/c/0/0/0"})
    if not whole:
        assert server.asked[-1][1] == "bytes=-260", "the index, from the end"
        round_trip(server, answered, {"2/c/0/0/0"})
    thread.join(20)
    np.testing.assert_array_equal(found[0], np.arange(1, 1025).reshape(4, 16, 16))


def test_what_lies_beside_a_v2_array_is_opened_in_one_round_trip(server: WebServer) -> None:
    store = MemoryStore()
    made = zarrscope.open(store, "w-", dialect="v2")
    for name in ("a", "b"):
        made.create_array(f"/{name}", shape=(2,), dtype="u1").attrs["name"] = name
    v3 = MemoryStore()
    zarrscope.open(v3, "w-").create_group("/c", {"name": "c"})
    server.values = {key: each.get(key) or b"" for each in (store, v3) for key in each.list() if "/" in key}

    def opening(name: str, *trips: set[str]) -> None:
        answered = len(server.asked)
        thread, found = running(lambda: zarrscope.open(f"{server.url}/{name}")["/"].attributes)
        for trip in trips:
            answered = round_trip(server, answered, {f"{name}/{key}" for key in trip})
        thread.join(20)
        assert [dict(each) for each in found] == [{"name": name}]

    opening("a", {*FIRST}, {*PROBES} - {*FIRST})
    opening("b", {*PROBES})
    opening("c", {*PROBES})  # a wrong guess costs requests, but no round trip
    opening("c", {*FIRST})


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_a_format_that_is_named_is_opened_in_one_round_trip(server: WebServer, dialect: str) -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-", dialect=dialect).create_array("/named", shape=(2,), dtype="u1").attrs["name"] = "x"
    server.values = {key: store.get(key) or b"" for key in store.list() if "/" in key}
    url = f"{server.url}/named"
    thread, found = running(lambda: zarrscope.open(url, dialect=dialect)["/"].attributes)
    documents = dialect_named(dialect).documents("/")
    round_trip(server, 0, {f"named/{key}" for key in documents})
    thread.join(20)
    assert [dict(each) for each in found] == [{"name": "x"}]


def test_a_format_that_is_named_wrongly_is_refused_as_before(server: WebServer) -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-")
    server.values = {key: store.get(key) or b"" for key in store.list()}
    server.gate.set()
    with pytest.raises(NotFound):
        zarrscope.open(server.url, dialect="v2")


def test_a_viewer_has_its_first_picture_after_three_round_trips(server: WebServer) -> None:
    presenters = pytest.importorskip("zarrscope_app.presenters")
    store = image(shards=False)
    server.values = {key: store.get(key) or b"" for key in store.list()}
    mailbox = Mailbox()
    session = presenters.Session(server.url + "/x.zarr", mailbox)
    session.slice.changed.connect(lambda: session.slice.fit((16, 16)))

    plane = {f"2/c/2/{y}/{x}" for y in (0, 1) for x in (0, 1)}  # the middle of z
    answered = [0]

    def answer_all_but_the_plane() -> None:
        """The server counts what it lets pass and does not choose: none may be left out, whenever it comes."""
        others = sum(key not in plane for key in keys(server))
        server.let(others - answered[0])
        answered[0] = others

    def until(happened: Callable[[], bool]) -> None:
        """Runs requests and posted calls until then."""
        end = time.monotonic() + 60
        while not happened():
            assert time.monotonic() < end, keys(server)
            if not mailbox.run():
                with server.changed:
                    server.changed.wait(0.02)

    answered[0] = round_trip(server, 0, set(FIRST))
    until(lambda: set(keys(server)) >= DOCUMENTS)
    assert not plane & set(keys(server))

    def plane_is_asked_for() -> bool:
        answer_all_but_the_plane()  # the tree lists the root meanwhile
        return set(keys(server)) >= plane

    until(plane_is_asked_for)
    server.gate.set()
    until(lambda: any(tile.rgb is not None for tile in session.slice.frame.tiles))
    until(lambda: bool(session.slice.state.labels))
    session.close()


def test_labels_are_not_asked_for_labels_of_their_own() -> None:
    store = image(shards=False)
    with zarrscope.open(store, "a") as made:
        made.create_array("/x.zarr/labels/cells/0", shape=(8, 8), dtype="uint8", chunks=(8, 8))
        axes = [{"name": name, "type": "space"} for name in "yx"]
        levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
        multiscales = [{"axes": axes, "datasets": levels}]
        made["/x.zarr/labels/cells"].attrs["ome"] = {"version": "0.5", "multiscales": multiscales, "image-label": {}}
    with web_server({key: store.get(key) or b"" for key in store.list()}) as server:
        (labels,) = find_images(zarrscope.open(server.url + "/x.zarr")["/labels/cells"])
        assert labels.is_label
        assert [level.shape for level in labels.levels] == [(8, 8)]
        assert labels.labels == ()
        assert "labels/cells/0/zarr.json" in keys(server)
        assert "labels/cells/labels/zarr.json" not in keys(server)
