"""A store of another package: example://name/node, values kept in a dict for the life of the process."""

from typing import Any

from zarrscope.model.storage import Version
from zarrscope.stores.registry import StoreKind
from zarrscope.stores.store import Store

VALUES: dict[Any, dict[Any, Any]] = {}


class ExampleStore(Store):
    """A store with only the required operations: get, list, set and erase."""

    def __init__(self, url: Any) -> None:
        self.url = url
        self.values = VALUES.setdefault(url, {})

    def _get(self, key: Any, part: Any, limit: Any = None) -> Any:
        value = self.values.get(key)
        return value if value is None or part is None else part.of(value)

    def _list(self) -> Any:
        return iter([*self.values])

    def _set(self, key: Any, value: Any, expect: Any) -> Any:
        with self.lock(key):
            found = self.values.get(key)
            self._expect(key, expect, None if found is None else (found, Version.of(found)))
            self.values[key] = value
        return Version.of(value)

    def _erase(self, key: Any) -> None:
        self.values.pop(key, None)


STORE = StoreKind("example", "a dict in this process", lambda url, mode, options: ExampleStore(url), form="name")
