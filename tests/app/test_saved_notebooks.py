"""A notebook that was saved: each cell shows its still page until the kernel answers the widget of that cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_hand import make_image
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings

pytest.importorskip("anywidget")

from notebook_page import PAGE, WidgetPage, chromium
from zarrscope_app.jupyter import Explorer

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]

AREAS = """(names) => {
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
  area(document.getElementById("el"), still("mine"));
  area(still("other"));
}"""
"""Puts the widget and its still page in one output area, and that of another cell in a second one."""
JUPYTER, ELSEWHERE = ["jp-OutputArea", "jp-OutputArea-child"], ["output", "part"]


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


def test_the_still_pages_of_other_cells_stay_when_one_cell_runs(place: str) -> None:
    with chromium() as browser:
        page = WidgetPage(browser, place, 900, 400)
        page.page.evaluate(AREAS, JUPYTER)
        assert page.page.locator(".zs").is_visible()
        assert not page.page.locator("#mine").is_visible(), "the widget is there instead"
        assert page.page.locator("#other").is_visible(), "its cell did not run"
        page.close()


@pytest.mark.parametrize("names", [JUPYTER, ELSEWHERE])
def test_a_widget_that_no_kernel_answers_gives_way_to_its_still_page(unanswered: Any, names: list[str]) -> None:
    unanswered.evaluate(AREAS, names)
    unanswered.wait_for_selector("#mine:visible", timeout=15_000)
    assert unanswered.locator("#other").is_visible()
    assert not unanswered.locator(".zs").is_visible(), "it has no picture, and its controls do nothing"
    unanswered.evaluate("() => apply({}, [[{ heard: 1 }, []]])")  # the kernel was busy
    assert unanswered.locator(".zs").is_visible()
    assert not unanswered.locator("#mine").is_visible()
