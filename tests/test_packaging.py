"""packaging/environment.sh keeps the working environment until the next one is complete, whatever fails meanwhile.

Scripts stand in for the interpreter, pip and uv, so nothing is installed and no network is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import machine

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash: packaging/ is written in it"
)

PYTHON = """#!/usr/bin/env bash
case "$1 $2" in
    "-m venv")
        folder=${@: -1}
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        cp "$(dirname "$FAKE")/uv" "$folder/bin/uv"
        ;;
    "-m pip") echo "pip $*" >>"$ROOT/calls"; case $* in *" uv=="*) exit 0 ;; *) exit "${PIP:-1}" ;; esac ;;
    *) exec "$REAL" "$@" ;;
esac
"""
UV = """#!/usr/bin/env bash
echo "uv $*" >>"$ROOT/calls"
case $UV_DOES in
    install)
        [ -z "${VIRTUAL_ENV:-}" ] || cp "$(dirname "$FAKE")/zarrscope" "$VIRTUAL_ENV/bin/zarrscope"
        exit 0
        ;;
    fail) exit 1 ;;
    interrupted) kill -INT "$PPID"; exit 130 ;; # as Ctrl-C does, which the terminal sends to all of them
esac
"""
ZARRSCOPE = """#!/usr/bin/env bash
case $1 in
    demo) echo "$ROOT/organoids.ome.zarr" ;;
    --version) echo "zarrscope 0" ;;
    render) echo "zarrscope $*" >>"$ROOT/calls" ;;
