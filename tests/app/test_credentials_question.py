"""A bucket denies access: every host asks for other credentials and opens the bucket with them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import servers
import zarrscope
from aws_keys import forget_environment
from zarrscope.errors import Refused
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import SessionStatus, Workspace
from zarrscope_app.presenters.session.credentials import answered, question_of, values_of
from zarrscope_app.presenters.session.session import Session

_numbers = count()


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with servers.s3() as url:
        yield url


@pytest.fixture
def volume(moto: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a hierarchy that only the profile "lab" may read."""
    forget_environment(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("zarrscope.stores.credentials._machine", lambda fact: "")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[lab]\naws_access_key_id=k\naws_secret_access_key=s\n")
    bucket = f"questions-{next(_numbers)}"
    servers.create_bucket(moto, bucket)
    url = f"s3://{bucket}/x.zarr?endpoint={moto}&region=us-east-1"
    with zarrscope.open(url + "&profile=lab", "w-") as h:
        h.create_group("/g")
    return url


def test_a_session_asks_and_goes_on(volume: str, workspace: Workspace, mailbox: Mailbox) -> None:
    session = workspace.open(volume)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    assert "credentials" in session.state.offers
    question = session.credentials
    assert question is not None
    assert question.sentence.endswith("was denied. Tried: without credentials.")
    assert [each.name for each in question.fields] == ["profile", "endpoint", "region", "anon"]
    assert question.fields[0].choices == ("lab",)
    assert question.fields[1].value.startswith("http://127.0.0.1")

    session.use_credentials({"profile": "nobody", "endpoint": question.fields[1].value, "region": "us-east-1"})
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED and "nobody" in session.state.sentence)
    assert "credentials" in session.state.offers, "asked again after an answer that does not help"

    session.use_credentials({"profile": "lab", "endpoint": question.fields[1].value, "region": "us-east-1"})
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY)
    assert session.state.offers == ()
    assert session.credentials is None
    assert workspace.recent[0].url == session.url
    assert "profile=lab" in session.url


def test_a_line_of_the_terminal_is_an_answer_too(volume: str, workspace: Workspace, mailbox: Mailbox) -> None:
    session = workspace.open(volume)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    question = session.credentials
    assert question is not None
    session.use_credentials("lab")
    mailbox.run_until(lambda: "'lab' is no setting" in session.state.sentence)
    assert "credentials" in session.state.offers
    session.use_credentials(f"{question.line} profile=lab")
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY)


@pytest.mark.parametrize("answer", ["profile=lab", {"profile": "lab"}])
def test_the_server_stays_if_only_a_profile_is_answered(
    answer: Any, volume: str, moto: str, workspace: Workspace, mailbox: Mailbox
) -> None:
    session = workspace.open(volume)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    session.use_credentials(answer)
    mailbox.run_until(lambda: session.state.status is SessionStatus.READY)
    assert f"endpoint={moto}" in session.url
    assert "region=us-east-1" in session.url


