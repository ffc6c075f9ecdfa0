"""The files of the wheel and of the repository, which contain no paths of the machines they were written on."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import machine

PACKAGES = {"zarrscope": "core", "zarrscope_app": "app", "zarrscope_resources": "resources"}
# Split, so that this file does not match itself.
MACHINE_PATHS = re.compile(
    r"(?<![\w.:/])(?:/(?:work|opt)/[a-z]|/tmp/[a-z]{2,}/|/root/|/Users/[A-Za-z]|/home/(?!user|me|you|person|ada)[a-z])"
)
REGISTRY_HOSTS = re.compile(
    "|".join(
        re.escape(a + b)
        for a, b in [("pypi", ".org"), ("pythonho", "sted.org"), ("npmjs", ".org"), ("deb.debian", ".org")]
    )
)


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=machine.ROOT, capture_output=True, timeout=60, check=False)
    if listed.returncode != 0:
        pytest.skip("needs git: not a checkout, so nothing is tracked")
    files = [machine.ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in files if path.is_file()]


def test_tracked_files_name_no_machine_and_no_registry() -> None:
    found = []
    for path in _tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line) or REGISTRY_HOSTS.search(line):
                found.append(f"{path.relative_to(machine.ROOT)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)


def test_tracked_files_are_small() -> None:
    large = [
        f"{p.relative_to(machine.ROOT)}: {p.stat().st_size:,} bytes" for p in _tracked() if p.stat().st_size > 3 << 20
    ]
    assert not large, large


def test_the_top_level_holds_what_the_house_allows() -> None:
    allowed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        ".ci",
        ".github",
        ".gitignore",
        "core",
        "app",
        "tests",
        "resources",
        "packaging",
    }
    assert {p.relative_to(machine.ROOT).parts[0] for p in _tracked()} <= allowed


def test_the_engine_has_few_entries() -> None:
    """Newcomers read the list: there is one folder for each reason to change."""
    engine = machine.ROOT / "core" / "zarrscope"
    entries = {p.relative_to(engine).parts[0] for p in _tracked() if p.is_relative_to(engine)}
    assert len(entries) <= 16, sorted(entries)


def test_names_say_what_a_file_is_about() -> None:
    vague = {"utils", "util", "common", "base", "manager", "helper", "helpers", "misc"}
    assert not [p for p in _tracked() if p.suffix == ".py" and {*p.with_suffix("").parts} & vague]


RIDDLE = re.compile(r'(?:"""|# (?:-+ )?)[Ww]h(?:at|o)\b.*|(?:"""|# ).*\b(?:so many|at hand)\b.*')


