"""Finds the name of a unit in OME-Zarr (UDUNITS-2) from the symbols and spellings that people type.

unit_name("um")           # "micrometer"
unit_name("m", "time")    # "minute"
"""

from __future__ import annotations

from types import MappingProxyType

UNITS = {
    "space": (
        "angstrom attometer centimeter decimeter exameter femtometer foot gigameter hectometer inch kilometer "
        "megameter meter micrometer mile millimeter nanometer parsec petameter picometer terameter yard yoctometer "
        "yottameter zeptometer zettameter"
    ).split(),
    "time": (
        "attosecond centisecond day decisecond exasecond femtosecond gigasecond hectosecond hour kilosecond "
        "megasecond microsecond millisecond minute nanosecond petasecond picosecond second terasecond yoctosecond "
        "yottasecond zeptosecond zettasecond"
    ).split(),
}
"""The units that OME-Zarr recommends, by the type of the axis, named as in UDUNITS-2."""

_PREFIXES = {
    "y": "yocto", "z": "zepto", "a": "atto", "f": "femto", "p": "pico", "n": "nano", "u": "micro", "µ": "micro",
    "μ": "micro", "m": "milli", "c": "centi", "d": "deci", "h": "hecto", "k": "kilo", "M": "mega", "G": "giga",
    "T": "tera", "P": "peta", "E": "exa", "Z": "zetta", "Y": "yotta",
}  # fmt: skip
_SPACE = {
    "m": "meter", "\u00c5": "angstrom", "\u212b": "angstrom", "A": "angstrom", "ft": "foot", "in": "inch", "mi": "mile",
    "yd": "yard", "pc": "parsec", "micron": "micrometer", "microns": "micrometer",
}  # fmt: skip
_TIME = {"s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "hr": "hour", "d": "day"}
_WITH_PREFIX = {
    **{short + "m": long + "meter" for short, long in _PREFIXES.items()},
    **{short + "s": long + "second" for short, long in _PREFIXES.items()},
}
SYMBOLS = MappingProxyType({
    "space": MappingProxyType({**_WITH_PREFIX, **_SPACE}),
    "time": MappingProxyType({**_WITH_PREFIX, **_TIME}),
})  # fmt: skip
"""Symbol → name, by the type of the axis: "m" is a metre in space and a minute in time."""


def unit_name(text: str, type: str = "") -> str:
    """The name of the unit that `text` means on an axis of that type; a text that is not a unit stays as it is."""
    bare = text.strip()
    table = SYMBOLS.get(type, SYMBOLS["time"] if bare in ("s", "min", "h") else SYMBOLS["space"])
    if bare in table:
        return table[bare]
    one = bare.lower().removesuffix("s") if len(bare) > 4 else bare
    return f"{one.removesuffix('re')}er" if one.endswith("metre") else one if one in _NAMES else bare


_NAMES = frozenset(name for table in SYMBOLS.values() for name in table.values())
