"""The journeys in the Qt window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contracts.act_journeys import ActJourneys
from qt_robot import QtRobot


class TestQt(ActJourneys):
    @pytest.fixture
    def robot(self, qtbot: Any) -> Iterator[QtRobot]:
        robot = QtRobot(qtbot)
        yield robot
        robot.close()
