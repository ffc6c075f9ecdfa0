"""A web folder that contains hierarchies behaves in verbs and hosts as the same folder on this machine does."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import zarrscope
from contracts import http_server
from narrowing import as_array, as_group, not_none
from zarrscope.errors import Denied
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import run
from zarrscope_app.presenters import ROOT, RowState, Session, strings


class Served(NamedTuple):
    folder: Path
    url: str
    asked: list[str]
    """The paths of all requests."""


@contextmanager
def serving(folder: Path, denied: str = "", page: bytes = b"", together: str = "", number: int = 0) -> Iterator[Served]:
    """The folder by Python's web server. Names that begin with `denied` are answered with 403; `page`, if given, stands
    in place of each index. The first `number` paths in which `together` occurs are answered only when all of them have
    been requested; if that does not happen, with 503."""
    asked: list[str] = []
    all_there, came = threading.Event(), count(1)

    class Handler(http_server.QuietFolder):
        def do_GET(self) -> None:
            asked.append(self.path)
            if together and re.search(together, self.path):
                if next(came) >= number:
                    all_there.set()
                if not all_there.wait(20):
                    self.send_error(503)
                    return
            if denied and self.path.startswith(f"/{denied}"):
                self.send_error(403)
            else:
                super().do_GET()

        def list_directory(self, path: str | os.PathLike[str]) -> Any:
            if not page or self.path != "/":
                return super().list_directory(path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return None

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # the usual 5 let further connections wait for a second

    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    with http_server.serving(server) as url:
        yield Served(folder, url, asked)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three hierarchies, one of them two levels down, beside an empty folder and a folder of notes."""
    made = tmp_path / "data"
    for name, dialect in (("a.zarr", "v3"), ("b.zarr", "v2"), ("deep/er/c.zarr", "v3")):
        array = zarrscope.open(made / name, "w-", dialect=dialect).create_array("/img", shape=(2,), dtype="u1")
        array[...] = 7
    for name in ("an empty one", "notes"):
        (made / name).mkdir()
    (made / "notes" / "today.txt").write_text("rain")
    (made / "readme.txt").write_text("rain")
    return made


@pytest.mark.parametrize("verb", [["ls"], ["ls", "--json"], ["tree"], ["tree", "--json"], ["check", "--json"]])
def test_a_web_folder_is_printed_as_a_local_one(
    folder: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[int, str]] = []
    with serving(folder) as served:
        for address in (str(folder), served.url, f"{served.url}/"):
            code = run([*verb, address])
            text = capsys.readouterr().out.replace(folder.as_uri(), "<here>").replace(served.url, "<here>")
            # nodes are found by the index of the web server, and by listing the folder
            told.append((code, re.sub(r" *\(web index\)", "", text).replace('"index"', '"listing"')))
    if verb[0] != "check":  # which counts the other entries beside the nodes if it can list them
        assert told[1] == told[2] == told[0]
        assert "c.zarr" in told[0][1] or verb[0] == "ls"
    assert {code for code, _ in told} == {0}
    assert all("a.zarr" in text for _, text in told)


def test_a_web_folder_is_opened_and_read_in_the_tree_of_every_host(folder: Path, mailbox: Mailbox) -> None:
    with serving(folder) as served:
        session = Session(served.url, mailbox)
        try:
            tree = session.tree
            mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
            assert [row.name for row in tree.rows(ROOT, 0, tree.count(ROOT))] == ["a.zarr", "b.zarr", "deep"]
            assert not tree.row(ROOT).sentence
        finally:
            session.close()
        with zarrscope.open(served.url) as h:
            assert not_none(h.recognition).kind == "folder"
            assert (as_array(h["/b.zarr/img"])[...] == 7).all()
            assert (as_array(h["/deep/er/c.zarr/img"])[...] == 7).all()
            with pytest.raises(zarrscope.NotFound):
                h.open_node("/notes")


def test_a_hierarchy_is_not_searched_as_a_folder(folder: Path) -> None:
    with serving(folder) as served:
        for name, first in (("a.zarr", 3), ("b.zarr", 6)):
            served.asked.clear()
            with zarrscope.open(f"{served.url}/{name}") as h:
                assert h.root.kind == "group"
            assert len(served.asked) == first
            assert not [path for path in served.asked if path.endswith("/")]


def test_one_denied_folder_does_not_hide_the_others(folder: Path) -> None:
    with serving(folder, denied="a.zarr/") as served, zarrscope.open(served.url) as h:
        found = {child.name: child for child in as_group(h.root).children()}
        assert isinstance(found.pop("a.zarr").error, Denied)
        assert {name: child.kind for name, child in found.items()} == {"b.zarr": "group", "deep": "group"}


def test_folders_that_are_all_denied_are_not_called_absent(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "a.zarr", "w-")
    with serving(tmp_path, denied="a.zarr/") as served, pytest.raises(Denied):
        zarrscope.open(served.url)


def test_an_empty_folder_does_not_end_the_listing_of_the_others(folder: Path) -> None:
    with serving(folder) as served, zarrscope.open(served.url) as h:
        assert h.store._named_folders("an empty one/") is None
        assert {child.name for child in as_group(h["/deep"]).children()} == {"er"}


def test_a_page_full_of_links_costs_a_bounded_number_of_requests(tmp_path: Path) -> None:
    links = b"".join(b'<a href="%d/">%d</a>' % (i, i) for i in range(5000))
    with serving(tmp_path, page=links) as served:
        with pytest.raises(zarrscope.NotFound):
            zarrscope.open(served.url)
        assert len(served.asked) < 500


