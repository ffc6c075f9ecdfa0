"""Runs a Jupyter server and opens its pages with the widget in Chromium; records the hosts of all requests."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

import machine
import servers
import zarrscope

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
CONNECTED = (
    "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === 'connected'"
)
PATIENCE = 120_000
"""Milliseconds for steps that start a kernel; all others are much faster."""

SERVER_STARTS = 240
"""Seconds after which a Jupyter server that does not answer counts as failed."""


def make_image(folder: Path, step: int = 25) -> None:
    """Makes an OME-Zarr 0.5 image of 2 channels × 8 planes of 64 × 64; plane z is 20 + `step` z in the first
    channel."""
    hierarchy = zarrscope.open(str(folder), "w-")
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "zyx")]
    scale = [{"type": "scale", "scale": [1, 0.5, 0.1, 0.1]}]
    window = {"start": 0, "end": 255, "min": 0, "max": 255}
    channels = [{"label": label, "color": color, "active": True, "window": window}
                for label, color in (("red one", "FF0000"), ("blue one", "0000FF"))]  # fmt: skip
    multiscales = [{"axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}]
    ome = {"version": "0.5", "multiscales": multiscales, "omero": {"channels": channels}}
    hierarchy.create_group("/image", {"exposure": 12.50, "operator": "Ada", "ome": ome})
    array = hierarchy.create_array("/image/0", shape=(2, 8, 64, 64), dtype="uint8", chunks=(1, 1, 32, 32))
    planes = np.stack([20 + step * np.arange(8), np.full(8, 200)]).astype("uint8")
    array[...] = np.broadcast_to(planes[:, :, None, None], array.shape)


@contextlib.contextmanager
def served(tmp_path: Path, cells: Sequence[str], *, page: str = "lab/tree") -> Iterator[str]:
    """The address of a notebook with these cells on a server of its own, which ends in any case. `page`: that of
    JupyterLab ("lab/tree") or of Notebook 7 ("notebooks")."""
    work = tmp_path / "work"
    work.mkdir()
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "id": f"c{at}", "metadata": {}, "outputs": [],
         "source": source.splitlines(keepends=True)}
        for at, source in enumerate(cells)
    ]  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (work / "n.ipynb").write_text(json.dumps(notebook))
    port = servers.free_port()
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(tmp_path / name.lower()) for name in places}}
    module, name = ("jupyterlab", "LabApp") if page == "lab/tree" else ("notebook", "JupyterNotebookApp")
    command = [sys.executable, "-m", module, "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={work}",
               "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
               f"--{name}.expose_app_in_browser=True"]  # fmt: skip
    with servers.running(
        command, servers.answers_at(f"http://127.0.0.1:{port}/api"), SERVER_STARTS, cwd=work, env=environment
    ):
        yield f"http://127.0.0.1:{port}/{page}/n.ipynb"


@contextlib.contextmanager
def opened_page(url: str, errors: list[str], **options: Any) -> Iterator[Any]:
    """A page of Chromium with the notebook and its kernel. Errors of the page, and its requests to other machines, are
    added to `errors`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=machine.chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1300, "height": 900}, **options)
            page.set_default_timeout(15_000)
            page.on("request", lambda request: _note(errors, request.url))
            page.on("console", lambda said: _complaint(errors, said))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(url)
            wait_for_kernel(page)
            yield page
        except Exception as error:
            error.add_note(f"The page says: {page.inner_text('body')[-3000:]}\nand: {errors}")
            raise
        finally:
            browser.close()


def wait_for_kernel(page: Any) -> None:
    """Waits until the kernel of the notebook is idle and connected."""
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=PATIENCE)
    page.wait_for_function(CONNECTED, timeout=PATIENCE)


def run_first_cell(page: Any, status: str = "ready") -> None:
    """Runs the first cell as a user does, until the widget has this status. JupyterLab sometimes drops a run just after
    its kernel has started, so that the prompt stays empty or shows a star: then the cell is run again. If JupyterLab
    asks for a kernel, it is chosen."""
    from playwright.sync_api import TimeoutError as Late

    asked = page.locator(".jp-Dialog select")
    for attempt in range(6):
        try:
            if asked.count():
                asked.select_option(label="Python 3 (ipykernel)")
                page.locator(".jp-Dialog .jp-mod-accept").click()
            page.locator(".jp-CodeCell .cm-content").first.click(timeout=5000)
            page.keyboard.press("Shift+Enter")
            page.wait_for_function(
                "() => /[*0-9]/.test(document.querySelector('.jp-CodeCell .jp-InputPrompt').textContent)", timeout=3000
            )
            page.wait_for_selector(f".zs[data-status={status}]", timeout=40_000)
            return
        except Late:
            if attempt == 5:
                raise


