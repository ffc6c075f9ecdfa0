"""A copied view is one text: every host writes it, opens it, and says why it refuses one that is malformed or does not
fit.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf, labelled_image, small_image
from viewer import without_frame
from zarrscope.errors import Refused
from zarrscope.runtime.threads import Mailbox
from zarrscope_app import cli
from zarrscope_app.presenters import MemorySettings, Session, SessionStatus, Workspace
from zarrscope_app.presenters.image.blending import Blend
from zarrscope_app.presenters.image.solid import Solid
from zarrscope_app.presenters.image.solid_and_blend import NOT_DRAWN
from zarrscope_app.presenters.layers.presenter import plan
from zarrscope_app.presenters.session.painted import painted
from zarrscope_app.presenters.session.state_text import SIGN, decode_view, encode_view, is_view

SIZE = 48


def settled(session: Session) -> Callable[[], bool]:
    return lambda: session.state.status is SessionStatus.READY and not session.state.selecting


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An OME-Zarr 0.5 image of two channels and two levels in a folder, c z y x uint16."""
    folder = tmp_path_factory.mktemp("state") / "two channels.zarr"
    axes = [{"name": "c", "type": "channel"}] + [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"]
    datasets = [
        {"path": str(k), "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 0.5 * 2**k, 0.5 * 2**k]}]}
        for k in (0, 1)
    ]
    channels = [{"label": label, "color": color, "active": True} for label, color in (("a", "FF0000"), ("b", "00FF00"))]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}], "omero": {"channels": channels}}
    with zarrscope.open(str(folder), "w-") as h:
        h["/"].attrs["ome"] = ome
        values = np.arange(2 * 5 * 64 * 96, dtype="u2").reshape(2, 5, 64, 96) % 4001
        h.create_array("/0", shape=values.shape, dtype="u2", chunks=(1, 1, 32, 32))[...] = values
        h.create_array("/1", shape=(2, 5, 32, 48), dtype="u2", chunks=(1, 1, 32, 32))[...] = values[..., ::2, ::2]
    return str(folder)


def shown(session: Session) -> None:
    """Changes the view, as a user does before copying it."""
    picture = session.slice
    picture.set_index("z", 3)
    picture.set_levels(0, 100, 3000)
    picture.set_levels(1, 7, 4001)
    picture.set_color(1, (1, 2, 255))
    picture.set_gamma(0, 1.5)
    picture.set_inverted(1, True)
    picture.lock_level(1)
    picture.viewport((8.0, 16.0, 40.0, 64.0), (32, 48))
    picture.hover(20.5, 30.5)


@pytest.fixture
def text(place: str, mailbox: Mailbox) -> str:
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.open(place)
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.channels))
    shown(session)
    text = workspace.view_text()
    workspace.close_all()
    return text


def drawn(url: str, text: str) -> np.ndarray[Any, Any]:
    """The picture of a view, without a window."""
    return painted(url, decode_view(text), SIZE)


def test_the_text_tells_all_of_a_view_in_one_word(place: str, text: str) -> None:
    assert text.startswith(SIGN)
    assert " " not in text
    view = decode_view(text)
    assert (view["url"], view["path"]) == (place, "/")
    assert view["slice"] == {
        "index": {"c": 0, "z": 3},
        "show": ["y", "x"],
        "channels": [
            {"visible": True, "lo": 100, "hi": 3000, "color": [255, 0, 0], "gamma": 1.5, "inverted": False},
            {"visible": True, "lo": 7, "hi": 4001, "color": [1, 2, 255], "gamma": 1.0, "inverted": True},
        ],
        "level": 1,
        "rect": [8, 16, 40, 64],
        "crosshair": [20.5, 30.5],
    }


def test_a_round_trip_through_the_presenter_and_other_axes(place: str, text: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox, MemorySettings())
    # as an e-mail program breaks it into lines
    session = workspace.restore("\n ".join(text[i : i + 60] for i in range(0, len(text), 60)))
    mailbox.run_until(lambda: settled(session)() and session.slice.state.locked)
    rect = session.slice.take_rect()
    assert rect is not None
    session.slice.viewport(rect, (32, 48))
    assert decode_view(workspace.view_text()) == decode_view(text)
    session.slice.show("z", "x")
    again = decode_view(workspace.view_text())
    assert again["slice"]["show"] == ["z", "x"]
    session.slice.show("y", "x")
    workspace.restore(json.dumps(again))
    assert decode_view(workspace.view_text())["slice"]["show"] == ["z", "x"]
    workspace.close_all()


