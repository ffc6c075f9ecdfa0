"""Options within the address of a bucket: s3://bucket/x.zarr?profile=lab&endpoint=https://host.

They state the server of the bucket and the credentials to try, so the address alone opens the bucket again: in another
process, or from a list of recent addresses. Passwords and secret keys are never among them. A "?" may also be part of a
key in the bucket, but not at its end, where the options stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zarrscope.errors import Refused

OPTIONS = ("anon", "profile", "endpoint", "region", "backend")
"""The options that an address may contain."""
BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"})
"""The schemes whose addresses may contain options."""
_NAMES = "|".join(OPTIONS)
_AT_END = rf"\?((?:{_NAMES})=[^&?]*(?:&(?:{_NAMES})=[^&?]*)*)\Z"


def need_known_options(url: str) -> None:
    """Raises Refused if the address of a bucket ends with "?name=value" and one of the names is no option. Its values
    are not repeated: they may be keys."""
    option = r"(?:endpoint=[^?&]*|[A-Za-z][\w.-]*=[^/?&]*)"
    found = re.search(rf"\?({option}(?:&{option})*)\Z", url)
    names = [part.partition("=")[0] for part in found[1].split("&")] if found else []
    if unknown := [name for name in names if name not in OPTIONS]:
        raise Refused(
            f"The address of a bucket has no option {', '.join(unknown)}",
            store=url[: url.index("?")],
            advice=f"Options are {', '.join(OPTIONS)}. Access keys are given as storage_options or by the environment.",
        )


def split_options(url: str) -> tuple[str, dict[str, Any]]:
    """The address without its options, and the options.

    Examples
    --------
    >>> split_options("s3://bucket/x.zarr?anon=1&region=eu-west-1")
    ('s3://bucket/x.zarr', {'anon': True, 'region': 'eu-west-1'})
    """
    url, query = cut_options(url)
    given: dict[str, Any] = {}
    for name, _, value in (part.partition("=") for part in query[1:].split("&") if part):
        from urllib.parse import unquote

        given[name] = _truth(value, url) if name == "anon" else unquote(value)
    return url, given


def with_options(url: str, options: Mapping[str, Any]) -> str:
    """The address with these options, which replace its options of the same names; None, "" and False remove an option.

    Examples
    --------
    >>> with_options("s3://bucket/x.zarr?anon=1", {"anon": None, "profile": "lab"})
    's3://bucket/x.zarr?profile=lab'
    """
    from urllib.parse import quote

    head, chain, bucket = url.rpartition("::") if url.startswith(("zip://", "icechunk://")) else ("", "", url)
    bare, own = split_options(bucket)
    if options and bare.partition("://")[0].lower() not in BUCKETS:
        raise Refused(
            f"{', '.join(sorted(options))} {'is' if len(options) == 1 else 'are'} for buckets, not for this address",
            store=url,
            advice="Addresses of buckets begin with s3://, gs:// or abfs://.",
        )
    merged = {name: value for name, value in {**own, **options}.items() if value not in (None, "", False)}
    if any("@" in str(value) for value in merged.values()):
        raise Refused(
            "An endpoint, region or profile contains no '@'",
            store=bare,
            advice="Pass access keys as storage_options, not in the address.",
        )
    query = "&".join(
        f"{name}={'1' if value is True else quote(str(value), safe=':/.-_~')}" for name, value in merged.items()
    )
    return head + chain + bare + ("?" + query if query else "")


def cut_options(url: str) -> tuple[str, str]:
    """(address, "?options") of a bucket; "" if the address has no options."""
    found = re.search(_AT_END, url) if "?" in url and url.partition("://")[0].lower() in BUCKETS else None
    return (url, "") if found is None else (url[: found.start()], found[0])


def _truth(value: str, url: str) -> bool:
    if value.lower() in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        return value.lower() in ("1", "true", "yes", "on")
    raise Refused(f"anon is {value!r}, which means neither yes nor no", store=url, advice="Write anon=1.")
