"""`--plain` and colours, the summary of a check, and options before or after the arguments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from contracts.http_server import planes_server
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope_app.cli import run

BYTES = CodecSpec("bytes", Configuration({"endian": "little"}))
SGR = re.compile(r"\x1b\[[0-9;]*m")


def zs(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    code = run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plain") / "cells.zarr"
    h = zarrscope.open(str(place), "w-")
    h.create_array("/0", shape=(2, 16, 16), dtype="u2", chunks=(1, 8, 8), shards=(1, 16, 16))[...] = np.arange(
        256
    ).reshape(16, 16)
    h.create_array("/labels/nuclei/2", shape=(2, 8, 8), dtype="u4", chunks=(2, 8, 8))
    return place


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """An array of 40 chunks, of which 12 are stored, without checksums."""
    h = zarrscope.open(str(tmp_path / "s.zarr"), "w-")
    h.create_array("/a", shape=(40,), dtype="u1", chunks=(1,), codecs=[BYTES])[:12] = np.arange(1, 13)
    return tmp_path / "s.zarr"


def records(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


# ---------------------------------------------------------------------- --plain
def test_lists_have_columns(capsys: Any, volume: Path) -> None:
    told = records(zs(capsys, "ls", volume, "--plain")[1])
    assert told[0] == ["0", "array", "2,16,16", "uint16", ""]
    assert told[-1] == ["labels", "group", "", "", ""]
    told = records(zs(capsys, "tree", "--plain", volume)[1])
    assert [row[0] for row in told][:3] == ["/", "/0", "/labels"]
    assert ["/labels/nuclei/2", "array", "2,8,8", "uint32", ""] in told
    assert {len(row) for row in told} == {5}
    assert zs(capsys, "--plain", "tree", volume)[1] == zs(capsys, "tree", volume, "--plain")[1]


def test_info_and_chunks_print_the_fields_of_json(capsys: Any, volume: Path) -> None:
    plain = dict(records(zs(capsys, "info", volume, "0", "--plain")[1]))
    facts = json.loads(zs(capsys, "info", volume, "0", "--json")[1])
    assert plain["shape"] == ",".join(map(str, facts["shape"]))
    assert plain["codecs/0/name"] == facts["codecs"][0]["name"]
    assert plain["problem"] == ""
    plain = dict(records(zs(capsys, "chunks", volume, "0", "--plain")[1]))
    assert (plain["kind"], plain["present"], plain["known"]) == ("shard", "2", "yes")
    key, index, nbytes = records(zs(capsys, "chunks", volume, "0", "--plain", "--list", "stored")[1])[1]
    assert (key, index) == ("0/c/1/0/0", "1,0,0")
    assert int(nbytes) == (volume / key).stat().st_size
    assert {len(row) for row in records(zs(capsys, "stats", volume, "--plain")[1])} == {7}


def test_names_make_no_columns_of_their_own(capsys: Any, tmp_path: Path) -> None:
    h = zarrscope.open(str(tmp_path / "odd.zarr"), "w-")
    h.create_group("/a\tb")
    ((name, kind, *_),) = records(zs(capsys, "ls", tmp_path / "odd.zarr", "--plain")[1])
    assert (name, kind) == ("a␉b", "group")


def test_plain_has_no_drawing_and_no_colour(capsys: Any, volume: Path) -> None:
    for words in (["tree"], ["ls"], ["check"], ["stats"], ["show", "0", "--columns", "30", "--lines", "8"]):
        out = zs(capsys, words[0], volume, *words[1:], "--color", "always", "--plain")[1]
        assert out
        assert out.isascii()
        assert "\x1b" not in out


def test_findings_and_differences_have_columns(capsys: Any, sparse: Path, volume: Path) -> None:
    told = records(zs(capsys, "check", sparse, "--plain")[1])
    assert len(told) == 28
    assert {(row[0], row[1], row[2]) for row in told} == {("information", "chunk-missing", "/a")}
    assert [row[3] for row in told][:2] == ["a/c/12", "a/c/13"]
    path, what, *_ = records(zs(capsys, "diff", sparse, volume, "--plain")[1])[0]
    assert (path, what) != ("", "")


# ---------------------------------------------------------------------- colours
def test_colours_change_no_letter(capsys: Any, volume: Path, sparse: Path) -> None:
    for words in (["tree", volume], ["ls", volume], ["info", volume], ["check", sparse], ["diff", sparse, volume]):
        bare = zs(capsys, *words)[1]
        colored = zs(capsys, *words, "--color", "always")[1]
        assert "\x1b[" in colored
        assert "\x1b[" not in bare
        assert [line.rstrip() for line in SGR.sub("", colored).splitlines()] == bare.splitlines()


def test_severities_and_changes_have_their_colours(capsys: Any, sparse: Path, volume: Path) -> None:
    assert "\x1b[36minformation\x1b[m" in zs(capsys, "check", sparse, "--color", "always")[1]
    (sparse / "a" / "c" / "3").write_bytes(b"")
    assert "\x1b[31merror\x1b[m" in zs(capsys, "check", sparse, "--color", "always")[1]
    out = zs(capsys, "attrs", "set", volume, "/", "note", "1", "--dry-run", "--color", "always")[1]
    assert re.search(r"\x1b\[32m\+.*note", out)


# ---------------------------------------------------------------------- the coverage that a check reports
def test_much_information_is_summed_up(capsys: Any, sparse: Path) -> None:
    code, out, err = zs(capsys, "check", sparse)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 6)
    assert lines[-1] == "information  chunk-missing  /a  23 more of this kind (--all names them)"
    assert "28 pieces of information" in err
    assert len(zs(capsys, "check", sparse, "--all")[1].splitlines()) == 28
    assert len(zs(capsys, "check", sparse, "--expect-all")[1].splitlines()) == 28


def test_it_says_how_much_was_read_and_what_is_not_seen(capsys: Any, sparse: Path) -> None:
    err = zs(capsys, "check", sparse)[2]
    assert "The documents of 2 nodes were read, and 12 chunks, 12 B." in err
    assert "1 array without a checksum (/a): changed bytes that still decode are not seen there." in err
    assert zs(capsys, "check", sparse, "--verify")[2] == err
    read = json.loads(zs(capsys, "check", sparse, "--json")[1])["read"]
    assert read == {"nodes": 2, "arrays": 1, "chunks": 12, "nbytes": 12, "without_checksum": ["/a"]}
    err = zs(capsys, "check", sparse, "--no-chunks")[2]
    assert "The documents of 2 nodes were read, and no chunk" in err
    assert "checksum" not in err


CHECKSUMS: list[tuple[list[CodecSpec], bool]] = [
    ([BYTES, CodecSpec("crc32c", Configuration({}))], True),
    ([BYTES, CodecSpec("gzip", Configuration({"level": 1}))], True),
    ([BYTES, CodecSpec("zstd", Configuration({"level": 1, "checksum": True}))], True),
    ([BYTES, CodecSpec("zstd", Configuration({"level": 1, "checksum": False}))], False),
    ([BYTES], False),
]


@pytest.mark.parametrize(("codecs", "seen"), CHECKSUMS)
@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_said_of_checksums_is_true(
    capsys: Any, tmp_path: Path, codecs: list[CodecSpec], seen: bool, sharded: bool
) -> None:
    """If the report says that changed bytes are detected, they are; if it says that they are not, a change exists that
    passes."""
    place = tmp_path / "c.zarr"
    h = zarrscope.open(str(place), "w-")
    shards = (8,) if sharded else None
    array = h.create_array("/a", shape=(8,), dtype="u2", chunks=(8,), shards=shards, codecs=codecs)
    array[...] = [3, 1, 4, 1, 5, 9, 2, 6]
    said = "without a checksum" in zs(capsys, "check", place)[2]
    assert said is not seen
    chunk = place / "a" / "c" / "0"
    whole = chunk.read_bytes()
    body = len(whole) - (16 + 4 if sharded else 0)
    passed = 0
    for at in range(body - 10, body - 4):  # the values or a checksum, but neither the header nor the length at the end
        chunk.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        passed += zs(capsys, "check", place)[0] == 0
    assert (passed == 0) is seen


def test_chunks_of_an_archive_have_its_checksums(capsys: Any, sparse: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        for file in sorted(sparse.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(sparse).as_posix())
    assert "without a checksum" not in zs(capsys, "check", tmp_path / "t.zip")[2]


# ---------------------------------------------------------------------- options and names
def test_validate_is_check(capsys: Any, sparse: Path) -> None:
    assert zs(capsys, "validate", sparse) == zs(capsys, "check", sparse)


def test_a_verb_ends_at_its_timeout() -> None:
    """A server that accepts the connection and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.zarr"
        for words in (["--timeout", "0.5", "ls", url], ["ls", url, "--timeout", "0.5"]):
            done = subprocess.run(
                [sys.executable, "-m", "zarrscope_app", *words], capture_output=True, text=True, timeout=120
            )
            assert (done.returncode, done.stdout) == (1, "")
            assert "Not done within 0.5 s (--timeout)" in done.stderr  # before or after the first request


