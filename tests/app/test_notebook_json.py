"""The JSON text of the attributes in the notebook's widget, in Chromium: edits travel as differences, in both
directions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import zarrscope

pytest.importorskip("anywidget")

from notebook_page import WidgetPage
from zarrscope_app.presenters import EditStatus

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
NOTES = {f"note {number}": f"some text with a clef 𝄞 and the number {number}" for number in range(600)}
TEXT = ".zs textarea.zs-json"
TYPE = """([old, now]) => {
  const area = document.querySelector("textarea.zs-json");
  area.focus();
  area.value = area.value.replace(old, now);
  area.dispatchEvent(new Event("change")); }"""
Open = Callable[[Path], WidgetPage]


@pytest.fixture
def text_page(opened_widget: Open, tmp_path: Path) -> WidgetPage:
    """A widget that shows the JSON text of a group with 600 attributes."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put(NOTES)
    page = opened_widget(tmp_path / "a.zarr")
    page.click("[data-tab=attributes]")
    page.click("[data-way=json]")
    page.wait(lambda: "note 599" in page.session.edit.state.text, "the text")
    page.until(f"/note 599/.test(document.querySelector('{TEXT}')?.value)")
    page.begin()
    return page


def typed(page: WidgetPage, old: str, new: str) -> None:
    """Replaces a word of the text, as a person who leaves the field afterwards."""
    page.page.evaluate(TYPE, [old, new])


def edited(page: WidgetPage, new: str, changes: int) -> bool:
    """True once the kernel has the new text and counts that number of changes."""
    return new in page.session.edit.state.text and page.session.edit.state.changes == changes


def same(page: WidgetPage) -> None:
    """Waits until the page shows the kernel's text."""
    edit = page.session.edit
    page.wait(
        lambda: (
            not edit.state.waits
            and page.widget.view["diff"] == (edit.diff().unified if edit.state.changes else "")
            and page.page.locator(TEXT).input_value() == edit.state.text
        ),
        "the kernel's text",
    )


def test_an_edit_of_the_text_sends_only_what_changed(text_page: WidgetPage) -> None:
    page, edit = text_page, text_page.session.edit
    whole = len(edit.state.text)
    assert whole > 30_000
    for changes, (old, new) in enumerate((("number 300", "number 𝄟"), ("number 17", "number three")), 1):
        page.begin()
        typed(page, f'{old}"', f'{new}"')
        page.wait(partial(edited, page, new, changes), "the edit")
        same(page)
        print(f"an edit in {whole} characters: {page.bytes} bytes to the page, {page.bytes_back} back")
        assert page.bytes_back < 1000
        assert page.bytes < 8000
    assert json.loads(edit.state.text) == {
        **NOTES,
        "note 300": NOTES["note 300"].replace("300", "𝄟"),
        "note 17": NOTES["note 17"].replace("17", "three"),
    }
    page.click("[data-command=save]")
    page.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    with zarrscope.open(page.session.url) as h:
        assert h.root.attrs["note 300"].endswith("𝄟")


def test_a_text_that_is_not_json_stays_as_typed(text_page: WidgetPage) -> None:
    page, edit = text_page, text_page.session.edit
    typed(page, '"note 5": ', '"note 5" ')
    page.wait(lambda: bool(edit.state.text_error), "the error")
    same(page)
    page.until("/line/i.test(document.querySelector('.zs-form .er')?.textContent)")
    typed(page, '"note 5" ', '"note 5": ')
    page.wait(lambda: not edit.state.text_error, "the mended text")
    same(page)
    assert edit.state.changes == 0


def test_an_edit_of_a_text_that_changed_meanwhile_is_not_lost(text_page: WidgetPage) -> None:
    """Python, or a second page, changes the text before the edit arrives: the browser sends the whole of its text."""
    page, edit = text_page, text_page.session.edit
    typed(page, 'number 300"', 'number three hundred"')
    edit.edit("/note 1", "changed by Python")
    page.wait(lambda: "three hundred" in edit.state.text, "the whole text")
    assert json.loads(edit.state.text) == {**NOTES, "note 300": NOTES["note 300"].replace("300", "three hundred")}
    same(page)


