"""The notebook's widget in the kernel: its messages, its Python attributes, and when it is closed."""

from __future__ import annotations

import asyncio
import base64
import gc
import io
import json
import re
import shutil
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore

pytest.importorskip("anywidget")

from ipywidgets.widgets.widget import _instances

from narrowing import as_array, as_group, not_none
from zarrscope_app.jupyter import Explorer, kernel, parts, pictures
from zarrscope_app.jupyter import widget as widgets
from zarrscope_app.jupyter.differences import readout_change, with_readout_change
from zarrscope_app.jupyter.kernel import KernelCells, KernelMailbox
from zarrscope_app.presenters import MemorySettings, Session
from zarrscope_app.presenters.image import colormaps
from zarrscope_app.presenters.session.state_text import decode_view

SECONDS = 120.0
SIDE = 512


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image of three channels of noise, 6 planes of 512 × 512, beside a plain array."""
    folder = tmp_path_factory.mktemp("notebook") / "cells.zarr"
    hierarchy = zarrscope.open(str(folder), "w-")
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx")]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.1, 0.1]}]
    multiscales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    hierarchy.create_group("/image", {"ome": {"version": "0.5", "multiscales": multiscales}})
    shape = (3, 6, SIDE, SIDE)
    array = hierarchy.create_array("/image/0", shape=shape, dtype="uint8", chunks=(1, 1, 256, 256))
    array[...] = np.random.default_rng(1).integers(0, 255, shape, dtype="uint8")
    hierarchy.create_array("/plain", shape=(4, 5), dtype="int16", chunks=(2, 5))[...] = np.arange(20).reshape(4, 5)
    return str(folder)


class Line:
    """The comm of a widget; records all messages in the form in which they are sent."""

    def __init__(self, widget: Explorer) -> None:
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        assert widget.model_id
        widget.comm.publish_msg = self._publish

    def _publish(self, _: str, data: Any = None, metadata: Any = None, buffers: Any = None, **about: Any) -> None:
        told = json.loads(json.dumps(data, allow_nan=False))
        self.sent.append((told, [bytes(each) for each in buffers or ()]))

    @property
    def told(self) -> int:
        """The number of bytes of JSON."""
        return sum(len(json.dumps(data)) for data, _ in self.sent)

    @property
    def pictures(self) -> int:
        """The number of bytes of pictures."""
        return sum(len(each) for _, buffers in self.sent for each in buffers)

    @property
    def parts(self) -> set[str]:
        """The names of the traits that were sent."""
        return {name for data, _ in self.sent for name in data.get("state", ())}


class Seat:
    """A widget and its user."""

    def __init__(self, place: str, path: str = "/image", **options: Any) -> None:
        self.mailbox = Mailbox()
        self.widget = Explorer(place, path=path, post=self.mailbox, settings=MemorySettings(), **options)

    def send(self, do: str, *args: Any, **more: Any) -> None:
        self.widget._receive(self.widget, {"do": do, "args": list(args), **more})

    def until(self, happened: Callable[[], object]) -> None:
        self.mailbox.run_until(lambda: bool(happened()), SECONDS)

    def look(self, kinds: tuple[str, ...] = ("png", "webp")) -> Line:
        """A browser displays the widget at 512 × 512 pixels; returns when everything was sent."""
        line = Line(self.widget)
        self.send("hello", [*kinds])
        self.until(lambda: self.widget.session.slice.state.kind == "image")
        self.send("viewport", [0, 0, SIDE, SIDE], [SIDE, SIDE])
        self.rest(lambda: line.pictures > 0)
        line.sent.clear()
        return line

    def rest(self, happened: Callable[[], object] = lambda: True) -> None:
        """Waits until `happened()` is true and no picture is being loaded or sent."""
        widget, shown = self.widget, self.widget.session.slice

        def quiet() -> bool:
            idle = all(stream._ticket is None for stream in widget.streams.values())
            known = all(channel.lo is not None for channel in shown.state.channels)
            settled = bool(shown.frame.tiles) and not shown.frame.loading and not widget._publish._posted
            return bool(happened()) and idle and known and settled and not widget._draws["main"]._posted

        self.until(quiet)
        self.mailbox.run()
        self.until(quiet)


@pytest.fixture
def seat(place: str) -> Iterator[Seat]:
    seat = Seat(place)
    yield seat
    seat.widget.close()


# ---------------------------------------------------------------------- bytes
def test_a_step_of_a_slider_sends_what_changed(seat: Seat) -> None:
    line = seat.look()
    for plane in (4, 0, 5):
        line.sent.clear()
        seat.send("slice.set_index", "z", plane, n=plane)
        seat.rest(lambda: line.pictures > 0)
        assert line.told <= 2000
        assert line.pictures + line.told <= 60_000, "noise is the hardest picture"
        assert line.parts <= {"places", "status"}
    assert any(data.get("content", {}).get("heard") == 5 for data, _ in line.sent)


def test_nothing_is_sent_again(seat: Seat) -> None:
    line = seat.look()
    seat.send("viewport", [0, 0, SIDE, SIDE], [SIDE, SIDE])
    seat.send("slice.set_index", "z", seat.widget.index["z"])
    seat.send("session.select", "/image")
    seat.widget.tell(*parts.PARTS)
    seat.rest()
    assert line.pictures == 0
    assert line.parts == set()
    line.sent.clear()
    seat.send("hello", ["png"])
    seat.rest(lambda: line.pictures > 0)
    kinds = {row[4] for data, _ in line.sent for row in data.get("content", {}).get("tiles", ())}
    assert kinds == {"png"}, "another browser gets all of it, as it can read it"


def test_colour_maps_are_imported_for_an_image_only(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing them takes longer than listing the first rows, which wait for the same thread."""
    asked: list[str] = []

    def titles() -> tuple[str, ...]:
        asked.append("titles")
        return ("viridis",)

    monkeypatch.setattr(colormaps, "titles", titles)
    seat = Seat(place, path="/")
    try:
        seat.until(lambda: seat.widget.view["tree"].get("count") == 3 and seat.widget.view["image"])
        assert seat.widget.view["image"]["colormaps"] == []
        assert asked == []
        seat.widget.path = "/image"
        seat.until(lambda: seat.widget.channels)
        assert seat.widget.view["image"]["colormaps"] == ["viridis"]
    finally:
        seat.widget.close()


