"""Icechunk repositories (https://icechunk.io/en/latest/spec/), read through the package icechunk.

The keys in a repository are not those of Zarr: a snapshot states where each chunk is stored. The package icechunk
provides the newest snapshot of the branch "main" as a store of zarr-python. This module reads from that store; it never
writes. A repository is recognised by the names of its folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from typing import Any

from zarrscope.errors import Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause
from zarrscope.errors.installing import how_to_install_packages
from zarrscope.model.storage import ByteRange
from zarrscope.stores.address_options import split_options
from zarrscope.stores.local.paths import path_of
from zarrscope.stores.recognition import Recognition
from zarrscope.stores.store import Store
from zarrscope.stores.zarr_python import ZarrPythonStore, guarded, in_one_line

BRANCH = "main"
REPOSITORY_SCHEMES = ("file", "s3", "s3a")
"""The schemes of the places at which zarrscope opens repositories."""
_DOCUMENT = "zarr.json"
_RESTORE = (
    "A file of the repository may be missing, damaged or denied: restore it from a copy, or open an older snapshot "
    "with icechunk and pass its store to zarrscope.open."
)
_NODES_ONLY = "Only prefixes pointing to a group or array"
_MOST_NAMES = 32
"""A folder with more names is no repository, which has about ten."""


class IcechunkSession(ZarrPythonStore):
    """The values of a store that icechunk made: a branch, a tag or a snapshot, as its session states."""

    def _is_absent(self, error: Exception, key: str) -> bool:
        """Also for a key that Zarr v3 does not use, for which icechunk raises an error of its own."""
        return super()._is_absent(error, key) or "invalid zarr key" in str(error)

    async def _asked(self, key: str, part: ByteRange | None) -> bytes | None:
        """Also asks whether a document exists if it seems to be absent, because icechunk 1.1 says so if it cannot read
        the snapshot."""
        value = await super()._asked(key, part)
        if value is None and key.rpartition("/")[2] == _DOCUMENT:
            await guarded(self._theirs.exists(key))
        return value

    async def _part(self, key: str, part: ByteRange | None) -> bytes | None:
        """Requests only ranges within the value, because icechunk 1.1 panics at ranges beyond its end."""
        if part is None or key.rpartition("/")[2] == _DOCUMENT:
            value = await self._asked(key, None)
            return value if value is None or part is None else part.of(value)
        size = await self._size(key)
        if size is None:
            return None
        start, stop = part.span(size)
        return await self._asked(key, ByteRange(start, stop - start)) if stop > start else b""

    async def _size(self, key: str) -> int | None:
        """Also asks whether an empty value exists: icechunk 1.1 says of an absent chunk that its size is 0."""
        size = await super()._size(key)
        return None if size == 0 and not await self._exists(key) else size

    async def _exists(self, key: str) -> bool:
        try:
            return bool(await guarded(self._theirs.exists(key)))
        except ZarrscopeError:
            raise
        except Exception as error:
            if self._is_absent(error, key):
                return False
            raise self._failed(error, key) from cause(error)

    def _list_prefix(self, prefix: str) -> Iterator[str]:
        """Lists the node above if the prefix lies among its chunks, where icechunk 1.1 refuses to list."""
        asked = prefix
        while True:
            keys = super()._list_prefix(asked)
            try:
                first = next(keys, None)
            except Unreadable as error:
                if not asked or _NODES_ONLY not in str(error):
                    raise
                above = asked.rstrip("/").rpartition("/")[0]
                asked = f"{above}/" if above else ""
                continue
            if first is not None:
                yield from (key for key in chain((first,), keys) if key.startswith(prefix))
            return

    def _failed(self, error: Exception, key: str) -> Unreadable:
        return Unreadable(
            f"The Icechunk repository cannot be read: {_in_short(error)}",
            store=self.url,
            key=key or None,
            advice=_RESTORE,
        )


class IcechunkStore(IcechunkSession):
    """The newest snapshot of the branch BRANCH of the repository whose files are the values of the store `beneath`."""

    def __init__(self, beneath: Store) -> None:
        super().__init__(_session(beneath))
        self._beneath = beneath
        self.writable = False
        self.url = beneath.url
        told = f"This is the branch {BRANCH} of an Icechunk repository, read-only"
        self._recognition = Recognition("icechunk", told)

    def __reduce__(self) -> tuple[Any, ...]:
        return IcechunkStore, (self._beneath,)


def _in_short(error: BaseException) -> str:
    """The first line of an error of icechunk; the others name places in its source text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return in_one_line(lines[0].removeprefix("x ").removeprefix("× ").strip()) if lines else type(error).__name__


