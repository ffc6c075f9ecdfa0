"""The units of length and time that a typed amount may have, by their symbols, in metres and in seconds."""

from __future__ import annotations

METRES = {
    "am": 1e-18, "fm": 1e-15, "pm": 1e-12, "Å": 1e-10, "nm": 1e-9, "µm": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1,
    "m": 1.0, "hm": 100.0, "km": 1e3, "Mm": 1e6, "Gm": 1e9, "in": 0.0254, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344,
}  # fmt: skip
SECONDS = {
    "as": 1e-18, "fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0,
    "d": 86400.0,
}  # fmt: skip
