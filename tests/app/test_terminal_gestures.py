"""A newcomer's tasks in the terminal application, each with no more gestures than terminal.md says.

A gesture is a key with its modifiers, or a text typed in one go. Each task begins where the application has just opened
its place read-only, at 80 x 24, as `zarrscope tui PLACE` opens it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual import events

from contracts.slides import NAMES, image, mended, plate, stored
from narrowing import not_none
from terminal_hand import Screen, explore
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.lines import ChunkLines
from zarrscope_app.tui.tabs import Controls

GUIDE = Path(__file__).parents[2] / "resources" / "docs" / "terminal.md"


def promised() -> dict[str, int]:
    """The gestures of each task by the guide's table."""
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    return {task.strip(): int(count) for task, count in rows}


class Hand:
    """Presses keys and counts them."""

    def __init__(self, screen: Screen) -> None:
        self.screen, self.session, self.until = screen, screen.session, screen.until
        self.gestures: list[str] = []

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.gestures.append(key)
            await self.screen.press(key)

    async def type(self, text: str) -> None:
        self.gestures.append(text)
        await self.screen.press(*({" ": "space", ".": "full_stop"}.get(sign, sign) for sign in text))

    def ends(self, task: str) -> None:
        assert len(self.gestures) == promised()[task], self.gestures


def perform(place: Path, steps: Callable[[Hand], Awaitable[None]]) -> None:
    """Performs a task once the place, and its picture if there is one, are on the screen."""

    async def begin(screen: Screen) -> None:
        await screen.until(lambda: not screen.session.slice.frame.loading, "the picture")
        await steps(Hand(screen))

    explore(str(place), begin)


@pytest.mark.parametrize("count", [12, 30])
def test_a_channel_is_found_by_its_name(tmp_path: Path, count: int) -> None:
    names = (*NAMES, *(f"marker {i}" for i in range(count - len(NAMES))))
    image(tmp_path / "many.zarr", names)
    wanted = names[-1]

    async def steps(hand: Hand) -> None:
        controls = hand.screen.app.part("controls", Controls)
        await hand.press("ctrl+f")
        await hand.type(wanted.lower())
        await hand.press("enter")
        shown = hand.session.slice
        await hand.until(lambda: [c.label for c in shown.state.channels if c.visible] == [wanted], "it alone")
        await hand.screen.pilot.pause()
        told = str(controls.content)
        assert f"{count}●{wanted} " in told, "it is listed, however many there are"
        assert told.count("\n") < 6
        assert ("^F finds" in told) == (count == 30), told
        assert hand.screen.app.focus_below is hand.screen.app.picture, "the keys act on the picture"
        hand.ends("Find a channel by its name")

    perform(tmp_path / "many.zarr", steps)


def test_three_images_are_mended_saved_and_undone(tmp_path: Path) -> None:
    """Nothing is written before Ctrl+S."""
    folder = tmp_path / "slides"
    for name in "abc":
        image(folder / f"{name}.zarr", (f"channel {name}", "GFP"))
    before = stored(folder)

    async def steps(hand: Hand) -> None:
        edit, form = hand.session.edit, hand.screen.app.part("attributes", FormLines)
        await hand.until(lambda: hand.screen.app.tree_lines.count() == 4, "the tree")
        await hand.press("ctrl+a")
        await hand.until(lambda: edit.state.title == "Attributes of 3" and form.count() > 8, "the form")
        await hand.until(
            lambda: form.field() is not None and not_none(form.field()).pointer == "size/1", "the size along z"
        )
        await hand.type("0.5")
        await hand.press("ctrl+down", "enter")
        await hand.type("DAPI")
        assert stored(folder) == before, "nothing is written yet"
        await hand.press("ctrl+s")
        await hand.until(lambda: mended(folder) == {(0.5, "DAPI")}, "the save")
        await hand.until(lambda: edit.state.status is EditStatus.CLEAN and not edit.busy, "the end of the save")
        hand.ends("Correct a pixel size and a channel's name in three images, and save")
        hand.gestures = []
        await hand.press("u")
        await hand.until(lambda: edit.state.changes == 3, "the name before")
        await hand.press("u")
        await hand.until(lambda: edit.state.changes == 9, "the size before")
        await hand.press("ctrl+s")
        await hand.until(lambda: edit.state.status is EditStatus.CLEAN, "the save")
        assert stored(folder) == before
        hand.ends("Undo that, and save")

    perform(folder, steps)


