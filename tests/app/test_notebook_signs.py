"""The histograms of channels and the signs of severities in the notebook's widget, by their pixels in Chromium."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.slides import image

pytest.importorskip("anywidget")
pytest.importorskip("PIL")

from PIL import Image

from notebook_page import WidgetPage
from zarrscope_app.presenters.differences import COMPARED
from zarrscope_app.presenters.problem_rows import SIGNS

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]
Shown = Callable[..., WidgetPage]

THEMES = {"light": ("#ffffff", "#212121"), "dark": ("#111111", "#e0e0e0")}
"""The background and the ink of a theme of JupyterLab."""

BARS = (
    "(number, part) => { const c = document.querySelector(`[data-strip='${number}']`), g = c.getContext('2d');"
    " return Array.from({ length: c.width }, (_, x) => {"
    " const d = g.getImageData(x, 0, 1, c.height).data; let full = 0;"
    " for (let y = 0; y < c.height - 5; y++) full += part === 'bar' ? d[4 * y + 3] > 100 && d[4 * y + 3] < 200"
    " : d[4 * y + 3] === 255; return full; }); }"
)
"""The pixels of each column of a strip that belong to a bar, or those that belong to a handle, above the gradient."""


def _columns(page: WidgetPage, number: int, part: str) -> np.ndarray[Any, Any]:
    return np.array(page.page.evaluate(f"([number, part]) => ({BARS})(number, part)", [number, part]))


def test_the_histogram_has_a_bar_for_each_value_and_a_handle_for_each_limit(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI", "GFP"))
    with zarrscope.open(str(tmp_path / "a.zarr"), "r+") as h:
        for level, side in (("/0", 16), ("/1", 8)):
            values = np.full((2, 2, side, side), 50, "u1")
            values[:, :, :, side // 4 :] = 180  # three quarters of the plane
            array = h[level]
            assert isinstance(array, zarrscope.Array)
            array[...] = values
    page = widget_page(tmp_path / "a.zarr", 900, 420)
    page.wait(lambda: all(any(c.histogram) for c in page.session.slice.state.channels), "the histograms")
    page.until("document.querySelectorAll('[data-strip]').length === 2")
    page.wait(lambda: _columns(page, 0, "bar").any() and _columns(page, 1, "bar").any(), "the bars")

    bars, handles = _columns(page, 0, "bar"), _columns(page, 0, "handle")
    channel = page.session.slice.state.channels[0]

    def place(value: float) -> int:
        return int((value - channel.low) / (channel.high - channel.low) * len(bars))

    few, many = bars[place(50) - 2 : place(50) + 6].max(), bars[place(180) - 2 : place(180) + 6].max()
    assert many > few > 0
    assert not bars[place(60) + 4 : place(175) - 4].any(), "between the two values there is none"
    assert len(np.unique(np.flatnonzero(handles > 20) // 4)) == 2, "two handles, as tall as the strip"
    assert handles[place(200) - 2 : place(200) + 2].max() > 20, "the upper limit that the file states"

    # A handle follows the mouse, and its limit follows the handle
    box = page.page.locator("[data-strip='0']").bounding_box()
    y = box["y"] + box["height"] / 2
    page.page.mouse.move(box["x"] + box["width"] * 200 / 255, y)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=3)
    page.page.mouse.up()
    page.wait(lambda: abs((page.session.slice.state.channels[0].hi or 0) - 127.5) < 3, "the limit in the middle")
    page.wait(lambda: _columns(page, 0, "handle")[len(bars) // 2 - 3 : len(bars) // 2 + 3].max() > 20, "the handle")
    page.wait(lambda: _columns(page, 0, "handle")[place(200) - 2 : place(200) + 2].max() < 20, "none where it was")


def test_a_hidden_channel_is_measured_when_its_strip_comes_into_view(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("one", "two", "three", "four"))  # three are visible
    page = widget_page(tmp_path / "a.zarr", 900, 250)
    page.wait(lambda: all(page.session.slice.state.channels[i].histogram for i in range(3)), "the visible ones")
    page.until("!!document.querySelector('[data-strip=\"3\"]')")
    assert not page.session.slice.state.channels[3].histogram
    page.page.evaluate("() => document.querySelector('[data-strip=\"3\"]').scrollIntoView()")
    page.wait(lambda: _columns(page, 3, "bar").any(), "the bars of the hidden channel")


def _sign(page: WidgetPage, icon: str) -> np.ndarray[Any, Any]:
    """The pixels of a sign as they stand on the screen."""
    page.page.locator(f".zs-problem .sv.{icon}").first.scroll_into_view_if_needed()
    shot = page.page.locator(f".zs-problem .sv.{icon}").first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB"), "f4")


def _luminance(color: np.ndarray[Any, Any]) -> float:
    part = color / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _strongest(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The colour that is farthest from the background, which is the colour of the corner."""
    away = np.abs(pixels - pixels[0, 0]).sum(-1)
    found: np.ndarray[Any, Any] = pixels.reshape(-1, 3)[away.argmax()]
    return found


