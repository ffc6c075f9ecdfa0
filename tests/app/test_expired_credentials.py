"""Credentials expire while a hierarchy is open: the user is asked once, and the session then continues at the same node
and plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from aws_keys import PROFILE, ExpiringGate, expiring_s3, profiles_of
from contracts.http_server import web_server
from contracts.looking import Looking, fill
from zarrscope.runtime.threads import Mailbox
from zarrscope.stores import object_requests
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters import EditStatus, RowState, Workspace
from zarrscope_app.presenters.tree import tree_text


# ---------------------------------------------------------------------- S3
@pytest.fixture(scope="module")
def s3() -> Iterator[tuple[str, ExpiringGate]]:
    with expiring_s3("403 Forbidden") as found:
        yield found


@pytest.fixture
def volume(
    s3: tuple[str, ExpiringGate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, ExpiringGate, Path]]:
    """An address that the profile "lab" may read, the gate in front of the server, and the file of profiles."""
    monkeypatch.setattr("zarrscope.stores.credentials._machine", lambda fact: "")
    profiles = profiles_of(tmp_path, monkeypatch)
    address, gate = s3
    url = f"s3://expiring/{tmp_path.name}.zarr?endpoint={address}&region=us-east-1&profile=lab"
    fill(url)
    yield url, gate, profiles
    gate.expired.clear()


def test_other_credentials_of_a_bucket(
    volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox
) -> None:
    url, gate, _ = volume
    journey = Looking(workspace.open(url), mailbox)
    session = journey.session
    journey.look()
    journey.expand("/more")
    journey.go(2)
    journey.shows(2)
    assert journey.asked == 0

    gate.expired.add("OLDKEY")
    journey.go(7)
    journey.until(lambda: journey.failed() and "credentials" in session.state.offers)
    assert "expired" in journey.picture.why(3, 3)
    assert journey.picture.why(3, 3).endswith("Click to read it again.")
    assert "expired" in session.state.sentence
    assert journey.asked == 1, "one question, however many chunks fail"
    question = session.credentials
    assert question is not None

    hierarchy, node = session.hierarchy, session.node
    values = {each.name: each.value for each in question.fields}
    session.use_credentials({**values, "profile": "nobody"})
    assert session.credentials is None, "no second question while an answer is tried"
    journey.until(lambda: "nobody" in session.state.sentence)
    assert "credentials" in session.state.offers, "asked again after an answer that does not help"
    assert session.credentials is not None
    assert session.credentials.fields[0].value == "nobody", "to be corrected"
    session.use_credentials({**values, "profile": "other"})
    journey.shows(7)
    assert session.state.path == "/a"
    assert (session.hierarchy, session.node) == (hierarchy, node), "nothing was opened anew"
    assert session.tree.find("/more/inside") is not None, "what was expanded stays"
    assert "profile=other" in session.url
    assert session.hierarchy is not None
    assert session.hierarchy.url == session.url
    assert session.state.offers == ()
    assert not session.problems.items
    journey.go(9)
    journey.shows(9)


def test_a_save_that_was_denied_is_done_with_other_credentials(
    volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox
) -> None:
    url, gate, _ = volume
    journey = Looking(workspace.open(url, writable=True), mailbox)
    session = journey.session
    journey.look()
    journey.until(lambda: session.edit.state.status is EditStatus.CLEAN)
    session.edit.add("", "title", '"mine"')
    gate.expired.add("OLDKEY")
    session.edit.save()
    journey.until(lambda: "credentials" in session.state.offers)
    assert session.edit.state.status is EditStatus.FAILED
    session.use_credentials(f"{session.credentials.line if session.credentials else ''} profile=other")
    journey.until(lambda: "profile=other" in session.url)
    assert session.state.offers == ()
    assert session.edit.unsaved == 1
    session.edit.save()
    journey.until(lambda: not session.edit.unsaved)
    with zarrscope.open(url.replace("profile=lab", "profile=other")) as h:
        assert h["/a"].attributes["title"] == "mine"


def test_a_login_that_was_renewed_elsewhere_needs_a_retry_only(
    volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_requests, "LOOK_AGAIN", 0.0)
    url, gate, profiles = volume
    journey = Looking(workspace.open(url), mailbox)
    journey.look()
    gate.expired.add("OLDKEY")
    journey.go(4)
    journey.until(journey.failed)
    journey.picture.retry()
    journey.until(journey.failed)
    hierarchy = journey.session.hierarchy
    profiles.write_text(PROFILE.format("lab", "NEWKEY"))
    journey.picture.retry()
    journey.shows(4)
    assert journey.session.hierarchy is hierarchy


# ---------------------------------------------------------------------- web servers
@contextmanager
def served() -> Iterator[Any]:
    store = MemoryStore()
    fill(store)
    with web_server({f"x.zarr/{key}": store.get(key) or b"" for key in store.list()}) as server:
        server.token = "token=first-one"
        yield server


def test_another_link_to_a_web_server(workspace: Workspace, mailbox: Mailbox) -> None:
    with served() as server:
        journey = Looking(workspace.open(f"{server.url}/x.zarr?token=first-one"), mailbox)
        session = journey.session
        journey.look()
        server.token = "token=second-one"
        journey.go(5)
        journey.until(lambda: journey.failed() and "credentials" in session.state.offers)
        assert "401" in journey.picture.why(3, 3)
        question = session.credentials
        assert question is not None
        assert "Tried: the token of the address." in question.sentence
        assert "first-one" not in str(question)

        hierarchy = session.hierarchy
        session.use_credentials({"address": ""})
        journey.until(lambda: session.credentials is not None)
        assert "credentials" in session.state.offers, "asked again, for the server still says no"
        session.use_credentials(f"address={server.url}/x.zarr?token=second-one")
        journey.shows(5)
        assert session.hierarchy is hierarchy
        assert "second-one" not in session.url

        server.values |= {f"y.zarr/{key[7:]}": value for key, value in server.values.items()}
        server.token = "token=third-one"
        journey.go(6)
        journey.until(lambda: journey.failed() and "credentials" in session.state.offers)
        session.use_credentials({"address": f"{server.url}/y.zarr?token=third-one"})
        journey.until(lambda: session.hierarchy is not hierarchy)
        journey.open()
        assert session.name == "y.zarr", "another place is opened anew"


def test_another_link_to_an_archive(workspace: Workspace, mailbox: Mailbox, tmp_path: Path) -> None:
    fill(str(tmp_path / "x.zip"))
    noise = np.random.default_rng(3).integers(256, size=1 << 20, dtype="u1")
    # opening an archive also reads its end, which contains no plane
    with zarrscope.open(str(tmp_path / "x.zip"), "r+") as h:
        h.create_array("/noise", shape=noise.shape, dtype="u1", chunks=(1 << 16,))[...] = noise
    with web_server({"x.zip": (tmp_path / "x.zip").read_bytes()}) as server:
        server.token = "token=first-one"
        journey = Looking(workspace.open(f"{server.url}/x.zip?token=first-one"), mailbox)
        session = journey.session
        journey.look()
        hierarchy = session.hierarchy
        server.token = "token=second-one"
        session.slice.load_anyway()
        journey.go(5)
        journey.until(journey.failed)
        session.use_credentials({"address": f"{server.url}/x.zip?token=second-one"})
        journey.shows(5)
        assert session.hierarchy is hierarchy


def denied_row(volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox) -> tuple[Looking, int]:
    """A session that shows the array, and the row of a group that could not be listed because the key had expired."""
    url, gate, _ = volume
    journey = Looking(workspace.open(url), mailbox)
    journey.look()
    more = journey.row("/more")
    gate.expired.add("OLDKEY")
    journey.session.tree.expand(more)
    journey.until(lambda: journey.session.tree.row(more).state is RowState.FAILED)
    return journey, more


def test_a_row_says_it_and_offers_another_try(
    volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_requests, "LOOK_AGAIN", 0.0)
    _, _, profiles = volume
    journey, more = denied_row(volume, workspace, mailbox)
    session = journey.session
    assert "expired" in session.tree.row(more).sentence
    profiles.write_text(PROFILE.format("lab", "NEWKEY"))
    session.tree.retry(more)
    journey.until(lambda: session.tree.find("/more/inside") is not None)


def test_a_row_that_was_denied_asks_for_other_credentials(
    volume: tuple[str, ExpiringGate, Path], workspace: Workspace, mailbox: Mailbox
) -> None:
    journey, more = denied_row(volume, workspace, mailbox)
    session = journey.session
    journey.until(lambda: session.tree.row(more).offer == "credentials")
    assert tree_text.note(session.tree.row(more)).startswith("Other credentials… ")
    assert "expired" in session.state.sentence
    assert "credentials" in session.state.offers
    session.use_credentials(f"{session.credentials.line if session.credentials else ''} profile=other")
    journey.until(lambda: session.tree.find("/more/inside") is not None)
    assert session.tree.row(more).offer == ""
    assert journey.picture.index[0] == 0
    assert journey.whole(), "the picture stays"
