"""The syntax of addresses, as strings, for POSIX and Windows on every system."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.errors.confidential import public
from zarrscope.stores.address import split_address
from zarrscope.stores.address_options import cut_options, split_options, with_options
from zarrscope.stores.address_text import AddressStep, cleaned, parse
from zarrscope.stores.memory import MemoryStore

BOTH = (False, True)
VOLUME = "https://host/a b.zarr?v=1"


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/people/ann")
    monkeypatch.setenv("USERPROFILE", r"C:\Users\ann")
    monkeypatch.setenv("DATA", "/data")
    monkeypatch.setenv("BUCKET", "s3://lab")
    monkeypatch.delenv("NOT_SET", raising=False)


@pytest.mark.parametrize("windows", BOTH)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("x.zarr", "x.zarr"),
        ("my data/x.zarr", "my data/x.zarr"),
        ("  x.zarr \n", "x.zarr"),
        ("'x.zarr'", "x.zarr"),
        ('"my data/x.zarr"', "my data/x.zarr"),
        ("“x.zarr”", "x.zarr"),
        ("<x.zarr>", "x.zarr"),
        ("`x.zarr`", "x.zarr"),
        ("\ufeffx.zarr\u200b", "x.zarr"),
        ("$DATA/x.zarr", "/data/x.zarr"),
        ("${DATA}/x.zarr", "/data/x.zarr"),
        ("run:1.zarr", "run:1.zarr"),
        ("./a:b/x.zarr", "./a:b/x.zarr"),
        ("cost$5.zarr", "cost$5.zarr"),
        ("a|b.zarr", "a|b.zarr"),
    ],
)
def test_paths(text: str, place: str, windows: bool) -> None:
    assert parse(text, windows=windows) == ((place, True), (), "", ())


@pytest.mark.parametrize(
    ("text", "posix", "windows"),
    [
        ("~/x.zarr", "/people/ann/x.zarr", "C:\\Users\\ann/x.zarr"),
        (r"C:\data\x.zarr", None, r"C:\data\x.zarr"),
        ("C:/data/x.zarr", None, "C:/data/x.zarr"),
        ('"C:\\my data\\x.zarr"', None, r"C:\my data\x.zarr"),
        (r"\\server\share\x.zarr", None, r"\\server\share\x.zarr"),
        ("//server/share/x.zarr", "//server/share/x.zarr", "//server/share/x.zarr"),
        (r"%DATA%\x.zarr", r"%DATA%\x.zarr", "/data\\x.zarr"),
        ("/data/x.zarr", "/data/x.zarr", "/data/x.zarr"),
    ],
)
def test_paths_of_one_system(text: str, posix: str | None, windows: str) -> None:
    assert parse(text, windows=True).place == (windows, True)
    if posix is None:
        with pytest.raises(Refused, match="path of Windows"):
            parse(text)
    else:
        assert parse(text).place == (posix, True)


@pytest.mark.parametrize("windows", BOTH)
@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://host/x.zarr", "https://host/x.zarr"),
        ("<URL:https://host/x.zarr>", "https://host/x.zarr"),
        ("<https://host/x.zarr>", "https://host/x.zarr"),
        ("file:///data/x%20y.zarr", "file:///data/x%20y.zarr"),
        ("file:/data/x.zarr", "file:///data/x.zarr"),
        ("'file:///C:/x.zarr'", "file:///C:/x.zarr"),
        ("s3://bucket/x.zarr", "s3://bucket/x.zarr"),
        ("$BUCKET/x.zarr", "s3://lab/x.zarr"),
        ("host:/data/x.zarr", "ssh://host/data/x.zarr"),
        ("ann@host.example.org:/data/x.zarr", "ssh://ann@host.example.org/data/x.zarr"),
        ("ann@host:data/x.zarr", "ssh://ann@host/~/data/x.zarr"),
        ("host:~/x.zarr", "ssh://host/~/x.zarr"),
        ("[::1]:/data/x.zarr", "ssh://[::1]/data/x.zarr"),
    ],
)
def test_addresses(text: str, url: str, windows: bool) -> None:
    assert parse(text, windows=windows).place == (url, False)


@pytest.mark.parametrize("windows", BOTH)
@pytest.mark.parametrize(
    ("text", "place", "steps", "dialect"),
    [
        ("x.zarr::a/b", "x.zarr", (AddressStep("node", "a/b"),), ""),
        ("zip://a/b::s3://bucket/x.zip", "s3://bucket/x.zip", (AddressStep("folder", "a/b"),), ""),
        ("zip://a::s3://b/x.zip::n", "s3://b/x.zip", (AddressStep("folder", "a"), AddressStep("node", "n")), ""),
        ("simplecache::https://host/x", "https://host/x", (), ""),
        ("http://[::1]:80/x.zarr::a", "http://[::1]:80/x.zarr", (AddressStep("node", "a"),), ""),
        ("zarr://s3://b/x", "s3://b/x", (), ""),
        ("zarr2://https://host/x", "https://host/x", (), "v2"),
        ("zarr3://x.zarr", "x.zarr", (), "v3"),
        ("n5://gs://b/x.n5", "gs://b/x.n5", (), "n5"),
        ("https://host/x|zarr2:", "https://host/x", (), "v2"),
        ("https://host/x|zarr3", "https://host/x", (), "v3"),
        (
            "https://host/x.zip|zip:a/|n5:b",
            "https://host/x.zip",
            (AddressStep("archive", "a/"), AddressStep("node", "b")),
            "n5",
        ),
        ("x|auto:", "x", (), ""),
    ],
)
def test_chains_and_formats(text: str, place: str, steps: tuple[AddressStep, ...], dialect: str, windows: bool) -> None:
    found = parse(text, windows=windows)
    assert (found.place.text, found.steps, found.dialect) == (place, steps, dialect)


@pytest.mark.parametrize("windows", BOTH)
@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", Refused, "empty"),
        (" '' ", Refused, "empty"),
        ("a\0b", Refused, "NUL"),
        ("demo s3://pub/demo", Refused, "it has 'demo ' before s3://"),
        ("s3:/pub/demo", Refused, "Two slashes are missing after s3:"),
        ("https:/host/x", Refused, "Two slashes are missing after https:"),
        ("doi:10.5281/zenodo.1", Refused, "doi: is not a scheme"),
        ("mailto:x@y", Refused, "mailto: is not a scheme"),
        ("host:path", Refused, "host: is not a scheme"),
        ("urn:x:y/x.zarr", Refused, "urn: is not a scheme"),
        ("$NOT_SET/x.zarr", Refused, "variable NOT_SET .* is not set"),
        ("x.zip|tar:a", Unsupported, r"\|tar:"),
        ("x|ocdbt:", Unsupported, r"\|ocdbt:"),
        ("tar::https://host/x.tar", Unsupported, "tar::"),
    ],
)
def test_what_is_unknown_is_refused_by_name(text: str, kind: type[Exception], says: str, windows: bool) -> None:
    with pytest.raises(kind, match=says):
        parse(text, windows=windows)


def test_punctuation_of_a_sentence_is_left_out() -> None:
    assert cleaned("https://host/x.zarr).") == ("https://host/x.zarr", "", ("The ').' at the end was left out",))
    assert cleaned("s3://b/x.ome.zarr/,").text == "s3://b/x.ome.zarr/"
    assert cleaned("https://host/x.zarr/a.").text == "https://host/x.zarr/a."


def test_paths_in_file_addresses() -> None:
    assert parse("file:my%20data/x.zarr").place == ("my data/x.zarr", True)
    with pytest.raises(Refused, match=r"Write http://host/x\.zarr, as text"):
        parse("http:\\\\host\\x.zarr")


# ---------------------------------------------------------------------- options
@pytest.mark.parametrize(
    ("text", "store", "node"),
    [
        ("s3://b/x.zarr?anon=1", "s3://b/x.zarr?anon=1", ""),
        ("s3://b/x.zip/a?anon=1&region=r", "s3://b/x.zip?anon=1&region=r", "a"),
        ("s3://b/x.zarr/zarr.json?backend=fsspec", "s3://b/x.zarr?backend=fsspec", ""),
        ("s3://b/x.zarr?profile=lab::a", "s3://b/x.zarr?profile=lab", "a"),
        ("s3://b/odd?name=1/x.zarr", "s3://b/odd?name=1/x.zarr", ""),
        ("zarr://s3+https://host:9000/b/x.zarr", "s3://b/x.zarr?endpoint=https://host:9000", ""),
    ],
)
def test_options_in_addresses_of_buckets(text: str, store: str, node: str) -> None:
    found = split_address(text)
    assert (found.store_url, found.node_path) == (store, node)
    assert found.public_url == store or "odd" in store, "options are shown: they are no secrets"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s3://b/x.zarr?key=abc", r"no option key \(in s3://b/x.zarr\). Options are anon, profile"),
        ("s3://b/x.zarr?anon=1&foo=1", "no option foo"),
        ("gs://b/x.zarr?secret=abc&endpoint=http://h:1", "no option secret"),
        ("s3://b/x.zarr?endpoint=http://h:1/p&key=abc", "no option key"),
        ("zip://a::s3://b/x.zip?token=abc", "no option token"),
    ],
)
def test_an_unknown_option_of_a_bucket_is_no_part_of_the_key(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as caught:
        split_address(text)
    assert "abc" not in str(caught.value)


def test_options_are_set_and_taken_out() -> None:
    url = with_options("zip://a::s3://b/x.zip?anon=1", {"anon": None, "endpoint": "http://h:1/p?q=&"})
    assert url == "zip://a::s3://b/x.zip?endpoint=http://h:1/p%3Fq%3D%26"
    assert split_options(url[9:]) == ("s3://b/x.zip", {"endpoint": "http://h:1/p?q=&"})
    assert cut_options("https://host/x?anon=1") == ("https://host/x?anon=1", "")
    with pytest.raises(Refused, match="anon, region are for buckets"):
        with_options("https://host/x.zarr", {"anon": True, "region": "r"})
    with pytest.raises(Refused, match="neither yes nor no"):
        split_options("s3://b/x?anon=maybe")


# ---------------------------------------------------------------------- by looking
def _volume(path: Path, dialect: str = "v3") -> None:
    with zarrscope.open(path, "w-", dialect=dialect) as h:
        h.create_array("/a", shape=(2,), dtype="u1")[...] = np.arange(2)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_path_that_exists_is_that_path_and_this_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("'quoted'", "$DATA", "x|zip:", "a::b"):
        _volume(tmp_path / name)
        with zarrscope.open(name) as h:
            assert as_array(h["/a"]).shape == (2,)
            assert any("has exactly the name" in warning for warning in h.warnings), name
    for name in ("plain ~ name:1", "$NOT_SET", "far:"):
        _volume(tmp_path / name)
        with zarrscope.open(name) as h:
            assert not h.warnings, "it can be read one way only"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
def test_a_path_object_is_a_path_whatever_it_reads_like(tmp_path: Path) -> None:
    for name in ("$NOT_SET", "'a'", "x|zip:", "a::b", "~"):
        path = tmp_path / name / "new"
        _volume(path)
        assert path.is_dir()
    with pytest.raises(Refused, match="Two slashes are missing"):
        zarrscope.open(Path("s3://bucket/x.zarr"))


def test_nothing_unknown_becomes_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (
        "demo s3://pub/demo",
        "s3:/pub/demo",
        "doi:10.5281/x",
        "$NOT_SET/x",
        "x|ocdbt:",
    ):
        with pytest.raises((Refused, Unsupported)):
            zarrscope.open(text, "a")
    assert not [*tmp_path.iterdir()]
    zarrscope.open("new.zip", "w-").close()
    assert (tmp_path / "new.zip").is_file()


def test_the_format_is_taken_as_said(tmp_path: Path) -> None:
    _volume(tmp_path / "two", "v2")
    assert zarrscope.open(f"zarr2://{tmp_path}/two").dialect.name == "v2"
    assert zarrscope.open(f"{tmp_path}/two|zarr2:a").initial_path == "a"
    with pytest.raises(NotFound, match="The address says Zarr v3, but the hierarchy is Zarr v2"):
        zarrscope.open(f"zarr3://{tmp_path}/two")
    assert zarrscope.open(f"n5://{tmp_path}/new", "w-").dialect.name == "n5"
    _volume(tmp_path / "both", "v2")
    _volume_over(tmp_path / "both")
    assert zarrscope.open(f"zarr2://{tmp_path}/both").dialect.name == "v2"
    assert zarrscope.open(f"zarr3://{tmp_path}/both").dialect.name == "v3"


def _volume_over(path: Path) -> None:
    store = MemoryStore()
    with zarrscope.open(store, "w-") as h:
        h.create_array("/a", shape=(2,), dtype="u1")
    for key in store.list():
        (path / key).parent.mkdir(parents=True, exist_ok=True)
        (path / key).write_bytes(store.get(key) or b"")


@pytest.mark.parametrize(
    "link",
    [
        f"https://hms-dbmi.github.io/vizarr/?{urlencode({'source': VOLUME})}",
        f"https://host/?{urlencode({'url': VOLUME + '?token=1'})}",
        "https://neuroglancer-demo.appspot.com/#!" + quote('{"layers": [{"source": "zarr2://https://host/x"}]}'),
    ],
)
def test_a_link_without_its_confidential_parts_leads_to_the_same_volume(link: str) -> None:
    """The applications store links without the confidential parts. The volume is named in a part of the link that is
    not displayed."""
    assert "***" in public(link)
    assert split_address(public(link)) == split_address(link)


def test_a_refused_link_without_its_confidential_parts_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="does not contain its state"):
        split_address(public("https://neuroglancer-demo.appspot.com/#!gs://bucket/state.json"))


def test_a_link_says_that_it_was_one(tmp_path: Path) -> None:
    _volume(tmp_path / "x.zarr")
    layer = {"name": "em", "source": f"zarr3://file://{tmp_path.as_posix()}/x.zarr"}
    with zarrscope.open("https://host/#!" + quote(json.dumps({"layers": [layer]}))) as h:
        assert h.dialect.name == "v3"
        assert any("link to Neuroglancer" in warning for warning in h.warnings)


def test_sentences_about_wrong_addresses_name_the_cause(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "a.zarr", "w-").close()
    with pytest.raises(Refused, match=r"a\.zarr is a folder, not a zip archive.*Open it without zip://"):
        zarrscope.open(f"zip://x::{tmp_path / 'a.zarr'}")
    with pytest.raises(Refused, match=r"A reference:// address names its file after '::'"):
        zarrscope.open("reference://a")


@pytest.mark.skipif(sys.platform == "win32", reason="C: is a drive there")
def test_a_missing_path_that_looks_like_a_web_address_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound, match=r"write https://host\.org/data/x\.zarr"):
        zarrscope.open("host.org/data/x.zarr")
    with pytest.raises(NotFound, match=r"C: is a drive of Windows\. Use the path"):
        zarrscope.open("file:///C:/Users/x.zarr")
    with pytest.raises(NotFound, match="A DOI names a page about data"):
        zarrscope.open("10.5281/zenodo.123")
    with pytest.raises(NotFound, match=r"look for the right name in it\.$"):
        zarrscope.open("cells.zarr/0")
