"""Which dialect a hierarchy speaks: one algorithm over the documents at its root (spec A.1).

Pure: the hierarchy fetches `PROBES` side by side and hands over what is there. A zarr.json that is no JSON (a server
may answer any address with a web page) does not end the search; it is the fault when nothing else is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zarrscope.dialects.protocol import Detected, Dialect
from zarrscope.dialects.v2 import V2
from zarrscope.dialects.v3 import V3
from zarrscope.dtype import spell
from zarrscope.errors import BadMetadata, NotFound, Unsupported
from zarrscope.jsontext import CONSOLIDATED_LIMIT, parse_json
from zarrscope.store import Entry

DIALECTS: tuple[Dialect, ...] = (V3(), V2())
"""All dialects, strict, in the order in which they are looked for."""

PROBES: tuple[str, ...] = ("zarr.json", ".zgroup", ".zarray", ".zmetadata", ".zattrs")
"""Keys at the root that tell dialects apart."""

_URI = re.compile(r"https?://purl\.org/zarr/spec/(protocol/)?core/(\d+)\.(\d+)/?")


def dialect_named(name: str, *, lenient: bool = False) -> Dialect:
    """The dialect of that id, as new hierarchies are written. Raises NotFound."""
    for dialect in DIALECTS:
        if dialect.name == name:
            return _lenient(dialect, lenient)
    names = ", ".join(dialect.name for dialect in DIALECTS)
    raise NotFound(f"There is no dialect {name!r}", advice=f"The dialects are {names}.")


def _lenient(dialect: Dialect, lenient: bool) -> Dialect:
    from dataclasses import replace

    return replace(dialect, lenient=True) if lenient else dialect  # type: ignore[type-var]


def detect(documents: Mapping[str, bytes], *, lenient: bool = False) -> Detected | None:
    """The dialect of a hierarchy from the documents found under `PROBES`; None when they tell of none.

    Raises BadMetadata or Unsupported when there is a zarr.json that no dialect here can take, and nothing beside it.
    """
    fault: BadMetadata | Unsupported | None = None
    found: Dialect | None = None
    if "zarr.json" in documents:
        try:
            found = _by_zarr_json(parse_json(documents["zarr.json"], key="zarr.json", limit=CONSOLIDATED_LIMIT))
        except (BadMetadata, Unsupported) as error:
            fault = error.located(key="zarr.json")
    v2 = any(key in documents for key in (".zgroup", ".zarray", ".zmetadata"))
    if found is not None:
        also = ("v2",) if v2 else ()
        return Detected(_lenient(found, lenient), also, tuple(_beside(found, name) for name in also))
    if v2:
        warnings = (f"zarr.json is passed over: {fault.message}",) if fault else ()
        return Detected(V2(lenient=lenient), warnings=warnings)
    if fault is not None:
        raise fault
    return None


def _beside(found: Dialect, name: str) -> str:
    other = dialect_named(name)
    return f"Documents of {other.title} lie beside those of {found.title}; the latter are shown"


def _by_zarr_json(document: Any) -> Dialect:
    if not isinstance(document, Mapping):
        raise BadMetadata(f"zarr.json must hold a JSON object, not {spell(document)}", pointer="")
    if "zarr_format" not in document:
        raise BadMetadata(
            f"zarr.json has no zarr_format; it holds {', '.join([*document][:8]) or 'nothing'}",
            pointer="",
            advice="This is hardly the document of a Zarr hierarchy.",
        )
    form = document["zarr_format"]
    if type(form) is int and form == 3:
        return V3()
    if isinstance(form, str) and (match := _URI.fullmatch(form)) and match[2] == "3":
        raise Unsupported(f"The draft format {form} is not read yet", feature=form, pointer="/zarr_format")
    raise Unsupported(
        f"zarr_format {spell(form)} in zarr.json is none that zarrscope knows",
        feature=f"zarr_format {spell(form)}",
        pointer="/zarr_format",
        advice="Zarr v3 has the number 3; the drafts before it an address at purl.org.",
    )


def beneath(entries: Iterable[Entry], limit: int = 8) -> tuple[str, ...]:
    """Keys to fetch, one level down, when the root itself has no documents: some early writers made none there.

    What comes back decides like documents of the root: pass `{key.partition("/")[2]: value}` to `detect`.
    """
    names = [entry.name for entry in entries if entry.is_prefix and not entry.name.startswith(".")][:limit]
    return tuple(f"{name}/{key}" for name in names for key in ("zarr.json", ".zarray", ".zgroup"))
