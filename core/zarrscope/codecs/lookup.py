"""From a name in a document to a codec: the registry first, then installed plugins, then a sentence that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zarrscope.codecs.kinds import CODECS, ArrayToArray, ArrayToBytes, BytesToBytes, CodecClass, Registered
from zarrscope.errors import Unsupported
from zarrscope.metadata import CodecSpec, ExtensionReport, Outcome

ENTRY_POINTS = "zarrscope.codecs"
REGISTRY_PAGE = "https://github.com/zarr-developers/zarr-extensions"


def every_codec() -> dict[str, Registered]:
    """The whole registry, in the order in which tables show it: with the codecs that few arrays have."""
    from zarrscope.codecs import numeric, streams, packbits, objects, floats, n5  # noqa: F401, I001

    return CODECS


def codec_name(family: str, identifier: str) -> str:
    """The canonical name of what a family of dialects ("v3", "v2", "draft", "n5") calls `identifier`.

    A name nobody knows stays as it is ("numcodecs." before it in v2), so that a message can say it.
    """
    for rows in (CODECS.values, lambda: every_codec().values()):
        for row in tuple(rows()):
            if identifier in row.ids[family]:
                return row.name
    if family == "v2" and not identifier.startswith("imagecodecs_"):
        return f"numcodecs.{identifier}"
    return identifier


def codec_id(family: str, name: str) -> str | None:
    """What a family of dialects writes for the codec of this canonical name; None when it has no word for it."""
    row = CODECS.get(name) or every_codec().get(name)
    return row.ids[family][0] if row is not None and row.ids[family] else None


def resolve(name: str) -> CodecClass:
    """The class of the codec of this name. Raises Unsupported, saying what to install or where to look."""
    row = CODECS.get(name) or every_codec().get(name) or CODECS.get(codec_name("v3", name))
    if row is not None:
        if not row.installed:
            raise Unsupported(
                f"The codec {name!r} needs a package that is not installed",
                feature=f"codec {name}",
                advice=f"Run: pip install {row.package or row.libraries[0]}",
            )
        return row.make
    if name.startswith("imagecodecs_"):
        from zarrscope.codecs.imagecodecs import image_codec

        return image_codec(name)
    return _plugged_in(name)


CORE = frozenset({"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"})
"""Codecs that the specification itself defines, or every reader has: nothing to report."""


def codec_reports(specs: Sequence[CodecSpec]) -> tuple[ExtensionReport, ...]:
    """What was found among an array's codecs beyond the core ones, and what is done about each; nested ones, too."""
    found: list[ExtensionReport] = []
    for spec in specs:
        for member in ("codecs", "index_codecs"):
            nested = spec.configuration.get(member)
            if isinstance(nested, list):
                inner = [n for n in nested if isinstance(n, Mapping) and isinstance(n.get("name"), str)]
                found += codec_reports(
                    [CodecSpec(n["name"], must_understand=n.get("must_understand") is not False) for n in inner]
                )
        if spec.name in CORE:
            continue
        try:
            resolve(spec.name)
            known, advice = True, ""
        except Unsupported as error:
            known, advice = False, error.advice or ""
        outcome = Outcome.USED if known else Outcome.REFUSED if spec.must_understand else Outcome.IGNORED
        found.append(ExtensionReport("codec", spec.spelled or spec.name, known, spec.must_understand, outcome, advice))
    return tuple(dict.fromkeys(found))


def codec_table() -> list[dict[str, Any]]:
    """One row per codec for tables of what is supported: name, kind, reads, writes, ids per family, libraries."""
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "reads": row.reads,
            "writes": row.writes,
            **{family: list(ids) for family, ids in row.ids.items()},
            "libraries": list(row.libraries),
            "package": row.package or (row.libraries[0] if row.libraries else ""),
            "installed": row.installed,
        }
        for row in every_codec().values()
    ]


def _plugged_in(name: str) -> CodecClass:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            made: Any = point.load()
        except Exception as error:
            raise Unsupported(
                f"The codec {name!r} is installed but cannot be loaded: {type(error).__name__}: {error}",
                feature=f"codec {name}",
                advice=f"Reinstall the package that brings {point.value}.",
            ) from error
        if isinstance(made, type) and issubclass(made, ArrayToArray | ArrayToBytes | BytesToBytes):
            if name not in CODECS:
                made.name = name
                ids = {"v3": (name,), "v2": (), "draft": (), "n5": ()}
                CODECS[name] = Registered(name, made.kind, made, ids, (), "", True, True)
            return made
    raise Unsupported(
        f"The codec {name!r} is not known here",
        feature=f"codec {name}",
        advice=f"See {REGISTRY_PAGE} for what it is; packages may offer codecs as entry points {ENTRY_POINTS!r}.",
    )
