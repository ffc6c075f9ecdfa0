"""Loads, before the event loop runs, modules and tables that would otherwise be loaded while the first screen is drawn.

Each of them takes 4 to 8 ms, in which no key is handled if the event loop runs already.
"""

from __future__ import annotations

from importlib import import_module

from rich.cells import cell_len

from zarrscope.errors.visible import visible

MODULES = ("textual.scrollbar", "textual.layouts.factory")
"""Modules that Textual imports when it first needs a scrollbar or a layout."""


def load_early() -> None:
    """Loads the modules, the widths of characters, and the pattern of characters that control a terminal."""
    for module in MODULES:
        import_module(module)
    cell_len(visible("…"))
