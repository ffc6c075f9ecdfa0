"""The text of the error bar, whose keys are never below its last line; and the sentence about a form."""

from __future__ import annotations

from textwrap import wrap

from zarrscope_app.presenters import strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.session.view_models import SessionState

LINES = 3
"""The height of the bar."""


def is_remark(state: SessionState) -> bool:
    """Whether the bar shows a sentence for which nothing can be done, so that Esc only takes it away."""
    return bool(state.sentence) and not state.retry and not state.offers


def error_text(sentence: str, acts: str, width: int) -> str:
    """The sentence, shortened if need be, and behind it the keys that help (`acts`)."""
    said = sentence.split(" ")
    while len(said) > 1 and len(wrap(_joined(sentence, said, acts), max(8, width - 1))) > LINES:
        said.pop()
    return _joined(sentence, said, acts)


def _joined(sentence: str, said: list[str], acts: str) -> str:
    shown = " ".join(said)
    return f"! {shown}{'' if shown == sentence else ' …'}{acts}"


def form_text(sentence: str, read_only: bool) -> str:
    """The sentence about a form; names the key that opens for writing, unless the program was started read-only."""
    return words.READ_ONLY_FORM if sentence == strings.READ_ONLY_FORM and not read_only else sentence
