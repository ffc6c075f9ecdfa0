"""A folder in the place of a document: its node stays visible, with the fault and the next step."""

from __future__ import annotations

import shlex
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import servers
import zarrscope
from narrowing import as_group
from zarrscope.check.hierarchy import check
from zarrscope.errors import ZarrscopeError
from zarrscope.stores.local.store import LocalStore
from zarrscope.stores.sftp.store import SFTPStore
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.store import Store
from zarrscope.stores.wrappers import PrefixStore
from zarrscope.stores.zip.store import ZipStore

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


def faults(h: zarrscope.Hierarchy, node: str) -> tuple[ZarrscopeError, ZarrscopeError]:
    """The errors of a node in the list of its group, and when it is opened."""
    group = h["/g"]
    assert isinstance(group, zarrscope.Group)
    (child,) = [each for each in group.children() if each.name == node]
    with pytest.raises(zarrscope.Unreadable) as caught:
        h[f"/g/{node}"]
    assert child.error is not None
    return child.error, caught.value


@pytest.mark.parametrize(("dialect", "node", "document"), CASES)
def test_the_node_is_listed_with_its_fault(tmp_path: Path, dialect: str, node: str, document: str) -> None:
    folder = example(tmp_path / "x", dialect, node, document)
    for store in (str(folder), PrefixStore(LocalStore(str(tmp_path)), "x/")):
        h = zarrscope.open(store)
        for error in faults(h, node):
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
    assert [each.name for each in as_group(zarrscope.open(tmp_path / "x")["/"]).children()] == ["zarr.json"]
    assert zarrscope.open(tmp_path / "x")["/zarr.json"].path == "/zarr.json"


@contextmanager
def elsewhere(kind: str, folder: Path) -> Iterator[Store]:
    """The files of a folder through another kind of store."""
    if kind == "zip":
        with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
            for file in folder.rglob("*"):
                if file.is_file():
                    archive.write(file, file.relative_to(folder).as_posix())
        yield ZipStore(str(folder.with_suffix(".zip")))
    elif kind == "ssh":
        near = [sys.executable, "-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[-1]])"]
        command = f"exec {shlex.quote(sys.executable)} -m zarrscope_app serve --stdio"
        store = SSHStore(f"ssh://host{folder}", ssh=near, command=command)
        yield store
        store.close()
    else:
        pytest.importorskip("paramiko")
        made = folder.parent / "sshd"
        made.mkdir()
        with servers.sshd(made) as arguments:
            url = f"sftp://127.0.0.1:{servers.port_of(arguments)}{folder}"
            files = SFTPStore(url, **servers.sftp_options(arguments))
            yield files
            files.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the command of the far side is a POSIX shell's")
@pytest.mark.parametrize(("dialect", "node", "document"), CASES)
@pytest.mark.parametrize("kind", ["zip", "ssh", pytest.param("sftp", marks=pytest.mark.needs("sshd"))])
def test_stores_of_files_elsewhere_tell_it(kind: str, tmp_path: Path, dialect: str, node: str, document: str) -> None:
    folder = example(tmp_path / "x", dialect, node, document)
    (folder / "g" / node / document / "kept").write_bytes(b"")  # an archive holds no empty folder
    with elsewhere(kind, folder) as store:
        h = zarrscope.open(store)
        for error in faults(h, node):
            assert f"There is a folder in the place of the document {document}" in error.message
            assert error.key == f"g/{node}/{document}"
            assert str(error.advice).startswith("Move that folder elsewhere")


def test_a_bucket_tells_it_of_the_root(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    bucket = obstore.store.MemoryStore()
    obstore.put(bucket, "zarr.json/kept", b"")
    with pytest.raises(zarrscope.Unreadable, match=r"in the place of the document zarr\.json"):
        zarrscope.open(bucket)
