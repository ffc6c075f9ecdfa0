"""Answers of cloud services over HTTP, as hostile_http.py gives them: values and errors of buckets."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from contracts.hostile_http import BEHAVIOURS, Ask, Behaviour, Hangup, Reset

XML = "Content-Type: application/xml"
PAGE = b"<!DOCTYPE html>\n<html><body>Log in</body></html>"


def tags(value: bytes) -> tuple[str, ...]:
    return ('ETag: "1"', "Last-Modified: Sun, 01 Jan 2023 00:00:00 GMT", "Content-Type: application/octet-stream")


def fault(code: str) -> bytes:
    """The body of an error of S3, and near enough to those of the others."""
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


async def well(ask: Ask) -> None:
    """A correct answer of a bucket, with a tag and a time."""
    if ask.value is None:
        await ask.answer("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>", XML)
    elif ask.span is None:
        await ask.answer("200 OK", ask.value, *tags(ask.value))
    else:
        first, last = ask.part()
        told = f"Content-Range: bytes {first}-{last}/{len(ask.value)}"
        await ask.answer("206 Partial Content", ask.value[first : last + 1], told, *tags(ask.value))


def answered(line: str, body: bytes = b"", *headers: str, times: int = 1 << 30) -> Behaviour:
    """Answers as given, this number of times, then with `well`."""

    async def act(ask: Ask) -> None:
        if ask.count <= times:
            await ask.answer(line, body, *headers)
        else:
            await well(ask)

    return act


async def cut(ask: Ask) -> None:
    value = ask.value or b""
    await ask.answer("200 OK", value[:5], f"Content-Length: {len(value)}", *tags(value), length=False)
    raise Hangup


async def cut_once(ask: Ask) -> None:
    await (cut if ask.count == 1 else well)(ask)


async def reset_once(ask: Ask) -> None:
    if ask.count == 1:
        raise Reset
    await well(ask)


async def slow(ask: Ask) -> None:
    value = ask.value or b""
    await ask.answer("200 OK", b"", "Content-Length: 1000000", *tags(value), length=False)
    await ask.forever(b"x", 0.05)
    raise Hangup


async def slow_part(ask: Ask) -> None:
    if ask.span is None:
        await slow(ask)
    first, last = ask.part()
    told = f"Content-Range: bytes {first}-{last}/{len(ask.value or b'')}"
    length = f"Content-Length: {last - first + 1}"
    await ask.answer("206 Partial Content", b"", told, length, *tags(b""), length=False)
    await ask.forever(b"x", 0.2)
    raise Hangup


async def another_part(ask: Ask) -> None:
    if ask.span is None:
        await well(ask)
    else:
        await ask.answer("206 Partial Content", b"678", "Content-Range: bytes 6-8/10", *tags(b""))


async def no_parts(ask: Ask) -> None:
    ask.span = None
    await well(ask)


SAME = "what is there"
ABSENT_ANSWER = "absent"
ANSWERS: dict[str, tuple[Any, str]] = {
    "401": (answered("401 Unauthorized", fault("AuthenticationFailed"), XML), "Denied"),
    "403": (answered("403 Forbidden", fault("AccessDenied"), XML), "Denied"),
    "404": (answered("404 Not Found", fault("NoSuchKey"), XML), ABSENT_ANSWER),
    "expired": (answered("403 Forbidden", fault("ExpiredToken"), XML), "Denied"),
    "429 once": (answered("429 Too Many Requests", b"", "Retry-After: 0", times=2), SAME),
    "500 once": (answered("500 Internal Server Error", b"", times=1), SAME),
    "500": (answered("500 Internal Server Error", b""), "500"),
    "503 once": (answered("503 Slow Down", b"", "Retry-After: 1", times=2), SAME),
    "503": (answered("503 Slow Down", b"", "Retry-After: 0"), "503"),
    "503 for a day": (answered("503 Slow Down", b"", "Retry-After: 86400"), "asks to wait 24 hours"),
    "cut short": (cut, "request failed|connection failed"),
    "cut short once": (cut_once, SAME),
    "reset once": (reset_once, SAME),
    "silent": (BEHAVIOURS["never an answer"], "time|too long|timed out|failed"),
    "slow": (slow, "time|too long|less than|too large"),
    "another part": (another_part, "got 6|sent bytes from 6"),
    "no parts": (no_parts, SAME),
    "a page": (answered("200 OK", PAGE, "Content-Type: text/html", *tags(b"")[:2]), "web page|a page"),
}


def settings_for(answer: str) -> dict[str, Any]:
    """The limits for a store that gets an answer."""
    found: dict[str, Any] = {"attempts": 3, "pause": 0, "patience": 5, "timeout": 20}
    if answer in ("silent", "slow"):
        found.update(attempts=1, timeout=0.5, min_speed=5000)
    return found


def bucket(kind: str, server: str) -> tuple[str, dict[str, Any]]:
    """The address and the options of a bucket on a server of ours; of anything else, the address of a folder."""
    address = {"s3": "s3://bucket/x", "gs": "gs://bucket/x", "abfs": "az://bucket/x"}.get(kind, f"{server}/bucket/x")
    options: dict[str, dict[str, Any]] = {
        "s3": {"key": "k", "secret": "s", "endpoint": server, "region": "us-east-1"},
        "gs": {"anon": True, "endpoint": server},
        "abfs": {"account_name": "account", "account_key": "a2V5", "endpoint": server},
    }
    return address, options.get(kind, {})


def archived(values: Mapping[str, bytes]) -> bytes:
    """Adds an archive of the values, whose directory and end are read before any value."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for key, value in values.items():
            archive.writestr(key, value)
        archive.writestr("behind", random.Random(1).randbytes(300_000))
    return file.getvalue()


