"""The syntax of addresses: splits text that a person typed, pasted or dropped into its parts. It does not look at
files.

These forms are accepted, also in quotes, in `<…>` or with blanks around them:

- paths of this system, `~`, `$VAR` (and `%VAR%` on Windows), `file:` addresses
- `scheme://…` of the table of stores (registry.py); `host:/path` and `user@host:path`, as for scp, which mean ssh
- chains of fsspec: `zip://folder::address`; the same, Neuroglancer's way: `address|zip:folder|zarr3:node`
- `reference://::address` of a reference file of kerchunk
- `address|icechunk:node` of an Icechunk repository, `address|icechunk:@tag.v1/node` of a version (icechunk_version.py)
- `address::node` (silx)
- the format, stated before or after the address: `zarr2://address`, `address|n5:`
- links to viewers that name a volume (pasted_links.py), and to pages about data (linked_pages.py)

A text that is not an address raises Refused or Unsupported with the reason; it never becomes part of a path. address.py
checks before whether the text is the name of an existing file.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from typing import Literal, NamedTuple

from zarrscope.errors import Refused, Unsupported
from zarrscope.stores.registry import known_schemes

SCHEME = r"([A-Za-z][A-Za-z0-9+.-]+)://"
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+")
"""A scheme, or the name of a machine."""
_VOLUMES = (".zarr", ".n5", ".zip", ".ozx")
"""Endings of names that are paths although they have a colon, as in run:1.zarr."""
FORMATS = {"zarr": "", "zarr2": "v2", "zarr3": "v3", "n5": "n5", "auto": ""}
"""Neuroglancer's names of formats, and the dialects that they state; "": the dialect has to be detected."""
_PIPE = re.compile(r"\|(?=[a-z][a-z0-9-]*:(?!:)|(?:zip|icechunk|zarr|zarr2|zarr3|n5|auto|file)$)")
_CHAIN = re.compile(r"::(?![^\[]*\])")
"""Two colons, except in an IPv6 address in brackets."""
_WAYS: dict[str, Literal["folder", "references", "repository"]] = {
    "zip": "folder",
    "reference": "references",
    "icechunk": "repository",
}
"""The first words of chains, and the steps that they mean."""
_CACHES = ("simplecache", "filecache", "blockcache")
_AROUND = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "‘": "’", "«": "»", "<": ">"}
_SENTENCE = re.compile(r"(\w+://.+\.(?:zarr|n5|zip|ozx)/?)([.,;:!)\]]+)", re.DOTALL | re.IGNORECASE)
"""An address with the punctuation of the sentence from which it was copied."""
_INVISIBLE = "\ufeff\u200b\u200e\u200f\u2060"
OF_WINDOWS = "Use the path at which the drive or share is mounted on this computer."
_DRIVE = re.compile(r"[A-Za-z]:")
_FAR = re.compile(r"(?:([\w.+-]+)@)?([A-Za-z0-9_][\w.-]+|\[[0-9A-Fa-f:.]+\]):(?!//)(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")


class AddressStep(NamedTuple):
    """One step on the way from a place to the node. `kind` says how `path` is meant: "node", the path of a node;
    "archive" or "folder", a folder in an archive (address|zip:path or zip://path::address); "references", a folder in a
    reference file; "repository", a node in an Icechunk repository, after the version if one is named."""

    kind: Literal["node", "archive", "folder", "references", "repository"]
    path: str


class StorePlace(NamedTuple):
    """The place of a store: a path of this system, or an address with a scheme."""

    text: str
    is_path: bool


class Parts(NamedTuple):
    """The parts of an address. `dialect` is "" if the text states no format; `remarks` are sentences for the person who
    gave the address."""

    place: StorePlace
    steps: tuple[AddressStep, ...] = ()
    dialect: str = ""
    remarks: tuple[str, ...] = ()


