"""The notebook's widget in Notebook 7, in Chromium: click, expand, drag, edit, restart, two widgets, dark theme."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_hand import (
    PATIENCE,
    choose_the_image,
    keys_of_controls_stay_in_the_widget,
    make_image,
    opened_page,
    run_first_cell,
    save_exposure,
    served,
    until_middle,
    wait_for_kernel,
)

pytestmark = [pytest.mark.needs("chromium", "notebook"), pytest.mark.slow, pytest.mark.timeout(480)]
CELL = "from zarrscope_app.jupyter import explore\nexplore({place!r}, editable=True)"


def test_a_person_explores_and_edits_in_notebook_7(tmp_path: Path) -> None:
    image = tmp_path / "cells.zarr"
    make_image(image)
    errors: list[str] = []
    cells = [CELL.format(place=str(image)), CELL.format(place=str(image)).replace("editable=True", "path='/image'")]
    with served(tmp_path, cells, page="notebooks") as url, opened_page(url, errors) as page:
        errors.clear()  # plug-ins of Notebook 7 log errors before any cell runs
        run_first_cell(page)
        _explore(page)
        _drag(page)
        keys_of_controls_stay_in_the_widget(page)
        page.locator(".zs input[data-axis=z]").press("End")
        _edit(page, image)
        _second_widget(page)
        _dark(page)
        assert not errors
        _restart(page)
    assert not [text for text in errors if "404" not in text]  # Notebook still asks for the kernel that ended


def _explore(page: Any) -> None:
    choose_the_image(page)
    until_middle(page, [120, 0, 200])  # the picture begins with the middle plane of the stack


def _drag(page: Any) -> None:
    """Drags the slider to its end, and the upper limit of the contrast to the left."""
    box = page.locator(".zs input[data-axis=z]").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 4 / 7, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 3, y, steps=8)
    page.mouse.up()
    until_middle(page, [195, 0, 200])
    page.wait_for_function(  # it is drawn when it has its size
        "() => { const c = document.querySelector('.zs-channel canvas');"
        " return c?.clientWidth && c.width >= c.clientWidth; }"
    )
    box = page.locator(".zs-channel canvas").first.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 195 / 255, y, steps=8)
    page.mouse.up()
    page.wait_for_function(
        "() => { const c = document.querySelector('.zs [data-view=main] canvas');"
        " return c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data[0] > 240; }"
    )


def _edit(page: Any, image: Path) -> None:
    document = image / "image" / "zarr.json"
    page.click(".zs [data-tab=attributes]")
    save_exposure(page, document)
    assert json.loads(document.read_bytes())["attributes"]["exposure"] == 0.108
    page.click(".zs [data-tab=image]")


def _second_widget(page: Any) -> None:
    """The widget of the next cell has its own slider."""
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    second = page.locator(".zs").nth(1)
    second.locator("input[data-axis=z]").wait_for(timeout=40_000)
    second.locator("input[data-axis=z]").focus()
    page.keyboard.press("Home")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.zs input[data-field=\"index:z\"]')].map((i) => i.value).join() === '7,0'"
    )


def _dark(page: Any) -> None:
    """The widget follows the theme of the page at once."""
    ground = (
        "() => getComputedStyle(document.querySelector('.zs')).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)"
    )
    ink = ground.replace("backgroundColor", "color")
    page.wait_for_function(f"() => Math.min(...({ground})()) > 200 && Math.max(...({ink})()) < 120")
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    # While Notebook exchanges its style sheets the ground is transparent and the ink is the page's own
    page.wait_for_function(f"() => Math.max(...({ground})()) < 60 && Math.min(...({ink})()) > 150")


def _restart(page: Any) -> None:
    """After a restart of the kernel the widget reports it, and its button starts it again."""
    page.evaluate("() => void window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_selector(".zs >> nth=0 >> text=/kernel/i", timeout=PATIENCE)
    wait_for_kernel(page)
    page.evaluate("() => document.querySelectorAll('.zs').forEach((old) => old.remove())")
    run_first_cell(page)
    page.click(".zs-row[data-path='/image'] .nm")
    until_middle(page, [120, 0, 200])
