"""Array→bytes codecs that compress numbers: zfp (without and with its header) and pcodec.

Specification: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zfp;
zfpy and pcodec: https://numcodecs.readthedocs.io/en/stable/

    {"data_type": "float32", "codecs": [
        {"name": "zfp", "configuration": {"mode": "reversible"}}]}

zfp does not check where its stream ends, so it always gets a copy padded with zeros to the longest stream that the
chunk could have (spec F.4 describes the same fault in blosc). If a stream was cut, zfp then reads these zeros and never
memory beyond the copy.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from zarrscope.codecs.codec import ArraySpec, ArrayToBytes, Buffer, BytesSpec, Elements, codec
from zarrscope.codecs.native import needed
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk

_ZFP_TYPES = {"int32": "type_int32", "int64": "type_int64", "float32": "type_float", "float64": "type_double"}


class Zfpy(ArrayToBytes):
    """The common part of both zfp codecs: types, sizes, and decoding from padded bytes."""

    arguments: dict[str, Any]

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if decoded.dtype.name not in _ZFP_TYPES:
            raise settings.unfit(f"stores {', '.join(_ZFP_TYPES)}, but the data type is {decoded.dtype.name!r}")
        if not 1 <= len(decoded.shape) <= 4 or 0 in decoded.shape:
            raise settings.unfit(f"stores 1 to 4 axes of at least one element, not {list(decoded.shape)}")
        blocks = prod(-(-n // 4) for n in decoded.shape)
        self.block_bits = 4 ** len(decoded.shape) * 66 + 128
        self.most = blocks * self.block_bits // 8 + 64
        self.encoded = BytesSpec(None, self.most)

    def _padded(self, data: Buffer) -> bytes:
        if len(data) > self.most:
            raise BadChunk(
                f"{self.name}: the chunk has {len(data):,} bytes, and can have at most {self.most:,}", codec=self.name
            )
        if len(data) < 2:
            raise BadChunk(f"{self.name}: the chunk has {len(data)} bytes: it is cut off", codec=self.name)
        return bytes(data).ljust(self.most + 64, b"\0")

    def _finished(self, found: Elements, out: Elements | None) -> Elements:
        found = found.reshape(self.decoded.shape)
        if out is None:
            return found
        out[...] = found
        return out

    def described(self, data: Buffer, out: Elements | None) -> Elements:
        """Decodes a stream with a header, after checking that the header fits the chunk."""
        zfpy = needed("zfpy")
        whole = self._padded(data)
        header = zfpy.header(whole)
        shape = tuple(n for n in (header["nw"], header["nz"], header["ny"], header["nx"]) if n)
        if shape != self.decoded.shape or np.dtype(header["type"]) != self.decoded.numpy:
            raise BadChunk(
                f"{self.name}: the stream holds {np.dtype(header['type'])} {shape}, "
                f"expected {self.decoded.numpy} {self.decoded.shape}",
                codec=self.name,
            )
        config = header["config"]
        if config["expert"]["minbits"] > self.block_bits or config["rate"] > 64:
            raise BadChunk(f"{self.name}: the header states more bits per block than are possible", codec=self.name)
        return self._finished(zfpy.decompress_numpy(whole), out)

    def _compress(self, array: Elements, header: bool) -> bytes:
        zfpy = needed("zfpy")
        return bytes(zfpy.compress_numpy(np.ascontiguousarray(array), write_header=header, **self.arguments))


@codec("zfp")
class Zfp(Zfpy):
    """The registered codec "zfp": a stream without a header, whose mode the configuration states.

    An earlier form of it in zarrs had the setting `write_header`. With it, the stream equals that of numcodecs.zfpy.
    """

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        self.header = settings.boolean("write_header", default=False)
        modes = ("reversible", "fixed_accuracy", "fixed_rate", "fixed_precision", "expert")
        mode = settings.choice("mode", modes)
        if mode == "expert":
            raise settings.unsupported("mode", "mode 'expert' of zfp", "zfpy offers the four other modes.")
        self.arguments = {}
        if mode == "fixed_accuracy":
            self.arguments["tolerance"] = float(settings.number("tolerance"))
        elif mode == "fixed_rate":
            self.arguments["rate"] = rate = float(settings.number("rate"))
            if not 0 < rate <= 64:
                raise settings.fault("rate", f"must lie in 0…64 bits per element, not {rate}")
        elif mode == "fixed_precision":
            self.arguments["precision"] = settings.integer("precision", low=1, high=128)

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        if self.header:
            return self.described(data, out)
        zfpy = needed("zfpy")
        kind = getattr(zfpy, _ZFP_TYPES[self.decoded.dtype.name])
        found = zfpy._decompress(self._padded(data), kind, self.decoded.shape, **self.arguments)
        return self._finished(found, out)

    def encode(self, array: Elements) -> bytes:
        return self._compress(array, self.header)


@codec("numcodecs.zfpy")
class NumcodecsZfpy(Zfpy):
    """The codec "zfpy" of numcodecs: a stream with a header, which states the data type, shape and mode."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        mode = settings.integer("mode", default=4)
        member = {2: "rate", 3: "precision", 4: "tolerance"}.get(mode)
        self.arguments = {} if member is None else {member: settings.number(member, default=-1)}

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        return self.described(data, out)

    def encode(self, array: Elements) -> bytes:
        return self._compress(array, header=True)


@codec("numcodecs.pcodec")
class Pcodec(ArrayToBytes):
    """Stores the elements in C order in pcodec's standalone format."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if decoded.dtype.variable or decoded.numpy.kind not in "iuf" or decoded.dtype.itemsize not in (2, 4, 8):
            raise settings.unfit(f"stores numbers of 2, 4 or 8 bytes, but the data type is {decoded.dtype.name!r}")
        self.level = settings.integer("level", default=8, low=0, high=12)
        self.encoded = BytesSpec.exactly(decoded.nbytes or 0).compressed()

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        whole = out is not None and out.flags.c_contiguous
        target = out if whole and out is not None else np.empty(self.decoded.shape, self.decoded.numpy)
        try:
            progress = needed("pcodec.standalone").simple_decompress_into(bytes(data), target.reshape(-1))
        except BaseException as error:
            # A panic in the Rust library raises a BaseException that is not an Exception.
            if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
                raise
            raise BadChunk(f"{self.name} cannot decode this chunk: {error}", codec=self.name) from None
        found = int(getattr(progress, "n_processed", getattr(progress, "n", self.decoded.count)))
        if found != self.decoded.count or not progress.finished:
            raise BadChunk(
                f"{self.name} holds {'more' if found == self.decoded.count else f'{found:,}'} elements where the chunk "
                f"has {self.decoded.count:,}",
                codec=self.name,
            )
        if out is not None and target is not out:
            out[...] = target
            return out
        return target

    def encode(self, array: Elements) -> bytes:
        pcodec = needed("pcodec")
        flat = np.ascontiguousarray(array).reshape(-1)
        config = pcodec.ChunkConfig(compression_level=self.level)
        return bytes(needed("pcodec.standalone").simple_compress(flat, config))
