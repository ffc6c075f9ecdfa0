"""A dialect of another package: Zarr v3 whose documents are called node.json."""

from typing import Any

from zarrscope.dialects.v3 import V3
from zarrscope.errors import ZarrscopeError


class Renamed(V3):
    name = "example-renamed"
    title = "Zarr v3 under another name"
    signs = ("node.json",)

    def recognize(self, documents: Any) -> Any:
        return super().recognize(ours(documents))

    def documents(self, path: Any, kind: Any = None) -> Any:
        return tuple(map(theirs, super().documents(path, kind)))

    def attributes_at(self, path: Any, kind: Any) -> Any:
        key, pointer = super().attributes_at(path, kind)
        return theirs(key), pointer

    def parse(self, path: Any, documents: Any) -> Any:
        try:
            return super().parse(path, ours(documents))
        except ZarrscopeError as error:
            error.key = theirs(error.key)
            raise

    def stated_kind(self, path: Any, documents: Any) -> Any:
        return super().stated_kind(path, ours(documents))

    def faults(self, documents: Any) -> Any:
        return [(theirs(key), fault) for key, fault in super().faults(ours(documents))]

    def consolidated_location(self, key: Any) -> Any:
        return None

    def consolidated(self, documents: Any) -> Any:
        return None

    def consolidate(self, texts: Any, root: Any) -> Any:
        return {}

    def write(self, path: Any, metadata: Any, attributes: Any) -> Any:
        return {theirs(key): value for key, value in super().write(path, metadata, attributes).items()}


def theirs(key: Any) -> Any:
    return key.removesuffix("zarr.json") + "node.json" if key.endswith("zarr.json") else key


def ours(documents: Any) -> Any:
    return {
        key.removesuffix("node.json") + "zarr.json": value for key, value in documents.items() if "node.json" in key
    }
