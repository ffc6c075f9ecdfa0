"""Removes confidential parts from addresses: passwords, tokens, signatures (RFC 3986 user information and queries).

`public` gives the form of an address that may be shown, stored and logged: `https://ann:***@host/a.zarr?sig=***`. This
process keeps the removed parts in memory, so that `private` can restore the whole address to open the store. Different
secrets get different marks (`***`, `***2`), so each public address identifies one store. A secret is restored only for
the host and the parameter that it was taken from.

In another process `private` raises KeyError, unless the file that ZARRSCOPE_ADDRESSES names has a line with the whole
address. So pickles, settings and shell histories need not contain anything confidential. Each process numbers its marks
in the order in which it meets the secrets, so a secret from that file is found by its path, not by the number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

MARK = "***"
_PUBLIC_PARAMETERS = frozenset(
    """alt anon api-version backend endpoint format generation partnumber path prefix profile raw ref region
    response-content-disposition response-content-type rev revision se snapshot sp spr sr ss st srt sv v version
    versionid x-amz-algorithm x-amz-checksum-mode x-amz-date x-amz-expires x-amz-signedheaders x-goog-algorithm
    x-goog-date x-goog-expires x-goog-signedheaders x-id""".split()
)
"""Parameters of queries whose values are public; the values of all others count as tokens."""
_PUBLIC_ENDS = ("path", "prefix", "folder", "dir")
"""The ends of further public names, such as `origin_path`: a path that counted as a token would be removed from every
later sentence that names it."""
_ACTIONS = frozenset("acl cors delete lifecycle location policy restore tagging uploads versioning versions".split())
"""Queries of S3 that name an action. Remembered as tokens, these words would be removed from every later sentence."""
_LOCAL = ("file", "memory", "zip", "icechunk")
_NAMED_BY_USER = ("sftp", "ssh", "abfs", "abfss", "az", "s3", "s3a", "gs", "gcs")
"""Schemes in which a name before "@" is a user or a bucket, which is not confidential."""
_SHORTEST = 6
"""Shorter values are not removed from sentences of other libraries, because they might be words."""

# Not compiled here: `re` does so when they are first used, and the address of a plain path needs none of them.
_ADDRESS = r"(?s)\A(\s*[A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?\Z"
# A scheme is limited to 31 characters: with an unlimited one, the search would try the rest of the text from each
# letter, which takes a minute per megabyte. Only the end of a longer scheme is matched.
_ADDRESS_IN_TEXT = r"([A-Za-z][A-Za-z0-9+.-]{0,30})://([^\s/?#'\"<>]*)([^\s?#'\"<>]*)(\?[^\s#'\"<>]*)?(#[^\s'\"<>]*)?"
_CONFIDENTIAL = "(?i)key|secret|token|passw|pwd|sas|sig|cred|connection_string|auth"
_SEPARATOR = r"(::|\||(?:zarr|zarr2|zarr3|n5)://(?=[A-Za-z][A-Za-z0-9+.-]*://))"
_MARK = r"\*\*\*\d*\Z"

_marks: dict[tuple[str, str, str], str] = {}
"""(host, parameter, value) → mark."""
_values: dict[tuple[str, str, str], str] = {}
"""(host, parameter, mark) → value."""
_in_file: dict[tuple[str, str, str], str] = {}
"""(host, path, parameter) → value, for the addresses in the file that ZARRSCOPE_ADDRESSES names."""
_from_file_only: set[tuple[str, str, str]] = set()
"""The keys of `_values` that only that file contains."""
_known: set[str] = set()
_file_read: str | None = None


def public(address: str) -> str:
    """Returns an address with marks in place of passwords and keys, which this process remembers."""
    if "://" not in address or address.startswith("file://"):
        return address
    return "".join(re.sub(_ADDRESS, _hidden, part) for part in re.split(_SEPARATOR, address))


def private(address: str) -> str:
    """Restores the whole address from a public one. Raises KeyError if this process does not know the removed parts."""
    if MARK not in address or "://" not in address or address.startswith("file://"):
        return address
    return "".join(re.sub(_ADDRESS, _revealed, part) for part in re.split(_SEPARATOR, address))


def without_numbers(address: str) -> str:
    """A public address with `***` in place of `***2` and so on, for files: it is the same in every process."""
    return re.sub(r"\*\*\*\d+", MARK, public(address))


def scrub(text: str) -> str:
    """Removes the confidential parts of addresses from a sentence, such as the error message of another library."""
    if "://" in text:
        text = re.sub(_ADDRESS_IN_TEXT, _hidden, text)
    for value in sorted(_known, key=len, reverse=True) if _known else ():
        if value in text:
            text = text.replace(value, MARK)
    return text


class Cause(Exception):
    """An error of another library, without confidential parts of its message."""


def cause(error: BaseException) -> BaseException:
    """Returns `error`, or a copy without the confidential parts of its message, for `raise … from`."""
    text = str(error)
    return error if scrub(text) == text and error.__cause__ is None else Cause(f"{type(error).__name__}: {scrub(text)}")


def conceal(options: Mapping[str, object]) -> None:
    """Remembers the passwords and keys among a file system's options, so that `scrub` finds them."""
    for name, value in options.items():
        if isinstance(value, Mapping):
            conceal(value)
        elif isinstance(value, str) and re.search(_CONFIDENTIAL, name) and len(value) >= _SHORTEST:
            _known.add(value)


