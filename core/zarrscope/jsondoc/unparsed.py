"""A document whose text is not JSON, as it is stored, so that its text can be corrected.

document = document_or_text(data, "zarr.json", version)
if isinstance(document, UnparsedDocument):
    print(document.fault)  # Line 3, column 5: …
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from zarrscope.errors import BadMetadata
from zarrscope.jsondoc.document import Document
from zarrscope.jsondoc.parse import NODE_LIMIT
from zarrscope.jsondoc.spans import JsonSpan
from zarrscope.jsondoc.style import escape_surrogates
from zarrscope.model.storage import Version

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

_NO_TEXT = re.compile("(\\\\?)([\udc80-\udcff])")


class UnparsedDocument(Document):
    """The bytes of a document that is not JSON, and the reason, `fault`. It has no values, so nothing in it can be set;
    `document_or_text` makes a document of another text."""

    def __init__(self, data: bytes, fault: BadMetadata, key: str = "", version: Version | None = None) -> None:
        self.bytes = data
        self.key = key
        self.version = version
        self.fault = fault
        self.value: JSON = None
        self.notes = ()

    @cached_property
    def text(self) -> str:
        """The text. Bytes that are not UTF-8 are written as "\\xb5", which JSON does not allow: a text that still
        contains them is not taken for a correct one."""
        return _NO_TEXT.sub(_escaped, self.bytes.decode("utf-8", "surrogateescape"))

    @property
    def _root(self) -> JsonSpan:
        raise self.fault

    def has(self, pointer: str) -> bool:
        return pointer == ""

    def text_at(self, pointer: str) -> str:
        if pointer == "":
            return self.text
        raise self.fault

    def set_text(self, pointer: str, json_text: str) -> Document:
        if pointer == "":
            return document_or_text(json_text, self.key, self.version)
        raise self.fault


def _escaped(found: re.Match[str]) -> str:
    """A backslash before the invalid byte is written as a byte, too: otherwise both together would be an escape that
    JSON allows."""
    return ("\\x5c" if found[1] else "") + f"\\x{ord(found[2]) - 0xDC00:02x}"


def document_or_text(
    source: bytes | str, key: str = "", version: Version | None = None, *, limit: int = NODE_LIMIT
) -> Document:
    """The document, or an UnparsedDocument if its text is not JSON."""
    data = escape_surrogates(source).encode() if isinstance(source, str) else source
    try:
        return Document(data, key, version, limit=limit)
    except BadMetadata as fault:
        return UnparsedDocument(data, fault, key, version)
