"""Words of the window that were cut off or moved, seen in screenshots at 900 × 600."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.slides import image

pytestmark = pytest.mark.needs("qt", "display")
WAIT = 60_000
SMALL = (900, 600)


def opened(qtbot: Any, place: Path, size: tuple[int, int] = SMALL) -> tuple[Any, Any]:
    """A small window with the picture of an image, and its session."""
    from qt_robot import window_on

    window, session = window_on(qtbot, str(place))
    window.resize(*size)
    qtbot.waitUntil(lambda: session.node is not None and not session.state.selecting, timeout=WAIT)
    qtbot.waitUntil(lambda: not session.slice.frame.loading, timeout=WAIT)
    return window, session


def test_the_columns_of_the_form_stay_where_they_are_after_an_edit(qtbot: Any, tmp_path: Path) -> None:
    """A changed name is bold: its column became wider, and the ones beside it moved."""
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    window, session = opened(qtbot, tmp_path / "a.zarr", (1200, 800))
    session.set_writable(True)
    session.set_tab("attributes")
    form = window.form.sections
    name, start = "channel/0/label", "channel/0/start"
    qtbot.waitUntil(lambda: start in form.editors and form.editors[start].x() > 0, timeout=WAIT)
    before = form.editors[name].width(), form.editors[start].x()
    session.edit.edit(name, "nuclei")
    qtbot.waitUntil(lambda: form.editors[name].font().bold(), timeout=WAIT)
    form.widget().layout().activate()
    assert (form.editors[name].width(), form.editors[start].x()) == before


def test_a_read_only_form_says_that_one_may_type(qtbot: Any, tmp_path: Path) -> None:
    """It told to open for writing first, which *Save* does."""
    image(tmp_path / "a.zarr", ("DAPI",))
    window, session = opened(qtbot, tmp_path / "a.zarr")
    session.set_tab("attributes")
    said = window.form._sentence.label
    qtbot.waitUntil(lambda: said.text().startswith("Opened read-only. Type a new value"), timeout=WAIT)
    line = window.form.sections.editors["size/1"]
    line.setFocus()
    qtbot.keyClicks(line, "2")
    qtbot.waitUntil(lambda: said.text().startswith("Opened read-only. Save opens it"), timeout=WAIT)


def test_a_line_stands_between_the_fields_and_the_verdict(qtbot: Any, tmp_path: Path) -> None:
    """The verdict read as the content of the section above that was cut off."""
    image(tmp_path / "a.zarr", ("DAPI",))
    window, session = opened(qtbot, tmp_path / "a.zarr")
    session.set_tab("attributes")
    findings = window.form.findings
    qtbot.waitUntil(lambda: bool(findings.summary.text()) and findings.isVisible(), timeout=WAIT)
    assert findings.edge.isVisible()
    assert findings.edge.y() < findings.summary.y()


def test_the_facts_of_a_place_stay_whole_beside_a_long_one(qtbot: Any) -> None:
    """ "The only hierarchy in this fo…v3": the sentence ran into the format."""
    from zarrscope_app.presenters import strings
    from zarrscope_app.qt.text import FactsLabel

    label = FactsLabel()
    qtbot.addWidget(label)
    facts = ("The only hierarchy in this folder among other files", "v3", "OME-Zarr 0.5", "read-only")
    label.setText(strings.joined(*facts))
    whole = label.fontMetrics().horizontalAdvance(label.text())
    assert label.shortened(whole) == label.text()
    shown = label.shortened(whole // 2).split(" · ")
    assert tuple(shown[1:]) == facts[1:]
    assert shown[0].endswith("…")
    assert label.shortened(30).endswith("…"), "too narrow for the others"
    assert label.minimumSizeHint().width() < whole // 2, "it gives way"


@pytest.mark.parametrize("channels", [2, 6])
def test_no_statistics_are_cut_off_without_a_sign(qtbot: Any, tmp_path: Path, channels: int) -> None:
    """ "4 of 4 chun" stood at the edge. Few channels are wrapped; of many a text ends with an ellipsis."""
    from zarrscope_app.qt.text import ElidedLabel, Label

    image(tmp_path / "a.zarr", tuple(f"channel {i}" for i in range(channels)))
    window, session = opened(qtbot, tmp_path / "a.zarr", (700, 560))
    window.run("measure-view")
    panel = window.image.measured
    qtbot.waitUntil(lambda: panel.isVisible() and bool(session.slice.state.measurement.rows), timeout=WAIT)
    qtbot.waitUntil(lambda: panel.layout().itemAt(2).layout().count() > 0, timeout=WAIT)
    rows = panel.layout().itemAt(2).layout()

    def told() -> list[Any]:
        return [rows.itemAtPosition(at, 1).widget() for at in range(len(session.slice.state.measurement.rows))]

    if len(told()) <= 4:
        assert all(type(label) is Label and label.wordWrap() for label in told())
        qtbot.waitUntil(
            lambda: all(label.height() >= label.heightForWidth(label.width()) > 0 for label in told()), timeout=WAIT
        )
    else:
        assert all(isinstance(label, ElidedLabel) for label in told())


def test_the_result_of_a_job_has_more_than_half_of_the_status_bar(qtbot: Any, tmp_path: Path) -> None:
    """The end of "Written: …. 4 of the 12 chunks are not stored." was cut off beside an empty line."""
    image(tmp_path / "a.zarr", ("DAPI",))
    window, session = opened(qtbot, tmp_path / "a.zarr", (1200, 800))
    session.set_tab("info")
    said = "Written: /a/folder/of/this/computer/" + "cells of the third passage" * 5
    session.jobs.run("Export", lambda report, cancelled: None, lambda result: said)
    text = window.jobs_bar.text
    qtbot.waitUntil(lambda: window.jobs_bar.isVisible() and said in text.text(), timeout=WAIT)
    qtbot.waitUntil(lambda: text.width() > 600, timeout=WAIT)
    assert window.width() == 1200


def test_the_form_follows_a_theme_that_changes_while_it_is_open(qtbot: Any, tmp_path: Path) -> None:
    """Notes, headings and findings kept the grey of the light theme, and the marks between the parts of the path their
    black: nothing of it could be seen any more."""
    from qtpy.QtGui import QColor, QPalette
    from qtpy.QtWidgets import QApplication

    from zarrscope_app.qt.text import IconLabel
    from zarrscope_app.qt.theme import is_dark

    place = tmp_path / "shelf"
    image(place / "a.zarr", ("DAPI",))
    window, session = opened(qtbot, place)
    session.select("/a.zarr")
    qtbot.waitUntil(lambda: session.state.path == "/a.zarr" and not session.state.selecting, timeout=WAIT)
    session.set_tab("attributes")
    form, findings = window.form.sections, window.form.findings
    qtbot.waitUntil(lambda: "size/1" in form.editors and bool(findings.rows), timeout=WAIT)
    (arrow,) = window.address.findChildren(IconLabel)
    application: Any = QApplication.instance()
    before = QPalette(application.palette())

    def shades() -> list[int]:
        """The lightness of a note of the form, of a finding and of the mark in the path."""
        note = next(one for one in form._notes.values() if one.text()).palette().color(QPalette.ColorRole.WindowText)
        told = findings.rows[0].layout().itemAt(findings.rows[0].layout().count() - 1).widget()
        drawn = arrow.pixmap().toImage()
        ink = max((drawn.pixelColor(x, y) for x in range(10) for y in range(10)), key=lambda one: one.alpha())
        return [note.lightness(), told.palette().color(QPalette.ColorRole.WindowText).lightness(), ink.lightness()]

    try:
        for dark in (False, True, False):
            application.setPalette(QPalette(QColor(40, 40, 40) if dark else QColor(240, 240, 240)))
            assert is_dark(application.palette()) is dark
            qtbot.waitUntil(lambda dark=dark: all((one > 128) is dark for one in shades()), timeout=WAIT)
    finally:
        application.setPalette(before)


def test_the_fields_of_the_form_grow_with_the_font(qtbot: Any, tmp_path: Path) -> None:
    """In a font of 16 points "FFFFFF" and "micrometer" were cut off."""
    from qtpy.QtWidgets import QApplication

    image(tmp_path / "a.zarr", ("DAPI",))
    application: Any = QApplication.instance()
    before = application.font()
    large = application.font()
    large.setPointSize(16)
    application.setFont(large)
    try:
        window, session = opened(qtbot, tmp_path / "a.zarr", (1300, 800))
        session.set_tab("attributes")
        form = window.form.sections
        qtbot.waitUntil(lambda: {"unit/1", "channel/0/color"} <= {*form.editors}, timeout=WAIT)
        editors = form.editors
        hexes, unit = editors["channel/0/color"], editors["unit/1"].lineEdit()
        swatch, sides = 24, 8
        needed = hexes.fontMetrics().horizontalAdvance("FFFFFF") + swatch + sides
        qtbot.waitUntil(lambda: hexes.text() == "FFFFFF" and hexes.width() >= needed, timeout=WAIT)
        assert unit.text() == "micrometer"
        assert unit.width() >= unit.fontMetrics().horizontalAdvance("micrometer") + sides
        assert not window.form.sections.horizontalScrollBar().isVisible()
    finally:
        application.setFont(before)
