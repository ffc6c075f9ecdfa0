"""Actions on nodes: create, move, copy, erase. Each has a form and a plan; then it runs as a job that can be cancelled
and undone."""
