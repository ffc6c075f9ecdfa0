"""Python imports this at its start if this folder is on PYTHONPATH: it simulates the system that ZARRSCOPE_SYSTEM
names.
"""

import os
import sys

_system = os.environ.get("ZARRSCOPE_SYSTEM")
if _system:
    sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from systems.forced import install

    install(_system)
