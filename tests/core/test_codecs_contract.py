"""Every codec of the registry keeps the promises of a codec."""

from contracts.codec import EXAMPLES, UNWRITTEN, CodecContract
from zarrscope.codecs import CODECS


class TestCodecs(CodecContract):
    pass


def test_every_codec_has_an_example() -> None:
    assert set(CODECS) - set(EXAMPLES) - set(UNWRITTEN) == set()
