"""Shows attributes by their meaning, as sections of fields. Each schema of metadata is one row of a table of sections.
An edit of one field may change several members."""
