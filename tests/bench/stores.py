"""Kinds of stores compared: S3 at 30 ms, an archive on a web server, ssh://, a long listing, databases.

Round trips are what costs here, so chunks are small: 128 of 64 KiB to 128 KiB. The bucket answers each request after
30 ms, however many there are; ssh://, SFTP and HTTP go through a relay with round trips of 30 ms. Each round opens the
array anew, over connections that stay open.
"""

from __future__ import annotations

import shlex
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import servers
from bench.distant import Bucket
from bench.latency import Slow
from bench.listing import tree
from bench.peers import Peer, Peers, WrongValues
from bench.relay import relay
from bench.results import OURS, WIRE, Goal, Row
from bench.settings import Settings
from bench.volumes import FORMS, Form, Shape, Volumes, codecs

SECONDS = 0.03
FLAT: Shape = (16, 512, 1024)
"""A plane crosses 128 chunks of 16 × 64 × 64."""
QUICK_FLAT: Shape = (16, 128, 128)
SMALL: Shape = (32, 256, 512)
"""128 chunks of 32³."""
QUICK_SMALL: Shape = (32, 64, 64)
BUCKETS = ("zarrscope", "tensorstore, S3", "zarr 3, obstore", "zarr 3, fsspec")
IN_BUCKETS = ("v3 zstd 64^3", "v2 blosc-lz4 64^3", "v3 shards zstd 32^3")
CHILDREN = 100_000
WITH_KINDS = 10_000
ONE_ROUND = 1
"""The rounds with the kinds of 100,000 children, for which zarr-python 3 takes minutes."""


def _flat(settings: Settings) -> Volumes:
    return Volumes(settings.folder, QUICK_FLAT if settings.quick else FLAT)


def _check(peer: Peer, volumes: Volumes, form: Form) -> None:
    answer = peer.ask("check", case="xy plane", picture=str(volumes.picture), shape=volumes.shape_of(form))
    if "wrong" in answer:
        raise WrongValues(f"{peer.name}, {form.name}: {answer['wrong']}")


# ------------------------------------------------------------------------------------------------- a bucket
def bucket(settings: Settings) -> Iterator[Row]:
    """Over S3: opening an array, reading a plane of it, and both."""
    volumes = _flat(settings)
    wanted = [FORMS[name] for name in IN_BUCKETS if settings.wants(name, "over S3")]
    for form in wanted:
        volumes.need(form)
    with Bucket(volumes.folder) as server, Peers((*BUCKETS, WIRE)) as peers:
        settings.note_engines(peers)
        for form in wanted:
            yield from _from_bucket(settings, volumes, server, peers, form)


def _from_bucket(settings: Settings, volumes: Volumes, server: Bucket, peers: Peers, form: Form) -> Iterator[Row]:
    url = server.address(volumes.need(form).name)
    both: dict[str, dict[str, list[float]]] = {case: {} for case in ("open", "plane", "open and plane")}

    def prepare(peer: Peer) -> None:
        server.delay(0.0)
        peer.ask("open", path=url, node="")
        if peer.name != WIRE:
            _check(peer, volumes, form)
        server.delay(SECONDS)

    def measure(peer: Peer, number: int) -> float:
        opened = float(peer.ask("reopen", path=url, node="", times=1)["seconds"])
        peer.ask("open", path=url, node="")
        read = float(peer.ask("read", case="xy plane", seed=number, count=1)["seconds"])
        for case, seconds in zip(both, (opened, read, opened + read), strict=True):
            both[case].setdefault(peer.name, []).append(seconds)
        return opened + read

    _, unable = peers.rounds(settings.rounds, measure, prepare)
    for case, figures in both.items():
        yield Row("stores", f"{case} over S3, 30 ms", form.name, figures, (Goal(0.8),), unable=unable)


