"""Reads and writes selections of arrays: finds, decodes, encodes and stores the chunks. It does not depend on nodes."""
