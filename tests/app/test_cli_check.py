"""`check` and `diff` on the command line: lines, JSON, exit codes, and resuming a check that was killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrscope
from zarrscope.model.metadata import CodecSpec, Configuration
from zarrscope_app.cli import run

CODECS = [CodecSpec("bytes", Configuration({"endian": "little"})), CodecSpec("gzip", Configuration({"level": 1}))]


def zs(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    code = run([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def found(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    """The output of `zs` without the summary of how much was read."""
    code, out, err = zs(capsys, *arguments)
    return code, out, "".join(line for line in err.splitlines(True) if " were read" not in line)


def made(place: Path, dialect: str = "v3") -> Path:
    h = zarrscope.open(str(place), "w-", dialect=dialect)
    h.create_array("/a", shape=(40,), dtype="u2", chunks=(2,), codecs=CODECS)[...] = np.arange(1, 41)
    return place


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    return made(tmp_path / "v.zarr")


def test_a_whole_store_is_clean(capsys: Any, volume: Path) -> None:
    said = "zarrscope: Nothing was found: all is as it should be.\n"
    assert found(capsys, "check", volume) == (0, "", said)


def test_three_missing_and_one_truncated_are_named(capsys: Any, volume: Path) -> None:
    for n in (1, 7, 19):
        (volume / "a" / "c" / str(n)).unlink()
    cut = volume / "a" / "c" / "4"
    cut.write_bytes(cut.read_bytes()[:-5])
    code, out, err = found(capsys, "check", volume)
    assert code == 1
    lines = out.splitlines()
    assert [line.split("  ")[:3] for line in lines] == [
        *[["information", "chunk-missing", "/a"]] * 3,
        ["error", "chunk-undecodable", "/a"],
    ]
    assert [line[line.index("key ") :].partition(")")[0] for line in lines] == [f"key 'a/c/{n}'" for n in (1, 7, 19, 4)]
    assert lines[3].endswith("restore the chunk from a copy, or erase it to read fill values.")
    assert err == "zarrscope: 1 error, 0 warnings, 3 pieces of information.\n"
    cut.unlink()
    assert zs(capsys, "check", volume)[0] == 0
    assert zs(capsys, "check", volume, "--expect-all")[0] == 1
    assert zs(capsys, "check", volume, "a", "--no-chunks")[:2] == (0, "")


def test_a_line_ends_with_advice(capsys: Any, tmp_path: Path) -> None:
    with zarrscope.open(str(tmp_path / "i.zarr"), "w-", dialect="v2") as h:
        h.root.attrs.put({"multiscales": [{"version": "0.3", "axes": ["y", "q"], "datasets": [{"path": "0"}]}]})
        h.create_array("/0", shape=(4, 4), dtype="u1", chunks=(4, 4))[...] = 1
    code, out, _ = found(capsys, "check", tmp_path / "i.zarr")
    assert code == 1
    assert (
        "error  ome-zarr  /  an axis must be named t, c, z, y or x (key '.zattrs' at /multiscales/0/axes/1). "
        "Name it t, c, z, y or x; other names are possible from OME-Zarr 0.4 on." in out.splitlines()
    )
    listed = json.loads(zs(capsys, "check", tmp_path / "i.zarr", "--json")[1])["findings"]
    assert all(each["advice"] for each in listed if each["code"] == "ome-zarr"), listed


def test_json_is_the_same_every_time(capsys: Any, volume: Path) -> None:
    (volume / "a" / "c" / "3").unlink()
    (volume / "a" / "c" / "5").write_bytes(b"")
    first = zs(capsys, "check", volume, "--json")
    assert zs(capsys, "check", volume, "--json") == first
    told = json.loads(first[1])
    assert first[0] == 1
    assert told["summary"] == {"error": 1, "warning": 0, "information": 1}
    assert [finding["key"] for finding in told["findings"]] == ["a/c/3", "a/c/5"]
    assert set(told["findings"][0]) == {"severity", "code", "path", "key", "pointer", "message", "advice"}


def test_exit_codes_of_what_is_not_there(capsys: Any, volume: Path, tmp_path: Path) -> None:
    assert zs(capsys, "check", tmp_path / "nothing")[0] == 3
    assert zs(capsys, "check", volume, "nowhere")[0] == 3
    assert zs(capsys, "check")[0] == 2
    assert zs(capsys, "diff", volume)[0] == 2
    assert zs(capsys, "diff", volume, tmp_path / "nothing")[0] == 3


def test_names_in_a_file_do_not_steer_the_terminal(capsys: Any, volume: Path) -> None:
    (volume / "a" / "\x1b[2J").write_bytes(b"")
    code, out, _ = zs(capsys, "check", volume)
    assert code == 0
    assert "stray-key" in out
    assert "\x1b" not in out


def test_a_check_goes_on_from_its_file(capsys: Any, volume: Path, tmp_path: Path) -> None:
    (volume / "a" / "c" / "3").unlink()
    (volume / "a" / "c" / "5").write_bytes(b"")
    state = tmp_path / "state"
    whole = found(capsys, "check", volume, "--resume", state)
    assert whole == found(capsys, "check", volume)
    steps = state.read_bytes().splitlines(keepends=True)
    for n in range(len(steps) + 1):
        state.write_bytes(b"".join(steps[:n]) + b'{"path": "/a", "chu')  # killed in the middle of a line
        if n == 0:
            assert zs(capsys, "check", volume, "--resume", state)[0] == 2
            continue
        assert found(capsys, "check", volume, "--resume", state) == whole, n
        assert state.read_bytes() == b"".join(steps)
    (volume / "a" / "c" / "5").unlink()  # a chunk that was checked before is not read again
    assert found(capsys, "check", volume, "--resume", state) == whole
    code, _, err = zs(capsys, "check", volume, "--no-chunks", "--resume", state)
    assert code == 2
    assert "not the state of this check" in err


def test_a_check_that_is_killed_loses_nothing(capsys: Any, volume: Path, tmp_path: Path) -> None:
    """SIGKILL at random moments; each run resumes where the run before it stopped."""
    made = zarrscope.open(str(volume), "r+")
    made.create_array("/big", shape=(6000,), dtype="u1", chunks=(1,))[...] = 1
    for key in ("3", "2999", "5999"):
        (volume / "big" / "c" / key).write_bytes(b"")
    (volume / "big" / "c" / "7").unlink()
    whole = found(capsys, "check", volume)
    assert whole[0] == 1
    state = tmp_path / "state"
    command = [sys.executable, "-m", "zarrscope_app", "check", str(volume)]
    began = time.monotonic()
    subprocess.run(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    seconds = time.monotonic() - began
    command += ["--resume", str(state)]
    moment, killed = random.Random(3), 0
    for _ in range(6):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(moment.uniform(0.2, 0.7) * seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
    assert killed
    if state.exists() and state.stat().st_size:
        assert found(capsys, "check", volume, "--resume", state) == whole


def test_interrupted_is_130_and_goes_on(capsys: Any, volume: Path, tmp_path: Path, monkeypatch: Any) -> None:
    from zarrscope.check import chunks as stored

    (volume / "a" / "c" / "5").write_bytes(b"")
    whole = found(capsys, "check", volume)
    original = stored.StoredChunks.decoded

    def interrupted(self: Any, start: int = 0) -> Any:
        raise KeyboardInterrupt
        yield from original(self, start)

    state = tmp_path / "state"
    monkeypatch.setattr(stored.StoredChunks, "decoded", interrupted)
    assert zs(capsys, "check", volume, "--resume", state)[0] == 130
    monkeypatch.setattr(stored.StoredChunks, "decoded", original)
    assert found(capsys, "check", volume, "--resume", state) == whole


def test_progress_only_on_a_terminal(volume: Path) -> None:
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "zarrscope_app", "check", str(volume)]
    with subprocess.Popen(command, stderr=slave, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        os.close(slave)
        assert process.wait(60) == 0
        shown = os.read(master, 65536).decode()
    os.close(master)
    assert "/a  20 of 20 chunks" in shown
    assert "\r\x1b[Kzarrscope: Nothing was found: all is as it should be.\r\n" in shown


def test_diff(capsys: Any, volume: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "w.zarr", "v2")
    assert zs(capsys, "diff", volume, other, "--values") == (0, "", "zarrscope: No difference was found.\n")
    h = zarrscope.open(str(other), "r+")
    array = h["/a"]
    assert isinstance(array, zarrscope.Array)
    array[7] = 1000
    array[30:32] = 0
    h.create_group("/b")
    assert zs(capsys, "diff", volume, other) == (
        1,
        "only on the right: /b (group)\n",
        "zarrscope: Values were not compared (--values).\n",
    )
    code, out, _ = zs(capsys, "diff", volume, other, "--values")
    assert code == 1
    assert out.splitlines() == [
        "/a  values at [7]: 8 → 1000 (3 values differ)",
        "only on the right: /b (group)",
    ]
    code, out, _ = zs(capsys, "diff", volume, other, "--values", "--json")
    told = json.loads(out)
    assert (code, told["same"]) == (1, False)
    assert [(d["path"], d["what"], d["index"], d["count"]) for d in told["differences"]] == [
        ("/a", "values", [7], 3),
        ("/b", "node", None, None),
    ]
    assert zs(capsys, "diff", volume / "a", other / "a")[0] == 0
