"""A fuzzer of strings: whatever stands in a name, a document or an address, no host obeys it.

    python tests/fuzz/strings.py --strings 400 --seed 5          at length, by hand; a failure is printed with its place

Hostile strings (control sequences, direction controls, characters without width, half surrogate pairs, markup, HTML)
are put into every string of every dialect's documents, into names of nodes, values, links and arguments. Every verb of
the command line and the terminal application run in a real pseudo-terminal, whose bytes are looked at; the window's
widgets, the notebook's HTML and snapshots and napari's layers are walked. Each string carries a plain tag: it
is counted where it came through, so that a host that shows nothing does not pass. test_strings.py runs a short piece.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeVar

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from contracts.dialect import TEMPLATES
from zarrscope.errors.visible import visible_lines
from zarrscope_app.cli.color import _ROLES

PAYLOADS = (
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[777;7H",
    "\x1b[2J",
    "\x1b[38;2;66;6;99m",
    "\x1bP0;1|17/ab\x1b\\",
    "\x1b_Gi=31\x1b\\",
    "\x1b^pm\x1b\\",
    "\x1bc",
    "\x1b[?1049l",
    "\x9b777;7H",
    "\x9d52;c;ZXZpbA==\x9c",
    "\x90q\x9c",
    "\r\nzarrscope: 0 errors.\r\n",
    "\b\b\b\b",
    "\x0e\x0f",
    "\x05",
    "\x7f",
    "\x85",
    "\u202egnp.exe",
    "\u2066a\u2069",
    "\u200b\u200d\u2060\ufeff",
    "\u2028\u2029",
    "\u00ad\u034f\u3164",
    "\U000e0041\U000e007f",
    "\ud800",
    "\udfff\ud83d",
    "\ufe0f",
    "[bold red]x[/bold red]",
    "[link=https://evil]x[/link]",
    "[@click=app.quit]x[/]",
    "[/]",
    "\\[x]",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<script>alert(1)</script>",
    "</pre></div><b>",
    "&lt;b&gt;&amp;",
    "<!--",
    "${7*7}{{7*7}}%s%n{0}",
    "'\"`;$(x)",
    "javascript:alert(1)",
    "a" * 300,
)
_single = [
    chr(c)
    for c in (
        *range(1, 0x20),
        *range(0x7F, 0xA0),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0x61C,
        0x180E,
        0xFEFF,
        0xFFF9,
        0xFFFE,
    )
]
_TAG = re.compile(r"q[0-9]{4}z")
_T = TypeVar("_T")


def hostile(count: int, seed: int) -> list[str]:
    """So many strings, each with a tag at its start: every payload, every single character, then mixtures."""
    r = random.Random(f"strings {seed}")
    bodies = [*PAYLOADS, *(f"a{c}b" for c in _single)]
    while len(bodies) < count:
        bodies.append("".join(r.choice((*PAYLOADS, *_single, "µm", "画像", "x y")) for _ in range(r.randrange(2, 5))))
    r.shuffle(bodies)
    return [f"q{i:04d}z{body}" for i, body in enumerate(bodies[:count])]


class Strings:
    """Hands out the strings in turn."""

    def __init__(self, strings: list[str]) -> None:
        self.all = strings
        self._next = 0

    def __call__(self) -> str:
        self._next += 1
        return self.all[self._next % len(self.all)]

    def name(self) -> str:
        """One that a file can be called."""
        text = self().replace("/", "_")
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").replace("�", "?")[:60]


# ---------------------------------------------------------------------- stores
def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """(place, whether its key is meant) of every string and of every key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key), True
            yield from positions(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from positions(inner, (*path, i))
    elif isinstance(value, str):
        yield path, False


def replaced(value: Any, path: tuple[Any, ...], key: bool, text: str) -> Any:
    if not path:
        return text
    if isinstance(value, dict):
        if key and len(path) == 1:
            return {text if k == path[0] else k: v for k, v in value.items()}
        return {k: replaced(v, path[1:], key, text) if k == path[0] else v for k, v in value.items()}
    return [replaced(v, path[1:], key, text) if i == path[0] else v for i, v in enumerate(value)]


def broken_templates(folder: Path, next_string: Strings, share: float, r: random.Random) -> Iterator[Path]:
    """A store for each position of each document of each dialect, the string in that position."""
    for dialect, documents in TEMPLATES.items():
        for key, data in documents.items():
            for number, (path, is_key) in enumerate(positions(json.loads(data))):
                if r.random() >= share:
                    continue
                store = folder / f"{dialect}-{zlib.crc32(key.encode())}-{number}.zarr"
                for other, content in documents.items():
                    file = store / other
                    file.parent.mkdir(parents=True, exist_ok=True)
                    if other == key:
                        content = json.dumps(replaced(json.loads(content), path, is_key, next_string())).encode()
                    file.write_bytes(content)
                yield store


def full_v3(store: Path, s: Strings) -> Path:
    """An image, labels, a plate, strings and what is not understood; strings wherever one can be."""

    def put(path: str, **members: Any) -> None:
        file = store / path / "zarr.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"zarr_format": 3, **members}))

    def array(path: str, dtype: Any = "uint8", shape: tuple[int, ...] = (4, 9, 9), **members: Any) -> None:
        grid = {"name": "regular", "configuration": {"chunk_shape": list(shape)}}
        form: dict[str, Any] = {
            "node_type": "array",
            "shape": list(shape),
            "data_type": dtype,
            "chunk_grid": grid,
            "fill_value": 0,
            "chunk_key_encoding": {"name": "default"},
            "codecs": [{"name": "bytes"}],
            "attributes": {s(): {s(): [s()]}},
            "dimension_names": [s() for _ in shape],
        }
        put(path, **{**form, **members})

    axes = [{"name": s(), "type": "channel"}, *({"name": s(), "type": "space", "unit": s()} for _ in "yx")]
    scale = [{"type": "scale", "scale": [1, 1, 1]}]
    channel = {"color": "FF0000", "active": True, "window": {"start": 0, "end": 9, "min": 0, "max": 9}}
    multiscale = {
        "name": s(),
        "type": s(),
        "axes": axes,
        "datasets": [{"path": "0", "coordinateTransformations": scale}],
    }
    image = {
        "version": "0.5",
        "multiscales": [multiscale],
        "omero": {"channels": [{**channel, "label": s()} for _ in "abcd"]},
    }
    put("", node_type="group", attributes={"ome": image, s(): s(), "deep": {s(): {s(): [s(), {s(): s()}]}}})
    array("0")
    put("labels", node_type="group", attributes={"ome": {"version": "0.5", "labels": [s(), "cells"]}})
    put(
        "labels/cells",
        node_type="group",
        attributes={"ome": {"version": "0.5", "multiscales": [multiscale], "image-label": {"source": {"image": s()}}}},
    )
    array("labels/cells/0")
    plate = {
        "name": s(),
        "rows": [{"name": s()}],
        "columns": [{"name": s()}],
        "wells": [{"path": s(), "rowIndex": 0, "columnIndex": 0}],
        "acquisitions": [{"id": 0, "name": s()}],
    }
    put("plate", node_type="group", attributes={"ome": {"version": "0.5", "plate": plate}})
    put("well", node_type="group", attributes={"ome": {"version": "0.5", "well": {"images": [{"path": s()}]}}})
    put(s.name(), node_type="group", attributes={s(): s()})
    array(s.name())
    array("dtype", s())
    array("dtype2", {"name": s(), "configuration": {s(): s()}})
    array("codec", codecs=[{"name": s(), "configuration": {s(): s()}}])
    array("codec2", codecs=[{"name": "bytes"}, {"name": "blosc", "configuration": {"cname": s(), "shuffle": s()}}])
    array("grid", chunk_grid={"name": s(), "configuration": {}})
    array("keys", chunk_key_encoding={"name": s()})
    array("keys2", chunk_key_encoding={"name": "default", "configuration": {"separator": s()}})
    array("fill", fill_value=s())
    array("texts", "string", (3,), fill_value=s(), codecs=[{"name": "vlen-utf8"}])
    array(
        "fixed",
        {"name": "fixed_length_utf32", "configuration": {"length_bytes": 400}},
        (2,),
        fill_value=s()[:90],
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}],
    )
    array(
        "fields",
        {"name": "struct", "configuration": {"fields": [[s(), "uint8"], [s(), "uint8"]]}},
        (2,),
        fill_value="AAA=",
    )
    put("extension", node_type="group", attributes={}, **{s(): {"name": s(), "must_understand": True}})
    put("kind", node_type=s(), attributes={})
    (store / "junk").mkdir()
    (store / "junk" / "zarr.json").write_bytes(s().encode("utf-8", "surrogatepass"))
    for name, target in (("dangling", s.name()), ("outside", "/proc/self/" + s.name())):
        os.symlink(target, store / f"{name}{s.name()[:40]}")
    return store


