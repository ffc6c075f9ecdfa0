"""Several images are edited at once, with one form, review and undo: either all are saved or none."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import EditStatus, Field, Session, strings
from zarrscope_app.presenters.form import merged, several, several_reading
from zarrscope_app.presenters.session.actions import open_name
from zarrscope_app.presenters.tree.matching import matching

SECONDS = 20
IMAGES = {"a.zarr": ("zyx", 0.2, "DAPI"), "b.zarr": ("czyx", 0.3, "DAPI"), "c.zarr": ("zyx", 0.2, "GFP")}


def attributes(axes: str, size: float, name: str) -> dict[str, Any]:
    def level(path: str, factor: float) -> dict[str, Any]:
        scale = [size * factor if axis in "yx" else 1.0 for axis in axes]
        return {"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]}

    kinds = {"c": {"type": "channel"}}
    entry = {
        "name": name,
        "axes": [{"name": a} | kinds.get(a, {"type": "space", "unit": "micrometer"}) for a in axes],
        "datasets": [level("0", 1), level("1", 2)],
    }
    window = {"min": 0, "max": 255, "start": 0, "end": 200}
    channels = [{"label": name, "color": "FF0000", "window": window, "active": True}]
    return {"ome": {"version": "0.5", "multiscales": [entry], "omero": {"channels": channels}}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for image, (axes, size, name) in IMAGES.items():
        with zarrscope.open(str(tmp_path / image), "w-") as h:
            h.root.attrs.put(attributes(axes, size, name))
            for i in range(2):
                shape = tuple(1 if a == "c" else 4 if a == "z" else 16 >> i for a in axes)
                h.create_array(f"/{i}", shape=shape, dtype="uint8", chunks=shape)
    with zarrscope.open(str(tmp_path / "plain.zarr"), "w-") as h:
        h.create_group("/inner")
    return tmp_path


PATHS = tuple(f"/{image}" for image in IMAGES)


@pytest.fixture
def session(place: Path, mailbox: Mailbox) -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def session(*paths: str, writable: bool = True) -> Session:
        made.append(s := Session(str(place), mailbox, writable=writable))
        s.set_tab("attributes")
        mailbox.run_until(lambda: s.node is not None, SECONDS)
        s.select_several(paths or PATHS)
        mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
        return s

    yield session
    for each in made:
        each.edit.revert()
        each.close()


def fields(s: Session) -> dict[str, Field]:
    return {field.label: field for field in s.edit.state.fields if field.depth}


def typed(s: Session, label: str, text: str) -> None:
    s.edit.edit(fields(s)[label].pointer, text)


def stored(place: Path) -> dict[str, Any]:
    return {image: json.loads((place / image / "zarr.json").read_text())["attributes"]["ome"] for image in IMAGES}


def first_scales(place: Path) -> list[list[list[float]]]:
    return [
        [dataset["coordinateTransformations"][0]["scale"] for dataset in ome["multiscales"][0]["datasets"]]
        for ome in stored(place).values()
    ]


def settled(s: Session, mailbox: Mailbox, status: EditStatus) -> None:
    mailbox.run_until(lambda: s.edit.state.status is status, SECONDS)


# ---------------------------------------------------------------------- the presenter
def test_what_differs_is_said_and_what_is_alike_is_shown(session: Callable[..., Session]) -> None:
    shown = fields(session())
    assert [(shown[label].text, shown[label].differs) for label in ("z", "y", "x")] == [
        ("1", ""),
        ("", "2 values"),
        ("", "2 values"),
    ], "axes are ordered differently, and are the same axes"
    assert shown["channel 0"].differs == "2 values"
    assert shown["unit of y"].text == "micrometer"


def test_one_edit_one_diff_one_undo_one_save(session: Callable[..., Session], place: Path, mailbox: Mailbox) -> None:
    s, before = session(), stored(place)
    typed(s, "y", "0.108")
    typed(s, "channel 0", "nuclei")
    mailbox.run_until(lambda: fields(s)["channel 0"].changed, SECONDS)
    assert (fields(s)["x"].text, fields(s)["x"].differs) == ("0.108", "")
    assert "in 3 documents" in s.edit.state.sentence
    assert s.state.unsaved == f"{s.edit.state.changes} changes"
    unified = s.edit.diff().unified
    assert all(f"{image}/zarr.json (edited)" in unified for image in IMAGES), "headed by each document"
    assert stored(place) == before, "nothing is written before the save"
    s.edit.undo()
    mailbox.run_until(lambda: fields(s)["channel 0"].differs == "2 values", SECONDS)
    assert fields(s)["x"].text == "0.108", "the edit before stays"
    s.edit.undo()
    mailbox.run_until(lambda: not s.edit.state.can_undo, SECONDS)
    assert s.edit.state.changes == 0
    s.edit.redo()
    s.edit.redo()
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert first_scales(place) == [
        [[1, 0.108, 0.108], [1, 0.216, 0.216]],
        [[1, 1, 0.108, 0.108], [1, 1, 0.216, 0.216]],
        [[1, 0.108, 0.108], [1, 0.216, 0.216]],
    ]
    assert [ome["omero"]["channels"][0]["label"] for ome in stored(place).values()] == ["nuclei"] * 3
    s.edit.undo()
    s.edit.undo()
    settled(s, mailbox, EditStatus.DIRTY)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert stored(place) == before, "undo goes across the save"


def test_a_save_is_reported_when_one_of_the_images_had_nothing_to_change(
    session: Callable[..., Session], mailbox: Mailbox
) -> None:
    s = session("/a.zarr", "/b.zarr")
    typed(s, "y", "0.3")
    mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
    assert "in 1 document" in s.edit.state.sentence, "b.zarr has this size already"
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert s.edit.state.sentence.startswith(strings.SAVED), s.edit.state.sentence
    typed(s, "y", "0.4")
    mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert s.edit.state.sentence.startswith(strings.SAVED), s.edit.state.sentence
    typed(s, "z", "7")
    mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
    s.edit.undo()
    settled(s, mailbox, EditStatus.CLEAN)
    assert strings.SAVED not in s.edit.state.sentence, "the message is gone after the next act"


def test_what_one_of_them_refuses_is_set_in_none(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session()
    typed(s, "channel 0 contrast from", "250")
    settled(s, mailbox, EditStatus.INVALID)
    wrong = fields(s)["channel 0 contrast from"]
    assert (wrong.text, "empty" in wrong.error, "/a.zarr" in wrong.error) == ("250", True, True)
    assert s.edit.state.changes == 0
    assert not s.edit.state.can_save
    told: list[str] = []
    s.edit.try_text(wrong.pointer, "300", told.append)
    mailbox.run_until(lambda: bool(told), SECONDS)
    assert "empty" in told[0]
    typed(s, "channel 0 contrast from", "10")
    settled(s, mailbox, EditStatus.DIRTY)
    assert not fields(s)["channel 0 contrast from"].error


def test_a_change_of_others_in_one_document_keeps_all_from_being_written(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session()
    typed(s, "channel 0", "nuclei")
    settled(s, mailbox, EditStatus.DIRTY)
    with zarrscope.open(str(place / "b.zarr"), "r+") as h:
        ome = dict(h.root.attrs["ome"])
        ome["omero"] = {"channels": [{**ome["omero"]["channels"][0], "label": "theirs"}]}
        h.root.attrs["ome"] = ome
    before = stored(place)
    s.edit.save()
    settled(s, mailbox, EditStatus.CONFLICT)
    assert stored(place) == before
    (conflict,) = s.edit.state.conflicts
    assert conflict.path == "/b.zarr"
    assert (conflict.mine, conflict.theirs) == ('"nuclei"', '"theirs"')
    s.edit.undo()
    mailbox.run_until(lambda: not s.edit.state.conflicts and not s.edit.state.changes, SECONDS)
    s.edit.redo()
    mailbox.run_until(lambda: bool(s.edit.state.conflicts), SECONDS)
    assert s.edit.state.status is EditStatus.CONFLICT
    s.edit.resolve("mine")
    settled(s, mailbox, EditStatus.DIRTY)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert [ome["omero"]["channels"][0]["label"] for ome in stored(place).values()] == ["nuclei"] * 3


def test_a_change_of_others_elsewhere_is_merged_without_a_question(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session()
    typed(s, "channel 0", "nuclei")
    path = place / "c.zarr" / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "extra": {"must_understand": False}}))
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert json.loads(path.read_text())["extra"] == {"must_understand": False}
    assert stored(place)["c.zarr"]["omero"]["channels"][0]["label"] == "nuclei"


def test_a_box_that_differs_is_set_by_one_gesture(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session()
    s.select("/a.zarr")
    s.select_several(["/a.zarr"])
    assert not s.edit.several, "one node has its own form"
    mailbox.run_until(lambda: s.edit.state.path == "/a.zarr" and "channel 0 visibility" in fields(s), SECONDS)
    typed(s, "channel 0 visibility", "false")
    s.select_several(PATHS)
    mailbox.run_until(lambda: "channel 0 visibility" in fields(s), SECONDS)
    assert fields(s)["channel 0 visibility"].differs == "2 values"
    assert fields(s)["channel 0 visibility"].changed, "what was edited of one of them is kept"
    typed(s, "channel 0 visibility", "false")
    mailbox.run_until(lambda: fields(s)["channel 0 visibility"].text == "false", SECONDS)
    s.edit.undo()
    mailbox.run_until(lambda: fields(s)["channel 0 visibility"].differs == "2 values", SECONDS)
    s.edit.undo()
    mailbox.run_until(lambda: fields(s)["channel 0 visibility"].text == "true", SECONDS)


def test_edits_stay_while_one_looks_elsewhere(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session()
    typed(s, "channel 0", "nuclei")
    s.select("/plain.zarr")
    mailbox.run_until(lambda: s.node is not None and len(s.edit.dirty_paths) == 3, SECONDS)
    assert (s.edit.several, s.edit.state.path) == ((), "/plain.zarr")
    assert s.edit.diff_of_all().unified.count("(edited)") == 3
    s.select_several(PATHS)
    mailbox.run_until(lambda: "channel 0" in fields(s), SECONDS)
    assert fields(s)["channel 0"].text == "nuclei"
    s.edit.revert()
    mailbox.run_until(lambda: not s.edit.dirty_paths, SECONDS)


def test_what_is_typed_read_only_waits_for_all(session: Callable[..., Session], place: Path, mailbox: Mailbox) -> None:
    s = session(writable=False)
    typed(s, "channel 0", "nuclei")
    assert "Save opens it for writing" in s.edit.state.sentence
    assert fields(s)["channel 0"].text == "nuclei"
    s.set_writable(True)
    settled(s, mailbox, EditStatus.DIRTY)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert [ome["omero"]["channels"][0]["label"] for ome in stored(place).values()] == ["nuclei"] * 3


def test_the_form_stays_beside_a_node_that_is_not_there(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    """As after a mistyped name: the images are edited, saved and undone all the same."""
    s = session(writable=False)
    s.select_several(())
    s.select("/nothing")
    mailbox.run_until(lambda: s.state.path == "/nothing" and not s.state.selecting, SECONDS)
    s.select_several(PATHS)
    mailbox.run_until(lambda: bool(s.edit.state.sections), SECONDS)
    assert s.state.tab == "attributes"
    typed(s, "name", "all")
    s.set_writable(True)
    mailbox.run_until(lambda: s.hierarchy is not None and s.hierarchy.writable and not s.state.selecting, SECONDS)
    settled(s, mailbox, EditStatus.DIRTY)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert all(ome["multiscales"][0]["name"] == "all" for ome in stored(place).values())
    assert s.state.path == "/nothing"
    assert s.state.tab == "attributes"
    assert next(tab for tab in s.state.tabs if tab.id == "attributes").enabled
    s.edit.undo()
    settled(s, mailbox, EditStatus.DIRTY)


def test_texts_that_wait_are_kept_while_other_nodes_are_selected(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session(writable=False)
    assert s.edit.closing() is None
    typed(s, "channel 0", "nuclei")
    s.select_several([])
    s.select(PATHS[0])
    mailbox.run_until(lambda: s.edit.state.path == PATHS[0] and "channel 0" in fields(s), SECONDS)
    assert fields(s)["channel 0"].text != "nuclei", "the node's own form has its own texts"
    typed(s, "channel 0", "alone")
    s.select("/")
    mailbox.run_until(lambda: s.edit.state.path == "/", SECONDS)
    asked = s.edit.closing()
    assert asked is not None
    assert asked.opens
    assert "nuclei" in asked.text
    assert f"{PATHS[0]}: alone" in asked.text
    s.select(PATHS[0])
    mailbox.run_until(lambda: s.edit.state.path == PATHS[0] and "channel 0" in fields(s), SECONDS)
    assert fields(s)["channel 0"].text == "alone"
    assert s.edit.brief.waits
    s.select_several(PATHS)
    mailbox.run_until(lambda: "channel 0" in fields(s), SECONDS)
    assert fields(s)["channel 0"].text == "nuclei"
    s.set_writable(True)
    settled(s, mailbox, EditStatus.DIRTY)
    s.edit.revert()
    mailbox.run_until(lambda: not s.edit.dirty_paths, SECONDS)


def test_texts_for_several_nodes_become_edits_when_another_node_is_selected(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session(writable=False)
    typed(s, "channel 0", "nuclei")
    s.select("/")
    mailbox.run_until(lambda: s.edit.state.path == "/", SECONDS)
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.dirty_paths == set(PATHS) and not s.edit.waiting_texts, SECONDS)
    s.select_several(PATHS)
    mailbox.run_until(lambda: "channel 0" in fields(s), SECONDS)
    assert fields(s)["channel 0"].text == "nuclei"
    s.edit.undo()
    mailbox.run_until(lambda: not s.edit.dirty_paths, SECONDS)


def test_fields_that_follow_a_waiting_text_show_it_read_only(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session(writable=False)
    typed(s, "y", "0.108")
    mailbox.run_until(lambda: fields(s)["x"].text == "0.108", SECONDS)
    assert [fields(s)[axis].differs for axis in "yx"] == ["", ""]
    assert not any(field.changed for field in fields(s).values()), "nothing was edited"
    typed(s, "channel 0 contrast from", "250")  # is refused later, and does not delay other texts
    typed(s, "z", "2")
    mailbox.run_until(lambda: fields(s)["z"].text == "2" and fields(s)["x"].text == "0.108", SECONDS)
    typed(s, "channel 0 contrast from", "5")
    s.set_writable(True)
    mailbox.run_until(lambda: s.edit.state.can_save and not s.edit.state.sentence.startswith("Reading"), SECONDS)
    mailbox.run_until(lambda: len(s.edit.dirty_paths) == 3 and fields(s)["z"].text == "2", SECONDS)
    s.edit.save()
    settled(s, mailbox, EditStatus.CLEAN)
    assert [levels[0] for levels in first_scales(place)] == [[2, 0.108, 0.108], [1, 2, 0.108, 0.108], [2, 0.108, 0.108]]


def test_no_text_is_lost_when_open_for_writing_comes_during_an_action(
    session: Callable[..., Session], mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two actions ran at once, both would start from the same documents, and the later result would replace the
    earlier one."""
    release, running, most = threading.Event(), [0], [0]

    def counted(real: Callable[..., Any], first: bool) -> Callable[..., Any]:
        def work(*arguments: Any) -> Any:
            running[0] += 1
            most[0] = max(most[0], running[0])
            try:
                assert not first or release.wait(SECONDS)
                return real(*arguments)
            finally:
                running[0] -= 1

        return work

    s = session(writable=False)
    monkeypatch.setattr(several, "expected", counted(merged.expected, True))
    monkeypatch.setattr(several, "edited", counted(merged.edited, False))
    read = several_reading.read_nodes
    reread: list[Any] = []

    @functools.wraps(read)
    def noted(*arguments: Any, **more: Any) -> Any:
        found = read(*arguments, **more)
        reread.append(found)
        return found

    monkeypatch.setattr(several, "read_nodes", noted)
    typed(s, "y", "0.108")
    mailbox.run_until(lambda: running[0] == 1, SECONDS)
    typed(s, "z", "2")
    s.set_writable(True)
    mailbox.run_until(lambda: bool(reread), SECONDS)
    with contextlib.suppress(TimeoutError):
        mailbox.run_until(lambda: most[0] > 1, 0.3)
    release.set()
    mailbox.run_until(lambda: [fields(s)[axis].changed for axis in "zyx"] == [True] * 3, SECONDS)
    assert [fields(s)[axis].text for axis in "zyx"] == ["2", "0.108", "0.108"]
    assert most[0] == 1


