"""The store for a .zip or .ozx archive, and its steps: reading the directory and entries, appending, repacking."""
