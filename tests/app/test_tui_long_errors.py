"""The last line but one of the terminal's screen grows for an error that is longer than a line."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Static

import zarrscope
from terminal_hand import Screen, explore
from zarrscope.errors import Unreadable
from zarrscope.stores.local import write
from zarrscope_app.presenters import JobState, strings
from zarrscope_app.presenters.form.view_models import EditStatus
from zarrscope_app.tui.form_lines import FormLines
from zarrscope_app.tui.line_layout import apart


def full(store: Any, key: str, *_: Any, **__: Any) -> None:
    raise store._failure(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), key, "written")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_whole_advice_about_a_full_disk_is_shown(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_group("/plain", {"note": "before"})

    async def steps(screen: Screen) -> None:
        edit = screen.session.edit
        await screen.press("e")
        await screen.until(lambda: edit.state.fields, "the form")
        panes = screen.app.part("attributes", FormLines)
        await screen.press("down", "enter", "z", "enter")
        await screen.until(lambda: edit.state.changes, "an edit")
        before = panes.size.height
        monkeypatch.setattr(write, "put", full)
        await screen.press("ctrl+s")
        await screen.until(lambda: edit.state.status is EditStatus.FAILED, "the disk is full")
        told = " ".join(edit.state.sentence.split())
        assert "The disk is full: make room, then try again." in told
        await screen.until(lambda: told in " ".join(lines(screen)), f"the whole sentence: {told}")
        assert "1 change" in lines(screen)[-1], "the right part has its place in the last line"
        assert all(len(line) <= width for line in lines(screen))
        monkeypatch.undo()
        await screen.press("ctrl+s")
        await screen.until(lambda: edit.state.status is EditStatus.CLEAN, "saved")
        await screen.until(lambda: panes.size.height == before, "the pane has its room back")
        assert len(lines(screen)) == 1

    explore(f"{tmp_path / 'a.zarr'}/plain", steps, size=(width, 24), writable=True)


@pytest.mark.parametrize("width", [80, 120])
def test_a_failed_job_and_the_sentence_of_the_form_are_both_read(width: int, tmp_path: Path) -> None:
    with zarrscope.open(tmp_path / "a.zarr", "w-") as h:
        h.create_group("/plain", {"note": "before", "size": 1})
    reason = "The file could not be written: No space left on device"
    advice = "The disk is full: make room, then try again. This value was not stored, and there was none before."

    def work(report: object, cancelled: object) -> None:
        raise Unreadable(reason, store="/data/cells.zarr", key="copies/0/c/3/1/7", advice=advice)

    async def steps(screen: Screen) -> None:
        edit, jobs = screen.session.edit, screen.session.jobs
        jobs.run("Copy plain", work)
        await screen.until(lambda: jobs.items[-1].state is JobState.FAILED, "the job fails")
        failed = f"Copy plain: {' '.join(jobs.items[-1].sentence.split())}"
        await screen.press("e")
        await screen.until(lambda: edit.state.fields, "the form")

        def reads(*sentences: str) -> Callable[[], bool]:
            return lambda: all(each in " ".join(" ".join(lines(screen)).split()) for each in sentences)

        await screen.press("down", "down", "enter")
        await screen.type("x")
        await screen.until(lambda: edit.state.status is EditStatus.INVALID, "a wrong number")
        await screen.until(reads(failed, edit.state.sentence), "the job and why the number is wrong")
        await screen.press("enter")
        await screen.type("2")
        await screen.until(reads(failed, strings.changes(1)), "the job and the number of changes")
        await screen.press("ctrl+s")
        await screen.until(reads(failed, strings.SAVED), "the job and that it was saved")
        assert all(len(line) <= width for line in lines(screen))
        await screen.press("ctrl+x")
        await screen.until(lambda: lines(screen)[0].startswith(strings.SAVED), "the job is cleared by a key")
        assert len(lines(screen)) == 1

    explore(f"{tmp_path / 'a.zarr'}/plain", steps, size=(width, 24), writable=True)


def lines(screen: Screen) -> list[str]:
    """The lines of the status, of which each is painted."""
    stated = str(screen.app.query_one("#status", Static).content).split("\n")
    painted = screen.painted().split("\n")[-1 - len(stated) : -1]
    return [line.strip() for line in painted]


def test_a_long_text_takes_lines_and_its_end_leaves_room_for_the_right_one() -> None:
    text = " " + "word " * 22
    assert apart(" short", "right", 40, 3) == apart(" short", "right", 40)
    told = apart(text, "right", 80, 3)
    assert told.count("\n") == 1
    assert told.split().count("word") == 22
    assert told.endswith("right")
    cut = apart(text * 4, "right", 80, 3).split("\n")
    assert len(cut) == 3
    assert "…" in cut[-1]
    assert all(len(line) <= 80 for line in cut)
