"""A server with the interface of S3 that delays its answers.

    with Bucket(folder) as bucket:
        bucket.delay(0.03)
        read(f"s3://{bucket.name}/store?{bucket.options}")

It serves the files of the folder. Values that are put are kept in memory, and only these are listed. Signatures are not
checked.
"""

from __future__ import annotations

import asyncio
import re
import sys
import zlib
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bench.latency import CONTROL, Connection, Files, Slow, head, serve

LENGTH = re.compile(r"^content-length:\s*(\d+)", re.I | re.M)
EXPECTS = re.compile(r"^expect:\s*100-continue", re.I | re.M)
PUTS = ("PUT", "POST")


_ABOUT = '<LastModified>2026-11-02T10:00:00.000Z</LastModified><ETag>"a"</ETag><Size>1</Size>'


class Bucket(Slow):
    """The bucket as seen by the parent process; its name is that of the folder."""

    module = "bench.distant"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.parent)
        self.name = folder.name

    def address(self, store: str) -> str:
        """The address of a store in it, as zarrscope writes it."""
        return f"s3://{self.name}/{store}?endpoint={self.url}&region=us-east-1&anon=1"


class Objects(Files):
    """The objects of the bucket: the files of the folder, and values that were put since."""

    def head(self, status: int, length: int, extra: str = "", value: bytes | None = None) -> bytes:
        tag = f'ETag: "{zlib.crc32(value[:4096]):08x}"\r\n' if value else ""
        return head(status, length, f"{extra}{tag}Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT\r\n")

    def listed(self, path: str) -> bytes | None:
        """The answer to a ListObjectsV2 request, given as a path with its query; None for other requests."""
        parts = urlsplit(path)
        asked = dict(parse_qsl(parts.query))
        if asked.get("list-type") != "2":
            return None
        above, prefix = f"{parts.path.rstrip('/')}/", asked.get("prefix", "")
        keys = sorted(key.removeprefix(above) for key in self._contents if key.startswith(above + prefix))
        found = "".join(f"<Contents><Key>{key}</Key>{_ABOUT}</Contents>" for key in keys)
        told = f"<IsTruncated>false</IsTruncated><KeyCount>{len(keys)}</KeyCount>{found}"
        return f'<?xml version="1.0"?><ListBucketResult>{told}</ListBucketResult>'.encode()

    def put(self, path: str, value: bytes) -> list[bytes | memoryview]:
        """Stores a value, and answers."""
        self._contents[path] = value
        return [self.head(200, 0, value=value or b"-")]


class BucketConnection(Connection):
    """A connection that also accepts requests with bodies."""

    _files: Objects

    def data_received(self, data: bytes) -> None:
        self._came += data
        while b"\r\n\r\n" in self._came:
            text, _, rest = self._came.partition(b"\r\n\r\n")
            said = text.decode("latin-1")
            method, path = said.split(" ", 2)[:2]
            listing = self._files.listed(path) if method == "GET" and "?" in path else None
            if listing is not None:
                self._came = rest
                self._transport.write(head(200, len(listing), "Content-Type: application/xml\r\n") + listing)
                continue
            if method not in PUTS or path.startswith(CONTROL):
                self._came = rest
                self._asked(said)
                continue
            found = LENGTH.search(said)
            size = int(found[1]) if found else 0
            if len(rest) < size:
                if EXPECTS.search(said) and not rest:
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            self._came = rest[size:]
            self._put(path.partition("?")[0], rest[:size])

    def _put(self, path: str, value: bytes) -> None:
        self._files.in_turn(path, lambda: self._transport.writelines(self._files.put(path, value)))


if __name__ == "__main__":
    asyncio.run(serve(partial(BucketConnection, Objects(Path(sys.argv[1])))))
