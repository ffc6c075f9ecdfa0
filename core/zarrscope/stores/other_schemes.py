"""Stores at addresses for whose scheme only fsspec has a file system, such as ftp://, github://, hf:// or smb://.

They are read-only, because most of these file systems store a value in steps, and a reader would see a part of it. A
file system that is not asynchronous is used by one thread at a time, and belongs to one store: an FTP connection, for
example, answers one request after the other. fsspec reports some failures of FTP as absence; before a value counts as
absent there, the server is asked for its size: its answer distinguishes the two.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from zarrscope.errors import Denied, ReadOnly, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ByteRange
from zarrscope.stores.backend import Backend
from zarrscope.stores.fsspec import FsspecStore
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    pass

T = TypeVar("T")
_NO_LOGIN = ("530", "532")
_HADOOP = ("libjvm", "libhdfs")
_UNKNOWN_COMMAND = ("500", "502", "504")


class OtherStore(FsspecStore):
    """The values beneath a URL of a scheme that fsspec knows and zarrscope does not serve itself. The options are those
    of network.py and of the file system."""

    def __init__(self, url: str, **options: Any) -> None:
        self._alone = threading.RLock()
        bounded = {"timeout": int(options.get("timeout", 30))} if url.startswith("ftp://") else {}
        super().__init__(url, **{"skip_instance_cache": True, **bounded, **options})

    def _get(self, key: str, part: ByteRange | None, limit: int | None = None) -> bytes | None:
        if self._filesystem.async_impl:
            return super()._get(key, part, limit)

        def get() -> bytes | None:
            value = FsspecStore._get(self, key, part, limit)
            if value is None:
                self._need_absent(key)
            return value

        return self._once_more(get)

    def size(self, key: str) -> int | None:
        """The size of the value in bytes; None when absent."""

        def size() -> int | None:
            found = FsspecStore.size(self, key)
            if found is None:
                self._need_absent(key)
            return found

        return self._once_more(size)

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        return Backend._list_prefix(self, prefix)  # fsspec's `find` leaves out folders that cannot be listed

    def _listed(self, prefix: str, how: str) -> list[dict[str, Any]]:
        def rows() -> list[dict[str, Any]]:
            found = FsspecStore._listed(self, prefix, how)
            if not found and self._connection is not None:
                with self._naming(prefix):
                    self._ask(lambda: self._connection.nlst(self._path(prefix.rstrip("/"))))
            return found

        return self._once_more(rows)

    def close(self) -> None:
        """Closes an FTP connection; the next request opens it again."""
        with self._alone:
            if self._connection is not None:
                self._connection.close()
                self._disconnected = True

    @property
    def _connection(self) -> Any:
        """The ftplib.FTP of the file system; None if it is another one."""
        return getattr(self._filesystem, "ftp", None) if "ftp" in self._filesystem.protocol else None

    def _once_more(self, act: Callable[[], T]) -> T:
        """Does `act` while no other thread uses the file system; a second time if an FTP connection was lost."""
        with self._alone:
            try:
                return act()
            except Unreadable:
                if not self._disconnected:
                    raise
                self.close()
                with self._naming(""):
                    self._connect()
                return act()

    def _need_absent(self, key: str) -> None:
        """Raises Unreadable if the FTP server failed, rather than said that there is no such file."""
        if self._connection is not None:
            with self._naming(key):
                self._ask(lambda: (self._connection.voidcmd("TYPE I"), self._connection.size(self._path(key))))

    def _ask(self, ask: Callable[[], Any]) -> None:
        """Asks the FTP server; its answer that there is no such file is expected, any other failure is raised."""
        from ftplib import error_perm

        try:
            ask()
        except error_perm as error:
            if str(error)[:3] in _NO_LOGIN:
                raise
            if str(error)[:3] in _UNKNOWN_COMMAND:
                self._connection.voidcmd("NOOP")

    def _failed(self, error: Exception, key: str) -> ZarrscopeError:
        scheme = self.url.partition("://")[0]
        if isinstance(error, TypeError) and not hasattr(self, "_filesystem"):
            return Unsupported(
                f"The file system for {scheme}:// needs other options: {error}",
                feature=f"scheme {scheme}",
                store=self.url,
                advice="Pass them to zarrscope.open as storage_options; the documentation of fsspec names them.",
            )
        if any(name in str(error) for name in _HADOOP):
            return Unsupported(
                f"Reading from {scheme}:// needs Hadoop's client libraries: {str(error).partition(chr(10))[0]}",
                feature=f"scheme {scheme}",
                store=self.url,
                advice="Install Java and Hadoop, and set JAVA_HOME, HADOOP_HOME and CLASSPATH as pyarrow documents.",
            )
        if (host := re.search(r"Failed to resolve '([^']+)'", str(error))) is not None:
            advice = "Check the address and the network, then try again."
            return Unreadable(f"The host {host[1]} cannot be found", store=self.url, key=key or None, advice=advice)
        if str(error)[:3] in _NO_LOGIN and type(error).__module__ == "ftplib":
            advice = "Write user and password before the host, or pass username and password as storage_options."
            return Denied(f"The server allows no login: {error}", store=self.url, key=key or None, advice=advice)
        if hasattr(self, "_filesystem") and self._connection is not None:
            self._disconnected = True
        return super()._failed(error, key)


def open_other(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store at an address whose scheme only fsspec knows. Raises ReadOnly for a new hierarchy."""
    scheme = url.partition("://")[0]
    only_read = f"At {scheme}:// zarrscope only reads"
    if mode == "w-":
        raise ReadOnly(only_read, store=url, advice="Create the hierarchy elsewhere and copy its files there.")
    store = OtherStore(url, **(options or {}))
    if mode != "r":
        store.remark = only_read
    return store
