"""The place of an Icechunk repository, for the package icechunk: in a folder, S3, Google Cloud Storage or Azure.

For a bucket, icechunk gets the credentials, the region and the endpoint with which zarrscope read the names of the
repository's folders, whatever they came from: the options, a profile, the environment, a role, or none.
Documentation: https://icechunk.io/en/latest/storage/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrscope.errors import Unsupported
from zarrscope.stores.address_options import split_options
from zarrscope.stores.credentials import SERVICES
from zarrscope.stores.local.paths import path_of
from zarrscope.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from zarrscope.stores.object_requests import BucketRequests

REPOSITORY_SCHEMES = ("file", *SERVICES)
"""The schemes of the places at which zarrscope opens repositories."""
_SECRETS = {
    "gcs": {
        "service_account": "service_account_file", "service_account_key": "service_account_key",
        "application_credentials": "application_credentials", "bearer_token": "bearer_token",
    },
    "azure": {"account_key": "access_key", "sas_key": "sas_token", "token": "bearer_token"},
}  # fmt: skip
"""For each service, icechunk's names of credentials by obstore's."""


def storage_of(icechunk: ModuleType, beneath: Store) -> object:
    """The place of the repository whose files are the values of a store. Raises Unsupported for other stores."""
    url = beneath.url
    if url.startswith("file:"):
        return icechunk.local_filesystem_storage(path_of(url))
    place, told = split_options(url)
    scheme, _, path = place.partition("://")
    if scheme not in REPOSITORY_SCHEMES:
        raise Unsupported(
            f"zarrscope reads Icechunk repositories in folders, S3, Google Cloud Storage and Azure, not at {scheme}://",
            feature="icechunk",
            store=url,
            advice="Open it with icechunk, and pass its session to zarrscope.open.",
        )
    service = SERVICES[scheme]
    bucket, prefix, named = service.place(path)
    requests = _requests_of(beneath)
    config = {**named, **told} if requests is None else requests.config_in_use
    return _MAKERS[service.name](icechunk, bucket, prefix.strip("/"), config, requests)


def _s3(
    icechunk: ModuleType, bucket: str, prefix: str, config: Mapping[str, Any], requests: BucketRequests | None
) -> object:
    keys = None if requests is None else requests.keys_in_use()
    anonymous = bool(config.get("skip_signature") or config.get("anon"))
    endpoint = config.get("endpoint")
    return icechunk.s3_storage(
        bucket=bucket,
        prefix=prefix or None,
        region=config.get("region") or ("us-east-1" if endpoint or anonymous else None),
        endpoint_url=endpoint,
        allow_http=bool(endpoint and endpoint.startswith("http://")),
        force_path_style=endpoint is not None,
        anonymous=anonymous or None,
        from_env=None if anonymous or keys else True,
        **(keys or {}),
        **({"requester_pays": True} if config.get("request_payer") else {}),  # icechunk 1.1.10 has no such argument
    )


def _gcs(
    icechunk: ModuleType, bucket: str, prefix: str, config: Mapping[str, Any], requests: BucketRequests | None
) -> object:
    secrets, settings = _divided("gcs", config)
    anonymous = settings.pop("skip_signature", None)
    if "base_url" in settings:
        settings["google_base_url"] = settings.pop("base_url")
    return icechunk.gcs_storage(
        bucket=bucket,
        prefix=prefix or None,
        anonymous=True if anonymous else None,
        from_env=None if anonymous or secrets else True,
        config=settings,
        **secrets,
    )


def _azure(
    icechunk: ModuleType, bucket: str, prefix: str, config: Mapping[str, Any], requests: BucketRequests | None
) -> object:
    secrets, settings = _divided("azure", config)
    return icechunk.azure_storage(
        account=settings.pop("account_name", ""),
        container=bucket,
        prefix=prefix,
        from_env=None if secrets else True,
        config=settings,
        **secrets,
    )


_MAKERS: Mapping[str, Callable[..., object]] = {"s3": _s3, "gcs": _gcs, "azure": _azure}


def _divided(service: str, config: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The credentials among the settings of obstore, by icechunk's names, and the other settings as texts."""
    names = _SECRETS[service]
    secrets = {names[name]: str(value) for name, value in config.items() if name in names}
    settings = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in config.items()
        if name not in names
    }
    if any(value.startswith("http://") for name, value in settings.items() if name in ("base_url", "endpoint")):
        settings["allow_http"] = "true"
    return secrets, settings


def _requests_of(store: Store) -> BucketRequests | None:
    """The requests to a bucket through which a store reads; None if it reads in another way."""
    from zarrscope.stores.object_requests import BucketRequests
    from zarrscope.stores.wrappers import Wrapper

    while isinstance(store, Wrapper):
        store = store.store
    return store if isinstance(store, BucketRequests) else None
