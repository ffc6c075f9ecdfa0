"""A small FTP server on loopback over values in memory (RFC 959, RFC 3659), with failures that a test can switch on."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress


class FTPServer(socketserver.ThreadingTCPServer):
    """Serves `values`, whose keys are paths without a slash before them. It allows the user anonymous, and ann with the
    password of `password`."""

    daemon_threads = False
    allow_reuse_address = True
    password = "correct horse"

    def __init__(self, values: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.values = dict(values)
        self.refused = ""
        """The answer to every command about files, such as "450 Busy"; "" if they are carried out."""
        self.asked: list[str] = []
        self.clients: list[socket.socket] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Session(socketserver.StreamRequestHandler):
    """The commands of one client, each a method in `_COMMANDS`."""

    server: FTPServer
    _rest = 0
    _name = ""
    _passive: socket.socket | None = None

    def handle(self) -> None:
        self.server.clients.append(self.connection)
        with suppress(OSError):
            self._talk()
        if self._passive is not None:
            self._passive.close()

    def _talk(self) -> None:
        self._say("220 Ready")
        while line := self.rfile.readline():
            verb, _, rest = line.decode("latin-1").strip().partition(" ")
            verb = verb.lstrip("\xff\xf4\xf2")
            self.server.asked.append(verb)
            refused = self.server.refused if verb in ("MLSD", "NLST", "RETR", "SIZE") else ""
            if refused:
                self._say(refused)
            else:
                _COMMANDS.get(verb, _Session.unknown)(self, rest.strip("/"))
            if verb == "QUIT" or refused.startswith("421"):
                return

    def _say(self, answer: str) -> None:
        self.wfile.write(answer.encode() + b"\r\n")

    def unknown(self, rest: str) -> None:
        self._say("502 Not implemented")

    def fine(self, rest: str) -> None:
        self._say("200 OK")

    def user(self, name: str) -> None:
        self._name = name
        self._say("331 Password")

    def password(self, given: str) -> None:
        known = self._name == "anonymous" or (self._name, given) == ("ann", self.server.password)
        self._say("230 Logged in" if known else "530 Not logged in")

    def passive(self, rest: str) -> None:
        if self._passive is not None:
            self._passive.close()
        self._passive = socket.create_server(("127.0.0.1", 0))
        port = self._passive.getsockname()[1]
        self._say(f"227 Entering Passive Mode (127,0,0,1,{port // 256},{port % 256})")

    def restart(self, at: str) -> None:
        self._rest = int(at)
        self._say("350 Restarting")

    def size(self, path: str) -> None:
        value = self.server.values.get(path)
        self._say("550 No such file" if value is None else f"213 {len(value)}")

    def retrieve(self, path: str) -> None:
        value = self.server.values.get(path)
        self._send(None if value is None else value[self._rest :])

    def _level(self, path: str) -> dict[str, int | None]:
        """Name → size, None for a folder."""
        before = f"{path}/" if path else ""
        found: dict[str, int | None] = {}
        for key, value in self.server.values.items():
            if key.startswith(before):
                name, slash, _ = key[len(before) :].partition("/")
                found[name] = None if slash else len(value)
        return found

    def facts(self, path: str) -> None:
        found = self._level(path)
        lines = [f"type={'dir' if size is None else f'file;size={size}'}; {name}" for name, size in found.items()]
        self._send("".join(f"{line}\r\n" for line in lines).encode() if found or not path else None)

    def names(self, path: str) -> None:
        self._send("".join(f"{name}\r\n" for name in self._level(path)).encode() or None)

    def _send(self, answer: bytes | None) -> None:
        """Sends over the data connection; None: there is no such file."""
        self._rest, passive = 0, self._passive
        if answer is None or passive is None:
            self._say("550 No such file")
            return
        self._say("150 Here it comes")
        try:
            with passive, passive.accept()[0] as data:
                data.sendall(answer)
        except OSError:
            self._say("426 Transfer aborted")
        else:
            self._say("226 Done")


_COMMANDS: dict[str, Callable[[_Session, str], None]] = {
    "USER": _Session.user,
    "PASS": _Session.password,
    "PASV": _Session.passive,
    "REST": _Session.restart,
    "SIZE": _Session.size,
    "RETR": _Session.retrieve,
    "MLSD": _Session.facts,
    "NLST": _Session.names,
    **dict.fromkeys(("TYPE", "NOOP", "ABOR", "QUIT"), _Session.fine),
}


@contextmanager
def ftp_server(values: Mapping[str, bytes]) -> Iterator[FTPServer]:
    """A server over a copy of these values, stopped at the end."""
    with FTPServer(values) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            for client in server.clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
