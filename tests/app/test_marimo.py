"""The notebook's widget in marimo, which shows it in a shadow tree."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anywidget")

import servers
from contracts.slides import image
from jupyter_hand import make_image, wait_until
from notebook_page import WidgetPage

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]

NOTEBOOK = """import marimo

app = marimo.App()


@app.cell
def _():
    from zarrscope_app.jupyter import explore

    explore({place!r}, editable=True)
    return
"""
PIXEL = "(c) => [...c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data].slice(0, 3)"


def test_wheel_and_fields_know_the_focus_in_a_shadow_tree(
    widget_page: Callable[..., WidgetPage], tmp_path: Path
) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"), side=64)
    page = widget_page(tmp_path / "a.zarr", 900, 420, shadow=True)
    canvas = page.page.locator("[data-view=main] canvas")
    page.wait(lambda: canvas.count() and canvas.evaluate("(c) => c.width > 100"), "the canvas")
    canvas.click()
    page.pump()
    before = page.widget.state
    page.page.mouse.wheel(0, -400)
    page.wait(lambda: page.widget.state != before, "the wheel zooms")

    # A step that comes while a person types does not replace the field
    field = page.page.locator("[data-field='hi:0']")
    field.click()
    page.page.keyboard.type("12")
    page.session.slice.set_index("z", 1)
    page.wait(lambda: page.page.locator("[data-field='index:z']").input_value() == "1", "the step")
    page.page.keyboard.type("3")
    page.press("Enter")
    page.wait(lambda: page.session.slice.state.channels[0].hi == 123, "the typed limit")


@pytest.mark.slow
def test_a_person_explores_in_marimo(chromium_browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("marimo")
    make_image(tmp_path / "cells.zarr")
    (tmp_path / "n.py").write_text(NOTEBOOK.format(place=str(tmp_path / "cells.zarr")))
    port = servers.free_port()
    command = [sys.executable, "-m", "marimo", "-q", "run", str(tmp_path / "n.py"), "--headless", "--no-token",
               "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
    elsewhere: list[str] = []

    def note(request: Any) -> None:
        if not request.url.startswith(("data:", "blob:", f"http://127.0.0.1:{port}/", f"ws://127.0.0.1:{port}/")):
            elsewhere.append(request.url)

    with servers.running(command, servers.answers_at(f"http://127.0.0.1:{port}/health"), 120):
        page = chromium_browser.new_page(viewport={"width": 1300, "height": 900})
        try:
            page.set_default_timeout(60_000)
            page.on("request", note)
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_selector(".zs[data-status=ready]")
            page.locator(".zs-head button").first.click()  # marimo's column is narrow: the tree is a drawer
            page.click(".zs-row[data-path='/image'] .tw")
            page.wait_for_selector(".zs-row[data-path='/image/0']", state="detached")
            page.click(".zs-row[data-path='/image'] .tw")
            page.wait_for_selector(".zs-row[data-path='/image/0']")
            page.click(".zs-row[data-path='/image'] .nm")
            canvas = page.locator(".zs [data-view=main] canvas")
            wait_until(lambda: canvas.evaluate(PIXEL) == [120, 0, 200])
            page.locator(".zs input[data-axis=z]").focus()
            page.keyboard.press("End")
            wait_until(lambda: canvas.evaluate(PIXEL) == [195, 0, 200])
        finally:
            page.close()
    assert not elsewhere
