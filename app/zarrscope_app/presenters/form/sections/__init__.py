"""The meaning of attributes, as sections of fields: one row of a table for each schema. An edit may change several
members."""
