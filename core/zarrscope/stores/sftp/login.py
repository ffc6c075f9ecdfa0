"""The login for a host: from the address, the options, and the user's own configuration of OpenSSH (~/.ssh/config).

The keys of hosts are compared with OpenSSH's files known_hosts, the user's and the system's. An unknown or changed key
raises Refused, and nothing is sent to the host; the advice contains the command that makes it known.
"""

from __future__ import annotations

import logging
import os
import shlex
import socket
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from zarrscope.errors import Denied, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause
from zarrscope.model.frozen import frozen

if TYPE_CHECKING:
    from _collections_abc import dict_values

    from paramiko import PKey, SSHClient

_LOG = "zarrscope.sftp"
# paramiko logs the traceback of a failed connection, which Python would print on the terminal without this handler
logging.getLogger(_LOG).addHandler(logging.NullHandler())
KNOWN_HOSTS = "~/.ssh/known_hosts"
_CONFIG = "~/.ssh/config"
_SYSTEM_HOSTS = "/etc/ssh/ssh_known_hosts"
OPTIONS = (
    "username", "port", "password", "passphrase", "key_filename", "allow_agent", "look_for_keys", "known_hosts",
    "ssh_config", "proxy",
)  # fmt: skip


@frozen
class HostLogin:
    """The settings for logging in to a host."""

    name: str
    """The host as written in the address, for messages."""
    host: str
    port: int
    user: str
    password: str | None = None
    passphrase: str | None = None
    keys: tuple[str, ...] = ()
    allow_agent: bool = True
    look_for_keys: bool = True
    known_hosts: tuple[str, ...] = ()
    proxy: str | None = None
    """The command that connects to the host (ProxyCommand, ProxyJump); None: a direct connection."""


def login_of(url: str, options: Mapping[str, Any]) -> HostLogin:
    """The login for an address and options. Raises Refused for an unknown option."""
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise Refused(f"sftp:// has no option {', '.join(unknown)}", advice=f"The options are {', '.join(OPTIONS)}.")
    parts = urlsplit(url)
    try:
        told, port = parts.hostname or "", options.get("port") or parts.port
    except ValueError as error:
        raise Refused(f"The port is not a number: {error}", advice="Write sftp://host:22/path") from error
    if not told:
        raise Refused("The address names no host", advice="Write sftp://host/path")
    ours = _configured(told, options.get("ssh_config", _CONFIG))
    known = options.get("known_hosts")
    files = [known] if isinstance(known, str) else known or [*ours.get("userknownhostsfile", KNOWN_HOSTS).split()]
    keys = options.get("key_filename")
    chosen = [keys] if isinstance(keys, str) else keys or ours.get("identityfile", [])
    user = options.get("username") or unquote(parts.username or "") or ours.get("user") or _myself()
    password = options.get("password") or (unquote(parts.password) if parts.password else None)
    host = str(ours.get("hostname", told))
    port = int(port or ours.get("port", 22))
    return HostLogin(
        name=told,
        host=host,
        port=port,
        user=user,
        password=password,
        passphrase=options.get("passphrase"),
        keys=tuple(path for path in map(os.path.expanduser, chosen) if keys or os.path.isfile(path)),
        allow_agent=bool(options.get("allow_agent", True)),
        look_for_keys=bool(options.get("look_for_keys", ours.get("identitiesonly", "no") != "yes")),
        known_hosts=tuple(os.path.expanduser(each) for each in (*files, *(() if known else (_SYSTEM_HOSTS,)))),
        proxy=_proxy(ours, host, port) if options.get("proxy") is None else str(options["proxy"]) or None,
    )


def _myself() -> str:
    import getpass

    return getpass.getuser()


def _configured(host: str, path: str | None) -> dict[str, Any]:
    """The settings for a host in the configuration of OpenSSH."""
    import paramiko

    place = os.path.expanduser(path or "")
    if not os.path.isfile(place):
        return {}
    try:
        return dict(paramiko.SSHConfig.from_path(place).lookup(host))
    except Exception as error:
        raise Unsupported(
            f"The configuration {place} could not be read: {error}",
            feature="ssh_config",
            advice="To go on without it, pass storage_options={'ssh_config': None}.",
        ) from error


def _proxy(ours: Mapping[str, Any], host: str, port: int) -> str | None:
    command, jumps = ours.get("proxycommand"), ours.get("proxyjump")
    if command and command != "none":
        return str(command)
    if not jumps or jumps == "none":
        return None
    *before, last = str(jumps).split(",")
    return shlex.join(["ssh", *(["-J", ",".join(before)] if before else []), "-W", f"{host}:{port}", last])


