"""Threads, locks, cores and plugins: the resources of the process, which all higher packages share."""
