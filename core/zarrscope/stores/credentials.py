"""Finds the credentials to try for S3, Google Cloud Storage and Azure, in their order.

If the address or the options contain credentials, only those are tried. Otherwise these are tried in order: the named
profile, the environment, the user's own configuration files, the role of this container or machine, and last no
credentials (public buckets). The store uses the first that the bucket accepts (object_requests.py), because credentials
in the environment may be meant for another bucket.

Options have the names of s3fs, gcsfs and adlfs, or of obstore: `key`, `secret`, `token`, `anon`, `profile`, `endpoint`,
`region`, `account_name`, `account_key`, `sas_token`, `connection_string`. Roles that only boto3 can assume (single
sign-on, `role_arn`, `credential_process`) are taken from boto3 if it is installed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from zarrscope.errors import Refused
from zarrscope.errors.confidential import conceal
from zarrscope.stores import google_keys

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

BucketOptions = Mapping[str, Any]


@dataclass(frozen=True)
class BucketLogin:
    """One set of credentials: its name for messages, the settings for obstore, and a function that returns the access
    keys if the settings contain none. `profile`: the profile of ~/.aws that they come from. `assumable`: whether
    obstore can use them; without boto3 it cannot use profiles with single sign-on or a role. `usable`: whether they are
    complete; if not, the name says why."""

    name: str
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    provider: Callable[[], Any] | None = field(default=None, repr=False)
    profile: str = ""
    assumable: bool = True
    usable: bool = True


@dataclass(frozen=True, repr=False)
class GivenKeys:
    """Returns these keys of S3 and no others: without it obstore would add keys from the environment. Equal keys are
    equal objects, so that object_requests.py finds the client that was made with them."""

    access_key_id: str
    secret_access_key: str
    token: str | None

    def __call__(self) -> dict[str, Any]:
        return {
            "access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key, "token": self.token,
            "expires_at": None,
        }  # fmt: skip


def no_keys() -> NoReturn:
    """The provider of credentials for unsigned requests. obstore asks it for those that Google's service does not
    accept unsigned, such as writing."""
    raise PermissionError("token request without credentials")


ANONYMOUS = "without credentials"
OPTIONS = "the options"


@dataclass(frozen=True)
class Service:
    """A cloud service with buckets: S3, Google Cloud Storage or Azure.

    `place` splits the text after "scheme://" into the bucket, the path within it, and settings that the address names.
    """

    name: str
    title: str
    place: Callable[[str], tuple[str, str, dict[str, Any]]]
    names: Mapping[str, str]
    """obstore's own names of settings, by the other names that options may use for them."""
    logins: Callable[[dict[str, Any]], Iterator[BucketLogin]]
    host: str
    """The address of the service if no endpoint is given. Names of settings in braces stand for their values."""

    @property
    def client(self) -> Callable[..., Client]:
        """obstore's class for this service."""
        from obstore import store

        return {"s3": store.S3Store, "gcs": store.GCSStore, "azure": store.AzureStore}[self.name]


def logins(service: Service, options: BucketOptions) -> Iterator[BucketLogin]:
    """The credentials that obstore can try for `service`, in order; at least one.

    Raises Refused for a profile that does not exist.
    """
    return (login for login in every_login(service, options) if login.assumable)


def every_login(service: Service, options: BucketOptions) -> Iterator[BucketLogin]:
    """As `logins`, with those that only other packages can use."""
    return (login for login in _found(service, options) if login.usable)


def passed_over(service: Service, options: BucketOptions, *, by_obstore: bool = True) -> tuple[str, ...]:
    """The credentials that were found and are not tried, because they are incomplete or stale, or because obstore
    cannot use them: sentences for the person who expects that they are used."""
    try:
        found = [*_found(service, options)]
    except Refused:  # the profile no longer exists
        return ()
    reasons = (
        f"{login.name}, which needs boto3" if login.usable else login.name
        for login in found
        if not login.usable or (by_obstore and not login.assumable)
    )
    return tuple(not_used(reason) for reason in reasons)


