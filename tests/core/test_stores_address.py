"""Typed, pasted and dropped texts lead to the right store and node."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.errors import NotFound, ReadOnly, Refused, Unsupported
from zarrscope.errors.installing import how_to_install
from zarrscope.stores.address import Address, join_url, open_store, parents, split_address
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.registry import STORES, store_kind


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    store = LocalStore(tmp_path / "my data" / "x.zarr")
    store.set("zarr.json", b"root")
    store.set("a/zarr.json", b"a")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("zarr.json", b"zip root")
        archive.writestr("a/b/zarr.json", b"zip a/b")
    (tmp_path / "text.txt").write_text("hello")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{here}/my data/x.zarr", b"root"),
        ("my data/x.zarr", b"root"),
        ("./my data/../my data/x.zarr/", b"root"),
        ("~/my data/x.zarr", b"root"),
        ("file://{here}/my%20data/x.zarr", b"root"),
        ("file://localhost{here}/my%20data/x.zarr", b"root"),
        ("my data/x.zarr/zarr.json", b"root"),
        ("my data/x.zarr/.zattrs", b"root"),
        ("my data/x.zarr/a", b"a"),
        ("my data/x.zarr/a/zarr.json", b"a"),
        ("my data/x.zarr::a", b"a"),
        ("my data/x.zarr::/a/", b"a"),
        ("zarr://my data/x.zarr", b"root"),
        ("zarr3://file://{here}/my%20data/x.zarr", b"root"),
        ("my data/x.zarr|zarr3:", b"root"),
        ("my data/x.zarr|zarr3:a", b"a"),
        ("x.zip", b"zip root"),
        ("x.zip/a/b", b"zip a/b"),
        ("x.zip/a/b/zarr.json", b"zip a/b"),
        ("x.zip::a/b", b"zip a/b"),
        ("zip://a/b::x.zip", b"zip a/b"),
        ("zip://::x.zip", b"zip root"),
        ("zip://a::file://{here}/x.zip::b", b"zip a/b"),
        ("x.zip|zip:a/b", b"zip a/b"),
        ("x.zip|zip:a|zarr3:b", b"zip a/b"),
        ("simplecache::x.zip", b"zip root"),
        ("  my data/x.zarr \n", b"root"),
    ],
)  # fmt: skip
def test_forms(folder: Path, text: str, value: bytes) -> None:
    store = open_store(text.replace("{here}", folder.as_posix()))
    assert store.get("zarr.json") == value
    assert open_store(store.url).get("zarr.json") == value, "a store's URL opens it again"
    assert not store.writable


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://host/x.zarr/", Address("https://host/x.zarr")),
        ("HTTPS://host/x.zarr/zarr.json?t=1", Address("https://host/x.zarr?t=1")),
        ("https://host/x.zip/a%20b/c", Address("https://host/x.zip", "a b/c")),
        ("https://host/x.ozx", Address("https://host/x.ozx")),
        ("http://[::1]:80/x.zarr", Address("http://[::1]:80/x.zarr")),
        ("http://[::1]:80/x.zarr::a", Address("http://[::1]:80/x.zarr", "a")),
        ("zip://a::https://host/x.zip", Address("zip://a::https://host/x.zip")),
        ("https://host/x.zip|zip:a/|zarr2:b", Address("zip://a::https://host/x.zip", "b", "v2")),
        ("memory://m/a/b", Address("memory://m", "a/b")),
        ("zarr://https://host/x", Address("https://host/x")),
    ],
)
def test_addresses_elsewhere(text: str, address: Address) -> None:
    assert split_address(text) == address


def test_candidates_for_the_root() -> None:
    def seen(text: str) -> list[tuple[str, str]]:
        return [(each.store_url, each.node_path) for each in parents(split_address(text))]

    assert seen("https://host/x.zarr/a b/c?t") == [
        ("https://host/x.zarr/a b/c?t", ""),
        ("https://host/x.zarr/a b?t", "c"),
        ("https://host/x.zarr?t", "a b/c"),
        ("https://host/?t", "x.zarr/a b/c"),
    ]
    assert seen("zip://a/b::https://host/x.zip") == [
        ("zip://a/b::https://host/x.zip", ""),
        ("zip://a::https://host/x.zip", "b"),
        ("https://host/x.zip", "a/b"),
    ]
    assert seen("memory://m/a") == [("memory://m", "a")]


def test_every_parent_leads_to_the_same_place(folder: Path) -> None:
    start = split_address(str(folder / "my data/x.zarr/a"))
    for address in list(parents(start))[:4]:
        key = "/".join(filter(None, (address.node_path, "zarr.json")))
        assert open_store(address.store_url).get(key) == b"a"
        assert open_store(join_url(address.store_url, address.node_path)).get("zarr.json") == b"a"


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("no/such.zarr", NotFound, "The folder .* exists"),
        ("no/such.zip::a", NotFound, "no"),
        ("text.txt", Unsupported, "neither"),
        ("gopher://host/x", Unsupported, "gopher://"),
        ("", Refused, "empty"),
        ("a\0b", Refused, "NUL"),
        ("https:///x", Refused, "host"),
        ("zip://a", Refused, "::"),
        ("x.zip::../../etc", Refused, "leads out"),
        ("file://elsewhere/x", *((NotFound, "no file") if sys.platform == "win32" else (Refused, "another computer"))),
    ],
)
def test_what_cannot_be_opened_is_told(folder: Path, text: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        open_store(text)


def test_modes(folder: Path) -> None:
    new = folder / "new.zarr"
    with pytest.raises(NotFound):
        open_store(str(new), "r+")
    open_store(str(new), "w-").set("zarr.json", b"1")
    open_store(str(new), "a").set("b", b"1")
    open_store(str(new), "r+").set("c", b"1")
    with pytest.raises(Refused, match="not empty"):
        open_store(str(new), "w-")
    with pytest.raises(ReadOnly):
        open_store(str(new)).set("d", b"1")
    with pytest.raises(ReadOnly):
        open_store("x.zip").set("d", b"1")
    assert sorted(os.listdir(new)) == ["b", "c", "zarr.json"]


def test_memory_stores_are_found_again_by_their_name() -> None:
    open_store("memory://test-address", "a").set("a/b", b"1")
    assert open_store("memory://test-address").get("a/b") == b"1"
    assert open_store("memory://test-address/a").get("b") == b"1"
    with pytest.raises(ReadOnly):
        open_store("memory://test-address").set("a", b"1")
    numbered = MemoryStore({"a": b"2"})
    assert open_store(numbered.url).get("a") == b"2"


def test_schemes_that_differ_in_name_only_are_one() -> None:
    for one, other in (("http", "https"), ("s3", "s3a"), ("gs", "gcs"), ("abfs", "az")):
        assert store_kind(one) is store_kind(other) is STORES[one]
    assert store_kind("gopher") is None


@pytest.mark.parametrize(
    ("text", "store", "node"),
    [
        ("s3://bucket/a b/x.zarr", "s3://bucket/a b/x.zarr", ""),
        ("s3://bucket/50%?#/x.zarr/", "s3://bucket/50%?#/x.zarr", ""),
        ("s3://bucket//x.zarr/zarr.json", "s3://bucket/x.zarr", ""),
        ("gs://bucket/x.zip/a/b/.zarray", "gs://bucket/x.zip", "a/b"),
        ("s3://bucket/x.zarr::a/b", "s3://bucket/x.zarr", "a/b"),
        ("zip://a::s3://bucket/x.zip", "zip://a::s3://bucket/x.zip", ""),
        ("s3://bucket/x.ozx|zip:a|zarr3:b", "zip://a::s3://bucket/x.ozx", "b"),
        ("abfs://container@account.dfs.core.windows.net/x.zarr",) * 2 + ("",),
        ("ssh://me@host:2222/data/x.zarr", "ssh://me@host:2222/data/x.zarr", ""),
    ],
)
def test_buckets_and_hosts(text: str, store: str, node: str) -> None:
    found = split_address(text)
    assert (found.store_url, found.node_path) == (store, node)


def test_what_lies_around_a_bucket_address() -> None:
    above = [address.store_url for address in parents(Address("s3://bucket/a/x.zarr"))]
    assert above == ["s3://bucket/a/x.zarr", "s3://bucket/a", "s3://bucket"]
    assert join_url("s3://bucket/a b", "c/d") == "s3://bucket/a b/c/d"
    for text in ("s3://", "s3:///x.zarr/../../y"):
        with pytest.raises(Refused):
            split_address(text)


@pytest.mark.parametrize("scheme", [scheme for scheme, kind in STORES.items() if kind.needs])
def test_a_missing_package_is_named_with_what_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = STORES[scheme]
    for package in kind.needs:
        monkeypatch.setitem(sys.modules, package, None)
    for alias in (scheme, *kind.aliases):
        with pytest.raises(Unsupported, match=f"{alias}:// need {kind.needs[0]}, which is not installed") as caught:
            open_store(f"{alias}://b/x.zarr")
        assert caught.value.advice == how_to_install(kind.extra)


@pytest.mark.skipif(sys.platform == "win32", reason="these are paths of Windows")
@pytest.mark.parametrize("mode", ["r", "r+", "a", "w-"])
@pytest.mark.parametrize("text", [r"\\srv\s\x.zarr", r"\\?\C:\x.zarr", "C:x.zarr", r"C:\x.zarr", "d:/x.zarr", "C:"])
def test_paths_of_windows_are_refused_elsewhere(folder: Path, text: str, mode: Any) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(Refused, match="is a path of Windows"):
        zarrscope.open(text, mode)
    assert sorted(folder.iterdir()) == before
    place = folder / text.replace("/", "_")  # a pathlib.Path is always a path, and so is one with ./
    zarrscope.open(place, "w-")
    assert zarrscope.open(f"./{place.name}").dialect.name == "v3"
    assert zarrscope.open(place.name).dialect.name == "v3", "an existing path is used as that path"


@pytest.mark.skipif(sys.platform == "win32", reason="a backslash separates names there")
def test_a_backslash_within_a_name_is_kept(folder: Path) -> None:
    zarrscope.open("a\\b.zarr", "w-")
    assert (folder / "a\\b.zarr").is_dir()
