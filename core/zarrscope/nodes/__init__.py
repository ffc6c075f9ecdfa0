"""Hierarchies, groups and arrays: opening, listing, creating, editing, moving."""
