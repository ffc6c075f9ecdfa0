"""Every fault in stored data names the store, the key, the JSON pointer and the next step: in Python, and with the same
words in the presenters of all front ends.

The cases are the malformed members and documents of contracts/odd_members.py, in every dialect, and damaged chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import zarrscope
from contracts.dialect import array_path
from contracts.odd_members import WRITABLE, cases, documents_that_are_no_object
from narrowing import as_array
from zarrscope.check.finding import finding_of
from zarrscope.check.hierarchy import check
from zarrscope.dialects import DIALECTS, Dialect
from zarrscope.errors import BadMetadata, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.visible import visible
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.presenters.problems import problem_of
from zarrscope_app.presenters.strings import defect, problem

STEPS = (
    *("Correct", "correct", "Restore", "restore", "Add ", "add ", "Remove", "Save it again", "Write", "Store it"),
    *("newer zarrscope", "Check", "package", "Install", "install", "Run:", "set ZARRSCOPE", "have https", "ask its"),
)
"""Words of which each next step has at least one."""


def errors_of(store: MemoryStore, path: str) -> Iterator[tuple[str, ZarrscopeError]]:
    """Each way to the faults of a node, with its error."""
    try:
        h = zarrscope.open(store)
        node = h[path]
    except ZarrscopeError as error:
        yield "open", error
        return
    if node.problem is not None:
        yield "problem", node.problem
    try:
        dict(node.attributes)
    except ZarrscopeError as error:
        yield "attributes", error
    try:
        node[...] if isinstance(node, zarrscope.Array) else [*node.children()]
    except ZarrscopeError as error:
        yield "read", error
    if path != "/":
        above, _, name = path.rpartition("/")
        group = h[above or "/"]
        if isinstance(group, zarrscope.Group) and group.problem is None:
            for child in group.children():
                if child.name == name and child.error is not None:
                    yield "child", child.error


def missing_parts(way: str, error: ZarrscopeError, store: MemoryStore, pointer: str | None) -> Iterator[str]:
    """The parts that the error lacks. `pointer`: whether the fault is in a member (its pointer) or in the whole text
    (None)."""
    if error.store != store.url:
        yield f"{way}: the store is {error.store}"
    if not error.key or store.get(error.key) is None:
        yield f"{way}: the key is {error.key}"
    # A member that is missing at the top level is a fault of the whole document, whose pointer is "".
    if pointer is not None and not error.pointer and pointer.count("/") > 1:
        yield f"{way}: there is no pointer"
    if not any(step in (error.advice or "") for step in STEPS):
        yield f"{way}: there is no next step"
        return
    shown = problem(error)
    told = (str(error), shown.headline, shown.details, defect(error), f"{finding_of(error, '/').advice}")
    for place, text in zip(("Python", "headline", "full text", "information", "check"), told, strict=True):
        if visible(error.advice or "") not in text and place != "check":
            yield f"{way}: {place} does not say the next step: {text}"
    found = problem_of(finding_of(error, "/"), store.url)
    if (found.headline, found.place) != (shown.headline, shown.place):
        yield f"{way}: a check says {found.headline} ({found.place})"
    for part in (error.store, error.key):
        if part and (part not in str(error) or part not in shown.details or part not in shown.place):
            yield f"{way}: {part} is not shown"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_malformed_member_is_told_with_its_place_and_the_next_step(dialect: Dialect) -> None:
    failed, tried = [], 0
    for pointer, odd, store in cases(dialect):
        for way, error in errors_of(store, array_path(dialect)):
            tried += 1
            failed += [
                f"{pointer} = {odd!r}: {each}\n    {error}" for each in missing_parts(way, error, store, pointer)
            ]
    assert tried >= 200
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed[:30])


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
def test_a_document_that_is_no_object_is_told_with_its_place_and_the_next_step(dialect: Dialect) -> None:
    failed, tried = [], 0
    for path, _, key, odd, store in documents_that_are_no_object(dialect):
        for way, error in errors_of(store, path):
            tried += 1
            failed += [f"{key} = {odd!r}: {each}\n    {error}" for each in missing_parts(way, error, store, None)]
    assert tried >= 54
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed[:30])


@pytest.mark.parametrize("dialect", WRITABLE, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("value", [b"", b"\1", b"no chunk at all, and longer than one"])
def test_a_damaged_chunk_is_told_with_its_place_and_the_next_step(dialect: Dialect, value: bytes) -> None:
    store = MemoryStore()
    made = zarrscope.open(store, "w-", dialect=dialect.name).create_array("/a", shape=(4,), dtype="u2", chunks=(2,))
    made[...] = np.arange(4)
    key = made.metadata.keys.key((0,))
    store.set(key, value)
    with pytest.raises(zarrscope.BadChunk) as caught:
        as_array(zarrscope.open(store)["/a"])[...]
    assert not [*missing_parts("read", caught.value, store, None)]
    assert caught.value.key == key
    assert caught.value.index == (0,)
    (found,) = [each for each in check(zarrscope.open(store)) if each.severity == "error"]
    assert found.key == key
    assert "restore the chunk" in (found.advice or "").lower()


@pytest.mark.parametrize("error", [BadMetadata("No"), BadMetadata("No", pointer="/a"), Unsupported("No"), Refused("No"),
                                   Unreadable("No")], ids=str)  # fmt: skip
def test_an_error_without_stored_data_does_not_advise_to_restore_any(error: ZarrscopeError) -> None:
    assert "restore" not in str(error)


def test_an_advice_replaces_the_usual_step_and_an_empty_one_removes_it() -> None:
    error = BadMetadata("No", key="zarr.json", pointer="/shape")
    assert str(error) == (
        "No (key 'zarr.json' at /shape). Correct /shape in zarr.json, or restore that document from a copy."
    )
    error.advice = "Do that."
    assert str(error).endswith("(key 'zarr.json' at /shape). Do that.")
    error.advice = ""
    assert str(error) == "No (key 'zarr.json' at /shape)."


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_a_document_in_another_encoding_is_to_be_saved_as_utf_8(code: str) -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_group("/g")
    store.set("g/zarr.json", (store.get("g/zarr.json") or b"").decode().encode(code))
    error = zarrscope.open(store)["/g"].problem
    assert error is not None
    assert error.message == f"The document is {code[:6].upper()}; JSON is UTF-8"
    assert "Save it again as UTF-8." in (error.advice or "")


def test_a_number_of_a_newer_format_asks_for_a_newer_zarrscope() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_group("/g")
    for number, step in (("4", "A newer zarrscope may read it"), ("1.5", "correct the number")):
        store.set("g/zarr.json", b'{"zarr_format": %s, "node_type": "group"}' % number.encode())
        error = zarrscope.open(store)["/g"].problem
        assert error is not None
        assert step in (error.advice or "")
        assert error.pointer == "/zarr_format"


def test_a_wrong_fill_value_names_its_place_in_the_next_step() -> None:
    store = MemoryStore()
    zarrscope.open(store, "w-").create_array("/a", shape=(4,), dtype="u1")
    text = (store.get("a/zarr.json") or b"").replace(b'"fill_value": 0', b'"fill_value": 300')
    store.set("a/zarr.json", text)
    error = zarrscope.open(store)["/a"].problem
    assert error is not None
    assert error.advice == "Correct /fill_value in a/zarr.json, or restore that document from a copy."


def test_a_damaged_archive_is_at_fault_itself_and_none_of_its_keys(tmp_path: Path) -> None:
    archive = tmp_path / "x.zip"
    archive.write_bytes(b"PK\3\4" + bytes(500))
    with pytest.raises(Unreadable, match="The archive is damaged") as caught:
        zarrscope.open(archive)
    assert not caught.value.key
    assert caught.value.filename == caught.value.store
    assert str(caught.value).startswith(
        f"The archive is damaged: it has no directory at its end (in {caught.value.store}). Copy or download it again"
    )
    assert "key" not in problem(caught.value).place
