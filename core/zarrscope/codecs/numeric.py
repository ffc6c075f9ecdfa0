"""Array→array codecs that change values: those of numcodecs (v2 filters) and their registered successors.

Specification: https://numcodecs.readthedocs.io/en/stable/; cast_value, scale_offset and bitround:
https://github.com/zarr-developers/zarr-extensions/tree/main/codecs

    {"data_type": "int32", "codecs": [
        {"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}},
        {"name": "bytes", "configuration": {"endian": "little"}}]}

Data types in configurations ("<i4") are used without their byte order, which the `bytes` codec decides. Decoding is
exactly the arithmetic of the writer: x/scale+offset, cumulative sums, a cast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.codecs.codec import ArraySpec, ArrayToArray, Elements, codec
from zarrscope.codecs.limits import MAX_CHUNK_BYTES
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, Refused, ZarrscopeError
from zarrscope.model.dtype import Fill, data_type
from zarrscope.model.fill_value import parse_fill
from zarrscope.model.typestr import from_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrscope.model.json_value import JSON


def named_dtype(settings: CodecSettings, member: str, default: np.dtype[Any] | None) -> np.dtype[Any]:
    """The data type that a configuration names, in native byte order; `default` where it names none."""
    if not settings.has(member) and default is not None:
        return default
    text = settings.text(member)
    try:
        dtype = np.dtype(text).newbyteorder("=")
    except (TypeError, ValueError) as error:
        raise settings.fault(member, f"is not a dtype: {error}") from None
    if dtype.names is not None or dtype.subdtype is not None or dtype.kind not in "biufcmMSUVO":
        raise settings.fault(member, f"must be a simple dtype, not {text!r}")
    return dtype


class Elementwise(ArrayToArray):
    """A codec that changes each element independently; `made` is the encoded dtype."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec, made: np.dtype[Any]) -> None:
        super().__init__(settings, decoded)
        self.made = made
        dtype = decoded.dtype if made == decoded.numpy else from_numpy(made)
        self.encoded = ArraySpec(decoded.shape, dtype, Fill(np.zeros((), made)[()], defined=False))

    def encode_fill(self) -> None:
        """Sets the fill value of `encoded` to the encoded fill value, if it can be encoded."""
        item = np.empty(1, self.decoded.numpy)
        item[0] = self.decoded.fill.value
        try:
            with np.errstate(all="ignore"):
                made = self.encode(item)[0]
        except (ZarrscopeError, ArithmeticError, ValueError):
            return
        self.encoded = ArraySpec(self.encoded.shape, self.encoded.dtype, Fill(made, self.decoded.fill.defined))


class Identity(Elementwise):
    """A codec that only rounds: encoding keeps the dtype, and decoding changes nothing."""

    def decode(self, array: Elements) -> Elements:
        return array

    def view(self, out: Elements) -> Elements:
        return out


@codec("bitround")
class BitRound(Identity):
    """Rounds the mantissa to `keepbits` bits, ties to even. Decoding changes nothing; integers can only be decoded."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded, decoded.numpy)
        self.keepbits = settings.integer("keepbits", low=0, high=128)
        self.encode_fill()

    def encode(self, array: Elements) -> Elements:
        if array.dtype.kind == "c":
            parts = np.ascontiguousarray(array).view(array.real.dtype)
            return self.encode(parts).view(array.dtype)
        if array.dtype.kind != "f":
            raise Refused(
                f"{self.name} can encode only floating-point numbers here, not {array.dtype}",
                advice="Choose other codecs for integers.",
            )
        drop = np.finfo(array.dtype).nmant - self.keepbits
        if drop <= 0:
            return array
        word = np.dtype(f"u{array.dtype.itemsize}")
        bits = np.ascontiguousarray(array).view(word)
        one = word.type(1)
        odd = (bits >> word.type(drop)) & one
        half = word.type((1 << (drop - 1)) - 1)
        mask = word.type(~((1 << drop) - 1) & ((1 << 8 * word.itemsize) - 1))
        rounded = ((bits + odd + half) & mask).view(array.dtype)
        return np.where(np.isfinite(array), rounded, array)


@codec("numcodecs.bitround")
class NumcodecsBitRound(BitRound):
    """Rounding of the mantissa with the configuration of numcodecs."""


@codec("numcodecs.quantize")
class Quantize(Elementwise):
    """Rounds floats to multiples of a power of two that is small enough to keep `digits` decimal places."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        dtype = named_dtype(settings, "dtype", decoded.numpy)
        super().__init__(settings, decoded, named_dtype(settings, "astype", dtype))
        if dtype.kind != "f" or self.made.kind != "f":
            raise settings.fault("dtype", "must be a floating-point type")
        exponent = -settings.integer("digits", low=-400, high=400)
        self.scale = 2.0 ** np.ceil(np.log2(10.0**-exponent))
        self.encode_fill()

    def decode(self, array: Elements) -> Elements:
        return array.astype(self.decoded.numpy)

    def encode(self, array: Elements) -> Elements:
        made: Elements = np.around(self.scale * array) / self.scale
        return made.astype(self.made)


