"""One address for each kind of store in the registry, for the tests of faults and races.

A place holds VALUES (contracts.faults); `opened()` gives a store of its own over it, as another program would have one.
Services run on loopback, started when a test first needs one and ended with the module.
"""

from __future__ import annotations

import base64
import json
import shlex
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import gcs_xml
import servers
from contracts.http_server import web_server
from contracts.wire import Wire, wire
from zarrscope.stores.address import open_store
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.network import SETTINGS
from zarrscope.stores.redis import RedisStore
from zarrscope.stores.registry import STORES, Mode
from zarrscope.stores.store import Store

NEAR = [sys.executable, "-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[-1]])"]
"""Used in place of ssh: runs the remote command on this machine."""
COMMAND = f"exec {shlex.quote(sys.executable)} -m zarrscope_app serve --stdio"
_numbers = count()


@dataclass
class Place:
    """The location of a store's values, and how a store over them is opened."""

    opened: Callable[..., Store]
    """Opens a store over it; takes `mode` and the settings of network.Network."""
    wire: Wire | None = None
    """The relay between store and server, if the store uses a network."""
    address: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    replaced: Callable[[Mapping[str, bytes]], object] | None = None
    """Stores other values instead of all present ones, if a store cannot do that."""

    def rewrite(self, values: Mapping[str, bytes]) -> None:
        """Stores `values` instead of all present values, as another program would."""
        if self.replaced is not None:
            self.replaced(values)
            return
        store = self.opened("a")
        store.erase_values([*store.list()])
        for key, value in values.items():
            store.set(key, value)
        store.close()


