"""The map of stored chunks, and its words."""
