"""Verbs on web servers that deny access, answer wrongly or fail: the messages, and that no fill value stands for a
value that could not be read.

A chunk that is not given out is never the fill value: not printed, not drawn, not copied, not "equal". Only where the
server gives the same answer of what is not there, and only with --missing-is-fill, is it taken as missing, and told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.hostile_http import BEHAVIOURS, Ask, Behaviour, hostile
from contracts.http_server import web_server
from narrowing import as_array
from zarrscope.stores.memory import MemoryStore
from zarrscope_app.cli import run

VALUES = np.arange(1, 17, dtype="u2").reshape(4, 4)
ROUTES = ("read", "render", "check", "convert", "copy", "diff")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZARRSCOPE_TIMEOUT", "20")
    monkeypatch.setenv("ZARRSCOPE_ATTEMPTS", "1")


def stored(dialect: str) -> dict[str, bytes]:
    """A group with the array "a" of four chunks and the array "sparse", of which only the first chunk is stored."""
    memory = MemoryStore()
    h = zarrscope.open(memory, "w-", dialect=dialect)
    whole = h.create_array("/a", shape=(4, 4), dtype="u2", chunks=(2, 2), attributes={"unit": "nm"})
    whole[...] = VALUES
    sparse = h.create_array("/sparse", shape=(4, 4), dtype="u2", chunks=(2, 2), attributes={"unit": "nm"})
    sparse[:2, :2] = VALUES[:2, :2]
    return {key: memory.get(key) or b"" for key in memory.list()}


def is_chunk(key: str) -> bool:
    return key.rpartition("/")[2][0] != "." and not key.endswith(".json")


def act(verb: str, url: str, node: str, place: Path, *more: str) -> list[str]:
    twin = place / "twin"
    copied = place / "copied"
    return {
        "read": ["read", url, node, *more],
        "render": ["render", url, node, "-o", str(place / "x.png"), *more],
        "check": ["check", url, node, *more],
        "convert": ["convert", url, str(twin), "--to", "v3", "--node", node, *more],
        "copy": ["copy", url, node, "/taken", "--into", str(copied), *more],
        "diff": ["diff", f"{url}/{node}", f"{place / 'near'}/{node}", "--values"],
    }[verb]


@pytest.fixture
def near(tmp_path: Path) -> Callable[[str], Path]:
    def make(dialect: str) -> Path:
        for key, value in stored(dialect).items():
            file = tmp_path / "near" / key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(value)
        return tmp_path

    return make


FAULTS: dict[str, tuple[str, str]] = {
    # behaviour of the server for one chunk, and the message
    "403": ("denied where it is", "403"),
    "401": ("401 Unauthorized", "401"),
    "407": ("407 Proxy Authentication Required", "407"),
    "500": ("500 Internal Server Error", "500"),
    "503": ("503 Service Unavailable", "503"),
    "truncated": ("cut short", "connection failed"),
    "silent": ("silent after the head", "in time"),
    "endless": ("endless chunked body", "too large|bytes at most"),
    "a login page": ("a login instead", "web page"),
    "expired": ("expired token", "403"),
}


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_chunk_that_is_not_given_out_is_no_fill_value(
    fault: str,
    dialect: str,
    near: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    behaviour, says = FAULTS[fault]
    if "in time" in says:
        monkeypatch.setenv("ZARRSCOPE_TIMEOUT", "0.7")
    values = stored(dialect)
    place = near(dialect)
    broken = next(key for key in sorted(values) if key.startswith("a/") and is_chunk(key))
    with hostile(behaviour, values, lambda key: key == broken) as server:
        for verb in ROUTES:
            more = () if verb == "diff" or fault not in ("403", "a login page") else ("--missing-is-fill",)
            for given in {(), more}:
                code = run(act(verb, server.url, "a", place, *given))
                out, err = capsys.readouterr()
                assert code == 1, (verb, given, out, err)
                assert re.search(says, out + err), (verb, out, err)
                assert "Something went wrong" not in err
                assert "equal" not in out
                if verb == "read":
                    assert out == ""
                if verb == "check":
                    assert "1 error" in err
        assert not (place / "x.png").exists()
        assert run(["ls", str(place / "twin")]) == 3, "nothing that could be taken for a copy"
        assert run(["ls", str(place / "copied"), "taken"]) == 3


def hiding(values: dict[str, bytes], how: Behaviour) -> tuple[Behaviour, Callable[[str], bool]]:
    """A server that gives this answer for every key that does not exist."""
    return how, lambda key: key not in values


@pytest.mark.parametrize("dialect", ["v2", "v3"])
@pytest.mark.parametrize(
    "answer",
    [
        "denied alike", "a page for everything", "pages that differ", "an error in JSON for everything",
        "errors in json that differ",
    ],
)  # fmt: skip
def test_a_server_that_does_not_tell_what_is_missing(
    answer: str, dialect: str, near: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = stored(dialect)
    place = near(dialect)
    with hostile(*hiding(values, BEHAVIOURS[answer])[:1], values, lambda key: key not in values) as server:
        # Existing nodes open and read, and none is taken for a node of another dialect; a warning says that missing
        # nodes cannot be told from denied ones.
        hierarchy = zarrscope.open(server.url)
        assert hierarchy.dialect.name == dialect
        assert len(hierarchy.warnings) == 1
        assert "does not distinguish missing from denied" in hierarchy.warnings[0]
        assert "beside" not in hierarchy.warnings[0]
        assert hierarchy["a"].attributes == {"unit": "nm"}
        assert run(["read", server.url, "a", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out) == VALUES.tolist()
        assert "does not distinguish missing from denied" in err
        # The server's answer for a chunk that is not stored may also mean that access is denied.
        for verb in ("read", "render", "check", "convert", "copy"):
            assert run(act(verb, server.url, "sparse", place)) == 1, verb
            out, err = capsys.readouterr()
            assert "--missing-is-fill" in out + err, (verb, out, err)
            assert "equal" not in out
        assert run(["ls", str(place / "twin")]) == 3
        capsys.readouterr()
        # With this option the user states that the server denies no existing value.
        assert run(["read", server.url, "sparse", "--json", "--missing-is-fill"]) == 0
        out, err = capsys.readouterr()
        expected = np.zeros((4, 4), int)
        expected[:2, :2] = VALUES[:2, :2]
        assert json.loads(out) == expected.tolist()
        assert "taken as missing" in err
        for verb in ("render", "check", "convert", "copy"):
            assert run(act(verb, server.url, "sparse", place, "--missing-is-fill")) == 0, (verb, capsys.readouterr())
            out, err = capsys.readouterr()
            assert "taken as missing" in out + err, verb
            assert "all elements equal" not in out
        assert np.array_equal(as_array(zarrscope.open(str(place / "twin"))["/"])[...], expected)


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_what_is_lost_halfway_is_not_taken_as_missing(
    dialect: str, near: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Credentials expire during a copy: from then on the server denies existing values exactly as it denies missing
    ones."""
    values = stored(dialect)
    place = near(dialect)
    asked: list[str] = []

    async def expire(ask: Ask) -> None:
        if is_chunk(ask.key) and ask.value is not None:
            asked.append(ask.key)
        if len(asked) > 2 or ask.value is None:
            await BEHAVIOURS["denied alike"](ask)
        else:
            await ask.honest()

    with hostile(expire, values) as server:
        for verb in ("read", "convert", "copy"):
            asked.clear()
            assert run(act(verb, server.url, "a", place, "--missing-is-fill")) == 1, verb
            out, err = capsys.readouterr()
            assert "403" in err
            assert "check the credentials" in err
            assert "equal" not in out
        assert run(["ls", str(place / "twin")]) == 3


