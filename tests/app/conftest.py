"""Fixtures of the presenters' tests: a queue, a workspace that remembers nothing, and packages of other people."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import machine
from contracts.journeys import SECONDS
from zarrscope.model import plugins
from zarrscope.runtime.threads import Mailbox, shared
from zarrscope_app.presenters import MemorySettings, Session, TreePresenter, Workspace, views
from zarrscope_app.presenters.form import field_editors
from zarrscope_app.presenters.form.words import FOLDER_HAS_NONE
from zarrscope_app.presenters.jobs import JobsPresenter, Report

if TYPE_CHECKING:
    from napari_hand import Hand
    from notebook_page import WidgetPage
    from qt_robot import QtRobot


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def tree(mailbox: Mailbox) -> Iterator[TreePresenter]:
    """A tree without a session."""
    owner = shared().owner(mailbox)
    yield TreePresenter(owner)
    owner.close()


@pytest.fixture
def workspace(mailbox: Mailbox) -> Iterator[Workspace]:
    workspace = Workspace(mailbox, MemorySettings())
    yield workspace
    workspace.close_all()


@pytest.fixture
def session(place: str, mailbox: Mailbox) -> Iterator[Session]:
    """A session on the address that the test's fixture `place` gives, open for writing, with all fields read; the root
    of a folder of hierarchies has none."""
    made = Session(place, mailbox, writable=True)
    made.set_tab("attributes")
    mailbox.run_until(lambda: bool(made.edit.state.fields) or made.edit.state.sentence == FOLDER_HAS_NONE)
    yield made
    made.close()


@pytest.fixture
def open_form(mailbox: Mailbox) -> Iterator[Callable[..., Session]]:
    """Returns open_form(place, writable=True), which opens a session whose form by meaning has been read."""
    made: list[Session] = []

    def open_form(place: str | Path, writable: bool = True) -> Session:
        made.append(Session(str(place), mailbox, writable=writable))
        made[-1].set_tab("attributes")
        mailbox.run_until(lambda: bool(made[-1].edit.state.sections))
        return made[-1]

    yield open_form
    for each in made:
        each.close()


@pytest.fixture
def robot(qtbot: Any) -> Iterator[QtRobot]:
    """A robot at a window in which nothing is open."""
    from qt_robot import QtRobot

    robot = QtRobot(qtbot)
    yield robot
    robot.close()


@pytest.fixture
def hand(qtbot: Any, make_napari_viewer: Any) -> Iterator[Hand]:
    """A robot at the dock of a visible napari window."""
    from napari_hand import Hand

    hand = Hand(qtbot, make_napari_viewer(show=True))
    yield hand
    hand.dock.stop()


def _forget() -> None:
    importlib.invalidate_caches()
    plugins.forget()
    for table in (views, field_editors):
        table.plugged_in.cache_clear()


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Returns install(name, entry points, *modules of tests/plugged, **{module: text}), which puts a package of another
    project on this process's path until the test ends."""
    folder = tmp_path / "installed"
    folder.mkdir()
    made: list[str] = []

    def install(name: str, points: str, *modules: str, **texts: str) -> None:
        for module in modules:
            shutil.copy(machine.ROOT / "tests" / "plugged" / f"{module}.py", folder)
        for module, text in texts.items():
            (folder / f"{module}.py").write_text(dedent(text))
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(dedent(points).lstrip())
        made.extend([*modules, *texts])
        _forget()

    sys.path.insert(0, str(folder))
    yield install
    sys.path.remove(str(folder))
    for module in made:
        sys.modules.pop(module, None)
    _forget()


@pytest.fixture(scope="module")
def chromium_browser() -> Iterator[Any]:
    """A browser for all tests of a module."""
    from notebook_page import chromium

    with chromium() as found:
        yield found


@pytest.fixture
def widget_page(chromium_browser: Any) -> Iterator[Callable[..., WidgetPage]]:
    """Returns show(place, width, height, shadow=False), which shows the notebook's widget of a place in a page; closes
    the pages afterwards."""
    from notebook_page import WidgetPage

    pages: list[WidgetPage] = []

    def show(place: Path, width: int = 500, height: int = 250, *, shadow: bool = False) -> WidgetPage:
        pages.append(WidgetPage(chromium_browser, str(place), width, height, shadow=shadow))
        return pages[-1]

    yield show
    for page in pages:
        page.close()


@pytest.fixture
def opened_widget(widget_page: Callable[..., WidgetPage]) -> Callable[[Path], WidgetPage]:
    """Returns open_place(place), which shows it as `explore(place, editable=True)` does in a cell of usual size, and
    forgets the bytes of its first state."""

    def open_place(place: Path) -> WidgetPage:
        page = widget_page(place, 900, 420)
        page.wait(lambda: not page.session.state.selecting, "the node")
        if page.session.state.tab == "image":
            page.until("!!document.querySelector('.zs [data-view=main] canvas')")
        page.begin()
        return page

    return open_place


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs wait at their first report until they are stopped."""
    run = JobsPresenter.run

    def slowly(jobs: JobsPresenter, name: str, work: Callable[..., Any], *answers: Any) -> int:
        def waits(report: Report, cancelled: Callable[[], bool]) -> Any:
            def told(progress: float | None, text: str) -> None:
                report(progress, text)
                end = time.monotonic() + SECONDS
                while not cancelled() and time.monotonic() < end:
                    time.sleep(0.01)

            return work(told, cancelled)

        return run(jobs, name, waits, *answers)

    monkeypatch.setattr(JobsPresenter, "run", slowly)
