"""A relay that delays the traffic to a port of this machine, as a distant machine would.

    with relay(port, 0.03) as far:
        connect("127.0.0.1", far)         a round trip takes 30 ms, as many as there are at once

In a process of its own; the order of what is sent is kept, and connections are as quick as ever.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench.peers import environment


@contextmanager
def relay(port: int, seconds: float) -> Iterator[int]:
    """The port that stands for `port`, with round trips of `seconds`."""
    command = [sys.executable, "-m", "bench.relay", str(port), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(20)


class _Side(asyncio.Protocol):
    """One end of a connection: passes on to the other end, after half a round trip."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.other: _Side | None = None
        self.transport: asyncio.Transport | None = None
        self._waiting: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(1 << 26)
        self.transport = transport
        for data in self._waiting:
            transport.write(data)

    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        asyncio.get_running_loop().call_later(self._seconds, self.other.deliver, data)

    def deliver(self, data: bytes) -> None:
        """Sends what the other end was sent."""
        if self.transport is None:
            self._waiting.append(data)
        elif not self.transport.is_closing():
            self.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        asyncio.get_running_loop().call_later(self._seconds, self._end)

    def _end(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class _Near(_Side):
    def __init__(self, port: int, seconds: float) -> None:
        super().__init__(seconds)
        self._port = port
        self._connecting: asyncio.Task[object] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        far = self.other = _Side(self._seconds)
        far.other = self
        loop = asyncio.get_running_loop()
        self._connecting = loop.create_task(loop.create_connection(lambda: far, "127.0.0.1", self._port))


async def main() -> None:
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Near(port, seconds / 2), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
