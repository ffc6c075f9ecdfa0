"""From what a person types, pastes or drops to a store and a place in it.

Accepted: a folder or file path, `~`, `file://`; `http://`, `https://`, `memory://name`; `s3://bucket/…`, `gs://`,
`abfs://`, `sftp://host/…`; a .zip or .ozx, and what follows it (`x.zip/a/b`); a metadata file, which means its folder;
`store::node` (silx); chains `zip://inner::url` (fsspec); pipelines `url|zip:inner|zarr3:node` and prefixes `zarr://url`
(Neuroglancer).

An `Address` is a store and a node in it. Where the hierarchy begins within a plain path cannot be told from the text:
`parents` gives the candidates, the deepest first, and the hierarchy takes the one that has a root.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Literal

from zarrscope.errors import NotFound, Refused, Unsupported
from zarrscope.frozen import frozen
from zarrscope.store import Store
from zarrscope.stores.paths import file_url, path_of

Mode = Literal["r", "r+", "a", "w-"]

METADATA_FILES = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"})
ARCHIVES = (".zip", ".ozx")


@frozen
class Address:
    """`store_url` opens with `open_store`; `node_path` is "" or "a/b", relative to the store's root."""

    store_url: str
    node_path: str = ""


@frozen
class Scheme:
    """What opens addresses of one scheme; `extra` is what to install for it, "" when nothing more is needed."""

    opens: str
    extra: str = ""
    writable: bool = False


SCHEMES: dict[str, Scheme] = {
    "file": Scheme("a folder, or a .zip or .ozx file, on this computer", writable=True),
    "memory": Scheme("a named store in this process", writable=True),
    "http": Scheme("a folder or archive on a web server", extra="http"),
    "https": Scheme("a folder or archive on a web server", extra="http"),
    "zip": Scheme("a folder within a .zip or .ozx: zip://folder::address-of-the-archive"),
    "s3": Scheme("a folder or archive in a bucket of Amazon S3, or of what speaks like it", extra="s3"),
    "gs": Scheme("a folder or archive in a bucket of Google Cloud Storage", extra="gcs"),
    "abfs": Scheme(
        "a folder or archive in Azure Blob Storage: abfs://container@account.dfs.core.windows.net/…", "azure"
    ),
    "sftp": Scheme("a folder or archive on a machine that one logs in to by SSH", extra="sftp"),
}

_ALSO = {"s3a": "s3", "gcs": "gs", "abfss": "abfs", "az": "abfs", "ssh": "sftp"}
"""Other names of the same."""
_BUCKETS = ("s3", "gs", "abfs", "sftp")
_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]+)://"
_FORMATS = ("zarr", "zarr2", "zarr3", "n5")
_PIPE = r"\|(?=(?:zip|zarr|zarr2|zarr3|n5|auto|file)(?::|$))"
_CHAIN = r"::(?![^\[]*\])"
"""Two colons, but not those of an IPv6 host in brackets."""
_MOST_PARENTS = 32


def split_address(text: str) -> Address:
    """The store and the node that `text` names. Looks at local paths to find an archive among them; else pure.

    Raises Refused for text that is no address, Unsupported for a scheme that nothing here opens.
    """
    text = text.strip()
    if not text or "\0" in text:
        raise Refused("An empty address names nothing" if not text else "An address cannot hold a NUL character")
    first, *rest = re.split(_PIPE, text) if "|" in text else [text]
    address = _split_chain(first)
    for part in rest:
        kind, _, inner = part.partition(":")
        inner = _clean(inner)
        if kind == "zip":
            address = Address(_within_zip(address, inner))
        elif inner:
            address = Address(address.store_url, _join(address.node_path, inner))
    return address


def open_store(url: str, mode: Mode = "r") -> Store:
    """The store at `url`: an `Address.store_url`, or anything `split_address` takes that names no node within.

    "r" opens it read-only; the others for writing: "r+" must exist, "a" may, "w-" must not. Raises NotFound,
    Unsupported, Refused.
    """
    address = split_address(url)
    store = store_at(address.store_url, mode)
    if address.node_path:
        from zarrscope.stores.wrappers import PrefixStore

        return PrefixStore(store, address.node_path + "/", url=join_url(address.store_url, address.node_path))
    return store


def parents(address: Address) -> Iterator[Address]:
    """`address`, then the same place seen from each store above it: ("…/x.zarr/a", ""), ("…/x.zarr", "a") …"""
    yield address
    url, node = address.store_url, address.node_path
    for _ in range(_MOST_PARENTS):
        above = _above(url)
        if above is None:
            return
        url, name = above
        node = _join(name, node)
        yield Address(url, node)


