"""Hostile strings, and stores that contain them in documents, names and links (see strings.py)."""

from __future__ import annotations

import json
import os
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contracts.dialect import TEMPLATES
from zarrscope.errors.visible import visible_lines

PAYLOADS = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[777;7H",
    "\x1b[2J",
    "\x1b[38;2;66;6;99m",
    "\x1bP0;1|17/ab\x1b\\",
    "\x1b_Gi=31\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bc",
    "\x1b[?1049l",
    "\x9b777;7H",
    "\x9d52;c;ZXZpbA==\x9c",
    "\x90q\x9c",
    "\r\nzarrscope: 0 errors.\r\n",
    "\b\b\b\b",
    "\x0e\x0f",
    "\x05",
    "\x7f",
    "\x85",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "\u200b\u200d\u2060\ufeff",
    "\u2028\u2029",
    "\u00ad\u034f\u3164",
    "\U000e0041\U000e007f",
    "\ud800",
    "\udfff\ud83d",
    "\ufe0f",
    "[bold red]x[/bold red]",
    "[link=https://evil]x[/link]",
    "[@click=app.quit]x[/]",
    "[/]",
    "\\[x]",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<script>alert(1)</script>",
    "</pre></div><b>",
    "&lt;b&gt;&amp;",
    "<!--",
    "${7*7}{{7*7}}%s%n{0}",
    "'\"`;$(x)",
    "javascript:alert(1)",
    "a" * 300,
)
_single = [
    chr(c)
    for c in (
        *range(1, 0x20),
        *range(0x7F, 0xA0),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0x61C,
        0x180E,
        0xFEFF,
        0xFFF9,
        0xFFFE,
    )
]
TAG = re.compile(r"q[0-9]{4}z")


def hostile(count: int, seed: int) -> list[str]:
    """This number of strings, each with a tag at its start: every payload, every single character, then mixtures."""
    r = random.Random(f"strings {seed}")
    bodies = [*PAYLOADS, *(f"a{c}b" for c in _single)]
    while len(bodies) < count:
        bodies.append("".join(r.choice((*PAYLOADS, *_single, "µm", "画像", "x y")) for _ in range(r.randrange(2, 5))))
    r.shuffle(bodies)
    return [f"q{i:04d}z{body}" for i, body in enumerate(bodies[:count])]


class Strings:
    """Returns the strings one after the other."""

    def __init__(self, strings: list[str]) -> None:
        self.all = strings
        self._next = 0

    def __call__(self) -> str:
        self._next += 1
        return self.all[self._next % len(self.all)]

    def name(self) -> str:
        """A string that can be the name of a file."""
        text = self().replace("/", "_")
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("�", "?")[:60]


