"""How a session opens its hierarchy: the options for writing, for links, and for data that zarrscope does not
understand."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

from zarrscope.errors import Refused
from zarrscope.model.frozen import frozen
from zarrscope.nodes.hierarchy import Hierarchy
from zarrscope.nodes.opening import open as open_hierarchy
from zarrscope.stores.objects import locate_object, path_text
from zarrscope.stores.registry import Mode
from zarrscope_app.presenters.session.part import SessionPart


@frozen
class Opening:
    """The person's choices for opening a hierarchy. A hierarchy opened with `lenient` cannot be written."""

    writable: bool = False
    follow_links: bool = False
    """Whether links that lead out of the store are followed."""
    missing_is_fill: bool = False
    """Whether keys that a server denies count as missing, for servers that do not distinguish the two."""
    lenient: bool = False
    """Whether required extensions that zarrscope does not understand are ignored, where the format allows this."""
    fallbacks: bool = True
    """Whether values of an unknown data type are shown as the fallback type that their document offers."""

    def open(self, opener: Callable[..., Hierarchy], url: str) -> Hierarchy:
        """Opens the hierarchy. `opener` gets only the options that differ from its defaults. Waits for the store."""
        options: dict[str, bool] = {}
        if self.lenient:
            options["lenient"] = True
        if not self.fallbacks:
            options["fallbacks"] = False
        if self.follow_links:
            options["follow_links"] = True
        if self.missing_is_fill:
            options["missing_is_fill"] = True
        return opener(url, "r+" if self.writable else "r", **options)

    def offers(self, helpful: Collection[str], *, passable: bool, falls_back: bool, kept: bool) -> tuple[str, ...]:
        """The commands to offer beside a problem. `helpful`: ids of commands that problems offer; `passable`,
        `falls_back`, `kept`: whether opening anyway, a fallback or restoring edits would have an effect."""
        found = {
            "open-anyway": passable,
            "follow-links": "follow-links" in helpful and not self.follow_links,
            "missing-is-fill": "missing-is-fill" in helpful and not self.missing_is_fill,
            "credentials": "credentials" in helpful,
            "fallback": falls_back,
            "put-back": kept,
            "forget": kept,
        }
        return tuple(command for command, offered in found.items() if offered)


class OpensOtherwise(SessionPart):
    """Part of a session: opens the same address again with other options."""

    _opening: Opening

    def set_writable(self, writable: bool) -> None:
        """Opens the same address for writing, or read-only again. This ends the effect of `open_anyway`, and drops a
        save that was asked for and failed."""
        self.edit.asked_save.forget()
        if writable and self.edit.brief.waits:
            self.edit.note_documents()
        if writable != self._opening.writable or self._opening.lenient:
            self._opening = replace(self._opening, writable=writable, lenient=False)
            self.reload()

    def open_anyway(self) -> None:
        """Opens the same address read-only, ignoring required extensions that zarrscope does not understand."""
        if not self._opening.lenient:
            self._opening = replace(self._opening, writable=False, lenient=True)
            self.reload()

    def follow_links(self) -> None:
        """Opens the same address and from now on follows links that lead out of the store."""
        if not self._opening.follow_links:
            self._opening = replace(self._opening, follow_links=True)
            self.reload()

    @property
    def follows_links(self) -> bool:
        """Whether links that lead out of the store are followed."""
        return self._opening.follow_links

    def take_as_missing(self) -> None:
        """Opens the same address and from now on treats keys that its server denies as missing."""
        if not self._opening.missing_is_fill:
            self._opening = replace(self._opening, missing_is_fill=True)
            self.reload()

    @property
    def missing_is_fill(self) -> bool:
        """Whether keys that a server denies count as missing, for servers that do not distinguish the two."""
        return self._opening.missing_is_fill

    @property
    def fallbacks(self) -> bool:
        """Whether values of an unknown data type are shown as the fallback type that their document offers."""
        return self._opening.fallbacks

    def set_fallbacks(self, on: bool) -> None:
        """Opens the same address again, with or without fallbacks for unknown data types."""
        if on != self._opening.fallbacks:
            self._opening = replace(self._opening, fallbacks=on)
            self.reload()


def open_place(
    url: str,
    mode: Mode,
    *,
    lenient: bool = False,
    fallbacks: bool = True,
    follow_links: bool = False,
    missing_is_fill: bool = False,
) -> Hierarchy:
    """Opens a hierarchy for a session. This is the default of the session's parameter `opener`."""
    storage_options = {"missing_is_fill": True} if missing_is_fill else None
    return open_hierarchy(
        url, mode, lenient=lenient, fallbacks=fallbacks, follow_links=follow_links, storage_options=storage_options
    )


class OpenTarget(NamedTuple):
    """An address to open when zarrscope starts, such as the one on its command line."""

    url: str
    path: str | None = None
    held: object = None
    """An object to keep alive while it is displayed, because the address of a Python object is valid only as long as
    the object exists; None for other addresses."""
    follow_links: bool = False
    missing_is_fill: bool = False


def target_of(value: Any, path: str | None = None) -> OpenTarget:
    """The target for an address, an open hierarchy or node, or any object that zarrscope.open accepts. Opens nothing.

    Raises TypeError for anything else.
    """
    if isinstance(value, str | os.PathLike):
        return OpenTarget(value if isinstance(value, str) else path_text(value), path)
    hierarchy = value if isinstance(value, Hierarchy) else getattr(value, "hierarchy", None)
    if isinstance(hierarchy, Hierarchy):
        store = hierarchy.store
        path = path or (hierarchy.initial_path if value is hierarchy else value.path)
        return OpenTarget(hierarchy.url, path, store, bool(store.allow_outside), bool(store.missing_is_fill))
    try:
        given = locate_object(value, "r")
    except Refused as error:
        raise TypeError(str(error)) from None  # a notebook would print the same sentence twice
    url = given.store.url if given.store is not None else given.address
    return OpenTarget(url, path or (None if given.path == "/" else given.path), given.store)


def is_address(text: str) -> bool:
    """Whether a dropped line of text can be a path or an address: a sentence of a letter is none."""
    place = text.strip()
    return any(sign in place for sign in "/\\:") or place.endswith((".zarr", ".n5", ".zip", ".ozx"))
