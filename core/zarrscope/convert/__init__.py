"""Conversion: writes a hierarchy, or a part of one, in another dialect and checks that it equals its source.

    source = zarrscope.open("old.zarr")
    plan = convert.plan(source, "new.zarr", "v3")         # reads documents only, writes nothing
    for loss in plan.losses: print(loss)                  # everything that the destination cannot hold
    convert.run(plan)                                     # copies or encodes again, verifies, raises Refused on losses

A chunk whose bytes mean the same in both dialects is copied unchanged (reference.md H.8); any other is decoded and
encoded again. planning.py decides this, carried_attributes.py converts attributes and OME-Zarr metadata, and copying.py
does the work in independent parts (array_work.py), on the threads of this process or on a Dask cluster
(executors/executor.py).

    plan = convert.plan(source, "new.zarr", "v3", pyramid=convert.Pyramid())    # images also get new levels
    convert.rebuild(convert.plan_rebuild(image, convert.Pyramid()))             # new levels in place

    convert.upgrade(convert.plan_upgrade(old))            # v2 becomes v3 in place, no chunk changes (upgrading.py)

    convert.add_label_image(image, "/", "cells")          # adds an empty label image (label_images.py)

patching.py writes edited elements of an image into all of its levels. The package `export` writes values as files that
other programs read.

levels.py and pyramids.py choose the levels of an image, downsampling.py computes their elements, and rebuilding.py
gives new levels to an image that is in use.

Guarantees: the destination is a new place, and nothing in it is ever overwritten. The documents of an array are written
after all of its chunks, those of groups at the end, the root's last; so an incomplete conversion never opens as a
complete hierarchy. When a run was killed, running the same plan again continues it. A journal at the root identifies
the plan; its key belongs to no node in any dialect, and it is erased once everything is verified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrscope.runtime.lazy_names import lazy_names

if TYPE_CHECKING:
    from zarrscope.convert.copying import ConversionProgress, Result, run, with_destination
    from zarrscope.convert.label_images import add_label_image
    from zarrscope.convert.levels import Pyramid
    from zarrscope.convert.patching import Patch, plan_patch, write_patch
    from zarrscope.convert.planning import JOURNAL, ConversionPlan, Loss, NodePlan, plan
    from zarrscope.convert.rebuilding import Rebuild, plan_rebuild, rebuild
    from zarrscope.convert.upgrading import plan_upgrade, upgrade
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "copying": (
                "ConversionProgress",
                "Result",
                "run",
                "with_destination",
            ),
            "label_images": ("add_label_image",),
            "levels": ("Pyramid",),
            "patching": (
                "Patch",
                "plan_patch",
                "write_patch",
            ),
            "planning": (
                "JOURNAL",
                "Loss",
                "NodePlan",
                "ConversionPlan",
                "plan",
            ),
            "rebuilding": (
                "Rebuild",
                "plan_rebuild",
                "rebuild",
            ),
            "upgrading": (
                "plan_upgrade",
                "upgrade",
            ),
        },
    )

__all__ = [
    "JOURNAL",
    "ConversionPlan",
    "ConversionProgress",
    "Loss",
    "NodePlan",
    "Patch",
    "Pyramid",
    "Rebuild",
    "Result",
    "add_label_image",
    "plan",
    "plan_patch",
    "plan_rebuild",
    "plan_upgrade",
    "rebuild",
    "run",
    "upgrade",
    "with_destination",
    "write_patch",
]
