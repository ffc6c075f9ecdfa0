"""The tree of nodes: its rows, its arriving children, and commands that rename, move, copy and erase them."""
