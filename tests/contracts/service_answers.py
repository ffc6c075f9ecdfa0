"""Answers of services over HTTP, given by hostile_http: values as buckets send them, and errors in their words."""

from __future__ import annotations

from typing import Any

from contracts.hostile_http import Ask, Behaviour

XML = "Content-Type: application/xml"
PAGE = b"<!DOCTYPE html>\n<html><body>Log in</body></html>"


def tags(value: bytes) -> tuple[str, ...]:
    return ('ETag: "1"', "Last-Modified: Sun, 01 Jan 2023 00:00:00 GMT", "Content-Type: application/octet-stream")


def fault(code: str) -> bytes:
    """The body of an error of S3, and near enough to those of the others."""
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


async def well(ask: Ask) -> None:
    """As buckets answer: with a tag and a time."""
    if ask.value is None:
        await ask.answer("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>", XML)
    elif ask.span is None:
        await ask.answer("200 OK", ask.value, *tags(ask.value))
    else:
        first, last = ask.part()
        told = f"Content-Range: bytes {first}-{last}/{len(ask.value)}"
        await ask.answer("206 Partial Content", ask.value[first : last + 1], told, *tags(ask.value))


def answered(line: str, body: bytes = b"", *headers: str, times: int = 1 << 30) -> Behaviour:
    """Answers so, and `well` after that many times."""

    async def act(ask: Ask) -> None:
        if ask.count <= times:
            await ask.answer(line, body, *headers)
        else:
            await well(ask)

    return act


def bucket(kind: str, server: str) -> tuple[str, dict[str, Any]]:
    """The address and the options of a bucket on a server of ours; of anything else, the address of a folder."""
    address = {"s3": "s3://bucket/x", "gs": "gs://bucket/x", "abfs": "az://bucket/x"}.get(kind, f"{server}/bucket/x")
    options: dict[str, dict[str, Any]] = {
        "s3": {"key": "k", "secret": "s", "endpoint": server, "region": "us-east-1"},
        "gs": {"anon": True, "endpoint": server},
        "abfs": {"account_name": "account", "account_key": "a2V5", "endpoint": server},
    }
    return address, options.get(kind, {})


__all__ = ["PAGE", "XML", "answered", "bucket", "fault", "tags", "well"]