def test_a_move_of_the_cursor_takes_200_bytes(seat: Seat) -> None:
    line = seat.look()
    for step in range(20):
        line.sent.clear()
        seat.send("slice.hover", 100.5 + step, 200.5, n=step)
        seat.until(lambda: any("probe" in data.get("content", {}) for data, _ in line.sent))
        seat.mailbox.run()
        assert line.told <= 200, line.sent
    line.sent.clear()
    seat.send("slice.hover", 119.5, 200.5, n=20)
    seat.mailbox.run()
    assert line.told < 60, "the same pixel says nothing new"


LINE = "z 3 y 100 x 200 · 20 µm, 40 µm   DAPI 𝛼 11 · Cy5 … · nuclei …"
CHANGES = {
    LINE.replace("100", "7").replace("20 µm", "-1.4e-05 µm"): [" 7  -1.4e-05"],
    LINE.replace("…", "0.125"): ["       0.125 0.125"],
    LINE.replace("11", "…"): ["     ?"],
    LINE.replace("nuclei …", "nuclei 1 (class kind 1)"): ["        1", " (class kind 1)"],
    LINE.replace("Cy5 …", "Cy5 –").replace("3 y", "4 y"): ["4      ", " – · nuclei …"],
    LINE: [""],
    "Line: 12 pixels": [],
    "": [],
}
"""Line → its change from LINE."""


@pytest.mark.parametrize("new", CHANGES)
def test_only_the_changed_numbers_of_a_readout_are_sent(new: str) -> None:
    change = readout_change(LINE, new)
    assert change == CHANGES[new]
    assert not change or with_readout_change(LINE, change) == new


@pytest.mark.parametrize("old", ["", "no number", LINE])
def test_a_change_of_a_readout_that_a_browser_did_not_get_breaks_nothing(old: str) -> None:
    assert isinstance(with_readout_change(old, [9 * "1 "]), str)


def test_pictures_keep_to_their_budget() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (SIDE, SIDE, 3), dtype="uint8")
    flat = np.full((SIDE, SIDE, 3), (7, 80, 200), np.uint8)
    kind, data = pictures.encoded(flat, ("png", "webp"))
    assert (kind, len(data) < 10_000) == ("png", True)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), flat), "what packs well is exact"
    kind, data = pictures.encoded(noise, ("png", "webp"))
    assert (kind, len(data) <= 60_000) == ("webp", True)
    assert Image.open(io.BytesIO(data)).size == (SIDE, SIDE)
    kind, data = pictures.encoded(noise, ("png",))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), noise)


