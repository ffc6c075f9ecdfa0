"""Times of the CF conventions in the table, in copies and in files; others are shown as stored, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import JobState, Session
from zarrscope_app.presenters.cf_times import cf_times

HOURS = [0.0, 6.5, np.nan, 1e30, -9999.0, 438_300.0]
DATES = ["1950-01-01T00:00:00", "1950-01-01T06:30:00", "NaN", "1e+30", "-9999.0", "2000-01-01T12:00:00"]
"""The texts of HOURS since 1950, of which -9999 is called missing."""


def text(value: Any, units: str, **attributes: Any) -> str:
    times, note = cf_times({"units": units, **attributes}, np.asarray(value).dtype)
    assert (times is None) == bool(note)
    return times.text(np.asarray(value)[()]) if times is not None else note


@pytest.mark.parametrize(
    ("value", "units", "calendar", "date"),
    [
        (0, "days since 1850-01-01", "standard", "1850-01-01T00:00:00"),
        (59.5, "days since 1900-1-1 00:00:0.0", "gregorian", "1900-03-01T12:00:00"),  # 1900 was no leap year
        (59, "days since 1500-01-01", "proleptic_gregorian", "1500-03-01T00:00:00"),
        (59, "days since 1500-01-01", "standard", "1500-02-29T00:00:00"),  # Julian, so 1500 was one
        (1, "days since 1582-10-04", "standard", "1582-10-15T00:00:00"),
        (-1, "days since 1582-10-15", "Gregorian", "1582-10-04T00:00:00"),
        (735_000, "days since 0001-01-01", "standard", "2013-05-11T00:00:00"),
        (735_000, "days since 0001-01-01", "proleptic_gregorian", "2013-05-13T00:00:00"),
        (1_700_000_000, "seconds since 1970-01-01T00:00:00Z", "standard", "2023-11-14T22:13:20"),
        (1_700_000_000_123, "milliseconds since 1970-01-01 00:00:00 UTC", "standard", "2023-11-14T22:13:20.123"),
        (1_700_000_000_000_000_001, "nanoseconds since 1970-01-01", "standard", "2023-11-14T22:13:20.000000001"),
        (90, "min since 2000-01-01 12:00 +02:00", "standard", "2000-01-01T11:30:00"),
        (1, "h since 2000-01-01 0:0:0 -6", "standard", "2000-01-01T07:00:00"),
        (np.float32(0.1), "days since 2000-01-01", "standard", "2000-01-01T02:24:00.000129"),
        (0.1, "days since 2000-01-01", "standard", "2000-01-01T02:24:00"),
    ],
)
def test_a_number_becomes_the_date_that_it_means(value: Any, units: str, calendar: str, date: str) -> None:
    """The dates are those that cftime 1.6 gives."""
    assert text(value, units, calendar=calendar) == date


@pytest.mark.parametrize(
    ("units", "attributes", "reason"),
    [
        ("days since 2000-01-01", {"calendar": "noleap"}, 'the calendar "noleap" has other dates'),
        ("days since 2000-01-01", {"calendar": 5}, 'the calendar "5"'),
        ("months since 2000-01-01", {}, 'a unit "months" has no fixed length'),
        ("days since yesterday", {}, "could not be read"),
        ("days since 2001-02-29", {}, "name no date"),
        ("days since 1582-10-10", {}, "name no date"),
        ("days since 0000-01-01", {}, "name no date"),
        ("days since 2000-01-01", {"scale_factor": 0.5}, "scale_factor"),
    ],
)
def test_other_times_are_shown_as_stored_with_the_reason(units: str, attributes: Any, reason: str) -> None:
    told = text(3, units, **attributes)
    assert told.startswith("The times are shown as they are stored, as numbers: ")
    assert reason in told


@pytest.mark.parametrize("units", ["days", "m s-1", 5, None, "since"])
def test_what_is_no_time_has_no_reason(units: Any) -> None:
    assert cf_times({"units": units}, np.dtype("i4")) == (None, "")
    assert cf_times({"units": "days since 2000-01-01"}, np.dtype("M8[s]")) == (None, "")


@pytest.fixture
def place(tmp_path: Path) -> str:
    url = str(tmp_path / "climate.zarr")
    with zarrscope.open(url, mode="w-") as h:
        hours = h.create_array("/hours", shape=(6,), dtype="float64", chunks=(4,))
        hours[...] = HOURS
        hours.attrs.update({"units": "hours since 1950-01-01", "_FillValue": -9999.0})
        months = h.create_array("/model", shape=(3,), dtype="int32", chunks=(3,))
        months[...] = [0, 30, 60]
        months.attrs.update({"units": "days since 1950-01-01", "calendar": "360_day"})
        h.create_array("/plain", shape=(3,), dtype="int32", chunks=(3,))[...] = [1, 2, 3]
    return url


@pytest.fixture
def opened(place: str, mailbox: Mailbox) -> Iterator[Callable[[str], Session]]:
    """Returns opened(path): the session in which this array is shown."""
    made = Session(place, mailbox)

    def opened(path: str) -> Session:
        made.select(path)
        mailbox.run_until(lambda: made.node is not None and made.node.path == path and not made.state.selecting)
        made.set_tab("values")
        return made

    yield opened
    made.close()


def cells(session: Session, mailbox: Mailbox, rows: int) -> list[str]:
    """The first cell of each row, once all are read."""
    mailbox.run_until(lambda: not any("…" in row for row in session.values.cells(0, 0, rows, 1)))
    return [row[0] for row in session.values.cells(0, 0, rows, 1)]


def copied(session: Session, mailbox: Mailbox) -> list[str]:
    found: list[str] = []
    session.values.copy(0, 0, 9, 9, lambda text, sentence: found.append(text))
    mailbox.run_until(lambda: bool(found))
    return found[0].split("\n")


def exported(session: Session, mailbox: Mailbox, target: Path) -> list[str]:
    session.export.prepare("table", "csv", str(target))
    mailbox.run_until(lambda: session.export.state.ready)
    assert session.export.run() is not None
    mailbox.run_until(lambda: session.jobs.items[-1].state is JobState.DONE)
    return target.read_text().splitlines()


def test_table_copy_and_file_follow_the_choice(
    opened: Callable[[str], Session], mailbox: Mailbox, tmp_path: Path
) -> None:
    session = opened("/hours")
    values = session.values
    assert (values.state.format, values.state.note) == ("date and time", "")
    assert values.state.formats == ("date and time", "decimal", "scientific", "hexadecimal")
    assert cells(session, mailbox, 6) == DATES
    assert copied(session, mailbox) == DATES
    assert exported(session, mailbox, tmp_path / "dates.csv") == DATES
    values.set_format("decimal")
    stored = ["0.0", "6.5", "NaN", "1e+30", "-9999.0", "438300.0"]
    assert cells(session, mailbox, 6) == copied(session, mailbox) == stored
    assert exported(session, mailbox, tmp_path / "stored.csv") == ["nan" if s == "NaN" else s for s in stored]
    values.set_format("hexadecimal")
    assert exported(session, mailbox, tmp_path / "bits.csv")[0] == "0x0000000000000000"


def test_the_choice_lasts_until_dates_are_chosen_again(opened: Callable[[str], Session], mailbox: Mailbox) -> None:
    session = opened("/hours")
    session.values.set_format("scientific")
    opened("/plain")
    assert (session.values.state.format, session.values.state.formats[0]) == ("scientific", "decimal")
    session.values.set_format("date and time")  # not offered here
    session.values.set_format("decimal")
    opened("/hours")
    assert session.values.state.format == "decimal"
    for expected in ("scientific", "hexadecimal", "date and time", "decimal"):
        session.values.next_format()
        assert session.values.state.format == expected


def test_a_calendar_without_dates_is_told_above_the_numbers(opened: Callable[[str], Session], mailbox: Mailbox) -> None:
    session = opened("/model")
    assert '"360_day"' in session.values.state.note
    assert session.values.state.format == "decimal"
    assert cells(session, mailbox, 3) == ["0", "30", "60"]


@pytest.mark.needs("qt", "display")
def test_the_window_shows_dates_and_the_choice(qtbot: Any, place: str) -> None:
    from qt_robot import window_on

    window, session = window_on(qtbot, place)
    session.select("/hours")
    qtbot.waitUntil(lambda: session.node is not None and session.node.path == "/hours", timeout=60_000)
    session.set_tab("values")
    pane = window.values

    def shown(row: int) -> str:
        return str(pane.model.data(pane.model.index(row, 0)))

    qtbot.waitUntil(lambda: pane.view.isVisible() and shown(1) == DATES[1], timeout=60_000)
    assert pane.format.currentText() == "date and time"
    pane.format.setCurrentText("decimal")
    pane.format.activated.emit(1)
    qtbot.waitUntil(lambda: shown(1) == "6.5", timeout=60_000)
    session.select("/model")
    qtbot.waitUntil(lambda: session.node is not None and session.node.path == "/model", timeout=60_000)
    session.set_tab("values")
    qtbot.waitUntil(lambda: pane.note.isVisible() and "360_day" in pane.note.text(), timeout=60_000)


def test_the_terminal_shows_dates_and_w_the_numbers(place: str) -> None:
    from terminal_hand import Screen, explore
    from zarrscope_app.tui.table import TableLines

    async def steps(screen: Screen) -> None:
        screen.session.select("/hours")
        await screen.ready()
        screen.session.set_tab("values")
        table = screen.app.query_one("#values", TableLines)

        def line() -> str:
            return table.render_line(2).text

        await screen.until(lambda: table.size.width and DATES[1] in line(), "the dates are there")
        table.focus()
        await screen.until(lambda: table.has_focus, "keys go to the table")
        await screen.pilot.press("w")
        await screen.until(lambda: "6.5" in line(), "the numbers are there")

    explore(place, steps)
