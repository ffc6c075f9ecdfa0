"""The file or folder that an export makes: it appears when complete, and never in part."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from zarrscope.errors import Conflict, NotFound, ZarrscopeError
from zarrscope.stores.local.failures import unwritten


class ExportTarget:
    """Use it in a `with` block: write to the temporary path `part`, then call `done`, which renames it to `path`.
    Without `done`, the end of the block removes it."""

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, folder: bool = False) -> None:
        """Raises NotFound if there is no folder to write into, Conflict if the path exists already. In the block an
        error of the system becomes Unreadable or ReadOnly, which name the path."""
        self.path = Path(os.path.abspath(os.path.expanduser(path)))
        self._overwrite, self._folder = overwrite and not folder, folder
        if not self.path.parent.is_dir():
            raise NotFound(f"There is no folder {self.path.parent} to write {self.path.name} into")
        self.need_free()

    def need_free(self) -> None:
        """Raises Conflict if the path exists and may not be overwritten."""
        if os.path.lexists(self.path) and (not self._overwrite or self.path.is_dir()):
            advice = (
                "Choose another name." if self._folder or self.path.is_dir() else "Choose another name, or overwrite."
            )
            raise Conflict(f"{self.path} exists already", advice=advice)

    def __enter__(self) -> ExportTarget:
        try:
            if self._folder:  # a new path in the folder, because a hierarchy can only be created at an unused path
                self._holder = Path(tempfile.mkdtemp(dir=self.path.parent, prefix=f".{self.path.name}-"))
                self.part = self._holder / self.path.name
            else:
                start, end = f".{self.path.name}-", self.path.suffix
                handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=start, suffix=end)
                os.close(handle)
                self.part = Path(name)
        except OSError as error:
            raise unwritten(error, str(self.path)) from error
        return self

    def done(self) -> None:
        """Renames the result to its final name. Raises Conflict if that name was taken meanwhile."""
        if self._folder:
            self.need_free()
            os.rename(self.part, self.path)
            return
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(self.part, 0o666 & ~umask)
        with open(self.part, "r+b") as file:  # Windows flushes only what is open for writing
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
        if not isinstance(error, OSError):
            return
        system = error
        if isinstance(error, ZarrscopeError):
            # The temporary name of an unfinished hierarchy means nothing to a person.
            if not (self._folder and error.errno and self._holder.name in (error.store or "")):
                return
            system = OSError(error.errno, os.strerror(error.errno))
        raise unwritten(system, str(self.path)) from error
