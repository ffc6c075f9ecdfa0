"""Reference files of kerchunk: read by fsspec's file system, without access to files that they must not name."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.store import Reading
from narrowing import as_array, as_group
from zarrscope.errors import BadMetadata, NotFound, OutsideLink, Refused, Unreadable, Unsupported
from zarrscope.stores.address import open_store, parents, split_address
from zarrscope.stores.references import ReferenceStore
from zarrscope.stores.store import Store


def reference_file(folder: Path, refs: Mapping[str, Any], name: str = "x.json") -> Path:
    file = folder / name
    file.write_text(json.dumps({"version": 1, "refs": refs}))
    return file


class TestReferences(Reading):
    """Values in one file, one after the other, and values in the reference file itself."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def filled(self, values: Mapping[str, bytes]) -> Store:
        refs: dict[str, Any] = {}
        with open(self.folder / "values.bin", "wb") as file:
            for i, (key, value) in enumerate(values.items()):
                held = "base64:" + base64.b64encode(value).decode()
                refs[key] = held if i % 3 == 2 else ["values.bin", file.tell(), len(value)]
                file.write(value)
        return open_store(f"reference://::{reference_file(self.folder, refs).as_uri()}")


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A v2 array whose two chunks follow a header in one file, and the reference file beside it."""
    (tmp_path / "data.nc").write_bytes(b"head" + np.arange(4, dtype="<u2").tobytes())
    array = {
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<u2", "compressor": None, "fill_value": 0,
        "order": "C", "filters": None,
    }  # fmt: skip
    refs = {
        ".zgroup": json.dumps({"zarr_format": 2}),
        "a/.zarray": json.dumps(array),
        "a/.zattrs": "{}",
        "a/0": ["data.nc", 4, 4],
        "a/1": [(tmp_path / "data.nc").as_uri(), 8, 4],
    }
    return reference_file(tmp_path, refs)


def test_a_reference_file_opens_by_looking_at_it(volume: Path) -> None:
    for text in (str(volume), f"reference://::{volume}", volume.as_uri(), f"{volume}::a", f"{volume}/a"):
        with zarrscope.open(text) as h:
            assert as_array(h["/a"])[...].tolist() == [0, 1, 2, 3]
            assert [child.name for child in as_group(h["/"]).children()] == ["a"]
            assert not h.writable
            assert pickle.loads(pickle.dumps(h["/a"]))[...].tolist() == [0, 1, 2, 3]
    assert [*parents(split_address(f"reference://a::{volume}"))] == [split_address(f"{volume}::a")]
    with pytest.raises(NotFound):
        zarrscope.open_array(f"reference://b::{volume}")


def test_objects_over_references_open(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways in which people hand the references of kerchunk on."""
    import fsspec
    import zarr

    monkeypatch.chdir(volume.parent)
    options: dict[str, Any] = {"fo": str(volume), "remote_protocol": "file"}
    files = fsspec.filesystem("reference", **options)
    turned = fsspec.filesystem("reference", **options, asynchronous=True)
    for made in (
        files,
        files.get_mapper(""),
        fsspec.get_mapper("reference://", **options),
        zarr.storage.FsspecStore(turned, read_only=True, path=""),
    ):
        h = zarrscope.open(made)
        assert as_array(h["/a"])[...].tolist() == [0, 1, 2, 3]
        assert [child.name for child in as_group(h["/"]).children()] == ["a"]