def referring(values: Mapping[str, bytes], server: str) -> bytes:
    """A reference file of kerchunk that refers to files of a web server."""
    refs = {key: [f"{server}/bucket/x/{key}", 0, len(value)] for key, value in values.items()}
    return json.dumps({"version": 1, "refs": refs}).encode()


def referring_in_parquet(values: Mapping[str, bytes], server: str) -> dict[str, bytes]:
    """The same in parquet, as files of a folder; the values are the chunks a/0, a/1 … of an array."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pytest.importorskip("pyarrow.parquet")
    array = {
        "zarr_format": 2, "shape": [len(values)], "chunks": [1], "dtype": "|u1", "compressor": None, "fill_value": 0,
        "order": "C", "filters": None,
    }  # fmt: skip
    metadata = {"metadata": {".zgroup": {"zarr_format": 2}, "a/.zarray": array}, "record_size": len(values)}
    columns = {
        "path": [f"{server}/bucket/x/{key}" for key in values], "offset": [0] * len(values),
        "size": [len(value) for value in values.values()], "raw": pyarrow.array([None] * len(values), pyarrow.binary()),
    }  # fmt: skip
    written = io.BytesIO()
    table.write_table(pyarrow.table(columns), written)
    return {".zmetadata": json.dumps(metadata).encode(), "a/refs.0.parq": written.getvalue()}


CONTAINERS = {"archive": "x.zip", "ozx": "x.ozx", "references": "x.json", "references in parquet": "x.parq"}
"""The files that a client reads to find the values of a web server."""


def container(kind: str, values: Mapping[str, bytes], server: str) -> dict[str, bytes]:
    """The file or files of a container of the values, by key relative to the address of `bucket`."""
    name = CONTAINERS[kind]
    if kind in ("archive", "ozx"):
        return {name: archived(values)}
    if kind == "references":
        return {name: referring(values, server)}
    return {f"{name}/{key}": value for key, value in referring_in_parquet(values, server).items()}


def stored(files: Mapping[str, bytes], folder: Path) -> None:
    """Stores files in a folder."""
    for key, value in files.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(value)


__all__ = [
    "ABSENT_ANSWER",
    "ANSWERS",
    "CONTAINERS",
    "PAGE",
    "SAME",
    "XML",
    "answered",
    "bucket",
    "container",
    "fault",
    "settings_for",
    "slow_part",
    "stored",
    "tags",
    "well",
]
