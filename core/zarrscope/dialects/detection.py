"""Which dialect a hierarchy speaks: one algorithm over the documents at its root (spec A.1).

Pure: the hierarchy fetches `PROBES` side by side and hands over what is there. A zarr.json that is no JSON (a server
may answer any address with a web page) does not end the search; it is the fault when nothing else is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from zarrscope.dialects.protocol import Detected, Dialect
from zarrscope.dtype import spell
from zarrscope.errors import BadMetadata, NotFound, Unsupported
from zarrscope.jsontext import CONSOLIDATED_LIMIT, parse_json
from zarrscope.plugins import plugin, registered

if TYPE_CHECKING:
    DIALECTS: tuple[Dialect, ...]
    """All dialects, strict, in the order in which they are looked for."""


@cache
def _all() -> tuple[Dialect, ...]:
    from zarrscope.dialects.drafts import DRAFTS
    from zarrscope.dialects.n5 import N5
    from zarrscope.dialects.v1 import V1
    from zarrscope.dialects.v2 import V2
    from zarrscope.dialects.v3 import V3

    return (V3(), *DRAFTS[:3], V2(), N5(), V1(), DRAFTS[3])


def __getattr__(name: str) -> Any:
    """`DIALECTS` on demand: who opens a hierarchy imports the one dialect that it speaks."""
    if name == "DIALECTS":
        return _all()
    raise AttributeError(f"module 'zarrscope.dialects.detection' has no attribute {name!r}")


PROBES: tuple[str, ...] = ("zarr.json", ".zgroup", ".zarray", ".zmetadata", ".zattrs", "attributes.json")
"""Keys at the root that tell dialects apart."""

LATE_PROBES: tuple[str, ...] = ("meta", "root.group.json", "root.array.json")
"""Keys to fetch when the first found nothing: v1 and the draft of May 2019."""


def late_probes() -> tuple[str, ...]:
    """`LATE_PROBES`, and the keys that tell dialects of other packages apart."""
    return (*LATE_PROBES, *(key for dialect in _plugged() for key in dialect.signs))


def _plugged() -> Iterator[Any]:
    for name in registered("dialects"):
        make = plugin("dialects", name)
        if make is not None:
            yield make()


def dialect_named(name: str, *, lenient: bool = False) -> Dialect:
    """The dialect of that id, as new hierarchies are written. Raises NotFound."""
    for dialect in _named(name):
        if dialect.name == name:
            return opened_as(dialect, lenient=lenient)
    names = ", ".join(dialect.name for dialect in _all())
    raise NotFound(f"There is no dialect {name!r}", advice=f"The dialects are {names}.")


def _named(name: str) -> Iterator[Dialect]:
    """Candidates, those that cost least first."""
    if name == "v3":
        from zarrscope.dialects.v3 import V3

        yield V3()
    elif name == "v2":
        from zarrscope.dialects.v2 import V2

        yield V2()
    else:
        yield from _all()
        yield from _plugged()


def opened_as(dialect: Dialect, **choices: bool) -> Dialect:
    """The same dialect, opened `lenient` or not, with `fallbacks` or without, where it gives that choice."""
    given = {each.name for each in fields(dialect)}  # type: ignore[arg-type]
    chosen: Dialect = replace(dialect, **{k: v for k, v in choices.items() if k in given})  # type: ignore[type-var]
    return chosen


def detect(documents: Mapping[str, bytes], *, lenient: bool = False) -> Detected | None:
    """The dialect of a hierarchy from the documents found under `PROBES` and `LATE_PROBES`; None when they tell none.

    Raises BadMetadata or Unsupported when there is a zarr.json that no dialect here can take, and nothing beside it.
    """
    fault: BadMetadata | Unsupported | None = None
    found: Dialect | None = None
    warnings: tuple[str, ...] = ()
    if "zarr.json" in documents:
        try:
            document = parse_json(documents["zarr.json"], key="zarr.json", limit=CONSOLIDATED_LIMIT)
            found, warnings = _by_zarr_json(document, lenient)
        except (BadMetadata, Unsupported) as error:
            fault = error.located(key="zarr.json")
    others: list[Dialect] = []
    if any(key in documents for key in (".zgroup", ".zarray", ".zmetadata")):
        from zarrscope.dialects.v2 import V2

        others.append(V2(lenient=lenient))
    if "attributes.json" in documents and _is_n5(documents["attributes.json"]):
        from zarrscope.dialects.n5 import N5

        others.append(N5(lenient=lenient))
    if "meta" in documents and _is_v1(documents["meta"]):
        from zarrscope.dialects.v1 import V1

        others.append(V1(lenient=lenient))
    if "root.group.json" in documents or "root.array.json" in documents:
        from zarrscope.dialects.drafts import Draft
        from zarrscope.dialects.layouts import DRAFT_2019_05

        others.append(Draft(DRAFT_2019_05, lenient=lenient))
    if found is None and not others and documents:
        others += [each for each in _plugged() if any(key in documents for key in each.signs)]
    if found is None:
        if not others:
            if fault is not None:
                raise fault
            return None
        warnings = (f"zarr.json is passed over: {fault.message}",) if fault else ()
        found = others.pop(0)
    beside = (f"Documents of {other.title} lie beside those of {found.title}; the latter are shown" for other in others)
    return Detected(found, tuple(other.name for other in others), (*warnings, *beside))


def _is_n5(value: bytes) -> bool:
    try:
        return isinstance(parse_json(value, key="attributes.json"), Mapping)
    except BadMetadata:
        return False


def _is_v1(value: bytes) -> bool:
    try:
        document = parse_json(value, key="meta")
    except BadMetadata:
        return False
    return isinstance(document, Mapping) and document.get("zarr_format") == 1


def _by_zarr_json(document: Any, lenient: bool) -> tuple[Dialect, tuple[str, ...]]:
    if not isinstance(document, Mapping):
        raise BadMetadata(f"zarr.json must hold a JSON object, not {spell(document)}", pointer="")
    from zarrscope.dialects.extensions import refuse_phase_3

    refuse_phase_3(document)
    if "zarr_format" not in document:
        raise BadMetadata(
            f"zarr.json has no zarr_format; it holds {', '.join([*document][:8]) or 'nothing'}",
            pointer="",
            advice="This is hardly the document of a Zarr hierarchy.",
        )
    form = document["zarr_format"]
    if type(form) is int and form == 3:
        from zarrscope.dialects.v3 import V3

        return V3(lenient=lenient), ()
    if isinstance(form, str):
        from zarrscope.dialects.drafts import from_bootstrap

        return from_bootstrap(document, lenient=lenient)
    raise Unsupported(
        f"zarr_format {spell(form)} in zarr.json is none that zarrscope knows",
        feature=f"zarr_format {spell(form)}",
        pointer="/zarr_format",
        advice="Zarr v3 has the number 3; the drafts before it an address at purl.org.",
    )


def detect_listed(documents: Mapping[str, bytes], *, lenient: bool = False) -> Detected | None:
    """The last resort, a draft of May 2019 whose root has no document: `documents` are some found beneath "meta/"."""
    for key, value in documents.items():
        from zarrscope.dialects.drafts import Draft
        from zarrscope.dialects.layouts import CORE_URI, DRAFT_2019_05

        try:
            document = parse_json(value, key=key)
        except BadMetadata:
            continue
        form = document.get("zarr_format") if isinstance(document, Mapping) else None
        if isinstance(form, str) and CORE_URI.fullmatch(form):
            return Detected(Draft(DRAFT_2019_05, lenient=lenient))
    return None