def _complaint(errors: list[str], said: Any) -> None:
    """Records an error of the page, except that JupyterLab finds no language server."""
    where = (said.location or {}).get("url", "")
    if said.type == "error" and "/lsp/" not in where:
        errors.append(f"{said.text} {where}")


def _note(errors: list[str], url: str) -> None:
    where = urlsplit(url)
    if where.scheme not in ("data", "blob") and where.hostname != "127.0.0.1":
        errors.append(f"asked of another machine: {url}")


def choose_the_image(page: Any) -> None:
    """Collapses and expands the image in the tree, and selects it."""
    page.wait_for_selector(".zs-row[data-path='/image/0']")  # an only child is expanded automatically
    page.click(".zs-row[data-path='/image'] .tw")
    page.wait_for_selector(".zs-row[data-path='/image/0']", state="detached")
    page.click(".zs-row[data-path='/image'] .tw")
    page.wait_for_selector(".zs-row[data-path='/image/0']")
    page.click(".zs-row[data-path='/image'] .nm")


def keys_of_controls_stay_in_the_widget(page: Any) -> None:
    """With the focus on a slider, a check box, a button or the tree, no key is a command of the notebook: `a` inserts
    no cell, Space does not scroll, arrow keys move the slider. Ctrl+S saves the notebook."""
    count = "() => window.jupyterapp.shell.currentWidget.content.model.cells.length"
    before = page.evaluate(count)
    slider = page.locator(".zs input[data-axis=z]")
    for control in (slider, page.locator(".zs-channel input[type=checkbox]").first,
                    page.locator(".zs [data-command=add]"), page.locator(".zs-tree")):  # fmt: skip
        control.focus()
        page.keyboard.press("a")
        page.keyboard.press("b")
    slider.focus()
    page.keyboard.press("Home")
    for index in ("1", "2"):
        page.keyboard.press("ArrowRight")
        page.wait_for_function(
            "(index) => document.querySelector('.zs input[data-field=\"index:z\"]').value === index", arg=index
        )
    assert page.evaluate(count) == before
    with page.expect_request(lambda request: request.method == "PUT" and "/api/contents/" in request.url):
        page.keyboard.press("Control+s")


def middle(page: Any) -> list[int]:
    """The colour of the centre of the canvas."""
    found: list[int] = page.evaluate(
        "() => { const c = document.querySelector('.zs [data-view=main] canvas');"
        " return [...c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data].slice(0, 3); }"
    )
    return found


def until_middle(page: Any, color: list[int]) -> None:
    script = (
        "(wanted) => { const c = document.querySelector('.zs [data-view=main] canvas');"
        " if (!c || !c.width) return false;"
        " const got = c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data;"
        " return wanted.every((v, i) => Math.abs(v - got[i]) <= 2); }"
    )
    try:
        page.wait_for_function(script, arg=color)
    except Exception as error:
        error.add_note(f"the middle of the canvas is {middle(page)}, not {color}")
        raise


def kernels() -> list[Any]:
    import psutil

    children = psutil.Process().children(recursive=True)
    return [child for child in children if any("ipykernel" in part for part in child.cmdline())]


def wait_until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def save_exposure(page: Any, document: Path) -> None:
    """Types 0.108 for the exposure among all fields, and saves; nothing is written before that."""
    before = document.read_bytes()
    page.click(".zs [data-way=fields]")
    field = page.locator(".zs input[data-pointer='/exposure']")
    field.fill("0.108")
    field.press("Enter")
    page.wait_for_selector(".zs-diff .add")
    assert document.read_bytes() == before, "nothing is written before Save"
    page.click(".zs [data-command=save]")
    page.wait_for_selector(".zs-diff", state="detached")
    wait_until(lambda: b"0.108" in document.read_bytes())
