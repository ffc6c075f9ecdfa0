"""The message and the advice of an error as an application gives them, which has buttons and keys, not options."""

from __future__ import annotations

import re

from zarrscope.errors import Denied, ZarrscopeError
from zarrscope.errors.visible import visible

TAKE_AS_MISSING = (
    "The server gives the same answer for missing values. If you may read every value there, take it as missing."
)
"""Beside this sentence stands the command that does so."""


REFRESH = "Refresh"
"""The name of the command that reads everything again."""

_READ_TAKES_OPTIONS = (
    "napari's viewer.open passes no options to a reader; zarrscope_app.napari.reader.read(…, storage_options={…}) "
    "takes them, and its layers are added with viewer.add_layer(napari.layers.Layer.create(*layer))."
)
_WORDS = (
    (re.escape(Denied.UNTOLD_ADVICE), TAKE_AS_MISSING),
    (r"(?:open|read it) with --follow-links \(follow_links=True\)", "follow links"),
    (r"give --missing-is-fill \(storage_options=\{[^{}]*\}\)", "take refused values as missing"),
    (r"only with --missing-is-fill", "only if they are taken as missing"),
    (r"\bOpen it again\b", REFRESH),
    (r", or name one: storage_options=\{'key_filename': …\}", ""),
)
"""Expressions for options in advice of the engine → the words of the applications, which offer commands instead."""


def advice_of(error: ZarrscopeError) -> str:
    """The advice, which may name a command that the applications offer; "" if there is none."""
    return in_applications(error.advice or "")


def advise_read(error: ZarrscopeError) -> None:
    """Adds to the advice of an error that options might solve how a script in napari gives them."""
    advice = error.advice or ""
    if isinstance(error, Denied) or "storage_options" in advice:
        error.advice = f"{advice} {_READ_TAKES_OPTIONS}".strip()


def in_applications(text: str) -> str:
    """Advice of the engine, or a warning, with commands of the applications in place of options."""
    for option, command in _WORDS:
        text = re.sub(option, command, text)
    return text


def asks_to_refresh(sentence: str) -> bool:
    """Whether the advice in a sentence is to refresh, so that another attempt to read fails for the same reason."""
    return f" {REFRESH}" in sentence


def capitalised(message: str) -> str:
    """The message with a capital at its start, unless it begins with the name of a member: "coordinateTransformations
    must be a list …"."""
    first = message.split(" ", 1)[0]
    return message if first[1:].lower() != first[1:] or "_" in first else message[:1].upper() + message[1:]


def sentence_of(message: str, key: str | None) -> str:
    """The message of a fault as a sentence, with the document in front if it counts the lines of it."""
    text = visible(message.rstrip(".")) + "."
    if not key or not text.startswith("Line "):
        return text
    name = visible(key)
    return f"{name if len(name) <= 120 else name[:119] + '…'}: {text}"
