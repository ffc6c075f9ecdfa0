"""Turns text that a person typed, pasted or dropped into a store and a node path, and opens the store.

address_text.py defines the syntax. This module makes an `Address` of the parts. It first checks which files exist on
this computer: the name of an existing file is a path, even if it contains "::", "|", "$" or quotes. The same check
finds archives, databases and metadata files within a path.

An `Address` is a store and a node in it. The text of a plain path does not show where the hierarchy begins, so the
whole path is taken as the store. If no hierarchy is there, `parents` gives the folders above in which to look for one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.model.frozen import frozen
from zarrscope.stores.address_options import BUCKETS, cut_options, need_known_options, with_options
from zarrscope.stores.chains import chain_parts, with_version
from zarrscope.stores.file_address import ARCHIVES, looks_zipped, open_archive
from zarrscope.stores.local.paths import file_url, path_of
from zarrscope.stores.registry import Mode, StoreKind, StoreOptions, known_schemes, need_kind
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from zarrscope.stores.address_text import StorePlace

METADATA_FILES = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"})


@frozen
class Address:
    """The parts of an address.

    `open_store` opens `store_url`; `node_path` is "" or "a/b", relative to the store's root.

    `store_url` is the whole address including passwords; `public_url` may be shown and written. `dialect` is the
    dialect that the address states ("zarr2://"), else ""; `repository`: whether it states an Icechunk repository.
    `remarks` explain how the text was understood, if that is not obvious.
    """

    store_url: str
    node_path: str = ""
    dialect: str = ""
    remarks: tuple[str, ...] = field(default=(), compare=False)
    repository: bool = field(default=False, compare=False)

    @property
    def public_url(self) -> str:
        """The `store_url` without passwords and tokens, for messages and documents."""
        return public(self.store_url)

    @property
    def text(self) -> str:
        """The address as one line. `split_address` turns this text into an equal Address in every working directory."""
        place = path_of(self.store_url) if self.store_url.startswith("file:") else self.store_url
        node = f"::{self.node_path}" if self.node_path else ""
        return (f"{_PREFIXES[self.dialect]}://" if self.dialect else "") + place + node

    def __repr__(self) -> str:
        said = f", {self.dialect!r}" if self.dialect else ""
        return f"Address({self.public_url!r}, {self.node_path!r}{said})"


REFERENCES = (".json", ".parq", ".parquet")
"""File name endings of kerchunk's reference files."""
_MOST_PARENTS = 32
_PREFIXES = {"v2": "zarr2", "v3": "zarr3", "n5": "n5"}
"""Neuroglancer's names of the dialects that an address can state."""
_ODD = frozenset("\0:|~$%\"'`<>“”„‘’«»" + "\\" * (sys.platform != "win32"))


def split_address(text: str) -> Address:
    """The store and the node that `text` names. It only looks at local files, to tell paths from addresses.

    An existing path is used as that path, even if it contains "::", "|" or spaces. Raises Refused for text that is not
    an address, Unsupported for a scheme that zarrscope cannot open.
    """
    if text and not _is_odd(text):
        return _local(text)
    if text.startswith("file:///") and not _is_odd(text[5:]):
        return _local(path_of(text))
    from zarrscope.stores.address_text import cleaned, parts_of
    from zarrscope.stores.whole_address import whole_address

    if (found := _path_first(text)) is not None:
        return found
    given = cleaned(whole_address(text))  # a link names its volume in parts that are not shown
    if given.text != text and (found := _path_first(given.text)) is not None:
        return Address(found.store_url, found.node_path, given.dialect, (*given.remarks, *found.remarks))
    parts = parts_of(given._replace(text=whole_address(given.text)), windows=sys.platform == "win32")
    address, repository = _placed(parts.place), False
    for step in parts.steps:
        match step.kind:
            case "archive":
                address = Address(_within_zip(address, _clean(step.path)))
            case "references":
                address = _referenced(address, _clean(step.path))
            case "repository":
                from zarrscope.stores.icechunk_version import split_version

                version, node = split_version(step.path)
                whole = Address(join_url(address.store_url, address.node_path), _clean(node))
                address, repository = whole, True
                if version is not None:
                    address = replace(whole, store_url=with_version(whole.store_url, version))
            case "folder":
                inner = _join(address.node_path, _clean(step.path))
                address = Address(f"zip://{inner}::{address.store_url}")
            case _:
                address = Address(address.store_url, _join(address.node_path, _node(step.path)))
    return replace(address, dialect=parts.dialect, remarks=parts.remarks, repository=repository)


def _is_odd(text: str) -> bool:
    """Whether parsing may split or change the text, unless it is used as a path."""
    return not _ODD.isdisjoint(text) or text[:1].isspace() or text[-1:].isspace()


