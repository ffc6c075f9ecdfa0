"""*Open in code*: every snippet runs unchanged and gives the displayed values."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import web_server
from contracts.journeys import Shelf, small_image
from contracts.odd_members import WRITABLE, documents_that_are_no_object, keys
from contracts.slides import image
from narrowing import as_array
from zarrscope.dialects import Dialect
from zarrscope.errors.visible import visible_lines
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.memory import MemoryStore
from zarrscope.view.image import default_image
from zarrscope_app.presenters import Session, SessionStatus, Workspace
from zarrscope_app.presenters.formats import title_of
from zarrscope_app.presenters.snippets import TITLES, Snippet, as_text, snippets

DIALECTS = ("v3", "v2", "n5", "draft-2022-05", "draft-2020", "draft-2019-06")
FOREIGN = {"zarr": {"v2", "v3"}, "tensorstore": {"v2", "v3", "n5"}}
PACKAGES = {"zarrscope": "zarrscope", "zarr": "zarr", "dask": "dask", "tensorstore": "tensorstore", "xarray": "xarray"}


def make(place: Any, dialect: str, shards: tuple[int, ...] | None = None) -> Any:
    path = "/a/b" if dialect.startswith("draft") else "/a b/it's"
    with zarrscope.open(place, "w-", dialect=dialect) as hierarchy:
        array = hierarchy.create_array(path, shape=(3, 20, 30), dtype="uint16", chunks=(1, 10, 10), shards=shards)
        array[...] = np.arange(1800).reshape(3, 20, 30)
    return zarrscope.open(place)[path]


def by_id(found: tuple[Snippet, ...]) -> dict[str, Snippet]:
    return {snippet.id: snippet for snippet in found}


def ran(snippet: Snippet) -> Any:
    """Runs a snippet in a new namespace, and returns its variables."""
    space: dict[str, Any] = {}
    exec(compile(snippet.text, snippet.id, "exec"), space)
    return np.asarray(space["values"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_snippet_that_is_offered_runs(tmp_path: Path, dialect: str) -> None:
    array = make(str(tmp_path / "it's.zarr"), dialect)
    found = by_id(snippets(array))
    assert list(found) == list(TITLES)
    expected = np.asarray(array[0])
    for id, snippet in found.items():
        if dialect not in FOREIGN.get(id, {dialect}):
            assert not snippet.text
            assert title_of(array) in snippet.why
        elif importlib.util.find_spec(PACKAGES[id]) is not None:
            assert np.array_equal(ran(snippet), expected), snippet.text


def test_shards_zip_and_web(tmp_path: Path) -> None:
    array = make(str(tmp_path / "s.zarr"), "v3", (3, 20, 30))
    expected = np.asarray(array[0])
    store = MemoryStore()
    make(store, "v3")
    make(str(tmp_path / "z.zip"), "v3")
    archive = (tmp_path / "z.zip").rename(tmp_path / "z.zarr")  # a name that does not tell that it is a zip file
    zipped = zarrscope.open(str(archive))["/a b/it's"]
    with web_server({key: store.get(key) or b"" for key in store.list()}) as server:
        distant = zarrscope.open(server.url)["/a b/it's"]
        for node in (array, zipped, distant):
            for id, snippet in by_id(snippets(node)).items():
                if snippet.text and importlib.util.find_spec(PACKAGES[id]) is not None:
                    assert np.array_equal(ran(snippet), expected), snippet.text
                else:
                    assert snippet.why or not snippet.text
    assert "zip" in by_id(snippets(zipped))["tensorstore"].why


@pytest.mark.parametrize("dtype", ["?", "f4", "c8", "i8", "M8[s]", "U3"])
def test_types(tmp_path: Path, dtype: str) -> None:
    array = zarrscope.open(str(tmp_path / "t.zarr"), "w-").create_array("/a", shape=(4,), dtype=dtype, chunks=(2,))
    array[...] = np.array([0, 1, 1, 0]).astype(dtype)
    for id, snippet in by_id(snippets(array)).items():
        if snippet.text and id != "zarr" and importlib.util.find_spec(PACKAGES[id]) is not None:
            assert np.array_equal(ran(snippet), array[...]), snippet.text
        elif id == "tensorstore":
            assert "has no data type" in snippet.why


def test_names_of_fields_are_shown_without_what_steers(tmp_path: Path) -> None:
    h = zarrscope.open(tmp_path, "w-", dialect="v2")
    dtype = np.dtype([("a\u202d\u3164", "u1"), ("b\x1b]0;", "u1")])
    found = snippets(h.create_array("/a", shape=(2,), dtype=dtype))
    assert all(visible_lines(each.why) == each.why for each in found)
    assert "\\u3164" in next(each.why for each in found if each.id == "tensorstore")


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_snippets_of_broken_nodes_run_as_well(tmp_path: Path, dialect: Dialect, capsys: Any) -> None:
    """A document that is not a JSON object: the snippets print the problem and whatever can still be read."""
    tried = 0
    for path, kind, key, odd, store in documents_that_are_no_object(dialect):
        place = tmp_path / f"{tried}.zarr"
        tried += 1
        for each, value in keys(store).items():
            (place / each).parent.mkdir(parents=True, exist_ok=True)
            (place / each).write_bytes(value)
        node = zarrscope.open(str(place))[path]
        assert (node.kind, getattr(node.problem, "key", None)) == (kind, key), odd
        run = [snippet for snippet in snippets(node) if snippet.text]
        assert [snippet.id for snippet in run] == ["zarrscope"]
        capsys.readouterr()
        exec(compile(run[0].text, key, "exec"), {})
        told = capsys.readouterr().out
        assert key in told, run[0].text
        beneath = {"/": "['g']", "/g": "['a']"}.get(path)
        assert beneath is None or beneath in told, told
        assert ("{'x': 1}" in told) == (dialect.attributes_at(path, kind)[0] != key), told
    assert tried >= 27


def test_snippets_of_what_demands_the_unknown_run_as_well(tmp_path: Path, capsys: Any) -> None:
    h = zarrscope.open(str(tmp_path), "w-", dialect="v3")
    h.create_group("/g", {"x": 1})
    h.create_array("/a", shape=(4,), dtype="u1")
    for name in ("g", "a"):
        document = json.loads((tmp_path / name / "zarr.json").read_text())
        (tmp_path / name / "zarr.json").write_text(json.dumps({**document, "storage_transformers": [{"name": "q.w"}]}))
    for path in ("/g", "/a"):
        node = zarrscope.open(str(tmp_path))[path]
        for snippet in snippets(node):
            if snippet.text:
                exec(compile(snippet.text, snippet.id, "exec"), {})


def test_groups_and_what_leads_nowhere(tmp_path: Path) -> None:
    make(str(tmp_path / "g.zarr"), "v3")
    group = zarrscope.open(str(tmp_path / "g.zarr"))["/a b"]
    found = by_id(snippets(group))
    space: dict[str, Any] = {}
    exec(found["zarrscope"].text, space)
    assert list(space["node"]) == ["it's"]
    assert found["dask"].why == "Only for arrays: choose one in the tree."
    assert "# dask, tensorstore, xarray\n# Only for" in as_text(snippets(group)), "one reason is given once"
    memory = snippets(make(MemoryStore(), "v3"))
    assert {snippet.why for snippet in memory} == {"The address leads nowhere in another program."}
    assert as_text(memory) == "# The address leads nowhere in another program."
    assert "# zarr-python" in as_text(snippets(group))


def test_the_group_of_an_image_has_code_for_its_finest_level(tmp_path: Path) -> None:
    shelf, place = Shelf(), tmp_path / "image.zarr"
    small_image(shelf)
    for key in shelf.list():
        (place / key).parent.mkdir(parents=True, exist_ok=True)
        (place / key).write_bytes(shelf.get(key) or b"")
    group = zarrscope.open(str(place))["/image"]
    found = by_id(snippets(group, default_image(group)))
    assert list(found) == list(TITLES)
    for id in ("dask", "tensorstore", "xarray"):
        assert "/image" in found[id].text, found[id].why
        if importlib.util.find_spec(PACKAGES[id]) is not None:
            assert np.array_equal(ran(found[id]), np.full((64, 64), 10)), found[id].text


# ---------------------------------------------------------------------- Info
@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


def test_info_says_what_it_is_what_it_takes_and_how_to_open_it(
    shelf: Shelf, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    small_image(shelf)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(settled(session))
    assert session.metadata.state.words.startswith("An image of ")
    assert "41 planes" in session.metadata.state.words
    place = str(tmp_path / "a.zarr")
    make(place, "v2")
    session = workspace.open(place)
    session.select("/a b/it's")
    mailbox.run_until(settled(session))
    session.metadata.measure()
    mailbox.run_until(lambda: "Stored" in {i.label for s in session.metadata.state.sections for i in s.items})
    (told,) = [i.text for s in session.metadata.state.sections for i in s.items if i.label == "Stored"]
    assert told.endswith("; 18 of 18 chunks")
    image(tmp_path / "b.zarr", ("DAPI", "GFP"))
    levels = [as_array(zarrscope.open(str(tmp_path / "b.zarr"))[f"/{level}"]) for level in (0, 1)]
    session = workspace.open(str(tmp_path / "b.zarr"))
    mailbox.run_until(settled(session))
    session.metadata.measure()
    mailbox.run_until(lambda: "Stored" in {i.label for i in session.metadata.state.sections[0].items})
    (told,) = [i.text for i in session.metadata.state.sections[0].items if i.label == "Stored"]
    chunks = sum(math.prod(level.metadata.grid.grid_shape(level.shape)) for level in levels)
    assert re.match(rf"[\d.]+ (KiB|B), [\d.]+ to 1; {chunks} of {chunks} chunks", told), "all levels together"
    assert "tensorstore.open" in session.metadata.text() or "ts.open" in session.metadata.text()


@pytest.fixture
def window(qtbot: Any) -> Any:
    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.qt.window import Window

    window = Window(MemorySettings())
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.mark.needs("qt", "display")
def test_the_window_copies_a_snippet(tmp_path: Path, window: Any, qtbot: Any) -> None:
    from qtpy.QtCore import QUrl
    from qtpy.QtGui import QGuiApplication

    make(str(tmp_path / "a.zarr"), "v2")
    window.open(str(tmp_path / "a.zarr"))
    session = window.workspace.current
    session.select("/a b/it's")
    qtbot.waitUntil(settled(session), timeout=20_000)
    session.set_tab("info")
    qtbot.waitUntil(lambda: "Open in code" in window.info.text.toPlainText(), timeout=20_000)
    window.info.text.anchorClicked.emit(QUrl("copy:tensorstore"))
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    assert clipboard.text().startswith("import tensorstore as ts")


@pytest.mark.needs("qt", "display")
def test_the_table_takes_any_cut_and_format(tmp_path: Path, window: Any, qtbot: Any) -> None:
    make(str(tmp_path / "a.zarr"), "v3")
    window.open(str(tmp_path / "a.zarr"))
    session = window.workspace.current
    session.select("/a b/it's")
    qtbot.waitUntil(settled(session), timeout=20_000)
    session.set_tab("values")
    pane = window.values
    qtbot.waitUntil(lambda: pane.model.rowCount() == 20, timeout=20_000)
    assert [pane.format.itemText(i) for i in range(3)] == ["decimal", "scientific", "hexadecimal"]
    pane.format.setCurrentIndex(2)
    pane.format.activated.emit(2)
    qtbot.waitUntil(lambda: pane.model.data(pane.model.index(1, 1)) == "0x001f", timeout=20_000)
    assert [pane.columns.itemText(i) for i in range(pane.columns.count())][-1] == "one column"
    pane.columns.setCurrentIndex(pane.columns.count() - 1)
    pane.columns.activated.emit(pane.columns.count() - 1)
    qtbot.waitUntil(lambda: pane.model.columnCount() == 1, timeout=20_000)
    assert pane.model.rowCount() == 20
    session.export.folder = str(tmp_path)
    session.export.begin()
    qtbot.waitUntil(lambda: session.export.state.ready, timeout=20_000)
    assert session.export.state.what == "table"
    assert session.export.run() is not None
    qtbot.waitUntil(lambda: (tmp_path / session.export.state.target).is_file(), timeout=20_000)
    lines = (tmp_path / session.export.state.target).read_text().splitlines()
    assert lines == [f"0x{30 * row:04x}" for row in range(20)], "as the table shows them"
