"""The views of a session: returns the displayed view, shows another, and remembers the last display settings of each
image."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.errors.confidential import without_numbers
from zarrscope.stores.address import absolute_address
from zarrscope.view.image import Image
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.image.blending import Other
from zarrscope_app.presenters.image.saved_view import restore_labels, whole_view
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.session.state_text import decode_view, encode_view
from zarrscope_app.presenters.session.view_models import crumbs
from zarrscope_app.presenters.settings import Settings
from zarrscope_app.presenters.tree.presenter import TreePresenter

MOST_SEEN = 12
"""The most images displayed earlier in a session that are offered for laying over the picture."""
MOST_IMAGES = 200
"""The most images whose settings are remembered; those displayed longest ago are dropped."""


class LastDisplaySettings:
    """The last display settings that a person chose for images: channels and labels, by address and path of the
    node."""

    NAME = "looks"
    SWITCHES = "picture"
    """The name under which smoothing and dots are stored, which hold for all images."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def _all(self, name: str = NAME) -> dict[str, Any]:
        try:
            found = json.loads(self._settings.load(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @staticmethod
    def _key(url: str, path: str) -> str:
        return blake2b(f"{without_numbers(url)}\n{path}".encode(), digest_size=12).hexdigest()

    def keep(self, url: str, path: str, chosen: Mapping[str, Any]) -> None:
        """Remembers the display settings of an image, as the newest entry."""
        found, key = self._all(), self._key(url, path)
        if found.get(key) == chosen:
            return
        found.pop(key, None)
        found[key] = dict(chosen)
        self._settings.store(self.NAME, json.dumps(dict([*found.items()][-MOST_IMAGES:])))

    def of(self, url: str, path: str) -> object:
        """The last display settings of an image; None if unknown."""
        return self._all().get(self._key(url, path))

    def keep_switches(self, smooth: bool, dots: bool) -> None:
        """Remembers whether enlarged pixels are smoothed, and whether missing chunks have dots."""
        self._settings.store(self.SWITCHES, json.dumps({"smooth": smooth, "dots": dots}))

    def switches(self) -> tuple[bool, bool]:
        """(smooth, dots) as a person last set them."""
        found = self._all(self.SWITCHES)
        return found.get("smooth") is True, found.get("dots") is not False


class KeepsViews(SessionPart):
    """The part of a session that returns the displayed view, and shows an earlier one again."""

    display_settings: LastDisplaySettings | None = None
    tree: TreePresenter
    _path: str
    _view: tuple[str, Any] | None
    _labels_wanted: object = None
    """The settings in a restored view for label images that have not been found yet; None if there are none."""
    _labels_come = False
    _shown_problem: strings.Problem
    _seen: tuple[Other, ...] = ()

    @property
    def seen(self) -> tuple[Other, ...]:
        """The images that were displayed, the last one first, for laying them over one another."""
        return self._seen

    def _saw(self, image: Image) -> None:
        name = " ▸ ".join(label for label, _ in crumbs(self.url, image.path, self.tree.titles))
        before = [other for other in self._seen if (other.image.path, other.image.name) != (image.path, image.name)]
        self._seen = (Other(name, image), *before)[:MOST_SEEN]

    def view(self) -> dict[str, Any]:
        """The displayed view as a dictionary for JSON: the address, the path of the node, and the display settings."""
        return {"url": without_numbers(absolute_address(self.url)), "path": self._path, "slice": self.slice.view()}

    def view_text(self) -> str:
        """The displayed view as one text; see state_text.py."""
        return encode_view(self.view())

    @property
    def bookmark_label(self) -> str:
        """A name for the displayed view: "cells.zarr ▸ 0 · t 0 z 31"."""
        place = " ▸ ".join(label for label, _ in crumbs(self.url, self._path, self.tree.titles))
        sliders = [axis for axis in self.slice.state.axes if axis.role == "slider"]
        return strings.joined(place, " ".join(f"{axis.title} {axis.index}" for axis in sliders))

    def restore(self, view: object) -> None:
        """Sets display settings that are restored when the next picture is ready."""
        self._view = ("", view)

    def go_to(self, text: str) -> bool:
        """Shows the view in a text if it belongs to this hierarchy, and returns True; otherwise shows the reason in the
        error bar and returns False."""
        try:
            view = self.own_view(text)
        except ZarrscopeError as error:
            self.report(error)
            return False
        self.show_view(view)
        return True

    def own_view(self, text: str) -> dict[str, Any]:
        """The view in a text. Raises Refused if it is no view, or one of another hierarchy."""
        view = decode_view(text)
        if without_numbers(absolute_address(view["url"])) != without_numbers(absolute_address(self.url)):
            raise Refused(
                f"This view is one of another place, {strings.clean(view['url'], 200)}",
                advice="Open the text of the view as you open an address.",
            )
        return view

    def show_view(self, view: Mapping[str, Any]) -> None:
        """Goes to the node that a saved view names, and shows the view. `view` was decoded from its text."""
        self.restore(whole_view(view.get("slice")))
        self.select(str(view["path"]))

    def _settings_on_show(self) -> dict[str, Any]:
        """The display settings without the displayed part of the plane and the crosshair, which stay when a node is
        read again."""
        return {name: told for name, told in self.slice.view().items() if name not in ("rect", "crosshair")}

    def _restore_view(self) -> None:
        """Restores saved or requested display settings of the displayed node; reports those that do not fit."""
        asked, self._view, self._labels_wanted = self._view, None, None
        if asked is None or asked[0] not in ("", self._path):
            return
        misfits = self.slice.restore(asked[1])
        if isinstance(asked[1], dict):
            self._labels_wanted = asked[1].get("labels") if self._labels_come else None
        for sentence in misfits:
            told = self.problems.add(strings.warning(sentence, self._path))
            if not self._shown_problem.headline:
                self._shown_problem = told

    @property
    def labels_known(self) -> bool:
        """Whether the label images of a restored view have arrived, or there are none to wait for."""
        return self._labels_wanted is None

    def _labels_came(self) -> None:
        """Called when label images were found after the picture was shown: restores their settings."""
        restore_labels(self.slice, self._labels_wanted)
        self._labels_wanted = None

    def remember_display_settings(self, settings: LastDisplaySettings) -> None:
        """Remembers display settings in `settings`, and begins with those that are there."""
        smooth, dots = settings.switches()
        self.slice.set_smooth(smooth)
        self.slice.set_dots(dots)
        self.display_settings = settings
        self.slice.switched.connect(self._keep_switches)

    def _keep_switches(self) -> None:
        if self.display_settings is not None:
            self.display_settings.keep_switches(*self.slice.switches)

    def keep_display_settings(self) -> None:
        """Remembers the display settings of the displayed image if a person has changed them."""
        if self.display_settings is not None and self.slice.by_person and (view := self.slice.view()):
            self.display_settings.keep(
                self.url, self._path, {name: view[name] for name in ("channels", "labels") if name in view}
            )

    def _restore_display_settings(self) -> None:
        """Restores the display settings that a person last chose for the displayed image."""
        last = self.display_settings.of(self.url, self._path) if self.display_settings is not None else None
        if isinstance(last, dict):
            self.slice.restore({"channels": last.get("channels"), "labels": last.get("labels")})
            self._labels_wanted = last.get("labels") if self._labels_come else None
