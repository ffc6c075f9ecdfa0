"""Unsaved edits are kept when a session ends by itself, in a private file without secrets; sessions that a user closes
keep none.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.journeys import Shelf
from typing_window import WINDOW
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus
from zarrscope_app.presenters.form import rescue
from zarrscope_app.settings import FileSettings

ENDS = 60.0


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    h = open_hierarchy(shelf, "a")
    h.create_group("/g", {"note": "before", "list": [1, 2], "kept": 1.50})
    h.create_group("/h", {"note": "other"})
    return shelf


@pytest.fixture
def settings(tmp_path: Path) -> FileSettings:
    return FileSettings(tmp_path / "state")


@pytest.fixture
def begin(shelf: Shelf, settings: FileSettings) -> Iterator[Callable[..., tuple[Session, Mailbox]]]:
    sessions: list[Session] = []

    def make(path: str = "/g", *, writable: bool = True) -> tuple[Session, Mailbox]:
        mailbox = Mailbox()
        session = Session(shelf.address, mailbox, path=path, writable=writable)
        sessions.append(session)
        session.keep_edits(settings)
        mailbox.run_until(lambda: bool(session.edit.state.fields))
        return session, mailbox

    yield make
    for session in sessions:
        session.close()


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Files that are there already belong to a process that has ended."""
    return lambda: monkeypatch.setattr(rescue, "_runs", lambda *_: False)


def files(settings: FileSettings) -> list[Path]:
    return sorted(settings._file("x").parent.glob("unsaved-*"))


