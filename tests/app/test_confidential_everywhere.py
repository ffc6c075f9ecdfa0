"""A password in an address that opens appears in no file, message or view."""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import web_server
from narrowing import not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
from zarrscope_app.presenters.layers.presenter import plan
from zarrscope_app.settings import FileSettings

PASSWORD, TOKEN, SIGNATURE = "pa55wordOfAnn", "t0kenOfAnn%2Bx", "f00d5ignature"
SECRETS = (PASSWORD, TOKEN, "t0kenOfAnn+x", SIGNATURE)


@pytest.fixture
def address() -> Iterator[str]:
    """The address of an image on a web server, with a password, a token and a signature."""
    shelf: dict[str, bytes] = {}
    h = zarrscope.open("memory://confidential", "a")
    if "image" not in h:
        a = h.create_array("/image", shape=(16, 16), dtype="uint8", chunks=(8, 8), attributes={"note": "x"})
        a[...] = np.arange(256, dtype="uint8").reshape(16, 16)
    for key in h.store.list_prefix(""):
        shelf[key] = h.store.get(key) or b""
    with web_server(shelf) as server:
        host = server.url.removeprefix("http://").rstrip("/")
        yield f"http://ann:{PASSWORD}@{host}?X-Amz-Security-Token={TOKEN}&X-Amz-Signature={SIGNATURE}"


def nowhere(*places: Any) -> None:
    for place in places:
        text = place.decode("latin-1") if isinstance(place, bytes) else str(place)
        found = [secret for secret in SECRETS if secret in text]
        assert not found, f"{found} in {text[:2000]}"


def command(address: str, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "ZARRSCOPE_DEBUG": "1", "XDG_STATE_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "zarrscope_app", *arguments], capture_output=True, text=True, env=environment, cwd=folder
    )
    return done.stdout + done.stderr


def test_in_nothing_that_the_command_line_writes(address: str, tmp_path: Path) -> None:
    wrong = address.replace("?", "/nothing?")
    told = [
        command(address, tmp_path, *arguments)
        for arguments in (
            ("info", address, "/image"),
            ("info", address, "/image", "--json"),
            ("check", address, "--json", "--resume", "state"),
            ("convert", address, "new.zarr", "--to", "v2", "--dry-run", "--json"),
            ("convert", address, "new.zarr", "--to", "v2"),
            ("diff", address, "new.zarr"),
            ("info", wrong),
            ("info", address, "/missing"),
            ("ls", address, "--nonsense"),
            ("remove", address, "/image", "--yes"),
            ("tree", address.replace("http://", "gopher://")),
        )
    ]
    assert "uint8" in told[0]
    assert "***" in told[0]
    written = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    assert any(b"***" in data for data in written)
    nowhere(*told, *written)


def test_in_nothing_that_python_shows_or_pickles(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    h = zarrscope.open(address)
    group = h["/"]
    array: Any = h["/image"]
    assert int(array[3, 3]) == 51
    pickled = pickle.dumps(array)
    assert int(pickle.loads(pickled)[3, 3]) == 51
    nowhere(pickled, pickle.dumps(h.store))
    for thing in (h, group, array, h.store):
        nowhere(repr(thing), str(thing))
    for thing in (h, group, array):
        nowhere(thing._repr_html_())
    nowhere(h.url, array.store.url, repr(zarrscope.stores.address.split_address(address)))
    for call in (lambda: h["/missing"], lambda: array.resize((1, 1)), lambda: zarrscope.open(address + "&x=1", "w-")):
        try:
            call()
        except zarrscope.ZarrscopeError as error:
            nowhere(traceback.format_exc(), error.__dict__, pickle.dumps(error), repr(error))
        else:
            pytest.fail("it did not fail")
    nowhere(caplog.text)


def test_in_no_task_of_a_cluster(address: str) -> None:
    dask = pytest.importorskip("dask.array")
    lazy = dask.from_array(zarrscope.open(address)["/image"], chunks=(8, 8))
    nowhere(repr(dict(lazy.__dask_graph__())), lazy.name, pickle.dumps(lazy), lazy._repr_html_())
    assert int(lazy.sum().compute(scheduler="sync")) == sum(range(256))


def test_in_nothing_that_a_window_shows_or_keeps(address: str, tmp_path: Path) -> None:
    mailbox = Mailbox()
    workspace = Workspace(mailbox, FileSettings(tmp_path))
    session = workspace.open(address)
    try:
        mailbox.run_until(lambda: session.state.status.value == "ready", 30)
        session.select("/image")
        mailbox.run_until(lambda: session.node is not None and session.state.path == "/image", 30)
        session.select("/missing")
        mailbox.run_until(lambda: bool(session.state.sentence), 30)
        session.metadata.load_documents()
        layers = plan(not_none(session.hierarchy)["/image"])
        nowhere(
            session.state, session.url, session.name, session.view(), workspace.view_text(), workspace.recent,
            session.metadata.text(), session.problems.items, *(layer.source for layer in layers), layers,
            (tmp_path / "recent.json").read_text(),
        )  # fmt: skip
        assert "***" in (tmp_path / "recent.json").read_text()
        assert workspace.open(session.url) is session  # the public form of the address names the same place
        assert workspace.open(address) is session
    finally:
        workspace.close_all()


def test_in_nothing_that_a_notebook_gets(address: str) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter import Explorer

    mailbox = Mailbox()
    explorer = Explorer(address, post=mailbox)
    try:
        mailbox.run_until(lambda: explorer.session.state.status.value == "ready", 30)
        explorer.session.select("/image")
        mailbox.run_until(lambda: explorer.session.node is not None, 30)
        explorer._send_parts()
        nowhere(json.dumps(explorer.view), repr(explorer), explorer.code, explorer.page(), explorer.get_state())
    finally:
        explorer.close()


def test_in_nothing_that_another_process_prints_without_asking_us(address: str) -> None:
    """A script with debug logging and an uncaught error; messages of other libraries pass through it too."""
    program = f"""
import logging, zarrscope
logging.basicConfig(level=logging.DEBUG)
h = zarrscope.open({address!r})
print(h, h["/image"], h["/image"].store)
h["/missing"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "NotFound" in done.stderr
    nowhere(done.stdout)
    nowhere("\n".join(line for line in done.stderr.splitlines() if 'open("http' not in line))


def test_in_no_error_of_a_server_that_is_gone(address: str) -> None:
    from zarrscope.stores.http import HTTPStore

    gone = address.replace("127.0.0.1", "no-such-host.invalid")
    for call in (lambda: HTTPStore(gone, attempts=1).get("zarr.json"), lambda: zarrscope.open(gone)):
        try:
            call()
        except zarrscope.ZarrscopeError as error:
            out = io.StringIO()
            traceback.print_exception(error, file=out)
            nowhere(out.getvalue(), repr(error))
        else:
            pytest.fail("it did not fail")
