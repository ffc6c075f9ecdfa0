"""The napari plugin: a dock with tree, form and "Add to viewer", a reader, and the demo as sample data."""

from zarrscope_app.discovery import narrow
from zarrscope_app.presenters.installation import lacking

if _missing := lacking("napari"):
    raise ImportError(_missing, name="napari")
narrow()  # in case zarrscope_app was imported before npe2