def test_a_missing_chunk_is_found_with_the_reason(tmp_path: Path) -> None:
    image(tmp_path / "gap.zarr", ("DAPI", "GFP"), planes=3, side=256)
    (tmp_path / "gap.zarr/0/c/1/2/1/0").unlink()

    async def steps(hand: Hand) -> None:
        await hand.press("comma")
        presenter = hand.session.tabs.presenters["chunks"]
        assert isinstance(presenter, ChunksPresenter)
        await hand.until(lambda: presenter.state.chosen is not None, "the chunk")
        pane = hand.screen.app.part("chunks", ChunkLines)

        def on_screen() -> str:
            return " ".join(" ".join(pane.render_line(y).text for y in range(pane.size.height)).split())

        await hand.until(lambda: "Chunk 1, 2, 1, 0" in on_screen(), "its name without scrolling")
        assert "Programs leave out a chunk" in on_screen(), on_screen()
        assert "0/c/1/2/1/0" in on_screen()
        hand.ends("See which chunk is missing, and why")

    perform(tmp_path / "gap.zarr", steps)


def test_every_tab_of_a_plate_is_whole_in_80_columns(tmp_path: Path) -> None:
    plate(tmp_path / "plate.zarr")

    async def steps(hand: Hand) -> None:
        titles = " Plate Image Values Attributes Chunks Info Problems"
        await hand.until(lambda: titles in hand.screen.painted().split("\n")[1], "the titles of all tabs")

    perform(tmp_path / "plate.zarr", steps)


def test_a_plate_is_walked(tmp_path: Path) -> None:
    plate(tmp_path / "plate.zarr")

    async def steps(hand: Hand) -> None:
        overview = hand.session.tabs.presenters["overview"]
        assert isinstance(overview, OverviewPresenter)
        await hand.until(lambda: overview.state.cells and not overview.state.loading, "the plate")

        def is_at(path: str) -> bool:
            return bool(hand.session.state.path == path)

        for number in (1, 2, 3):
            await hand.until(lambda: not hand.session.state.selecting, "the well before")
            await hand.press("f8")
            await hand.until(partial(is_at, f"/A/{number}"), "the next well")
        hand.ends("Walk through the first three wells of a plate")

    perform(tmp_path / "plate.zarr", steps)


def test_what_is_on_the_screen_is_exported_to_the_folder_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    image(tmp_path / "crop.zarr", ("DAPI",))

    async def steps(hand: Hand) -> None:
        export = hand.session.export
        await hand.press("plus", "plus", "colon")
        await hand.type("export")
        await hand.press("enter", "down", "enter", "enter", "enter")
        await hand.until(lambda: export.state.ready, "the size")
        assert export.state.what == "region"
        target = Path(export.state.target)
        assert target.parent == tmp_path
        await hand.press("y")
        await hand.until(target.exists, "the file")
        hand.ends("Export a crop")

    perform(tmp_path / "crop.zarr", steps)


def test_a_colleague_sees_the_view(tmp_path: Path) -> None:
    image(tmp_path / "view.zarr", ("DAPI", "GFP"), planes=4)

    async def steps(hand: Hand) -> None:
        shown, app = hand.session.slice, hand.screen.app

        def index() -> int:
            return next(axis.index for axis in shown.state.axes if axis.name == "z")

        shown.set_index("z", 3)
        await hand.press("w")
        copied = app.clipboard
        assert copied.startswith("zarrscope:")
        shown.set_index("z", 0)
        hand.gestures.append("paste")
        app.post_message(events.Paste(copied))
        await hand.until(lambda: index() == 3, "the view")
        hand.ends("Send a colleague the view: copy here, paste there")

    perform(tmp_path / "view.zarr", steps)
