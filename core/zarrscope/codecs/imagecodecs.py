"""Codecs named imagecodecs_<x>, in v2 and v3 stores. They need the package imagecodecs.

Specification: https://github.com/cgohlke/imagecodecs (its module numcodecs lists names and settings)

    {"dtype": "|u1", "filters": null, "compressor": {"id": "imagecodecs_png"}}

Image formats are array→bytes codecs, compressors are bytes→bytes codecs. Every decoder gets an output buffer of the
chunk's size, so that it cannot decode an image larger than the chunk (spec F.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrscope.codecs.codec import (
    ArraySpec,
    ArrayToBytes,
    Buffer,
    BytesSpec,
    BytesToBytes,
    CodecClass,
    Elements,
    Octets,
)
from zarrscope.codecs.native import library
from zarrscope.codecs.settings import CodecSettings
from zarrscope.errors import BadChunk, Refused, Unsupported
from zarrscope.errors.installing import how_to_install_packages

PREFIX = "imagecodecs_"
STREAMS = frozenset(
    "aec blosc blosc2 brotli bz2 deflate gzip isal lz4 lz4f lz4h5 lzf lzfse lzham lzma lzo lzw packbits snappy szip "
    "zlib zlibng zopfli zstd".split()
)
UNSAFE = frozenset({"lzw"})
"""Decoders of imagecodecs 2026.3.6 with which a fuzzer could crash the process. Damaged data must never do that."""
FILTERS = frozenset("bitorder bitshuffle byteshuffle checksum cms delta floatpred quantize xor packints".split())


class ImageCodec(ArrayToBytes):
    """An image format as a codec. Axes of length one may be missing from the stored image."""

    def __init__(self, settings: CodecSettings, decoded: ArraySpec) -> None:
        super().__init__(settings, decoded)
        if decoded.nbytes is None:
            raise settings.unfit(f"stores images, but the data type is {decoded.dtype.name!r}")
        self.function = self.name.removeprefix(PREFIX)
        self.level = settings.value("level", None)
        self.encoded = BytesSpec.exactly(decoded.nbytes).compressed()

    def decode(self, data: Buffer, out: Elements | None) -> Elements:
        decode = getattr(library("imagecodecs"), f"{self.function}_decode")
        found: Elements = np.empty(self.decoded.shape, self.decoded.numpy)
        problem: Exception | None = None
        for shape in self._shapes():
            try:
                image = decode(bytes(data), out=found.reshape(shape))
            except Exception as error:
                problem = problem or error
                continue
            if image.dtype == found.dtype and image.size == found.size:
                found = np.asarray(image).reshape(self.decoded.shape)
                break
        else:
            raise BadChunk(f"{self.name} cannot decode this chunk: {problem}", codec=self.name)
        if out is None:
            return found
        out[...] = found
        return out

    def _shapes(self) -> list[tuple[int, ...]]:
        """The shapes that the stored image may have: the chunk's shape without axes of length one but with at least two
        axes, the same with any number of axes, and the chunk's shape itself."""
        squeezed = tuple(n for n in self.decoded.shape if n != 1)
        plane = (1,) * (2 - len(squeezed)) + squeezed
        return list(dict.fromkeys([plane, squeezed, self.decoded.shape]))

    def need_encoding(self) -> None:
        if not hasattr(library("imagecodecs"), f"{self.function}_encode"):
            raise Unsupported(f"{self.name} can only be read here", feature=f"writing {self.name}")

    def encode(self, array: Elements) -> bytes:
        encode = getattr(library("imagecodecs"), f"{self.function}_encode")
        squeezed = np.ascontiguousarray(array).reshape(self._shapes()[0])
        try:
            return bytes(encode(squeezed) if self.level is None else encode(squeezed, level=self.level))
        except Exception as error:
            raise Refused(f"{self.name} cannot store this chunk: {error}", advice="Choose another codec.") from None


class StreamCodec(BytesToBytes):
    """A compressor of bytes as a codec."""

    def __init__(self, settings: CodecSettings, decoded: BytesSpec) -> None:
        super().__init__(settings, decoded)
        self.function = self.name.removeprefix(PREFIX)
        self.level = settings.value("level", None)
        self.more: dict[str, Any] = {"header": True} if settings.value("header", False) is True else {}
        if decoded.size is None:
            raise settings.unsupported("", f"{self.name} after another compressor")

    def _expand_into(self, data: Buffer, out: Octets) -> None:
        decode = getattr(library("imagecodecs"), f"{self.function}_decode")
        try:
            found = decode(bytes(data), out=out, **self.more)
        except Exception as error:
            raise self.damaged(error) from None
        self.check_size(len(found), out.size)

    def need_encoding(self) -> None:
        if not hasattr(library("imagecodecs"), f"{self.function}_encode"):
            raise Unsupported(f"{self.name} can only be read here", feature=f"writing {self.name}")

    def encode(self, data: bytes) -> bytes:
        encode = getattr(library("imagecodecs"), f"{self.function}_encode")
        level = {} if self.level is None else {"level": self.level}
        try:
            return bytes(encode(data, **level, **self.more))
        except Exception as error:
            raise Refused(f"{self.name} cannot store this chunk: {error}", advice="Choose another codec.") from None


def image_codec(name: str) -> CodecClass:
    """Returns the class for `imagecodecs_<x>`. Raises Unsupported if the package is not installed or lacks the codec,
    or if zarrscope does not use the codec (UNSAFE, FILTERS)."""
    package = library("imagecodecs")
    if package is None:
        raise Unsupported(
            f"The codec {name!r} needs a package that is not installed",
            feature=f"codec {name}",
            advice=how_to_install_packages("imagecodecs"),
        )
    function = name.removeprefix(PREFIX)
    described = getattr(package, function.upper(), None)
    if function in UNSAFE:
        raise Unsupported(
            f"The codec {name!r} is not used: damaged data could crash the program",
            feature=f"codec {name}",
            advice="If you trust its source, convert the array to another codec with other software.",
        )
    available = getattr(described, "available", False) and hasattr(package, f"{function}_decode")
    if not available or function in FILTERS:
        raise Unsupported(
            f"The codec {name!r} is not offered by the installed imagecodecs"
            if not available
            else f"The codec {name!r} is a filter that zarrscope does not read",
            feature=f"codec {name}",
            advice="A newer imagecodecs may have it." if not available else None,
        )
    kind: CodecClass = StreamCodec if function in STREAMS else ImageCodec
    return type(f"Imagecodecs_{function}", (kind,), {"name": name})
