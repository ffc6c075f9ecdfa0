"""Every verb of the command line, and the terminal application, on stores with hostile strings (strings.py).

Both run in a real pseudo-terminal, whose bytes are looked at."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz.hostile_strings import TAG, Report, Strings
from zarrscope_app.cli.color import _ROLES
from zarrscope_app.cli.verbs import VERBS


def preload() -> None:
    """Imports the modules that the children need, once and without starting a thread."""
    import threading

    assert threading.active_count() == 1


def in_terminal(call: Callable[[], Any], feed: Callable[[bytes], bytes | None], seconds: float = 60) -> bytes:
    """The output of `call` in a child process on a terminal of 60 x 200. `feed` receives it, and returns keys to
    press."""
    import fcntl
    import termios

    pid, master = pty.fork()
    if not pid:
        signal.alarm(int(seconds) + 60)  # an orphan ends by itself
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))  # before `call` can ask for it
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", XDG_STATE_HOME=tempfile.gettempdir())
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = open(number, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115 - open as long as the process
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        try:
            call()
        except SystemExit as leaving:
            sys.stdout.flush()
            os._exit(leaving.code if isinstance(leaving.code, int) else 1)
        finally:
            os.write(2, b"\x1bCRASHED")
            os._exit(99)
    out, end = b"", time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                try:
                    data = os.read(master, 1 << 16)
                except OSError:
                    break
                if not data:
                    break
                out += data
            keys = feed(out)
            if keys:
                os.write(master, keys)
        else:
            out += b"\n\x1bTIMEOUT"
            os.kill(pid, 9)
    finally:
        os.waitpid(pid, 0)
        os.close(master)
    return out


def command_lines(report: Report, lines: list[list[str]]) -> None:
    """Runs verbs on a terminal. Their output may contain no control sequences except line ends and those of the
    progress line."""

    def run() -> None:
        from zarrscope_app.cli import run
        from zarrscope_app.cli.streams import make_inert

        sys.stdin = open(os.devnull)  # noqa: SIM115 - open as long as the process
        make_inert()
        for number, arguments in enumerate(lines):
            run(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(1, f"\n{_BETWEEN}{number}\n".encode())

    out = in_terminal(run, lambda _: None, seconds=300)
    parts = re.split(rf"{_BETWEEN}[0-9]+\r\n", out.decode("utf-8", "surrogateescape"))
    if len(parts) != len(lines) + 1:
        report.fail("cli", ascii(lines[min(len(parts) - 1, len(lines) - 1)]), parts[-1][-400:])
    for arguments, part in zip(lines, parts, strict=False):
        # The line of progress is rewritten: "\r" and "\x1b[K" before it, "\r" after it.
        told = _COLOURS.sub("", part).replace("\r\x1b[K", "").replace("\r\n", "\n").split("\n")
        text = "\n".join(line if TAG.search(line) else line.replace("\r", "") for line in told)
        where = f"zarrscope {' '.join(ascii(a) for a in arguments)}"
        report.look(f"cli {arguments[0] if arguments[0].isalpha() else 'argument'}", where, text)
        if "wrong inside zarrscope" in text or "Traceback" in text:
            report.fail("cli", where, text[-300:])
        if "--json" in arguments and text.lstrip().startswith(("{", "[")):
            try:
                json.loads(text[: text.rindex("}" if text.lstrip()[0] == "{" else "]") + 1])
            except ValueError as error:
                report.fail("cli --json", where, f"{error}: {text[:200]}")


_BETWEEN = "=-=-=-="
_COLOURS = re.compile(rf"\x1b\[(?:{'|'.join(_ROLES.values())})?m")
"""The sequences that the command line itself writes; none of `PAYLOADS` is one."""


NOT_TRIED = {"serve": "it answers another zarrscope, in frames", "tui": "`terminal_application` tries it"}


def verbs(report: Report, store: Path, nodes: list[str], s: Strings) -> None:
    """Every verb but those of NOT_TRIED."""
    url, lines = str(store), list[list[str]]()
    for verb in (["ls"], ["ls", "--json"], ["tree"], ["tree", "--json"], ["info"], ["check"], ["check", "--json"]):
        lines.append([verb[0], url, *verb[1:]])
    for node in nodes:
        for given in (
            ["info", url, node],
            ["info", url, node, "--json"],
            ["attrs", "get", url, node],
            ["attrs", "get", url, node, "--json"],
            ["read", url, node],
            ["read", url, node, "--json"],
            ["render", url, node, "-o", os.devnull + "/x.png"],
            ["show", url, node, "--image", "ascii", "--plain"],
            ["chunks", url, node, "--list", "stored"],
            ["export", url, node, f"{url}.csv", "--dry-run"],
        ):
            lines.append(given)
    name = s.name().replace("\0", "")
    for given in (
        ["validate", url],
        ["stats", url],
        ["stats", url, "--json"],
        ["image", url],
        ["image", url, "--json"],
        ["image", url, "--name", s(), "--axis", f"y:name={s()}", "--channel", f"0:name={s()}", "--dry-run"],
        ["image", f"{url}/*", "--unit", s(), "--dry-run"],
        ["add-labels", url, name, "--dry-run"],
        ["add-labels", url, "cells", "--image", nodes[0] or "/", "--dtype", s(), "--dry-run"],
        ["export", url, nodes[0] or "/", f"{url}.{name[:30]}", "--state", s(), "--dry-run"],
        ["chunks", url, name],
        ["show", url, name, "--image", "ascii", "--select", s()],
        ["repack", url, "--dry-run"],
        ["trash", "list", url],
        ["trash", "restore", url, name],
        ["trash", "empty", url, name, "--dry-run"],
        ["attrs", "unset", url, "/", name, "--dry-run"],
        ["consolidate", url, "--dry-run"],
        ["convert", url, f"{url}{name[:30]}.new", "--to", "v3", "--dry-run"],
        ["convert", url, f"{url}.new", "--to", "v2", "--dry-run", "--json"],
        ["copy", url, nodes[0] or "/", name, "--dry-run"],
        ["move", url, nodes[-1] or "/", name, "--dry-run"],
        ["remove", url, nodes[-1] or "/", "--dry-run"],
        ["remove", url, nodes[-1] or "/"],
        ["resize", url, nodes[0] or "/", "7,7", "--dry-run"],
        ["create", url, name, "--dry-run"],
        ["diff", url, url, "--values"],
        ["attrs", "set", url, "/", f"/{name}", json.dumps(s()), "--dry-run"],
        ["info", url, name],
        ["info", f"{url}/{name}"],
        [name],
        ["tree", f"https://127.0.0.1:1/{name}"],
        ["ls", url, f"--{name}"],
        ["demo", "--size", name],
        ["open", name],
    ):
        lines.append(given)
    left = {*VERBS} - {*NOT_TRIED} - {given[0] for given in lines}
    if left:
        report.fail("cli", "the fuzzer", f"verbs that are not tried: {sorted(left)}")
    command_lines(report, [[argument.replace("\0", "") for argument in given] for given in lines])


_KNOWN_SEQUENCE = re.compile(
    rb"\x1b\[[0-9;:]*m|\x1b\[(?!777)[0-9]+;[0-9]+H|\x1b\[H|\x1b\[[?>=<][0-9;:]*[a-zA-Z$]+p?|\x1b\[[0-9;]*[$'\"a-zA-Z]"
)


def terminal_application(report: Report, store: Path, rows: int) -> None:
    """Shows every row of the tree and every tab, then the diff and the question for a name."""

    def run() -> None:
        from zarrscope_app.tui import main

        sys.exit(main([str(store)], writable=False))

    keys = [
        b"l",
        *([b"j", b"\r", b"]", b"]", b"]", b"]"] * rows),
        b"?",
        b"\x1b",
        b"e",
        b"d",
        b"\x1b",
        b"n",
        b"\x1b",
        b"q",
        b"q",
    ]
    state = {"at": 0, "length": 0, "quiet": 0.0}

    def feed(out: bytes) -> bytes | None:
        now = time.monotonic()
        if len(out) != state["length"]:
            state["length"], state["quiet"] = len(out), now
        if b"q quit" not in out or now - state["quiet"] < 0.06 or state["at"] >= len(keys):
            return None
        state["at"] += 1
        state["quiet"] = now
        return keys[int(state["at"]) - 1]

    from zarrscope_app.tui.terminal import questions

    out = in_terminal(run, feed, seconds=240)
    out = out.replace(b"\x1b]22;default\x07", b"")  # Textual's own: the shape of the pointer
    out = out.replace(questions({}).encode(), b"")  # which the terminal is asked before it is drawn upon
    for sign in (
        b"\x1b]",
        b"\x1bP",
        b"\x1b_",
        b"\x1b^",
        b"\x1bc",
        b"\x1b[777",
        b"\x1b[38;2;66;6;99",
        b"\x07",
        b"\x0e",
        b"TIMEOUT",
    ):
        if sign in out:
            report.fail("tui", str(store), out[max(0, out.index(sign) - 80) : out.index(sign) + 30].decode("latin-1"))
    left = _KNOWN_SEQUENCE.sub(b"", out).decode("utf-8", "surrogateescape").replace("\r", "")
    report.look("tui", str(store), left)
    if "Traceback" in left:
        report.fail("tui", str(store), left[-800:])
