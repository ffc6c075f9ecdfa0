"""Imports stay few and layered: engine and presenters import no toolkit, and `import zarrscope` hardly anything."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

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


def test_a_listing_loads_nothing_that_reads_chunks() -> None:
    code = (
        "import sys, zarrscope\n"
        "from zarrscope.stores.memory import MemoryStore\n"
        "h = zarrscope.open(MemoryStore(), 'w-'); h.create_group('/g')\n"
        "print([child.name for child in h['/'].children()])\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('zarrscope.chunkio', 'zarrscope.codecs'))))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["['g']", ""]


def test_the_import_rules_name_every_module() -> None:
    """packaging/check runs lint-imports; this test checks that its contracts are exhaustive, so that each new file gets
    a layer."""
    import tomllib

    with open(machine.ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layered = {c["containers"][0]: c for c in contracts if c["type"] == "layers"}
    assert set(layered) == {"zarrscope", "zarrscope_app", "zarrscope_app.presenters"}
    assert all(contract["exhaustive"] for contract in layered.values())


@pytest.mark.parametrize("package", ["zarrscope", "zarrscope_app"])
def test_no_modules_import_one_another_in_a_circle(package: str) -> None:
    """Imports within functions and imports for types count as well."""
    imports = _imports(package)
    left = dict(imports)
    while free := [
        name
        for name, needs in left.items()
        if not needs & left.keys() or not any(name in others for others in left.values())
    ]:
        for name in free:
            del left[name]
    assert not left, {name: sorted(needs & left.keys()) for name, needs in left.items()}


def _imports(package: str) -> dict[str, set[str]]:
    """Maps each module of a package to the modules of the package that it imports, anywhere in its text."""
    root = Path(importlib.import_module(package).__file__ or "").parent
    files = {}
    for path in root.rglob("*.py"):
        name = ".".join([package, *path.relative_to(root).with_suffix("").parts]).removesuffix(".__init__")
        files[name] = path
    found: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                above = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join(above[: len(above) - node.level + 1]) + "." if node.level else ""
                base = (base + (node.module or "")).rstrip(".")
                targets = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base for alias in node.names]
            else:
                continue
            found[name] |= {target for target in targets if target in files and target != name}
    return found