class HeldSettings(FileSettings):
    """The first text is stored as soon as `free` is set."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.begun, self.free, self.ended = threading.Event(), threading.Event(), threading.Event()

    def store(self, name: str, text: str) -> None:
        first = not self.begun.is_set()
        self.begun.set()
        if first:
            self.free.wait(ENDS)
        super().store(name, text)
        if first:
            self.ended.set()


@pytest.mark.parametrize("end", ["close", "drop"])
def test_the_last_edits_are_stored_though_an_earlier_write_still_runs(end: str, tmp_path: Path, shelf: Shelf) -> None:
    mailbox, settings = Mailbox(), HeldSettings(tmp_path / "held")
    session = Session(shelf.address, mailbox, path="/g", writable=True)
    session.keep_edits(settings)
    mailbox.run_until(lambda: session.edit.field("/note") is not None)
    session.edit.edit("/note", "first")
    mailbox.run_until(settings.begun.is_set)
    session.edit.edit("/note", "last")
    threading.Timer(0.2, settings.free.set).start()
    if end == "drop":
        session.discard_edits()
    session.close()
    assert settings.ended.wait(ENDS)
    kept = [file.read_text() for file in files(settings)]
    assert ["last" in text for text in kept] == ([True] if end == "close" else [])


class WatchedSettings(FileSettings):
    """Calls `before` before a file is removed."""

    def __init__(self, place: Path, before: Callable[[], object]) -> None:
        super().__init__(place)
        self.before = before

    def remove(self, name: str) -> None:
        self.before()
        super().remove(name)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_texts_for_several_nodes_are_kept_until_they_are_stored(elsewhere: bool, tmp_path: Path, shelf: Shelf) -> None:
    """Also while the hierarchy is opened for writing and their documents are read again, which takes seconds on a slow
    network; `elsewhere`: meanwhile another node is selected."""
    h = open_hierarchy(shelf, "r+")
    paths = ["/a", "/b"]
    for path in paths:
        h.create_array(path, shape=(2,), dtype="uint8", chunks=(2,), attributes={"units": "metre"})

    def stored() -> list[str]:
        return [str(json.loads(shelf.get(f"{path[1:]}/zarr.json") or b"{}")["attributes"]["units"]) for path in paths]

    removed: list[list[str]] = []
    settings = WatchedSettings(tmp_path / "state", lambda: removed.append(stored()))
    mailbox = Mailbox()
    session = Session(shelf.address, mailbox, path="/a")
    session.keep_edits(settings)
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    session.select_several(paths)
    mailbox.run_until(lambda: session.edit.several == tuple(paths) and bool(session.edit.state.fields))
    units = next(field.pointer for field in session.edit.state.fields if field.text == "metre")
    session.edit.edit(units, "second")
    mailbox.run_until(lambda: bool(files(settings)))
    if elsewhere:
        session.select_several(["/a"])
        session.select("/h")
        mailbox.run_until(lambda: session.edit.state.path == "/h" and bool(session.edit.state.fields))
    session.set_writable(True)
    mailbox.run_until(lambda: session.edit.dirty_paths == {*paths})
    assert removed == [], "a process that is killed now loses nothing"
    session.edit.save_all(lambda _: None)
    mailbox.run_until(lambda: not session.edit.unsaved and not files(settings))
    assert removed == [["second", "second"]]
    session.close()


@pytest.mark.parametrize("typed", ['{"note": 1,', '{"note": 1}'])
def test_the_text_of_a_broken_document_is_put_back(
    begin: Any, settings: FileSettings, shelf: Shelf, another_process: Callable[[], None], typed: str
) -> None:
    shelf.set("g/zarr.json", b'{"note": 0,')
    first, mailbox = begin()
    first.edit.edit_text(typed)
    mailbox.run_until(lambda: len(files(settings)) == 1)
    first.close()
    another_process()
    second, mailbox = begin()
    assert "put-back" in second.state.offers
    second.put_back()
    mailbox.run_until(lambda: second.edit.state.text == typed)
    assert shelf.get("g/zarr.json") == b'{"note": 0,'


def test_what_was_not_saved_is_offered_and_put_back(
    begin: Any, settings: FileSettings, shelf: Shelf, another_process: Callable[[], None]
) -> None:
    first, mailbox = begin()
    assert not first.state.offers
    first.edit.edit("/note", "after")
    first.edit.remove("/list")
    first.edit.edit("/kept", "no number")
    mailbox.run_until(lambda: len(files(settings)) == 1)  # after a crash it would be found
    first.select("/h")
    mailbox.run_until(lambda: first.edit.field("/note") is not None and first.edit.state.path == "/h")
    first.edit.edit("/note", "too")
    first.close()
    (file,) = files(settings)
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600

    another_process()
    shelf_before = shelf.get("g/zarr.json")
    second, mailbox = begin(writable=False)
    assert second.state.offers == ("put-back", "forget")
    assert second.state.sentence.startswith("4 changes of ")
    assert second.state.sentence.endswith(" were not saved.")
    second.put_back()
    mailbox.run_until(lambda: second.edit.dirty_paths == {"/g", "/h"})
    assert not second.state.offers
    assert second.edit.field("/note").text == "after"
    assert second.edit.field("/list") is None
    assert second.edit.field("/kept").error
    assert second.edit.field("/kept").text == "no number"
    assert shelf.get("g/zarr.json") == shelf_before, "nothing is written before it is saved"
    assert len(files(settings)) == 1, "kept again, under another name"
    assert files(settings) != [file]

    second.edit.edit("/kept", "2.50")
    second.edit.save()
    mailbox.run_until(lambda: second.edit.dirty_paths == {"/h"})
    assert json.loads(shelf.get("g/zarr.json") or b"")["attributes"] == {"note": "after", "kept": 2.5}
    second.select("/h")
    mailbox.run_until(lambda: second.edit.state.path == "/h" and bool(second.edit.state.fields))
    second.edit.save()
    mailbox.run_until(lambda: not second.edit.unsaved and not files(settings))


def test_edits_are_made_again_to_what_is_stored_by_then(
    begin: Any, shelf: Shelf, another_process: Callable[[], None]
) -> None:
    first, _ = begin()
    first.edit.edit("/note", "mine")
    first.close()
    h = open_hierarchy(shelf, "r+")
    h.save("/g", h.document("/g").set("/attributes/theirs", 1))
    another_process()
    second, mailbox = begin()
    second.put_back()
    mailbox.run_until(lambda: second.edit.unsaved == 1)
    second.edit.save()
    mailbox.run_until(lambda: not second.edit.unsaved)
    assert json.loads(shelf.get("g/zarr.json") or b"")["attributes"]["theirs"] == 1
    assert json.loads(shelf.get("g/zarr.json") or b"")["attributes"]["note"] == "mine"


@pytest.mark.parametrize("how", ["saved", "undone", "discarded"])
def test_what_was_decided_is_not_kept(how: str, begin: Any, settings: FileSettings) -> None:
    session, mailbox = begin()
    session.edit.edit("/note", "after")
    mailbox.run_until(lambda: bool(files(settings)))
    if how == "saved":
        session.edit.save()
        mailbox.run_until(lambda: not session.edit.unsaved)
    elif how == "undone":
        session.edit.undo()
    else:
        session.discard_edits()
    session.close()
    assert not files(settings)


def test_forgotten_edits_are_gone_and_hidden_ones_come_again(
    begin: Any, settings: FileSettings, another_process: Callable[[], None]
) -> None:
    first, _ = begin()
    first.edit.edit("/note", "after")
    first.close()
    another_process()
    second, _ = begin()
    second.dismiss()
    assert not second.state.sentence
    third, _ = begin()
    assert third.state.offers
    third.forget()
    assert not third.state.offers
    assert not files(settings)


def test_a_node_that_went_keeps_its_edits_in_the_file(
    begin: Any, settings: FileSettings, shelf: Shelf, another_process: Callable[[], None]
) -> None:
    first, _ = begin("/h")
    first.edit.edit("/note", "after")
    first.close()
    kept = files(settings)
    open_hierarchy(shelf, "r+").erase("/h")
    another_process()
    second, mailbox = begin("/g")
    second.put_back()
    mailbox.run_until(lambda: not second.state.offers)
    assert not second.edit.unsaved
    assert files(settings) == kept


def test_edits_of_a_session_that_runs_are_not_offered(begin: Any) -> None:
    first, mailbox = begin()
    first.edit.edit("/note", "after")
    mailbox.run_until(lambda: not first.rescue._busy and first.rescue._stored is not None)
    second, _ = begin()
    assert not second.state.offers


def test_addresses_in_the_files_have_no_secrets(settings: FileSettings) -> None:
    mailbox = Mailbox()
    session = Session("https://ann:pa55word@127.0.0.1:9/a.zarr?token=s3cr3t", mailbox)
    session.keep_edits(settings)
    kept = session.rescue
    assert kept is not None
    kept._version('{"/": {"changes": [["/a", "1"]], "typed": {}}}')()
    (file,) = files(settings)
    text = file.read_text() + file.name
    assert "127.0.0.1" in text
    assert "pa55word" not in text
    assert "s3cr3t" not in text
    session.close()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"zarrscope": 1}', '{"zarrscope": 1, "url": 3, "process": "x", "host": 1, "drafts": 5}',
     '{"zarrscope": 1, "url": "URL", "process": 9, "host": "x", "when": "", "drafts": {"/g": {"changes": [[1, 2]]}}}'],
)  # fmt: skip
def test_files_that_are_none_of_ours_are_passed_over(
    text: str, begin: Any, settings: FileSettings, shelf: Shelf
) -> None:
    first, _ = begin()
    name = first.rescue._start + "1-1"
    settings.store(name, text.replace("URL", first.url))
    second, _ = begin()
    assert second.state.status is SessionStatus.READY
    assert not second.state.offers


# ---------------------------------------------------------------------------------------------- the terminal
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("how", ["hung up", "SIGTERM"])
def test_the_terminal_hangs_up_and_the_next_offers_what_was_typed(how: str, tmp_path: Path) -> None:
    import fcntl
    import pty
    import termios

    volume = tmp_path / "a.zarr"
    zarrscope.open(volume, "w-").create_group("/g", {"note": "before"})
    state = tmp_path / "state"
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "TERM": "xterm-256color"}

    class Its:
        """`zarrscope tui` in a terminal that is its controlling terminal."""

        def __init__(self) -> None:
            self.process, self.mine = pty.fork()
            if not self.process:
                command = [sys.executable, "-m", "zarrscope_app", "tui", "--write", str(volume / "g")]
                os.execve(sys.executable, command, environment)
            fcntl.ioctl(self.mine, termios.TIOCSWINSZ, b"\x18\x00\x50\x00\x00\x00\x00\x00")
            self.seen = ""

        def see(self, wanted: Callable[[], object]) -> None:
            import select

            end = time.monotonic() + ENDS
            while not wanted():
                assert time.monotonic() < end, self.seen[-2000:]
                if select.select([self.mine], [], [], 0.1)[0]:
                    self.seen += os.read(self.mine, 1 << 16).decode(errors="replace")

        def press(self, keys: str) -> None:
            self.seen = ""
            os.write(self.mine, keys.encode())

        def code(self) -> int:
            end = time.monotonic() + ENDS
            while True:
                ended, status = os.waitpid(self.process, os.WNOHANG)
                if ended:
                    return os.waitstatus_to_exitcode(status)
                if time.monotonic() > end:
                    os.kill(self.process, signal.SIGKILL)
                    os.waitpid(self.process, 0)
                    pytest.fail("it did not end")
                time.sleep(0.02)

    def kept() -> list[Path]:
        return list(state.rglob("unsaved-*.json"))

    first = Its()
    first.see(lambda: "q quit" in first.seen and "Format" in first.seen)  # Info shows the group: it is open
    first.press("e")
    first.see(lambda: "1 member" in first.seen)
    first.press("\x1b[B\r\x15typed\r")
    first.see(kept)
    if how == "hung up":
        os.close(first.mine)
        assert first.code() == 129
    else:
        os.kill(first.process, signal.SIGTERM)
        assert first.code() == 143
        os.close(first.mine)
    (file,) = kept()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    second = Its()
    second.see(lambda: "not saved" in second.seen and "Format" in second.seen)
    second.press("p")
    second.see(lambda: kept() and kept() != [file])
    second.press("e\x13")
    second.see(lambda: b"typed" in (volume / "g/zarr.json").read_bytes())
    second.see(lambda: not kept())
    second.press("q")
    assert second.code() == 0
    os.close(second.mine)


# ---------------------------------------------------------------------------------------------- the window
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_the_window_is_told_to_end_and_keeps_what_was_typed(name: str, code: int, tmp_path: Path) -> None:
    pytest.importorskip("qtpy")
    volume = tmp_path / "a.zarr"
    zarrscope.open(volume, "w-").create_group("/g", {"note": "before"})
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path / "state")}
    environment["PYTHONFAULTHANDLER"] = "1"
    process = subprocess.Popen(
        [sys.executable, "-c", WINDOW, str(volume / "g")], env=environment, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"typed\n"
        process.send_signal(getattr(signal, name))
        assert process.wait(ENDS) == code
    finally:
        process.kill()
        process.communicate()
    (file,) = tmp_path.rglob("unsaved-*.json")
    assert "typed" in file.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("kept", [True, False])
def test_what_was_typed_into_a_read_only_window_is_kept_or_told_at_its_end(kept: bool, tmp_path: Path) -> None:
    """It is in no document, and was lost without a word."""
    pytest.importorskip("qtpy")
    volume = tmp_path / "a.zarr"
    zarrscope.open(volume, "w-").create_group("/g", {"note": "before"})
    state = tmp_path / "state"
    if not kept:
        state.write_text("a file")  # so nothing can be stored there
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(state)}
    process = subprocess.Popen(
        [sys.executable, "-c", WINDOW.replace("writable=True", "writable=False"), str(volume / "g")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"typed\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=ENDS)
    finally:
        process.kill()
    assert process.returncode == 130
    if kept:
        (file,) = tmp_path.rglob("unsaved-*.json")
        assert json.loads(file.read_text())["waiting"][0]["texts"] == {"/note": "typed"}
        assert not told
    else:
        assert re.search(rb"not kept for the next start:\n  /[g]?: typed", told), told


@pytest.mark.parametrize("editable", [True, False])
def test_a_notebook_offers_what_its_last_kernel_left(
    editable: bool, begin: Any, settings: FileSettings, shelf: Shelf, another_process: Callable[[], None]
) -> None:
    explorers = pytest.importorskip("zarrscope_app.jupyter.widget")
    mailbox = Mailbox()
    first = explorers.Explorer(shelf.address, editable=True, path="/g", settings=settings, post=mailbox)
    mailbox.run_until(lambda: bool(first.session.edit.state.fields))
    first._receive(first, {"do": "edit.edit", "args": ["/note", "after"]})
    mailbox.run_until(lambda: len(files(settings)) == 1)
    first.close()
    another_process()
    second = explorers.Explorer(shelf.address, editable=editable, path="/g", settings=settings, post=mailbox)
    mailbox.run_until(lambda: bool(second.session.edit.state.fields) and bool(second.view["place"]))
    offered = second.view["place"]["offers"]
    assert offered == (["put-back", "forget"] if editable else [])
    second._receive(second, {"do": "command", "args": ["put-back"]})
    if editable:
        mailbox.run_until(lambda: second.session.edit.dirty_paths == {"/g"})
        assert second.session.edit.field("/note").text == "after"
    mailbox.run()
    assert second.session.state.writable == editable
    second.close()
    assert len(files(settings)) == 1
