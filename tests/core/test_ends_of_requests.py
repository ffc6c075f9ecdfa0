"""Requests at the end of the process, and clients for credentials that are stale."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from urllib.request import Request, urlopen

import pytest

import servers
from zarrscope.errors import Refused
from zarrscope.stores import google_keys
from zarrscope.stores.address import open_store
from zarrscope.stores.credentials import ANONYMOUS
from zarrscope.stores.object_store import ObjectStore


def test_the_process_waits_for_threads_that_hand_over_answers() -> None:
    """A thread that Python did not start is within `call_soon_threadsafe`, as those of obstore are."""
    code = dedent(
        """
        import _thread, threading, time
        from zarrscope.stores.remote import loop

        here, inside = loop(), threading.Event()
        wake = here._write_to_self

        def slowly():
            inside.set()
            time.sleep(0.3)
            wake()
            print("left", flush=True)

        here._write_to_self = slowly
        _thread.start_new_thread(here.call_soon_threadsafe, (int,))
        inside.wait()
        del here._write_to_self
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without credentials."""
    for name in [*os.environ]:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")) or name in google_keys.FILES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nonexistent")
    monkeypatch.setattr("zarrscope.stores.credentials._machine", lambda fact: "")


BROKEN = '{"client_email": "a", "private_key": "no key", "private_key_id": "1"}'


@pytest.mark.parametrize(
    ("url", "variables"),
    [
        ("s3://b/x.zarr", {"AWS_ACCESS_KEY_ID": "only"}),
        ("s3://b/x.zarr", {"AWS_SECRET_ACCESS_KEY": "only"}),
        ("s3://b/x.zarr?anon=1", {"AWS_ACCESS_KEY_ID": "only"}),
        ("gs://b/x.zarr", {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}),
        ("gs://b/x.zarr?anon=1", {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}),
        ("gs://b/x.zarr", {"GOOGLE_SERVICE_ACCOUNT": "/nonexistent"}),
        ("gs://b/x.zarr", {"GOOGLE_SERVICE_ACCOUNT_PATH": "/nonexistent"}),
        ("gs://b/x.zarr", {"SERVICE_ACCOUNT": "/nonexistent", "GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}),
        ("gs://b/x.zarr", {"GOOGLE_SERVICE_ACCOUNT_KEY": "{"}),
        ("gs://b/x.zarr", {"GOOGLE_SERVICE_ACCOUNT_KEY": BROKEN}),
        ("gs://b/x.zarr?anon=1", {"GOOGLE_SERVICE_ACCOUNT": "/nonexistent"}),
        ("gs://b/x.zarr?anon=1", {"GOOGLE_SERVICE_ACCOUNT_KEY": ""}),
        ("az://b/x.zarr", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_SAS_KEY": "junk"}),
        ("az://b/x.zarr", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "***"}),
    ],
)
def test_stale_credentials_do_not_close_a_public_bucket(
    url: str, variables: dict[str, str], nobody: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    store = ObjectStore(url)
    assert store._client() is not None
    assert store._login_in_use.name == ANONYMOUS


@pytest.fixture(scope="module")
def google() -> Iterator[str]:
    """A server of Google's with the value gs://public/x/a."""
    with servers.gcs_by_xml() as url:
        with urlopen(Request(f"{url}/public", method="PUT")):
            pass
        with urlopen(Request(f"{url}/public/x/a", b"value", method="PUT")):
            pass
        yield url


@pytest.mark.needs("gcs")
@pytest.mark.parametrize("variable", [*google_keys.FILES, google_keys.KEY, google_keys.DEFAULT])
def test_a_public_bucket_of_google_is_read(
    variable: str, google: str, nobody: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv(variable, "/nonexistent")
    store = open_store("gs://public/x", options={"endpoint": google})
    assert [*store.list_prefix("")] == ["a"]
    assert store.get("a") == b"value"


def test_the_key_of_an_account_in_the_environment_is_tried(
    nobody: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.json"
    key.write_text('{"client_email": "a", "private_key": "", "private_key_id": "", "disable_oauth": true}')
    for variable, value in (*((name, str(key)) for name in google_keys.FILES), (google_keys.KEY, key.read_text())):
        with monkeypatch.context() as context:
            context.setenv(variable, value)
            store = ObjectStore("gs://b/x")
            assert store._client() is not None
            assert store._login_in_use.name == "the environment", variable


def test_two_stale_accounts_are_named_with_the_remedy(nobody: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore refuses the pair before it looks at any setting."""
    pytest.importorskip("obstore")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", "/nonexistent")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", "{")
    with pytest.raises(Refused) as caught:
        open_store("gs://pair/x.zarr").get("a")
    assert str(caught.value.advice).startswith("obstore reads GOOGLE_SERVICE_ACCOUNT and GOOGLE_SERVICE_ACCOUNT_KEY")
    assert "unset them" in str(caught.value.advice)