@pytest.mark.parametrize("dialect", ["v2", "v3"])
def test_a_document_that_is_denied_is_passed_over_and_told(
    dialect: str, near: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    values = {**stored("v2"), **stored("v3")}
    denied = {"v2": "zarr.json", "v3": ".zgroup"}[dialect]
    place = near(dialect)
    with hostile("denied where it is", values, lambda key: key == denied) as server:
        hierarchy = zarrscope.open(server.url)
        assert hierarchy.dialect.name == dialect
        assert any(denied in warning and "403" in warning for warning in hierarchy.warnings)
    values = stored("v2")
    with hostile("denied where it is", values, lambda key: key.endswith("a/.zattrs")) as server:
        array = as_array(zarrscope.open(server.url)["a"])
        assert array.shape == (4, 4)
        assert any(".zattrs" in warning for warning in array.warnings)
        # but no attribute is lost
        assert run(act("convert", server.url, "a", place)) == 1
        assert ".zattrs" in "".join(capsys.readouterr())
        assert run(act("copy", server.url, "a", place)) == 1
        assert "403" in capsys.readouterr().err


def test_a_server_that_denies_everything_is_not_empty(capsys: pytest.CaptureFixture[str]) -> None:
    for behaviour, code, says in (
        ("denied alike", 1, "403"),
        ("401 Unauthorized", 1, "401"),
        ("a page for everything", 1, "web page"),
        ("an error in JSON for everything", 1, "an error in JSON instead of the value"),
        ("503 Service Unavailable", 1, "503"),
        ("404 Not Found", 3, "no Zarr hierarchy"),
        ("no such bucket", 3, "no such bucket"),
    ):
        with hostile(behaviour, {}) as server:
            for more in ([], ["--missing-is-fill"]):
                assert run(["ls", server.url + "/x.zarr", *more]) == code, behaviour
                assert says in capsys.readouterr().err


def test_attributes_that_look_like_an_error_are_attributes() -> None:
    """A server that answers 404 for missing keys sends no errors in place of values."""
    store = MemoryStore()
    zarrscope.open(store, "w-", dialect="v2")["/"].attrs["error"] = "0.5 nm"
    with web_server({key: store.get(key) or b"" for key in store.list()}) as server:
        assert zarrscope.open(server.url)["/"].attributes == {"error": "0.5 nm"}


def test_convert_says_equal_of_what_it_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h = zarrscope.open(tmp_path / "x.zarr", "w-", dialect="v2")
    h.create_group("/g")
    assert run(["convert", str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr"), "--to", "v3"]) == 0
    out = capsys.readouterr().out
    assert "equal" not in out
    assert "no array" in out
    h.create_array("/a", shape=(4, 4), dtype="u2", chunks=(2, 2))[...] = VALUES
    assert run(["convert", str(tmp_path / "x.zarr"), str(tmp_path / "z.zarr"), "--to", "v3", "--no-verify"]) == 0
    out = capsys.readouterr().out
    assert "equal" not in out
    assert "not compared" in out
    assert run(["convert", str(tmp_path / "x.zarr"), str(tmp_path / "w.zarr"), "--to", "v3"]) == 0
    assert "all elements equal" in capsys.readouterr().out


def test_time_limits_are_set_by_environment_and_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def limits(**options: Any) -> tuple[float, int]:
        with hostile(
            "404 Not Found", {"zarr.json": b'{"zarr_format":3,"node_type":"group"}'}, lambda key: False
        ) as server:
            store = zarrscope.open(server.url, storage_options=options).store
            return store.network.timeout, store.network.attempts  # type: ignore[attr-defined]  # a remote store

    assert limits() == (20.0, 1)
    assert limits(timeout=7) == (7.0, 1)
    monkeypatch.setenv("ZARRSCOPE_TIMEOUT", "soon")
    with pytest.raises(zarrscope.ZarrscopeError, match="ZARRSCOPE_TIMEOUT is 'soon'"):
        limits()
    with pytest.raises(zarrscope.ZarrscopeError, match="no option 'tiemout'"):
        limits(timeout=1, tiemout=1)
