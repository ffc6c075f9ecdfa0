"""The rule for values that the JSON standard forbids or leaves open and real documents contain: NaN, Infinity, 1e400,
repeated names.

Such values keep their text if they are already stored, also in the consolidated copy, and are mentioned when shown. An
edit writes new ones only on request, because many readers then refuse the whole document.
"""

from __future__ import annotations

from collections import Counter

from zarrscope.errors import NotStandard
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.parse import sentence_of
from zarrscope.jsondoc.spans import scan

PLACES_LIMIT = 1 << 20
"""For longer documents the sentences name no places, because finding them takes hundreds of bytes for each."""
MOST = 100
"""The most sentences that describe the non-standard values of one edit."""


def brought_in(before: Document | None, after: Document) -> tuple[str, ...]:
    """A sentence for each non-standard value (NaN, a repeated name …) that is in `after` but not in `before`; a moved
    value does not count.
    """
    if not after.notes:
        return ()
    had = before.oddities if before is not None and before.notes else Counter[str]()
    new = after.oddities - had
    if not new:
        return ()
    if len(after.text) > PLACES_LIMIT:
        told = [(sentence_of(name), count) for name, count in new.items()]
        sentences = [sentence if count == 1 else f"{sentence} ({count:,} times)" for sentence, count in told]
        return tuple(dict.fromkeys(sentences))[:MOST]
    had = had.copy()
    sentences = []
    for name, sentence in scan(after.text, limit=None).told:
        if had[name]:
            had[name] -= 1
        else:
            sentences.append(sentence)
            if len(sentences) == MOST:
                break
    return tuple(sentences)


def need_standard(before: Document | None, after: Document) -> None:
    """Raises NotStandard if an edit adds non-standard values."""
    told = brought_in(before, after)
    if told:
        raise NotStandard(
            "; ".join(told[:5]) + (f"; and {len(told) - 5} more" if len(told) > 5 else ""),
            key=after.key or None,
            advice="Other readers may refuse the whole document. Write text or null instead, or confirm it "
            "(--allow-nan, allow_nan=True).",
        )
