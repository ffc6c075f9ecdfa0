"""The picture of the still page as an output of its own, in a format of pictures that every notebook viewer shows.

Viewers that allow few tags would remove the picture from a page, or print it as text. The file has a mark, a multiple
of three bytes behind its beginning, so that the style sheet of the widget recognises its address in base64, and hides
it while the widget is alive.
"""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import numpy.typing as npt

from zarrscope.view.png import png

MARK = b"zarrscope still picture."
"""The text in the file; widget.css has the same in base64."""
PACKED_BYTES = 60_000
"""The size up to which a picture is stored as PNG, without losses."""
QUALITIES = (85, 60, 30)
"""Qualities of JPEG: the first one that needs at most PACKED_BYTES is used, or the last."""


def still_picture(rgb: npt.NDArray[np.uint8]) -> tuple[str, bytes]:
    """(media type, bytes) of a picture, with the mark."""
    data = png(rgb, 9)
    if len(data) > PACKED_BYTES:
        try:
            from PIL import Image
        # Pillow may be missing in an environment that was made by hand: then the file is large.
        except ImportError:
            return "image/png", _marked_png(data)
        for quality in QUALITIES:
            buffer = io.BytesIO()
            Image.fromarray(rgb).save(buffer, "JPEG", quality=quality)
            if buffer.tell() <= PACKED_BYTES:
                break
        return "image/jpeg", _marked_jpeg(buffer.getvalue())
    return "image/png", _marked_png(data)


def _marked_png(data: bytes) -> bytes:
    """The file with a chunk of text after its first chunk: the mark begins at byte 33 + 8 + 7."""
    chunk = b"tEXt" + b"Source\x00" + MARK
    return data[:33] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + data[33:]


def _marked_jpeg(data: bytes) -> bytes:
    """The file with a comment after its first segment, that of JFIF: the mark begins at byte 20 + 4."""
    return data[:20] + b"\xff\xfe" + struct.pack(">H", len(MARK) + 2) + MARK + data[20:]
