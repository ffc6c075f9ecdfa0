"""The journeys: what users do from opening to saving, as tests that every host runs with a robot of its own.

How to run them for a host (tests/app/test_journeys_<host>.py):

    from contracts.journeys import Journeys, Robot

    class QtRobot(Robot): ...

    class TestQt(Journeys):
        @pytest.fixture
        def robot(self, qtbot):
            robot = QtRobot(qtbot)
            yield robot
            robot.close()

A robot does with the host's own widgets what the method says (a real key, a real click, a real field), and reads back
what the widgets show: never what a presenter says, where a widget says it too. `session` is there so that a journey can
wait for what is under way (`wait` runs the host's event loop until the condition holds; it never sleeps). Textual's
Pilot is asynchronous: run the app on its own loop in `open` and drive it from the robot (`loop.run_until_complete`).

The suite builds its own data: `Shelf` is a store in memory, opened as any other by its address (memory://…),
with a gate that holds chunks or listings back, and keys that fail. `small_image`, `tree_of_all_kinds` and
`labelled_image` build hierarchies in it; hosts may use them for their own tests.
"""

from __future__ import annotations

import abc
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contracts.hostile_http import BEHAVIOURS, Ask, hostile
from narrowing import as_array
from zarrscope.errors import Unreadable
from zarrscope.model.storage import ByteRange, Entry
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.stores import memory
from zarrscope_app.presenters import ROOT, EditStatus, RowState, Session, SessionStatus, TileState, strings
from zarrscope_app.presenters.commands import command

SECONDS = 20.0
_numbers = count(1)


class Shelf(memory.MemoryStore):
    """A store in memory that can be made slow or faulty. `address` opens it."""

    def __init__(self) -> None:
        super().__init__(name=f"shelf-{next(_numbers)}")
        memory._named[self.url.removeprefix("memory://")] = self
        self.address = self.url
        self.read: list[str] = []
        """The keys of the chunks that were read, in order."""
        self.failing: set[str] = set()
        """The keys, and for listings the prefixes, that cannot be read."""
        self._open = threading.Condition()
        self._held = ""

    def hold(self, what: str) -> None:
        """Holds back answers for "chunks", "listings" or keys of chunks with this prefix until `release`."""
        self._held = what

    def release(self) -> None:
        with self._open:
            self._held = ""
            self._open.notify_all()

    def _wait(self, what: str, cancelled: Callable[[], bool], key: str = "") -> bool:
        """Waits at the gate. Returns False if the request was cancelled meanwhile."""
        with self._open:
            while self._held and (self._held == what or key.startswith(self._held)):
                if cancelled():
                    return False
                self._open.wait(0.02)
        return not cancelled()

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        if key in self.failing:
            raise Unreadable("The server answered 503", store=self.url, key=key, advice="Try again.")
        return super()._get(key, part, limit)

    def _get_many(
        self, requests: Any, cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        for i, answer in super()._get_many(requests, cancelled, limit):
            key = requests[i][0]
            if "/c/" in key:
                if not self._wait("chunks", cancelled, key):
                    return
                self.read.append(key)
            yield i, answer

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        if prefix in self.failing:
            raise Unreadable("The server answered 503", store=self.url, key=prefix, advice="Try again.")
        self._wait("listings", lambda: False)
        yield from super()._list_dir(prefix)


# ---------------------------------------------------------------------- hierarchies
PLANES = 41
SIDE = 64
CHUNK = 16


def brightness(z: int) -> int:
    """The value of every pixel of plane z."""
    return 10 + 6 * z


def _multiscale(name: str, levels: int, **omero: Any) -> dict[str, Any]:
    axes = [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.1 * 2**k, 0.1 * 2**k]}]}
        for k in range(levels)
    ]
    ome: dict[str, Any] = {"version": "0.5", "multiscales": [{"name": name, "axes": axes, "datasets": datasets}]}
    if omero:
        ome["omero"] = omero
    return {"ome": ome}


