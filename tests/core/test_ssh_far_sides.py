"""ssh://: login shells of every kind, and far sides on which zarrscope does not start."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from zarrscope.errors import Unreadable
from zarrscope.stores.ssh import client
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.ssh.connection import NotInstalled

if sys.platform == "win32":
    pytest.skip("the command of the far side is a POSIX shell's", allow_module_level=True)

NEAR = [sys.executable, "-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[-1]])"]
"""Used in place of ssh: runs the remote command on this machine."""


def opened(folder: Path, **options: Any) -> SSHStore:
    return SSHStore(f"ssh://host{folder}", "a", ssh=NEAR, **options)


def test_that_there_is_no_python_is_said_with_the_variable_that_names_the_command(tmp_path: Path) -> None:
    """The advice was to run pip with it."""
    with pytest.raises(NotInstalled, match="Neither zarrscope nor python3 was found on host") as caught:
        opened(
            tmp_path,
            command=f"PATH=/nonexistent:/bin-without-it; {client.FAR_COMMAND.replace('exec sh', 'exec /bin/sh')}",
        )
    assert "ZARRSCOPE_FAR_COMMAND=" in (caught.value.advice or "")


SHELLS = """
import os, sys
os.environ["PATH"] = f"{sys.argv[2]}:{os.environ['PATH']}"
os.execvp(sys.argv[1], [sys.argv[1], "-c", sys.argv[-1]])
"""


@pytest.mark.parametrize(
    "shell",
    ["sh", pytest.param("zsh", marks=pytest.mark.needs("zsh")), pytest.param("fish", marks=pytest.mark.needs("fish"))],
)
def test_every_login_shell_runs_the_far_side(shell: str, tmp_path: Path) -> None:
    """fish has a grammar of its own."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "zarrscope"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m zarrscope_app "$@"\n')
    program.chmod(0o755)
    (tmp_path / "k").write_bytes(b"v")
    login = [sys.executable, "-c", SHELLS, shell, str(tmp_path / "bin")]
    store = SSHStore(f"ssh://host{tmp_path}", ssh=login, command=client.FAR_COMMAND)
    assert store.get("k") == b"v"
    store.close()


@pytest.mark.parametrize(
    ("far", "message"),
    [
        ("echo Usage: zarrscope >&2; echo \"Error: No such command 'serve'.\" >&2; exit 2", "No such command 'serve'"),
        (f"{shlex.quote(sys.executable)} -c 'import nothing_of_this_name'", "ModuleNotFoundError: No module named"),
        ("echo This account is currently not available.; exit 1", "This account is currently not available"),
    ],
    ids=["older", "half installed", "no login"],
)
def test_a_far_side_that_does_not_start_is_no_fault_of_the_network(far: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="zarrscope did not start on host: ") as caught:
        opened(tmp_path, command=far)
    assert message in caught.value.message
    assert "Traceback" not in caught.value.message
    assert (caught.value.advice or "").endswith("Try in a terminal: ssh host zarrscope --version")
