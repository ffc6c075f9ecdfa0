"""The work of the notebook's page: it makes again only the elements of which the content changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zarrscope

pytest.importorskip("anywidget")

import zarrscope_app.jupyter
from notebook_page import WidgetPage

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
GROUPS = 500
WATCH = """() => {
  window.made = 0;
  new MutationObserver((all) => {
    for (const each of all) for (const node of each.addedNodes) made += node.classList?.contains("zs-row") ? 1 : 0;
  }).observe(document.querySelector(".zs-tree"), { childList: true }); }"""

KERNEL = (Path(zarrscope_app.jupyter.__file__).parent / "static/kernel.js").read_text(encoding="utf-8")
BUSY_AT_FIRST = """async () => {
  %s
  const told = [], signal = { connect() {}, disconnect() {} };
  let answer;
  const kernel = { status: "busy", iopubMessage: signal, statusChanged: signal,
    requestCommInfo: () => new Promise((resolve) => { answer = resolve; }) };
  watchRuns(kernel, (running) => told.push(running));
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const before = [...told];
  answer();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return [before, told];
}"""


@pytest.fixture
def tree_page(opened_widget: Callable[[Path], WidgetPage], tmp_path: Path) -> WidgetPage:
    """A widget that shows the tree of a group with 500 groups."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        for number in range(GROUPS):
            h.create_group(f"/g{number:03d}")
    page = opened_widget(tmp_path / "a.zarr")
    page.until("document.querySelectorAll('.zs-row').length > 190")
    page.wait(lambda: not page.session.owner.waits(), "the end of the listing")
    for _ in range(20):
        page.pump()
        page.page.wait_for_timeout(20)
    page.page.evaluate(WATCH)
    return page


def names(page: WidgetPage) -> list[str]:
    """The paths of the rows, in the order in which a screen reader reads them."""
    found: list[str] = page.page.evaluate("[...document.querySelectorAll('.zs-row')].map((row) => row.dataset.path)")
    return found


def tops(page: WidgetPage) -> list[int]:
    found: list[int] = page.page.evaluate(
        "[...document.querySelectorAll('.zs-row')].map((row) => parseInt(row.style.top) / 22)"
    )
    return found


def test_another_selection_makes_two_rows_of_the_tree(tree_page: WidgetPage) -> None:
    page = tree_page
    page.click("[data-path='/g003']")
    page.until("document.querySelector('.zs-row.on')?.dataset.path === '/g003'")
    assert 1 <= page.page.evaluate("made") <= 8
    assert names(page)[:3] == ["/", "/g000", "/g001"]


def test_scrolling_makes_only_the_rows_that_appear(tree_page: WidgetPage) -> None:
    page = tree_page
    for by in (105, 150, 60, 0, 300):
        page.page.evaluate("made = 0")
        before = {*names(page)}
        page.page.evaluate(f"document.querySelector('.zs-tree').scrollTop = {22 * by}")
        first = max(0, by - 60)
        page.until(f"parseInt(document.querySelector('.zs-row')?.style.top) === {22 * first}")
        shown = names(page)
        assert shown == [f"/g{number - 1:03d}" if number else "/" for number in range(first, first + len(shown))]
        assert tops(page) == [*range(first, first + len(shown))]
        new = len({*shown} - before)
        assert new <= page.page.evaluate("made") <= new + 80, "besides the details that arrive later"


def test_a_kernel_that_is_busy_when_a_page_is_loaded_again_becomes_free_without_a_run(
    chromium_browser: Any,
) -> None:
    page = chromium_browser.new_page()
    assert page.evaluate(BUSY_AT_FIRST % KERNEL) == [[True], [True, False]]
