"""Finds the web proxy that the user's environment names for a host, as other programs do: HTTPS_PROXY, HTTP_PROXY,
NO_PROXY, and the settings of macOS and Windows.

aiohttp can look this up itself, but then does so for each request, and also sends the passwords of ~/.netrc.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def proxy_of(address: str) -> str | None:
    """The address of the proxy for requests to `address`; None if they go directly, as those to this computer always
    do."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(address)
    host = parts.hostname or ""
    found = getproxies().get(parts.scheme)
    if not found or _is_here(host) or proxy_bypass(host if parts.port is None else f"{host}:{parts.port}"):
        return None
    proxy = found if "://" in found else f"http://{found}"
    return proxy if urlsplit(proxy).scheme in ("http", "https") else None


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
