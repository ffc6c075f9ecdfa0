"""Values that exist but cannot be read: for each kind of store, every cause that can be forced on this machine.

Each row of `KINDS` yields a `Faulty`: a store over VALUES (absence.py), and what happens to it. A fault is a context in
which one key, or the whole service, cannot be read; before and after it everything is honest.
"""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import servers
from contracts.absence import VALUES
from contracts.hostile_http import BEHAVIOURS, Ask, Hangup, hostile
from contracts.places import COMMAND, DATABASES, NEAR, PLACES, Place, Services
from contracts.service_answers import PAGE, XML, answered, bucket, fault, tags, well
from zarrscope.stores.address import open_store
from zarrscope.stores.local.read import FileReader
from zarrscope.stores.mapping import MappingStore
from zarrscope.stores.objects import locate_object
from zarrscope.stores.redis import RedisStore
from zarrscope.stores.registry import STORES
from zarrscope.stores.ssh.client import SSHStore
from zarrscope.stores.store import Store

Fault = Callable[[str], AbstractContextManager[None]]


@dataclass
class Faulty:
    """A store over VALUES, and the ways to make one of its keys unreadable."""

    opened: Callable[[], Store]
    faults: Mapping[str, Fault] = field(default_factory=dict)
    names_key: bool = True
    """Whether the error names the key; otherwise the whole file or service failed."""
    whole_only: tuple[str, ...] = ()
    """Faults that are detected only when a whole value is read, because of its checksum or its length."""


Kind = Callable[[Path, Services, pytest.MonkeyPatch], AbstractContextManager[Faulty]]
QUICK: dict[str, Any] = {"attempts": 1, "pause": 0, "timeout": 0.5, "patience": 1}


# ---------------------------------------------------------------------- on this machine
def _failing(patch: pytest.MonkeyPatch, path: Path, code: int) -> AbstractContextManager[None]:
    """Opening this file fails with the system's error `code`."""

    @contextmanager
    def failing() -> Iterator[None]:
        real = os.open

        def opened(name: Any, *arguments: Any, **more: Any) -> int:
            if os.fsdecode(name) == str(path) or (
                more.get("dir_fd") is not None and _within(more["dir_fd"], name, path)
            ):
                raise OSError(code, os.strerror(code))
            return real(name, *arguments, **more)

        with patch.context() as inner:
            inner.setattr(FileReader, "follows_no_links", False)
            inner.setattr(os, "open", opened)
            yield

    return failing()


def _within(folder: int, name: Any, path: Path) -> bool:
    return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), os.fsdecode(name)) == str(path)


@contextmanager
def _unread(patch: pytest.MonkeyPatch, path: Path) -> Iterator[None]:
    """The file opens, but reading it fails as on a faulty disk."""
    inode = path.stat().st_ino

    def reading(real: Any) -> Any:
        def read(file: int, *arguments: Any) -> Any:
            if os.fstat(file).st_ino == inode:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(file, *arguments)

        return read

    with patch.context() as inner:
        for name in ("preadv", "pread", "read"):
            inner.setattr(os, name, reading(getattr(os, name)))
        yield


@contextmanager
def _dangling(path: Path) -> Iterator[None]:
    value = path.read_bytes()
    path.unlink()
    path.symlink_to(path.parent / "gone")
    yield
    path.unlink()
    path.write_bytes(value)


def _fill(folder: Path) -> None:
    for key, value in VALUES.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(value)


