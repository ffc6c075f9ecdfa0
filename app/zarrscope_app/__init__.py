"""The applications: window, terminal, napari, notebook, command line."""

import sys

if "npe2" in sys.modules:  # napari looks for plug-ins, and finds this package on the way to the manifest
    from zarrscope_app.discovery import narrow

    narrow()
