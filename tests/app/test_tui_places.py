"""Several hierarchies in one terminal: one tree, one in front, compared, saved and closed one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from narrowing import as_array
from terminal_hand import Screen
from zarrscope_app.presenters import Session, SessionStatus
from zarrscope_app.presenters.commands import LABELS
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.entry import InputLine
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.sheet import Sheet


@pytest.fixture
def places(tmp_path: Path) -> list[str]:
    """Three hierarchies that are equal except for a value and an attribute of the second."""
    for number, name in enumerate(("one", "two", "three")):
        with zarrscope.open(str(tmp_path / f"{name}.zarr"), mode="w-") as h:
            h["/"].attrs["note"] = "before"
            h.create_array("/plane", shape=(5, 32, 48), dtype="uint8", chunks=(1, 16, 16))[...] = 100
            h.create_group("/g")
            if number == 1:
                h["/"].attrs["note"] = "after"
                as_array(h["/plane"])[2, 3, 4] = 101
    return [str(tmp_path / f"{name}.zarr") for name in ("one", "two", "three")]


def is_ready(session: Session) -> bool:
    return session.state.status is SessionStatus.READY and not session.state.selecting


def explore(urls: list[str], steps: Callable[[Screen], Coroutine[Any, Any, None]], **options: Any) -> Explorer:
    app = Explorer(*urls, **options)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            screen = Screen(app, pilot)
            await screen.until(lambda: all(map(is_ready, app.workspace.sessions)), "all are open")
            await screen.until(lambda: all(s.tree.count(0) == 2 for s in app.workspace.sessions), "their rows")
            await pilot.pause()
            await steps(screen)

    asyncio.run(run())
    return app


def rows(app: Explorer) -> list[str]:
    tree = app.tree_lines.node_tree
    return [row.name for row in tree.flat(0, tree.flat_count)]


def text(app: Explorer) -> str:
    return "\n".join("".join(part.text for part in line) for line in app.screen._compositor.render_strips())


BOTH = ["one.zarr", "g", "plane", "two.zarr", "g", "plane"]


def test_two_places_stand_in_one_tree_and_enter_brings_the_other_to_the_front(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first, second = app.workspace.sessions
        assert app.session is first
        assert rows(app) == BOTH
        await screen.press("end", "enter")
        assert app.session is second
        await screen.until(lambda: is_ready(second) and second.state.path == "/plane", "the node of the second")
        await screen.until(lambda: app.picture.session is second and "two.zarr" in text(app), "the second is painted")
        assert first.state.path == "/"
        assert second.state.tab == "image"
        before = second.slice.state.axes[0].index
        await screen.press("tab", "right", "right")
        assert (before + 2) % 5 == second.slice.state.axes[0].index
        await screen.press("shift+tab", "up", "left")  # to the row "g" of the second, and to its root
        assert app.tree_lines.cursor == 3
        await screen.press("left", "left")
        assert app.tree_lines.cursor == 3, "a root has nothing above it"
        assert rows(app) == BOTH[:4]

    explore(places[:2], steps)


def test_a_further_place_is_opened_from_an_address_and_closed_again(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first = app.session
        await screen.command("open-url")
        await screen.type(places[1])
        assert app.session is not first
        await screen.until(lambda: is_ready(app.session) and rows(app) == BOTH, "the second place")
        assert app.tree_lines.cursor == 3
        await screen.press("f6")
        assert app.session is first
        assert app.tree_lines.cursor == 0
        await screen.press("f6")
        await screen.command("close")
        assert app.session is first
        await screen.until(lambda: rows(app) == BOTH[:3], "one is left")
        assert app._exit is False
        await screen.command("open-recent")
        await screen.until(lambda: isinstance(screen.top, Picker), "recent places")
        assert [found[0] for found in screen.top.found] == [places[1]]
        await screen.press("enter")
        await screen.until(lambda: rows(app) == BOTH, "it is there again")

    explore(places[:1], steps)


def test_the_filter_finds_in_all_places(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        await screen.press("slash", *"plan", "enter")
        assert rows(app) == ["one.zarr", "plane", "two.zarr", "plane"]
        assert app.tree_lines.cursor == 1
        await screen.press("n")
        assert app.tree_lines.cursor == 3
        await screen.press("escape")
        assert rows(app) == BOTH

    explore(places[:2], steps)


def test_two_places_are_compared(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app, problems = screen.app, screen.session.problems
        for more, found in (((), {"/"}), (("down",), {"/", "/plane"})):
            await screen.command("compare")
            assert app.part("entry", InputLine).value == places[1], "the other place is proposed"
            await screen.press("enter")
            await screen.until(lambda: isinstance(screen.top, Picker), "how much is asked")
            await screen.press(*more, "enter")
            await screen.until(lambda: not problems.comparing, "it is compared")
            assert {item.path for item in problems.items} == found, [item.details for item in problems.items]
        assert "2 differences" in problems.sentence
        app.session.select("/plane")
        await screen.until(lambda: is_ready(app.session), "the plane")
        await screen.command("compare")
        assert app.part("entry", InputLine).value == f"{places[1]}/plane", "the same node of the other"
        await screen.until(lambda: LABELS["compare-with"] in text(app), "what is asked, beneath the proposal")
        await screen.press("escape")
        await screen.until(
            lambda: "≠ /  attributes" in text(app) and "100 → 101" in text(app), "they are on the screen"
        )

    explore(places[:2], steps)


def test_leaving_asks_for_each_place_with_changes(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first, second = app.workspace.sessions
        for session, note in ((first, "one"), (second, "two")):
            session.edit.edit("/note", note)
        assert first.edit.dirty_paths
        assert second.edit.dirty_paths
        await screen.press("q")
        assert isinstance(screen.top, Sheet)
        assert app.session is first
        await screen.press("x")
        assert isinstance(screen.top, Sheet)
        assert app.session is second
        await screen.press("escape")
        await screen.press("q", "x")
        assert isinstance(screen.top, Sheet)
        assert app.session is second
        await screen.press("s")
        await screen.until(lambda: app._exit, "it ends")

    app = explore(places[:2], steps, writable=True)
    assert app.return_code == 0
    with zarrscope.open(places[0]) as one, zarrscope.open(places[1]) as two:
        assert (one["/"].attrs["note"], two["/"].attrs["note"]) == ("before", "two")


def test_a_place_with_changes_is_closed_after_its_answer(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first = app.session
        first.edit.edit("/note", "mine")
        await screen.command("close")
        assert isinstance(screen.top, Sheet)
        await screen.press("escape")
        assert app.session is first
        await screen.command("close")
        await screen.press("s")
        await screen.until(lambda: first not in app.workspace.sessions, "it is closed")
        assert [session.url for session in app.workspace.sessions] == places[1:]

    explore(places, steps, writable=True)
    with zarrscope.open(places[0]) as one:
        assert one["/"].attrs["note"] == "mine"


def test_each_place_keeps_its_view(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first, second = app.workspace.sessions
        for session in (first, second):
            session.select("/plane")
            await screen.until(lambda: is_ready(session), "the plane")  # noqa: B023 -- called within this turn
        await screen.until(lambda: app.picture.rect is not None, "the picture")
        app.picture.zoom(0.5)
        before = app.picture.rect
        app.workspace.bring(second)
        await screen.until(lambda: app.picture.session is second and second.slice.frame.shape[0], "the other")
        await screen.until(lambda: app.picture.rect != before, "its own part")
        app.workspace.bring(first)
        assert app.picture.rect is not None
        assert before is not None
        assert np.allclose(app.picture.rect, before)

    explore(places[:2], steps)


def test_a_view_of_another_place_opens_it(places: list[str]) -> None:
    async def steps(screen: Screen) -> None:
        app = screen.app
        first, second = app.workspace.sessions
        second.select("/plane")
        await screen.until(lambda: is_ready(second) and second.slice.state.axes, "the plane")
        second.slice.set_index(second.slice.state.axes[0].name, 3)
        copied = second.view_text()
        app.workspace.close(second)
        app.keyboard.paste(copied)
        await screen.until(lambda: app.session is not first and app.session.state.path == "/plane", "it is open")
        await screen.until(lambda: [axis.index for axis in app.session.slice.state.axes][:1] == [3], "at its index")

    explore(places[:2], steps)


def test_an_array_that_grows_is_marked_without_a_key(places: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope_app.presenters.session.polling.POLL_SECONDS", 0.05)

    async def steps(screen: Screen) -> None:
        screen.app.session.select("/plane")
        await screen.until(lambda: is_ready(screen.app.session), "the array is on show")
        as_array(zarrscope.open(places[0], "r+")["/plane"]).resize((9, 32, 48))
        await screen.until(lambda: "changing: 5 × 32 × 48 → 9" in str(screen.app._said["head"]), "it is marked")

    explore(places[:1], steps)
