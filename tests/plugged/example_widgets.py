"""Widgets of another package for its view, one function for each host."""

from typing import Any


def for_qt(post: Any) -> Any:
    from qtpy.QtWidgets import QLabel

    class Big(QLabel):
        def attach(self, presenter: Any) -> None:
            if presenter is not None:
                presenter.changed.connect(lambda: self.setText(f"<<{presenter.bytes}>>"))
                self.setText(f"<<{presenter.bytes}>>")

    return Big()


def for_terminal(presenter: Any) -> Any:
    from textual.widgets import Static

    class Big(Static):
        def on_mount(self) -> None:
            presenter.changed.connect(self.told)
            self.told()

        def told(self) -> None:
            self.update(f"<<{presenter.bytes}>>")

    return Big(markup=False)


def blocks(presenter: Any) -> Any:
    return [("table", [["what", "bytes"], ["values", presenter.bytes]]), ("picture", b"\x89PNG")]
