"""A notebook that nbconvert ran and saved as a page shows picture, tree and chunk map without a kernel."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope

for package in ("anywidget", "nbconvert", "ipykernel"):
    pytest.importorskip(package, reason="the notebook's own tools are not installed")
Image = pytest.importorskip("PIL.Image")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]


def test_nbconvert_shows_picture_tree_and_chunks(tmp_path: Path) -> None:
    place = tmp_path / "cells.zarr"
    h = zarrscope.open(str(place), "w-")
    rows, columns = np.mgrid[:64, :96]
    h.create_array("/group/plane", shape=(64, 96), dtype="u1", chunks=(32, 32))[...] = (2 * rows + columns) % 251
    cell: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    lines = [
        "from zarrscope_app.jupyter import explore, widget",
        "widget.STILL_SECONDS = 60  # a busy machine may take longer than a person waits",
        f"shown = explore({str(place)!r})",
        "shown.path = '/group/plane'",
    ]
    source = "\n".join([*lines, "shown"])
    notebook = {
        "cells": [{**cell, "id": "a", "source": [source]}],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook))
    places = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(tmp_path / name.lower()) for name in places}}
    done = subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "n.ipynb"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "n.html").read_text(encoding="utf-8")
    (still,) = re.findall(r'<div class="zs-still">.*?A still picture.*?</div>', html, re.S)
    data = re.search(r'src="data:image/(?:webp|png);base64,([^"]+)"', still)
    assert data is not None
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(data[1]))).convert("L"))
    assert picture.shape[1] / picture.shape[0] == pytest.approx(96 / 64, abs=0.02)
    assert picture.std() > 20, "it is the picture, not a grey area"
    (tree,) = re.findall(r"<pre[^>]*>(.*?)</pre>", still, re.S)
    assert [name for name in ("cells.zarr", "group", "plane") if name not in unescape(tree)] == []
    assert "<svg" in still, "chunks are drawn"
