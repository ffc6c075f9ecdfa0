"""The explorer in the terminal: plates, line plots, commands, nodes, exports, an editor, bookmarks, mouse, search."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from textual import events

import zarrscope
from narrowing import as_array
from terminal_hand import Screen, explore
from zarrscope_app.presenters import strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.commands import COMMANDS, OFFERS
from zarrscope_app.presenters.session.bookmarks import bookmarked
from zarrscope_app.tui import picture as pictures
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.characters import REST_TOLERANCE, TOLERANCE, CellRendering
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.tabs import Controls, TabLine
from zarrscope_app.tui.terminal import Colors, Terminal

AXES = [{"name": n, "type": "space"} for n in "yx"]
SCALE = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A group with a plane, a line and two groups; the root has an attribute "note"."""
    url = str(tmp_path / "place.zarr")
    with zarrscope.open(url, mode="w-") as h:
        h["/"].attrs["note"] = "before"
        h.create_array("/plane", shape=(5, 32, 32), dtype="uint8", chunks=(1, 16, 16))[...] = 100
        h.create_array("/line", shape=(300,), dtype="float32", chunks=(50,))[...] = np.sin(np.arange(300) / 20)
        h.create_group("/alpha")
        h.create_group("/beta")
    return url


@pytest.fixture
def plate(tmp_path: Path) -> str:
    url = str(tmp_path / "plate.zarr")
    wells = {"A/1": (0, 0, 60), "A/3": (0, 2, 255), "B/2": (1, 1, 120)}
    with zarrscope.open(url, mode="w-") as h:
        stated = {
            "name": "P1", "version": "0.5",
            "rows": [{"name": n} for n in "AB"], "columns": [{"name": n} for n in "123"],
            "wells": [{"path": p, "rowIndex": r, "columnIndex": c} for p, (r, c, _) in wells.items()],
        }  # fmt: skip
        h["/"].attrs["ome"] = {"version": "0.5", "plate": stated}
        for path, (_, _, value) in wells.items():
            h.create_group(
                f"/{path}", {"ome": {"version": "0.5", "well": {"version": "0.5", "images": [{"path": "0"}]}}}
            )
            image = {"version": "0.5", "multiscales": [{"axes": AXES, "datasets": SCALE}]}
            h.create_group(f"/{path}/0", {"ome": image})
            plane = np.zeros((16, 16), "u1")
            plane[8:] = value
            h.create_array(f"/{path}/0/0", shape=(16, 16), dtype="u1", chunks=(16, 16))[...] = plane
    return url


# ---------------------------------------------------------------------- panes
def test_a_plate_is_laid_out_and_opens_its_wells(plate: str) -> None:
    async def steps(screen: Screen) -> None:
        pane = screen.app.part("overview", PlateLines)
        assert screen.session.state.tab == "overview"
        await screen.until(lambda: pane.state.cells and not pane.state.loading, "thumbnails have come")
        await screen.press("tab")
        assert screen.app.focus_below is pane
        text = [pane.render_line(y).text for y in range(pane.size.height)]
        assert "P1" in text[0]
        assert text[1].split() == ["1", "2", "3"]
        assert {line.split()[0] for line in text[2:] if line[:1].isalpha()} == {"A", "B"}
        await screen.press("right")
        assert pane.cursor_text() == "A/2 · no image"
        await screen.press("down")
        assert pane.cell is not None
        assert pane.cell.path.strip("/") == "B/2"
        assert "B/2" in pane.cursor_text()
        await screen.press("enter")
        await screen.until(lambda: screen.session.state.path == "/B/2", "the well is selected")

    explore(plate, steps)


