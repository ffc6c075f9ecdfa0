"""napari's reader claims Zarr only, opens all of it, and asks which image to open where there are several."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from napari._qt.widgets.qt_progress_bar import QtLabeledProgressBar
from napari.utils import progress
from napari.utils.notifications import notification_manager
from npe2 import PluginManager
from qtpy.QtCore import QTimer

import zarrscope
from contracts.hostile_http import Ask, hostile
from contracts.http_server import WebServer, folder_server, serving, web_server
from contracts.journeys import SECONDS, Shelf, miserly, small_image
from contracts.slides import image
from zarrscope.dialects.detection import TABLE
from zarrscope.errors import BadMetadata, Denied, NotFound, Unsupported
from zarrscope_app import discovery
from zarrscope_app.discovery import claims, narrow
from zarrscope_app.napari.dock import Explorer
from zarrscope_app.napari.reader import get_reader, read
from zarrscope_app.presenters.image.choice import NoImage, SeveralImages

VALUES = np.arange(48, dtype="uint8").reshape(6, 8)
DIALECTS = [row.name for row in TABLE if row.writes]


def volume(path: Path, dialect: str = "v3", node: str = "/image") -> Path:
    with zarrscope.open(str(path), "w-", dialect=dialect) as hierarchy:
        hierarchy.create_array(node, shape=VALUES.shape, dtype="u1", chunks=(3, 4))[...] = VALUES
    return path


def tiffs(folder: Path) -> Path:
    tifffile = pytest.importorskip("tifffile")
    folder.mkdir()
    for number in range(2):
        tifffile.imwrite(folder / f"{number}.tif", VALUES)
    return folder


def offered(path: str | Path) -> bool:
    readers = PluginManager.instance().iter_compatible_readers([str(path)])
    return any(reader.plugin_name == "zarrscope" for reader in readers)


# ---------------------------------------------------------------------- the paths for which it is offered
def test_every_sign_of_a_dialect_is_one_of_the_plugin() -> None:
    signs = {sign for row in TABLE for sign in row.signs}
    assert signs <= {*discovery.DOCUMENTS, "meta"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_hierarchy_is_offered_whatever_its_folder_is_called(dialect: str, tmp_path: Path) -> None:
    assert claims(str(volume(tmp_path / "plain", dialect)))
    assert claims(str(volume(tmp_path / "a.zarr", dialect)) + "/image")


def test_what_is_no_zarr_is_not_offered(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    (tmp_path / "broken.zip").write_bytes(b"no zip")
    (tmp_path / "meta").write_text("")
    (tmp_path / "empty").mkdir()
    for path in (tiffs(tmp_path / "tiffs"), tmp_path, *tmp_path.iterdir(), tmp_path / "none.tif", tmp_path / "none"):
        assert not claims(str(path)), path
        assert get_reader(str(path)) is None
    assert not claims("https://example.org/picture.tif", others=True)
    assert not claims(str(tmp_path / "my.zarr.backup"))


def test_a_folder_of_hierarchies_is_offered(tmp_path: Path) -> None:
    """napari could not open a folder of images, neither by *Open Folder* nor by a drop."""
    folder = tmp_path / "slides"
    for name in ("a.zarr", "b.ome.zarr", ".DS_Store", "notes.txt"):
        (folder / name).mkdir(parents=True)
    assert claims(str(folder))
    for name in ("0.tif", "1.tif"):
        (folder / name).touch()
    assert not claims(str(folder)), "most of it are other images"


def test_archives_and_addresses_are_offered(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zarrscope.open(str(archive), "w-") as hierarchy:
        hierarchy.create_array("/a", shape=(4, 4), dtype="u1")
    for path in (
        str(archive), "x.ozx", "x.zarr.zip", "s3://bucket/a.zarr/b", "https://example.org/data", "C:\\a.zarr",
        "https://example.org/a/zarr.json", "a.zarr::b", "gs://x/y.zarr|zarr3:", "/a/.zarray", "zarrscope:view",
    ):  # fmt: skip
        assert claims(path), path
    assert claims("https://example.org/a.zarr/picture.tif", others=True)


def test_npe2_offers_it_as_claimed(make_napari_viewer: Any, tmp_path: Path) -> None:
    make_napari_viewer()
    narrow()
    for path in (volume(tmp_path / "plain"), volume(tmp_path / "b.zarr"), "https://example.org/data", "x.ozx"):
        assert offered(path), path
    assert not offered(tiffs(tmp_path / "tiffs"))
    assert not offered("https://example.org/picture.tif")
    assert offered(f"{tmp_path}/plain/image")


def test_discovery_alone_narrows() -> None:
    """In a process that has not used zarrscope yet: napari starts, and the user drops a folder."""
    program = (
        "import sys, tempfile, npe2\n"
        "pm = npe2.PluginManager.instance(); pm.discover()\n"
        "if 'zarrscope' not in pm: sys.exit('the plugin is not installed')\n"
        "names = {r.plugin_name for r in pm.iter_compatible_readers([tempfile.gettempdir()])}\n"
        "assert 'napari' in names and 'zarrscope' not in names, names\n"
        "assert not [m for m in sys.modules if m.startswith('zarrscope.') or m.startswith('zarrscope_app.p')]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


# ---------------------------------------------------------------------- the layers that it makes
@pytest.fixture
def viewer(make_napari_viewer: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    viewer = make_napari_viewer(show=True)
    narrowed = PluginManager.iter_compatible_readers

    def without_rival(self: PluginManager, path: Any) -> Iterator[Any]:
        return (each for each in narrowed(self, path) if each.plugin_name != "napari-ome-zarr")

    # napari asks the reader about every folder.
    monkeypatch.setattr(PluginManager, "iter_compatible_readers", without_rival)
    yield viewer
    for widget in viewer.window._qt_window.findChildren(Explorer):
        widget.stop()


def test_a_folder_of_tiffs_opens_without_a_question(viewer: Any, tmp_path: Path) -> None:
    (layer,) = viewer.open(str(tiffs(tmp_path / "tiffs")), plugin=None)
    assert layer.data.shape == (2, *VALUES.shape)
    with pytest.raises(ValueError, match="zarrscope"):
        viewer.open(str(tmp_path / "tiffs"), plugin="zarrscope")


def test_every_way_to_a_volume_opens_it(viewer: Any, tmp_path: Path, served: Any) -> None:
    places = [str(volume(tmp_path / f"{dialect}.zarr", dialect)) for dialect in DIALECTS]
    archives = [str(volume(tmp_path / name)) for name in ("a.zip", "b.ozx", "c.zarr.zip")]
    # napari itself refuses a path that does not exist on disk, such as one inside an archive; the test then uses a URL.
    nodes = [(place, Path(f"{place}/image")) for place in places + archives]
    ways = [str(node) if node.exists() else f"file://localhost{place}::image" for place, node in nodes]
    ways += [f"{places[0]}/image/zarr.json", f"{served(tmp_path)}/v3.zarr/image"]
    for way in ways:
        (layer,) = viewer.open(way, plugin="zarrscope")
        np.testing.assert_array_equal(np.asarray(layer.data), VALUES, err_msg=way)
        viewer.layers.clear()


@pytest.fixture
def served() -> Iterator[Any]:
    with ExitStack() as running:
        yield lambda folder: running.enter_context(serving(folder_server(folder)))


# ---------------------------------------------------------------------- one of many
def plate(path: Path, wells: int = 3) -> Path:
    axes = [{"name": name, "type": "space"} for name in "yx"]
    datasets = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
    about = {
        "rows": [{"name": "A"}],
        "columns": [{"name": str(n + 1)} for n in range(wells)],
        "wells": [{"path": f"A/{n + 1}", "rowIndex": 0, "columnIndex": n} for n in range(wells)],
    }
    with zarrscope.open(str(path), "w-") as hierarchy:
        hierarchy.create_group("/plate", {"ome": {"version": "0.5", "plate": about}})
        for n in range(wells):
            well = f"/plate/A/{n + 1}"
            hierarchy.create_group(well, {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
            about_image = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}
            hierarchy.create_group(f"{well}/0", {"ome": about_image})
            hierarchy.create_array(f"{well}/0/0", shape=VALUES.shape, dtype="u1")[...] = VALUES + n
    return path


def two_images(path: Path) -> Path:
    axes = [{"name": name, "type": "space"} for name in "yx"]

    def entry(name: str) -> dict[str, Any]:
        datasets = [{"path": name, "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]
        return {"name": name, "axes": axes, "datasets": datasets}

    with zarrscope.open(str(path), "w-") as hierarchy:
        about = {"version": "0.5", "multiscales": [entry("first"), entry("second")]}
        hierarchy.create_group("/both", {"ome": about})
        for n, name in enumerate(("first", "second")):
            hierarchy.create_array(f"/both/{name}", shape=VALUES.shape, dtype="u1")[...] = VALUES + n
    return path


def test_a_script_is_told_to_choose(tmp_path: Path) -> None:
    with pytest.raises(SeveralImages, match="/plate holds 3 wells: choose one") as told:
        read(str(plate(tmp_path / "p.zarr")), "/plate")
    assert [choice.path for choice in told.value.choices] == [f"/plate/A/{n}" for n in (1, 2, 3)]
    assert "/plate/A/1" in str(told.value.advice)
    ((data, _, _),) = read(str(tmp_path / "p.zarr"), "/plate/A/2")
    np.testing.assert_array_equal(np.asarray(data), VALUES + 1)
    with pytest.raises(SeveralImages, match="/both holds 2 images") as told:
        read(str(two_images(tmp_path / "t.zarr")), "/both")
    assert [choice.name for choice in told.value.choices] == ["1: first", "2: second"]
    ((data, _, _),) = read(str(tmp_path / "t.zarr"), "/both", 1)
    np.testing.assert_array_equal(np.asarray(data), VALUES + 1)
    ((data, _, _),) = read(str(plate(tmp_path / "one.zarr", 1)), "/plate")
    np.testing.assert_array_equal(np.asarray(data), VALUES)


def test_of_a_folder_of_images_one_is_chosen(tmp_path: Path) -> None:
    """It said that the folder holds no image."""
    folder = tmp_path / "slides"
    folder.mkdir()
    for name in ("day10", "day9"):
        image(folder / f"{name}.zarr", ("DAPI",))
    zarrscope.open(str(folder / "notes.zarr"), "w-").create_group("/empty")
    with pytest.raises(SeveralImages, match="slides holds 2 images: choose one") as told:
        read(str(folder))
    assert [choice.name for choice in told.value.choices] == ["day9.zarr", "day10.zarr"]
    ((_, arguments, _),) = read(str(folder), "/day9.zarr")
    assert arguments["metadata"]["zarrscope"]["path"] == "/day9.zarr"


def test_the_only_image_beneath_a_folder_or_a_group_is_read(tmp_path: Path) -> None:
    """It said that the folder, or the group, holds no image."""
    folder = tmp_path / "slides"
    folder.mkdir()
    image(folder / "day1.zarr", ("DAPI",))
    with zarrscope.open(str(folder / "notes.zarr"), "w-") as hierarchy:
        hierarchy.create_group("/empty")
    ((_, arguments, _),) = read(str(folder))
    assert arguments["metadata"]["zarrscope"]["path"] == "/day1.zarr"
    with zarrscope.open(str(plate(tmp_path / "p.zarr", 1)), "a") as hierarchy:
        hierarchy.create_group("/tables")
    ((data, arguments, _),) = read(str(tmp_path / "p.zarr"))
    assert arguments["metadata"]["zarrscope"]["path"] == "/plate/A/1/0"
    np.testing.assert_array_equal(np.asarray(data), VALUES)


def test_an_array_that_the_metadata_name_and_that_is_not_stored(tmp_path: Path) -> None:
    place = str(tmp_path / "a.zarr")
    about: Any = {"axes": [{"name": name, "type": "space"} for name in "yx"], "datasets": [{"path": "full"}]}
    with zarrscope.open(place, "w-") as hierarchy:
        hierarchy.create_group("/cells", {"ome": {"version": "0.5", "multiscales": [about]}})
        hierarchy.create_group("/none", {"ome": {"version": "0.5", "multiscales": [{**about, "datasets": []}]}})
    with pytest.raises(NotFound, match="/cells names the array /cells/full, which does not exist") as told:
        read(place, "/cells")
    assert "Correct the paths under 'datasets'" in str(told.value.advice)
    with pytest.raises(NoImage, match="/none names no array for its image") as told:
        read(place, "/none")
    assert "at least one array under 'datasets'" in str(told.value.advice)


def test_the_reason_why_an_array_is_no_picture_is_told(tmp_path: Path) -> None:
    """A broken document was "no image", and texts were values of the type "object"."""
    place = tmp_path / "texts.zarr"
    with zarrscope.open(str(place), "w-") as hierarchy:
        hierarchy.create_array("/words", shape=(2, 2), dtype="string", chunks=(1, 2))
        hierarchy.create_array("/pixels", shape=(2, 2), dtype="u1", chunks=(2, 2))
    with pytest.raises(Unsupported, match="/words holds values of type string, which cannot be drawn as a picture"):
        read(str(place), "/words")
    (place / "pixels" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array", "shape": [2, ')
    with pytest.raises(BadMetadata, match="ends too early"):
        read(str(place), "/pixels")


def test_the_dock_asks_which_of_several(viewer: Any, qtbot: Any, tmp_path: Path) -> None:
    told: list[str] = []
    hear = lambda notice: told.append(str(notice.message))  # noqa: E731 - it is disconnected below
    notification_manager.notification_ready.connect(hear)
    try:
        assert viewer.open(f"{plate(tmp_path / 'p.zarr')}/plate", plugin="zarrscope") == []
    finally:
        notification_manager.notification_ready.disconnect(hear)
    assert any("holds 3 wells" in text for text in told)
    (dock,) = viewer.window._qt_window.findChildren(Explorer)

    def wait(happened: Any) -> None:
        qtbot.waitUntil(happened, timeout=int(SECONDS * 1000))

    wait(lambda: not dock.chooser.isHidden())
    assert not viewer.layers
    names = [dock.chooser.list.item(row).text() for row in range(dock.chooser.list.count())]
    assert len(names) == 3
    assert dock.chooser.list.maximumHeight() < 4 * dock.chooser.list.sizeHintForRow(0), "the tree keeps its room"
    dock.chooser.filter.setText(names[2])
    assert [dock.chooser.list.item(row).isHidden() for row in range(3)] == [True, True, False]
    dock.chooser.list.setCurrentRow(2)
    dock.button.click()
    wait(lambda: len(viewer.layers) == 1)
    np.testing.assert_array_equal(np.asarray(viewer.layers[0].data), VALUES + 2)
    dock.chooser.list.itemActivated.emit(dock.chooser.list.item(0))
    wait(lambda: len(viewer.layers) == 2)
    np.testing.assert_array_equal(np.asarray(viewer.layers[1].data), VALUES)
    assert [layer.name for layer in viewer.layers] == [f"{names[2]}: 0", f"{names[0]}: 0"]
    dock._select("/plate/A/2")
    assert dock.chooser.isHidden()
    assert dock.chooser.choice is None


# ---------------------------------------------------------------------- a place that answers slowly
@pytest.fixture
def slow() -> Iterator[WebServer]:
    shelf = Shelf()
    small_image(shelf)
    with web_server({key: shelf.get(key) or b"" for key in shelf.list_prefix("")}) as server:
        yield server


def person(viewer: Any, qtbot: Any, address: str, waiting: Any) -> Any:
    """Opens an address as a user does, while the event loop runs and calls `waiting` every 10 ms. Returns the result of
    `viewer.open`."""
    opened: list[Any] = []
    timer = QTimer()
    timer.timeout.connect(waiting)
    timer.start(10)
    QTimer.singleShot(0, lambda: opened.append(viewer.open(address, plugin="zarrscope")))
    qtbot.waitUntil(lambda: bool(opened), timeout=int(3 * SECONDS * 1000))
    timer.stop()
    return opened[0]


def test_the_window_goes_on_while_an_address_is_opened(viewer: Any, qtbot: Any, slow: WebServer) -> None:
    slow.gate.clear()
    bars: list[str] = []

    def waiting() -> None:
        bars.extend(bar.desc for bar in progress._all_instances if slow.url in bar.desc)
        if slow.held and len(bars) > 5:
            slow.gate.set()  # read on this thread, the event loop would stand still

    layers = person(viewer, qtbot, f"{slow.url}/image", waiting)
    assert [layer.name for layer in layers] == ["signal"]
    assert list(viewer.layers) == layers
    assert not progress._all_instances


def test_what_opens_slowly_is_cancelled(viewer: Any, qtbot: Any, slow: WebServer) -> None:
    slow.gate.clear()

    def waiting() -> None:
        bars = viewer.window._qt_viewer.window()._activity_dialog.findChildren(QtLabeledProgressBar)
        for button in (bar.cancel_button for bar in bars if slow.url in bar.description_label.text()):
            button.click()

    assert person(viewer, qtbot, f"{slow.url}/image", waiting) == []
    assert not viewer.layers
    slow.gate.set()
    assert viewer.open(f"{slow.url}/image", plugin="zarrscope"), "it opens when it is asked for again"


def test_a_person_gets_the_tree_of_a_hierarchy_that_is_no_image(viewer: Any, qtbot: Any, tmp_path: Path) -> None:
    place = str(volume(tmp_path / "a.zarr", node="/raw/image"))
    with pytest.raises(NoImage, match="holds no image"):
        viewer.open(place, plugin="zarrscope")
    assert person(viewer, qtbot, place, lambda: None) == []
    (dock,) = viewer.window._qt_window.findChildren(Explorer)
    qtbot.waitUntil(lambda: dock.session.hierarchy is not None, timeout=int(3 * SECONDS * 1000))
    assert not dock.session.problems.items
    dock._opened("/raw/image")
    qtbot.waitUntil(lambda: len(viewer.layers) == 1, timeout=int(3 * SECONDS * 1000))
    np.testing.assert_array_equal(np.asarray(viewer.layers[0].data), VALUES)


def test_the_command_line_of_napari_is_used_by_a_person(viewer: Any, qtbot: Any, tmp_path: Path) -> None:
    """`napari --plugin zarrscope FOLDER` opens the folder before the event loop runs, and would end with an error."""
    place = str(volume(tmp_path / "a.zarr", node="/raw/image"))
    viewer.window._qt_viewer._qt_open([place], stack=False, plugin="zarrscope")
    (dock,) = viewer.window._qt_window.findChildren(Explorer)
    qtbot.waitUntil(lambda: dock.session.hierarchy is not None, timeout=int(3 * SECONDS * 1000))
    assert not viewer.layers


def test_the_command_line_of_napari_goes_on_with_the_reason_in_the_dock(
    viewer: Any, qtbot: Any, tmp_path: Path
) -> None:
    """It ended with a traceback when the metadata named an array that is not stored."""
    place = str(tmp_path / "a.zarr")
    about = {"axes": [{"name": name, "type": "space"} for name in "yx"], "datasets": [{"path": "full"}]}
    zarrscope.open(place, "w-").root.attrs["ome"] = {"version": "0.5", "multiscales": [about]}
    with pytest.raises(NotFound, match="names the array /full"):
        viewer.open(place, plugin="zarrscope")
    viewer.window._qt_viewer._qt_open([place], stack=False, plugin="zarrscope")
    (dock,) = viewer.window._qt_window.findChildren(Explorer)
    qtbot.waitUntil(lambda: "names the array /full" in dock.facts.text(), timeout=int(3 * SECONDS * 1000))
    assert not viewer.layers


# ---------------------------------------------------------------------- a server that denies access
def test_a_login_is_asked_for_in_the_dock(viewer: Any, qtbot: Any, slow: WebServer) -> None:
    slow.token = "key=a-secret"
    place = f"{slow.url}/image"
    for more in ({}, {"storage_options": {"anon": True}}, {"metadata": {"storage_options": {"anon": True}}}):
        with pytest.raises(Denied, match=r"401.* zarrscope_app\.napari\.reader\.read\(…, storage_options="):
            viewer.open(place, plugin="zarrscope", **more)
    with pytest.raises(Denied) as told:
        read(place)
    assert "viewer.open" not in str(told.value)
    assert person(viewer, qtbot, place, lambda: None) == []
    (dock,) = viewer.window._qt_window.findChildren(Explorer)
    qtbot.waitUntil(lambda: dock.offers["credentials"].isVisible(), timeout=int(3 * SECONDS * 1000))
    assert "401" in dock.facts.text()
    assert "--" not in dock.facts.text()
    dock.session.use_credentials({"address": f"{place}?{slow.token}"})
    qtbot.waitUntil(lambda: [layer.name for layer in viewer.layers] == ["signal"], timeout=int(3 * SECONDS * 1000))


def test_a_refusal_of_everything_is_answered_in_the_dock(viewer: Any, qtbot: Any) -> None:
    """Such a server may deny access to this person: the dock asks for credentials. No value could be read, so that none
    can be taken as missing."""

    async def act(ask: Ask) -> None:
        await ask.answer("403 Forbidden")

    with hostile(act, {}) as server:
        with pytest.raises(Denied, match="storage_options"):
            viewer.open(f"{server.url}/image", plugin="zarrscope")
        assert person(viewer, qtbot, f"{server.url}/image", lambda: None) == []
        (dock,) = viewer.window._qt_window.findChildren(Explorer)
        qtbot.waitUntil(dock.offers["credentials"].isVisible, timeout=int(3 * SECONDS * 1000))
        assert not dock.offers["missing-is-fill"].isVisible()
        assert "--" not in dock.facts.text()
        assert dock.session.credentials is not None


def test_a_script_gives_options_or_what_it_has_opened(tmp_path: Path) -> None:
    levels = Shelf()
    small_image(levels)
    with miserly(levels, {key for key in levels.list() if "/c/" in key}) as url:
        ((data, _, _),) = read(f"{url}/image", storage_options={"missing_is_fill": True})
        assert not np.asarray(data[0] if isinstance(data, list) else data).any(), "each value is the fill value"
    place = volume(tmp_path / "a.zarr")
    for given in (place, zarrscope.open(place), [zarrscope.open(place)]):
        ((data, _, _),) = read(given, "/image")
        np.testing.assert_array_equal(np.asarray(data), VALUES)


# ---------------------------------------------------------------------- data that cannot be read
@pytest.mark.parametrize("planes", [[2], [0, 1, 2, 3], []])
def test_damaged_chunks_do_not_keep_an_image_from_being_opened(planes: list[int], viewer: Any, tmp_path: Path) -> None:
    """The contrast is that of a plane that can be read; the first step shows the middle plane, which is damaged."""
    values = np.full((4, 32, 32), 300, "u2")
    values[:, 8:] = 900
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as h:
        h.create_array("/image", shape=values.shape, dtype="u2", chunks=(1, 32, 32))[...] = values
    for plane in planes:
        (tmp_path / f"a.zarr/image/c/{plane}/0/0").write_bytes(b"damaged")
    (layer,) = viewer.open(str(tmp_path / "a.zarr/image"), plugin="zarrscope")
    assert tuple(layer.contrast_limits) == ((0, 1) if len(planes) == 4 else (300, 900))
    for plane in range(4):
        viewer.dims.set_current_step(0, plane)
        assert layer.get_value((plane, 20, 20)) == (None if plane in planes else 900)
