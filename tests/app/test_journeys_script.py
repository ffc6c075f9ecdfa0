"""The journeys (contracts/journeys.py) without a host: a script reads snapshots and calls presenters, as hosts do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.act_journeys import ActJourneys
from contracts.journeys import SECONDS, Robot
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import ROOT, Session
from zarrscope_app.presenters.commands import NODE_COMMANDS, command
from zarrscope_app.presenters.image.overview import OverviewPresenter
from zarrscope_app.presenters.session.actions import open_name, perform

PIXELS = (128, 128)


class ScriptRobot(Robot):
    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.hovered = ""

    def open(self, url: str, *, writable: bool = False) -> None:
        self.session = Session(url, self.mailbox, writable=writable)
        self.session.slice.changed.connect(lambda: self.session.slice.fit(PIXELS))

    def close(self) -> None:
        self.session.close()

    def wait(self, happened: Callable[[], bool], what: str = "") -> None:
        try:
            self.mailbox.run_until(happened, SECONDS)
        except TimeoutError:
            pytest.fail(f"This did not happen: {what}")

    def _id(self, path: str) -> int:
        id = self.session.tree.find(path)
        assert id is not None, f"{path} is not in the tree"
        return id

    def type_name(self, text: str) -> None:
        self.session.tree.filter(text)
        open_name(self.session, text)

    def rows(self) -> list[str]:
        tree = self.session.tree
        return [row.name for row in tree.flat(1, tree.flat_count)]

    def expand(self, path: str) -> None:
        self.session.tree.expand(self._id(path))

    def select(self, path: str) -> None:
        self.session.select(self.session.tree.row(self._id(path)).path)

    def cancel(self, path: str) -> None:
        self.session.tree.cancel(self._id(path))

    def retry_row(self, path: str) -> None:
        self.session.tree.retry(self._id(path))

    def take(self, offer: str) -> None:
        assert offer in self.session.state.offers
        assert perform(self.session, offer)

    def show_info(self) -> None:
        self.session.set_tab("info")
        self.session.metadata.load_documents()

    def slide(self, axis: str, indices: Sequence[int]) -> None:
        for index in indices:
            self.session.slice.set_index(axis, index)
            self.mailbox.run()

    def picture(self) -> np.ndarray:
        return self.session.slice.picture(*PIXELS)

    def hover(self, y: float, x: float) -> None:
        self.session.slice.hover(y, x)

    def retry_picture(self) -> None:
        failed = next(tile for tile in self.session.slice.frame.tiles if tile.state.value == "failed")
        self.session.slice.retry(failed.key)

    def edit(self, pointer: str, text: str) -> None:
        self.session.edit.edit(pointer, text)

    def write_text(self, text: str) -> None:
        self.session.edit.edit_text(text)

    def offers_of(self, pointer: str) -> set[str]:
        field = self.session.edit.field(pointer)
        assert field is not None
        acts = {"rename": field.can_rename, "remove": field.can_remove}
        return {*field.kinds, *(act for act, can in acts.items() if can)}

    def try_field(self, pointer: str, act: str, text: str = "") -> None:
        edit: Any = self.session.edit
        getattr(edit, act)(pointer, *([text] if act != "remove" else []))

    def save(self) -> None:
        self.session.edit.save()

    def undo(self) -> None:
        self.session.edit.undo()

    def review(self) -> str:
        return self.session.edit.diff().unified

    def resolve(self, whose: str) -> None:
        assert whose in ("mine", "theirs")
        self.session.edit.resolve("mine" if whose == "mine" else "theirs")

    def act(self, command: str, **fields: str) -> None:
        nodes = self.session.nodes
        nodes.begin(NODE_COMMANDS[command], self.session.state.path)
        for id, text in fields.items():
            nodes.set_field(id, text)
        self.wait(lambda: nodes.state.ready, "the plan")
        nodes.carry_out()

    def rename(self, name: str) -> None:
        self.session.nodes.rename(self.session.state.path, name)

    def undo_act(self) -> None:
        self.session.nodes.undo()

    def export(self, target: Path) -> None:
        export = self.session.export
        export.begin()
        export.choose("node", "npy", str(target))
        self.wait(lambda: export.state.ready, "its size")
        assert export.run() is not None

    def check(self) -> None:
        self.session.set_tab("problems")
        self.session.problems.check()

    def choose_cell(self, path: str) -> None:
        overview = self.session.tabs.presenters["overview"]
        assert isinstance(overview, OverviewPresenter)
        self.session.select(next(cell.path for cell in overview.state.cells if cell.path == path))

    def next_image(self) -> None:
        assert perform(self.session, "next-image")

    def sees(self, text: str) -> bool:
        return any(text in shown for shown in self._texts())

    def _texts(self) -> Iterator[str]:
        """The texts that a host shows."""
        session = self.session
        state = session.state
        yield from (state.title, state.address, state.facts, state.sentence, state.status_text)
        yield from (command(offer).label for offer in state.offers)
        tree = session.tree
        for row in tree.flat(ROOT, tree.flat_count):
            yield from (row.name, row.detail, row.badge, row.sentence)
        picture = session.slice.state
        yield from (picture.sentence, session.slice.frame.sentence, session.slice.probe.text)
        for axis in picture.axes:
            yield from (axis.name, axis.text, axis.position)
        form = session.edit.state
        yield form.sentence
        for field in form.fields:
            yield from (field.label, field.text, field.error)
        yield session.metadata.text()
        yield session.problems.sentence
        yield from (row.text for row in session.problems.rows)


class TestScript(ActJourneys):
    @pytest.fixture
    def robot(self) -> Iterator[ScriptRobot]:
        robot = ScriptRobot()
        yield robot
        robot.close()
