"""OME-Zarr: what the metadata say. Pure functions over attributes."""
