"""A view of another package: how large an array is. Entry point: `sizes = example_view:SIZES`.

Every host shows its text. `PAINTED` is the same with a widget of its own for each host (example_widgets.py).
"""

from dataclasses import replace
from typing import Any

from psygnal import Signal

from zarrscope_app.presenters import View


class Sizes:
    changed = Signal()

    def __init__(self, owner: Any, loader: Any) -> None:
        self.bytes = None

    def show_node(self, details: Any) -> None:
        self.bytes = details.node.nbytes
        self.changed.emit()

    def show_nothing(self, sentence: Any = "") -> None:
        self.bytes = None
        self.changed.emit()

    def text(self) -> Any:
        return f"All values: {self.bytes} bytes"


SIZES = View("sizes", "Sizes", lambda details: details.node is not None and details.node.kind == "array", Sizes)
PAINTED = replace(
    SIZES,
    widgets={
        "qt": "example_widgets:for_qt",
        "tui": "example_widgets:for_terminal",
        "jupyter": "example_widgets:blocks",
    },
)
