"""The rules of every test: hangs end, nothing leaks, and nothing is skipped in silence.

- A test that hangs is ended by pytest-timeout (120 s), with the stacks of all threads.
- A test that leaves a thread or a visible window behind fails.
- `@pytest.mark.needs("tmux", …)` skips where the machine lacks a thing (tests/machine.py). Tests with Qt fixtures need
  "qt" and "display" without saying so, and so do whole files with the word qt or napari in their names. Skips are named
  and counted at the end; with ZARRSCOPE_STRICT=1 (packaging/check --system) one for lack of a system package fails.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import machine

if TYPE_CHECKING:
    from contracts.places import Services

if hasattr(signal, "SIGHUP"):  # nohup ignores it, and programs that tests start and hang up would inherit that
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

QT_FIXTURES = frozenset({"qtbot", "qapp", "qtmodeltester", "qtlog", "make_napari_viewer", "make_napari_viewer_proxy"})
QT_FILES = frozenset({"qt", "napari"})
SHARED_THREADS = (
    "zarrscope-",  # the process's one Background; its own tests look after its life
    "service-",  # a server of tests/servers.py, which lives as long as a module
    "fsspecIO",  # fsspec's event loop lives as long as the process
    "pytest_timeout",
    "asyncio_",
    "IPythonHistorySavingThread",
    "Dask-",
    "ThreadPoolExecutor-",  # numcodecs, dask and zarr-python keep pools of their own
    "zarr_io",
    "Dummy-",
    "pymain",
    "Thread-zmq",
)
_lacking: list[tuple[str, str, str]] = []


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("PYTEST_QT_API", "pyqt6")
    os.environ.setdefault("QT_API", "pyqt6")
    # Nothing that a test does may end up in the settings and recent lists of the person who runs it.
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "zarrscope",
        deadline=None,
        derandomize=os.environ.get("CI") == "true",
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        print_blob=True,
    )
    settings.load_profile("zarrscope")
    # A shell has its background jobs ignore SIGINT, and so would the programs that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# ---------------------------------------------------------------------------------- missing programs and packages
class _NotHere(pytest.Module):
    """A test file whose imports cannot work on this machine: one named skip in its place."""

    reason = ""

    def collect(self) -> Any:
        pytest.skip(self.reason, allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    if not QT_FILES & {*module_path.stem.split("_")}:
        return None
    reason = _reason(("qt", "display"))
    if reason is None:
        return None
    module = _NotHere.from_parent(parent, path=module_path)
    module.reason = reason
    return module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        things = [thing for mark in item.iter_markers("needs") for thing in mark.args]
        if QT_FIXTURES & set(getattr(item, "fixturenames", ())):
            things += ["qt", "display"]
        reason = _reason(dict.fromkeys(things))
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def _reason(things: Any) -> str | None:
    for thing in things:
        why = machine.missing(thing)
        if why is not None:
            return f"needs {thing}: {why}"
    return None


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        thing = reason.removeprefix("needs ").partition(":")[0] if reason.startswith("needs ") else ""
        _lacking.append((report.nodeid, thing, reason))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _lacking:
        return
    terminalreporter.section("not run on this machine")
    for reason, count in Counter(reason for _, _, reason in _lacking).most_common():
        names = sorted({node for node, _, other in _lacking if other == reason})
        terminalreporter.write_line(f"{count} skipped: {reason}")
        for name in names:
            terminalreporter.write_line(f"    {name}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    strict = os.environ.get("ZARRSCOPE_STRICT") == "1"
    if strict and session.exitstatus == 0 and any(thing in machine.PACKAGES for _, thing, _ in _lacking):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


# ------------------------------------------------------------------------------------------------- leaks
@pytest.fixture(autouse=True)
def _nothing_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    threads = set(threading.enumerate())
    gui = bool(QT_FIXTURES & set(request.fixturenames))
    windows = set(_visible_windows()) if gui else set()
    yield
    if gui:
        left = [w for w in _visible_windows() if w not in windows]
        assert not left, f"windows left open: {left}"
    deadline = time.monotonic() + 5.0
    new = [t for t in threading.enumerate() if t not in threads and not t.name.startswith(SHARED_THREADS)]
    for thread in new:
        _join(thread, deadline)
    alive = [t.name for t in new if t.is_alive()]
    assert not alive, f"threads left running: {alive}"


def _join(thread: threading.Thread, deadline: float) -> None:
    while True:
        try:
            return thread.join(max(0.0, deadline - time.monotonic()))
        except RuntimeError:  # a server's thread is just starting it
            if time.monotonic() > deadline:
                return None
            time.sleep(0.001)


def _visible_windows() -> list[Any]:
    from qtpy.QtWidgets import QApplication

    application = QApplication.instance()
    return [w for w in QApplication.topLevelWidgets() if w.isVisible()] if isinstance(application, QApplication) else []


@pytest.fixture(autouse=True, scope="session")
def _home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings, caches and recent lists of the person who runs the tests stay as they are."""
    home = tmp_path_factory.mktemp("home")
    keep = {name: os.environ.get(name) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
    for name in keep:
        os.environ[name] = str(home / name.lower())
    yield
    for name, value in keep.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# ------------------------------------------------------------------------------------------------- things to test with
@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder with the conformance archive (cases.tar.gz, run.py …)."""
    folder = machine.conformance()
    if folder is None or machine.missing("cases"):
        pytest.skip(_reason(["cases"]) or "")
    return folder


@pytest.fixture(scope="session")
def zarr2() -> Path:
    """A Python that has zarr-python 2.18, to be run as a child process."""
    python = machine.zarr2()
    if python is None:
        pytest.skip(_reason(["zarr2"]) or "")
    return python


@pytest.fixture(scope="session")
def ome() -> Path:
    """A Python that has ome-zarr-py and napari-ome-zarr, to be run as a child process."""
    python = machine.ome()
    if python is None:
        pytest.skip(_reason(["ome"]) or "")
    return python


@pytest.fixture(scope="session")
def unpacked(cases: Path) -> Path:
    """The folder of cases, unpacked as the runner of the archive does it."""
    code = f"import sys; sys.path.insert(0, {str(cases)!r}); import run; print(run.unpacked_cases())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The storage services of this machine, each started when it is first asked for."""
    from contracts.places import Services

    found = Services(tmp_path_factory.mktemp("services"))
    yield found
    found.end()
