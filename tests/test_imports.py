"""Importing stays cheap and clean: engine and presenters pull in no toolkit, `import zarrscope` next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import machine

TOOLKITS = frozenset(
    [
        "qtpy",
        "PyQt6",
        "PyQt5",
        "PySide6",
        "pyqtgraph",
        "superqt",
        "cmap",
        "napari",
        "npe2",
        "vispy",
        "textual",
        "textual_image",
        "anywidget",
        "ipywidgets",
        "IPython",
        "traitlets",
        "zarr",
        "tensorstore",
        "matplotlib",
        "tkinter",
    ]
)
HEAVY = frozenset(
    ["numcodecs", "fsspec", "aiohttp", "zstandard", "isal", "deflate", "rich", "click", "asyncio", "dask"]
)

WALK = """
import importlib, json, pkgutil, sys
def names(package):
    yield package
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
        if found.ispkg:
            yield from names(found.name)
        else:
            yield found.name
for package in sys.argv[1:]:
    done = []
    for name in names(package):
        importlib.import_module(name)
        done.append(name)
    print(json.dumps([done, sorted({m.partition(".")[0] for m in sys.modules})]))
"""


def _imported(*packages: str) -> list[tuple[list[str], set[str]]]:
    run = subprocess.run(
        [sys.executable, "-c", WALK, *packages], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    return [(done, set(tops)) for done, tops in map(json.loads, run.stdout.splitlines())]


@pytest.mark.parametrize("package", ["zarrscope", "zarrscope_app.presenters", "zarrscope_resources"])
def test_importing_every_module_pulls_in_no_toolkit(package: str) -> None:
    [(modules, tops)] = _imported(package)
    assert package in modules
    assert not tops & TOOLKITS


def test_the_walk_would_notice_a_toolkit() -> None:
    [(_, tops)] = _imported("textual.widgets")
    assert "textual" in tops & TOOLKITS


def test_importing_the_engine_is_cheap() -> None:
    code = "import sys, zarrscope; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    tops = set(run.stdout.split())
    assert "zarrscope" in tops
    assert not tops & (HEAVY | TOOLKITS)


def test_the_import_rules_name_every_module() -> None:
    """lint-imports runs in packaging/check; here: its contracts are exhaustive, so that a new file must get a floor."""
    import tomllib

    with open(machine.ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layered = {c["containers"][0]: c for c in contracts if c["type"] == "layers"}
    assert set(layered) == {"zarrscope", "zarrscope_app"}
    assert all(contract["exhaustive"] for contract in layered.values())
