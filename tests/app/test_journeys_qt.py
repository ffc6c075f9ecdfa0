"""The journeys in the Qt window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contracts.journeys import Journeys
from qt_robot import QtRobot


class TestQt(Journeys):
    @pytest.fixture
    def robot(self, qtbot: Any) -> Iterator[QtRobot]:
        robot = QtRobot(qtbot)
        yield robot
        robot.close()
