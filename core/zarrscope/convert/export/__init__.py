"""Export: values of an array or an image, or a whole node, as a file that other programs read.

    source = Source.of(hierarchy["/"], level=1, selection=(0, slice(None), 16))
    plan = export.plan(source, "cells.ome.tif")         # size and shape; reads nothing
    export.run(plan)                                    # values are read in blocks and written as they come

`FORMATS` lists the formats: TIFF, OME-TIFF, npy, CSV and Zarr; presenters make pictures (PNG, TIFF of colours). An
export never leaves a partial file: it writes to a temporary file in the same folder, which gets the final name at the
end. An existing file is overwritten only on request, an existing Zarr never.
"""

from zarrscope.convert.export.formats import FORMATS, ExportPlan, Format, format_of, plan
from zarrscope.convert.export.source import ExportSource
from zarrscope.convert.export.target import ExportTarget
from zarrscope.convert.export.writing import estimate, run

__all__ = ["FORMATS", "ExportPlan", "ExportSource", "ExportTarget", "Format", "estimate", "format_of", "plan", "run"]
