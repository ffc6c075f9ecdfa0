"""A folder in the place of a document: its node stays visible, with the fault and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

import zarrscope
from zarrscope.check.hierarchy import check
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.wrappers import PrefixStore

CASES = [("v3", "a", "zarr.json"), ("v2", "a", ".zarray"), ("v2", "sub", ".zgroup"), ("n5", "a", "attributes.json")]


def example(folder: Path, dialect: str, node: str, document: str) -> Path:
    """A hierarchy in which a folder is in the place of a document of the node /g/`node`."""
    h = zarrscope.open(folder, "w-", dialect=dialect)
    h.create_group("/g")
    for name in ("/g/a", "/g/sub/b"):
        h.create_array(name, shape=(4,), dtype="u1", chunks=(2,))[...] = 1
    place = folder / "g" / node / document
    place.unlink()
    place.mkdir()
    return folder


@pytest.mark.parametrize(("dialect", "node", "document"), CASES)
def test_the_node_is_listed_with_its_fault(tmp_path: Path, dialect: str, node: str, document: str) -> None:
    folder = example(tmp_path / "x", dialect, node, document)
    for store in (str(folder), PrefixStore(LocalStore(str(tmp_path)), "x/")):
        h = zarrscope.open(store)
        group = h["/g"]
        assert isinstance(group, zarrscope.Group)
        (child,) = [each for each in group.children() if each.name == node]
        with pytest.raises(zarrscope.Unreadable) as caught:
            h[f"/g/{node}"]
        for error in (child.error, caught.value):
            assert error is not None
            assert (
                error.message
                == f"There is a folder in the place of the document {document}, so the node cannot be read"
            )
            assert error.advice == f"Move that folder elsewhere, then restore {document} from a copy."
            assert error.key == f"g/{node}/{document}"
        found = [each for each in check(h) if each.path == f"/g/{node}"]
        assert [(each.severity, each.key) for each in found] == [("error", f"g/{node}/{document}")]


@pytest.mark.parametrize("document", ["zarr.json", ".zarray"])
def test_a_folder_in_place_of_the_document_of_the_root_is_told(tmp_path: Path, document: str) -> None:
    (tmp_path / document).mkdir()
    with pytest.raises(zarrscope.Unreadable, match=f"in the place of the document {document}"):
        zarrscope.open(tmp_path)
    zarrscope.open(tmp_path / "inside", "w-").create_array("/a", shape=(4,), dtype="u1")
    told = zarrscope.open(tmp_path).warnings
    assert any(f"in the place of the document {document}" in each for each in told)


def test_a_node_with_the_name_of_a_document_is_no_fault(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path / "x", "w-", dialect="v2")
    h.create_array("/zarr.json", shape=(4,), dtype="u1")
    assert [each.name for each in zarrscope.open(tmp_path / "x")["/"].children()] == ["zarr.json"]
    assert zarrscope.open(tmp_path / "x")["/zarr.json"].path == "/zarr.json"
