"""Stores for folders on another machine without zarrscope: they read, list and write by SFTP, through paramiko.

login.py finds the host, user, keys and known hosts and logs in; connection.py manages the channels of a connection;
files.py has the operations on files over one channel; store.py is the store.
"""
