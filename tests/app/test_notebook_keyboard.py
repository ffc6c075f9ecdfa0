"""The notebook's widget without a mouse, and for a screen reader: the focus stays where a person works, and each
control has a name; in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contracts.slides import image

pytest.importorskip("anywidget")

from notebook_page import WidgetPage

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
Open = Callable[[Path], "WidgetPage"]
ACTIVE = "document.activeElement"
UNDO = ".zs-attributes [data-command=undo]"


@pytest.fixture
def picture(opened_widget: Open, tmp_path: Path) -> WidgetPage:
    """An image of two channels and eight planes."""
    image(tmp_path / "a.zarr", ("DAPI", "GFP"), planes=8)
    return opened_widget(tmp_path / "a.zarr")


def field(page: WidgetPage, name: str) -> str:
    """Shows the form, and puts the cursor into one of its fields. Returns the field's selector."""
    page.click("[data-tab=attributes]")
    selector = f".zs-sections [data-pointer='{name}']"
    page.until(f'!!document.querySelector("{selector}")')
    page.click(selector)
    page.press("Control+a")
    return selector


def value(page: WidgetPage, selector: str) -> Any:
    return page.page.eval_on_selector(selector, "(input) => input.value")


def test_a_form_follows_its_edits_while_the_next_field_has_the_focus(picture: WidgetPage) -> None:
    """The changes, *Undo*, the physical size and the pixel size of the other axis, not only after the form is left."""
    field(picture, "size/2")
    picture.type("0.5")
    picture.press("Tab")
    picture.press("Tab")
    picture.until("document.querySelector('.zs-diff')?.textContent.includes('0.5')")
    picture.until(f"document.querySelector('{UNDO}').disabled === false")
    picture.until("document.querySelector('.zs-sections').textContent.includes('16 pixels · 8 µm')")
    picture.until(f"{ACTIVE}.dataset.pointer === 'size/3' && {ACTIVE}.value === '0.5'")
    # The text in the field stays selected, as Tab has selected it
    assert picture.page.evaluate(f"{ACTIVE}.selectionStart === 0 && {ACTIVE}.selectionEnd === 3")


def test_a_text_that_is_being_typed_outlives_the_answer_to_the_edit_before(picture: WidgetPage) -> None:
    field(picture, "size/2")
    picture.page.keyboard.type("0.5")
    picture.page.keyboard.press("Tab")
    picture.page.keyboard.press("Tab")
    picture.page.keyboard.type("0.7")  # the kernel has not yet answered
    picture.until("document.querySelector('.zs-diff')?.textContent.includes('0.5')")
    assert picture.page.evaluate(f"[{ACTIVE}.dataset.pointer, {ACTIVE}.value]") == ["size/3", "0.7"]
    assert picture.page.evaluate("!document.querySelector('.zs-attributes [data-command=save]').disabled")
    picture.page.keyboard.type("5")
    picture.click(".zs-attributes [data-command=save]")
    picture.wait(lambda: not picture.session.edit.state.changes, "the save")
    picture.until("document.querySelector('.zs-sections').textContent.includes('16 pixels · 12 µm')")


def test_enter_sends_a_field_of_the_form_and_stays_in_it(picture: WidgetPage) -> None:
    selector = field(picture, "size/1")
    picture.type("0.5")
    picture.press("Enter")
    picture.until("document.querySelector('.zs-diff')?.textContent.includes('0.5')")
    assert picture.page.evaluate(f"{ACTIVE}.dataset.pointer") == "size/1"
    assert value(picture, selector) == "0.5"
    picture.press("Tab")
    assert picture.page.evaluate(f"{ACTIVE}.dataset.pointer") == "unit/1"


def test_a_text_for_one_node_is_none_for_the_next(picture: WidgetPage) -> None:
    """Python shows another node while a person types into the form."""
    field(picture, "name")
    picture.page.keyboard.type("typed")
    picture.widget.path = "/0"
    picture.wait(lambda: picture.session.state.path == "/0" and not picture.session.state.selecting, "the array")
    picture.widget.path = "/"
    picture.wait(lambda: picture.session.state.path == "/" and not picture.session.state.selecting, "the image")
    picture.until("document.querySelector('.zs-sections [data-pointer=name]')?.value === 'a'")
    assert not picture.session.edit.state.changes


def test_a_member_is_added_by_enter(picture: WidgetPage) -> None:
    picture.click("[data-tab=attributes]")
    picture.click("[data-way=fields]")
    picture.until("!!document.querySelector('.zs-add input')")
    picture.click(".zs-add input")
    picture.type("stain")
    picture.press("Tab")
    picture.type("DAPI")
    picture.press("Enter")
    picture.until("document.querySelector('.zs-diff')?.textContent.includes('stain')")


def test_enter_in_a_field_of_the_picture_gives_the_keys_back_to_it(picture: WidgetPage) -> None:
    picture.click("[data-field='index:z']")
    picture.type("3")
    picture.press("Enter")
    picture.wait(lambda: picture.widget.index == {"z": 3}, "the plane")
    picture.press("ArrowRight")
    picture.wait(lambda: picture.widget.index == {"z": 4}, "the next plane")