@pytest.mark.skipif(find_spec("xarray") is None, reason="xarray is not installed")
def test_a_dataset_over_references_opens(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xarray

    monkeypatch.chdir(volume.parent)
    document = json.loads(volume.read_text())
    document["refs"]["a/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["x"]})
    document["refs"][".zattrs"] = "{}"
    volume.write_text(json.dumps(document))
    options = {"consolidated": False, "storage_options": {"fo": str(volume), "remote_protocol": "file"}}
    dataset = xarray.open_dataset("reference://", engine="zarr", chunks={}, backend_kwargs=options)
    assert as_array(zarrscope.open(dataset)["/a"])[...].tolist() == [0, 1, 2, 3]


def test_references_elsewhere_are_known_by_their_ending() -> None:
    assert split_address("https://h/x.json?t=1").store_url == "reference://::https://h/x.json?t=1"
    assert split_address("s3://b/x.parq").store_url == "reference://::s3://b/x.parq"
    assert split_address("reference://a::s3://b/x.json::n").store_url == "reference://::s3://b/x.json"
    assert split_address("reference://a::s3://b/x.json::n").node_path == "a/n"
    assert split_address("https://h/x.zarr/zarr.json").store_url == "https://h/x.zarr"


@pytest.mark.parametrize("written", ["absolute", "file", "upward", "link"])
def test_files_outside_its_folder_are_read_only_where_links_are_followed(tmp_path: Path, written: str) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"{}")
    folder = tmp_path / "downloaded"
    folder.mkdir()
    target = {"absolute": str(secret), "file": secret.as_uri(), "upward": "../secret.bin", "link": "link.bin"}[written]
    if written == "link":
        try:
            (folder / "link.bin").symlink_to(secret)
        except OSError:
            pytest.skip("no symbolic links here")
    file = reference_file(folder, {".zattrs": [target], "a": [target, 0, 1]})
    store = open_store(str(file))
    for key in (".zattrs", "a"):
        with pytest.raises(OutsideLink, match="outside its own folder"):
            store.get(key)
    assert open_store(str(file), follow_links=True).get("a") == b"{"


def test_a_reference_file_from_afar_reads_nothing_here(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReferenceStore, "_references", _as_if_from_afar(volume))
    with pytest.raises(OutsideLink, match="on this computer"):
        ReferenceStore("reference://::https://h/x.json").get("a/0")


def _as_if_from_afar(file: Path) -> Any:
    from fsspec.implementations.reference import ReferenceFileSystem

    return lambda self, _: ReferenceFileSystem(json.loads(file.read_text()), fs={}, skip_instance_cache=True)


def test_other_protocols_are_refused_by_name(tmp_path: Path) -> None:
    store = open_store(str(reference_file(tmp_path, {"a": ["ftp://h/x", 0, 1], "b": ["smb://h/x", 0, 1]})))
    for key, protocol in (("a", "ftp"), ("b", "smb")):
        with pytest.raises(Refused, match=f"{protocol}://"):
            store.get(key)


def test_what_is_no_reference_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"version": 1, "refs": 3}')
    with pytest.raises(BadMetadata, match="not a reference file"):
        zarrscope.open(tmp_path / "x.json")
    (tmp_path / "y.json").write_text('{"type": "FeatureCollection"}')
    with pytest.raises(Unsupported, match="is a file, but"):
        zarrscope.open(tmp_path / "y.json")
    gone = reference_file(tmp_path, {".zgroup": '{"zarr_format": 2}', "a": ["gone.nc", 0, 1]}, "z.json")
    with pytest.raises(Unreadable, match=r"gone\.nc"):
        open_store(str(gone)).get("a")


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_references_in_parquet(volume: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    refs = json.loads(volume.read_text())["refs"]
    folder = tmp_path / "x.parq"
    (folder / "a").mkdir(parents=True)
    documents = {key: json.loads(value) for key, value in refs.items() if isinstance(value, str)}
    (folder / ".zmetadata").write_text(json.dumps({"metadata": documents, "record_size": 2}))
    chunks = [refs["a/0"], refs["a/1"]]
    columns = {"path": [c[0] for c in chunks], "offset": [c[1] for c in chunks], "size": [c[2] for c in chunks]}
    pq.write_table(pa.table({**columns, "raw": pa.array([None, None], pa.binary())}), folder / "a" / "refs.0.parq")
    for place in (folder, f"reference://::{folder}"):
        with zarrscope.open(place) as h:
            assert as_array(h["/a"])[...].tolist() == [0, 1, 2, 3]
            assert [child.name for child in as_group(h["/"]).children()] == ["a"]