def not_used(name: str) -> str:
    """The name of credentials that were passed over, among those that were tried."""
    return f"{name}: not used"


def _unusable(name: str) -> BucketLogin:
    return BucketLogin(name, usable=False)


def _found(service: Service, options: BucketOptions) -> Iterator[BucketLogin]:
    settings = _settings(service, options)
    conceal(settings)
    if settings.pop("anon", False) or settings.get("skip_signature"):
        yield BucketLogin(ANONYMOUS, {**settings, "skip_signature": True})
        return
    yield from service.logins(settings)


def _settings(service: Service, options: BucketOptions) -> dict[str, Any]:
    """The options under obstore's names."""
    settings: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("client_kwargs", "config") and isinstance(value, Mapping):
            settings |= _settings(service, value)
        elif value is not None:
            settings[service.names.get(name, name)] = value
    return settings


# ---------------------------------------------------------------------- S3
_KEYS = ("access_key_id", "secret_access_key", "session_token")


def _s3_place(text: str) -> tuple[str, str, dict[str, Any]]:
    bucket, _, path = text.partition("/")
    return bucket, path, {}


def _s3_logins(settings: dict[str, Any]) -> Iterator[BucketLogin]:
    profile = settings.pop("profile", None)
    given = {name: settings.pop(name) for name in _KEYS if name in settings}
    named = profile or os.environ.get("AWS_PROFILE")
    files = _aws_files()
    place = {**_s3_place_of(files.get(named or "default", {})), **settings}
    if given:
        yield BucketLogin(OPTIONS, place, _given(given))
        return
    if named:
        if profile and profile not in files:
            raise Refused(
                f"There is no profile {profile!r} in ~/.aws",
                advice=f"There are: {', '.join(sorted(files))}." if files else "Run: aws configure",
            )
        if named not in files:
            yield _unusable(f"AWS_PROFILE, a profile {named} that is not in ~/.aws")
        yield from _of_profile(named, files.get(named, {}), place)
        if profile:
            return
    environ = {name: os.environ.get(f"AWS_{name.upper()}", "") for name in _KEYS}
    if environ["access_key_id"] and environ["secret_access_key"]:
        yield BucketLogin("the environment", place, _given({k: v for k, v in environ.items() if v}))
    elif any(environ.values()):
        there, missing = ([f"AWS_{k.upper()}" for k in _KEYS if bool(environ[k]) is found] for found in (True, False))
        yield _unusable(f"{' and '.join(there)} without {' and '.join(k for k in missing if k != 'AWS_SESSION_TOKEN')}")
    if not named and "default" in files:
        yield from _of_profile("default", files["default"], place)
    if any(os.environ.get(f"AWS_{name}") for name in _ROLES):
        yield BucketLogin("the role of this container", place)
    elif _machine("sys_vendor").startswith("Amazon"):
        yield BucketLogin("the role of this machine", place)
    yield BucketLogin(ANONYMOUS, {**place, "skip_signature": True})


_ROLES = (
    "CONTAINER_CREDENTIALS_RELATIVE_URI", "CONTAINER_CREDENTIALS_FULL_URI", "WEB_IDENTITY_TOKEN_FILE",
)  # fmt: skip


def _of_profile(name: str, told: BucketOptions, place: dict[str, Any]) -> Iterator[BucketLogin]:
    found = {key: told[f"aws_{key}"] for key in _KEYS if told.get(f"aws_{key}")}
    if ("access_key_id" in found) != ("secret_access_key" in found):
        there, missing = sorted(("aws_access_key_id", "aws_secret_access_key"), key=lambda key: key not in told)
        yield _unusable(f"the profile {name}, which has {there} without {missing}")
    elif "access_key_id" in found:
        yield BucketLogin(f"the profile {name}", place, _given(found), name)
    elif any(key.startswith(("sso_", "role_arn", "credential_process", "source_profile")) for key in told):
        try:
            import boto3
            from obstore.auth.boto3 import Boto3CredentialProvider

            provider = Boto3CredentialProvider(boto3.Session(profile_name=name))
        except Exception:  # boto3 is not installed, or finds no login
            provider = None
        yield BucketLogin(f"the profile {name}", place, provider, name, assumable=provider is not None)