def full_v2(store: Path, s: Strings) -> Path:
    def put(path: str, value: Any) -> None:
        (store / path).parent.mkdir(parents=True, exist_ok=True)
        (store / path).write_text(json.dumps(value))

    def array(path: str, attributes: Any, **members: Any) -> None:
        form = {
            "zarr_format": 2,
            "shape": [9, 9],
            "chunks": [9, 9],
            "dtype": "|u1",
            "compressor": None,
            "fill_value": 0,
            "order": "C",
            "filters": None,
        }
        put(f"{path}/.zarray", {**form, **members})
        put(f"{path}/.zattrs", attributes)

    axes = [{"name": s(), "type": "space", "unit": s()} for _ in "yx"]
    scale = [{"type": "scale", "scale": [1, 1]}]
    image = [
        {"version": "0.4", "name": s(), "axes": axes, "datasets": [{"path": "0", "coordinateTransformations": scale}]}
    ]
    put(".zgroup", {"zarr_format": 2})
    put(".zattrs", {"multiscales": image, "omero": {"channels": [{"label": s(), "color": s()}]}, s(): s()})
    array("0", {"_ARRAY_DIMENSIONS": [s(), s()], s(): s()})
    array(s.name(), {s(): s()}, compressor={"id": s(), s(): s()})
    array("filter", {}, filters=[{"id": s()}, {"id": "delta", "dtype": s()}])
    array("dtype", {}, dtype=s())
    array("record", {}, dtype=[[s(), "<i4"], [s(), "<f4"]], fill_value=None)
    array("order", {}, order=s(), dimension_separator=s())
    array("fill", {}, fill_value=s())
    return store


