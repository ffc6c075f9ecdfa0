"""The notebook's widget in JupyterLab, in Chromium: gestures and their effect; no request leaves this machine."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

from jupyter_hand import (
    PATIENCE,
    choose_the_image,
    kernels,
    keys_of_controls_stay_in_the_widget,
    make_image,
    opened_page,
    run_first_cell,
    save_exposure,
    served,
    until_middle,
    wait_for_kernel,
    wait_until,
)

pytestmark = [pytest.mark.needs("chromium", "jupyterlab"), pytest.mark.slow, pytest.mark.timeout(480)]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    folder = tmp_path / "cells.zarr"
    make_image(folder)
    return folder


def test_a_person_explores_and_edits_in_jupyterlab(tmp_path: Path, image: Path) -> None:
    cell = f"from zarrscope_app.jupyter import explore\nexplore({str(image)!r}, editable=True)"
    errors: list[str] = []
    with served(tmp_path, [cell]) as lab, opened_page(lab, errors) as page:
        run_first_cell(page)
        _explore(page)
        _open_another_place(page, tmp_path)
        _fit_into_little_room(page)
        _keys_belong_to_what_has_the_focus(page)
        _edit(page, image)
        assert not errors
        _lose_the_kernel(page, image)
    assert not [text for text in errors if "404" not in text]  # JupyterLab still asks for the kernel that was killed


def _explore(page: Any) -> None:
    choose_the_image(page)
    page.wait_for_selector(".zs[data-path='/image'][data-tab=image] [data-view=main] canvas")
    until_middle(page, [120, 0, 200])  # the picture begins with the middle plane of the stack

    slider = page.locator(".zs input[data-axis=z]")
    slider.focus()
    page.keyboard.press("End")
    until_middle(page, [195, 0, 200])
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '7'")

    page.locator(".zs-channel input[type=checkbox]").nth(1).click()
    until_middle(page, [195, 0, 0])

    box = page.locator(".zs [data-view=main] canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "() => /z 7 y 3[12] x 3[12]/.test(document.querySelector('.zs .probe').textContent)"
        " && /195/.test(document.querySelector('.zs .probe').textContent)"
    )


def _open_another_place(page: Any, tmp_path: Path) -> None:
    """Opens a second hierarchy in the same tree. Each hierarchy shows its own picture, although their tiles have the
    same names."""
    make_image(tmp_path / "more.zarr", step=10)
    page.click(".zs [data-command=add]")
    page.locator(".zs-side input:not([type=search])").fill(str(tmp_path / "more.zarr"))
    page.keyboard.press("Enter")
    page.wait_for_selector(".zs-crumbs :text('more.zarr')")
    second = page.locator(".zs-row[data-path='/image']").nth(1)
    second.locator(".nm").click()
    until_middle(page, [60, 0, 200])
    page.wait_for_function("() => document.querySelectorAll('.zs-row.on').length === 1")
    page.keyboard.press("+")
    page.locator(".zs-row[data-path='/image'] .nm").first.click()
    until_middle(page, [195, 0, 0])
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '7'")
    second.locator(".nm").click()  # not with End: the image's only array may be the last row by now
    until_middle(page, [60, 0, 200])
    page.click(".zs [data-command=close-place]")
    page.wait_for_selector(".zs-row >> nth=1 >> text=image")
    page.wait_for_function("() => document.querySelectorAll(\".zs-row[data-path='/image']\").length === 1")
    until_middle(page, [195, 0, 0])
    page.wait_for_selector(".zs [data-command=close-place]", state="hidden")


def _fit_into_little_room(page: Any) -> None:
    """At 500 x 250 nothing is cut off: the picture is visible, and the tabs and the tree's button can be clicked."""
    page.evaluate("() => { const s = document.querySelector('.zs').style; s.width = '500px'; s.height = '250px'; }")
    page.wait_for_selector(".zs[data-narrow='1'][data-short='1']")
    page.wait_for_function(
        "() => { const r = document.querySelector('.zs [data-view=main] canvas').getBoundingClientRect();"
        " return r.width >= 200 && r.height >= 60; }"
    )
    page.wait_for_function(  # nothing is cut off
        "() => { const b = document.querySelector('.zs'), w = b.clientWidth, h = b.clientHeight;"
        " return w >= 490 && w <= 500 && h >= 240 && h <= 250 && b.scrollWidth === w && b.scrollHeight === h; }"
    )
    page.click(".zs [data-tab=info]")
    page.wait_for_selector(".zs[data-tab=info]")
    page.click(".zs [data-tab=image]")
    page.wait_for_selector(".zs[data-tab=image]")
    page.evaluate("() => { const s = document.querySelector('.zs').style; s.width = ''; s.height = '560px'; }")
    page.wait_for_selector(".zs[data-narrow=''][data-short='']")


