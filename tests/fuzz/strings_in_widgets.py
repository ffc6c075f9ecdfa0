"""The window, the notebook's page and widget, napari's layers and Python's own texts, on stores with hostile strings
(strings.py)."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fuzz.hostile_strings import Report
from narrowing import not_none

_RICH = re.compile(r"<[A-Za-z/!]")
_OWN_LINKS = {f'<a href="copy:{id}">' for id in ("zarrscope", "zarr", "dask", "tensorstore", "xarray")}
"""The button *Copy* beside the snippets of *Open in code*; no text of a file may be in a link."""
_OWN_TIP = "<span style='white-space:pre-wrap'>"


def window(report: Report, stores: Iterator[tuple[Path, list[str]]]) -> None:
    from qtpy.QtCore import QModelIndex, Qt
    from qtpy.QtGui import QAction
    from qtpy.QtWidgets import QAbstractButton, QAbstractItemView, QApplication, QLabel, QTextBrowser, QWidget

    from zarrscope_app.presenters import MemorySettings
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
                # the coloured legend of the chunk map
                fixed = "⬚&nbsp;not stored" in text and not re.search(r"q\d{4}z", text)
                if widget.textFormat() != Qt.TextFormat.PlainText and text and not fixed and frame.isAncestorOf(widget):
                    report.fail("qt", place, f"a label that may be HTML: {text[:200]}")
            elif isinstance(widget, QAbstractButton):
                report.look("qt buttons", place, widget.text())
            elif isinstance(widget, QTextBrowser):
                report.look("qt texts", place, widget.toPlainText())
                shown = not_none(widget.document()).toHtml()
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

    frame = Window(MemorySettings())
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
    **dict.fromkeys(("b", "span", "table", "tr", "td", "details", "summary", "pre", "code"), ()),
    "div": ("role", "aria-label"),
    "img": ("alt", "src"),
    "svg": ("xmlns", "viewbox", "width", "height", "font-family"),
    "path": ("d", "fill", "fill-opacity", "stroke", "stroke-width"),
    "text": ("x", "y", "text-anchor", "font-size", "fill"),
}
"""The elements of pages that may have attributes other than style and class."""


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
        for address in re.findall(r"url\(([^)]*)\)", given.get("style") or ""):
            kind, _, drawing = address.partition(",")
            if kind == "data:image/svg+xml;base64":
                inner = _Tags()
                inner.feed(base64.b64decode(drawing).decode())
                self.odd += inner.odd
                self.text += inner.text
            else:
                self.odd.append(address)

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
"""Members of snapshots that the browser sends back or lets the user edit, and does not display."""


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
    from zarrscope_app.presenters.layers.presenter import plan

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
    from zarrscope_app.presenters.problem_rows import SIGNS

    signs = {sign.character for sign in SIGNS.values()}
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
                    # The sign of a warning has a selector of its form, which no text from a file may have.
                    if name not in _NOT_SHOWN and not (name == "character" and text in signs):
                        report.look("notebook", f"{store} {node!a} {name}", text)
            html(f"{store} {node!a}", explorer.page())
            report.look("representations", str(store), repr(explorer) + explorer.code)
    finally:
        explorer.close()
