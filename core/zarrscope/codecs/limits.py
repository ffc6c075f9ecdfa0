"""The largest decoded chunk that is accepted. To allow larger ones, set `zarrscope.codecs.limits.MAX_CHUNK_BYTES`."""

MAX_CHUNK_BYTES = 1 << 30
"""A chunk that decodes to more bytes is refused (spec F.2), and so is a chunk of strings with more bytes of text."""