def _keys_belong_to_what_has_the_focus(page: Any) -> None:
    """Keys pressed in the widget act on the widget only; the notebook does not take them for commands."""
    before = _cells(page)
    page.locator(".zs").focus()
    page.keyboard.press("Home")
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '0'")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '1'")
    for key in ("a", "a"):  # the notebook would insert a cell above
        page.keyboard.press(key)
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '7'")
    assert _cells(page) == before
    page.locator(".zs-tree").focus()
    page.keyboard.press("Home")
    page.wait_for_selector(".zs[data-path='/']")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector(".zs[data-path='/image']")
    assert _cells(page) == before
    keys_of_controls_stay_in_the_widget(page)


def _cells(page: Any) -> int:
    """The number of cells according to the status bar, because the page contains only the visible ones."""
    page.wait_for_function("() => /Cell [0-9]+[/][0-9]+/.test(document.body.innerText)")
    found = re.search(r"Cell \d+/(\d+)", page.inner_text("body"))
    assert found is not None
    return int(found[1])


def _edit(page: Any, image: Path) -> None:
    document = image / "image" / "zarr.json"
    before = document.read_bytes()
    others = {file: file.read_bytes() for file in image.rglob("*") if file.is_file() and file != document}
    page.click(".zs [data-tab=attributes]")
    page.wait_for_selector(".zs [data-way=image][aria-pressed=true]")  # the form of the image is shown first
    page.wait_for_selector(".zs-sections input[data-pointer]")
    assert "[object" not in page.inner_text(".zs-attributes")
    page.click(".zs [data-way=json]")
    page.wait_for_function(
        "() => { try { return JSON.parse(document.querySelector('.zs textarea').value).operator === 'Ada'; }"
        " catch { return false; } }"
    )
    save_exposure(page, document)
    assert document.read_bytes() == before.replace(b"12.5", b"0.108")
    assert others == {file: file.read_bytes() for file in image.rglob("*") if file.is_file() and file != document}


def _lose_the_kernel(page: Any, image: Path) -> None:
    """The kernel is killed before an edit was saved; the next kernel offers the edit."""
    document = image / "image" / "zarr.json"
    before = document.read_bytes()
    field = page.locator(".zs input[data-pointer='/operator']")
    field.fill("Grace")
    field.press("Enter")
    page.wait_for_selector(".zs-diff .add")
    wait_until(_is_kept)
    (kernel,) = kernels()
    kernel.kill()
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=PATIENCE)  # "appears to have died"
    wait_for_kernel(page)
    page.evaluate("() => document.querySelectorAll('.zs').forEach((old) => old.remove())")
    run_first_cell(page)
    page.wait_for_selector(".zs-error-bar :text('was not saved')")
    page.click(".zs-error-bar button:text('Put back')")
    page.click(".zs-row[data-path='/image'] .nm")
    page.click(".zs [data-tab=attributes]")
    page.wait_for_selector(".zs-diff .add:has-text('Grace')")
    page.click(".zs [data-way=fields]")
    page.wait_for_function("() => document.querySelector(\".zs input[data-pointer='/operator']\")?.value === 'Grace'")
    assert document.read_bytes() == before, "nothing is written before Save"
    page.click(".zs [data-command=save]")
    page.wait_for_selector(".zs-diff", state="detached")
    wait_until(lambda: document.read_bytes() == before.replace(b"Ada", b"Grace"))
    wait_until(lambda: not _is_kept())


def _is_kept() -> bool:
    """Whether a file contains the unsaved edit. Other tests may have left files of their own."""
    for file in Path(os.environ["XDG_STATE_HOME"]).rglob("unsaved-*"):
        with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
            if b"Grace" in file.read_bytes():
                return True
    return False