def test_a_slow_browser_is_waited_for(seat: Seat) -> None:
    line = seat.look()
    seat.send("painted", "main")
    for plane in range(6):
        seat.send("slice.set_index", "z", plane)
        seat.until(lambda: not seat.widget.session.slice.frame.loading)
        seat.mailbox.run()
    ahead = sum(1 for data, _ in line.sent if data.get("content", {}).get("view") == "main")
    assert ahead <= pictures.AHEAD
    for _ in range(10):
        seat.send("painted", "main")
    seat.rest()
    tiles = [row for data, _ in line.sent for row in data.get("content", {}).get("tiles", ())]
    assert tiles, "the last plane comes once it catches up"


# ---------------------------------------------------------------------- from Python
def test_axes_and_selection_go_both_ways(seat: Seat) -> None:
    widget = seat.widget
    seat.look()
    assert widget.axes == ["y", "x"]
    widget.index = {"z": 4}
    seat.until(lambda: widget.index == {"z": 4})
    widget.axes = ["z", "x"]
    seat.until(lambda: widget.session.slice.frame.shape == (6, SIDE))
    seat.until(lambda: widget.index.keys() == {"y"})
    seat.send("slice.show", "y", "x")
    seat.until(lambda: widget.axes == ["y", "x"])
    assert widget.index == {"z": 4}
    assert decode_view(widget.state)["slice"]["index"]["z"] == 4
    assert widget.selection == {}
    seat.send("pick", "main", 30.2, 40.9)
    seat.until(lambda: widget.selection == {"y": 30, "x": 40})
    widget.selection = {"y": (10, 20), "x": (5, 9)}
    seat.until(lambda: widget.session.slice.state.measurement.rows)
    assert widget.selection == {"y": (10, 20), "x": (5, 9)}
    assert "40 values" in widget.session.slice.state.measurement.rows[0].text
    widget.selection = {"y": 3, "x": 4}
    seat.until(lambda: widget.session.slice.state.pin == (3.5, 4.5))
    widget.selection = {}
    seat.until(lambda: widget.session.slice.state.pin is None)
    with pytest.raises(ValueError, match="y and x"):
        widget.selection = {"z": 3}


def test_the_slice_is_a_lazy_array(seat: Seat, place: str) -> None:
    widget = seat.widget
    seat.look()
    widget.index = {"z": 2}
    seat.until(lambda: widget.session.slice.index[1] == 2)
    stored = np.asarray(as_array(zarrscope.open(place)["/image/0"])[...])
    assert not_none(widget.array).path == "/image/0"
    assert not_none(widget.data).shape == (3, SIDE, SIDE)
    assert np.array_equal(np.asarray(not_none(widget.data)[:, :40, :50]), stored[:, 2, :40, :50])
    found: dict[str, Any] = {"zarrscope": zarrscope}
    exec(f"values = {widget.code}", found)
    assert np.array_equal(found["values"], stored[:, 2])
    widget.axes = ["x", "y"]
    seat.until(lambda: widget.session.slice.frame.shape == (SIDE, SIDE) and widget.axes == ["x", "y"])
    assert np.array_equal(np.asarray(not_none(widget.data)[0]), stored[0, 2].T)
    widget.path = "/plain"
    seat.until(lambda: widget.session.node is not None and widget.session.node.path == "/plain")
    assert np.asarray(widget.data).tolist() == np.arange(20).reshape(4, 5).tolist()
    widget.path = "/"
    seat.until(lambda: widget.session.node is not None and widget.session.node.path == "/")
    assert (widget.data, widget.array) == (None, None)


def test_code_goes_to_the_clipboard(seat: Seat) -> None:
    line = seat.look()
    seat.send("copy", "code")
    copied = [data["content"]["copy"] for data, _ in line.sent if "copy" in data.get("content", {})]
    assert copied == [f"import zarrscope\n\n{seat.widget.code}"]
    assert copied[0].endswith("[:, 3, :, :]")
    lines = copied[0].splitlines()
    found: dict[str, Any] = {}
    exec("\n".join([*lines[:-1], f"values = {lines[-1]}"]), found)  # it runs wherever it is pasted
    assert found["values"].shape == np.asarray(seat.widget.data).shape


