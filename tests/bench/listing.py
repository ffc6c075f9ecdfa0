"""Listing a group of 2,000 children with their kinds: time and requests to the store.

tensorstore has no groups: it lists keys, and reads the documents of v3. zarr-python 2.18 lists names by kind. The
drafts keep documents apart from chunks, so one list_dir must do; requests are counted by a wrapper around the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench.peers import Peer, Peers, WrongValues
from bench.results import OURS, Goal, Row
from bench.settings import Settings
from bench.volumes import Volumes

CHILDREN = 2000
READERS = {
    "v2": ("zarrscope", "tensorstore", "zarr 3", "zarr 2.18"),
    "v3": ("zarrscope", "tensorstore", "zarr 3"),
    "draft-2020": ("zarrscope", "zarr 2.18"),
}
DRAFTS = ("draft-2019-05", "draft-2019-06", "draft-2020", "draft-2022-05")
ARRAY_V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [64, 64],
    "chunks": [64, 64],
    "dtype": "<u2",
    "fill_value": 0,
    "order": "C",
    "filters": None,
    "compressor": None,
}
ARRAY_V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [64, 64],
    "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64, 64]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
GROUP_V3 = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def measure(settings: Settings) -> Iterator[Row]:
    children = CHILDREN // 20 if settings.quick else CHILDREN
    volumes = Volumes(settings.folder, settings.shape)
    case = f"list {children:,} children with kinds"
    with Peers(("zarrscope", "tensorstore", "zarr 3", "zarr 2.18")) as peers:
        settings.note_engines(peers)
        for dialect, names in READERS.items():
            if not settings.wants(dialect, case):
                continue
            path = tree(volumes, dialect, children)

            def listed(peer: Peer, number: int, path: Path = path) -> float:
                answer = peer.ask("children", path=str(path))
                if (answer["nodes"], answer["arrays"]) != (children, children // 2):
                    raise WrongValues(f"{peer.name} finds {answer['nodes']} children, {answer['arrays']} arrays")
                return float(answer["seconds"])

            figures, unable = peers.rounds(settings.rounds, listed, partial(listed, number=0), names)
            yield Row("listing", case, dialect, figures, (Goal(0.7),), unable=unable)
    for dialect in DRAFTS:
        if settings.wants(dialect, "requests"):
            requests, note = counted(tree(volumes, dialect, children), children)
            figures = {OURS: [float(requests)]}
            goals = (Goal(1, "figure"),)
            yield Row("listing", f"requests to list {children:,}", dialect, figures, goals, "", note=note)


def counted(path: Path, children: int) -> tuple[int, str]:
    """The requests that a listing sends to the store: their number and kinds."""
    import zarrscope
    from zarrscope.stores.address import open_store
    from zarrscope.stores.wrappers import Counting

    store = Counting(open_store(str(path)))
    root = zarrscope.open(store)["/"]
    assert isinstance(root, zarrscope.Group)
    store.reset()
    found = [child.kind for child in root.children()]
    if (len(found), found.count("array")) != (children, children // 2):
        raise WrongValues(f"{len(found)} children in {path.name}, {found.count('array')} of them arrays")
    return store.requests.total(), ", ".join(f"{n} {name}" for name, n in store.requests.items())


def tree(volumes: Volumes, dialect: str, children: int) -> Path:
    """Makes a hierarchy whose root has `children` children, half of them arrays, in mixed order."""

    def make(path: Path) -> None:
        if dialect.startswith("draft"):
            _draft(path, dialect, children)
            return
        for name, document in _documents(dialect, children):
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(json.dumps(document))

    return volumes.need_as(f"tree_{dialect}_{children}", make)


def _documents(dialect: str, children: int) -> Iterator[tuple[str, dict[str, Any]]]:
    v2 = dialect == "v2"
    yield (".zgroup", {"zarr_format": 2}) if v2 else ("zarr.json", GROUP_V3)
    for i in range(children):
        if i % 2:
            yield (f"n{i:04d}/.zarray", ARRAY_V2) if v2 else (f"n{i:04d}/zarr.json", ARRAY_V3)
        else:
            yield (f"n{i:04d}/.zgroup", {"zarr_format": 2}) if v2 else (f"n{i:04d}/zarr.json", GROUP_V3)


def _draft(path: Path, dialect: str, children: int) -> None:
    import zarrscope

    hierarchy = zarrscope.open(path, "w-", dialect=dialect)
    for i in range(children):
        if i % 2:
            hierarchy.create_array(f"/n{i:04d}", shape=(64, 64), dtype="u2", chunks=(64, 64))
        else:
            hierarchy.create_group(f"/n{i:04d}")