@codec("numcodecs.astype")
class AsType(Elementwise):
    """Stores elements as another data type."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded, named_dtype(settings, "encode_dtype", None))
        named_dtype(settings, "decode_dtype", decoded.numpy)
        self.encode_fill()

    def decode(self, array: Elements) -> Elements:
        with np.errstate(all="ignore"):
            return array.astype(self.decoded.numpy)

    def encode(self, array: Elements) -> Elements:
        with np.errstate(all="ignore"):
            return array.astype(self.made)


@codec("numcodecs.fixedscaleoffset")
class FixedScaleOffset(Elementwise):
    """Encodes x as round((x − offset) · scale) and decodes y as y / scale + offset, in floating point."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        dtype = named_dtype(settings, "dtype", decoded.numpy)
        super().__init__(settings, decoded, named_dtype(settings, "astype", dtype))
        self.offset = settings.number("offset", default=0)
        self.scale = settings.number("scale", default=1)
        if self.scale == 0:
            raise settings.fault("scale", "must not be 0")
        self.encode_fill()

    def decode(self, array: Elements) -> Elements:
        with np.errstate(all="ignore"):
            made: Elements = (array / self.scale + self.offset).astype(self.decoded.numpy)
        return made

    def encode(self, array: Elements) -> Elements:
        if array.dtype.kind in "iu" and array.dtype.itemsize < 8:
            array = array.astype(np.float64)  # float64 holds these integers exactly, and cannot overflow
        with np.errstate(all="ignore"):
            made = (array - self.offset) * self.scale
            return np.around(made).astype(self.made)