def test_a_server_that_is_emptied_is_the_own_one_of_the_service(
    volume: str, workspace: Workspace, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = workspace.open(volume)
    mailbox.run_until(lambda: session.state.status is SessionStatus.FAILED)
    opened: list[str] = []
    monkeypatch.setattr(type(session), "_open_with", lambda self, url: opened.append(url))
    session.use_credentials("endpoint= region= profile=lab")
    (url,) = opened
    assert "profile=lab" in url
    assert "endpoint" not in url
    assert "region" not in url


def test_answers_go_into_the_address() -> None:
    url = "s3://b/x.zarr?anon=1::g"
    assert answered(url, {"anon": "", "profile": " lab "}) == "s3://b/x.zarr?profile=lab::g"
    assert answered(url, {"profile": "", "anon": "1"}) == url
    with pytest.raises(Refused, match="not a web address"):
        answered(url, {"endpoint": "host:9000"})
    with pytest.raises(Refused, match="no setting 'key'"):
        answered(url, {"key": "AKIA"})
    assert values_of("region=r  anon=1") == {"region": "r", "anon": "1"}


def test_buckets_and_web_servers_are_asked_about() -> None:
    assert question_of("/data/x.zarr", "nobody") is None
    asked = question_of("https://ann:secret-word@host/x.zarr?sig=abcdefgh", "the token of the address")
    assert asked is not None
    assert [each.name for each in asked.fields] == ["address"]
    assert "secret-word" not in str(asked)
    assert "abcdefgh" not in str(asked)
    assert answered("https://host/x.zarr", {"address": " https://host/x.zarr?t=2 "}) == "https://host/x.zarr?t=2"
    assert answered("https://host/x.zarr", {"address": ""}) == "https://host/x.zarr"
    assert values_of("address=https://host/x.zarr?t=2") == {"address": "https://host/x.zarr?t=2"}
    with pytest.raises(Refused, match="not a web address"):
        answered("https://host/x.zarr", {"address": "s3://b/x"})
    found = question_of("zip://a::gs://b/x.zip", "nobody")
    assert found is not None
    assert [each.name for each in found.fields] == ["endpoint", "anon"]


# ---------------------------------------------------------------------- hosts
class Asked:
    """A session that asks for credentials."""

    def __init__(self, answers: list[Any]) -> None:
        self.credentials = question_of("s3://b/x.zarr?region=r&anon=1", "the environment")
        self.use_credentials = answers.append


def test_the_window_shows_a_form(qtbot: Any) -> None:
    from qtpy.QtWidgets import QCheckBox, QLineEdit, QWidget

    from zarrscope_app.qt.credentials import ask_credentials

    parent = QWidget()
    qtbot.addWidget(parent)
    answers: list[Any] = []
    session: Any = Asked(answers)
    dialog = ask_credentials(session, parent)
    assert dialog is not None
    region, anonymous = dialog.inputs["region"], dialog.inputs["anon"]
    assert isinstance(region, QLineEdit)
    assert isinstance(anonymous, QCheckBox)
    assert (region.text(), anonymous.isChecked()) == ("r", True)
    region.setText("eu-west-1")
    anonymous.setChecked(False)
    dialog.accept()
    assert answers == [{"profile": "", "endpoint": "", "region": "eu-west-1", "anon": ""}]
    session.credentials = None
    assert ask_credentials(session, parent) is None


def test_the_window_still_offers_it_after_a_cancelled_answer(volume: str, qtbot: Any) -> None:
    """The bar had gone with the dialog, and with it the sentence and the way to the question."""
    from qtpy.QtWidgets import QPushButton

    from zarrscope_app.presenters import MemorySettings
    from zarrscope_app.presenters.commands import command
    from zarrscope_app.qt.credentials import CredentialsDialog
    from zarrscope_app.qt.window import Window

    window = Window(MemorySettings())
    qtbot.addWidget(window)
    window.show()
    window.open(volume)
    qtbot.waitUntil(
        lambda: "was denied" in window.error_bar.sentence or "403" in window.error_bar.sentence, timeout=60_000
    )
    told = window.error_bar.sentence

    def offer() -> QPushButton | None:
        found = window.error_bar.findChildren(QPushButton)
        return next((b for b in found if b.text() == command("credentials").label and b.isVisible()), None)

    button = offer()
    assert button is not None
    button.click()
    dialog = window.findChild(CredentialsDialog)
    assert dialog is not None
    dialog.reject()
    qtbot.wait(50)
    assert window.error_bar.sentence == told
    assert offer() is not None
    button = offer()
    assert button is not None
    button.click()
    again = next(each for each in window.findChildren(CredentialsDialog) if each.isVisible())
    again.inputs["profile"].setCurrentText("lab")  # type: ignore[attr-defined]  # it has choices
    again.accept()
    session = window.workspace.current
    assert session is not None
    qtbot.waitUntil(lambda: session.state.status is SessionStatus.READY, timeout=60_000)
    assert not window.error_bar.sentence
    window.close()


def test_a_notebook_gets_the_question_and_gives_the_answer(volume: str, mailbox: Mailbox) -> None:
    from zarrscope_app.jupyter.widget import Explorer
    from zarrscope_app.presenters import MemorySettings

    widget = Explorer(volume, settings=MemorySettings(), post=mailbox)
    try:
        mailbox.run_until(lambda: bool(widget.view["place"].get("credentials")))
        question = widget.view["place"]["credentials"]
        values = {each["name"]: each["value"] for each in question["fields"]} | {"profile": "lab"}
        widget._receive(widget, {"do": "session.use_credentials", "args": [values]}, [])
        mailbox.run_until(lambda: widget.session.state.status is SessionStatus.READY)
        mailbox.run_until(lambda: widget.view["place"]["credentials"] is None)
    finally:
        widget.close()


def test_the_terminal_asks_on_one_line(volume: str) -> None:
    pytest.importorskip("textual")
    import asyncio

    from zarrscope_app.tui.app import Explorer

    async def journey() -> Session:
        app = Explorer(volume)
        async with app.run_test() as pilot:
            session = app.session

            async def until(met: Any) -> None:
                for _ in range(400):
                    if met():
                        return
                    await pilot.pause(0.05)
                raise AssertionError(session.state.sentence)

            await until(lambda: "credentials" in session.state.offers)
            await pilot.press("n")
            await until(lambda: app.query_one("#entry").display)
            await pilot.press(*" profile=lab", "enter")
            await until(lambda: session.state.status is SessionStatus.READY)
            return session

    session = asyncio.run(journey())
    assert "profile=lab" in session.url
