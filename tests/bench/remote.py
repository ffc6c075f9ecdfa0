"""HTTP with a delay of 30 and 50 ms a request: a plane of 128 chunks, and the round trips to a first picture.

Each round opens the array anew, so that nobody knows a shard's index beforehand; connections stay open, and opening is
not timed. tensorstore as it comes, and allowed 128 requests at once. Round trips are counted by the server: it holds
requests until no further one comes, so that those made side by side are one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.latency import Slow
from bench.peers import Peer, Peers, WrongValues, environment
from bench.results import OURS, Goal, Row
from bench.settings import Settings
from bench.volumes import FORMS, Form, Shape, Volumes

ENGINES = ("zarrscope", "tensorstore", "tensorstore-128")
PLANES = {"v3 zstd 64^3": 1.0, "v2 blosc-lz4 64^3": 1.0, "v3 shards zstd 32^3": 0.6}
"""The largest allowed ratio to the faster tensorstore."""
DELAYS = (0.03, 0.05)
WIDE: Shape = (64, 512, 1024)
"""A plane crosses 128 chunks of 64^3, or 512 of 32^3 in two shards."""
QUICK_WIDE: Shape = (64, 128, 256)
PICTURES = {"v3": (False, 3), "v3 sharded": (True, 4)}
"""Sharded or not, and how many round trips a first picture may take."""
PIXELS = (800, 1000)


def planes(settings: Settings) -> Iterator[Row]:
    volumes = Volumes(settings.folder, QUICK_WIDE if settings.quick else WIDE)
    wanted = [
        (FORMS[name], delay)
        for name in PLANES
        for delay in DELAYS
        if settings.wants(name, f"plane over HTTP, {1000 * delay:.0f} ms")
    ]
    for form, _ in wanted:
        volumes.need(form)
    with Slow(volumes.folder) as server, Peers(ENGINES) as peers:
        settings.note_engines(peers)
        for form, delay in wanted:
            yield _plane(settings, volumes, server, peers, form, delay)


def _plane(settings: Settings, volumes: Volumes, server: Slow, peers: Peers, form: Form, delay: float) -> Row:
    url = f"{server.url}/{volumes.need(form).name}"
    asked: dict[str, int] = {}

    def prepare(peer: Peer) -> None:
        peer.ask("open", path=url, node="")
        server.delay(0.0)
        check = {"picture": str(volumes.picture), "shape": volumes.shape_of(form)}
        answer = peer.ask("check", case="xy plane", **check)
        if "wrong" in answer:
            raise WrongValues(f"{peer.name}, {form.name} over HTTP: {answer['wrong']}")
        server.delay(delay)

    def measure(peer: Peer, number: int) -> float:
        peer.ask("open", path=url, node="")
        server.delay(delay)
        seconds = float(peer.ask("read", case="xy plane", seed=number, count=1)["seconds"])
        asked[peer.name] = server.counts()["requests"]
        return seconds

    figures, unable = peers.rounds(settings.rounds, measure, prepare)
    note = f"{asked.get(OURS, 0)} requests, tensorstore {asked.get('tensorstore', 0)}"
    case, goals = f"plane over HTTP, {1000 * delay:.0f} ms", (Goal(PLANES[form.name]),)
    return Row("http", case, form.name, figures, goals, unable=unable, note=note)


# ------------------------------------------------------------------------------------------------- a first picture
def pictures(settings: Settings) -> Iterator[Row]:
    """The round trips from an unknown URL to a first picture, as the viewers show it."""
    volumes = Volumes(settings.folder, settings.shape)
    for name, (sharded, most) in PICTURES.items():
        case = "round trips to a first picture"
        if not settings.wants(name, case):
            continue
        path = volumes.need_as(
            f"image{'_sharded' if sharded else ''}.ome.zarr",
            partial(image, volumes, sharded=sharded),
        )
        with Slow(volumes.folder) as server:
            server.in_waves()
            command = [sys.executable, "-m", "bench.remote", f"{server.url}/{path.name}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment(), check=False)
            if done.returncode:
                raise RuntimeError(f"No first picture: {done.stderr.strip().splitlines()[-1]}")
            waves = json.loads(done.stdout)
        settings.folder.joinpath(f"waves-{name}.json").write_text(json.dumps(waves, indent=1))
        goals, note = (Goal(most, "figure"),), f"{sum(map(len, waves))} requests"
        yield Row("http", case, name, {OURS: [float(len(waves))]}, goals, "", note=note)


def image(volumes: Volumes, path: Path, sharded: bool) -> None:
    """An OME-Zarr 0.5 image of three levels."""
    import zarrscope

    values = np.load(volumes.picture)
    axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
    levels: list[dict[str, Any]] = []
    for level in range(3):
        scale = {"type": "scale", "scale": [2.0**level] * 3}
        levels.append({"path": str(level), "coordinateTransformations": [scale]})
    multiscales = [{"name": "picture", "axes": axes, "datasets": levels}]
    hierarchy = zarrscope.open(path, "w-")
    hierarchy.erase("/")
    hierarchy.create_group("/", {"ome": {"version": "0.5", "multiscales": multiscales}})
    for level in range(3):
        part = np.ascontiguousarray(values[:: 2**level, :: 2**level, :: 2**level])
        shards = tuple(-(-n // 64) * 64 for n in part.shape) if sharded else None
        chunks = (32, 32, 32) if sharded else tuple(min(64, n) for n in part.shape)
        array = hierarchy.create_array(
            f"/{level}", shape=part.shape, dtype=part.dtype, chunks=chunks, shards=shards, dimension_names=list("zyx")
        )
        array[...] = part


def first_picture(url: str) -> list[list[str]]:
    """The paths asked for in each round trip until a viewer has something to show."""
    import urllib.request
    from urllib.parse import urlsplit

    from zarrscope.runtime.threads import Mailbox
    from zarrscope_app.presenters import Session

    mailbox = Mailbox()
    session = Session(url, mailbox)
    session.slice.changed.connect(lambda: session.slice.fit(PIXELS))
    mailbox.run_until(lambda: any(tile.rgb is not None for tile in session.slice.frame.tiles), timeout=60)
    address = urlsplit(url)
    with urllib.request.urlopen(f"{address.scheme}://{address.netloc}/-/counts", timeout=20) as answer:
        waves: list[list[str]] = json.load(answer)["waves"]
    session.close()
    return waves


if __name__ == "__main__":
    print(json.dumps(first_picture(sys.argv[1])))
