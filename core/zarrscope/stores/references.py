"""Reference files of kerchunk as a store, read-only: reference://::address-of-the-file.

A reference file is a JSON file, or a folder of parquet files. For each key it names another file and the range of bytes
in it that is the value (https://fsspec.github.io/kerchunk/spec.html). fsspec's ReferenceFileSystem resolves these
references. A reference may lead to a web server or a bucket. It may lead to a file of this computer only if that file
is beneath the folder of the reference file, unless `allow_outside` is set, which also permits symbolic links out of a
store. Relative names start at the folder of the reference file.
"""

from __future__ import annotations

import asyncio
import json
import os
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zarrscope.errors import BadMetadata, NotFound, OutsideLink, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal, public, public_options
from zarrscope.errors.installing import how_to_install_packages
from zarrscope.model.storage import ByteRange, Entry
from zarrscope.stores.address_options import BUCKETS, split_options
from zarrscope.stores.body import begins_as_page
from zarrscope.stores.fsspec import FsspecStore, size_of_reference, within_reference
from zarrscope.stores.local.paths import path_of, real_path
from zarrscope.stores.network import network, others
from zarrscope.stores.reference_targets import WEB, Targets, WebFiles, bucket_files, gone
from zarrscope.stores.registry import Mode, StoreOptions
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

_NO_FILE = "Check the address, or make the reference file again."


