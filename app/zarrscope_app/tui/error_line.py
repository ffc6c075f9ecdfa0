"""The text of the error bar, whose keys are never below its last line; the sentence about a form; the status lines, and
which of their texts are errors."""

from __future__ import annotations

from textwrap import wrap

from zarrscope_app.presenters import JobState, Session, strings
from zarrscope_app.presenters import strings_terminal as words
from zarrscope_app.presenters.form.view_models import EditStatus
from zarrscope_app.presenters.problem_rows import SIGNS
from zarrscope_app.presenters.session.view_models import SessionState
from zarrscope_app.tui.line_layout import apart

LINES = 3
"""The height of the bar, and that of the status line with an error."""
LONG = 32
"""Words with more characters, which are addresses, lose their beginning before any word at the end is left out."""


def is_remark(state: SessionState) -> bool:
    """Whether the bar shows a sentence for which nothing can be done, so that Esc only takes it away."""
    return bool(state.sentence) and not state.retry and not state.offers


def is_error(note: str, session: Session) -> bool:
    """Whether a note tells what failed, so that its end, which says how to go on, must not be cut."""
    jobs, edit = session.jobs.items, session.edit.brief
    told = (
        jobs[-1].sentence if jobs and jobs[-1].state is JobState.FAILED else "",
        edit.sentence if edit.status in (EditStatus.FAILED, EditStatus.INVALID) else "",
        session.slice.state.refusal.sentence,
        session.slice.broken,
    )
    return any(sentence in note for sentence in told if sentence)


def status_lines(session: Session, note: str, width: int) -> str:
    """The status lines: a note on the thing under the cursor, and beneath it the latest job, so that neither hides the
    other. At the right end of the last one stands the status of the session."""
    *above, last = [text for text in (note, job_text(session)) if text] or [""]
    told = [(text, "") for text in above] + [(last, session.state.status_text)]
    return "\n".join(apart(f" {text}", at, width, LINES if is_error(text, session) else 1) for text, at in told)


def job_text(session: Session) -> str:
    """The progress or the result of the latest job, and the key that stops it or takes it away; "" if there is none."""
    if not session.jobs.items:
        return ""
    job = session.jobs.items[-1]
    if job.state is JobState.RUNNING:
        return words.job_line(job.name, job.progress, job.text)
    return words.ended_job(job.name if job.state is JobState.FAILED else "", job.sentence)


def error_text(severity: str, sentence: str, acts: str, width: int) -> str:
    """The sentence behind the sign of its severity, shortened if need be, and behind it the keys that help (`acts`).
    The end of a sentence mostly says how to go on, so addresses are shortened first."""
    sign = SIGNS[severity].narrow
    said = sentence.split(" ")
    if not _fits(_joined(sign, sentence, said, acts), width):
        said = [word if len(word) <= LONG else f"…{word[1 - LONG :]}" for word in said]
        sentence = " ".join(said)
    while len(said) > 1 and not _fits(_joined(sign, sentence, said, acts), width):
        said.pop()
    return _joined(sign, sentence, said, acts)


def _fits(text: str, width: int) -> bool:
    return len(wrap(text, max(8, width - 1))) <= LINES


def _joined(sign: str, sentence: str, said: list[str], acts: str) -> str:
    shown = " ".join(said)
    return f"{sign} {shown}{'' if shown == sentence else ' …'}{acts}"


def form_text(sentence: str, read_only: bool) -> str:
    """The sentence about a form; names the key that opens for writing, unless the program was started read-only."""
    return sentence if read_only else sentence.replace(strings.READ_ONLY_FORM, words.READ_ONLY_FORM)
