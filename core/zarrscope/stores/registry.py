"""The table of stores: the scheme of each, the packages that it needs, and its abilities.

A new store needs a row here, a module with its opener, and a class in the test suite tests/contracts/store.py. Another
package adds one by an entry point "zarrscope.stores", whose name is the scheme and whose value is a `StoreKind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

from zarrscope.errors import Unsupported, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import failing, loaded, registered
from zarrscope.stores.store import Store

Mode = Literal["r", "r+", "a", "w-"]
"""How a store is opened: read only; write an existing one; create a missing one; create a new one and refuse an
existing one."""
Options: TypeAlias = Mapping[str, Any] | None
Ability = Literal["read", "list", "write", "conditional"]
Form = Literal["path", "url", "bucket", "name", "file", "chain"]
Opener: TypeAlias = Callable[[str, Mode, Options], Store]
"""A function that opens the store at an address."""


@frozen
class StoreKind:
    """One kind of store.

    Parameters
    ----------
    scheme
        The beginning of its addresses, before "://".
    opens
        A description of the store for tables.
    opener
        A function of (url, mode, options) that returns the store; as "module:function", imported when it is first
        needed. "r" may open it for writing, because the result is wrapped. "r+" needs an existing store, "w-" a new
        one.
    abilities
        The abilities of the best stores of this kind; attributes of a store state its own. "conditional": a value is
        stored only if the stored version is still the one that was read.
    form
        How an address is split into a store and a node in it. "bucket": host and path, nothing escaped; the beginning
        of the hierarchy is found by looking upwards. "name": everything after the host is the node. "file": a file on
        this computer, and the node after it. "url": a web address, with escapes and a query. "path": a file or folder.
    also
        Other schemes of the same kind.
    extra, needs
        The extra to install, as zarrscope[extra], and the import names that it provides.
    archives
        Whether a .zip or .ozx file there is opened as a store; `opener` then takes a stores.remote.RemoteStore.
    endings
        For "file": the suffix after its path that names the file, such as "/data.mdb" for a folder with that file.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> StoreKind("example", "a store in memory", lambda url, mode, options: MemoryStore(), form="name").scheme
    'example'
    """

    scheme: str
    opens: str
    opener: str | Opener
    abilities: frozenset[Ability] = frozenset({"read", "list", "write", "conditional"})
    form: Form = "bucket"
    also: tuple[str, ...] = ()
    extra: str = ""
    needs: tuple[str, ...] = ()
    archives: bool = False
    endings: tuple[str, ...] = ("",)

    def open(self, url: str, mode: Mode, options: Options) -> Store:
        """The store. Raises Unsupported if a package is not installed, or another package fails."""
        missing = [name for name in self.needs if find_spec(name) is None]
        if missing:
            raise Unsupported(
                f"Addresses that begin with {url.partition('://')[0]}:// need {' and '.join(missing)}, "
                f"which {'is' if len(missing) == 1 else 'are'} not installed",
                feature=f"scheme {self.scheme}",
                store=url,
                advice=f"Run: pip install 'zarrscope[{self.extra}]'"
                if self.extra
                else f"Run: pip install {' '.join(missing)}",
            )
        opener = _imported(self.opener) if isinstance(self.opener, str) else self.opener
        try:
            found: Store = opener(url, mode, options)
        except ZarrscopeError:
            raise
        except Exception as error:
            if STORES.get(self.scheme) is self:
                raise
            raise failing("stores", self.scheme, error) from error
        return found


_openers: dict[str, Opener] = {}


def _imported(named: str) -> Opener:
    """The object that "module:function" names. It is cached: importing it again takes a twentieth of the time of
    opening a hierarchy."""
    found = _openers.get(named)
    if found is None:
        module, _, name = named.partition(":")
        found = _openers[named] = getattr(import_module(module), name)
    return found


_READ: frozenset[Ability] = frozenset({"read"})
_LISTED: frozenset[Ability] = frozenset({"read", "list"})

_TABLE = (
    StoreKind(
        "file",
        "a folder, or a .zip or .ozx file, on this computer",
        "zarrscope.stores.local.opening:open_path",
        form="path",
    ),
    StoreKind("memory", "a named store in this process", "zarrscope.stores.memory:open_memory", form="name"),
    StoreKind(
        "object",
        "a Python object that was given to zarrscope.open: a mapping, a file system, a node of zarr-python …",
        "zarrscope.stores.given:open_given",
        form="name",
    ),
    StoreKind(
        "sqlite", "a SQLite database, as zarr-python 2 makes them", "zarrscope.stores.sqlite:open_sqlite", form="file"
    ),
    StoreKind(
        "lmdb",
        "an LMDB environment, as zarr-python 2 makes them",
        "zarrscope.stores.lmdb:open_lmdb",
        form="file",
        extra="lmdb",
        needs=("lmdb",),
        endings=("", "/data.mdb"),
    ),
    StoreKind(
        "dbm",
        "a file of Python's dbm, as zarr-python 2 makes them",
        "zarrscope.stores.dbm:open_dbm",
        frozenset({"read", "list", "write"}),
        form="file",
        endings=("", ".db", ".dat"),
    ),
    StoreKind(
        "redis",
        "a Redis server, as zarr-python 2 writes to it: redis://host:6379/0/prefix",
        "zarrscope.stores.redis:open_redis",
        also=("rediss",),
        extra="redis",
        needs=("redis",),
    ),
    StoreKind(
        "http",
        "a folder or archive on a web server",
        "zarrscope.stores.http:open_web",
        _READ,
        form="url",
        also=("https",),
        extra="http",
        needs=("aiohttp",),
        archives=True,
    ),
    StoreKind("zip", "a folder within a .zip or .ozx: zip://folder::address-of-the-archive", "", form="chain"),
    StoreKind(
        "reference",
        "the data in a reference file of kerchunk (JSON or parquet): reference://::address-of-the-file",
        "zarrscope.stores.references:open_references",
        _LISTED,
        form="chain",
    ),
    StoreKind(
        "s3",
        "a folder or archive in a bucket of Amazon S3, or of a compatible server",
        "zarrscope.stores.object_store:open_bucket",
        also=("s3a",),
        extra="s3",
        needs=("obstore",),
        archives=True,
    ),
    StoreKind(
        "gs",
        "a folder or archive in a bucket of Google Cloud Storage",
        "zarrscope.stores.object_store:open_bucket",
        also=("gcs",),
        extra="gcs",
        needs=("obstore",),
        archives=True,
    ),
    StoreKind(
        "abfs",
        "a folder or archive in Azure Blob Storage: abfs://container@account.dfs.core.windows.net/…",
        "zarrscope.stores.object_store:open_bucket",
        also=("abfss", "az"),
        extra="azure",
        needs=("obstore",),
        archives=True,
    ),
    StoreKind(
        "ssh",
        "a folder or archive on a machine with an SSH login, where zarrscope is installed too",
        "zarrscope.stores.ssh.client:open_ssh",
    ),
    StoreKind(
        "sftp",
        "a folder or archive on a machine that one logs in to by SSH",
        "zarrscope.stores.sftp.store:open_sftp",
        extra="sftp",
        needs=("paramiko",),
        archives=True,
    ),
)
STORES: dict[str, StoreKind] = {kind.scheme: kind for kind in _TABLE}
"""Every kind of store that zarrscope itself opens, by its scheme."""
_SCHEMES = {scheme: kind for kind in _TABLE for scheme in (kind.scheme, *kind.also)}


def every_store() -> dict[str, StoreKind]:
    """The whole table, including the stores of other packages that can be loaded."""
    found = dict(STORES)
    for scheme in registered("stores"):
        try:
            kind = store_kind(scheme)
        except Unsupported:
            continue
        if kind is not None:
            found.setdefault(kind.scheme, kind)
    return found


def store_kind(scheme: str) -> StoreKind | None:
    """The store kind that opens addresses of this scheme, or None. Raises Unsupported when its package fails."""
    kind = _SCHEMES.get(scheme)
    if kind is not None:
        return kind
    found = loaded("stores", scheme)
    if found is not None and not isinstance(found, StoreKind):
        raise Unsupported(
            f"The package that adds the stores of {scheme}:// gives no StoreKind",
            feature=f"scheme {scheme}",
            advice="Report it to the makers of that package.",
        )
    return found


def known_schemes() -> tuple[str, ...]:
    """Every scheme, of built-in stores and of other packages."""
    return (*dict.fromkeys((*_SCHEMES, *registered("stores"))),)


def need_kind(scheme: str, address: str) -> StoreKind:
    """The store kind that opens addresses of this scheme. Raises Unsupported, naming the known schemes."""
    kind = store_kind(scheme)
    if kind is None:
        raise Unsupported(
            f"Addresses that begin with {scheme}:// cannot be opened",
            feature=f"scheme {scheme}",
            store=address,
            advice=f"Known are {', '.join(known_schemes())}. Many buckets can be read through their https:// address.",
        )
    return kind
