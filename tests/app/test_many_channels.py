"""More channels than can be shown at once are stepped through: each step names its channel."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zarrscope
from zarrscope.ome.collection import Collection, CollectionMember
from zarrscope.runtime.threads import Mailbox
from zarrscope.view.image import MAX_CHANNELS, default_image
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.image.placing import MOST_ACROSS, laid_out

COUNT = MAX_CHANNELS + 1


def many(place: Path) -> None:
    axes = [{"name": "c", "type": "channel"}, *({"name": name, "type": "space"} for name in "yx")]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 1.0]}]}]
    window = {"min": 0, "max": 255, "start": 0, "end": 10}
    channels = [{"label": f"marker {n}", "color": "000000", "window": window, "active": True} for n in range(COUNT)]
    ome = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}], "omero": {"channels": channels}}
    with zarrscope.open(str(place), "w-") as made:
        made.root.attrs.put({"ome": ome})
        array = made.create_array("/0", shape=(COUNT, 8, 8), dtype="u1", chunks=(COUNT, 8, 8))
        array[...] = np.ones((COUNT, 8, 8), "u1")


def test_the_display_is_of_no_channel_and_the_slider_names_each(tmp_path: Path, mailbox: Mailbox) -> None:
    """All were drawn black, the colour of the first one, and under its name."""
    many(tmp_path / "many.zarr")
    image = default_image(zarrscope.open(str(tmp_path / "many.zarr"))["/"])
    assert image is not None
    assert image.channel_axis is None
    assert [(channel.color, channel.window) for channel in image.channels] == [((255, 255, 255), None)]
    assert "marker" not in image.channels[0].label
    session = Session(str(tmp_path / "many.zarr"), mailbox)
    mailbox.run_until(lambda: session.slice.state.kind == "image")
    for index in (0, 5):
        session.slice.set_index("c", index)
        assert session.slice.state.axes[0].channel == f"marker {index}"
    assert session.slice.state.axes[1].channel == ""
    session.close()


def test_few_channels_are_shown_together_and_their_axis_has_no_name(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-") as made:
        made.create_array("/0", shape=(2, 8, 8), dtype="u1", chunks=(1, 8, 8), dimension_names=("c", "y", "x"))
    image = default_image(zarrscope.open(str(tmp_path / "a.zarr"))["/0"])
    assert image is not None
    assert image.channel_name(0, 0) == ""


def test_thousands_of_thumbnails_are_scrolled_downwards_only() -> None:
    members = tuple(CollectionMember(f"/{n}", str(n)) for n in range(1000))
    placed = laid_out(Collection("images", "/", members=members), members)
    assert max(column for _, _, column in placed) == MOST_ACROSS - 1
    assert placed[MOST_ACROSS][1:] == (1, 0)
