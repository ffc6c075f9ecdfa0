"""The layers of a napari viewer: made from nodes, in part or of another kind; painted, copied and written back."""
