"""A Redis server as a store: redis://host:6379/0/prefix, in the layout of zarr-python 2's RedisStore.

A value is a Redis string under the key "prefix:key"; the default prefix is "zarr", the default database 0. Many values
are requested in one round trip. The comparison with `expect` and the storing are one transaction (WATCH, MULTI), so no
other client can change the value in between. Documentation of the layout:
https://zarr.readthedocs.io/en/v2.18.3/api/storage.html#zarr.storage.RedisStore
"""

from __future__ import annotations

import errno
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, Self

from zarrscope.errors import Conflict, Denied, ReadOnly, Refused, Unreadable, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal
from zarrscope.model.storage import Answer, ByteRange, Request, Version, never
from zarrscope.runtime.interrupts import LOOK_SECONDS
from zarrscope.runtime.tuning import REDIS_AT_ONCE, REDIS_PAGE
from zarrscope.stores.keys import too_large
from zarrscope.stores.local.failures import KEPT
from zarrscope.stores.network import network, others
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store
from zarrscope.stores.whole_address import whole_address

PREFIX = "zarr"


class RedisStore(Store):
    """The Redis strings whose keys begin with "prefix:", in one database. The store connects when it is first used, and
    again after `close`."""

    remote = True

    def __init__(self, url: str, *, writable: bool = False, **options: Any) -> None:
        conceal(options)
        server, database, prefix = place_of(url)
        self.url = f"{server}/{database}/{prefix}"
        self._prefix = f"{prefix}:"
        self._address = f"{server}/{database}"
        self._options = others(options)
        self._seconds = network(options).timeout
        self._opened: Any = None
        self.writable = writable

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self.url, self.writable)

    @property
    def _client(self) -> Any:  # Any: redis types answers as text, too, which this client never asks for
        if self._opened is None:
            import redis

            self._opened = redis.Redis.from_url(
                self._address, socket_timeout=self._seconds, socket_connect_timeout=self._seconds, **self._options
            )
        return self._opened

    def close(self) -> None:
        """Closes the connections; the next request opens them again."""
        if self._opened is not None:
            self._opened.close()
            self._opened.connection_pool.disconnect()  # redis-py 5.0.0 closes no connection of a client made from a URL
            self._opened = None

    @contextmanager
    def _asking(self, key: str) -> Iterator[Any]:
        """A context with the Redis client. The client's errors in it are raised as zarrscope's."""
        import redis

        try:
            yield self._client
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__
        except redis.WatchError as error:
            raise Conflict(
                "Another program was writing or erasing the same value",
                store=self.url,
                key=key,
                theirs=None,
                advice="Compare both versions, then save again.",
            ) from error
        except redis.RedisError as error:
            if (failed := _not_written(error)) is not None:
                raise failed.located(store=self.url, key=key or None) from cause(error)
            refused = isinstance(error, redis.AuthenticationError) or "NOPERM" in str(error) or "NOAUTH" in str(error)
            kind = Denied if refused else Unreadable
            raise kind(
                f"The request to the Redis server failed: {cause(error)}",
                store=self.url,
                key=key or None,
                advice="Check the address, the password and the network, then try again.",
            ) from cause(error)

    # ------------------------------------------------------------------ reading
    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        with self._asking(key):
            answer = self._answers([(key, part)], limit)[0]
            if isinstance(answer, ZarrscopeError):
                raise answer
            return answer

    def _get_many(
        self, requests: Sequence[Request], cancelled: Callable[[], bool], limit: int | None = None
    ) -> Iterator[tuple[int, Answer]]:
        for first in range(0, len(requests), REDIS_AT_ONCE):
            if cancelled():
                return
            some = requests[first : first + REDIS_AT_ONCE]
            try:
                with self._asking(some[0][0]), _Stopper(cancelled) as stopper:
                    answers = self._answers(some, limit, stopper)
            except ZarrscopeError as error:
                if cancelled():
                    return
                answers = [error] * len(some)
            yield from enumerate(answers, first)

    def _answers(self, requests: Sequence[Request], limit: int | None, stopper: _Stopper | None = None) -> list[Answer]:
        """Answers requests in one round trip; with a limit in two, of which the first requests the sizes."""
        sizes: list[int] | None = None
        if limit is not None:
            with self._client.pipeline(transaction=False) as asked:
                for key, _ in requests:
                    asked.strlen(self._name(key))
                if stopper is not None:
                    stopper.asked = asked
                sizes = asked.execute()
        with self._client.pipeline(transaction=False) as asked:
            for i, (key, part) in enumerate(requests):
                self._ask(asked, key, part, None if sizes is None or limit is None or sizes[i] <= limit else limit)
            if stopper is not None:
                stopper.asked = asked
            found = asked.execute()
        answers: list[Answer] = []
        for i, (key, part) in enumerate(requests):
            held, value = found[2 * i : 2 * i + 2]
            size = len(value) if sizes is None or part is not None else sizes[i]
            if held and limit is not None and size > limit:
                answers.append(too_large(size, limit).located(store=self.url, key=key))
            else:
                answers.append(bytes(value) if held else None)
        return answers

    def _ask(self, asked: Any, key: str, part: ByteRange | None, most: int | None) -> None:
        """Adds two requests to the round trip `asked`: whether the value exists, and its bytes."""
        name = self._name(key)
        asked.exists(name)
        if part is None:
            asked.getrange(name, 0, -1 if most is None else 0)
        elif part.length == 0:
            asked.getrange(name, 1, 0)
        elif part.start is None:
            asked.getrange(name, -(part.length or 0), -1)
        else:
            asked.getrange(name, part.start, -1 if part.length is None else part.start + part.length - 1)

    def _name(self, key: str) -> bytes:
        return (self._prefix + key).encode("utf-8", "surrogatepass")

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        start = self._name(prefix)
        pattern = re.sub(rb"([*?\[\]\\^])", rb"\\\1", start) + b"*"
        seen: set[bytes] = set()
        cursor = 0
        while True:
            with self._asking(prefix) as client:
                # Keys of every Redis type are listed: reading a value that is no string raises an error.
                cursor, names = client.scan(cursor, match=pattern, count=REDIS_PAGE)
            for name in names:
                if name not in seen and name.startswith(start):
                    seen.add(name)
                    yield name[len(self._prefix) :].decode("utf-8", "surrogateescape")
            if not cursor:
                return

    # ------------------------------------------------------------------ writing
    def _set(self, key: str, value: bytes, expect: Version | None) -> Version:
        name = self._name(key)
        with self._asking(key) as client:
            if expect is None:
                client.set(name, value)
                return Version.of(value)
            with client.pipeline() as turn:
                turn.watch(name)
                found = turn.get(name)
                self._expect(key, expect, None if found is None else (bytes(found), Version.of(bytes(found))))
                turn.multi()
                turn.set(name, value)
                turn.execute()
        return Version.of(value)

    def _erase(self, key: str) -> None:
        with self._asking(key) as client:
            client.delete(self._name(key))


