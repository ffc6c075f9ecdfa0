"""The address of a node in an Icechunk repository or a reference file opens that store at the node, although no file
has the path of the node."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import zarrscope
from contracts.http_server import web_server
from contracts.service_answers import container, referring_in_parquet, stored
from narrowing import as_array, not_none
from zarrscope.errors import NotFound, Unsupported
from zarrscope.nodes.enclosing import opened_around
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores.address import address_with, parents, split_address
from zarrscope_app.cli import cli
from zarrscope_app.presenters import MemorySettings, SessionStatus, Workspace
from zarrscope_app.presenters.node_description import describe
from zarrscope_app.presenters.snippets import snippets

SECONDS = 60.0
ARRAY = {
    "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "compressor": None, "fill_value": 0, "order": "C",
    "filters": None,
}  # fmt: skip
REFERENCES = json.dumps(
    {
        "version": 1,
        "refs": {
            ".zgroup": '{"zarr_format": 2}', "g/.zgroup": '{"zarr_format": 2}', "g/a/.zarray": json.dumps(ARRAY),
            "g/a/0": "AB",
        },
    }
).encode()  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    icechunk = pytest.importorskip("icechunk")
    import zarr

    place = tmp_path / "repo"
    session = icechunk.Repository.create(icechunk.local_filesystem_storage(str(place))).writable_session("main")
    made = zarr.group(session.store).create_group("g").create_array("a", shape=(2,), dtype="u1", chunks=(2,))
    made[:] = [65, 66]
    session.commit("first")
    return place


def shown(mailbox: Mailbox, url: str) -> tuple[str, str, str]:
    """The address, the node and the facts that a session shows."""
    workspace = Workspace(mailbox, MemorySettings())
    workspace.open(url)

    def settled() -> bool:
        state = not_none(workspace.current).state
        return state.status is SessionStatus.FAILED or (state.status is SessionStatus.READY and not state.selecting)

    mailbox.run_until(settled, SECONDS)
    session = not_none(workspace.current)
    found = session.url, session.state.path, session.state.facts
    workspace.close_all()
    mailbox.run()
    return found


@pytest.mark.parametrize("path", ["g", "g/a"])
def test_a_node_of_a_repository(repository: Path, mailbox: Mailbox, path: str) -> None:
    with zarrscope.open(f"{repository}/{path}") as h:
        assert h.initial_path.strip("/") == path
        assert as_array(h["/g/a"])[...].tolist() == [65, 66]
    url, node, facts = shown(mailbox, f"{repository}/{path}")
    assert (url, node) == (str(repository), f"/{path}")
    assert facts.startswith("Part of repo · "), facts
    listed = CliRunner().invoke(cli, ["ls", f"{repository}/g"])
    assert listed.exit_code == 0, listed.output
    assert "a" in listed.output.split(), listed.output


def test_other_folders_of_a_repository_are_no_nodes(repository: Path) -> None:
    for path in ("none", "snapshots", "refs"):
        with pytest.raises(NotFound):
            zarrscope.open(f"{repository}/{path}")
        with pytest.raises(NotFound):
            opened_around(zarrscope.open, f"{repository}/{path}")


def test_without_the_package_the_repository_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("snapshots", "refs"):
        (tmp_path / "x" / name).mkdir(parents=True)
    monkeypatch.setattr("zarrscope.stores.icechunk.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="Icechunk repository, which is read through a package"):
        zarrscope.open(tmp_path / "x" / "g")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("|icechunk:", ""), ("|icechunk", ""), ("|icechunk:g", "g"), ("|icechunk://g/a", "g/a"),
        ("|icechunk:|zarr3:g", "g"), ("/|icechunk://@branch.main/|zarr3:g/a", "g/a"),
    ],
)  # fmt: skip
def test_a_repository_is_taken_as_said(repository: Path, text: str, node: str) -> None:
    with zarrscope.open(f"{repository}{text}") as h:
        assert h.initial_path.strip("/") == node
        assert not_none(h.recognition).kind == "icechunk"


@pytest.mark.parametrize("version", ["branch.other", "tag.v1", "4N0217AZA4VNPYD0HR0G"])
@pytest.mark.parametrize("slashes", ["", "//"])
def test_another_version_stays_in_the_address(version: str, slashes: str) -> None:
    found = split_address(f"s3://b/repo?region=eu|icechunk:{slashes}@{version}/|zarr3:g")
    assert found.store_url == f"icechunk://@{version}::s3://b/repo?region=eu"
    assert (found.node_path, found.dialect) == ("g", "v3")
    assert split_address(found.text) == found
    assert [each.node_path for each in parents(found)] == ["g"]
    assert address_with(found.text, {"region": "us"}) == found.text.replace("eu", "us")


@pytest.mark.parametrize("way", ["address", "option"])
def test_the_version_that_is_open_is_shown_and_kept(repository: Path, mailbox: Mailbox, way: str) -> None:
    import icechunk
    import zarr

    made = icechunk.Repository.open(icechunk.local_filesystem_storage(str(repository)))
    made.create_tag("v1", snapshot := made.lookup_branch("main"))
    session = made.writable_session("main")
    zarr.open_array(session.store, path="g/a")[:] = [0, 0]
    session.commit("second")
    told = f"tag v1 (snapshot {snapshot}) of an Icechunk repository"
    arguments = [f"{repository}|icechunk:@tag.v1"] if way == "address" else [str(repository), "--tag", "v1"]
    for verb in ("info", "tree", "check"):
        result = CliRunner().invoke(cli, [verb, *arguments])
        assert result.exit_code == 0, result.output
        assert told in result.output, verb
    command = [sys.executable, "-m", "zarrscope_app", "read", arguments[0], "g/a", *arguments[1:], "--json"]
    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout) == [65, 66]

    settings = MemorySettings()
    workspace = Workspace(mailbox, settings)
    workspace.open(f"{repository}|icechunk:@tag.v1/g/a")
    current = not_none(workspace.current)
    mailbox.run_until(lambda: current.state.status is SessionStatus.READY and current.node is not None, SECONDS)
    assert current.state.path == "/g/a"
    assert current.name == current.tree.label(0) == "repo @tag.v1"
    node = as_array(not_none(current.node))
    assert any(told in item.text for section in describe(node).sections for item in section.items)
    code = {each.id: each for each in snippets(node, None)}
    values: dict[str, object] = {}
    exec(code["zarrscope"].text, values)
    assert np.asarray(values["values"]).tolist() == [65, 66]
    assert not code["zarr"].text
    recent, view = workspace.recent[0].url, workspace.view_text()
    workspace.close_all()
    mailbox.run()
    for reopen in (lambda: workspace.open(recent), lambda: workspace.restore(view)):
        again = reopen()
        mailbox.run_until(lambda: again.state.status is not SessionStatus.OPENING, SECONDS)  # noqa: B023 - called at once
        assert again.state.status is SessionStatus.READY, again.state.sentence
        assert again.name == "repo @tag.v1"
        assert as_array(not_none(again.hierarchy)["/g/a"])[...].tolist() == [65, 66]
        workspace.close_all()
        mailbox.run()


def test_a_place_that_is_no_repository_says_so(tmp_path: Path) -> None:
    zarrscope.open(tmp_path / "x.zarr", "w-").close()
    with pytest.raises(NotFound, match="The address says Icechunk, but the hierarchy is Zarr v3"):
        zarrscope.open(f"{tmp_path / 'x.zarr'}|icechunk:")


@pytest.fixture
def web() -> Iterator[str]:
    values = {"d/refs.json": REFERENCES, "d/folder.json/x": b"no hierarchy"}
    with web_server(values) as server:
        parquet = container("references in parquet", {"a/0": b"A", "a/1": b"B"}, server.url)
        values |= {f"d/{key}": value for key, value in parquet.items()}
        values |= {f"bucket/x/a/{i}": b"AB"[i : i + 1] for i in (0, 1)}
        yield f"{server.url}/d"


@pytest.mark.parametrize("path", ["refs.json/g", "refs.json/g/a"])
def test_a_node_of_a_reference_file_of_a_server(web: str, mailbox: Mailbox, path: str) -> None:
    file, _, node = path.partition("/")
    with zarrscope.open(f"{web}/{path}") as h:
        assert h.initial_path.strip("/") == node
        assert as_array(h["/g/a"])[...].tolist() == [65, 66]
    assert shown(mailbox, f"{web}/{path}")[:2] == (f"reference://::{web}/{file}", f"/{node}")


def test_a_node_of_references_in_parquet_of_a_server(web: str, mailbox: Mailbox) -> None:
    with zarrscope.open(f"{web}/x.parq/a") as h:
        assert as_array(h[h.initial_path])[...].tolist() == [65, 66]
    assert shown(mailbox, f"{web}/x.parq/a")[:2] == (f"reference://::{web}/x.parq", "/a")


def test_a_node_of_references_in_parquet(web: str, tmp_path: Path, mailbox: Mailbox) -> None:
    folder = tmp_path / "x.parq"
    stored(referring_in_parquet({"a/0": b"A", "a/1": b"B"}, web.rpartition("/")[0]), folder)
    with zarrscope.open(folder / "a") as h:
        assert as_array(h[h.initial_path])[...].tolist() == [65, 66]
    assert shown(mailbox, str(folder / "a"))[1] == "/a"


@pytest.mark.parametrize("path", ["refs.json/none", "folder.json/x", "none.json/x", "x.parq/none", "no.parq/x"])
def test_other_addresses_are_not_found(web: str, path: str) -> None:
    with pytest.raises(NotFound):
        zarrscope.open(f"{web}/{path}")
