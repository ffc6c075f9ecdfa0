"""Every codec of the registry keeps the promises of a codec."""

from contracts.codec import CodecContract


class TestCodecs(CodecContract):
    pass
