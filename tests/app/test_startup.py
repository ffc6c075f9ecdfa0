"""The modules that each command imports, because they decide how long it takes to start. Nothing is timed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

import zarrscope
from zarrscope_app import qt
from zarrscope_app.cli import cli
from zarrscope_app.cli.verbs import SECTIONS, VERBS

HEAVY = frozenset("asyncio concurrent fsspec multiprocessing numcodecs obstore psygnal rich textual".split())
"""Packages that a verb does not need to show the metadata of a folder."""


CHANGING = frozenset(
    """convert check executors codecs.sharding errors.installing dialects.v2 dialects.n5 dialects.drafts nodes.create
    nodes.edit nodes.move nodes.trash nodes.consolidated nodes.named_children model.scattered runtime.memory
    chunkio.write stores.puts stores.objects stores.wrappers stores.dry_run stores.zip stores.http stores.remote
    stores.ssh stores.sftp stores.local.write stores.local.changes stores.local.locks stores.local.temporaries
    stores.local.removal stores.local.replace stores.local.rename stores.local.exchange""".split()
)
"""Modules of the engine that are not needed to open or list a folder, or to read a plane without shards."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("startup") / "cells.zarr"
    with zarrscope.open(path, "w-") as hierarchy:
        hierarchy.create_array("/0", shape=(2, 64, 64), dtype="uint16", chunks=(1, 64, 64))
        hierarchy.create_group("/labels")
        hierarchy.create_group("/plate", {"ome": {"version": "0.5", "plate": {"wells": [{"path": "A/1"}]}}})
        hierarchy.create_group("/image", {"ome": {"version": "0.5", "multiscales": [{"datasets": [{"path": "0"}]}]}})
    return path


