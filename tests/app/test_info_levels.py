"""The tab Info: the levels of a pyramid as a table, or as lines in a narrow pane; types, formats and images by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import zarrscope
from contracts.slides import image, plate
from zarrscope.runtime.threads import Mailbox
from zarrscope.view.image import find_collection, find_images
from zarrscope_app.presenters import SessionStatus, Workspace
from zarrscope_app.presenters.node_description import as_text, describe
from zarrscope_app.presenters.snippets import snippets
from zarrscope_app.qt.panes import InfoPane


def test_the_levels_are_a_table_while_the_pane_is_wide_enough(
    qtbot: Any, tmp_path: Path, workspace: Workspace, mailbox: Mailbox
) -> None:
    image(tmp_path / "a.zarr", ("DAPI",))
    session = workspace.open(str(tmp_path / "a.zarr"))
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting)
    pane = InfoPane()
    qtbot.addWidget(pane)
    pane.resize(700, 500)
    pane.show()
    pane.attach(session.metadata)
    table, lines = ("Level", "Shape", "Chunks", "Size"), "chunks 1 × 1 × 8 × 8 · 128 B"

    def shown() -> str:
        told: str = pane.text.toPlainText().replace("\N{NO-BREAK SPACE}", " ")
        return told

    qtbot.waitUntil(lambda: "\n".join(table) in shown() and lines not in shown(), timeout=20_000)
    pane.setFixedWidth(240)
    qtbot.waitUntil(lambda: "Level 1" in shown() and lines in shown() and "Shape" not in shown(), timeout=20_000)
    pane.setFixedWidth(700)
    qtbot.waitUntil(lambda: "\n".join(table) in shown(), timeout=20_000)


def test_info_names_the_fields_of_a_type_and_the_image_of_a_plate(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-", dialect="v2") as h:
        typed = h.create_array("/t", shape=(3,), dtype=np.dtype([("a", "<i4"), ("b", "<f8", (2,))]), chunks=(3,))
        assert "Data type   struct: a int32, b float64[2]" in as_text(describe(typed))
    plate(tmp_path / "p.zarr")
    wells = zarrscope.open(str(tmp_path / "p.zarr"))
    told = describe(wells["/"], find_images(wells["/A/1/0"])[0], find_collection(wells["/"]))
    assert told.sections[0].title == "Image A/1/0"


def test_open_in_code_calls_a_format_by_its_title(tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "a.n5"), "w-", dialect="n5") as h:
        made = h.create_array("/t", shape=(3,), dtype="u1", chunks=(3,))
        why = {each.id: each.why for each in snippets(made, None)}
    assert why["zarr"] == "zarr-python 3 reads Zarr v2 and v3; this is N5."


def test_pixel_sizes_without_a_unit_are_told_as_such(tmp_path: Path) -> None:
    """An image whose axes have no unit has sizes none the less; a plain array has none."""
    with zarrscope.open(str(tmp_path / "a.zarr"), "w-", dialect="v2") as h:
        axes = [{"name": "t", "type": "time"}, {"name": "c", "type": "channel"}]
        axes += [{"name": n, "type": "space", **({"unit": "micrometer"} if n == "z" else {})} for n in "zyx"]
        scale = [{"type": "scale", "scale": [2, 1, 0.5, 0.25, 0.25]}]
        level = {"path": "0", "coordinateTransformations": scale}
        h.root.attrs["multiscales"] = [{"version": "0.4", "axes": axes, "datasets": [level]}]
        made = h.create_array("/0", shape=(1, 1, 2, 4, 4), dtype="u1", chunks=(1, 1, 1, 4, 4))
        told = as_text(describe(h["/"], find_images(h["/"])[0]))
        assert "z 0.5 µm, t 2, y 0.25, x 0.25 (the file states no unit)" in told
        assert "Pixel size" not in as_text(describe(made, find_images(made)[0]))
