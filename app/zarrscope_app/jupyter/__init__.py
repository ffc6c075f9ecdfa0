"""The notebook widget: `from zarrscope_app.jupyter import explore; explore(url)`.

It is an anywidget whose picture, rows and words all come from the kernel: it needs no CDN, no CORS and no extension.
"""

from __future__ import annotations

from zarrscope_app.presenters.installation import lacking

if _missing := lacking("notebook"):
    raise ImportError(_missing, name="anywidget")

from zarrscope_app.jupyter.widget import Explorer, explore

__all__ = ["Explorer", "explore"]
