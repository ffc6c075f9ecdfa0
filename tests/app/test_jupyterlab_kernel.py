"""The widget in JupyterLab and Notebook 7 while a cell runs, and after its kernel was restarted or killed: it says so,
and goes on afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_hand import (
    PATIENCE,
    choose_the_image,
    kernels,
    make_image,
    opened_page,
    run_first_cell,
    served,
    until_middle,
    wait_for_kernel,
    wait_until,
)

pytestmark = [pytest.mark.needs("chromium", "jupyterlab"), pytest.mark.slow, pytest.mark.timeout(480)]
PAGES = [
    pytest.param("lab/tree", id="JupyterLab"),
    pytest.param("notebooks", id="Notebook 7", marks=pytest.mark.needs("notebook")),
]
BUSY = ".zs[data-kernel=busy] .zs-state:visible >> text=/kernel is busy/i"
RESTARTED = ".zs[data-kernel=dead] .zs-state:visible >> text=/kernel was restarted.*run them first/i"
LONG = """import pathlib, time
while not pathlib.Path({gate!r}).exists():
    time.sleep(0.05)"""


@pytest.mark.parametrize("kind", PAGES)
def test_a_busy_kernel_is_waited_for_and_a_dead_one_started_again(tmp_path: Path, kind: str) -> None:
    make_image(tmp_path / "cells.zarr")
    gate = tmp_path / "gate"
    cells = [
        f"from zarrscope_app.jupyter import explore\nexplore({str(tmp_path / 'cells.zarr')!r}, path='/image')",
        LONG.format(gate=str(gate)),
    ]
    errors: list[str] = []
    with served(tmp_path, cells, page=kind) as url, opened_page(url, errors) as page:
        if kind == "notebooks":
            errors.clear()  # its plug-ins log errors before any cell runs
        run_first_cell(page)
        choose_the_image(page)
        until_middle(page, [120, 0, 200])
        _busy(page, gate)
        _restarted(page)
        _killed(page, tmp_path)
    # JupyterLab still asks for the kernel that was killed, and for lists that a busy machine answers with an error
    assert not [text for text in errors if "404" not in text and "/api/" not in text]


def _busy(page: Any, gate: Path) -> None:
    """A cell runs until the file `gate` is there. The picture keeps its size meanwhile."""
    before = _picture_size(page)
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("() => document.querySelectorAll('.jp-InputPrompt')[1].textContent.includes('*')")
    page.wait_for_selector(BUSY)  # before any gesture
    slider = page.locator(".zs input[data-axis=z]")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(1500)  # the subshell that got the gesture reports that it is idle
    page.wait_for_selector(BUSY)
    assert _picture_size(page) == before
    page.screenshot(path=str(gate.with_name("busy.png")))
    page.keyboard.press("End")  # of two gestures of one kind the last counts
    until_middle(page, [120, 0, 200])
    gate.touch()
    until_middle(page, [195, 0, 200])
    page.wait_for_selector(".zs[data-kernel=''] .zs-state", state="hidden")


def _picture_size(page: Any) -> Any:
    return page.locator(".zs [data-view=main] canvas").evaluate("(canvas) => [canvas.clientWidth, canvas.clientHeight]")


def _restarted(page: Any) -> None:
    """The person restarts the kernel by the tool bar; the button of the widget runs its cell again."""
    page.locator("[data-command='notebook:restart-kernel']").first.click()
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=PATIENCE)
    page.wait_for_selector(RESTARTED, timeout=PATIENCE)
    until_middle(page, [195, 0, 200])  # the last picture stays
    wait_for_kernel(page)
    _started_again(page)


def _killed(page: Any, folder: Path) -> None:
    """The button of the widget runs its cell again."""
    (kernel,) = kernels()
    kernel.kill()
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=PATIENCE)  # "appears to have died"
    page.wait_for_selector(".zs[data-kernel=dead] .zs-state:visible >> text=/kernel/i", timeout=PATIENCE)
    until_middle(page, [195, 0, 200])  # the last picture stays
    wait_until(lambda: len(kernels()) == 1)
    wait_for_kernel(page)
    page.screenshot(path=str(folder / "dead.png"))
    _started_again(page)


def _started_again(page: Any) -> None:
    page.click(".zs[data-kernel=dead] .zs-state button")
    page.wait_for_selector(".zs[data-kernel=dead]", state="detached", timeout=PATIENCE)
    page.wait_for_selector(".zs[data-status=ready]", timeout=PATIENCE)
    until_middle(page, [120, 0, 200])
    page.locator(".zs input[data-axis=z]").focus()
    page.keyboard.press("End")
    until_middle(page, [195, 0, 200])
