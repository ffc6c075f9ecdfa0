"""Operations on files over one channel of SFTP. Each function runs as one request of connection.py.

All servers report it clearly if a file does not exist or access is denied. For other errors some only answer "Failure";
then the path and the folders above it are examined to find the reason.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Denied, ReadOnly, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.model.storage import ByteRange, Entry
from zarrscope.runtime.tuning import SFTP_PAGE, SFTP_PIECE_BYTES
from zarrscope.stores.keys import too_large
from zarrscope.stores.local.failures import KEPT
from zarrscope.stores.local.names import is_temporary
from zarrscope.stores.sftp.connection import StoppedEarly

if TYPE_CHECKING:
    from paramiko import SFTPAttributes, SFTPClient, SFTPFile

REQUEST = 32768
"""The largest read request, in bytes, that all servers answer."""
ATTEMPTS = 20
"""The most attempts to make a folder and a file in it, while another program removes the folder again."""
MARK_SECONDS = 60.0
"""Seconds after which the lock file of a writer counts as left over from a killed one."""


# ---------------------------------------------------------------------- reading
def read(channel: SFTPClient, path: str, part: ByteRange | None, limit: int | None) -> tuple[bytes | None, bool]:
    """The value, or a part of it, from one open file; None if there is no file. Also returns whether a folder is
    there."""
    found = read_sized(channel, path, lambda size: (0, size) if part is None else part.span(size), limit)
    return (None, False) if found is None else (found[0], found[1] < 0)


def read_sized(
    channel: SFTPClient, path: str, span: Callable[[int], tuple[int, int]], limit: int | None
) -> tuple[bytes | None, int] | None:
    """Returns (bytes, size of the file); None if there is no file, (None, -1) if there is a folder. `span` returns the
    range to read for that size."""
    try:
        file = channel.open(path, "rb")
    except OSError as error:
        if is_absent(channel, path, error):
            _need_no_link(channel, path)
            return None
        raise
    try:
        found = file.stat()
        if stat.S_ISDIR(found.st_mode):
            file.close()
            return None, -1
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("This is not a plain file", advice="Check the file at that path.")
        start, stop = span(found.st_size)
        if limit is not None and stop - start > limit:
            raise too_large(stop - start, limit)
        value = _bytes(file, start, stop)
    except BaseException:
        file.close()
        raise
    # The handle is closed when `file` is garbage-collected, without waiting for the server's confirmation.
    if len(value) < stop - start:
        raise Unreadable(
            f"The file ended after {len(value):,} of {stop - start:,} bytes while it was read",
            advice="Another program is writing to it. Try again later.",
        )
    return value, found.st_size


def _bytes(file: SFTPFile, start: int, stop: int) -> bytes:
    if stop <= start:
        return b""
    if stop - start <= REQUEST:
        file.seek(start)
        return bytes(file.read(stop - start))
    pieces = []
    for at in range(start, stop, SFTP_PIECE_BYTES):
        pieces += file.readv([(at, min(SFTP_PIECE_BYTES, stop - at))])
        if len(pieces[-1]) < min(SFTP_PIECE_BYTES, stop - at):
            break
    return b"".join(pieces)


def size(channel: SFTPClient, path: str) -> int | None:
    """The size of a file in bytes; None if there is none."""
    found = look(channel, path)
    if found is None:
        _need_no_link(channel, path)
    return int(found.st_size) if found is not None and stat.S_ISREG(found.st_mode) else None


def look(channel: SFTPClient, path: str, *, follow: bool = True) -> SFTPAttributes:
    """The attributes of the file or folder at `path`; None if there is nothing."""
    try:
        return channel.stat(path) if follow else channel.lstat(path)
    except OSError as error:
        if is_absent(channel, path, error):
            return None
        raise


def _need_no_link(channel: SFTPClient, path: str) -> None:
    """Raises Unreadable for a broken link: a value should be there, so it does not count as absent."""
    found = look(channel, path, follow=False)
    if found is not None and stat.S_ISLNK(found.st_mode):
        raise Unreadable("A symbolic link is broken", advice="Restore the target of the link, or remove the link.")


def is_absent(channel: SFTPClient, path: str, error: OSError) -> bool:
    """Whether `error` means that nothing is at `path`. If a folder above is missing, some servers only answer
    "Failure"."""
    if isinstance(error, FileNotFoundError):
        return True
    if isinstance(error, (PermissionError, TimeoutError)):
        return False
    above = path.rpartition("/")[0]
    while above:
        try:
            return not stat.S_ISDIR(channel.stat(above).st_mode)
        except FileNotFoundError:
            return True
        except (PermissionError, TimeoutError):
            return False
        except OSError:
            above = above.rpartition("/")[0]
    return False


# ---------------------------------------------------------------------- listing
def list_level(channel: SFTPClient, path: str, tell: Callable[[list[SFTPAttributes]], bool]) -> None:
    """Calls `tell` with the attributes of the entries in a folder, SFTP_PAGE at a time, until it returns False."""
    some: list[SFTPAttributes] = []
    try:
        for each in channel.listdir_iter(path):
            if is_temporary(each.filename):
                continue
            some.append(each)
            if len(some) == SFTP_PAGE:
                if not tell(some):
                    raise StoppedEarly
                some = []
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"A name in this folder is not in UTF-8: {error.object!r}", advice="Rename it on the server."
        ) from error
    except ZarrscopeError:
        raise
    except OSError as error:
        found = None if is_absent(channel, path, error) else look(channel, path)
        if found is not None and stat.S_ISDIR(found.st_mode):
            raise
    tell(some)


def entry(each: SFTPAttributes) -> Entry | None:
    """The entry of a listing for these attributes; None for a symbolic link, and if the server does not state the kind:
    then another request has to find out the kind."""
    if each.st_mode is None or stat.S_ISLNK(each.st_mode):
        return None
    folder = stat.S_ISDIR(each.st_mode)
    return Entry(each.filename, folder, None if folder else each.st_size)


# ---------------------------------------------------------------------- writing
def make_folders(channel: SFTPClient, folder: str) -> None:
    """Makes a folder and the folders above it. Raises Refused if one of them is a file."""
    missing = []
    while folder and (found := look(channel, folder)) is None:
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    if folder and not stat.S_ISDIR(found.st_mode):
        raise Refused("A folder of this key is a file", advice="Choose another name.")
    for each in reversed(missing):
        try:
            channel.mkdir(each)
        except OSError:  # another program made the folder, or the server refuses
            found = look(channel, each)
            if found is None:
                raise
            if not stat.S_ISDIR(found.st_mode):
                raise Refused("A folder of this key is a file", advice="Choose another name.") from None


def write_new(channel: SFTPClient, path: str, parts: Sequence[Any]) -> SFTPAttributes:
    """Writes a file under an unused name, in a folder that is made if it is missing; returns its attributes."""
    file = _opened(channel, path)
    length = sum(map(len, parts))
    try:
        file.set_pipelined(length > REQUEST)
        for part in parts:
            file.write(part)
    finally:
        file.close()
    found = channel.stat(path)  # single writes were not confirmed, so the size is checked
    if found.st_size != length:
        raise Unreadable(
            f"Only {found.st_size:,} of {length:,} bytes could be written",
            advice=f"The disk there may be full, or your quota used up. {KEPT}",
        )
    return found


def _opened(channel: SFTPClient, path: str) -> SFTPFile:
    for _ in range(ATTEMPTS):
        try:
            return channel.open(path, "wx")
        except OSError as error:
            if isinstance(error, (PermissionError, TimeoutError)):
                raise
        make_folders(channel, path.rpartition("/")[0])  # in each attempt: another program may remove the folder again
    return channel.open(path, "wx")


@contextmanager
def discarded_on_failure(channel: SFTPClient, path: str) -> Iterator[None]:
    """Removes the file `path` if the block fails and the server still answers."""
    try:
        yield
    except (ZarrscopeError, OSError) as error:
        if not isinstance(error, TimeoutError):
            with suppress(OSError):
                discard(channel, path)
        raise


def create(channel: SFTPClient, unfinished: str, path: str) -> bool:
    """Renames the file `unfinished` to `path`. Returns False if `path` exists; the file then keeps its old name."""
    try:
        channel.rename(unfinished, path)
    except OSError:
        found = look(channel, path, follow=False)
        if found is None:
            raise
        if stat.S_ISDIR(found.st_mode):
            raise Refused("A file and a folder cannot have the same name", advice="Choose another name.") from None
        return False
    return True


def _give(channel: SFTPClient, unfinished: str, old: SFTPAttributes, written: SFTPAttributes) -> bool:
    """Gives a new file the owner and the group of the old one, or at least the group. Returns whether it was changed:
    then the mode has to be set again."""
    for uid, gid in ((old.st_uid, old.st_gid), (written.st_uid, old.st_gid)):
        if uid is None or gid is None or (uid, gid) == (written.st_uid, written.st_gid):
            return False
        with suppress(OSError):
            channel.chown(unfinished, uid, gid)
            return True
    return False


def supersede(channel: SFTPClient, unfinished: str, path: str, written: SFTPAttributes) -> None:
    """Renames the file `unfinished` to `path`, where it replaces an existing file and keeps that file's mode, its group
    and, if the server allows it, its owner. `written` has the attributes of `unfinished`. SFTP has no access control
    lists.

    Raises Refused, ReadOnly, Unsupported.
    """
    old = look(channel, path, follow=False)
    if old is not None and stat.S_ISLNK(old.st_mode):
        path = channel.normalize(path)
        old = look(channel, path)
    if old is not None:
        if stat.S_ISDIR(old.st_mode):
            raise Refused("A file and a folder cannot have the same name", advice="Choose another name.")
        if not old.st_mode & 0o222:
            raise ReadOnly(
                "The file is write-protected",
                advice="Nothing was changed. Remove the protection, or save a copy elsewhere.",
            )
        mode = stat.S_IMODE(old.st_mode)
        if _give(channel, unfinished, old, written) or mode != stat.S_IMODE(written.st_mode):
            channel.chmod(unfinished, mode)
    try:
        channel.posix_rename(unfinished, path)
    except OSError as error:
        if "unsupported" not in str(error).lower():
            raise
        if old is None:
            channel.rename(unfinished, path)
            return
        raise Unsupported(
            "This server cannot replace a file in one step",
            feature="posix-rename@openssh.com",
            advice="Nothing was changed. New values can be stored there; to change old ones, use ssh:// or a copy.",
        ) from error


def remove(channel: SFTPClient, path: str, root: str) -> None:
    """Removes a file, then the folders above it that became empty, but not `root`."""
    try:
        channel.remove(path)
    except OSError as error:
        found = look(channel, path, follow=False)
        if found is None or stat.S_ISDIR(found.st_mode):
            return
        raise error
    for above in _above(path, root):
        try:
            channel.rmdir(above)
        except OSError:  # the folder is not empty
            return


def _above(path: str, root: str) -> Iterator[str]:
    while (path := path.rpartition("/")[0]) and len(path) > len(root):
        yield path


def discard(channel: SFTPClient, path: str) -> None:
    """Removes a temporary file, if it still exists."""
    try:
        channel.remove(path)
    except FileNotFoundError:
        pass


def mark(channel: SFTPClient, path: str, now: float) -> bool:
    """Creates the lock file of a writer that compares and replaces a value. Returns False while another writer has it.

    `now` is the time by the server's clock. The lock file of a killed writer is removed.
    """
    try:
        channel.open(path, "wx").close()
        return True
    except OSError as error:
        found = look(channel, path)
        if found is None:
            if isinstance(error, PermissionError):
                raise
            return False
        if now - found.st_mtime > MARK_SECONDS:
            discard(channel, path)
        return False


# ---------------------------------------------------------------------- errors
def failure(error: OSError, act: str) -> ZarrscopeError:
    """The error of zarrscope for the server's error about a file. `act` is the operation that failed: "read", "listed",
    "written" or "removed"."""
    reason = error.strerror or str(error) or "the server gives no reason"
    if isinstance(error, PermissionError):
        if act in ("read", "listed"):
            return Denied(f"It could not be {act}: {reason}", advice="Ask the owner for the right to read it.")
        return ReadOnly(
            f"It could not be {act}: {reason}",
            advice="Nothing was changed. Ask for the right to write there, or save a copy elsewhere.",
        )
    advice = "Try again."
    if act == "written":
        advice = f"The disk there may be full, or your quota used up. {KEPT}"
    return Unreadable(f"It could not be {act}: {reason}", advice=advice)
