"""A pytest plug-in (`-p systems.plugin`) that shows the simulated system to test modules too, in os and sys."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from _pytest.assertion.rewrite import AssertionRewritingHook

from systems import forced


class _Hook(AssertionRewritingHook):
    def exec_module(self, module: ModuleType) -> None:
        if forced.installed is not None and not module.__name__.endswith("conftest"):
            module.__dict__["__builtins__"] = forced.builtins_of_tests()
        super().exec_module(module)


def pytest_configure(config: Any) -> None:
    for finder in sys.meta_path:
        if isinstance(finder, AssertionRewritingHook):
            finder.__class__ = _Hook