def test_painted_as_the_presenter_paints(place: str, text: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.restore(text)
    mailbox.run_until(lambda: settled(session)() and session.slice.state.locked)
    rect = session.slice.take_rect()
    assert rect is not None
    assert rect == (8, 16, 40, 64)
    session.slice.viewport(rect, (32, 48))
    mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading)
    expected = session.slice.picture(32, 48)
    workspace.close_all()
    found = drawn(place, text)
    assert np.array_equal(found, expected)
    assert found.std() > 10


def test_render_draws_it_and_names_what_does_not_fit(
    place: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pillow = pytest.importorskip("PIL.Image")
    out = tmp_path / "view.png"
    assert cli.run(["render", "--state", text, "-o", str(out), "--size", str(SIZE)]) == 0
    with pillow.open(out) as found:
        assert np.array_equal(np.asarray(found.convert("RGB")), drawn(place, text))
    assert cli.run(["render", text, "-o", str(out)]) == 0, "a view in place of the URL"
    stale = json.dumps({"zarrscope": 1, "url": place, "path": "/", "slice": {"index": {"z": 99, "q": 1}, "level": 7}})
    capsys.readouterr()
    assert cli.run(["render", "--state", stale, "-o", str(out), "--size", "32"]) == 0
    said = capsys.readouterr().err
    assert "asks for z 99; the last one here is 4." in said
    assert "the axis q, which this image does not have" in said
    assert "the image has 2 levels" in said
    assert cli.run(["render", "--state", text, "--level", "1", "-o", str(out)]) == 2
    assert cli.run(["render", "--state", text[:-9], "-o", str(out)]) == 1
    assert "was cut or changed on its way. Copy the view again" in capsys.readouterr().err
    gone = encode_view({"url": place, "path": "/nothing", "slice": {}})
    assert cli.run(["render", "--state", gone, "-o", str(out)]) == 3
    assert "/nothing" in capsys.readouterr().err


def test_the_same_view_of_another_place(place: str, text: str, tmp_path: Path) -> None:
    other = tmp_path / "copy.zarr"
    shutil.copytree(place, other)
    found = drawn(str(other), text)
    assert np.array_equal(found, drawn(place, text))


def test_layers_of_napari_are_shown_so(place: str, text: str) -> None:
    first, second = plan(zarrscope.open(place)["/"], decode_view(text))
    assert (first.contrast, first.color, first.gamma) == ((100, 3000), (255, 0, 0), 1.5)
    assert (second.contrast, second.color) == ((7, 4001), (1, 2, 255))
    hidden = decode_view(text)
    hidden["slice"]["channels"][0]["visible"] = False
    assert [layer.visible for layer in plan(zarrscope.open(place)["/"], hidden)] == [False, True]


@pytest.mark.needs("qt", "display")
def test_through_the_window(text: str, qtbot: Any) -> None:
    from qtpy.QtGui import QGuiApplication

    from qt_robot import window_on

    window, session = window_on(qtbot, text)
    qtbot.waitUntil(lambda: settled(session)() and session.slice.state.locked, timeout=20_000)
    qtbot.waitUntil(lambda: window.image.canvas.zoom > 2, timeout=20_000)
    y0, x0, y1, x1 = window.image.canvas.visible_rect
    assert (y0 + y1, x0 + x1) == pytest.approx((48, 80))
    session.slice.hover(20.5, 30.5)
    window.run("copy-view")
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    assert without_frame(clipboard.text()) == without_frame(text)
    session.slice.set_index("z", 0)
    window.run("paste-view")
    assert session.slice.index[1] == 3
    window.open(text[:-5])
    assert "was cut or changed" in window.error_bar.sentence
    window.workspace.add_bookmark()
    (bookmark,) = window.workspace.bookmarks
    assert bookmark.label == "two channels.zarr · z 3"
    assert without_frame(bookmark.text) == without_frame(text)
    menu = window.menus.menus["bookmarks"]
    menu.aboutToShow.emit()
    assert bookmark.label in [action.text() for action in menu.actions()]
    window.workspace.remove_bookmark(bookmark.label)
    assert window.workspace.bookmarks == ()


def test_through_the_terminal(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("textual")
    assert without_frame(asyncio.run(copied_in_the_terminal(text, monkeypatch))) == without_frame(text)


async def copied_in_the_terminal(text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The view that the terminal copies after `text` was pasted there."""
    from zarrscope_app.tui.app import Explorer

    app = Explorer(decode_view(text)["url"], settings=MemorySettings())
    copied: list[str] = []
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(400):
            await pilot.pause(0.05)
            if settled(app.session)() and app.session.slice.state.channels:
                break
        app.keyboard.paste(text)
        for _ in range(400):
            await pilot.pause(0.05)
            if app.session.slice.state.locked:
                break
        app.session.slice.hover(20.5, 30.5)
        await pilot.press("w")
    return copied[-1]


def test_through_the_notebook(text: str) -> None:
    pytest.importorskip("anywidget")
    from zarrscope_app.jupyter import Explorer, explore

    del explore
    mailbox, view = Mailbox(), decode_view(text)
    widget = Explorer(view["url"], view=view, post=mailbox)
    try:
        mailbox.run_until(lambda: settled(widget.session)() and widget.session.slice.state.locked)
        widget.session.slice.hover(20.5, 30.5)
        mailbox.run_until(lambda: without_frame(widget.state) == without_frame(text))
        view["slice"]["index"]["z"] = 1
        widget.state = encode_view(view)
        mailbox.run_until(lambda: widget.index.get("z") == 1)
    finally:
        widget.close()


def seen(text: str) -> dict[str, Any]:
    """The node, indices, axes, level, contrast and colours of a view, without the position of the cursor, which may
    differ."""
    view = without_frame(text)
    view["slice"].pop("crosshair", None)
    return view


@pytest.mark.needs("qt", "display")
def test_one_text_goes_through_every_host(
    place: str, text: str, qtbot: Any, make_napari_viewer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One copied view passes from the window to napari, the terminal, a notebook, and a picture without a host."""
    pytest.importorskip("textual")
    pytest.importorskip("anywidget")
    from napari_hand import Hand
    from qt_robot import window_on
    from zarrscope_app.jupyter import Explorer

    view = decode_view(text)
    view["slice"]["show"], view["slice"]["index"] = ["z", "x"], {"c": 0, "y": 30}
    view["slice"].pop("crosshair")
    view["slice"].pop("rect")
    view["slice"]["solid"] = {**SOLID, "zoom": 1.0}
    start = encode_view(view)

    window, session = window_on(qtbot, start)
    qtbot.waitUntil(lambda: settled(session)() and session.slice.state.locked, timeout=60_000)
    qtbot.waitUntil(lambda: window.image.solid.is_open, timeout=60_000)
    from_window = window.workspace.view_text()
    assert seen(from_window) == seen(start)

    hand = Hand(qtbot, make_napari_viewer())
    hand.dock.open(from_window)
    hand.wait(lambda: len(hand.viewer.layers) == 2 and not hand.dock.adding)
    first, second = hand.viewer.layers
    assert tuple(hand.viewer.dims.order[-2:]) == (0, 2)
    assert hand.viewer.dims.current_step[1] == 30
    assert (list(first.contrast_limits), list(second.contrast_limits)) == ([100, 3000], [7, 4001])
    assert first.gamma == 1.5
    assert hand.viewer.dims.ndisplay == 3
    from_napari = hand.dock.layer_menu.view_text()
    hand.dock.stop()
    kept = seen(from_napari)
    if hasattr(first, "locked_data_level"):
        assert first.locked_data_level == 1
    else:  # an older napari chooses the level by itself
        kept["slice"]["level"], from_napari = seen(start)["slice"]["level"], from_window
    assert kept == seen(start)

    from_terminal = asyncio.run(copied_in_the_terminal(from_napari, monkeypatch))
    assert seen(from_terminal) == seen(start)
    mailbox, view = Mailbox(), decode_view(from_terminal)
    widget = Explorer(view["url"], view=view, post=mailbox)
    try:
        mailbox.run_until(lambda: settled(widget.session)() and widget.session.slice.state.locked)
        mailbox.run_until(lambda: seen(widget.state) == seen(start))
        from_notebook = widget.state
    finally:
        widget.close()
    view = decode_view(from_notebook)
    view["slice"].pop("rect", None)
    assert np.array_equal(drawn(place, encode_view(view)), drawn(place, start))


# ---------------------------------------------------------------------- beyond a plane
SOLID = {"azimuth": 30.0, "elevation": -20.0, "zoom": 1.5}


def with_members(text: str, **members: Any) -> str:
    view = decode_view(text)
    view["slice"].update(members)
    return encode_view(view)


def test_what_a_host_cannot_draw_is_said_and_kept(place: str, text: str, mailbox: Mailbox) -> None:
    beyond = {"solid": SOLID, "blend": {"url": place, "path": "/", "share": 0.25}}
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.restore(with_members(text, **beyond))
    mailbox.run_until(lambda: settled(session)() and session.slice.state.locked)
    said = [problem.headline for problem in session.problems.items]
    assert [NOT_DRAWN[name] in said for name in beyond] == [True, True]
    assert {name: session.view()["slice"][name] for name in beyond} == beyond
    session.select("/0")
    mailbox.run_until(settled(session))
    assert not {"solid", "blend"} & set(session.view()["slice"]), "they belong to the view of the other node"
    workspace.close_all()


def test_the_direction_of_a_volume_is_restored_and_told(text: str, mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.open(decode_view(text)["url"])
    solid = Solid(session.slice)
    session.go_to(with_members(text, solid=SOLID))
    mailbox.run_until(lambda: settled(session)() and solid.state.open)
    assert (solid.state.azimuth, solid.state.elevation, solid.state.zoom) == (30, -20, 1.5)
    solid.turn(10, 5)
    assert session.view()["slice"]["solid"] == {"azimuth": 40, "elevation": -15, "zoom": 1.5}
    solid.close()
    assert "solid" not in session.view()["slice"]
    solid.end()
    workspace.close_all()


def test_a_second_image_is_restored_and_told(place: str, text: str, tmp_path: Path, mailbox: Mailbox) -> None:
    other = str(shutil.copytree(place, tmp_path / "other.zarr"))
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.open(place)
    blend = Blend(session.slice)
    member = {"url": other, "path": "/", "share": 0.25}
    session.go_to(with_members(text, blend=member))
    mailbox.run_until(lambda: bool(blend.state.name))
    assert (blend.state.share, blend.state.sentence) == (0.25, "")
    blend.set_share(0.75)
    told = session.view()["slice"]["blend"]
    assert (told["url"].removeprefix("file://"), told["path"], told["share"]) == (other, "/", 0.75)
    blend.show(None)
    assert "blend" not in session.view()["slice"]
    session.go_to(with_members(text, blend={"url": str(tmp_path / "gone.zarr"), "path": "/"}))
    mailbox.run_until(lambda: "gone.zarr" in blend.state.name and bool(blend.state.sentence))
    blend.end()
    workspace.close_all()


def test_render_draws_a_volume(place: str, text: str) -> None:
    front = drawn(place, with_members(text, solid={"azimuth": 0, "elevation": 0}))
    turned = drawn(place, with_members(text, solid=SOLID))
    assert front.shape == turned.shape
    assert front.std() > 5
    assert not np.array_equal(front, turned)


BOMB = SIGN + base64.urlsafe_b64encode(zlib.compress(b" " * (1 << 24))).decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a view"),
        ("nonsense", "not a view"),
        ("{}", "not a view"),
        ("[1]", "not a view"),
        ('{"zarrscope": "1"}', "not a view"),
        ('{"zarrscope": 1}', "names no place"),
        ('{"zarrscope": 1, "url": 5}', "names no place"),
        ('{"zarrscope": 1, "url": "a.zarr", "path": 7}', "names no place"),
        ('{"zarrscope": 9, "url": "a.zarr"}', "newer zarrscope"),
        ("[" * 100_000, "not a view"),
        (SIGN, "cut or changed"),
        (SIGN + "eNq*", "cut or changed"),
        (SIGN + "AAAA", "cut or changed"),
        (BOMB, "cut or changed"),
        ("x" * (1 << 19), "too long"),
    ],
)
def test_a_text_from_elsewhere_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        decode_view(text)


@pytest.mark.parametrize(
    "part",
    [
        {"index": {"z": 10**400, "y": True, "c": "3", "\x1b[31m": 2}},
        {"index": [1, 2], "show": "yx", "channels": {"a": 1}, "labels": 5, "level": True},
        {"show": ["y", "nope"], "level": -1},
        {"show": ["c", "c"]},
        {"channels": [{"lo": 10**400, "hi": 1, "gamma": -1, "color": [1, 2, 300], "visible": 1}] * 30},
        {"channels": [5, {"lo": "a", "hi": None, "gamma": 1e300}]},
        {"rect": [0, 0, 0, 0], "crosshair": [1e300, 2]},
        {
            "solid": {"azimuth": "a", "elevation": 1e300, "zoom": 10**400},
            "blend": {"url": 5, "path": [], "share": None},
        },
        {"solid": [1, 2], "blend": {"url": "x" * 9999, "path": "/"}},
        {"rect": [1, 2, 3], "crosshair": ["a", 2]},
        {"projection": {"axis": "nope", "method": "max", "range": [0, 1]}},
        {"projection": {"axis": "z", "method": ["max"], "range": [10**400, -1, 5]}},
        {"projection": {"axis": "z", "method": "max", "range": [10**400, 10**401]}},
        {"projection": {"axis": ["z"], "method": "max", "range": [True, 2.5]}},
        {"projection": {"axis": "c", "method": "mean"}, "index": {"z": 1}},
        {"labels": [{"path": "/x", "visible": True, "opacity": "a", "outline": 1, "chosen": 10**400}, 7]},
    ],
)
def test_hostile_parts_leave_a_picture(place: str, part: dict[str, Any], mailbox: Mailbox) -> None:
    workspace = Workspace(mailbox, MemorySettings())
    session = workspace.restore(json.dumps({"zarrscope": 1, "url": place, "slice": part}))
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.channels))
    assert session.slice.state.kind == "image"
    assert all(0 <= axis.index < axis.length for axis in session.slice.state.axes)
    assert "\x1b" not in "".join(problem.headline for problem in session.problems.items)
    json.loads(json.dumps(session.view(), allow_nan=False))
    workspace.close_all()


