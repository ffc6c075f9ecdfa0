"""*Open in* a viewer in the browser: its links, and the loopback server that gives it access to local files."""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf, small_image
from narrowing import as_array, not_none
from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.loopback import LoopbackServer
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.session import open_in
from zarrscope_app.presenters.session.open_in import (
    NEUROGLANCER,
    VIZARR,
    Destination,
    fiji_command,
    napari_command,
    terminals,
)
from zarrscope_app.presenters.session.state_text import decode_view

VALUES = bytes(range(100))


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    server = LoopbackServer(MemoryStore({"a b/c": VALUES, "zarr.json": b"{}"}))
    yield server
    server.close()


def ask(server: LoopbackServer, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def test_values_and_ranges_for_pages_of_any_origin(server: LoopbackServer) -> None:
    path = urlsplit(server.address("/a b/c")).path
    status, body, headers = ask(server, path)
    assert (status, body) == (200, VALUES)
    assert headers["Access-Control-Allow-Origin"] == "*"
    for asked, span in (
        ("bytes=10-19", (10, 20)),
        ("bytes=90-", (90, 100)),
        ("bytes=-5", (95, 100)),
        ("bytes=0-999", (0, 100)),
    ):
        status, body, headers = ask(server, path, Range=asked)
        assert (status, body) == (206, VALUES[slice(*span)])
        assert headers["Content-Range"] == f"bytes {span[0]}-{span[1] - 1}/100"
    assert ask(server, path, Range="bytes=100-")[0] == 416
    status, body, headers = ask(server, path, "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", "100")
    status, _, headers = ask(server, path, "OPTIONS")
    assert (status, headers["Access-Control-Allow-Private-Network"]) == (204, "true")
    assert "Range" in headers["Access-Control-Allow-Headers"]


def test_without_token_or_by_another_name_nothing_is_read(server: LoopbackServer) -> None:
    token = urlsplit(server.url).path
    assert ask(server, f"{token}/zarr.json")[0] == 200
    for path in (
        "/zarr.json",
        "/",
        token,
        f"{token}x/zarr.json",
        f"{token}/../zarr.json",
        f"{token}/..%2F..%2Fetc%2Fpasswd",
    ):
        assert ask(server, path)[:2] == (404, b"")
    assert ask(server, f"{token}/nothing")[0] == 404
    assert ask(server, f"{token}/zarr.json", Host="evil.example")[0] == 404
    assert ask(server, f"{token}/zarr.json", "PUT")[0] == 501


def test_nothing_is_answered_after_the_end(server: LoopbackServer) -> None:
    held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    path = urlsplit(server.address("/zarr.json")).path
    held.request("GET", path)
    assert held.getresponse().read() == b"{}"
    other = LoopbackServer(MemoryStore({"zarr.json": b"{}"}))
    other.close()
    with pytest.raises(ConnectionError):
        ask(other, "/")
    server.close()

    def ask_again() -> None:
        held.request("GET", path)
        held.getresponse()

    with pytest.raises((ConnectionError, http.client.HTTPException)):
        ask_again()
    held.close()


def test_other_programs_read_through_it(tmp_path: Path) -> None:
    h = zarrscope.open(str(tmp_path / "s.zarr"), "w-")
    array = h.create_array("/g/0", shape=(40, 40), dtype="u2", chunks=(10, 10), shards=(20, 20))
    array[...] = np.arange(1600).reshape(40, 40)
    server = LoopbackServer(h.store)
    try:
        distant: Any = zarrscope.open(server.url)["/g/0"]
        assert np.array_equal(distant[5:35], array[5:35])
        ts = pytest.importorskip("tensorstore")
        kvstore = {"driver": "http", "base_url": server.address("/g/0") + "/"}
        found = ts.open({"driver": "zarr3", "kvstore": kvstore}, read=True).result()
        assert np.array_equal(found[5:35].read().result(), array[5:35])
    finally:
        server.close()


def opened(session: Session, viewer: str, mailbox: Mailbox) -> Destination:
    found: list[Destination] = []
    session.elsewhere.open(viewer, found.append)
    mailbox.run_until(lambda: bool(found) or bool(session.state.sentence))
    return found[0] if found else Destination()


def test_links_lead_to_the_server_until_the_session_ends(workspace: Workspace, mailbox: Mailbox) -> None:
    shelf = Shelf()
    small_image(shelf)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(settled(session))
    assert session.elsewhere.serving == ""
    link = opened(session, "neuroglancer", mailbox).link
    assert link.startswith(NEUROGLANCER)
    (layer,) = json.loads(unquote(link.removeprefix(NEUROGLANCER)))["layers"]
    address = layer["source"].removeprefix("zarr://")
    assert address.startswith(session.elsewhere.serving + "/image")
    assert as_array(zarrscope.open(address)["/0"]).shape == (41, 64, 64)
    link = opened(session, "vizarr", mailbox).link
    assert unquote(link.removeprefix(VIZARR)) == address
    assert opened(session, "napari", mailbox).text == f"napari --plugin zarrscope {shelf.address}/image"
    assert opened(session, "fiji", mailbox).text == f"{shelf.address}/image"
    workspace.close_all()
    with pytest.raises(ZarrscopeError):
        zarrscope.open(address, storage_options={"attempts": 1})


def test_what_a_viewer_cannot_read_is_said(workspace: Workspace, mailbox: Mailbox, tmp_path: Path) -> None:
    place = str(tmp_path / "old.zarr")
    zarrscope.open(place, "w-", dialect="draft-2020").create_array("/a", shape=(9, 9), dtype="u1", chunks=(9, 9))
    session = workspace.open(place)
    session.select("/a")
    mailbox.run_until(settled(session))
    assert opened(session, "neuroglancer", mailbox) == Destination()
    assert "neuroglancer does not read draft-2020" in session.state.sentence


@pytest.mark.needs("qt", "display")
def test_the_window_opens_a_browser_or_copies(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from qtpy.QtGui import QDesktopServices

    from qt_robot import window_on

    shelf = Shelf()
    small_image(shelf)
    visited: list[str] = []

    def visit(url: Any) -> bool:
        visited.append(url.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", visit)
    window, session = window_on(qtbot, shelf.address)
    session.select("/image")
    qtbot.waitUntil(settled(session), timeout=20_000)
    window.run("open-vizarr")
    qtbot.waitUntil(lambda: len(visited) == 1, timeout=20_000)
    assert visited[0].startswith(VIZARR)
    window.close()
    assert session.elsewhere.serving == ""


# ---------------------------------------------------------------------- programs of this machine
def program(folder: Path, name: str, told: Path) -> Path:
    """A program that writes its arguments, one a line, and its folder to `told`."""
    made = folder / name
    lines = f"printf '%s\\n' \"$@\" > '{told}.part'; pwd >> '{told}.part'; mv '{told}.part' '{told}'"
    made.write_text(f"#!/bin/sh\n{lines}\n")
    made.chmod(0o755)
    return made


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is first on the path; napari and Fiji are installed nowhere else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    # The programs that a script needs stay on the path.
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv(open_in.FIJI_VARIABLE, raising=False)
    monkeypatch.setattr(open_in, "has_napari", lambda: False)
    return folder


def test_the_napari_of_this_environment_is_preferred(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert napari_command("/data") == ()
    made = program(programs, "napari", programs / "told")
    assert napari_command("/da ta") == (str(made), "--plugin", "zarrscope", "/da ta"), "one argument, without a shell"
    monkeypatch.setattr(open_in, "has_napari", lambda: True)
    assert napari_command("/data") == (sys.executable, "-P", "-m", "napari", "--plugin", "zarrscope", "/data")


def test_fiji_is_found_by_its_names_or_by_the_variable(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fiji_command("/data") == ()
    made = program(programs, "ImageJ-linux64", programs / "told")
    macro = 'run("HDF5/N5/Zarr/OME-NGFF ... ", "url=[/a b/0]");'
    assert fiji_command("/a b/0") == (str(made), "-eval", macro)
    for address in ('/a"); exec("rm', "/a] hide", "/a\nb"):
        assert fiji_command(address) == (), "no address becomes a part of the macro"
    assert fiji_command("C:\\a")[-1].endswith('"url=[C:\\\\a]");')
    elsewhere = program(tmp_path, "my-fiji", programs / "told")
    monkeypatch.setenv(open_in.FIJI_VARIABLE, str(elsewhere))
    assert fiji_command("/a")[0] == str(elsewhere)
    monkeypatch.setenv(open_in.FIJI_VARIABLE, str(tmp_path / "gone"))
    assert fiji_command("/a") == (), "the named program, and no other"


@pytest.mark.needs("qt", "display")
def test_the_window_starts_napari_and_fiji_or_copies(qtbot: Any, programs: Path) -> None:
    from qtpy.QtGui import QGuiApplication

    from qt_robot import window_on

    shelf = Shelf()
    small_image(shelf)
    window, session = window_on(qtbot, shelf.address)
    session.select("/image")
    qtbot.waitUntil(lambda: settled(session)() and session.slice.state.kind == "image", timeout=60_000)
    clipboard, bar = not_none(QGuiApplication.clipboard()), not_none(window.statusBar())
    window.run("open-napari")
    qtbot.waitUntil(lambda: "napari is not installed here" in bar.currentMessage(), timeout=60_000)
    assert clipboard.text() == f"napari --plugin zarrscope {shelf.address}/image"
    window.run("open-fiji")
    qtbot.waitUntil(lambda: "No Fiji was found" in bar.currentMessage(), timeout=60_000)
    assert clipboard.text() == f"{shelf.address}/image"

    clipboard.setText("kept")
    told = {name: programs / f"told-{name}" for name in ("napari", "fiji")}
    for name, place in told.items():
        program(programs, name, place)
    session.slice.set_index("z", 3)
    window.run("open-napari")
    qtbot.waitUntil(lambda: told["napari"].exists() and "napari is starting" in bar.currentMessage(), timeout=60_000)
    plugin, named, view, folder = told["napari"].read_text().split()
    assert (plugin, named, folder) == ("--plugin", "zarrscope", str(Path.home()))
    shown = decode_view(view)
    assert (shown["url"], shown["path"], shown["slice"]["index"]["z"]) == (shelf.address, "/image", 3)
    window.run("open-fiji")
    qtbot.waitUntil(lambda: told["fiji"].exists() and "Fiji is starting" in bar.currentMessage(), timeout=60_000)
    assert told["fiji"].read_text().splitlines()[:2] == [
        "-eval",
        f'run("HDF5/N5/Zarr/OME-NGFF ... ", "url=[{shelf.address}/image]");',
    ]
    assert clipboard.text() == "kept"

    broken = programs / "fiji"
    broken.write_text("#!/nowhere/to/be/found\n")
    window.run("open-fiji")
    qtbot.waitUntil(lambda: "Fiji could not be started" in bar.currentMessage(), timeout=60_000)
    assert clipboard.text() == f"{shelf.address}/image"


# ---------------------------------------------------------------------- the folder of a node
def session_at(mailbox: Mailbox, address: str, path: str = "/") -> Session:
    session = Session(address, mailbox, path=path)
    mailbox.run_until(settled(session))
    return session


def test_the_folder_of_a_node_is_found_where_there_is_one(tmp_path: Path) -> None:
    zarrscope.open(str(tmp_path / "ä b.zarr"), "w-").create_group("/inner")
    with zarrscope.open(str(tmp_path / "packed.zip"), "w-") as packed:
        packed.create_group("/a")
    mailbox, found = Mailbox(), [""]
    for address, path, folder in (
        (tmp_path / "ä b.zarr", "/inner", tmp_path / "ä b.zarr" / "inner"),
        (tmp_path / "ä b.zarr", "/", tmp_path / "ä b.zarr"),
        (tmp_path / "packed.zip", "/", tmp_path),
    ):
        session = session_at(mailbox, str(address), path)
        session.elsewhere.folder(found.append)
        mailbox.run_until(lambda folder=folder: found[-1] == str(folder))  # type: ignore[misc]  # mypy does not type the default of a lambda
        session.close()


def test_a_place_without_a_folder_says_so() -> None:
    shelf, mailbox = Shelf(), Mailbox()
    small_image(shelf)
    session, found = session_at(mailbox, shelf.address), list[str]()
    session.elsewhere.folder(found.append)
    mailbox.run_until(lambda: bool(session.state.sentence))
    assert "not in a folder of this machine" in session.state.sentence
    assert not found
    session.close()


def test_terminals_of_each_system() -> None:
    assert terminals("linux", {"TERMINAL": "kitty --single-instance"})[0] == ("kitty", "--single-instance")
    assert all(len(line) == 1 for line in terminals("linux", {}))
    assert terminals("darwin", {}) == (("open", "-a", "Terminal", "."),)
    assert terminals("win32", {})[-1] == ("cmd.exe",)


@pytest.mark.needs("qt", "display")
def test_a_terminal_opens_in_the_folder_of_the_node(
    qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qt_robot import window_on

    zarrscope.open(str(tmp_path / "a.zarr"), "w-").create_group("/inner")
    told = tmp_path / "told"
    program = tmp_path / "term"
    program.write_text(f"#!/bin/sh\npwd > {told}.part && mv {told}.part {told}\n")
    program.chmod(0o755)
    monkeypatch.setenv("TERMINAL", str(program))
    window, session = window_on(qtbot, str(tmp_path / "a.zarr"))
    qtbot.waitUntil(settled(session), timeout=20_000)
    session.select("/inner")
    qtbot.waitUntil(lambda: settled(session)() and session.state.path == "/inner", timeout=20_000)
    window.run("terminal")
    qtbot.waitUntil(told.exists, timeout=20_000)
    assert told.read_text().strip() == str(tmp_path / "a.zarr" / "inner")
    monkeypatch.setenv("TERMINAL", "nowhere-to-be-found")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    window.run("terminal")
    qtbot.waitUntil(lambda: "set TERMINAL" in not_none(window.statusBar()).currentMessage(), timeout=20_000)
