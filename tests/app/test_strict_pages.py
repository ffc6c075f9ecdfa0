"""The notebook's widget in a page whose Content Security Policy allows no inline style, no data and no other server."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_hand import make_image

pytest.importorskip("anywidget")

import notebook_page
from notebook_page import PAGE, WidgetPage, chromium

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.timeout(240)]

POLICY = "default-src 'self'; script-src 'nonce-ours' blob:; style-src 'nonce-ours'"
LISTENER = """window.refused = [];
document.addEventListener("securitypolicyviolation", (e) => refused.push(e.violatedDirective + " " + e.blockedURI));
"""


def strict_page() -> str:
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = PAGE.replace("<meta charset=utf-8>", f"<meta charset=utf-8>{meta}")
    page = page.replace("<style>", "<style nonce=ours>").replace(' style="width:%(width)dpx"', " data-width=%(width)d")
    return page.replace("<script type=module>", f"<script type=module nonce=ours>\n{LISTENER}")


def test_nothing_is_refused_in_a_page_that_allows_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_image(tmp_path / "cells.zarr")
    monkeypatch.setattr(notebook_page, "PAGE", strict_page())
    with chromium() as browser:
        page = WidgetPage(browser, f"{tmp_path / 'cells.zarr'}/image", 900, 420)
        page.until("'drawn' in document.querySelector('.zs').dataset")
        assert "webp" in page.widget.streams["main"]._kinds, "the page has found out that the browser reads it"
        for tab in ("chunks", "attributes", "image"):
            page.click(f"[data-tab={tab}]")
            page.until(f"document.querySelector('.zs').dataset.tab === '{tab}'")
        assert page.page.evaluate("() => refused") == []
        assert not page.page.locator(".zs-question").is_visible()
        page.page.evaluate("() => { const x = document.createElement('i'); x.setAttribute('style', 'color: red'); }")
        page.wait(lambda: page.page.evaluate("() => refused.length") == 1, "the policy is in force")
        page.close()