class Cleaned(NamedTuple):
    """The address in a text, without quotes and without a prefix that names the format, such as `zarr3:`. If the text
    is a link to a web viewer or to a page about data, it is the address of the data."""

    text: str
    dialect: str = ""
    remarks: tuple[str, ...] = ()


def parse(text: str, *, windows: bool = False) -> Parts:
    """The parts of an address.

    Examples
    --------
    >>> parse("'~/x.zarr::images'").steps
    (AddressStep(kind='node', path='images'),)
    >>> parse("https://host/x.zip|zip:a|zarr3:b").dialect
    'v3'
    """
    return parts_of(cleaned(text), windows=windows)


def cleaned(text: str) -> Cleaned:
    """Extracts the address from a text. Raises Refused if it holds none."""
    text, dialect = _bare(text), ""
    remarks: tuple[str, ...] = ()
    if (ended := _SENTENCE.fullmatch(text)) is not None:
        text, remarks = ended[1], (f"The {ended[2]!r} at the end was left out",)
    if text[:4].lower() in ("http", "arn:"):
        from zarrscope.stores.linked_pages import data_behind  # imported here: plain paths need no urllib
        from zarrscope.stores.pasted_links import volume_in

        if (found := volume_in(text)) is not None:
            text, remarks = _bare(found.address), (found.remark,)
        elif (page := data_behind(text)) is not None:
            text, remarks = page.address, (f"The address was taken from a link to {page.site}",)
    while (prefix := re.match(SCHEME, text)) and prefix[1].lower() in FORMATS and prefix[1].lower() != "auto":
        dialect, text = FORMATS[prefix[1].lower()], _bare(text[prefix.end() :])
    if not text or "\0" in text:
        raise Refused("An empty address names nothing" if not text else "An address cannot hold a NUL character")
    return Cleaned(text, dialect, remarks)


def _bare(text: str) -> str:
    text = text.strip().strip(_INVISIBLE).strip()
    while len(text) > 1 and _AROUND.get(text[0]) == text[-1]:
        inner = text[1:-1].strip()
        text = inner[4:] if text[0] == "<" and inner[:4].upper() == "URL:" else inner
    return text


def parts_of(given: Cleaned, *, windows: bool = False) -> Parts:
    """Like `parse`, for a text from `cleaned`."""
    first, *pipes = _PIPE.split(given.text) if "|" in given.text else [given.text]
    place, steps = _chain(first, windows)
    dialect = given.dialect
    for pipe in pipes:
        kind, _, inner = pipe.partition(":")
        if kind == "zip":
            steps.append(AddressStep("archive", inner))
        elif kind == "icechunk":
            steps.append(AddressStep("repository", inner))
        elif kind == "file" or kind in FORMATS:
            dialect = FORMATS.get(kind) or dialect
            steps += [AddressStep("node", inner)] if inner else []
        else:
            raise Unsupported(
                f"|{kind}: is not a format or archive that zarrscope can open",
                feature=f"|{kind}:",
                advice=f"Known are |zip:, |icechunk: and {', '.join(f'|{name}:' for name in FORMATS)}. "
                "For a file of that name, write its file:// address.",
            )
    return Parts(place, tuple(steps), dialect, given.remarks)


def _chain(text: str, windows: bool) -> tuple[StorePlace, list[AddressStep]]:
    parts = _CHAIN.split(text) if "::" in text else [text]
    folder: str | None = None
    way: Literal["folder", "references", "repository"] = "folder"
    while len(parts) > 1:
        scheme = re.match(SCHEME, parts[0])
        kind = (scheme[1] if scheme else parts[0]).lower()
        if kind in _WAYS:
            way = _WAYS[kind]
            inner = parts[0].partition("://")[2].strip("/")
            folder = "/".join(each for each in (inner, folder) if each)
        elif kind not in _CACHES:
            break
        parts.pop(0)
    first, *nodes = parts
    if nodes and re.match(SCHEME, nodes[0]) and not re.match(SCHEME, first):
        raise Unsupported(
            f"{first}:: is not a chain that zarrscope can open",
            feature=f"{first}::",
            advice=f"Known are {', '.join(f'{way}://' for way in _WAYS)} and {', '.join(_CACHES)}.",
        )
    inside = [] if folder is None else [AddressStep(way, folder)]
    return place_in(first, windows=windows), [*inside, *(AddressStep("node", node) for node in nodes)]