def test_all_are_judged(session: Callable[..., Session], mailbox: Mailbox) -> None:
    s = session()
    mailbox.run_until(lambda: bool(s.edit.state.verdict), SECONDS)
    assert s.edit.state.verdict.startswith("All 3: OME-Zarr 0.5: valid")
    typed(s, "type of z", "time")
    mailbox.run_until(lambda: s.edit.state.changes > 0, SECONDS)
    typed(s, "type of y", "time")
    mailbox.run_until(lambda: not s.edit.state.valid, SECONDS)
    assert "error" in s.edit.state.verdict


def test_a_pattern_chooses_and_what_has_no_fields_is_left_out(
    session: Callable[..., Session], place: Path, mailbox: Mailbox
) -> None:
    s = session("/plain.zarr", "/a.zarr")
    open_name(s, "*.zarr")
    mailbox.run_until(lambda: len(s.edit.several) == 4 and bool(s.edit.state.sections), SECONDS)
    assert "3 nodes at once" in s.edit.state.sentence
    assert "1 other selected node has no such fields." in s.edit.state.sentence
    assert s.edit.state.title == "Attributes of 3"
    open_name(s, "nothing*")
    mailbox.run_until(lambda: "No node matches" in s.state.sentence, SECONDS)
    with zarrscope.open(str(place)) as h:
        assert matching(h, "**/inner") == ["/plain.zarr/inner"]
        assert matching(h, "?.zarr/?")[:2] == ["/a.zarr/0", "/a.zarr/1"]
        with pytest.raises(zarrscope.errors.Refused, match="More than 2"):
            matching(h, "*/*", most=2)