def is_repository(store: Store) -> bool:
    """Whether the values of a store are the files of an Icechunk repository."""
    if not store.listable:
        return False
    names: set[str] = set()
    for entry in store.list_dir(""):
        names.add(entry.name)
        if len(names) > _MOST_NAMES:
            return False
    return "snapshots" in names and not names.isdisjoint(("refs", "repo")) and "zarr.json" not in names


def _session(beneath: Store) -> Any:
    """Icechunk's own store for the repository. Raises Unsupported if icechunk is missing, or cannot open repositories
    at such an address."""
    if find_spec("icechunk") is None or find_spec("zarr") is None:
        raise Unsupported(
            "This is an Icechunk repository, which is read through a package that is not installed: icechunk",
            feature="icechunk",
            store=beneath.url,
            advice=how_to_install_packages("icechunk"),
        )
    import icechunk

    storage = _storage(icechunk, beneath)
    try:
        return icechunk.Repository.open(storage).readonly_session(BRANCH).store
    except Exception as error:
        raise Unreadable(
            f"The Icechunk repository cannot be opened: {_in_short(error)}",
            store=beneath.url,
            advice=f"It needs a branch {BRANCH}, and a version of icechunk that knows its format (installed: "
            f"{icechunk.__version__}). Open another branch or tag with icechunk, and pass its store to zarrscope.open.",
        ) from cause(error)


def _storage(icechunk: Any, beneath: Store) -> Any:
    """The place of the repository, for icechunk. For a bucket it gets the credentials, the region and the endpoint with
    which the store `beneath` read the names of the repository's folders."""
    url = beneath.url
    if url.startswith("file:"):
        return icechunk.local_filesystem_storage(path_of(url))
    place, told = split_options(url)
    scheme, _, path = place.partition("://")
    if scheme not in REPOSITORY_SCHEMES:
        raise Unsupported(
            f"zarrscope reads Icechunk repositories in folders and in S3, not at {scheme}://",
            feature="icechunk",
            store=url,
            advice="Open it with icechunk, and pass its store to zarrscope.open.",
        )
    bucket, _, prefix = path.partition("/")
    config, keys = told, None
    if (requests := _requests_of(beneath)) is not None:
        config, keys = requests.config_in_use, requests.keys_in_use()
    anonymous = bool(config.get("skip_signature") or config.get("anon"))
    endpoint = config.get("endpoint")
    return icechunk.s3_storage(
        bucket=bucket,
        prefix=prefix or None,
        region=config.get("region") or ("us-east-1" if endpoint or anonymous else None),
        endpoint_url=endpoint,
        allow_http=bool(endpoint and endpoint.startswith("http://")),
        force_path_style=endpoint is not None,
        anonymous=anonymous or None,
        from_env=None if anonymous or keys else True,
        **(keys or {}),
        **({"requester_pays": True} if config.get("request_payer") else {}),  # icechunk 1.1.10 has no such argument
    )


def _requests_of(store: Store) -> Any:
    """The requests to a bucket through which a store reads; None if it reads in another way."""
    from zarrscope.stores.wrappers import Wrapper

    while isinstance(store, Wrapper):
        store = store.store
    return store if hasattr(store, "keys_in_use") else None
