"""Addresses, open hierarchies and objects of other packages as the target of a session and of `explore`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import zarrscope
from narrowing import as_array, not_none
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter import explore, widget
from zarrscope_app.presenters import Session, SessionStatus
from zarrscope_app.presenters.session.opening import target_of


@pytest.fixture
def array() -> Any:
    made = zarr.create_group(zarr.storage.MemoryStore()).create_array("g/a", shape=(4,), chunks=(2,), dtype="i4")
    made[...] = np.arange(4)
    return made


def test_each_leads_to_its_place(array: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "x.zarr")
    assert target_of(place).url == place
    h = zarrscope.open(place, "w-")
    h.create_group("/g")
    assert target_of(h)[:2] == (h.url, "/")
    assert target_of(h["/g"])[:2] == (h.url, "/g")
    assert target_of(h["/g"], "/x").path == "/x"
    assert target_of(zarr.open_group(place)["g"])[:2] == (h.url, "/g")
    assert target_of(array).path == "/g/a"
    assert target_of(array.store).path is None
    with pytest.raises(TypeError, match="int cannot be opened by zarrscope") as refused:
        target_of(3)
    assert refused.value.__suppress_context__, "a notebook would print the sentence twice"


def test_the_mapping_of_a_memory_store_of_zarr_python_leads_to_the_store() -> None:
    mapping: dict[str, Any] = {}
    store = zarr.storage.MemoryStore(mapping)
    zarr.create_array(store, shape=(4,), chunks=(2,), dtype="i4")[...] = 3
    with pytest.raises(zarrscope.ZarrscopeError, match="type Buffer instead of bytes") as raised:
        zarrscope.open(mapping)
    assert raised.value.advice == "Open the store or the node of zarr-python that uses this mapping."
    assert as_array(zarrscope.open(store)["/"])[3] == 3


def test_a_tree_of_xarray_leads_to_its_group(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    place = str(tmp_path / "x.zarr")
    xarray.DataTree.from_dict({"/g/a": xarray.Dataset({"v": ("x", np.arange(4))})}).to_zarr(place, consolidated=False)
    tree = xarray.open_datatree(place, engine="zarr", consolidated=False)
    with zarrscope.open(place) as h:
        assert target_of(tree)[:2] == (h.url, None)
        assert target_of(tree["g"])[:2] == (h.url, "/g")


@pytest.mark.parametrize("writable", [False, True])
def test_a_session_shows_an_object_at_its_node(array: Any, writable: bool) -> None:
    target = target_of(array)
    mailbox = Mailbox()
    session = Session(target.url, mailbox, path=target.path, writable=writable)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and session.node is not None)
    assert as_array(session.node).path == "/g/a"
    assert not_none(session.hierarchy).writable == writable
    session.close()


def test_explore_takes_an_object_and_keeps_it(array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget, "KernelMailbox", Mailbox)
    shown = explore(array)
    assert shown.session.url.startswith("object://")
    assert shown._places._held[shown.session] is not None
    shown.close()
    with pytest.raises(TypeError, match="cannot be opened by zarrscope"):
        explore(3)
