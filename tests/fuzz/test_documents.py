"""A short, fixed piece of the fuzzer of metadata documents; documents.py runs it at length by hand."""

from fuzz.documents import run


def test_broken_documents_are_nodes_or_named_errors() -> None:
    fuzzer = run(1500, seed=11)
    assert fuzzer.nodes > 100
    assert fuzzer.refusals > 500
