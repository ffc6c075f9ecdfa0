"""The store for a folder of files, and its steps: reading, writing, locks, temporary files (store.py)."""
