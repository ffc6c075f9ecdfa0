"""Signals without arguments are connected without a look at their slots."""

from __future__ import annotations

import inspect
from typing import Any
from unittest.mock import Mock

import pytest

from zarrscope_app.presenters.session.session import Session
from zarrscope_app.presenters.signals import signal

INSPECT: Any = inspect
"""With the function in which all looks at a signature end."""


class Told:
    changed = signal()


def test_no_slot_of_a_signal_without_arguments_is_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    inspected = Mock(wraps=INSPECT._signature_from_callable)
    monkeypatch.setattr(inspect, "_signature_from_callable", inspected)
    told, heard = Told(), list[int]()

    def hear() -> None:
        heard.append(1)

    told.changed.connect(hear)
    told.changed.emit()
    assert heard == [1]
    assert not inspected.called
    told.changed.disconnect(hear)
    told.changed.emit()
    assert heard == [1]


def test_opening_a_session_inspects_few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a millisecond each: a session of the window has some eighty connections."""
    inspected = Mock(wraps=INSPECT._signature_from_callable)
    monkeypatch.setattr(inspect, "_signature_from_callable", inspected)
    session = Session("memory://", lambda call: None)
    session.close()
    assert inspected.call_count <= 44
