"""The notebook in a real JupyterLab, in Chromium: what a person sees and does, and that nothing leaves this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import machine
import zarrscope

pytestmark = [pytest.mark.needs("chromium", "jupyterlab"), pytest.mark.slow, pytest.mark.timeout(480)]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
CONNECTED = (
    "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === 'connected'"
)
PATIENCE = 120_000
"""Milliseconds for what needs a kernel to start; everything else is there long before."""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """OME-Zarr 0.5, 2 channels × 8 planes of 64 × 64; plane z is 20 + 25 z in the first channel."""
    folder = tmp_path / "cells.zarr"
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
    planes = np.stack([20 + 25 * np.arange(8), np.full(8, 200)]).astype("uint8")
    array[...] = np.broadcast_to(planes[:, :, None, None], array.shape)
    return folder


@pytest.fixture
def lab(tmp_path: Path, image: Path) -> Iterator[str]:
    """The address of a notebook in a server of its own, which ends with the test whatever happens."""
    work = tmp_path / "work"
    work.mkdir()
    lines = ["from zarrscope_app.jupyter import explore\n", f"explore({str(image)!r}, editable=True)"]
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "a",
        "metadata": {},
        "outputs": [],
        "source": lines,
    }
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (work / "n.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(tmp_path / name.lower()) for name in places}}
    command = [sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={work}",
               "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
               "--LabApp.expose_app_in_browser=True"]  # fmt: skip
    log = tmp_path / "server.log"
    with (
        log.open("w") as out,
        subprocess.Popen(command, env=environment, cwd=work, stdout=out, stderr=subprocess.STDOUT) as server,
    ):
        try:
            _until_answers(f"http://127.0.0.1:{port}/api", server, log)
            yield f"http://127.0.0.1:{port}/lab/tree/n.ipynb"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def _until_answers(url: str, server: subprocess.Popen[Any], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


def test_a_person_explores_and_edits_in_jupyterlab(lab: str, image: Path) -> None:
    from playwright.sync_api import sync_playwright

    elsewhere: list[str] = []
    errors: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=machine.chromium(), args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1300, "height": 900})
            page.set_default_timeout(15_000)
            page.on("request", lambda request: _note(elsewhere, request.url))
            page.on("console", lambda said: _complaint(errors, said))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto(lab)
            page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=PATIENCE)
            page.wait_for_function(CONNECTED, timeout=PATIENCE)
            _run_first_cell(page)
            _explore(page)
            _fit_into_little_room(page)
            _keys_belong_to_what_has_the_focus(page)
            _edit(page, image)
            assert not errors
            _lose_the_kernel(page, image)
            errors = [text for text in errors if "404" not in text]  # JupyterLab asks for the kernel that died
        except Exception as error:
            error.add_note(f"The page says: {page.inner_text('body')[-3000:]}\nand: {errors}")
            raise
        finally:
            browser.close()
    assert not elsewhere, f"asked of other machines: {elsewhere}"
    assert not errors


def _run_first_cell(page: Any) -> None:
    """As a person does: JupyterLab now and then drops what is run in the moment after its kernel has come, and the
    prompt stays empty or the star remains, so it is run again; or it asks which kernel is wanted, so it is told."""
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
            page.wait_for_selector(".zs[data-status=ready]", timeout=40_000)
            return
        except Late:
            if attempt == 5:
                raise


def _complaint(errors: list[str], said: Any) -> None:
    """Keeps an error of the page; not that JupyterLab finds no language server, for which it asks at some moment."""
    where = (said.location or {}).get("url", "")
    if said.type == "error" and "/lsp/" not in where:
        errors.append(f"{said.text} {where}")


def _note(elsewhere: list[str], url: str) -> None:
    where = urlsplit(url)
    if where.scheme not in ("data", "blob") and where.hostname != "127.0.0.1":
        elsewhere.append(url)


def _middle(page: Any) -> list[int]:
    """The colour of the canvas in its middle."""
    found: list[int] = page.evaluate(
        "() => { const c = document.querySelector('.zs [data-view=main] canvas');"
        " return [...c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data].slice(0, 3); }"
    )
    return found


def _until(page: Any, color: list[int]) -> None:
    script = (
        "(wanted) => { const c = document.querySelector('.zs [data-view=main] canvas');"
        " if (!c || !c.width) return false;"
        " const got = c.getContext('2d').getImageData(c.width >> 1, (c.height >> 1) + 3, 1, 1).data;"
        " return wanted.every((v, i) => Math.abs(v - got[i]) <= 2); }"
    )
    try:
        page.wait_for_function(script, arg=color)
    except Exception as error:
        error.add_note(f"the middle of the canvas is {_middle(page)}, not {color}")
        raise


def _explore(page: Any) -> None:
    page.click(".zs-row[data-path='/image'] .tw")
    page.wait_for_selector(".zs-row[data-path='/image/0']")
    page.click(".zs-row[data-path='/image'] .nm")
    page.wait_for_selector(".zs[data-path='/image'][data-tab=image] [data-view=main] canvas")
    _until(page, [120, 0, 200])  # the plane in the middle of the stack comes first

    slider = page.locator(".zs input[data-axis=z]")
    slider.focus()
    page.keyboard.press("End")
    _until(page, [195, 0, 200])
    page.wait_for_function("() => document.querySelector('.zs input[data-field=\"index:z\"]').value === '7'")

    page.locator(".zs-channel input[type=checkbox]").nth(1).click()
    _until(page, [195, 0, 0])
    assert _middle(page)[2] <= 2

    box = page.locator(".zs [data-view=main] canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "() => /z 7 y 3[12] x 3[12]/.test(document.querySelector('.zs .probe').textContent)"
        " && /195/.test(document.querySelector('.zs .probe').textContent)"
    )


def _fit_into_little_room(page: Any) -> None:
    """At 500 x 250 nothing is cut off: there is a picture, and the tabs and the tree's button can be clicked."""
    page.evaluate("() => { const s = document.querySelector('.zs').style; s.width = '500px'; s.height = '250px'; }")
    page.wait_for_selector(".zs[data-narrow='1'][data-short='1']")
    page.wait_for_function(
        "() => { const r = document.querySelector('.zs [data-view=main] canvas').getBoundingClientRect();"
        " return r.width >= 200 && r.height >= 60; }"
    )
    over = page.evaluate(
        "() => { const b = document.querySelector('.zs');"
        " return [b.clientWidth, b.clientHeight, b.scrollWidth - b.clientWidth, b.scrollHeight - b.clientHeight]; }"
    )
    assert 490 <= over[0] <= 500, over
    assert 240 <= over[1] <= 250, over
    assert over[2:] == [0, 0], "something is cut off"
    page.click(".zs [data-tab=info]")
    page.wait_for_selector(".zs[data-tab=info]")
    page.click(".zs [data-tab=image]")
    page.wait_for_selector(".zs[data-tab=image]")
    page.evaluate("() => { const s = document.querySelector('.zs').style; s.width = ''; s.height = '560px'; }")
    page.wait_for_selector(".zs[data-narrow=''][data-short='']")