def imported(*arguments: str, **variables: str) -> set[str]:
    """The modules that one command imports, in a process of its own."""
    code = (
        "import sys\n"
        "from zarrscope_app.cli import run\n"
        f"code = run({list(arguments)!r})\n"
        "print(*sys.modules, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ | variables
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


PLANE = """
import re, sys
asked, compiled = re.compile, set()
def counted(pattern, flags=0):
    compiled.add(sys._getframe(1).f_globals["__name__"])
    return asked(pattern, flags)
re.compile = counted
import zarrscope
assert zarrscope.open(sys.argv[1])["/0"][0].shape == (64, 64)
print(*(name for name in compiled if name.startswith("zarrscope")))
print(*sys.modules)
"""
"""Opens a folder and reads a plane. Prints the modules that compiled a regular expression, and all modules."""


@pytest.fixture(scope="module")
def plane(store: Path) -> tuple[set[str], set[str]]:
    """(modules that compiled a regular expression, all imported modules) of a program that reads a plane."""
    done = subprocess.run(
        [sys.executable, "-c", PLANE, str(store)], capture_output=True, text=True, timeout=120, check=True
    )
    compiled, modules = done.stdout.splitlines()
    return set(compiled.split()), set(modules.split())


def test_reading_a_plane_compiles_only_the_patterns_that_it_uses(plane: tuple[set[str], set[str]]) -> None:
    """Compiling one takes up to 0.6 ms: longer than opening an array."""
    assert plane[0] <= {"zarrscope.stores.keys", "zarrscope.stores.local.paths"}


def test_every_module_that_must_not_be_imported_exists() -> None:
    assert all(find_spec(f"zarrscope.{name}") for name in CHANGING)


def test_reading_a_plane_imports_nothing_that_only_other_acts_need(plane: tuple[set[str], set[str]]) -> None:
    assert not {f"zarrscope.{name}" for name in CHANGING} & plane[1]


def test_reading_a_plane_imports_no_names_for_annotations_only(plane: tuple[set[str], set[str]]) -> None:
    assert "numpy.typing" not in plane[1]


def test_reading_a_plane_imports_no_json_package(plane: tuple[set[str], set[str]]) -> None:
    """It compiles six regular expressions; the engine parses documents by the C module behind it."""
    assert "_json" in plane[1]
    assert "json" not in plane[1]


def test_reading_a_plane_imports_no_more_modules_than_it_needs(plane: tuple[set[str], set[str]]) -> None:
    """Every further module on this path costs each start 0.25 ms: join it to another, import it later, or raise the
    number."""
    assert len([name for name in plane[1] if name.startswith("zarrscope")]) <= 98


SLOW_TUPLES = """
import sys, typing, zarrscope
zarrscope.open(sys.argv[1])["/0"][0]
print(*sorted(
    f"{kind.__module__}.{kind.__name__}"
    for name, module in [*sys.modules.items()] if name.startswith("zarrscope")
    for kind in vars(module).values()
    if isinstance(kind, type) and typing.NamedTuple in getattr(kind, "__orig_bases__", ())
))
"""


def test_reading_a_plane_compiles_no_annotations_of_named_tuples(store: Path) -> None:
    """runtime/named_tuple.py makes them in a third of the time."""
    done = subprocess.run(
        [sys.executable, "-c", SLOW_TUPLES, str(store)], capture_output=True, text=True, timeout=120, check=True
    )
    assert not done.stdout.strip()


def of_verbs(modules: set[str]) -> set[str]:
    """The modules that contain verbs."""
    return {f"zarrscope_app.cli.{verb.module}" for verb in VERBS.values()} & modules


@pytest.mark.parametrize("name", VERBS)
def test_every_row_of_the_table_is_a_command(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert found.name == name
    assert found.help
    assert len(VERBS[name].purpose) <= 60, "it is shown on one line of 80 columns"
    assert VERBS[name].purpose.endswith(".")


def test_help_and_completion_import_no_verb() -> None:
    assert not of_verbs(imported("--help"))
    code = (
        "import sys\n"
        "from click.shell_completion import ShellComplete\n"
        "from zarrscope_app.cli import cli\n"
        "print(*(each.value for each in ShellComplete(cli, {}, 'zarrscope', '').get_completions([], 're')))\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["read", "remove", "render", "repack", "resize"]
    assert not of_verbs(set(done.stderr.split()))


def test_help_imports_nothing_of_dialects_and_nodes() -> None:
    """A quarter of its time, for a warning that only verbs with a node need."""
    rooms = {name.split(".")[1] for name in imported("--help") if name.startswith("zarrscope.")}
    assert rooms <= {"errors", "runtime", "version"}


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_printed_without_the_command_line(option: str) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['zarrscope', {option!r}]\n"
        "from zarrscope_app.__main__ import main\n"
        "main()\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert f"zarrscope {zarrscope.__version__}\n" in done.stdout
    assert not {"click", "zarrscope_app.cli", "zarrscope.nodes"} & set(done.stderr.split())


def test_completion_knows_verbs_and_the_options_before_them() -> None:
    complete = ShellComplete(cli, {}, "zarrscope", "_ZARRSCOPE_COMPLETE")
    listed = {each.value: each.help for each in complete.get_completions([], "")}
    assert listed == {name: verb.purpose for name, verb in VERBS.items()}
    assert "--color" in {each.value for each in complete.get_completions([], "--")}
    assert "--long" in {each.value for each in complete.get_completions(["ls"], "--")}


@pytest.mark.parametrize(
    "before", ["", "tree", "info --json", "diff a.zarr", "copy a.zarr / --into", "attrs", "attrs get", "open x.zarr",
               "render a.zarr -o", "export", "trash list", "a.zarr", "convert a.zarr", "image a.zarr", "demo"]
)  # fmt: skip
def test_the_shell_completes_files_where_a_place_belongs(before: str) -> None:
    complete = ShellComplete(cli, {}, "zarrscope", "_ZARRSCOPE_COMPLETE")
    assert [(each.type, each.value) for each in complete.get_completions(before.split(), "cells.o")] == [
        ("file", "cells.o")
    ]


@pytest.mark.parametrize("before", ["tree a.zarr", "tree zip://a.zip::", "tre a.zarr", "attrs set a.zarr /"])
def test_completion_of_a_node_or_after_a_wrong_verb_is_quiet(before: str, capsys: pytest.CaptureFixture[str]) -> None:
    complete = ShellComplete(cli, {}, "zarrscope", "_ZARRSCOPE_COMPLETE")
    assert {each.type for each in complete.get_completions(before.split(), "lab")} <= {"file"}
    assert capsys.readouterr() == ("", "")


BASH = """
eval "$(_ZARRSCOPE_COMPLETE=bash_source "$1")"
compopt() { printf '%s ' asked for "$@"; }
COMP_WORDS=(zarrscope tree cells.o) COMP_CWORD=2
_zarrscope_completion "$1"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_is_asked_for_its_own_completion_of_files(tmp_path: Path) -> None:
    program = tmp_path / "zarrscope"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m zarrscope_app "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", str(program)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "asked for -o default ", done.stderr


def test_help_lists_every_verb_once_under_its_purpose() -> None:
    told = cli.get_help(cli.make_context("zarrscope", ["tree"], resilient_parsing=True))
    sections = re.findall(r"^(\S.*):\n((?:  \S.*\n?)+)", told, re.M)
    listed = {title: re.findall(r"^  ([\w-]+) ", lines, re.M) for title, lines in sections}
    assert {title: listed[title] for title in SECTIONS} == {title: [*verbs] for title, verbs in SECTIONS.items()}


@pytest.mark.parametrize("arguments", [["ls"], ["tree"], ["info"], ["attrs", "get"]], ids=" ".join)
def test_a_verb_that_shows_metadata_imports_its_own_module_and_nothing_heavy(store: Path, arguments: list[str]) -> None:
    verb, options = (arguments, []) if arguments[-1] == "get" else (arguments[:1], arguments[1:])
    modules = imported(*verb, str(store), *options)
    assert not HEAVY & modules
    assert not {f"zarrscope.{name}" for name in (*CHANGING, "nodes.array", "codecs", "chunkio")} & modules
    assert f"zarrscope_app.cli.{VERBS[arguments[0]].module}" in modules
    assert "numpy" not in modules, "only rare data types and fill values need it"


def test_the_terminal_starts_without_the_jobs_on_whole_hierarchies() -> None:
    # rich before 15 imports configparser itself
    code = (
        "import sys, rich.theme; theirs = {*sys.modules}; import zarrscope_app.tui.app; print(*{*sys.modules} - theirs)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    modules = set(done.stdout.split())
    assert "zarrscope_app.tui.app" in modules
    jobs = {"check.hierarchy", "check.diff", "convert.planning", "convert.copying", "convert.rebuilding"}
    assert not {f"zarrscope.{name}" for name in jobs} & modules
    assert not {"concurrent.futures.process", "dask", "fsspec", "multiprocessing", "numcodecs", "obstore"} & modules
    # Modules that only a later action needs: links to other viewers, logins, colour maps, actions on nodes.
    assert not {"http.server", "configparser", "cmap", "zarrscope_app.presenters.nodes.table"} & modules


def test_a_picture_with_plain_colours_imports_neither_masked_arrays_nor_colour_maps() -> None:
    """Both take memory and time before the first picture."""
    code = (
        "import sys; import numpy as np\n"
        "from zarrscope.view.render import auto_levels\n"
        "from zarrscope_app.presenters.image.colormaps import ramp\n"
        "assert auto_levels(np.arange(1000).reshape(10, 100)) == (5, 997) and ramp('') == b''\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert not {"numpy.ma", "cmap"} & set(done.stdout.split())


def test_the_window_takes_its_names_from_the_binding_of_qt() -> None:
    """qtpy's modules make every enumeration of Qt, which took a quarter of the time until the first painting."""
    pytest.importorskip("PyQt6")
    code = "import sys, zarrscope_app.qt.window; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True,
        env=os.environ | {"QT_API": "pyqt6"},
    )  # fmt: skip
    modules = set(done.stdout.split())
    assert "PyQt6.QtWidgets" in modules
    assert not {name for name in modules if name.startswith("qtpy.Qt")}


def test_only_the_toolkit_of_the_window_names_modules_of_qtpy() -> None:
    folder = Path(qt.__file__).parent
    naming = {
        path.parent.name for path in folder.rglob("*.py") if re.search(r"(from|import) qtpy\.", path.read_text("utf-8"))
    }
    assert naming == {"toolkit"}


@pytest.mark.parametrize("name", ["core", "gui", "widgets", "svg"])
def test_the_names_of_the_toolkit_are_those_of_qtpy(name: str) -> None:
    ours = import_module(f"zarrscope_app.qt.toolkit.{name}")
    theirs = import_module(f"qtpy.Qt{name.title()}")
    shared = {each for each in vars(ours) if each[0] in "QS" and each in vars(theirs)}
    assert "QSvgRenderer" in shared or len(shared) > 50
    assert all(getattr(ours, each) is getattr(theirs, each) for each in shared)


def test_the_first_address_that_is_typed_into_a_window_imports_nothing_for_addresses(store: Path) -> None:
    """Its import takes 9 ms, in which the window shows nothing."""
    code = f"""
import sys
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.presenters import Workspace
mailbox, ended = Mailbox(), []
workspace = Workspace(lambda call: mailbox(lambda: (call(), ended.append(call))))
assert "zarrscope.stores.address_text" not in sys.modules
workspace.prepare()
mailbox.run_until(lambda: ended, 120)
assert "zarrscope.stores.address_text" in sys.modules
known = {{*sys.modules}}
workspace.open({str(store)!r})
print(*(name for name in {{*sys.modules}} - known if name.startswith("zarrscope.stores.address")))
workspace.close_all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout.split() == []