def absolute_address(text: str) -> str:
    """The address in a form that is valid in every working directory: an absolute path; for a link to a viewer, the
    address of its volume.

    A text that is not an address stays as it is; opening it raises the error.
    """
    from zarrscope.stores.address_text import SCHEME, cleaned

    try:
        given = cleaned(text)
        if re.match(SCHEME, given.text):
            return (f"{_PREFIXES[given.dialect]}://" if given.dialect else "") + given.text
        return split_address(text).text
    except ZarrscopeError:
        return text


def address_with(text: str, options: Mapping[str, Any]) -> str:
    """The address with these options added: those of a bucket (address_options.py), or the version of an Icechunk
    repository (icechunk_version.py). Raises Refused for options of a bucket if the address is not that of a bucket."""
    found, of_bucket = at_version(split_address(text), options)
    return (replace(found, store_url=with_options(found.store_url, of_bucket)) if of_bucket else found).text


def at_version(address: Address, options: Mapping[str, Any]) -> tuple[Address, dict[str, Any]]:
    """The address with the version of an Icechunk repository that the options name, and the other options."""
    if not options:
        return address, {}
    from zarrscope.stores.icechunk_version import OPTIONS, version_in

    version = version_in(options)
    found = address if version is None else replace(address, store_url=with_version(address.store_url, version))
    return found, {name: value for name, value in options.items() if name not in OPTIONS}


def open_store(url: str, mode: Mode = "r", options: StoreOptions = None, *, follow_links: bool = False) -> Store:
    """Opens the store at `url`, which is an `Address.store_url` or any text for `split_address`. If it also names a
    node, the result is the part of the store beneath that node.

    With the mode "r" the store is read-only. The other modes allow writing: for "r+" the store must exist, for "a" it
    need not, and for "w-" it must not. `options` are for remote stores: the settings of network.Network, and the
    options of the bucket's file system. Raises NotFound, Unsupported, Refused.
    """
    address = split_address(url)
    store = store_at(address.store_url, mode, options, follow_links=follow_links)
    inner = _clean(address.node_path)
    if inner:
        from zarrscope.stores.wrappers import PrefixStore

        return PrefixStore(store, inner + "/", url=join_url(address.store_url, inner))
    return store


def parents(address: Address) -> Iterator[Address]:
    """Yields `address`, then addresses of the same node with shorter store URLs and longer node paths: first
    ("…/x.zarr/a", ""), then ("…/x.zarr", "a"), and so on."""
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
    """The store URL of the folder or prefix `path` ("a/b") beneath a store URL."""
    if not path:
        return url
    scheme, inner, outer = chain_parts(url)
    if outer:
        return f"{scheme}://{_join(inner, path)}::{outer}"
    if _is_archive(url):
        return f"zip://{path}::{url}"
    if _kind(url).form not in ("path", "url"):
        bare, options = cut_options(url)
        return f"{bare.rstrip('/')}/{path}{options}"
    from urllib.parse import quote, urlsplit, urlunsplit

    scheme, host, base, query, _ = urlsplit(url)
    return urlunsplit((scheme, host, base.rstrip("/") + "/" + quote(path), query, ""))


# ---------------------------------------------------------------------- splitting
def _path_first(text: str) -> Address | None:
    """Splits a text into the longest existing path and the node path after it; None when the text has to be parsed."""
    if "\0" in text or text[:7].lower() == "file://":
        return None
    parts = text.split("::")
    for n in range(len(parts), 0, -1):
        place = "::".join(parts[:n])
        if (n == len(parts) or _is_odd(place)) and place.strip() and os.path.lexists(place):
            address = _local(place)
            return Address(
                address.store_url, _join(address.node_path, *map(_node, parts[n:])), remarks=_path_remark(place)
            )
    return None


def _path_remark(path: str) -> tuple[str, ...]:
    """A remark if the text of this existing path could also be read as an address; else nothing."""
    from zarrscope.stores.address_text import cleaned, parts_of

    try:
        parts = parts_of(cleaned(path), windows=sys.platform == "win32")
    except (Refused, Unsupported):
        return ()
    if parts.place == (path.strip(), True) and not parts.steps:
        return ()
    return (f"A file or folder has exactly the name {path!r}, so this was opened as a path and not as an address",)