def test_a_view_of_another_place_is_named(shelf: Shelf, text: str, mailbox: Mailbox) -> None:
    small_image(shelf)
    session = Session(shelf.address, mailbox)
    mailbox.run_until(settled(session))
    assert not session.go_to(text)
    assert "This view is one of another place" in session.state.sentence
    session.close()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_contrast_is_remembered_where_somebody_chose_it(shelf: Shelf, mailbox: Mailbox) -> None:
    labelled_image(shelf)
    settings = MemorySettings()
    workspace = Workspace(mailbox, settings)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.channels))
    workspace.close_all()
    assert settings.load("looks") is None, "nobody chose anything"
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.labels))
    session.slice.set_levels(0, 30, 40)
    session.slice.set_label("/image/labels/cells", True, 0.25)
    session.slice.set_outline("/image/labels/cells", True)
    session.slice.choose_label("/image/labels/cells", 7)
    workspace.close_all()
    again = Workspace(mailbox, settings)
    session = again.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.labels))
    channel, label = session.slice.state.channels[0], session.slice.state.labels[0]
    assert (channel.lo, channel.hi, label.visible, label.opacity) == (30, 40, True, 0.25)
    assert (label.outline, label.chosen_text) == (True, "7")
    view = {"url": shelf.address, "path": "/image", "slice": {"channels": [{"lo": 1, "hi": 2}]}}
    again.restore(encode_view(view))
    assert (session.slice.state.channels[0].lo, session.slice.state.channels[0].hi) == (1, 2), "a view goes before"
    settings.store("looks", '{"x": [')
    assert session.display_settings is not None
    assert session.display_settings.of(shelf.address, "/image") is None
    again.close_all()


