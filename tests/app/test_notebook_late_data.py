"""Data that arrive after the widget was displayed: without a further gesture, everything ends up at the browser.

The store answers reads of the chosen keys only when they are released, which is after the browser has got the state
without them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.slides import image, plate
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore

pytest.importorskip("anywidget")

from zarrscope_app.jupyter import Explorer, parts
from zarrscope_app.jupyter.differences import with_readout_change
from zarrscope_app.presenters import MemorySettings

SECONDS = 120.0
SIDE = 32
CHUNKS = "/c/"
Gesture = tuple[Any, ...]


class LateStore(MemoryStore):
    """Values that are returned only after `released` is set, if their key contains `late`."""

    late = ""
    """"" holds nothing back."""

    def __init__(self, values: dict[str, bytes]) -> None:
        super().__init__(values)
        self.released, self.asked = threading.Event(), threading.Event()

    def _wait(self, key: str) -> None:
        if self.late and self.late in key:
            self.asked.set()
            self.released.wait(SECONDS)

    def _get(self, key: str, part: Any, limit: int | None = None) -> bytes | None:
        self._wait(key)
        return super()._get(key, part, limit)

    def _size_of(self, key: str) -> int | None:
        self._wait(key)
        return super()._size_of(key)


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The documents and chunks of arrays, an image with labels, and a plate."""
    folder = tmp_path_factory.mktemp("late")
    root = folder / "all.zarr"
    with zarrscope.open(str(root), "w-") as h:
        h.create_array("/table", shape=(12, 8), dtype="i4", chunks=(3, 4))[...] = np.arange(96).reshape(12, 8)
        h.create_array("/line", shape=(3000,), dtype="f4", chunks=(300,))[...] = np.linspace(-2, 5, 3000)
    image(root / "cells", ("DAPI", "GFP"), planes=3, side=SIDE)
    axes = [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "zyx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.2, 0.2]}]}]
    about = {"properties": [{"label-value": value, "class": f"kind {value}"} for value in (1, 2)]}
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}], "image-label": about}
    with zarrscope.open(str(root), "r+") as h:
        h.create_group("/cells/labels", {"ome": {"version": "0.5", "labels": ["nuclei"]}})
        h.create_group("/cells/labels/nuclei", {"ome": ome})
        label = h.create_array("/cells/labels/nuclei/0", shape=(3, SIDE, SIDE), dtype="u1", chunks=(1, 16, 16))
        label[...] = 1 + np.indices((3, SIDE, SIDE))[2] // 16
    plate(folder / "plate")
    found = {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}
    plates = (file for file in (folder / "plate").rglob("*") if file.is_file())
    return {**found, **{f"plate/{file.relative_to(folder / 'plate')}": file.read_bytes() for file in plates}}


class Browser:
    """The messages and the state that a widget has sent."""

    def __init__(self, store: LateStore, path: str) -> None:
        self.mailbox = Mailbox()
        self.widget = Explorer(
            store.url, path=path, held=store, post=self.mailbox, settings=MemorySettings(), editable=True
        )
        self.messages: list[dict[str, Any]] = []
        self.widget.send = lambda content, buffers: self.messages.append(json.loads(json.dumps(content)))
        self.send("hello", ["png", "webp"])

    def send(self, do: str, *args: Any) -> None:
        self.widget._receive(self.widget, {"do": do, "args": list(args)})

    def until(self, happened: Callable[[], object]) -> None:
        self.mailbox.run_until(lambda: bool(happened()), SECONDS)

    def part(self, name: str) -> Any:
        """The last content of a part that was sent."""
        return json.loads(json.dumps(self.widget.view[name], default=str))

    @property
    def panel(self) -> Any:
        return self.part("panel")

    def told(self, name: str) -> Any:
        """The last value of a member of the messages; None if there was none."""
        return next((message[name] for message in reversed(self.messages) if name in message), None)

    @property
    def readout(self) -> str:
        """The values under the cursor, from all messages about them."""
        text = line = ""
        for message in self.messages:
            line = message.get("blank", line)
            if "probe" in message:
                probe = message["probe"]
                text = line = probe if isinstance(probe, str) else with_readout_change(line, probe)
        return text

    def frame(self, view: str = "main") -> dict[str, Any]:
        """The state of the picture, from all messages about it."""
        frames = [message["frame"] for message in self.messages if message.get("view") == view and "frame" in message]
        return {name: value for frame in frames for name, value in frame.items()}

    def tiles(self, view: str = "main") -> dict[str, str]:
        """Tile → its last state."""
        rows = [row for message in self.messages if message.get("view") == view for row in message.get("tiles", ())]
        return {row[0]: row[2] for row in rows}

    def is_painted(self, view: str = "main") -> bool:
        """Whether the picture is said to be whole, and its tiles were sent."""
        tiles = self.tiles(view)
        return bool(tiles) and self.frame(view)["loading"] == 0 and {*tiles.values()} == {"present"}

    def is_current(self) -> bool:
        """Whether the parts and the reason under the cursor, made again, are those that were sent."""
        made = {name: json.loads(json.dumps(make(self.widget), default=str)) for name, make in parts.PARTS.items()}
        note = self.widget.session.slice.note
        return all(self.part(name) == content for name, content in made.items()) and (self.told("why") or "") == note


