"""Each host says how a node was found: ls, tree and info beside the node and in --json, Info in every host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import zarrscope
from contracts.http_server import folder_server, serving, web_server
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.cli import run
from zarrscope_app.presenters import Session
from zarrscope_app.presenters.node_description import as_text

AXES = [{"name": name, "type": "space"} for name in "yx"]
IMAGE = {
    "version": "0.5",
    "multiscales": [
        {
            "axes": AXES,
            "datasets": [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}],
        }
    ],
}


@pytest.fixture(params=["listing", "consolidated", "declared", "index"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a hierarchy, and how its level is found."""
    folder, found = tmp_path / "x.zarr", request.param
    with zarrscope.open(folder, "w-") as h:
        h.create_array("/s0", shape=(4, 4), dtype="u1", chunks=(4, 4))[...] = 1
        if found == "consolidated":
            h.consolidate()
    if found == "declared":
        document = json.loads((folder / "zarr.json").read_text())
        (folder / "zarr.json").write_text(json.dumps({**document, "attributes": {"ome": IMAGE}}))
    if found == "listing":
        yield str(folder), found
    elif found == "index":
        with serving(folder_server(tmp_path), "origins") as server:
            yield f"{server}/x.zarr", found
    else:
        files = (each for each in folder.rglob("*") if each.is_file())
        values = {f"x.zarr/{each.relative_to(folder).as_posix()}": each.read_bytes() for each in files}
        with web_server(values) as web:
            yield f"{web.url}/x.zarr", found


MARKS = {
    "listing": "",
    "consolidated": "(consolidated metadata)",
    "declared": "(OME-Zarr metadata)",
    "index": "(web index)",
}
SENTENCES = {
    "listing": "Listed by the store.",
    "consolidated": "Named in the consolidated metadata.",
    "declared": "Named in the metadata of an image or a plate; this server cannot list.",
    "index": "Named in the index of the web server.",
}


def test_listings_say_how_a_node_was_found(place: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    url, found = place
    for verb in ("ls", "tree"):
        assert run([verb, url]) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if "s0" in line]
        assert len(lines) == 1
        assert lines[0].rstrip().endswith(MARKS[found] or "4 × 4"), lines
        assert ("(" in lines[0]) == bool(MARKS[found])
    assert run(["ls", url, "--json"]) == 0
    assert [each["found_by"] for each in json.loads(capsys.readouterr().out)] == [found]
    assert run(["tree", url, "--json"]) == 0
    top = json.loads(capsys.readouterr().out)
    assert [each["found_by"] for each in top["children"]] == [found]


def test_info_of_a_node_that_was_opened_by_its_path(place: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    url, found = place
    known = found if found in ("listing", "consolidated") else "typed"
    assert run(["info", url, "s0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found_by"] == known
    assert run(["info", url, "s0"]) == 0
    assert SENTENCES.get(known, "Opened by its name.") in capsys.readouterr().out
    assert run(["info", url]) == 0
    assert "Found" not in capsys.readouterr().out, "the root is where the address leads"


def test_information_in_every_host_says_how_a_node_was_found(place: tuple[str, str], mailbox: Mailbox) -> None:
    url, found = place
    session = Session(url, mailbox)
    try:
        mailbox.run_until(lambda: session.tree.find("/s0") is not None)
        session.select("/s0")
        mailbox.run_until(lambda: SENTENCES[found] in as_text(session.metadata.state))
    finally:
        session.close()
