"""The form for metadata in the notebook, in a browser: it has column headings, keeps each row on one line in a narrow
cell, and shows that a colour is missing.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import machine
import zarrscope
from jupyter_hand import FLAGS
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings

pytest.importorskip("anywidget")

from narrowing import not_none
from zarrscope_app.jupyter import Explorer

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
SECONDS = 60.0
PAGE = """<!doctype html><meta charset=utf-8><style>%(css)s</style><body><div id=el style="width:%(width)dpx"></div>
<script type=module>
const held = %(held)s;
const model = { get: (name) => held[name], set() {}, save_changes() {}, on() {}, off() {}, send() {} };
const made = await import(URL.createObjectURL(new Blob([%(esm)s], { type: "text/javascript" })));
await made.default.render({ model, el: document.getElementById("el") });
</script>"""
# The vertical centres of the cells of each row of channels.
ROWS = """() => [...document.querySelectorAll('.zs-columns')].find((g) => g.querySelectorAll('.hd').length === 5)
  .querySelectorAll('.zs-field').values().map((row) => [...row.querySelectorAll('.lb, .zs-cell')].map((cell) => {
    const b = cell.getBoundingClientRect(); return [b.left, b.right, (b.top + b.bottom) / 2]; })).toArray()"""


@pytest.fixture
def image(tmp_path: Path) -> str:
    """An image of two channels: the first has neither name nor colour, the second has both."""
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space"} for n in "yx")]
    scale = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}]
    window = {"start": 0, "end": 65535, "min": 0, "max": 65535}
    channels = [{"window": window}, {"label": "nuclei", "color": "00FF00", "window": window}]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": scale}], "omero": {"channels": channels}}
    hierarchy = zarrscope.open(str(tmp_path / "x.zarr"), "w-")
    hierarchy.root.attrs.put({"ome": ome})
    hierarchy.create_array("/0", shape=(2, 16, 16), dtype="uint16", chunks=(1, 16, 16))
    return str(tmp_path / "x.zarr")


def page_of(url: str, width: int) -> str:
    """Shows the widget with its form in a page without a kernel."""
    post = Mailbox()
    widget = Explorer(url, editable=True, settings=MemorySettings(), post=post)
    try:
        post.run_until(lambda: bool(widget.session.edit.state.sections), SECONDS)
        widget.session.set_tab("attributes")

        def is_whole() -> bool:
            """Whether the state names the tab, too: a page shows a panel only with it, and it may come a pass later."""
            view = widget.view
            return view["place"]["tab"] == "attributes" and bool(view["panel"].get("edit", {}).get("sections"))

        post.run_until(is_whole, SECONDS)
        held: dict[str, Any] = {**widget.get_state(), "height": 560}
        for name in ("_esm", "_css"):
            del held[name]
        told = json.dumps(held, default=str).replace("<", "\\u003c")
        esm = json.dumps(Explorer._esm).replace("<", "\\u003c")
        return PAGE % {"css": Explorer._css, "width": width, "held": told, "esm": esm}
    finally:
        widget.close()


@pytest.mark.parametrize("width", [500, 1000])
def test_channels_have_headings_and_stand_on_one_line(image: str, tmp_path: Path, width: int) -> None:
    from playwright.sync_api import sync_playwright

    html = tmp_path / "page.html"
    html.write_text(page_of(image, width), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=machine.chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": width + 40, "height": 700})
            page.goto(html.as_uri())
            page.wait_for_selector(".zs-columns")
            page.screenshot(path=str(tmp_path / "form.png"))
            narrow = "1" if width == 500 else ""
            page.wait_for_selector(f".zs[data-narrow='{narrow}']")  # it is arranged for its width a moment later
            heads = page.evaluate("() => [...document.querySelectorAll('.zs-columns .hd')].map((h) => h.textContent)")
            assert {"colour", "name", "contrast from", "contrast to", "shown"} <= {*heads}
            assert not [head for head in heads if head.endswith((" y", " x"))], "a heading holds for all rows"
            alike = page.locator(".zs-columns .zs-cell", has_text="alike").bounding_box()
            assert not_none(alike)["height"] < 30
            rows = page.evaluate(ROWS)
            assert len(rows) == 2
            for cells in rows:
                assert len(cells) == 6
                assert max(middle for _, _, middle in cells) - min(middle for _, _, middle in cells) < 8
                assert all(left[1] <= right[0] + 1 for left, right in pairwise(cells))
                assert cells[-1][1] <= width
            swatches = page.locator(".zs-columns input[type=color]")
            assert [swatches.nth(at).get_attribute("class") for at in (0, 1)] == ["none", None]
            assert swatches.nth(1).input_value() == "#00ff00"
            named = page.locator(".zs-columns input[type=checkbox]").last.get_attribute("aria-label")
            assert "1" in (named or ""), "a field is named with its channel"
        finally:
            browser.close()


def test_a_tree_that_covers_the_picture_goes_when_a_node_is_chosen(image: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    html = tmp_path / "page.html"
    html.write_text(page_of(image, 500), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=machine.chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 540, "height": 700})
            page.goto(html.as_uri())
            page.wait_for_selector(".zs[data-narrow='1'][data-side='']")
            rows = page.locator(".zs-row")
            for place in ("a chosen node", "a click beside it"):
                page.locator(".zs-head button").first.click()
                page.wait_for_selector(".zs[data-side='1'] .zs-row")
                if place == "a chosen node":
                    rows.last.locator(".nm").click()
                else:
                    page.mouse.click(450, 300)
                page.wait_for_selector(".zs[data-side='']")
            page.evaluate("() => { document.getElementById('el').style.width = '1000px'; }")
            page.wait_for_selector(".zs[data-narrow=''][data-side='1'] .zs-row")
            rows.last.locator(".nm").click()
            page.wait_for_timeout(100)
            assert page.locator(".zs[data-side='1']").count() == 1, "beside the picture the tree stays"
        finally:
            browser.close()
