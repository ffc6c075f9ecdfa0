"""Two codecs of another package: one of elements, one of bytes. Their decorators state the entry points."""

from typing import Any

import numpy as np

from zarrscope.codecs import ArrayToArray, BytesToBytes, codec


@codec("example.add", members={"value": {"type": "integer", "default": 1}}, required=("value",))
class Add(ArrayToArray):
    """Adds a number to each element."""

    def __init__(self, settings: Any, decoded: Any) -> None:
        super().__init__(settings, decoded)
        self.value = settings.integer("value", default=1)

    def encode(self, array: Any) -> Any:
        return np.asarray(array + self.value, array.dtype)

    def decode(self, array: Any) -> Any:
        return np.asarray(array - self.value, array.dtype)


@codec("example.flip", v2="flip", draft="flip", n5="flip", members={})
class Flip(BytesToBytes):
    """Inverts every bit."""

    def __init__(self, settings: Any, decoded: Any) -> None:
        super().__init__(settings, decoded)
        self.encoded = decoded

    def encode(self, data: Any) -> Any:
        return bytes(255 - byte for byte in bytes(data))

    def _expand(self, data: Any, limit: Any) -> Any:
        return self.encode(data)
