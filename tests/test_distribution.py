"""The files for distributors beside the wheel: desktop entry, conda recipe, cluster recipe, list of licences.

The window's bundle takes minutes to make: `bash packaging/bundle` tries what it made.
"""

from __future__ import annotations

import configparser
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import click
import jinja2
import pytest
import yaml

import machine
import zarrscope
from zarrscope_app.cli import cli

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
    odd = "/a b/100 %/$zarr&scope"
    assert run("desktop/install", "--prefix", str(prefix), "--command", odd).returncode == 0
    entry = entry_of(prefix / "share/applications/zarrscope.desktop")
    assert entry["Exec"] == '"/a b/100 %%/\\\\$zarr&scope" open %U', "a desktop entry doubles backslashes"
    assert run("desktop/install", "--prefix", str(prefix), "--remove").returncode == 0
    assert not [file for file in prefix.rglob("zarrscope*") if file.is_file()]
    assert run("desktop/install", "--nonsense").returncode == 2


MAIN = {*"AudioVideo Development Education Game Graphics Network Office Science Settings System Utility".split()}
"""Main categories of the desktop menu specification; an entry with two of them appears in the menu twice."""


def test_the_desktop_entry_is_valid() -> None:
    file = PACKAGING / "desktop/zarrscope.desktop"
    entry = entry_of(file)
    assert entry["Version"] in ("1.0", "1.1", "1.2", "1.3", "1.4"), "validators of today refuse later ones"
    assert len(MAIN & {*entry["Categories"].split(";")}) == 1
    assert all(entry[key].endswith(";") for key in ("Categories", "Keywords", "MimeType"))
    validator = shutil.which("desktop-file-validate")
    if validator is not None:
        done = subprocess.run([validator, str(file)], capture_output=True, text=True, timeout=30, check=False)
        assert (done.returncode, done.stdout) == (0, "")


def test_the_conda_recipe_renders() -> None:
    def load_file_regex(load_file: str, regex_pattern: str) -> re.Match[str]:
        found = re.search(regex_pattern, (machine.ROOT / load_file).read_text("utf-8"))
        assert found is not None
        return found

    text = (PACKAGING / "conda/meta.yaml").read_text("utf-8")
    rendered = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)
    recipe = yaml.safe_load(rendered.render(load_file_regex=load_file_regex, PYTHON="python"))
    assert recipe["package"] == {"name": "zarrscope", "version": zarrscope.__version__}
    assert (PACKAGING / "conda" / recipe["source"]["path"]).resolve() == machine.ROOT.resolve()
    assert (machine.ROOT / recipe["about"]["license_file"]).is_file()
    wanted = [
        *recipe["requirements"]["host"],
        *recipe["requirements"]["run"],
        *recipe["requirements"]["run_constrained"],
    ]
    assert all(re.fullmatch(r"[a-z0-9-]+( >=[0-9.]+)?", line) for line in wanted), wanted
    for module in recipe["test"]["imports"]:
        importlib.import_module(module)
    verbs = {line.split()[1] for line in recipe["test"]["commands"]} - {"--version"}
    assert verbs <= {*cli.list_commands(click.Context(cli))}


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for() -> None:
    recipe = (PACKAGING / "conda/meta.yaml").read_text("utf-8")
    run_section = recipe.partition("  run:\n")[2].partition("  run_constrained:\n")[0]
    asked = {re.sub(r"\s", "", line.strip(" -")) for line in run_section.splitlines()}
    project = tomllib.loads((machine.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    elsewhere = {"isal": "python-isal", "deflate": ""}  # as conda-forge calls them; it has no deflate
    wanted = {
        re.sub(r"^\w+(?=>)", lambda name: elsewhere.get(name[0], name[0]), each) for each in project["dependencies"]
    }
    assert asked == {*(each for each in wanted if not each.startswith(">")), f"python{project['requires-python']}"}
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


def test_the_bundle_gets_the_texts_of_the_licences(tmp_path: Path) -> None:
    """It listed neither Python nor the libraries of the machine that made the bundle, and no texts lay beside it."""
    bundle, into = tmp_path / "bundle", tmp_path / "licences"
    (bundle / "_internal").mkdir(parents=True)
    (bundle / "_internal/libz.so.1").touch()
    command = [sys.executable, str(PACKAGING / "licences"), "--into", str(into), "--of", str(bundle)]
    subprocess.run(command, capture_output=True, timeout=100, check=True)
    lines = (into / "LIST.txt").read_text("utf-8").splitlines()
    named = {line.partition(":")[0].split()[0] for line in lines}
    assert {"numpy", "click", "zarrscope", "Python"} <= named
    assert "pip" not in named
    assert [*into.glob("numpy-*/*LICENSE.txt")]
    if shutil.which("dpkg") and shutil.which("ldconfig"):
        (system,) = (line for line in lines if "libz.so.1" in line)
        assert system.startswith("system-zlib1g")
        assert (into / "system-zlib1g/copyright").is_file()
