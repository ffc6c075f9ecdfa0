"""Completion in fish. click's own script cuts every description and value at its first comma."""

from __future__ import annotations

from click.shell_completion import FishComplete, add_completion_class


@add_completion_class
class WholeFishComplete(FishComplete):
    """Completion in fish whose script takes all that follows the first comma of an answer."""

    source_template = FishComplete.source_template.replace('(string split ","', '(string split -m1 ","')
