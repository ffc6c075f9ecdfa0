"""Nodes made, moved, copied and erased by a person: a form, the plan, then a job that can be cancelled and undone."""
