"""The journeys (contracts/journeys.py) in the terminal, by keys and mouse through Textual's Pilot."""

from __future__ import annotations

import asyncio
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from textual.widgets import Input, Static

from contracts.act_journeys import ActJourneys
from contracts.journeys import SECONDS, Robot
from narrowing import not_none
from zarrscope_app.presenters import KINDS
from zarrscope_app.presenters.commands import command
from zarrscope_app.tui.app import Explorer
from zarrscope_app.tui.conflict import ConflictSheet
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.lines import Lines
from zarrscope_app.tui.picker import Picker
from zarrscope_app.tui.picture import PictureWidget
from zarrscope_app.tui.plate import PlateLines
from zarrscope_app.tui.sheet import Sheet
from zarrscope_app.tui.tree_lines import TreeLines

SIZE = (160, 60)


class TextualRobot(Robot):
    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        """One context for all calls, because Textual keeps the active application in a context variable."""
        self.app: Explorer | None = None

    def open(self, url: str, *, writable: bool = False) -> None:
        self.app = Explorer(url, writable=writable)
        self.session = self.app.session
        self._test = self.app.run_test(size=SIZE)
        self.pilot = self._run(self._test.__aenter__())

    def close(self) -> None:
        if self.app is not None:
            self._run(self._test.__aexit__(None, None, None))
        self.runner.close()

    def _run(self, work: Any) -> Any:
        return self.runner.run(work)

    def wait(self, happened: Callable[[], bool], what: str = "") -> None:
        async def until() -> None:
            async with asyncio.timeout(SECONDS):
                while not happened():
                    await self.pilot.pause(0.002)

        try:
            self._run(until())
        except TimeoutError:
            pytest.fail(f"This did not happen: {what}")

    def press(self, *keys: str) -> None:
        self._run(self.pilot.press(*keys))

    def focus(self, selector: str) -> Any:
        assert self.app is not None
        widget = self.app.screen.query_one(selector)
        widget.focus()
        self._run(self.pilot.pause())
        return widget

    # -------------------------------------------------- tree
    @property
    def _tree(self) -> TreeLines:
        assert self.app is not None
        return self.app.query_one("#tree", TreeLines)

    def type_name(self, text: str) -> None:
        self.focus("#tree")
        self.press("slash", *("slash" if char == "/" else char for char in text), "enter")

    def rows(self) -> list[str]:
        return [row.name for row in (self._tree.row(i) for i in range(1, self._tree.count())) if row is not None]

    def _go(self, path: str) -> None:
        tree = self.focus("#tree")
        self.press("home")
        for _ in range(tree.count()):
            row = tree.row(tree.cursor)
            if row is not None and row.path == path:
                return
            self.press("down")
        pytest.fail(f"{path} is not in the tree")

    def expand(self, path: str) -> None:
        self._go(path)
        self.press("right")

    def select(self, path: str) -> None:
        self._go(path)
        self.press("enter")

    def cancel(self, path: str) -> None:
        self._go(path)
        self.press("escape")

    def retry_row(self, path: str) -> None:
        self._go(path)
        self.press("r")

    # -------------------------------------------------- picture
    @property
    def _picture(self) -> PictureWidget:
        assert self.app is not None
        return self.app.query_one("#picture", PictureWidget)

    def take(self, offer: str) -> None:
        self.focus("#tree")
        self.press(command(offer).keys[0].lower())

    def show_info(self) -> None:
        self.focus("#tree")
        while self.session.state.tab != "info":
            self.press("]")

    def slide(self, axis: str, indices: Sequence[int]) -> None:
        self.focus("#picture")
        self.press(axis)
        for index in indices:
            self.press("right")
            assert next(a.index for a in self.session.slice.state.axes if a.name == axis) == index

    def picture(self) -> np.ndarray:
        pane = self._picture
        rows = []
        for y in range(pane.size.height):
            upper, lower = [], []
            for segment in pane.render_line(y):
                style = segment.style
                if style is None or style.color is None or style.bgcolor is None or style.color.triplet is None:
                    return np.zeros((0, 0, 3), np.uint8)
                upper += [tuple(style.color.triplet)] * len(segment.text)
                lower += [tuple(style.bgcolor.triplet)] * len(segment.text)  # type: ignore[arg-type]  # a triplet, as asked above
            rows += [upper, lower]
        return np.array(rows, np.uint8)

    def hover(self, y: float, x: float) -> None:
        pane = self.focus("#picture")
        self.press("v")
        height, width = pane.pixels
        y0, x0, y1, x1 = pane.rect
        row, column = int((y - y0) / (y1 - y0) * height), int((x - x0) / (x1 - x0) * width)
        rows, columns = row - pane.cursor[0], column - pane.cursor[1]
        self.press(*["down" if rows > 0 else "up"] * abs(rows), *["right" if columns > 0 else "left"] * abs(columns))

    def retry_picture(self) -> None:
        pane = self._picture
        failed = next(tile for tile in self.session.slice.frame.tiles if tile.state.value == "failed")
        height, width = pane.pixels
        assert pane.rect is not None
        y0, x0, y1, x1 = pane.rect
        y, x = (failed.rect[0] + failed.rect[2]) / 2, (failed.rect[1] + failed.rect[3]) / 2
        cell = (int((x - x0) / (x1 - x0) * width), int((y - y0) / (y1 - y0) * height / 2))
        self._run(self.pilot.click("#picture", offset=cell))

    # -------------------------------------------------- form
    def _go_to_field(self, pointer: str) -> None:
        form = self.focus("#attributes")
        assert isinstance(form, FormLines)
        self.press("home")
        for _ in range(form.count()):
            field = form.field()
            if field is not None and field.pointer == pointer:
                break
            self.press("down")

    def offers_of(self, pointer: str) -> set[str]:
        """The actions that the keys of a field offer: a dialog of types, or an input for the name."""
        assert self.app is not None
        self._go_to_field(pointer)
        found: set[str] = set()
        self.press("c")
        if isinstance(self.app.screen, Sheet):
            text = "".join(_text(widget) for widget in self.app.screen.query(Static))
            found |= {kind for kind in KINDS if f"  {kind}" in text}
            self.press("escape")
        self.press("N")
        if isinstance(self.app.focused, Input):
            found.add("rename")
            self.press("escape")
        return found

    def try_field(self, pointer: str, act: str, text: str = "") -> None:
        assert self.app is not None
        self._go_to_field(pointer)
        if act == "remove":
            self.press("x")
        elif act == "rename":
            self.press("N")
            if isinstance(self.app.focused, Input):
                self.press("end", *["backspace"] * 20, *text, "enter")
        else:
            self.press("c")
            if isinstance(self.app.screen, Sheet):
                kinds = not_none(self.session.edit.field(pointer)).kinds
                self.press(str(kinds.index(text) + 1) if text in kinds else "escape")
        self.focus("#attributes")

    def edit(self, pointer: str, text: str) -> None:
        self._go_to_field(pointer)
        self.press("enter")
        assert self.app is not None
        assert self.app.focused is self.app.query_one("#entry", Input)
        self.press("end", *["backspace"] * 20, *text, "enter")

    def write_text(self, text: str) -> None:
        """Writes the text in $EDITOR, and closes the dialog that reports an error."""
        self.focus("#attributes")
        assert self.app is not None
        with tempfile.TemporaryDirectory() as place:
            Path(place, "text").write_text(text)
            Path(place, "editor.py").write_text("import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])")
            command = [sys.executable, f"{place}/editor.py", f"{place}/text"]
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(self.app, "suspend", nullcontext)
                patch.setenv("EDITOR", shlex.join(command))
                patch.delenv("VISUAL", raising=False)
                self.press("ctrl+o")
                self.wait(lambda: self._answered(text), "the text to be taken or refused")
        if isinstance(self.app.screen, Sheet):
            self.press("escape")

    def _answered(self, text: str) -> bool:
        assert self.app is not None
        return isinstance(self.app.screen, Sheet) or self.session.edit.state.text == text

    def save(self) -> None:
        self.press("ctrl+s")

    def undo(self) -> None:
        self.focus("#attributes")
        self.press("u")

    def review(self) -> str:
        self.focus("#attributes")
        self.press("d")
        assert self.app is not None
        sheet = self.app.screen
        assert isinstance(sheet, Sheet)
        text = "\n".join(_text(widget) for widget in sheet.query(Static))
        self.press("escape")
        return text

    def resolve(self, whose: str) -> None:
        """Answers the dialog that a conflict opens."""
        self.wait(lambda: self.app is not None and isinstance(self.app.screen, ConflictSheet), "the dialog")
        self.press(whose[0].upper())

    # -------------------------------------------------- actions
    def _command(self, id: str) -> None:
        """Runs a command that it finds by its name."""
        assert self.app is not None
        label = self.session.nodes.undo_label if id == "undo-node" else command(id).label.rstrip("…")
        self.focus("#tree")
        self.press("ctrl+p")
        self.wait(lambda: isinstance(self.top, Picker), "the commands")
        self.press(*_keys(label))
        self.wait(lambda: bool(self.top.found) and self.top.found[0][0] == id, label)
        self.press("enter")

    @property
    def top(self) -> Any:
        """The dialog in front."""
        assert self.app is not None
        return self.app.screen

    def act(self, command: str, **fields: str) -> None:
        nodes = self.session.nodes
        self._command(command)
        self.wait(lambda: bool(nodes.state.act) and not nodes.state.planning, "the form")
        assert fields.keys() <= {field.id for field in nodes.state.fields}
        for number, field in enumerate(nodes.state.fields):
            self.press(*["down"] * bool(number))
            if field.id in fields:
                self.press("ctrl+u", *_keys(fields[field.id]))
        self.wait(lambda: nodes.state.ready, "the plan")
        self.press("enter")

    def rename(self, name: str) -> None:
        self.act("rename-node", to=name)

    def undo_act(self) -> None:
        self.wait(lambda: bool(self.session.nodes.undo_label), "something to undo")
        self._command("undo-node")

    def export(self, target: Path) -> None:
        assert self.app is not None
        self._command("export")
        for chosen in ("node", "npy"):
            self.wait(lambda chosen=chosen: self._offers(chosen), chosen)  # type: ignore[misc]  # defaults of a lambda
            rows = [id for id, _, _ in self.top.found]
            self.press(*["down"] * rows.index(chosen), "enter")
        entry = self.app.query_one("#entry", Input)
        self.wait(lambda: self.app is not None and self.app.focused is entry, "the question for the file")
        entry.value = ""
        self.press(*_keys(str(target)), "enter")
        state = self.session.export
        self.wait(lambda: state.state.target == str(target) and state.state.ready, "its size")
        self.wait(lambda: isinstance(self.top, Sheet), "the plan")
        self.press("y")

    def _offers(self, id: str) -> bool:
        return isinstance(self.top, Picker) and id in [row for row, _, _ in self.top.found]

    def check(self) -> None:
        self.focus("#tree")
        self.press("ctrl+k")

    def choose_cell(self, path: str) -> None:
        plate = self.focus("#overview")
        assert isinstance(plate, PlateLines)
        self.press("home", "pageup")
        for _ in plate.state.cells:
            if plate.cell is not None and plate.cell.path == path:
                break
            self.press("right")
        assert not_none(plate.cell).path == path
        self.press("enter")

    def next_image(self) -> None:
        self.press("f8")

    # -------------------------------------------------- words
    def sees(self, text: str) -> bool:
        assert self.app is not None
        shown = [_text(widget) for widget in self.app.screen.query(Static)]
        for lines in self.app.screen.query(Lines):
            if lines.display and lines.is_on_screen:
                rows = ["".join(piece for piece, _ in lines.pieces(i)) for i in range(lines.count())]
                shown += [*rows, " ".join(row.strip() for row in rows)]  # a long sentence is folded
        pane = self._picture
        shown.append(" ".join(pane.render_line(y).text.strip() for y in range(min(6, pane.size.height))))
        return any(text in one for one in shown)


def _keys(text: str) -> list[str]:
    """The keys that type a text."""
    named = {"/": "slash", ".": "full_stop", " ": "space", ",": "comma", "-": "minus", "_": "underscore"}
    return [named.get(letter, letter) for letter in text]


def _text(widget: Static) -> str:
    return str(widget.content) if widget.display else ""


class TestTextual(ActJourneys):
    @pytest.fixture
    def robot(self) -> Iterator[TextualRobot]:
        robot = TextualRobot()
        yield robot
        robot.close()
