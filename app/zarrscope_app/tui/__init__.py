"""The terminal: `zarrscope tui URL`. Over SSH, in tmux, at 80 x 24; no display, few threads, quick to start."""

from __future__ import annotations


def main(url: str, *, writable: bool = False) -> int:
    """Runs the application until the person quits; the exit status. Raises ImportError without textual."""
    from zarrscope_app.presenters.turn import take_turns_quickly
    from zarrscope_app.tui.app import Explorer

    take_turns_quickly()
    app = Explorer(url, writable=writable)
    app.run()
    return app.return_code or 0
