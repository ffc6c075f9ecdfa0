"""Every host opens every form of address that people paste, and names an address that it does not know."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import zarrscope
from contracts.http_server import web_server
from contracts.places import COMMAND
from terminal_hand import Screen
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import run
from zarrscope_app.presenters import MemorySettings, Session, SessionStatus
from zarrscope_app.presenters.session.open_in import plain

SECONDS = 60.0
REFUSED = [
    ("foo://host/x.zarr", "foo"),
    ("demo s3://pub/demo", "demo "),
    ("s3:/pub/demo", "s3:"),
    ("doi:10.5281/zenodo.1", "doi:"),
    ("$NOT_SET/x.zarr", "NOT_SET"),
    ("x.zip|tar:a", "tar"),
    ("tar::https://host/x.tar", "tar"),
    ("https://neuroglancer-demo.appspot.com/#!gs://bucket/state.json", "Neuroglancer"),
    ("https://fileglancer.int.janelia.org/browse/groups_x/a/b.zarr", "Fileglancer"),
]
"""The text, and the part of it that the message calls unknown."""


@pytest.fixture
def pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """For each form of address, the pasted text and the path of its node in the whole hierarchy; most name the same
    hierarchy."""
    data = tmp_path / "my data"
    data.mkdir()
    values: dict[str, bytes] = {}
    for name, dialect in (("x.zarr", "v3"), ("y.zarr", "v2"), ("z.n5", "n5")):
        with zarrscope.open(data / name, "w-", dialect=dialect) as h:
            h.create_array("/images/a", shape=(4,), dtype="u1", chunks=(4,))
    for scheme in ("sqlite", "dbm", *(("lmdb",) if find_spec("lmdb") else ())):
        with zarrscope.open(f"{scheme}://{data.as_posix()}/x.{scheme}", "w-") as h:
            h.create_array("/images/a", shape=(4,), dtype="u1", chunks=(4,))
    with zipfile.ZipFile(data / "x.zip", "w") as archive:
        for file in sorted((data / "x.zarr").rglob("*")):
            if file.is_file():
                archive.write(file, f"folder/{file.relative_to(data / 'x.zarr').as_posix()}")
    for file in data.rglob("*"):
        if file.is_file():
            values[f"data/{file.relative_to(data).as_posix()}"] = file.read_bytes()
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ZARRSCOPE_FAR_COMMAND", COMMAND)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DATA", str(data))
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.chdir(tmp_path)
    with web_server(values) as server:
        web = f"{server.url}/data"
        volume = f"{web}/x.zarr"

        def neuroglancer(source: str) -> str:
            state = {"layers": [{"name": "em", "source": source}]}
            return "https://neuroglancer-demo.appspot.com/#!" + quote(json.dumps(state))

        filtered = json.dumps({"name": "File Path", "value": volume})
        yield [
            (str(data / "x.zarr"), "/"),
            (str(data / "x.sqlite"), "/"),
            (str(data / "x.sqlite" / "images" / "a"), "/images/a"),
            (f"{data / 'x.dbm'}::images/a", "/images/a"),
            *([(str(data / "x.lmdb"), "/"), (str(data / "x.lmdb" / "images"), "/images")] if find_spec("lmdb") else []),
            ("~/my data/x.zarr", "/"),
            ("$DATA/x.zarr", "/"),
            (f'"{data / "x.zarr"}"', "/"),
            (f"<{volume}>", "/"),
            ((data / "x.zarr").as_uri(), "/"),
            (f"{data / 'x.zarr'}::images/a", "/images/a"),
            (str(data / "x.zarr" / "images"), "/images"),
            (str(data / "x.zarr" / "images" / "a"), "/images/a"),
            (str(data / "z.n5" / "images" / "a"), "/images/a"),
            (f"{volume}/images/a", "/images/a"),
            (f"zip://folder::{web}/x.zip", "/"),
            (f"{web}/x.zip|zip:folder", "/"),
            (f"zarr://{volume}", "/"),
            (f"zarr2://{web}/y.zarr", "/"),
            (f"zarr3://{volume}", "/"),
            (f"n5://{web}/z.n5", "/"),
            (f"{volume}|zarr3:", "/"),
            (f"far:{data}/x.zarr", "/"),
            (f"https://hms-dbmi.github.io/vizarr/?{urlencode({'source': volume})}", "/"),
            (f"https://avivator.gehlenborglab.org/?{urlencode({'image_url': volume})}", "/"),
            (f"https://ome.github.io/ome-ngff-validator/?{urlencode({'source': volume})}", "/"),
            (neuroglancer(f"zarr2://{web}/y.zarr"), "/"),
            (neuroglancer(f"{volume}|zarr3:"), "/"),
            (f"https://bff.allencell.org/app?{urlencode({'filter': filtered})}", "/"),
        ]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bin", "my data"], "nothing was made a path"


def settled(session: Session) -> bool:
    state = session.state
    return state.status is SessionStatus.FAILED or (state.status is SessionStatus.READY and not state.selecting)


def names_node_alone(text: str, path: str) -> bool:
    """Whether the text is the address of a node, which does not say where the hierarchy begins."""
    return text.endswith((f".zarr{path}", f".n5{path}")) and path != "/"


def check(session: Session, text: str, path: str) -> None:
    state = session.state
    assert state.status is SessionStatus.READY, (text, state.sentence)
    assert state.path == path, text
    assert session.node is not None, text
    assert not session.url.endswith(path) or path == "/", (text, session.url)
    assert state.address == session.url + path.rstrip("/"), text
    assert [at for _, at in state.crumbs][-1] == path, text
    assert ("Part of " in state.facts) is names_node_alone(text, path), (text, state.facts)


def expanded_to(session: Session, path: str) -> bool:
    """Whether the tree has a row of the node."""
    return session.tree.find(path) is not None


def refused(said: str, text: str, word: str) -> None:
    assert word in said, (text, said)


def test_on_the_command_line(pasted: list[tuple[str, str]], capfd: pytest.CaptureFixture[str]) -> None:
    for text, path in pasted:
        assert run(["info", text, "--json"]) == 0, (text, capfd.readouterr().err)
        found = "/" if names_node_alone(text, path) else path  # the command line keeps to the node
        assert json.loads(capfd.readouterr().out)["path"] == found, text
    for text, word in REFUSED:
        assert run(["info", text]) != 0, text
        refused(capfd.readouterr().err, text, word)


def test_in_the_window(pasted: list[tuple[str, str]], qtbot: Any) -> None:
    from qt_robot import shown_window

    window = shown_window(qtbot)

    def paste(text: str) -> Session:
        window.address.edit()
        window.address.line.setText(text)
        window.address.line.returnPressed.emit()
        session = window.workspace.current
        assert session is not None
        qtbot.waitUntil(lambda: settled(session), timeout=int(SECONDS * 1000))
        return session

    for text, path in pasted:
        session = paste(text)
        check(session, text, path)
        qtbot.waitUntil(partial(expanded_to, session, path), timeout=int(SECONDS * 1000))
        window.workspace.close(session)
    for text, word in REFUSED:
        session = paste(text)
        assert session.state.status is SessionStatus.FAILED, text
        refused(session.state.sentence, text, word)
        window.workspace.close(session)


def test_in_the_terminal(pasted: list[tuple[str, str]]) -> None:
    from zarrscope_app.tui.app import Explorer

    async def run_it() -> None:
        app = Explorer(pasted[0][0])
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.ready()

            async def paste(text: str) -> Session:
                await screen.press("ctrl+u")  # one key, because typing the name of the command takes a second
                app.keyboard.paste(text)
                await screen.press("enter")
                session = app.workspace.current
                assert session is not None
                await screen.until(lambda: settled(session), text)
                return session

            for text, path in pasted[1:]:
                session = await paste(text)
                check(session, text, path)
                await screen.until(partial(expanded_to, session, path), text)
                if len(app.workspace.sessions) > 1:
                    app.workspace.close(session)
            for text, word in REFUSED:
                session = await paste(text)
                assert session.state.status is SessionStatus.FAILED, text
                refused(session.state.sentence, text, word)
                app.workspace.close(session)

    asyncio.run(run_it())


def test_in_a_notebook(pasted: list[tuple[str, str]], mailbox: Mailbox) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter import Explorer

    def shown(text: str) -> Explorer:
        widget = Explorer(text, post=mailbox, settings=MemorySettings())
        mailbox.run_until(lambda: settled(widget.session), SECONDS)
        return widget

    for text, path in pasted:
        widget = shown(text)
        check(widget.session, text, path)
        mailbox.run_until(partial(expanded_to, widget.session, path), SECONDS)
        widget.close()
    for text, word in REFUSED:
        widget = shown(text)
        refused(widget.session.state.sentence, text, word)
        widget.close()


def test_in_naparis_dock(pasted: list[tuple[str, str]], qtbot: Any, make_napari_viewer: Any) -> None:
    from zarrscope_app.napari.dock import Explorer

    dock = Explorer(make_napari_viewer(), settings=MemorySettings())
    qtbot.addWidget(dock)

    def paste(text: str) -> Session:
        dock.address.setText(text)
        dock.address.returnPressed.emit()
        session = dock.session
        assert session is not None
        qtbot.waitUntil(lambda: settled(session), timeout=int(SECONDS * 1000))
        return session

    try:
        for text, path in pasted:
            session = paste(text)
            check(session, text, path)
            qtbot.waitUntil(partial(expanded_to, session, path), timeout=int(SECONDS * 1000))
            assert dock.address.text() == plain(session.url), text
        for text, word in REFUSED:
            refused(paste(text).state.sentence, text, word)
    finally:
        dock.stop()