esac
"""
MAKE = """
set -euo pipefail
ROOT=$1
. "$2/packaging/environment.sh"
{override}
environment "$ROOT/.venv" "$FAKE" "$3" constraints.txt -e .
echo "goes on"
"""


class Checkout:
    """A folder with a link .venv, as packaging/demo makes it."""

    def __init__(self, root: Path, fakes: Path) -> None:
        self.root, self.fakes = root, fakes
        self.link = root / ".venv"
        (root / "packaging").mkdir()
        (root / "packaging/constraints.txt").write_text("uv==1.0\n")
        for name, text in (("python", PYTHON), ("uv", UV), ("zarrscope", ZARRSCOPE)):
            (fakes / name).write_text(text)
            (fakes / name).chmod(0o755)

    def make(self, stamp: str, uv: str, override: str = "", pip: int = 1) -> subprocess.CompletedProcess[str]:
        code = MAKE.replace("{override}", override)
        return self.run(["bash", "-c", code, "bash", str(self.root), str(machine.ROOT), stamp], uv, pip)

    def demo(self, uv: str) -> subprocess.CompletedProcess[str]:
        """packaging/demo unchanged, with a script in place of the interpreter."""
        for name in ("demo", "environment.sh", "system-packages.txt"):
            shutil.copy(machine.ROOT / "packaging" / name, self.root / "packaging")
        with (self.root / "packaging/environment.sh").open("a") as file:
            file.write('find_python() { echo "$FAKE"; }\n')
        return self.run(["bash", str(self.root / "packaging/demo"), "--png"], uv)

    def run(self, command: list[str], uv: str, pip: int = 1) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
            env=os.environ
            | {
                "ROOT": str(self.root),
                "FAKE": str(self.fakes / "python"),
                "REAL": sys.executable,
                "UV_DOES": uv,
                "PIP": str(pip),
            },
        )

    @property
    def stamp(self) -> str:
        return (self.link / ".stamp").read_text()

    @property
    def environments(self) -> list[str]:
        return sorted(path.name for path in self.root.iterdir() if path.name.startswith(".venv."))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root, fakes = tmp_path / "a place with spaces", tmp_path / "fakes"
    root.mkdir()
    fakes.mkdir()
    return Checkout(root, fakes)


def test_a_successor_takes_the_place_when_it_stands(checkout: Checkout) -> None:
    first = checkout.make("one", "install")
    assert first.returncode == 0, first.stderr
    assert (checkout.stamp, checkout.environments) == ("one", [os.readlink(checkout.link)])
    before = os.readlink(checkout.link)
    assert checkout.make("two", "install").returncode == 0
    assert (checkout.stamp, checkout.environments) == ("two", [os.readlink(checkout.link)])
    assert os.readlink(checkout.link) != before


def test_what_stands_is_not_made_again(checkout: Checkout) -> None:
    checkout.make("one", "install")
    made = os.readlink(checkout.link)
    done = checkout.make("one", "fail")
    assert (done.returncode, done.stdout) == (0, "goes on\n")
    assert os.readlink(checkout.link) == made


def test_a_failure_leaves_the_environment_of_before(checkout: Checkout) -> None:
    checkout.make("one", "install")
    done = checkout.make("two", "fail")
    assert done.returncode == 1
    assert "left as it was" in done.stderr
    assert (checkout.stamp, checkout.environments) == ("one", [os.readlink(checkout.link)])


def test_pip_does_what_uv_could_not(checkout: Checkout) -> None:
    assert checkout.make("one", "fail", pip=0).returncode == 0
    assert checkout.stamp == "one"


def test_ctrl_c_ends_it_all(checkout: Checkout) -> None:
    checkout.make("one", "install")
    (checkout.root / "calls").unlink()
    done = checkout.make("two", "interrupted", pip=0)
    assert done.returncode == 130
    assert "Interrupted." in done.stderr
    assert "goes on" not in done.stdout
    calls = (checkout.root / "calls").read_text().splitlines()
    assert len(calls) == 2, calls  # pip, which installs uv, and uv: pip is not tried after its interrupt
    assert (checkout.stamp, checkout.environments) == ("one", [os.readlink(checkout.link)])


def test_an_environment_that_is_a_folder_becomes_one_that_is_a_link(checkout: Checkout) -> None:
    checkout.link.mkdir()
    (checkout.link / "of before").touch()
    assert checkout.make("one", "fail").returncode == 1
    assert (checkout.link / "of before").exists()
    assert checkout.make("one", "install").returncode == 0
    assert checkout.link.is_symlink()
    assert checkout.environments == [os.readlink(checkout.link)]


def test_the_environment_of_another_checkout_is_never_removed(checkout: Checkout, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    checkout.link.symlink_to(other)
    assert checkout.make("one", "install").returncode == 0
    assert other.is_dir()
    assert checkout.stamp == "one"


def test_a_checkout_that_cannot_be_written_to_is_said(checkout: Checkout) -> None:
    done = checkout.make("one", "install", override="_writable() { false; }")  # root may always write
    assert done.returncode == 1
    assert "cannot be written to" in done.stderr
    assert str(checkout.root) in done.stderr
    assert checkout.environments == []


def test_the_demo_works_offline_after_the_first_time(checkout: Checkout) -> None:
    (checkout.root / "pyproject.toml").write_text("[project]\n")
    nothing = checkout.demo("fail")
    assert nothing.returncode == 1
    assert "No environment could be made" in nothing.stderr
    first = checkout.demo("install")
    assert first.returncode == 0, first.stderr
    assert f"Picture: {checkout.root}/organoids.png" in first.stdout
    (checkout.root / "calls").unlink()
    again = checkout.demo("fail")
    assert again.returncode == 0, again.stderr
    calls = (checkout.root / "calls").read_text().splitlines()
    assert [line.split()[:2] for line in calls] == [["zarrscope", "render"]]  # neither pip nor uv


def test_the_demo_goes_on_where_a_changed_pyproject_cannot_be_installed(checkout: Checkout) -> None:
    (checkout.root / "pyproject.toml").write_text("[project]\n")
    assert checkout.demo("install").returncode == 0
    made = os.readlink(checkout.link)
    (checkout.root / "pyproject.toml").write_text("[project] # changed\n")
    done = checkout.demo("fail")
    assert done.returncode == 0, done.stderr
    assert "Going on with the earlier environment" in done.stderr
    assert "Picture: " in done.stdout
    assert (checkout.environments, os.readlink(checkout.link)) == ([made], made)
    stopped = checkout.demo("interrupted")
    assert stopped.returncode == 130
    assert "Picture: " not in stopped.stdout
    assert (checkout.environments, os.readlink(checkout.link)) == ([made], made)
