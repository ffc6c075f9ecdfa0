"""The journeys (contracts/journeys.py) in the notebook's widget, driven by the messages that a browser sends."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from contracts.act_journeys import ActJourneys
from contracts.journeys import PLANES, SECONDS, Robot, Shelf, brightness, small_image, tree_of_all_kinds
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.runtime.threads import Mailbox
from zarrscope.view import loader as chunks
from zarrscope_app.jupyter import Explorer
from zarrscope_app.jupyter.differences import with_readout_change
from zarrscope_app.presenters import SessionStatus, Tile, TileState
from zarrscope_app.presenters.image.composition import compose

PIXELS = (128, 128)
WITHOUT_ACTIONS = "the notebook's widget has no actions on nodes: a cell has zarrscope itself"


class Browser:
    """Does the work of the browser's script: fits another plane, keeps tiles, sends gestures."""

    def __init__(self, url: str, mailbox: Mailbox, **options: Any) -> None:
        self.widget = Explorer(url, post=mailbox, **options)
        self.frame: dict[str, Any] = {}
        self.order: list[str] = []
        self.tiles: dict[str, tuple[list[Any], np.ndarray[Any, Any]]] = {}
        self.probe = self._line = ""
        self.heard = 0
        self.messages: list[tuple[dict[str, Any], list[bytes]]] = []
        self._fitted: Any = None
        self.widget.send = self._take
        self.send("hello", ["png", "webp"])

    def send(self, do: str, *args: Any) -> None:
        message = json.loads(json.dumps({"do": do, "args": args}))
        self.widget._receive(self.widget, message, [])

    def _take(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        told: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
        self.messages.append((told, buffers))
        self._line = told.get("blank", self._line)
        if (probe := told.get("probe")) is not None:
            self.probe = self._line = probe if isinstance(probe, str) else with_readout_change(self._line, probe)
        self.heard = told.get("heard", self.heard)
        if told.get("view") != "main":
            return
        self.frame.update(told.get("frame", {}))
        self.order = told.get("order", self.order)
        left = iter(buffers)
        for row in told.get("tiles", []):
            picture = np.asarray(Image.open(io.BytesIO(next(left))).convert("RGB")) if row[4] else self.tiles[row[0]][1]
            self.tiles[row[0]] = (row, picture)
        key = (self.widget.view["place"]["path"], self.frame["shape"])
        if self.frame["shape"][0] and key != self._fitted:
            self._fitted = key
            self.send("viewport", [0, 0, *self.frame["shape"]], PIXELS)
        self.send("painted", "main")

    @property
    def view(self) -> dict[str, Any]:
        """The view as the browser receives it: through JSON, which rejects other types."""
        found: dict[str, Any] = json.loads(json.dumps(self.widget.view, allow_nan=False))
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.view["tree"].get("rows", [])
        return found

    def row(self, path: str) -> dict[str, Any]:
        found: dict[str, Any] = next(row for row in self.rows if row["path"] == path)
        return found

    def pixels(self) -> np.ndarray:
        shown = [self.tiles[name] for name in self.order if name in self.tiles]
        if not shown:
            return np.zeros((0, 0, 3), np.uint8)
        height, width = self.frame["shape"]
        tiles = [Tile((0, 0, 0), 0, 0, tuple(row[1]), TileState.PRESENT, picture) for row, picture in shown]
        return compose(tiles, (0, 0, height, width), *PIXELS)

    @property
    def marks(self) -> list[list[Any]]:
        """The marks of failed tiles."""
        return [self.tiles[name][0] for name in self.order if name in self.tiles and self.tiles[name][0][2] == "failed"]

    def texts(self) -> Iterator[str]:
        """The texts and tooltips that the browser draws."""
        view, frame = self.view, self.frame
        state, panel = view["place"], view["panel"]
        yield from (state["facts"], state["sentence"], state["details"], view["status"])
        yield from (label for label, _ in state["crumbs"])
        yield from (view["words"][offer] for offer in state["offers"])
        for row in self.rows:
            yield from (row["name"], row["badge"], row["detail"] or (row["sentence"] if row["expanded"] else ""))
        yield self.probe
        if state["tab"] == "image":
            yield from (frame.get("sentence", ""), frame.get("blocked", ""), view["image"]["sentence"])
            for axis in view["image"]["axes"]:
                _, text, position, channel = view["places"].get(axis["name"], (0, "", "", ""))
                yield from (axis["title"], f"{text} {axis['end_text']}", position, channel)
        elif "edit" in panel:
            yield panel["edit"]["sentence"]
            for field in fields_of(panel["edit"]):
                yield from (field["label"], field["text"], field["error"])
        elif "problems" in panel:
            yield panel["problems_text"]
            yield from (problem["headline"] for problem in panel["problems"])
        elif "info" in panel:
            yield from (panel["info"]["subtitle"], panel["info"]["problem"], *panel["info"]["warnings"])
            for section in panel["info"]["sections"]:
                yield from (item["text"] for item in section["items"])
            yield from (text for document in panel["info"]["documents"] for text in document)


def fields_of(form: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a form, in sections by meaning or in one list."""
    rows = [row for section in form.get("sections", ()) for row in section["rows"]]
    return [*form.get("fields", ()), *(field for row in rows for field in row["fields"])]


class JupyterRobot(Robot):
    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.browser: Browser | None = None

    def open(self, url: str, *, writable: bool = False) -> None:
        self.browser = Browser(url, self.mailbox, editable=writable)
        self.session = self.browser.widget.session

    @property
    def page(self) -> Browser:
        assert self.browser is not None
        return self.browser

    def close(self) -> None:
        if self.browser is not None:
            self.browser.widget.close()

    def wait(self, happened: Callable[[], bool], what: str = "") -> None:
        try:
            self.mailbox.run_until(happened, SECONDS)
        except TimeoutError:
            pytest.fail(f"This did not happen: {what}")

    def shown(self, path: str) -> dict[str, Any]:
        self.wait(lambda: any(row["path"] == path for row in self.page.rows), f"{path} among the rows sent")
        return self.page.row(path)

    def rows(self) -> list[str]:
        return [row["name"] for row in self.page.rows if row["depth"]]

    def type_name(self, text: str) -> None:
        self.page.send("tree.filter", text)
        self.page.send("name", text)

    def expand(self, path: str) -> None:
        row = self.shown(path)
        if not row["expanded"]:
            self.page.send("tree.toggle", row["id"])

    def select(self, path: str) -> None:
        self.page.send("session.select", self.shown(path)["path"])

    def cancel(self, path: str) -> None:
        row = self.shown(path)
        assert row["state"] == "loading"
        self.page.send("tree.cancel", row["id"])

    def retry_row(self, path: str) -> None:
        row = self.shown(path)
        assert row["retry"]
        self.page.send("tree.retry", row["id"])

    def take(self, offer: str) -> None:
        self.wait(lambda: offer in self.page.view["place"]["offers"], f"the offer {offer}")
        self.page.send("command", offer)

    def show_info(self) -> None:
        self.page.send("session.set_tab", "info")
        self.page.send("metadata.load_documents")

    def slide(self, axis: str, indices: Sequence[int]) -> None:
        for index in indices:
            self.page.send("slice.set_index", axis, index)
            self.mailbox.run()

    def picture(self) -> np.ndarray:
        return self.page.pixels()

    def hover(self, y: float, x: float) -> None:
        self.page.send("slice.hover", y, x)

    def retry_picture(self) -> None:
        self.wait(lambda: bool(self.page.marks), "the mark of what failed")
        self.page.send("slice.retry", [int(part) for part in self.page.marks[0][0].split("/")])

    @property
    def fields(self) -> list[dict[str, Any]]:
        return fields_of(self.page.view["panel"].get("edit", {}))

    def edit(self, pointer: str, text: str) -> None:
        self.wait(lambda: pointer in [f["pointer"] for f in self.fields], f"the field {pointer}")
        self.page.send("edit.edit", pointer, text)

    def write_text(self, text: str) -> None:
        self.wait(lambda: self.page.view["panel"].get("edit", {}).get("way") in ("json", "document"), "the text")
        self.page.send("edit.edit_text", text)

    def offers_of(self, pointer: str) -> set[str]:
        self.wait(lambda: pointer in [f["pointer"] for f in self.fields], f"the field {pointer!r}")
        field = next(f for f in self.fields if f["pointer"] == pointer)
        return {*field["kinds"], *(act for act in ("rename", "remove") if field[f"can_{act}"])}

    def try_field(self, pointer: str, act: str, text: str = "") -> None:
        self.page.send(f"edit.{act}", pointer, *([text] if act != "remove" else []))

    def save(self) -> None:
        self.page.send("command", "save")

    def undo(self) -> None:
        self.page.send("command", "undo")

    def review(self) -> str:
        self.wait(lambda: bool(self.page.view["diff"]), "the diff")
        return str(self.page.view["diff"])

    def resolve(self, whose: str) -> None:
        self.page.send("edit.resolve", whose)

    def act(self, command: str, **fields: str) -> None:
        pytest.skip(WITHOUT_ACTIONS)

    def rename(self, name: str) -> None:
        pytest.skip(WITHOUT_ACTIONS)

    def undo_act(self) -> None:
        pytest.skip(WITHOUT_ACTIONS)

    def export(self, target: Path) -> None:
        self.page.send("export", "begin")
        self.wait(lambda: bool(self.page.widget.export.get("whats")), "the pane")
        assert "node" in [id for id, _ in self.page.widget.export["whats"]]
        self.page.send("export", "choose", "node", "")
        self.page.send("export", "name", str(target))  # its ending chooses the format
        self.wait(lambda: self._planned(target), "its size")
        self.page.send("export", "run", False)

    def _planned(self, target: Path) -> bool:
        shown = self.page.widget.export
        return bool(shown["target"] == str(target) and shown["ready"])

    def check(self) -> None:
        self.page.send("session.set_tab", "problems")
        self.wait(lambda: self.page.view["panel"].get("check") == "check-begin", "the button")
        self.page.send("problems.check")

    def choose_cell(self, path: str) -> None:
        def cells() -> list[str]:
            return [cell["path"] for cell in self.page.view["panel"].get("overview", {}).get("cells", ())]

        self.wait(lambda: path in cells(), f"{path} in the overview")
        self.page.send("session.select", path)

    def next_image(self) -> None:
        self.page.send("command", "next-image")

    def sees(self, text: str) -> bool:
        return bool(self.page.view) and any(text in shown for shown in self.page.texts())


def test_the_name_of_the_file_chooses_the_format_of_an_export(tmp_path: Path) -> None:
    """The page repeated the format that was shown, which then counted as chosen."""
    shelf = Shelf()
    small_image(shelf)
    mailbox = Mailbox()
    browser = Browser(shelf.address, mailbox, path="/image")
    export = browser.widget.session.export
    mailbox.run_until(lambda: browser.widget.session.slice.image is not None, SECONDS)
    export.folder = str(tmp_path)
    browser.send("export", "begin")
    browser.send("export", "choose", "whole", "")
    assert export.state.format == export.formats("whole")[0].id != "npy", "nothing was chosen yet"
    browser.send("export", "name", str(tmp_path / "out.npy"))
    assert (export.state.format, export.state.target) == ("npy", str(tmp_path / "out.npy"))
    browser.send("export", "choose", "node", "")
    assert (export.state.format, export.state.target) == ("npy", str(tmp_path / "out.npy")), "it stays chosen"
    browser.send("export", "choose", "node", "csv")
    assert (export.state.format, export.state.target) == ("csv", str(tmp_path / "out.csv"))
    browser.widget.close()


class TestJupyter(ActJourneys):
    @pytest.fixture
    def robot(self) -> Iterator[JupyterRobot]:
        robot = JupyterRobot()
        yield robot
        robot.close()

    def opened(self, robot: Robot, shelf: Shelf, path: str, **options: Any) -> JupyterRobot:
        assert isinstance(robot, JupyterRobot)
        robot.open(shelf.address, **options)
        self.ready(robot)
        self.go(robot, path)
        return robot

    # -------------------------------------------------- several in one process
    def test_two_widgets_share_one_cache(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        first = self.opened(robot, shelf, "/image")
        first.wait(lambda: self.shows(first, brightness(0)), "the picture")
        self.whole(first)
        second = JupyterRobot()
        try:
            seen = len(shelf.read)
            self.opened(second, shelf, "/image")
            second.wait(lambda: self.shows(second, brightness(0)), "the picture in the second widget")
            assert first.session.loader is second.session.loader is chunks.shared()
            assert not [key for key in shelf.read[seen:] if key.startswith("image/0/c/0/")]
        finally:
            second.close()
        first.slide("z", [5])
        first.wait(lambda: self.shows(first, brightness(5)), "the first goes on without the second")

    # -------------------------------------------------- the requests that a browser may send
    @pytest.mark.parametrize(
        "message",
        [
            {"do": "session.close", "args": []},
            {"do": "session.set_writable", "args": [True]},
            {"do": "session._open", "args": []},
            {"do": "tree.attach", "args": [None, "x"]},
            {"do": "slice.__class__", "args": []},
            {"do": "__class__.__init__", "args": []},
            {"do": "command", "args": ["writable"]},
            {"do": "command", "args": ["no such command"]},
            {"do": "command"},
            {"do": "rows", "args": ["x", {}]},
            {"do": "rows", "args": []},
            {"do": "viewport", "args": [[0, 0, "nan", None], [1]]},
            {"do": "viewport", "args": [[0, 0, float("nan"), 1], [10, 10]]},
            {"do": "slice.set_index", "args": ["no such axis", 3]},
            {"do": "slice.set_index", "args": []},
            {"do": "slice.set_levels", "args": ["a", "b", "c", "d", "e"]},
            {"do": "slice.retry", "args": ["x"]},
            {"do": "slice.set_visible", "args": [99, True]},
            {"do": "tree.toggle", "args": [10**9]},
            {"do": ["slice"], "args": "xyz"},
            {},
            "save",
            None,
        ],
    )
    def test_what_is_no_gesture_is_ignored(self, robot: Robot, shelf: Shelf, message: Any) -> None:
        small_image(shelf)
        stored = {key: shelf.get(key) for key in shelf.list()}
        host = self.opened(robot, shelf, "/image")
        host.wait(lambda: self.shows(host, brightness(0)), "the picture")
        host.page.widget._receive(host.page.widget, message, [])
        host.mailbox.run()
        assert host.session.state.status is SessionStatus.READY
        assert not host.session.state.writable
        host.slide("z", [2])
        host.wait(lambda: self.shows(host, brightness(2)), "gestures go on working")
        assert stored == {key: shelf.get(key) for key in shelf.list()}

    def test_without_editable_nothing_is_edited(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        stored = {key: shelf.get(key) for key in shelf.list()}
        host = self.opened(robot, shelf, "/many")
        self.form(host)
        assert host.page.view["editable"] is False
        for message in (
            ("edit.edit", "/scale", "7"), ("edit.edit_json", "/scale", "7"), ("edit.add", "", "new", "1"),
            ("edit.remove", "/scale"), ("edit.rename", "/scale", "s"), ("edit.save",), ("command", "writable"),
            ("command", "save"), ("edit.edit", "/scale", "8"), ("command", "save"),
        ):  # fmt: skip
            host.page.send(*message)
            host.mailbox.run()
        assert host.session.edit.state.changes == 0
        assert not host.session.state.writable
        assert stored == {key: shelf.get(key) for key in shelf.list()}

    def test_a_group_of_very_many_sends_a_window_of_its_rows(self, robot: Robot, shelf: Shelf) -> None:
        hierarchy = open_hierarchy(shelf, "a")
        hierarchy.create_group("/all")
        document = shelf.get("all/zarr.json") or b""
        for i in range(100_000):
            shelf._values[f"all/n{i}/zarr.json"] = document
        host = self.opened(robot, shelf, "/all")
        host.expand("/all")
        host.wait(lambda: host.page.view["tree"]["count"] > 100_000, "all children")
        host.page.send("rows", 0, 10**9)
        host.wait(lambda: len(host.page.rows) > 200, "more rows")
        assert len(host.page.rows) <= 400
        host.page.send("rows", 99_900, 100_100)
        host.wait(lambda: host.page.view["tree"]["first"] == 99_900, "the rows at the end")
        assert host.page.rows[-1]["name"] == "n99999"
        assert len(json.dumps(host.page.view)) < 200_000

    # -------------------------------------------------- from Python
    def test_path_index_and_contrast_go_both_ways(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        host = self.opened(robot, shelf, "/image")
        widget = host.page.widget
        host.wait(lambda: widget.path == "/image" and widget.index == {"z": 0}, "Python to follow")
        seen: list[Any] = []
        widget.observe(lambda change: seen.append(change["new"]), names="index")
        host.slide("z", [4])
        host.wait(lambda: widget.index == {"z": 4}, "the index in Python")
        assert seen[-1] == {"z": 4}
        widget.index = {"z": PLANES - 1}
        host.wait(lambda: self.shows(host, brightness(PLANES - 1)), "the plane that Python asked for")
        widget.index = {"z": 0}
        widget.clim = {"signal": (0, 20)}
        host.wait(lambda: self.shows(host, 128), "the contrast that Python asked for")
        assert [host.page.view["channels"][0][end] for end in ("lo", "hi")] == [0, 20]
        host.page.send("slice.set_levels", 0, 0, 100)
        host.wait(lambda: widget.clim == {"signal": (0, 100)}, "the contrast in Python")
        widget.path = "/image/0"
        host.wait(lambda: host.page.view["place"]["path"] == "/image/0", "the node that Python asked for")

    def test_close_gives_everything_back(self, shelf: Shelf) -> None:
        small_image(shelf)
        host = JupyterRobot()
        self.opened(host, shelf, "/image")
        self.whole(host)
        shelf.hold("chunks")
        host.slide("z", [9])
        widget = host.page.widget
        host.mailbox.run()
        widget.close()
        shelf.release()
        sent = (dict(widget.view), len(host.page.messages))
        assert not host.session.owner._tickets
        assert not widget._owner._tickets
        host.mailbox.run()
        assert (dict(widget.view), len(host.page.messages)) == sent
        assert widget.comm is None
        widget.close()
        host.page.send("slice.set_index", "z", 3)
        host.mailbox.run()
        assert (dict(widget.view), len(host.page.messages)) == sent

    # -------------------------------------------------- without a kernel
    def test_a_page_without_a_kernel_shows_a_summary(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        assert isinstance(robot, JupyterRobot)
        robot.open(shelf.address)
        for _ in ("at once, as in a cell", "when all is there"):
            data = robot.page.widget._repr_mimebundle_()
            data = data[0] if isinstance(data, tuple) else data
            assert "Group <b>/</b>" in data["text/html"]
            assert len(data["text/html"].encode()) <= 20_000
            assert "application/vnd.jupyter.widget-view+json" in data
            self.ready(robot)

    def test_the_summary_of_a_place_that_does_not_answer_keeps_nobody_waiting(self, robot: Robot, shelf: Shelf) -> None:
        assert isinstance(robot, JupyterRobot)
        robot.open(shelf.address)
        data = robot.page.widget._repr_mimebundle_()
        data = data[0] if isinstance(data, tuple) else data
        assert "zarrscope.open" in data["text/html"]
