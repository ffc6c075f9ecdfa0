"""Finds out the meaning of errors of bucket services: no such bucket, access denied, another region, bad range.

S3, Google Cloud Storage and Azure name the error in the body of the response; the text of obstore's errors contains
that body.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from zarrscope.errors import ZarrscopeError
from zarrscope.stores.network import seconds_asked_for

NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "InvalidBucketName")
ABOUT_VALUES = ("AccessDenied", "403", "Forbidden", "AuthorizationPermissionMismatch", "AuthorizationFailure", "")
"""The error codes by which a service denies access to a value although it accepts the credentials; "" stands for an
error without a code."""
ABOUT_LOGINS = (
    "ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "RequestTimeTooSkewed",
    "AuthenticationFailed", "NoAuthenticationInformation", "InvalidAuthenticationInfo", "PublicAccessNotPermitted",
)  # fmt: skip
"""The error codes by which a service rejects the credentials."""
CONDITIONS = ("AlreadyExistsError", "PreconditionError")
"""obstore's errors if the stored version is not the expected one."""


def code_of(error: BaseException) -> str:
    """The service's own code for the error; "" if it has none."""
    text = str(error)
    found = re.search(r"<Code>\s*(\w+)\s*</Code>", text) or re.search(r'"reason":\s*"(\w+)"', text)
    return found[1] if found else ""


def sentence(error: BaseException) -> str:
    """The useful part of the message of an obstore error: the status and the service's own sentence."""
    if isinstance(error, TimeoutError):
        return f"it took too long ({error})" if str(error) else "it took too long"
    text, _, details = str(error).partition("\n\nDebug source")
    if (unreached := _unreached(details)) is not None:
        return unreached
    said = re.search(r"<Message>(.*?)</Message>", text, re.S) or re.search(r'"message":\s*"(.*?)"', text)
    status = re.search(r"status code: (\d{3}[ \w]*)", text)
    if said:
        return f"{status[1].strip() + ': ' if status else ''}{said[1].strip().rstrip('.')}"
    return status[1].strip() if status else " ".join(text.split())[:300]


def brief(error: BaseException) -> str:
    """The reason of a failure that may pass, as the beginning of a sentence: "The server answered 503"."""
    if (status := status_of(error)) is not None:
        return f"The server answered {status}"
    said = sentence(error)
    return "The server did not answer in time" if "timed out" in said or "took too long" in said else said


_NOT_CONNECTED = (
    ("InvalidCertificate", "its certificate is not accepted"),
    ("Tunnel", "the proxy of HTTPS_PROXY refuses the connection"),
)
"""Words of obstore's details if no connection was made → the reason in plain words."""


def _unreached(details: str) -> str | None:
    """Says which server could not be reached and why, from the details that obstore appends to its message; the message
    itself says only "error sending request". None if they do not say it."""
    url = re.search(r"\buri: Some\(\s*(\S+?),?\s*\)", details)
    host = urlsplit(url[1]).netloc.rpartition("@")[2] if url else ""
    if not host or not re.search(r"\bkind: Connect\b", details):
        return None
    reason = next((why for word, why in _NOT_CONNECTED if word in details), "")
    if not reason:
        told = re.findall(r'\b(?:message|error): "((?:[^"\\]|\\.)*)"', details)
        if not told:
            return None
        reason = str(told[-1]).rpartition(": ")[2]
        other = re.search(r'"tcp connect error",\s*(\S+?),\s', details)
        if other and other[1] != host:  # a proxy, or the address of the host
            reason += f" by {other[1]}"
    return f"{host} cannot be reached: {reason}"


def status_of(error: BaseException) -> int | None:
    """The status of the response; None if no complete response came."""
    text = str(error).partition("\n\nDebug source")[0]
    found = re.search(r"status code: (\d{3})", text)
    return int(found[1]) if found else None


def pause_asked_for(url: str, timeout: float) -> float:
    """The seconds that a service asks to wait before the next request (Retry-After), from a request to `url`; 0 if it
    asks for no pause."""
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, headers={"Range": "bytes=0-0"}), timeout=timeout):
            return 0.0
    except HTTPError as error:
        with error:
            return seconds_asked_for(error.headers.get("Retry-After", ""))
    except (OSError, ValueError):
        return 0.0


def says_other_region(text: str) -> bool:
    """Whether S3 answered that the bucket lies in another region than the one of the request."""
    return any(each in text for each in ("PermanentRedirect", "AuthorizationHeaderMalformed", "redirect without"))


def finds_no_login(text: str) -> bool:
    """Whether an obstore error means that no credentials came from the metadata service of this cloud machine, or from
    the file with the token of a role."""
    return any(each in text for each in ("169.254.169.254", "metadata.google.internal", "token request", "token file"))


def is_about_range(failed: ZarrscopeError) -> bool:
    """Whether the service refused the byte range of a request, because the value is shorter or it cannot read the end
    of a value."""
    text = str(failed.__cause__ or failed)
    words = (" 416 ", "InvalidRange", "Invalid range", "suffix", "Range started at", "CONTENT_RANGE", "non-partial")
    return any(each in text for each in words)


def region_of(endpoint: str, bucket: str) -> str | None:
    """The region of a bucket, which S3 reports even without credentials; None if it does not."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    request = Request(f"{endpoint.rstrip('/')}/{bucket}", method="HEAD")
    try:
        with urlopen(request, timeout=20) as answer:
            headers = answer.headers
    except HTTPError as error:
        headers = error.headers
    except (URLError, OSError, ValueError):
        return None
    region = headers.get("x-amz-bucket-region")
    return str(region) if region else None
