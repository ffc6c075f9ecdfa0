"""Threads, locks, cores and plugins: what the process has, shared by everything above."""
