"""Responses of web servers without a value: the texts by which services give the reason, and the words for a person."""

from __future__ import annotations

import os
import ssl

NO_BUCKET = (b"<Code>NoSuchBucket<", b"<Code>ContainerNotFound<", b"<Code>AccountNotFound<")
"""The codes by which bucket services report that the whole bucket is missing."""
NO_ACCESS = (
    b"<Code>InvalidAccessKeyId<", b"<Code>SignatureDoesNotMatch<", b"<Code>InvalidToken<",
    b"<Code>RequestTimeTooSkewed<", b"<Code>AuthenticationFailed<", b"<Code>AccountProblem<",
    b"<Code>AllAccessDisabled<",
)  # fmt: skip
"""The texts by which bucket services reject the credentials themselves, not the access to one value."""
EXPIRED = (b"<Code>ExpiredToken<", b"Request has expired", b"Signature not valid in the specified time frame")
"""The texts by which bucket services report that a signed address or a token was valid earlier."""
OF_EXPIRED = "Access by this address has expired: get a new one where this one came from, then open that."


def reason_of(error: BaseException) -> str:
    """The reason for a failed request. aiohttp's own text for a failed connection contains its settings."""
    name = type(error).__name__
    cause, host, port = (getattr(error, name, None) for name in ("os_error", "host", "port"))
    if isinstance(cause, OSError) and host:
        number = 0 if isinstance(cause, ssl.SSLError) else cause.errno or 0
        reason = os.strerror(number) if number > 0 else cause.strerror or str(cause)
        proxy = "the proxy " if name == "ClientProxyConnectionError" else ""
        return f"{proxy}{host}:{port} cannot be reached: {reason}"
    if name == "ClientHttpProxyError":
        return f"the proxy refuses the connection ({getattr(error, 'status', '')} {getattr(error, 'message', '')})"
    if name == "TooManyRedirects":
        return "the server redirects again and again"
    if name in ("NonHttpUrlRedirectClientError", "InvalidUrlRedirectClientError"):
        return "the server redirects to something that is no address of the web"
    if name == "ServerDisconnectedError":
        return "the server closed the connection without an answer"
    if name == "ClientPayloadError":
        return "the answer broke off before its end"
    if name == "ClientResponseError":  # its text has several lines and repeats the address
        rule = str(getattr(error, "message", "")).partition("\n")[0].partition(": b'")[0].rstrip(":. ")
        return f"the answer breaks the rules of HTTP ({rule})" if rule else "the answer breaks the rules of HTTP"
    return str(error) or name


def advice_for(status: int) -> str:
    """The next step after a response of this status."""
    if status in (401, 407):
        return "The server asks for a login: use an address with a token, or download the data."
    if status == 403:
        return "Access is denied: check the address, and whether you may read it."
    if status == 429:
        return "The server gets too many requests: wait a minute, then try again."
    return "Wait, then try again." if status >= 500 else "Check the address."
