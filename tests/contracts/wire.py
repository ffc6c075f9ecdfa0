"""A relay between a client and a server on this machine that tests can hold, cut and slow down."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from zarrscope.errors import Unreadable

T = TypeVar("T")


class Wire:
    """Passes bytes between clients of `port` and the server behind it."""

    def __init__(self, to: int) -> None:
        self.to = to
        self.connected = 0
        """The number of connections made so far."""
        self._flows = threading.Event()
        self._flows.set()
        self._refuses = False
        self._guard = threading.Lock()
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def hold(self) -> None:
        """Stops passing bytes without closing connections, as a server that no longer answers."""
        self._flows.clear()

    def release(self) -> None:
        """Lets the held bytes pass."""
        self._flows.set()

    def cut(self) -> None:
        """Every connection is reset; new ones may be made."""
        with self._guard:
            ends, self._ends = self._ends, []
        for end in ends:
            _reset(end)

    def refuse(self, refuses: bool = True) -> None:
        """New connections are closed at once."""
        with self._guard:
            self._refuses = refuses

    def end(self) -> None:
        self._refuses = True
        self.release()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts connections
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(30)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = None
            with suppress(OSError):  # the server may be too busy to accept it
                far = None if self._refuses else socket.create_connection(("127.0.0.1", self.to))
            with self._guard:  # a connection that `refuse` did not close is in `_ends` when `cut` looks
                if far is None or self._refuses:
                    for end in (near, far):
                        if end is not None:
                            _reset(end)
                            end.close()
                    continue
                self.connected += 1
                self._ends += [near, far]
            for source, sink in ((near, far), (far, near)):
                # as long as the client keeps the connection, which may be that of a module's store; `end` waits for it
                thread = threading.Thread(target=self._pass_on, args=(source, sink), name="service-wire", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._flows.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()


def _reset(end: socket.socket) -> None:
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)  # a thread that reads from it wakes, and closes it


def eventually(ask: Callable[[], T]) -> T:
    """The result of `ask` as soon as the store answers again; calls with short time limits may fail on a busy
    machine."""
    end = time.monotonic() + 60
    while True:
        try:
            return ask()
        except Unreadable:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


@contextmanager
def wire(to: int) -> Iterator[Wire]:
    """A wire to a port of this machine."""
    found = Wire(to)
    try:
        yield found
    finally:
        found.end()