def public_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file system that are neither passwords nor keys."""
    return {
        name: public_options(value) if isinstance(value, Mapping) else value
        for name, value in options.items()
        if isinstance(value, Mapping) or not re.search(_CONFIDENTIAL, name)
    }


class PublicAddress:
    """An attribute that stores addresses without their confidential parts."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __set__(self, thing: object, address: str) -> None:
        # Without __get__, the attribute is read as quickly as a plain one.
        thing.__dict__[self._name] = public(address)


# ---------------------------------------------------------------------- one address
def _hidden(found: re.Match[str]) -> str:
    return _replaced(found, _mark_for)


def _revealed(found: re.Match[str]) -> str:
    return _replaced(found, _value_for)


def _replaced(found: re.Match[str], replace: Callable[[str, str, str, str], str]) -> str:
    scheme, authority, path, query, fragment = found.groups()
    kind = scheme.strip().lower()
    if kind in _LOCAL:
        return found.group()
    user, at, host = authority.rpartition("@")
    place = f"{kind}://{host.lower()}"
    if at and kind != "github":  # github://organisation:repository@branch holds no password
        name, colon, password = user.partition(":")
        if colon:
            names_key = kind.startswith(("s3", "gs", "gcs"))
            if names_key or not password or password.startswith("x-") or re.match(_MARK, name):
                name = replace(place, path, "user", name)  # the user part holds a token, or the name of a key
            user = f"{name}:{replace(place, path, 'password', password)}"
        elif kind not in _NAMED_BY_USER:
            user = replace(place, path, "user", name)
    if query:
        members = [part.partition("=") for part in query[1:].split("&")]
        query = "?" + "&".join(
            f"{name}={value if _is_public(name.lower()) else replace(place, path, name, value)}"
            if equals
            else (name if name in _ACTIONS else replace(place, path, "", name))
            for name, equals, value in members
        )
    if fragment and (kind in ("http", "https") or not (kind in _NAMED_BY_USER or fragment.startswith("#/"))):
        fragment = "#" + replace(place, path, "#", fragment[1:])
    return f"{scheme}://{user}{at}{host}{path}{query or ''}{fragment or ''}"


def _is_public(name: str) -> bool:
    return name in _PUBLIC_PARAMETERS or name.endswith(_PUBLIC_ENDS)


def _mark_for(place: str, path: str, name: str, value: str) -> str:
    if not value or re.match(_MARK, value):
        return value
    found = _marks.get((place, name, value))
    if found is None:
        number = sum(1 for other, called, _ in list(_marks) if (other, called) == (place, name)) + 1
        found = _marks.setdefault((place, name, value), MARK if number == 1 else f"{MARK}{number}")
        _values.setdefault((place, name, found), value)
        from urllib.parse import quote, unquote  # imported late: this takes 5 ms, and plain paths need no urllib

        _known.update(form for form in (value, unquote(value), quote(value, safe="")) if len(form) >= _SHORTEST)
    return found


def _value_for(place: str, path: str, name: str, value: str) -> str:
    if not re.match(_MARK, value):
        return value
    key = (place, name, value)
    if key not in _values or key in _from_file_only:
        _read_file()
        while path:  # a node lies beneath the address of its hierarchy
            if (place, path, name) in _in_file:
                return _in_file[place, path, name]
            path = path.rpartition("/")[0]
    return _values[key]


def _kept_from_file(place: str, path: str, name: str, value: str) -> str:
    if value and not re.match(_MARK, value):
        _in_file[place, path, name] = value
    return value


def _read_file() -> None:
    """Reads the whole addresses from the file that ZARRSCOPE_ADDRESSES names, once."""
    global _file_read
    file = os.environ.get("ZARRSCOPE_ADDRESSES", "")
    if file and file != _file_read:
        _file_read = file
        try:
            with open(file, encoding="utf-8") as lines:
                addresses = [line.strip() for line in lines]
        except (OSError, ValueError):
            return
        before = {*_values}
        for address in addresses:
            public(address)
            for part in re.split(_SEPARATOR, address):
                re.sub(_ADDRESS, lambda found: _replaced(found, _kept_from_file), part)
        _from_file_only.update(_values.keys() - before)
