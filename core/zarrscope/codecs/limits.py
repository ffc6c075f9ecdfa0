"""The largest decoded chunk that is accepted. To allow larger ones, set `zarrscope.codecs.limits.MAX_CHUNK_BYTES`."""

MAX_CHUNK_BYTES = 1 << 30
"""A chunk that decodes to more is refused (spec F.2), and so is more text than this in a chunk of strings."""
