"""The napari plugin: a dock with tree, form and "Add to viewer", a reader, and the demo as sample data."""