# ---------------------------------------------------------------------- what came out
class Report:
    """What was tried and seen by host, and what was wrong."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.seen: dict[str, set[str]] = {}
        self.failures: list[str] = []

    def look(self, host: str, where: str, text: str) -> None:
        """`text` is what a person sees."""
        self.tried[host] += 1
        self.seen.setdefault(host, set()).update(_TAG.findall(text))
        shown = visible_lines(text)
        if shown != text:
            at = next(i for i, (a, b) in enumerate(zip(text + "\0", shown + "\1", strict=False)) if a != b)
            self.fail(host, where, text[max(0, at - 60) : at + 30])

    def fail(self, host: str, where: str, what: str) -> None:
        self.failures.append(f"{host}: {where}: {what!r}")


# ---------------------------------------------------------------------- terminals
def preload() -> None:
    """Imports what the children need, once. Nothing here starts a thread."""
    import threading

    assert threading.active_count() == 1


def in_terminal(call: Callable[[], Any], feed: Callable[[bytes], bytes | None], seconds: float = 60) -> bytes:
    """What `call` writes in a child process on a terminal of 60 x 200. `feed` sees it and gives keys to press."""
    import fcntl
    import termios

    pid, master = pty.fork()
    if not pid:
        signal.alarm(int(seconds) + 60)  # an orphan ends by itself
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
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
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
    """Verbs one after the other on a terminal. Only line ends and the line of progress may steer it."""

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
        text = "\n".join(line if _TAG.search(line) else line.replace("\r", "") for line in told)
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


def verbs(report: Report, store: Path, nodes: list[str], s: Strings) -> None:
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
        ):
            lines.append(given)
    name = s.name().replace("\0", "")
    for given in (
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
    command_lines(report, lines)


_KNOWN_SEQUENCE = re.compile(
    rb"\x1b\[[0-9;:]*m|\x1b\[(?!777)[0-9]+;[0-9]+H|\x1b\[H|\x1b\[[?>=<][0-9;:]*[a-zA-Z$]+p?|\x1b\[[0-9;]*[$'\"a-zA-Z]"
)


def terminal_application(report: Report, store: Path, rows: int) -> None:
    """Every row of the tree, every tab, then the diff and the question for a name."""

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

    from zarrscope_app.tui.terminal import _QUESTIONS

    out = in_terminal(run, feed, seconds=240)
    out = out.replace(b"\x1b]22;default\x07", b"")  # Textual's own: the shape of the pointer
    for question in _QUESTIONS:
        out = out.replace(question.encode(), b"")  # which the terminal is asked before it is drawn upon
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


# ---------------------------------------------------------------------- window
_RICH = re.compile(r"<[A-Za-z/!]")
_OWN_LINKS = {f'<a href="copy:{id}">' for id in ("zarrscope", "zarr", "dask", "tensorstore", "xarray")}
"""*Copy* beside the snippets of *Open in code*; nothing of a file may stand in a link."""
_OWN_TIP = "<span style='white-space:pre-wrap'>"


def window(report: Report, stores: Iterator[tuple[Path, list[str]]]) -> None:
    from qtpy.QtCore import QModelIndex, Qt
    from qtpy.QtGui import QAction
    from qtpy.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLabel, QTextBrowser, QWidget

    from zarrscope_app.presenters import Forgetful
    from zarrscope_app.qt.window import Window

    application = QApplication.instance() or QApplication([])

    def settle(seconds: float, done: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            application.processEvents()
            time.sleep(0.002)
        application.processEvents()

    def tip(where: str, text: str) -> None:
        inert = text.removeprefix(_OWN_TIP).removesuffix("</span>") if text.startswith(_OWN_TIP) else text
        report.look("qt tooltips", where, inert)
        if _RICH.search(inert):
            report.fail("qt", where, f"a tooltip that is HTML: {text[:200]}")

    def rows(model: Any, parent: Any, depth: int = 0) -> Iterator[Any]:
        for row in range(min(model.rowCount(parent), 80)):
            for column in range(min(model.columnCount(parent), 12)):
                yield model.index(row, column, parent)
            if depth < 6:
                yield from rows(model, model.index(row, 0, parent), depth + 1)

    def walk(where: str) -> None:
        report.look("qt titles", where, frame.windowTitle())
        for widget in (frame, *frame.findChildren(QWidget)):
            place = f"{where} {type(widget).__name__}"
            tip(place, widget.toolTip())
            if isinstance(widget, QLabel):
                text = widget.text()
                report.look("qt labels", place, text)
                fixed = "⬚ not stored" in text and not re.search(r"q\d{4}z", text)  # the coloured legend of chunks
                if widget.textFormat() != Qt.TextFormat.PlainText and text and not fixed and frame.isAncestorOf(widget):
                    report.fail("qt", place, f"a label that may be HTML: {text[:200]}")
            elif isinstance(widget, QAbstractButton):
                report.look("qt buttons", place, widget.text())
            elif isinstance(widget, QTextBrowser):
                report.look("qt texts", place, widget.toPlainText())
                shown = widget.document().toHtml()
                if "<img" in shown or set(re.findall(r"<a\s[^>]*>", shown)) - _OWN_LINKS:
                    report.fail("qt", place, "a picture or a link in a text")
            elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
                for index in rows(widget.model(), QModelIndex()):
                    shown = index.data(Qt.ItemDataRole.DisplayRole)
                    if isinstance(shown, str):
                        report.look("qt items", place, shown)
                    said = index.data(Qt.ItemDataRole.ToolTipRole)
                    if isinstance(said, str):
                        tip(place, said)
        for action in frame.findChildren(QAction):
            report.look("qt actions", where, action.text())

    frame = Window(Forgetful())
    frame.resize(1200, 800)
    frame.show()
    for store, nodes in stores:
        frame.open(str(store))
        session = frame.workspace.current
        assert session is not None
        settle(10, lambda s=session: s.state.status.value in ("ready", "failed"))  # type: ignore[misc]  # mypy does not type the default of a lambda
        for id, row in [(r.id, r) for r in session.tree.flat(0, 100)]:
            if row.expandable:
                session.tree.expand(id)
        for node in ["/", *nodes]:
            session.select(node)
            settle(5, lambda s=session, n=node: not s.state.selecting and s.state.path == n)  # type: ignore[misc]  # mypy does not type the default of a lambda
            for tab in session.state.tabs:
                if tab.enabled:
                    session.set_tab(tab.id)
                    settle(0.03, lambda: False)
                    walk(f"{store} {node!a} {tab.id}")
        frame.workspace.close(session)
        settle(0.05, lambda: False)
    frame.workspace.close_all()
    frame.close()


# ---------------------------------------------------------------------- notebook, napari, Python
_KNOWN_TAGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("div", "b", "table", "tr", "td", "details", "summary", "pre", "code", "figure", "figcaption"), ()),
    "img": ("alt", "src"),
    "svg": ("xmlns", "role", "aria-label", "viewbox", "width", "height"),
    "path": ("d", "fill", "fill-opacity", "stroke", "stroke-width"),
    "text": ("x", "y", "text-anchor", "font-size", "fill"),
}
"""What pages are made of, with attributes besides style and class."""


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.odd: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        known = _KNOWN_TAGS.get(tag)
        given = dict(attributes)
        elsewhere = not (given.get("src") or "data:image/").startswith("data:image/")
        if known is None or elsewhere or given.keys() - {"style", "class", *known}:
            self.odd.append(self.get_starttag_text() or tag)
        self.text += "".join(given.get(name) or "" for name in ("alt", "aria-label"))

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_data(self, data: str) -> None:
        self.text += data


_NOT_SHOWN = {
    "path",
    "name",
    "pointer",
    "url",
    "id",
    "current",
    "current_axis",
    "parent",
    "text",
    "source",
    "key",
    "address",
    "crumbs",
}
"""Members of snapshots that the browser sends back rather than shows, or that a person edits."""


def strings_of(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings_of(inner, key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_of(inner, name)


def python(report: Report, store: Path, nodes: list[str], notebook: bool = True) -> None:
    """Errors, representations, notebook HTML, the widget's snapshots, napari's layers."""
    import traceback

    import zarrscope
    from zarrscope.errors import ZarrscopeError

    def html(where: str, text: str) -> None:
        tags = _Tags()
        tags.feed(text)
        report.look("html", where, tags.text)
        if tags.odd:
            report.fail("html", where, f"{tags.odd[:3]}")

    try:
        h = zarrscope.open(str(store))
    except ZarrscopeError:
        report.look("tracebacks", str(store), traceback.format_exc())
        return
    things: list[Any] = [h]
    for node in ["/", *nodes]:
        try:
            things.append(h[node])
        except ZarrscopeError:
            report.look("tracebacks", f"{store} {node!a}", traceback.format_exc())
    for thing in things:
        where = f"{store} {getattr(thing, 'path', '')!a}"
        report.look("representations", where, repr(thing))
        html(where, thing._repr_html_())
        if hasattr(thing, "shape"):
            try:
                thing[...]
            except (ZarrscopeError, MemoryError):
                report.look("tracebacks", where, traceback.format_exc())
        if hasattr(thing, "kind"):
            layers(report, thing, where)
    if notebook:
        widget(report, store, nodes, html)


def layers(report: Report, node: Any, where: str) -> None:
    from zarrscope.errors import ZarrscopeError
    from zarrscope_app.napari.layers import as_napari
    from zarrscope_app.presenters.layers import plan

    try:
        planned = plan(node)
    except ZarrscopeError as error:
        report.look("napari", where, str(error))
        return
    for layer in planned:
        _, given, _ = as_napari(layer)
        for text in (given["name"], *given["axis_labels"], *given["units"]):
            report.look("napari", where, text)
            if _RICH.search(text):
                report.fail("napari", where, f"a name that may be HTML: {text}")


def widget(report: Report, store: Path, nodes: list[str], html: Callable[[str, str], None]) -> None:
    from zarrscope.runtime.threads import Mailbox
    from zarrscope_app.jupyter import Explorer
    from zarrscope_app.jupyter.parts import PARTS

    mailbox = Mailbox()
    explorer = Explorer(str(store), post=mailbox)
    try:
        mailbox.run_until(lambda: explorer.session.state.status.value in ("ready", "failed"), 20)
        for node in nodes if explorer.session.hierarchy is not None else ():
            explorer.session.select(node)
            try:
                mailbox.run_until(
                    lambda n=node: explorer.session.state.path == n and not explorer.session.state.selecting,  # type: ignore[misc]  # mypy does not type the default of a lambda
                    10,
                )
            except TimeoutError:
                report.fail("notebook", f"{store} {node!a}", "it did not load")
            for tab in ("values", "attributes", "chunks", "info", "problems"):
                explorer.session.set_tab(tab)
                explorer.tell(*PARTS)
                explorer._send_parts()
                for name, text in strings_of(json.loads(json.dumps(explorer.view))):
                    if name not in _NOT_SHOWN:
                        report.look("notebook", f"{store} {node!a} {name}", text)
            html(f"{store} {node!a}", explorer.page())
            report.look("representations", str(store), repr(explorer) + explorer.code)
    finally:
        explorer.close()


class FailedCallbacks(logging.Handler):
    """Counts errors in callbacks: the background logs them and goes on, so that nobody else would."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report.fail("callbacks", record.name, logging.Formatter("%(message)s").format(record))


