"""Which chunks are stored: the map and its words."""
