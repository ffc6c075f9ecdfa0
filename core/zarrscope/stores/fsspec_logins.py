"""The credentials to try for a bucket that fsspec's file systems read (s3fs, gcsfs, adlfs), as options of these.

The credentials, their order and their names are those of credentials.py; only the names of the options differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from zarrscope.stores.credentials import (
    ANONYMOUS,
    OPTIONS,
    SERVICES,
    BucketLogin,
    GivenKeys,
    every_login,
    lacks_named_profile,
    passed_over,
)

_AZURE = ("abfs", "abfss", "az")
_GOOGLE = ("gs", "gcs")


class FileSystemLogin(NamedTuple):
    """One set of credentials: its name for messages, and the options of the file system."""

    name: str
    options: dict[str, Any]


def file_system_logins(scheme: str, options: Mapping[str, Any]) -> list[FileSystemLogin]:
    """The credentials to try, in order, with all other options for the file system; at least one. For a scheme without
    buckets the options are the only credentials.

    Raises Refused for a profile of S3 that does not exist.
    """
    plain = file_system_options(scheme, options)
    service = SERVICES.get(scheme)
    if service is None:
        return [FileSystemLogin("", plain)]
    if "session" in plain or (scheme in _AZURE and options.get("anon") is False):  # their own ways to state a login
        return [FileSystemLogin(OPTIONS, plain)]
    if scheme in ("s3", "s3a") and "profile" not in plain and lacks_named_profile():
        plain["session"] = _without_profile()
    return [
        FileSystemLogin(login.name, _merged(plain, _options_of(scheme, login)))
        for login in every_login(service, _for_logins(options))
    ]


def _without_profile() -> object:
    """A session of S3's client that does not look for the profile of AWS_PROFILE: the client would otherwise refuse
    every request, even one that needs no credentials."""
    from aiobotocore.session import AioSession

    return AioSession({"profile": (None, None, None, None)})


def logins_passed_over(scheme: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of credentials that are not among `file_system_logins`, because they are incomplete or stale."""
    service = SERVICES.get(scheme)
    if service is None or "session" in options:
        return ()
    return passed_over(service, _for_logins(options), by_obstore=False)


def _for_logins(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that concern credentials; `backend` only chooses between fsspec and obstore."""
    return {name: value for name, value in options.items() if name != "backend"}


def file_system_options(scheme: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under the names that s3fs, gcsfs and adlfs use."""
    found = dict(options)
    found.pop("backend", None)
    anonymous, endpoint, region = (found.pop(name, None) for name in ("anon", "endpoint", "region"))
    if anonymous is not None:
        found |= ({"token": "anon"} if anonymous else {}) if scheme in _GOOGLE else {"anon": anonymous}
    if endpoint:
        found["account_host" if scheme in _AZURE else "endpoint_url"] = endpoint
    if region:
        found["client_kwargs"] = {**found.get("client_kwargs", {}), "region_name": region}
    return found


def _merged(plain: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """`plain` with the options of a login, in which the endpoint and the region of `plain` are considered already."""
    client = plain.get("client_kwargs", {})
    if "endpoint_url" in client:  # s3fs takes it from one place only
        more.pop("endpoint_url", None)
    found = {**plain, **more}
    return {**found, "client_kwargs": {**client, **more["client_kwargs"]}} if "client_kwargs" in more else found


def _options_of(scheme: str, login: BucketLogin) -> dict[str, Any]:
    """The options with which the file system uses these credentials and no others."""
    if login.name == OPTIONS:
        return {}
    if scheme in _GOOGLE:
        if login.name == ANONYMOUS:
            return {"token": "anon"}
        for name in ("service_account", "application_credentials"):
            if name in login.config:
                return {"token": login.config[name]}
        key = login.config.get("service_account_key")
        return {"token": "cloud" if key is None else json.loads(key)}
    if scheme in _AZURE:
        names = {"account_name": "account_name", "account_key": "account_key", "sas_key": "sas_token"}
        keys = {theirs: login.config[ours] for ours, theirs in names.items() if ours in login.config}
        return {**keys, "anon": login.name == ANONYMOUS}
    found: dict[str, Any] = {"anon": True} if login.name == ANONYMOUS else {}
    if login.profile:
        found["profile"] = login.profile
    elif isinstance(login.provider, GivenKeys):
        given = login.provider
        found |= {"key": given.access_key_id, "secret": given.secret_access_key, "token": given.token}
    if login.config.get("endpoint"):
        found["endpoint_url"] = login.config["endpoint"]
    if login.config.get("region"):
        found["client_kwargs"] = {"region_name": login.config["region"]}
    return found