def children(store: Path) -> list[str]:
    """Paths of nodes, as another process sees them: this one must fork, and so has no threads."""
    found = []
    for name in ("zarr.json", ".zarray", ".zgroup", "attributes.json"):
        found += [
            f"/{file.parent.relative_to(store).as_posix()}"
            for file in sorted(store.rglob(name))
            if file.parent != store
        ]
    return sorted({node for node in found if node != "/."})


def run(count: int, seed: int, share: float, full: int, hosts: tuple[str, ...], rows: int = 20) -> Report:
    """`share` of all positions of the templates get a store, `full` stores of each kind hold strings everywhere."""
    r = random.Random(f"strings {seed} {share}")
    s = Strings(hostile(count, seed))
    report = Report()
    started = time.monotonic()

    def each(host: str, things: list[_T]) -> Iterator[_T]:
        """The things, and after each a line on stderr: a run of an hour tells how far it is and what it found."""
        for number, thing in enumerate(things, 1):
            yield thing
            through = len(set().union(*report.seen.values())) if report.seen else 0
            print(
                f"{time.monotonic() - started:6.0f} s  {host} {number}/{len(things)}  {through} strings came through, "
                f"{len(report.failures)} failures",
                file=sys.stderr,
                flush=True,
            )
            for failure in report.failures[told[0] :]:
                print(failure, file=sys.stderr, flush=True)
            told[0] = len(report.failures)

    told = [0]
    folder = Path(tempfile.mkdtemp(prefix="strings-"))
    callbacks = FailedCallbacks(report)
    logging.getLogger("zarrscope").addHandler(callbacks)
    try:
        stores = [make(folder / f"{s.name()}.zarr", s) for _ in range(full) for make in (full_v3, full_v2)]
        small = list(broken_templates(folder, s, share, r))
        listed = [(store, children(store)) for store in stores + small]
        preload()
        if "cli" in hosts:
            for store, nodes in each("cli", listed):
                verbs(report, store, nodes or ["/"], s)
        if "tui" in hosts:
            for store in each("tui", [*stores, *small[::4]]):
                terminal_application(report, store, rows if store in stores else 2)
        # Threads from here on.
        if "python" in hosts:
            for store, nodes in each("python", listed):
                python(report, store, nodes)
        if "qt" in hosts:
            window(report, each("qt", [*listed[: len(stores)], *listed[len(stores) :: 4]]))
    finally:
        logging.getLogger("zarrscope").removeHandler(callbacks)
        shutil.rmtree(folder, ignore_errors=True)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the positions in the templates")
    parser.add_argument("--full", type=int, default=10, help="stores of each kind with strings everywhere")
    parser.add_argument("--rows", type=int, default=20, help="of the terminal's tree, in each store")
    parser.add_argument("--hosts", default="cli,tui,python,qt")
    given = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen" if not os.environ.get("DISPLAY") else "xcb")
    started = time.monotonic()
    report = run(given.strings, given.seed, given.share, given.full, tuple(given.hosts.split(",")), given.rows)
    for host, number in sorted(report.tried.items()):
        print(f"{host:<20} {number:>8,} texts looked at, {len(report.seen.get(host, ())):>4} of {given.strings} seen")
    everywhere = set().union(*report.seen.values()) if report.seen else set()
    print(
        f"{len(everywhere)} of {given.strings} strings came through; {len(report.failures)} failures; "
        f"{time.monotonic() - started:.0f} s"
    )
    for failure in report.failures[:40]:
        print(failure)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