def place_in(text: str, *, windows: bool = False) -> StorePlace:
    """The place that a text without chains names: a path or an address. Raises Refused if it is neither."""
    if re.match(SCHEME, text):
        return StorePlace(text, False)
    if text.lower().startswith("file:"):
        if text[5:6] not in ("/", "\\"):  # a path from the current folder
            from urllib.parse import unquote

            return StorePlace(unquote(text[5:]), True)
        return StorePlace("file://" + text[5:].replace("\\", "/" if windows else "\\"), False)
    expanded = _expanded(text, windows)
    if expanded != text:
        if re.match(SCHEME, expanded):
            return StorePlace(expanded, False)
        return StorePlace(expanded, True)
    if _DRIVE.match(text) or text.startswith("\\\\"):
        if windows:
            return StorePlace(text, True)
        raise Refused(
            f"{text!r} is a path of Windows", advice=f"{OF_WINDOWS} For a file with exactly this name, write ./{text}"
        )
    far = _FAR.match(text)
    if far is not None and (found := _far(*far.groups())) is not None:
        return StorePlace(found, False)
    _check_head(text)
    return StorePlace(text, True)


def _expanded(text: str, windows: bool) -> str:
    """Expands ~ and variables, as a shell does."""
    rules = ntpath if windows else posixpath
    if not text.startswith("~") and "$" not in text and not (windows and "%" in text):
        return text
    expanded: str = rules.expanduser(rules.expandvars(text))
    if missing := _VARIABLE.search(expanded):
        raise Refused(
            f"The variable {missing[1] or missing[2]} in {text!r} is not set",
            advice="Set it. For a name with a $ in it write its file:// address, with %24.",
        )
    if expanded.startswith("~") and expanded.partition("/")[0] != "~":
        raise Refused(f"There is no user {expanded[1:].partition('/')[0]!r}", advice="Write the path without ~.")
    return expanded


def _far(user: str | None, host: str, rest: str) -> str | None:
    """The ssh address of host:path or user@host:path, as in scp; None for a text of another form."""
    if host.lower() in known_schemes():
        told = rest.replace("\\", "/").lstrip("/")
        raise Refused(f"Two slashes are missing after {host}:", advice=f"Write {host.lower()}://{told}, as text.")
    if rest.startswith("/"):
        path = rest
    elif rest.startswith("~/") or user:
        path = "/~/" + rest.removeprefix("~/")
    else:
        return None
    return f"ssh://{user + '@' if user else ''}{host}{path}"


def _check_head(text: str) -> None:
    """Raises Refused for a text that looks like an address with a mistake, not like a path: "doi:10/x", "host:x",
    "see s3://bucket"."""
    if within := re.search(SCHEME, text):
        raise Refused(
            f"{text!r} is neither a path nor an address: it has {text[: within.start()]!r} before {within[0]}",
            advice="Give the address alone.",
        )
    head, slash, _ = text.replace("\\", "/").partition("/")
    name, colon, rest = head.partition(":")
    is_name = not _WORD.fullmatch(name) or not rest.strip() or rest[0].isspace() or rest.lower().endswith(_VOLUMES)
    if colon and name and (slash or not is_name):
        raise Refused(
            f"{name}: is not a scheme that zarrscope can open, in {text!r}",
            advice=f"Known are {', '.join(f'{scheme}://' for scheme in known_schemes())}. A path of that name is "
            f"written ./{text}; one on the machine {name} ssh://{name}/~/{rest}…",
        )
