"""Finds the dialect of a hierarchy, in a loop over a table of dialects (spec A.1).

The `signs` of a dialect are the keys of the documents that its hierarchies have at the root. If one of them exists, the
dialect is asked whether it recognizes the documents. A new dialect needs a row here, a class in the module that the row
names, and an example in tests/contracts/dialect.py. Dialects of other packages (entry points "zarrscope.dialects") have
their `signs` as an attribute of the class, and are asked last.

This module does no I/O: the hierarchy fetches `PROBES` in parallel and passes the documents that it found. A zarr.json
that is not JSON (a server may answer any address with a web page) does not end the search; it is reported if no other
dialect matches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.protocol import Detected, Dialect
from zarrscope.errors import BadMetadata, NotFound, Unsupported, ZarrscopeError
from zarrscope.jsondoc.parse import parse_json
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import failing, plugin, registered
from zarrscope.runtime.memo import memoized

if TYPE_CHECKING:
    DIALECTS: tuple[Dialect, ...]
    """All dialects, not `lenient`, in probing order: first the built-in ones, then those of other packages."""


@frozen
class DialectRow:
    """One dialect: its module, and `signs`, the keys of the documents that its hierarchies have at the root."""

    name: str
    place: str
    """ "module:name" of the class or function that makes the dialect; empty for a dialect of another package."""
    signs: tuple[str, ...]
    beside: tuple[str, ...] = ()
    """Other keys that should be fetched together with `signs`."""
    late: bool = False
    """Whether `signs` are fetched only if no `signs` of other dialects exist, because this dialect is rare."""
    writes: bool = True
    bare_root: bool = False
    """Whether the root may have no document."""

    def make(self) -> Dialect:
        """Makes the dialect, with `lenient` False. Raises Unsupported if the plugin that adds it cannot be loaded."""
        if self.place:
            module, _, made = self.place.partition(":")
            found: Dialect = getattr(import_module(f"zarrscope.dialects.{module}"), made)()
            return found
        make = plugin("dialects", self.name)
        if make is None:
            raise Unsupported(f"The dialect {self.name!r} is not installed", feature=f"dialect {self.name}")
        made_there: Dialect = make()
        return made_there


TABLE: tuple[DialectRow, ...] = (
    DialectRow("v3", "v3:V3", ("zarr.json",)),
    DialectRow("draft-2022-05", "drafts:draft_2022_05", ("zarr.json",)),
    DialectRow("draft-2020", "drafts:draft_2020", ("zarr.json",)),
    DialectRow("draft-2019-06", "drafts:draft_2019_06", ("zarr.json",)),
    DialectRow("v2", "v2:V2", (".zgroup", ".zarray", ".zmetadata"), beside=(".zattrs",)),
    DialectRow("n5", "n5:N5", ("attributes.json",), bare_root=True),
    DialectRow("v1", "v1:V1", ("meta",), late=True, writes=False),
    DialectRow("draft-2019-05", "drafts:draft_2019_05", ("root.group.json", "root.array.json"), late=True),
)
"""Every built-in dialect, in probing order."""
_BUILT_IN = {row.name: row for row in TABLE}


def _keys(late: bool) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for row in TABLE if row.late == late for key in (*row.signs, *row.beside)))


PROBES: tuple[str, ...] = _keys(late=False)
"""Keys at the root of a hierarchy whose documents show its dialect."""

LATE_PROBES: tuple[str, ...] = _keys(late=True)
"""Keys at the root that are fetched if no key of PROBES exists: the signs of rare dialects."""


def __getattr__(name: str) -> Any:
    """Makes `DIALECTS` on demand, because opening a hierarchy should import only its own dialect."""
    if name == "DIALECTS":
        return (*_all(), *(row.make() for row in _plugged()))
    raise AttributeError(f"module 'zarrscope.dialects.detection' has no attribute {name!r}")


@memoized(1)
def _all() -> tuple[Dialect, ...]:
    return tuple(row.make() for row in TABLE)


def _plugged(faults: list[Unsupported] | None = None) -> Iterator[DialectRow]:
    """The rows of the dialects of other packages. Dialects that cannot be loaded are left out, and their errors are
    appended to `faults`."""
    for name in registered("dialects"):
        if name in _BUILT_IN:
            continue
        try:
            row = DialectRow(name, "", (), late=True)
            made: object = row.make()
            signs = getattr(made, "signs", ())
            yield replace(row, signs=(signs,) if isinstance(signs, str) else tuple(signs))
        except Unsupported as error:
            if faults is not None:
                faults.append(error)


def plugin_faults() -> list[Unsupported]:
    """The errors of those dialects of other packages that cannot be loaded."""
    faults: list[Unsupported] = []
    for _ in _plugged(faults):
        pass
    return faults


def late_probes() -> tuple[str, ...]:
    """`LATE_PROBES`, and the keys that identify dialects of other packages."""
    others = (key for row in _plugged() for key in row.signs)
    return tuple(dict.fromkeys((*LATE_PROBES, *(key for key in others if key not in PROBES))))


def written_dialects() -> tuple[str, ...]:
    """The ids of the dialects that can be written: first current ones, then drafts, then those of other packages."""
    names = sorted((row.name for row in TABLE if row.writes), key=lambda name: name.startswith("draft"))
    return (*names, *(name for name in registered("dialects") if name not in _BUILT_IN))


def bare_root_dialects() -> tuple[str, ...]:
    """The ids of the dialects whose hierarchies may have no document at the root."""
    return tuple(row.name for row in TABLE if row.bare_root)


def is_built_in(name: str) -> bool:
    """Whether the dialect with this id is defined in zarrscope, not in another package."""
    return name in _BUILT_IN


def dialect_named(name: str, *, lenient: bool = False) -> Dialect:
    """The dialect with this id, with the options of a new hierarchy. Raises NotFound for an unknown id, Unsupported if
    the package that adds the dialect fails."""
    row = _BUILT_IN.get(name)
    if row is None and name in registered("dialects"):
        row = DialectRow(name, "", ())
    if row is None:
        others = (other for other in registered("dialects") if other not in _BUILT_IN)
        names = ", ".join((*_BUILT_IN, *others))
        raise NotFound(f"There is no dialect {name!r}", advice=f"The dialects are {names}.")
    return opened_as(row.make(), lenient=lenient)


def opened_as(dialect: Dialect, **choices: bool) -> Dialect:
    """Returns a copy of the dialect with the options `choices` (`lenient`, `fallbacks`), without those that it does not
    have."""
    if not is_dataclass(dialect):
        return dialect
    given = {each.name for each in fields(dialect)}
    return replace(dialect, **{name: choice for name, choice in choices.items() if name in given})


def detect(documents: Mapping[str, bytes], *, lenient: bool = False) -> Detected | None:
    """Finds the dialect of a hierarchy from its documents under `PROBES` and `late_probes`; None if no dialect matches.

    Raises BadMetadata or Unsupported if no dialect matches and one of them cannot read its document, such as zarr.json.
    """
    fault: ZarrscopeError | None = None
    found: list[Detected] = []
    taken: set[str] = set()
    """Keys in the `signs` of dialects that were already found."""
    for row in _rows(found) if documents else ():
        signs = [key for key in row.signs if key in documents and key not in taken]
        if not signs:
            continue
        try:
            recognized = _recognized(row, documents, lenient)
        except (BadMetadata, Unsupported) as error:
            fault = fault or error.located(key=signs[0])
            continue
        if recognized is not None:
            taken.update(signs)
            found.append(recognized)
    if not found:
        odd = _recognized_odd(documents, lenient)
        if odd is None and fault is not None:
            raise fault
        return odd
    first, *others = found
    warnings = (f"{fault.key} is passed over: {fault.message}",) if fault else ()
    beside = (
        f"Documents of {other.dialect.title} lie beside those of {first.dialect.title}; the latter are shown"
        for other in others
    )
    also = tuple(other.dialect.name for other in others)
    return Detected(first.dialect, also, (*warnings, *first.warnings, *beside))


def _rows(found: list[Detected]) -> Iterator[DialectRow]:
    """The built-in rows, then, only if none of them matched, the rows of other packages: loading plugins costs time."""
    yield from TABLE
    if not found:
        yield from _plugged()


def _recognized_odd(documents: Mapping[str, bytes], lenient: bool) -> Detected | None:
    for row in TABLE:
        if any(key in documents for key in row.signs):
            found = opened_as(row.make(), lenient=lenient).recognize_odd(documents)
            if found is not None:
                return found
    return None


def _recognized(row: DialectRow, documents: Mapping[str, bytes], lenient: bool) -> Detected | None:
    try:
        return opened_as(row.make(), lenient=lenient).recognize(documents)
    except ZarrscopeError:
        raise
    except Exception as error:
        if row.place:
            raise
        raise failing("dialects", row.name, error) from error


def detect_broken(
    documents: Mapping[str, bytes], beneath: Collection[str], *, lenient: bool = False
) -> Detected | None:
    """Finds the dialect of a hierarchy whose document at the root is broken, from its text and the keys `beneath` the
    root; None if neither shows a dialect."""
    for row in TABLE:
        if any(key in documents for key in row.signs):
            found = opened_as(row.make(), lenient=lenient).recognize_broken(documents, beneath)
            if found is not None:
                return found
    return None


def detect_listed(documents: Mapping[str, bytes], *, lenient: bool = False) -> Detected | None:
    """Recognizes a hierarchy of the draft of May 2019 whose root has no document, from `documents` found beneath
    "meta/"; None if they are of another dialect. Called last, if no dialect matches the documents at the root."""
    for key, value in documents.items():
        from zarrscope.dialects.layouts import CORE_URI

        try:
            document = parse_json(value, key=key)
        except BadMetadata:
            continue
        form = document.get("zarr_format") if isinstance(document, Mapping) else None
        if isinstance(form, str) and CORE_URI.fullmatch(form):
            return Detected(dialect_named("draft-2019-05", lenient=lenient))
    return None
