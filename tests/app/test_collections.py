"""An application seldom makes garbage collections that visit everything, which keep Python's lock for long."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import gc, sys, types
from zarrscope_app.process import tune_interpreter
tune_interpreter()
class Loop:
    alive = 0
    def __init__(self):
        self.me = self
        Loop.alive += 1
    def __del__(self):
        Loop.alive -= 1
visited = []
def watch(phase, info):
    if phase == "start" and info["generation"] == 2:
        visited.append(len(gc.get_objects()))
gc.callbacks.append(watch)
kept = [[i] for i in range(15_000)]
sys.modules.update((f"made_{i}", types.ModuleType("made")) for i in range(20))
gc.collect()
print(visited[-1] < 5_000)          # modules were imported: their objects are not visited even once
kept += [[i] for i in range(15_000)]
gc.collect()
gc.collect()
print(visited[-1] < 5_000)          # the second one leaves out the survivors of the first
loops = [Loop() for _ in range(15_000)]
gc.collect()
del loops
gc.collect()
print(Loop.alive)                   # survivors, so no partial collection finds them
more = [[i] for i in range(30_000)]
gc.collect()
gc.collect()
print(Loop.alive, visited[-1] > 60_000)  # there is much more now: everything was visited
"""


def test_only_growth_makes_a_collection_visit_everything() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["True", "True", "15000", "0", "True"]
