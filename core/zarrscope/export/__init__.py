"""Export: values of an array or an image, or a whole node, as a file that other programs read.

    source = Source.of(hierarchy["/"], level=1, selection=(0, slice(None), 16))
    plan = export.plan(source, "cells.ome.tif")         # size and shape; reads nothing
    export.run(plan)                                    # values are read in blocks and written as they come

Formats are rows of `FORMATS`: TIFF, OME-TIFF, npy, CSV and Zarr; pictures (PNG, TIFF of colours) come from presenters.
The target appears whole or not at all: everything goes to a temporary neighbour that takes the name at the end. What is
there already is overwritten only when that is asked for, and a Zarr never.
"""

from zarrscope.export.formats import FORMATS, ExportPlan, Format, format_of, plan
from zarrscope.export.source import Source
from zarrscope.export.target import Target
from zarrscope.export.writing import estimate, run

__all__ = ["FORMATS", "ExportPlan", "Format", "Source", "Target", "estimate", "format_of", "plan", "run"]