def _texts(browser: Browser) -> list[str]:
    return [cell for line in browser.panel["table"]["cells"] for cell in line]


def _whole_line(browser: Browser) -> bool:
    line = browser.part("image")["line"]
    return bool(line) and not line["loading"] and None not in line["low"] and line["marks"][:2] == ["5", "-2"]


def _whole_map(browser: Browser) -> bool:
    chunks = browser.panel["chunks"]
    items = {item["label"]: item["text"] for item in chunks["items"]}
    return not chunks["scanning"] and {*"".join(chunks["cells"])} == {"1"} and items.get("Stored") == "8 (100 %)"


def _measured(browser: Browser) -> bool:
    measured = browser.part("image")["measurement"]
    return len(measured["rows"]) == 2 and all("mean" in row["text"] for row in measured["rows"])


def _profile(browser: Browser) -> bool:
    rows = browser.part("image")["measurement"]["rows"]
    return len(rows) == 2 and all(row["profile"] and None not in row["profile"] for row in rows)


def _thumbnails(browser: Browser) -> bool:
    sent = {path for message in browser.messages for path, _ in message.get("thumbnails", ())}
    return sent == {f"/plate/A/{well}" for well in (1, 2, 3)}


def _read_out(browser: Browser) -> bool:
    return "DAPI 11 · GFP 11" in browser.readout and browser.told("why") == ""


def _label_read_out(browser: Browser) -> bool:
    return "nuclei 1 (class kind 1)" in browser.readout and browser.told("why") == ""


def _other_planes(browser: Browser) -> bool:
    return all(browser.is_painted(view) for view in ("main", "below", "beside"))


LABEL = "/cells/labels/nuclei"
REGION: tuple[Gesture, ...] = (("slice.measure_region", 1.5, 1.5, 30.5, 30.5),)
SIDES: tuple[Gesture, ...] = (
    ("command", "three-views"),
    ("viewport", [0, 0, 3, SIDE], [12, 128], "below"),
    ("viewport", [0, 0, SIDE, 3], [128, 12], "beside"),
)
CASES: dict[str, tuple[str, str, tuple[Gesture, ...], Callable[[Browser], object]]] = {
    "picture": ("/cells", CHUNKS, (), Browser.is_painted),
    "step": ("/cells", "/0/c/0/0/", (("slice.set_index", "z", 0),), Browser.is_painted),
    "histogram": ("/cells", CHUNKS, (), lambda b: all(any(c["histogram"] or ()) for c in b.part("channels"))),
    "contrast": ("/table", CHUNKS, (("session.set_tab", "image"),), lambda b: b.part("channels")[0]["lo"] is not None),
    "readout": ("/cells", CHUNKS, (("slice.hover", 10.5, 10.5),), _read_out),
    "readout of another plane": (
        "/cells",
        "/0/c/0/0/",
        (("slice.hover", 10.5, 10.5), ("slice.set_index", "z", 0)),
        lambda b: "z 0" in b.readout and _read_out(b),
    ),
    "label": (
        "/cells",
        f"nuclei/0{CHUNKS}",
        (("slice.set_label", LABEL, True, 0.5), ("slice.hover", 10.5, 10.5)),
        _label_read_out,
    ),
    "labels": (
        "/cells",
        "labels/nuclei/zarr.json",
        (),
        lambda b: [one["path"] for one in b.part("image").get("labels", ())] == [LABEL],
    ),
    "label colours": (
        "/cells",
        f"nuclei/0{CHUNKS}",
        (("slice.set_label", LABEL, True, 0.5),),
        Browser.is_painted,
    ),
    "statistics": ("/cells", CHUNKS, REGION, _measured),
    "profile": ("/cells", CHUNKS, (("slice.measure_line", 1.5, 1.5, 30.5, 30.5),), _profile),
    "projection": ("/cells", CHUNKS, (("slice.project", "z", "max"),), Browser.is_painted),
    "other planes": ("/cells", CHUNKS, SIDES, _other_planes),
    "line": ("/line", CHUNKS, (("session.set_tab", "image"),), _whole_line),
    "values": (
        "/table",
        CHUNKS,
        (("session.set_tab", "values"),),
        lambda b: _texts(b) == [str(number) for number in range(96)],
    ),
    "chunk map": ("/table", CHUNKS, (("session.set_tab", "chunks"),), _whole_map),
    "plate": ("/plate", CHUNKS, (), _thumbnails),
    "form": (
        "/cells",
        "cells/1/zarr.json",
        (("session.set_tab", "attributes"),),
        lambda b: "Level 1 follows" in json.dumps(b.panel),
    ),
    "problems": (
        "/cells",
        CHUNKS,
        (("session.set_tab", "problems"), ("problems.check",)),
        lambda b: b.panel["check"] == "check-begin" and "Checked:" in b.panel["problems_text"],
    ),
    "info": (
        "/table",
        CHUNKS,
        (("session.set_tab", "info"),),
        lambda b: "8 of 8 chunks" in json.dumps(b.panel),
    ),
}
"""View → path, late keys, gestures, and whether all of it was sent."""


