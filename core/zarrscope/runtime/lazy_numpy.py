"""numpy, imported when one of its names is first used: `from zarrscope.runtime.lazy_numpy import np`.

It is for the modules that parse documents. They need numpy for rare types only, and not to list a folder. Importing
numpy takes longer than all other imports of `zarrscope ls` together (resources/docs/performance.md, "Start").
Modules that compute with arrays import numpy as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["np"]

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
