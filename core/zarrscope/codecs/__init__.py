"""Codecs: from a chunk's bytes to its elements and back, named per dialect on the codec and nowhere else.

Codecs are resolved when an array is opened: configuration and compatibility errors come then, never in mid-scroll.
"""
