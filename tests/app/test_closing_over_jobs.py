"""The window asks before it closes while jobs run; stopped jobs leave no unfinished file."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication

from contracts.slides import image
from narrowing import not_none
from qt_robot import QtRobot
from zarrscope_app.presenters import JobState
from zarrscope_app.presenters.strings_jobs import JOBS_LEAVE
from zarrscope_app.qt.closing import JobsQuestion

pytestmark = pytest.mark.needs("qt", "display")


@pytest.fixture
def exporting(qtbot: object, tmp_path: Path, held: None) -> QtRobot:
    """A window whose export runs, and waits until it is stopped."""
    image(tmp_path / "cells.zarr", ("DAPI",), side=64)
    robot = QtRobot(qtbot)
    robot.open(str(tmp_path / "cells.zarr"))
    session = robot.session
    session.select("/0")
    robot.wait(lambda: session.state.path == "/0" and not session.state.selecting, "the array")
    session.export.begin()
    session.export.choose("whole", "npy", str(tmp_path / "out.npy"))
    robot.wait(lambda: session.export.state.ready, "the plan")
    session.export.run()
    robot.wait(lambda: any(job.progress is not None for job in session.jobs.running), "the export to run")
    return robot


def answer(stops: bool, asked: list[str]) -> None:
    """Answers the question as soon as it is on the screen, as a person does."""

    def look() -> None:
        box = QApplication.activeModalWidget()
        if not isinstance(box, JobsQuestion):
            QTimer.singleShot(20, look)
            return
        asked.append(box.text())
        not_none(box.stop if stops else box.back).click()

    QTimer.singleShot(20, look)


@pytest.mark.parametrize("way", ["frame", "quit", "close"])
def test_leaving_asks_about_running_jobs(exporting: QtRobot, tmp_path: Path, way: str) -> None:
    window, session, asked = exporting.window, exporting.session, list[str]()
    leave = window.close if way == "frame" else lambda: window.run(way)
    answer(False, asked)
    leave()
    assert len(asked) == 1
    assert "Export out.npy" in asked[0]
    assert JOBS_LEAVE in asked[0]
    assert window.isVisible()
    assert [job.state for job in session.jobs.items] == [JobState.RUNNING]
    answer(True, asked)
    leave()
    assert len(asked) == 2
    assert session not in window.workspace.sessions
    assert window.isVisible() is (way == "close")
    exporting.wait(lambda: not session.jobs._at_work, "the export to stop")
    assert [path.name for path in tmp_path.iterdir()] == ["cells.zarr"]


def test_the_window_waits_until_stopped_jobs_have_removed_what_is_unfinished(
    exporting: QtRobot, tmp_path: Path
) -> None:
    """The process may end as soon as the window is closed."""
    answer(True, [])
    exporting.window.close()
    assert not exporting.session.jobs._at_work
    assert [path.name for path in tmp_path.iterdir()] == ["cells.zarr"]


@pytest.mark.parametrize("way", ["frame", "close"])
def test_a_running_check_ends_without_a_question(
    qtbot: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It only reads, and can be begun again."""
    image(tmp_path / "cells.zarr", ("DAPI",), side=64)
    robot = QtRobot(qtbot)
    robot.open(str(tmp_path / "cells.zarr"))
    window, session, asked = robot.window, robot.session, list[str]()
    gate = threading.Event()

    def waits(*_: object, **__: object) -> list[object]:
        gate.wait(60)
        return []

    monkeypatch.setattr("zarrscope.check.hierarchy.check", waits)
    robot.wait(lambda: session.problems.can_check and not session.state.selecting, "the image")
    session.problems.check()
    assert session.problems.checking
    answer(False, asked)
    window.close() if way == "frame" else window.run(way)
    assert not asked
    assert session not in window.workspace.sessions
    gate.set()
