"""The program of a window that types into the form of its first node and prints "typed", for tests that then end it."""

WINDOW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QApplication
from zarrscope_app import qt
application = QApplication([])
def type_something():
    session = qt._windows[0].workspace.current
    if session is None or not session.edit.state.fields:
        QTimer.singleShot(50, type_something)
        return
    session.edit.edit("/note", "typed")
    print("typed", flush=True)
QTimer.singleShot(50, type_something)
sys.exit(qt.main([sys.argv[1]], writable=True))
"""
