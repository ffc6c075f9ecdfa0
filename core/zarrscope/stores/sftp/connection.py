"""A connection to a host: one login with up to eight channels, each used by one thread at a time.

A request waits at most for the time-out of the network settings. If the connection ends or falls silent, it is closed,
and its requests are sent once more over a new connection, if repeating them does no harm. Stores with the same login
share a connection; it ends when the last of them is closed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, WeakValueDictionary

from zarrscope.errors import Unreadable, ZarrscopeError
from zarrscope.errors.confidential import cause
from zarrscope.runtime.pool import Priority, ThreadPool
from zarrscope.runtime.tuning import SFTP_CHANNELS
from zarrscope.stores.network import Network
from zarrscope.stores.sftp.login import HostLogin, connect

if TYPE_CHECKING:
    from paramiko import SFTPClient, SSHClient


T = TypeVar("T")


class StoppedEarly(Exception):
    """Raised by an operation that stops early: the rest of the transfer on its channel is not needed."""


class _Session:
    """One logged-in client of paramiko: its free channels, and the number of open ones."""

    def __init__(self, client: SSHClient) -> None:
        self.client = client
        self.free: list[SFTPClient] = []
        self.opened = 0
        self.most = SFTP_CHANNELS
        self.over = False

    @property
    def alive(self) -> bool:
        transport = self.client.get_transport()
        return not self.over and transport is not None and transport.is_active()


class SFTPConnection:
    """The connection of one login: it lends channels, and logs in again if the session has ended."""

    def __init__(self, login: HostLogin, network: Network) -> None:
        self.login, self.network = login, network
        self._changed = threading.Condition()
        self._session: _Session | None = None
        self._connecting = False
        self._closed = 0
        """The number of times that the connection was closed. A request that was running then is not repeated."""
        self._pool = ThreadPool("sftp", SFTP_CHANNELS, 0)
        self.users: WeakSet[Any] = WeakSet()

    def submit(self, act: Callable[[SFTPClient], T], repeat: Callable[[], bool] = lambda: True) -> Future[T]:
        """Runs `act(channel)` in a thread. `repeat()` says whether `act` may be repeated if the connection breaks while
        it runs.

        The future raises OSError if the server reports an error about a file, and zarrscope's errors for all other
        failures.
        """
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(self._done(act, repeat))
            except BaseException as error:
                future.set_exception(error)

        self._pool.put(Priority.NOW, work)
        return future

    def _done(self, act: Callable[[SFTPClient], T], repeat: Callable[[], bool]) -> T:
        closed = self._closed
        for again in (True, False):
            session, channel = self._borrow()
            try:
                value = act(channel)
            except StoppedEarly:
                self._drop(session, channel)
                raise
            except ZarrscopeError:
                self._give_back(session, channel)
                raise
            except OSError as error:
                if not isinstance(error, TimeoutError) and session.alive and not channel.get_channel().closed:
                    self._give_back(session, channel)
                    raise
                self._end(session)
                failed = self._failed(error)
            except Exception as error:  # an error of paramiko that is not an answer of the server
                self._end(session)
                failed = self._failed(error)
            else:
                self._give_back(session, channel)
                return value
            if not again or closed != self._closed or not repeat():
                raise failed
        raise AssertionError("twice at most")

    def _failed(self, error: Exception) -> Unreadable:
        if isinstance(error, TimeoutError):
            failed = Unreadable(
                f"{self.login.name} said nothing for {self.network.timeout:g} seconds",
                advice="Check the network, then try again. ZARRSCOPE_TIMEOUT sets this limit.",
            )
        else:
            failed = Unreadable(
                f"The connection to {self.login.name} broke: {str(error) or type(error).__name__}",
                advice="Check the network, then try again.",
            )
        failed.__cause__ = cause(error)
        return failed

    # ------------------------------------------------------------------ channels
    def _borrow(self) -> tuple[_Session, SFTPClient]:
        """Takes a free channel, or opens one. Waits if all channels that the server allows are in use.

        If the session turns out to have ended, a channel of a new one is opened, once.
        """
        closed, again = self._closed, True
        while True:
            session = self._connected()
            with self._changed:
                if session.free:
                    return session, session.free.pop()
                if session.opened >= session.most:
                    self._changed.wait(0.1)
                    continue
                session.opened += 1
            try:
                return session, self._opened(session)
            except BaseException as error:
                with self._changed:
                    session.opened -= 1
                    fewer = session.alive and session.opened > 0
                    if fewer:  # the server allows no more channels
                        session.most = session.opened
                    self._changed.notify_all()
                if fewer and not isinstance(error, TimeoutError):
                    continue
                self._end(session)
                if isinstance(error, ZarrscopeError) or not isinstance(error, Exception):
                    raise
                if isinstance(error, TimeoutError) or closed != self._closed or not again:
                    raise self._failed(error) from cause(error)
                again = False

    def _opened(self, session: _Session) -> SFTPClient:
        import paramiko

        seconds = self.network.timeout
        begun = time.monotonic()
        try:
            channel = session.client.get_transport().open_session(timeout=seconds)
        except paramiko.SSHException as error:  # paramiko has no type for a server that says nothing
            if time.monotonic() - begun >= seconds:
                raise TimeoutError from error
            raise
        try:
            channel.settimeout(seconds)
            channel.invoke_subsystem("sftp")
            return paramiko.SFTPClient(channel)
        except BaseException:
            channel.close()
            raise

    def _connected(self) -> _Session:
        """The session, which is opened if there is none. One thread opens it, and the others wait."""
        with self._changed:
            while True:
                if self._session is not None and self._session.alive:
                    return self._session
                if not self._connecting:
                    break
                self._changed.wait(0.1)
            self._connecting = True
            old, self._session = self._session, None
        try:
            if old is not None:
                self._end(old)
            made = _Session(connect(self.login, self.network.timeout))
            with self._changed:
                self._session = made
            return made
        finally:
            with self._changed:
                self._connecting = False
                self._changed.notify_all()

    def _give_back(self, session: _Session, channel: SFTPClient) -> None:
        with self._changed:
            kept = not session.over
            if kept:
                session.free.append(channel)
                self._changed.notify()
        if not kept:
            channel.close()

    def _drop(self, session: _Session, channel: SFTPClient) -> None:
        """Closes one channel on which answers may still be arriving."""
        channel.close()
        with self._changed:
            session.opened -= 1
            self._changed.notify()

    def _end(self, session: _Session) -> None:
        with self._changed:
            session.over = True
            session.free.clear()
            if self._session is session:
                self._session = None
            self._changed.notify_all()
        session.client.close()

    # ------------------------------------------------------------------ users
    def leave(self, user: object) -> None:
        """Removes a store from the users of the connection. Without users the session is closed; the next request opens
        another."""
        self.users.discard(user)
        if self.users:
            return
        self._closed += 1
        session = self._session
        if session is not None:
            self._end(session)


_connections: WeakValueDictionary[Hashable, SFTPConnection] = WeakValueDictionary()
_guard = threading.Lock()
_inherited: list[object] = []
"""The sessions of the parent process after a fork. They are never closed here, because paramiko would send bytes to the
server in the middle of the parent's messages."""


def shared(login: HostLogin, network: Network) -> SFTPConnection:
    """The connection that all stores with this login and these network settings share."""
    with _guard:
        found = _connections.get((login, network))
        if found is None:
            found = _connections[login, network] = SFTPConnection(login, network)
        return found


def _after_fork() -> None:
    global _guard
    _guard = threading.Lock()
    for connection in [*_connections.values()]:
        _inherited.append(connection._session)
        SFTPConnection.__init__(connection, connection.login, connection.network)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