LONG = {f"note {number}": f"{number} 𝄞 " + "x" * 90 for number in range(3000)}
PAGE = 1 << 16


@pytest.fixture
def long_page(opened_widget: Open, tmp_path: Path) -> WidgetPage:
    """A widget that shows the JSON text of 330 kB."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.root.attrs.put(LONG)
    page = opened_widget(tmp_path / "a.zarr")
    page.click("[data-tab=attributes]")
    page.click("[data-way=json]")
    page.wait(lambda: "note 2999" in page.session.edit.state.text, "the text")
    page.until(f"/note 0/.test(document.querySelector('{TEXT}')?.value)")
    return page


def shown(page: WidgetPage) -> str:
    found: str = page.page.locator(TEXT).input_value()
    return found


def turn(page: WidgetPage, by: int) -> None:
    page.click(f"[data-page='{by}']")


def test_a_long_text_is_shown_and_edited_by_pages(long_page: WidgetPage) -> None:
    """A browser lays out all of a text for each key: 2 s for 4 MB."""
    page, edit = long_page, long_page.session.edit
    whole = edit.state.text
    pages = [shown(page)]
    while page.page.locator("[data-page='1']").is_enabled():
        turn(page, 1)
        pages.append(shown(page))
    assert "\n".join(pages) == whole
    assert len(pages) > 4
    assert max(len(each.encode("utf-16-le")) // 2 for each in pages) <= PAGE
    first = whole.count("\n") - pages[-1].count("\n") + 1
    assert f"Lines {first}–{whole.count(chr(10)) + 1}" in page.page.locator(".zs-form").inner_text()
    turn(page, -1)
    at = next(number for number in range(3000) if f'"note {number}"' in pages[-2])
    page.begin()
    typed(page, f'"{at} 𝄞', f'"{at}\\n" ,\n "more 𝄟": "')
    page.wait(lambda: edit.state.changes == 2, "the edit")
    page.until(f"/more/.test(document.querySelector('{TEXT}').value)")
    assert page.bytes_back < 1000
    assert json.loads(edit.state.text) == {**LONG, f"note {at}": f"{at}\n", "more 𝄟": " " + "x" * 90}
    turn(page, -1)
    page.click("[data-command=save]")
    page.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    with zarrscope.open(page.session.url) as h:
        assert h.root.attrs["more 𝄟"].endswith("x")


def test_a_text_of_one_line_is_cut_after_a_comma(opened_widget: Open, tmp_path: Path) -> None:
    place = tmp_path / "a.zarr"
    with zarrscope.open(str(place), "w-") as h:
        h.root.attrs.put({"x": 1})
    document = json.loads((place / "zarr.json").read_text())
    document["attributes"] = {"numbers": [*range(40_000)]}
    (place / "zarr.json").write_text(json.dumps(document))
    page = opened_widget(place)
    page.click("[data-tab=attributes]")
    page.click("[data-way=json]")
    page.until(f"/numbers/.test(document.querySelector('{TEXT}')?.value)")
    assert shown(page).endswith(",")
    turn(page, 1)
    start = int(shown(page).split(",")[0])
    typed(page, f" {start},", " -1,")
    page.wait(lambda: page.session.edit.state.changes == 1, "the edit")
    assert page.session.edit.state.text == json.dumps({"numbers": [*range(40_000)]}).replace(f" {start},", " -1,", 1)


def test_the_page_with_a_fault_comes_to_the_front(long_page: WidgetPage) -> None:
    page, edit = long_page, long_page.session.edit
    edit.edit_text(edit.state.text.replace('"note 2500":', '"note 2500"'))
    page.wait(lambda: bool(edit.state.text_error), "the error")
    page.until(f"/note 2500/.test(document.querySelector('{TEXT}').value)")
    turn(page, -1)
    assert "note 2500" not in shown(page), "the person may look at another page"
