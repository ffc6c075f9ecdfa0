"""An array that others replace or erase while it is shown: the picture says so, and offers only what helps."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Session, SessionStatus, strings_terminal
from zarrscope_app.presenters.image import words

SECONDS = 60.0


def fill(place: Path, length: int) -> None:
    with zarrscope.open(place, "w-") as h:
        h.create_array("/a", shape=(4, length, length), dtype="u2", chunks=(1, 32, 32))[...] = 100


@pytest.mark.parametrize("how", ["replaced", "erased"])
def test_a_plane_of_an_array_that_is_gone_offers_to_refresh_alone(how: str, tmp_path: Path, mailbox: Mailbox) -> None:
    fill(tmp_path / "a.zarr", 64)
    session = Session(str(tmp_path / "a.zarr"), mailbox, path="/a")
    session.slice.changed.connect(lambda: session.slice.fit((64, 64)))
    try:
        mailbox.run_until(lambda: bool(session.slice.frame.tiles) and not session.slice.frame.loading, SECONDS)
        if how == "replaced":
            fill(tmp_path / "b.zarr", 24)
            os.rename(tmp_path / "a.zarr", tmp_path / "away.zarr")
            os.rename(tmp_path / "b.zarr", tmp_path / "a.zarr")
        else:
            shutil.rmtree(tmp_path / "a.zarr" / "a")
        session.slice.move(0, 2)
        mailbox.run_until(lambda: session.slice.frame.failed > 0 and not session.slice.frame.loading, SECONDS)
        assert "Refresh" in session.slice.why(50, 50), "the other array may have a chunk at the first place"
        told = session.slice.frame.over if how == "erased" else session.slice.frame.tiles[0].sentence
        assert "Refresh" in told
        assert "read it again" not in told + session.slice.why(50, 50), "that fails for the same reason"
        assert "1 tile failed: Refresh" in session.state.status_text
        assert session.state.sentence.endswith("Refresh.")
        assert session.state.retry == "Refresh", "the button has the name that the advice gives"
        session.retry()
        mailbox.run_until(lambda: session.state.status is SessionStatus.READY and not session.state.selecting, SECONDS)
        if how == "replaced":
            assert not session.state.sentence
            mailbox.run_until(
                lambda: session.slice.frame.shape == (24, 24) and not session.slice.frame.loading, SECONDS
            )
            assert not session.slice.frame.failed
        else:
            assert "There is no node /a" in session.state.sentence
    finally:
        session.close()


def test_the_terminal_does_not_offer_to_read_again_what_is_gone() -> None:
    gone = "The array /a was erased since it was opened. Refresh."
    assert strings_terminal.read_again("", f"{gone} Key a/zarr.json.", "") == "", "the picture says it"
    assert strings_terminal.read_again(f"{gone} Key a/zarr.json.", "", gone) == "", "the error bar says it"
    assert strings_terminal.read_again(f"{gone} Key a/zarr.json.", "", "") == f"{gone} Key a/zarr.json."
    told = strings_terminal.read_again("The server answered 503.", "", gone)
    assert told == "u reads failed tiles again: The server answered 503."
    assert strings_terminal.read_again("", "The server answered 503.", "") == "u reads failed tiles again"


def test_the_words() -> None:
    told = words.failed_tile("The server answered 503. Wait, then try again.", True, "c/0")
    assert told.endswith("Key c/0. Click to read it again.")
    assert (
        words.failed_tile("The array /a was erased. Refresh.", True, "c/0")
        == "The array /a was erased. Refresh. Key c/0."
    )
