"""The tree of nodes: its rows, and the loading of children in the background."""
