"""The contract of absence over a web server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from contracts.absence import CHUNK, VALUES, Absence
from contracts.hostile_http import BEHAVIOURS, Ask, hostile
from zarrscope.stores.http import HTTPStore
from zarrscope.stores.store import Store


class TestHTTP(Absence):
    @contextmanager
    def serving(self, answer: str, **settings: Any) -> Iterator[Store]:
        async def act(ask: Ask) -> None:
            if answer == "expired":
                await BEHAVIOURS["expired token"](ask)
            elif (answer == "denied chunk" and ask.key == CHUNK) or (answer == "no listing" and ask.value is None):
                await BEHAVIOURS["denied alike"](ask)
            else:
                await ask.honest()

        with hostile(act, VALUES) as server:
            yield HTTPStore(server.url, pause=0, **settings)

    @contextmanager
    def without_bucket(self) -> Iterator[Store]:
        with hostile("no such bucket", {}) as server:
            yield HTTPStore(server.url + "/bucket/x.zarr")
