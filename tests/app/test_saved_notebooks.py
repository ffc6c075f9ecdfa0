"""A notebook that was saved: each cell shows its still page until the kernel answers the widget of that cell."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from jupyter_hand import make_image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings

pytest.importorskip("anywidget")

from notebook_page import PAGE, WidgetPage, chromium
from zarrscope_app.jupyter import Explorer
from zarrscope_app.jupyter.still_picture import still_picture

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]

AREAS = """([names, source]) => {
  const area = (...nodes) => {
    const made = document.createElement("div");
    made.className = names[0];
    for (const node of nodes) {
      const child = document.createElement("div");
      child.className = names[1];
      child.append(node);
      made.append(child);
    }
    document.body.append(made);
  };
  const still = (id) => Object.assign(document.createElement("div"), { id, className: "zs-still", textContent: id });
  const picture = Object.assign(document.createElement("img"), { id: "picture", src: source });
  area(document.getElementById("el"), picture, still("mine"));
  area(still("other"));
}"""
"""Puts the widget, the picture of its still page, and the page in one output area, and the page of another cell in a
second one."""
JUPYTER, ELSEWHERE = ["jp-OutputArea", "jp-OutputArea-child"], ["output", "part"]


def source(noise: bool) -> str:
    """The address of a picture in an output: of noise, which is a JPEG, or of one colour, a PNG."""
    rgb = np.random.default_rng(1).integers(0, 255, (300, 400, 3)) if noise else np.full((300, 400, 3), 7)
    kind, file = still_picture(rgb.astype("uint8"))
    assert kind == ("image/jpeg" if noise else "image/png")
    assert len(file) < 90_000
    assert np.asarray(Image.open(io.BytesIO(file))).shape == (300, 400, 3)
    return f"data:{kind};base64,{base64.b64encode(file).decode()}"


@pytest.fixture
def place(tmp_path: Path) -> str:
    make_image(tmp_path / "cells.zarr")
    return str(tmp_path / "cells.zarr")


@pytest.fixture
def unanswered(place: str) -> Iterator[Any]:
    """The page of a saved widget, whose messages nobody answers, as in a page of nbconvert that loads its scripts."""
    widget = Explorer(place, settings=MemorySettings(), post=Mailbox())
    held = {name: part for name, part in widget.get_state().items() if name not in ("_esm", "_css")}
    told = json.dumps({**held, "height": 400}, default=str).replace("<", "\\u003c")
    esm = json.dumps(Explorer._esm).replace("<", "\\u003c")
    with chromium() as browser:
        page = browser.new_page()
        page.set_content(PAGE % {"css": Explorer._css, "width": 900, "held": told, "esm": esm, "shadow": "false"})
        page.wait_for_function("() => window.ready")
        yield page
    widget.close()


@pytest.mark.parametrize("noise", [True, False], ids=["JPEG", "PNG"])
def test_the_still_pages_of_other_cells_stay_when_one_cell_runs(place: str, noise: bool) -> None:
    with chromium() as browser:
        page = WidgetPage(browser, place, 900, 400)
        page.page.evaluate(AREAS, [JUPYTER, source(noise)])
        assert page.page.locator(".zs").is_visible()
        assert not page.page.locator("#mine, #picture").filter(visible=True).count(), "the widget is there instead"
        assert page.page.locator("#other").is_visible(), "its cell did not run"
        page.close()


@pytest.mark.parametrize("names", [JUPYTER, ELSEWHERE])
def test_a_widget_that_no_kernel_answers_gives_way_to_its_still_page(unanswered: Any, names: list[str]) -> None:
    unanswered.evaluate(AREAS, [names, source(False)])
    unanswered.wait_for_selector("#mine:visible", timeout=15_000)
    assert unanswered.locator("#other").is_visible()
    assert unanswered.locator("#picture").is_visible()
    assert not unanswered.locator(".zs").is_visible(), "it has no picture, and its controls do nothing"
    unanswered.evaluate("() => apply({}, [[{ heard: 1 }, []]])")  # the kernel was busy
    assert unanswered.locator(".zs").is_visible()
    assert not unanswered.locator("#mine, #picture").filter(visible=True).count()
