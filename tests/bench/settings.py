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
    """With "cpu", reading is measured as the processor time of all threads of the engine's process, for a machine that
    others use too."""
    forms: Sequence[str] = ()
    """Parts of the names of layouts; if empty, all layouts are read."""
    cases: Sequence[str] = ()
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        return QUICK if self.quick else FULL

    def wants(self, form: str, case: str) -> bool:
        return _one_of(self.forms, form) and _one_of(self.cases, case)

    def note_engines(self, peers: Peers) -> None:
        """The versions of all engines, and the names of missing ones, for the head of the table."""
        self.versions.update({name: peer.versions for name, peer in peers.all.items()})
        self.missing.update(peers.missing)


def _one_of(parts: Sequence[str], name: str) -> bool:
    return not parts or any(part in name for part in parts)
