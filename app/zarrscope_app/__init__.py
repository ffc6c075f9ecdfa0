"""The applications: window, terminal, napari, notebook, command line."""

import sys

if "npe2" in sys.modules:  # napari imports this package while it looks for plug-in manifests
    from zarrscope_app.discovery import narrow

    narrow()
