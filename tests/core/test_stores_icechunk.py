"""Icechunk repositories: recognised without the package, read with it, never changed."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import zarrscope
from zarrscope.errors import Unsupported


@pytest.fixture
def lookalike(tmp_path: Path) -> Path:
    for name in ("snapshots", "manifests", "transactions", "refs", "chunks"):
        (tmp_path / "x" / name).mkdir(parents=True)
        (tmp_path / "x" / name / "ABC").write_bytes(b"ICE")
    return tmp_path / "x"


def test_without_the_package_it_is_recognised(lookalike: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrscope.stores.icechunk.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="Icechunk repository, which is read through a package") as caught:
        zarrscope.open(lookalike)
    assert caught.value.advice == "Run: pip install icechunk"


@pytest.mark.parametrize("mode", ["r+", "a", "w-"])
def test_nothing_is_written_into_one(lookalike: Path, mode: str) -> None:
    before = sorted(lookalike.rglob("*"))
    with pytest.raises((Unsupported, zarrscope.ZarrscopeError), match=r"Icechunk|not empty"):
        zarrscope.open(lookalike, mode)  # type: ignore[arg-type]  # the modes of Mode, one by one
    assert sorted(lookalike.rglob("*")) == before


def test_folders_of_other_names_are_none(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    with pytest.raises(zarrscope.NotFound):
        zarrscope.open(tmp_path)


def test_the_branch_main_is_read(tmp_path: Path) -> None:
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = tmp_path / "repository"
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place)))
    session = repository.writable_session("main")
    zarr.group(session.store).create_array("a", shape=(4,), dtype="u2", chunks=(2,))[:] = [1, 2, 3, 4]
    session.commit("first")
    with zarrscope.open(place) as h:
        assert h["/a"][...].tolist() == [1, 2, 3, 4]
        assert [child.name for child in h["/"].children()] == ["a"]
        assert not h.writable
        assert any("Icechunk repository" in warning for warning in h.warnings)
        assert pickle.loads(pickle.dumps(h["/a"]))[...].tolist() == [1, 2, 3, 4]
