"""Reads OME-Zarr metadata. Pure functions over attributes."""