def test_a_timeout_names_the_request_without_an_answer() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        for seconds in ("3", "12", "40"):  # a slow machine needs more than the first to get as far as a request
            command = [sys.executable, "-m", "zarrscope_app", "ls", f"http://{host}/a.zarr", "--timeout", seconds]
            done = subprocess.run(command, capture_output=True, text=True, timeout=110)
            assert done.returncode == 1
            said = rf"Not done within {seconds} s \(--timeout\): no answer to the request for \S+ from {host}[.]"
            if re.search(said, done.stderr):
                return
    raise AssertionError(f"No request is named: {done.stderr}")


def test_a_timeout_names_the_answer_of_a_server_that_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that kept answering 503 was told as one that does not answer."""
    monkeypatch.setenv("ZARRSCOPE_PAUSE", "3")
    with planes_server() as server:
        server.failing.add("")
        host = server.url.partition("://")[2].partition("/")[0]
        for seconds in ("3", "6", "9", "15"):  # a slow machine needs longer, and in the end no attempt is left
            command = [sys.executable, "-m", "zarrscope_app", "ls", f"{server.url}/", "--timeout", seconds]
            done = subprocess.run(command, capture_output=True, text=True, timeout=110)
            assert done.returncode == 1
            if f"Not done within {seconds} s (--timeout): {host} answered 503.\n" in done.stderr:
                return
    raise AssertionError(f"No answer is named: {done.stderr}")


def test_threads_and_read_only_reach_the_terminal(capsys: Any, monkeypatch: pytest.MonkeyPatch, volume: Path) -> None:
    pytest.importorskip("textual")
    from zarrscope_app import tui

    told: list[dict[str, Any]] = []

    def main(url: str, **how: Any) -> int:
        told.append({"url": url, **how, "openblas": os.environ.get("OPENBLAS_NUM_THREADS")})
        return 0

    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLOSC_NTHREADS", "SSH_CONNECTION"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(tui, "main", main)
    assert zs(capsys, "tui", volume, "--threads", "3", "--read-only")[0] == 0
    assert (told[-1]["threads"], told[-1]["read_only"], told[-1]["openblas"]) == (3, True, "3")
    monkeypatch.setenv("SSH_CONNECTION", "x")
    assert zs(capsys, "tui", volume)[0] == 0
    assert (told[-1]["threads"], told[-1]["read_only"], told[-1]["writable"]) == (2, False, False)
    code, _, err = zs(capsys, "tui", volume, "--write", "--read-only")
    assert code == 2
    assert "exclude each other" in err
