"""Finds a codec's class by its name: in the table, then among installed plugins; else raises an error that names the
package to install.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from zarrscope.codecs.codec import CLASSES, ArrayToArray, ArrayToBytes, BytesToBytes, CodecClass
from zarrscope.errors import Unsupported
from zarrscope.model import codec_table
from zarrscope.model.codec_table import CodecRow, codec_name, codec_row
from zarrscope.model.metadata import CodecSpec, ExtensionOutcome, ExtensionReport
from zarrscope.model.plugins import loaded

REGISTRY_PAGE = "https://github.com/zarr-developers/zarr-extensions"


def every_codec() -> dict[str, CodecRow]:
    """The rows of the table that have a class, in the order in which tables show them."""
    return {name: row for name, row in codec_table.CODECS.items() if row.module or name in CLASSES}


def resolve(name: str) -> CodecClass:
    """The class of the codec of this name. Raises Unsupported with the package to install, or another advice."""
    row = codec_row(name)
    if row is None or not row.module:
        row = codec_row(codec_name("v3", name))
    if row is None and name.startswith("imagecodecs_"):
        from zarrscope.codecs.imagecodecs import image_codec

        return image_codec(name)
    if row is not None and row.module:
        return _class(row)
    return _plugged_in(name)


def _class(row: CodecRow) -> CodecClass:
    if not row.installed:
        from zarrscope.errors.installing import how_to_install_packages

        raise Unsupported(
            f"The codec {row.name!r} needs a package that is not installed",
            feature=f"codec {row.name}",
            advice=how_to_install_packages(row.package or row.needs[0]),
        )
    if row.name not in CLASSES:
        import_module(row.module)
    return CLASSES[row.name]


CORE = frozenset({"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"})
"""The codecs of the core specification and others that every reader has; `codec_reports` leaves them out."""


def codec_reports(specs: Sequence[CodecSpec]) -> tuple[ExtensionReport, ...]:
    """Reports how each codec of an array, nested ones included, is handled. Core codecs are left out."""
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
        outcome = (
            ExtensionOutcome.USED
            if known
            else ExtensionOutcome.REFUSED
            if spec.must_understand
            else ExtensionOutcome.IGNORED
        )
        found.append(ExtensionReport("codec", spec.spelled or spec.name, known, spec.must_understand, outcome, advice))
    return tuple(dict.fromkeys(found))


def _plugged_in(name: str) -> CodecClass:
    """The class of a codec that another package adds by an entry point. Raises Unsupported."""
    made: object = loaded("codecs", name)
    if made is None:
        raise Unsupported(
            f"The codec {name!r} is not known here",
            feature=f"codec {name}",
            advice="Install a package that adds it (entry points 'zarrscope.codecs'), or look for a newer zarrscope; "
            f"{REGISTRY_PAGE} may describe it.",
        )
    if not (isinstance(made, type) and issubclass(made, ArrayToArray | ArrayToBytes | BytesToBytes)):
        raise Unsupported(
            f"The package that adds {name!r} does not provide a codec class",
            feature=f"codec {name}",
            advice="Report it to the makers of that package.",
        )
    made.name = made.name or name
    CLASSES[name] = made
    return made
