"""A notebook that nbconvert ran and saved shows picture, tree and chunks without a kernel, also where a page allows few
tags."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope

for package in ("anywidget", "nbconvert", "ipykernel"):
    pytest.importorskip(package, reason="the notebook's own tools are not installed")
Image = pytest.importorskip("PIL.Image")
bleach = pytest.importorskip("bleach")
nbformat = pytest.importorskip("nbformat")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]


ALLOWED = {
    "a",
    "b",
    "br",
    "code",
    "div",
    "em",
    "i",
    "img",
    "li",
    "pre",
    "span",
    "strong",
    "table",
    "td",
    "th",
    "tr",
    "ul",
}
"""The tags of a page that allows more than nbconvert with sanitize_html, and neither styles nor drawings, as GitHub."""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook that was run, and shows an array of 64 × 96 with attributes."""
    folder = tmp_path_factory.mktemp("saved")
    place = folder / "cells.zarr"
    h = zarrscope.open(str(place), "w-")
    rows, columns = np.mgrid[:64, :96]
    array = h.create_array("/group/plane", shape=(64, 96), dtype="u1", chunks=(32, 32), attributes={"unit": "µm"})
    array[...] = (2 * rows + columns) % 251
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    lines = [
        "from zarrscope_app.jupyter import explore, widget",
        "widget.STILL_SECONDS = 60  # a busy machine may take longer than a person waits",
        f"shown = explore({str(place)!r})",
        "shown.path = '/group/plane'",
    ]
    source = "\n".join([*lines, "shown"])
    made = {
        "cells": [{**cell, "id": "a", "source": [source]}],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (folder / "n.ipynb").write_text(json.dumps(made))
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(folder / name.lower()) for name in places}}
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "notebook", "--inplace", "--execute", "n.ipynb"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return nbformat.read(folder / "n.ipynb", as_version=4)


def exported(notebook: Any, exporter: str, **options: Any) -> str:
    from nbconvert import exporters

    text: str = getattr(exporters, exporter)(**options).from_notebook_node(notebook)[0]
    return text


class Page(HTMLParser):
    """The visible text of the outputs of a page, and its pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.pictures, self._tag = "", list[Any](), ""
        self.feed(html[html.index('class="jp-Cell-outputWrapper"') :] if "jp-Cell-outputWrapper" in html else html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        source = str(dict(attrs).get("src", ""))
        if tag == "img" and source.startswith("data:image/png"):
            packed = "".join(source.partition(",")[2].split())
            self.pictures.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(packed))).convert("L")))

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        self.text += data if self._tag not in ("script", "style") else ""


def readable(html: str) -> None:
    """Asserts that a page has the picture, the tree and the table, and no code."""
    page = Page(html)
    (picture,) = page.pictures
    assert picture.shape[1] / picture.shape[0] == pytest.approx(96 / 64, abs=0.02)
    assert picture.std() > 20, "it is the picture, not a grey area"
    for part in (
        "cells.zarr",
        "group",
        "plane",
        "64 × 96",
        "32 × 32  in a grid of 2 × 3",
        '"unit": "µm"',
        "A still picture",
    ):
        assert part in page.text, part
    assert [sign for sign in ("</", "<div", "<svg", "<img", "base64", "style=", "<details") if sign in page.text] == []


def test_nbconvert_shows_picture_tree_and_chunks(notebook: Any) -> None:
    html = exported(notebook, "HTMLExporter")
    readable(html)
    assert "data:image/svg+xml" in html, "chunks are drawn"


def test_a_page_of_nbconvert_that_is_sanitized_has_no_code(notebook: Any) -> None:
    readable(exported(notebook, "HTMLExporter", sanitize_html=True))


def test_a_page_that_allows_few_tags_and_no_styles_has_no_code(notebook: Any) -> None:
    html = exported(notebook, "HTMLExporter")
    outputs = re.sub(
        r"<(script|style)\b.*?</\1>", "", html[html.index("<main") : html.rindex("</main>") + 7], flags=re.S
    )
    cleaned = bleach.clean(
        outputs, tags=ALLOWED, attributes={"img": ["src", "alt"]}, protocols=["http", "https", "data"]
    )
    readable(re.sub(r"&lt;/?main.*?&gt;", "", cleaned))


def test_a_notebook_in_markdown_has_picture_and_text(notebook: Any, tmp_path: Path) -> None:
    """Of an output that has no HTML, the text is shown."""
    (text,) = [
        output.data["text/plain"]
        for output in notebook.cells[0].outputs
        if "zs-still" in output.data.get("text/html", "")
    ]
    for part in ("cells.zarr", "plane", "A still picture", "zarrscope.open("):
        assert part in text
    assert "![png]" in exported(notebook, "MarkdownExporter")