def test_the_cursor_of_the_tree_is_on_the_node_that_the_address_names(plate: str) -> None:
    """It stayed on the root, so that the first key moved away from there."""

    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines

        def at() -> str:
            row = tree.row(tree.cursor)
            return row.path if row is not None else ""

        await screen.until(lambda: at() == "/B/2/0", "the cursor is on the node")
        await screen.press("left")
        await screen.until(lambda: at() == "/B/2", "the group above")
        await screen.press("left")
        await screen.until(lambda: "/B/2/0" not in {row.path for row in tree.node_tree.flat(0, 99)}, "it is collapsed")
        screen.session.tree.refresh()
        await screen.until(lambda: screen.session.tree.row(0).state.value == "ready", "the rows are there again")
        assert at() != "/B/2/0", "a cursor that a person moved stays"
        screen.session.select("/A/3/0")
        await screen.until(lambda: at() == "/A/3/0", "the cursor follows a node that was selected elsewhere")

    explore(f"{plate}/B/2/0", steps)


def test_the_cursor_begins_at_the_first_image_and_returns_to_the_one_that_was_opened(tmp_path: Path) -> None:
    wells = [{"path": f"{row}/{column}", "rowIndex": "ABCDEFGH".index(row), "columnIndex": column - 1}
             for row, column in (("G", 3), ("H", 2))]  # fmt: skip
    plate = {"version": "0.5", "rows": [{"name": n} for n in "ABCDEFGH"], "columns": [{"name": n} for n in "123"],
             "wells": wells}  # fmt: skip
    with zarrscope.open(str(tmp_path / "plate.zarr"), mode="w-") as h:
        h["/"].attrs["ome"] = {"version": "0.5", "plate": plate}
        for well in wells:
            h.create_group(f"/{well['path']}", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})

    async def steps(screen: Screen) -> None:
        pane = screen.app.part("overview", PlateLines)
        await screen.until(lambda: pane.state.cells and pane.size, "the plate is shown")
        assert pane.at == (6, 2)
        await screen.until(lambda: pane.scroll_offset.y > 0, "its row is scrolled into sight")
        await screen.press("tab", "down", "left", "enter")
        await screen.until(lambda: screen.session.state.path == "/H/2", "the well is open")
        await screen.ready()
        assert pane.at == (0, 0), "the cursor of the well is another one"
        screen.session.select("/")
        await screen.until(lambda: screen.session.state.path == "/" and pane.state.kind == "plate", "the plate again")
        assert pane.at == (7, 1)

    explore(str(tmp_path / "plate.zarr"), steps)


def test_an_array_of_one_axis_is_drawn_as_a_line(place: str) -> None:
    async def steps(screen: Screen) -> None:
        picture = screen.app.picture
        await screen.until(lambda: screen.session.slice.line and not screen.session.slice.line.loading, "it is read")
        await screen.until(lambda: picture._plot, "it is drawn")
        lines = [picture.render_line(y).text for y in range(picture.size.height)]
        assert lines[0].split()[0].startswith("1")
        assert lines[-1].split()[0].startswith("-1")
        assert sum(ord(c) > 0x2800 for line in lines for c in line) > 40

    explore(f"{place}/line", steps)