def _paint(page: WidgetPage, theme: Mapping[str, str]) -> None:
    page.page.evaluate(
        "(theme) => { for (const [name, value] of Object.entries(theme))"
        " document.documentElement.style.setProperty(name, value); }",
        dict(theme),
    )


def test_severities_differ_in_shape_and_colour_in_both_themes(widget_page: Shown, tmp_path: Path) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    image(tmp_path / "b.zarr", ("GFP",))
    (tmp_path / "a.zarr/0/c/0/0/0/0").write_bytes(b"x")  # an error; the level's missing type is a warning
    page = widget_page(tmp_path / "a.zarr", 700, 420)
    page.click("[data-tab=problems]")
    page.click("[data-command=check]")
    page.until("!!document.querySelector('.sv.error') && !!document.querySelector('.sv.warning')")
    page.click(".zs-compare input:not([type=checkbox])")
    page.type(str(tmp_path / "b.zarr"))
    page.click("[data-command=compare]")
    page.until("!!document.querySelector('.sv.difference')")
    for severity in ("error", "warning", COMPARED):
        sign = SIGNS[severity]
        which = json.dumps(f".sv.{sign.icon}")
        page.until(f"document.querySelector({which}).textContent === {json.dumps(sign.character)}")
        page.until(f"document.querySelector({which}).getAttribute('aria-label') === {json.dumps(sign.name)}")
    for paper, ink in THEMES.values():
        _paint(page, {"--jp-layout-color1": paper, "--jp-ui-font-color1": ink, "--jp-ui-font-color2": ink})
        shown = {name: _sign(page, SIGNS[name].icon) for name in ("error", "warning", COMPARED)}
        ground = np.array([int(paper[i : i + 2], 16) for i in (1, 3, 5)], "f4")
        for name, pixels in shown.items():
            assert np.abs(pixels[0, 0] - ground).max() < 3, f"the sign {name} stands on the paper of the theme"
            light, dark = sorted((_luminance(_strongest(pixels)), _luminance(ground)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, f"{name} is visible on {paper}"
        red, orange = _strongest(shown["error"]), _strongest(shown["warning"])
        assert red[0] > red[1] + 60, "an error is red"
        assert red[0] > red[2] + 60, "an error is red"
        assert orange[1] > red[1] + 25, "a warning is more yellow than an error"
        shapes = [np.abs(pixels - pixels[0, 0]).sum(-1) > 60 for pixels in shown.values()]
        high, wide = (min(shape.shape[axis] for shape in shapes) for axis in (0, 1))
        for one, other in ((0, 1), (0, 2), (1, 2)):
            differ = shapes[one][:high, :wide] ^ shapes[other][:high, :wide]
            assert differ.sum() > 15, "no two signs have the same shape"
