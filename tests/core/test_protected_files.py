"""Changes of files and folders that the system protects, by a flag of the file (chattr, chflags) or by their mode."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from machine import keeps_modes
from zarrscope.errors import ReadOnly
from zarrscope.stores.local.rename import move_folder
from zarrscope.stores.local.store import LocalStore


@pytest.mark.parametrize(
    "act",
    [lambda s: s.erase("a/zarr.json"), lambda s: move_folder(f"{s._base}/a", f"{s._base}/b", store="s", prefix="b")],
    ids=["removal", "move"],
)
@pytest.mark.parametrize(("number", "way"), [(errno.EPERM, "Remove the protection"), (errno.EACCES, "Ask for")])
def test_who_changes_a_protected_file_reads_what_protects_it(
    act: Callable[[LocalStore], object], number: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = LocalStore(tmp_path, writable=True)
    store.set("a/zarr.json", b"{}")

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    for name in ("unlink", "rename"):
        monkeypatch.setattr(os, name, refused)
    with pytest.raises(ReadOnly) as caught:
        act(store)
    assert str(caught.value.advice).startswith(f"Nothing was changed. {way}")
    assert "the right to write there, or " in str(caught.value.advice)
    monkeypatch.undo()
    assert store.get("a/zarr.json") == b"{}"


@pytest.mark.skipif(not keeps_modes(), reason="files have no modes here")
def test_saving_and_removing_give_the_same_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(tmp_path, writable=True)
    store.set("a", b"{}")
    advice = []
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # the system answers so for an immutable file
    with pytest.raises(ReadOnly) as caught:
        store.set("a", b"[]")
    advice.append(caught.value.advice)

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(ReadOnly) as caught:
        store.erase("a")
    assert [caught.value.advice] == advice
