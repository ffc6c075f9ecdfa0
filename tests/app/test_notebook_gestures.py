"""A newcomer's tasks in the notebook's widget, each with no more gestures than notebook.md says, in Chromium.

A gesture is a click, a double-click, a key with its modifiers, or a text typed in one go. Each task begins in a widget
that has just opened its place, 900 pixels wide, in a notebook's usual height.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from contracts.slides import NAMES, image, mended, plate, stored
from zarrscope_app.presenters import EditStatus
from zarrscope_app.presenters.chunks.presenter import ChunksPresenter

pytest.importorskip("anywidget")

from notebook_page import WidgetPage

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
GUIDE = Path(__file__).parents[2] / "resources" / "docs" / "notebook.md"
SIZE = ".zs-sections [data-pointer='size/1']"
EDIT = 8000
"""An upper limit of the bytes that an edit of one field sends: 3.5 to 4.8 kB were measured, and a slow machine may send
a state in between, of 1 kB."""
SHOWN = "[...document.querySelectorAll('.zs-sections input[data-pointer]')].map((i) => [i.dataset.pointer, i.value])"
COPY = """(text) => {
  const area = document.createElement("textarea");
  area.value = text; document.body.append(area); area.select();
  if (!document.execCommand("copy")) throw new Error("nothing was copied");
  area.remove(); }"""
Open = Callable[[Path], "WidgetPage"]


def ends(page: WidgetPage, task: str) -> None:
    """Compares the gestures and bytes with those of the guide."""
    print(f"{task}: {', '.join(page.gestures)}; {page.bytes} bytes")
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| ([\d.]+) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    count, kilobytes = {name.strip(): (int(count), float(sent)) for name, count, sent in rows}[task]
    assert len(page.gestures) == count, page.gestures
    assert page.bytes < kilobytes * 1000, "more is sent than the guide says"


def at_rest(page: WidgetPage) -> None:
    """Waits until the page shows every field of the form as the kernel has it, and the changes beneath."""
    edit, box = page.session.edit, ".zs-sections input[type=checkbox]"

    def same() -> bool:
        fields = [f for s in edit.state.sections for row in s.rows for f in row.fields]
        lines = [[f.pointer, f.text] for f in fields if f.editor != "check"]
        shown = [each for each in page.page.evaluate(SHOWN) if each[0] in {pointer for pointer, _ in lines}]
        checks = [f.text == "true" for f in fields if f.editor == "check"]
        ticked = page.page.eval_on_selector_all(box, "(all) => all.map((each) => each.checked)")
        diff = edit.diff().unified if edit.state.changes else ""
        told = page.page.evaluate("document.querySelector('.zs-diff')?.innerText ?? ''")
        return not edit.state.waits and (shown, ticked, told.split()) == (lines, checks, diff.split())

    page.wait(same, "the form as the kernel has it")


def test_a_channel_is_found_by_its_name(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "many.zarr", NAMES)
    page = opened_widget(tmp_path / "many.zarr")
    page.click(".zs-find-channel")
    page.type("cd45")
    page.press("Enter")
    shown = page.session.slice
    page.wait(lambda: [c.label for c in shown.state.channels if c.visible] == ["CD45"], "the channel alone")
    ends(page, "Find a channel by its name")


def test_three_images_are_mended_saved_and_undone(opened_widget: Open, tmp_path: Path) -> None:
    """Nothing is written before *Save*."""
    folder = tmp_path / "slides"
    for name in "abc":
        image(folder / f"{name}.zarr", (f"channel {name}", "GFP"))
    before = stored(folder)
    page = opened_widget(folder)
    edit = page.session.edit
    page.click(".zs-row[data-path='/a.zarr'] .nm")
    page.wait(lambda: page.session.state.path == "/a.zarr", "the first image")
    page.press("Control+a")
    page.wait(lambda: edit.state.title == "Attributes of 3" and len(edit.state.sections) > 1, "the form")
    page.until(f"document.activeElement === document.querySelector(`{SIZE}`)")
    at_rest(page)
    opening = page.bytes
    page.type("0.5")
    name = ".zs-sections [data-pointer='channel/0/label']"
    page.until(f"document.querySelector(`{name}`)?.placeholder === '3 values'")
    page.click(name)
    page.wait(lambda: edit.state.changes == 6 and not edit.state.waits, "the size at both levels")
    told = "the changes beneath; the form waits for the field in use"
    page.wait(lambda: page.widget.view["diff"].count("0.5") == 6, told)
    first = page.bytes
    print(f"The form: {opening} bytes; the edit: {first - opening}")
    assert first - opening < EDIT
    page.type("DAPI")
    assert stored(folder) == before, "nothing is written yet"
    page.until("!document.querySelector('[data-command=save]').disabled")
    page.click("[data-command=save]")  # leaves the name, which takes it
    page.wait(lambda: edit.state.changes == 0 and mended(folder) == {(0.5, "DAPI")}, "both in the files")
    page.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    assert mended(folder) == {(0.5, "DAPI")}
    at_rest(page)
    ends(page, "Correct a pixel size and a channel's name in three images, and save")
    page.begin()
    for changes in (3, 9):
        page.until("!document.querySelector('[data-command=undo]').disabled")
        page.click("[data-command=undo]")
        page.wait(partial(lambda count: edit.state.changes == count, changes), "the undo")
        at_rest(page)
    page.until("!document.querySelector('[data-command=save]').disabled")
    page.click("[data-command=save]")
    page.wait(lambda: edit.state.status is EditStatus.CLEAN, "the save")
    assert stored(folder) == before
    ends(page, "Undo that, and save")


def test_a_missing_chunk_is_found_with_the_reason(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "gap.zarr", ("DAPI", "GFP"), planes=3, side=256)
    (tmp_path / "gap.zarr/0/c/1/2/1/0").unlink()
    page = opened_widget(tmp_path / "gap.zarr")
    page.click(".zs [data-view=main] canvas")
    page.press(",")
    presenter = page.session.tabs.presenters["chunks"]
    assert isinstance(presenter, ChunksPresenter)
    page.wait(lambda: presenter.state.chosen is not None, "the chunk")
    page.until(
        "/Chunk 1, 2, 1, 0[^]*Programs leave out a chunk/.test(document.querySelector('.zs-chosen')?.textContent)"
    )
    ends(page, "See which chunk is missing, and why")


def test_a_plate_is_walked(opened_widget: Open, tmp_path: Path) -> None:
    plate(tmp_path / "plate.zarr")
    page = opened_widget(tmp_path / "plate.zarr")
    page.click("[data-well='/A/1']")
    for number in (1, 2, 3):
        if number > 1:
            page.press("F8")
        page.wait(partial(lambda name: page.session.state.path.startswith(name), f"/A/{number}"), "the well")
        page.wait(lambda: not page.session.state.selecting and not page.session.slice.frame.loading, "its picture")
    ends(page, "Walk through the first three wells of a plate")


def test_what_is_on_the_screen_is_exported(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "crop.zarr", ("DAPI",), side=64)
    page = opened_widget(tmp_path / "crop.zarr")
    export = page.session.export
    export.folder = str(tmp_path)
    page.click(".zs [data-view=main] canvas")
    page.press("+")
    page.press("+")
    page.click(".zs-head button[aria-label*=xport]")
    page.until("!!document.querySelector('.zs-export select')")
    page.page.locator(".zs-export select").first.select_option("region")
    page.gestures.append("region")
    page.wait(lambda: export.state.ready and export.state.what == "region", "the size")
    target = Path(export.state.target)
    page.until("!document.querySelector('[data-command=export-run]').disabled")
    page.click("[data-command=export-run]")
    page.wait(target.exists, "the file")
    ends(page, "Export a crop")


def test_a_colleague_sees_the_view(opened_widget: Open, tmp_path: Path) -> None:
    image(tmp_path / "view.zarr", ("DAPI", "GFP"), planes=4)
    image(tmp_path / "other.zarr", ("DAPI", "GFP"), planes=4)
    colleague = opened_widget(tmp_path / "other.zarr")
    page = opened_widget(tmp_path / "view.zarr")
    page.session.slice.set_index("z", 3)
    page.click(".zs [data-view=main] canvas")
    page.press("w")
    titles: list[str] = []

    def copies() -> bool:
        """The line under the picture shows the copied view for four seconds."""
        titles.append(page.page.evaluate("document.querySelector('.probe').title"))
        return titles[-1].startswith("zarrscope:")

    page.wait(copies, "the copied view")
    colleague.page.bring_to_front()
    colleague.page.evaluate(COPY, titles[-1])  # the colleague's clipboard
    colleague.click(".zs [data-view=main] canvas")
    colleague.press("Control+V")
    colleague.wait(lambda: colleague.widget.index.get("z") == 3, "the view")
    assert colleague.widget.url.endswith("view.zarr")
    page.gestures += colleague.gestures
    page.bytes += colleague.bytes
    ends(page, "Send a colleague the view: copy here, paste there")


def test_the_line_under_the_cursor_is_that_of_the_kernel(opened_widget: Open, tmp_path: Path) -> None:
    """Only numbers are sent: the page puts them between the words that it has."""
    image(tmp_path / "line.zarr", ("DAPI", "Cy5"), planes=4)
    page = opened_widget(tmp_path / "line.zarr")
    shown = page.session.slice
    page.until("document.querySelectorAll('.zs-channel').length === 2")  # they take room from the picture
    page.click(".zs [data-view=main] canvas")
    box = page.page.locator(".zs [data-view=main] canvas").bounding_box()
    for share in (0.3, 0.5, 0.7):
        page.page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        page.until("/DAPI [0-9]+ · Cy5 [0-9]+$/.test(document.querySelector('.zs .probe').textContent)")
        page.wait(
            lambda: shown.probe.text and page.page.inner_text(".zs .probe").split() == shown.probe.text.split(),
            "the line",
        )


def test_a_slow_click_on_save_takes_the_field_and_saves(opened_widget: Open, tmp_path: Path) -> None:
    """The press leaves the field, and the kernel's answer arrives before the button is released."""
    image(tmp_path / "one.zarr", ("DAPI",))
    page = opened_widget(tmp_path / "one.zarr")
    edit = page.session.edit
    page.click("[data-tab=attributes]")
    page.until(f"!!document.querySelector(`{SIZE}`)")
    at_rest(page)
    page.click(SIZE, double=True)
    page.type("0.5")
    save = page.page.locator("[data-command=save]").first
    assert save.is_enabled(), "a typed text can be saved"
    save.hover()
    page.page.mouse.down()
    page.wait(lambda: edit.state.changes > 0 and not edit.busy, "the size at the kernel")
    page.wait(lambda: "0.5" in page.widget.view["diff"], "the answer at the page")
    page.pump()
    page.page.mouse.up()
    page.wait(lambda: "0.5" in (tmp_path / "one.zarr" / "zarr.json").read_text("utf-8"), "the file")
    at_rest(page)