# ---------------------------------------------------------------------- threads and files afterwards
def test_the_still_page_holds_picture_tree_and_node(seat: Seat) -> None:
    html = seat.widget.page()
    data = re.search(r'src="data:image/(?:webp|png);base64,([^"]+)"', html)
    assert data is not None
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1]))).convert("RGB"))
    assert picture.std() > 20, "it is the picture, not a grey area"
    assert "cells.zarr" in html
    assert "plain" in html
    assert "z 3 / 5" in html
    assert seat.widget.code.replace("'", "&#x27;") in html
    assert html.count("image/svg+xml") == 1, "the chunks of the array that the picture shows are drawn"
    assert "Group <b>/" in html
    assert len(html) < 120_000
    # A page that removes tags, as JupyterLab does for a notebook that is not trusted, must not lose the picture.
    assert {*re.findall(r"<(\w+)", html)} == {"div", "span", "pre", "img", "b", "code"}
    seat.widget.path = "/plain"
    seat.until(lambda: seat.widget.session.node is not None and seat.widget.session.node.path == "/plain")
    assert seat.widget.page().count("image/svg+xml") == 1, "chunks are drawn, once"


def test_a_closed_one_says_how_to_go_on(seat: Seat) -> None:
    seat.look()
    seat.widget.close()
    assert "zarrscope.open" in seat.widget._repr_mimebundle_()["text/html"]


# ---------------------------------------------------------------------- how long it lives
def opened(session: Session) -> bool:
    return session.node is not None


def test_thirty_are_made_and_none_is_left(place: str) -> None:
    mailbox = Mailbox()
    before = len(_instances)
    left: list[weakref.ref[Any]] = []
    for _ in range(30):
        widget = Explorer(place, post=mailbox, settings=MemorySettings())
        session = widget.session
        mailbox.run_until(partial(opened, session), SECONDS)
        del session
        left += [weakref.ref(widget), weakref.ref(widget.session)]
        del widget
    for _ in range(10):
        mailbox.run()
        gc.collect()
    assert len(_instances) == before
    assert [each for each in left if each() is not None] == []


def test_those_that_the_same_cell_makes_and_closes_are_gone_with_the_next_cell(place: str) -> None:
    """Calls that their openings have sent to the event loop hold them while the cell runs, and no longer."""
    left: list[weakref.ref[Any]] = []

    async def cells() -> None:
        for _ in range(30):
            widget = Explorer(place, post=KernelMailbox(), settings=MemorySettings())
            left.append(weakref.ref(widget))
            widget.close()
            del widget
        end = time.monotonic() + SECONDS
        while any(each() is not None for each in left):  # jobs that had begun may still end
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
            gc.collect()

    asyncio.run(cells())


def test_one_that_was_shown_is_let_go_by_close(place: str) -> None:
    before = {*_instances}
    seat = Seat(place)
    seat.look()
    assert seat.widget.model_id in _instances
    widget, mailbox = weakref.ref(seat.widget), seat.mailbox
    seat.widget.close()
    assert {*_instances} <= before, "neither the widget nor its layout is kept"
    del seat
    end = time.monotonic() + SECONDS / 2
    while widget() is not None:  # a job that began earlier still refers to it, and may end without a call
        assert time.monotonic() < end
        mailbox.run()
        gc.collect()
        time.sleep(0.02)


