"""Reports of requirements in a document beyond the core of its format: missing codecs or types, extensions, unknown
members.

Reports never stop the reading of a document: the node can be opened and shows its metadata, and its `problem` names the
missing feature (model/metadata.py). Specification: `extensions` and must_understand of the drafts and ZEP 9; spec A.4,
D.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zarrscope.dialects.reading import Members, token
from zarrscope.model.json_value import JSON
from zarrscope.model.metadata import Configuration, ExtensionOutcome, ExtensionReport


def missing(point: str, name: str, pointer: str, advice: str) -> ExtensionReport:
    """The report of a missing feature, such as a codec, without which the values cannot be read."""
    return ExtensionReport(point, name, False, True, ExtensionOutcome.REFUSED, advice, pointer)


def _at_once(read: Callable[..., Any], *arguments: Any) -> object:
    return read(*arguments)


def extension_reports(
    members: Members, notes: list[str], *, lenient: bool, attempt: Callable[..., Any] = _at_once
) -> list[ExtensionReport]:
    """One report for each item of the member `extensions`, {extension, must_understand, …}; must_understand counts as
    true when absent (spec A.4).

    `attempt`: Defects.attempt keeps the defect of an invalid item and goes on with the next one; without `attempt` the
    first defect is raised.
    """

    def report(item: JSON, pointer: str) -> ExtensionReport:
        one = Members(item, pointer, "extension")
        name = one.need("extension", str)
        must = one.get("must_understand", bool, default=True)
        configuration = one.any("configuration")
        settings = configuration if isinstance(configuration, Mapping) else {n: one.value[n] for n in one.unread()}
        return _unknown("extension", name, pointer, notes, must=must, lenient=lenient, settings=settings)

    value = attempt(members.get, "extensions", list, type(None)) or []
    found = [attempt(report, item, members.at("extensions") + token(i)) for i, item in enumerate(value)]
    return [each for each in found if each is not None]


def unknown_members(members: Members, notes: list[str], *, strict: bool, lenient: bool) -> list[ExtensionReport]:
    """Looks for unknown members. If `strict` (the format refuses them, spec D.3.1), each is reported as an extension,
    unless it says that it need not be understood; otherwise each only adds to `notes`."""
    reports: list[ExtensionReport] = []
    for name in members.unread():
        value = members.value[name]
        harmless = isinstance(value, Mapping) and value.get("must_understand") is False
        if strict and not harmless:
            reports.append(_unknown("member", name, members.at(name), notes, must=True, lenient=lenient))
        else:
            notes.append(f"The member {name!r} is not part of the format and was ignored")
    return reports


def _unknown(
    point: str,
    name: str,
    pointer: str,
    notes: list[str],
    *,
    must: bool = True,
    lenient: bool = False,
    settings: Mapping[str, JSON] | None = None,
) -> ExtensionReport:
    """The report of an extension that zarrscope does not understand: refused if the document says that it must be
    understood, unless the hierarchy is opened leniently."""
    if must and lenient:
        notes.append(f"The {point} {name!r} must be understood, and is not: the displayed data may be wrong")
    return ExtensionReport(
        point,
        name,
        understood=False,
        required=must,
        outcome=ExtensionOutcome.REFUSED if must and not lenient else ExtensionOutcome.IGNORED,
        advice="It may change what the data mean; open it anyway, read-only (lenient=True), to look." if must else "",
        pointer=pointer,
        configuration=Configuration(settings),
        passable=True,
    )
