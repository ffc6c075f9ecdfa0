"""Validates OME-Zarr metadata 0.1 to 0.6 (spec E): finds violations and their places.

    for finding in check(group.attributes): print(finding.pointer, finding.message)

A violation breaks a MUST or a SHOULD of the specification. The checks need only the attributes: no array is opened. If
ome-zarr-models is installed (the extra [ome]), its models also read 0.4 and 0.5, and their errors are violations too.
The rules of 0.1 to 0.3 are in early_versions.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zarrscope.errors import BadMetadata
from zarrscope.ome.early_versions import EARLY, EarlyRules, early_version
from zarrscope.ome.foreign_models import violations_of_models
from zarrscope.ome.transforms import TransformError, check_parameters
from zarrscope.ome.units import UNITS
from zarrscope.ome.violations import STATED, Rules, Violation, are_numbers, stated_version

_NAME = re.compile(r"[A-Za-z0-9]+")
_PATH_0_6 = re.compile(r"(?!__)(?!\.+$)[A-Za-z0-9_.-]+")


def validate(attributes: Mapping[str, Any], strict: bool = False) -> None:
    """Raises BadMetadata for the first MUST that the attributes break; with `strict` for a SHOULD, too."""
    found = [f for f in check(attributes) if strict or f.strength == "must"]
    if found:
        more = f" (and {len(found) - 1} more findings)" if len(found) > 1 else ""
        raise BadMetadata(f"OME-Zarr: {found[0].message}{more}", pointer=found[0].pointer)


def check(attributes: Mapping[str, Any]) -> list[Violation]:
    """All violations in the attributes of one group. Attributes without OME-Zarr metadata are one violation."""
    if "node_type" in attributes and isinstance(attributes.get("attributes"), Mapping):
        return [each.beneath("/attributes") for each in check(attributes["attributes"])]
    inside = isinstance(attributes.get("ome"), Mapping)
    if not inside and (early := early_version(attributes)) is not None:
        rules = EarlyRules(attributes, early)
        rules.group()
        return rules.found
    ome = attributes["ome"] if inside else attributes
    checker = _Checker(ome, inside)
    checker.group()
    found = checker.found
    if not any(f.strength == "must" for f in found):
        found += violations_of_models(ome, checker.version)
    return [each.beneath("/ome") for each in found] if inside else found


class _Checker(Rules):
    """Collects the findings of one object that holds OME keys."""

    def __init__(self, ome: Mapping[str, Any], inside: bool) -> None:
        super().__init__(ome)
        stated = ome.get("version") if inside else stated_version(ome, ("0.4", "0.5", "0.6"))
        if inside and not isinstance(stated, str):
            self.must(
                "/version",
                "ome must state its version, a string",
                "Add 'version' to ome: '0.5' for images without coordinate systems.",
            )
        self.stated = stated
        self.version = str(stated or "0.4")[:3]
        if stated is not None and self.version not in ("0.4", "0.5", "0.6") and inside:
            early = f"OME-Zarr {stated} is not written under 'ome'"
            told = early if stated in EARLY else f"there is no OME-Zarr version {stated!r}"
            self.must(
                "/version", told, "Write '0.5', if the metadata follow it; zarrscope convert makes 0.5 of earlier ones."
            )

    def own_version(self, owner: Mapping[str, Any], at: str) -> None:
        """Checks the version of one object in 0.4. Later versions of OME-Zarr state it once for the group."""
        if self.version != "0.4":
            return
        if "version" not in owner:
            self.should(f"{at}/version", "the version should be stated", "Add 'version': '0.4'.")
        elif owner["version"] != "0.4":
            self.must(
                f"{at}/version",
                f"there is no version {owner['version']!r} of this kind",
                "Write '0.4', as in the other parts, or convert all of them.",
            )

    # ------------------------------------------------------------------ kinds of groups
    def group(self) -> None:
        known = {
            "multiscales": self.multiscales,
            "plate": self.plate,
            "well": self.well,
            "image-label": self.label,
            "labels": self.labels,
            "scene": self.scene,
            "bioformats2raw.layout": self.layout,
            "omero": self.omero,
        }
        held = [name for name in known if name in self.ome]
        if not held and "series" not in self.ome:
            self.must(
                "",
                f"there is no OME-Zarr metadata: none of {', '.join(known)}",
                "If this group is an image, add its multiscales.",
            )
        for name in held:
            known[name]()

    # ------------------------------------------------------------------ images
    def multiscales(self) -> None:
        for i, entry in enumerate(self.objects(self.ome, "multiscales", "")):
            at = f"/multiscales/{i}"
            self.text(entry, "name", at)
            for name in ("name", "type", "metadata") if self.version != "0.6" else ("name",):
                if name not in entry:
                    self.should(
                        f"{at}/{name}",
                        f"{STATED[name]} should be stated",
                        f"Add {name!r}, so that readers need not guess it.",
                    )
            if self.version == "0.6":
                self.systems_of(entry, at)
            else:
                self.own_version(entry, at)
                self.plain(entry, at)

    def plain(self, entry: Mapping[str, Any], at: str) -> None:
        """Checks 0.4 and 0.5: axes, and for each level a scale with an optional translation."""
        axes = self.axes(entry, at, limit=True)
        for i, dataset in enumerate(self.objects(entry, "datasets", at)):
            here = f"{at}/datasets/{i}"
            self.text(dataset, "path", here, needed=True)
            self.steps(dataset, here, len(axes), needed=True)
        self.steps(entry, at, len(axes), needed=False)

    def axes(self, owner: Mapping[str, Any], at: str, *, limit: bool) -> list[Mapping[str, Any]]:
        axes = self.objects(owner, "axes", at)
        self.unique([axis.get("name") for axis in axes], f"{at}/axes", "axis name")
        kinds = []
        for i, axis in enumerate(axes):
            here = f"{at}/axes/{i}"
            self.text(axis, "name", here, needed=True)
            kind = self.text(axis, "type", here)
            kinds.append(kind)
            unit = self.text(axis, "unit", here)
            if kind is None:
                self.should(
                    f"{here}/type", "the type of the axis should be stated", "Write space, time or channel as its type."
                )
            elif unit is not None and unit not in UNITS.get(kind, [unit]):
                self.should(
                    f"{here}/unit",
                    f"the unit should be a unit of {kind} by its UDUNITS name",
                    f"Write it in full, such as {'micrometer' if kind == 'space' else 'second'}.",
                )
        if limit and axes:
            self._image_axes(kinds, f"{at}/axes")
        return axes

    def _image_axes(self, kinds: list[str | None], at: str) -> None:
        if not 2 <= len(kinds) <= 5:
            self.must(
                at,
                "an image has two to five axes",
                "Name one axis for each dimension of the arrays, or split the image.",
            )
        if kinds.count("space") not in (2, 3):
            self.must(
                at,
                "two or three axes must be of type space",
                "Write space as the type of x, y and z, and another type for other axes.",
            )
        if kinds.count("time") > 1 or sum(k not in ("space", "time") for k in kinds) > 1:
            self.must(
                at,
                "at most one axis may be of type time, and one of channel or another type",
                "Correct the types of the axes, or split the image along one of them.",
            )
        order = [0 if kind == "time" else 2 if kind == "space" else 1 for kind in kinds]
        if order != sorted(order):
            self.must(
                at,
                "axes must be ordered: time, then channel or another type, then space",
                "Write the axes in this order, if the arrays have it; otherwise transpose the arrays.",
            )

    def steps(self, owner: Mapping[str, Any], at: str, rank: int, *, needed: bool) -> None:
        here = f"{at}/coordinateTransformations"
        steps = self.objects(owner, "coordinateTransformations", at, needed=needed)
        kinds = [step.get("type") for step in steps]
        if steps and kinds not in (["scale"], ["scale", "translation"]):
            self.must(
                here,
                "there must be one scale, and perhaps one translation after it",
                "Write the pixel size as one scale; add the position as a translation after it.",
            )
        for i, step in enumerate(steps):
            vector = step.get(str(step.get("type")), None)
            if "path" in step and vector is None:
                continue
            if not are_numbers(vector) or (rank and len(vector) != rank):
                self.must(
                    f"{here}/{i}",
                    f"{step.get('type')} must give one number for each of the {rank} axes",
                    "Write the numbers in the order of the axes, 1 for an axis without a size.",
                )

    def omero(self) -> None:
        omero = self.ome["omero"]
        if not isinstance(omero, Mapping):
            self.must("/omero", "omero must be an object", "Write it as an object with 'channels', or remove it.")
            return
        for i, channel in enumerate(self.objects(omero, "channels", "/omero")):
            self.channel(channel, f"/omero/channels/{i}", color="must")

    # ------------------------------------------------------------------ coordinate systems (0.6)
    def systems(self, owner: Mapping[str, Any], at: str, *, needed: bool) -> dict[str, int]:
        """The name of each coordinate system, and its number of axes."""
        found: dict[str, int] = {}
        systems = self.objects(owner, "coordinateSystems", at, needed=needed)
        self.unique([system.get("name") for system in systems], f"{at}/coordinateSystems", "coordinate system's name")
        for i, system in enumerate(systems):
            here = f"{at}/coordinateSystems/{i}"
            name = self.text(system, "name", here, needed=True)
            axes = self.axes(system, here, limit=False)
            if name is not None:
                found[name] = len(axes)
        return found

    def systems_of(self, entry: Mapping[str, Any], at: str) -> None:
        if "axes" in entry:
            self.must(
                f"{at}/axes", "axes belong into coordinateSystems", "Move them into the coordinate system of the image."
            )
        systems = self.systems(entry, at, needed=True)
        intrinsic = set()
        for i, dataset in enumerate(self.objects(entry, "datasets", at)):
            here = f"{at}/datasets/{i}"
            path = self.text(dataset, "path", here, needed=True)
            steps = self.objects(dataset, "coordinateTransformations", here)
            here += "/coordinateTransformations"
            if len(steps) > 1:
                self.must(
                    here,
                    "a level has one transformation: a sequence holds several",
                    "Put the transformations into one of type sequence.",
                )
            for j, step in enumerate(steps):
                ends = self.ends(step, f"{here}/{j}")
                if ends is None:
                    continue
                if ends[0].get("path") != path:
                    self.must(
                        f"{here}/{j}/input",
                        f"the input must be the level's own path {path!r}",
                        f"Write {path!r} as the path of the input.",
                    )
                intrinsic.add(str(ends[1].get("name")))
                self.level_step(step, f"{here}/{j}", systems.get(str(ends[1].get("name"))))
        if len(intrinsic) > 1:
            self.must(
                f"{at}/datasets",
                "all levels must lead to the same coordinate system",
                "Give all levels the same output.",
            )
        for name in intrinsic - {*systems}:
            self.must(
                f"{at}/datasets",
                f"there is no coordinate system {name!r}",
                "Correct the name, or add the system to coordinateSystems.",
            )
        for name in intrinsic & {*systems}:
            system = next(s for s in entry["coordinateSystems"] if s.get("name") == name)
            kinds = [axis.get("type") for axis in system.get("axes", []) if isinstance(axis, Mapping)]
            if not 2 <= len(kinds) <= 5:
                self.must(
                    f"{at}/coordinateSystems",
                    "an image has two to five axes",
                    "Name one axis for each dimension of the arrays, or split the image.",
                )
            if any(kinds) and kinds.count("space") not in (2, 3):
                self.must(
                    f"{at}/coordinateSystems",
                    "two or three axes must be of type space",
                    "Write space as the type of x, y and z, and another type for other axes.",
                )
        self.further(entry, at, systems, needed=False)

    def level_step(self, step: Mapping[str, Any], at: str, rank: int | None) -> None:
        """Checks a level's own transformation: a scale, an identity, or a scale and a translation in sequence."""
        inner = step.get("transformations") if step.get("type") == "sequence" else [step]
        kinds = [s.get("type") if isinstance(s, Mapping) else None for s in inner] if isinstance(inner, list) else []
        if kinds not in (["scale"], ["identity"], ["scale", "translation"]):
            self.must(
                f"{at}/type",
                "a level has a scale, an identity, or a sequence of a scale and a translation",
                "Write the pixel size as a scale, and move other transformations to the whole image.",
            )
        self.parameters(step, at, rank, rank)

    def further(self, owner: Mapping[str, Any], at: str, systems: Mapping[str, int], *, needed: bool) -> None:
        steps = self.objects(owner, "coordinateTransformations", at, needed=needed)
        for i, step in enumerate(steps):
            here = f"{at}/coordinateTransformations/{i}"
            ends = self.ends(step, here)
            ranks: list[int | None] = [None, None]
            for k, end in enumerate(ends or ()):
                if "path" in end:
                    continue
                name = str(end.get("name"))
                if name not in systems:
                    self.must(
                        f"{here}/{('input', 'output')[k]}",
                        f"there is no coordinate system {name!r}",
                        "Correct the name, or add the system to coordinateSystems.",
                    )
                ranks[k] = systems.get(name)
            self.parameters(step, here, *ranks)

    def ends(self, step: Mapping[str, Any], at: str) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
        for name in ("input", "output"):
            end = step.get(name)
            if not isinstance(end, Mapping) or not ({"name", "path"} & {*end}):
                self.must(
                    f"{at}/{name}",
                    f"{name} must be an object with a name or a path",
                    f"Name a coordinate system in {name!r}, or the path of an array.",
                )
                return None
        return step["input"], step["output"]

    def parameters(self, step: Mapping[str, Any], at: str, source: int | None, target: int | None) -> None:
        try:
            check_parameters(step, source, target)
        except TransformError as error:
            self.must(
                at + (error.pointer or ""),
                error.message,
                "Compare the transformation with its input and output: their numbers of axes must fit.",
            )

    def scene(self) -> None:
        scene = self.ome["scene"]
        if not isinstance(scene, Mapping):
            self.must(
                "/scene",
                "scene must be an object",
                "Write it as an object with coordinateTransformations, or remove it.",
            )
            return
        self.further(scene, "/scene", self.systems(scene, "/scene", needed=False), needed=True)

    # ------------------------------------------------------------------ labels
    def label(self) -> None:
        label = self.ome["image-label"]
        if not isinstance(label, Mapping):
            self.must(
                "/image-label",
                "image-label must be an object",
                "Write it as an object, in braces; an empty one is enough.",
            )
            return
        self.own_version(label, "/image-label")
        if "colors" not in label:
            self.should(
                "/image-label/colors",
                "the colors of the labels should be stated",
                "Add a color for each label value, or leave the choice to readers.",
            )
        self.source(label)
        for name in ("colors", "properties"):
            items = self.objects(label, name, "/image-label", needed=False)
            for i, item in enumerate(items):
                self.label_value(item, f"/image-label/{name}/{i}")
            self.unique([item.get("label-value") for item in items], f"/image-label/{name}", "label-value")

    # ------------------------------------------------------------------ plates
    def plate(self) -> None:
        plate = self.ome["plate"]
        if not isinstance(plate, Mapping):
            self.must("/plate", "plate must be an object", "Write it as an object with rows, columns and wells.")
            return
        at = "/plate"
        self.own_version(plate, at)
        if self.text(plate, "name", at) is None:
            self.should(
                f"{at}/name", "the plate's name should be stated", "Add 'name', so that people can tell plates apart."
            )
        if "field_count" in plate:
            self.whole(plate, "field_count", at, low=1)
        names = {side: self.names(plate, side) for side in ("columns", "rows")}
        for i, item in enumerate(self.objects(plate, "acquisitions", at, needed=False)):
            here = f"{at}/acquisitions/{i}"
            self.whole(item, "id", here, needed=True)
            self.whole(item, "maximumfieldcount", here, low=1)
            for name in ("starttime", "endtime"):
                self.whole(item, name, here)
            for name in ("name", "maximumfieldcount"):
                if name not in item:
                    self.should(
                        f"{here}/{name}",
                        f"{STATED[name]} should be stated",
                        f"Add {name!r}, so that readers need not guess it.",
                    )
        wells = self.objects(plate, "wells", at)
        self.unique([well.get("path") for well in wells], f"{at}/wells", "path of a well")
        for i, well in enumerate(wells):
            here = f"{at}/wells/{i}"
            path = self.text(well, "path", here, needed=True)
            for name in ("rowIndex", "columnIndex"):
                self.whole(well, name, here, needed=True)
            if path is not None and not re.fullmatch(r"[A-Za-z0-9]+/[A-Za-z0-9]+", path):
                self.must(
                    f"{here}/path",
                    "a well's path is the names of a row and a column",
                    "Write a row, a slash and a column, such as A/1, as the groups are named.",
                )
            for name, side in (("rowIndex", "rows"), ("columnIndex", "columns")):
                value = well.get(name)
                if type(value) is int and names[side] and value >= len(names[side]):
                    self.must(
                        f"{here}/{name}",
                        f"there are {len(names[side])} {side}",
                        f"Write an index below {len(names[side])}: the first one is 0.",
                    )

    def names(self, plate: Mapping[str, Any], side: str) -> list[str | None]:
        found = []
        for i, item in enumerate(self.objects(plate, side, "/plate")):
            name = self.text(item, "name", f"/plate/{side}/{i}", needed=True)
            if name is not None and not _NAME.fullmatch(name):
                self.must(
                    f"/plate/{side}/{i}/name",
                    "a name of rows and columns has letters and digits only",
                    "Rename it, and the groups and the paths of wells that have this name.",
                )
            found.append(name)
        self.unique(found, f"/plate/{side}", "name")
        return found

    def well(self) -> None:
        well = self.ome["well"]
        if not isinstance(well, Mapping):
            self.must("/well", "well must be an object", "Write it as an object with 'images', the list of its fields.")
            return
        self.own_version(well, "/well")
        images = self.objects(well, "images", "/well")
        for i, image in enumerate(images):
            here = f"/well/images/{i}"
            path = self.text(image, "path", here, needed=True)
            self.whole(image, "acquisition", here)
            form = _PATH_0_6 if self.version == "0.6" else _NAME
            if path is not None and not form.fullmatch(path):
                self.must(
                    f"{here}/path",
                    "the path of an image in a well has characters that are not allowed",
                    "Rename the group of the field, and write its new name here.",
                )
        self.unique([image.get("path") for image in images], "/well/images", "path")
