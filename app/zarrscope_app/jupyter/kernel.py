"""The kernel that a widget lives in: its event loop, and the cells that show the widget.

A widget stays alive for as long as a cell shows it. When that cell has run again and shows another one, nobody can see
the old one any more: it is closed, and gives its store, its chunks and its edits back. Notebooks tell which cell runs
(JupyterLab, Notebook 7, VS Code); where they do not, a widget lives until `close()` or the end of the kernel.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from zarrscope.runtime.threads import Mailbox


class KernelMailbox(Mailbox):
    """The `post` of a widget: calls run on the kernel's event loop, or before, where its thread waits for them."""

    def __init__(self) -> None:
        super().__init__()
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = asyncio.get_event_loop_policy().get_event_loop()

    def __call__(self, call: Callable[[], None]) -> None:
        super().__call__(call)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.run)

    def run(self) -> int:
        """As of any mailbox; a call may itself wait for calls, so that there are fewer left than there were."""
        done = 0
        for _ in range(self._calls.qsize()):
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            call()
            done += 1
        return done


def running_cell() -> tuple[str, str]:
    """(the cell that runs, this run of it), as the notebook calls them; empty texts where nobody tells."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "", ""
    parent = kernel.get_parent("shell")
    cell, run = (parent.get("metadata") or {}).get("cellId"), (parent.get("header") or {}).get("msg_id")
    return (cell, run) if isinstance(cell, str) and isinstance(run, str) else ("", "")


class Shown(Protocol):
    """A widget that cells show."""

    cells: dict[str, str]
    """Cell → the run of it that showed the widget."""
    made_in: tuple[str, str]
    """The cell that made it, and the run of it."""

    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


class Cells:
    """Which widgets the cells of this kernel show. On the kernel's own thread."""

    def __init__(self, running: Callable[[], tuple[str, str]] = running_cell) -> None:
        self._running = running
        self._widgets: weakref.WeakSet[Any] = weakref.WeakSet()
        self._hooked: object = None

    def made(self, widget: Shown) -> None:
        """A widget was made. One of the same place that an earlier run of this cell made gives way to it, and keeps its
        edits for it."""
        widget.made_in = self._running()
        cell, run = widget.made_in
        for other in [*self._widgets]:
            before = bool(cell) and other.made_in[0] == cell and other.made_in[1] != run
            if before and other.url == widget.url and not set(other.cells) - {cell}:
                other.close()

    def shows(self, widget: Shown) -> None:
        """The cell that runs shows a widget."""
        cell, run = self._running()
        if not cell:
            return
        widget.cells[cell] = run
        self._widgets.add(widget)
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if shell is not None and self._hooked is not shell:
            self._hooked = shell
            shell.events.register("post_run_cell", lambda *_: self.ran())

    def ran(self) -> None:
        """A cell has run: what it showed before and does not show now is closed, unless another cell shows it."""
        cell, run = self._running()
        for widget in [*self._widgets]:
            if widget.cells.get(cell, run) != run:
                del widget.cells[cell]
                if not widget.cells:
                    self._widgets.discard(widget)
                    widget.close()


CELLS = Cells()
"""Of this process: a kernel is one."""
