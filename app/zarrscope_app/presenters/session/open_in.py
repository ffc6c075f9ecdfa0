"""*Open in* neuroglancer, vizarr, napari, Fiji: makes a link for a browser, or the command line of a viewer that is
installed, or else a text to copy. *Reveal* and *Open a terminal here*: finds the folder of a node on this machine.

Data on the web are linked directly. All other data (a folder, a zip file, a bucket with a login) is served to the
browser of this machine by a loopback server, which ends with the session (zarrscope.stores.loopback).
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, unquote, urlsplit

from zarrscope.errors import Refused, Unsupported
from zarrscope.errors.confidential import MARK
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult, Owner
from zarrscope.stores.local.paths import path_of
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.formats import name_of
from zarrscope_app.presenters.image.presenter import SlicePresenter
from zarrscope_app.presenters.session.state_text import view_as_url

if TYPE_CHECKING:
    from zarrscope.nodes.array import Array
    from zarrscope.nodes.group import Group
    from zarrscope.nodes.hierarchy_like import HierarchyLike
    from zarrscope.stores.loopback import LoopbackServer

NEUROGLANCER = "https://neuroglancer-demo.appspot.com/#!"
VIZARR = "https://hms-dbmi.github.io/vizarr/?source="
SCHEMES = {"v2": "zarr", "v3": "zarr", "n5": "n5"}
"""Dialect → the scheme of neuroglancer's addresses of such data."""
READ_BY_VIZARR = frozenset({"v2", "v3"})
VIEWERS = {"neuroglancer": "neuroglancer", "vizarr": "vizarr", "napari": "napari", "fiji": "Fiji"}

_FIJI = (
    "fiji",
    "fiji-linux-x64",
    "fiji-linux-arm64",
    "fiji-windows-x64",
    "fiji-macos",
    "ImageJ-linux64",
    "ImageJ-win64",
    "ImageJ-macosx",
)
"""The names of Fiji's programs: of today, and of the years before 2025."""
FIJI_VARIABLE = "ZARRSCOPE_FIJI"
"""The environment variable that names Fiji's program if it is not on the path."""
_FIJI_COMMAND = "HDF5/N5/Zarr/OME-NGFF ... "
"""The command of Fiji's macro language that opens such data (n5-ij)."""

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


@frozen
class Destination:
    """A node in another viewer. A host opens `link` in the browser, or starts `command`; if neither is possible, it
    copies the link or `text`. `said` and `failed` are the names of the sentences (commands.LABELS) about it."""

    link: str = ""
    command: tuple[str, ...] = ()
    """The full path of a program of this machine, and its arguments; empty if it is not installed."""
    text: str = ""
    said: str = ""
    """After the link was opened, or the program started."""
    failed: str = ""
    """After the link or the text was copied."""


class ElsewhereSession(Protocol):
    """The members of a session (session.py) that Elsewhere uses."""

    owner: Owner
    slice: SlicePresenter

    @property
    def node(self) -> Group | Array | None:
        """The selected node; None while it is being read."""

    def report(self, error: BaseException) -> None:
        """Adds an error to the problems of the session."""

    def view_text(self) -> str:
        """The displayed view as one text; see state_text.py."""


class Elsewhere:
    """Opens nodes of one session in other viewers: `open(viewer, done)` calls done(destination). The host starts the
    program, after a person's click."""

    def __init__(self, session: ElsewhereSession) -> None:
        self._session = session
        self._server: LoopbackServer | None = None

    def open(self, viewer: str, done: Callable[[Destination], object]) -> None:
        """Opens the displayed node in another viewer. Failures are shown in the error bar."""
        session, node = self._session, self._session.node
        if node is None or node.hierarchy is None:
            return
        hierarchy, image = node.hierarchy, session.slice.image
        is_label = image is not None and image.is_label
        drawn = session.slice.state.kind == "image"
        view = view_as_url(session.view_text()) if drawn and viewer == "napari" else ""

        def work() -> Destination:
            if viewer in ("napari", "fiji"):
                return self._program(viewer, hierarchy, node, view)
            link = self._link(viewer, hierarchy, node, drawn=drawn, is_label=is_label)
            return Destination(link, said="browser-opened", failed="browser-failed")

        def came(outcome: JobResult[Destination]) -> None:
            if outcome.error is not None:
                session.report(outcome.error)
            else:
                done(outcome.get())

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

    def _program(self, viewer: str, hierarchy: HierarchyLike, node: Group | Array, view: str) -> Destination:
        dialect, place = name_of(hierarchy, node), joined(plain(hierarchy.url), node.path)
        if viewer == "napari":
            command = napari_command(view or place)
            text = f"napari --plugin zarrscope {shlex.quote(place)}"
        else:
            if dialect not in SCHEMES:
                raise Unsupported(f"Fiji reads Zarr v2, v3 and N5; this is {dialect}", feature=f"Fiji {dialect}")
            command, text = fiji_command(place), place
        failed = f"not-started-{viewer}" if command else f"copied-{viewer}"
        return Destination("", command, text, f"started-{viewer}", failed)

    def _link(self, viewer: str, hierarchy: HierarchyLike, node: Group | Array, *, drawn: bool, is_label: bool) -> str:
        dialect, title = name_of(hierarchy, node), VIEWERS[viewer]
        if not drawn:
            raise Refused(f"{title} shows pictures: choose an image or an array of two axes or more")
        if dialect not in (READ_BY_VIZARR if viewer == "vizarr" else SCHEMES):
            raise Unsupported(f"{title} does not read {dialect}", feature=f"{viewer} {dialect}")
        address = self._address(hierarchy, node.path)
        if viewer == "vizarr":
            return VIZARR + quote(address, safe="")
        layer = {
            "name": strings.clean(node.name or "image", 60),
            "type": "segmentation" if is_label else "image",
            "source": f"{SCHEMES[dialect]}://{address}",
        }
        return NEUROGLANCER + quote(json.dumps({"layers": [layer]}, separators=(",", ":")), safe=":/,")

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


def has_napari() -> bool:
    """Whether napari is installed in this environment."""
    return importlib.util.find_spec("napari") is not None


def napari_command(place: str) -> tuple[str, ...]:
    """The command line that opens an address or the text of a view in napari; empty if napari is not installed. The
    napari of this environment is preferred, because its plugin is the same zarrscope."""
    arguments = ("--plugin", "zarrscope", place)
    if has_napari():
        # -P: no module is imported from the working directory, which may be a folder of foreign data.
        return (sys.executable, "-P", "-m", "napari", *arguments)
    found = shutil.which("napari")
    return (os.path.abspath(found), *arguments) if found else ()


def fiji_command(place: str) -> tuple[str, ...]:
    """The command line that opens an address in Fiji; empty if no Fiji is found, or if its macro language has no way to
    write the address."""
    named = os.environ.get(FIJI_VARIABLE, "")
    found = next(filter(None, map(shutil.which, (named,) if named else _FIJI)), None)
    if found is None or not place.isprintable() or any(sign in place for sign in '[]"'):
        return ()
    told = place.replace("\\", "\\\\")
    return (os.path.abspath(found), "-eval", f'run("{_FIJI_COMMAND}", "url=[{told}]");')


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
