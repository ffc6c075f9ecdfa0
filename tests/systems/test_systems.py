"""Parts of the store contract, of reading and of the kill trials on each simulated system; run.py runs all of them."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from systems.run import SHORT, SHORT_OF, environment, run_tests, script
from systems.table import BEHAVIOURS, SYSTEMS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systems are forced on Linux")


@pytest.mark.parametrize("system", SYSTEMS)
def test_stores_and_reading_hold(system: str) -> None:
    told = run_tests(system, list(SHORT), "-k", " ".join(SHORT_OF.split()), timeout=110)
    assert not told["failed"], told["told"]
    assert told["passed"] > 50


READING = ("test_reading", "test_array", "test_chunks", "test_listing", "test_hierarchy")
CODECS = ("test_codecs", "test_codecs_contract")
_SHORTCUTS = "another_libzstd"
"""Tests of native shortcuts, which cannot be loaded on such a system."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", READING)
def test_the_suite_of_reading_holds_on_an_old_linux(name: str) -> None:
    told = run_tests("old-linux", [f"core/{name}.py"], timeout=280)
    assert not told["failed"], told["told"]
    assert told["passed"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("system", ["windows", "plain-mount", "old-linux"])
def test_the_suite_of_codecs_holds_without_what_linux_has(system: str, name: str) -> None:
    """On windows and plain-mount no native library can be loaded, so each codec uses its slower implementation."""
    told = run_tests(system, [f"core/{name}.py"], "-k", f"not {_SHORTCUTS}", timeout=280)
    assert not told["failed"], told["told"]
    assert told["passed"] > 100


@pytest.mark.parametrize("system", ["windows", "plain-mount"])
def test_many_reads_at_once_without_reads_at_an_offset(system: str) -> None:
    """A duplicated handle shares its position: with one, 5 of 40 reads were wrong without an error."""
    told = script(system, "systems/reads.py", "--reads", "60", timeout=110)
    assert (told["reads"], told["wrong"], told["failed"]) == (60, 0, 0), told["told"]


_QUICK = ("windows", "nfs")


@pytest.mark.parametrize(
    "system", [each if each in _QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SYSTEMS]
)
def test_killed_writers_lose_nothing(system: str) -> None:
    told = script(system, "kill/run.py", "--rounds", "4", "--dialects", "v3,v2", "--seed", "5", timeout=110)
    assert told.get("rounds") == 4, told["told"]


def asked(system: str, code: str, *arguments: str) -> Any:
    """The JSON that `code` prints, with os, sys and other modules as zarrscope gets them on the system."""
    stood_in = f"""
        import json, sys
        from systems import forced
        made, files = forced.stand_ins(forced.installed)
        os, given = made["os"], sys.argv[1:]
        def met(act):
            try:
                return act()
            except Exception as error:
                return [type(error).__name__, getattr(error, "errno", None), getattr(error, "winerror", None)]
        {textwrap.indent(textwrap.dedent(code), " " * 8).strip()}
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(stood_in), *arguments],
        env=environment(system), capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_windows_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    """The simulated system refuses the same operations as the real one, with the same errors."""
    (tmp_path / "a").write_bytes(b"1\r\n2")
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/c").write_bytes(b"3")
    code = r"""
        at = given[0]
        handle = os.open(at + "\\a", os.O_RDONLY)
        told = {"text": os.read(handle, 99).decode()}
        told["replace"] = met(lambda: os.replace(at + "\\b", at + "\\a"))
        told["unlink"] = met(lambda: os.unlink(at + "\\A"))
        os.close(handle)
        told["rename"] = met(lambda: os.rename(at + "\\a", at + "\\b"))
        told["open a folder"] = met(lambda: os.open(at + "\\folder", os.O_RDONLY))
        inner = os.open(at + "\\folder\\c", os.O_RDONLY | os.O_BINARY)
        told["move a folder"] = met(lambda: os.rename(at + "\\folder", at + "\\other"))
        os.close(inner)
        told["name"] = met(lambda: os.stat(at + "\\a?"))
        told["spelling"] = met(lambda: os.stat(at + "\\B").st_size)
        told["dots"] = met(lambda: os.stat(at + "\\b. .").st_size)
        told["long"] = met(lambda: os.stat(at + "\\" + "x" * 250).st_size)
        told["beneath a file"] = met(lambda: os.stat(at + "\\b\\c").st_size)
        told["lacks"] = [name for name in ("pread", "preadv", "getuid", "fork") if hasattr(os, name)]
        told["real"] = os.path.realpath(at + "\\folder/c") == "C:" + (at + "/folder/c").replace("/", "\\")
        print(json.dumps(told))
        """
    denied = ["PermissionError", errno.EACCES]
    assert asked("windows", code, str(tmp_path)) == {
        "text": "1\n2", "replace": [*denied, 5], "unlink": [*denied, 32],
        "rename": ["FileExistsError", errno.EEXIST, 183],
        "open a folder": [*denied, None], "move a folder": [*denied, 5],
        "name": ["OSError", errno.EINVAL, 123], "spelling": 1, "dots": 1,
        "long": ["FileNotFoundError", errno.ENOENT, 206],
        "beneath a file": ["FileNotFoundError", errno.ENOENT, 3], "lacks": [], "real": True,
    }  # fmt: skip


def test_every_behaviour_belongs_to_a_system() -> None:
    assert {each for system in SYSTEMS.values() for each in system.behaviours} == BEHAVIOURS.keys()
    for system in SYSTEMS.values():
        code = "from zarrscope.stores.local import store; print(store.sys.platform, len(store.os.sep))"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(system.name), capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.stdout.split() == [system.platform, "1"], done.stderr
        assert all(hasattr(os, name) for name in ("pread", "preadv")), "this machine keeps what it has"


def test_macos_is_asked_to_write_to_the_disk_itself(tmp_path: Path) -> None:
    """Because fsync on macOS leaves written data in the disk's own memory."""
    code = """
        from zarrscope.stores.local import replace as replacing
        from zarrscope.stores.local.store import LocalStore
        asked, fcntl = [], replacing.fcntl
        def counted(handle, command, *rest):
            asked.append(command)
            return files.fcntl(handle, command, *rest)
        replacing.fcntl.fcntl = counted
        LocalStore(given[0]).set("a/zarr.json", b"1")
        print(json.dumps([asked.count(fcntl.F_FULLFSYNC)]))
        """
    (count,) = asked("macos", code, str(tmp_path))
    assert count >= 2, "the file, and the folder that has its name"


def test_what_windows_refuses_while_a_file_is_open_comes_when_it_is_closed_or_changes_nothing(tmp_path: Path) -> None:
    code = """
        import threading
        from zarrscope.stores.local.store import LocalStore
        from zarrscope.stores.local import replace as replacing
        store = LocalStore(given[0])
        def filled():
            for i in range(20):
                store.bulk.put(f"a/{i}", b"1")
        def acts():
            filled()
            yield "set", lambda: store.set("a/7", b"2")
            yield "put", lambda: store.bulk.put("a/7", b"3")
            yield "erase", lambda: store.erase("a/7")
            filled()
            yield "move", lambda: store.files.move_prefix(store, "a/", "b/")
            filled()
            store.erase_prefix("b/")
            yield "erase prefix", lambda: store.erase_prefix("a/")
        told = {}
        for name, act in acts():
            here = sorted(store.list())
            values = [store.get(key) for key in here]
            handle = os.open(given[0] + "/a/7", os.O_RDONLY | os.O_BINARY)
            slept, replacing.time.sleep = replacing.time.sleep, lambda pause: None
            told[name] = met(act)
            if here != sorted(store.list()) or values != [store.get(key) for key in here]:
                told[name] = "changed something"
            tried = []
            replacing.time.sleep = lambda pause: tried or (tried.append(pause), os.close(handle))
            told[name + ", closed"] = met(act)
            replacing.time.sleep = slept
        told["left"] = sorted(store.list())
        print(json.dumps(told, default=str))
        """
    told = asked("windows", code, str(tmp_path / "x"))
    assert told.pop("left") == []
    for act in ("set", "put", "erase", "move", "erase prefix"):
        kind, *_ = told[act]
        assert kind in ("ReadOnly", "Unreadable"), (act, told[act])
        assert not isinstance(told[act + ", closed"], list) or told[act + ", closed"][0] != kind, (act, told)
