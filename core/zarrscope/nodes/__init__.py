"""Hierarchies, groups and arrays: opens, lists, creates, edits and moves them."""
