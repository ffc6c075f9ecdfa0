"""Picture and table stand at the same indices: in an image of two levels, in the arrays of its levels, in its labels,
and back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from contracts.journeys import Shelf
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.session.on_show import show_axes

PLANES, SIDE = 20, 32
NAMES = ("nuclei", "membranes")


@pytest.fixture(params=[True, False], ids=["named", "unnamed"])
def named(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def session(named: bool, workspace: Workspace, mailbox: Mailbox) -> Session:
    """A session of an image c z y x in which level 1 is half as long along z, y and x. The value is 100 c + z of the
    finest level; the arrays have names of axes or none."""
    shelf = Shelf()
    hierarchy = open_hierarchy(shelf, "a")
    datasets = []
    for level in range(2):
        shape = (2, PLANES >> level, SIDE >> level, SIDE >> level)
        names = [*"czyx"] if named else None
        array = hierarchy.create_array(
            f"/{level}", shape=shape, dtype="u1", chunks=(1, *shape[1:]), dimension_names=names
        )
        planes = np.arange(2)[:, None] * 100 + (np.arange(shape[1]) << level)
        array[...] = np.broadcast_to(planes[:, :, None, None], shape).astype("u1")
        step = 1 << level
        datasets.append(
            {"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": [1, step, step, step]}]}
        )
    axes = [{"name": name, "type": "channel" if name == "c" else "space"} for name in "czyx"]
    window = {"start": 0, "end": 200, "min": 0, "max": 255}
    channels = [{"label": name, "color": "FFFFFF", "active": True, "window": window} for name in NAMES]
    told = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "omero": {"channels": channels}}
    hierarchy.root.attrs.update(ome=told)
    made = workspace.open(shelf.address)
    arrive(made, mailbox, "/")
    return made


def arrive(session: Session, mailbox: Mailbox, path: str) -> None:
    session.select(path)
    mailbox.run_until(
        lambda: (
            session.state.status is SessionStatus.READY
            and not session.state.selecting
            and session.state.path == path
            and session.slice.state.kind == "image"
        )
    )


def first_cell(session: Session, mailbox: Mailbox) -> str:
    mailbox.run_until(lambda: session.values.cells(0, 0, 1, 1) not in ([], [["…"]]))
    return session.values.cells(0, 0, 1, 1)[0][0]


def index_of(session: Session, axis: int) -> int:
    return session.slice.index[axis]


def tabs(session: Session) -> dict[str, bool]:
    return {tab.id: tab.enabled for tab in session.state.tabs}


def test_the_table_of_an_image_follows_index_and_level(session: Session, mailbox: Mailbox) -> None:
    assert tabs(session)["values"]
    assert session.state.tab == "image"
    session.slice.set_index("z", 13)
    table = session.values.state
    assert (table.source, table.rows, table.columns) == ("Values of level 0 (/0)", SIDE, SIDE)
    assert table.fixed == (("c", 0, 2), ("z", 13, PLANES))
    assert first_cell(session, mailbox) == "13"
    session.slice.fit((SIDE, SIDE))
    session.slice.lock_level(1)
    mailbox.run_until(lambda: session.values.state.source == "Values of level 1 (/1)")
    assert session.values.state.fixed == (("c", 0, 2), ("z", 6, PLANES // 2))
    assert first_cell(session, mailbox) == "12"


def test_the_table_moves_the_picture(session: Session, mailbox: Mailbox) -> None:
    session.slice.fit((SIDE, SIDE))
    session.slice.lock_level(1)
    mailbox.run_until(lambda: session.values.state.rows == SIDE // 2)
    session.slice.set_index("z", 13)
    session.values.set_index("z", 6)  # the index that is displayed already
    assert index_of(session, 1) == 13
    for index in range(PLANES // 2):
        session.values.set_index("z", index)
        assert (session.values.state.fixed[1][1], index_of(session, 1) // 2) == (index, index)
    session.values.set_index("c", 1)
    assert first_cell(session, mailbox) == "118"
    session.values.show("z", "y")
    session.slice.show("z", "x")  # y and no longer z has one index, that of the middle
    assert [index for name, index, _ in session.values.state.fixed if name == "c"] == [1]
    session.values.show("z", "x")
    assert [index for name, index, _ in session.values.state.fixed if name == "y"] == [SIDE // 4]


def test_the_index_goes_to_the_levels_and_back(session: Session, mailbox: Mailbox, named: bool) -> None:
    session.slice.set_index("z", 13)
    session.slice.set_levels(0, 20, 120)
    arrive(session, mailbox, "/0")
    assert index_of(session, 1) == 13
    assert [index for name, index, _ in session.values.state.fixed] == [0, 13]
    assert session.values.state.source == ""
    if named:
        channels = session.slice.state.channels
        assert [channel.label for channel in channels] == [*NAMES]
        assert (channels[0].lo, channels[0].hi) == (20, 120)
    arrive(session, mailbox, "/1")
    assert index_of(session, 1) == 6
    arrive(session, mailbox, "/")
    assert index_of(session, 1) == 13  # not 12, although level 1 has no plane for 13
    arrive(session, mailbox, "/1")
    session.slice.set_index("z" if named else "dim_1", 3)
    arrive(session, mailbox, "/")
    assert index_of(session, 1) in (6, 7)
    channels = session.slice.state.channels
    assert [(channel.label, channel.lo, channel.hi) for channel in channels] == [
        (NAMES[0], 20, 120),
        (NAMES[1], 0, 200),
    ]


def test_other_axes_go_along(session: Session, mailbox: Mailbox) -> None:
    session.slice.show("z", "x")
    session.slice.set_index("y", 11)
    arrive(session, mailbox, "/1")
    assert (session.slice.plane, index_of(session, 2)) == ((1, 3), 5)
    arrive(session, mailbox, "/")
    assert (session.slice.plane, index_of(session, 2)) == ((1, 3), 11)


def test_the_index_goes_to_the_labels_and_back(session: Session, mailbox: Mailbox) -> None:
    """Labels have no axis of channels here, and half as many rows: the index of these does not go along."""
    hierarchy = open_hierarchy(session.state.url, "r+")
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 1]}]}]
    axes = [{"name": name, "type": "space"} for name in "zyx"]
    told = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}], "image-label": {}}
    for name in ("cells", "nuclei"):
        hierarchy.create_group(f"/labels/{name}", {"ome": told})
        hierarchy.create_array(f"/labels/{name}/0", shape=(PLANES, SIDE // 2, SIDE), dtype="u1", chunks=(1, 16, 32))
    session.slice.set_index("z", 13)
    session.slice.set_levels(0, 20, 120)
    arrive(session, mailbox, "/labels/cells")
    assert index_of(session, 0) == 13
    session.slice.set_index("z", 4)
    arrive(session, mailbox, "/labels/cells/0")
    assert index_of(session, 0) == 4
    arrive(session, mailbox, "/labels/nuclei")
    assert index_of(session, 0) == 4
    session.slice.show("y", "z")
    arrive(session, mailbox, "/")
    assert session.slice.plane == (2, 1)
    session.slice.show("y", "x")
    session.slice.set_index("z", 7)
    arrive(session, mailbox, "/labels/cells")
    assert index_of(session, 0) == 7


def test_reading_again_keeps_the_index(session: Session, mailbox: Mailbox) -> None:
    session.slice.set_index("z", 3)
    arrive(session, mailbox, "/0")
    arrive(session, mailbox, "/")
    session.slice.set_index("z", 5)
    before = session.slice.image
    session.reload()
    mailbox.run_until(
        lambda: session.slice.image is not None and session.slice.image is not before and not session.state.selecting
    )
    assert index_of(session, 1) == 5


def test_the_table_of_an_image_is_exported(session: Session, mailbox: Mailbox, tmp_path: Path) -> None:
    session.slice.set_index("z", 4)
    session.set_tab("values")
    session.export.begin()
    assert session.export.state.what == "table"
    target = tmp_path / "table.csv"
    session.export.choose("table", "csv", str(target))
    mailbox.run_until(lambda: session.export.state.ready)
    session.export.run()
    mailbox.run_until(lambda: not session.jobs.running)
    lines = list(csv.reader(target.read_text().splitlines()))
    assert lines[-1][-1] == "4"


def test_the_axis_of_channels_is_refused_in_words(session: Session) -> None:
    with pytest.raises(ValueError, match="The axis c holds channels, which are blended"):
        show_axes(session, ["c", "x"])
    assert "The axis c holds channels" in session.slice.restore({"show": ["c", "x"]})[0]
    assert session.slice.plane == (2, 3)
