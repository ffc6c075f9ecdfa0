"""The names of QtWidgets."""

from typing import TYPE_CHECKING

import qtpy

if TYPE_CHECKING or not qtpy.PYQT6:
    from qtpy.QtWidgets import *  # noqa: F403 - the binding decides which names there are
else:
    from PyQt6.QtWidgets import *  # noqa: F403 - the names that qtpy takes over