def join_url(url: str, path: str) -> str:
    """The store URL of the place `path` ("a/b") beneath a store URL."""
    if not path:
        return url
    inner, outer = _zip_parts(url)
    if outer:
        return f"zip://{_join(inner, path)}::{outer}"
    if _is_archive(url):
        return f"zip://{path}::{url}"
    if url.startswith("memory://") or _is_bucket(url):
        return f"{url.rstrip('/')}/{path}"
    from urllib.parse import quote, urlsplit, urlunsplit

    scheme, host, base, query, _ = urlsplit(url)
    return urlunsplit((scheme, host, base.rstrip("/") + "/" + quote(path), query, ""))


# ---------------------------------------------------------------------- splitting
def _split_chain(text: str) -> Address:
    parts = re.split(_CHAIN, text) if "::" in text else [text]
    inner: str | None = None
    while len(parts) > 1:
        scheme = re.match(_SCHEME, parts[0])
        kind = scheme.group(1).lower() if scheme else parts[0].lower()
        if kind == "zip":
            inner = _join(_clean(parts[0][6:]), inner or "")
        elif kind not in ("simplecache", "filecache", "blockcache"):
            break
        parts.pop(0)
    first, *nodes = parts
    address = _plain(first)
    if inner is not None:
        address = Address(f"zip://{_join(address.node_path, inner)}::{address.store_url}")
    return Address(address.store_url, _join(address.node_path, *map(_clean, nodes))) if nodes else address


def _plain(text: str) -> Address:
    """An address without chains."""
    found = re.match(_SCHEME, text) if "://" in text else None
    scheme = found.group(1).lower() if found else ""
    if scheme in _FORMATS:
        return split_address(text[found.end() :]) if found else Address(text)
    if scheme == "zip":
        raise Refused("A zip:// address names its archive after '::'", advice="Write zip://folder::address.zip")
    if not scheme or scheme == "file":
        return _local(path_of(text) if scheme else os.path.expanduser(text))
    if scheme == "memory":
        name, _, node = text[len("memory://") :].partition("/")
        return Address(f"memory://{name}", _clean(node))
    if scheme in ("http", "https"):
        return _web(text)
    if _ALSO.get(scheme, scheme) in _BUCKETS:
        return _bucket(scheme, text[found.end() :] if found else "")
    raise Unsupported(
        f"Addresses that begin with {scheme}:// cannot be opened yet",
        feature=f"scheme {scheme}",
        store=text,
        advice=f"Known are {', '.join(SCHEMES)}. Many buckets can be read through their https:// address.",
    )


def _local(path: str) -> Address:
    path = os.path.abspath(path)
    if os.path.basename(path) in METADATA_FILES and not os.path.isdir(path):
        path = os.path.dirname(path)
    inner: list[str] = []
    place = path
    # Only an archive on the way, which is a file, ends the search early; a missing tail is no reason to stop.
    while not os.path.exists(place) and (above := os.path.dirname(place)) != place:
        inner.insert(0, os.path.basename(place))
        place = above
    if inner and os.path.isfile(place) and _looks_zipped(place):
        if inner[-1] in METADATA_FILES:
            inner.pop()
        return Address(file_url(place), "/".join(inner))
    return Address(file_url(path))


def _web(text: str) -> Address:
    from urllib.parse import unquote, urlsplit, urlunsplit

    scheme, host, path, query, _ = urlsplit(text)
    if not host:
        raise Refused(f"{text!r} has no host", advice="Write https://host/path")
    names = path.split("/")
    while names and names[-1] == "":
        names.pop()
    if names and names[-1] in METADATA_FILES:
        names.pop()
    for i, name in enumerate(names[:-1]):
        if name.lower().endswith(ARCHIVES):
            inner = _clean(unquote("/".join(names[i + 1 :])))
            return Address(urlunsplit((scheme, host, "/".join(names[: i + 1]), query, "")), inner)
    return Address(urlunsplit((scheme.lower(), host, "/".join(names), query, "")))


def _bucket(scheme: str, rest: str) -> Address:
    """s3://bucket/key: nothing in a key is escaped."""
    host, *names = [name for name in rest.split("/") if name] or [""]
    if not host:
        raise Refused(f"{scheme}://{rest} names no bucket or host", advice=f"Write {scheme}://bucket/path")
    if any(name in (".", "..") for name in names):
        raise Refused(f"{scheme}://{rest} has '.' or '..' in it", advice="Write the path without them.")
    if names and names[-1] in METADATA_FILES:
        names.pop()
    for i, name in enumerate(names[:-1]):
        if name.lower().endswith(ARCHIVES):
            return Address(f"{scheme}://{_join(host, *names[: i + 1])}", _clean("/".join(names[i + 1 :])))
    return Address(f"{scheme}://{_join(host, *names)}")


def _is_bucket(url: str) -> bool:
    scheme = url.partition("://")[0]
    return _ALSO.get(scheme, scheme) in _BUCKETS


