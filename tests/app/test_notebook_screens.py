"""The notebook's widget in little room, 500 x 250 pixels, in Chromium: faults that were seen on stores of the
conformance archive."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import zarrscope
import zarrscope_app as app
from contracts.slides import image

pytest.importorskip("anywidget")

from notebook_page import WidgetPage
from zarrscope_app.jupyter.gestures import BUTTONS, KEYS
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.session.state_text import decode_view, encode_view

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
Shown = Callable[..., WidgetPage]
LONG = "180712_H2B_22ss_Courtney1_20180712-163837_p00_c00_preview"


def test_a_picture_with_all_tabs_fits_and_a_long_name_ends_in_dots(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / f"{LONG}.zarr", ("DAPI", "GFP"))
    page = widget_page(tmp_path / f"{LONG}.zarr")
    page.until("!!document.querySelector('.zs-panel') && !!document.querySelector('.zs[data-narrow=\"1\"]')")
    # The tabs are not scrolled sideways
    page.until("(() => { const t = document.querySelector('.zs-tabs'); return t.scrollWidth === t.clientWidth; })()")
    # No name is cut within a letter
    page.until(
        "(() => { const n = document.querySelector('.zs-crumbs button:last-child');"
        " return n && getComputedStyle(n).textOverflow === 'ellipsis'"
        " && n.getBoundingClientRect().right <= n.parentNode.getBoundingClientRect().right + 1; })()"
    )
    page.until(f"document.querySelector('.zs-crumbs').title === '{LONG}.zarr'")
    page.click(".zs-panel")
    captions = "[...document.querySelectorAll('.zs-display .zs-cap > span')]"
    page.until(f"{captions}.length > 4 && {captions}.every((n) => n.scrollWidth <= n.clientWidth)")


def test_values_under_the_cursor_stand_beneath_the_picture_alone(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    page = widget_page(tmp_path / "a.zarr")
    page.until("!!document.querySelector('.zs-panel')")
    page.wait(lambda: page.page.locator("[data-view=main] canvas").count(), "the canvas")
    page.page.locator("[data-view=main] canvas").hover()
    page.until("/GFP/.test(document.querySelector('.zs .probe').textContent)")
    page.click("[data-tab=info]")
    page.until("!!document.querySelector('.zs-info section')")
    page.until("getComputedStyle(document.querySelector('.zs-foot')).display === 'none'")
    page.click("[data-tab=image]")
    page.until("/GFP/.test(document.querySelector('.zs .probe').textContent)")


def test_the_json_text_fills_its_pane_and_alone_is_scrolled(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    for height, least in ((250, 120), (560, 380)):
        page = widget_page(tmp_path / "a.zarr", 500, height)
        page.click("[data-tab=attributes]")
        page.click("[data-way=json]")
        page.until(f"document.querySelector('.zs-json')?.clientHeight >= {least}")
        # The pane is not scrolled besides the text
        page.until(
            "(() => { const p = document.querySelector('.zs-pane'); return p.scrollHeight === p.clientHeight; })()"
        )


def test_an_empty_unit_says_its_meaning(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        axes = [{"name": n, "type": "space"} for n in "yx"]
        levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
        h.root.attrs.put({"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}})
        h.create_array("/0", shape=(16, 16), dtype="u1", chunks=(8, 8))
    page = widget_page(tmp_path / "a.zarr")
    page.click("[data-tab=attributes]")
    for unit in ("unit of y", "unit of x"):
        page.until(f"!!document.querySelector('.zs-sections input[placeholder=\"{unit}\"]')")


def test_another_tab_begins_at_its_first_line_and_notes_at_the_margin(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/t", shape=(79, 8), dtype="u1", chunks=(1, 8))[...] = np.uint8(7)
    page = widget_page(tmp_path / "a.zarr/t")
    page.click("[data-tab=info]")
    page.until("!!document.querySelector('.zs-info section')")
    page.page.evaluate("() => { document.querySelector('.zs-pane').scrollTop = 40; }")
    page.click("[data-tab=chunks]")
    page.until("!!document.querySelector('.zs-map') && document.querySelector('.zs-pane').scrollTop === 0")
    page.until("document.querySelector('.zs-map').offsetWidth >= 12")  # of 1 column, to be clicked
    page.until(  # in one expression, because the pane may be filled anew
        "(() => { const p = Object.assign(document.createElement('p'), { className: 'zs-note' });"
        " document.querySelector('.zs-other').append(p); const left = getComputedStyle(p).marginLeft;"
        " p.remove(); return left === '10px'; })()"
    )


def test_details_of_rows_give_way_to_names_and_stay_in_the_tooltip(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / f"{LONG}.zarr"), "w-") as h:
        h.create_array("/group/three_axes16", shape=(4, 8, 8), dtype="u2", chunks=(4, 8, 8))
    page = widget_page(tmp_path / f"{LONG}.zarr", 900, 400)
    row = '.zs-row[data-path="/group/three_axes16"]'
    page.until(f"!!document.querySelector('{row}')")
    page.until(f"/3-D uint16/.test(document.querySelector('{row}').textContent)")
    # The tree is not scrolled sideways
    page.until("(() => { const t = document.querySelector('.zs-tree'); return t.scrollWidth === t.clientWidth; })()")
    page.until(f"document.querySelector('{row}').title.includes('3-D uint16')")


def _is_shown(page: WidgetPage, path: str) -> bool:
    return page.session.state.path == path and not page.session.state.selecting


def test_a_detail_of_which_one_sign_would_remain_is_in_the_tooltip_alone(widget_page: Shown, tmp_path: Path) -> None:
    names = ("a" * 3, "four_axes_of_a_stack_16")
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        for name in names:
            h.create_array(f"/group/deep/deeper/{name}", shape=(4, 8, 8), dtype="u2", chunks=(4, 8, 8))
    page = widget_page(tmp_path / "a.zarr", 900, 400)
    for path in ("/group", "/group/deep", "/group/deep/deeper"):
        page.session.select(path)
        page.wait(partial(_is_shown, page, path), path)
    for name, shown in zip(names, ("3-D uint16", ""), strict=True):
        row = f"document.querySelector('.zs-row[data-path=\"/group/deep/deeper/{name}\"]')"
        page.until(f"!!{row}")
        page.until(f"{row}.querySelector('.dt').innerText === '{shown}' && {row}.title.includes('3-D uint16')")
        assert "3-D uint16" in page.page.evaluate(f"{row}.ariaLabel")


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
    page.until("/\\n.*i$/.test(document.querySelector('.zs-grid td').textContent)")
    # Two columns of complex numbers are not scrolled sideways
    page.until("(() => { const g = document.querySelector('.zs-grid'); return g.scrollWidth === g.clientWidth; })()")
    page.page.screenshot(path=str(tmp_path / "complex.png"))
    show_values("/wide")
    page.until("document.querySelectorAll('.zs-grid td').length === 800")
    page.until("/[0-9]/.test(document.querySelector('.zs-grid td').textContent)")
    # No number is broken at its minus sign
    page.until(
        "(() => { const all = [...document.querySelectorAll('.zs-grid td')];"
        " return all.length === 800 && all.every((c) => c.clientHeight < 30); })()"
    )
    # No heading is scrolled away
    page.until(
        "(() => { const grid = document.querySelector('.zs-grid'); grid.scrollTo(700, 300);"
        " const box = grid.getBoundingClientRect();"
        " const row = document.querySelectorAll('.zs-grid tr')[20].firstChild.getBoundingClientRect();"
        " const column = document.querySelectorAll('.zs-grid tr:first-child th')[7].getBoundingClientRect();"
        " return grid.scrollLeft > 100 && grid.scrollTop > 100"
        " && Math.abs(row.left - box.left) < 2 && Math.abs(column.top - box.top) < 2; })()"
    )
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
    # Short texts stand in one line, a long one is broken, and its row is as high
    page.until(
        "(() => { const all = [...document.querySelectorAll('.zs-grid td')], one = all[0].clientHeight;"
        " const lines = all.map((c) => Math.round(c.clientHeight / one));"
        " return all.length === 240 && lines.slice(0, 24).every((n) => n === 1) && lines[27] > 1"
        " && lines.slice(24, 32).every((n) => n === lines[27]) && all.every((c) => c.clientWidth < 250); })()"
    )
    page.until("document.querySelectorAll('.zs-bar select').length === 2")  # only the axes are chosen
    page.page.screenshot(path=str(tmp_path / "texts.png"))


def test_a_line_fills_its_pane_and_has_numbers_at_its_edges(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/line", shape=(3000,), dtype="f4", chunks=(1000,))[...] = np.linspace(-2, 5, 3000)
    for height in (250, 560):
        page = widget_page(tmp_path / "a.zarr/line", 500, height)
        marks = "[...document.querySelectorAll('.zs-plot [data-mark]')].map((each) => each.textContent).join(' ')"
        page.until(f"{marks} === '5 -2 0 2,999'")  # the last chunk may arrive first
        # The line fills its pane, it is drawn as large as it is shown, and nothing is scrolled
        page.until(
            "(() => { const p = document.querySelector('.zs-pane'), c = document.querySelector('.zs-linecanvas');"
            " return c.clientHeight > 0.6 * p.clientHeight && c.height === c.clientHeight"
            " && p.scrollHeight === p.clientHeight; })()"
        )
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
    # No button of the conflict is cut off
    page.until(
        "(() => { const box = document.querySelector('.zs-pane').getBoundingClientRect();"
        " const all = [...document.querySelectorAll('.zs-conflict button')];"
        " return !!document.querySelector('.zs-conflict table') && all.length > 1 && all.every((b) => {"
        " const r = b.getBoundingClientRect(); return r.width && r.right <= box.right; }); })()"
    )
    page.page.screenshot(path=str(tmp_path / "conflict.png"))
    edit.revert()


def test_a_plate_of_384_wells_is_seen_as_a_whole(widget_page: Shown, tmp_path: Path) -> None:
    stated = {
        "rows": [{"name": name} for name in "ABCDEFGHIJKLMNOP"],
        "columns": [{"name": f"{n:02}"} for n in range(1, 25)],
        "wells": [{"path": "E/07", "rowIndex": 4, "columnIndex": 6}],
        "version": "0.5",
    }
    with zarrscope.open(str(tmp_path / "p.zarr"), "w-") as h:
        h.root.attrs.put({"ome": {"version": "0.5", "plate": stated}})
        h.create_group("/E/07", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
    image(tmp_path / "p.zarr/E/07/0", ("DAPI",))
    for width, height in ((500, 560), (1100, 560)):
        page = widget_page(tmp_path / "p.zarr", width, height)
        page.until(
            "(() => { const p = document.querySelector('.zs-pane'), all = document.querySelectorAll('.zs-well');"
            " return all.length === 384 && p.scrollWidth === p.clientWidth && p.scrollHeight === p.clientHeight"
            " && all[0].clientWidth >= 13; })()"
        )
    page = widget_page(tmp_path / "p.zarr", 900, 250)  # the well with an image is not scrolled away
    page.until(
        "(() => { const w = document.querySelector('[data-well]'), p = document.querySelector('.zs-pane');"
        " return w && w.getBoundingClientRect().bottom < p.getBoundingClientRect().bottom; })()"
    )


def test_the_numbers_stand_beside_the_chunk_map(widget_page: Shown, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        values = np.random.default_rng(1).integers(0, 255, (3, 24, 24), "u1")
        values[1] = 7
        h.create_array("/t", shape=(3, 24, 24), dtype="u1", chunks=(1, 24, 24))[...] = values
    page = widget_page(tmp_path / "a.zarr/t")
    page.click("[data-tab=chunks]")
    page.until(
        "(() => { const map = document.querySelector('.zs-map'), told = document.querySelector('.zs-counts dl');"
        " if (!map || document.querySelectorAll('.zs-legend > span').length < 3) return false;"
        " const m = map.getBoundingClientRect(), t = told.getBoundingClientRect();"
        " return t.left > m.right && t.top < m.bottom && t.height > 60; })()"
    )


def test_long_names_of_channels_that_differ_in_their_ends_are_told_apart(widget_page: Shown, tmp_path: Path) -> None:
    names = ("Maximum-Projection_FITC_05", "Maximum-Projection_DAPI_07")
    image(tmp_path / "a.zarr", names)
    page = widget_page(tmp_path / "a.zarr", 900, 420)
    page.until(
        "(() => { const all = [...document.querySelectorAll('.zs-channel .nm')];"
        " return all.length === 2 && all.every((n) => n.title === n.textContent && n.clientHeight > 0"
        " && n.scrollHeight <= n.clientHeight + 1 && n.scrollWidth <= n.clientWidth); })()"
    )


def test_all_buttons_of_the_form_stand_in_one_line_and_inputs_beneath_each_other(
    widget_page: Shown, tmp_path: Path
) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        given = {"units": "m", "a": "1", "a-much-longer-name": "2"}
        h.create_array("/t", shape=(8, 8), dtype="f4", chunks=(8, 8), attributes=given)
    page = widget_page(tmp_path / "a.zarr/t")
    page.click("[data-tab=attributes]")
    page.until("!!document.querySelector('.zs-ways button.on')")  # CF conventions
    page.until(
        "(() => { const all = [...document.querySelectorAll('.zs-attributes .zs-bar button')];"
        " const tops = new Set(all.map((b) => Math.round(b.getBoundingClientRect().top)));"
        " return all.length === 7 && tops.size === 1; })()"
    )
    page.click("[data-way=fields]")
    page.until(
        "(() => { const all = [...document.querySelectorAll('.zs-members input[data-pointer]')];"
        " const rects = all.map((n) => n.getBoundingClientRect());"
        " return all.length === 3 && rects.every((r) => r.left === rects[0].left && r.right === rects[0].right); })()"
    )


def test_a_failed_tile_leaves_the_picture_visible_in_little_room(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    for level in ("0", "1"):
        for key in (tmp_path / f"a.zarr/{level}/c").rglob("*"):
            if key.is_file():
                key.write_bytes(b"x")
    page = widget_page(tmp_path / "a.zarr")
    page.until(  # until all has failed: before that the reason is told beside the number of failed tiles
        "(() => { const note = document.querySelector('[data-view=main] .zs-over'), all = note?.parentNode;"
        " return note?.querySelector('div') && /restore.*press U/i.test(note.title)"
        " && note.clientHeight < 0.34 * all.clientHeight"
        " && note.getBoundingClientRect().right <= all.getBoundingClientRect().right - 6; })()"
    )


def test_facts_stand_in_two_columns_where_there_is_room(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    for width, columns in ((500, 1), (1100, 2)):
        page = widget_page(tmp_path / "a.zarr", width, 420)
        page.click("[data-tab=info]")
        page.until(
            "(() => { const all = [...document.querySelectorAll('.zs-told section')];"
            " const edges = new Set(all.map((s) => s.getBoundingClientRect().left));"
            f" return all.length > 2 && edges.size === {columns}; }})()"
        )


def test_every_button_with_a_command_acts(widget_page: Shown, tmp_path: Path) -> None:
    static = Path(app.__file__).parent / "jupyter/static"
    named = {name for each in static.glob("*.js") for name in re.findall(r'"command", "([a-z-]+)"', each.read_text())}
    assert named >= {"transpose", "roll", "check"}
    assert named <= {*KEYS.values(), *BUTTONS}
    image(tmp_path / "a.zarr", ("DAPI", "GFP"), planes=3)
    page = widget_page(tmp_path / "a.zarr", 1100, 600)
    shown = page.session.slice

    def plane() -> list[str | None]:
        return [next((a.name for a in shown.state.axes if a.role == role), None) for role in ("y", "x")]

    page.wait(lambda: plane() == ["y", "x"], "the plane")
    page.click(".zs-display button[aria-label='Next two axes']")
    page.wait(lambda: plane() == ["z", "x"], "other axes")
    page.click(".zs-display button[aria-label='Swap height and width']")
    page.wait(lambda: plane() == ["x", "z"], "height and width exchanged")
    page.click("[data-tab=problems]")
    page.click("[data-command=check]")
    page.until("/Checked:/.test(document.querySelector('.zs-info')?.textContent)")


def test_the_part_on_show_stays_in_sight_when_the_size_changes(widget_page: Shown, tmp_path: Path) -> None:
    """The whole plane came back: the layout of a notebook settles after the first picture, so that the part that a view
    records was lost, and so was every zoom when a panel opened."""
    image(tmp_path / "a.zarr", ("DAPI",))
    page = widget_page(tmp_path / "a.zarr", 900, 420)
    picture = page.session.slice

    def part() -> tuple[float, float, float]:
        y0, x0, y1, x1 = picture.visible_rect
        return (y0 + y1) / 2, (x0 + x1) / 2, min(y1 - y0, x1 - x0)

    def narrower(width: int) -> None:
        before = picture.painted_pixels
        page.page.evaluate(f"document.getElementById('el').style.width = '{width}px'")
        page.wait(lambda: picture.painted_pixels != before, "a view of another size")

    page.wait(lambda: min(picture.painted_pixels) > 1, "the picture")
    view = decode_view(page.widget.state)
    view["slice"]["rect"] = [4, 6, 8, 10]
    page.widget.state = encode_view(view)
    page.wait(lambda: part() == pytest.approx((6, 8, 4), abs=0.01), "the part of the view")
    narrower(600)
    assert part() == pytest.approx((6, 8, 4), abs=0.01)
    page.page.locator("[data-view=main] canvas").dblclick()
    page.wait(lambda: part()[2] > 10, "the whole plane")
    narrower(800)
    assert part()[2] > 10, "of which nothing is left out"


def test_a_height_that_python_sets_is_taken(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    page = widget_page(tmp_path / "a.zarr", 900, 300)
    page.until("document.querySelector('.zs').offsetHeight === 300")
    page.widget.height = 520
    page.until("document.querySelector('.zs').offsetHeight === 520")


def test_info_says_that_it_loads(widget_page: Shown, tmp_path: Path) -> None:
    """Nothing but the button for a document stood there before the node was open."""
    image(tmp_path / "a.zarr", ("DAPI",))
    page = widget_page(tmp_path / "a.zarr", 900, 420)
    page.session.set_tab("info")
    page.until("document.querySelector('.zs-info')?.textContent.includes('Stored')")
    page.session.metadata.show_nothing()
    page.until("document.querySelector('.zs-pane').textContent === 'Loading…'")


def test_the_sentence_on_the_picture_leaves_the_scale_bar_free(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    page = widget_page(tmp_path / "a.zarr", 900, 420)
    page.until("!!document.querySelector('[data-view=main] .zs-over')")
    page.page.evaluate("document.querySelector('.zs-over').textContent = 'Waiting 5 s for a chunk '.repeat(9)")
    left = page.page.evaluate(
        "(() => { const b = document.querySelector('.zs-over').getBoundingClientRect(),"
        " c = document.querySelector('[data-view=main] canvas').getBoundingClientRect();"
        " return (c.right - b.right) / c.width; })()"
    )
    assert left >= 0.2  # the bar takes at most a fifth of the width