class ReferenceStore(FsspecStore):
    """The values to which the reference file at `url` refers. Raises Unsupported, BadMetadata, Unreadable."""

    def __init__(self, url: str, **options: Any) -> None:
        conceal(options)
        self._asked = others(options)
        self.network = network(options)
        file, self._told = split_options(url.partition("::")[2])
        self._folder = ""
        if file.startswith("file:"):
            file = path_of(file)
            self._folder = real_path(os.path.dirname(os.path.abspath(file)))
        self.url = url
        files = self._references(file)
        if isinstance(files.references, dict) and not all(isinstance(key, str) for key in files.references):
            raise BadMetadata("This is not a reference file: a key is not text", store=self.url, advice=_NO_FILE)
        self._sorted: list[str] | None = None
        self._reading = asyncio.Lock()
        self._hold(files, "", self.network)
        files.fss = Targets(self.url, self.network, self._in_bucket, self._check_path)
        self._public_options = public_options(self._asked)

    def __reduce__(self) -> tuple[Any, ...]:
        made, arguments, state = super().__reduce__()
        return made, arguments, {**state, "allow_outside": self.allow_outside}

    def _references(self, file: str) -> Any:
        from fsspec.implementations.reference import ReferenceFileSystem

        options = {"fs": {}, "skip_instance_cache": True}
        try:
            elsewhere = self._elsewhere(file.partition("://")[0] if "://" in file else "file")
            if _is_folder(file, elsewhere):
                made = ReferenceFileSystem({}, **options)
                made.references = _in_parquet(file, elsewhere)
                return made
            made = ReferenceFileSystem(file if elsewhere is None else self._document(elsewhere, file), **options)
            made.references.keys  # noqa: B018 -- raises AttributeError if the JSON is a number or a list
            return made
        except ZarrscopeError as error:
            raise error.located(store=self.url) from error.__cause__
        except ImportError as error:
            raise Unsupported(
                f"References in parquet need a package that is not installed: {cause(error)}",
                feature="parquet",
                store=self.url,
                advice=how_to_install_packages("pandas", "pyarrow"),
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            told = f"This is not a reference file: {cause(error)}"
            raise BadMetadata(told, store=self.url, advice=_NO_FILE) from cause(error)
        except Exception as error:
            raise Unreadable(f"The reference file cannot be read: {cause(error)}", store=self.url) from cause(error)

    def _elsewhere(self, scheme: str) -> Any:
        """The file system of a reference file with an address of this scheme; None: it is a path of this computer, or
        an address that fsspec opens."""
        if scheme in WEB:
            return WebFiles(self.network)
        return self._in_bucket(scheme) if scheme in BUCKETS else None

    def _in_bucket(self, scheme: str) -> Any:
        """The file system for the addresses of a bucket's scheme."""
        return bucket_files(scheme, self.network, {**self._told, **self._asked})

    def _document(self, files: Any, address: str) -> JSON:
        """The JSON document at an address of a web server or bucket."""
        try:
            return json.loads(files.cat_file(address))
        except ZarrscopeError:
            raise
        except FileNotFoundError:
            raise NotFound("The server has no such file", store=self.url, advice="Check the address.") from None

    def _check_path(self, path: str) -> str:
        """The absolute path of a file of this computer that a reference names. Raises OutsideLink if it may not be
        read."""
        path = path.removeprefix("file://").removeprefix("local://")
        found = os.path.join(self._folder, path) if self._folder else path
        inside = self._folder and (real_path(found) + os.sep).startswith(self._folder.rstrip(os.sep) + os.sep)
        if not inside and not self.allow_outside:
            raise OutsideLink(
                f"The reference file refers to {path!r} on this computer, outside its own folder",
                store=self.url,
                advice="If you trust the author of the reference file, "
                "read it with --follow-links (follow_links=True).",
            )
        return found

    async def _cat(self, key: str, part: ByteRange | None, limit: int | None) -> bytes | None:
        entry = await self._entry(key)
        size = size_of_reference(entry)
        if size is not None:
            part = within_reference(size, part, limit)
            if part.length == 0:
                return b""
        value = await self._cat_part(key, part, limit)
        if value is None or not isinstance(entry, list):
            return value
        if begins_as_page(value):
            raise Unreadable(
                "The server sent a web page in place of the value",
                advice="Open the address in the reference file in a browser: it may have moved, or ask for a login.",
            )
        if size is not None and part is not None and len(value) != part.length:
            raise Unreadable(
                f"The reference file refers to {part.length:,} bytes of {public(str(entry[0]))!r}, "
                f"but {len(value):,} bytes came",
                advice="The data may have changed since the reference file was made: ask for a newer one.",
            )
        return value

    async def _entry(self, key: str) -> JSON:
        """The reference at a key. A file of parquet is read in a thread: reading it waits for the event loop."""
        references = self._filesystem.references
        if isinstance(references, dict):
            return references.get(key)
        async with self._reading:
            return await asyncio.to_thread(references.get, key)

    # ------------------------------------------------------------------ listing
    def _list_prefix(self, prefix: str) -> Iterator[str]:
        keys = self._keys()
        for i in range(bisect_left(keys, prefix), len(keys)):
            if not keys[i].startswith(prefix):
                return
            yield keys[i]

    def _list_dir(self, prefix: str) -> Iterator[Entry]:
        """Lists one level. In the sorted keys it skips all keys beneath a name that was yielded."""
        keys = self._keys()
        i = bisect_left(keys, prefix)
        while i < len(keys) and keys[i].startswith(prefix):
            name, slash, _ = keys[i][len(prefix) :].partition("/")
            if name:
                yield Entry(name, bool(slash))
            i = bisect_left(keys, f"{prefix}{name}0", i) if slash else i + 1  # "0" is the character after "/"

    def _keys(self) -> list[str]:
        if self._sorted is None:
            self._sorted = sorted(self._filesystem.references)
        return self._sorted

    # ------------------------------------------------------------------ errors
    def _is_final(self, error: Exception) -> bool:
        return isinstance(_of_target(error), ZarrscopeError | FileNotFoundError)

    def _failed(self, error: Exception, key: str) -> ZarrscopeError:
        reason = _of_target(error)
        if isinstance(reason, ZarrscopeError):
            return reason
        if isinstance(reason, FileNotFoundError):
            return gone(str(getattr(error, "target", key)))
        return super()._failed(error if reason is None else reason, key)


def _of_target(error: Exception) -> Exception | None:
    """The error of the file to which a reference leads: fsspec gives one of its own for it."""
    from fsspec.implementations.reference import ReferenceNotReachable

    reason = error.__cause__
    return reason if isinstance(error, ReferenceNotReachable) and isinstance(reason, Exception) else None


def _is_folder(file: str, elsewhere: Any) -> bool:
    """Whether the reference file is a folder of parquet files, by its name or, in a bucket, by the file in it."""
    if file.lower().endswith((".parq", ".parquet")):
        return True
    return elsewhere is not None and ".json" not in file and bool(elsewhere.isdir(file))


def _in_parquet(folder: str, elsewhere: Any) -> Any:
    """The references in a folder of parquet files. Each file is read when one of its keys is first requested.
    `elsewhere`: the file system of the folder, if it is on a web server or in a bucket."""
    import fsspec
    import pandas  # noqa: F401 -- fsspec imports it later: raise ImportError here if it is missing
    import pyarrow  # noqa: F401 -- as for pandas
    from fsspec.implementations.reference import LazyReferenceMapper

    files, root = fsspec.core.url_to_fs(folder) if elsewhere is None else (elsewhere, folder.rstrip("/"))
    found = LazyReferenceMapper(root, fs=files, engine="pyarrow")
    found.setup()
    read = found.open_refs

    def checked(field: str, record: int) -> Any:
        """The references of one file. A damaged file is an error: fsspec would take its keys for absent."""
        try:
            columns = read(field, record)
        except (FileNotFoundError, ZarrscopeError):
            raise
        except (ValueError, TypeError, OSError) as error:
            raise _damaged(found.url.format(field=field, record=record)) from error
        if columns is None:
            raise _damaged(found.url.format(field=field, record=record))
        return columns

    found.open_refs = checked
    return found


def _damaged(file: str) -> Unreadable:
    return Unreadable(f"The references in {public(file)!r} are damaged", advice="Check the file: it may be incomplete.")


def open_references(url: str, mode: Mode, options: StoreOptions) -> Store:
    """The store of a reference:// address."""
    return ReferenceStore(url, **(options or {}))


def looks_referenced(path: str) -> bool:
    """Whether a file or folder of this computer is a reference file, by its name and its first bytes."""
    if path.lower().endswith((".parq", ".parquet")):
        return os.path.isfile(os.path.join(path, ".zmetadata"))
    if not path.lower().endswith(".json") or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(4096).lstrip()
    except OSError:
        return False
    return start[:1] == b"{" and any(sign in start for sign in (b'"refs"', b'.zgroup"', b'.zarray"', b'zarr.json"'))
