"""A JSON file as text: one value can be replaced, and every other byte stays."""