def test_no_step_of_a_slider_is_lost_while_the_kernel_answers(picture: WidgetPage) -> None:
    """The answer to an earlier step must not move the slider back under the fingers."""
    picture.page.locator("[data-axis=z]").focus()
    picture.press("Home")
    picture.wait(lambda: picture.widget.index == {"z": 0}, "the first plane")
    for _ in range(5):
        picture.page.keyboard.press("ArrowRight")
    picture.pump()  # the kernel answers the first step, and then gets the last
    picture.page.keyboard.press("ArrowRight")
    picture.wait(lambda: picture.widget.index == {"z": 6}, "each step")
    picture.until("document.querySelector('[data-axis=z]').value === '6'")
    picture.widget.index = {"z": 2}
    picture.until("document.querySelector('[data-axis=z]').value === '2'")


def test_what_was_reached_by_keys_keeps_the_focus_when_it_is_painted_anew(picture: WidgetPage) -> None:
    shown = ".zs-channel input[type=checkbox]"
    picture.page.locator("[data-axis=z]").focus()
    while picture.page.evaluate(f"!{ACTIVE}.matches('{shown}')"):
        picture.press("Tab")
    for visible in (False, True):
        picture.press("Space")
        picture.until(f"document.querySelector('{shown}').checked === {json.dumps(visible)}")
        assert picture.page.evaluate(f"{ACTIVE} === document.querySelector('{shown}')")


def test_chunks_are_chosen_by_arrow_keys(picture: WidgetPage) -> None:
    picture.click("[data-tab=chunks]")
    picture.until("!!document.querySelector('.zs-map')")
    while picture.page.evaluate(f"{ACTIVE}.className !== 'zs-map'"):
        picture.press("Tab")
    for key, cell in (("ArrowDown", "0, 4, 0, 0"), ("ArrowRight", "0, 4, 0, 1"), ("ArrowDown", "0, 4, 1, 1")):
        picture.press(key)
        picture.until(f"document.querySelector('.zs-chosen h4')?.textContent === 'Chunk {cell}'")
        assert picture.page.evaluate(f"{ACTIVE}.className") == "zs-map"


def test_the_export_begins_with_its_first_field_and_ends_by_escape(picture: WidgetPage) -> None:
    picture.page.locator(".zs-head [title='Export…']").focus()
    picture.press("Enter")
    picture.until("!!document.querySelector('.zs-export')")
    picture.until(f"{ACTIVE} === document.querySelector('.zs-export select')")
    # The file appears in the folder of the notebook, which Jupyter lists
    assert Path(picture.session.export.state.target).parent == Path.cwd()
    picture.press("Escape")
    picture.until("!document.querySelector('.zs-export')?.checkVisibility()")
    picture.press("ArrowLeft")
    picture.wait(lambda: picture.widget.index == {"z": 3}, "a key of the picture")


def test_each_control_has_a_name(picture: WidgetPage) -> None:
    told = picture.page.locator(".zs").aria_snapshot()
    for line in (
        'img "Image a"', 'checkbox "DAPI"', 'button "Auto DAPI"', 'button "Invert GFP"', 'button "Play z"',
        'img "Lower limit Upper limit GFP"', 'tree "Nodes"', 'treeitem "a.zarr"', 'treeitem "0, 4-D uint8"',
        'tabpanel "Image"',
    ):  # fmt: skip
        assert line in told, told
    assert picture.page.locator(".zs").get_attribute("aria-label") == "a.zarr"
    picture.page.locator(".zs-tree").focus()
    picture.press("ArrowDown")
    picture.until("document.getElementById(document.querySelector('.zs-tree').getAttribute('aria-activedescendant'))"
                  "?.dataset.path === '/0'")  # fmt: skip


def test_save_stays_where_it_is_when_it_was_pressed(opened_widget: Open, tmp_path: Path) -> None:
    for name in "ab":
        image(tmp_path / "slides" / f"{name}.zarr", ("DAPI",))
    page = opened_widget(tmp_path / "slides")
    page.click(".zs-row[data-path='/a.zarr'] .nm")
    page.wait(lambda: page.session.state.path == "/a.zarr" and not page.session.state.selecting, "the image")
    page.click(".zs-row[data-path='/b.zarr'] .nm", "Shift")
    page.wait(lambda: page.session.edit.state.title == "Attributes of 2", "the form of both")
    selector = field(page, "size/1")
    page.type("0.5")
    save = page.page.locator(".zs-attributes [data-command=save]")
    before = save.bounding_box()
    page.click(".zs-attributes [data-command=save]")
    page.until("document.querySelector('.zs-attributes .zs-bar').textContent.includes('Saved')")
    after = save.bounding_box()
    assert after["x"] == before["x"]
    assert abs(after["y"] - before["y"]) < 12
    assert value(page, selector) == "0.5"
