"""Opens files beneath a folder without following links, on systems that cannot do so in one call.

Linux before 5.6, macOS and some containers lack `openat2`. There the folders of a path are opened one after the other,
each by its name in the folder before it, so that no link is followed. The last folder stays open: further files in it,
such as the other chunks of a plane, take one call each. The first file in a folder is left to LocalStore, which needs
fewer calls for a single file.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from zarrscope.stores.local.children import NO_FOLLOW, OPEN

_FOLDER = os.O_RDONLY | NO_FOLLOW | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class OpenFolder:
    """Opens the second and further files in a folder beneath `root`, and keeps that folder open until `close` or until
    a file in another folder is requested.

    If the folder is renamed or replaced meanwhile, files are still read from the folder that was opened. It was beneath
    `root` then, so no file outside is ever read.
    """

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._name: bytes | None = None
        self._handle = -1

    def __call__(self, path: bytes) -> int:
        """A handle on the file at `path`, which begins with the root; or the negative error number. For the first file
        in a folder it is that of ELOOP, so that the caller leaves that file to LocalStore, as it does for links."""
        folder, _, name = path.rpartition(b"/")
        if folder != self._name:
            self.close()
            self._name = folder
            return -errno.ELOOP
        try:
            if self._handle < 0:
                self._handle = self._open_folder(folder)
            return os.open(name, OPEN | NO_FOLLOW, dir_fd=self._handle)
        except OSError as error:
            return -(error.errno or errno.EIO)

    def _open_folder(self, folder: bytes) -> int:
        above = os.open(self._root, _FOLDER & ~NO_FOLLOW)
        for name in filter(None, folder[len(self._root) :].split(b"/")):
            try:
                beneath = os.open(name, _FOLDER, dir_fd=above)
            finally:
                os.close(above)
            above = beneath
        return above

    def close(self) -> None:
        """Closes the folder; the next call opens it again."""
        handle, self._handle, self._name = self._handle, -1, None
        if handle >= 0:
            with suppress(OSError):
                os.close(handle)

    __del__ = close
