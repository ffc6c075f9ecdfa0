"""Rules for every test: a hanging test ends, no thread or file leaks, and no test is skipped without being counted.

- A test that hangs is ended by pytest-timeout (120 s), with the stacks of all threads. If it hangs where an exception
  is ignored, as in a `__del__`, its process ends HARD_SECONDS later; pytest-xdist then names the test and goes on.
- A test that leaves a thread or a visible window behind fails.
- `@pytest.mark.needs("tmux", …)` skips where the machine lacks a thing (tests/machine.py). Tests with Qt fixtures need
  "qt" and "display" without saying so, and so do whole files with the word qt or napari in their names. Skips are named
  and counted at the end; with ZARRSCOPE_STRICT=1 (packaging/check --system) one for lack of a system package fails.
"""

from __future__ import annotations

import faulthandler
import logging
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
HARD_SECONDS = 30
_lacking: list[tuple[str, str, str]] = []
_stderr: list[int] = []
"""The handle of the error output, which pytest does not capture."""


def pytest_configure(config: pytest.Config) -> None:
    if sys.__stderr__ is not None:
        _stderr.append(os.dup(sys.__stderr__.fileno()))  # now, because conftest.py is imported while pytest captures
    os.environ.setdefault("PYTEST_QT_API", "pyqt6")
    os.environ.setdefault("QT_API", "pyqt6")
    # The home folder of the tests, so that their user's settings and recent lists do not change.
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "zarrscope",
        deadline=None,
        derandomize=os.environ.get("CI") == "true",
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        print_blob=True,
    )
    settings.load_profile("zarrscope")
    # A shell lets its background jobs ignore SIGINT; programs that tests start and interrupt would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# ---------------------------------------------------------------------------------- missing programs and packages
class _NotHere(pytest.Module):
    """A test file whose imports cannot work on this machine: it counts as one named skip."""

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


# ------------------------------------------------------------------------------------------------- hanging tests
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("timeout")
    seconds = float(marker.args[0] if marker is not None and marker.args else item.config.getini("timeout") or 0)
    if seconds and _stderr:
        # takes the place of the timer that pytest started for this test, and is cancelled with it
        faulthandler.dump_traceback_later(seconds + HARD_SECONDS, file=_stderr[-1], exit=True)


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
    deadline = time.monotonic() + 30.0  # a busy machine ends threads late
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
    """Tests use a home folder of their own, so that the settings, caches and recent lists of their user do not
    change."""
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


@pytest.fixture(autouse=True, scope="session")
def use_leak_safe_log_records() -> Iterator[None]:
    """Log records keep no reference to their arguments, which pytest would hold until the end of the test.

    Takes the place of napari's fixture of this name: its records fail where the one argument is a mapping, as in a
    message of Dask's scheduler, and the error breaks the code that logged.
    """
    made = logging.getLogRecordFactory()

    def formatted(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = made(*args, **kwargs)
        record.msg, record.args = record.getMessage(), None
        return record

    logging.setLogRecordFactory(formatted)
    yield
    logging.setLogRecordFactory(made)


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
    """The path of a Python with zarr-python 2.18, to be run as a child process."""
    python = machine.zarr2()
    if python is None:
        pytest.skip(_reason(["zarr2"]) or "")
    return python


@pytest.fixture(scope="session")
def ome() -> Path:
    """The path of a Python with ome-zarr-py and napari-ome-zarr, to be run as a child process."""
    python = machine.ome()
    if python is None:
        pytest.skip(_reason(["ome"]) or "")
    return python


@pytest.fixture(scope="session")
def unpacked(cases: Path) -> Path:
    """The folder of cases, unpacked in the same way as the archive's runner does."""
    code = f"import sys; sys.path.insert(0, {str(cases)!r}); import run; print(run.unpacked_cases())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The storage services of this machine, each started when a test first needs it."""
    from contracts.places import Services

    found = Services(tmp_path_factory.mktemp("services"))
    yield found
    found.end()
