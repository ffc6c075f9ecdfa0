"""*Auto* contrast whose result arrives late changes no limits that were set meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.journeys import Shelf
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import SlicePresenter, Workspace
from zarrscope_app.presenters.image.display_settings import channel_styles, updated

SIDE = 64
VALUES = np.arange(100, 100 + SIDE)


class Late:
    """Holds the results of *Auto* back until a test delivers them."""

    def __init__(self, picture: SlicePresenter, mailbox: Mailbox) -> None:
        self._mailbox, self._measure = mailbox, picture._contrast._coarsest
        self._held: list[tuple[Callable[[Any], None], Any]] = []
        picture._contrast._coarsest = self._ask  # type: ignore[assignment]  # delays what it measures

    def _ask(self, wanted: Sequence[Any], done: Callable[[Any], None], *rest: Any) -> bool:
        return self._measure(wanted, lambda found: self._held.append((done, found)), *rest)

    def measured(self, number: int = 1) -> None:
        """Waits until this many results are there."""
        self._mailbox.run_until(lambda: len(self._held) == number)

    def deliver(self, which: int = 0) -> None:
        """Delivers a result."""
        done, found = self._held.pop(which)
        assert found, "the plane was measured"
        done(found)


@pytest.fixture
def picture(workspace: Workspace, mailbox: Mailbox) -> SlicePresenter:
    shelf = Shelf()
    array = zarrscope.open(shelf, "w-").create_array(
        "/a", shape=(2, 2, SIDE, SIDE), dtype="c8", chunks=(1, 1, SIDE, SIDE), dimension_names=("c", "z", "y", "x")
    )
    array[...] = np.broadcast_to(VALUES, array.shape) * np.array([1, 2]).reshape(1, 2, 1, 1)
    session = workspace.open(shelf.address)
    mailbox.run_until(lambda: session.node is not None)
    session.select("/a")
    mailbox.run_until(lambda: session.slice.image is not None)
    session.slice.set_index("z", 0)
    session.slice.fit((SIDE, SIDE))
    mailbox.run_until(lambda: all(channel.histogram for channel in session.slice.state.channels))
    return session.slice


@pytest.fixture
def late(picture: SlicePresenter, mailbox: Mailbox) -> Late:
    for channel in range(2):
        picture.state_levels(channel, 1, 2)
    return Late(picture, mailbox)


def limits(picture: SlicePresenter, channel: int = 0) -> tuple[float | None, float | None]:
    return picture.state.channels[channel].lo, picture.state.channels[channel].hi


def test_limits_that_a_person_sets_while_the_plane_is_measured_stay(picture: SlicePresenter, late: Late) -> None:
    picture.auto()
    picture.state_levels(0, 20, 500)
    late.measured()
    late.deliver()
    assert limits(picture, 0) == (20, 500)
    assert limits(picture, 1) == (VALUES.min(), VALUES.max()), "the other channel is fitted"


def test_limits_that_are_dragged_or_typed_meanwhile_stay(picture: SlicePresenter, late: Late) -> None:
    picture.auto(0)
    picture.set_levels(0, 3, 4)
    picture.auto(1)
    picture.type_limit(1, "lo", "5–6")
    late.measured(2)
    late.deliver()
    late.deliver()
    assert (limits(picture, 0), limits(picture, 1)) == ((3, 4), (5, 6))


def test_the_later_of_two_measurements_counts_whichever_arrives_first(picture: SlicePresenter, late: Late) -> None:
    picture.auto(0)
    late.measured(1)
    picture.set_index("z", 1)
    picture.auto(0)
    late.measured(2)
    late.deliver(1)
    assert limits(picture) == (2 * VALUES.min(), 2 * VALUES.max())
    late.deliver(0)
    assert limits(picture) == (2 * VALUES.min(), 2 * VALUES.max())


def test_the_measurement_of_another_part_of_complex_values_is_dropped(
    picture: SlicePresenter, late: Late, mailbox: Mailbox
) -> None:
    picture.auto(0)
    late.measured()
    picture.set_part("phase")
    mailbox.run_until(lambda: limits(picture)[0] is not None)
    phase = limits(picture)
    late.deliver()
    assert limits(picture) == phase
    assert phase[1] != VALUES.max()


def test_settings_from_another_resolution_or_the_metadata_are_not_overwritten(
    picture: SlicePresenter, late: Late
) -> None:
    picture.auto()
    picture.take_styles([replace(style, lo=7.0, hi=8.0) for style in picture.styles], by_person=True)
    late.measured()
    late.deliver()
    assert limits(picture) == (7, 8)
    assert picture.image is not None
    picture.auto(0)
    before = channel_styles(picture.image)
    after = [replace(style, lo=9.0, hi=10.0) for style in before]
    picture._channels = updated(picture._channels, before, after)
    late.measured()
    late.deliver()
    assert limits(picture) == (9, 10), "those that were saved meanwhile"


def test_limits_that_nobody_set_meanwhile_are_fitted(picture: SlicePresenter, late: Late) -> None:
    picture.auto()
    picture.set_gamma(0, 2)
    picture.set_color(0, (1, 2, 3))
    late.measured()
    late.deliver()
    assert limits(picture) == (VALUES.min(), VALUES.max())