class Services:
    """The servers of a test module, each started once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._running: dict[str, Any] = {}

    def get(self, name: str, context: Callable[[], Any]) -> Any:
        if name not in self._running:
            self._running[name] = self._stack.enter_context(context())
        return self._running[name]

    @property
    def sshd(self) -> list[str]:
        found: list[str] = self.get("sshd", lambda: servers.sshd(self._folder))
        return found

    @property
    def s3(self) -> str:
        found: str = self.get("s3", servers.s3)
        return found

    @property
    def gcs(self) -> str:
        found: str = self.get("gcs", servers.gcs_by_xml)
        return found

    @property
    def azure(self) -> str:
        found: str = self.get("azure", servers.azure)
        return found

    def end(self) -> None:
        self._stack.close()


Kind = Callable[[Path, Services, Mapping[str, bytes]], AbstractContextManager[Place]]
"""Makes a place with these values in a folder, with the servers that it needs."""
PLACES: dict[str, Kind] = {}
"""A place for each kind of store in the table (zarrscope.stores.registry)."""
DISKS: dict[str, str] = {}
"""The address of each kind of store that can be in the folder {disk} of this machine; PORT is that of its server."""


def example(scheme: str, *, disk: str | None) -> Callable[[Kind], Kind]:
    """Decorates the example of a kind of store: all that the tests that walk the table need. `disk`: see DISKS; None if
    the values are in memory, or on a disk that only a server knows."""

    def add(kind: Kind) -> Kind:
        PLACES[scheme] = kind
        if disk is not None:
            DISKS[scheme] = disk
        return kind

    return add


def _of_address(address: str, values: Mapping[str, bytes], options: Mapping[str, Any] | None = None) -> Place:
    """A place that `zarrscope.open` opens by its address."""
    options = dict(options or {})

    def opened(mode: Mode = "a", **settings: Any) -> Store:
        return open_store(address, mode, {**options, **settings})

    place = Place(opened, address=address, options=options)
    store = opened()
    for key, value in values.items():
        store.set(key, value)
    store.close()
    return place


@example("file", disk="{disk}/x.zarr")
@contextmanager
def folder(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    yield _of_address(str(where / "x.zarr"), values)


@example("zip", disk="{disk}/x.zip")
@contextmanager
def archive(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    with zipfile.ZipFile(where / "x.zip", "w"):
        pass
    yield _of_address(str(where / "x.zip"), values)


@example("memory", disk=None)
@contextmanager
def memory(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    yield _of_address(f"memory://places-{next(_numbers)}", values)


@example("object", disk=None)
@contextmanager
def given(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    held = dict(values)
    yield Place(lambda mode="a", **settings: MappingStore(held))


def database(scheme: str, *packages: str) -> Kind:
    """A database in one file, read by `packages` if Python has no module for it."""

    @contextmanager
    def kind(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
        for package in packages:
            pytest.importorskip(package)
        yield _of_address(f"{scheme}://{where}/x.{scheme}", values)

    return kind


@example("redis", disk=None)
@contextmanager
def redis(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    """A Redis server if one is installed, else a fake one in this process, without a network."""
    pytest.importorskip("redis")
    if servers.missing("redis") is None:
        url = services.get("redis", servers.redis)
        with wire(int(url.rpartition(":")[2])) as cable:
            address = f"redis://127.0.0.1:{cable.port}/0/p{next(_numbers)}"
            place = _of_address(address, values)
            place.wire = cable
            yield place
        return
    fakeredis = pytest.importorskip("fakeredis")
    address = f"redis://fake-places-{next(_numbers)}:6379/0/p"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("redis.Redis.from_url", fakeredis.FakeRedis.from_url)
        store = RedisStore(address, writable=True)
        for key, value in values.items():
            store.set(key, value)
        yield Place(lambda mode="a", **settings: RedisStore(address, writable=True, **settings))


@example("http", disk=None)
@contextmanager
def web(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    served = {f"x/{key}": value for key, value in values.items()}

    def replace(values: Mapping[str, bytes]) -> None:
        served.clear()
        served.update({f"x/{key}": value for key, value in values.items()})

    with web_server(served) as server, wire(int(server.url.rpartition(":")[2])) as cable:
        address = f"http://127.0.0.1:{cable.port}/x"
        yield Place(lambda mode="r", **settings: open_store(address, "r", settings), cable, address, replaced=replace)


@example("reference", disk=None)
@contextmanager
def references(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    file = where / "x.json"

    def write(values: Mapping[str, bytes]) -> None:
        refs = {key: "base64:" + base64.b64encode(value).decode() for key, value in values.items()}
        file.write_text(json.dumps({"version": 1, "refs": refs}))

    write(values)
    address = f"reference://::{file.as_uri()}"
    yield Place(lambda mode="r", **settings: open_store(address, "r", settings), address=address, replaced=write)


@example("s3", disk=None)
@contextmanager
def s3(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    name = f"place-{next(_numbers)}"
    servers.create_bucket(services.s3, name)
    with wire(int(services.s3.rpartition(":")[2])) as cable:
        options = {"key": "k", "secret": "s", "endpoint": f"http://127.0.0.1:{cable.port}", "region": "us-east-1"}
        place = _of_address(f"s3://{name}/x", values, options)
        place.wire = cable
        yield place


@example("gs", disk=None)
@contextmanager
def google(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    if (why := servers.missing("gcs")) is not None:
        pytest.skip(why)
    name = f"place-{next(_numbers)}"
    servers.create_bucket(services.gcs, name)
    with wire(int(services.gcs.rpartition(":")[2])) as cable:
        place = _of_address(f"gs://{name}/x", values, gcs_xml.options(f"http://127.0.0.1:{cable.port}"))
        place.wire = cable
        yield place


@example("abfs", disk=None)
@contextmanager
def azure(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    if (why := servers.missing("azure")) is not None:
        pytest.skip(why)
    name = f"place-{next(_numbers)}"
    servers.create_container(services.azure, name)
    server, _, account = services.azure.removeprefix("http://").partition("/")
    with wire(int(server.rpartition(":")[2])) as cable:
        options = {
            "account_name": "devstoreaccount1", "account_key": servers.AZURE_KEY,
            "endpoint": f"http://127.0.0.1:{cable.port}/{account}",
        }  # fmt: skip
        place = _of_address(f"az://{name}/x", values, options)
        place.wire = cable
        yield place


@example("ssh", disk="ssh://127.0.0.1{disk}/x.zarr")
@contextmanager
def ssh(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    """A remote side that OpenSSH's server starts if it is installed, else this machine's shell."""
    program = services.sshd if servers.missing("sshd") is None else NEAR
    options = {"ssh": program, "command": f"{COMMAND} # place {next(_numbers)}"}
    address = f"ssh://127.0.0.1{where}/x.zarr"

    def opened(mode: Mode = "a", **settings: Any) -> Store:
        times = {"timeout": settings["timeout"]} if "timeout" in settings else {}
        return open_store(address, mode, {**options, **times})

    held = opened()  # a remote side takes long to start
    for key, value in values.items():
        held.set(key, value)
    yield Place(opened, address=address, options=options)
    held.close()


@example("sftp", disk="sftp://127.0.0.1:PORT{disk}/x.zarr")
@contextmanager
def sftp(where: Path, services: Services, values: Mapping[str, bytes]) -> Iterator[Place]:
    if (why := servers.missing("sshd")) is not None:
        pytest.skip(why)
    pytest.importorskip("paramiko")
    with wire(servers.port_of(services.sshd)) as cable:
        options = servers.sftp_options(services.sshd, cable.port)
        place = _of_address(f"sftp://127.0.0.1:{cable.port}{where}/x.zarr", values, options)
        place.wire = cable
        yield place


DATABASES = [name for name, kind in STORES.items() if kind.form == "file"]
"""The stores in one file of this computer, which need no example."""
for _name in DATABASES:
    example(_name, disk=f"{_name}://{{disk}}/x.{_name}")(database(_name, *STORES[_name].needs))
SERVICES = [name for name, kind in STORES.items() if kind.form in ("url", "bucket")]
"""The stores on other machines."""
WRITABLE = [name for name, kind in STORES.items() if "write" in kind.abilities]

__all__ = ["DATABASES", "DISKS", "PLACES", "SERVICES", "SETTINGS", "WRITABLE", "Place", "Services"]
