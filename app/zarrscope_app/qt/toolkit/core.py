"""The names of QtCore."""

from typing import TYPE_CHECKING

import qtpy

if TYPE_CHECKING or not qtpy.PYQT6:
    from qtpy.QtCore import *  # noqa: F403 - the binding decides which names there are
else:
    from PyQt6.QtCore import *  # noqa: F403 - the names that qtpy takes over
    from PyQt6.QtCore import pyqtSignal as Signal  # noqa: F401 - the name that PySide6 and qtpy have
