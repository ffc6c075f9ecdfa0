"""A zip archive as a store."""
