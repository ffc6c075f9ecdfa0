"""Network settings of remote stores: retries, time-outs, and whether denied values may be treated as absent.

A setting comes from the call that opens a store (`zarrscope.open(url, storage_options={"timeout": 20})`), otherwise
from the environment (`ZARRSCOPE_TIMEOUT=20`), otherwise it has its default value. These settings limit time; the number
of bytes is limited by each caller (`limit` of Store.get).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

CHANCE = Random()
"""A random generator of zarrscope's own, so that the numbers of a program that seeded the module `random` stay the
same."""


@frozen
class Network:
    """The network settings of one remote store."""

    attempts: int = 4
    """The most attempts for a request that fails for a temporary reason. A request that timed out is repeated once at
    most."""
    pause: float = 0.25
    """Seconds before the second attempt; each further pause is twice as long."""
    patience: float = 60.0
    """The most seconds for all pauses of one request together. If a server asks for a longer pause (Retry-After), the
    request is not repeated."""
    timeout: float = 60.0
    """The most seconds of waiting for the next byte from the server."""
    min_speed: float = 64.0
    """Bytes per second. A value that arrives more slowly than this for `timeout` seconds is given up. 0: no limit."""
    missing_is_fill: bool = False
    """Whether a denied value is treated as absent if the store gives the same answer for denied and for absent
    values."""

    def pause_after(self, attempt: int) -> float:
        """Seconds to wait after this attempt, varied at random so that many readers do not try again all at once."""
        return self.pause * 2.0 ** (attempt - 1) * CHANCE.uniform(0.75, 1.25)


SETTINGS = tuple(Network.__annotations__)


def network(options: Mapping[str, Any] | None = None) -> Network:
    """The settings from `options` and the environment. Raises Refused for an invalid value."""
    given: dict[str, Any] = {}
    for name, default in ((each, getattr(Network(), each)) for each in SETTINGS):
        variable = f"ZARRSCOPE_{name.upper()}"
        if options is not None and name in options:
            given[name] = _value(name, options[name], default, f"the option {name}")
        elif os.environ.get(variable):
            given[name] = _value(name, os.environ[variable], default, variable)
    return Network(**given)


def told_in_words(seconds: float) -> str:
    """A time in the largest unit of which it has at least two: "90 seconds", "24 hours"."""
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} second{'s' * (round(seconds) != 1)}"


def seconds_asked_for(text: str) -> float:
    """The seconds that a server asks to wait, from `text`, the value of its header Retry-After; 0 if it is empty or
    invalid."""
    from email.utils import parsedate_to_datetime

    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def others(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options that are not network settings."""
    return {name: value for name, value in (options or {}).items() if name not in SETTINGS}


def _value(name: str, value: JSON, default: object, where: str) -> JSON:
    if isinstance(default, bool):
        text = str(value).strip().lower()
        if text in ("1", "true", "yes", "on", "0", "false", "no", "off"):
            return text in ("1", "true", "yes", "on")
        raise Refused(f"{where} is {value!r}, which means neither yes nor no", advice="Write 1 or 0.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    least = 0 if name in ("min_speed", "pause", "patience") else 1 if name == "attempts" else 0.001
    if not least <= number < math.inf:
        raise Refused(
            f"{where} is {value!r}, not a number of at least {least:g}", advice=f"The default is {default:g}."
        )
    return int(number) if isinstance(default, int) else number