def _keys_belong_to_what_has_the_focus(page: Any) -> None:
    """In the widget, keys are its own, and the notebook takes none of them for a command."""
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


def _cells(page: Any) -> int:
    """How many cells the notebook has, by its status bar: only those in sight are in the page."""
    found = re.search(r"Cell \d+/(\d+)", page.inner_text("body"))
    assert found is not None
    return int(found[1])


def _edit(page: Any, image: Path) -> None:
    document = image / "image" / "zarr.json"
    before = document.read_bytes()
    others = {file: file.read_bytes() for file in image.rglob("*") if file.is_file() and file != document}
    page.click(".zs [data-tab=attributes]")
    page.wait_for_selector(".zs [data-way=image][aria-pressed=true]")  # what the attributes mean comes first
    page.wait_for_selector(".zs-sections input[data-pointer]")
    assert "[object" not in page.inner_text(".zs-attributes")
    page.click(".zs [data-way=json]")
    page.wait_for_selector(".zs textarea")
    assert json.loads(page.locator(".zs textarea").input_value())["operator"] == "Ada"
    page.click(".zs [data-way=fields]")
    field = page.locator(".zs input[data-pointer='/exposure']")
    field.fill("0.108")
    field.press("Enter")
    page.wait_for_selector(".zs-diff .add")
    assert document.read_bytes() == before, "nothing is written before Save"
    page.click(".zs [data-command=save]")
    page.wait_for_selector(".zs-diff", state="detached")
    assert document.read_bytes() == before.replace(b"12.5", b"0.108")
    assert others == {file: file.read_bytes() for file in image.rglob("*") if file.is_file() and file != document}


def _lose_the_kernel(page: Any, image: Path) -> None:
    """The kernel is killed with an edit that was not saved; the next one offers it."""
    document = image / "image" / "zarr.json"
    before = document.read_bytes()
    field = page.locator(".zs input[data-pointer='/operator']")
    field.fill("Grace")
    field.press("Enter")
    page.wait_for_selector(".zs-diff .add")
    _wait(_is_kept)
    (kernel,) = _kernels()
    kernel.kill()
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=PATIENCE)  # "appears to have died"
    page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=PATIENCE)
    page.wait_for_function(CONNECTED, timeout=PATIENCE)
    page.evaluate("() => document.querySelectorAll('.zs').forEach((old) => old.remove())")
    _run_first_cell(page)
    page.wait_for_selector(".zs-error-bar :text('was not saved')")
    page.click(".zs-error-bar button:text('Put back')")
    page.click(".zs-row[data-path='/image'] .nm")
    page.click(".zs [data-tab=attributes]")
    page.wait_for_selector(".zs-diff .add:has-text('Grace')")
    page.click(".zs [data-way=fields]")
    assert page.locator(".zs input[data-pointer='/operator']").input_value() == "Grace"
    assert document.read_bytes() == before, "nothing is written before Save"
    page.click(".zs [data-command=save]")
    page.wait_for_selector(".zs-diff", state="detached")
    assert document.read_bytes() == before.replace(b"Ada", b"Grace")
    _wait(lambda: not _is_kept())


def _is_kept() -> bool:
    """Whether a file holds the edit that was not saved. Other tests may have left theirs."""
    for file in Path(os.environ["XDG_STATE_HOME"]).rglob("unsaved-*"):
        with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
            if b"Grace" in file.read_bytes():
                return True
    return False


def _kernels() -> list[Any]:
    import psutil

    children = psutil.Process().children(recursive=True)
    return [child for child in children if any("ipykernel" in part for part in child.cmdline())]


def _wait(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE / 1000
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
