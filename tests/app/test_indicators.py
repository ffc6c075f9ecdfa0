"""Check boxes are visible in light and dark themes when on, off, partial and disabled: their pixels are compared.

Patterns and findings are visible at every resolution and width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from narrowing import not_none

pytestmark = pytest.mark.needs("qt")

SEEN = 3.0
"""The least contrast of a control against its background, WCAG 2.1, 1.4.11."""
THEMES = {"light": ("#efefef", "#ffffff", "#000000"), "dark": ("#2d2d30", "#1e1e20", "#ffffff")}
STATES = ("Unchecked", "PartiallyChecked", "Checked")


def painted(qtbot: Any, theme: str, state: str, enabled: bool, style: str = "fusion") -> tuple[Any, Any]:
    """Returns a picture of a check box in a window of that theme, and the rectangle of its indicator."""
    from qtpy.QtCore import Qt
    from qtpy.QtGui import QColor, QPalette
    from qtpy.QtWidgets import QStyle, QStyleFactory, QStyleOptionButton, QWidget

    from zarrscope_app.qt.check_box import CheckBox

    window, base, text = map(QColor, THEMES[theme])
    palette = QPalette(window)
    for role, colour in (("Window", window), ("Base", base), ("WindowText", text), ("Text", text)):
        palette.setColor(getattr(QPalette.ColorRole, role), colour)
    host = QWidget()
    qtbot.addWidget(host)
    host.setPalette(palette)
    host.resize(160, 40)
    box = CheckBox("shown", host)
    made = QStyleFactory.create(style)
    box.setStyle(made)
    box.setTristate(True)
    box.setCheckState(getattr(Qt.CheckState, state))
    box.setEnabled(enabled)
    box.move(8, 8)
    host.show()
    option = QStyleOptionButton()
    box.initStyleOption(option)
    square = not_none(made).subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, box).translated(8, 8)
    image = host.grab().toImage()
    box.setStyle(None)
    return image, square


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("theme", THEMES)
def test_a_check_box_is_seen_in_every_state(qtbot: Any, theme: str, enabled: bool) -> None:
    from qt_robot import contrast

    marks = {}
    for state in STATES:
        image, square = painted(qtbot, theme, state, enabled)
        assert image.devicePixelRatio() == 1
        window, middle = image.pixelColor(155, 35), square.center().y()
        outline = max(contrast(image.pixelColor(x, middle), window) for x in range(square.left(), square.left() + 3))
        assert outline >= SEEN, (state, outline)
        fill = image.pixelColor(square.left() + 3, square.top() + 3)
        inside = [
            contrast(image.pixelColor(x, y), fill)
            for x in range(square.left() + 3, square.right() - 2)
            for y in range(square.top() + 3, square.bottom() - 2)
        ]
        marks[state] = [(i, ratio) for i, ratio in enumerate(inside) if ratio >= 2]
        assert (max(inside) >= SEEN) == (state != "Unchecked"), (state, max(inside))
    assert len({str([place for place, _ in mark]) for mark in marks.values()}) == 3, "the three marks differ in shape"


def test_disabled_differs_from_enabled(qtbot: Any) -> None:
    for theme in THEMES:
        for state in STATES:
            on, square = painted(qtbot, theme, state, True)
            off, _ = painted(qtbot, theme, state, False)
            assert on.copy(square) != off.copy(square), (theme, state)


def test_every_check_box_of_the_window_is_this_one() -> None:
    from pathlib import Path

    import zarrscope_app.qt

    folder = Path(zarrscope_app.qt.__file__).parent
    made = [f.name for f in folder.rglob("*.py") if "= QCheckBox(" in f.read_text(encoding="utf-8")]
    assert made == []


@pytest.mark.parametrize("style", ["Dense7Pattern", "Dense5Pattern", "HorPattern", "DiagCrossPattern", "BDiagPattern"])
def test_patterns_of_the_chunk_map_grow_with_the_resolution(qtbot: Any, style: str) -> None:
    """Qt draws its own patterns one pixel wide on every screen."""
    from qtpy.QtCore import QRectF, Qt
    from qtpy.QtGui import QColor, QImage, QPainter

    from zarrscope_app.qt.chunk_map import hatching

    def drawn(ratio: int) -> np.ndarray[Any, Any]:
        image = QImage(32 * ratio, 32 * ratio, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.white)
        painter = QPainter(image)
        painter.fillRect(QRectF(0, 0, 32, 32), hatching(QColor("black"), getattr(Qt.BrushStyle, style)))
        painter.end()
        side = range(32 * ratio)
        return np.array([[image.pixelColor(x, y).red() < 128 for x in side] for y in side])

    once = drawn(1)
    assert 0 < once.mean() < 1
    assert np.array_equal(drawn(2), np.kron(once, np.ones((2, 2), bool)))


@pytest.mark.parametrize("width", [300, 900])
def test_a_few_findings_are_shown_whole(qtbot: Any, width: int) -> None:
    """A sentence of several lines was cut to the height of its button."""
    from zarrscope_app.presenters.form.view_models import EditState, FieldFinding
    from zarrscope_app.qt.findings import FindingsView
    from zarrscope_app.qt.text import Label

    view = FindingsView()
    qtbot.addWidget(view)
    view.resize(width, 400)
    view.show()
    long = FieldFinding(
        "/ome/multiscales/0/axes/0/unit", "The unit 'micron' is not a name of UDUNITS: micrometer? " * 2, False
    )
    view.show_state(EditState(summary="OME-Zarr 0.5: valid · 1 remark", findings=(long,)))
    page, bar = view.area.widget(), view.area.verticalScrollBar()
    assert page is not None
    assert bar is not None
    qtbot.waitUntil(lambda: page.width() == view.width(), timeout=10_000)
    assert bar.maximum() == 0
    text = view.rows[0].findChildren(Label)[-1]
    assert text.height() >= text.heightForWidth(text.width())
    view.show_state(EditState(summary="9 remarks", findings=(long,) * 9))
    view.opener.click()
    qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=10_000)
    assert view.rows[0].height() <= view.area.height() < 400


@pytest.mark.parametrize("width", [420, 640])
def test_several_findings_take_one_line_until_they_are_opened(qtbot: Any, width: int) -> None:
    """Four of them took a fifth of the form in a small window."""
    from qtpy.QtWidgets import QToolButton

    from zarrscope_app.presenters.form.view_models import EditState, FieldFinding
    from zarrscope_app.qt.findings import FindingsView

    view = FindingsView()
    qtbot.addWidget(view)
    view.resize(width, 400)
    view.show()
    why = "The unit 'micron' is not a name of UDUNITS"
    found = tuple(FieldFinding(f"/a/{n}", f"{n}: {why}", n < "2", "Mend") for n in "0123")
    view.show_state(EditState(summary="OME-Zarr 0.5: 2 errors · 2 remarks", findings=found))
    qtbot.waitUntil(lambda: view.first.isVisible(), timeout=10_000)
    button = view.opener.sizeHint().height()
    assert view.sizeHint().height() < 2 * button
    assert not view.area.isVisible()
    mended: list[str] = []
    view.mended.connect(mended.append)
    view.first.findChildren(QToolButton)[1].click()
    assert mended == ["/a/0"], "the first is mended without opening the list"
    view.opener.click()
    assert view.area.isVisible()
    assert not view.first.isVisible()
    view.show_state(EditState(summary="OME-Zarr 0.5: 1 error", findings=found[:1]))
    assert view.area.isVisible(), "one alone is shown whole"
    assert not view.opener.isVisible()


def test_an_error_that_is_a_finding_is_not_repeated_above_the_form() -> None:
    from zarrscope_app.presenters.form.view_models import EditState, EditStatus, FieldFinding

    why = "Type a number greater than 0"
    found = FieldFinding("size/1", why, True)
    assert EditState(EditStatus.INVALID, why, findings=(found,)).sentence_apart == ""
    assert EditState(EditStatus.INVALID, why).sentence_apart == why
    assert EditState(EditStatus.DIRTY, "2 changes", findings=(found,)).sentence_apart == "2 changes"
