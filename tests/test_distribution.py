"""What is handed on beside the wheel: desktop entry, conda recipe, cluster recipe, list of licences.

The window's bundle takes minutes to make: `bash packaging/bundle` tries what it made.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import machine

PACKAGING = machine.ROOT / "packaging"
needs_bash = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash: packaging/ is written in it"
)


def run(script: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(PACKAGING / script), *args]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )


def entry_of(file: Path) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # keys of desktop entries have capitals
    parser.read_string(file.read_text("utf-8"))
    return parser["Desktop Entry"]


@needs_bash
def test_the_desktop_learns_of_zarrscope_and_forgets_it(tmp_path: Path) -> None:
    prefix = tmp_path / "a place"
    assert run("desktop/install", "--prefix", str(prefix)).returncode == 0
    entry = entry_of(prefix / "share/applications/zarrscope.desktop")
    assert (entry["Type"], entry["Icon"], entry["Exec"]) == ("Application", "zarrscope", "zarrscope open %U")
    icon = prefix / "share/icons/hicolor/scalable/apps/zarrscope.svg"
    assert ElementTree.parse(icon).getroot().tag.endswith("svg")
    types = ElementTree.parse(prefix / "share/mime/packages/zarrscope.xml").getroot()
    named = {kind.attrib["type"] for kind in types}
    assert named == {kind for kind in entry["MimeType"].split(";") if kind}
    globs = {glob.attrib["pattern"] for glob in types.iter() if glob.tag.endswith("glob")}
    assert globs == {"*.ozx", "*.zarr.zip"}
    odd = "/a b/$zarr&scope"
    assert run("desktop/install", "--prefix", str(prefix), "--command", odd).returncode == 0
    entry = entry_of(prefix / "share/applications/zarrscope.desktop")
    assert entry["Exec"] == '"/a b/\\$zarr&scope" open %U'
    assert run("desktop/install", "--prefix", str(prefix), "--remove").returncode == 0
    assert not [file for file in prefix.rglob("zarrscope*") if file.is_file()]
    assert run("desktop/install", "--nonsense").returncode == 2


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for() -> None:
    recipe = (PACKAGING / "conda/meta.yaml").read_text("utf-8")
    run_section = recipe.partition("  run:\n")[2].partition("  run_constrained:\n")[0]
    asked = {re.sub(r"\s", "", line.strip(" -")) for line in run_section.splitlines()}
    project = tomllib.loads((machine.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert asked == {*project["dependencies"], f"python{project['requires-python']}"}
    assert project["license"] in recipe
    for command, target in project["scripts"].items():
        assert f"- {command} = {target}" in recipe


PYTHON = """#!/usr/bin/env bash
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    "-m pip") echo "$*" >>"$CALLS"; exit "${PIP:-0}" ;;
    *) echo "ran $*" ;;
esac
"""


@needs_bash
def test_the_cluster_recipe_makes_a_module(tmp_path: Path) -> None:
    python, calls, apps = tmp_path / "python", tmp_path / "calls", tmp_path / "the apps"
    python.write_text(PYTHON)
    python.chmod(0o755)
    failed = run("cluster/install", str(apps), "--python", str(python), CALLS=str(calls), PIP="1")
    assert failed.returncode != 0
    assert not [*apps.iterdir()], "a failure leaves nothing"
    done = run("cluster/install", str(apps), "--python", str(python), CALLS=str(calls))
    assert done.returncode == 0, done.stderr
    place, module = map(Path, done.stdout.split("\n")[:2])
    assert "[tui,http,s3]" in calls.read_text()
    text = module.read_text()
    assert f'prepend_path("PATH", "{place}/bin")' in text
    assert "@" not in text
    assert [file.name for file in (place / "bin").iterdir()] == ["zarrscope"], "no interpreter comes onto the PATH"
    started = subprocess.run([place / "bin/zarrscope", "tree"], capture_output=True, text=True, timeout=60, check=True)
    assert started.stdout == "ran -m zarrscope_app tree\n"
    assert run("cluster/install", str(apps), "--python", str(python), CALLS=str(calls)).returncode == 1


def test_licences_are_listed() -> None:
    command = [sys.executable, str(PACKAGING / "licences")]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout.splitlines()
    found = {line.split()[0]: line.split(maxsplit=2)[2] for line in listed if "not installed" not in line}
    assert {"numpy", "click", "fsspec", "psygnal"} <= found.keys()
    assert not [name for name, licence in found.items() if licence == "not stated"]
    assert not [name for name, licence in found.items() if "GPL" in licence], "the engine alone is free of it"