@contextmanager
def folder(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    root = where.resolve() / "x.zarr"
    _fill(root)
    codes = {"not allowed": errno.EACCES, "broken disk": errno.EIO, "stale handle": errno.ESTALE}
    faults: dict[str, Fault] = {
        name: lambda key, code=code: _failing(patch, root / key, code)  # type: ignore[misc]  # bound at once
        for name, code in codes.items()
    }
    faults["broken when read"] = lambda key: _unread(patch, root / key)
    faults["dangling link"] = lambda key: _dangling(root / key)
    yield Faulty(lambda: open_store(str(root)), faults)


@contextmanager
def archive(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    file = where / "x.zip"
    with zipfile.ZipFile(file, "w") as zipped:
        for key, value in VALUES.items():
            zipped.writestr(key, value)
    whole = file.read_bytes()

    @contextmanager
    def stored(data: bytes) -> Iterator[None]:
        file.write_bytes(data)
        yield
        file.write_bytes(whole)

    def changed(key: str) -> AbstractContextManager[None]:
        """Changes one bit of the value, so that its checksum is wrong."""
        with zipfile.ZipFile(file) as zipped:
            at = zipped.getinfo(key).header_offset + 30 + len(key)
        return stored(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])

    def entry(key: str, offset: int, to: bytes) -> AbstractContextManager[None]:
        """Changes a number in the directory of the archive."""
        at = whole.index(b"PK\1\2", 0)
        while whole[at + 46 : at + 46 + len(key)] != key.encode() or whole[at + 28] != len(key):
            at = whole.index(b"PK\1\2", at + 4)
        return stored(whole[: at + offset] + to + whole[at + offset + len(to) :])

    yield Faulty(
        lambda: open_store(str(file)),
        whole_only=("changed bytes",),
        faults={
            "changed bytes": changed,
            "unknown method": lambda key: entry(key, 10, b"\x63\0"),
            "encrypted": lambda key: entry(key, 8, b"\1\0"),
            "beyond the end": lambda key: entry(key, 42, b"\xf0\xff\xff\x7f"),
        },
    )


class _Failing(dict[str, Any]):
    """A mapping that raises an error for some of its values."""

    failing: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        found = self.failing.get(key)
        if isinstance(found, Exception):
            raise found
        return super().__getitem__(key) if found is None else found


@contextmanager
def mapping(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    held = _Failing(VALUES)
    held.failing = {}

    def fault(answer: Any) -> Fault:
        @contextmanager
        def of(key: str) -> Iterator[None]:
            held.failing = {key: answer}
            yield
            held.failing = {}

        return of

    answers = {
        "OSError": OSError(errno.EIO, "broken"), "PermissionError": PermissionError("no"), "time-out": TimeoutError(),
        "another error": RuntimeError("broken"), "no bytes": 5,
    }  # fmt: skip
    yield Faulty(lambda: MappingStore(held), {name: fault(answer) for name, answer in answers.items()})


def _failing_with(failing: dict[str, Exception], error: Exception) -> Fault:
    """Raises this error whenever a key is read through a store that looks it up in `failing`."""

    @contextmanager
    def of(key: str) -> Iterator[None]:
        failing[key] = error
        yield
        failing.clear()

    return of


@contextmanager
def file_system(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """A file system of fsspec that a program passes to zarrscope."""
    from fsspec.implementations.local import LocalFileSystem
    from fsspec.mapping import FSMap

    _fill(where)
    failing: dict[str, Exception] = {}

    class FileSystem(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
        cachable = False

        def _need(self, path: Any) -> None:
            for key, error in failing.items():
                if str(path).endswith(f"/{key}"):
                    raise error

        def cat_file(self, path: Any, *arguments: Any, **more: Any) -> Any:
            self._need(path)
            return super().cat_file(path, *arguments, **more)

        def open(self, path: Any, *arguments: Any, **more: Any) -> Any:
            self._need(path)
            return super().open(path, *arguments, **more)

    def opened() -> Store:
        found = locate_object(FSMap(str(where), FileSystem()), "r").store
        assert found is not None
        return found

    errors = {"OSError": OSError(errno.EIO, "broken"), "PermissionError": PermissionError("no"),
              "time-out": TimeoutError(), "another error": RuntimeError("broken")}  # fmt: skip
    yield Faulty(opened, {name: _failing_with(failing, error) for name, error in errors.items()})


@contextmanager
def zarr_python(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """A store of zarr-python that a program passes to zarrscope."""
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import MemoryStore

    failing: dict[str, Exception] = {}

    class Broken(MemoryStore):
        async def get(self, key: str, *arguments: Any, **more: Any) -> Any:
            if key in failing:
                raise failing[key]
            return await super().get(key, *arguments, **more)

    buffer = default_buffer_prototype().buffer
    held = Broken({key: buffer.from_bytes(value) for key, value in VALUES.items()})

    def opened() -> Store:
        found = locate_object(held, "r").store
        assert found is not None
        return found

    errors = {"OSError": OSError(errno.EIO, "broken"), "PermissionError": PermissionError("no"),
              "another error": RuntimeError("broken")}  # fmt: skip
    yield Faulty(opened, {name: _failing_with(failing, error) for name, error in errors.items()})


# ---------------------------------------------------------------------- databases
@contextmanager
def _garbage(file: Path) -> Iterator[None]:
    value = file.read_bytes()
    file.write_bytes(b"not this " * (len(value) // 9 + 1))
    yield
    file.write_bytes(value)


def _size(file: Path) -> int:
    return file.stat().st_size


def database(scheme: str) -> Kind:
    @contextmanager
    def kind(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
        with PLACES[scheme](where, services, VALUES):
            found = [each for each in where.rglob("*") if each.is_file() and "lock" not in each.name]
            # Python's own dbm stores values and their positions in separate files; the values have no checksum.
            file = next((each for each in found if each.suffix == ".dir"), None) or max(found, key=_size)

            def damaged(key: str) -> AbstractContextManager[None]:
                return _garbage(file)

            @contextmanager
            def locked(key: str) -> Iterator[None]:
                patch.setattr("zarrscope.stores.sqlite.WAIT", 0.1)
                other = sqlite3.connect(file, isolation_level=None)
                other.execute("BEGIN EXCLUSIVE")
                yield
                other.rollback()
                other.close()

            faults: dict[str, Fault] = {"damaged file": damaged, **({"locked": locked} if scheme == "sqlite" else {})}
            address = f"{scheme}://{where}/x.{scheme}"
            yield Faulty(lambda: open_store(address, "r"), faults, names_key=False)

    return kind


@contextmanager
def redis(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    fakeredis: Any = pytest.importorskip("fakeredis")
    server = fakeredis.FakeServer()
    client = fakeredis.FakeRedis(server=server)
    patch.setattr("redis.Redis.from_url", lambda *arguments, **more: fakeredis.FakeRedis(server=server))
    for key, value in VALUES.items():
        client.set(f"p:{key}", value)

    @contextmanager
    def another_type(key: str) -> Iterator[None]:
        client.delete(f"p:{key}")
        client.lpush(f"p:{key}", b"a list")
        yield
        client.delete(f"p:{key}")
        client.set(f"p:{key}", VALUES[key])

    @contextmanager
    def gone(key: str) -> Iterator[None]:
        server.connected = False
        yield
        server.connected = True

    yield Faulty(lambda: RedisStore("redis://h:6379/0/p"), {"another type": another_type, "gone": gone})


# ---------------------------------------------------------------------- services
async def _cut(ask: Ask) -> None:
    """Ends the connection before the first byte, so that no part of the value arrives."""
    value = ask.value or b""
    await ask.answer("200 OK", b"", f"Content-Length: {len(value)}", *tags(value), length=False)
    raise Hangup


async def _hangs_up(ask: Ask) -> None:
    raise Hangup


def _status(line: str, code: str = "", *headers: str) -> Any:
    return answered(line, fault(code), XML, *headers)


ANSWERS: dict[str, Any] = {
    "401": _status("401 Unauthorized", "AuthenticationFailed"),
    "403": _status("403 Forbidden", "AccessDenied"),
    "407": _status("407 Proxy Authentication Required"),
    "408": _status("408 Request Timeout"),
    "429": _status("429 Too Many Requests", "", "Retry-After: 0"),
    "451": _status("451 Unavailable For Legal Reasons"),
    "500": _status("500 Internal Server Error", "InternalError"),
    "502": _status("502 Bad Gateway"),
    "503": _status("503 Service Unavailable", "SlowDown", "Retry-After: 0"),
    "504": _status("504 Gateway Timeout"),
    "silent": BEHAVIOURS["never an answer"],
    "cut short": _cut,
    "hangs up": _hangs_up,
    "a page": answered("200 OK", PAGE, "Content-Type: text/html"),
}


def service(kind: str) -> Kind:
    """An HTTP server that gives the service's answers."""

    @contextmanager
    def of(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
        with hostile(well, {f"bucket/x/{key}": value for key, value in VALUES.items()}) as server:
            address, options = bucket(kind, server.url)
            faults = {name: _answering(server, act, lambda asked, key: asked.endswith(f"x/{key}"))
                      for name, act in ANSWERS.items()}  # fmt: skip
            yield Faulty(lambda: open_store(address, "r", {**options, **QUICK}), faults)

    return of


def _answering(server: Any, act: Any, meant: Callable[[str, str], bool]) -> Fault:
    @contextmanager
    def of(key: str) -> Iterator[None]:
        async def answer(ask: Ask) -> None:
            await (act if meant(ask.key, key) else well)(ask)

        server.act = answer
        yield
        server.act = well

    return of


@contextmanager
def archive_on_the_web(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """All parts of the archive have one address, so a fault affects all keys."""
    with zipfile.ZipFile(where / "x.zip", "w") as zipped:
        for key, value in VALUES.items():
            zipped.writestr(key, value)
    with hostile(well, {"x.zip": (where / "x.zip").read_bytes()}) as server:
        faults = {name: _answering(server, act, lambda asked, key: True) for name, act in ANSWERS.items()}
        yield Faulty(lambda: open_store(f"{server.url}/x.zip", "r", QUICK), faults, names_key=False)


@contextmanager
def references(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """Some values are in the reference file itself, others on a web server."""
    with hostile(well, {f"x/{key}": value for key, value in VALUES.items()}) as server:
        refs: dict[str, Any] = {key: [f"{server.url}/x/{key}"] for key in VALUES}
        file = where / "x.json"

        def written(**changed: Any) -> None:
            file.write_text(json.dumps({"version": 1, "refs": {**refs, **changed}}))

        @contextmanager
        def nonsense(key: str) -> Iterator[None]:
            written(**{key: "base64:not base64!"})
            yield
            written()

        @contextmanager
        def gone(key: str) -> Iterator[None]:
            """The value is missing, although the reference file lists it."""
            written(**{key: [f"{server.url}/x/nowhere"]})
            yield
            written()

        written()
        found: dict[str, Fault] = {
            name: _answering(server, act, lambda asked, key: asked == f"x/{key}") for name, act in ANSWERS.items()
        }
        found |= {"nonsense": nonsense, "gone": gone}
        address = f"reference://::{file.as_uri()}"
        yield Faulty(lambda: open_store(address, "r", QUICK), found, whole_only=("a page",))


@contextmanager
def ssh(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    root = where.resolve()
    _fill(root)
    broken = where.parent / f"{where.name}-broken"

    def opened() -> SSHStore:
        return SSHStore(f"ssh://host{root}", "r", ssh=NEAR, command=f"test ! -e {broken} && {COMMAND} # {where.name}")

    held = opened()

    @contextmanager
    def no_connection(key: str) -> Iterator[None]:
        """The remote side has ended, and no new one can be started."""
        from zarrscope.stores.ssh import client

        broken.touch()
        for channels in [*client._connections.values()]:
            process = channels.first._process
            if f"# {where.name}" in str(process.args):
                process.kill()
                process.wait(60)
        yield
        broken.unlink()

    yield Faulty(opened, {"dangling link": lambda key: _dangling(root / key), "no connection": no_connection})
    held.close()


@contextmanager
def sftp(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    if (why := servers.missing("sshd")) is not None:
        pytest.skip(why)
    with PLACES["sftp"](where, services, VALUES) as place:
        faults = {"dangling link": lambda key: _dangling(where / "x.zarr" / key), **_of_the_wire(place)}
        yield Faulty(lambda: place.opened("r", **QUICK), faults)


def _of_the_wire(place: Place) -> dict[str, Fault]:
    """The faults that every service can have: it refuses connections, or it does not answer."""
    assert place.wire is not None, "A store that is no service needs a row of its own in KINDS."
    wire = place.wire

    @contextmanager
    def refused(key: str) -> Iterator[None]:
        wire.refuse()
        wire.cut()
        yield
        wire.refuse(False)

    @contextmanager
    def silent(key: str) -> Iterator[None]:
        wire.hold()
        yield
        wire.release()
        wire.cut()

    return {"refused": refused, "silent": silent}


def wired(scheme: str) -> Kind:
    """A service behind the wire of its place."""

    @contextmanager
    def kind(where: Path, services: Services, patch: pytest.MonkeyPatch) -> Iterator[Faulty]:
        with PLACES[scheme](where, services, VALUES) as place:
            yield Faulty(lambda: place.opened("r", **QUICK), _of_the_wire(place))

    return kind


_LOCAL = ("not allowed", "broken disk", "stale handle", "broken when read", "dangling link")
_WEB = tuple(ANSWERS)
_OBJECT = ("OSError", "PermissionError", "another error")
_WIRE = ("refused", "silent")
_MORE_OF_DATABASES = {"sqlite": ("locked",)}
KINDS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "file": (folder, _LOCAL),
    "zip": (archive, ("changed bytes", "unknown method", "encrypted", "beyond the end")),
    "object": (mapping, (*_OBJECT, "time-out", "no bytes")),
    "object of fsspec": (file_system, (*_OBJECT, "time-out")),
    "object of zarr-python": (zarr_python, _OBJECT),
    **{name: (database(name), ("damaged file", *_MORE_OF_DATABASES.get(name, ()))) for name in DATABASES},
    "redis": (redis, ("another type", "gone")),
    "http": (service("http"), _WEB),
    "zip on http": (archive_on_the_web, _WEB),
    "reference": (references, (*_WEB, "nonsense", "gone")),
    **{name: (service(name), _WEB) for name, kind in STORES.items() if "obstore" in kind.needs},
    "ssh": (ssh, ("dangling link", "no connection")),
    "sftp": (sftp, ("dangling link", *_WIRE)),
}
"""For each kind of store in the registry, how it is made to fail and the names of these ways. Variants have longer
names. Services without a row of their own get the faults of the wire of their place."""
WITHOUT = {"memory": "a dict of this process: nothing can keep it from answering"}
KINDS |= {name: (wired(name), _WIRE) for name in STORES if name not in KINDS | WITHOUT}

__all__ = ["ANSWERS", "KINDS", "QUICK", "WITHOUT", "Faulty"]
