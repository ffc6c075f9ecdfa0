"""The settings of one run of the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.peers import Peers
from bench.volumes import FULL, QUICK, Shape


@dataclass
class Settings:
    """`folder` keeps volumes and results. `quick`: small volumes and one round, to see that everything runs."""

    folder: Path
    rounds: int = 7
    quick: bool = False
    clock: str = "seconds"
    """Or "cpu": what all threads of the engine's process computed, for a machine that others use too; reading only."""
    forms: Sequence[str] = ()
    """Parts of names; none: all forms."""
    cases: Sequence[str] = ()
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        return QUICK if self.quick else FULL

    def wants(self, form: str, case: str) -> bool:
        return _one_of(self.forms, form) and _one_of(self.cases, case)

    def note_engines(self, peers: Peers) -> None:
        """Their versions, and who is not here: for the head of the table."""
        self.versions.update({name: peer.versions for name, peer in peers.all.items()})
        self.missing.update(peers.missing)


def _one_of(parts: Sequence[str], name: str) -> bool:
    return not parts or any(part in name for part in parts)
