"""Sentences of the terminal application about its terminal."""

from __future__ import annotations

from typing import Literal

from zarrscope.errors.visible import visible
from zarrscope_app.presenters.advice import asks_to_refresh
from zarrscope_app.presenters.strings_jobs import job_progress

ThemeChoice = Literal["auto", "light", "dark"]
"""The theme of the terminal application; "auto": as the terminal is."""
THEMES: tuple[tuple[ThemeChoice, str], ...] = (
    ("auto", "As the terminal is"),
    ("light", "Light"),
    ("dark", "Dark"),
)
"""The choices of a theme, with their names."""

NO_UNICODE = "This terminal has no Unicode (see locale): drawn in ASCII."
NO_UNICODE_IN_TMUX = "No Unicode (see locale; tmux -u): drawn in ASCII."
PASSTHROUGH = "Pictures go through tmux: they need its option allow-passthrough on."


def colors_note(colors: str) -> str:
    """The dimmed note that a picture is shown with fewer colours than it has; "" in true colour."""
    return {
        "256": "256 colours (for more: --color truecolor)",
        "16": "16 colours (for more: --color 256)",
        "mono": "no colours",
    }.get(colors, "")


NOTHING_FOUND = "Nothing here has all these words."
PICKER_FOOT = "type to find  ↑↓ move  ⏎ choose  Esc back"
PLAN_FOOT = "↑↓ field  ←→ choose  ⏎ do it  Esc back"
BACK_FOOT = "Esc back"
NOTHING_TO_EXPORT = "There is nothing to export: no node is open."
EXPORT_FOOT = "y write  o overwrite  ⏎ another name  Esc back"
OPEN_TO_EDIT = "Opened read-only. Open it for writing?\n\nNothing is written before Ctrl+S."
OPEN_FOOT = "⏎ open for writing  Esc back"
READ_ONLY_FORM = "Opened read-only. ⏎ edits a value; ^S opens it for writing and saves."
CHECK_KEY = "Ctrl+K checks the selected node and all beneath it."
EDITOR_FOOT = "e edit again  Esc drop it"
CONFLICT_FOOT = "↑↓ field  m mine  t theirs  ⏎ merge  M all mine  T all theirs  Esc back"
UNDO_KEY = "u (attributes)"
"""The key of Undo in the list of commands: only the form takes it."""
MERGE = "Merge both sides of the conflict"
TAKEN = "This name is taken: press o to overwrite it."
COMMANDS = "Command"
THEME = "Theme"
BOOKMARKS = "Bookmark"
ADD_BOOKMARK = "Bookmark this view"
REMOVE_BOOKMARK = "Remove a bookmark…"
NOTHING_RECENT = "Nothing else was opened before."
COMPARE_METADATA = "Metadata and attributes"
COMPARE_VALUES = "Values, too: reads all chunks of both sides"
NO_THIRD_AXIS = "Three views need an image with a third axis; this node has none."
NO_SHELL = "There is no shell that could resume this program: press q to quit."
PIXELS_FOOT = "any key: back"
KEYS_FOOT = "↑↓ scroll  Esc back"
IN_ASCII = (
    ("←→↑↓", "arrows"),
    ("←→", "Lt/Rt"),
    ("↑↓", "Up/Dn"),
    ("→", "Right"),
    ("←", "Left"),
    ("⏎", "RET"),
    ("–", "-"),
)
"""Sign → its replacement for a terminal whose encoding lacks the sign. Arrow keys are spelled out: "^" in place of "↑"
would read as Ctrl."""
PIXELS_NOTE = "⏎ shows the picture in pixels"
READ_AGAIN = "u reads failed tiles again"
PIXELS_COME = "The picture in pixels comes once its chunks are there; any key drops it."
NO_PIXELS = "No pixel graphics (kitty, iTerm2, sixel) found in this terminal. If it has them, use --image."
COPIED = "Copied, if this terminal lets programs copy."
OPENING = "Opening…"
NEVER_WRITABLE = "It was opened with --read-only."
CANCEL_JOB = "^X stops it"
CLEAR_JOB = "^X clears this"
JOBS_FOOT = "x stop and leave  Esc back"


def read_again(reason: str, over: str, shown: str) -> str:
    """How to read failed tiles again, and the reason why they failed; only the reason if that does not help. `over`:
    the sentence over the picture, which states the reason if `reason` is ""; `shown`: the one in the error bar."""
    if asks_to_refresh(reason or over):
        return "" if shown and reason.startswith(shown) else reason
    return f"{READ_AGAIN}: {reason}" if reason else READ_AGAIN


def no_editor(error: OSError) -> str:
    """The reason why the editor did not start, and the variable to set."""
    return f"The editor did not start ({error.strerror or error}). Set EDITOR, for example to nano."


def wrong_json(line: int, sentence: str, text: str) -> str:
    """The fault of the text that came back from the editor, with the faulty line."""
    lines = text.split("\n")
    shown = visible(lines[line - 1][:200]) if 0 < line <= len(lines) else ""
    return f"Nothing was changed: line {line} is wrong.\n\n{shown}\n\n{visible(sentence[:400])}"


def more_channels(count: int) -> str:
    """The number of hidden channels that are not listed, and the key that finds one: "+18, ^F finds"."""
    return f"+{count}, ^F finds"


def table_part(source: str, down: str, across: str, columns: range, of: int, fixed: dict[str, int]) -> str:
    """The part of a table that is on the screen: "y down, x across · columns 0–5 of 12 · z 31 · Values of /image/1".

    `source`: the level; `down`, `across`: the axes, "" for none; `columns`: the displayed ones of `of`; `fixed`: the
    indices of the other axes.
    """
    shape = ", ".join(part for part in (f"{down} down" if down else "", f"{across} across" if across else "") if part)
    shown = f"columns {columns.start}–{columns.stop - 1} of {of}" if len(columns) < of else ""
    if 1 == len(columns) < of:
        shown = f"column {columns.start} of {of}"
    indices = " ".join(f"{name} {index}" for name, index in fixed.items())
    return " · ".join(part for part in (shape, shown, indices, source) if part)


def job_line(name: str, progress: float | None, text: str) -> str:
    """A running job: "Copy nuclei 12 % · copying: 1,536 values · ^X stops it"."""
    return f"{job_progress(name, progress, text)} · {CANCEL_JOB}"


def ended_job(failed: str, sentence: str) -> str:
    """The result of a job: "Done. · ^X clears this", or "Copy nuclei: The disk is full. · ^X clears this". `failed` is
    the name of a job that failed, "" for another one."""
    return f"{failed}{': ' if failed else ''}{sentence} · {CLEAR_JOB}"
