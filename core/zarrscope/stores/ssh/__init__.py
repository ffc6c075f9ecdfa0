"""Stores for folders and archives on another machine, over the user's own ssh. That machine runs `zarrscope serve
--stdio`.

frames.py defines the messages. client.py sends requests from this machine, and serving.py answers them on the other
machine. connection.py runs the ssh process.
"""
