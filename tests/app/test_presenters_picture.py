"""The picture and the table of one array agree on index, labels, colours, NaN and values that were just saved."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.journeys import PLANES, Shelf, brightness, labelled_image, small_image
from narrowing import as_array
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.address import absolute_address
from zarrscope.view.render import NOT_A_NUMBER
from zarrscope_app.presenters import EditStatus, MemorySettings, Session, Workspace

PIXELS = (64, 64)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def show(shelf: Shelf) -> Iterator[Callable[..., tuple[Session, Mailbox]]]:
    sessions: list[Session] = []

    def open_(path: str, **options: Any) -> tuple[Session, Mailbox]:
        mailbox = Mailbox()
        session = Session(shelf.address, mailbox, path=path, **options)
        sessions.append(session)
        session.slice.changed.connect(lambda: session.slice.fit(PIXELS))
        mailbox.run_until(lambda: session.node is not None)
        return session, mailbox

    yield open_
    for session in sessions:
        session.close()


def whole(session: Session, mailbox: Mailbox) -> np.ndarray[Any, Any]:
    mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading)
    mailbox.run()
    mailbox.run_until(lambda: not session.slice.frame.loading)
    return session.slice.picture(*PIXELS)


# ---------------------------------------------------------------------- colours
@pytest.mark.parametrize(
    "names", [None, ("y", "x", "c"), ("y", "x", "rgb"), ("row", "column", "band"), ("y", "x", "s")]
)
def test_a_photograph_looks_the_same_whatever_its_axes_are_called(shelf: Shelf, show: Any, names: Any) -> None:
    values = np.zeros((32, 32, 3), np.uint8)
    values[..., 0], values[:16, :, 1], values[:, :16, 2] = 200, 100, 50
    array = open_hierarchy(shelf, "a").create_array(
        "/photo", shape=values.shape, dtype="uint8", chunks=(32, 32, 3), dimension_names=names
    )
    array[...] = values
    session, mailbox = show("/photo")
    picture = whole(session, mailbox)
    assert (picture == values.repeat(2, 0).repeat(2, 1)).all()
    assert [c.label for c in session.slice.state.channels] == ["red", "green", "blue"]


def test_three_planes_are_no_photograph(shelf: Shelf, show: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/a", shape=(32, 32, 3), dtype="uint8", chunks=(32, 32, 3), dimension_names=("z", "y", "x"))[
        ...
    ] = 7
    session, mailbox = show("/a")
    whole(session, mailbox)
    assert [axis.name for axis in session.slice.state.axes if axis.role in ("y", "x")] == ["y", "x"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "datetime64[s]"])
def test_nan_is_neither_zero_nor_infinity(shelf: Shelf, show: Any, dtype: str) -> None:
    array = open_hierarchy(shelf, "a").create_array("/a", shape=(2, 4), dtype=dtype, chunks=(2, 4))
    values = np.zeros((2, 4), dtype)
    if dtype.startswith("datetime"):
        values[0, 0], values[:, 3] = "NaT", 1000
    else:
        values[0, 0], values[0, 1], values[0, 2], values[:, 3] = np.nan, -np.inf, np.inf, 1
    array[...] = values
    session, mailbox = show("/a")
    picture = whole(session, mailbox)

    def colour(y: int, x: int) -> tuple[int, ...]:
        return tuple(int(v) for v in picture[16 + 32 * y, 8 + 16 * x])

    assert colour(0, 0) == NOT_A_NUMBER
    assert NOT_A_NUMBER not in {colour(y, x) for y in range(2) for x in range(4) if (y, x) != (0, 0)}


# ---------------------------------------------------------------------- labels
def test_a_label_image_by_itself_shows_labels_and_names_them(shelf: Shelf, show: Any) -> None:
    labelled_image(shelf)
    session, mailbox = show("/image/labels/cells")
    picture = whole(session, mailbox)
    assert tuple(picture[10, 10]) == (255, 0, 0), "the colour that the file states for label 1"
    assert tuple(picture[50, 50]) == (0, 0, 0)
    assert not session.slice.state.channels
    assert [(label.name, label.visible) for label in session.slice.state.labels] == [("cells", True)]
    session.slice.hover(3.5, 4.5)
    mailbox.run_until(lambda: not session.slice.probe.pending)
    assert session.slice.probe.values == (("cells", "1"),)
    assert session.slice.probe.text.endswith("cells 1")


def test_labels_have_a_colour_each(shelf: Shelf, show: Any) -> None:
    hierarchy = labelled_image(shelf)
    as_array(hierarchy["/image/labels/cells/0"])[0, 40:, 40:] = 2
    as_array(hierarchy["/image/labels/cells/0"])[0, 40:, :20] = 3
    session, mailbox = show("/image/labels/cells")
    session.slice.set_index("z", 0)
    picture = whole(session, mailbox)
    colours = {tuple(int(v) for v in picture[y, x]) for y, x in ((5, 5), (60, 60), (60, 5), (5, 60))}
    assert len(colours) == 4


def test_the_label_over_a_picture_is_in_the_readout(shelf: Shelf, show: Any) -> None:
    labelled_image(shelf)
    session, mailbox = show("/image")
    whole(session, mailbox)
    session.slice.hover(3.5, 4.5)
    mailbox.run_until(lambda: not session.slice.probe.pending)
    assert session.slice.probe.values == (("signal", str(brightness(0))),)
    session.slice.set_label("/image/labels/cells", True)
    session.slice.hover(3.5, 4.5)
    mailbox.run_until(lambda: not session.slice.probe.pending)
    assert session.slice.probe.values == (("signal", str(brightness(0))), ("cells", "1"))
    session.slice.hover(60.5, 4.5)
    mailbox.run_until(lambda: not session.slice.probe.pending)
    assert session.slice.probe.values[1] == ("cells", "0")


# ---------------------------------------------------------------------- one index
def test_the_value_stays_in_the_readout_while_z_steps(shelf: Shelf, show: Any) -> None:
    small_image(shelf)
    session, mailbox = show("/image")
    whole(session, mailbox)
    session.slice.hover(20.5, 30.5)
    for z in (1, 2, PLANES - 1):
        session.slice.set_index("z", z)
        assert session.slice.probe.text, "never empty"
        mailbox.run_until(lambda z=z: session.slice.probe.values == (("signal", str(brightness(z))),))
        assert session.slice.probe.index == (z, 20, 30)
    session.slice.leave()
    session.slice.set_index("z", 0)
    mailbox.run_until(lambda: session.slice.probe.values == (("signal", str(brightness(0))),))
    assert session.slice.probe.index == (0, 20, 30), "the cursor is on the slider by now"
    session.slice.unpin()
    mailbox.run()
    assert session.slice.probe.text == ""


def test_the_readout_returns_to_the_pinned_pixel(shelf: Shelf, show: Any) -> None:
    small_image(shelf)
    session, mailbox = show("/image")
    whole(session, mailbox)
    session.slice.pin(20.2, 30.9)
    assert session.slice.state.pin == (20.5, 30.5)
    session.slice.hover(1.5, 2.5)
    assert session.slice.probe.index[1:] == (1, 2)
    session.slice.leave()
    assert session.slice.probe.index[1:] == (20, 30)
    session.slice.pin(-5, 3)
    assert session.slice.state.pin == (20.5, 30.5), "off the image there is no pixel"
    session.slice.show("y", "z")
    assert session.slice.state.pin is None, "the pixel is of no axis that is shown"


def test_the_properties_of_a_label_are_in_the_readout(shelf: Shelf, show: Any) -> None:
    hierarchy = labelled_image(shelf)
    group = hierarchy["/image/labels/cells"]
    ome = {**group.attributes["ome"]}
    stated = [{"label-value": 1, "area": 320, "kind": "mother"}, {"label-value": "x"}, 7]
    ome["image-label"] = {**ome.get("image-label", {}), "properties": stated}
    hierarchy.create_group("/other/labels", {"ome": {"version": "0.5", "labels": ["cells"]}})
    hierarchy.create_group("/other/labels/cells", {"ome": ome})
    copy = hierarchy.create_array("/other/labels/cells/0", shape=(2, 64, 64), dtype="u1", chunks=(1, 64, 64))
    copy[...] = 1
    session, mailbox = show("/other/labels/cells")
    whole(session, mailbox)
    session.slice.hover(3.5, 4.5)
    mailbox.run_until(lambda: not session.slice.probe.pending)
    assert session.slice.probe.values == (("cells", "1 (area 320, kind mother)"),)


@pytest.mark.parametrize("names", [None, ("t", "z", "y", "x")])
def test_picture_and_table_share_one_index(shelf: Shelf, show: Any, names: Any) -> None:
    array = open_hierarchy(shelf, "a").create_array(
        "/a", shape=(3, 5, 8, 9), dtype="int32", chunks=(1, 1, 8, 9), dimension_names=names
    )
    array[...] = np.arange(3 * 5 * 8 * 9).reshape(3, 5, 8, 9)
    session, mailbox = show("/a")
    picture, table = session.slice, session.values

    def same() -> tuple[int, ...]:
        assert tuple(index for _, index, _ in table.state.fixed) == picture.index[:2]
        return tuple(picture.index[:2])

    same()
    t, z = (axis.name for axis in picture.state.axes[:2])
    picture.set_index(t, 2)
    picture.step(1, z)
    assert same()[0] == 2
    name = table.state.fixed[1][0]
    table.set_index(name, 4)
    assert same() == (2, 4)
    mailbox.run_until(lambda: table.cells(0, 0, 1, 1) == [[str(int(array[2, 4, 0, 0]))]])
    picture.restore({"index": {t: 1, z: 0}})
    assert same() == (1, 0)


def test_the_table_shows_the_plane_of_the_picture(shelf: Shelf, show: Any) -> None:
    open_hierarchy(shelf, "a").create_array("/photo", shape=(32, 33, 3), dtype="uint8", chunks=(32, 33, 3))[...] = 1
    session, _ = show("/photo")
    assert (session.values.state.rows, session.values.state.columns) == (32, 33)


# ---------------------------------------------------------------------- copying cells
def copied(session: Session, mailbox: Mailbox, row: int, column: int, rows: int, columns: int) -> tuple[str, str]:
    found: list[tuple[str, str]] = []
    session.values.copy(row, column, rows, columns, lambda text, sentence: found.append((text, sentence)))
    mailbox.run_until(lambda: bool(found))
    return found[0]


def test_cells_are_copied_as_lines_parted_by_tabs(shelf: Shelf, show: Any) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    values = np.array([[1.5, np.nan, -np.inf], [0.1, 1e300, -0.0]])
    hierarchy.create_array("/a", shape=(2, 3), dtype="float64", chunks=(1, 1))[...] = values
    session, mailbox = show("/a")
    assert copied(session, mailbox, 0, 0, 2, 3) == ("1.5\tNaN\t-inf\n0.1\t1e+300\t-0.0", "")
    assert copied(session, mailbox, 1, 1, 9, 1) == ("1e+300", "")
    session.values.transpose()
    assert copied(session, mailbox, 0, 0, 3, 2) == ("1.5\t0.1\nNaN\t1e+300\n-inf\t-0.0", "")


@pytest.mark.parametrize(
    ("dtype", "values", "text"),
    [
        ("string", np.array(["a", "b\tc\nd", ""], dtype=object), "a\nb␉c⏎d\n"),
        ([("x", "int16"), ("y", "float32")], np.array([(1, 0.5), (2, 1.5)], "i2,f4"), "1\t0.5\n2\t1.5"),
        ("bool", np.array([True, False]), "true\nfalse"),
    ],
)
def test_cells_of_other_kinds_are_copied(shelf: Shelf, show: Any, dtype: Any, values: Any, text: str) -> None:
    array = open_hierarchy(shelf, "a").create_array("/a", shape=values.shape, dtype=dtype, chunks=(2,))
    array[...] = values.astype(array.dtype) if values.dtype.names else values
    session, mailbox = show("/a")
    assert copied(session, mailbox, 0, 0, len(values), 5) == (text, "")


def test_too_many_cells_are_not_copied(shelf: Shelf, show: Any) -> None:
    open_hierarchy(shelf, "a").create_array("/a", shape=(10**6, 10**6), dtype="int8", chunks=(1000, 1000))
    session, mailbox = show("/a")
    text, sentence = copied(session, mailbox, 0, 0, 10**6, 10**6)
    assert text == ""
    assert "too many to copy" in sentence


# ---------------------------------------------------------------------- saved, and shown
def test_what_is_saved_shows_at_once_and_what_was_set_stays(shelf: Shelf, show: Any) -> None:
    small_image(shelf)
    session, mailbox = show("/image", writable=True)
    mailbox.run_until(lambda: bool(session.edit.state.fields))
    whole(session, mailbox)
    session.slice.set_index("z", 7)
    session.slice.set_levels(0, 5, 100)
    rect = (10.0, 10.0, 30.0, 30.0)
    session.slice.viewport(rect, PIXELS)
    session.edit.edit("/ome/omero/channels/0/label", "nuclei")
    session.edit.edit("/ome/omero/channels/0/color", "00FF00")
    session.edit.edit("/ome/multiscales/0/datasets/0/coordinateTransformations/0/scale/0", "2")
    session.edit.save()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN)
    mailbox.run_until(lambda: session.slice.state.channels[0].label == "nuclei")
    (channel,) = session.slice.state.channels
    assert channel.color == (0, 255, 0)
    assert (channel.lo, channel.hi) == (5, 100), "what the file still says as before is as the person set it"
    assert session.slice.index[0] == 7
    assert session.slice.state.axes[0].position == "14 µm"
    assert "z 2 µm" in session.metadata.text()


# ---------------------------------------------------------------------- leaving
def test_all_nodes_are_saved_or_the_first_in_trouble_is_named(shelf: Shelf) -> None:
    hierarchy = open_hierarchy(shelf, "a")
    for name in "abc":
        hierarchy.create_group(f"/{name}", {"n": 1})
    mailbox = Mailbox()
    session = Session(shelf.address, mailbox, path="/a", writable=True)
    for name, text in (("a", "2"), ("b", "3"), ("c", "x")):
        session.select(f"/{name}")
        mailbox.run_until(lambda name=name: session.edit.state.path == f"/{name}" and bool(session.edit.state.fields))  # type: ignore[misc]  # mypy does not type the default of a lambda
        session.edit.edit("/n", text)
    told: list[str | None] = []
    assert not session.edit.can_save_all
    session.edit.save_all(told.append)
    assert told == ["/c"]
    assert dict(open_hierarchy(shelf)["/a"].attributes) == {"n": 1}, "nothing is written while one is wrong"
    session.edit.edit("/n", "4")
    assert session.edit.can_save_all
    assert session.edit.diff_of_all().unified.count("(edited)") == 3
    shelf.failing.add("b/zarr.json")
    session.edit.save_all(told.append)
    mailbox.run_until(lambda: len(told) == 2)
    assert told[1] == "/b"
    stored = [dict(open_hierarchy(shelf)[f"/{n}"].attributes)["n"] for n in "ac"]
    assert stored == [1, 1], "all are saved, or none"
    shelf.failing.clear()
    session.edit.save_all(told.append)
    mailbox.run_until(lambda: len(told) == 3)
    assert told[2] is None
    assert [dict(open_hierarchy(shelf)[f"/{n}"].attributes)["n"] for n in "abc"] == [2, 3, 4]
    session.close()


# ---------------------------------------------------------------------- recent places
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x.zarr", "{here}/x.zarr"),
        ("./a/../x.zarr/", "{here}/x.zarr"),
        ("x.zip::a/b", "{here}/x.zip::a/b"),
        ("x.zip|zip:a|zarr3:b", "zarr3://zip://a::file://{here}/x.zip::b"),
        ("$PLACE/x.zarr", "{home}/x.zarr"),
        ("'x.zarr'", "{here}/x.zarr"),
        ("host:/data/x.zarr", "ssh://host/data/x.zarr"),
        ("https://h/vizarr/?source=https://example.org/x.zarr", "https://example.org/x.zarr"),
        ("doi:10.5281/x", "doi:10.5281/x"),
        ("/already/there.zarr", "/already/there.zarr"),
        ("~/x.zarr", "{home}/x.zarr"),
        ("https://example.org/x.zarr", "https://example.org/x.zarr"),
        ("memory://x", "memory://x"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_recent_places_are_absolute(tmp_path: Path, monkeypatch: Any, text: str, wanted: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "someone"))
    monkeypatch.setenv("PLACE", str(tmp_path / "someone"))
    wanted = wanted.format(here=tmp_path, home=tmp_path / "someone")
    assert absolute_address(text) == wanted
    settings = MemorySettings()
    workspace = Workspace(Mailbox(), settings)
    workspace.open(text)
    assert [place.url for place in workspace.recent] == [wanted]
    monkeypatch.chdir("/")
    assert [place.url for place in Workspace(Mailbox(), settings).recent] == [wanted]
    workspace.close_all()
