"""A JSON file as text in which one value is replaced and every other byte survives."""
