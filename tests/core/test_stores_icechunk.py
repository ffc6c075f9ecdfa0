"""Icechunk repositories: recognised without the package, read with it, never changed."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servers
import zarrscope
from narrowing import as_array, as_group, not_none
from zarrscope.errors import BadChunk, NotFound, ReadOnly, Refused, Unreadable, Unsupported
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address import absolute_address, address_with, split_address
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.store import Store


@pytest.fixture
def lookalike(tmp_path: Path) -> Path:
    for name in ("snapshots", "manifests", "transactions", "refs", "chunks"):
        (tmp_path / "x" / name).mkdir(parents=True)
        (tmp_path / "x" / name / "ABC").write_bytes(b"ICE")
    return tmp_path / "x"


def test_without_the_package_it_is_recognised(lookalike: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.stores.icechunk.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="Icechunk repository, which is read through a package") as caught:
        zarrscope.open(lookalike)
    assert caught.value.advice == "Run: pip install icechunk"


@pytest.mark.parametrize("mode", ["r+", "a", "w-"])
def test_nothing_is_written_into_one(lookalike: Path, mode: str) -> None:
    before = sorted(lookalike.rglob("*"))
    with pytest.raises((Unsupported, zarrscope.ZarrscopeError), match=r"Icechunk|not empty"):
        zarrscope.open(lookalike, mode)  # type: ignore[arg-type]  # the modes of Mode, one by one
    assert sorted(lookalike.rglob("*")) == before


def test_folders_of_other_names_are_none(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    with pytest.raises(zarrscope.NotFound):
        zarrscope.open(tmp_path)


def test_the_branch_main_is_read(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = tmp_path / "repository"
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place)))
    session = repository.writable_session("main")
    zarr.group(session.store).create_array("a", shape=(4,), dtype="u2", chunks=(2,))[:] = [1, 2, 3, 4]
    session.commit("first")
    with zarrscope.open(place) as h:
        assert as_array(h["/a"])[...].tolist() == [1, 2, 3, 4]
        assert [child.name for child in as_group(h["/"]).children()] == ["a"]
        assert not h.writable
        assert not_none(h.recognition).kind == "icechunk"
        assert not h.warnings
        assert pickle.loads(pickle.dumps(h["/a"]))[...].tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------------- versions
@pytest.fixture
def versions(tmp_path: Path) -> dict[str, str]:
    """A repository: /a is 1 in its first snapshot and in the tag v1, 2 in the branch "dev x", 3 in main. Returns its
    path as "place" and the IDs of the three snapshots."""
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = str(tmp_path / "repository")
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(place))
    session = made.writable_session("main")
    root = zarr.group(session.store)
    root.create_array("a", shape=(2,), dtype="u2")[:] = 1
    root.create_group("g").create_array("b", shape=(2,), dtype="u2")[:] = 1
    found = {"place": place, "first": session.commit("first")}
    made.create_tag("v1", found["first"])
    made.create_branch("dev x", found["first"])
    for branch, value in (("dev x", 2), ("main", 3)):
        session = made.writable_session(branch)
        for path in ("a", "g/b"):
            zarr.open_array(session.store, path=path)[:] = value
        found[branch] = session.commit(f"all {value}")
    return found


VERSIONS = [
    ("", 3, "branch main"),
    ("@branch.main", 3, "branch main"),
    ("//@branch.main", 3, "branch main"),
    ("@branch.dev%20x", 2, "branch dev x"),
    ("@branch.dev x", 2, "branch dev x"),
    ("@tag.v1", 1, "tag v1"),
    ("@{first}", 1, "snapshot {first}"),
    ("@{dev x}", 2, "snapshot {dev x}"),
]


@pytest.mark.parametrize(("version", "value", "kind"), VERSIONS)
@pytest.mark.parametrize("node", ["", "/g/b", "/|zarr3:g/b"], ids=["root", "node", "node of a format"])
def test_a_version_is_named_as_by_neuroglancer(
    versions: dict[str, str], version: str, value: int, kind: str, node: str
) -> None:
    version, kind = version.format(**versions), kind.format(**versions)
    address = f"{versions['place']}|icechunk:{version}{node if version else node.removeprefix('/')}"
    with zarrscope.open(address) as h:
        assert h.initial_path.strip("/") == ("g/b" if node else "")
        assert as_array(h["/a"])[...].tolist() == [value] * 2
        assert as_array(h["/g/b"])[...].tolist() == [value] * 2
        told = not_none(h.recognition).sentence
        assert told.startswith(f"This is the {kind}")
        assert told.endswith("of an Icechunk repository, read-only")
        snapshot = {1: versions["first"], 2: versions["dev x"], 3: versions["main"]}[value]
        assert snapshot in told
        assert not h.writable
        assert pickle.loads(pickle.dumps(h["/a"]))[...].tolist() == [value] * 2
        url = h.url
    with zarrscope.open(url) as again:  # as messages, recent places and copied code name it
        assert as_array(again["/a"])[...].tolist() == [value] * 2
    whole = absolute_address(address)
    assert split_address(split_address(whole).text) == split_address(whole)
    with zarrscope.open(whole) as again:
        assert as_array(again["/a"])[...].tolist() == [value] * 2
        assert again.initial_path.strip("/") == ("g/b" if node else "")


@pytest.mark.parametrize(
    ("option", "value"), [({"branch": "dev x"}, 2), ({"tag": "v1"}, 1), ({"snapshot": "{first}"}, 1)]
)
@pytest.mark.parametrize(
    ("stated", "node"), [("", ""), ("|icechunk:", ""), ("|icechunk:@branch.main", ""), ("/a", "a")]
)
def test_a_version_is_an_option(
    versions: dict[str, str], option: dict[str, str], value: int, stated: str, node: str
) -> None:
    option = {name: text.format(**versions) for name, text in option.items()}
    address = versions["place"] + stated
    with zarrscope.open(address, storage_options=option) as h:
        assert as_array(h["/a"])[...].tolist() == [value] * 2
        assert h.initial_path.strip("/") == node
    with zarrscope.open(address_with(address, option)) as h:
        assert as_array(h["/a"])[...].tolist() == [value] * 2


def test_options_name_one_version(versions: dict[str, str]) -> None:
    with pytest.raises(Refused, match="branch and tag name two versions"):
        zarrscope.open(versions["place"], storage_options={"branch": "main", "tag": "v1"})


@pytest.mark.parametrize(
    ("version", "named"),
    [("@tag.v9", "tag 'v9'"), ("@branch.", "branch ''"), ("@branch.v1", "branch 'v1'"), ("@NONE", "snapshot 'NONE'")],
)
def test_a_version_that_does_not_exist_lists_those_that_do(versions: dict[str, str], version: str, named: str) -> None:
    told = f"The Icechunk repository has no {named}; it has the branches dev x, main and the tag v1"
    with pytest.raises(NotFound) as caught:
        zarrscope.open(f"{versions['place']}|icechunk:{version}")
    assert caught.value.message == told
    assert "@branch.NAME" in str(caught.value.advice)


def test_a_snapshot_of_another_repository_does_not_exist(versions: dict[str, str]) -> None:
    other = "0" * len(versions["first"])
    with pytest.raises(NotFound, match=f"no snapshot '{other}'; it has the branches"):
        zarrscope.open(f"{versions['place']}|icechunk:@{other}")


@pytest.mark.parametrize("mode", ["r+", "a", "w-"])
@pytest.mark.parametrize("version", ["@tag.v1", "@branch.dev x", "@{first}"])
def test_no_version_is_written(versions: dict[str, str], version: str, mode: Any) -> None:
    before = sorted(Path(versions["place"]).rglob("*"))
    with pytest.raises(Unsupported, match="into which zarrscope does not write"):
        zarrscope.open(f"{versions['place']}|icechunk:{version.format(**versions)}", mode)
    assert sorted(Path(versions["place"]).rglob("*")) == before


def test_a_version_of_a_folder_that_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no Icechunk repository here"):
        zarrscope.open(f"{tmp_path}|icechunk:@tag.v1")
    with pytest.raises(Refused, match="names its repository after '::'"):
        zarrscope.open("icechunk://@tag.v1")


# ---------------------------------------------------------------------- in S3
class OneKey(servers.S3Gate):
    """Refuses every request that is not signed with the access key `key`; "": every signed one."""

    key: str | None = None

    def refusal(self, environ: Any) -> servers.S3Refusal | None:
        signed = environ.get("HTTP_AUTHORIZATION", "")
        if self.key is None or (f"Credential={self.key}/" in signed if self.key else not signed):
            environ["HTTP_AUTHORIZATION"] = signed or "AWS k:s"  # moto itself shows unsigned readers only public values
            return None
        return servers.S3Refusal("403 Forbidden", "InvalidAccessKeyId")


@pytest.fixture(scope="module")
def gate() -> OneKey:
    return OneKey()


@pytest.fixture(scope="module")
def s3(gate: OneKey) -> Iterator[str]:
    """A server of S3 with a repository at s3://ice/x."""
    icechunk = pytest.importorskip("icechunk")
    import zarr

    with servers.s3(gate) as url:
        servers.create_bucket(url, "ice")
        place = {"bucket": "ice", "prefix": "x", "endpoint_url": url, "allow_http": True, "force_path_style": True}
        keys = {"region": "us-east-1", "access_key_id": "k", "secret_access_key": "s"}
        session = icechunk.Repository.create(icechunk.s3_storage(**place, **keys)).writable_session("main")
        zarr.group(session.store).create_array("a", shape=(4,), dtype="u2", chunks=(2,))[:] = [1, 2, 3, 4]
        session.commit("first")
        yield url