def small_image(shelf: Shelf, path: str = "/image", contrast: tuple[float, float] = (0, 255)) -> Hierarchy:
    """An OME-Zarr 0.5 image of one level, z y x uint8, 41 planes of 4 x 4 chunks; plane z is of `brightness(z)`."""
    hierarchy = open_hierarchy(shelf, "a")
    window = {"start": contrast[0], "end": contrast[1], "min": 0, "max": 255}
    channel = {"label": "signal", "color": "FFFFFF", "active": True, "window": window}
    attributes = _multiscale("image", 1, channels=[channel], rdefs={"defaultZ": 0})
    hierarchy.create_group(path, attributes)
    array = hierarchy.create_array(
        f"{path}/0", shape=(PLANES, SIDE, SIDE), dtype="uint8", chunks=(1, CHUNK, CHUNK), fill_value=0
    )
    planes = np.arange(PLANES, dtype=np.uint8)[:, None, None] * 6 + 10
    array[...] = np.broadcast_to(planes, array.shape)
    return hierarchy


def labelled_image(shelf: Shelf) -> Hierarchy:
    """`small_image` with a label image "cells" of the same shape: label 1 in the upper left quarter."""
    hierarchy = small_image(shelf)
    hierarchy.create_group("/image/labels", {"ome": {"version": "0.5", "labels": ["cells"]}})
    attributes = _multiscale("cells", 1)
    attributes["ome"]["image-label"] = {"version": "0.5", "colors": [{"label-value": 1, "rgba": [255, 0, 0, 255]}]}
    hierarchy.create_group("/image/labels/cells", attributes)
    array = hierarchy.create_array(
        "/image/labels/cells/0", shape=(PLANES, SIDE, SIDE), dtype="uint16", chunks=(1, 32, 32)
    )
    array[:, : SIDE // 2, : SIDE // 2] = 1
    return hierarchy


def tree_of_all_kinds(shelf: Shelf) -> Hierarchy:
    """Makes a hierarchy of names in natural order, a nested group, an empty group, an array that cannot be decoded, and
    an array of strings."""
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_group("/many", {"comment": "three of them", "scale": 0.50, "list": [1, 2, 3], "ok": True})
    for name in ("img10", "img2", "img1"):
        array = hierarchy.create_array(f"/many/{name}", shape=(4, 6), dtype="int16", chunks=(2, 3))
        array[...] = np.arange(24).reshape(4, 6) - 5
    hierarchy.create_group("/empty")
    hierarchy.create_array("/line", shape=(100,), dtype="float64", chunks=(10,))[...] = np.linspace(0, 1, 100)
    hierarchy.create_array("/strange", shape=(8, 8), dtype="uint8", chunks=(4, 4))
    key = "strange/zarr.json"
    document = json.loads(shelf.get(key) or b"")
    document["codecs"] = [{"name": "example_unknown_codec", "configuration": {}}]
    shelf.set(key, json.dumps(document, indent=2).encode())
    return hierarchy


DEMAND = "https://example.com/zarr/mirrored"
"""The name of an extension that no program knows."""


ENCODING = "https://example.com/zarr/encoding"
"""The name of a metadata encoding that no program knows."""
PRICE = "https://example.com/zarr/price"
"""The name of a data type that no program knows."""


def guarded_group(shelf: Shelf) -> Hierarchy:
    """Makes a group "/guarded" with a required extension that no program knows, and an array "inside" beneath it."""
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/guarded/inside", shape=(4, 6), dtype="int16", chunks=(2, 3))[...] = 5
    key = "guarded/zarr.json"
    document = json.loads(shelf.get(key) or b"")
    document["extensions"] = [{"name": DEMAND, "configuration": {"axis": 0}}]
    shelf.set(key, json.dumps(document, indent=2).encode())
    return hierarchy


def array_with_fallback(shelf: Shelf) -> Hierarchy:
    """Makes an array "/priced" of an unknown data type, whose document offers int16 as a fallback."""
    hierarchy = open_hierarchy(shelf, "a")
    hierarchy.create_array("/priced", shape=(4, 6), dtype="int16", chunks=(2, 3))[...] = 5
    document = json.loads(shelf.get("priced/zarr.json") or b"")
    document["data_type"] = {"name": PRICE, "fallback": "int16"}
    shelf.set("priced/zarr.json", json.dumps(document, indent=2).encode())
    return hierarchy


@contextmanager
def miserly(shelf: Shelf, missing: set[str]) -> Iterator[str]:
    """The address of a web server that serves `shelf` without the keys in `missing`, and answers 403 to requests for
    absent keys."""

    async def act(ask: Ask) -> None:
        if ask.value is None:
            await BEHAVIOURS["denied alike"](ask)
        else:
            await ask.honest()

    values = {key: shelf.get(key) or b"" for key in shelf.list() if key not in missing}
    with hostile(act, values) as server:
        yield server.url


# ---------------------------------------------------------------------- the robot
class Robot(abc.ABC):
    """The actions that journeys need from a host. `wait` has a time limit; the other methods return at once or after
    `wait`."""

    session: Session
    """The session that the host shows after `open`."""

    @abc.abstractmethod
    def open(self, url: str, *, writable: bool = False) -> None:
        """Opens a place in a window of the host that is large enough to show everything, and sets `session`."""

    @abc.abstractmethod
    def close(self) -> None:
        """Closes the window and the session."""

    @abc.abstractmethod
    def wait(self, happened: Callable[[], bool], what: str = "") -> None:
        """Runs the host's event loop until `happened()`. Fails after SECONDS with `what` in the message."""

    # -------------------------------------------------- tree
    @abc.abstractmethod
    def rows(self) -> list[str]:
        """The displayed names of the tree from top to bottom, without the root."""

    @abc.abstractmethod
    def expand(self, path: str) -> None:
        """Expands a visible row."""

    @abc.abstractmethod
    def select(self, path: str) -> None:
        """Clicks a visible row."""

    @abc.abstractmethod
    def cancel(self, path: str) -> None:
        """Cancels the listing of a row."""

    @abc.abstractmethod
    def retry_row(self, path: str) -> None:
        """Uses the row's retry button or key."""

    @abc.abstractmethod
    def type_name(self, text: str) -> None:
        """Types into the filter of the tree, and presses Enter."""

    @abc.abstractmethod
    def take(self, offer: str) -> None:
        """Runs a command that the host offers for the selected node, one of SessionState.offers."""

    @abc.abstractmethod
    def show_info(self) -> None:
        """Shows the Info of the selected node, including its documents."""

    # -------------------------------------------------- picture
    @abc.abstractmethod
    def slide(self, axis: str, indices: Sequence[int]) -> None:
        """Moves a slider through these indices as fast as the host allows; the event loop runs once between two of
        them."""

    @abc.abstractmethod
    def picture(self) -> np.ndarray:
        """The pixels of the image area as uint8 (h, w, 3); the plane covers its centre."""

    @abc.abstractmethod
    def hover(self, y: float, x: float) -> None:
        """Moves the cursor to a position in the plane, in coordinates of level 0."""

    @abc.abstractmethod
    def retry_picture(self) -> None:
        """Clicks a failed tile, or uses the host's command to read failed tiles again."""

    # -------------------------------------------------- form
    @abc.abstractmethod
    def edit(self, pointer: str, text: str) -> None:
        """Types a text into a field of the attributes form, and leaves the field."""

    @abc.abstractmethod
    def write_text(self, text: str) -> None:
        """Replaces the JSON text in the form, and leaves the editor whether the text is accepted or not."""

    @abc.abstractmethod
    def offers_of(self, pointer: str) -> set[str]:
        """The actions that the host offers for a field: "rename", "remove", and the types it can get."""

    @abc.abstractmethod
    def try_field(self, pointer: str, act: str, text: str = "") -> None:
        """Attempts to "rename" a field to `text`, "retype" it to the type `text`, or "remove" it by the gesture itself,
        also if the host does not offer the action."""

    @abc.abstractmethod
    def save(self) -> None: ...

    @abc.abstractmethod
    def undo(self) -> None: ...

    @abc.abstractmethod
    def review(self) -> str:
        """Opens the review of changes; returns the displayed diff."""

    @abc.abstractmethod
    def resolve(self, whose: str) -> None:
        """Answers the question about a conflict with "mine" or "theirs"."""

    # -------------------------------------------------- actions
    @abc.abstractmethod
    def act(self, command: str, **fields: str) -> None:
        """Gives one of commands.NODE_COMMANDS for the selected node, fills in these fields of its form, and starts the
        action when its plan is displayed."""

    @abc.abstractmethod
    def rename(self, name: str) -> None:
        """Gives the selected node another name."""

    @abc.abstractmethod
    def undo_act(self) -> None:
        """Undoes the last action on nodes."""

    @abc.abstractmethod
    def export(self, target: Path) -> None:
        """Starts the export of the whole selected array to a .npy file."""

    @abc.abstractmethod
    def check(self) -> None:
        """Starts the check of the selected node and all beneath, and shows the problems."""

    @abc.abstractmethod
    def choose_cell(self, path: str) -> None:
        """Clicks a well of the displayed plate, or a field of the displayed well."""

    @abc.abstractmethod
    def next_image(self) -> None:
        """Gives the command or key for the next field."""

    # -------------------------------------------------- words
    @abc.abstractmethod
    def sees(self, text: str) -> bool:
        """Whether this text is displayed anywhere in the window, including tooltips and error bars."""


# ---------------------------------------------------------------------- the journeys
class Journeys:
    """Subclass it in a test module and define a `robot` fixture."""

    @pytest.fixture
    def shelf(self) -> Iterator[Shelf]:
        shelf = Shelf()
        yield shelf
        shelf.release()
        memory._named.pop(shelf.address.removeprefix("memory://"), None)

    def ready(self, robot: Robot) -> None:
        robot.wait(
            lambda: robot.session.state.status is SessionStatus.READY and not robot.session.state.selecting,
            "the session is ready",
        )

    def go(self, robot: Robot, path: str) -> None:
        """Selects a node by clicking through the tree."""
        tree = robot.session.tree
        above = path.rsplit("/", 1)[0]
        robot.wait(
            lambda: tree.find(path if not above else "/" + above.split("/")[1]) is not None, f"{path} in the tree"
        )
        if above:
            robot.expand(above)
            robot.wait(lambda: tree.find(path) is not None, f"{path} in the tree")
        robot.select(path)
        robot.wait(
            lambda: robot.session.state.path == path and not robot.session.state.selecting, f"{path} to be selected"
        )

    def whole(self, robot: Robot) -> None:
        """Whether the picture is complete."""
        picture = robot.session.slice
        robot.wait(lambda: bool(picture.frame.tiles) and picture.frame.loading == 0, "a whole picture")

    def shows(self, robot: Robot, value: int) -> bool:
        """Whether the centre of the image area has this brightness, within the errors of colour tables and
        terminals."""
        picture = robot.picture()
        if not picture.size:
            return False
        middle = picture[picture.shape[0] // 2, picture.shape[1] // 2].astype(int)
        return bool(np.abs(middle - value).max() <= 2)

    # -------------------------------------------------- 1. expand
    def test_expand(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        robot.wait(lambda: robot.rows() == ["empty", "line", "many", "strange"], "the children of the root")
        robot.expand("/many")
        robot.wait(lambda: "img10" in robot.rows(), "the children of /many")
        assert robot.rows() == ["empty", "line", "many", "img1", "img2", "img10", "strange"]
        assert robot.sees("2-D int16")
        robot.expand("/empty")
        robot.wait(lambda: robot.sees(strings.EMPTY_GROUP), "the sentence about an empty group")

    def test_what_cannot_be_decoded_still_lists_and_says_why(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/strange")
        assert "strange" in robot.rows()
        robot.wait(lambda: robot.sees("example_unknown_codec"), "the name of the codec that is missing")

    def test_a_place_that_is_no_hierarchy_says_so(self, robot: Robot, shelf: Shelf) -> None:
        robot.open(shelf.address)
        robot.wait(lambda: robot.session.state.status is SessionStatus.FAILED, "the session to fail")
        robot.wait(lambda: robot.sees("no Zarr hierarchy"), "the sentence")

    def test_what_demands_the_unknown_is_named_and_opened_only_when_asked(self, robot: Robot, shelf: Shelf) -> None:
        guarded_group(shelf)
        stored = {key: shelf.get(key) for key in shelf.list()}
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/guarded")
        robot.wait(lambda: robot.sees(DEMAND), "the name of the extension")
        robot.wait(lambda: robot.sees(command("open-anyway").label), "the offer to open it all the same")
        robot.expand("/guarded")
        robot.wait(lambda: self.row(robot, "/guarded").state is RowState.FAILED, "the listing to be refused")
        assert "inside" not in robot.rows()
        robot.take("open-anyway")
        robot.wait(lambda: strings.OPENED_ANYWAY in robot.session.state.facts, "the session to open anew")
        self.ready(robot)
        robot.wait(lambda: robot.sees(strings.OPENED_ANYWAY), "that it is read-only now")
        assert not robot.session.state.writable
        robot.expand("/guarded")
        robot.wait(lambda: "inside" in robot.rows(), "what lies beneath")
        assert stored == {key: shelf.get(key) for key in shelf.list()}

    def test_a_fallback_is_told_and_can_be_switched_off(self, robot: Robot, shelf: Shelf) -> None:
        array_with_fallback(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/priced")
        robot.wait(lambda: robot.sees(f"{PRICE} is not understood here. Shown as int16"), "what is shown in its place")
        robot.wait(lambda: robot.sees(command("fallback").label), "the offer to do without")
        assert as_array(robot.session.node).problem is None
        robot.take("fallback")
        robot.wait(lambda: robot.sees("Its fallback int16 is switched off."), "that it is not shown any more")
        self.ready(robot)
        assert as_array(robot.session.node).problem is not None
        robot.take("fallback")
        robot.wait(lambda: robot.sees("Shown as int16"), "that it is shown again")

    def test_every_host_tells_of_extensions_in_words(self, robot: Robot, shelf: Shelf) -> None:
        guarded_group(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/guarded")
        robot.show_info()
        robot.wait(lambda: robot.sees(f"{DEMAND}: not understood, and needed to read the data."), "the report")
        robot.wait(lambda: robot.sees('"node_type": "group"'), "the document")

    def test_documents_in_an_unknown_encoding_are_listed_and_shown_as_bytes(self, robot: Robot, shelf: Shelf) -> None:
        encoding = {"extension": ENCODING, "type": "cbor", "metadata_key_suffix": ".cbor"}
        bootstrap = {"zarr_format": "https://purl.org/zarr/spec/core/3.0", "metadata_encoding": encoding}
        shelf.set("zarr.json", json.dumps(bootstrap | {"extensions": []}).encode())
        shelf.set("meta/g.group.cbor", b"\xa0")
        shelf.set("meta/g/a.array.cbor", b"\xa1\xff\xfe")
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/g/a")
        robot.wait(lambda: robot.sees(ENCODING), "the name of the encoding")
        assert robot.rows() == ["g", "a"]
        robot.show_info()
        robot.wait(lambda: robot.sees("a1 ff fe"), "the bytes of the document")

    # -------------------------------------------------- 2. slide
    def test_forty_quick_moves_read_one_plane(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/image")
        self.whole(robot)
        robot.wait(lambda: self.shows(robot, brightness(0)), "plane 0 on the screen")
        shelf.read.clear()
        shelf.hold("chunks")
        robot.slide("z", range(1, PLANES))
        late = f"z 0 is shown; z {PLANES - 1} is loading"
        robot.wait(lambda: robot.sees(late), "the former plane is named as such")
        shelf.release()
        robot.wait(lambda: self.shows(robot, brightness(PLANES - 1)), "the last plane on the screen")
        self.whole(robot)
        robot.wait(lambda: not robot.sees(late), "nothing more is said")
        planes = {key.split("/c/")[1].split("/")[0] for key in shelf.read}
        assert str(PLANES - 1) in planes
        assert len(planes) <= 2, "a busy machine may begin to read one plane between two moves, not more"
        assert len(shelf.read) == 16 * len(planes), "each chunk is read once"
        assert robot.sees("40 / 40")
        assert robot.sees("20 µm")

    def test_hover_tells_the_exact_value(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/image")
        self.whole(robot)
        robot.slide("z", [1, 2, 3])
        robot.wait(lambda: self.shows(robot, brightness(3)), "plane 3 on the screen")
        robot.hover(20.5, 30.5)
        robot.wait(lambda: robot.sees("z 3 y 20 x 30") and robot.sees(str(brightness(3))), "the value under the cursor")

    # -------------------------------------------------- 3. edit and save
    def test_edit_review_save_undo(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        before = (shelf.get("many/zarr.json") or b"").replace(b"0.5", b"0.50", 1)
        shelf.set("many/zarr.json", before)
        others = {key: shelf.get(key) for key in shelf.list() if key != "many/zarr.json"}
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/many")
        self.form(robot)
        robot.edit("/scale", "0.108")
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.DIRTY, "the form to be changed")
        assert shelf.get("many/zarr.json") == before, "nothing is written before save"
        diff = robot.review()
        assert "0.50" in diff
        assert "0.108" in diff
        robot.save()
        self.clean(robot)
        after = shelf.get("many/zarr.json") or b""
        assert after == before.replace(b"0.50", b"0.108"), "every other byte stays"
        robot.undo()
        robot.wait(lambda: robot.session.edit.state.changes == 1, "the undo of what was saved")
        robot.save()
        self.clean(robot)
        assert shelf.get("many/zarr.json") == before
        assert others == {key: shelf.get(key) for key in shelf.list() if key != "many/zarr.json"}

    def test_the_top_row_stays_and_no_kind_drops_content(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        before = json.loads(shelf.get("many/zarr.json") or b"")
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/many")
        self.form(robot)
        assert robot.offers_of("") <= {"object"}
        assert robot.offers_of("/list") <= {"rename", "remove", "list"}
        assert robot.offers_of("/list/0") & {"rename"} == set()
        for pointer, act, text in (
            ("", "rename", "renamed"),
            ("", "retype", "text"),
            ("", "remove", ""),
            ("/list", "retype", "text"),
        ):
            robot.try_field(pointer, act, text)
            assert robot.session.edit.state.changes == 0, f"{act} of {pointer!r}"
        robot.edit("/scale", "0.108")
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.DIRTY, "the form to be changed")
        robot.save()
        self.clean(robot)
        before["attributes"]["scale"] = 0.108
        assert json.loads(shelf.get("many/zarr.json") or b"") == before

    def test_a_wrong_number_blocks_saving(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        before = shelf.get("many/zarr.json")
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/many")
        self.form(robot)
        robot.edit("/scale", "0.1.08")
        robot.wait(lambda: robot.sees(strings.NOT_A_NUMBER), "the field's error")
        robot.save()
        assert robot.session.edit.state.status is EditStatus.INVALID
        assert shelf.get("many/zarr.json") == before

    def test_a_conflict_is_told_and_resolved(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/many")
        self.form(robot)
        robot.edit("/scale", "0.108")
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.DIRTY, "the form to be changed")
        other = open_hierarchy(shelf, "r+")
        document = other.document("/many")
        document = document.set("/attributes/scale", 7).set("/attributes/comment", "theirs")
        other.save("/many", document)
        robot.save()
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.CONFLICT, "the conflict")
        assert json.loads(shelf.get("many/zarr.json") or b"")["attributes"]["scale"] == 7, "theirs was not written over"
        robot.resolve("mine")
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.DIRTY, "the merge")
        robot.save()
        self.clean(robot)
        attributes = json.loads(shelf.get("many/zarr.json") or b"")["attributes"]
        assert attributes["scale"] == 0.108
        assert attributes["comment"] == "theirs"

    def test_a_document_that_is_no_json_is_mended(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        key = "many/zarr.json"
        sound = (shelf.get(key) or b"").decode()
        broken = sound.replace("0.5", "0.5,", 1)
        shelf.set(key, broken.encode())
        others = {each: shelf.get(each) for each in shelf.list() if each != key}
        robot.open(shelf.address, writable=True)
        self.ready(robot)
        self.go(robot, "/many")
        robot.session.set_tab("attributes")
        edit = robot.session.edit
        robot.wait(lambda: edit.state.way == "document" and edit.state.text == broken, "the text as it is stored")
        line = broken[: broken.index("0.5,,")].count("\n") + 1
        robot.wait(lambda: robot.sees(f"Line {line}, column "), "the fault")
        assert edit.state.sentence.startswith(f"{key} is not JSON. Line {line}, column ")
        assert (edit.state.status, edit.state.text_line) == (EditStatus.INVALID, line)
        robot.save()
        robot.write_text(broken.replace("{", "{{", 1))
        robot.wait(lambda: edit.state.status is EditStatus.INVALID, "the fault of what was typed")
        robot.save()
        assert not edit.state.can_save
        assert shelf.get(key) == broken.encode(), "nothing is written while it is not JSON"
        robot.write_text('{"zarr_format": 3}')
        robot.wait(lambda: robot.sees("would still be faulty"), "the warning")
        robot.save()
        robot.wait(lambda: edit.state.status is EditStatus.FAILED, "the question")
        robot.wait(lambda: robot.sees("Save once more"), "the question on the screen")
        assert shelf.get(key) == broken.encode(), "nothing is written before it is confirmed"
        robot.undo()
        robot.wait(lambda: edit.state.text != '{"zarr_format": 3}', "the undo")
        robot.write_text(sound)
        robot.wait(lambda: edit.state.status is EditStatus.DIRTY, "the form to be changed")
        assert shelf.get(key) == broken.encode(), "nothing is written before save"
        robot.save()
        robot.wait(lambda: shelf.get(key) == sound.encode(), "the corrected text is stored")
        robot.wait(lambda: getattr(robot.session.node, "problem", "") is None, "the node to be sound")
        robot.expand("/many")
        robot.wait(lambda: "img10" in robot.rows(), "the children")
        robot.wait(lambda: "fields" in edit.state.ways, "all views of the form")
        edit.show_way("fields")
        self.form(robot)
        assert others == {each: shelf.get(each) for each in shelf.list() if each != key}

    def form(self, robot: Robot) -> None:
        robot.session.set_tab("attributes")
        robot.wait(lambda: robot.session.edit.field("/scale") is not None, "the form")

    def clean(self, robot: Robot) -> None:
        robot.wait(lambda: robot.session.edit.state.status is EditStatus.CLEAN, "the save to be over")

    # -------------------------------------------------- 4. failure, retry, cancel
    def test_a_chunk_that_fails_says_so_and_can_be_retried(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        shelf.failing.add("image/0/c/0/0/0")
        robot.open(shelf.address)
        self.ready(robot)
        self.go(robot, "/image")
        self.whole(robot)
        frame = robot.session.slice.frame
        assert frame.failed == 1
        assert TileState.FAILED in [tile.state for tile in frame.tiles]
        assert any("503" in tile.sentence for tile in frame.tiles)
        robot.wait(lambda: self.shows(robot, brightness(0)), "the rest of the plane on the screen")
        shelf.failing.clear()
        robot.retry_picture()
        robot.wait(lambda: robot.session.slice.frame.failed == 0, "nothing failed any more")
        self.whole(robot)

    def test_what_nobody_can_tell_is_missing_only_when_asked(self, robot: Robot, shelf: Shelf) -> None:
        small_image(shelf)
        with miserly(shelf, {f"image/0/c/{z}/0/0" for z in range(PLANES)}) as url:
            robot.open(f"{url}/image")
            self.ready(robot)
            self.look(robot)
            robot.wait(lambda: robot.sees("gives the same answer for missing values"), "why a chunk is not shown")
            robot.wait(lambda: robot.sees(command("missing-is-fill").label), "the offer to take it as missing")
            robot.take("missing-is-fill")
            self.ready(robot)
            robot.wait(lambda: not robot.session.state.offers, "the session to open anew")
            self.look(robot)
            robot.wait(lambda: robot.sees(strings.REFUSED_IS_MISSING), "what is assumed")
            assert not robot.session.state.sentence
            assert robot.session.slice.frame.failed == 0
            robot.session.close()

    def look(self, robot: Robot) -> None:
        """Requests the picture of the selected node."""
        self.whole(robot)

    def test_a_listing_that_fails_can_be_retried(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        shelf.failing.add("many/")
        robot.open(shelf.address)
        self.ready(robot)
        robot.wait(lambda: "many" in robot.rows(), "the children of the root")
        robot.expand("/many")
        robot.wait(lambda: self.row(robot, "/many").state is RowState.FAILED, "the listing to fail")
        robot.wait(lambda: robot.sees("503"), "why the listing failed")
        shelf.failing.clear()
        robot.retry_row("/many")
        robot.wait(lambda: "img2" in robot.rows(), "the children of /many")

    def test_a_child_that_nobody_lists_is_typed(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        shelf.listable = False
        robot.open(shelf.address)
        self.ready(robot)
        robot.wait(lambda: robot.sees(strings.UNLISTABLE), "that nothing is listed, rather than an empty group")
        robot.type_name("many/img2")
        robot.wait(lambda: robot.session.state.path == "/many/img2", "the node that was typed")
        robot.wait(lambda: robot.rows() == ["many", "img2"], "its rows, and no filter")
        robot.type_name("/nowhere")
        robot.wait(lambda: robot.sees("nowhere"), "that there is no such node")
        assert robot.rows() == ["many", "img2"]
        robot.session.tree.refresh()
        robot.wait(lambda: "many" in robot.rows(), "what was typed, after a refresh")

    def test_cancel(self, robot: Robot, shelf: Shelf) -> None:
        tree_of_all_kinds(shelf)
        robot.open(shelf.address)
        self.ready(robot)
        robot.wait(lambda: "many" in robot.rows(), "the children of the root")
        shelf.hold("listings")
        robot.expand("/many")
        robot.wait(
            lambda: self.row(robot, "/many").state is RowState.LOADING and robot.sees(strings.LOADING),
            "loading to be shown",
        )
        robot.cancel("/many")
        robot.wait(lambda: robot.sees(strings.CANCELLED), "the sentence of a cancelled listing")
        shelf.release()
        assert "img2" not in robot.rows()
        robot.retry_row("/many")
        robot.wait(lambda: "img2" in robot.rows(), "the children of /many")

    def row(self, robot: Robot, path: str) -> Any:
        id = robot.session.tree.find(path)
        return robot.session.tree.row(ROOT if id is None else id)