class Notebook:
    """Runs cells as a notebook does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = ("", "")
        self.runs = 0
        self.cells = KernelCells(lambda: self.now)
        monkeypatch.setattr(widgets, "CELLS", self.cells)

    def run(self, cell: str, code: Callable[[], Any]) -> Any:
        self.runs += 1
        self.now = (cell, str(self.runs))
        shown = code()
        for each in shown if isinstance(shown, list) else [shown]:
            if each is not None:
                self.cells.shows(each)
        self.cells.ran()
        return shown


def test_a_cell_that_runs_again_lets_the_old_one_go(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook, made = Notebook(monkeypatch), list[Any]()

    def explore() -> Any:
        made.append(Explorer(place, post=Mailbox(), settings=MemorySettings()))
        return made[-1]

    for _ in range(5):
        notebook.run("a", explore)
    assert [each._closed for each in made] == [True] * 4 + [False]
    notebook.run("b", lambda: made[-1])
    notebook.run("a", explore)
    assert not made[-2]._closed, "cell b shows it still"
    notebook.run("b", lambda: made[-2])
    assert not made[-2]._closed, "the same one again"
    notebook.run("b", lambda: None)
    assert made[-2]._closed
    notebook.run("c", lambda: [explore(), explore()])
    assert not any(each._closed for each in made[-2:]), "two in one cell"
    notebook.run("c", lambda: None)
    assert all(each._closed for each in made[-2:])
    made[-3].close()


def test_a_cell_that_runs_again_offers_the_edits_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zarrscope_app.settings import FileSettings

    notebook, settings, mailbox = Notebook(monkeypatch), FileSettings(tmp_path / "state"), Mailbox()
    store = MemoryStore()
    zarrscope.open(store, "a").create_group("/g", {"note": "before"})

    def explore() -> Any:
        return Explorer(store.url, path="/g", editable=True, settings=settings, post=mailbox)

    first = notebook.run("a", explore)
    mailbox.run_until(lambda: bool(first.session.edit.state.fields), SECONDS)
    first._receive(first, {"do": "edit.edit", "args": ["/note", "after"]})
    second = notebook.run("a", explore)
    assert first._closed
    mailbox.run_until(lambda: "put-back" in second.view["place"].get("offers", ()), SECONDS)
    second.session.discard_edits()
    second.close()


def test_calls_run_on_the_loop_or_where_somebody_waits() -> None:
    done: list[tuple[str, int]] = []

    async def program() -> None:
        post = KernelMailbox()

        def outer() -> None:
            post(lambda: done.append(("inner", threading.get_ident())))
            post.run_until(lambda: bool(done), SECONDS)
            done.append(("outer", threading.get_ident()))

        post(outer)
        while len(done) < 2:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        post(lambda: done.append(("waited", threading.get_ident())))
        post.run_until(lambda: len(done) == 3, SECONDS)
        await asyncio.sleep(0)

    asyncio.run(program())
    assert [name for name, _ in done] == ["inner", "outer", "waited"]
    assert {thread for _, thread in done} == {threading.get_ident()}


def test_outside_a_notebook_no_cell_runs() -> None:
    assert kernel.running_cell() == ("", "")


# ---------------------------------------------------------------------- comparing
def test_two_places_are_compared_from_the_problems(seat: Seat, place: str, tmp_path: Path) -> None:
    other = tmp_path / "copy.zarr"
    shutil.copytree(place, other)
    with zarrscope.open(str(other), mode="r+") as h:
        h["/image"].attrs["operator"] = "Grace"
        array = next(child for child in as_group(h["/image"]).children() if child.kind == "array")
        as_array(h[f"/image/{array.name}"])[(0,) * len(as_array(h[f"/image/{array.name}"]).shape)] = 77
    seat.look()
    seat.send("session.set_tab", "problems")
    problems = seat.widget.session.problems
    for values, found in ((False, {"/image"}), (True, {"/image", f"/image/{array.name}"})):
        seat.send("problems.compare", f"{other}/image", values)
        assert problems.comparing
        seat.until(lambda: not problems.comparing)
        assert {each.path for each in problems.items} == found, problems.items
    seat.until(lambda: "2 differences" in seat.widget.view["panel"].get("problems_text", ""))
    assert seat.widget.view["panel"]["comparing"] is False
    severities = [each["severity"] for each in seat.widget.view["panel"]["problems"]]
    assert severities.count("difference") == 2, "beside the findings about the displayed image"


def test_a_script_without_an_event_loop_waits_for_the_values(place: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, zarrscope\n"
        "from zarrscope_app.jupyter import explore\n"
        "w = explore(sys.argv[1], path='/image')\n"
        "print(w.data.shape, w.array.path, w.index, w.axes)\n"
        "w.path = '/plain'\n"
        "print(w.wait().data.shape, w.path)\n"
        "w.close()\n"
        "for act in (lambda w: w.wait(), lambda w: w.data):\n"
        "    try:\n"
        "        act(explore(sys.argv[1] + '-not-there'))\n"
        "    except zarrscope.NotFound:\n"
        "        print('not found')\n"
    )
    ran = subprocess.run([sys.executable, str(script), place], capture_output=True, text=True, timeout=SECONDS)
    assert ran.stdout.splitlines() == [
        "(3, 512, 512) /image/0 {'z': 3} ['y', 'x']",
        "(4, 5) /plain",
        "not found",
        "not found",
    ], ran.stderr
