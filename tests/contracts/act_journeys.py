"""The journeys of actions: nodes are created, renamed, moved, copied and deleted; exports; checks; plates.

They run on a folder, where a new hierarchy, opened anew, confirms what was written. A host that has no such action
skips the journey with the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import zarrscope
from contracts.journeys import Journeys, Robot
from contracts.slides import plate
from narrowing import as_array, not_none
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.stores.local.store import LocalStore
from zarrscope_app.presenters import JobState
from zarrscope_app.presenters.image.overview import OverviewPresenter

VALUES = np.arange(24, dtype="int16").reshape(4, 6) + 1


def small_folder(tmp_path: Path) -> Path:
    """A group "cells" with an array "one" of four chunks."""
    place = tmp_path / "small.zarr"
    hierarchy = open_hierarchy(LocalStore(place, sync=False), "a")
    hierarchy.create_group("/cells", {"stain": "DAPI"})
    hierarchy.create_array("/cells/one", shape=(4, 6), dtype="int16", chunks=(2, 3))[...] = VALUES
    return place


class ActJourneys(Journeys):
    """The journeys of contracts/journeys.py, and those of actions. Use it as `Journeys`."""

    def acted(self, robot: Robot, path: str) -> None:
        """Waits until an action is done, the node at `path` is selected, and the tree lists it."""
        jobs, name = robot.session.jobs, path.rpartition("/")[2]

        def done() -> bool:
            last = jobs.items[-1] if jobs.items else None
            assert last is None or last.state is not JobState.FAILED, last
            return last is None or last.state is JobState.DONE

        robot.wait(lambda: robot.session.state.path == path and done(), f"{path} after {[*jobs.items]}")
        self.ready(robot)
        robot.wait(lambda: name in robot.rows() and robot.session.node is not None, f"{name} in the tree")

    def values(self, place: Path, path: str) -> Any:
        return as_array(zarrscope.open(str(place))[path])[...]

    # -------------------------------------------------- 5. actions on nodes
    def test_nodes_are_created_renamed_moved_copied_and_deleted(self, robot: Robot, tmp_path: Path) -> None:
        place = small_folder(tmp_path)
        robot.open(str(place), writable=True)
        self.ready(robot)
        self.go(robot, "/cells")
        robot.act("create-group", to="/cells/new")
        self.acted(robot, "/cells/new")
        robot.act("create-array", to="/cells/new/mask", shape="4, 6")
        self.acted(robot, "/cells/new/mask")
        assert self.values(place, "/cells/new/mask").shape == (4, 6)

        self.go(robot, "/cells/one")
        robot.rename("two")
        self.acted(robot, "/cells/two")
        robot.act("move-node", to="/moved")
        self.acted(robot, "/moved")
        robot.act("copy-node", to="/cells/copy")
        self.acted(robot, "/cells/copy")
        for path in ("/moved", "/cells/copy"):
            assert np.array_equal(self.values(place, path), VALUES)
        hierarchy = zarrscope.open(str(place))
        assert "/cells/one" not in hierarchy
        assert "/cells/two" not in hierarchy

        robot.act("remove-node")
        self.acted(robot, "/cells")
        robot.wait(lambda: "copy" not in robot.rows(), "the tree without it")
        assert "/cells/copy" not in zarrscope.open(str(place))
        robot.undo_act()
        self.acted(robot, "/cells/copy")
        assert np.array_equal(self.values(place, "/cells/copy"), VALUES)

    def test_an_array_is_exported(self, robot: Robot, tmp_path: Path) -> None:
        place, target = small_folder(tmp_path), tmp_path / "one.npy"
        robot.open(str(place))
        self.ready(robot)
        self.go(robot, "/cells/one")
        robot.export(target)
        jobs = robot.session.jobs
        robot.wait(lambda: bool(jobs.items) and jobs.items[-1].state is not JobState.RUNNING, "the end of the export")
        assert jobs.items[-1].state is JobState.DONE, jobs.items[-1]
        assert np.array_equal(np.load(target), VALUES)
        assert [path.name for path in tmp_path.glob("one*")] == ["one.npy"]

    # -------------------------------------------------- 6. check
    def test_a_check_names_a_chunk_that_cannot_be_decoded(self, robot: Robot, tmp_path: Path) -> None:
        place = small_folder(tmp_path)
        (place / "cells/one/c/1/1").write_bytes(b"no chunk")
        robot.open(str(place))
        self.ready(robot)
        self.go(robot, "/cells")
        robot.check()
        robot.wait(lambda: robot.sees("Checked: "), "the end of the check")
        found = [problem for problem in robot.session.problems.items if problem.path == "/cells/one"]
        assert len(found) == 1
        robot.wait(lambda: robot.sees(found[0].headline), "the problem on the screen")

    # -------------------------------------------------- 7. plates
    def test_a_plate_is_walked_from_a_well_to_its_fields(self, robot: Robot, tmp_path: Path) -> None:
        plate(tmp_path / "plate.zarr", fields=2)
        robot.open(str(tmp_path / "plate.zarr"))
        self.ready(robot)
        overview = robot.session.tabs.presenters["overview"]
        assert isinstance(overview, OverviewPresenter)
        for path in ("/A/1", "/A/1/0"):
            robot.wait(lambda: bool(overview.state.cells) and not overview.state.loading, "the thumbnails")
            robot.choose_cell(path)
            self.arrives(robot, path)
        self.whole(robot)
        for path in ("/A/1/1", "/A/2/0"):
            robot.next_image()
            self.arrives(robot, path)
            self.whole(robot)
        assert not_none(robot.session.slice.image).path == "/A/2/0"

    def arrives(self, robot: Robot, path: str) -> None:
        robot.wait(lambda: robot.session.state.path == path and not robot.session.state.selecting, path)
