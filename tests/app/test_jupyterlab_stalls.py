"""The widget in JupyterLab on a web server that does not answer: it says so, and Stop and Esc end the wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.http_server import WebServer, web_server
from jupyter_hand import make_image, opened_page, run_first_cell, served, until_middle

pytestmark = [pytest.mark.needs("chromium", "jupyterlab"), pytest.mark.slow, pytest.mark.timeout(480)]

STOP = ".zs [data-stop]"
STATUS = ".zs-foot .zs-quiet"
OVER = ".zs [data-view=main] .zs-over"


def test_stop_and_escape_end_a_wait_in_jupyterlab(tmp_path: Path) -> None:
    make_image(tmp_path / "cells.zarr")
    files = {
        file.relative_to(tmp_path / "cells.zarr").as_posix(): file.read_bytes()
        for file in (tmp_path / "cells.zarr").rglob("*")
        if file.is_file()
    }
    errors: list[str] = []
    with web_server(files) as server:
        cell = f"from zarrscope_app.jupyter import explore\nexplore({server.url + '/'!r}, path='/image')"
        with served(tmp_path, [cell]) as lab, opened_page(lab, errors) as page:
            server.gate.clear()
            run_first_cell(page, "opening")
            _stop_the_opening(page, server)
            _stop_the_picture(page, server)
            _stop_another_place(page, server)
            assert not errors


def _told(page: Any, what: str) -> None:
    """Waits until the status names the pending request, and a button to stop it is visible."""
    page.wait_for_selector(f"{STATUS} >> text=/Waiting [0-9]+ s for {what}.* from 127[.]0[.]0[.]1/")
    page.wait_for_selector(f"{STOP}:text-is('Stop')", state="visible")


def _stop_the_opening(page: Any, server: WebServer) -> None:
    _told(page, "zarr.json")
    before = server.closed_early
    page.click(STOP)
    page.wait_for_selector(".zs-error-bar :text('Stopped after')")
    page.wait_for_selector(STOP, state="hidden")
    assert server.wait_closed(before + 1), "the request does not go on"
    server.gate.set()
    page.click(".zs-error-bar button:text('Retry')")
    page.wait_for_selector(".zs[data-status=ready]")
    until_middle(page, [120, 0, 200])


def _stop_the_picture(page: Any, server: WebServer) -> None:
    """Presses Esc while the slider has the focus, and again while the whole widget has it."""
    server.gate.clear()
    page.locator(".zs input[data-axis=z]").focus()
    page.keyboard.press("End")
    _told(page, ".*c.[01].7")
    before = server.closed_early
    page.keyboard.press("Escape")
    page.wait_for_selector(f"{OVER} >> text=/Stopped after/")
    page.wait_for_selector(STOP, state="hidden")
    assert server.wait_closed(before + 1), "the requests do not go on"
    page.locator(".zs").focus()
    page.keyboard.press("Home")
    _told(page, ".*c.[01].0")
    page.keyboard.press("Escape")
    page.wait_for_selector(f"{OVER} >> text=/Stopped after/")
    server.gate.set()
    page.keyboard.press("Shift+U")
    until_middle(page, [20, 0, 200])


def _stop_another_place(page: Any, server: WebServer) -> None:
    """Opens a second address that does not answer; the first hierarchy still shows its picture."""
    server.gate.clear()
    page.click(".zs [data-command=add]")
    page.locator(".zs-side input:not([type=search])").fill(f"{server.url}/image")
    page.keyboard.press("Enter")
    _told(page, "zarr.json")
    page.click(STOP)
    page.wait_for_selector(".zs-error-bar :text('Stopped after')")
    server.gate.set()
    page.click(".zs [data-command=close-place]")
    page.wait_for_selector(".zs[data-status=ready]")
    until_middle(page, [20, 0, 200])
