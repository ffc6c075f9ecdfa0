"""Credentials that expire, and are renewed, while data behind a reference file are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import zarrscope
from aws_keys import PROFILE, ExpiringGate, expiring_s3, profiles_of
from contracts.http_server import web_server
from narrowing import as_array
from zarrscope.errors import Denied, NotFound, Unreadable
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.store import renew

pytest.importorskip("s3fs")

ARRAY = {
    "zarr_format": 2, "shape": [8], "chunks": [2], "dtype": "<u2", "compressor": None, "fill_value": 0,
    "order": "C", "filters": None,
}  # fmt: skip
VALUES = b"\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0"


@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[str, ExpiringGate]]:
    with expiring_s3("400 Bad Request") as found:
        yield found


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = profiles_of(tmp_path, monkeypatch)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return found


def references(folder: Path, target: str, kind: str) -> Path:
    documents = {".zgroup": {"zarr_format": 2}, "a/.zarray": ARRAY, "a/.zattrs": {}}
    chunks = [[target, 4 * i, 4] for i in range(4)]
    if kind == "json":
        refs = {key: json.dumps(value) for key, value in documents.items()}
        file = folder / "x.json"
        file.write_text(json.dumps({"version": 1, "refs": {**refs, **{f"a/{i}": c for i, c in enumerate(chunks)}}}))
        return file
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = folder / "x.parq"
    (file / "a").mkdir(parents=True)
    (file / ".zmetadata").write_text(json.dumps({"metadata": documents, "record_size": 4}))
    columns = {name: [c[i] for c in chunks] for i, name in enumerate(("path", "offset", "size"))}
    pq.write_table(pa.table({**columns, "raw": pa.array([None] * 4, pa.binary())}), file / "a" / "refs.0.parq")
    return file


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_data_in_a_bucket(s3: tuple[str, ExpiringGate], profiles: Path, tmp_path: Path, kind: str) -> None:
    address, gate = s3
    gate.expired.clear()
    ObjectStore("s3://expiring", key="k", secret="s", endpoint=address, region="us-east-1", writable=True).set(
        "data.bin", VALUES
    )
    file = references(tmp_path, "s3://expiring/data.bin", kind)
    options = {"endpoint_url": address, "attempts": 1}
    with zarrscope.open(f"reference://::{file}", storage_options={**options, "profile": "lab"}) as h:
        array = h["/a"]
        assert isinstance(array, zarrscope.Array)
        assert array[:2].tolist() == [0, 1]
        gate.expired.add("OLDKEY")
        with pytest.raises(Denied, match=r"(?i)expired"):
            array[2:4]
        with zarrscope.open(f"reference://::{file}", storage_options={**options, "profile": "other"}) as other:
            assert renew(h.store, other.store)
            assert array[2:4].tolist() == [2, 3]
        assert array[...].tolist() == [*range(8)], "the open array goes on after the other is closed"


@pytest.mark.parametrize(
    ("kind", "place", "backend"),
    [
        *((kind, place, "obstore") for kind in ("json", "parquet") for place in ("here", "in the bucket")),
        ("json", "here", "fsspec"),
        ("parquet", "in the bucket", "fsspec"),
        ("json", "in the bucket", "obstore, not installed"),
    ],
)
def test_a_login_in_the_same_profile(
    s3: tuple[str, ExpiringGate],
    profiles: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    place: str,
    backend: str,
) -> None:
    """The file of profiles has a newer key when the reference file is opened again in the same process. Through obstore
    the open array uses that key too."""
    address, gate = s3
    gate.expired.clear()
    bucket = ObjectStore("s3://expiring", key="k", secret="s", endpoint=address, region="us-east-1", writable=True)
    bucket.set("data.bin", VALUES)
    file = references(tmp_path, "s3://expiring/data.bin", kind)
    where = str(file)
    if place == "in the bucket":
        where = f"s3://expiring/{file.name}"
        for path in (each for each in (file, *file.rglob("*")) if each.is_file()):
            bucket.set(path.relative_to(tmp_path).as_posix(), path.read_bytes())
    options = {"endpoint_url": address, "attempts": 1, "profile": "lab", "backend": backend.partition(",")[0]}
    if backend.endswith("not installed"):
        monkeypatch.setattr("zarrscope.stores.reference_targets.find_spec", lambda name: None)
    with zarrscope.open(f"reference://::{where}", storage_options=options) as h:
        array = h["/a"]
        assert isinstance(array, zarrscope.Array)
        assert array[:2].tolist() == [0, 1]
        gate.expired.add("OLDKEY")
        profiles.write_text(PROFILE.format("lab", "NEWKEY"))
        if backend == "obstore":
            assert array[2:4].tolist() == [2, 3], "the open array finds the new login"
        with zarrscope.open(f"reference://::{where}", storage_options=options) as again:
            assert as_array(again["/a"])[...].tolist() == [*range(8)]


def test_a_folder_of_parquet_files_with_another_name(s3: tuple[str, ExpiringGate], tmp_path: Path) -> None:
    address, gate = s3
    gate.expired.clear()
    options = {"key": "k", "secret": "s", "endpoint": address, "region": "us-east-1"}
    bucket = ObjectStore("s3://expiring", writable=True, **options)
    bucket.set("data.bin", VALUES)
    file = references(tmp_path, "s3://expiring/data.bin", "parquet")
    for path in (each for each in file.rglob("*") if each.is_file()):
        bucket.set(f"named otherwise/{path.relative_to(file).as_posix()}", path.read_bytes())
    with zarrscope.open("reference://::s3://expiring/named otherwise", storage_options=options) as h:
        assert as_array(h["/a"])[...].tolist() == [*range(8)]
    with pytest.raises(NotFound):
        zarrscope.open("reference://::s3://expiring/nothing", storage_options=options)


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_files_that_are_not_in_the_bucket(s3: tuple[str, ExpiringGate], tmp_path: Path, backend: str) -> None:
    address, gate = s3
    gate.expired.clear()
    options = {"key": "k", "secret": "s", "endpoint": address, "region": "us-east-1", "backend": backend}
    file = references(tmp_path, "s3://expiring/moved.bin", "json")
    with (
        zarrscope.open(file, storage_options=options) as h,
        pytest.raises(Unreadable, match=r"s3://expiring/moved\.bin.*not there"),
    ):
        as_array(h["/a"])[...]


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_data_on_a_web_server(tmp_path: Path, kind: str) -> None:
    """The token is in the addresses of the reference file: a newer file has a newer one."""
    with web_server({"data.bin": VALUES}) as server:
        server.token = "token=one-4711"
        (tmp_path / "new").mkdir()
        old = references(tmp_path, f"{server.url}/data.bin?token=one-4711", kind)
        new = references(tmp_path / "new", f"{server.url}/data.bin?token=other-4711", kind)
        with zarrscope.open(f"reference://::{old}") as h:
            array = h["/a"]
            assert isinstance(array, zarrscope.Array)
            assert array[:2].tolist() == [0, 1]
            server.token = "token=other-4711"
            with pytest.raises(Denied) as caught:
                array[2:4]
            assert "401" in str(caught.value)
            assert "first" not in str(caught.value)
        with zarrscope.open(f"reference://::{new}") as h:
            again = h["/a"]
            assert isinstance(again, zarrscope.Array)
            assert again[...].tolist() == [*range(8)]