def _clean(path: str) -> str:
    """A node path without slashes around it. Raises Refused when it leads upward."""
    names = [name for name in path.replace("\\", "/").split("/") if name not in ("", ".")]
    if ".." in names:
        raise Refused(f"The path {path!r} leads out of the store")
    if names and names[-1] in METADATA_FILES:
        names.pop()
    return "/".join(names)


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _within_zip(address: Address, inner: str) -> str:
    archive = join_url(address.store_url, address.node_path)
    return f"zip://{inner}::{archive}"


def _zip_parts(url: str) -> tuple[str, str]:
    """("inner", "outer url") of a zip:// chain; ("", "") for another URL."""
    if not url.startswith("zip://"):
        return "", ""
    inner, _, outer = url[6:].partition("::")
    return inner, outer


def _is_archive(url: str) -> bool:
    from urllib.parse import urlsplit

    return (url if _is_bucket(url) else urlsplit(url).path).lower().endswith(ARCHIVES)


def _above(url: str) -> tuple[str, str] | None:
    """The store one level up, and the name that leads back; None at the top."""
    inner, outer = _zip_parts(url)
    if outer:
        if not inner:
            return None
        head, _, name = inner.rpartition("/")
        return (f"zip://{head}::{outer}" if head else outer), name
    if _is_bucket(url):
        head, slash, name = url.rpartition("/")
        return None if _is_archive(url) or head.endswith("/") or not slash else (head, name)
    from urllib.parse import unquote, urlsplit, urlunsplit

    scheme, host, path, query, _ = urlsplit(url)
    if scheme == "memory" or _is_archive(url):
        return None
    head, _, name = path.rstrip("/").rpartition("/")
    if not name or (scheme == "file" and sys.platform == "win32" and name.endswith(":")):
        return None
    return urlunsplit((scheme, host, head or "/", query, "")), unquote(name)


# ---------------------------------------------------------------------- opening
def store_at(url: str, mode: Mode = "r") -> Store:
    """As `open_store`, for an `Address.store_url` as `split_address` made it."""
    inner, outer = _zip_parts(url)
    if outer:
        from zarrscope.stores.wrappers import PrefixStore

        store = _archive(outer, mode)
        return PrefixStore(store, inner + "/", url=url) if inner else store
    scheme = url.partition(":")[0]
    if scheme == "memory":
        from zarrscope.stores.memory import MemoryStore

        memory = MemoryStore.named(url[len("memory://") :])
        if mode != "r":
            return memory
        from zarrscope.stores.wrappers import ReadOnlyStore

        return ReadOnlyStore(memory)
    if scheme in ("http", "https"):
        if _is_archive(url):
            return _archive(url, mode)
        from zarrscope.stores.http import HTTPStore

        return HTTPStore(url)
    if _is_bucket(url):
        if _is_archive(url):
            return _archive(url, mode)
        from zarrscope.stores.fsspec import FsspecStore

        return FsspecStore(url, extra=SCHEMES[_ALSO.get(scheme, scheme)].extra)
    path = path_of(url)
    folder = os.path.isdir(path)
    if not folder and os.path.isfile(path):
        if _looks_zipped(path):
            return _archive(url, mode)
        raise Unsupported(
            f"{path} is a file, but neither a .zip archive nor a metadata file of Zarr",
            feature="file",
            store=url,
            advice="Open the folder that holds zarr.json, .zgroup or .zarray.",
        )
    if mode in ("r", "r+") and not folder and not os.path.lexists(path):
        raise NotFound(f"There is no file or folder {path}", store=url, advice=_nearest(path))
    if mode == "w-" and folder and any(True for _ in os.scandir(path)):
        raise Refused(f"{path} exists and is not empty", store=url, advice="Choose another place.")
    from zarrscope.stores.local import LocalStore

    return LocalStore(path, writable=mode != "r")


def _archive(url: str, mode: Mode) -> Store:
    from zarrscope.stores.zip import ZipStore

    if url.startswith(("http://", "https://")):
        from zarrscope.stores.http import HTTPStore
        from zarrscope.stores.remote import RemoteFile

        return ZipStore(RemoteFile(HTTPStore(url)), url=url)
    if _is_bucket(url):
        from zarrscope.stores.fsspec import FsspecStore
        from zarrscope.stores.remote import RemoteFile

        scheme = url.partition("://")[0]
        return ZipStore(RemoteFile(FsspecStore(url, extra=SCHEMES[_ALSO.get(scheme, scheme)].extra)), url=url)
    path = path_of(url)
    if not os.path.isfile(path):
        raise NotFound(f"There is no archive {path}", store=url, advice=_nearest(path))
    return ZipStore(path)


def _looks_zipped(path: str) -> bool:
    if path.lower().endswith(ARCHIVES):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _nearest(path: str) -> str:
    """What does exist of a path that does not, in words."""
    place = os.path.dirname(path)
    while place and not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return f"The folder {place} is there: look in it for the name." if place else "Check the path."