@pytest.mark.parametrize("way", ["options", "profile", "environment", "anonymous", "anonymous at last"])
def test_a_bucket_is_read_with_the_credentials_that_work(
    way: str, s3: str, gate: OneKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*os.environ]:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setattr(gate, "key", "" if way.startswith("anonymous") else "lab-key")
    url, options = f"s3://ice/x?endpoint={s3}&region=us-east-1", {}
    if way == "options":
        options = {"key": "lab-key", "secret": "lab-secret"}
    elif way == "profile":
        (tmp_path / ".aws").mkdir()
        (tmp_path / ".aws" / "credentials").write_text(
            "[lab]\naws_access_key_id = lab-key\naws_secret_access_key = lab-secret\n"
        )
        url += "&profile=lab"
    elif way != "anonymous":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "lab-key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "lab-secret")
    else:
        url += "&anon=1"
    with zarrscope.open(url, storage_options=options) as h:
        array = h["/a"]
        assert isinstance(array, zarrscope.Array)
        assert array[...].tolist() == [1, 2, 3, 4]
    with zarrscope.open(f"{url}|icechunk:@branch.main", storage_options=options) as h:
        assert as_array(h["/a"])[...].tolist() == [1, 2, 3, 4]
    with zarrscope.open(url.replace("ice/x", "ice/x/a"), storage_options=options) as h:
        assert h.initial_path.strip("/") == "a"
        assert as_array(h["/a"])[...].tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------------- faults
