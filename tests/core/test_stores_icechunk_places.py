"""Icechunk repositories in Google Cloud Storage and Azure, in memory, and as objects of the package icechunk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import gcs_xml
import servers
import zarrscope
from contracts.places import Services
from narrowing import as_array, not_none
from zarrscope.errors import Denied, NotFound, Unsupported, ZarrscopeError

icechunk = pytest.importorskip("icechunk")
zarr = pytest.importorskip("zarr")
_numbers = count()


def filled(storage: Any) -> Any:
    """A repository with the tag v1 and, after that, other values in main."""
    repository = icechunk.Repository.create(storage)
    session = repository.writable_session("main")
    array = zarr.group(session.store).create_array("a", shape=(4,), dtype="u2", chunks=(2,))
    array[:] = [1, 2, 3, 4]
    repository.create_tag("v1", session.commit("first"))
    session = repository.writable_session("main")
    zarr.open_array(session.store, path="a")[:] = [5, 6, 7, 8]
    session.commit("second")
    return repository


def values(address: Any, **options: Any) -> list[int]:
    with zarrscope.open(address, storage_options=options or None) as h:
        found: list[int] = as_array(h["/a"])[...].tolist()
        return found


@pytest.fixture(params=["gs", "az", "abfs"])
def place(request: pytest.FixtureRequest, services: Services) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address of a repository in a bucket, and the options with which it is read."""
    scheme: str = request.param
    if (why := servers.missing("gcs" if scheme == "gs" else "azure")) is not None:
        pytest.skip(why)
    name = f"ice-{scheme}-{next(_numbers)}"
    if scheme == "gs":
        servers.create_bucket(services.gcs, name)
        options = gcs_xml.options(services.gcs)
        secrets = {"service_account_key": options["service_account_key"]}
        filled(icechunk.gcs_storage(bucket=name, prefix="x/y", config={"allow_http": "true"}, **secrets))
        yield f"gs://{name}/x/y", options
        return
    servers.create_container(services.azure, name)
    config = {"endpoint": services.azure, "allow_http": "true"}
    filled(
        icechunk.azure_storage(
            account="devstoreaccount1", container=name, prefix="x/y", access_key=servers.AZURE_KEY, config=config
        )
    )
    where = f"az://{name}" if scheme == "az" else f"abfs://{name}@devstoreaccount1.dfs.core.windows.net"
    account = {"account_name": "devstoreaccount1"} if scheme == "az" else {}
    yield f"{where}/x/y", {**account, "account_key": servers.AZURE_KEY, "endpoint": services.azure}


def test_a_repository_in_a_bucket_is_read_at_each_version(place: tuple[str, dict[str, Any]]) -> None:
    address, options = place
    assert values(address, **options) == [5, 6, 7, 8]
    assert values(f"{address}|icechunk:@tag.v1", **options) == [1, 2, 3, 4]
    assert values(address, tag="v1", **options) == [1, 2, 3, 4]
    with zarrscope.open(address, storage_options=options) as h:
        told = not_none(h.recognition)
        assert [(each.kind, each.name, each.shown) for each in told.versions] == [
            ("branch", "main", True), ("tag", "v1", False),
        ]  # fmt: skip
    with zarrscope.open(f"{address}/a", storage_options=options) as h:
        assert h.initial_path.strip("/") == "a"
    with pytest.raises(NotFound, match="no tag 'v9'; it has the branch main and the tag v1"):
        zarrscope.open(f"{address}|icechunk:@tag.v9", storage_options=options)


@pytest.mark.parametrize("place", ["az", "abfs"], indirect=True)  # fake-gcs-server accepts every key
def test_wrong_credentials_are_denied_and_not_shown(place: tuple[str, dict[str, Any]]) -> None:
    address, options = place
    wrong = "d3Jvbmc" + "A" * 40 + "="
    with pytest.raises(ZarrscopeError) as caught:
        zarrscope.open(address, storage_options={**options, "account_key": wrong})
    assert isinstance(caught.value, Denied)
    assert wrong not in str(caught.value)


def test_objects_of_icechunk_are_opened() -> None:
    repository = filled(icechunk.in_memory_storage())
    assert values(repository) == [5, 6, 7, 8]
    session = repository.readonly_session(tag="v1")
    assert values(session) == values(session.store) == [1, 2, 3, 4]
    with pytest.raises(Unsupported, match="written through a session") as caught:
        zarrscope.open(repository, "r+")
    assert "writable_session" in str(caught.value.advice)


def test_a_writable_session_is_written_and_committed_by_its_owner() -> None:
    repository = filled(icechunk.in_memory_storage())
    session = repository.writable_session("main")
    as_array(zarrscope.open(session, "r+")["/a"])[1] = 9
    assert values(repository) == [5, 6, 7, 8]
    session.commit("ours")
    assert values(repository) == [5, 9, 7, 8]


def test_a_repository_without_main_names_the_next_step() -> None:
    def readonly_session(*_: object) -> Any:
        raise ValueError("no such branch")

    made: dict[str, Any] = {"__init__": lambda self: None, "readonly_session": readonly_session}
    repository = type("Repository", (icechunk.Repository,), made)()
    with pytest.raises(zarrscope.Unreadable, match="no such branch") as caught:
        zarrscope.open(repository)
    assert "readonly_session" in str(caught.value.advice)
