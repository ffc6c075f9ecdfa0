"""The results of a benchmark: rows of figures by engine, with the goals for each.

A Row holds one figure per engine and round, all rounds interleaved. A Goal is a ratio to another engine of the same
rounds, or a bound on the figure itself. Ratios are taken round by round, so that what slows the machine down for a
while slows both; `Spread` is their median and quartiles. The verdict looks at the median.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

OURS = "zarrscope"
BEFORE = "before"
"""Zarrscope of another checkout: run.py --before."""
LIMIT = "limit"
"""The engine that only decodes: a lower bound for every reader."""
WIRE = "limit, S3"
"""Plain sockets that only fetch: a lower bound for every reader of a bucket."""


@dataclass(frozen=True)
class Goal:
    """At most `most`: times `of`'s figure, where `of` is an engine, or "fastest" among the peers; or, where `of` is
    "figure", in the row's own unit."""

    most: float
    of: str = "fastest"


@dataclass(frozen=True)
class Spread:
    median: float
    low: float
    """The lower quartile."""
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(middle, low, high)


@dataclass(frozen=True)
class Held:
    """A goal and its outcome. `peer`: the engine it was compared with; None for a bound on the figure itself."""

    goal: Goal
    spread: Spread
    peer: str | None

    @property
    def holds(self) -> bool:
        return self.spread.median <= self.goal.most


@dataclass
class Row:
    """`figures[engine][round]` in `unit`, less is better; `unable`: the engines that cannot do it, with the reason."""

    group: str
    case: str
    form: str
    figures: dict[str, list[float]]
    goals: tuple[Goal, ...] = ()
    unit: str = "s"
    unable: dict[str, str] = field(default_factory=dict)
    note: str = ""
    date: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.group, self.case, self.form

    def fastest(self) -> str | None:
        """The peer with the smallest median."""
        peers = [name for name in self.figures if name not in (OURS, BEFORE, LIMIT, WIRE)]
        return min(peers, key=lambda name: statistics.median(self.figures[name]), default=None)

    def ratio(self, to: str) -> Spread:
        """The ratio of zarrscope's figure to that engine's, for each round."""
        return Spread.over([a / b for a, b in zip(self.figures[OURS], self.figures[to], strict=True)])

    def held(self) -> list[Held]:
        """The goals that can be judged, without those on engines that are missing or cannot do the task."""
        judged = []
        for goal in self.goals:
            if OURS not in self.figures:
                continue
            if goal.of == "figure":
                judged.append(Held(goal, Spread.over(self.figures[OURS]), None))
                continue
            peer = self.fastest() if goal.of == "fastest" else goal.of
            if peer in self.figures:
                judged.append(Held(goal, self.ratio(peer), peer))
        return judged

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Row:
        return cls(**{**value, "goals": tuple(Goal(**goal) for goal in value["goals"])})