VALUES = np.random.default_rng(1).integers(0, 60_000, 4000).astype("uint16")
"""Two chunks of random values, which are too large to be kept within a manifest."""
DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
}


def _newest_format() -> int:
    """The newest format of repositories that the installed icechunk writes."""
    try:
        return int(metadata.version("icechunk").partition(".")[0])
    except metadata.PackageNotFoundError:
        return 1


@pytest.fixture(params=range(1, _newest_format() + 1), ids="format {}".format)
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A repository in each format. In the second one, the file "repo" holds the branches and tags, not the folder
    "refs"."""
    icechunk = pytest.importorskip("icechunk")
    import zarr

    asked = {"spec_version": request.param} if _newest_format() > 1 else {}
    made = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repository")), **asked)
    session = made.writable_session("main")
    array = zarr.group(session.store).create_array("a", shape=(4000,), dtype="u2", chunks=(2000,), fill_value=9)
    array[:] = VALUES
    made.create_tag("first", session.commit("first"))
    return made


def read(h: zarrscope.Hierarchy) -> None:
    assert [child.name for child in as_group(h.root).children()] == ["a"]
    array = h["/a"]
    assert isinstance(array, zarrscope.Array)
    np.testing.assert_array_equal(array[...], VALUES)


@pytest.mark.parametrize("before", [False, True], ids=["then opened", "while open"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", ["refs", "snapshots", "manifests", "chunks", "everything"])
def test_a_damaged_file_is_one_sentence_and_no_fill_value(
    repository: Any, tmp_path: Path, kind: str, damage: str, before: bool
) -> None:
    place = tmp_path / "repository"
    h = zarrscope.open(place) if before else None
    damaged = place if kind == "everything" else place / kind
    if kind == "refs" and not damaged.exists():
        damaged = place / "repo"
    for path in [damaged, *damaged.rglob("*")]:
        if path.is_file():
            DAMAGES[damage](path)
    if before and kind in ("refs", "snapshots"):
        assert h is not None
        read(h)  # the session holds them
        return
    with pytest.raises((Unreadable, BadChunk, NotFound)) as caught:
        read(h or zarrscope.open(place))
    error = caught.value
    assert not isinstance(error, NotFound) or kind in ("refs", "everything"), error
    assert error.store == place.as_uri()
    assert kind in ("refs", "everything") or error.key is not None
    assert error.advice
    assert "context" not in error.message
    assert error.message.isprintable()


def test_a_repository_that_is_erased_while_open(repository: Any, tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "repository")
    shutil.rmtree(tmp_path / "repository")
    with pytest.raises(Unreadable, match="The Icechunk repository cannot be read") as caught:
        read(h)
    assert caught.value.key in ("a/c/0", "a/c/1")


def test_a_session_of_another_branch_tag_or_snapshot_is_given(repository: Any, tmp_path: Path) -> None:
    snapshot = repository.lookup_tag("first")
    repository.create_branch("other", snapshot)
    for options in ({"branch": "other"}, {"tag": "first"}, {"snapshot_id": snapshot}):
        read(zarrscope.open(repository.readonly_session(**options).store))
    for path in (tmp_path / "repository" / "chunks").iterdir():
        path.unlink()
    with pytest.raises(Unreadable, match="The Icechunk repository cannot be read") as caught:
        read(zarrscope.open(repository.readonly_session(tag="first").store))
    assert caught.value.key in ("a/c/0", "a/c/1")
    assert "restore it from a copy" in str(caught.value.advice)


@pytest.mark.parametrize("repository", [1], indirect=True)  # in the second format, no repository lacks that branch
def test_without_the_branch_main_the_next_step_is_named(repository: Any, tmp_path: Path) -> None:
    repository.create_branch("other", repository.lookup_tag("first"))
    shutil.rmtree(tmp_path / "repository" / "refs" / "branch.main")
    with pytest.raises(Unreadable, match="The Icechunk repository cannot be opened") as caught:
        zarrscope.open(tmp_path / "repository")
    assert "It needs a branch main" in str(caught.value.advice)
    assert "Restore missing or damaged files from a copy." in str(caught.value.advice)  # icechunk opens no other branch


def test_a_format_that_icechunk_does_not_know(lookalike: Path) -> None:
    pytest.importorskip("icechunk")
    (lookalike / "refs" / "branch.main").mkdir(parents=True)
    (lookalike / "refs" / "branch.main" / "ref.json").write_text('{"snapshot":"1CECHNKREP0F1RSTCMT0"}')
    (lookalike / "snapshots" / "1CECHNKREP0F1RSTCMT0").write_bytes(b"ICE\xf0\x9f\xa7\x8aCHUNK" + bytes(100))
    with pytest.raises(Unreadable, match="The Icechunk repository cannot be") as caught:
        zarrscope.open(lookalike)
    assert caught.value.store == lookalike.as_uri()
    assert caught.value.advice


# ---------------------------------------------------------------------- operations
KEYS = ("zarr.json", "a/zarr.json", "a/c/0", "a/c/1", "g/zarr.json", "g/b/zarr.json", "g/b/c/0/0", "g/b/c/0/1")
PARTS = (
    ByteRange(0, None), ByteRange(3, 4), ByteRange(8, 1000), ByteRange(100_000, 5), ByteRange(0, 0), ByteRange.last(3),
    ByteRange.last(100_000), ByteRange.last(0),
)  # fmt: skip


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, MemoryStore]]:
    """A repository, and its keys and values in memory. The contract of stores has keys that Icechunk refuses."""
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = tmp_path / "operations"
    session = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place))).writable_session("main")
    root = zarr.group(session.store)
    root.create_array("a", shape=(4,), dtype="u2", chunks=(2,), compressors=None)[:] = [1, 2, 3, 4]
    inner = root.create_group("g").create_array("b", shape=(2, 8), dtype="u8", chunks=(2, 4), compressors=None)
    inner[:] = np.arange(1, 17).reshape(2, 8)
    session.commit("first")
    with zarrscope.open(place) as h:
        values = MemoryStore({key: not_none(h.store.get(key)) for key in KEYS})
        assert not_none(values.get("a/c/1")) == np.array([3, 4], "<u2").tobytes()
        yield h.store, values


def test_all_keys_and_levels_are_listed(stores: tuple[Store, MemoryStore]) -> None:
    store, values = stores
    assert sorted(store.list()) == sorted(KEYS)
    for prefix in ("", "a/", "g/", "g/b/", "g/b/c/", "no/"):
        assert sorted(store.list_prefix(prefix)) == sorted(values.list_prefix(prefix)), prefix
        told = {(each.name, each.is_prefix) for each in store.list_dir(prefix)}
        assert told == {(each.name, each.is_prefix) for each in values.list_dir(prefix)}, prefix


def test_values_and_their_parts_are_read(stores: tuple[Store, MemoryStore]) -> None:
    store, values = stores
    requests = [(key, part) for key in (*KEYS, "a/c/9", "no/zarr.json") for part in (None, *PARTS)]
    for key, part in requests:
        assert store.get(key, part) == values.get(key, part), (key, part)
    assert dict(store.get_many(requests)) == dict(values.get_many(requests))
    assert store.get_partial_values(requests) == values.get_partial_values(requests)
    for key in KEYS:
        assert not_none(store.get_versioned(key))[0] == values.get(key)
        assert store.bulk.size_of(key) in (None, len(not_none(values.get(key))))


def test_the_children_of_a_group_are_surveyed(stores: tuple[Store, MemoryStore]) -> None:
    store, values = stores
    for prefix in ("", "g/"):
        told = [{*each.bulk.scan_children(prefix, ("zarr.json",), read=True)} for each in stores]
        assert told[0] == told[1], prefix
    asked = (*KEYS, "a/c/9")
    assert {*store.bulk.filter_existing(asked)} >= {*values.bulk.filter_existing(asked)}


def test_every_way_of_writing_is_refused(stores: tuple[Store, MemoryStore]) -> None:
    store, _ = stores
    for write in (
        lambda: store.set("a/c/0", b"x"),
        lambda: store.erase("a/c/0"),
        lambda: store.erase_prefix("a/"),
        lambda: store.set_partial_values([("a/c/0", 0, b"x")]),
    ):
        with pytest.raises(ReadOnly):
            write()


def test_a_shard_that_is_not_stored_is_the_fill_value(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    import zarr

    session = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "x"))).writable_session(
        "main"
    )
    array = zarr.group(session.store).create_array("a", shape=(8,), dtype="u2", chunks=(2,), shards=(4,), fill_value=9)
    array[:4] = [1, 2, 3, 4]
    session.commit("first")
    with zarrscope.open(tmp_path / "x") as h:
        assert as_array(h["/a"])[...].tolist() == [1, 2, 3, 4, 9, 9, 9, 9]
        assert as_array(h["/a"])[5:7].tolist() == [9, 9]
