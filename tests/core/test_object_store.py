"""The contracts of stores over bucket services on this machine: S3 (moto), Azure (Azurite), Google (fake-gcs-server
behind gcs_xml.py, because obstore uses the XML interface).
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import gcs_xml
import servers
import zarrscope
from contracts.store import Writing
from contracts.wire import wire
from narrowing import as_array, as_group
from zarrscope.errors import Conflict, Denied, NotFound, Refused
from zarrscope.model.storage import ABSENT
from zarrscope.stores import google_keys
from zarrscope.stores.credentials import SERVICES, logins, passed_over
from zarrscope.stores.object_store import ObjectStore
from zarrscope.stores.service_answers import code_of, sentence

_numbers = count()


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest) -> Iterator[str]:
    with getattr(servers, request.param)() as url:
        yield url


class InBuckets(Writing):
    """A new bucket for each store."""

    url: str
    scheme: str

    def bucket(self) -> str:
        """Makes one."""
        return _new_bucket(self.url)

    def address(self, bucket: str) -> str:
        return f"{self.scheme}://{bucket}/x.zarr"

    def options(self) -> dict[str, Any]:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _service(self, service: str) -> None:
        self.url = service

    def empty(self) -> ObjectStore:
        return ObjectStore(self.address(self.bucket()), writable=True, **self.options())

    def test_the_bytes_of_chunks_are_not_copied(self) -> None:
        value = bytes(range(256)) * 300
        store = self.filled({"k": value})
        ((_, view),) = store.bulk.get_views([("k", None)])
        assert isinstance(view, memoryview), "the memory is obstore's"
        assert view == value
        assert dict(store.get_many([("k", None)])) == {0: value}
        assert isinstance(store.get("k"), bytes)

    def filled(self, values: Mapping[str, bytes]) -> ObjectStore:
        store = self.empty()
        for key, value in values.items():
            store.set(key, value)
        return store


@pytest.mark.parametrize("service", ["s3"], indirect=True, scope="module")
class TestS3(InBuckets):
    scheme = "s3"

    def options(self) -> dict[str, Any]:
        return {"key": "k", "secret": "s", "endpoint": self.url, "region": "us-east-1"}


@pytest.mark.needs("azure")
@pytest.mark.parametrize("service", ["azure"], indirect=True, scope="module")
class TestAzure(InBuckets):
    scheme = "az"

    def bucket(self) -> str:
        name = f"bucket-{next(_numbers)}"
        servers.create_container(self.url, name)
        return name

    def options(self) -> dict[str, Any]:
        return {"account_name": "devstoreaccount1", "account_key": servers.AZURE_KEY, "endpoint": self.url}

    def test_the_hierarchies_in_a_container_share_its_connections(self) -> None:
        """Making a connection takes two or three round trips. (moto closes each one after one answer.)"""
        container, place = self.bucket(), urlsplit(self.url)
        with wire(place.port or 0) as between:
            options = {**self.options(), "endpoint": f"http://127.0.0.1:{between.port}{place.path}"}
            connected = []
            for name in ("a.zarr", "folder of/b%20~.zarr", ""):
                store = ObjectStore(f"az://{container}/{name}", writable=True, **options)
                store.set("g/k", b"value")
                assert store.get("g/k") == b"value"
                assert [entry.name for entry in store.list_dir("g/")] == ["k"]
                assert "g/k" in store.list()
                store.erase("g/k")
                store.set("n", name.encode())
                connected.append(between.connected)
            # One is for requests and one for listings; a request that begins just before the last one has returned its
            # connection makes another. Hierarchies that shared none would make two each.
            assert connected[-1] < 2 * len(connected), connected
            assert sorted(store.list()) == ["a.zarr/n", "folder of/b%20~.zarr/n", "n"]


@pytest.mark.needs("gcs")
@pytest.mark.parametrize("service", ["gcs_by_xml"], indirect=True, scope="module")
class TestGCS(InBuckets):
    scheme = "gs"

    def options(self) -> dict[str, Any]:
        return gcs_xml.options(self.url)

    def test_a_bucket_that_does_not_exist_is_named(self) -> None:
        with pytest.raises(NotFound, match="no bucket 'other'"):
            zarrscope.open("gs://other/x.zarr", storage_options=self.options())

    def test_an_array_is_written_and_read(self) -> None:
        address, values = self.address(self.bucket()), np.arange(4096, dtype="u2").reshape(64, 64)
        with zarrscope.open(address, "w-", storage_options=self.options()) as h:
            h.create_array("/g/a", shape=(64, 64), dtype="u2", chunks=(4, 4), shards=(16, 16))[...] = values
            h.create_array("/b", shape=(64, 64), dtype="u2", chunks=(4, 4))[...] = values
            h["/g"].attrs["unit"] = "µm"
        with zarrscope.open(address, storage_options=self.options()) as h:
            assert sorted(child.name for child in as_group(h["/"]).children()) == ["b", "g"]
            assert h["/g"].attributes == {"unit": "µm"}
            for path in ("/g/a", "/b"):
                array = h[path]
                assert isinstance(array, zarrscope.Array)
                assert np.array_equal(array[...], values)

    def test_without_credentials_it_is_read(self) -> None:
        bucket = self.bucket()
        ObjectStore(self.address(bucket), writable=True, **self.options()).set("a", b"value")
        public = ObjectStore(f"{self.address(bucket)}?endpoint={self.url}&anon=1", writable=True)
        assert public.get("a") == b"value"
        assert list(public.list()) == ["a"]
        with pytest.raises(Denied, match="without credentials"):
            public.set("a", b"other")


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with servers.s3() as url:
        yield url


def _new_bucket(url: str) -> str:
    name = f"bucket-{next(_numbers)}"
    servers.create_bucket(url, name)
    return name


@pytest.mark.parametrize("name", ["a~b", "a%b", "a%20b", "a b", "ü", "a[1]", "a#b", "a*b", "a{b", "a\\b", "a//b"])
def test_a_hierarchy_below_an_odd_name(moto: str, name: str) -> None:
    bucket = _new_bucket(moto)
    options: dict[str, Any] = {"key": "k", "secret": "s", "endpoint": moto, "region": "us-east-1"}
    beside = ObjectStore(f"s3://{bucket}/{name}/x.zarr2", writable=True, **options)
    beside.set("k", b"another hierarchy, whose name begins the same way")
    store = ObjectStore(f"s3://{bucket}/{name}/x.zarr", writable=True, **options)
    store.set("g/k", b"value")
    assert store.get("g/k") == b"value"
    assert list(store.list()) == ["g/k"]
    assert [*map(str, (entry.name for entry in store.list_dir("")))] == ["g"]
    assert ObjectStore(f"s3://{bucket}", **options).get(f"{name.replace('//', '/')}/x.zarr/g/k") == b"value"
    store.erase_prefix("")
    assert not list(store.list())
    assert list(beside.list()) == ["k"]


def test_what_is_written_is_read_by_zarr_python(moto: str) -> None:
    zarr = pytest.importorskip("zarr")
    bucket = _new_bucket(moto)
    options = {"key": "k", "secret": "s", "endpoint": moto, "region": "us-east-1"}
    values = np.arange(64, dtype="u2").reshape(8, 8)
    with zarrscope.open(f"s3://{bucket}/x.zarr", "w-", storage_options=options) as h:
        h.create_array("/g/a", shape=(8, 8), dtype="u2", chunks=(2, 2), shards=(4, 4))[...] = values
        h["/g"].attrs["unit"] = "µm"
    theirs = {"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": moto}}
    group = zarr.open_group(f"s3://{bucket}/x.zarr", mode="r", storage_options=theirs)
    assert np.array_equal(group["g/a"][...], values)
    assert group["g"].attrs["unit"] == "µm"
    assert np.array_equal(zarrscope.open_array(f"s3://{bucket}/x.zarr", "/g/a", storage_options=options)[...], values)


def test_a_conditional_put_reads_the_stored_value_only_where_versions_differ(
    moto: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import obstore

    options = {"key": "k", "secret": "s", "endpoint": moto, "region": "us-east-1"}
    store = ObjectStore(f"s3://{_new_bucket(moto)}/x", writable=True, **options)
    read: list[str] = []
    get = obstore.get_async

    def counted(client: Any, key: str, **more: Any) -> Any:
        read.append(key)
        return get(client, key, **more)

    monkeypatch.setattr(obstore, "get_async", counted)
    first = store.set("n", b"0", ABSENT)
    second = store.set("n", b"1", first)
    assert read == []
    with pytest.raises(Conflict) as caught:
        store.set("n", b"2", first)
    assert caught.value.theirs == b"1"
    assert read == ["x/n"]
    assert store.set("n", b"3", second) != second


NOT_CONNECTED = "\n\nDebug source: uri: Some(\n https://h:1/b/x,\n), inner: Http(HttpError { kind: Connect, "
"""The beginning of obstore's details if no connection was made."""


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (
            "status code: 403 Forbidden <Error><Code>InvalidAccessKeyId</Code><Message>No such key.</Message>",
            "InvalidAccessKeyId",
            "403 Forbidden: No such key",
        ),
        ('{"error": {"message": "No.", "errors": [{"reason": "forbidden"}]}}', "forbidden", "No"),
        ("Generic error\n  of  S3\n\nDebug source:\nmuch", "", "Generic error of S3"),
        ("status code: 503 Service Unavailable", "", "503 Service Unavailable"),
        (f"failed{NOT_CONNECTED}InvalidCertificate(", "", "h:1 cannot be reached: its certificate is not accepted"),
        (
            f"failed{NOT_CONNECTED}TunnelUnsuccessful",
            "",
            "h:1 cannot be reached: the proxy of HTTPS_PROXY refuses the connection",
        ),
        (
            f'failed{NOT_CONNECTED}ConnectError("tcp connect error", 10.0.0.1:8, Os {{message: "Connection refused"}}',
            "",
            "h:1 cannot be reached: Connection refused by 10.0.0.1:8",
        ),
        (f"failed{NOT_CONNECTED}of another version", "", "failed"),
    ],
)
def test_the_code_and_the_sentence_of_a_service(text: str, code: str, said: str) -> None:
    error = RuntimeError(text)
    assert (code_of(error), sentence(error)) == (code, said)


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without configuration, and an environment without variables of any service."""
    for name in [*os.environ]:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "STORAGE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("zarrscope.stores.credentials._machine", lambda fact: "")
    return tmp_path


def _names(scheme: str, **options: Any) -> list[str]:
    return [login.name for login in logins(SERVICES[scheme], options)]


def test_credentials_are_tried_in_their_order(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _names("s3") == _names("gs") == _names("az") == ["without credentials"]
    (nobody / ".aws").mkdir()
    (nobody / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id=a\naws_secret_access_key=b\n[lab]\naws_access_key_id=c\naws_secret_access_key=d\n"
    )
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "e")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "f")
    assert _names("s3") == ["the environment", "the profile default", "without credentials"]
    assert _names("s3", profile="lab") == ["the profile lab"]
    assert _names("s3", anon=True) == ["without credentials"]
    assert _names("s3", key="g", secret="h") == ["the options"]
    with pytest.raises(Refused, match="no profile 'no'"):
        _names("s3", profile="no")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "me")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0")
    assert _names("az") == ["the environment", "without credentials"]
    assert _names("az", account_name="another") == ["without credentials"]


@pytest.mark.parametrize(
    ("address", "options", "url"),
    [
        ("s3://b/x", {}, "https://s3.us-east-1.amazonaws.com/b/x/a%20b"),
        ("s3://b/x", {"region": "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/b/x/a%20b"),
        ("s3://b/x", {"endpoint": "http://h:1"}, "http://h:1/b/x/a%20b"),
        ("gs://b/x", {}, "https://storage.googleapis.com/b/x/a%20b"),
        ("gs://b/x", {"endpoint": "http://h:1"}, "http://h:1/b/x/a%20b"),
        ("abfs://b@me.dfs.core.windows.net/x", {}, "https://me.blob.core.windows.net/b/x/a%20b"),
    ],
)
def test_a_public_bucket_too_is_asked_how_long_to_wait(
    address: str, options: dict[str, Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def pause(url: str, timeout: float) -> float:
        asked.append(url)
        return 7.0

    monkeypatch.setattr("zarrscope.stores.object_requests.pause_asked_for", pause)
    store = ObjectStore(address, anon=True, **options)
    assert asyncio.run(store._pause_asked_for("a b")) == 7.0
    assert asked == [url]


def test_the_service_is_asked_for_the_pause_of_an_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of an archive is empty, as that of a whole bucket, for which there is nothing to ask."""
    asked: list[str] = []

    def pause(url: str, timeout: float) -> float:
        asked.append(url)
        return 7.0

    monkeypatch.setattr("zarrscope.stores.object_requests.pause_asked_for", pause)
    keys: dict[str, Any] = {"key": "k", "secret": "s", "region": "us-east-1"}
    anonymous: dict[str, Any] = {"anon": True}
    for options in (anonymous, keys):
        store = ObjectStore("s3://b/x/a b.zip", endpoint="http://h:1", **options)
        assert asyncio.run(store._pause_asked_for("")) == 7.0
    assert [url.partition("?")[0] for url in asked] == ["http://h:1/b/x/a%20b.zip"] * 2
    assert asyncio.run(ObjectStore("s3://b", endpoint="http://h:1", **keys)._pause_asked_for("")) == 0.0


