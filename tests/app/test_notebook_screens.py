"""The notebook's widget in little room, 500 x 250 pixels, in Chromium: faults that were seen on stores of the
conformance archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.slides import image

pytest.importorskip("anywidget")

from notebook_page import WidgetPage, chromium

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
Shown = Callable[..., WidgetPage]
LONG = "180712_H2B_22ss_Courtney1_20180712-163837_p00_c00_preview"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def shown(browser: Any) -> Iterator[Shown]:
    """Shows a place in a page; closes the pages afterwards."""
    pages: list[WidgetPage] = []

    def show(place: Path, width: int = 500, height: int = 250) -> WidgetPage:
        pages.append(WidgetPage(browser, str(place), width, height))
        return pages[-1]

    yield show
    for page in pages:
        page.close()


def test_a_picture_with_all_tabs_fits_and_a_long_name_ends_in_dots(shown: Shown, tmp_path: Path) -> None:
    image(tmp_path / f"{LONG}.zarr", ("DAPI", "GFP"))
    page = shown(tmp_path / f"{LONG}.zarr")
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


def test_the_json_text_fills_its_pane_and_alone_is_scrolled(shown: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    for height, least in ((250, 120), (560, 380)):
        page = shown(tmp_path / "a.zarr", 500, height)
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


def test_an_empty_unit_says_its_meaning(shown: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        axes = [{"name": n, "type": "space"} for n in "yx"]
        levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        h.create_array("/0", shape=(16, 16), dtype="u1", chunks=(8, 8))
    page = shown(tmp_path / "a.zarr")
    page.click("[data-tab=attributes]")
    page.until("document.querySelectorAll('.zs-sections input[list]').length > 1")
    units = page.page.evaluate(
        "() => [...document.querySelectorAll('.zs-sections input[placeholder]')].map((n) => n.placeholder)"
    )
    assert {"unit of y", "unit of x"} <= {*units}


def test_another_tab_begins_at_its_first_line_and_notes_at_the_margin(shown: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/t", shape=(79, 8), dtype="u1", chunks=(1, 8))[...] = np.uint8(7)
    page = shown(tmp_path / "a.zarr/t")
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


def test_details_of_rows_give_way_to_names_and_stay_in_the_tooltip(shown: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / f"{LONG}.zarr"), "w-") as h:
        h.create_array("/group/three_axes16", shape=(4, 8, 8), dtype="u2", chunks=(4, 8, 8))
    page = shown(tmp_path / f"{LONG}.zarr", 900, 400)
    row = '.zs-row[data-path="/group/three_axes16"]'
    page.until(f"!!document.querySelector('{row}')")
    page.until(f"/3-D uint16/.test(document.querySelector('{row}').textContent)")
    over = page.page.evaluate(
        "() => { const t = document.querySelector('.zs-tree'); return t.scrollWidth - t.clientWidth; }"
    )
    assert over == 0, "the tree is scrolled sideways"
    assert "3-D uint16" in (page.page.locator(row).get_attribute("title") or "")
