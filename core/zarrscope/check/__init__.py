"""Checks and compares whole hierarchies."""