@codec("numcodecs.delta")
class Delta(ArrayToArray):
    """Stores the first element, then the difference between each element and the one before it, in C order."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        self.dtype = named_dtype(settings, "dtype", decoded.numpy)
        self.made = named_dtype(settings, "astype", self.dtype)
        if self.dtype.itemsize != decoded.numpy.itemsize or self.dtype.kind not in "iufcmM" or decoded.dtype.variable:
            raise settings.fault("dtype", f"{self.dtype} does not fit elements of {decoded.dtype.name!r}")
        if self.made.kind not in "iufcm" and self.made != self.dtype:
            raise settings.fault("astype", f"must be numbers, not {self.made}")
        self.encoded = decoded.zero(decoded.shape, self.made)

    def decode(self, array: Elements) -> Elements:
        flat = np.empty(array.size, self.dtype)
        with np.errstate(all="ignore"):
            if self.dtype.kind in "mM":
                np.cumsum(array.reshape(-1).view("i8"), dtype="i8", out=flat.view("i8"))
            else:
                np.cumsum(array.reshape(-1), dtype=self.dtype, out=flat)
        return flat.view(self.decoded.numpy).reshape(self.decoded.shape)

    def encode(self, array: Elements) -> Elements:
        flat = np.ascontiguousarray(array).reshape(-1).view(self.dtype)
        if self.dtype.kind in "mM":
            flat = flat.view("i8")
        made = np.empty(flat.size, flat.dtype if self.dtype.kind in "mM" else self.made)
        with np.errstate(all="ignore"):
            made[:1] = flat[:1]
            made[1:] = np.diff(flat)
        return made.view(self.made).reshape(self.encoded.shape)


@codec("numcodecs.packbits")
class NumcodecsPackBits(ArrayToArray):
    """Stores the number of padding bits in a byte, then the booleans as bits, most significant first (spec D.6)."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if decoded.numpy != np.dtype(bool):
            raise settings.unfit(f"packs booleans, but the data type is {decoded.dtype.name!r}")
        self.padding = -decoded.count % 8
        self.encoded = decoded.zero((1 + -(-decoded.count // 8),), np.dtype(np.uint8))

    def decode(self, array: Elements) -> Elements:
        if array[0] != self.padding:
            raise BadChunk(
                f"{self.name}: the chunk states {array[0]} bits of padding, expected {self.padding}", codec=self.name
            )
        return np.unpackbits(array[1:], count=self.decoded.count).view(bool).reshape(self.decoded.shape)

    def encode(self, array: Elements) -> Elements:
        return np.concatenate([np.array([self.padding], np.uint8), np.packbits(array.reshape(-1))])


@codec("numcodecs.categorize")
class Categorize(Elementwise):
    """Stores strings as numbers: 1 is the first label; 0 and all numbers beyond the labels mean the empty string."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        if not decoded.dtype.variable and decoded.numpy.kind not in "US":
            raise settings.unfit(f"stores strings, but the data type is {decoded.dtype.name!r}")
        super().__init__(settings, decoded, named_dtype(settings, "astype", np.dtype(np.uint8)))
        labels = settings.value("labels")
        if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
            raise settings.fault("labels", "must be a list of strings")
        if self.made.kind not in "iu" or len(labels) > np.iinfo(self.made).max:
            raise settings.fault("astype", f"{self.made} has no number for each of {len(labels)} labels")
        if (len(labels) + 2) * self.decoded.numpy.itemsize > MAX_CHUNK_BYTES:
            raise settings.unfit(f"has {len(labels):,} labels, too many for the data type {decoded.dtype.name!r}")
        self.labels = tuple(labels)
        self.table = np.array(["", *labels, ""], dtype=self.decoded.numpy)
        self.encode_fill()

    def decode(self, array: Elements) -> Elements:
        count = len(self.labels)
        known = (array >= 0) & (array <= count)
        return self.table[np.where(known, array, 0).astype(np.intp)]

    def encode(self, array: Elements) -> Elements:
        numbers = {label: i for i, label in reversed([*enumerate(self.labels, 1)])}
        made = np.fromiter((numbers.get(item, 0) for item in array.flat), self.made, array.size)
        return made.reshape(array.shape)


@codec("scale_offset")
class ScaleOffset(Elementwise):
    """Encodes x as (x − offset) · scale and decodes y as y / scale + offset, in the arithmetic of the array's dtype."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded, decoded.numpy)
        if decoded.numpy.kind not in "iufc" and decoded.numpy.kind != "V":
            raise settings.unfit(f"scales numbers, but the data type is {decoded.dtype.name!r}")
        for member in settings.members:
            if member not in ("offset", "scale"):
                raise settings.fault(member, "is not one of its settings, which are offset and scale")
        self.offset = self._number(settings, "offset", 0)
        self.scale = self._number(settings, "scale", 1)
        if self.scale == 0:
            raise settings.fault("scale", "must not be 0")
        self.encode_fill()

    def _number(self, settings: CodecSettings, member: str, default: int) -> JSON:
        if not settings.has(member):
            return self.decoded.numpy.type(default)
        try:
            return parse_fill(settings.value(member), self.decoded.dtype).value
        except ZarrscopeError as error:
            raise settings.fault(member, f"is not a valid {self.decoded.dtype.name}: {error.message}") from None

    def decode(self, array: Elements) -> Elements:
        with np.errstate(all="ignore"):
            if array.dtype.kind in "iu":
                whole, rest = np.divmod(array, self.scale)
                if rest.any():
                    raise BadChunk(f"{self.name}: values are not multiples of the scale {self.scale}", codec=self.name)
                made: Elements = whole + self.offset
                return made
            made = array / self.scale + self.offset
        return made.astype(array.dtype)

    def encode(self, array: Elements) -> Elements:
        with np.errstate(all="ignore"):
            made: Elements = (array - self.offset) * self.scale
        if array.dtype.kind in "iu" and ((made // self.scale) + self.offset != array).any():
            raise Refused(f"{self.name}: scaled values do not fit {array.dtype}", advice="Choose another scale.")
        return made.astype(array.dtype)


ROUNDINGS = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")


@codec("cast_value")
class CastValue(Elementwise):
    """Stores numbers as another data type: values are converted, not bits. `scalar_map` replaces single values."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        try:
            target = data_type(settings.value("data_type"))
        except ZarrscopeError as error:
            raise settings.fault("data_type", f"is not a data type: {error.message}") from None
        if target.numpy is None or target.numpy.kind not in "iuf" + "V" or target.numpy.type is np.void:
            raise settings.unsupported("data_type", f"casting to {target.name!r}", target.advice or None)
        if decoded.numpy.kind not in "iufV" or decoded.numpy.type is np.void:
            raise settings.unfit(f"casts numbers, but the data type is {decoded.dtype.name!r}")
        super().__init__(settings, decoded, target.numpy)
        self.encoded = ArraySpec(decoded.shape, target, Fill(np.zeros((), target.numpy)[()], defined=False))
        self.rounding = settings.choice("rounding", ROUNDINGS, default="nearest-even")
        self.beyond = settings.choice("out_of_range", ("clamp", "wrap", None), default=None)
        if self.beyond == "wrap" and target.numpy.kind not in "iu":
            raise settings.fault("out_of_range", "can wrap integers only")
        maps = settings.value("scalar_map", None) or {}
        if not isinstance(maps, dict):
            raise settings.fault("scalar_map", "must be an object with encode and decode")
        self.to_encoded = self._pairs(settings, maps.get("encode"), decoded, self.encoded)
        self.to_decoded = self._pairs(settings, maps.get("decode"), self.encoded, decoded)
        self.encode_fill()

    def _pairs(
        self, settings: CodecSettings, pairs: object, source: ArraySpec, target: ArraySpec
    ) -> list[tuple[Any, Any]]:
        if pairs is None:
            return []
        if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise settings.fault("scalar_map", "must hold lists of pairs [from, to]")
        try:
            return [
                (
                    parse_fill(before, source.dtype, lenient=True).value,
                    parse_fill(after, target.dtype, lenient=True).value,
                )
                for before, after in pairs
            ]
        except ZarrscopeError as error:
            raise settings.fault("scalar_map", f"holds a value of the wrong type: {error.message}") from None

    def decode(self, array: Elements) -> Elements:
        return self._cast(array, self.decoded.numpy, self.to_decoded)

    def encode(self, array: Elements) -> Elements:
        try:
            return self._cast(array, self.made, self.to_encoded)
        except ValueError as error:
            raise Refused(f"{self.name}: {error}", advice="Set out_of_range, or choose another data type.") from None

    def _cast(self, array: Elements, target: np.dtype[Any], pairs: list[tuple[Any, Any]]) -> Elements:
        mapped = [(array != array if before != before else array == before, after) for before, after in pairs]
        source = array
        if mapped:
            source = array.copy()
            for places, _ in mapped:
                source[places] = 0
        with np.errstate(all="ignore"):
            made = self._to_integers(source, target) if target.kind in "iu" else self._to_floats(source, target)
        for places, after in mapped:
            made[places] = after
        return made

    def _to_integers(self, array: Elements, target: np.dtype[Any]) -> Elements:
        limits = np.iinfo(target)
        low, high = int(limits.min), int(limits.max)
        if array.dtype.kind not in "iu":
            array = array.astype(np.float64)
            if np.isnan(array).any():
                raise ValueError(f"NaN cannot be stored as {target}")
            array = self._rounded(array)
            # No float64 equals 2^64 - 1, so values are compared with the next float64 above a large bound.
            beyond = (array < low) | (array >= float(high) + 1 if high >= 1 << 53 else array > high)
            if beyond.any() and self.beyond == "wrap":
                if not np.isfinite(array).all():
                    raise ValueError(f"infinity cannot wrap into {target}")
                whole = [int(value) & ((1 << 8 * target.itemsize) - 1) for value in array.reshape(-1)]
                return np.array(whole, np.uint64).astype(f"u{target.itemsize}").view(target).reshape(array.shape)
            made = np.where(beyond, 0, array).astype(target)
            if beyond.any():
                self._need_clamp(target)
                made = np.where(beyond, np.where(array < low, target.type(low), target.type(high)), made)
            return made
        beyond = np.zeros(array.shape, bool)
        if int(np.iinfo(array.dtype).min) < low:
            beyond |= array < max(low, int(np.iinfo(array.dtype).min))
        if int(np.iinfo(array.dtype).max) > high:
            beyond |= array > high
        made = array.astype(target)
        if beyond.any() and self.beyond != "wrap":
            self._need_clamp(target)
            made = np.where(beyond, np.where(array < 0, target.type(low), target.type(high)), made)
        return made

    def _need_clamp(self, target: np.dtype[Any]) -> None:
        if self.beyond != "clamp":
            raise ValueError(f"values lie outside the range of {target}, and out_of_range is not set")

    def _rounded(self, array: Elements) -> Elements:
        if self.rounding == "nearest-away":
            whole = np.trunc(array)
            return whole + np.where(np.abs(array - whole) >= 0.5, np.copysign(1.0, array), 0.0)
        chosen: Callable[[Elements], Elements] = {
            "nearest-even": np.rint,
            "towards-zero": np.trunc,
            "towards-positive": np.ceil,
            "towards-negative": np.floor,
        }[self.rounding]
        rounded: Elements = chosen(array)
        return rounded

    def _to_floats(self, array: Elements, target: np.dtype[Any]) -> Elements:
        made = array.astype(target)
        if target.kind != "f" or self.rounding in ("nearest-even", "nearest-away") or target == array.dtype:
            return made
        back = made.astype(np.longdouble) - array.astype(np.longdouble)
        up = np.nextafter(made, target.type(np.inf))
        down = np.nextafter(made, target.type(-np.inf))
        if self.rounding == "towards-positive":
            return np.where(back < 0, up, made)
        if self.rounding == "towards-negative":
            return np.where(back > 0, down, made)
        return np.where((back > 0) & (array > 0), down, np.where((back < 0) & (array < 0), up, made))
