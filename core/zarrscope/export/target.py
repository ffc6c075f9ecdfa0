"""The file or folder that an export makes: there at the end, whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from zarrscope.errors import Conflict, NotFound


class Target:
    """`with Target(path) as target: write to target.part; target.done()`. Left without `done`, nothing is there."""

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, folder: bool = False) -> None:
        """Raises NotFound without a folder to write into, Conflict where something is there already."""
        self.path = Path(os.path.abspath(os.path.expanduser(path)))
        self._overwrite, self._folder = overwrite and not folder, folder
        if not self.path.parent.is_dir():
            raise NotFound(f"There is no folder {self.path.parent} to write {self.path.name} into")
        self.need_free()

    def need_free(self) -> None:
        """Raises Conflict where something is there that is not to be overwritten."""
        if os.path.lexists(self.path) and (not self._overwrite or self.path.is_dir()):
            advice = (
                "Choose another name." if self._folder or self.path.is_dir() else "Choose another name, or overwrite."
            )
            raise Conflict(f"{self.path} is there already", advice=advice)

    def __enter__(self) -> Target:
        if self._folder:  # a new path inside, because a hierarchy is created where nothing is yet
            self._holder = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}-"))
            self.part = self._holder / self.path.name
        else:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-", suffix=self.path.suffix)
            os.close(handle)
            self.part = Path(name)
        return self

    def done(self) -> None:
        """Renames the result to its final name. Raises Conflict if something has that name by now."""
        if self._folder:
            self.need_free()
            os.rename(self.part, self.path)
            return
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(self.part, 0o666 & ~umask)
        with open(self.part, "rb") as file:
            os.fsync(file.fileno())
        if self._overwrite:
            os.replace(self.part, self.path)
            return
        try:
            os.link(self.part, self.path)  # fails if the path exists, even if it was created just now
        except FileExistsError:
            self.need_free()
            raise
        except OSError:  # the file system has no hard links
            self.need_free()
            os.rename(self.part, self.path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder:
            shutil.rmtree(self._holder, ignore_errors=True)
        else:
            self.part.unlink(missing_ok=True)
