"""Codecs of v2 for Python objects: vlen-array, json2, msgpack2, and pickle, which is refused (spec F.11, F.12).

Specification: https://numcodecs.readthedocs.io/en/stable/

    {"dtype": "|O", "filters": [{"id": "json2"}], "compressor": {"id": "zlib", "level": 1}}

json2 and msgpack2 store one list: the items, then the dtype and the shape. The dtype and the shape are checked against
the array's metadata before the items are used. The codecs vlen-utf8 and vlen-bytes are in array.py.
"""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrscope.codecs.array import VariableLength
from zarrscope.codecs.codec import ArraySpec, ArrayToBytes, Buffer, BytesSpec, Elements, codec
from zarrscope.codecs.limits import MAX_CHUNK_BYTES, how_to_allow
from zarrscope.codecs.native import needed
from zarrscope.codecs.objectsizes import VIEW, check_json, unpacked
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, Unsupported

if TYPE_CHECKING:
    from zarrscope.codecs.array import ElementCodec


@codec("numcodecs.vlen-array")
class VlenArray(VariableLength):
    """Stores items that are 1-D arrays of one dtype."""

    item_size = VIEW

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        try:
            self.item = np.dtype(settings.text("dtype"))
        except (TypeError, ValueError) as error:
            raise settings.fault("dtype", f"is not a dtype: {error}") from None
        if self.item.hasobject or self.item.itemsize == 0:
            raise settings.fault("dtype", "must have elements of a fixed size")

    def _codec(self) -> ElementCodec:
        found: ElementCodec = needed("numcodecs.vlen").VLenArray(self.item)
        return found


class Itemised(ArrayToBytes):
    """A codec that stores one list of the items, their dtype and their shape, in a self-describing encoding."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if not decoded.dtype.variable and decoded.numpy.kind not in "US":
            raise settings.unfit(f"stores objects, but the data type is {decoded.dtype.name!r}")
        self.encoded = BytesSpec(None, MAX_CHUNK_BYTES)

    def _parse(self, data: Buffer) -> object:
        raise NotImplementedError  # each encoding overrides this

    def _compose(self, items: list[Any]) -> bytes:
        raise NotImplementedError  # each encoding overrides this

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        if len(data) > MAX_CHUNK_BYTES:
            raise BadChunk(
                f"{self.name}: the chunk has more than {MAX_CHUNK_BYTES:,} bytes",
                codec=self.name,
                advice=how_to_allow(2 * len(data)),
            )
        items = self._parse(data)
        if not isinstance(items, list) or len(items) < 2:
            raise BadChunk(f"{self.name}: the chunk is not a list of items, dtype and shape", codec=self.name)
        *items, dtype, shape = items
        if not isinstance(dtype, str) or dtype.lstrip("<>|=")[:1] not in ("O", "U", "S"):
            raise BadChunk(
                f"{self.name}: the chunk states the dtype {dtype!r:.40}, which is not for objects or strings",
                codec=self.name,
            )
        sizes = shape if isinstance(shape, list) else [shape]
        if any(type(n) is not int or n < 0 for n in sizes) or prod(sizes) != self.decoded.count:
            raise BadChunk(
                f"{self.name}: the chunk states the shape {shape!r:.60}, expected {list(self.decoded.shape)}",
                codec=self.name,
            )
        flat: list[Any] = items
        for _ in sizes[1:]:
            if not all(isinstance(row, list) for row in flat):
                raise BadChunk(f"{self.name}: the items are not nested as the shape {sizes} says", codec=self.name)
            flat = [item for row in flat for item in row]
        if len(flat) != self.decoded.count:
            raise BadChunk(
                f"{self.name}: the chunk has {len(flat):,} items, {self.decoded.count:,} are expected", codec=self.name
            )
        found = np.empty(len(flat), self.decoded.numpy)
        for i, item in enumerate(flat):
            found[i] = item
        found = found.reshape(self.decoded.shape)
        if out is None:
            return found
        out[...] = found
        return out

    def encode(self, array: Elements) -> bytes:
        items = np.atleast_1d(array).tolist()
        return self._compose([*items, array.dtype.str if array.dtype.kind != "O" else "|O", list(array.shape)])


@codec("numcodecs.json2")
class Json2(Itemised):
    """Stores objects as JSON, as numcodecs "json2" does."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        self.encoding = settings.choice("encoding", ("utf-8", "utf8", "ascii", "latin-1"), default="utf-8")

    def _parse(self, data: Buffer) -> object:
        check_json(self.name, data)
        return json.loads(bytes(data).decode(self.encoding))

    def _compose(self, items: list[Any]) -> bytes:
        return json.dumps(items, separators=(",", ":"), sort_keys=True).encode(self.encoding)


@codec("numcodecs.msgpack2")
class Msgpack2(Itemised):
    """Stores objects as MessagePack, as numcodecs "msgpack2" does."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        self.raw = settings.boolean("raw", default=False)
        self.use_bin_type = settings.boolean("use_bin_type", default=True)
        self.use_single_float = settings.boolean("use_single_float", default=False)

    def _parse(self, data: Buffer) -> object:
        unpack = needed("msgpack").unpackb
        items = unpacked(self.name, data, unpack, raw=self.raw, strict_map_key=False)
        if self.raw and isinstance(items, list) and len(items) > 1 and isinstance(items[-2], bytes):
            items[-2] = items[-2].decode("ascii", "replace")
        return items

    def _compose(self, items: list[Any]) -> bytes:
        packed = needed("msgpack").packb(items, use_bin_type=self.use_bin_type, use_single_float=self.use_single_float)
        return bytes(packed)


@codec("numcodecs.pickle")
class Pickle(ArrayToBytes):
    """Refuses pickled objects, because loading a pickle runs any code that its writer put into it."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        raise Unsupported(
            "This array is stored with pickle, which can run any program: zarrscope never decodes it",
            feature="codec pickle",
            advice="If you trust its source, convert it with other software to vlen-utf8, json2 or numbers.",
        )
