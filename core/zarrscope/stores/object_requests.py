"""Requests to a bucket through obstore: their credentials, region and retries, and the meaning of the service's errors.

Credentials are tried in the order of credentials.py; the first that the service accepts are used from then on. If the
service rejects them later, for example because they expired, credentials are looked up again, because the person may
have logged in again. This happens once for many requests that fail together.

A request that fails for a temporary reason is repeated within the limits of network.Network, after a pause that doubles
each time, or that the service asks for (Retry-After). obstore does not show the headers of a response, so Retry-After
is read by a separate signed request. obstore's own retries are off except for listings, because only obstore knows how
far a listing got.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from zarrscope.errors import Denied, NotFound, Refused, Unreadable, Unsupported, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal, public_options
from zarrscope.errors.installing import how_to_install
from zarrscope.runtime.memo import Memo
from zarrscope.runtime.waits import repeating
from zarrscope.stores import google_keys
from zarrscope.stores.address_options import split_options
from zarrscope.stores.credentials import SERVICES, BucketLogin, GivenKeys, logins, no_keys, not_used, passed_over
from zarrscope.stores.network import network, others, told_in_words
from zarrscope.stores.remote import RemoteStore
from zarrscope.stores.service_answers import (
    ABOUT_LOGINS,
    ABOUT_VALUES,
    CONDITIONS,
    NO_BUCKET,
    brief,
    code_of,
    finds_no_login,
    is_about_range,
    pause_asked_for,
    region_of,
    says_other_region,
    sentence,
    status_of,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

    from zarrscope.stores.object_reads import Sent

T = TypeVar("T")

_TOO_MANY = (429, 503)
"""Status codes by which a service says that it gets too many requests. It has not carried out the request."""
_AGAIN = (408, 429, 500, 502, 503, 504)
LOOK_AGAIN = 2.0
"""Seconds after looking up credentials again, during which they are not looked up once more, unless a request
succeeded."""
PAGE_TIMEOUTS = 5
"""The time-outs that one page of a listing may take. obstore waits for it as a whole, so its speed is not known."""
_PAGE_CUT = "Error getting list response body"
"""In the message of obstore if a page of a listing broke off, which obstore does not request again."""
_TIMED_OUT = re.compile("timed out|timeout", re.IGNORECASE).search


clients: Memo[Client] = Memo(16)
"""The obstore clients that were used last, with their connections, for buckets that are opened again. All hierarchies
in a bucket use the same client, if their credentials and settings are the same. Making a client takes 20 ms, because it
reads the certificates of the system; a connection takes two or three round trips."""

regions: Memo[str] = Memo(64)
"""The regions of S3 buckets that lie in another region than the given one, by endpoint and name. Without it, each
hierarchy in such a bucket would need two more requests when it is opened."""


def _after_fork() -> None:
    global clients
    clients = Memo(16)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class BucketRequests(RemoteStore):
    """A bucket, with the credentials, clients and retries of its requests. Raises Unsupported if obstore is not
    installed."""

    _found_logins = 0
    """The number of times that the credentials were looked up again."""
    _worked = False
    """Whether a request succeeded since the credentials were last looked up again."""
    _look_again = 0.0
    """The earliest time for looking up rejected credentials again, if no request has succeeded since the last time
    (`_worked`)."""

    def __init__(self, url: str, *, writable: bool = False, **options: Any) -> None:
        place, told = split_options(url)
        options = {**told, **options}
        options.pop("backend", None)
        super().__init__(network(options))
        conceal(options)
        self.url = url.rstrip("/")
        self.writable = writable
        self._public_options = {**public_options(others(options)), "writable": writable}
        self._scheme, _, self._place = place.partition("://")
        self._service = SERVICES[self._scheme]
        try:
            import obstore as package
        except ImportError as error:
            raise Unsupported(
                f"Reading from {self._scheme}:// needs a package that is not installed: obstore",
                feature=f"scheme {self._scheme}",
                store=self.url,
                advice=how_to_install(self._service.name),
            ) from error
        self._obstore = package
        self._bucket, path, named = self._service.place(self._place.rstrip("/"))
        self._prefix = "".join(f"{part}/" for part in path.split("/") if part)
        """The part of every key in the bucket that is not part of the keys of this store: "" or ending with a slash."""
        self._bucket_seen = False
        self._no_suffixes = self._no_ranges = False
        self._e_tags: dict[str, str | None] = {}
        """The versions of the values whose ends were read, by key (`read_end`)."""
        self._told = {**named, **others(options)}
        self._logins = [*logins(self._service, self._told)]
        self._login = 0
        """The index of the credentials that are in use or are being tried."""
        self._settled = len(self._logins) == 1
        self._region_asked = False
        region = regions.get((self._endpoint, self._bucket))
        self._config: dict[str, Any] = {"region": region} if region else {}
        self._clients: dict[tuple[int, bool], Client] = {}

    # ------------------------------------------------------------------ credentials
    @property
    def _login_in_use(self) -> BucketLogin:
        """The credentials that are in use or are being tried."""
        return self._logins[self._login]

    @property
    def config_in_use(self) -> dict[str, Any]:
        """The settings for obstore that are in use: the endpoint, the region, whether requests are signed."""
        return {**self._login_in_use.config, **self._config}

    def keys_in_use(self) -> dict[str, str | None] | None:
        """The keys of S3 that are in use; None if requests are not signed, or obstore finds the keys of a role."""
        provider = self._login_in_use.provider
        if provider is None:
            return None
        found = provider()
        names = {"access_key_id": "access_key_id", "secret_access_key": "secret_access_key", "token": "session_token"}
        return {theirs: found.get(ours) for ours, theirs in names.items()}

    def _client(self, *, lists: bool = False) -> Client:
        """obstore's client with the credentials in use. `lists`: a client for listings, which repeats failed requests
        by itself."""
        while True:
            found = self._clients.get((self._login, lists))
            if found is not None:
                return found
            try:
                found = self._clients[self._login, lists] = self._made(self._login_in_use, lists)
                return found
            except Refused:
                # Credentials of which no client can be made, such as a stale file, are like rejected ones.
                if self._settled or self._login + 1 == len(self._logins):
                    raise
                hidden = google_keys.hides(self._login_in_use.config) if self._service.name == "gcs" else ""
                unused = not_used(f"{self._login_in_use.name}, {hidden or 'incomplete or damaged'}")
                self._logins[self._login] = replace(self._login_in_use, name=unused)
                self._login += 1

    def _made(self, login: BucketLogin, lists: bool) -> Client:
        config = {**login.config, **self._config}
        if login.provider is not None and not isinstance(login.provider, GivenKeys):
            return self._new_client(login, config, lists)
        settings = repr(sorted(config.items()))
        key = (self._service.name, self._bucket, login.provider, settings, self.network, lists)
        found = clients.get(key)
        if found is None:
            found = self._new_client(login, config, lists)
            clients.put(key, found)
        return found

    def _new_client(self, login: BucketLogin, config: dict[str, Any], lists: bool) -> Client:
        silent = timedelta(seconds=self.network.timeout)
        endpoint = str(config.get("endpoint", config.get("base_url", "")))
        provider = login.provider
        if provider is None and config.get("skip_signature"):
            provider = no_keys  # without a provider obstore reads the environment, and fails at half a pair of keys
        google = self._service.name == "gcs"
        try:
            with google_keys.no_account(needed=google and provider is no_keys) as more:
                return self._service.client(
                    self._bucket,
                    config={**config, **more},
                    client_options={
                        "connect_timeout": min(silent, timedelta(seconds=20)),
                        "read_timeout": silent,
                        "timeout": PAGE_TIMEOUTS * silent if lists else timedelta(days=1),
                        "allow_http": endpoint.startswith("http://"),
                    },
                    retry_config={
                        "max_retries": self.network.attempts - 1 if lists else 0,
                        "retry_timeout": timedelta(seconds=max(1.0, self.network.patience)),
                        # obstore panics if there is no pause
                        "backoff": {"init_backoff": timedelta(seconds=max(self.network.pause, 0.001)), "base": 2},
                    },
                    **({} if provider is None else {"credential_provider": provider}),
                )
        except Exception as error:
            raise Refused(
                f"{self._service.title} cannot be opened with these options: {sentence(error)}",
                store=self.url,
                advice=(google_keys.advice() if google else "")
                or "The documentation of remote stores lists the options.",
            ) from cause(error)

    async def _asked(
        self,
        act: Callable[[Client], Awaitable[T]],
        key: str,
        *,
        lists: bool = False,
        harmless: bool = True,
        sent: Sent | None = None,
    ) -> T:
        """Awaits `act(client)` with the first credentials that the service accepts, and returns its result.

        `harmless`: the request may be repeated even if the service may have carried it out; if it is False, only after
        an answer that says that it was not carried out. `sent`: a request that was already sent; the first call of
        `act` awaits it instead of sending another. Raises FileNotFoundError for an absent value; Denied, Unreadable.
        """
        with repeating(self.url, key) as repeats:
            return await self._repeated(act, key, repeats, lists=lists, harmless=harmless, sent=sent)

    async def _repeated(
        self,
        act: Callable[[Client], Awaitable[T]],
        key: str,
        repeats: repeating,
        *,
        lists: bool,
        harmless: bool,
        sent: Sent | None,
    ) -> T:
        attempt, waited, first = 1, 0.0, self._found_logins if sent is None else sent.found_logins
        while True:
            tried, known, width = self._login, self._found_logins, self.width
            if sent is not None:
                tried, known, width, sent = sent.login, sent.found_logins, sent.width, None
            try:
                answer = await act(self._client(lists=lists))
            except (FileNotFoundError, ZarrscopeError, asyncio.CancelledError):
                raise
            except Exception as error:
                if type(error).__name__ in CONDITIONS:
                    raise
                if await self._other_region(error):
                    continue
                failed = self._failed(error, key)
                if isinstance(failed, Denied):
                    failed.untold = failed.untold and not lists
                    if await self._another_login(error, tried, known, again=first == self._found_logins, lists=lists):
                        continue
                elif attempt < (most := self._attempts(error, failed, attempt, harmless=harmless, lists=lists)):
                    pause, asked_for = self.network.pause_after(attempt), 0.0
                    if status_of(error) in _TOO_MANY:
                        self._narrow(width)
                        asked_for = await self._pause_asked_for(key)
                        if lists and not asked_for:  # obstore has made all attempts
                            raise failed from cause(error)
                        if waited + asked_for > self.network.patience:
                            failed.advice = f"The service asks to wait {told_in_words(asked_for)}: try again then."
                            raise failed from cause(error)
                        pause = max(pause, asked_for)
                    waited += pause
                    if waited <= self.network.patience:
                        attempt += 1
                        repeats.after(brief(error), attempt, most, pause, asked=asked_for > 0)
                        await asyncio.sleep(pause)
                        continue
                raise failed from cause(error)
            self._succeeded()
            return answer

    def _succeeded(self) -> None:
        """Notes that the service has accepted a request."""
        self._settled = self._worked = True
        self._widen()

    def _attempts(
        self, error: BaseException, failed: ZarrscopeError, attempt: int, *, harmless: bool, lists: bool
    ) -> int:
        """The most attempts for a request that failed with this error."""
        status = status_of(error)
        if type(failed) is not Unreadable or is_about_range(failed):
            return 1
        if lists:  # obstore repeats requests for pages, but not after the pause that the service asks for
            again = status in _TOO_MANY or (_PAGE_CUT in str(error) and not _TIMED_OUT(str(error)))
            return self.network.attempts if again else 1
        if status is None:
            if not harmless:
                return 1
            return min(self.network.attempts, attempt + 1) if _TIMED_OUT(str(error)) else self.network.attempts
        return self.network.attempts if status in (_AGAIN if harmless else _TOO_MANY) else 1

    async def _another_login(self, error: Exception, tried: int, known: int, *, again: bool, lists: bool) -> bool:
        """Whether a request that was denied with the credentials of the index `tried` should be sent again with others.
        `known`: `_found_logins` when it was sent. `again`: this request has not yet made us look up credentials.
        `lists`: it was for a listing, which a service may deny where it allows reading."""
        if known != self._found_logins:
            return True  # another request has looked up the credentials again meanwhile
        if not self._settled:
            if tried + 1 < len(self._logins):
                if tried == self._login:
                    self._login = tried + 1
                return True
            # All credentials are denied. The first ones were meant most specifically, so their error is the useful one.
            self._login = 0
            self._settled = not lists
            return False
        if code_of(error) not in ABOUT_LOGINS or not again:  # each request looks up credentials at most once
            return False
        if not self._worked and time.monotonic() < self._look_again:
            return False
        self._worked, self._look_again = False, time.monotonic() + LOOK_AGAIN
        found = await asyncio.get_running_loop().run_in_executor(None, self._looked_up)
        if not found:
            return False
        self._logins, self._login = found, 0
        self._settled = len(found) == 1
        self._clients.clear()
        clients.clear()  # the old clients may hold expired tokens
        self._found_logins += 1
        return True

    def _place_of(self) -> Hashable:
        return self._service.name, self._bucket, self._prefix, self._endpoint

    @property
    def _endpoint(self) -> str:
        config = self._login_in_use.config
        return str(config.get("endpoint", config.get("base_url", ""))).rstrip("/")

    def _take(self, other: BucketRequests) -> None:
        super()._take(other)
        self._told, self._logins, self._login = other._told, other._logins, other._login
        self._settled, self._worked, self._look_again = other._settled, other._worked, 0.0
        self._config, self._region_asked = other._config, other._region_asked
        self._clients = other._clients
        self._found_logins += 1  # requests that are denied with the old credentials are then sent again

    def _looked_up(self) -> list[BucketLogin]:
        """The credentials, looked up again."""
        try:
            return [*logins(self._service, self._told)]
        except Refused:  # the profile no longer exists
            return []

    async def _pause_asked_for(self, key: str) -> float:
        """The seconds that the service asks to wait before the next request; 0 if it asks for no pause."""
        name = (self._prefix + key).rstrip("/")  # the key of an archive is "", so its prefix is its whole name
        if not name:
            return 0.0
        try:
            if self._login_in_use.config.get("skip_signature"):
                place = f"{self._bucket}/{name}"
                config = {"region": "us-east-1", **self._login_in_use.config, **self._config}
                url = f"{self._endpoint or self._service.host.format_map(config)}/{quote(place)}"
            else:
                client: Any = self._client()  # Any: the type of a client in memory has no signing; it raises here
                url = await self._obstore.sign_async(client, "GET", name, timedelta(minutes=1))
        except Exception:  # these credentials cannot sign, or the address does not name the account
            return 0.0
        seconds = min(self.network.timeout, 20.0)
        return await asyncio.get_running_loop().run_in_executor(None, pause_asked_for, str(url), seconds)

    async def _other_region(self, error: Exception) -> bool:
        """Whether `error` means that the bucket is in another region. If so, finds that region, which later requests
        then use."""
        if self._region_asked or self._service.name != "s3" or not says_other_region(str(error)):
            return False
        self._region_asked = True
        endpoint = str(self._login_in_use.config.get("endpoint", "") or "https://s3.amazonaws.com")
        region = await asyncio.get_running_loop().run_in_executor(None, region_of, endpoint, self._bucket)
        if region is None:
            return False
        self._config["region"] = region
        regions.put((self._endpoint, self._bucket), region)
        self._clients.clear()
        return True

    # ------------------------------------------------------------------ errors
    def _named(self, key: str, act: Callable[[], T]) -> T:
        try:
            return act()
        except ZarrscopeError as error:
            raise error.located(store=self.url, key=key or None) from error.__cause__

    def _check_bucket(self, error: Exception) -> None:
        """Raises NotFound if `error` means that there is no such bucket."""
        if code_of(error) in NO_BUCKET:
            raise self._no_bucket() from cause(error)

    def _no_bucket(self) -> NotFound:
        return NotFound(f"There is no bucket {self._bucket!r}", store=self.url, advice="Check the address.")

    def _failed(self, error: Exception, key: str) -> ZarrscopeError:
        code, message = code_of(error), f"The request failed: {sentence(error)}"
        if isinstance(error, ValueError):
            return Refused(f"A bucket cannot have the key {key!r}: {sentence(error)}", store=self.url, key=key)
        if code in NO_BUCKET:
            return self._no_bucket()
        # obstore has classes for these errors of values, but not of listings and of Azure's erasures
        denied = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
        denied = denied or status_of(error) in (401, 403)
        if denied or code in ABOUT_LOGINS or finds_no_login(str(error)):
            tried = tuple(login.name for login in self._logins[: self._login + 1])
            if self._service.name:  # a client from Python found its own credentials
                tried += passed_over(self._service, self._told)
            return Denied(
                message,
                untold=code in ABOUT_VALUES and not finds_no_login(str(error)),
                tried=tried,
                store=self.url,
                key=key or None,
                advice=f"Check the credentials. Tried: {', '.join(tried)}.",
            )
        return Unreadable(
            message, store=self.url, key=key or None, advice="Check the address and the network, then try again."
        )