class _Stopper:
    """Ends the wait for the server within the `with` block as soon as `cancelled()` is true: it shuts the connection of
    the round trip `asked`, so that other threads keep theirs."""

    def __init__(self, cancelled: Callable[[], bool]) -> None:
        self._cancelled = cancelled
        self._over = threading.Event()
        self._watching: threading.Thread | None = None
        self.asked: Any = None

    def __enter__(self) -> Self:
        if self._cancelled is not never:
            self._watching = threading.Thread(target=self._watch, name="zarrscope-redis", daemon=True)
            self._watching.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._watching is not None:
            self._watching.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            if not self._cancelled():
                continue
            connection: Any = getattr(self.asked, "connection", None)
            if (wire := getattr(connection, "_sock", None)) is None:
                continue
            running, connection.retry = connection.retry, deepcopy(connection.retry)
            if hasattr(running, "update_retries"):  # redis-py before 6 has no such method, and does not retry by itself
                running.update_retries(0)  # else redis-py would connect again and wait
            with suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)


def _not_written(error: Exception) -> ZarrscopeError | None:
    """The error of a server that answers, but stores nothing: its memory or its disk is full, or it is a replica. None
    for any other error."""
    name, text = type(error).__name__, str(error)
    if name == "OutOfMemoryError" or text.startswith("OOM"):
        failed = Unreadable(
            f"The memory of the Redis server is full: {cause(error)}",
            advice=f"Make room there or raise its maxmemory, then try again. {KEPT}",
        )
        failed.errno = errno.ENOSPC
        return failed
    if "MISCONF" in text:
        return Unreadable(
            f"The Redis server stores nothing, because it cannot save to its disk: {cause(error)}",
            advice=f"Make room on its disk, or ask its operator, then try again. {KEPT}",
        )
    if name == "ReadOnlyError" or text.startswith("READONLY"):
        return ReadOnly(
            f"The Redis server is a replica, which stores nothing: {cause(error)}",
            advice="Use the address of its primary server.",
        )
    return None


def place_of(url: str) -> tuple[str, int, str]:
    """Splits an address into ("redis://host:port", database, prefix). Raises Refused if the database is no number."""
    scheme, _, rest = whole_address(url).partition("://")
    host, _, path = rest.partition("/")
    database, _, prefix = path.partition("/")
    if database and not database.isdecimal():
        raise Refused(
            f"{database!r} is not the number of a database",
            store=url,
            advice="Write redis://host:6379/0/prefix.",
        )
    return f"{scheme}://{host}", int(database or 0), prefix or PREFIX


def _opened_again(url: str, writable: bool) -> RedisStore:
    return RedisStore(url, writable=writable)


def open_redis(url: str, mode: Mode, options: Mapping[str, Any] | StoreOptions) -> Store:
    """The store of a redis:// address; the path after the prefix is a node."""
    server, database, path = place_of(url)
    prefix, _, inner = path.partition("/")
    store = RedisStore(f"{server}/{database}/{prefix}", writable=mode != "r", **(options or {}))
    if not inner:
        return store
    from zarrscope.stores.wrappers import PrefixStore

    return PrefixStore(store, inner + "/", url=url)
