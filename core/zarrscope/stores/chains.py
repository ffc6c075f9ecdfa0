"""URLs of a store that lies within another store: `zip://folder::address`, `icechunk://@tag.v1::address`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrscope.stores.icechunk_version import IcechunkVersion

CHAINS = ("zip", "reference", "icechunk")
"""The schemes of such URLs."""


def chain_parts(url: str) -> tuple[str, str, str]:
    """("zip", "reference" or "icechunk", inner, "outer url") of a chain; ("", "", "") for another URL."""
    scheme, _, rest = url.partition("://")
    if scheme not in CHAINS:
        return "", "", ""
    inner, _, outer = rest.partition("::")
    return scheme, inner, outer


def with_version(url: str, version: IcechunkVersion) -> str:
    """The URL of this version of the Icechunk repository, in place of another one that `url` may state.

    Examples
    --------
    >>> from zarrscope.stores.icechunk_version import IcechunkVersion
    >>> with_version("icechunk://@branch.dev::s3://bucket/repo", IcechunkVersion("tag", "v1"))
    'icechunk://@tag.v1::s3://bucket/repo'
    """
    scheme, _, outer = chain_parts(url)
    return f"icechunk://{version.text}::{outer if scheme == 'icechunk' else url}"
