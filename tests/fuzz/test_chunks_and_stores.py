"""A short run of the fuzzers of chunk bytes and stores with fixed seeds; run.py runs them for long, by hand."""

import tracemalloc

from fuzz.chunks import ChunkFuzzer
from fuzz.stores import StoreFuzzer

MEMORY = 64 << 20


def test_broken_chunks_are_elements_or_bad_chunks() -> None:
    fuzzer = ChunkFuzzer(5)
    fuzzer.step()
    tracemalloc.start()
    try:
        for _ in range(3000):
            fuzzer.step()
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert fuzzer.values > 300
    assert fuzzer.refusals > 300
    assert fuzzer.parts > 100
    assert fuzzer.batches > 20
    assert fuzzer.cuts > 10


def test_broken_stores_are_nodes_values_or_named_errors() -> None:
    fuzzer = StoreFuzzer(5, archived=False)
    for _ in range(800):
        fuzzer.step()
    assert fuzzer.values > 200
    assert fuzzer.refusals > 200
