"""Folders and archives on another machine, over the user's own ssh; that machine runs `zarrscope serve --stdio`.

frames.py defines the messages, serving.py answers them on the other machine, client.py sends them here.
"""
