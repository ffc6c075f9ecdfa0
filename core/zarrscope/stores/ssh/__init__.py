"""Folders and archives on another machine, over the user's own ssh: the far side runs `zarrscope serve --stdio`.

frames.py says what goes over the wire, serving.py answers there, client.py asks here.
"""
