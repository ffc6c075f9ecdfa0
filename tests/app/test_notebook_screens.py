"""The notebook's widget in little room, 500 x 250 pixels, in Chromium: faults that were seen on stores of the
conformance archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from contracts.slides import image

pytest.importorskip("anywidget")

from notebook_page import WidgetPage
from zarrscope_app.presenters import EditStatus

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
Shown = Callable[..., WidgetPage]
LONG = "180712_H2B_22ss_Courtney1_20180712-163837_p00_c00_preview"


def test_a_picture_with_all_tabs_fits_and_a_long_name_ends_in_dots(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / f"{LONG}.zarr", ("DAPI", "GFP"))
    page = widget_page(tmp_path / f"{LONG}.zarr")
    page.until("!!document.querySelector('.zs-panel') && !!document.querySelector('.zs[data-narrow=\"1\"]')")
    tabs = page.page.evaluate(
        "() => { const t = document.querySelector('.zs-tabs'); return t.scrollWidth - t.clientWidth; }"
    )
    assert tabs == 0, "the tabs are scrolled sideways"
    names = ".zs-crumbs button:last-child"
    dots = page.page.evaluate(
        f"() => {{ const n = document.querySelector('{names}'), b = n.getBoundingClientRect();"
        " return [getComputedStyle(n).textOverflow,"
        " b.right <= n.parentNode.getBoundingClientRect().right + 1]; }"
    )
    assert dots == ["ellipsis", True], "a name is cut within a letter"
    assert page.page.locator(".zs-crumbs").get_attribute("title") == f"{LONG}.zarr"
    page.click(".zs-panel")
    captions = "[...document.querySelectorAll('.zs-display .zs-cap > span')]"
    page.until(f"{captions}.length > 4")
    assert (
        page.page.evaluate(f"() => {captions}.filter((n) => n.scrollWidth > n.clientWidth).map((n) => n.textContent)")
        == []
    )


def test_the_json_text_fills_its_pane_and_alone_is_scrolled(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    for height, least in ((250, 120), (560, 380)):
        page = widget_page(tmp_path / "a.zarr", 500, height)
        page.click("[data-tab=attributes]")
        page.click("[data-way=json]")
        page.until("!!document.querySelector('.zs-json')")
        told = page.page.evaluate(
            "() => { const p = document.querySelector('.zs-pane');"
            " return [document.querySelector('.zs-json').clientHeight,"
            " p.scrollHeight - p.clientHeight]; }"
        )
        assert told[0] >= least
        assert told[1] == 0, "the pane is scrolled besides the text"


def test_an_empty_unit_says_its_meaning(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        axes = [{"name": n, "type": "space"} for n in "yx"]
        levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        h.create_array("/0", shape=(16, 16), dtype="u1", chunks=(8, 8))
    page = widget_page(tmp_path / "a.zarr")
    page.click("[data-tab=attributes]")
    page.until("document.querySelectorAll('.zs-sections input[list]').length > 1")
    units = page.page.evaluate(
        "() => [...document.querySelectorAll('.zs-sections input[placeholder]')].map((n) => n.placeholder)"
    )
    assert {"unit of y", "unit of x"} <= {*units}


def test_another_tab_begins_at_its_first_line_and_notes_at_the_margin(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/t", shape=(79, 8), dtype="u1", chunks=(1, 8))[...] = np.uint8(7)
    page = widget_page(tmp_path / "a.zarr/t")
    page.click("[data-tab=info]")
    page.until("!!document.querySelector('.zs-info section')")
    page.page.evaluate("() => { document.querySelector('.zs-pane').scrollTop = 40; }")
    page.click("[data-tab=chunks]")
    page.until("!!document.querySelector('.zs-map')")
    assert page.page.evaluate("() => document.querySelector('.zs-pane').scrollTop") == 0
    page.until("document.querySelector('.zs-map').clientWidth > 0")
    page.page.wait_for_function(
        "() => document.querySelector('.zs-map').offsetWidth >= 12"
    )  # of 1 column, to be clicked
    note = "Object.assign(document.createElement('p'), { className: 'zs-note' })"
    page.page.evaluate(f"() => document.querySelector('.zs-other').append({note})")
    assert page.page.evaluate("() => getComputedStyle(document.querySelector('.zs-note')).marginLeft") == "10px"


def test_details_of_rows_give_way_to_names_and_stay_in_the_tooltip(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / f"{LONG}.zarr"), "w-") as h:
        h.create_array("/group/three_axes16", shape=(4, 8, 8), dtype="u2", chunks=(4, 8, 8))
    page = widget_page(tmp_path / f"{LONG}.zarr", 900, 400)
    row = '.zs-row[data-path="/group/three_axes16"]'
    page.until(f"!!document.querySelector('{row}')")
    page.until(f"/3-D uint16/.test(document.querySelector('{row}').textContent)")
    over = page.page.evaluate(
        "() => { const t = document.querySelector('.zs-tree'); return t.scrollWidth - t.clientWidth; }"
    )
    assert over == 0, "the tree is scrolled sideways"
    assert "3-D uint16" in (page.page.locator(row).get_attribute("title") or "")


def test_complex_values_stand_in_two_lines_and_headings_stay(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        rng = np.random.default_rng(1)
        values = rng.normal(size=(40, 2)) + 1j * rng.normal(size=(40, 2))
        h.create_array("/two", shape=(40, 2), dtype="c16", chunks=(40, 2))[...] = values
        h.create_array("/wide", shape=(40, 20), dtype="f8", chunks=(40, 20))[...] = rng.normal(size=(40, 20))
    page = widget_page(tmp_path / "a.zarr", 500, 420)

    def show_values(path: str) -> None:
        page.session.select(path)
        page.wait(lambda: page.session.state.path == path and not page.session.state.selecting, "the array")
        page.session.set_tab("values")

    show_values("/two")
    page.until("document.querySelectorAll('.zs-grid td').length === 80")
    page.until("/i$/.test(document.querySelector('.zs-grid td').textContent)")
    assert "\n" in page.page.locator(".zs-grid td").first.text_content()
    over = "(() => { const g = document.querySelector('.zs-grid'); return g.scrollWidth - g.clientWidth; })()"
    assert page.page.evaluate(over) == 0, "two columns of complex numbers are scrolled sideways"
    page.page.screenshot(path=str(tmp_path / "complex.png"))
    show_values("/wide")
    page.until("document.querySelectorAll('.zs-grid td').length === 800")
    page.until("/[0-9]/.test(document.querySelector('.zs-grid td').textContent)")
    heights = page.page.eval_on_selector_all(".zs-grid td", "(all) => [...new Set(all.map((c) => c.clientHeight))]")
    assert max(heights) < 30, "a number is broken at its minus sign"
    page.page.evaluate("document.querySelector('.zs-grid').scrollTo(700, 300)")
    heads = page.page.evaluate(
        "(() => { const box = document.querySelector('.zs-grid').getBoundingClientRect();"
        " const row = document.querySelectorAll('.zs-grid tr')[20].firstChild.getBoundingClientRect();"
        " const column = document.querySelectorAll('.zs-grid tr:first-child th')[7].getBoundingClientRect();"
        " return [row.left - box.left, column.top - box.top]; })()"
    )
    assert max(map(abs, heads)) < 2, "a heading is scrolled away"
    page.page.screenshot(path=str(tmp_path / "wide.png"))


def test_texts_are_not_broken_into_narrow_columns_and_have_no_number_format(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        texts = np.array([[f"cell {i} of sample {j}" for j in range(8)] for i in range(30)], "U80")
        texts[3, 3] = 6 * "a long text "
        h.create_array("/texts", shape=(30, 8), dtype="U80", chunks=(30, 8))[...] = texts
    page = widget_page(tmp_path / "a.zarr/texts", 500, 320)
    page.click("[data-tab=values]")
    page.until("document.querySelectorAll('.zs-grid td').length === 240")
    page.until("/sample/.test(document.querySelector('.zs-grid td').textContent)")
    lines, wide = page.page.evaluate(
        "(() => { const all = [...document.querySelectorAll('.zs-grid td')], one = all[0].clientHeight;"
        " return [all.map((c) => Math.round(c.clientHeight / one)), Math.max(...all.map((c) => c.clientWidth))]; })()"
    )
    assert lines[:24] == [1] * 24, "short texts stand in one line"
    assert lines[24:32] == [lines[27]] * 8
    assert lines[27] > 1, "a long one is broken"
    assert wide < 250
    assert page.page.locator(".zs-bar select").count() == 2, "only the axes are chosen"
    page.page.screenshot(path=str(tmp_path / "texts.png"))


def test_a_line_fills_its_pane_and_has_numbers_at_its_edges(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/line", shape=(3000,), dtype="f4", chunks=(1000,))[...] = np.linspace(-2, 5, 3000)
    for height in (250, 560):
        page = widget_page(tmp_path / "a.zarr/line", 500, height)
        marks = "[...document.querySelectorAll('.zs-plot [data-mark]')].map((each) => each.textContent).join(' ')"
        page.until(f"{marks} === '5 -2 0 2,999'")  # the last chunk may arrive first
        page.until("document.querySelector('.zs-linecanvas').height > 0")
        told = page.page.evaluate(
            "() => { const p = document.querySelector('.zs-pane'), c = document.querySelector('.zs-linecanvas');"
            " return [c.clientHeight / p.clientHeight, c.height / c.clientHeight, p.scrollHeight - p.clientHeight]; }"
        )
        assert told[0] > 0.6, "the line fills its pane"
        assert told[1:] == [1, 0], "it is drawn as large as it is shown, and nothing is scrolled"
        page.page.screenshot(path=str(tmp_path / f"line{height}.png"))
        page.page.evaluate("() => { document.getElementById('el').style.width = '430px'; }")
        page.page.wait_for_function(
            "() => { const c = document.querySelector('.zs-linecanvas'); return c.width === c.clientWidth; }"
        )


def test_both_sides_of_a_conflict_are_visible(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    page = widget_page(tmp_path / "a.zarr")
    edit = page.session.edit
    page.click("[data-tab=attributes]")
    page.until("!!document.querySelector(\".zs-sections [data-pointer='size/2']\")")
    edit.edit("size/2", "0.5")
    page.wait(lambda: edit.state.changes > 0, "the edit")
    document = tmp_path / "a.zarr/zarr.json"
    document.write_text(document.read_text().replace("0.2", "0.9"))
    edit.save()
    page.wait(lambda: edit.state.status is EditStatus.CONFLICT, "the conflict")
    page.until("!!document.querySelector('.zs-conflict table')")
    over = page.page.evaluate(
        "() => { const box = document.querySelector('.zs-pane').getBoundingClientRect();"
        " return [...document.querySelectorAll('.zs-conflict button')].filter((b) => {"
        " const r = b.getBoundingClientRect(); return r.right > box.right || !r.width; }).length; }"
    )
    assert over == 0, "a button of the conflict is cut off"
    page.page.screenshot(path=str(tmp_path / "conflict.png"))
    edit.revert()
