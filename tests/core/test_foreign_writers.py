"""Programs that do not use zarrscope's locks: a value that they store while zarrscope saves is never lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import zarrscope
from kill.foreign import races
from narrowing import not_none
from zarrscope.errors import Conflict
from zarrscope.stores.local import exchange as exchanging
from zarrscope.stores.local.linux import exchange
from zarrscope.stores.local.store import LocalStore

linux = pytest.mark.skipif(exchange() is None, reason="the system cannot exchange two files")


def renamed(path: Path, text: bytes) -> None:
    other = path.with_name("other")
    other.write_bytes(text)
    os.rename(other, path)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"!")


FOREIGN: dict[str, Callable[[Path], object]] = {
    "rename": lambda path: renamed(path, b"theirs"),
    "as long": lambda path: renamed(path, b"FIRST"),
    "in place": lambda path: path.write_bytes(b"theirs"),
    "appended": appended,
    "erased": lambda path: path.unlink(),
    "link": lambda path: (path.unlink(), path.symlink_to("elsewhere")),  # type: ignore[func-returns-value]  # called for what they do
    "folder": lambda path: (path.unlink(), path.mkdir()),  # type: ignore[func-returns-value]  # called for what they do
}


def at_the_last_moment(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Runs `act` once, after the versions were compared and before the files are exchanged."""
    real = exchange()
    assert real is not None
    left = [act]

    def late(one: bytes, other: bytes) -> int:
        while left:
            left.pop()()
        return real(one, other)

    monkeypatch.setattr(exchanging, "exchange", lambda: late)


@linux
@pytest.mark.parametrize("how", FOREIGN)
def test_what_comes_between_comparing_and_replacing_stays(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = LocalStore(tmp_path, sync=False), tmp_path / "zarr.json"
    version = store.set("zarr.json", b"first")
    at_the_last_moment(monkeypatch, lambda: FOREIGN[how](path))
    with pytest.raises(zarrscope.ZarrscopeError):
        store.set("zarr.json", b"ours", expect=version)
    there = path.read_bytes() if path.is_file() else os.path.lexists(path)
    expected = {"rename": b"theirs", "as long": b"FIRST", "in place": b"theirs", "appended": b"first!"}
    assert there == expected.get(how, how != "erased")
    assert os.listdir(tmp_path) == ([] if how == "erased" else ["zarr.json"])


@linux
def test_two_that_come_one_after_the_other_leave_the_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, path = LocalStore(tmp_path, sync=False), tmp_path / "zarr.json"
    version = store.set("zarr.json", b"first")
    real = exchange()
    assert real is not None
    texts = [b"second", b"third", b"fourth"]

    def late(one: bytes, other: bytes) -> int:
        if texts:
            renamed(path, texts.pop(0))
        return real(one, other)

    monkeypatch.setattr(exchanging, "exchange", lambda: late)
    with pytest.raises(Conflict) as told:
        store.set("zarr.json", b"ours", expect=version)
    assert path.read_bytes() == told.value.theirs == b"fourth"
    assert os.listdir(tmp_path) == ["zarr.json"]


@linux
def test_an_interrupt_puts_back_what_came_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, path = LocalStore(tmp_path, sync=False), tmp_path / "zarr.json"
    version = store.set("zarr.json", b"first")
    at_the_last_moment(monkeypatch, lambda: renamed(path, b"theirs"))

    def interrupted(*_: object) -> tuple[bool, bool]:
        raise KeyboardInterrupt

    monkeypatch.setattr(exchanging, "_came_out", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.set("zarr.json", b"ours", expect=version)
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["zarr.json"]


@linux
def test_a_file_that_somebody_has_open_for_writing_is_not_taken_from_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanging, "PATIENCE", 0.02)
    store, path = LocalStore(tmp_path, sync=False), tmp_path / "zarr.json"
    version = store.set("zarr.json", b"first")
    with path.open("r+b") as theirs:
        with pytest.raises(Conflict, match="open for writing"):
            store.set("zarr.json", b"ours", expect=version)
        theirs.write(b"theirs")
    assert path.read_bytes() == b"theirs"
    with path.open("rb"):  # a program that only reads does not prevent writing
        store.set("zarr.json", b"ours", expect=not_none(store.get_versioned("zarr.json"))[1])
    assert path.read_bytes() == b"ours"


@pytest.mark.parametrize("how", ["rename", "as long", "in place", "appended", "erased"])
def test_without_an_exchange_the_file_is_looked_at_once_more(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = LocalStore(tmp_path, sync=False), tmp_path / "zarr.json"
    store._exchanges = False
    version = store.set("zarr.json", b"first")
    real, left = exchanging.replace_expected, [FOREIGN[how]]

    def late(*arguments: object, **named: bool) -> None:
        while left:
            left.pop()(path)
        real(*arguments, **named)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr("zarrscope.stores.local.write.replace_expected", late)
    with pytest.raises(Conflict):
        store.set("zarr.json", b"ours", expect=version)
    assert not path.exists() or path.read_bytes() != b"ours"
    assert "ours" not in "".join(os.listdir(tmp_path))


@linux
@pytest.mark.parametrize("how", ["rename", "place", "slow"])
def test_races_with_a_foreign_writer_lose_nothing(how: str) -> None:
    """For a long run: python tests/kill/foreign.py --races 2000."""
    told = races(150, how, seed=1)
    assert told["lost"] == 0, told
    assert told["conflict"], "the races were none"


def test_a_document_with_another_name_is_replaced_and_it_is_said(tmp_path: Path) -> None:
    hierarchy = zarrscope.open(tmp_path / "x.zarr", "w-")
    hierarchy.create_array("/a", shape=(4,), dtype="u1", attributes={"note": 1})
    os.link(tmp_path / "x.zarr/a/zarr.json", tmp_path / "backup.json")
    before = (tmp_path / "backup.json").read_bytes()
    assert hierarchy.store.files.links("a/zarr.json") == 2
    tried = hierarchy.dry_run([])
    for each in (tried, hierarchy):
        each.save("/a", each.document("/a").set("/attributes/note", 2))
        assert any("hard link" in warning for warning in each.warnings)
    assert (tmp_path / "backup.json").read_bytes() == before, "a copy made of links keeps what it holds"
    assert zarrscope.open(tmp_path / "x.zarr")["/a"].attributes["note"] == 2
    assert hierarchy.store.files.links("a/zarr.json") == 1
