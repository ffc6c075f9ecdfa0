"""The history of selected nodes, like that of a browser."""

from __future__ import annotations


class History:
    """Paths in the order of visits, and the current position among them."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._at = -1

    def visit(self, path: str) -> None:
        """Adds a path: the paths ahead are dropped. Visiting the current path again adds nothing."""
        if not self._paths or self._paths[self._at] != path:
            del self._paths[self._at + 1 :]
            self._paths.append(path)
            self._at = len(self._paths) - 1

    def travel(self, by: int) -> str | None:
        """Goes back (-1) or forward (1), and returns the path there; None if there is none."""
        if not 0 <= self._at + by < len(self._paths):
            return None
        self._at += by
        return self._paths[self._at]