@pytest.fixture
def late(values: dict[str, bytes]) -> Iterator[LateStore]:
    store = LateStore(values)
    yield store
    store.released.set()


@pytest.mark.parametrize("case", CASES)
def test_what_arrives_late_is_sent_without_a_gesture(case: str, late: LateStore) -> None:
    path, late.late, gestures, is_whole = CASES[case]
    browser = Browser(late, path)
    try:
        browser.until(lambda: late.asked.is_set() or browser.widget.session.node is not None)
        if CHUNKS in late.late and path == "/cells":
            browser.until(lambda: browser.part("image").get("labels"))
        browser.send("viewport", [0, 0, SIDE, SIDE], [128, 128])
        for do, *args in gestures:
            browser.send(do, *args)
        browser.until(late.asked.is_set)
        browser.mailbox.run()
        assert not is_whole(browser)
        late.released.set()
        browser.until(lambda: is_whole(browser))
        browser.until(browser.is_current)
    finally:
        late.released.set()
        browser.widget.close()


def test_values_that_come_late_are_sent_without_their_names(late: LateStore) -> None:
    late.late = CHUNKS
    browser = Browser(late, "/cells")
    try:
        browser.until(lambda: browser.part("image").get("labels"))
        browser.send("slice.hover", 10.5, 10.5)
        browser.until(lambda: browser.readout)
        assert browser.readout.endswith("DAPI … · GFP …")
        late.released.set()
        browser.until(lambda: browser.readout.endswith("DAPI 11 · GFP 11"))
        readouts = [message["probe"] for message in browser.messages if "probe" in message]
        assert readouts[-1] == ["     11 11"]
    finally:
        late.released.set()
        browser.widget.close()


@pytest.mark.parametrize("count", [1, 3, 8])
def test_a_move_whose_values_come_late_takes_200_bytes(tmp_path: Path, count: int) -> None:
    """The picture is there, at a coarser level. The second move leads from values to one that is not there yet."""
    image(tmp_path / "cells", tuple(f"marker {number}" for number in range(count)), side=SIDE)
    store = LateStore({str(f.relative_to(tmp_path)): f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()})
    store.late = "cells/0/c/"
    browser = Browser(store, "/cells")
    try:
        shown = browser.widget.session.slice
        browser.until(lambda: shown.state.channels and browser.told("blank"))
        browser.send("viewport", [0, 0, SIDE, SIDE], [16, 16])
        browser.until(browser.is_painted)
        for number, column in ((101, 10.5), (102, 20.5)):
            store.released.clear()
            browser.mailbox.run()
            browser.messages.clear()
            browser.widget._receive(browser.widget, {"do": "slice.hover", "args": [10.5, column], "n": number})
            browser.until(lambda: browser.told("probe") is not None)
            assert shown.probe.pending
            store.released.set()
            browser.until(lambda: not shown.probe.pending and browser.widget._told_probe[0] == shown.probe.text)
            told = [message for message in browser.messages if {"probe", "why", "heard"} & message.keys()]
            assert len(told) == 2
            assert sum(len(json.dumps({"method": "custom", "content": one})) for one in told) <= 200, told
    finally:
        store.released.set()
        browser.widget.close()
