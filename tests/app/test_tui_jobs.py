"""Long jobs in the terminal, started, watched and stopped by keys: copy, move, erase, convert, export, check.

A job that is to be stopped waits at its first report of progress until it is stopped, so it is always in the middle.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.journeys import Shelf
from contracts.operations import contents
from contracts.slides import image
from terminal_hand import Screen
from zarrscope.nodes.array import Array
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.stores import memory
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.store import Store
from zarrscope.view.image import find_images
from zarrscope_app.presenters import JobState, strings
from zarrscope_app.presenters import strings_terminal as words_of_terminals
from zarrscope_app.presenters.nodes import words
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.picker import Picker

STOPS = "^X stops it"
VALUES = np.arange(6 * 64 * 64, dtype=np.uint32).reshape(6, 64, 64).astype(np.uint8) | 1


CHUNKS = 24


def fill(store: Store) -> None:
    """A group with an array of a few chunks, so that no job takes long on a busy machine."""
    hierarchy = open_hierarchy(store, "a")
    hierarchy.create_group("/image")
    array = hierarchy.create_array("/image/0", shape=(6, 64, 64), dtype="uint8", chunks=(1, 32, 32))
    array[...] = VALUES


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    """An image in memory, where a move copies every value."""
    shelf = Shelf()
    fill(shelf)
    yield shelf
    shelf.release()
    memory._named.pop(shelf.address.removeprefix("memory://"), None)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """The same image in a folder."""
    fill(LocalStore(tmp_path / "x.zarr", sync=False))
    return str(tmp_path / "x.zarr")


class Hand(Screen):
    """Fills in forms, and reads the status line."""

    def pane(self) -> str:
        """The words on the screen, as one line."""
        return " ".join(self.painted().split())

    def status(self) -> str:
        """The status line as it is painted."""
        return self.painted().split("\n")[-2].strip()

    async def select(self, path: str) -> None:
        self.session.select(path)
        await self.until(lambda: self.session.state.path == path and not self.session.state.selecting, path)

    async def keys(self, text: str) -> None:
        await self.press(
            *("slash" if c == "/" else "full_stop" if c == "." else "space" if c == " " else c for c in text)
        )

    async def begin(self, command: str, **fields: str) -> None:
        """Opens the form of an action, types into its fields, and starts it."""
        nodes = self.session.nodes
        await self.command(command)
        await self.until(lambda: nodes.state.act and not nodes.state.planning, "the form")
        for number, field in enumerate(nodes.state.fields):
            await self.press(*["down"] * bool(number))
            if field.kind == "flag" and field.id in fields:
                await self.press("space")
            elif field.kind == "choice" and field.id in fields:
                texts = [text for text, _ in field.choices]
                await self.press(*["right"] * ((texts.index(fields[field.id]) - texts.index(field.text)) % len(texts)))
            elif field.id in fields:
                await self.press("ctrl+u")
                await self.keys(fields[field.id])
        await self.until(lambda: nodes.state.ready, "the plan")
        await self.press("enter")

    async def choose_export(self, part: str, format: str) -> None:
        """Begins an export of a part in a format, up to the question for its target."""
        await self.command("export")
        await self.until(lambda: isinstance(self.top, Picker), "the parts")
        await self.keys(part)
        await self.press("enter")
        await self.until(lambda: format in self.sheet(), "the formats")
        await self.keys(format)
        await self.press("enter")

    async def stop(self, *progress: str) -> None:
        """Waits for a running job with its progress in the status line; stops it by a key."""
        await self.until(lambda: all(part in self.status() for part in (STOPS, *progress)), "its progress is painted")
        await self.press("ctrl+x")

    async def says(self, *parts: str) -> None:
        """Waits until the status line has these texts."""
        await self.until(lambda: all(part in self.status() for part in parts), f"the status line says {parts}")


def explore(url: str, steps: Callable[[Hand], Any], width: int = 160, height: int = 30) -> None:
    async def run() -> None:
        app = Explorer(url, writable=True)
        async with app.run_test(size=(width, height)) as pilot:
            hand = Hand(app, pilot)
            await hand.ready()
            await steps(hand)

    asyncio.run(run())


def array(url: str, path: str) -> Any:
    found = open_hierarchy(url)[path]
    assert isinstance(found, Array)
    return found[...]


def is_image(values: Any) -> bool:
    return values.shape == VALUES.shape and bool((values == VALUES).all())


# ---------------------------------------------------------------------- to the end
def test_a_node_is_copied_moved_and_erased_by_keys(folder: str) -> None:
    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.begin("copy-node", to="/copies/one")
        await hand.until(lambda: hand.session.state.path == "/copies/one", "it goes to the copy")
        assert is_image(array(folder, "/copies/one"))
        await hand.ready()
        await hand.begin("move-node", to="/two")
        await hand.until(lambda: hand.session.state.path == "/two", "it goes to the new place")
        assert "/copies/one" not in open_hierarchy(folder)
        await hand.ready()
        await hand.begin("remove-node")
        await hand.says(words.thrown("two"))
        assert "/two" not in open_hierarchy(folder)
        await hand.ready()
        await hand.press("ctrl+p")
        await hand.until(lambda: isinstance(hand.top, Picker), "the commands")
        await hand.keys(hand.session.nodes.undo_label)
        await hand.press("enter")
        await hand.until(lambda: hand.session.state.path == "/two", "it is back")
        assert is_image(array(folder, "/two"))

    explore(folder, steps)


def test_a_node_is_erased_for_good_by_keys(folder: str) -> None:
    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.begin("remove-node", trash="")
        await hand.says(strings.DONE)
        assert "/image/0" not in open_hierarchy(folder)
        assert not hand.session.nodes.undo_label

    explore(folder, steps)


# ---------------------------------------------------------------------- stopped in the middle
def test_a_stopped_copy_leaves_nothing(folder: str, held: None) -> None:
    before = contents(LocalStore(folder))

    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.begin("copy-node", to="/copies/one")
        await hand.stop("Copy 0", "copying: ")
        await hand.says(strings.STOPPED, words.NOT_COPIED)
        assert contents(LocalStore(folder)) == before
        await hand.press("ctrl+x")
        await hand.until(lambda: not hand.session.jobs.items, "the sentence is dismissed")

    explore(folder, steps)


def test_a_stopped_move_leaves_the_node_where_it_was(shelf: Shelf, held: None) -> None:
    before = contents(shelf)

    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.begin("move-node", to="/deep/two")
        await hand.stop("Move 0", "copying: ")
        await hand.says(strings.STOPPED, words.not_moved("0"))
        assert contents(shelf) == before
        assert hand.session.state.path == "/image/0"

    explore(shelf.address, steps)


def test_a_stopped_conversion_names_its_remains_and_goes_on(
    folder: str, tmp_path: Path, held: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x-v2.zarr"

    async def steps(hand: Hand) -> None:
        nodes = hand.session.nodes
        await hand.begin("convert-node")
        await hand.stop("Convert", "converting: ", f" of {CHUNKS} chunks")
        await hand.says(strings.STOPPED)
        sentence = hand.session.jobs.items[-1].sentence
        await hand.until(lambda: words.unfinished(str(target)) in hand.session.jobs.items[-1].sentence, sentence)
        assert target.is_dir()
        monkeypatch.undo()
        await hand.press("ctrl+x")
        await hand.command("convert-node")
        await hand.until(lambda: nodes.state.ready, "the plan")
        assert nodes.state.to == str(target), "the unfinished one is proposed"
        assert words.GOES_ON in hand.sheet().replace("\n", " ")
        await hand.press("enter")
        await hand.until(lambda: hand.session.jobs.items[-1].state is JobState.DONE, "it is complete")

    explore(folder, steps)
    assert is_image(array(str(target), "/image/0"))


def test_another_format_proposes_another_folder(folder: str, tmp_path: Path) -> None:
    async def steps(hand: Hand) -> None:
        nodes = hand.session.nodes
        await hand.begin("convert-node", format="n5")
        await hand.until(lambda: Path(tmp_path, "x-n5.n5").is_dir(), "it is begun there")
        await hand.command("convert-node")
        await hand.until(lambda: nodes.state.ready, "the plan")
        await hand.press("down", "ctrl+u")
        await hand.keys(str(tmp_path / "own.zarr"))
        await hand.press("up", "right")
        assert nodes.state.to == str(tmp_path / "own.zarr"), "a typed place stays"

    explore(folder, steps)


def test_a_stopped_export_leaves_no_file(folder: str, tmp_path: Path, held: None) -> None:
    target = tmp_path / "out.npy"

    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.choose_export("whole", "npy")
        await hand.type(str(target))
        await hand.until(lambda: hand.session.export.state.ready, "its size")
        await hand.press("y")
        await hand.stop("Export out.npy", "%")
        await hand.says(strings.STOPPED, "Nothing was written")

    explore(folder, steps)
    assert [path.name for path in tmp_path.iterdir()] == ["x.zarr"]


def test_closing_one_of_two_hierarchies_asks_about_its_job_alone(folder: str, tmp_path: Path, held: None) -> None:
    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        await hand.begin("copy-node", to="/copies/one")
        await hand.until(lambda: STOPS in hand.status(), "it runs")
        first = hand.session
        second = hand.app.workspace.open(str(tmp_path / "other.zarr"))
        await hand.until(lambda: hand.app.session is second, "the other is in front")
        hand.app.close_place()
        await hand.until(lambda: hand.app.session is first, "the other has no job, and closes at once")
        await hand.press("q")
        await hand.until(lambda: words_of_terminals.JOBS_FOOT in hand.sheet(), "it asks")
        assert "Copy 0" in hand.sheet()
        await hand.press("escape")
        assert first.jobs.items[-1].state is JobState.RUNNING
        await hand.press("q", "x")
        await hand.until(lambda: first.jobs.items[-1].state is JobState.CANCELLED, "it stops")

    open_hierarchy(LocalStore(tmp_path / "other.zarr", sync=False), "a")
    explore(folder, steps)
    end = time.monotonic() + 60  # a busy machine is still clearing up when the application has ended
    while "/copies" in open_hierarchy(folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert "/copies" not in open_hierarchy(folder)


# ---------------------------------------------------------------------- a field that is missing or wrong
FORMS = [
    ("create-group", {"to": ""}, "to", strings.NEW_PLACE),
    ("create-group", {"to": "/image"}, "to", "There is a node /image already"),
    ("create-array", {}, "shape", words.NO_LENGTHS),
    ("create-array", {"shape": "4,x"}, "shape", words.NO_LENGTHS),
    ("copy-node", {"to": ""}, "to", strings.NEW_PLACE),
    ("copy-node", {"to": "/image"}, "to", "one lies within the other"),
    ("move-node", {}, "to", strings.NEW_PLACE),
    ("convert-node", {"to": ""}, "to", strings.NEW_PLACE),
]


@pytest.mark.parametrize(("command", "typed", "id", "sentence"), FORMS)
def test_enter_goes_to_the_field_without_which_there_is_no_plan(
    folder: str, command: str, typed: dict[str, str], id: str, sentence: str
) -> None:
    async def steps(hand: Hand) -> None:
        nodes = hand.session.nodes
        await hand.select("/image/0" if command in ("copy-node", "move-node") else "/")
        await hand.command(command)
        await hand.until(lambda: nodes.state.act and not nodes.state.planning, "the form")
        for name, text in typed.items():
            nodes.set_field(name, text)
        await hand.press(*["down"] * 8)
        await hand.until(lambda: not nodes.state.planning and not nodes.state.ready, "no plan")
        await hand.press("enter")
        field = nodes.state.field(id)
        await hand.until(lambda: f"▸ {field.label}:" in hand.sheet(), "the cursor is on the field")
        assert sentence in nodes.state.field(id).error
        assert "! " in hand.sheet().partition(f"▸ {field.label}:")[2]
        await hand.press("backspace", "9")
        assert nodes.state.field(id).text.endswith("9"), "the next key types into it"

    explore(folder, steps, width=80)


def test_the_plan_of_a_long_form_is_in_sight_on_a_small_screen(folder: str) -> None:
    async def steps(hand: Hand) -> None:
        nodes = hand.session.nodes
        await hand.command("create-array")
        await hand.until(lambda: nodes.state.act and not nodes.state.planning, "the form")
        nodes.set_field("shape", "8, 8")
        await hand.until(lambda: nodes.state.ready, "the plan")
        await hand.until(lambda: "array/zarr.json" in hand.pane() and words.UNDO in hand.pane(), "it is painted")
        assert words.AXES_HINT not in hand.pane(), "only the hint of the field under the cursor"
        await hand.press(*["down"] * 7)
        await hand.until(lambda: words.AXES_HINT in hand.pane(), "the hint of the field under the cursor")

    explore(folder, steps, width=80, height=24)


def test_an_export_without_an_open_node_says_that_there_is_none(tmp_path: Path) -> None:
    async def run() -> None:
        app = Explorer(str(tmp_path / "none.zarr"))
        async with app.run_test(size=(80, 24)) as pilot:
            hand = Hand(app, pilot)
            await hand.until(lambda: hand.session.state.sentence, "it cannot be opened")
            await hand.command("export")
            await hand.until(lambda: words_of_terminals.NOTHING_TO_EXPORT in hand.sheet(), "the reason")
            await hand.press("escape")
            await hand.until(lambda: hand.top is app.screen_stack[0], "the sheet is gone")

    asyncio.run(run())


def test_an_export_that_cannot_be_written_keeps_its_dialog_and_asks_again(folder: str, tmp_path: Path) -> None:
    (tmp_path / "taken.npy").write_bytes(b"mine")

    async def steps(hand: Hand) -> None:
        export = hand.session.export
        await hand.select("/image/0")
        await hand.choose_export("whole", "npy")
        await hand.type(str(tmp_path / "out.jpg"))
        await hand.until(lambda: not export.state.looking, "the reason")
        await hand.press("y", "o", "z")
        assert "whose names end in .npy" in hand.sheet(), "it stays open and says why"
        await hand.press("enter")
        await hand.type(str(tmp_path / "taken.npy"))
        await hand.until(lambda: export.state.ready, "its size")
        await hand.press("y")
        assert "press o to overwrite it" in hand.sheet()
        assert not hand.session.jobs.items
        await hand.press("o")
        await hand.says("Written")

    explore(folder, steps, width=120)
    assert np.array_equal(np.load(tmp_path / "taken.npy"), VALUES)


# ---------------------------------------------------------------------- levels of an image
def levels_of(place: Path) -> list[tuple[int, ...]]:
    (found,) = find_images(open_hierarchy(str(place))["/"])
    return [level.shape for level in found.levels]


def test_levels_are_built_by_keys(tmp_path: Path) -> None:
    place = tmp_path / "cells.zarr"
    image(place, ("DAPI",), side=64)

    async def steps(hand: Hand) -> None:
        await hand.select("/")
        await hand.begin("build-levels", levels="3")
        await hand.says(strings.DONE)
        assert levels_of(place) == [(1, 2, 64, 64), (1, 1, 32, 32), (1, 1, 16, 16)]
        await hand.ready()
        await hand.press("ctrl+p")
        await hand.until(lambda: isinstance(hand.top, Picker), "the commands")
        label = hand.session.nodes.undo_label
        assert label
        await hand.keys(label)
        await hand.press("enter")
        await hand.until(lambda: hand.session.jobs.items[-1].name == label, "the undo is begun")
        await hand.until(lambda: hand.session.jobs.items[-1].state is JobState.DONE, "the undo is over")
        assert len(levels_of(place)) == 2

    explore(str(place), steps)


def test_stopped_levels_leave_the_former_ones(tmp_path: Path, held: None) -> None:
    place = tmp_path / "cells.zarr"
    image(place, ("DAPI",), side=64)
    before = levels_of(place), array(str(place), "/1")

    async def steps(hand: Hand) -> None:
        await hand.select("/")
        await hand.begin("build-levels", levels="3")
        await hand.stop("Build pyramid levels", "building: ", " chunks")
        await hand.says(strings.STOPPED)
        assert levels_of(place) == before[0]
        assert (array(str(place), "/1") == before[1]).all()

    explore(str(place), steps)


def test_an_erasing_that_cannot_be_stopped_is_told(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    erase, begun = Shelf._erase_prefix, threading.Event()

    def slowly(self: Shelf, prefix: str) -> None:
        begun.set()
        shelf._wait("erasing", lambda: False)
        erase(self, prefix)

    monkeypatch.setattr(Shelf, "_erase_prefix", slowly)

    async def steps(hand: Hand) -> None:
        await hand.select("/image/0")
        shelf.hold("erasing")
        await hand.begin("remove-node")
        await hand.until(begun.is_set, "it is begun")
        await hand.stop("Delete 0")
        shelf.release()
        await hand.says(strings.TOO_LATE)
        assert "/image/0" not in open_hierarchy(shelf)

    explore(shelf.address, steps)


def test_a_check_is_stopped_and_goes_on_by_keys(shelf: Shelf) -> None:
    async def steps(hand: Hand) -> None:
        problems = hand.session.problems
        shelf.hold("image/0/c/3")
        await hand.press("ctrl+k")
        await hand.until(lambda: "Checking " in hand.pane(), "the check is shown")
        await hand.press("ctrl+k")
        await hand.until(lambda: "Stopped: " in hand.pane(), "it is stopped")
        shelf.release()
        await hand.press("ctrl+k")
        await hand.until(lambda: "Checked: " in hand.pane(), "it went on to its end")
        assert not problems.can_resume

    explore(shelf.address, steps)
