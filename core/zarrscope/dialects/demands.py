"""What a document demands beyond its format, reported as data: pieces that are missing here, extensions, odd members.

Reports never end the reading of a document: the node opens and shows its metadata, and its `problem` says what is
missing (metadata.py). Specification: the seeds' `extensions` and must_understand; spec A.4, D.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from zarrscope.dialects.reading import Members, token
from zarrscope.metadata import Configuration, ExtensionReport, Json, Outcome


def missing(point: str, name: str, pointer: str, advice: str) -> ExtensionReport:
    """A piece that nothing can be read without."""
    return ExtensionReport(point, name, False, True, Outcome.REFUSED, advice, pointer)


def extension_reports(members: Members, notes: list[str], *, lenient: bool) -> list[ExtensionReport]:
    """The items of `extensions` {extension, must_understand, …}; must_understand counts as true when absent (A.4)."""
    value = members.get("extensions", list, type(None)) or []
    reports: list[ExtensionReport] = []
    for i, item in enumerate(value):
        pointer = members.at("extensions") + token(i)
        one = Members(item, pointer, "extension")
        name = one.need("extension", str)
        must = one.get("must_understand", bool, default=True)
        configuration = one.any("configuration")
        settings = configuration if isinstance(configuration, Mapping) else {n: one.value[n] for n in one.left()}
        reports.append(_unknown("extension", name, pointer, notes, must=must, lenient=lenient, settings=settings))
    return reports


def unknown_members(members: Members, notes: list[str], *, strict: bool, lenient: bool) -> list[ExtensionReport]:
    """Members nobody asked for: fatal where the text says so (D.3.1), else a note."""
    reports: list[ExtensionReport] = []
    for name in members.left():
        value = members.value[name]
        harmless = isinstance(value, Mapping) and value.get("must_understand") is False
        if strict and not harmless:
            reports.append(_unknown("member", name, members.at(name), notes, must=True, lenient=lenient))
        else:
            notes.append(f"The member {name!r} is not part of the format, and passed over")
    return reports


def _unknown(
    point: str,
    name: str,
    pointer: str,
    notes: list[str],
    *,
    must: bool = True,
    lenient: bool = False,
    settings: Mapping[str, Json] | None = None,
) -> ExtensionReport:
    """The report of something not understood: refused when it must be, unless opened leniently."""
    if must and lenient:
        notes.append(f"The {point} {name!r} must be understood, and is not: what is shown may be wrong")
    return ExtensionReport(
        point,
        name,
        understood=False,
        required=must,
        outcome=Outcome.REFUSED if must and not lenient else Outcome.IGNORED,
        advice="It may change what the data mean; open it leniently to look anyway." if must else "",
        pointer=pointer,
        configuration=Configuration(settings),
        passable=True,
    )
