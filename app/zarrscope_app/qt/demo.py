"""Makes the demo volume in the background, with its progress in a status bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zarrscope.runtime.threads import JobResult, shared
from zarrscope_app.demo import demo_folder
from zarrscope_app.presenters import Post
from zarrscope_app.presenters.commands import making_demo
from zarrscope_app.qt.toolkit.widgets import QStatusBar


def open_demo(
    post: Post, bar: QStatusBar | None, show: Callable[[str], object], failed: Callable[[BaseException], object]
) -> None:
    """Makes the demo volume, then calls `show` with its address, or `failed` with the reason why there is none."""
    owner = shared().owner(post)
    assert bar is not None

    def progress(done: int, total: int) -> None:
        owner.post(lambda: bar.showMessage(making_demo(done, total)))

    def ready(outcome: JobResult[Any]) -> None:
        bar.clearMessage()
        owner.close()
        if outcome.error is not None:
            failed(outcome.error)
        else:
            show(str(outcome.get()))

    owner.fetch(lambda: demo_folder("full", progress), ready)