def puts(settings: Settings) -> Iterator[Row]:
    """128 chunks written to S3."""
    case = "write 128 chunks to S3, 30 ms"
    if not settings.wants("v3 zstd 32^3", case):
        return
    volumes = Volumes(settings.folder, QUICK_SMALL if settings.quick else SMALL)
    picture = str(volumes.picture)
    plan = {
        "v2": False, "shape": list(volumes.shape), "dtype": "<u2", "chunks": [32] * 3, "shards": None,
        "compression": "zstd", "codecs": codecs("zstd"),
    }  # fmt: skip
    places = iter(range(1 << 20))
    with Bucket(volumes.folder) as server, Peers(BUCKETS) as peers:
        settings.note_engines(peers)

        def written(peer: Peer, number: int) -> float:
            url = server.address(f"written{next(places)}")
            return float(peer.ask("write", path=url, picture=picture, plan=plan)["seconds"])

        def prepare(peer: Peer) -> None:
            server.delay(0.0)
            place = server.address(f"checked{next(places)}")
            peer.ask("write", path=place, picture=picture, plan=plan)
            peer.ask("open", path=place.replace("?", "/a?"), node="")
            answer = peer.ask("check", case="full", picture=picture, shape=list(volumes.shape))
            if "wrong" in answer:
                raise WrongValues(f"{peer.name} wrote to S3, and reads {answer['wrong']}")
            server.delay(SECONDS)

        figures, unable = peers.rounds(settings.rounds, written, prepare)
        yield Row("stores", case, "v3 zstd 32^3", figures, (Goal(1.0),), unable=unable)


