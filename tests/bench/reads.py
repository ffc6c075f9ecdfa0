"""Reading without zarrscope's cache from local files in the page cache: every layout, every kind of selection.

A case without a goal in numbers is held to the fastest peer.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.engines import CASES
from bench.peers import Peer, Peers, WrongValues
from bench.results import LIMIT, Goal, Row
from bench.settings import Settings
from bench.volumes import FORMS, Form, Volumes

ENGINES = ("zarrscope", "tensorstore", "zarrs", "zarr 3", "zarr 2.18", LIMIT)
READS = {
    "tensorstore": ("v2", "v3"),
    "zarrs": ("v2", "v3"),
    "zarr 3": ("v2", "v3"),
    "zarr 2.18": ("v2", "draft-2020"),
}
"""The dialects that the peers can read; zarrscope and the limit read all layouts."""
FULL = {"blosc-lz4": 0.7, "gzip": 0.65, "raw": 0.75, "zstd": 0.9, "blosc-zstd": 0.9}
SHARDS = {name for name, form in FORMS.items() if form.shards is not None}
TINY = {name for name in FORMS if "tiny" in name}


def goals(form: Form, case: str) -> tuple[Goal, ...]:
    if form.name in SHARDS | TINY:
        return (Goal(1.0),)
    if case == "full":
        return Goal(FULL[form.compression]), Goal(1.15, LIMIT)
    if case == "xy plane" and form.name in PLANES:
        return PLANES[form.name]
    return (Goal(1.0),)


PLANES = {
    "v2 blosc-lz4 64^3": (Goal(0.75),),
    "v2 blosc-lz4 128^3": (Goal(0.75), Goal(0.4, "tensorstore")),
    "v3 zstd 64^3": (Goal(0.75),),
    "v3 blosc-zstd bitshuffle 64^3": (Goal(0.75),),
    "v3 gzip 128^3": (Goal(0.75), Goal(0.4, "tensorstore")),
    "v3 raw 64^3": (Goal(1.0),),
    "v2 F order blosc-lz4": (Goal(0.75),),
    "v3 big-endian zstd": (Goal(0.75),),
    "v2 delta zstd": (Goal(0.75),),
    "draft 2022 zstd 64^3": (Goal(0.75),),
    "draft 2020 blosc-lz4 64^3": (Goal(0.75),),
}
"""Where chunks are cubes of 64 to 128, an XY plane needs a small part of each."""


def cases(form: Form) -> list[str]:
    axes = {"v3 1-D zstd": 1, "v3 2-D tiles zstd": 2}.get(form.name, 3)
    return [case for case in CASES if axes == 3 or "plane" not in case]


def raw(settings: Settings) -> Iterator[Row]:
    return _measured(settings, "raw", [form for name, form in FORMS.items() if name not in SHARDS | TINY])


def shards(settings: Settings) -> Iterator[Row]:
    return _measured(settings, "shards", [FORMS[name] for name in FORMS if name in SHARDS])


def tiny(settings: Settings) -> Iterator[Row]:
    return _measured(settings, "tiny", [FORMS[name] for name in FORMS if name in TINY])


def _measured(settings: Settings, group: str, forms: list[Form]) -> Iterator[Row]:
    volumes = Volumes(settings.folder, settings.shape)
    wanted = [(form, case) for form in forms for case in cases(form) if settings.wants(form.name, case)]
    if not wanted:
        return
    for form in dict.fromkeys(form for form, _ in wanted):
        volumes.need(form)
    with Peers(ENGINES) as peers:
        settings.note_engines(peers)
        for form, case in wanted:
            yield measure(peers, volumes, group, form, case, settings.rounds, settings.clock)


def measure(
    peers: Peers, volumes: Volumes, group: str, form: Form, case: str, rounds: int, clock: str = "seconds"
) -> Row:
    path, shape = str(volumes.need(form)), volumes.shape_of(form)

    def prepare(peer: Peer) -> None:
        peer.ask("open", path=path, node=form.node)
        answer = peer.ask("check", case=case, picture=str(volumes.picture), shape=shape)
        if "wrong" in answer:
            raise WrongValues(f"{peer.name}, {form.name}, {case}: {answer['wrong']}")

    names = [name for name in ENGINES if form.dialect in READS.get(name, (form.dialect,))]
    if case != "full":
        names.remove(LIMIT)
    figures, unable = peers.rounds(
        rounds, lambda peer, number: float(peer.ask("read", case=case, seed=number + 1)[clock]), prepare, names
    )
    return Row(group, case, form.name, figures, goals(form, case), unable=unable)
