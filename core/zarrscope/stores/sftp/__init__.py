"""Folders on another machine by SFTP, for servers that have no zarrscope: read, listed and written through paramiko.

login.py finds host, user and keys and knows hosts; connection.py holds the channels; files.py acts on files over one of
them; store.py is the store.
"""
