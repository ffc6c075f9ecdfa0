"""Ten kinds of views: every host opens each and copies the same view: node, plane, axes, contrast, colours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from viewer import without_frame
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import MemorySettings, Session, SessionStatus, Workspace
from zarrscope_app.presenters.session.painted import painted
from zarrscope_app.presenters.session.state_text import decode_view, encode_view

VALUES = (np.arange(2 * 3 * 6 * 40 * 60, dtype="i8") * 7919 % 4001).astype("u2").reshape(2, 3, 6, 40, 60)
RED = {"visible": True, "lo": 100, "hi": 3000, "color": [255, 0, 0], "gamma": 1.5, "inverted": False}
BLUE = {"visible": True, "lo": 7, "hi": 3900, "color": [1, 2, 255], "gamma": 1.0, "inverted": True}
MAPPED = {"visible": False, "lo": 0, "hi": 4000, "color": [0, 255, 0], "colormap": "magma", "gamma": 1.0}
PHASE = {"visible": True, "lo": -3, "hi": 3, "color": [255, 255, 255], "part": "phase", "colormap": "", "gamma": 1.0}
REAL = {"visible": True, "lo": -2000, "hi": 2000, "color": [255, 255, 255], "part": "real", "gamma": 1.0}
LABELS = [{"path": "/image/labels/cells", "visible": True, "opacity": 0.25}]
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "field of a plate": ("/plate/A/2/0", {"channels": [{**RED, "gamma": 1.0, "color": [0, 255, 255]}]}),
    "index of z": ("/image", {"index": {"z": 5}}),
    "colours of channels": ("/image", {"index": {"z": 2}, "channels": [RED, BLUE, MAPPED]}),
    "locked level": ("/image", {"index": {"z": 1}, "level": 1}),
    "crosshair": ("/image", {"index": {"t": 1, "z": 3}, "crosshair": [20.5, 31.5]}),
    "axes x and z": ("/image", {"show": ["z", "x"], "index": {"y": 11, "t": 1}}),
    "opacity of labels": ("/image", {"index": {"z": 4}, "labels": LABELS}),
    "five axes": ("/five", {"index": {"t": 1, "a": 2, "z": 4}}),
    "phase of complex values": ("/complex", {"channels": [PHASE]}),
    "real part of complex values": ("/complex", {"index": {"z": 1}, "channels": [REAL]}),
    "projection": ("/image", {"index": {"z": 2}, "projection": {"axis": "z", "method": "max", "range": [1, 4]}}),
    "mean of all": ("/five", {"index": {"t": 1}, "projection": {"axis": "a", "method": "mean", "range": [0, 2]}}),
}
SECONDS = 60


def multiscale(hierarchy: Any, path: str, values: np.ndarray[Any, Any], axes: str, more: dict[str, Any]) -> None:
    """An OME-Zarr image of two levels; the coarser one has half the height and width."""
    told = [{"name": n, "type": {"t": "time", "c": "channel"}.get(n, "space")} for n in axes]
    datasets = []
    for level in (0, 1):
        held = values[..., :: 1 << level, :: 1 << level]
        chunks = (1,) * (values.ndim - 2) + (32, 32)
        hierarchy.create_array(f"{path}/{level}", shape=held.shape, dtype=held.dtype, chunks=chunks)[...] = held
        scale = [2.0 if n == "z" else 0.5 * 2**level if n in "yx" else 1.0 for n in axes]
        datasets.append({"path": str(level), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    ome = {"version": "0.5", "multiscales": [{"axes": told, "datasets": datasets}], **more}
    hierarchy[path].attrs["ome"] = ome


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("states") / "kinds.zarr"
    with zarrscope.open(str(folder), "w-") as h:
        colors = {"a": "FFFFFF", "b": "00FF00", "c": "FF00FF"}
        channels = [{"label": label, "color": color, "active": True} for label, color in colors.items()]
        h.create_group("/image")
        multiscale(h, "/image", VALUES, "tczyx", {"omero": {"channels": channels}})
        h.create_group("/image/labels", {"ome": {"version": "0.5", "labels": ["cells"]}})
        h.create_group("/image/labels/cells")
        cells = (VALUES[:, 0] // 1000).astype("u1")
        multiscale(h, "/image/labels/cells", cells, "tzyx", {"image-label": {}})
        h.create_array("/five", shape=VALUES.shape, dtype="u2", dimension_names=list("tazyx"))[...] = VALUES
        waves = (VALUES[0, 0] * np.exp(1j * VALUES[1, 0] / 500)).astype("c8")
        h.create_array("/complex", shape=waves.shape, dtype="c8", dimension_names=list("zyx"))[...] = waves
        wells = [{"path": f"A/{n}", "rowIndex": 0, "columnIndex": n - 1} for n in (1, 2)]
        stated = {"rows": [{"name": "A"}], "columns": [{"name": "1"}, {"name": "2"}], "wells": wells}
        h.create_group("/plate", {"ome": {"version": "0.5", "plate": stated}})
        for n in (1, 2):
            h.create_group(f"/plate/A/{n}", {"ome": {"version": "0.5", "well": {"images": [{"path": "0"}]}}})
            h.create_group(f"/plate/A/{n}/0")
            multiscale(h, f"/plate/A/{n}/0", VALUES[0, n], "zyx", {})
    return str(folder)


def is_ready(session: Session) -> bool:
    """Whether the requested node is shown and the label images of the view have been loaded."""
    still = session.state.status is SessionStatus.READY and not session.state.selecting and session.labels_known
    return still and session.slice.state.kind == "image"


def has_limits(session: Session) -> bool:
    return all(channel.lo is not None for channel in session.slice.state.channels)


@pytest.fixture(scope="module")
def texts(place: str) -> dict[str, str]:
    """Each view as a text that a host returned with all its members."""
    found, mailbox = {}, Mailbox()
    for kind, (path, told) in KINDS.items():
        workspace = Workspace(mailbox, MemorySettings())
        session = workspace.show_view({"url": place, "path": path, "slice": told})
        mailbox.run_until(partial(is_ready, session), SECONDS)
        height, width = session.slice.frame.shape
        session.slice.viewport((0.0, 0.0, float(height), float(width)), (height, width))
        mailbox.run_until(partial(has_limits, session), SECONDS)
        found[kind] = workspace.view_text()
        assert not session.problems.items, [problem.headline for problem in session.problems.items]
        workspace.close_all()
    return found


def part(whole: Any, asked: Any) -> Any:
    """The members of a view that were requested."""
    if isinstance(asked, dict):
        return {name: part(whole.get(name), member) for name, member in asked.items()}
    if isinstance(asked, list) and asked and isinstance(asked[0], dict):
        return [part(held, member) for held, member in zip(whole, asked, strict=False)]
    return whole


def test_a_view_tells_all_that_was_asked_for(texts: dict[str, str]) -> None:
    for kind, (path, asked) in KINDS.items():
        view = decode_view(texts[kind])
        assert (view["path"], part(view["slice"], asked)) == (path, asked), kind


def check(texts: dict[str, str], opened: Callable[[str], str]) -> None:
    """Opens each view after one of another kind, in one host, and compares it with the view that the host returns."""
    found = {kind: without_frame(opened(text)) for kind, text in texts.items()}
    for kind, text in texts.items():
        assert found[kind] == without_frame(text), kind


@pytest.mark.needs("qt", "display")
def test_the_window_returns_each_view(texts: dict[str, str], qtbot: Any) -> None:
    from qt_robot import window_on

    window, _ = window_on(qtbot, texts["crosshair"])

    def opened(text: str) -> str:
        window.open(text)
        session = window.workspace.current
        assert session is not None
        path = decode_view(text)["path"]
        qtbot.waitUntil(lambda: session.state.path == path and is_ready(session), timeout=SECONDS * 1000)
        return window.workspace.view_text()

    check(texts, opened)


@pytest.mark.needs("qt", "display")
def test_napari_returns_each_view(texts: dict[str, str], hand: Any) -> None:
    from napari.layers import Image

    def opened(text: str) -> str:
        hand.viewer.layers.clear()
        hand.dock.open(text)
        hand.wait(lambda: hand.viewer.layers and not hand.dock.adding and is_ready(hand.dock.session))
        image = next((layer for layer in hand.viewer.layers if isinstance(layer, Image)), hand.viewer.layers[0])
        hand.viewer.layers.selection.active = image  # the view is that of the chosen layer, and labels are added last
        return str(hand.dock.layer_menu.view_text())

    if not hasattr(Image, "locked_data_level"):  # an older napari chooses the level by itself
        texts = {kind: text for kind, text in texts.items() if "level" not in decode_view(text)["slice"]}
    check(texts, opened)


@pytest.mark.needs("qt", "display")
def test_napari_shows_the_part_the_colours_and_the_projection(texts: dict[str, str], hand: Any) -> None:
    def opened(kind: str) -> Any:
        hand.viewer.layers.clear()
        hand.dock.open(texts[kind])
        hand.wait(lambda: hand.viewer.layers and not hand.dock.adding and all(la.loaded for la in hand.viewer.layers))
        return list(hand.viewer.layers)

    def plane(layer: Any) -> Any:
        return np.asarray(getattr(layer, "_slicing_state", layer)._slice.image.raw)

    (phase,) = opened("phase of complex values")
    assert np.asarray(phase.data[0]) == pytest.approx(np.angle(_stored(texts, "/complex")[0]), abs=1e-5)
    assert tuple(phase.contrast_limits) == (-3, 3)
    first, second, third, _ = opened("colours of channels")
    assert second.colormap.colors[0] == pytest.approx([1 / 255, 2 / 255, 1, 1])
    assert second.colormap.colors[-1] == pytest.approx([0, 0, 0, 1])
    assert (third.colormap.name, first.gamma) == ("magma", 1.5)
    first, *_ = opened("projection")
    level = np.asarray(first.data[first.data_level])
    hand.wait(lambda: np.array_equal(plane(first), level[0, 1:5].max(axis=0)))
    (first,) = opened("five axes")
    hand.wait(lambda: np.array_equal(plane(first), VALUES[1, 2, 4]))


def _stored(texts: dict[str, str], path: str) -> Any:
    return np.asarray(zarrscope.open(decode_view(texts["crosshair"])["url"])[path])


def test_the_terminal_returns_each_view(texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual")
    check(dict(texts), asyncio.run(in_the_terminal(texts, monkeypatch)).__getitem__)


async def in_the_terminal(texts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """For each text, the view that the terminal copies after the text was pasted there."""
    from zarrscope_app.tui.app import Explorer

    app = Explorer(decode_view(texts["crosshair"])["url"], settings=MemorySettings())
    copied: list[str] = []
    found: dict[str, str] = {}
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(100, 30)) as pilot:
        for text in texts.values():
            await pilot.pause(0.05)
            app.keyboard.paste(text)
            for _ in range(20 * SECONDS):
                await pilot.pause(0.05)
                if app.session.state.path == decode_view(text)["path"] and is_ready(app.session):
                    break
            await pilot.press("w")
            found[text] = copied[-1]
    return found


@pytest.fixture
def widgets() -> Iterator[list[Any]]:
    made: list[Any] = []
    yield made
    for widget in made:
        widget.close()


def test_the_notebook_returns_each_view(texts: dict[str, str], widgets: list[Any]) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter import Explorer

    mailbox, first = Mailbox(), decode_view(texts["crosshair"])
    widget = Explorer(first["url"], view=first, post=mailbox)
    widgets.append(widget)
    mailbox.run_until(lambda: is_ready(widget.session), SECONDS)

    def opened(text: str) -> str:
        widget.state = text
        path = decode_view(text)["path"]
        mailbox.run_until(lambda: widget.session.state.path == path and is_ready(widget.session), SECONDS)
        mailbox.run()
        return str(widget.session.view_text())

    check(texts, opened)


def test_a_picture_without_a_host_follows_each_view(texts: dict[str, str], place: str, tmp_path: Path) -> None:
    """`zarrscope render` draws the view, and another picture where the view differs in one setting."""
    drawn = {kind: painted(place, decode_view(text), 60) for kind, text in texts.items()}
    assert all(picture.std() > 0 for picture in drawn.values())
    for kind, member in (("projection", "projection"), ("opacity of labels", "labels"), ("axes x and z", "show")):
        view = decode_view(texts[kind])
        del view["slice"][member]
        other = painted(place, decode_view(encode_view(view)), 60)
        assert other.shape != drawn[kind].shape or not np.array_equal(other, drawn[kind]), kind
