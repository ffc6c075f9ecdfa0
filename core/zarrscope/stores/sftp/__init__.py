"""Folders on another machine by SFTP, for servers without zarrscope: reads, lists and writes through paramiko.

login.py finds host, user, keys and known hosts; connection.py manages the channels; files.py works on files over one
channel; store.py is the store.
"""
