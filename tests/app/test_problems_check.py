"""The Problems tab states how much was checked; a check can be stopped and resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf
from narrowing import as_array, not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.commands import NODE_COMMANDS
from zarrscope_app.presenters.differences import COMPARED
from zarrscope_app.presenters.problem_rows import SIGNS, rows_of
from zarrscope_app.presenters.problems import MANY_CHUNKS, UNLOOKED
from zarrscope_app.presenters.session.actions import perform
from zarrscope_app.presenters.strings import Problem


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    h = zarrscope.open(shelf, "a")
    for name in ("a", "b"):
        array = h.create_array(f"/{name}", shape=(40, 40), dtype="u2", chunks=(10, 10))
        array[...] = np.arange(1600).reshape(40, 40)
    return shelf


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def opened(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> Session:
    session = workspace.open(shelf.address)
    mailbox.run_until(settled(session))
    return session


def test_nothing_is_claimed_before_anything_was_checked(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    problems = opened(shelf, workspace, mailbox).problems
    assert problems.sentence == UNLOOKED
    assert "No problems" not in problems.sentence
    problems.check()
    assert problems.checking
    assert problems.sentence == "Checking the whole hierarchy…"
    mailbox.run_until(lambda: not problems.checking)
    told = "No problems were found. Checked: the whole hierarchy, every document and 32 chunks, stored or not."
    assert problems.sentence.startswith(told)


@pytest.mark.needs("qt", "display")
def test_the_window_offers_a_check_as_soon_as_the_place_is_open(qtbot: Any, shelf: Shelf) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, shelf.address)
    session.set_tab("problems")
    pane = window.problems
    qtbot.waitUntil(lambda: pane.check.isEnabled() and pane.other.isEnabled(), timeout=60_000)
    qtbot.waitUntil(lambda: UNLOOKED in pane.sentence.text(), timeout=60_000)


def test_a_number_of_chunks_that_nobody_reads_is_not_written_out(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    zarrscope.open(shelf, "a").create_array("/vast", shape=(2**62,), dtype="u1", chunks=(1,))
    problems = opened(shelf, workspace, mailbox).problems
    problems.check()
    mailbox.run_until(lambda: not problems.checking)
    assert MANY_CHUNKS in problems.sentence


def test_what_is_wrong_is_found_with_its_place(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    shelf.set("a/c/1/2", b"broken")
    session = opened(shelf, workspace, mailbox)
    perform(session, "check")
    mailbox.run_until(lambda: not session.problems.checking)
    assert session.state.tab == "problems"
    (found,) = session.problems.items
    (row,) = session.problems.rows
    assert row.beneath == (found.place,), "the details, which only repeat both, are left out of the list"
    assert (found.path, found.severity) == ("/a", "error")
    assert "a/c/1/2" in found.place
    assert row.text.startswith("/a · Chunk (1, 2)"), "a list names the node"
    assert rows_of([replace(found, path="/")])[0].text == found.headline
    assert session.problems.sentence.startswith("1 problem. Checked: ")
    session.select("/b")
    mailbox.run_until(settled(session))
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    assert "Checked: /b and all beneath" in session.problems.sentence, "only what was checked"


def test_a_check_is_stopped_and_goes_on(shelf: Shelf, workspace: Workspace, mailbox: Mailbox, monkeypatch: Any) -> None:
    session = opened(shelf, workspace, mailbox)
    problems = session.problems
    shelf.hold("b/c")
    problems.check()
    mailbox.run_until(lambda: "/b" in problems.sentence and "/a" in not_none(problems._steps).known)
    perform(session, "check")
    assert not problems.checking
    shelf.release()
    assert problems.can_resume
    assert "the rest was not checked" in problems.sentence
    assert "were found" not in problems.sentence
    mailbox.run()
    shelf.read.clear()
    perform(session, "check")
    mailbox.run_until(lambda: not problems.checking and not problems.can_resume)
    assert problems.sentence.startswith("No problems were found. Checked: ")
    assert not [key for key in shelf.read if key.startswith("a/c")], "what was checked before is not read again"
    problems.clear()
    assert problems.sentence == UNLOOKED


def test_the_sentence_says_where_the_check_is(shelf: Shelf, workspace: Workspace, mailbox: Mailbox) -> None:
    problems = opened(shelf, workspace, mailbox).problems
    told: list[str] = []
    problems.changed.connect(lambda: told.append(problems.sentence))
    shelf.hold("b/c")
    problems.check()
    mailbox.run_until(lambda: problems.sentence.startswith("Checking the whole hierarchy, now at /b"))
    shelf.release()
    mailbox.run_until(lambda: not problems.checking)
    assert not [sentence for sentence in told if "· /" in sentence or "/…" in sentence], told


# ---------------------------------------------------------------------------------------------- rows
def test_each_severity_has_a_sign_of_its_own_shape() -> None:
    from zarrscope_resources import icons

    for signs in zip(*((s.icon, s.character, s.narrow, s.name) for s in SIGNS.values()), strict=True):
        assert len(set(signs)) == len(SIGNS), signs
    drawn = {icons.svg(sign.icon) for sign in SIGNS.values()}
    assert len(drawn) == len(SIGNS), "different drawings, not one in several colours"


def test_two_findings_with_one_sentence_are_two_different_rows(tmp_path: Path, mailbox: Mailbox) -> None:
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    image = {"name": "i", "metadata": {}, "axes": axes, "datasets": levels}
    h = zarrscope.open(tmp_path / "i", "w-")
    h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [image, image]}})
    h.create_array("/0", shape=(8, 8), dtype="u2", chunks=(4, 4))[...] = 1
    session = Session(str(tmp_path / "i"), mailbox)
    mailbox.run_until(settled(session))
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    texts = [row.text for row in session.problems.rows]
    assert len(set(texts)) == len(texts)
    assert len([text for text in texts if "/ome/multiscales/1/" in text]) == 1, texts
    assert str(tmp_path) not in "".join(texts), "the address of the store, which all share, is left out"
    session.close()


def test_the_same_warning_about_the_session_and_about_its_root_is_one(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    problems = opened(shelf, workspace, mailbox).problems
    for path in ("", "/", ""):
        problems.add(Problem("warning", "The documents are old.", path=path))
    assert [row.text for row in problems.rows] == ["The documents are old."]


# ---------------------------------------------------------------------------------------------- another place
def compared(session: Session, mailbox: Mailbox, other: Path, *, values: bool = False) -> None:
    session.problems.compare(str(other), values=values)
    assert session.problems.comparing
    mailbox.run_until(lambda: not session.problems.comparing)


def test_another_place_is_compared_and_it_is_said_what_was(
    tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    for name in ("one", "two"):
        h = zarrscope.open(tmp_path / name, "w-")
        h.create_group("/g", {"stain": "DAPI"})
        h.create_array("/g/a", shape=(8, 8), dtype="u2", chunks=(4, 4))[...] = 1
    session = workspace.open(str(tmp_path / "one"))
    mailbox.run_until(settled(session))
    compared(session, mailbox, tmp_path / "two")
    assert not session.problems.items
    assert "No difference: the whole hierarchy compared with" in session.problems.sentence
    assert "not the values" in session.problems.sentence
    h = zarrscope.open(tmp_path / "two", "r+")
    as_array(h["/g/a"])[0, 0] = 9
    h["/g"].attrs["stain"] = "GFP"
    compared(session, mailbox, tmp_path / "two", values=True)
    found = session.problems.items
    assert [(each.path, each.severity) for each in found] == [("/g", COMPARED), ("/g/a", COMPARED)]
    assert found[0].headline.endswith('"DAPI" → "GFP"')
    assert "values at [0, 0]: 1 → 9 (1 value differs)" in found[1].headline
    assert UNLOOKED not in session.problems.sentence, "the comparison has looked"
    assert "2 differences" in session.problems.sentence
    assert session.problems.title == "Problems", "a difference is no problem"
    session.select("/g/a")
    mailbox.run_until(settled(session))
    compared(session, mailbox, tmp_path / "two" / "g" / "a", values=True)
    assert [each.path for each in session.problems.items] == ["/g/a"]
    compared(session, mailbox, tmp_path / "nowhere")
    assert session.problems.count == 1


def test_a_comparison_is_stopped_where_somebody_says_so(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    h = zarrscope.open(tmp_path / "one", "w-")
    h.create_group("/g")
    session = workspace.open(str(tmp_path / "one"))
    mailbox.run_until(settled(session))
    session.problems.compare(str(tmp_path / "one"))
    session.problems.stop_comparing()
    assert not session.problems.comparing
    assert "Stopped: the rest was not compared" in session.problems.sentence


def test_a_stale_copy_names_the_command_that_mends_it(tmp_path: Path, workspace: Workspace, mailbox: Mailbox) -> None:
    h = zarrscope.open(tmp_path / "one", "w-")
    h.create_group("/g", {"n": 1})
    h.consolidate()
    document = tmp_path / "one" / "g" / "zarr.json"
    document.write_text(document.read_text().replace('"n": 1', '"n": 2'))
    session = workspace.open(str(tmp_path / "one"), writable=True)
    mailbox.run_until(settled(session))
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    assert {each.mend for each in session.problems.items} == {"consolidate"}
    session.nodes.begin(NODE_COMMANDS["consolidate"], "/")
    mailbox.run_until(lambda: session.nodes.state.ready)
    session.nodes.carry_out()
    mailbox.run_until(lambda: bool(session.jobs.items) and not session.jobs.running)
    mailbox.run_until(settled(session))
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    assert not session.problems.items


@pytest.mark.needs("qt", "display")
def test_in_the_window_a_mended_finding_leaves_the_list_with_the_save(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import window_on

    axes = [{"name": name, "type": "space", "unit": "micron"} for name in "yx"]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    made = {"name": "i", "type": "mean", "metadata": {}, "axes": axes, "datasets": levels}
    h = zarrscope.open(tmp_path / "i", "w-")
    h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [made]}})
    h.create_array("/0", shape=(8, 8), dtype="u2", chunks=(4, 4))[...] = 1
    window, session = window_on(qtbot, str(tmp_path / "i"), writable=True)
    pane = window.problems

    def rows() -> list[str]:
        items = [pane.list.topLevelItem(row) for row in range(pane.list.topLevelItemCount())]
        return [not_none(item.child(0)).text(0) for item in items if item is not None]

    session.set_tab("problems")
    qtbot.waitUntil(pane.check.isEnabled, timeout=60_000)
    pane.check.click()
    qtbot.waitUntil(lambda: not session.problems.checking and len(rows()) == 2, timeout=60_000)
    assert any("axes/0/unit" in text for text in rows())
    qtbot.waitUntil(lambda: len(session.edit.state.findings) == 2, timeout=60_000)
    session.edit.mend("/ome/multiscales/0/axes/0/unit")
    qtbot.waitUntil(lambda: session.edit.brief.changes == 1, timeout=60_000)
    assert len(rows()) == 2, "nothing is stored yet"
    session.edit.save()
    qtbot.waitUntil(lambda: len(rows()) == 1, timeout=60_000)
    assert "axes/1/unit" in rows()[0]
    assert "1 problem. Checked: the whole hierarchy" in pane.sentence.text()


@pytest.mark.needs("qt", "display")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_window_paints_each_severity_in_its_own_shape_and_colour(qtbot: Any, dark: bool) -> None:
    from qtpy.QtGui import QColor, QPalette

    from qt_robot import contrast
    from zarrscope_app.qt import theme

    palette = QPalette(QColor(40, 40, 40) if dark else QColor(240, 240, 240))
    theme.follow(palette)
    try:
        pictures = [theme.signal(sign.icon).pixmap(16, 16).toImage() for sign in SIGNS.values()]
        masks = {
            bytes(image.pixelColor(x, y).alpha() > 100 for y in range(16) for x in range(16)) for image in pictures
        }
        assert len(masks) == len(SIGNS), "without colour they still differ"
        for sign in SIGNS.values():
            color = theme.severity_color(sign.icon, palette)
            assert contrast(color, palette.color(QPalette.ColorRole.Window)) >= 3, sign.name
    finally:
        theme.follow(None)


@pytest.mark.needs("qt", "display")
def test_the_error_bar_has_the_sign_of_its_severity(qtbot: Any, tmp_path: Path) -> None:
    from qt_robot import shown_window

    window = shown_window(qtbot)
    window.open(str(tmp_path / "nowhere.zarr"))
    bar = window.error_bar
    qtbot.waitUntil(lambda: bool(bar.sentence), timeout=60_000)
    assert bar.sign.accessibleName() == SIGNS["error"].name
    assert not_none(window.workspace.current).state.severity == "error"
    bar.show_error("Old.", "", severity="warning")
    assert bar.sign.accessibleName() == SIGNS["warning"].name


@pytest.mark.needs("qt", "display")
def test_each_button_of_the_error_bar_has_its_own_name(qtbot: Any) -> None:
    from qtpy.QtWidgets import QPushButton

    from zarrscope_app.qt.error_bar import ErrorBar

    bar, done = ErrorBar(), list[str]()
    qtbot.addWidget(bar)
    offers = [("Other credentials…", lambda: done.append("offer"))]
    for again in ("Retry", "Refresh"):
        bar.show_error("Denied.", "", lambda: done.append("again"), offers=offers, again=again)
        found = {each.text(): each for each in bar.findChildren(QPushButton) if each.isVisible()}
        assert {again, "Other credentials…"} <= set(found)
        found["Other credentials…"].click()
        found[again].click()
    assert done == ["offer", "again"] * 2


def test_a_chunk_that_was_read_and_then_checked_is_one_problem(
    shelf: Shelf, workspace: Workspace, mailbox: Mailbox
) -> None:
    shelf.set("a/c/1/2", b"broken")
    session = opened(shelf, workspace, mailbox)
    session.select("/a")
    mailbox.run_until(settled(session))
    session.slice.fit((40, 40))
    mailbox.run_until(lambda: len(session.problems.items) == 1)
    session.problems.check()
    mailbox.run_until(lambda: not session.problems.checking)
    assert len(session.problems.items) == 1
    assert session.problems.sentence.startswith("1 problem. Checked: ")