def test_no_secret_is_in_what_is_shown(nobody: Path) -> None:
    (login,) = logins(SERVICES["s3"], {"key": "AKIAEXAMPLE", "secret": "do-not-tell"})
    assert "do-not-tell" not in repr(login)
    store = ObjectStore("s3://bucket/x", key="AKIAEXAMPLE", secret="do-not-tell")
    assert b"do-not-tell" not in pickle.dumps(store)


@pytest.fixture
def lab(nobody: Path) -> Path:
    """A home folder with the profile "lab"."""
    (nobody / ".aws").mkdir()
    (nobody / ".aws" / "credentials").write_text("[lab]\naws_access_key_id=k\naws_secret_access_key=s\n")
    return nobody


def test_options_in_an_address_open_it_everywhere(moto: str, lab: Path) -> None:
    url = f"s3://{_new_bucket(moto)}/x.zarr?endpoint={moto}&region=us-east-1"
    assert ObjectStore(url + "&anon=1")._login_in_use.name == "without credentials"
    with zarrscope.open(url + "&profile=lab", "w-") as h:
        h.create_array("/a", shape=(2,), dtype="u1")[...] = 7
    for address in (url + "&profile=lab", url + "&profile=lab&backend=fsspec"):
        with zarrscope.open(address) as h:
            assert h.url == address
            assert as_array(h["/a"])[...].tolist() == [7, 7]
            assert pickle.loads(pickle.dumps(h["/a"]))[...].tolist() == [7, 7]
    with pytest.raises(Denied, match="Tried: without credentials"):
        zarrscope.open(url)
    with pytest.raises(Refused, match="no backend 'other'"):
        zarrscope.open(url + "&backend=other")


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_a_denial_names_the_credentials_that_were_not_used(
    backend: str, moto: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    url = f"s3://{_new_bucket(moto)}/x.zarr?endpoint={moto}&region=us-east-1"
    zarrscope.open(url, "w-", storage_options={"key": "k", "secret": "s"}).close()
    with pytest.raises(Denied) as caught:
        zarrscope.open(f"{url}&backend={backend}")
    assert caught.value.tried == (
        "without credentials",
        "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY: not used",
    )
    assert "AWS_ACCESS_KEY_ID without AWS_SECRET_ACCESS_KEY: not used." in str(caught.value)


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_a_profile_that_does_not_exist_stops_nothing_else(
    backend: str, moto: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://{_new_bucket(moto)}/x.zarr?endpoint={moto}&region=us-east-1"
    keys = {"key": "k", "secret": "s"}
    zarrscope.open(url, "w-", storage_options=keys).close()
    url += f"&backend={backend}"
    monkeypatch.setenv("AWS_PROFILE", "gone")  # only now: the server runs in this process and would read it, too
    with zarrscope.open(url, storage_options=keys) as found:
        assert found.dialect.name == "v3"
    with pytest.raises(Denied) as caught:
        zarrscope.open(url)
    assert caught.value.tried == (
        "without credentials",
        "AWS_PROFILE, a profile gone that is not in ~/.aws: not used",
    )


@pytest.mark.parametrize(
    ("scheme", "variables", "reason"),
    [
        ("s3", {"AWS_SECRET_ACCESS_KEY": "a"}, "AWS_SECRET_ACCESS_KEY without AWS_ACCESS_KEY_ID"),
        ("s3", {"AWS_PROFILE": "gone"}, "AWS_PROFILE, a profile gone that is not in ~/.aws"),
        ("s3", {"AWS_SESSION_TOKEN": "a"}, "AWS_SESSION_TOKEN without AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("gs", {"GOOGLE_APPLICATION_CREDENTIALS": "/none"}, "GOOGLE_APPLICATION_CREDENTIALS, a file that is gone"),
        ("gs", {"GOOGLE_SERVICE_ACCOUNT": "/"}, "GOOGLE_SERVICE_ACCOUNT, a file that cannot be read"),
        ("gs", {"GOOGLE_SERVICE_ACCOUNT_KEY": "{"}, "GOOGLE_SERVICE_ACCOUNT_KEY, not the key of an account"),
        ("az", {"AZURE_CLIENT_ID": "a"}, "AZURE_CLIENT_ID without AZURE_TENANT_ID"),
        (
            "az",
            {"AZURE_STORAGE_ACCOUNT_NAME": "other", "AZURE_STORAGE_ACCOUNT_KEY": "a2V5"},
            "the environment, which has keys of the account 'other'",
        ),
    ],
)
def test_credentials_that_are_passed_over_have_a_reason(
    scheme: str, variables: dict[str, str], reason: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    options = {"account_name": "mine"} if scheme == "az" else {}
    assert passed_over(SERVICES[scheme], options) == (f"{reason}: not used",)
    assert [login.name for login in logins(SERVICES[scheme], options)] == ["without credentials"]
    assert passed_over(SERVICES[scheme], {**options, "anon": True}) == ()


def test_a_login_that_a_stale_account_hides_is_not_called_damaged(
    nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """obstore reads the variables of accounts for every client, and makes none if they are stale."""
    monkeypatch.delenv("APPDATA", raising=False)
    usual = nobody / ".config" / "gcloud" / "application_default_credentials.json"
    usual.parent.mkdir(parents=True)
    usual.write_text('{"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}')
    alone = ObjectStore("gs://alone/x.zarr")
    alone._client()
    assert alone._login_in_use.name == "the login of gcloud"
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(nobody / "gone.json"))
    store = ObjectStore("gs://hidden/x.zarr")
    store._client()
    assert [login.name for login in store._logins] == [
        "the login of gcloud, hidden by GOOGLE_SERVICE_ACCOUNT (unset it): not used",
        "without credentials",
    ]


@pytest.mark.parametrize(
    ("variables", "clause"),
    [
        ({}, ""),
        ({"GOOGLE_SERVICE_ACCOUNT_KEY": "{"}, "hidden by GOOGLE_SERVICE_ACCOUNT_KEY (unset it)"),
        (
            {"GOOGLE_SERVICE_ACCOUNT": "/", "GOOGLE_SERVICE_ACCOUNT_KEY": "{"},
            "hidden by GOOGLE_SERVICE_ACCOUNT and GOOGLE_SERVICE_ACCOUNT_KEY (unset them)",
        ),
    ],
)
def test_the_variables_that_hide_a_login_are_named(
    variables: dict[str, str], clause: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert google_keys.hides({"application_credentials": "/a"}) == clause
    assert google_keys.hides({"service_account": "/a"}) == ""


def test_half_a_profile_is_passed_over(nobody: Path) -> None:
    (nobody / ".aws").mkdir()
    (nobody / ".aws" / "credentials").write_text("[default]\naws_access_key_id=a\n")
    assert passed_over(SERVICES["s3"], {}) == (
        "the profile default, which has aws_access_key_id without aws_secret_access_key: not used",
    )


def test_options_of_a_verb_reach_its_buckets(
    moto: str, lab: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from zarrscope_app.cli import run

    place, beside = f"s3://{_new_bucket(moto)}/x.zarr", str(tmp_path / "x.zarr")
    keys = {"key": "k", "secret": "s", "endpoint": moto, "region": "us-east-1"}
    for url, options in ((place, keys), (beside, None)):
        with zarrscope.open(url, "w-", storage_options=options) as h:
            h.create_group("/g")
    flags = ["--profile", "lab", "--endpoint", moto, "--region", "us-east-1"]
    assert run(["tree", place, *flags]) == 0
    assert "g" in capsys.readouterr().out
    assert run(["diff", place, beside, *flags]) == 0
    assert run(["copy", beside, "g", "h", "--into", place, *flags]) == 0
    assert run(["ls", place, "--anon", *flags[2:]]) == 1
    assert "Tried: without credentials" in capsys.readouterr().err
    assert run(["ls", beside, "--anon"]) != 0
    assert "for buckets, not for this address" in capsys.readouterr().err