def _placed(place: StorePlace) -> Address:
    """The store and node that a path, or an address without chained parts, names."""
    from zarrscope.stores.address_text import SCHEME

    if place.is_path:
        return _local(place.text)
    found = re.match(SCHEME, place.text)
    if found is None or (scheme := found[1].lower()) == "file":
        return _local(path_of(place.text))
    if scheme == "icechunk":
        raise Refused(
            "An icechunk:// address names its repository after '::'", advice="Write address|icechunk:@branch.NAME"
        )
    rest = place.text[found.end() :]
    if scheme in ("s3+https", "s3+http"):
        return _other_s3(scheme, rest)
    kind = need_kind(scheme, place.text)
    match kind.form:
        case "chain":
            example = "folder::address.zip" if scheme == "zip" else "node::address.json"
            raise Refused(f"A {scheme}:// address names its file after '::'", advice=f"Write {scheme}://{example}")
        case "path":
            return _local(path_of(place.text))
        case "name":
            name, _, node = rest.partition("/")
            return Address(f"{scheme}://{name}", _clean(node))
        case "url":
            return _web(place.text)
        case "file":
            return _file(scheme, kind, rest)
        case _:
            return _bucket(scheme, rest, kind)


def _other_s3(scheme: str, rest: str) -> Address:
    """The address for Neuroglancer's form s3+https://host/bucket/key, which names a server with the protocol of S3."""
    host, _, key = rest.partition("/")
    bare, options = cut_options(f"s3://{key}")
    address = _bucket("s3", bare[5:] + options, need_kind("s3", rest))
    url = with_options(address.store_url, {"endpoint": f"{scheme[3:]}://{host}"})
    return Address(url, address.node_path)


def _file(scheme: str, kind: StoreKind, rest: str) -> Address:
    """Splits a path after the part that is the store: a file, or a folder that contains a certain file."""
    if not rest.strip("/"):
        raise Refused(f"{scheme}://{rest} names no file", advice=f"Write {scheme}:///folder/file")
    drive = sys.platform == "win32" and re.match(r"/[A-Za-z]:", rest)
    path = os.path.abspath(os.path.expanduser(rest[1:] if drive else rest))
    place, inner = path, ""
    while not any(os.path.isfile(place + ending) for ending in kind.endings):
        above, name = os.path.split(place)
        if above == place:  # no such file exists: the whole path is that of a new file
            place, inner = path, ""
            break
        place, inner = above, _join(name, inner)
    slash = "" if place.startswith("/") else "/"
    return Address(f"{scheme}://{slash}{place.replace(os.sep, '/')}", _clean(inner))


def _local(path: str) -> Address:
    path = os.path.abspath(path)
    if os.path.basename(path) in METADATA_FILES and not os.path.isdir(path):
        path = os.path.dirname(path)
    inner: list[str] = []
    place = path
    # Missing names at the end are cut off until a file (an archive) or a folder is found.
    while not os.path.exists(place) and (above := os.path.dirname(place)) != place:
        inner.insert(0, os.path.basename(place))
        place = above
    if inner and os.path.isfile(place) and looks_zipped(place):
        if inner[-1] in METADATA_FILES:
            inner.pop()
        return Address(file_url(place), "/".join(inner))
    if inner and (database := _database(place, inner)) is not None:
        return database
    if place.lower().endswith(REFERENCES):
        from zarrscope.stores.references import looks_referenced

        if not looks_referenced(place):
            return Address(file_url(path))
        return Address(f"reference://::{file_url(place)}", _clean("/".join(inner)))
    return Address(file_url(path))


def _database(place: str, inner: list[str]) -> Address | None:
    """The address of a node in a SQLite, LMDB or dbm database; None if there is none at `place`, nor at its first
    missing name, to which dbm adds an ending."""
    from zarrscope.stores.local.databases import database_at

    for names in (0, 1) if len(inner) > 1 else (0,):
        path = os.path.join(place, *inner[:names])
        if database_at(path) is not None:
            return Address(file_url(path), _clean("/".join(inner[names:])))
    return None


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
    found = Address(urlunsplit((scheme.lower(), host, "/".join(names), query, "")))
    return _referenced(found) if names and names[-1].lower().endswith(REFERENCES) else found


def _bucket(scheme: str, rest: str, kind: StoreKind) -> Address:
    """Splits s3://bucket/key; no character in a key is escaped."""
    if scheme in BUCKETS and "?" in rest:
        need_known_options(f"{scheme}://{rest}")
    rest, options = cut_options(f"{scheme}://{rest}")
    rest = rest[len(scheme) + 3 :]
    host, *names = [name for name in rest.split("/") if name] or [""]
    if not host:
        raise Refused(f"{scheme}://{rest} names no bucket or host", advice=f"Write {scheme}://bucket/path")
    if any(name in (".", "..") for name in names):
        raise Refused(f"{scheme}://{rest} has '.' or '..' in it", advice="Write the path without them.")
    if names and names[-1] in METADATA_FILES:
        names.pop()
    for i, name in enumerate(names[:-1] if kind.archives else ()):
        if name.lower().endswith(ARCHIVES):
            return Address(f"{scheme}://{_join(host, *names[: i + 1])}{options}", _clean("/".join(names[i + 1 :])))
    root = "/" * (rest.startswith("/") and scheme not in known_schemes())  # hdfs:///path names the usual host
    found = Address(f"{scheme}://{root}{_join(host, *names)}{options}")
    return _referenced(found) if kind.archives and names and names[-1].lower().endswith(REFERENCES) else found


