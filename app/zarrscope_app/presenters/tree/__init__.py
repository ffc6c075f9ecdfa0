"""The tree of nodes: its rows, the children that are loaded in the background, and commands that change nodes."""
