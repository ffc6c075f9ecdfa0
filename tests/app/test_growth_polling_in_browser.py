"""A browser tells the kernel whether the widget is visible, so that stores are looked at only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zarrscope

pytest.importorskip("anywidget")


@pytest.mark.needs("chromium")
@pytest.mark.timeout(240)
def test_a_browser_says_whether_the_widget_is_visible(opened_widget: Any, tmp_path: Path) -> None:
    with zarrscope.open(tmp_path / "x.zarr", "w-") as h:
        h.create_array("/a", shape=(2, 4), dtype="u1", chunks=(1, 4))[...] = 1
    page = opened_widget(tmp_path / "x.zarr")
    looking = page.widget.polling
    page.wait(lambda: looking.running, "the widget is visible")
    page.page.evaluate("() => { document.querySelector('.zs').style.display = 'none' }")
    page.wait(lambda: not looking.running, "the widget is hidden")
    page.page.evaluate("() => { document.querySelector('.zs').style.display = '' }")
    page.wait(lambda: looking.running, "the widget is visible again")
