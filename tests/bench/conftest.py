"""Fixtures that the tests of the measurements share."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.settings import Settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture
def settings(folder: Path) -> Settings:
    return Settings(folder, rounds=1, quick=True)