def _given(keys: Mapping[str, str]) -> GivenKeys:
    conceal(keys)
    return GivenKeys(keys.get("access_key_id", ""), keys.get("secret_access_key", ""), keys.get("session_token"))


def _s3_place_of(told: BucketOptions) -> dict[str, Any]:
    """The region and the endpoint for S3, from the environment and the profile `told`, as the AWS command line reads
    them."""
    environ = os.environ
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or told.get("region")
    endpoint = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or told.get("endpoint_url")
    return {**({"region": region} if region else {}), **({"endpoint": endpoint} if endpoint else {})}


def profiles() -> tuple[str, ...]:
    """The names of the profiles in ~/.aws."""
    return tuple(sorted(_aws_files()))


def lacks_named_profile() -> bool:
    """Whether AWS_PROFILE names a profile that is not in ~/.aws."""
    named = os.environ.get("AWS_PROFILE")
    return bool(named) and named not in _aws_files()


def _aws_files() -> dict[str, dict[str, str]]:
    """The profiles of ~/.aws/config and ~/.aws/credentials."""
    from configparser import ConfigParser  # only these files need it; every application imports this module
    from configparser import Error as ConfigError

    found: dict[str, dict[str, str]] = {}
    for variable, usual in (("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")):
        file = Path(os.environ.get(variable) or os.path.join("~", ".aws", usual)).expanduser()
        parser = ConfigParser(interpolation=None)
        try:
            parser.read_string(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ConfigError):
            continue
        for section in parser.sections():
            found.setdefault(section.removeprefix("profile ").strip(), {}).update(parser[section])
    return found


# ---------------------------------------------------------------------- Google Cloud Storage
def _gcs_logins(settings: dict[str, Any]) -> Iterator[BucketLogin]:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator:
        settings.setdefault("base_url", emulator if "://" in emulator else f"http://{emulator}")
    token = settings.pop("token", None)
    if token == "anon":
        yield BucketLogin(ANONYMOUS, {**settings, "skip_signature": True})
        return
    if token is not None:
        name = "service_account" if os.path.exists(str(token)) else "bearer_token"
        settings[name] = str(token)
    if any(name in settings for name in ("service_account", "service_account_key", "bearer_token")) or (
        "application_credentials" in settings
    ):
        yield BucketLogin(OPTIONS, settings)
        return
    for variable in (*google_keys.set_accounts(), google_keys.DEFAULT):
        if variable not in os.environ:
            continue
        if fault := google_keys.fault_of(variable):
            yield _unusable(f"{variable}, {fault}")
            continue
        kind = "service_account_key" if variable == google_keys.KEY else "service_account"
        kind = "application_credentials" if variable == google_keys.DEFAULT else kind
        yield BucketLogin("the environment", {**settings, kind: os.environ[variable]})
    folder = Path(os.environ.get("APPDATA", "~") if os.name == "nt" else "~/.config").expanduser()
    usual = folder / "gcloud" / "application_default_credentials.json"
    if usual.exists():
        yield BucketLogin("the login of gcloud", {**settings, "application_credentials": str(usual)})
    if _machine("product_name").startswith("Google"):
        yield BucketLogin("the role of this machine", settings)
    yield BucketLogin(ANONYMOUS, {**settings, "skip_signature": True})


# ---------------------------------------------------------------------- Azure
def _azure_place(text: str) -> tuple[str, str, dict[str, Any]]:
    host, _, path = text.partition("/")
    container, at, server = host.partition("@")
    if not at:
        return host, path, {}
    return container, path, {"account_name": server.partition(".")[0]}


_AZURE_SECRETS = ("account_key", "sas_key", "token", "client_secret")


