"""A folder of files as a store."""