# ---------------------------------------------------------------------- the window
@pytest.mark.needs("qt")
def test_in_the_window(qtbot: Any, place: Path) -> None:
    """Click, Shift+click, Attributes, a name, Ctrl+S: three images in few gestures."""
    from qtpy.QtCore import Qt

    from qt_robot import window_on

    window, session = window_on(qtbot, str(place), writable=True)
    view, wait = window.tree.view, SECONDS * 1000
    qtbot.waitUntil(lambda: session.node is not None and session.tree.find("/c.zarr") is not None, timeout=wait)

    def click(path: str, keys: Any = Qt.KeyboardModifier.NoModifier) -> None:
        model, id = window.tree.model, session.tree.find(path)
        assert model is not None
        assert id is not None
        qtbot.waitUntil(lambda: model.include(id).isValid(), timeout=wait)
        middle = view.visualRect(model.include(id)).center()
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, keys, middle)

    click("/a.zarr")
    qtbot.waitUntil(lambda: session.state.path == "/a.zarr" and session.node is not None, timeout=wait)
    click("/c.zarr", Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: session.edit.several == PATHS and bool(session.edit.state.sections), timeout=wait)
    session.set_tab("attributes")
    form = window.form.sections
    y = fields(session)["y"].pointer
    qtbot.waitUntil(lambda: y in form.editors, timeout=wait)
    line: Any = form.editors[y]
    assert (line.text(), line.placeholderText()) == ("", "2 values")
    qtbot.waitUntil(lambda: window.tabs.tabText(window.tabs.currentIndex()) == "Attributes of 3", timeout=wait)
    line.setFocus()
    qtbot.keyClicks(line, "0.5")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(session.edit.dirty_paths) == 3 and session.edit.state.can_save, timeout=wait)
    window.run("review")
    assert window.form.diff.text.toPlainText().count("(edited)") == 3
    qtbot.waitUntil(window.menus.actions["save"].isEnabled, timeout=wait)
    qtbot.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: session.edit.state.status is EditStatus.CLEAN, timeout=wait)
    assert {scale for levels in first_scales(place) for scale in levels[0][-2:]} == {0.5}
    click("/b.zarr")
    qtbot.waitUntil(lambda: not session.edit.several and session.state.path == "/b.zarr", timeout=wait)


