"""A session that is given the address of a node opens the hierarchy around it, at that node, and says so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.http_server import folder_server, serving, web_server
from narrowing import as_group, not_none
from zarrscope.nodes.enclosing import opened_around
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings, Session, SessionStatus, Workspace
from zarrscope_app.presenters.session.open_places import OpenPlaces
from zarrscope_app.presenters.session.opening import target_of

SECONDS = 60.0
DIALECTS = ("v3", "draft-2022-05", "draft-2020", "draft-2019-06", "v2", "n5", "draft-2019-05")


def made(place: Path, dialect: str = "v3") -> Path:
    """A hierarchy with the array /images/b/a."""
    with zarrscope.open(place, "w-", dialect=dialect) as h:
        h.create_array("/images/b/a", shape=(4, 4), dtype="u1", chunks=(4, 4))[...] = 1
    return place


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return made(tmp_path / "x.zarr")


@pytest.fixture
def workspace(mailbox: Mailbox) -> Iterator[Workspace]:
    found = Workspace(mailbox, MemorySettings())
    yield found
    found.close_all()
    mailbox.run()


def settled(session: Session) -> bool:
    state = session.state
    return state.status is SessionStatus.FAILED or (state.status is SessionStatus.READY and not state.selecting)


def shown(workspace: Workspace, mailbox: Mailbox, url: str) -> Session:
    """The session in front once it shows a node."""
    workspace.open(url)
    mailbox.run_until(lambda: settled(not_none(workspace.current)), SECONDS)
    return not_none(workspace.current)


def test_the_only_archive_of_a_folder_is_opened(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    """The folder was an error, whose text named the archive."""
    folder = tmp_path / "from a colleague"
    folder.mkdir()
    archive = folder / "cells 50%.zip"
    with zarrscope.open(str(archive), "w-") as h:
        h.create_array("/a", shape=(4, 4), dtype="u1", chunks=(4, 4))[...] = 1
    for given in (str(folder), f"{folder}/", folder.as_uri()):
        session = shown(workspace, mailbox, given)
        assert session.state.status is SessionStatus.READY
        assert ", the only file of the folder · " in session.state.facts
        assert session.url.endswith("cells 50%.zip" if given != folder.as_uri() else "cells%2050%25.zip")
        workspace.close(session)
    (folder / "notes.txt").write_text("the other one is the image")
    assert shown(workspace, mailbox, str(folder)).state.status is SessionStatus.FAILED, "a person chooses then"


def _has_row(session: Session, path: str) -> bool:
    return session.tree.find(path) is not None


@pytest.mark.parametrize("between", ["", "day 1", "day 1/run"])
def test_the_only_hierarchy_of_a_folder_is_gone_to(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, between: str
) -> None:
    """The folder was shown, and said that one should be chosen. It stays the root, so that hierarchies which are added
    to it can be reached."""
    folder = tmp_path / "from a colleague"
    (folder / between / "raw").mkdir(parents=True)
    (folder / "notes.txt").write_text("the other one is the image")
    inner = made(folder / between / "cells.zarr")
    path = f"/{inner.relative_to(folder)}"
    for given in (str(folder), f"{folder}/", folder.as_uri()):
        session = shown(workspace, mailbox, given)
        assert session.state.path == path
        assert session.state.facts.startswith("The only hierarchy in this folder · v3")
        mailbox.run_until(partial(_has_row, session, path), SECONDS)
        session.select("/")
        mailbox.run_until(partial(settled, session), SECONDS)
        assert session.state.facts.startswith("folder"), "the note is about the hierarchy"
        session.reload()
        mailbox.run_until(partial(settled, session), SECONDS)
        assert session.state.path == "/", "a person went there"
        workspace.close(session)
    made(folder / "more.zarr")
    assert shown(workspace, mailbox, str(folder)).state.path == "/", "a person chooses then"


def test_a_path_that_is_wanted_is_gone_to(tmp_path: Path, mailbox: Mailbox) -> None:
    made(tmp_path / "cells.zarr")
    session = Session(str(tmp_path), mailbox, path="/")
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert session.state.path == "/"
    session.close()


def test_a_folder_elsewhere_is_looked_into_if_it_has_one_folder(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    """Each folder costs a round trip there."""
    made(tmp_path / "one" / "cells.zarr")
    made(tmp_path / "two" / "cells.zarr")
    (tmp_path / "two" / "raw").mkdir()
    (tmp_path / "two" / "raw" / "x.tif").write_bytes(b"x")
    with serving(folder_server(tmp_path)) as url:
        assert shown(workspace, mailbox, f"{url}/one").state.path == "/cells.zarr"
        assert shown(workspace, mailbox, f"{url}/two").state.path == "/"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("path", ["/images", "/images/b", "/images/b/a"])
def test_every_format(tmp_path: Path, workspace: Workspace, mailbox: Mailbox, dialect: str, path: str) -> None:
    place = made(tmp_path / ("x.n5" if dialect == "n5" else "x.zarr"), dialect)
    session = shown(workspace, mailbox, f"{place}{path}")
    assert (session.url, session.state.path) == (str(place), path)
    assert session.state.facts.startswith(f"Part of {place.name} · "), session.state.facts
    mailbox.run_until(lambda: session.tree.find(path) is not None, SECONDS)
    session.select("/")
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert "Part of" not in session.state.facts


def test_python_keeps_to_the_node(place: Path) -> None:
    h = zarrscope.open(f"{place}/images/b")
    assert [child.name for child in as_group(h["/"]).children()] == ["a"]
    assert h.initial_path == "/"


def test_names_do_not_matter_if_each_folder_is_a_node(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    place = made(tmp_path / "cells")
    session = shown(workspace, mailbox, f"{place}/images/b/a")
    assert (session.url, session.state.path) == (str(place), "/images/b/a")


def test_beyond_a_folder_without_documents_the_name_matters(tmp_path: Path) -> None:
    made(tmp_path / "cells" / "between" / "x")
    made(tmp_path / "more.zarr")
    (tmp_path / "cells" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    node = f"{tmp_path / 'cells' / 'between' / 'x' / 'images'}"
    found, around = opened_around(zarrscope.open, node)
    assert around == str(tmp_path / "cells" / "between" / "x")
    assert found.initial_path == "/images"
    os.remove(tmp_path / "more.zarr" / "images" / "zarr.json")
    found, around = opened_around(zarrscope.open, f"{tmp_path / 'more.zarr' / 'images' / 'b'}")
    assert (around, found.initial_path) == (str(tmp_path / "more.zarr"), "/images/b")


def test_the_outermost_hierarchy_is_opened(tmp_path: Path) -> None:
    place = made(tmp_path / "outer.zarr")
    made(place / "inner.zarr")
    found, around = opened_around(zarrscope.open, f"{place}/inner.zarr/images")
    assert (around, found.initial_path) == (str(place), "/inner.zarr/images")


@pytest.mark.parametrize(
    "document", ["{", '{"zarr_format": 3, "node_type": "group", "must": {"must_understand": true}}']
)
def test_a_root_that_cannot_be_read_is_passed_over(place: Path, document: str) -> None:
    """The node opens alone, as before, if the hierarchy around it cannot be opened."""
    (place / "zarr.json").write_text(document)
    found, around = opened_around(zarrscope.open, f"{place}/images/b")
    assert found.root.path == "/"
    assert around in (str(place), str(place / "images"), ""), around
    assert f"/{'images/b' if around == str(place) else 'b' if around else ''}" == found.initial_path


def test_a_folder_of_hierarchies_encloses_none(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    made(tmp_path / "folder.zarr" / "x")
    session = shown(workspace, mailbox, str(tmp_path / "folder.zarr" / "x"))
    assert (session.url, session.state.path) == (str(tmp_path / "folder.zarr" / "x"), "/")
    assert "Part of" not in session.state.facts


@pytest.mark.parametrize("beneath", ["c", "c/0", "c/0/0", "zarr.json", "nothing"])
def test_no_other_file_is_a_node(place: Path, beneath: str) -> None:
    try:
        found, around = opened_around(zarrscope.open, f"{place}/images/b/a/{beneath}")
    except zarrscope.ZarrscopeError:
        return
    assert (beneath, around, found.initial_path) == ("zarr.json", str(place), "/images/b/a")


def test_chunks_of_n5_are_no_groups(tmp_path: Path) -> None:
    place = made(tmp_path / "x.n5", "n5")
    with pytest.raises(zarrscope.ZarrscopeError):
        opened_around(zarrscope.open, f"{place}/images/b/a/0")


def test_a_path_begins_at_the_given_address(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = Session(f"{place}/images", mailbox, path="/b")
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert (session.url, session.state.path) == (f"{place}/images", "/b")
    session.close()
    late = workspace.open(f"{place}/images")
    late.select("/b/a")  # before it is open
    mailbox.run_until(lambda: settled(late), SECONDS)
    assert (late.url, late.state.path) == (str(place), "/images/b/a")


def test_an_open_hierarchy_stays_as_it_is(place: Path, mailbox: Mailbox) -> None:
    with zarrscope.open(f"{place}/images") as h:
        target = target_of(h)
        session = Session(target.url, mailbox, path=target.path)
        mailbox.run_until(lambda: settled(session), SECONDS)
        assert session.url.endswith("x.zarr/images")
        session.close()


def test_one_hierarchy_is_open_once(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    first = shown(workspace, mailbox, str(place))
    told: list[None] = []
    workspace.changed.connect(lambda: told.append(None))
    workspace.open(f"{place}/images/b")
    mailbox.run_until(lambda: workspace.sessions == (first,) and settled(first), SECONDS)
    assert workspace.current is first
    assert told
    assert first.state.path == "/images/b"
    assert "Part of " in first.state.facts


def test_the_given_address_brings_its_node_again(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    node = f"{place}/images/b"
    session = shown(workspace, mailbox, node)
    session.select("/")
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert workspace.open(node) is session
    mailbox.run_until(lambda: settled(session) and session.state.path == "/images/b", SECONDS)
    assert [recent.url for recent in workspace.recent] == [node]
    workspace.forget(session)
    assert not workspace.recent


def test_a_place_in_a_dock_or_notebook_joins_the_open_one(place: Path, mailbox: Mailbox) -> None:
    brought: list[Session] = []
    places = OpenPlaces([], mailbox, brought.append)
    first = places.open(target_of(str(place)), str(place))
    mailbox.run_until(lambda: settled(first), SECONDS)
    places.open(target_of(f"{place}/images"), f"{place}/images")
    mailbox.run_until(lambda: places.sessions == [first] and settled(first), SECONDS)
    assert brought[-1] is first
    assert first.state.path == "/images"
    assert places.at(str(place)) is first
    places.close_all()
    mailbox.run()


def test_opening_for_writing_keeps_place_and_node(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    session = shown(workspace, mailbox, f"{place}/images/b")
    session.set_writable(True)
    mailbox.run_until(lambda: session.state.writable and settled(session), SECONDS)
    assert (session.url, session.state.path) == (str(place), "/images/b")


def test_a_view_of_before_means_the_same_node(place: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    """A text that was copied when the address of a node was the address of its session."""
    workspace.show_view({"url": f"{place}/images/b", "path": "/a", "slice": {}})
    session = not_none(workspace.current)
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert (session.url, session.state.path) == (str(place), "/images/b/a")


def test_edits_kept_for_the_node_are_offered_in_the_hierarchy(place: Path, mailbox: Mailbox) -> None:
    """Unsaved edits of a session whose address was that of the node: of an earlier version, or begun with a path."""
    settings, node = MemorySettings(), f"{place}/images/b"
    drafts = {"/": {"changes": [["/attributes", '{"said": true}']], "typed": {}}}
    told = {"zarrscope": 1, "url": node, "when": "2026-11-28 12:00", "process": 0, "host": "other", "drafts": drafts}
    settings.store(f"unsaved-{blake2b(node.encode(), digest_size=8).hexdigest()}-1-1", json.dumps(told))
    session = Session(node, mailbox)
    session.keep_edits(settings)
    mailbox.run_until(lambda: settled(session), SECONDS)
    assert session.url == str(place)
    rescue = not_none(session.rescue)
    assert rescue.sentence
    session.put_back()
    mailbox.run_until(lambda: not rescue.sentence, SECONDS)
    assert session.edit.dirty_paths == {"/images/b"}
    session.discard_edits()
    session.close()


@pytest.mark.parametrize(("path", "name", "url"), [("/images/b", "x.zarr", True), ("/images/b", "plain", False)])
def test_elsewhere_the_name_says_where_a_hierarchy_begins(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox, path: str, name: str, url: bool
) -> None:
    place = made(tmp_path / name)
    values = {f"data/{name}/{file.relative_to(place).as_posix()}": file.read_bytes()
              for file in place.rglob("*") if file.is_file()}  # fmt: skip
    with web_server(values) as server:
        session = shown(workspace, mailbox, f"{server.url}/data/{name}{path}")
        assert session.url == f"{server.url}/data/{name}{'' if url else path}"
        assert session.state.path == (path if url else "/")
        mailbox.run_until(lambda: session.tree.find(session.state.path) is not None, SECONDS)


@pytest.mark.needs("qt")
def test_a_window_of_1000_pixels_has_room_for_the_sentence(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import QtRobot

    place = made(tmp_path / "2026-11-29 cells.zarr")
    robot = QtRobot(qtbot)
    robot.window.resize(1000, 700)
    try:
        robot.open(f"{place}/images/b/a")
        facts = robot.window.address.facts
        robot.wait(lambda: "Part of 2026-11-29 cells.zarr" in facts.text(), "the sentence")
        assert not facts.toolTip(), "nothing is left out"
    finally:
        robot.close()