# ---------------------------------------------------------------------- stores
def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """The path to every string and every key in a value, and whether the key is meant."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), True
            yield from positions(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from positions(inner, (*path, i))
    elif isinstance(value, str):
        yield path, False


def replaced(value: Any, path: tuple[Any, ...], key: bool, text: str) -> Any:
    if not path:
        return text
    if isinstance(value, dict):
        if key and len(path) == 1:
            return {text if k == path[0] else k: v for k, v in value.items()}
        return {k: replaced(v, path[1:], key, text) if k == path[0] else v for k, v in value.items()}
    return [replaced(v, path[1:], key, text) if i == path[0] else v for i, v in enumerate(value)]


def broken_templates(folder: Path, next_string: Strings, share: float, r: random.Random) -> Iterator[Path]:
    """Yields a store for each position of each document of each dialect, with the string in that position."""
    for dialect, documents in TEMPLATES.items():
        for key, data in documents.items():
            for number, (path, is_key) in enumerate(positions(json.loads(data))):
                if r.random() >= share:
                    continue
                store = folder / f"{dialect}-{zlib.crc32(key.encode())}-{number}.zarr"
                for other, content in documents.items():
                    file = store / other
                    file.parent.mkdir(parents=True, exist_ok=True)
                    if other == key:
                        content = json.dumps(replaced(json.loads(content), path, is_key, next_string())).encode()
                    file.write_bytes(content)
                yield store


def full_v3(store: Path, s: Strings) -> Path:
    """An image, labels, a plate, string arrays and unknown extensions, with hostile strings in every place."""

    def put(path: str, **members: Any) -> None:
        file = store / path / "zarr.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"zarr_format": 3, **members}))

    def array(path: str, dtype: Any = "uint8", shape: tuple[int, ...] = (4, 9, 9), **members: Any) -> None:
        grid = {"name": "regular", "configuration": {"chunk_shape": list(shape)}}
        form: dict[str, Any] = {
            "node_type": "array",
            "shape": list(shape),
            "data_type": dtype,
            "chunk_grid": grid,
            "fill_value": 0,
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes"}],
            "attributes": {s(): {s(): [s()]}},
            "dimension_names": [s() for _ in shape],
        }
        put(path, **{**form, **members})

    axes = [{"name": s(), "type": "channel"}, *({"name": s(), "type": "space", "unit": s()} for _ in "yx")]
    scale = [{"type": "scale", "scale": [1, 1, 1]}]
    channel = {"color": "FF0000", "active": True, "window": {"start": 0, "end": 9, "min": 0, "max": 9}}
    multiscale = {
        "name": s(),
        "type": s(),
        "axes": axes,
        "datasets": [{"path": "0", "coordinateTransformations": scale}],
    }
    image = {
        "version": "0.5",
        "multiscales": [multiscale],
        "omero": {"channels": [{**channel, "label": s()} for _ in "abcd"]},
    }
    put("", node_type="group", attributes={"ome": image, s(): s(), "deep": {s(): {s(): [s(), {s(): s()}]}}})
    array("0")
    put("labels", node_type="group", attributes={"ome": {"version": "0.5", "labels": [s(), "cells"]}})
    put(
        "labels/cells",
        node_type="group",
        attributes={"ome": {"version": "0.5", "multiscales": [multiscale], "image-label": {"source": {"image": s()}}}},
    )
    array("labels/cells/0")
    plate = {
        "name": s(),
        "rows": [{"name": s()}],
        "columns": [{"name": s()}],
        "wells": [{"path": s(), "rowIndex": 0, "columnIndex": 0}],
        "acquisitions": [{"id": 0, "name": s()}],
    }
    put("plate", node_type="group", attributes={"ome": {"version": "0.5", "plate": plate}})
    put("well", node_type="group", attributes={"ome": {"version": "0.5", "well": {"images": [{"path": s()}]}}})
    put(s.name(), node_type="group", attributes={s(): s()})
    array(s.name())
    array("dtype", s())
    array("dtype2", {"name": s(), "configuration": {s(): s()}})
    array("codec", codecs=[{"name": s(), "configuration": {s(): s()}}])
    array("codec2", codecs=[{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": s(), "shuffle": s()}}])
    array("grid", chunk_grid={"name": s(), "configuration": {}})
    array("keys", chunk_key_encoding={"name": s()})
    array("keys2", chunk_key_encoding={"name": "default", "configuration": {"separator": s()}})
    array("fill", fill_value=s())
    array("texts", "string", (3,), fill_value=s(), codecs=[{"name": "vlen-utf8"}])
    array(
        "fixed",
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 400}},
        (2,),
        fill_value=s()[:90],
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}],
    )
    array(
        "fields",
        {"name": "struct", "configuration": {"fields": [[s(), "uint8"], [s(), "uint8"]]}},
        (2,),
        fill_value="AAA=",
    )
    put("extension", node_type="group", attributes={}, **{s(): {"name": s(), "must_understand": True}})
    put("kind", node_type=s(), attributes={})
    (store / "junk").mkdir()
    (store / "junk" / "zarr.json").write_bytes(s().encode("utf-8", "surrogatepass"))
    for name, target in (("dangling", s.name()), ("outside", "/proc/self/" + s.name())):
        os.symlink(target, store / f"{name}{s.name()[:40]}")
    return store


def full_v2(store: Path, s: Strings) -> Path:
    def put(path: str, value: Any) -> None:
        (store / path).parent.mkdir(parents=True, exist_ok=True)
        (store / path).write_text(json.dumps(value))

    def array(path: str, attributes: Any, **members: Any) -> None:
        form = {
            "zarr_format": 2,
            "shape": [9, 9],
            "chunks": [9, 9],
            "dtype": "|u1",
            "compressor": None,
            "fill_value": 0,
            "order": "C",
            "filters": None,
        }
        put(f"{path}/.zarray", {**form, **members})
        put(f"{path}/.zattrs", attributes)

    axes = [{"name": s(), "type": "space", "unit": s()} for _ in "yx"]
    scale = [{"type": "scale", "scale": [1, 1]}]
    image = [
        {"version": "0.4", "name": s(), "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    ]
    put(".zgroup", {"zarr_format": 2})
    put(".zattrs", {"multiscales": image, "omero": {"channels": [{"label": s(), "color": s()}]}, s(): s()})
    array("0", {"_ARRAY_DIMENSIONS": [s(), s()], s(): s()})
    array(s.name(), {s(): s()}, compressor={"id": s(), s(): s()})
    array("filter", {}, filters=[{"id": s()}, {"id": "delta", "dtype": s()}])
    array("dtype", {}, dtype=s())
    array("record", {}, dtype=[[s(), "<i4"], [s(), "<f4"]], fill_value=None)
    array("order", {}, order=s(), dimension_separator=s())
    array("fill", {}, fill_value=s())
    return store


# ---------------------------------------------------------------------- the results
class Report:
    """The strings that were tried and seen, by host, and the faults."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.seen: dict[str, set[str]] = {}
        self.failures: list[str] = []

    def look(self, host: str, where: str, text: str) -> None:
        """Checks `text`, which a host displays."""
        self.tried[host] += 1
        self.seen.setdefault(host, set()).update(TAG.findall(text))
        shown = visible_lines(text)
        if shown != text:
            at = next(i for i, (a, b) in enumerate(zip(text + "\0", shown + "\1", strict=False)) if a != b)
            self.fail(host, where, text[max(0, at - 60) : at + 30])

    def fail(self, host: str, where: str, what: str) -> None:
        self.failures.append(f"{host}: {where}: {what!r}")
