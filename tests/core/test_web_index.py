"""Children of groups on web servers, found by index pages, JSON, bucket listings and names in OME-Zarr metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import zarrscope
from contracts.http_server import folder_server, serving, web_server
from narrowing import as_group
from zarrscope.check.hierarchy import check
from zarrscope.errors import Unreadable
from zarrscope.stores import web_index
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.web_index import MOST_REPEATS

HERE = "https://example.org/data/x%20y.zarr/"
APACHE = """<html><head><title>Index of /data</title></head><body><table>
<tr><th><a href="?C=N;O=D">Name</a></th></tr><tr><td><a href="/data/">Parent Directory</a></td></tr>
<tr><td><a href="0/">0/</a></td></tr><tr><td><a href="a%20b/">a b/</a></td></tr>
<tr><td><a href="zarr.json">zarr.json</a></td></tr></table></body></html>"""
NGINX = '<html><h1>Index</h1><pre><a href="../">../</a>\n<a href="0/">0/</a>  -\n<a href="a%20b/">a b/</a></pre>'
IIS = (
    '<pre><A HREF="/data/">[To Parent Directory]</A><br><A HREF="/data/x y.zarr/0/">0</A>'
    '<A HREF="/data/x%20y.zarr/a%20b/">a b</A>'
)
CADDY = (
    '<a href="./0/">0</a><a href="./a%20b/">a b</a><a href="https://elsewhere.org/c/">c</a><a href="./0/deeper/">d</a>'
)
NGINX_JSON = '[{"name":"0","type":"directory"},{"name":"a b","type":"directory"},{"name":"zarr.json","type":"file"}]'
CADDY_JSON = '[{"name":"0/","is_dir":true},{"name":"a b/","is_dir":true},{"name":"zarr.json","is_dir":false}]'


@pytest.mark.parametrize("page", [APACHE, NGINX, IIS, CADDY])
def test_the_index_pages_of_servers(page: str) -> None:
    assert web_index.folders_in(page.encode(), "text/html", HERE) == ["0", "a b"]


@pytest.mark.parametrize("text", [NGINX_JSON, CADDY_JSON])
def test_an_index_as_json(text: str) -> None:
    assert web_index.folders_in(text.encode(), "application/json", HERE) == ["0", "a b"]


@pytest.mark.parametrize(
    "body",
    [b"<html><p>Please log in at <a href='/login'>our portal</a></p>", b"[1, 2]", b"[" * 100_000, b'{"name": 1}', b""],
)
def test_what_is_no_index(body: bytes) -> None:
    assert not web_index.folders_in(body, "text/html", HERE)
    assert not web_index.folders_in(body, "application/json", HERE)


def test_names_that_lead_elsewhere_are_dropped() -> None:
    page = (
        '<a href="..%2Fb/">b</a><a href="%2E%2E/">up</a><a href="a%00/">0</a><a href="ok/">ok</a><a href="http://[/">'
    )
    assert web_index.folders_in(page.encode(), "text/html", HERE) == ["ok"]


def test_the_addresses_of_listings() -> None:
    told = web_index.bucket_listing
    assert told("https://s3.example.org/pub/a/x.zarr/") == (
        "https://s3.example.org/pub?list-type=2&delimiter=%2F&prefix=a%2Fx.zarr%2F"
    )
    assert told("https://pub.s3.amazonaws.com/x.zarr/", "t=") == (
        "https://pub.s3.amazonaws.com/?list-type=2&delimiter=%2F&prefix=x.zarr%2F&continuation-token=t%3D"
    )
    assert told("https://acc.blob.core.windows.net/box/x.zarr/").startswith(
        "https://acc.blob.core.windows.net/box?restype=container&comp=list"
    )
    azure = b"<EnumerationResults><Blobs><BlobPrefix><Name>x.zarr/0/</Name></BlobPrefix></Blobs><NextMarker/>"
    assert web_index.bucket_page(azure + b"</EnumerationResults>") == (["0"], "")
    assert web_index.bucket_page(b"<Error><Code>AccessDenied</Code></Error>") is None
    assert web_index.bucket_page(b"<!DOCTYPE x [<!ENTITY a 'b'>]><ListBucketResult/>") is None
    assert web_index.bucket_page(b"<not xml") is None


def example(store: Any) -> None:
    made = zarrscope.open(store, "w-")
    made.create_group("/g")
    made.create_array("/g/inside", shape=(2,), dtype="u1")
    made.create_array("/a b", shape=(2,), dtype="u1")


def test_a_folder_served_by_python_is_listed(tmp_path: Path) -> None:
    example(str(tmp_path / "x.zarr"))
    (tmp_path / "x.zarr" / "notes").mkdir()
    with serving(folder_server(tmp_path)) as url:
        h = zarrscope.open(f"{url}/x.zarr")
        assert {(c.name, c.kind) for c in as_group(h.root).children()} == {("a b", "array"), ("g", "group")}
        assert {(c.name, c.origin) for c in as_group(h.root).list_names()} == {
            (n, "index") for n in ("a b", "g", "notes")
        }
        assert [c.name for c in as_group(h["/g"]).children()] == ["inside"]
        assert not h.store.listable


def folders(url: str) -> Iterator[str]:
    """All folders that the index pages beneath a hierarchy name; one that is not listed has an error."""
    with zarrscope.open(url) as h:
        pending = [""]
        while pending:
            prefix = pending.pop()
            yield prefix
            with suppress(Unreadable):
                pending += [f"{prefix}{name}/" for name in h.store._named_folders(prefix) or ()]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX symbolic links")
def test_links_that_lead_back_make_no_endless_index(tmp_path: Path) -> None:
    example(str(tmp_path / "x.zarr"))
    for name in ("s1", "s2"):
        (tmp_path / "x.zarr" / name).symlink_to(".")
    with serving(folder_server(tmp_path)) as url:
        assert len([*folders(f"{url}/x.zarr")]) < 200
        h = zarrscope.open(f"{url}/x.zarr")
        deep = "s1/" * (MOST_REPEATS + 1)
        for depth in range(MOST_REPEATS + 1):
            assert [*(h.store._named_folders("s1/" * depth) or ())] == ["a b", "g", "s1", "s2"]
        with pytest.raises(Unreadable, match="have the index page of a folder above them") as caught:
            h.store._named_folders(deep)
        assert caught.value.key == deep
        assert "Remove the link" in str(caught.value.advice)
        assert not any(each.severity == "error" and "index page" not in each.message for each in check(h))


def test_groups_with_the_same_names_in_one_another_are_listed(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "x.zarr"), "w-") as h:
        h.create_group("/" + "/".join("a" * MOST_REPEATS))
    with serving(folder_server(tmp_path)) as url, zarrscope.open(f"{url}/x.zarr") as h:
        assert len([*h.walk()]) == MOST_REPEATS


def bucket(store: MemoryStore, asked: list[str]) -> type[BaseHTTPRequestHandler]:
    """Answers as S3 does, with two names per page."""
    values = {key: store.get(key) or b"" for key in store.list()}

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append(self.path)
            split = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(split.query).items()}
            value = values.get(split.path.removeprefix("/pub/x.zarr/"))
            if split.path == "/pub" and "list-type" in query:
                assert query["prefix"] == "x.zarr/"
                names = [f"n{i}" for i in range(5)]
                start = int(query.get("continuation-token", 0))
                more = f"<NextContinuationToken>{start + 2}</NextContinuationToken>" if start + 2 < 5 else ""
                found = (f"<CommonPrefixes><Prefix>x.zarr/{name}/</Prefix></CommonPrefixes>" for name in names)
                page = "".join([*found][start : start + 2])
                space = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
                self.answer(
                    200, f"<ListBucketResult {space}><Prefix>x.zarr/</Prefix>{more}{page}</ListBucketResult>".encode()
                )
            elif value is not None:
                self.answer(200, value)
            else:
                self.answer(404, b'<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>')

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("x-amz-request-id", "1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def test_a_public_bucket_is_listed_page_by_page() -> None:
    store, asked = MemoryStore(), list[str]()
    made = zarrscope.open(store, "w-")
    for i in range(5):
        made.create_group(f"/n{i}")
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), bucket(store, asked))) as url:
        root = zarrscope.open(f"{url}/pub/x.zarr").root
        names = as_group(root).list_names()
        assert next(names).name == "n0"
        assert sum("list-type" in path for path in asked) == 1, "the first names come before the next page is asked for"
        assert [child.name for child in names] == ["n1", "n2", "n3", "n4"]
        assert {child.kind for child in as_group(root).children()} == {"group"}


def test_a_server_that_names_nothing_says_so_and_is_not_asked_again() -> None:
    store = MemoryStore()
    example(store)
    with web_server({f"x.zarr/{key}": store.get(key) or b"" for key in store.list()}) as server:
        h = zarrscope.open(f"{server.url}/x.zarr")
        for path in ("/", "/g"):
            with pytest.raises(zarrscope.Unsupported, match="cannot list"):
                list(as_group(h[path]).children())
        assert [key for key, _ in server.asked if key.endswith("/")] == ["x.zarr/"]


@pytest.mark.parametrize("told", [True, False])
def test_the_series_of_bioformats2raw(told: bool) -> None:
    store = MemoryStore()
    made = zarrscope.open(store, "w-")
    document = made.document("/")
    made.save("/", document.set("/attributes", {"ome": {"version": "0.5", "bioformats2raw.layout": 3}}))
    for i in range(20):
        made.create_group(f"/{i}")
    if told:
        made.create_group("/OME", {"ome": {"version": "0.5", "series": [str(i) for i in range(20)]}})
    store.listable = False
    found = {child.name: child.kind for child in as_group(zarrscope.open(store).root).children()}
    assert found == dict.fromkeys([*(["OME"] if told else []), *map(str, range(20))], "group")
