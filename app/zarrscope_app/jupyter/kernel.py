"""The kernel of a widget: its event loop, and the cells that show the widget.

A widget stays alive as long as a cell shows it. When that cell runs again and shows another widget, the old one is no
longer visible: it is closed, and releases its store, chunks and edits. Notebooks report the running cell (JupyterLab,
Notebook 7, VS Code); in others, a widget lives until `close()` or the end of the kernel.
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
    """The `post` of a widget: calls run on the kernel's event loop, or earlier if its thread waits for them."""

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
        """Runs the calls that are queued now, and returns their number. It stops when the queue is empty, because a
        call may itself run others of them."""
        done = 0
        for _ in range(len(self._calls)):
            try:
                call = self._calls.get(timeout=0.0)
            except queue.Empty:
                break
            call()
            done += 1
        return done

    def repeat(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Runs `call` on the kernel's event loop again and again, with this pause, until the returned function is
        called. While a cell runs, no call is made, and none is made up for."""

        timers: list[asyncio.TimerHandle] = []

        def again() -> None:
            timers[:] = [self._loop.call_later(seconds, again)]
            call()

        timers.append(self._loop.call_later(seconds, again))
        return lambda: timers[0].cancel()


def repeater(post: object) -> Callable[[float, Callable[[], None]], Callable[[], object]]:
    """The timer of a widget, as GrowthPolling starts it. A script without an event loop has none."""
    return post.repeat if isinstance(post, KernelMailbox) else lambda seconds, call: lambda: None


def running_cell() -> tuple[str, str]:
    """The ids of the running cell and of this run of the cell; two empty texts if the notebook does not report them."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return "", ""
    parent = kernel.get_parent("shell")
    cell, run = (parent.get("metadata") or {}).get("cellId"), (parent.get("header") or {}).get("msg_id")
    return (cell, run) if isinstance(cell, str) and isinstance(run, str) else ("", "")


def in_vscode() -> bool:
    """Whether the running cell is one of VS Code, which gives the picture of an output an address by which no style
    sheet can find it."""
    return running_cell()[0].startswith("vscode-notebook-cell")


class ShownWidget(Protocol):
    """A widget that is shown in cells."""

    cells: dict[str, str]
    """Cell → the run of the cell that showed the widget."""
    made_in: tuple[str, str]
    """The cell that made the widget, and the run of that cell."""

    @property
    def url(self) -> str:
        """The address of the hierarchy in front."""

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the open hierarchies."""

    def close(self) -> None:
        """Closes the widget in all browsers, and its hierarchies."""


class KernelCells:
    """The widgets that the cells of this kernel show. Used on the kernel's own thread."""

    def __init__(self, running: Callable[[], tuple[str, str]] = running_cell) -> None:
        self._running = running
        self._widgets: weakref.WeakSet[Any] = weakref.WeakSet()
        self._hooked: object = None

    def made(self, widget: ShownWidget) -> None:
        """Records a new widget. A widget of the same address from an earlier run of this cell is closed, and passes its
        edits on to the new one."""
        widget.made_in = self._running()
        cell, run = widget.made_in
        for other in [*self._widgets]:
            before = bool(cell) and other.made_in[0] == cell and other.made_in[1] != run
            if before and widget.url in other.urls and not set(other.cells) - {cell}:
                other.close()

    def shows(self, widget: ShownWidget) -> None:
        """Records that the running cell shows a widget."""
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
        """Records that a cell has run: widgets that it showed before and no longer shows are closed, unless another
        cell shows them."""
        cell, run = self._running()
        for widget in [*self._widgets]:
            if widget.cells.get(cell, run) != run:
                del widget.cells[cell]
                if not widget.cells:
                    self._widgets.discard(widget)
                    widget.close()


CELLS = KernelCells()
"""The cells of this process, which is one kernel."""