def test_smoothing_and_dots_are_remembered_for_all_images(shelf: Shelf, mailbox: Mailbox) -> None:
    labelled_image(shelf)
    settings = MemorySettings()
    first = Workspace(mailbox, settings)
    session = first.open(shelf.address)
    assert session.slice.switches == (False, True)
    assert settings.load("picture") is None, "nobody chose anything"
    session.slice.set_smooth(True)
    session.slice.set_dots(False)
    first.close_all()
    again = Workspace(mailbox, settings)
    session = again.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and session.slice.state.kind == "image")
    assert (session.slice.state.smooth, session.slice.state.dots) == (True, False)
    again.close_all()
    settings.store("picture", '["smooth"]')
    session = again.open(shelf.address)
    assert session.slice.frame is not None, "stored text that is none of ours is no reason not to open"
    again.close_all()


@pytest.mark.parametrize(
    "choose",
    [
        lambda picture: picture.auto(),
        lambda picture: picture.show_alone(0),
        lambda picture: picture.set_part("phase"),
        lambda picture: picture.set_outline("/image/labels/cells", True),
        lambda picture: picture.choose_label("/image/labels/cells", 7),
        lambda picture: picture.set_gamma(0, 2.0),
    ],
    ids=["auto", "alone", "part", "outline", "label", "gamma"],
)
def test_every_choice_is_remembered(choose: Callable[[Any], None], shelf: Shelf, mailbox: Mailbox) -> None:
    labelled_image(shelf)
    settings = MemorySettings()
    workspace = Workspace(mailbox, settings)
    session = workspace.open(shelf.address)
    session.select("/image")
    mailbox.run_until(lambda: settled(session)() and bool(session.slice.state.labels))
    choose(session.slice)
    workspace.close_all()
    assert settings.load("looks") is not None


def test_is_view() -> None:
    assert is_view(" zarrscope:abc")
    assert is_view('{"zarrscope": 1}')
    assert not is_view("/data/zarrscope.zarr")
    assert not is_view("{odd}.zarr")
