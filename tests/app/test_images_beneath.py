"""A folder or a group with several images is shown as thumbnails, like a series that lists them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf
from narrowing import as_group
from viewer import Viewer
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Session, folder_images
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.presenters.session import gathering
from zarrscope_app.presenters.session.actions import neighbours, perform


def image(hierarchy: Any, path: str, value: int) -> None:
    axes = [{"name": n, "type": "space"} for n in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    hierarchy.create_group(path, {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
    array = hierarchy.create_array(f"{path.rstrip('/')}/0", shape=(8, 8), dtype="u1", chunks=(8, 8))
    array[...] = np.full((8, 8), value, "u1")


def images(shelf: Shelf, count: int = 3, tables: int = 0) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    for number in range(1, count + 1):
        image(hierarchy, f"/day/img{number}", number)
    for number in range(tables):
        hierarchy.create_array(f"/day/table{number}", shape=(4,), dtype="f4", chunks=(4,))


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def view(shelf: Shelf) -> Iterator[Callable[[str], Viewer]]:
    made: list[Viewer] = []

    def make(path: str) -> Viewer:
        made.append(Viewer(shelf, path))
        return made[-1]

    yield make
    shelf.release()
    for viewer in made:
        viewer.close()


def overview(session: Session) -> OverviewPresenter:
    found = session.tabs.presenters["overview"]
    assert isinstance(found, OverviewPresenter)
    return found


def paths(session: Session) -> list[str]:
    return [cell.path for cell in overview(session).state.cells]


def arrived(session: Session) -> bool:
    state = overview(session).state
    return bool(state.cells) and not state.loading


def test_a_group_of_images_opens_on_their_thumbnails(shelf: Shelf, view: Any) -> None:
    images(shelf, 10, tables=2)
    viewer = view("/day")
    session = viewer.session
    assert session.state.tab == "overview"
    assert next(tab.title for tab in session.state.tabs if tab.id == "overview") == "Images"
    viewer.until(lambda: arrived(session))
    assert paths(session) == [f"/day/img{number}" for number in range(1, 11)], "in the order of the tree, no table"
    state = overview(session).state
    assert state.title == "day: 10 images"
    assert all(cell.rgb is not None for cell in state.cells)
    assert state.cells[9].name == "img10"


def test_one_walks_from_image_to_image(shelf: Shelf, view: Any) -> None:
    images(shelf)
    viewer = view("/day")
    session = viewer.session
    session.select("/day/img1")
    viewer.until(lambda: session.state.path == "/day/img1" and not session.state.selecting)
    perform(session, "next-image")
    viewer.until(lambda: session.state.path == "/day/img2")


def test_one_walks_on_although_the_folder_was_never_shown(shelf: Shelf, view: Any) -> None:
    images(shelf)
    viewer = view("/day/img2")
    perform(viewer.session, "next-image")
    viewer.until(lambda: viewer.session.state.path == "/day/img3")


def test_one_walks_on_after_a_save(shelf: Shelf, view: Any) -> None:
    """The arrows beside the path vanished, and F8 led nowhere."""
    images(shelf)
    viewer = view("/day")
    session = viewer.session
    session.set_writable(True)
    viewer.until(lambda: session.state.writable and session.state.path == "/day" and not session.state.selecting)
    viewer.until(lambda: arrived(session))
    session.select("/day/img1")
    viewer.until(lambda: session.state.path == "/day/img1" and session.edit.state.status is EditStatus.CLEAN)
    session.edit.edit("/ome/multiscales/0/name", "first")
    session.edit.save()
    viewer.until(lambda: not session.edit.unsaved and session.edit.state.status is EditStatus.CLEAN)
    assert neighbours(session) == (False, True)
    perform(session, "next-image")
    viewer.until(lambda: session.state.path == "/day/img2")


@pytest.mark.parametrize("count", [0, 1])
def test_other_groups_open_on_their_description(count: int, shelf: Shelf, view: Any) -> None:
    images(shelf, count, tables=3)
    session = view("/day").session
    assert session.state.tab == "info"
    assert not next(tab.enabled for tab in session.state.tabs if tab.id == "overview")


def test_a_folder_of_images_in_several_formats(tmp_path: Path, mailbox: Mailbox) -> None:
    for name, dialect in {"a.zarr": "v2", "b.zarr": "v3"}.items():
        with zarrscope.open(str(tmp_path / "day" / name), "w-", dialect=dialect) as made:
            axes = [{"name": n, "type": "space"} for n in "yx"]
            listed = [{"version": "0.4", "axes": axes, "datasets": [{"path": "0"}]}]
            made.root.attrs.update(
                {"multiscales": listed} if dialect == "v2" else {"ome": {"version": "0.5", "multiscales": listed}}
            )
            made.create_array("/0", shape=(8, 8), dtype="u1", chunks=(8, 8))[...] = np.ones((8, 8), "u1")
    session = Session(str(tmp_path / "day"), mailbox)
    mailbox.run_until(lambda: arrived(session))
    assert session.state.tab == "overview"
    assert overview(session).state.title == "2 images", "the address line names the folder"
    assert [(cell.path, cell.sentence) for cell in overview(session).state.cells] == [("/a.zarr", ""), ("/b.zarr", "")]
    session.close()


def test_a_remote_group_is_shown_before_its_images_are_found(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    images(shelf)
    monkeypatch.setattr(Shelf, "remote", True)
    goes_on, found = threading.Event(), folder_images.images_beneath

    def waiting(*asked: Any, **options: Any) -> Any:
        goes_on.wait(20)
        return found(*asked, **options)

    monkeypatch.setattr(gathering, "images_beneath", waiting)
    viewer = view("/day")
    session = viewer.session
    assert session.state.tab == "info"
    session.tree.expand(session.tree.find("/day") or 0)
    goes_on.set()
    viewer.until(lambda: arrived(session))
    assert session.state.tab == "overview"
    assert paths(session) == ["/day/img1", "/day/img2", "/day/img3"]


def test_images_that_are_found_after_the_group_was_left_change_nothing(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    images(shelf)
    monkeypatch.setattr(Shelf, "remote", True)
    begun, ended = threading.Event(), threading.Event()

    def waiting(group: Any, most: int, cancelled: Callable[[], bool], *, listed: Any) -> Any:
        begun.set()
        while not cancelled():
            ended.wait(0.01)
        ended.set()
        return folder_images.FolderImages()

    monkeypatch.setattr(gathering, "images_beneath", waiting)
    viewer = view("/day")
    viewer.session.tree.expand(viewer.session.tree.find("/day") or 0)
    viewer.until(begun.is_set)
    viewer.session.select("/day/img1")
    viewer.until(ended.is_set)
    viewer.until(lambda: viewer.session.state.tab == "image")


def test_a_tab_that_the_person_chose_stays_in_front(shelf: Shelf, view: Any) -> None:
    images(shelf)
    viewer = view("/day/img1")
    viewer.session.set_tab("attributes")
    viewer.session.select("/day")
    viewer.until(lambda: viewer.session.state.path == "/day" and not viewer.session.state.selecting)
    assert viewer.session.state.tab == "attributes"
    viewer.until(lambda: arrived(viewer.session))


def test_many_children_are_looked_at_after_the_group_is_shown(
    shelf: Shelf, view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrscope_app.presenters.node_details.FEW", 4)
    images(shelf, 5)
    viewer = view("/day")
    viewer.until(lambda: arrived(viewer.session))
    assert len(paths(viewer.session)) == 5


def test_an_image_without_elements_says_so_in_place_of_a_thumbnail(shelf: Shelf, view: Any) -> None:
    """The window divided by its height, and ended."""
    images(shelf, 2)
    hierarchy = zarrscope.open(shelf, "a")
    axes = [{"name": n, "type": "space"} for n in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    stated = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    hierarchy.create_group("/day/none", {"ome": stated})
    hierarchy.create_array("/day/none/0", shape=(0, 8), dtype="u1", chunks=(8, 8))
    viewer = view("/day")
    viewer.until(lambda: arrived(viewer.session))
    cell = next(cell for cell in overview(viewer.session).state.cells if cell.name == "none")
    assert cell.rgb is None
    assert "no elements" in cell.sentence


def test_a_group_of_tables_is_not_read_to_its_end(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    for number in range(60):
        hierarchy.create_group(f"/t/g{number:02}")
    image(hierarchy, "/t/z1", 1)
    image(hierarchy, "/t/z2", 2)
    group = as_group(hierarchy["/t"])
    asked: list[str] = []
    inspect = type(group).inspect

    def counted(self: Any, children: Any, *rest: Any) -> Any:
        listed = list(children)
        asked.extend(child.name for child in listed)
        return inspect(self, listed, *rest)

    monkeypatch.setattr(type(group), "inspect", counted)
    assert folder_images.images_beneath(group, 100).collection is None
    assert len(asked) == folder_images.PROBED


def test_a_folder_of_plates(shelf: Shelf) -> None:
    hierarchy = zarrscope.open(shelf, "a")
    for name in ("p1", "p2"):
        hierarchy.create_group(
            f"/{name}", {"ome": {"version": "0.5", "plate": {"rows": [], "columns": [], "wells": []}}}
        )
    found = folder_images.images_beneath(as_group(hierarchy.root), 10).collection
    assert found is not None
    assert (found.kind, [member.path for member in found.members or ()]) == ("plates", ["/p1", "/p2"])
