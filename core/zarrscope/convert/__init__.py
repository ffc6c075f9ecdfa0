"""Conversion: a hierarchy, or a part of one, written anew in another dialect, and proved equal to its source.

    source = zarrscope.open("old.zarr")
    plan = convert.plan(source, "new.zarr", "v3")         # reads documents only, writes nothing
    for loss in plan.losses: print(loss)                  # what the destination cannot hold
    convert.run(plan)                                     # copies or encodes anew, verifies, raises Refused on losses

A chunk whose bytes mean the same in both dialects is copied as it is (reference.md H.8); else it is decoded and encoded
anew. planning.py decides, carrying.py takes attributes and OME-Zarr metadata along, copying.py does the work, in pieces
(work.py) that the threads of this process do, or the workers of a Dask cluster (executors/executor.py).

    plan = convert.plan(source, "new.zarr", "v3", pyramid=convert.Pyramid())    # images get new levels on the way
    convert.rebuild(convert.plan_rebuild(image, convert.Pyramid()))             # or where they are

    convert.upgrade(convert.plan_upgrade(old))            # v2 becomes v3 where it is, no chunk touched (upgrading.py)

    convert.add_label_image(image, "/", "cells")                                # empty, and fits it (label_images.py)

patching.py writes edited elements of an image into its levels.

levels.py and pyramids.py say which levels an image gets, downsampling.py what their elements are, rebuilding.py how an
image in use gets them.

Promises: the destination is a new place, and nothing in it is ever overwritten. An array gets its documents after all
of its chunks, groups get theirs at the end, the root last: what was cut short opens nowhere as if it were whole. A run
that was killed goes on where it was when the same plan is run again; a journal at the root, a key that no dialect takes
for a node's, says which plan that is, and goes when all is verified.
"""

from zarrscope.convert.copying import Progress, Result, run
from zarrscope.convert.label_images import add_label_image
from zarrscope.convert.levels import Pyramid
from zarrscope.convert.patching import Patch, plan_patch, write_patch
from zarrscope.convert.planning import JOURNAL, Loss, NodePlan, Plan, plan
from zarrscope.convert.rebuilding import Rebuild, plan_rebuild, rebuild
from zarrscope.convert.upgrading import plan_upgrade, upgrade

__all__ = [
    "JOURNAL",
    "Loss",
    "NodePlan",
    "Patch",
    "Plan",
    "Progress",
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
    "write_patch",
]