def _azure_logins(settings: dict[str, Any]) -> Iterator[BucketLogin]:
    environ = os.environ
    told = settings.pop("connection_string", None)
    settings |= _connection(told) if told else {}
    if any(name in settings for name in _AZURE_SECRETS):
        yield BucketLogin(OPTIONS, settings)
        return
    around = _connection(environ.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    for variable, name in (
        ("ACCOUNT_NAME", "account_name"), ("ACCOUNT_KEY", "account_key"), ("SAS_TOKEN", "sas_key"),
    ):  # fmt: skip
        if value := environ.get(f"AZURE_STORAGE_{variable}"):
            around[name] = value
    account: dict[str, Any] = {name: around[name] for name in ("account_name", "endpoint") if name in around}
    same = settings.get("account_name", account.get("account_name")) == account.get("account_name")
    if same and any(name in around for name in _AZURE_SECRETS):
        yield BucketLogin("the environment", {**around, **settings})
    elif any(name in around for name in _AZURE_SECRETS):
        yield _unusable(f"the environment, which has keys of the account {around.get('account_name', '')!r}")
    place = {**account, **settings} if same else {**settings}
    if environ.get("AZURE_CLIENT_ID") and environ.get("AZURE_TENANT_ID"):
        names = ("client_id", "client_secret", "tenant_id", "federated_token_file")
        found = {name: environ[f"AZURE_{name.upper()}"] for name in names if environ.get(f"AZURE_{name.upper()}")}
        yield BucketLogin("the application of the environment", {**place, **found})
    elif environ.get("AZURE_CLIENT_ID") or environ.get("AZURE_TENANT_ID"):
        there, missing = sorted(("AZURE_CLIENT_ID", "AZURE_TENANT_ID"), key=lambda name: not environ.get(name))
        yield _unusable(f"{there} without {missing}")
    if shutil.which("az") and Path("~/.azure").expanduser().is_dir():
        yield BucketLogin("the login of az", {**place, "use_azure_cli": True})
    if _machine("chassis_asset_tag") == "7783-7084-3265-9085-8269-3286-77":
        yield BucketLogin("the role of this machine", place)
    yield BucketLogin(ANONYMOUS, {**place, "skip_signature": True})


def _connection(text: str) -> dict[str, Any]:
    """The settings in one of Azure's connection strings."""
    names = {"AccountName": "account_name", "AccountKey": "account_key", "BlobEndpoint": "endpoint"}
    names["SharedAccessSignature"] = "sas_key"
    parts: dict[str, str] = dict(re.findall(r"(\w+)=([^;]*)", text))
    return {names[name]: value for name, value in parts.items() if name in names and value}


def _machine(fact: str) -> str:
    """A name of the manufacturer or cloud provider, from the file `fact` of the firmware (DMI); "" if it is unknown."""
    try:
        return Path(f"/sys/class/dmi/id/{fact}").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


_S3 = Service(
    "s3",
    "S3",
    _s3_place,
    {
        "key": "access_key_id", "secret": "secret_access_key", "token": "session_token",
        "aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token", "endpoint_url": "endpoint", "region_name": "region",
        "requester_pays": "request_payer",
    },
    _s3_logins,
    "https://s3.{region}.amazonaws.com",
)  # fmt: skip
_GCS = Service(
    "gcs",
    "Google Cloud Storage",
    _s3_place,
    {"endpoint": "base_url", "endpoint_url": "base_url"},
    _gcs_logins,
    "https://storage.googleapis.com",
)
_AZURE = Service(
    "azure",
    "Azure Blob Storage",
    _azure_place,
    {"sas_token": "sas_key", "credential": "account_key", "endpoint_url": "endpoint", "account_host": "endpoint"},
    _azure_logins,
    "https://{account_name}.blob.core.windows.net",
)
SERVICES: dict[str, Service] = {
    "s3": _S3, "s3a": _S3, "gs": _GCS, "gcs": _GCS, "az": _AZURE, "abfs": _AZURE, "abfss": _AZURE,
}  # fmt: skip
"""The services by the scheme of the address."""
