"""Conversion into a zip archive, where each write appends a new directory of all entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import zarrscope
from narrowing import as_array
from zarrscope import convert
from zarrscope.convert import ConversionProgress
from zarrscope.stores.memory import MemoryStore
from zarrscope.stores.zip import store as zip_store
from zarrscope.stores.zip import writing
from zarrscope.stores.zip.store import ZipStore

CHUNKS = 400


@pytest.fixture
def source() -> zarrscope.Hierarchy:
    made = zarrscope.open(MemoryStore(), "w-")
    made.create_array("/a", shape=(CHUNKS, 8), dtype="u2", chunks=(1, 8))[...] = np.arange(CHUNKS * 8).reshape(-1, 8)
    return made


@pytest.mark.parametrize("codecs", [None, ["gzip"]], ids=["copied", "encoded"])
def test_chunks_are_gathered(
    codecs: Any, source: zarrscope.Hierarchy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory for each chunk made it quadratic: 4,096 chunks took minutes."""
    appended = []
    append = writing.append_entries

    def counted(*arguments: Any, **how: Any) -> None:
        appended.append(len(arguments[3]))
        append(*arguments, **how)

    monkeypatch.setattr(zip_store, "append_entries", counted)
    target = ZipStore(tmp_path / "made.zip", writable=True)
    result = convert.run(convert.plan(source, target, "v2", codecs=codecs))
    assert result.verified
    assert sum(appended) > CHUNKS
    assert len(appended) < CHUNKS / 10
    target.close()
    with zarr.storage.ZipStore(tmp_path / "made.zip", mode="r") as store:
        theirs = zarr.open_group(store, mode="r")["a"]
        assert isinstance(theirs, zarr.Array)
        assert np.array_equal(np.asarray(theirs[...]), as_array(source["/a"])[...])


def test_a_stopped_one_is_continued(source: zarrscope.Hierarchy, tmp_path: Path) -> None:
    target = ZipStore(tmp_path / "made.zip", writable=True)
    seen: list[ConversionProgress] = []
    stopped = convert.run(
        convert.plan(source, target, "v2"), progress=seen.append, cancelled=lambda: len(seen) > CHUNKS // 2
    )
    assert stopped.cancelled
    target.close()
    target = ZipStore(tmp_path / "made.zip", writable=True)
    result = convert.run(convert.plan(source, target, "v2"))
    assert result.verified
    assert result.kept > 0
    assert as_array(zarrscope.open(target)["/a"])[...].tolist() == as_array(source["/a"])[...].tolist()
    target.close()
