"""The terminal application: `zarrscope tui URL`. It works over SSH, in tmux and at 80 x 24, needs no display and few
threads, and starts quickly."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, TextIO

from zarrscope_app.tui.first_screen import FirstScreen

FETCHES_A_THREAD = 4
"""The number of threads that wait for a server, for each thread that computes."""

if TYPE_CHECKING:
    from zarrscope_app.tui.terminal import Terminal


def main(
    urls: Sequence[str],
    *,
    view: Mapping[str, Any] | None = None,
    writable: bool = False,
    follow_links: bool = False,
    missing_is_fill: bool = False,
    colors: str = "auto",
    drawing: str = "auto",
    theme: str = "auto",
    threads: int | None = None,
    read_only: bool = False,
) -> int:
    """Explores `urls` in one tree, the first one in front, until the person quits. Returns the exit status: 2 if there
    is no terminal to draw on, 1 after an internal error. `view` is the first view (presenters/session/state_text.py).
    `theme`: "light", "dark", or "auto" for the choice that was stored, else as the terminal is. Raises
    ImportError without textual."""
    reason = unfit()
    if reason:
        print(f"zarrscope: {reason}", file=sys.stderr)
        return 2
    from zarrscope_app.process import own_process, share_one_arena, tune_interpreter, uncollected
    from zarrscope_app.settings import FileSettings

    own_process()
    share_one_arena()
    if "TMUX" in os.environ:
        from zarrscope_app.tui.terminal import speak_ascii_in_tmux

        speak_ascii_in_tmux(sys.__stderr__)
    first = FirstScreen(urls[0], colored=environment_has_colors(colors))
    with first:
        # The terminal may be slow to answer about its abilities; the imports take long, and run meanwhile.
        with Looking(colors, drawing, theme) as looking, uncollected():
            first.wait_for_rows()
            # These modules do not depend on the terminal's answers.
            import_module("zarrscope_app.presenters.session.workspace")

            found = looking.result()
            from zarrscope_app.tui.app import Explorer
            from zarrscope_app.tui.ending import JOB_SECONDS, Ending

            tune_interpreter()
        first.finish()
        how: dict[str, Any] = {"writable": writable, "follow_links": follow_links, "missing_is_fill": missing_is_fill}
        if threads is not None:
            from zarrscope.runtime.threads import Background

            how["background"] = Background(FETCHES_A_THREAD * threads, threads)
        app = Explorer(*urls, **how, read_only=read_only, terminal=found, theme=theme, settings=FileSettings())
        app.early_keys.modes = first.hand_over
        if first.has_rows:
            app.early_keys.hold()
        if view is not None:
            app.session.show_view(view)
        stderr = sys.stderr  # Textual replaces it

        def tell() -> None:
            for fault in app.faults:  # faults that the application survived are reported now
                print(fault, file=stderr, flush=True)
            if app.unkept:
                print(app.unkept, file=stderr, flush=True)

        with Ending(app, tell, app.workspace.stop_jobs, first.modes):
            app.run(mouse=found.mouse)
            tell()
        app.workspace.stop_jobs(JOB_SECONDS)  # after `Ending`, so that Ctrl+C ends this wait, too
        return app.return_code or int(bool(app.faults))


def environment_has_colors(colors: str) -> bool:
    """Whether there are colours according to the environment alone, before the terminal has been asked."""
    from zarrscope_app.tui.terminal import Answers, terminal

    return terminal(os.environ, Answers(), colors=colors).colors != "mono"


class Looking:
    """Runs `look_at_terminal` in a thread. As a context manager it ends only when the terminal has its modes back."""

    def __init__(self, colors: str, drawing: str, theme: str) -> None:
        self._found: list[Terminal] = []
        self._thread = Thread(target=lambda: self._found.append(look_at_terminal(colors, drawing, theme)), daemon=True)
        self._thread.start()

    def __enter__(self) -> Looking:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def result(self) -> Terminal:
        """Waits for the abilities of the terminal."""
        self._thread.join()
        return self._found[0]


def look_at_terminal(colors: str, drawing: str, theme: str = "auto") -> Terminal:
    """Finds the terminal's abilities. Textual gets the colours by TEXTUAL_COLOR_SYSTEM, which it reads when it is
    imported."""
    from zarrscope_app.tui.terminal import Answers, ask, known_colors, terminal, with_cell, worth_asking

    told = colors not in ("auto", "always") and drawing != "auto"
    known = known_colors(os.environ) is not None and drawing != "auto"
    needless = (told or known) and theme != "auto"
    answers = with_cell(ask() if worth_asking(os.environ) and not needless else Answers())
    encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
    found = terminal(os.environ, answers, encoding=encoding, colors=colors, drawing=drawing)
    os.environ["TEXTUAL_COLOR_SYSTEM"] = {"16": "standard", "mono": "standard"}.get(found.colors, found.colors)
    os.environ.pop("NO_COLOR", None)  # otherwise Textual would turn colours into greys; the driver leaves them out
    return found


def unfit() -> str:
    """The reason why the terminal application cannot be drawn here; "" if it can. Textual reads stdin and draws on
    stderr."""
    term = os.environ.get("TERM", "")
    dumb = sys.platform != "win32" and term in ("", "dumb", "unknown")
    if all(map(_is_terminal, (sys.stdin, sys.stderr))) and not dumb:
        return ""
    from zarrscope_app.presenters import strings

    return strings.dumb_terminal(term) if all(map(_is_terminal, (sys.stdin, sys.stderr))) else strings.NO_TERMINAL


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False
