"""The text of the error bar, whose keys are never below its last line."""

from __future__ import annotations

from textwrap import wrap

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
