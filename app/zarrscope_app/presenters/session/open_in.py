"""*Open in* neuroglancer, vizarr, napari, Fiji: makes a link, or a text to paste into the viewer. *Reveal* and *Open a
terminal here*: finds the folder of a node on this machine.

Data on the web are linked directly. All other data (a folder, a zip file, a bucket with a login) is served to the
browser of this machine by a loopback server, which ends with the session (zarrscope.stores.loopback).
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, unquote, urlsplit

from zarrscope.errors import Refused, Unsupported
from zarrscope.errors.confidential import MARK
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope.stores.local.paths import path_of
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.formats import name_of
from zarrscope_app.presenters.image.presenter import SlicePresenter

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.context import HierarchyLike
    from zarrscope.nodes.group import Group
    from zarrscope.stores.loopback import LoopbackServer

NEUROGLANCER = "https://neuroglancer-demo.appspot.com/#!"
VIZARR = "https://hms-dbmi.github.io/vizarr/?source="
SCHEMES = {"v2": "zarr", "v3": "zarr", "n5": "n5"}
"""Dialect → the scheme of neuroglancer's addresses of such data."""
READ_BY_VIZARR = frozenset({"v2", "v3"})
VIEWERS = {"neuroglancer": "neuroglancer", "vizarr": "vizarr", "napari": "napari", "fiji": "Fiji"}

_TERMINALS = (
    "xdg-terminal-exec",
    "x-terminal-emulator",
    "gnome-terminal",
    "ptyxis",
    "kgx",
    "konsole",
    "xfce4-terminal",
    "mate-terminal",
    "lxterminal",
    "kitty",
    "alacritty",
    "foot",
    "xterm",
)
"""Terminal programs of Linux desktops that start in their working directory; the one that the desktop has configured
comes first."""


class ElsewhereSession(Protocol):
    """The members of a session (session.py) that Elsewhere uses."""

    owner: Owner
    slice: SlicePresenter

    @property
    def node(self) -> Group | Array | None:
        """The selected node; None while it is being read."""

    def report(self, error: BaseException) -> None:
        """Adds an error to the problems of the session."""


class Elsewhere:
    """Opens nodes of one session in other viewers. `open(viewer, done)` calls done(link, "") with a link for a browser,
    or done("", text) with a text for the clipboard."""

    def __init__(self, session: ElsewhereSession) -> None:
        self._session = session
        self._server: LoopbackServer | None = None

    def open(self, viewer: str, done: Callable[[str, str], object]) -> None:
        """Opens the displayed node in another viewer. Failures are shown in the error bar."""
        session, node = self._session, self._session.node
        if node is None or node.hierarchy is None:
            return
        hierarchy, image = node.hierarchy, session.slice.image
        is_label = image is not None and image.is_label
        drawn = session.slice.state.kind == "image"

        def work() -> tuple[str, str]:
            return self._found(viewer, hierarchy, node, drawn=drawn, is_label=is_label)

        def came(outcome: JobResult[tuple[str, str]]) -> None:
            if outcome.error is not None:
                session.report(outcome.error)
            else:
                done(*outcome.get())

        session.owner.fetch(work, came)

    def folder(self, done: Callable[[str], object]) -> None:
        """Calls done(folder) with the folder of the displayed node, or of the archive that contains the node. If it is
        not on this machine, the error bar says so."""
        node = self._session.node
        if node is None or node.hierarchy is None:
            return
        url, path = node.hierarchy.url, node.path

        def came(outcome: JobResult[str]) -> None:
            if outcome.error is not None:
                self._session.report(outcome.error)
            else:
                done(outcome.get())

        self._session.owner.fetch(lambda: folder_of(url, path), came)

    def _found(
        self, viewer: str, hierarchy: HierarchyLike, node: Group | Array, *, drawn: bool, is_label: bool
    ) -> tuple[str, str]:
        dialect, title = name_of(hierarchy, node), VIEWERS[viewer]
        if viewer == "napari":
            return "", f"napari --plugin zarrscope {shlex.quote(joined(plain(hierarchy.url), node.path))}"
        if viewer == "fiji":
            if dialect not in SCHEMES:
                raise Unsupported(f"Fiji reads Zarr v2, v3 and N5; this is {dialect}", feature=f"Fiji {dialect}")
            return "", joined(plain(hierarchy.url), node.path)
        if not drawn:
            raise Refused(f"{title} shows pictures: choose an image or an array of two axes or more")
        if dialect not in (READ_BY_VIZARR if viewer == "vizarr" else SCHEMES):
            raise Unsupported(f"{title} does not read {dialect}", feature=f"{viewer} {dialect}")
        address = self._address(hierarchy, node.path)
        if viewer == "vizarr":
            return VIZARR + quote(address, safe=""), ""
        layer = {
            "name": strings.clean(node.name or "image", 60),
            "type": "segmentation" if is_label else "image",
            "source": f"{SCHEMES[dialect]}://{address}",
        }
        return NEUROGLANCER + quote(json.dumps({"layers": [layer]}, separators=(",", ":")), safe=":/,"), ""

    def _address(self, hierarchy: HierarchyLike, path: str) -> str:
        """The address under which a browser can read a node; starts the loopback server if it is needed."""
        url = hierarchy.url
        if urlsplit(url).scheme in ("http", "https") and MARK not in url and "|" not in url and "::" not in url:
            return joined(url, path)
        if self._server is None:
            # http.server takes longer to import than all of this module, and few sessions serve anything.
            from zarrscope.stores.loopback import LoopbackServer

            self._server = LoopbackServer(hierarchy.store)
        return self._server.address(path)

    @property
    def serving(self) -> str:
        """The address of the loopback server; "" while there is none."""
        return self._server.url if self._server is not None else ""

    def close(self) -> None:
        """Ends the server."""
        server, self._server = self._server, None
        if server is not None:
            server.close()


def folder_of(url: str, path: str) -> str:
    """The folder of a node, or of the archive that contains the node. Raises Refused if the store is not on this
    machine."""
    if not url.startswith("file:"):
        raise Refused(f"{strings.clean(url, 200)} is not in a folder of this machine", advice="Copy its path instead")
    root = path_of(url)
    node = os.path.join(root, *path.strip("/").split("/"))
    for found in (node, root, os.path.dirname(root)):
        if os.path.isdir(found):
            return os.path.normpath(found)
    raise Refused(f"{root} is no longer there")


def terminals(platform: str, environment: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """Commands that show a terminal in their working directory, the preferred one first. A host starts the first
    command that exists."""
    if platform == "win32":
        return ("wt.exe", "-d", "."), ("cmd.exe",)
    if platform == "darwin":
        return (("open", "-a", environment.get("TERMINAL") or "Terminal", "."),)
    chosen = tuple(shlex.split(environment.get("TERMINAL", "")))
    return (*((chosen,) if chosen else ()), *((name,) for name in _TERMINALS))


def plain(url: str) -> str:
    """The address of a local folder as a plain path; other addresses unchanged."""
    return unquote(urlsplit(url).path) if url.startswith("file://") else url


def joined(url: str, path: str) -> str:
    """The address of a node: that of its hierarchy, and its path."""
    return url.rstrip("/") + ("" if path == "/" else path)
