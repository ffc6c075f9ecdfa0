"""What attributes mean, as sections of fields: one row of a table a schema. An edit may change several members."""