def _kind(url: str) -> StoreKind:
    """The kind of the store at an `Address.store_url`."""
    return need_kind(url.partition(":")[0], url)


def _node(path: str) -> str:
    """A node path without slashes around it. Raises Refused if it contains "..", which leads upward."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names:
        raise Refused(f"The path {path!r} leads out of the store")
    return "/".join(names)


def _clean(path: str) -> str:
    """A node path without slashes around it; the path of a metadata file becomes that of its folder."""
    path = _node(path)
    above, _, name = path.rpartition("/")
    return above if name in METADATA_FILES else path


def _join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def _within_zip(address: Address, inner: str) -> str:
    archive = join_url(address.store_url, address.node_path)
    return f"zip://{inner}::{archive}"


def _referenced(address: Address, inner: str = "") -> Address:
    """The store that the address of a kerchunk reference file names, and the node in it."""
    if address.store_url.startswith("reference://"):
        return Address(address.store_url, _join(address.node_path, inner))
    return Address(f"reference://{inner}::{join_url(address.store_url, address.node_path)}")


def _is_archive(url: str) -> bool:
    from urllib.parse import urlsplit

    kind = _kind(url)
    if kind.form != "path" and not kind.archives:
        return False
    return (cut_options(url)[0] if kind.form == "bucket" else urlsplit(url).path).lower().endswith(ARCHIVES)


def _above(url: str) -> tuple[str, str] | None:
    """The URL of the store one level up, and the name of the child that leads back to this store; None at the top."""
    scheme, inner, outer = chain_parts(url)
    if outer:
        head, _, name = inner.rpartition("/")
        if not inner or (scheme == "icechunk" and not head):
            return None
        return (f"{scheme}://{head}::{outer}" if head or scheme != "zip" else outer), name
    form = _kind(url).form
    if form in ("name", "file"):
        return None
    if form == "bucket":
        bare, options = cut_options(url)
        head, slash, name = bare.rpartition("/")
        return None if _is_archive(url) or head.endswith("/") or not slash else (head + options, name)
    from urllib.parse import unquote, urlsplit, urlunsplit

    scheme, host, path, query, _ = urlsplit(url)
    if _is_archive(url):
        return None
    head, _, name = path.rstrip("/").rpartition("/")
    if not name or (scheme == "file" and sys.platform == "win32" and name.endswith(":")):
        return None
    return urlunsplit((scheme, host, head or "/", query, "")), unquote(name)


# ---------------------------------------------------------------------- opening
def store_at(url: str, mode: Mode = "r", options: StoreOptions = None, *, follow_links: bool = False) -> Store:
    """Opens the store at an `Address.store_url` from `split_address`. Raises the errors of `open_store`."""
    scheme, inner, outer = chain_parts(url)
    if outer:
        if scheme == "zip":
            store = _archive(outer, mode, options)
        elif scheme == "icechunk":
            from zarrscope.stores.icechunk import open_repository
            from zarrscope.stores.icechunk_version import split_version

            version, inner = split_version(inner)
            store = open_repository(store_at(outer, "r", options), version, mode)
        else:
            store = _kind(url).open(f"{scheme}://::{outer}", mode, options)
        if follow_links:
            store.allow_outside = True
        if inner:
            from zarrscope.stores.wrappers import PrefixStore

            store = PrefixStore(store, inner + "/", url=url)
        return _as_asked(store, mode)
    kind = _kind(url)
    if kind.archives and _is_archive(url):
        return _archive(url, mode, options)
    store = kind.open(url, mode, options)
    if follow_links:
        store.allow_outside = True
    return _as_asked(store, mode)


def _as_asked(store: Store, mode: Mode) -> Store:
    """The store, which cannot be written if it was opened for reading."""
    if mode != "r" or not store.writable:
        return store
    from zarrscope.stores.wrappers import ReadOnlyStore

    return ReadOnlyStore(store)


def _archive(url: str, mode: Mode, options: StoreOptions) -> Store:
    kind = _kind(url)
    if kind.form == "path":
        return open_archive(path_of(url), url, mode)
    if not kind.archives:
        raise Unsupported(f"Archives cannot be opened at {kind.scheme}://", feature="archive", store=url)
    from zarrscope.stores.remote import RemoteStore
    from zarrscope.stores.zip.ranges import RemoteFile
    from zarrscope.stores.zip.store import ZipStore

    store = kind.open(url, "r", options)
    if not isinstance(store, RemoteStore):
        raise Unsupported(f"Archives cannot be opened at {kind.scheme}://", feature="archive", store=url)
    return ZipStore(RemoteFile(store), url=url)
