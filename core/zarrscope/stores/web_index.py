"""Finds the names of folders in the responses of a web server: an index page in HTML or JSON, or the listing of a
bucket. http.py sends the requests.

Index pages of Apache, nginx, lighttpd, IIS, Caddy and Python's http.server are HTML with links to the files and folders
one level down; links to folders end in a slash. nginx (autoindex_format json) and Caddy can also answer in JSON.
Buckets answer at their root with XML: ListObjectsV2 of S3 (also of Google Cloud Storage, MinIO and Ceph), List Blobs of
Azure.

Specifications: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
https://learn.microsoft.com/rest/api/storageservices/list-blobs
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes, urlencode, urljoin, urlsplit
from xml.etree import ElementTree

MAX_BYTES = 16 << 20
"""The most bytes of a response that are read; the rest is ignored."""
MAX_JSON_DEPTH = 100
MOST_REPEATS = 4
"""The most folders of a path whose index page may be that of a folder above them. Groups with the same names, sizes and
dates in one another are legitimate, but hardly more than these."""
REPEATED = (
    f"More than {MOST_REPEATS} folders of this path have the index page of a folder above them, as if a link led back, "
    "so it is not listed"
)
_PAGES_KEPT = 100_000
_OF_BUCKETS = ("x-amz-request-id", "x-amz-bucket-region", "x-goog-hash", "x-goog-generation", "x-ms-request-id")
"""Headers that only bucket services send."""
_NAMED_BY_HOST = re.compile(r"^[^/]+\.(s3[.-]|storage\.googleapis\.com$)")
"""Matches host names that contain the name of the bucket as their first part."""


def folders_in(body: bytes, content_type: str, url: str) -> list[str] | None:
    """The names of folders in `body`, the response for `url`, which ends in a slash; None if that is no index page."""
    if "json" in content_type or body.lstrip()[:1] == b"[":
        return _in_json(body)
    if "html" in content_type or body.lstrip()[:1] == b"<":
        return _in_html(body.decode("utf-8", "replace"), url)
    return None


def _in_json(body: bytes) -> list[str] | None:
    if body.count(b"[") > MAX_JSON_DEPTH * 100 and b"]]]]" in body:
        return None
    try:
        items = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list) or not all(isinstance(item, Mapping) and "name" in item for item in items):
        return None
    found = []
    for item in items:
        name = str(item["name"])
        if item.get("type") == "directory" or item.get("is_dir") is True or name.endswith("/"):
            found.append(name.rstrip("/"))
    return [name for name in dict.fromkeys(found) if _is_name(name)]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def _in_html(text: str, url: str) -> list[str] | None:
    """The folders to which an HTML page links; None if no link leads one level down: then the page is not an index, or
    the folder is empty."""
    parser = _Links()
    parser.feed(text)
    here = urlsplit(url)
    above = unquote(here.path)
    names: dict[str, None] = {}
    inside = False
    for link in parser.found:
        try:
            there = urlsplit(urljoin(url, link))
        except ValueError:
            continue
        path = unquote(there.path)
        if (there.scheme, there.netloc) != (here.scheme, here.netloc) or not path.startswith(above):
            continue
        name, slash, rest = path[len(above) :].partition("/")
        if rest or not _is_name(name):
            continue
        inside = True
        if slash:
            names[name] = None
    return list(names) if inside else None


class RepeatedPages:
    """Finds folders that contain themselves, which a web server shows where a symbolic link leads back.

    Index pages do not tell links from folders. Beneath such a link, a folder has the page of a folder above it, with
    the same names, sizes and dates, again and again.
    """

    def __init__(self) -> None:
        self._seen: dict[str, bytes] = {}
        """Prefix → the digest of its page, without the folder's own path."""

    def are_many(self, prefix: str, body: bytes, url: str) -> bool:
        """Whether more than MOST_REPEATS folders in the path of `prefix` have the page of a folder above them.

        `body` is the page of `prefix`, which was read from `url`.
        """
        path = urlsplit(url).path.encode()
        for own in (path, path.rstrip(b"/").rpartition(b"/")[0] + b"/"):  # pages name their folder and the one above
            for written in (own, unquote_to_bytes(own)):
                if len(written) > 1:
                    body = body.replace(written, b"").replace(escape(written.decode(errors="replace")).encode(), b"")
        page = sha256(body).digest()
        if len(self._seen) >= _PAGES_KEPT:
            self._seen.clear()
        self._seen[prefix] = page
        names = prefix.split("/")
        passed = [self._seen.get("".join(f"{name}/" for name in names[:depth])) for depth in range(len(names))]
        return sum(page is not None and page in passed[:depth] for depth, page in enumerate(passed)) > MOST_REPEATS


def _is_name(name: str) -> bool:
    return bool(name) and name not in (".", "..") and "/" not in name and not any(ord(char) < 32 for char in name)


class BucketPage(NamedTuple):
    """One page of a bucket's listing."""

    folders: list[str]
    following: str
    """The token for requesting the next page; "" on the last page."""


def looks_like_bucket(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether a response comes from a bucket service, even if it is an error."""
    xml = body.lstrip()[:200]
    return any(name in headers for name in _OF_BUCKETS) or (xml.startswith(b"<?xml") and b"<Error" in xml)


def bucket_listing(url: str, following: str = "") -> str:
    """The address that lists the keys beneath `url`, which ends in a slash."""
    parts = urlsplit(url)
    path = unquote(parts.path).lstrip("/")
    root = f"{parts.scheme}://{parts.netloc}/"
    if not _NAMED_BY_HOST.match(parts.netloc):
        bucket, _, path = path.partition("/")
        root += quote(bucket)
    if parts.netloc.endswith(".blob.core.windows.net"):
        asked = {"restype": "container", "comp": "list", "delimiter": "/", "prefix": path}
        asked |= {"marker": following} if following else {}
    else:
        asked = {"list-type": "2", "delimiter": "/", "prefix": path}
        asked |= {"continuation-token": following} if following else {}
    return f"{root}?{urlencode(asked)}"


def bucket_page(body: bytes) -> BucketPage | None:
    """Parses the response of a bucket service; None if it is not a listing."""
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        return None
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        return None
    if _plain(root.tag) not in ("ListBucketResult", "EnumerationResults"):
        return None
    found = [_text(each, ("Prefix", "Name")) for each in root.iter() if _plain(each.tag) in _PREFIXES]
    names = [prefix.rstrip("/").rpartition("/")[2] for prefix in found]
    following = _text(root, ("NextContinuationToken", "NextMarker"))
    return BucketPage([name for name in dict.fromkeys(names) if _is_name(name)], following)


_PREFIXES = ("CommonPrefixes", "BlobPrefix")


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]


def _text(element: ElementTree.Element, tags: tuple[str, ...]) -> str:
    texts: Iterator[str] = (each.text or "" for each in element if _plain(each.tag) in tags)
    return next(texts, "")
