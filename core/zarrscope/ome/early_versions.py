"""The rules of OME-Zarr 0.1, 0.2 and 0.3.

Their metadata are at the top of the attributes, and each part states its own version. Images have no coordinate
transformations. In 0.1 and 0.2 an image has the axes t, c, z, y, x; 0.3 lists the names of its axes. The rules follow
the published texts, and the JSON schemas of 0.1 and 0.3 where the texts leave a rule open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zarrscope.ome.violations import Rules, stated_version

EARLY = ("0.1", "0.2", "0.3")
VERSIONS = (*EARLY, "0.4", "0.5", "0.6")
_AXES = "tczyx"
_ENDS = ("min", "max", "start", "end")
_FIELD_PATH = re.compile(r"[A-Za-z0-9]+")


def early_version(attributes: Mapping[str, Any]) -> str | None:
    """The version of attributes that follow 0.1, 0.2 or 0.3; None for other versions and other attributes.

    An image that states no version is one of 0.3 if its axes are names, and one of 0.1 if it has neither axes nor
    coordinate transformations.
    """
    stated = stated_version(attributes, VERSIONS)
    if stated is not None:
        return stated if stated in EARLY else None
    entries = attributes.get("multiscales")
    first = entries[0] if isinstance(entries, list) and entries else None
    if not isinstance(first, Mapping):
        return None
    axes = first.get("axes")
    if axes is not None:
        return "0.3" if isinstance(axes, list) and any(isinstance(axis, str) for axis in axes) else None
    levels = first.get("datasets")
    listed = [level for level in levels if isinstance(level, Mapping)] if isinstance(levels, list) else []
    return None if any("coordinateTransformations" in part for part in (first, *listed)) else "0.1"


class EarlyRules(Rules):
    """Collects the violations of metadata of one of the early versions."""

    def __init__(self, ome: Mapping[str, Any], version: str) -> None:
        super().__init__(ome)
        self.version = version

    def group(self) -> None:
        """Checks all parts that the attributes have."""
        for name, check in {
            "multiscales": self.multiscales,
            "omero": self.omero,
            "image-label": self.label,
            "labels": self.labels,
            "plate": self.plate,
            "well": self.well,
            "bioformats2raw.layout": self.layout,
        }.items():
            if name in self.ome:
                check()

    def part(self, name: str) -> Mapping[str, Any]:
        """The object `name` of the attributes; an empty one, and a violation, if it is something else."""
        held = self.ome[name]
        if isinstance(held, Mapping):
            return held
        self.must(f"/{name}", f"{name} must be an object", f"Write {name} as an object, in braces.")
        return {}

    def version_of(self, owner: Mapping[str, Any], at: str) -> None:
        """Checks the version of one part, if it states one: all parts of a group have the same."""
        stated = owner.get("version", self.version)
        if stated in VERSIONS and stated != self.version:
            message = f"the version is {stated} here and {self.version} in another part"
            self.must(f"{at}/version", message, "Write the same version in all parts of this group.")
        elif stated != self.version:
            advice = f"Write {self.version!r}, if the metadata follow that version."
            self.must(f"{at}/version", f"there is no OME-Zarr version {stated!r}", advice)

    # ------------------------------------------------------------------ images
    def multiscales(self) -> None:
        """Checks the images: their levels, and in 0.3 their axes."""
        entries = self.objects(self.ome, "multiscales", "")
        self.unique([repr(entry) for entry in entries], "/multiscales", "image")
        for i, entry in enumerate(entries):
            at = f"/multiscales/{i}"
            self.version_of(entry, at)
            self.text(entry, "name", at)
            for name, words in _STATED.items():
                if name not in entry:
                    self.should(f"{at}/{name}", f"{words} should be stated", f"Add {name!r} to the image.")
            if not isinstance(entry.get("metadata", {}), Mapping):
                advice = "Write the method and its settings as members of an object."
                self.must(f"{at}/metadata", "the metadata of downscaling must be an object", advice)
            for k, dataset in enumerate(self.objects(entry, "datasets", at)):
                self.text(dataset, "path", f"{at}/datasets/{k}", needed=True)
            if self.version == "0.3":
                self.axes(entry, at)

    def axes(self, entry: Mapping[str, Any], at: str) -> None:
        """Checks the axes of 0.3: names among t, c, z, y, x, in this order."""
        axes, here = entry.get("axes"), f"{at}/axes"
        if not isinstance(axes, list) or not 2 <= len(axes) <= len(_AXES):
            message = "axes must be a list of two to five names"
            self.must(here, message, 'List the axes of the arrays in their order, such as ["z", "y", "x"].')
            return
        named = [axis for axis in axes if isinstance(axis, str) and axis in _AXES and len(axis) == 1]
        for i, axis in enumerate(axes):
            if axis not in named:
                advice = "Name it t, c, z, y or x; other names are possible from OME-Zarr 0.4 on."
                self.must(f"{here}/{i}", "an axis must be named t, c, z, y or x", advice)
        self.unique(axes, here, "axis")
        if len(named) == len(axes) and axes != sorted(axes, key=_AXES.index):
            advice = "Name the axes in the order of the arrays' dimensions; other orders need OME-Zarr 0.4."
            self.must(here, "axes must be in the order t, c, z, y, x", advice)

    def omero(self) -> None:
        """Checks the channels and their display."""
        omero = self.part("omero")
        channels = self.objects(omero, "channels", "/omero") if omero.get("channels") != [] else []
        for i, channel in enumerate(channels):
            self.channel(channel, f"/omero/channels/{i}", color="should")

    # ------------------------------------------------------------------ labels
    def label(self) -> None:
        """Checks the colors and properties of a label image."""
        label, at = self.part("image-label"), "/image-label"
        self.version_of(label, at)
        if "multiscales" not in self.ome:
            advice = "Add multiscales with the levels of the label image."
            self.must("/multiscales", "a label image must also have multiscales", advice)
        self.source(label)
        for name in ("colors",) if self.version == "0.1" else ("colors", "properties"):
            items = self.objects(label, name, at, needed=False) if label.get(name) != [] else []
            for i, item in enumerate(items):
                self.label_value(item, f"{at}/{name}/{i}")
            if name == "colors":
                self.unique([item.get("label-value") for item in items], f"{at}/{name}", "label-value")

    # ------------------------------------------------------------------ plates
    def plate(self) -> None:
        """Checks the rows, columns, wells and acquisitions of a plate."""
        plate, at = self.part("plate"), "/plate"
        self.version_of(plate, at)
        if "version" not in plate:
            advice = "Add the version that the images of the plate state."
            self.must(f"{at}/version", "the version of the plate is missing", advice)
        self.text(plate, "name", at)
        self.whole(plate, "field_count", at)
        for side, member in (("columns", "name"), ("rows", "name"), ("wells", "path")):
            items = self.objects(plate, side, at)
            for i, item in enumerate(items):
                self.text(item, member, f"{at}/{side}/{i}", needed=True)
            self.unique([item.get(member) for item in items], f"{at}/{side}", f"{member} of {side}")
        acquisitions = self.objects(plate, "acquisitions", at, needed=False)
        self.unique([item.get("id") for item in acquisitions], f"{at}/acquisitions", "id of an acquisition")
        for i, item in enumerate(acquisitions):
            here = f"{at}/acquisitions/{i}"
            self.whole(item, "id", here, needed=True)
            self.whole(item, "maximumfieldcount", here)
            for name in ("name", "description"):
                self.text(item, name, here)
            for name in ("starttime", "endtime"):
                if not isinstance(item.get(name, ""), str):  # the text asks for a string, the schema for a number
                    self.whole(item, name, here)
            for name, words in (("name", "the name"), ("maximumfieldcount", "the largest number of fields")):
                if name not in item:
                    self.should(f"{here}/{name}", f"{words} should be stated", f"Add {name!r} to the acquisition.")

    def well(self) -> None:
        """Checks the fields of a well."""
        well, at = self.part("well"), "/well"
        self.version_of(well, at)
        images = self.objects(well, "images", at)
        for i, image in enumerate(images):
            here = f"{at}/images/{i}"
            path = self.text(image, "path", here, needed=True)
            self.whole(image, "acquisition", here)
            if path is not None and not _FIELD_PATH.fullmatch(path):
                advice = "Rename the group of the field, with letters and digits only, and write its new name here."
                self.must(f"{here}/path", "the path of a field must have letters and digits only", advice)
        self.unique([image.get("path") for image in images], f"{at}/images", "path")


_STATED = {
    "name": "the name",
    "version": "the version",
    "type": "the type of downscaling",
    "metadata": "the metadata of downscaling",
}
"""Members that an image should have, in words."""
