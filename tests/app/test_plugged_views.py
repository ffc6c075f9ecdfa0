"""A view of another package: one file and one entry point for all hosts, and one function for its own widget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from contracts.journeys import SECONDS
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import TITLES, VIEWS, Session, SessionStatus

Install = Callable[..., None]
TEXT = "[zarrscope.views]\nsizes = example_view:SIZES\n"
PAINTED = "[zarrscope.views]\nsizes = example_view:PAINTED\n"
BYTES = 2 * 3 * 2


@pytest.fixture
def place(tmp_path: Path) -> str:
    h = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    h.create_group("/g")
    h.create_array("/a", shape=(2, 3), dtype="u2")
    return str(tmp_path / "x.zarr")


@pytest.fixture
def opened(place: str, mailbox: Mailbox) -> Iterator[Callable[[str], Session]]:
    made: list[Session] = []

    def opened(path: str) -> Session:
        session = Session(place, mailbox, path=path)
        made.append(session)
        mailbox.run_until(lambda: session.node is not None, SECONDS)
        return session

    yield opened
    for session in made:
        session.close()


def titles(session: Session) -> dict[str, bool]:
    return {tab.title: tab.enabled for tab in session.state.tabs}


def test_it_is_a_row_like_the_others(install: Install, opened: Callable[[str], Session], mailbox: Mailbox) -> None:
    install("example-view", TEXT, "example_view")
    session = opened("/a")
    assert [tab.id for tab in session.state.tabs] == [*(view.id for view in VIEWS), "sizes"]
    presenter: Any = session.tabs.presenters["sizes"]
    assert (titles(session)["Sizes"], presenter.text()) == (True, f"All values: {BYTES} bytes")
    session.set_tab("sizes")
    assert session.state.tab == "sizes"
    session.select("/g")
    mailbox.run_until(lambda: session.node is not None, SECONDS)
    assert (titles(session)["Sizes"], presenter.bytes, session.state.tab) == (False, None, "info")
    session.select("/a")
    mailbox.run_until(lambda: session.node is not None, SECONDS)
    assert session.state.tab == "sizes"  # once chosen, the tab stays selected on other nodes to which it applies
    assert not session.problems.items


BROKEN = {
    "does not load": ("raise RuntimeError('half installed')", "VIEW", "does not load: RuntimeError: half installed"),
    "is not there": ("", "VIEW", "does not load: AttributeError"),
    "is no view": ("VIEW = 5", "VIEW", "it is no View"),
    "predicate fails": (
        "from example_view import *\nVIEW = View('x', 'X', lambda details: details.nothing, Sizes)",
        "VIEW",
        "fails: AttributeError",
    ),
    "presenter fails": (
        "from example_view import *\nVIEW = View('x', 'X', lambda details: True, lambda: None)",
        "VIEW",
        "fails: TypeError",
    ),
    "cannot show": (
        "from example_view import *\nclass Bad(Sizes):\n    def show_node(self, details): 1 / 0\n"
        "VIEW = View('x', 'X', lambda details: True, Bad)",
        "VIEW",
        "fails: ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_one_is_one_sentence_and_the_others_work(
    install: Install, opened: Callable[[str], Session], mailbox: Mailbox, broken: str
) -> None:
    text, name, said = BROKEN[broken]
    install("example-view", TEXT, "example_view")
    install("broken-view", f"[zarrscope.views]\nbad = broken_view:{name}\n", broken_view=text)
    session = opened("/a")
    assert session.state.status is SessionStatus.READY
    [problem] = [item for item in session.problems.items if said in item.headline]
    assert [item.headline for item in session.problems.items] == [problem.headline]
    assert titles(session)["Sizes"]
    elsewhere = ("Overview", "Problems")  # the tabs of collections; the title contains the number of problems
    assert all(titles(session)[title] for title in TITLES.values() if not title.startswith(elsewhere))


def test_two_of_one_name_are_told_and_neither_is_guessed(install: Install, opened: Callable[[str], Session]) -> None:
    install("example-view", TEXT, "example_view")
    install("other-view", "[zarrscope.views]\nsizes = example_view:PAINTED\n")
    session = opened("/a")
    assert [item.headline for item in session.problems.items] == [
        "Several packages add 'sizes': example-view 1.0, other-view 1.0. Uninstall all of them but one."
    ]
    assert [tab.id for tab in session.state.tabs] == [view.id for view in VIEWS]


def test_a_name_that_is_built_in_stays_so(install: Install, opened: Callable[[str], Session]) -> None:
    install("example-view", "[zarrscope.views]\ninfo = example_view:SIZES\n", "example_view")
    session = opened("/a")
    assert [item.headline for item in session.problems.items] == [
        'The view "info" that a package adds is not shown: a built-in view has this name.'
    ]
    assert session.metadata.text().startswith("a\n")


# ---------------------------------------------------------------------- hosts
@pytest.mark.needs("qt")
@pytest.mark.parametrize(("points", "shown"), [(TEXT, f"All values: {BYTES} bytes"), (PAINTED, f"<<{BYTES}>>")])
def test_in_the_window(install: Install, place: str, qtbot: Any, points: str, shown: str) -> None:
    from qt_robot import QtRobot

    install("example-view", points, "example_view", "example_widgets")
    robot = QtRobot(qtbot)
    try:
        robot.open(place)
        robot.wait(lambda: robot.session.state.status is SessionStatus.READY, "the place")
        robot.session.select("/a")
        robot.wait(lambda: robot.session.node is not None, "the array")
        tabs = robot.window.tabs
        robot.wait(lambda: [tabs.tabText(i) for i in range(tabs.count())][-1] == "Sizes", "its tab")
        robot.wait(lambda: tabs.isTabEnabled(tabs.count() - 1), "its tab to fit")
        tabs.setCurrentIndex(tabs.count() - 1)
        robot.wait(lambda: robot.session.state.tab == "sizes" and robot.sees(shown), "what it shows")
        robot.session.select("/g")
        robot.wait(lambda: not tabs.isTabEnabled(tabs.count() - 1), "its tab to be shut")
    finally:
        robot.close()


@pytest.mark.parametrize(("points", "shown"), [(TEXT, f"All values: {BYTES} bytes"), (PAINTED, f"<<{BYTES}>>")])
def test_in_the_terminal(install: Install, place: str, points: str, shown: str) -> None:
    import asyncio

    from zarrscope_app.tui.app import Explorer

    install("example-view", points, "example_view", "example_widgets")
    app = Explorer(f"{place}/a")

    def screen() -> str:
        return "\n".join("".join(part.text for part in line) for line in app.screen._compositor.render_strips())

    async def look() -> None:
        async with app.run_test(size=(120, 30)) as pilot, asyncio.timeout(SECONDS):
            while app.session.node is None:
                await pilot.pause(0.01)
            app.session.set_tab("sizes")
            while shown not in screen() or " Sizes " not in screen():
                await pilot.pause(0.01)
            for key, there in (("[", False), ("]", True)):
                await pilot.press(key)
                while (app.session.state.tab == "sizes") != there:
                    await pilot.pause(0.01)

    asyncio.run(look())


@pytest.mark.parametrize(
    ("points", "blocks"),
    [
        (TEXT, [["text", f"All values: {BYTES} bytes"]]),
        (
            PAINTED,
            [
                ["table", [["what", "bytes"], ["values", str(BYTES)]]],
                ["picture", "data:image/png;base64,iVBORw=="],
            ],
        ),
    ],
)
def test_in_the_notebook(install: Install, place: str, mailbox: Mailbox, points: str, blocks: list[Any]) -> None:
    from zarrscope_app.jupyter import Explorer

    install("example-view", points, "example_view", "example_widgets")
    widget = Explorer(place, path="/a", post=mailbox)
    try:
        mailbox.run_until(lambda: widget.session.node is not None, SECONDS)
        widget._receive(widget, {"do": "session.set_tab", "args": ["sizes"]})
        mailbox.run_until(lambda: widget.view["panel"].get("blocks") == blocks, SECONDS)
        assert widget.view["place"]["tabs"][-1] == {"id": "sizes", "title": "Sizes", "enabled": True}
    finally:
        widget.close()


@pytest.mark.needs("qt")
@pytest.mark.parametrize(("points", "shown"), [(TEXT, f"All values: {BYTES} bytes"), (PAINTED, f"<<{BYTES}>>")])
def test_in_naparis_dock(
    install: Install, place: str, make_napari_viewer: Any, qtbot: Any, points: str, shown: str
) -> None:
    from zarrscope_app.napari.dock import Explorer

    install("example-view", points, "example_view", "example_widgets")
    dock = Explorer(make_napari_viewer())
    qtbot.addWidget(dock)
    dock.open(place, "/a")
    qtbot.waitUntil(lambda: "sizes" in dock.tabs.pages, timeout=SECONDS * 1000)
    number = list(dock.tabs.pages).index("sizes")
    assert dock.tabs.tabText(number) == "Sizes"
    dock.tabs.setCurrentIndex(number)
    page = dock.tabs.pages["sizes"]
    qtbot.waitUntil(lambda: shown in (page.text() if points == PAINTED else page.text.toPlainText()), timeout=10_000)
    assert list(dock.tabs.pages) == ["attributes", "chunks", "info", "problems", "sizes"]
    dock.stop()


@pytest.mark.needs("qt")
def test_a_widget_that_does_not_load_is_said_in_its_place(install: Install, place: str, qtbot: Any) -> None:
    from qt_robot import QtRobot

    install("example-view", PAINTED, "example_view", example_widgets="raise ImportError('no such toolkit')")
    robot = QtRobot(qtbot)
    try:
        robot.open(f"{place}/a")
        robot.wait(lambda: "sizes" in robot.window.tabs.pages, "its tab")
        text = robot.window.tabs.pages["sizes"].text.toPlainText()
        assert text == 'The view "Sizes" cannot be drawn here (ImportError: no such toolkit)'
    finally:
        robot.close()
