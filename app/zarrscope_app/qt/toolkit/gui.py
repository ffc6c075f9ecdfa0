"""The names of QtGui."""

from typing import TYPE_CHECKING

import qtpy

if TYPE_CHECKING or not qtpy.PYQT6:
    from qtpy.QtGui import *  # noqa: F403 - the binding decides which names there are
else:
    from PyQt6.QtGui import *  # noqa: F403 - the names that qtpy takes over