# ------------------------------------------------------------------------------------------------- ways to one value
def _ways(
    settings: Settings,
    volumes: Volumes,
    form: Form,
    ways: dict[str, tuple[str, dict[str, Any]]],
    ready: Callable[[bool], object],
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Seconds for a plane by each way of access. `ready(False)` is called before the parts that are not timed."""
    with Peers([*ways]) as peers:
        settings.note_engines(peers)

        def open_by(peer: Peer) -> None:
            address, options = ways[peer.name]
            peer.ask("open", path=address, node="", options=options)

        def prepare(peer: Peer) -> None:
            ready(False)
            open_by(peer)
            _check(peer, volumes, form)
            ready(True)

        def measure(peer: Peer, number: int) -> float:
            open_by(peer)
            return float(peer.ask("read", case="xy plane", seed=number, count=1)["seconds"])

        return peers.rounds(settings.rounds, measure, prepare)


def archive(settings: Settings) -> Iterator[Row]:
    """A plane of an archive on a web server, compared with the folder that the archive contains."""
    volumes = _flat(settings)
    for name in ("v3 zstd 64^3", "v3 shards zstd 32^3"):
        case = "plane of a .zip over HTTP, 30 ms"
        if not settings.wants(name, case):
            continue
        form = FORMS[name]
        folder = volumes.need(form)
        packed = volumes.need_as(f"{folder.name}.zip", partial(_pack, folder))
        with Slow(volumes.folder) as server:
            ways: dict[str, tuple[str, dict[str, Any]]] = {
                OURS: (f"{server.url}/{packed.name}", {}),
                "zarrscope, folder": (f"{server.url}/{folder.name}", {}),
            }
            figures, unable = _ways(
                settings,
                volumes,
                form,
                ways,
                partial(_delay, server),
            )
            yield Row("stores", case, name, figures, (Goal(1.5, "zarrscope, folder"),), unable=unable)


def _delay(server: Slow, on: bool) -> None:
    server.delay(SECONDS if on else 0.0)


def _pack(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                packed.write(file, str(file.relative_to(folder)))


def far(settings: Settings) -> Iterator[Row]:
    """A plane by ssh://, SFTP and HTTP, with round trips of 30 ms."""
    volumes, case = _flat(settings), "plane over ssh://, 30 ms"
    forms = [FORMS[name] for name in ("v3 zstd 64^3", "v3 shards zstd 32^3") if settings.wants(name, case)]
    if not forms or (reason := servers.missing("sshd")) is not None:
        settings.missing.update({"ssh": reason} if forms and reason else {})
        return
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        login = stack.enter_context(servers.sshd(place))
        server = stack.enter_context(Slow(volumes.folder))
        port = stack.enter_context(relay(servers.port_of(login), SECONDS))
        web = stack.enter_context(relay(urlsplit(server.url).port or 0, SECONDS))
        known = Path(login[-1].partition("=")[2])
        by_sftp = servers.sftp_options(login, port)
        program = [str(port) if part == str(servers.port_of(login)) else part for part in login]
        program[-1] = f"UserKnownHostsFile={known.with_name(f'known_hosts_{port}')}"
        command = f"{shlex.quote(sys.executable)} -m zarrscope_app serve --stdio"
        for form in forms:
            path = volumes.need(form)
            ways: dict[str, tuple[str, dict[str, Any]]] = {
                OURS: (f"ssh://127.0.0.1{path}", {"ssh": program, "command": command}),
                "zarrscope, SFTP": (f"sftp://127.0.0.1:{port}{path}", by_sftp),
                "zarrscope, HTTP": (f"http://127.0.0.1:{web}/{path.name}", {}),
            }
            figures, unable = _ways(settings, volumes, form, ways, lambda on: None)
            goals = (Goal(0.5, "zarrscope, SFTP"), Goal(1.2, "zarrscope, HTTP"))
            yield Row("stores", case, form.name, figures, goals, unable=unable)


# ------------------------------------------------------------------------------------------------- long listings
def long_listing(settings: Settings) -> Iterator[Row]:
    """The names of 100,000 children beside os.scandir; 10,000 with their kinds beside zarr-python 3, and 100,000 beside
    both. os.scandir gives names only."""
    volumes = Volumes(settings.folder, settings.shape)
    kinds, five = "children with kinds, local", min(5, settings.rounds)
    cases: Sequence[tuple[str, str, int, tuple[str, ...], Goal, int]] = (
        ("names", f"list {CHILDREN:,} names", CHILDREN, ("scandir",), Goal(12.0, "scandir"), five),
        ("children", f"list {WITH_KINDS:,} {kinds}", WITH_KINDS, ("zarr 3",), Goal(0.05, "zarr 3"), five),
        ("children", f"list {CHILDREN:,} {kinds}", CHILDREN, ("scandir", "zarr 3"), Goal(0.05, "zarr 3"), ONE_ROUND),
    )
    for what, case, count, names, goal, rounds in cases:
        if not settings.wants("v3", case):
            continue
        children = count // 100 if settings.quick else count
        path = tree(volumes, "v3", children)
        with Peers((OURS, *names)) as peers:
            settings.note_engines(peers)

            def listed(peer: Peer, number: int, path: Path = path, what: str = what, children: int = children) -> float:
                answer = peer.ask("names" if peer.name == "scandir" else what, path=str(path))
                if answer["nodes"] != children:
                    raise WrongValues(f"{peer.name} finds {answer['nodes']} of {children} children")
                return float(answer["seconds"])

            figures, unable = peers.rounds(rounds, listed, partial(listed, number=0))
            yield Row("stores", case, "v3", figures, (goal,), unable=unable)


# ------------------------------------------------------------------------------------------------- databases
def databases(settings: Settings) -> Iterator[Row]:
    """Arrays in SQLite and LMDB beside zarr-python 2.18."""
    volumes, form = Volumes(settings.folder, settings.shape), FORMS["v2 blosc-lz4 64^3"]
    made = {"sqlite": _sqlite, "lmdb": _lmdb}
    with Peers((OURS, "zarr 2.18, database")) as peers:
        settings.note_engines(peers)
        for scheme, make in made.items():
            if not settings.wants(form.name, f"plane from {scheme}"):
                continue
            folder = volumes.need(form)
            path = volumes.need_as(f"{folder.name}.{scheme}", partial(make, folder))
            for case in ("full", "xy plane"):

                def prepare(peer: Peer, scheme: str = scheme, path: Path = path) -> None:
                    peer.ask("open", path=f"{scheme}://{path}", node="")
                    _check(peer, volumes, form)

                def measure(peer: Peer, number: int, case: str = case) -> float:
                    return float(peer.ask("read", case=case, seed=number)["seconds"])

                figures, unable = peers.rounds(settings.rounds, measure, prepare)
                shown = "plane" if case == "xy plane" else "full read"
                yield Row("stores", f"{shown} from {scheme}", form.name, figures, (Goal(0.7),), unable=unable)


def _values(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), file.read_bytes()


def _sqlite(folder: Path, path: Path) -> None:
    database = sqlite3.connect(path)
    with database:
        database.execute("CREATE TABLE zarr(k TEXT PRIMARY KEY, v BLOB)")
        database.executemany("REPLACE INTO zarr VALUES (?, ?)", _values(folder))
    database.close()


def _lmdb(folder: Path, path: Path) -> None:
    import lmdb

    with lmdb.open(str(path), map_size=1 << 30) as database, database.begin(write=True) as transaction:
        for key, value in _values(folder):
            transaction.put(key.encode("ascii"), value)


GROUPS = {
    "s3": bucket, "s3 write": puts, "zip": archive, "ssh": far, "long listing": long_listing, "databases": databases,
}  # fmt: skip
