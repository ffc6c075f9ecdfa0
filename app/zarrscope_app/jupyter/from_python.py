"""The part of a widget for Python: properties of the displayed view, waiting for it, and the values that may be set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.threads import Mailbox
from zarrscope_app.jupyter.parts import PARTS
from zarrscope_app.presenters import Session, SessionStatus
from zarrscope_app.presenters.session.on_show import (
    array_on_show,
    code_on_show,
    data_on_show,
    select,
    set_indices,
    set_limits,
    show_axes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zarrscope.nodes.array import Array
    from zarrscope.view.lazy import LazyView

WAIT_SECONDS = 60.0
"""The most seconds that Python waits for the selected node."""
SETTERS: dict[str, Callable[[Session, Any], None]] = {
    "index": set_indices,
    "axes": show_axes,
    "clim": set_limits,
    "selection": select,
}
"""Trait that Python sets → the function that sets it on the picture."""
LISTED = (
    *("add", "array", "axes", "bring", "clim", "close", "close_place", "code", "data", "height", "index", "layout"),
    *("observe", "page", "path", "selection", "state", "unobserve", "url", "urls", "wait"),
)
"""The names that `dir` lists: those of the guide, and of the many that ipywidgets and traitlets add, those for size and
observing."""


class UsedFromPython:
    """The part of a widget that programs and cells use."""

    session: Session
    _post: Callable[[Callable[[], None]], None]
    _closed: bool
    _mirroring: bool

    if TYPE_CHECKING:  # methods of the widget

        def tell(self, *parts: str) -> None:
            """Marks parts as perhaps changed."""

        def _send_parts(self) -> None: ...

        def _mirror(self) -> None: ...

        def _show_state(self, text: str) -> None: ...

    def __dir__(self) -> list[str]:
        """The names for users. The others of ipywidgets and traitlets exist, too, but are not listed."""
        return sorted({*LISTED, *(name for name in super().__dir__() if name.startswith("__"))})

    def _from_python(self, change: Mapping[str, Any]) -> None:
        if self._mirroring or self._closed:
            return
        name, new = change["name"], change["new"]
        self.tell(*PARTS)
        if name == "state":
            try:
                self._show_state(new)
            except ZarrscopeError:
                self._mirror()
                raise
        elif name == "path":
            self.session.select(new)
        else:
            try:
                self.wait()  # the line after `explore` may set an index already
                SETTERS[name](self.session, new)
            finally:
                self._mirror()

    def wait(self, seconds: float = WAIT_SECONDS) -> Self:
        """Waits until the selected node is open, and returns the widget. A script without an event loop needs this
        before it reads `index`, `axes` or `clim`; in a notebook they are set after the cell has ended.

        Raises the error of opening, such as NotFound, and TimeoutError.
        """

        def there() -> bool:
            state = self.session.state
            return state.status is SessionStatus.FAILED or (state.status is SessionStatus.READY and not state.selecting)

        if self._closed:
            return self
        if isinstance(self._post, Mailbox):
            self._post.run_until(there, seconds)
        self._send_parts()
        if self.session.error is not None and self.session.node is None:
            raise self.session.error
        return self

    @property
    def array(self) -> Array | None:
        """The displayed array; for an image its finest level; None for a group. Waits until the node is open."""
        self.wait()
        return array_on_show(self.session)

    @property
    def data(self) -> LazyView | None:
        """The displayed slice as a lazy array, height before width: `np.asarray(widget.data)` reads it. Waits until the
        node is open."""
        self.wait()
        return data_on_show(self.session)

    @property
    def code(self) -> str:
        """A line of Python that reads the displayed slice."""
        return code_on_show(self.session)
