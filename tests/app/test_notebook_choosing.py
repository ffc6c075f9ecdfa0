"""Choosing in the notebook's widget, in Chromium: several nodes in the tree, a channel by its name, a pasted view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from contracts.slides import NAMES, image

pytest.importorskip("anywidget")

from notebook_page import WidgetPage

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
CANVAS = ".zs [data-view=main] canvas"
Open = Callable[[Path], WidgetPage]


def marked(page: WidgetPage) -> list[str]:
    """The names of the rows that are marked in the tree."""
    rows: list[str] = page.page.eval_on_selector_all(".zs-row.on .nm", "(all) => all.map((each) => each.textContent)")
    return rows


def has_row(page: WidgetPage, path: str) -> bool:
    """Whether the rows that were sent contain this node."""
    return any(each["path"] == path for each in page.widget.view["tree"]["rows"])


def row(name: str) -> str:
    return f".zs-row[data-path='/{name}.zarr'] .nm"


@pytest.mark.parametrize("further", [False, True])
def test_several_nodes_are_chosen_with_ctrl_and_shift(opened_widget: Open, tmp_path: Path, further: bool) -> None:
    folder = tmp_path / "slides"
    for name in "abcd":
        image(folder / f"{name}.zarr", ("DAPI", "GFP"))
    page = opened_widget(folder)
    edit = page.session.edit
    if further:  # a second place in the same tree, behind this one
        image(tmp_path / "other.zarr", ("DAPI",))
        page.widget.add(str(tmp_path / "other.zarr"))
        page.widget.bring(page.session.url)
    page.until(f"!!document.querySelector(`{row('d')}`)")
    page.click(row("a"))
    page.wait(lambda: page.session.state.path == "/a.zarr" and marked(page) == ["a.zarr"], "a alone")
    page.click(row("c"), "Control")
    page.wait(lambda: edit.several == ("/a.zarr", "/c.zarr") and marked(page) == ["a.zarr", "c.zarr"], "a and c")
    assert page.session.state.path == "/a.zarr", "the picture stays"
    page.click(row("d"), "Shift")
    page.wait(lambda: marked(page) == [f"{name}.zarr" for name in "abcd"], "all between")
    page.click(row("b"), "Control")
    page.wait(lambda: marked(page) == ["a.zarr", "c.zarr", "d.zarr"], "all but b")
    page.page.locator(".zs-tree").focus()
    page.press("Shift+ArrowDown")
    page.wait(lambda: marked(page) == ["a.zarr", "b.zarr", "c.zarr"], "from a to the row beneath b")
    page.click("[data-tab=attributes]")
    page.wait(lambda: edit.state.title == "Attributes of 3" and len(edit.state.sections) > 1, "one form")
    page.until("!!document.querySelector(`.zs-sections [data-pointer='size/1']`)")
    page.page.screenshot(path=str(tmp_path / "several.png"))
    if further:
        page.page.locator(".zs-row[data-path='/'] .nm").nth(1).click(modifiers=["Control"])
        page.pump()
        page.wait(
            lambda: edit.several == ("/a.zarr", "/b.zarr", "/c.zarr"), "the same nodes: no others of another place"
        )
    page.page.locator(".zs-tree").focus()
    page.press("Control+a")
    page.wait(lambda: marked(page) == [f"{name}.zarr" for name in "abcd"], "all of this place, without its root")
    page.click(row("d"), "Control")
    page.click(row("b"), "Control")
    page.click(row("c"), "Control")
    page.wait(lambda: not edit.several and marked(page) == ["a.zarr"], "a alone again")
    page.click(row("a"), "Control")
    page.click(row("b"))
    page.wait(lambda: page.session.state.path == "/b.zarr" and marked(page) == ["b.zarr"], "b alone")


def test_a_channel_among_few_is_found_with_a_key(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "few.zarr", ("DAPI", "GFP", "mCherry"))
    page = opened_widget(tmp_path / "few.zarr")
    shown = page.session.slice
    # Three channels need no field
    without_field = (
        "document.querySelectorAll('.zs-channel').length === 3"
        " && !document.querySelector('.zs-find-channel')?.checkVisibility()"
    )
    page.until(without_field)
    page.click(CANVAS)
    page.press("Control+Shift+F")
    page.until("document.activeElement.className === 'zs-find-channel'")
    page.type("nothing")
    page.until(
        "/No channel/.test(document.querySelector('.zs-display').textContent) && !document.querySelector('.zs-channel')"
    )
    page.press("Escape")
    page.until(without_field)
    page.press("Control+Shift+F")
    page.until("document.activeElement.className === 'zs-find-channel'")
    page.type("cherry")
    page.press("Enter")
    page.wait(lambda: [c.label for c in shown.state.channels if c.visible] == ["mCherry"], "the channel alone")
    page.until("document.querySelectorAll('.zs-channel').length === 3")
    page.press("s")
    page.wait(lambda: [c.label for c in shown.state.channels if c.visible] != ["mCherry"], "keys act on the picture")


def test_a_click_counts_although_the_tree_changes_meanwhile(opened_widget: Open, tmp_path: Path) -> None:
    """Rows arrive between the press and the release of the mouse, and the row itself changes."""
    folder = tmp_path / "slides"
    for name in "abc":
        image(folder / f"{name}.zarr", ("DAPI", "GFP"))
    page = opened_widget(folder)
    tree = page.session.tree
    page.until(f"!!document.querySelector(`{row('c')}`)")
    ids = {each.name: each.id for each in tree.flat(0, 10)}
    for other, expanded in (("c", "true"), ("a", "false")):
        box = page.page.locator(".zs-row[data-path='/b.zarr'] .tw").bounding_box()
        page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.page.mouse.down()
        tree.expand(ids[f"{other}.zarr"])
        page.wait(partial(has_row, page, f"/{other}.zarr/0"), "the rows of another node")
        page.page.mouse.up()
        page.until(
            f"document.querySelector(`.zs-row[data-path='/b.zarr']`).getAttribute('aria-expanded') === '{expanded}'"
            f" && !!document.querySelector(`.zs-row[data-path='/{other}.zarr/0']`)"
        )


def test_the_found_channel_is_scrolled_into_view(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "many.zarr", NAMES)
    image(tmp_path / "others.zarr", NAMES)
    page = opened_widget(tmp_path / "many.zarr")
    page.click(".zs-find-channel")
    page.type("cd")
    found = [name for name in NAMES if "CD" in name]
    page.until(f"document.querySelectorAll('.zs-channel').length === {len(found)}")
    page.page.screenshot(path=str(tmp_path / "found.png"))
    page.page.keyboard.type("68")
    page.press("Enter")
    page.until(f"document.querySelectorAll('.zs-channel').length === {len(NAMES)}")
    page.until(
        "(() => { const box = document.querySelector('.zs-display').getBoundingClientRect(),"
        f" at = document.querySelector('[data-channel=\"{NAMES.index('CD68')}\"]').getBoundingClientRect();"
        " return at.top >= box.top && at.bottom <= box.bottom; })()"
    )
    page.page.screenshot(path=str(tmp_path / "reached.png"))
    page.click(".zs-find-channel")
    page.type("ck")
    page.until("document.querySelectorAll('.zs-channel').length === 1")
    page.widget.add(str(tmp_path / "others.zarr"))
    page.wait(lambda: page.widget.url.endswith("others.zarr"), "the other place")
    page.wait(lambda: page.widget.session.slice.state.kind == "image", "its image")
    page.until(  # another image is searched anew
        f"document.querySelectorAll('.zs-channel').length === {len(NAMES)}"
        " && document.querySelector('.zs-find-channel').value === ''"
    )


def test_a_pasted_view_is_opened(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "one.zarr", ("DAPI", "GFP"), planes=4)
    image(tmp_path / "two.zarr", ("DAPI", "GFP"), planes=4)
    page = opened_widget(tmp_path / "one.zarr")
    page.session.slice.set_index("z", 3)
    page.click(CANVAS)
    page.press("w")
    page.until("document.querySelector('.probe').title.startsWith('zarrscope:')")
    page.session.slice.set_index("z", 1)
    page.widget.add(str(tmp_path / "two.zarr"))
    second = page.widget.session
    page.wait(lambda: second.node is not None and second.slice.state.kind == "image", "the other place")
    page.until("/two/.test(document.querySelector('.zs-crumbs').textContent)")
    page.page.locator(".zs").focus()
    page.press("Control+V")
    page.wait(lambda: page.widget.session is page.session, "the place of the view")
    page.wait(lambda: page.session.slice.state.kind == "image" and page.widget.index.get("z") == 3, "the view")
    page.widget._receive(page.widget, {"do": "paste", "args": ["rm -r /"]})
    assert not page.session.state.sentence, "any other text does nothing"
    page.widget._receive(page.widget, {"do": "paste", "args": ["zarrscope:eNqr"]})
    page.wait(lambda: "cut or changed" in page.session.state.sentence, "the reason why it is none")
