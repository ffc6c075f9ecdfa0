"""Requests at the end of the process, and clients for credentials that are stale."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

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


@pytest.mark.parametrize(
    ("url", "variables"),
    [
        ("s3://b/x.zarr", {"AWS_ACCESS_KEY_ID": "only"}),
        ("s3://b/x.zarr", {"AWS_SECRET_ACCESS_KEY": "only"}),
        ("s3://b/x.zarr?anon=1", {"AWS_ACCESS_KEY_ID": "only"}),
        ("gs://b/x.zarr", {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}),
        ("gs://b/x.zarr?anon=1", {"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}),
        ("az://b/x.zarr", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_SAS_KEY": "junk"}),
        ("az://b/x.zarr", {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "***"}),
    ],
)
def test_stale_credentials_do_not_close_a_public_bucket(
    url: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore")
    for name in [*os.environ]:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nonexistent")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    store = ObjectStore(url)
    assert store._client() is not None
    assert store._login_in_use.name == ANONYMOUS