@pytest.mark.needs("qt", "display")
def test_a_pattern_is_typed_and_the_keys_are_in_the_form(qtbot: Any, place: Path) -> None:
    """A pattern and then a size are typed without another gesture in between."""
    from qtpy.QtCore import Qt

    from qt_robot import window_on

    window, session = window_on(qtbot, str(place), writable=True)
    wait = SECONDS * 1000
    qtbot.waitUntil(lambda: session.node is not None and session.tree.find("/c.zarr") is not None, timeout=wait)
    window.run("find")
    qtbot.keyClicks(window.tree.filter, "*.zarr")
    qtbot.keyClick(window.tree.filter, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: len(session.edit.several) > 1 and bool(session.edit.state.sections), timeout=wait)
    form = window.form.sections
    qtbot.waitUntil(lambda: any(editor.hasFocus() for editor in form.editors.values()), timeout=wait)


@pytest.mark.needs("qt", "display")
def test_a_selection_stays_while_the_form_before_it_reports(qtbot: Any, place: Path) -> None:
    """The form of the node that was selected before may change just then, as when its document has been read."""
    from qt_robot import window_on

    window, session = window_on(qtbot, str(place), writable=True)
    tree, wait = window.tree, SECONDS * 1000
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=wait)

    def listed() -> bool:
        id = session.tree.find("/c.zarr")
        return id is not None and tree.model is not None and tree.model.index_of(id).isValid()

    qtbot.waitUntil(listed, timeout=wait)
    tree.view.selectAll()
    session.edit.changed.emit()
    assert set(PATHS) < set(tree.together)
    qtbot.waitUntil(lambda: set(PATHS) < set(session.edit.several), timeout=wait)
    selection = tree.view.selectionModel()
    assert selection is not None
    assert len(selection.selectedRows()) > 3