def test_a_group_whose_index_names_what_its_metadata_name_is_listed(tmp_path: Path, mailbox: Mailbox) -> None:
    """An image names its levels itself. If the index was read, the group is not called unlistable."""
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        axes = [{"name": name, "type": "space"} for name in "yx"]
        scale = [{"type": "scale", "scale": [1, 1]}]
        levels = [{"path": "0", "coordinateTransformations": scale}]
        h.create_group("/image", {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        h.create_array("/image/0", shape=(4, 4), dtype="u1")
    with serving(tmp_path) as served:
        session = Session(f"{served.url}/x.zarr/", mailbox)
        try:
            tree = session.tree
            mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
            image = tree.find("/image")
            assert image is not None
            tree.expand(image)
            mailbox.run_until(lambda: tree.row(image).state is RowState.READY)
            assert tree.count(image) == 1
            assert not tree.row(image).sentence
        finally:
            session.close()


class Refusing:
    """A web server of a group with one array, which answers requests for folders with `status` until that is None."""

    def __init__(self, folder: Path, status: int | None) -> None:
        self.status = status
        outer = self

        class Handler(http_server.QuietFolder):
            def do_GET(self) -> None:
                if outer.status is not None and self.path.endswith("/"):
                    self.send_error(outer.status)
                else:
                    super().do_GET()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))


@pytest.mark.parametrize(("status", "word"), [(401, "denied"), (403, "denied"), (500, "failed"), (503, "failed")])
def test_a_refused_list_of_children_is_told_and_can_be_asked_for_again(
    tmp_path: Path, mailbox: Mailbox, status: int, word: str
) -> None:
    """The server can list children, but did not: it denied the access, or failed."""
    zarrscope.open(tmp_path / "x.zarr", "w-").create_array("/a", shape=(4,), dtype="u1")
    (tmp_path / "x.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    served = Refusing(tmp_path, status)
    with http_server.serving(served.server) as url:
        with zarrscope.open(f"{url}/x.zarr") as h, pytest.raises(zarrscope.Unsupported, match=f"answered {status}"):
            list(as_group(h.root).children())
        session = Session(f"{url}/x.zarr", mailbox)
        try:
            tree = session.tree
            mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
            row = tree.row(ROOT)
            assert word in row.sentence
            assert f"({status})" in row.sentence
            assert row.retry
            served.status = None
            tree.retry(ROOT)
            mailbox.run_until(lambda: tree.count(ROOT) == 1)
            mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
            assert not tree.row(ROOT).sentence
            assert not tree.row(ROOT).retry
        finally:
            session.close()


def test_a_server_without_lists_of_children_is_not_asked_again(tmp_path: Path, mailbox: Mailbox) -> None:
    zarrscope.open(tmp_path / "x.zarr", "w-")
    served = Refusing(tmp_path, 404)
    with http_server.serving(served.server) as url:
        session = Session(f"{url}/x.zarr", mailbox)
        try:
            mailbox.run_until(lambda: session.tree.row(ROOT).state is RowState.READY)
            row = session.tree.row(ROOT)
            assert (row.sentence, row.retry) == (strings.UNLISTABLE, False)
        finally:
            session.close()


def test_an_image_whose_server_denies_lists_is_no_fault(tmp_path: Path, mailbox: Mailbox) -> None:
    """Many servers of images deny them; the levels are named by the image."""
    axes = [{"name": name, "type": "space"} for name in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        h.root.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
        h.create_array("/0", shape=(4, 4), dtype="u1")
    served = Refusing(tmp_path, 403)
    with http_server.serving(served.server) as url:
        session = Session(f"{url}/x.zarr", mailbox)
        try:
            tree = session.tree
            mailbox.run_until(lambda: tree.row(ROOT).state is RowState.READY)
            assert tree.count(ROOT) == 1
            assert (tree.row(ROOT).sentence, tree.row(ROOT).retry) == (strings.UNLISTABLE, False)
        finally:
            session.close()


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Forty plain folders, each with a hierarchy one level further down, and one that is empty."""
    made = tmp_path / "data"
    for i in range(40):
        zarrscope.open(made / f"p{i:02}" / "x.zarr", "w-")
    (made / "nothing").mkdir()
    return made


def test_plain_folders_are_searched_side_by_side(plain: Path) -> None:
    """In sequence, the indexes of the first eight folders would never be requested at the same time."""
    with serving(plain, together=r"^/p\d+/$", number=8) as served, zarrscope.open(served.url) as h:
        found = [(child.name, child.kind) for child in as_group(h.root).children()]
        assert sorted(found) == [(f"p{i:02}", "group") for i in range(40)]


def test_plain_folders_arrive_while_others_are_searched(plain: Path) -> None:
    with serving(plain) as served, zarrscope.open(served.url) as h:
        children = as_group(h.root).children()
        next(children)
        assert sum(path.endswith("/") for path in served.asked) < 30


def test_a_search_that_is_cancelled_asks_no_further(plain: Path) -> None:
    with serving(plain) as served, zarrscope.open(served.url) as h:
        stopped: list[bool] = []
        children = as_group(h.root).children(lambda: bool(stopped))
        next(children)
        stopped.append(True)
        before = len(served.asked)
        assert len(list(children)) < 20
        assert len(served.asked) == before
