"""A plain folder of images in different formats: each image is described and edited in its own format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import explore, run
from zarrscope_app.presenters import EditStatus, Session
from zarrscope_app.presenters.form.words import FOLDER_HAS_NONE
from zarrscope_app.presenters.formats import FOLDER_WORDS
from zarrscope_app.presenters.snippets import snippets

FORMATS = {"a.zarr": "v2", "b.zarr": "v3", "c.zarr": "v2"}


def image(place: Path, dialect: str) -> None:
    axes = [{"name": "c", "type": "channel"}, *({"name": n, "type": "space", "unit": "micrometer"} for n in "yx")]
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 0.5, 0.5]}]}]
    window = {"start": 0, "end": 200, "min": 0, "max": 255}
    omero = {"channels": [{"label": "first", "color": "00FF00", "active": True, "window": window}]}
    with zarrscope.open(place, "w-", dialect=dialect) as made:
        if dialect == "v2":
            made.root.attrs.update(multiscales=[{"version": "0.4", "axes": axes, "datasets": levels}], omero=omero)
        else:
            made.root.attrs["ome"] = {
                "version": "0.5",
                "multiscales": [{"axes": axes, "datasets": levels}],
                "omero": omero,
            }
        array = made.create_array("/0", shape=(1, 16, 16), dtype="uint8", chunks=(1, 8, 8))
        array[...] = np.arange(256).reshape(1, 16, 16)
        made.consolidate()


@pytest.fixture
def place(tmp_path: Path) -> str:
    for name, dialect in FORMATS.items():
        image(tmp_path / "images" / name, dialect)
    return str(tmp_path / "images")


def settled(session: Session, path: str) -> Callable[[], bool]:
    return lambda: session.state.path == path and not session.state.selecting and bool(session.edit.state.sections)


def go(session: Session, mailbox: Mailbox, path: str) -> None:
    session.select(path)
    mailbox.run_until(settled(session, path))


def ome(folder: Path) -> Any:
    """The OME-Zarr attributes of the node."""
    text = (folder / ".zattrs") if (folder / ".zattrs").exists() else (folder / "zarr.json")
    read = json.loads(text.read_text())
    return read["attributes"]["ome"] if text.name == "zarr.json" else read


@pytest.mark.parametrize("name", FORMATS)
def test_each_image_has_its_own_form(session: Session, mailbox: Mailbox, place: str, name: str) -> None:
    go(session, mailbox, f"/{name}")
    before = {each: each.read_bytes() for each in Path(place).rglob("*") if each.is_file()}
    session.edit.edit("size/1", "0.25")
    session.edit.edit("channel/0/label", "DAPI")
    mailbox.run_until(lambda: session.edit.state.changes > 0 and not session.edit.busy)
    session.edit.save()
    mailbox.run_until(lambda: session.edit.state.status is EditStatus.CLEAN)
    found = ome(Path(place) / name)
    assert found["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"] == [1.0, 0.25, 0.25]
    assert found["omero"]["channels"][0]["label"] == "DAPI"
    changed = {each for each in before if each.read_bytes() != before[each]}
    own = {"v2": {".zattrs", ".zmetadata"}, "v3": {"zarr.json"}}[FORMATS[name]]
    assert changed == {Path(place) / name / each for each in own}
    assert {each for each in Path(place).rglob("*") if each.is_file()} == set(before)


def test_all_are_mended_at_once(session: Session, mailbox: Mailbox, place: str) -> None:
    session.select_several([f"/{name}" for name in FORMATS])
    mailbox.run_until(lambda: bool(session.edit.state.sections) and not session.edit.busy)
    session.edit.edit("size/1", "0.25")
    mailbox.run_until(lambda: session.edit.unsaved > 0 and not session.edit.busy)
    session.edit.save()
    mailbox.run_until(lambda: session.edit.unsaved == 0 and not session.edit.busy)
    for name in FORMATS:
        scale = ome(Path(place) / name)["multiscales"][0]["datasets"][0]["coordinateTransformations"][0]["scale"]
        assert scale == [1.0, 0.25, 0.25], name


@pytest.mark.parametrize("name", FORMATS)
def test_it_is_said_in_which_format_an_image_is(session: Session, mailbox: Mailbox, place: str, name: str) -> None:
    dialect = FORMATS[name]
    version = {"v2": "0.4", "v3": "0.5"}[dialect]
    go(session, mailbox, f"/{name}")
    assert session.state.facts == f"{dialect} · OME-Zarr {version} · writable"
    assert {"v2": "Zarr v2", "v3": "Zarr v3"}[dialect] in session.metadata.text()


def test_the_folder_itself_has_no_format(session: Session, mailbox: Mailbox, place: str) -> None:
    mailbox.run_until(lambda: session.state.path == "/" and not session.state.selecting)
    assert session.state.facts == "folder · writable"
    assert session.metadata.state.words == FOLDER_WORDS
    assert session.metadata.text().count("hierarchies") == 1, "said once"
    assert not session.metadata.state.warnings, "a folder without a document of its own is no problem"
    assert not session.problems.count, "that it contains hierarchies is said by Info"
    assert session.metadata.state.subtitle == "folder"
    found = {each.id: each for each in snippets(zarrscope.open(place)["/"])}
    assert not found["zarr"].text
    assert "a document of their own" in found["zarr"].why


def test_the_verb_info_says_once_that_it_is_a_folder(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", place]) == 0
    out, err = capsys.readouterr()
    assert FOLDER_WORDS in out
    assert (out + err).count("hierarchies") == 1


def test_a_window_opens_a_folder_without_a_word_in_the_terminal(
    place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def window(urls: tuple[str, ...], **_: object) -> int:
        shown.extend(urls)
        return 0

    monkeypatch.setattr(explore, "_why_no_window", lambda: "")
    monkeypatch.setattr("zarrscope_app.qt.main", window)
    assert run([place]) == 0
    assert shown == [place]
    assert capsys.readouterr().err == ""


def test_the_folder_itself_has_no_attributes_to_edit(session: Session, mailbox: Mailbox, place: str) -> None:
    """It has no document, so that a form of it would write one into a folder that is no hierarchy."""
    mailbox.run_until(lambda: session.state.path == "/" and not session.state.selecting)
    edit = session.edit
    assert (edit.state.status, edit.state.sentence, edit.state.ways) == (EditStatus.EMPTY, FOLDER_HAS_NONE, ())
    go(session, mailbox, "/a.zarr")
    assert edit.state.sentence == "", "an image has a form"
    session.select("/")
    mailbox.run_until(lambda: session.state.path == "/" and not session.state.selecting)
    assert edit.state.sentence == FOLDER_HAS_NONE
    session.select_several([f"/{name}" for name in FORMATS])
    mailbox.run_until(lambda: bool(edit.state.sections) and not edit.busy)
    assert edit.state.title == "Attributes of 3"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("below", ["", "/0"])
def test_code_opens_a_node_in_its_own_format(place: str, name: str, below: str) -> None:
    node = zarrscope.open(place)[f"/{name}{below}"]
    for snippet in snippets(node):
        if snippet.text:
            space: dict[str, Any] = {}
            exec(compile(snippet.text, snippet.id, "exec"), space)
            if below:
                assert np.array_equal(np.asarray(space["values"]), np.arange(256).reshape(16, 16)), snippet.text
