"""Further channels of one ssh connection, for reads of many values from a distant machine.

On one channel OpenSSH sends at most 2 MiB before it waits for a confirmation. So a channel carries at most 2 MiB in
each round trip: 67 MB/s at 30 ms. Therefore the requests of a large read are divided among several channels, each with
a zarrscope process of its own on the other machine. Further channels share the login of the first one (`ControlMaster`
in ssh_config), so no key or password is needed again. If ssh cannot share a login, there is only the first channel.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from zarrscope.errors import ZarrscopeError
from zarrscope.runtime.answers import AnswerQueue
from zarrscope.runtime.tuning import SSH_CHANNELS, SSH_LARGE_READ_BYTES, SSH_LONG_WAY_SECONDS
from zarrscope.stores.ssh.connection import SSHConnection, WaitCancelled, wait
from zarrscope.stores.ssh.frames import MessageFrame, rebuilt

_CONFIG_SECONDS = 5.0
_PATH_BYTES = 80
"""The longest path for the socket of a shared login, in bytes: systems allow 104 to 108, and ssh appends 17 for a
moment."""


class SharedLogin(NamedTuple):
    """How channels share a login: the options of ssh for the first channel, those for further ones, and the folder of
    the socket, which `forget` removes."""

    first: tuple[str, ...]
    further: tuple[str, ...]
    folder: str | None = None

    def forget(self, process: int | None = None) -> None:
        """Removes the folder. `process`: the id of the only process that may do so, because a forked process runs the
        same exit handlers."""
        if self.folder is not None and process in (None, os.getpid()):
            shutil.rmtree(self.folder, ignore_errors=True)


# ssh would log in once more if the shared login cannot be used. With this option it fails instead.
_NO_LOGIN = ("-o", "ProxyCommand=false")


def shared_login(program: Sequence[str], destination: Sequence[str]) -> SharedLogin | None:
    """Finds out how channels can share a login; None if `program` cannot share one. If the user's configuration shares
    logins already, that is used. `destination`: the arguments that name the host."""
    if os.path.basename(program[0]) != "ssh" or sys.platform == "win32" or not hasattr(socket, "AF_UNIX"):
        return None  # another program may not know these options; OpenSSH for Windows cannot share
    try:
        told = subprocess.run(
            [*program, "-G", *destination], capture_output=True, stdin=subprocess.DEVNULL, timeout=_CONFIG_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if told.returncode:
        return None
    lines = (line.partition(" ") for line in told.stdout.decode(errors="replace").splitlines())
    settings = {name: value for name, _, value in lines}
    if settings.get("controlpath", "none") != "none":
        shares = settings.get("controlmaster", "false") not in ("false", "no")
        return SharedLogin((), ("-o", "ControlMaster=no", *_NO_LOGIN)) if shares else None
    try:
        folder = tempfile.mkdtemp(prefix="zarrscope-")
    except OSError:
        return None
    path = os.path.join(folder, "s")
    login = SharedLogin(
        ("-o", "ControlMaster=yes", "-o", f"ControlPath={path}", "-o", "ControlPersist=no"),
        ("-o", "ControlMaster=no", "-o", f"ControlPath={path}", *_NO_LOGIN),
        folder,
    )
    if len(os.fsencode(path)) > _PATH_BYTES or "%" in path:
        login.forget()
        return None
    return login


class Channels:
    """The channels of one connection. The first one always exists; further ones are opened in the background."""

    def __init__(
        self,
        first: SSHConnection,
        open_further: Callable[[], SSHConnection] | None = None,
        login: SharedLogin | None = None,
    ) -> None:
        self.first = first
        self._open_further = open_further
        # If `end` does not call this function, it runs when the interpreter exits.
        self._forget = None if login is None else weakref.finalize(self, login.forget, os.getpid())
        self._further: list[SSHConnection] = []
        self._guard = threading.RLock()
        """Reentrant: the garbage collector may close the last store of the connection in this thread."""
        self._ended = False
        self.opening: threading.Thread | None = None
        """The thread that opens further channels; None until `note_read` starts it."""

    @property
    def alive(self) -> list[SSHConnection]:
        """The connections that requests may use: the first one always, so that its error is raised when it has
        ended."""
        with self._guard:
            return [self.first, *(each for each in self._further if each.alive)]

    def note_read(self, received: int) -> None:
        """Starts opening further channels if a read of `received` bytes was large enough and round trips are long. It
        does not wait for the channels."""
        quickest = self.first.round_trip
        if received < SSH_LARGE_READ_BYTES or quickest is None or quickest < SSH_LONG_WAY_SECONDS:
            return
        with self._guard:
            if self._ended or self.opening is not None or self._open_further is None:
                return
            self.opening = threading.Thread(target=self._open, name="zarrscope-ssh-channels", daemon=True)
        self.opening.start()

    def _open(self) -> None:
        assert self._open_further is not None
        for _ in range(SSH_CHANNELS - 1):
            try:
                channel = self._open_further()
            except ZarrscopeError:  # the server may allow no more channels: go on with those that exist
                return
            with self._guard:
                if not self._ended:
                    self._further.append(channel)
                    continue
            channel.end()
            return

    def end(self) -> None:
        """Ends all channels, the first one last, because the others use its login."""
        with self._guard:
            self._ended = True
            further, self._further = self._further, []
        for each in further:
            each.end()
        self.first.end()
        if self._forget is not None:
            self._forget()


def ask_divided(
    channels: Sequence[SSHConnection],
    heads: Sequence[Mapping[str, Any]],
    cancelled: Callable[[], bool],
) -> Iterator[tuple[int, MessageFrame]]:
    """Sends one request on each channel, and yields the answers as they arrive: (index of the channel, frame). Ends
    early once `cancelled()` is true. Raises ConnectionEnded if a channel ended, and the errors of the other machine."""
    answers: AnswerQueue[tuple[int, MessageFrame | None]] = AnswerQueue()
    asked: dict[int, int] = {}
    try:
        for at, (channel, head) in enumerate(zip(channels, heads, strict=True)):
            asked[at] = channel.send(head, b"", _Numbered(answers, at))
        while asked:
            at, frame = wait(answers, cancelled)
            if at not in asked:  # the channel ended after its last answer
                continue
            if frame is None:
                channels[at].forget(asked.pop(at))
                raise channels[at].ended()
            if frame.head.get("last"):
                channels[at].forget(asked.pop(at))
                if "error" in frame.head:
                    raise rebuilt(frame, "")
                continue
            if cancelled():
                return
            yield at, frame
    except WaitCancelled:
        return
    finally:
        for at, number in asked.items():
            channels[at].forget(number)
            channels[at].post({"op": "cancel", "id": number})


class _Numbered:
    """Puts the answers of one channel into the queue that all channels share, together with its index."""

    def __init__(self, answers: AnswerQueue[tuple[int, MessageFrame | None]], number: int) -> None:
        self._answers, self._number = answers, number

    def put(self, frame: MessageFrame | None) -> None:
        self._answers.put((self._number, frame))
