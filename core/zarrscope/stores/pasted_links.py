"""Finds the address of a volume in a link to a viewer in a browser, which people paste from chats and web pages.

vizarr, avivator, the OME-NGFF validator, Vol-E and others name the volume in a parameter of the link, Neuroglancer in
the JSON after "#!", Vitessce in a JSON that the link may hold, and BioFile Finder in a filter on the path.
Fileglancer's data links are addresses already. A link that names no volume raises Refused; the message says which link
to copy instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from zarrscope.errors import Refused

if TYPE_CHECKING:
    from zarrscope.model.json_value import JSON

_VIEWERS = (
    ("vizarr", r"vizarr"),
    ("Avivator", r"avivator|/viv(/|$)"),
    ("the OME-NGFF validator", r"ome-ngff-validator"),
    ("Vol-E", r"volumeviewer\.allencell\.org|vole-app"),
    ("the BioNGFF viewer", r"biongff-viewer"),
    ("itk-vtk-viewer", r"itk-vtk-viewer"),
    ("Neuroglancer", r"neuroglancer"),
    ("BioFile Finder", r"(bff|biofile-finder)\.allencell\.org|biofile-finder"),
    ("Fileglancer", r"fileglancer"),
    ("Vitessce", r"vitessce\."),
)
"""The name of each viewer, and the pattern that identifies its links."""
_PARAMETERS = ("source", "image_url", "url", "image", "filetoload")
_VOLUME = re.compile(r"\.(zarr|n5|zip|ozx)(/|$)", re.IGNORECASE)
_FORMAT = re.compile(r"(zarr|zarr2|zarr3|n5)://|.*\|(zarr|zarr2|zarr3|n5):", re.DOTALL)
_ELSEWHERE = re.compile(r"(https?|s3|gs|s3\+https?|gcs|az|abfs)://")


class LinkedVolume(NamedTuple):
    """The address of a volume, and a sentence for the person that names the link from which it was taken."""

    address: str
    remark: str


def volume_in(text: str) -> LinkedVolume | None:
    """The volume that a link to a viewer shows; None for text that is not such a link. Raises Refused if the link shows
    no volume.

    Examples
    --------
    >>> volume_in("https://hms-dbmi.github.io/vizarr/?source=https://host/x.zarr").address
    'https://host/x.zarr'
    """
    if not re.match("https?://", text, re.IGNORECASE) or not any(each in text for each in ("?", "#", "/browse/")):
        return None
    link = urlsplit(text)
    if link.fragment.startswith("!"):
        return _neuroglancer(link.fragment[1:])
    _check_page(link)
    if _VOLUME.search(link.path):
        return None
    viewer = next((name for name, sign in _VIEWERS if re.search(sign, f"{link.netloc}{link.path}")), None)
    given = [*parse_qsl(link.query), *parse_qsl(link.fragment.partition("?")[2] or link.fragment)]
    if viewer == "BioFile Finder":
        return _finder(given)
    if viewer == "Vitessce":
        return _vitessce(dict(given).get("url", ""))
    found = [value for name, value in given if _ELSEWHERE.match(value.strip()) and _is_shown(name, value)]
    if found:
        first, *more = [each for value in found for each in re.split(r",(?=https?://)", value)]
        return _taken(first, viewer or f"the page {link.netloc}{link.path}", len(more))
    return None


def _is_shown(name: str, value: str) -> bool:
    """Whether a parameter names a volume: by its own name, or by that of the volume."""
    return name.lower() in _PARAMETERS or bool(_VOLUME.search(urlsplit(value.strip()).path))


def _taken(address: str, viewer: str, more: int = 0) -> LinkedVolume:
    others = f"; it names {more} more" if more else ""
    return LinkedVolume(address, f"The address was taken from a link to {viewer}{others}")


def _check_page(link: SplitResult) -> None:
    """Raises Refused for a page of Fileglancer, which shows a folder without its address."""
    if "fileglancer" in link.netloc and re.match(r"(/fg)?/browse/", link.path):
        raise Refused(
            "This is a page of Fileglancer, not the data",
            store=link.geturl(),
            advice="Make a data link there and copy that, or give the path of the folder.",
        )


# ---------------------------------------------------------------------- Vitessce
def _vitessce(url: str) -> LinkedVolume | None:
    """The first volume of the configuration that a link holds; raises Refused if it only names one, or shows none."""
    if not url:
        return None
    if not url.startswith("data:"):
        raise Refused(
            f"This link to Vitessce names a configuration, not a volume: {url}",
            advice="Copy the address of a volume from that file.",
        )
    config = _json(url.partition(",")[2])
    datasets = config.get("datasets") if isinstance(config, dict) else None
    files = [file for each in _objects(datasets) for file in _objects(each.get("files"))]
    found = [
        address
        for file in files
        if isinstance(address := file.get("url"), str)
        and (str(file.get("fileType", "")).endswith("zarr") or _VOLUME.search(urlsplit(address).path))
    ]
    if not found:
        raise Refused("This link to Vitessce shows no Zarr volume", advice="Copy a link that shows one.")
    return _taken(found[0], "Vitessce", len({*found}) - 1)


def _objects(values: object) -> list[dict[str, Any]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


# ---------------------------------------------------------------------- BioFile Finder
def _finder(given: list[tuple[str, str]]) -> LinkedVolume:
    """The path that BioFile Finder filters by; raises Refused for a table of files."""
    tables = []
    for name, value in given:
        found = _json(value)
        if not isinstance(found, dict):
            continue
        told = found.get("value", found.get("values"))
        told = told[0] if isinstance(told, list) and len(told) == 1 else told
        if name == "filter" and "path" in str(found.get("name", "")).lower() and isinstance(told, str):
            return _taken(told, "BioFile Finder")
        if name == "source":
            tables.append(str(found.get("uri", found.get("name", ""))))
    raise Refused(
        "This link to BioFile Finder names a table of files, not a volume" + (f": {tables[0]}" if tables else ""),
        advice="Choose one file there and copy its path.",
    )


# ---------------------------------------------------------------------- Neuroglancer
def _neuroglancer(fragment: str) -> LinkedVolume:
    text = unquote(fragment.removeprefix("+"))
    state = _json(text) or _json(_plain_json(text))
    if not isinstance(state, dict):
        raise Refused(
            "This link to Neuroglancer does not contain its state, only an address of it"
            if _ELSEWHERE.match(text)
            else "The state in this link to Neuroglancer is not JSON",
            advice="Copy the address of a layer, from the tab Source.",
        )
    layers = [*_layers(state.get("layers"))]
    sources = [(name, source) for name, each in layers for source in _sources(each) if _is_volume(source)]
    if not sources:
        named = [source for _, each in layers for source in _sources(each)]
        raise Refused(
            "This link to Neuroglancer shows no Zarr or N5 volume" + (f", but {named[0]}" if named else ""),
            advice="Copy a link that shows a Zarr or N5 volume.",
        )
    chosen = state.get("selectedLayer")
    wanted = chosen.get("layer") if isinstance(chosen, dict) else None
    seen = {name for name, each in layers if isinstance(each, dict) and each.get("visible", True)}
    sources.sort(key=lambda found: (found[0] != wanted, found[0] not in seen))
    others = len({source for _, source in sources}) - 1
    return _taken(sources[0][1], f"Neuroglancer, from its layer {sources[0][0]!r}", others)


def _layers(layers: object) -> Iterator[tuple[str, Any]]:
    """Yields (name, layer) from a list of layers, or from the mapping of older links."""
    if isinstance(layers, dict):
        yield from ((str(name), each) for name, each in layers.items())
    elif isinstance(layers, list):
        yield from ((str(each.get("name", "")), each) for each in layers if isinstance(each, dict))


def _sources(layer: object) -> Iterator[str]:
    found = layer.get("source") if isinstance(layer, dict) else layer
    for each in found if isinstance(found, list) else [found]:
        told = each.get("url") if isinstance(each, dict) else each
        if isinstance(told, str):
            yield told


def _is_volume(source: str) -> bool:
    """Whether a source has a format that zarrscope opens, or names no format."""
    return bool(_FORMAT.match(source)) or (bool(_ELSEWHERE.match(source)) and "|" not in source)


def _json(text: str) -> JSON:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|_", re.DOTALL)


def _plain_json(text: str) -> str:
    """Converts the form that older links use for JSON in addresses, with single quotes and "_" for commas, to JSON."""

    def plain(found: re.Match[str]) -> str:
        if found[1] is not None:
            return '"' + re.sub(r"\\'|\"", lambda each: "'" if each[0] == "\\'" else '\\"', found[1]) + '"'
        return "," if found[0] == "_" else found[0]

    return _LITERAL.sub(plain, text)
