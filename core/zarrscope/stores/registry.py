"""The table of stores: the scheme of each, the packages that it needs, and its abilities.

A new kind of store needs a row here, a module with its opener, and an example in tests/contracts/places.py.
Another package adds a kind of store by an entry point in the group "zarrscope.stores": its name is the scheme, its
value a `StoreKind`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias

from zarrscope.errors import Unsupported, ZarrscopeError
from zarrscope.model.frozen import frozen
from zarrscope.model.plugins import failing, loaded, registered
from zarrscope.stores.store import Store

Mode = Literal["r", "r+", "a", "w-"]
"""How a store is opened. "r": read-only; "r+": for writing, it must exist; "a": for writing, it is created if missing;
"w-": created, it must not exist."""
StoreOptions: TypeAlias = Mapping[str, Any] | None
Ability = Literal["read", "list", "write", "conditional"]
AddressForm = Literal["path", "url", "bucket", "name", "file", "chain"]
StoreOpener: TypeAlias = Callable[[str, Mode, StoreOptions], Store]
"""A function that opens the store at an address."""


@frozen
class StoreKind:
    """One kind of store.

    Parameters
    ----------
    scheme
        The beginning of its addresses, before "://".
    opens
        A description of these stores for tables in the documentation.
    opener
        A function of (url, mode, options) that returns the store; or its name, "module:function", which is imported
        when it is first needed. For "r" it may return a writable store, because that gets a read-only wrapper. For "r+"
        the store must exist, for "w-" it must not.
    abilities
        The abilities that a store of this kind can have; the attributes of a store state which of them it has.
        "conditional": it can store a value only if the stored version is still the one that was read.
    form
        How an address is split into a store and a node in it. "bucket": host and path without escapes; the whole path
        is taken as the store. "name": the host is the name of the store, the path is the node. "file": a file on this
        computer, and the node after it. "url": a web address with escapes and a query. "path": a file or folder.
        "chain": a store inside the store of another address, after "::".
    aliases
        Other schemes of the same kind.
    extra, needs
        The extra to install, as zarrscope[extra], and the import names of the packages that these stores need.
    archives
        Whether a .zip or .ozx file at such an address is opened as a store of its own. `opener` must then return a
        stores.remote.RemoteStore.
    endings
        For the form "file": endings that may be missing after the path in an address, such as "/data.mdb" if the
        address names the folder of that file.

    Examples
    --------
    >>> from zarrscope.stores.memory import MemoryStore
    >>> StoreKind("example", "a store in memory", lambda url, mode, options: MemoryStore(), form="name").scheme
    'example'
    """

    scheme: str
    opens: str
    opener: str | StoreOpener
    abilities: frozenset[Ability] = frozenset({"read", "list", "write", "conditional"})
    form: AddressForm = "bucket"
    aliases: tuple[str, ...] = ()
    extra: str = ""
    needs: tuple[str, ...] = ()
    archives: bool = False
    endings: tuple[str, ...] = ("",)

    def open(self, url: str, mode: Mode, options: StoreOptions) -> Store:
        """Opens the store. Raises Unsupported if a needed package is not installed, or the package that adds this kind
        of store fails."""
        missing = _missing(self.needs) if self.needs else ()
        if missing:
            from zarrscope.errors.installing import how_to_install, how_to_install_packages

            raise Unsupported(
                f"Addresses that begin with {url.partition('://')[0]}:// need {' and '.join(missing)}, "
                f"which {'is' if len(missing) == 1 else 'are'} not installed",
                feature=f"scheme {self.scheme}",
                store=url,
                advice=how_to_install(self.extra) if self.extra else how_to_install_packages(*missing),
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


def _missing(packages: Sequence[str]) -> list[str]:
    from importlib.util import find_spec

    return [name for name in packages if find_spec(name) is None]


_openers: dict[str, StoreOpener] = {}


def _imported(named: str) -> StoreOpener:
    """The function that "module:function" names. It is cached: importing it again would add a twentieth to the time
    that opening a hierarchy takes."""
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
        "zarrscope.stores.file_address:open_path",
        form="path",
    ),
    StoreKind("memory", "a named store in this process", "zarrscope.stores.memory:open_memory", form="name"),
    StoreKind(
        "object",
        "a Python object that was given to zarrscope.open: a mapping, a file system, a node of zarr-python …",
        "zarrscope.stores.process_addresses:open_object_address",
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
        aliases=("rediss",),
        extra="redis",
        needs=("redis",),
    ),
    StoreKind(
        "http",
        "a folder or archive on a web server",
        "zarrscope.stores.http:open_web",
        _READ,
        form="url",
        aliases=("https",),
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
        aliases=("s3a",),
        extra="s3",
        needs=("obstore",),
        archives=True,
    ),
    StoreKind(
        "gs",
        "a folder or archive in a bucket of Google Cloud Storage",
        "zarrscope.stores.object_store:open_bucket",
        aliases=("gcs",),
        extra="gcs",
        needs=("obstore",),
        archives=True,
    ),
    StoreKind(
        "abfs",
        "a folder or archive in Azure Blob Storage: abfs://container@account.dfs.core.windows.net/…",
        "zarrscope.stores.object_store:open_bucket",
        aliases=("abfss", "az"),
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
_SCHEMES = {scheme: kind for kind in _TABLE for scheme in (kind.scheme, *kind.aliases)}


_NO_PLACES = frozenset(
    """arrow_hdfs async_wrapper asynclocal asyncwrapper blockcache cached dask data dir file filecache generic git jlab
    jupyter libarchive local memory pyscript reference simplecache tar zip""".split()
)
"""Protocols of fsspec that zarrscope does not open: they wrap another file system or a cache, hold the data in the
address itself, need a token of a running Jupyter, or read files of this computer, for which there are paths."""


def _by_fsspec(scheme: str) -> StoreKind | None:
    """The kind of store for a scheme that only fsspec knows (other_schemes.py); None if it does not, or if the scheme
    names no place of its own."""
    if scheme in _NO_PLACES:
        return None
    import fsspec

    if scheme not in fsspec.available_protocols() and scheme not in fsspec.registry:
        return None
    return StoreKind(
        scheme,
        "a folder or archive at an address that fsspec opens",
        "zarrscope.stores.other_schemes:open_other",
        _LISTED,
        archives=True,
    )


def every_store() -> dict[str, StoreKind]:
    """The whole table, with the kinds of other packages; kinds that cannot be loaded are left out."""
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
    """The kind of store for addresses with this scheme: a built-in one, one of another package, or one for a scheme
    that only fsspec knows; None if there is none. Raises Unsupported if the package that adds it fails."""
    kind = _SCHEMES.get(scheme)
    if kind is not None:
        return kind
    found = loaded("stores", scheme)
    if found is None:
        return _by_fsspec(scheme)
    if not isinstance(found, StoreKind):
        raise Unsupported(
            f"The package that adds stores for {scheme}:// provides no StoreKind",
            feature=f"scheme {scheme}",
            advice="Report it to the makers of that package.",
        )
    return found


def known_schemes() -> tuple[str, ...]:
    """Every scheme, of built-in stores and of other packages."""
    return (*dict.fromkeys((*_SCHEMES, *registered("stores"))),)


def need_kind(scheme: str, address: str) -> StoreKind:
    """The kind of store for addresses with this scheme. Raises Unsupported if there is none; the advice names the known
    schemes."""
    kind = store_kind(scheme)
    if kind is None:
        from zarrscope.stores.unknown_schemes import advice_for

        known = f"Known are {', '.join(known_schemes())}. Many buckets can be read through their https:// address."
        raise Unsupported(
            f"Addresses that begin with {scheme}:// cannot be opened",
            feature=f"scheme {scheme}",
            store=address,
            advice=advice_for(address) or known,
        )
    return kind