class Proxied(socket.socket):
    """A connection to the host through a command, such as a jump host; the command ends when the connection is
    closed."""

    process: subprocess.Popen[bytes]

    def close(self) -> None:
        """Ends the connection and then the command; waits up to 5 seconds for the command."""
        super().close()
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)


def _through(command: str) -> Proxied:
    if not hasattr(socket, "AF_UNIX"):
        raise Unsupported(
            "The configuration of ssh reaches this host through another one, which sftp:// cannot do on this system",
            feature="ProxyJump",
            advice="Use ssh://, which runs your own ssh.",
        )
    near, far = socket.socketpair()
    with far:
        try:
            process = subprocess.Popen(
                shlex.split(command),
                stdin=far.fileno(),
                stdout=far.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            near.close()
            raise Unreadable(
                f"The command that connects to the host cannot be run: {error}",
                advice=f"Try it in a terminal: {command}",
            ) from error
    found = Proxied(near.family, near.type, near.proto, near.detach())
    found.process = process
    return found


class _OpeningChannels(dict[int, Event]):
    """paramiko's events of the channels that are being opened. Its thread goes through them when the connection breaks;
    a request may add one at that moment, at which the thread failed and left the socket open."""

    def values(self) -> dict_values[int, Event]:
        """The events at this moment."""
        return self.copy().values()


def connect(login: HostLogin, patience: float) -> SSHClient:
    """Connects and logs in; returns a paramiko.SSHClient. No step takes longer than `patience` seconds.

    Raises Refused (the host's key is unknown or has changed), Denied (the host refuses the login), Unreadable.
    """
    import paramiko

    def transport(*given: Any, **options: Any) -> object:
        made = paramiko.Transport(*given, **options)
        made.name = "zarrscope-sftp"
        made.channel_events = _OpeningChannels()
        return made

    class Refusing(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]  # paramiko has no types
        def missing_host_key(self, client: SSHClient, hostname: str, key: PKey) -> None:
            raise _unknown(login, hostname, key)

    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(Refusing())
    client.set_log_channel(_LOG)
    proxy = None
    try:
        for path in login.known_hosts:
            with suppress(FileNotFoundError):
                client.load_system_host_keys(path)
        proxy = None if login.proxy is None else _through(login.proxy)
        client.connect(
            login.host, login.port, login.user, login.password, passphrase=login.passphrase,
            key_filename=list(login.keys) or None, allow_agent=login.allow_agent, look_for_keys=login.look_for_keys,
            timeout=patience, banner_timeout=patience, auth_timeout=patience, channel_timeout=patience, sock=proxy,
            transport_factory=transport,
        )  # fmt: skip
    except BaseException as error:
        client.close()
        if proxy is not None:
            proxy.close()
        if isinstance(error, ZarrscopeError) or not isinstance(error, Exception):
            raise
        raise _failed(login, error) from cause(error)
    client.get_transport().set_keepalive(15)
    return client


def _unknown(login: HostLogin, name: str, key: PKey) -> Refused:
    line = shlex.quote(f"{name} {key.get_name()} {key.get_base64()}")
    return Refused(
        f"The host {login.name} is not known: its key is {key.get_name()} {key.fingerprint}",
        advice="Compare the fingerprint with the one that the owner of the host gives. If they are equal, run this "
        f"command, then try again: echo {line} >> {login.known_hosts[0] if login.known_hosts else KNOWN_HOSTS}",
    )


def _failed(login: HostLogin, error: Exception) -> ZarrscopeError:
    import paramiko

    where = login.name if login.port == 22 else f"{login.name}:{login.port}"
    if isinstance(error, paramiko.BadHostKeyException):
        name = login.host if login.port == 22 else f"[{login.host}]:{login.port}"
        return Refused(
            f"The key of the host {login.name} has changed: it is {error.key.get_name()} {error.key.fingerprint}",
            advice="The connection may be intercepted. If the owner of the host says that the key was changed, remove "
            f"the old one: ssh-keygen -R {shlex.quote(name)}",
        )
    if isinstance(error, paramiko.AuthenticationException) or "No authentication methods" in str(error):
        return Denied(
            f"{where} does not accept the login of {login.user}: {error}",
            advice="Put a key that the host accepts into your ssh agent or ~/.ssh, or name one: "
            "storage_options={'key_filename': …}.",
        )
    if isinstance(error, TimeoutError):
        return Unreadable(f"{where} does not answer: it took too long", advice="Check the address and the network.")
    return Unreadable(
        f"{where} could not be reached: {str(error) or type(error).__name__}",
        advice=f"Check the address and the network. Try in a terminal: sftp -P {login.port} {login.user}@{login.host}",
    )
