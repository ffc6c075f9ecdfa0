"""A short run of the fuzzer of documents with fixed seeds; documents.py runs it for long, by hand."""

from fuzz.documents import run


def test_broken_documents_are_nodes_or_named_errors() -> None:
    fuzzer = run(1500, seed=11)
    assert fuzzer.nodes > 100
    assert fuzzer.refusals > 500
