"""Writing a full volume into an array that was just created: zstd and blosc, sharded and not.

Every round writes to a new place. What was written is read back once per engine by another engine. tensorstore flushes
each file to the disk before it appears under its name; zarr-python, and zarrscope for chunks written whole, do not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

from bench.peers import Peer, Peers, Unable, WrongValues
from bench.results import Goal, Row
from bench.settings import Settings
from bench.volumes import Volumes, codecs, quarters

ENGINES = ("zarrscope", "tensorstore", "zarrs", "zarr 3", "zarr 2.18")
READERS = ("tensorstore", "zarr 3", "zarrscope")
"""The engines that read the values back: the first one that is not the writer."""
FORMS: dict[str, dict[str, Any]] = {
    "v3 zstd 64^3": {"compression": "zstd", "edge": 64},
    "v3 blosc-lz4 64^3": {"compression": "blosc-lz4", "edge": 64},
    "v3 shards zstd 32^3": {"compression": "zstd", "edge": 32, "sharded": True},
    "v3 shards blosc-lz4 32^3": {"compression": "blosc-lz4", "edge": 32, "sharded": True},
    "v2 blosc-lz4 64^3": {"compression": "blosc-lz4", "edge": 64, "v2": True},
}
BLOSC_V2 = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0}


def plan(form: str, shape: Sequence[int]) -> dict[str, Any]:
    """The settings from which each engine creates the array."""
    asked = FORMS[form]
    v2 = asked.get("v2", False)
    return {
        "v2": v2,
        "shape": list(shape),
        "dtype": "<u2",
        "chunks": [asked["edge"]] * 3,
        "shards": list(quarters(tuple(shape))) if asked.get("sharded") else None,
        "compression": asked["compression"],
        "codecs": codecs(asked["compression"]),
        "compressor": BLOSC_V2,
    }


def measure(settings: Settings) -> Iterator[Row]:
    volumes = Volumes(settings.folder, settings.shape)
    picture = str(volumes.picture)
    place = settings.folder / "written"
    with Peers(ENGINES) as peers:
        settings.note_engines(peers)
        for form in FORMS:
            if not settings.wants(form, "write full"):
                continue
            asked = plan(form, settings.shape)

            def written(peer: Peer, number: int, asked: dict[str, Any] = asked) -> float:
                shutil.rmtree(place, ignore_errors=True)
                return float(peer.ask("write", path=str(place), picture=picture, plan=asked)["seconds"])

            def prepare(peer: Peer, form: str = form, asked: dict[str, Any] = asked, written: Any = written) -> None:
                written(peer, 0)
                reader = next(peers.all[name] for name in READERS if name in peers.all and name != peer.name)
                try:
                    reader.ask("open", path=str(place), node="a")
                    answer = reader.ask("check", case="full", picture=picture, shape=asked["shape"])
                except Unable as error:
                    raise WrongValues(f"{reader.name} cannot read what {peer.name} wrote, {form}: {error}") from error
                if "wrong" in answer:
                    raise WrongValues(f"{peer.name} wrote, {form}, and {reader.name} reads {answer['wrong']}")

            names = [name for name in ENGINES if name != "zarr 2.18" or asked["v2"]]
            figures, unable = peers.rounds(min(5, settings.rounds), written, prepare, names)
            yield Row("write", "write full", form, figures, (Goal(1.0),), unable=unable)
    shutil.rmtree(place, ignore_errors=True)