def test_no_note_opens_with_a_riddle() -> None:
    """Docstrings and comments name the thing, instead of "what …" or "who …", "so many" or "at hand"."""
    found = [
        f"{path.relative_to(machine.ROOT)}: {match[0]}"
        for path in _tracked()
        if path.suffix == ".py" and path != Path(__file__).resolve()
        for match in RIDDLE.finditer(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


CALLED_TOLD = re.compile(r"\b_?told(?:\(|: Callable|\.emit|\.connect)")


def test_a_function_is_named_by_what_it_does() -> None:
    """A reader of `told(...)` cannot say who tells what to whom; `report(...)` or `progress(...)` does."""
    found = [
        f"{path.relative_to(machine.ROOT)}:{number}: {line.strip()}"
        for path in _tracked()
        if path.suffix == ".py" and path.relative_to(machine.ROOT).parts[0] in ("core", "app")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if CALLED_TOLD.search(line)
    ]
    assert not found, "\n".join(found)


def test_modules_are_short() -> None:
    sources = [p for p in _tracked() if p.suffix == ".py" and p.relative_to(machine.ROOT).parts[0] in ("core", "app")]
    lengths = {p.relative_to(machine.ROOT).as_posix(): p.read_text("utf-8").count("\n") for p in sources}
    assert not {name: length for name, length in lengths.items() if length > 500}


FOR_SPEED = re.compile(r"^_?([A-Z0-9_]*_)?(AT_ONCE|PAGE|PIECE|PIECES|IN_FLIGHT|GAP|THREADS)(_BYTES)? = [0-9(]", re.M)


def test_numbers_chosen_for_speed_stand_in_one_file() -> None:
    """Constants for the number and size of parts stand, with their meaning, in runtime/tuning.py."""
    engine = machine.ROOT / "core" / "zarrscope"
    found = {
        path.relative_to(engine).as_posix(): [
            each[0].partition(" ")[0] for each in FOR_SPEED.finditer(path.read_text("utf-8"))
        ]
        for path in sorted(engine.rglob("*.py"))
    }
    assert len(found.pop("runtime/tuning.py")) > 25
    assert not {name: numbers for name, numbers in found.items() if numbers}


SHARED_NAMES = {
    "Explorer": "what each host calls its outermost widget",
}
"""The public names of several modules, with the reason for each."""


def test_one_name_is_one_thing() -> None:
    """In engine and applications together, each public class or type alias has a name of its own."""
    homes: dict[str, list[str]] = {}
    for package in ("core/zarrscope", "app/zarrscope_app"):
        for path in sorted((machine.ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                for name in _types_named(node):
                    homes.setdefault(name, []).append(path.relative_to(machine.ROOT).as_posix())
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert shared.keys() == SHARED_NAMES.keys(), {n: p for n, p in shared.items() if n not in SHARED_NAMES}


def _types_named(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [] if node.name.startswith("_") else [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    variable = isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("TypeVar")
    names = [target.id for target in targets if isinstance(target, ast.Name) and not variable]
    return [name for name in names if name[0].isupper() and not name.isupper()]


SUPPRESSED = re.compile(r"# ?(type: ?ignore|(ruff: ?)?noqa|pragma:)")
WITH_REASON = re.compile(
    r"# (type: ignore\[[a-z, -]+\]  # |(ruff: )?noqa: [A-Z]+\d+(, [A-Z]+\d+)* --? |pragma: no cover - )\S"
)


def test_each_suppression_has_its_reason_beside_it() -> None:
    """On its own line, after the codes: for mypy as a second comment, for ruff and coverage after a dash."""
    silent = []
    for path in (p for p in _tracked() if p.suffix == ".py" and p != Path(__file__).resolve()):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(SUPPRESSED.findall(line)) > len(WITH_REASON.findall(line)):
                silent.append(f"{path.relative_to(machine.ROOT)}:{number}: {line.strip()[-100:]}")
    assert not silent, "\n".join(silent)


def test_what_a_subclass_defines_says_so() -> None:
    bare = [
        f"{path.relative_to(machine.ROOT)}:{number}"
        for package, folder in PACKAGES.items()
        for path in sorted((machine.ROOT / folder / package).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip() == "raise NotImplementedError"
    ]
    assert not bare, bare


def test_the_applications_reach_into_no_node() -> None:
    """For everything beside public members they use nodes/internals.py."""
    found = [
        f"{path.relative_to(machine.ROOT)}:{number}: {line.strip()}"
        for path in sorted((machine.ROOT / "app").rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<!self)\._(nodes|stored)\b", line)
    ]
    assert not found, "\n".join(found)


def test_only_background_remote_stores_and_memory_start_threads() -> None:
    starts = re.compile(r"\b(Thread|ThreadPoolExecutor|ProcessPoolExecutor|Timer|Popen|create_task|to_thread)\(")
    runtime = {f"core/zarrscope/runtime/{name}.py" for name in ("memory", "pool", "threads")}
    allowed = {*runtime, "core/zarrscope/stores/"}
    found = []
    for folder in ("core/zarrscope", "app/zarrscope_app/presenters"):
        for path in sorted((machine.ROOT / folder).rglob("*.py")):
            name = path.relative_to(machine.ROOT).as_posix()
            if starts.search(path.read_text(encoding="utf-8")) and not name.startswith(tuple(allowed)):
                found.append(name)
    assert not found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(wheel from the tree, sdist, wheel from the sdist); built with the hatchling that is installed."""
    place = tmp_path_factory.mktemp("dist")
    tree = _build(machine.ROOT, place / "tree", "wheel")
    sdist = _build(machine.ROOT, place / "sdist", "sdist")
    with tarfile.open(sdist) as archive:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python before 3.11.4
        archive.extractall(place / "unpacked", **safely)
    [unpacked] = (place / "unpacked").iterdir()
    return tree, sdist, _build(unpacked, place / "again", "wheel")


def _build(source: Path, into: Path, target: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    [result] = [p for p in into.iterdir() if p.suffix in (".whl", ".gz")]
    return result


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_from_the_sdist_equals_the_wheel_from_the_tree(built: tuple[Path, Path, Path]) -> None:
    tree, _, again = built
    assert _contents(tree) == _contents(again)


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: tuple[Path, Path, Path]) -> None:
    expected = set()
    for package, folder in PACKAGES.items():
        root = machine.ROOT / folder
        files = (p for p in (root / package).rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        expected |= {p.relative_to(root).as_posix() for p in files if not p.name.startswith(".")}
    names = {name for name in _contents(built[0]) if ".dist-info/" not in name}
    assert names == expected
    assert {"zarrscope/py.typed", "zarrscope_app/py.typed", "zarrscope_resources/__init__.py"} <= names


def test_the_wheel_declares_its_command_and_its_licence(built: tuple[Path, Path, Path]) -> None:
    contents = _contents(built[0])
    [points] = [text.decode() for name, text in contents.items() if name.endswith("entry_points.txt")]
    assert "zarrscope = zarrscope_app.__main__:main" in points
    assert any(name.endswith("licenses/LICENSE") for name in contents)
    for target in re.findall(r"^zarrscope = ([\w.]+):([\w.]+)$", points, re.M):
        module, _, attribute = target[0].replace(".", "/"), "", target[1]
        assert contents.keys() & {f"{module}.py", f"{module}/__init__.py", f"{module}/{attribute}"}, target


def test_the_listing_of_napari_hub_is_complete(built: tuple[Path, Path, Path]) -> None:
    """It shows the package's metadata, its README and napari's manifest."""
    contents = _contents(built[0])
    [told] = [text.decode() for name, text in contents.items() if name.endswith(".dist-info/METADATA")]
    head, _, body = told.partition("\n\n")
    fields = {line.partition(": ")[0] for line in head.splitlines()}
    assert {"Summary", "Author", "License-Expression", "Requires-Python", "Keywords", "Project-URL"} <= fields
    assert "Classifier: Framework :: napari" in head
    assert body.strip() == (machine.ROOT / "README.md").read_text(encoding="utf-8").strip()
    manifest = contents["zarrscope_app/napari/napari.yaml"].decode()
    assert re.search(r"^display_name: \w+$", manifest, re.M)
    assert "visibility: hidden" not in manifest


def test_a_package_index_accepts_the_wheel_and_the_sdist(built: tuple[Path, Path, Path]) -> None:
    pytest.importorskip("twine", reason="needs twine: pip install '.[test]'")
    command = [sys.executable, "-m", "twine", "check", "--strict", str(built[0]), str(built[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2


def test_the_pictures_of_the_readme_show_on_a_package_index(tmp_path: Path) -> None:
    """The project has no address yet, so the metadata are made from a copy that names one."""
    markdown = pytest.importorskip("readme_renderer.markdown", reason="needs readme_renderer: pip install '.[test]'")
    for name in ("README.md", "LICENSE", "packaging/index_readme.py", "core/zarrscope/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(machine.ROOT / name, tmp_path / name)
    project = (machine.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    address = "https://example.org/people/zarrscope"
    named = project.replace("[project.urls]\n", f'[project.urls]\nRepository = "{address}/"\n')
    (tmp_path / "pyproject.toml").write_text(named, encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "metadata"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=True)
    page = markdown.render(json.loads(done.stdout)["readme"]["text"])
    assert page is not None
    pictures = re.findall(r'<img [^>]*src="([^"]*)"', page)
    links = re.findall(r'<a [^>]*href="([^"#]+)"', page)
    assert len(pictures) == 4
    own = [link for link in links if link.startswith(address)]
    assert len(own) > 15
    for link, kind in [*((each, "raw") for each in pictures), *((each, "blob") for each in own)]:
        start, _, file = link.partition(f"/{kind}/HEAD/")
        assert start == address
        assert (machine.ROOT / file).is_file(), file
    assert all(link.startswith("https://") for link in links)


def test_the_citation_is_of_this_project() -> None:
    text = (machine.ROOT / "resources" / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): *(.*)$", text, re.M))
    assert {"cff-version", "message", "title", "authors"} <= fields.keys(), "what the format demands"
    project = tomllib.loads((machine.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert fields["license"] == project["license"]
    assert re.findall(r"^  - name: (.+)$", text, re.M) == [author["name"] for author in project["authors"]]