def test_after_steps_over_a_slow_link_the_true_colours_come(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """During quick steps, colours may be approximate to save bytes; at rest no pixel differs visibly."""
    chance = np.random.default_rng(5)
    with zarrscope.open(place, mode="r+") as h:
        # almost the same, but not equal
        planes = chance.integers(0, 240, (1, 32, 32)) + chance.integers(0, 15, (5, 1, 1))
        as_array(h["/plane"])[...] = planes.astype(np.uint8)
    rest, seen = pictures.REST_SECONDS, []
    monkeypatch.setattr(pictures, "REST_SECONDS", 3600.0)

    async def steps(screen: Screen) -> None:
        picture = screen.app.picture

        def off() -> int:
            """The largest difference of a pixel from its true colour; -1 if the picture is not complete."""
            frame = screen.session.slice.frame
            true = screen.session.slice.picture(*picture.pixels).astype(int)
            complete = frame.tiles and not frame.loading and not picture._stale and picture._steady is not None
            return int(np.abs(picture._steady - true).max()) if complete else -1

        await screen.until(lambda: off() >= 0, "it is drawn")
        await screen.press("tab")
        for index in (1, 2, 3):
            await screen.press("right")
            while screen.session.slice.state.axes[0].index != index:
                await screen.pilot.pause(0.01)
            await screen.until(lambda: off() >= 0, "the plane is drawn")
            seen.append(off())
        monkeypatch.setattr(pictures, "REST_SECONDS", 0.01 * rest)
        await screen.press("right")
        await screen.until(lambda: 0 <= off() <= REST_TOLERANCE, "the true colours come")

    explore(f"{place}/plane", steps, terminal=Terminal(slow=True))
    assert REST_TOLERANCE < max(seen) <= TOLERANCE


def test_a_single_step_over_a_slow_link_is_sent_once(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single step sends its plane in exact colours at once; a second frame would double the bytes."""
    noise = np.random.default_rng(5).integers(0, 255, (5, 32, 32))
    with zarrscope.open(place, mode="r+") as h:
        as_array(h["/plane"])[...] = noise.astype(np.uint8)
    monkeypatch.setattr(pictures, "REST_SECONDS", 0.0)

    async def steps(screen: Screen) -> None:
        picture, part = screen.app.picture, screen.session.slice
        await screen.until(lambda: part.frame.tiles and not part.frame.loading, "it is there")
        await screen.press("tab", "right")
        await screen.until(lambda: part.state.axes[0].index == 1 and not part.frame.loading, "the plane is there")
        await screen.until(lambda: not picture._stale and picture._timer is None, "it is drawn")
        assert picture._steady is not None
        true = part.picture(*picture.pixels).astype(int)
        assert int(np.abs(picture._steady - true).max()) <= REST_TOLERANCE
        assert picture._rest is None, "it is not sent again"

    explore(f"{place}/plane", steps, terminal=Terminal(slow=True))


@pytest.mark.parametrize("colors", ["truecolor", "256", "16"])
@pytest.mark.parametrize("slow", [True, False])
def test_an_incomplete_picture_waits_on_a_slow_link_in_all_colours(colors: Colors, slow: bool) -> None:
    loading = SimpleNamespace(slice=SimpleNamespace(frame=SimpleNamespace(loading=True)))
    rendering = CellRendering.of(Terminal(colors=colors, slow=slow))
    picture = pictures.PictureWidget(cast("Any", loading), id="picture", rendering=rendering)
    assert (picture._whole(5.0) > 5.0) is slow


# ---------------------------------------------------------------------- commands, search, bookmarks
def test_every_command_of_the_terminal_is_found_by_name(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("colon")
        await screen.until(lambda: isinstance(screen.top, Picker), "the commands are shown")
        assert {"export", "remove-node", "bookmarks", "project"} <= {id for id, _, _ in screen.top.found}
        assert ("undo", "Undo", "u (attributes)") in screen.top.found
        labels = [label for _, label, _ in screen.top.found]
        assert len(labels) == len(set(labels)), "no two commands have one name"
        await screen.press("r", "e", "n", "a")
        assert next(id for id, _, _ in screen.top.found) == "rename-node"
        await screen.press("escape")
        assert not isinstance(screen.top, Sheet)

    explore(place, steps)


def test_undoing_a_change_of_nodes_is_named_as_that_change(place: str) -> None:
    async def steps(screen: Screen) -> None:
        assert not await undoing(screen)
        nodes = screen.session.nodes
        nodes.begin("create-group", "/")
        nodes.set_field("name", "fresh")
        await screen.until(lambda: nodes.state.ready, "the plan is there")
        nodes.carry_out()
        await screen.until(lambda: nodes.undo_label, "it was made")
        assert await undoing(screen) == [nodes.undo_label]

    async def undoing(screen: Screen) -> list[str]:
        await screen.press("colon")
        await screen.until(lambda: isinstance(screen.top, Picker), "the commands are shown")
        found = [label for id, label, _ in screen.top.found if id == "undo-node"]
        await screen.press("escape")
        return found

    explore(place, steps, writable=True)


def test_n_and_shift_n_go_through_what_was_found(place: str) -> None:
    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines
        await screen.until(lambda: tree.count() == 5, "the children are listed")

        def name() -> str:
            row = tree.row(tree.cursor)
            assert row is not None
            return row.name

        await screen.press("slash", "a", "enter")
        first = name()
        await screen.press("n")
        second = name()
        assert first != second
        await screen.press("N")
        assert name() == first
        await screen.press("escape")
        assert tree.count() == 5

    explore(place, steps)


def test_a_view_is_bookmarked_and_found_again(place: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.select("/plane")
        await screen.until(lambda: screen.session.slice.frame.shape[0], "the picture is there")
        await screen.command("bookmarks")
        await screen.until(lambda: "Bookmark" in screen.sheet(), "bookmarks are shown")
        await screen.press("enter")
        assert len(screen.app.bookmarks.items) == 1
        said = bookmarked(screen.app.bookmarks.items[0].label)
        await screen.until(lambda: said in [str(note.message) for note in screen.app._notifications], "it is said")
        screen.session.select("/alpha")
        await screen.ready()
        await screen.command("bookmarks")
        await screen.until(lambda: "plane" in screen.sheet(), "the bookmark is shown")
        await screen.press("p", "l", "a", "n", "e", "enter")
        await screen.until(lambda: screen.session.state.path == "/plane", "it is gone to")

    explore(place, steps)


def test_what_enter_does_where_nothing_matches_is_read_whole(place: str) -> None:
    """The row of the tree has no room for the sentence."""

    async def steps(hand: Screen) -> None:
        await hand.ready()
        await hand.press("ctrl+f", *"nowhere")
        await hand.until(lambda: strings.NOTHING_FOUND in hand.painted(), "the sentence is whole")

    explore(place, steps)


@pytest.mark.parametrize("key", ["w", "y"])
def test_a_copy_is_said_until_the_next_key(place: str, key: str) -> None:
    """A terminal shows nothing when a program copies, and may forbid it."""

    async def steps(hand: Screen) -> None:
        await hand.ready()
        assert words.COPIED not in hand.painted()
        await hand.press(key)
        await hand.until(lambda: words.COPIED in hand.painted(), "the copy is said")
        await hand.press("down")
        await hand.until(lambda: words.COPIED not in hand.painted(), "the status is back")

    explore(place, steps)


@pytest.mark.parametrize("keys", [("escape", "escape"), ("enter", "enter"), ("escape", "question_mark", "escape")])
def test_two_keys_at_once_on_a_sheet(place: str, keys: tuple[str, ...]) -> None:
    """Both keys arrive in one packet: the second one comes after the dialog was closed, and must not end the
    application."""

    async def steps(screen: Screen) -> None:
        await screen.press("question_mark")
        await screen.until(lambda: isinstance(screen.app.screen, Sheet), "the sheet is open")
        for key in keys:
            screen.app.post_message(events.Key(key, None))
        await screen.until(lambda: not isinstance(screen.app.screen, Sheet), "it is closed")
        await screen.pilot.pause()
        assert screen.app.is_running
        await screen.press("question_mark")
        await screen.until(lambda: isinstance(screen.app.screen, Sheet), "the sheet opens again")

    explore(place, steps)


# ---------------------------------------------------------------------- nodes and exports
def test_a_node_is_moved_after_its_plan_was_seen(place: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.select("/alpha")
        await screen.ready()
        await screen.command("move-node")
        await screen.until(lambda: screen.session.nodes.state.fields, "the form is there")
        await screen.press("ctrl+u", "slash", *"beta", "slash", *"gamma")
        await screen.until(lambda: screen.session.nodes.state.ready, "it is planned")
        assert "/beta/gamma" in screen.sheet()
        assert Path(place, "alpha").exists()  # nothing is done before the question is answered
        await screen.press("enter")
        await screen.until(lambda: Path(place, "beta/gamma/zarr.json").exists(), "it is moved")
        await screen.until(lambda: not Path(place, "alpha").exists(), "it is not where it was")

    explore(place, steps, writable=True)


def test_a_group_is_created(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.command("create-group")
        await screen.until(lambda: screen.session.nodes.state.fields, "the form is there")
        await screen.press("ctrl+u", "slash", *"delta")
        await screen.until(lambda: screen.session.nodes.state.ready, "it is planned")
        await screen.press("enter")
        await screen.until(lambda: Path(place, "delta/zarr.json").exists(), "it is made")

    explore(place, steps, writable=True)


def test_a_node_is_not_erased_where_the_plan_is_left(place: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.select("/alpha")
        await screen.ready()
        await screen.command("remove-node")
        await screen.until(lambda: screen.session.nodes.state.ready, "it is planned")
        await screen.press("escape")
        assert not screen.session.nodes.state.act
        assert Path(place, "alpha/zarr.json").exists()

    explore(place, steps, writable=True)


def test_a_plane_is_exported(place: str, tmp_path: Path) -> None:
    target = tmp_path / "out.npy"

    async def steps(screen: Screen) -> None:
        await screen.command("export")
        await screen.until(lambda: isinstance(screen.top, Picker), "what can be exported is shown")
        for character in "whole":
            await screen.press(character)
        await screen.press("enter")
        await screen.until(lambda: "npy" in screen.sheet(), "formats are shown")
        for character in "npy":
            await screen.press(character)
        await screen.press("enter")
        await screen.type(str(target))
        await screen.until(lambda: screen.session.export.state.ready, "its size is told")
        assert "5 × 32 × 32" in screen.sheet()
        await screen.press("y")
        await screen.until(target.exists, "it is written")

    explore(f"{place}/plane", steps)
    assert (np.load(target) == 100).all()


def test_a_view_is_exported_in_the_pixels_of_its_data(place: str, tmp_path: Path) -> None:
    """It was as small as the cells of the screen."""
    target = tmp_path / "view.png"
    with zarrscope.open(place, mode="r+") as h:
        h.create_array("/wide", shape=(200, 300), dtype="uint8", chunks=(100, 100))[...] = 100

    async def steps(screen: Screen) -> None:
        picture = screen.session.slice
        await screen.until(lambda: bool(picture.frame.tiles) and not picture.frame.loading, "the picture is shown")
        await screen.command("export")
        await screen.until(lambda: isinstance(screen.top, Picker), "what can be exported is shown")
        await screen.press("enter")
        await screen.until(lambda: "PNG" in screen.sheet(), "formats are shown")
        await screen.press("enter")
        await screen.type(str(target))
        await screen.until(lambda: screen.session.export.state.ready, "its size is told")
        assert "300 × 200 pixels" in screen.sheet()
        await screen.press("y")
        await screen.until(target.exists, "it is written")

    explore(f"{place}/wide", steps)
    assert target.read_bytes()[16:24] == (300).to_bytes(4, "big") + (200).to_bytes(4, "big")


# ---------------------------------------------------------------------- attributes
EDITOR = """
import sys
from pathlib import Path
path = Path(sys.argv[-1])
path.write_text(path.read_text().replace("before", {text!r}))
"""


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """An $EDITOR that replaces "before" by a text; it does not take over the terminal."""

    def make(text: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(EDITOR.format(text=text))
        command = shlex.join([sys.executable, str(script)]) if os.name != "nt" else f'"{sys.executable}" "{script}"'
        monkeypatch.setenv("EDITOR", command)
        monkeypatch.delenv("VISUAL", raising=False)

    @contextmanager
    def nothing(app: Explorer) -> Any:
        yield

    monkeypatch.setattr(Explorer, "suspend", nothing)
    return make


def test_attributes_are_edited_in_an_editor(place: str, editor: Callable[[str], None]) -> None:
    editor("after")

    async def steps(screen: Screen) -> None:
        await screen.press("ctrl+o")
        await screen.until(lambda: screen.session.edit.state.changes, "the text is taken")
        await screen.press("ctrl+s")
        document = Path(place, "zarr.json")
        await screen.until(lambda: json.loads(document.read_bytes())["attributes"] == {"note": "after"}, "it is saved")

    explore(place, steps, writable=True)


def test_the_cursor_returns_to_a_field_that_was_removed(place: str) -> None:
    """Also if the form was drawn in between, as happens with keys of one packet on a busy machine."""

    async def steps(screen: Screen) -> None:
        await screen.press("e")
        await screen.until(lambda: len(screen.session.edit.state.fields) == 2, "the form")
        form = screen.app.part("attributes", FormLines)
        await screen.press("down")
        for _ in range(3):
            await screen.press("x")
            await screen.until(lambda: form._known == 1, "the removal is painted")
            assert form.cursor == 0
            await screen.press("u")
            await screen.until(lambda: form._known == 2, "the undo is painted")
            assert form.cursor == 1
        await screen.press("x")
        await screen.until(lambda: form._known == 1, "the removal is painted")
        await screen.press("up", "u")
        await screen.until(lambda: form._known == 2, "the undo is painted")
        assert form.cursor == 0, "it was moved meanwhile"

    explore(place, steps, writable=True)


def test_what_is_no_json_is_refused_with_its_line(place: str, editor: Callable[[str], None]) -> None:
    editor('x" "y')

    async def steps(screen: Screen) -> None:
        await screen.press("ctrl+o")
        await screen.until(lambda: isinstance(screen.top, Sheet), "it is said what is wrong")
        assert '"x" "y"' in screen.sheet()
        await screen.press("escape")
        assert not screen.session.edit.state.changes

    explore(place, steps, writable=True)


def test_read_only_stays_read_only(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.command("writable")
        await screen.pilot.pause()
        assert not screen.session.state.writable

    explore(place, steps, read_only=True)


# ---------------------------------------------------------------------- the mouse
def test_tabs_and_sliders_are_clicked(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.until(lambda: screen.session.slice.frame.shape[0], "the picture is there")
        controls = screen.app.part("controls", Controls)
        await screen.until(lambda: controls._sliders, "there is a slider")
        _, _, bar, _, axis, _ = controls._sliders[0]
        await screen.pilot.click("#controls", offset=(1 + bar + 7, 0))
        assert next(a.index for a in screen.session.slice.state.axes if a.name == axis) == 4
        tabs = screen.app.part("tabs", TabLine)
        end = next(end for end, tab in tabs._ends if tab == "info")
        await screen.pilot.click("#tabs", offset=(end - 2, 0))
        assert screen.session.state.tab == "info"

    explore(f"{place}/plane", steps)


def test_only_the_title_of_a_tab_is_marked_where_the_blanks_have_no_room(place: str) -> None:
    async def steps(screen: Screen) -> None:
        tabs = screen.app.part("tabs", TabLine)
        await screen.until(lambda: tabs.size.width, "it is shown")

        def marked() -> str:
            line = tabs.line()
            return next(line.plain[span.start : span.end] for span in line.spans if "reverse" in str(span.style))

        title = next(tab.title for tab in screen.session.state.tabs if tab.id == screen.session.state.tab)
        assert marked() == f" {title} "
        await screen.pilot.resize_terminal(50, 24)
        await screen.until(lambda: marked() == title, "no blank is marked")

    explore(f"{place}/plane", steps)


def test_the_keys_of_the_tabs_are_named_where_there_is_room(place: str) -> None:
    async def steps(screen: Screen) -> None:
        assert screen.app.part("tabs", TabLine).line().plain.endswith("] next"), "bare keys look like a checkbox"

    explore(place, steps)


def test_channels_in_a_second_line_are_whole_and_clicked_there(tmp_path: Path) -> None:
    """Labels that need more than one line at 80 x 24 are not broken, and a click acts on the label beneath the
    mouse."""
    labels = [f"a stain of the number {number}" for number in range(5)]
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    scale = [{"type": "scale", "scale": [1, 1, 1]}]
    ome = {
        "version": "0.5",
        "multiscales": [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}],
        "omero": {"channels": [{"label": label, "color": "FF0000", "active": True} for label in labels]},
    }
    with zarrscope.open(str(tmp_path / "stains.zarr"), mode="w-") as h:
        h["/"].attrs["ome"] = ome
        h.create_array("/0", shape=(5, 8, 8), dtype="uint8", chunks=(5, 8, 8))[...] = 9

    async def steps(screen: Screen) -> None:
        await screen.until(lambda: screen.session.slice.frame.shape[0], "the picture is there")
        controls = screen.app.part("controls", Controls)
        await screen.until(lambda: len({row for row, *_ in controls._channels}) > 1, "several lines")
        lines = str(controls.render()).splitlines()
        for (row, start, _, _), label in zip(controls._channels, labels, strict=True):
            assert label in lines[row][start:], lines
        assert max(map(len, map(str.rstrip, lines))) <= controls.size.width
        row, start, _, number = controls._channels[-1]
        assert row > 0
        await screen.pilot.click("#controls", offset=(1 + start + 1, row))
        shown = [channel.visible for channel in screen.session.slice.state.channels]
        assert shown == [True] * number + [False]

    explore(str(tmp_path / "stains.zarr"), steps)


# ---------------------------------------------------------------------- the keys of a first-time user
def test_keys_of_offers_do_nothing_where_nothing_is_offered(place: str) -> None:
    async def steps(screen: Screen) -> None:
        screen.session.select("/plane")
        await screen.ready()
        hierarchy, state = screen.session.hierarchy, screen.session.state
        assert not state.offers
        await screen.press("tab")
        assert screen.app.focus_below is screen.app.picture
        await screen.press(*(c.keys[0].lower() for c in COMMANDS if c.id in OFFERS and c.keys), "end")
        await screen.pilot.pause(0.1)
        assert screen.session.hierarchy is hierarchy, "nothing was read again"
        assert screen.session.slice.state.axes[0].index == 4
        await screen.press("colon")
        await screen.until(lambda: isinstance(screen.top, Picker), "the commands are shown")
        assert not {*OFFERS} & {id for id, *_ in screen.top.found}
        await screen.press(*"re")
        assert screen.top.found[0][1].startswith("Re"), "what begins with the typed text comes first"

    explore(place, steps)


@pytest.mark.parametrize("colors", ["mono", "16", "256"])
def test_the_line_under_the_cursor_is_seen_in_few_colours(place: str, colors: Colors) -> None:
    async def steps(screen: Screen) -> None:
        tree = screen.app.tree_lines
        await screen.until(lambda: tree.count() == 5, "the rows are there")
        await screen.press("down")

        def styles(line: int) -> set[tuple[bool, bool]]:
            styles = [part.style for part in tree.render_line(line) if part.style is not None]
            return {(bool(style.reverse), bool(style.underline)) for style in styles}

        few = colors != "256"
        assert styles(1) == {(few, False)}
        assert styles(2) == {(False, False)}
        await screen.press("tab")
        assert styles(1) == {(False, few)}, "the focus is elsewhere"

    explore(place, steps, terminal=Terminal(colors=colors))


def test_the_sheet_of_keys_begins_with_moving_and_names_them_in_ascii(place: str) -> None:
    async def steps(screen: Screen) -> None:
        await screen.press("question_mark")
        await screen.until(lambda: isinstance(screen.top, Sheet), "the keys are shown")
        text = screen.sheet()
        assert text.startswith("Arrows")
        assert "Esc back" in text
        assert "Shift" not in text.replace("Shift+Left", "").replace("Shift+Right", "")
        assert not {"↑", "←", "→", "⏎", "–"} & {*text}
        await screen.press("escape")

    explore(place, steps, terminal=Terminal(unicode=False))
