"""The tree of nodes: rows, children that arrive, and what renames, moves, copies and erases them."""
